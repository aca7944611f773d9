/* SPDX-License-Identifier: MIT */
/* The machines of bug reports about perf_event_open, as far as the reports describe them. */
#ifndef PERCH_TEST_REPORT_MACHINES_H
#define PERCH_TEST_REPORT_MACHINES_H

#include "tree.h"

enum machine_id {
	/* root in a container without CAP_SYS_ADMIN, under the default seccomp profile */
	DOCKER,
	/* the same with CAP_PERFMON, which the profile does not check */
	DOCKER_PERFMON,
	/* CAP_SYS_ADMIN without CAP_PERFMON, and a profile that returns ENOSYS */
	PODMAN_ADMIN,
	/* paranoid 4, and a program with the file capability CAP_PERFMON */
	UBUNTU_4,
	/* root with all capabilities, in a user namespace of an unprivileged user */
	USER_NAMESPACE,
	DEBIAN_3,    /* paranoid 3, unprivileged user */
	PARANOID_2,  /* an ordinary user of a PC */
	BACKPORTED,  /* the same with a kernel that protects kernel call chains */
	SELINUX,     /* a service, root, under an enforcing policy */
	LOCKED_DOWN, /* root under Secure Boot with lockdown=confidentiality */
	NO_VPMU,     /* root of a virtual machine with a PMU without PEBS and LBR */
	/* root of a virtual machine with a poor one: no PEBS, no LBR */
	VPMU,
	OLD_3_13, /* root of a PC with Linux 3.13 */
	/* the kernel has lowered the sample rate limit to 9000 */
	THROTTLED,
	SERVER,	 /* root of a Xeon with RAPL and Intel PT */
	HYBRID,	 /* root of a PC with P-cores 0 to 15 and E-cores 16 to 23 */
	ARM,	 /* root of an aarch64 server */
	ARM_OLD, /* unprivileged user of one with Linux 4.9 and paranoid 1 */
	/* unprivileged user of an AMD machine with branch sampling */
	ZEN_3,
	/* root on 128 CPUs with 8 descriptors, all in use */
	BIG,
	OFFLINE, /* 128 CPUs are possible, 4 are online */
	NO_PERF, /* a kernel or emulator without perf events */
	NR_MACHINES
};

#define PMUS "/sys/bus/event_source/devices/"
/* clang-format off */
#define STATUS(capabilities, seccomp) \
	{ "/proc/self/status", \
	"Name:\tx\nState:\tR (running)\nUid:\t0\t0\t0\t0\nNSpid:\t1\nCapPrm:\t" capabilities \
			       "\nCapEff:\t" capabilities "\nNoNewPrivs:\t0\nSeccomp:\t" seccomp "\n" }
#define USER_STATUS \
	{ "/proc/self/status", \
	"Name:\tx\nState:\tR (running)\nUid:\t1000\t1000\t1000\t1000\nNSpid:\t77\n" \
			       "CapPrm:\t0000000000000000\nCapEff:\t0000000000000000\nNoNewPrivs:\t0\nSeccomp:\t0\n" }
#define ALL_CAPABILITIES "000001ffffffffff"
#define INITIAL_NAMESPACE { "/proc/self/uid_map", "         0          0 4294967295\n" }
#define PARANOID(level) { "/proc/sys/kernel/perf_event_paranoid", level "\n" }
#define RELEASE(text) { "/proc/sys/kernel/osrelease", text "\n" }
#define DISTRIBUTION(id, version) { "/etc/os-release", "ID=" id "\nVERSION_ID=\"" version "\"\n" }
#define RATE(hertz) { "/proc/sys/kernel/perf_event_max_sample_rate", hertz "\n" }
#define LIMITS(files, hard) \
	{ "/proc/self/limits", \
	"Limit                     Soft Limit           Hard Limit           Units     \n" \
			       "Max open files            " files "                 " hard "                 files     \n" \
			       "Max locked memory         8388608              8388608              bytes     \n" }
#define CPUS(list, possible) \
	{ "/sys/devices/system/cpu/online", list "\n" }, { "/sys/devices/system/cpu/present", \
	list "\n" }, \
	{ "/sys/devices/system/cpu/possible", possible "\n" }
#define CORE_PMU(precise, branches) \
	{ PMUS "cpu/type", "4\n" }, { PMUS "cpu/caps/max_precise", precise "\n" }, \
	{ PMUS "cpu/caps/branches", branches "\n" }, { PMUS "cpu/format/event", "config:0-7\n" }
#define SOFT_PMUS \
	{ PMUS "software/type", "1\n" }, { PMUS "tracepoint/type", "2\n" }, \
	{ PMUS "breakpoint/type", "5\n" }, \
	{ PMUS "kprobe/type", "6\n" }, { PMUS "uprobe/type", "7\n" }
#define GUEST_CPU { "/proc/cpuinfo", "processor\t: 0\nflags\t\t: fpu vme hypervisor lahf_lm\n" }
#define BARE_CPU { "/proc/cpuinfo", "processor\t: 0\nflags\t\t: fpu vme lahf_lm\n" }
/* clang-format on */
#define ROOT		  STATUS(ALL_CAPABILITIES, "0"), INITIAL_NAMESPACE
#define USER		  USER_STATUS, INITIAL_NAMESPACE
#define MACHINE_FILES_MAX 32

static const struct tree_file machine_files[NR_MACHINES][MACHINE_FILES_MAX] = {
	[DOCKER] = {
		RELEASE("6.8.0-41-generic"), PARANOID("1"), STATUS("00000000a80425fb", "2"),
		INITIAL_NAMESPACE,
		{ "/.dockerenv", "" }, CPUS("0-7", "0-7"), CORE_PMU("3", "32"), SOFT_PMUS,
	},
	[DOCKER_PERFMON] = {
		RELEASE("5.15.0-91-generic"), PARANOID("1"), STATUS("00000040a80425fb", "2"),
		INITIAL_NAMESPACE,
		{ "/.dockerenv", "" }, CPUS("0-7", "0-7"), CORE_PMU("3", "32"), SOFT_PMUS,
	},
	[PODMAN_ADMIN] = {
		RELEASE("6.11.4-301.fc41.x86_64"), PARANOID("2"), STATUS("00000000a82425fb",
		"2"), INITIAL_NAMESPACE,
		{ "/run/.containerenv", "engine=\"podman-5.2.5\"\n" }, CPUS("0-7", "0-7"),
		CORE_PMU("3", "32"), SOFT_PMUS,
	},
	[UBUNTU_4] = {
		RELEASE("5.15.0-46-generic"), PARANOID("4"), STATUS("0000004000000000", "0"),
		INITIAL_NAMESPACE,
		DISTRIBUTION("ubuntu", "22.04"), CPUS("0-7", "0-7"), CORE_PMU("3", "32"), SOFT_PMUS,
	},
	[USER_NAMESPACE] = {
		RELEASE("5.10.0-23-amd64"), PARANOID("3"), STATUS(ALL_CAPABILITIES, "0"),
		{ "/proc/self/uid_map", "         0       1000          1\n" },
		DISTRIBUTION("arch", "1"), CPUS("0-7", "0-7"),
		CORE_PMU("3", "32"), SOFT_PMUS,
	},
	[DEBIAN_3] = {
		RELEASE("5.10.0-8-amd64"), PARANOID("3"), USER, DISTRIBUTION("debian", "11"),
		CPUS("0-7", "0-7"),
		CORE_PMU("3", "32"), SOFT_PMUS,
	},
	[PARANOID_2] = {
		RELEASE("6.8.0-41-generic"), PARANOID("2"), USER, CPUS("0-7", "0-7"),
		CORE_PMU("3", "32"), SOFT_PMUS,
		{ "/proc/sys/kernel/perf_event_mlock_kb", "516\n" }, LIMITS("1024", "4096"),
		BARE_CPU,
	},
	[BACKPORTED] = {
		RELEASE("6.12.113+deb13-amd64"), PARANOID("2"), USER, DISTRIBUTION("debian",
		"13"), CPUS("0-7", "0-7"),
		CORE_PMU("3", "32"), SOFT_PMUS,
	},
	[SELINUX] = {
		RELEASE("5.19.8-200.fc36.x86_64"), PARANOID("2"), ROOT, CPUS("0-7", "0-7"),
		CORE_PMU("3", "32"), SOFT_PMUS,
		{ "/sys/kernel/security/lsm", "lockdown,capability,yama,selinux,bpf\n" },
		{ "/sys/fs/selinux/enforce", "1" },
		{ "/sys/kernel/security/lockdown", "[none] integrity confidentiality\n" },
	},
	[LOCKED_DOWN] = {
		RELEASE("5.3.0-26-generic"), PARANOID("2"), ROOT, CPUS("0-7", "0-7"),
		CORE_PMU("3", "32"), SOFT_PMUS,
		{ "/sys/kernel/security/lockdown", "none integrity [confidentiality]\n" },
	},
	[NO_VPMU] = {
		RELEASE("6.1.0-18-cloud-amd64"), PARANOID("2"), ROOT, CPUS("0-3", "0-3"),
		SOFT_PMUS, GUEST_CPU,
	},
	[VPMU] = {
		RELEASE("6.8.0-41-generic"), PARANOID("1"), ROOT, CPUS("0-3", "0-3"),
		CORE_PMU("0", "0"), SOFT_PMUS, GUEST_CPU,
	},
	[OLD_3_13] = {
		RELEASE("3.13.0-24-generic"), PARANOID("1"), ROOT, CPUS("0-7", "0-7"),
		{ PMUS "cpu/type", "4\n" },
		{ PMUS "software/type", "1\n" },
	},
	[THROTTLED] = {
		RELEASE("6.15.9-arch1-1"), PARANOID("1"), USER, CPUS("0-7", "0-7"),
		RATE("9000"), CORE_PMU("3", "32"), SOFT_PMUS,
	},
	[SERVER] = {
		RELEASE("5.14.0-362.el9.x86_64"), PARANOID("-1"), ROOT, CPUS("0-15", "0-15"),
		CORE_PMU("3", "32"), SOFT_PMUS,
		BARE_CPU, { PMUS "power/type", "23\n" }, { PMUS "power/cpumask", "0\n" },
		{ PMUS "power/events/energy-pkg", "event=0x02\n" }, { PMUS "intel_pt/type", "8\n" },
		{ PMUS "intel_pt/caps/psb_cyc", "1\n" },
	},
	[HYBRID] = {
		RELEASE("6.5.0-14-generic"), PARANOID("-1"), ROOT, CPUS("0-23", "0-23"),
		SOFT_PMUS, BARE_CPU,
		{ PMUS "cpu_core/type", "4\n" }, { PMUS "cpu_core/cpus", "0-15\n" },
		{ PMUS "cpu_core/caps/max_precise", "3\n" },
		{ PMUS "cpu_atom/type", "10\n" }, { PMUS "cpu_atom/cpus", "16-23\n" },
		{ PMUS "cpu_atom/caps/max_precise", "3\n" },
	},
	[ARM] = {
		RELEASE("6.5.0-1020-aws"), PARANOID("1"), ROOT, CPUS("0-3", "0-3"),
		{ PMUS "armv8_pmuv3_0/type", "8\n" },
		{ PMUS "armv8_pmuv3_0/cpus", "0-3\n" }, { PMUS "software/type", "1\n" },
	},
	[ARM_OLD] = {
		RELEASE("4.9.0-12-arm64"), PARANOID("1"), USER, CPUS("0-3", "0-3"),
		{ PMUS "armv8_pmuv3_0/type", "8\n" },
		{ PMUS "armv8_pmuv3_0/cpus", "0-3\n" }, { PMUS "software/type", "1\n" },
	},
	[ZEN_3] = {
		RELEASE("6.1.29-1"), PARANOID("2"), USER, CPUS("0-31", "0-31"), CORE_PMU("2",
		"16"), SOFT_PMUS,
		{ PMUS "cpu/events/branch-brs", "event=0xc4\n" },
		{ "/proc/cpuinfo",
		"processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: 25\nflags\t\t: fpu vme brs\n" },
	},
	[BIG] = {
		RELEASE("6.2.0"), PARANOID("-1"), ROOT, CPUS("0-127", "0-127"), CORE_PMU("3",
		"32"), SOFT_PMUS, LIMITS("8", "4096"),
		{ "/proc/self/fd/0", "" }, { "/proc/self/fd/1", "" }, { "/proc/self/fd/2", "" },
		{ "/proc/self/fd/3", "" },
		{ "/proc/self/fd/4", "" }, { "/proc/self/fd/5", "" }, { "/proc/self/fd/6", "" },
		{ "/proc/self/fd/7", "" },
	},
	[OFFLINE] = {
		RELEASE("5.4.0"), PARANOID("-1"), ROOT, CPUS("0-3", "0-127"), CORE_PMU("3",
		"32"), SOFT_PMUS,
	},
	[NO_PERF] = {
		RELEASE("4.4.0-18362-Microsoft"), STATUS(ALL_CAPABILITIES, "0"), CPUS("0-7", "0-7"),
	},
};

#endif
