/* SPDX-License-Identifier: MIT */
/* Described machines, as directory trees: the facts for the rules. */
#ifndef PERCH_TEST_EXPLAIN_MACHINES_H
#define PERCH_TEST_EXPLAIN_MACHINES_H

#include "tree.h"

#define NR(array) (sizeof(array) / sizeof(*(array)))

enum machine_kind {
	NONE, /* no facts at all */
	/* 6.14, a virtual machine without a core PMU, paranoid 2, unprivileged user */
	GUEST,
	OLD,	/* 4.4 with a core PMU, paranoid 2, unprivileged user */
	NEWEST, /* 7.3 with a core PMU, paranoid 2, unprivileged user */
	STRICT, /* kernel of Debian at paranoid 3, unprivileged user */
	UBUNTU, /* kernel of Ubuntu at paranoid 4, CAP_PERFMON */
	/* root under lockdown=confidentiality and a seccomp filter */
	LOCKED,
	CONTAINER,  /* docker's filter, no capability */
	OTHER_ROOT, /* root in a user namespace */
	SELINUX,    /* it enforces */
	/* root on a hybrid machine with precise events, branches and an uncore PMU */
	HYBRID,
	ARM,	 /* root on arm64 */
	OLD_ARM, /* root on an ARMv6 core */
	/* root on a virtual machine without a core PMU, kprobes and uprobes */
	ROOT,
	SILENT, /* the guest, which knows that breakpoints never fire, behind docker's filter */
	BARE,	/* a kernel without perf events */
	NR_MACHINES
};

#define UPROBE 8
#define KPROBE 9
#define MSR    10
#define ATOM   12
#define UNCORE 13
#define SPE    14
#define IBS    15

#define PMUS   "/sys/bus/event_source/devices/"
/* clang-format off */
#define STATUS(capabilities, filter) \
	{ "/proc/self/status", "Name:\tx\nState:\tR (running)\nUid:\t1000\t1000\t1000\t1000\n" \
			       "CapPrm:\t" capabilities "\nCapEff:\t" capabilities "\nNoNewPrivs:\t0\n" \
			       "Seccomp:\t" filter "\nSeccomp_filters:\t" filter "\n" }, \
	{ "/proc/self/uid_map", "         0          0 4294967295\n" }
#define UNPRIVILEGED "0000000000000000"
#define FULL "000001ffffffffff"
#define ONLY_PERFMON "0000004000000000"
#define RELEASE(text) { "/proc/sys/kernel/osrelease", text "\n" }
#define PARANOID(level) { "/proc/sys/kernel/perf_event_paranoid", level "\n" }
#define SYSCTL(name, value) { "/proc/sys/kernel/" name, value "\n" }
#define PMU(name, number) { PMUS name "/type", number "\n" }
/* clang-format on */
#define OWN_PMUS PMU("software", "1"), PMU("tracepoint", "2"), PMU("breakpoint", "5")

static const struct tree_file guest_files[] = {
	RELEASE("6.14.2-cloud"),
	PARANOID("2"),
	STATUS(UNPRIVILEGED, "0"),
	OWN_PMUS,
	PMU("uprobe", "8"),
	PMU("msr", "10"),
	SYSCTL("perf_event_max_sample_rate", "5000"),
	SYSCTL("perf_event_max_stack", "127"),
	{ "/proc/self/limits",
	  "Max open files            1024                 4096                 files     \n"
	  "Max locked memory         65536                65536                bytes     \n" },
	{ "/proc/cgroups", "#subsys_name\thierarchy\tnum_cgroups\tenabled\ncpu\t0\t1\t1\n" },
	{ "/proc/cpuinfo", "processor\t: 0\nflags\t\t: fpu de hypervisor\nbugs\t\t:\n" },
	{ "/sys/devices/system/cpu/online", "0-2\n" },
	{ "/sys/devices/system/cpu/present", "0-3\n" },
	{ "/sys/devices/system/cpu/possible", "0-1,4-5\n" },
	{ "/proc/9/status", "Name:\tother\nState:\tS (sleeping)\nUid:\t0\t0\t0\t0\nCapPrm:\t" FULL
			    "\nCapEff:\t" FULL "\n" },
	{ "/proc/9/comm", "other\n" },
};

static const struct tree_file silent_files[] = {
	RELEASE("6.18.0"),
	PARANOID("2"),
	STATUS(UNPRIVILEGED, "2"),
	OWN_PMUS,
	{ "/proc/cpuinfo", "processor\t: 0\nflags\t\t: fpu de hypervisor\nbugs\t\t:\n" },
};

static const struct tree_file old_files[] = {
	RELEASE("4.4.0-116-generic"),
	PARANOID("2"),
	STATUS(UNPRIVILEGED, "0"),
	OWN_PMUS,
	PMU("cpu", "4"),
};

static const struct tree_file newest_files[] = {
	RELEASE("7.3.0"),
	PARANOID("2"),
	STATUS(UNPRIVILEGED, "0"),
	OWN_PMUS,
	PMU("cpu", "4"),
	{ "/proc/cpuinfo", "processor\t: 0\nflags\t\t: fpu de\nbugs\t\t:\n" },
	{ "/sys/kernel/tracing/events/sched/sched_switch/id", "314\n" },
};

static const struct tree_file strict_files[] = { RELEASE("6.1.0-18-amd64"), PARANOID("3"),
						 STATUS(UNPRIVILEGED, "0") };
static const struct tree_file ubuntu_files[] = { RELEASE("6.8.0-31-generic"), PARANOID("4"),
						 STATUS(ONLY_PERFMON, "0") };

static const struct tree_file locked_files[] = {
	RELEASE("6.14.2"),
	PARANOID("2"),
	STATUS(FULL, "2"),
	OWN_PMUS,
	PMU("kprobe", "9"),
	{ "/sys/kernel/security/lockdown", "none integrity [confidentiality]\n" },
};

static const struct tree_file container_files[] = {
	RELEASE("6.1.0"), PARANOID("2"),	   STATUS(UNPRIVILEGED, "2"),
	OWN_PMUS,	  { "/.dockerenv", "\n" },
};

static const struct tree_file other_root_files[] = {
	RELEASE("6.1.0"),
	PARANOID("2"),
	OWN_PMUS,
	PMU("kprobe", "9"),
	{ "/proc/self/status",
	  "Name:\tx\nUid:\t0\t0\t0\t0\nCapPrm:\t" FULL "\nCapEff:\t" FULL "\nSeccomp:\t0\n" },
	{ "/proc/self/uid_map", "         0       1000          1\n" },
	{ "/proc/self/ns/user", "user:[4026532300]" },
};

static const struct tree_file selinux_files[] = {
	RELEASE("6.6.0"),
	PARANOID("1"),
	STATUS(UNPRIVILEGED, "0"),
	OWN_PMUS,
	{ "/sys/fs/selinux/enforce", "1" },
	{ "/sys/kernel/security/lsm", "lockdown,capability,selinux" },
};

static const struct tree_file hybrid_files[] = {
	RELEASE("6.12.0"),
	PARANOID("2"),
	STATUS(FULL, "0"),
	OWN_PMUS,
	PMU("cpu_core", "4"),
	PMU("cpu_atom", "12"),
	{ PMUS "cpu_core/cpus", "0-15\n" },
	{ PMUS "cpu_atom/cpus", "16-23\n" },
	{ PMUS "cpu_core/caps/max_precise", "2\n" },
	{ PMUS "cpu_core/caps/branches", "32\n" },
	{ PMUS "cpu_atom/caps/max_precise", "0\n" },
	PMU("uncore_imc_0", "13"),
	{ PMUS "uncore_imc_0/cpumask", "0\n" },
	PMU("ibs_op", "15"),
	PMU("msr", "10"),
	{ PMUS "msr/events/tsc", "event=0x00\n" },
	{ "/sys/devices/system/cpu/online", "0-22\n" },
	{ "/sys/devices/system/cpu/possible", "0-23\n" },
	{ "/proc/cpuinfo", "processor\t: 0\nflags\t\t: fpu de\nbugs\t\t:\n" },
};

static const struct tree_file arm_files[] = {
	RELEASE("5.4.0"),	    PARANOID("2"),
	STATUS(FULL, "0"),	    OWN_PMUS,
	PMU("armv8_pmuv3_0", "12"), { PMUS "armv8_pmuv3_0/cpus", "0-3\n" },
	PMU("arm_spe_0", "14"),
};

static const struct tree_file old_arm_files[] = {
	RELEASE("3.2.0"), PARANOID("1"),	  STATUS(FULL, "0"),
	OWN_PMUS,	  PMU("armv6_1176", "4"), { PMUS "armv6_1176/cpus", "0\n" },
};

static const struct tree_file root_files[] = {
	RELEASE("6.18.0"),
	PARANOID("2"),
	STATUS(FULL, "0"),
	OWN_PMUS,
	PMU("uprobe", "8"),
	PMU("kprobe", "9"),
	PMU("msr", "10"),
	SYSCTL("perf_event_max_stack", "127"),
	{ PMUS "msr/events/tsc", "event=0x00\n" },
	{ "/proc/cpuinfo", "processor\t: 0\nflags\t\t: fpu de hypervisor\nbugs\t\t:\n" },
	{ "/sys/kernel/tracing/events/irq_vectors/irq_work_exit/id", "153\n" },
	{ "/sys/kernel/tracing/events/sched/sched_process_exit/id", "369\n" },
	{ "/sys/devices/system/cpu/online", "0-2\n" },
	{ "/sys/devices/system/cpu/possible", "0-3\n" },
};

static const struct tree_file bare_files[] = { RELEASE("6.1.0"), STATUS(UNPRIVILEGED, "0") };

#define FILES(kind, array) [kind] = { array, NR(array) }
static const struct {
	const struct tree_file *file;
	size_t nr;
} machine_files[NR_MACHINES] = {
	FILES(GUEST, guest_files),
	FILES(OLD, old_files),
	FILES(NEWEST, newest_files),
	FILES(STRICT, strict_files),
	FILES(UBUNTU, ubuntu_files),
	FILES(LOCKED, locked_files),
	FILES(CONTAINER, container_files),
	FILES(OTHER_ROOT, other_root_files),
	FILES(SELINUX, selinux_files),
	FILES(HYBRID, hybrid_files),
	FILES(ARM, arm_files),
	FILES(OLD_ARM, old_arm_files),
	FILES(ROOT, root_files),
	FILES(SILENT, silent_files),
	FILES(BARE, bare_files),
};

#endif
