/* SPDX-License-Identifier: MIT */
/* perch doctor on described machines, with a simulated kernel. */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include <jansson.h>

#include "cli/doctor/doctor.h"
#include "cli/options.h"
#include "tree.h"

#define PMUS	 "/sys/bus/event_source/devices/"
#define EVERY_ID "         0          0 4294967295\n"
#define LIMITS(files, locked)                                                             \
	"Max open files            " files "  " files " files\nMax locked memory " locked \
	" " locked " bytes\n"
#define STATUS(uid, effective, filter)                                                       \
	"Name:\tx\nState:\tR\nUid:\t" uid "\t" uid "\t" uid "\t" uid "\nCapPrm:\t" effective \
	"\nCapEff:\t" effective "\nNoNewPrivs:\t0\nSeccomp:\t" filter "\n"
#define NO_CAPS	 "0000000000000000"
#define ALL_CAPS "000001ffffffffff"
#define PERFMON	 "0000004000000000"
#define CGROUPS	 "/sys/fs/cgroup/"
#define CGROUP2	 "none /sys/fs/cgroup cgroup2 rw 0 0\n"

/* Files of every machine. A fixture may replace them by files of the same paths. */
static const struct tree_file common[] = {
	{ "/proc/sys/kernel/osrelease", "6.6.1-test\n" },
	{ "/proc/sys/kernel/perf_event_paranoid", "2\n" },
	{ "/proc/sys/kernel/perf_event_max_sample_rate", "100000\n" },
	{ "/proc/sys/kernel/perf_event_mlock_kb", "516\n" },
	{ "/proc/sys/kernel/perf_event_max_stack", "127\n" },
	{ "/proc/sys/kernel/perf_event_max_contexts_per_stack", "8\n" },
	{ "/proc/sys/kernel/kptr_restrict", "1\n" },
	{ "/proc/sys/kernel/nmi_watchdog", "1\n" },
	{ "/proc/sys/kernel/unprivileged_bpf_disabled", "2\n" },
	{ "/proc/sys/kernel/bpf_stats_enabled", "0\n" },
	{ "/proc/kallsyms", "0000000000000000 A first\n0000000000000000 T second\n" },
	{ "/proc/cpuinfo", "processor\t: 0\nflags\t: fpu sse\n" },
	{ "/proc/self/maps", "7ffe0000-7ffe2000 r-xp 00000000 00:00 0 [vdso]\n" },
	{ "/proc/self/status", STATUS("1000", NO_CAPS, "0") },
	{ "/proc/self/limits", LIMITS("1024", "8388608") },
	{ "/proc/self/fd/0", "" },
	{ "/proc/self/fd/1", "" },
	{ "/proc/self/fd/2", "" },
	{ "/proc/self/uid_map", EVERY_ID },
	{ "/proc/self/mounts", "proc /proc proc rw 0 0\n" },
	{ "/proc/1/status", STATUS("0", ALL_CAPS, "0") },
	{ "/proc/1/comm", "init\n" },
	{ "/sys/devices/system/cpu/online", "0-3\n" },
	{ "/sys/devices/system/cpu/present", "0-3\n" },
	{ "/sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n" },
	{ PMUS "software/type", "1\n" },
	{ PMUS "tracepoint/type", "2\n" },
	{ PMUS "breakpoint/type", "5\n" },
	{ PMUS "kprobe/type", "6\n" },
	{ PMUS "uprobe/type", "7\n" },
	{ "/dev/kmsg", "6,100,5,-;Performance Events: a message of the boot.\n" },
};

/* A simulated kernel: its hardware, and the privileges of the user. */
struct kernel {
	int filter; /* errno of a seccomp filter that refuses every open call; 0 is no filter */
	bool core_pmu, precise, branches;
	bool privileged, admin;
	bool loads; /* loads BPF programs without being admin */
	long level;
	bool refuses_all; /* as in some distributions, every event is refused above level 2 */
	bool locked_down; /* at the level confidentiality */
	bool same_user;	  /* all processes belong to this user */
	const char *bare_cgroup; /* the end of the path of a cgroup without perf_event; or NULL */
	uint32_t attr_size;
	/* what happens at the breakpoint of perch_machine_breakpoints_fire() */
	enum { BREAKPOINTS_FIRE, BREAKPOINTS_NEVER_FIRE, SLOTS_ARE_TAKEN } breakpoints;
	unsigned open; /* descriptors that are not closed yet */
	unsigned probes;
};

static int check_privilege(const struct kernel *kernel, const struct perch_attr *attr, pid_t pid,
			   unsigned long flags)
{
	if (kernel->refuses_all && kernel->level > 2 && !kernel->admin)
		return EACCES;
	if (!attr->exclude_kernel && kernel->level > 1 && !kernel->privileged)
		return EACCES;
	if ((pid == -1 || flags & PERCH_FLAG_PID_CGROUP) && kernel->level > 0 &&
	    !kernel->privileged)
		return EACCES;
	return pid > 0 && !(flags & PERCH_FLAG_PID_CGROUP) && !kernel->privileged &&
			       !kernel->same_user
		       ? EACCES
		       : 0;
}

/* ENOENT if pid is the descriptor of a cgroup without a perf_event controller. */
static int check_cgroup(const struct kernel *kernel, pid_t pid, unsigned long flags)
{
	char link[64], path[PATH_MAX];
	ssize_t length, end;

	if (!(flags & PERCH_FLAG_PID_CGROUP) || !kernel->bare_cgroup)
		return 0;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", (int)pid);
	length = readlink(link, path, sizeof(path));
	end = (ssize_t)strlen(kernel->bare_cgroup);
	return length > end && !memcmp(path + length - end, kernel->bare_cgroup, end) ? ENOENT : 0;
}

static int check_hardware(const struct kernel *kernel, const struct perch_attr *attr)
{
	if (!kernel->core_pmu)
		return ENOENT;
	if (attr->precise_ip && !kernel->precise)
		return EOPNOTSUPP;
	return attr->sample_type & PERCH_SAMPLE_BRANCH_STACK && !kernel->branches ? EOPNOTSUPP : 0;
}

static int simulate_open(struct kernel *kernel, struct perch_attr *attr, pid_t pid,
			 unsigned long flags)
{
	int errnum;

	if (kernel->filter)
		return kernel->filter;
	if (!attr)
		return EFAULT;
	if (attr->size > sizeof(*attr)) {
		attr->size = kernel->attr_size;
		return E2BIG;
	}
	errnum = check_privilege(kernel, attr, pid, flags);
	if (errnum)
		return errnum;
	if (attr->sample_type & PERCH_SAMPLE_REGS_INTR && kernel->locked_down)
		return EPERM;
	errnum = check_cgroup(kernel, pid, flags);
	if (errnum)
		return errnum;
	if (attr->type == PERCH_TYPE_HARDWARE)
		return check_hardware(kernel, attr);
	if (attr->type == PERCH_TYPE_BREAKPOINT && attr->bp_addr >> 63 && !kernel->admin)
		return EPERM;
	if (attr->type == PERCH_TYPE_BREAKPOINT && !attr->disabled &&
	    kernel->breakpoints == SLOTS_ARE_TAKEN)
		return ENOSPC;
	if (attr->type == PERCH_TYPE_TRACEPOINT && attr->sample_type & PERCH_SAMPLE_RAW &&
	    attr->config != 22 && kernel->level > -1 && !kernel->privileged)
		return EPERM;
	return 0;
}

static int fake_open(void *context, const struct perch_attr *attr, pid_t pid, int cpu, int group_fd,
		     unsigned long flags)
{
	struct kernel *kernel = context;
	int errnum = simulate_open(kernel, (struct perch_attr *)attr, pid, flags);

	(void)cpu, (void)group_fd;
	if (attr && !kernel->filter && attr->size <= sizeof(*attr)) {
		/* no opened event ever counts, but for the one that shows whether breakpoints fire
		 */
		assert_true(attr->disabled || attr->type == PERCH_TYPE_BREAKPOINT);
		kernel->probes += attr->type == 6 || attr->type == 7;
	}
	if (errnum) {
		errno = errnum;
		return -1;
	}
	kernel->open++;
	return 500;
}

/* Only the breakpoint that should have fired is read. */
static ssize_t fake_read(void *context, int fd, void *buffer, size_t size)
{
	const struct kernel *kernel = context;
	const uint64_t values[3] = { kernel->breakpoints == BREAKPOINTS_FIRE, 9, 9 };

	assert_int_equal(fd, 500);
	assert_int_equal(size, sizeof(values));
	memcpy(buffer, values, sizeof(values));
	return sizeof(values);
}

static int fake_close(void *context, int fd)
{
	assert_int_equal(fd, 500);
	((struct kernel *)context)->open--;
	return 0;
}

static int refuse_program(void)
{
	return -EPERM;
}

static int load_program(void)
{
	return 0;
}

struct expected {
	const char *id;
	enum doctor_status status;
	const char *cause;     /* NULL is none, "*" is any */
	const char *contained; /* in the value, the reason or the change; NULL is anything */
};

struct fixture {
	const char *name;
	struct kernel kernel;
	bool usable;
	struct tree_file files[10];
	struct expected expected[20];
};

static const struct fixture fixtures[] = {
	{ "an unprivileged user and a PMU",
	  { .core_pmu = true, .precise = true, .branches = true, .level = 2, .attr_size = 136 },
	  true,
	  { { PMUS "cpu/type", "4\n" },
	    { PMUS "cpu/caps/max_precise", "3\n" },
	    { PMUS "cpu/caps/branches", "32\n" } },
	  { { "count-user", DOCTOR_OK, NULL, NULL },
	    { "cycles", DOCTOR_OK, NULL, NULL },
	    { "sample", DOCTOR_OK, NULL, "by cycles" },
	    { "precise", DOCTOR_OK, NULL, "cycles:ppp" },
	    { "branch-stacks", DOCTOR_OK, NULL, NULL },
	    { "callchains", DOCTOR_LIMITED, "kernel-profiling", "user space only" },
	    { "count-kernel", DOCTOR_NO, "kernel-profiling",
	      "kernel.perf_event_paranoid=1 (currently 2)" },
	    { "system-wide", DOCTOR_NO, "system-wide",
	      "kernel.perf_event_paranoid=0 (currently 2)" },
	    { "core-pmu", DOCTOR_OK, NULL, "cpu (precise up to 3, 32 branches)" },
	    { "nmi-watchdog", DOCTOR_LIMITED, NULL, "nmi_watchdog=0" },
	    { "tracefs", DOCTOR_NO, NULL, "mount -t tracefs" },
	    { "attr-size", DOCTOR_LIMITED, NULL, "config4 (Linux 6.19)" },
	    { "uprobes", DOCTOR_NO, "probe-privilege", "root" },
	    { "kernel-symbols", DOCTOR_LIMITED, NULL, "setcap cap_perfmon,cap_bpf,cap_syslog+ep" },
	    { "kernel-breakpoints", DOCTOR_NO, "breakpoint-privilege", NULL },
	    { "bpf", DOCTOR_NO, NULL, "setcap cap_perfmon,cap_bpf,cap_syslog+ep" },
	    { "kprobes", DOCTOR_NO, "probe-privilege", NULL },
	    { "rings", DOCTOR_OK, NULL, "a ring of 2048 KiB on each of 4 CPUs" } } },
	{ "root in a virtual machine",
	  { .privileged = true, .admin = true, .level = 2, .attr_size = 144 },
	  true,
	  { { "/proc/self/status", STATUS("0", ALL_CAPS, "0") },
	    { "/proc/cpuinfo", "processor\t: 0\nflags\t: fpu hypervisor\n" },
	    { "/sys/kernel/tracing/events/sched/sched_switch/id", "21\n" },
	    { "/proc/kallsyms", "0000000000000000 A first\nffffffff81000000 T _text\n" } },
	  { { "cycles", DOCTOR_NO, "no-hardware", "hypervisor" },
	    { "sample", DOCTOR_LIMITED, "no-hardware", "by cpu-clock" },
	    { "sample-kernel", DOCTOR_OK, NULL, "by cpu-clock" },
	    { "core-pmu", DOCTOR_NO, "no-hardware", "a message of the boot" },
	    { "paranoid", DOCTOR_OK, NULL, "does not restrict" },
	    { "tracepoint-data", DOCTOR_OK, NULL, NULL },
	    { "uprobes", DOCTOR_OK, NULL, NULL },
	    { "kprobes", DOCTOR_OK, NULL, NULL },
	    { "attr-size", DOCTOR_OK, NULL, NULL },
	    { "kernel-symbols", DOCTOR_OK, NULL, "shown" },
	    { "rings", DOCTOR_OK, NULL, "CAP_IPC_LOCK" },
	    { "other-users", DOCTOR_OK, NULL, "process 1 of uid 0" },
	    { "nmi-watchdog", DOCTOR_OK, NULL, "on" },
	    { "bpf", DOCTOR_OK, NULL, NULL } } },
	{ "breakpoints that never fire",
	  { .privileged = true,
	    .admin = true,
	    .level = 2,
	    .attr_size = 144,
	    .breakpoints = BREAKPOINTS_NEVER_FIRE },
	  true,
	  { { "/proc/self/status", STATUS("0", ALL_CAPS, "2") },
	    { "/proc/cpuinfo", "processor\t: 0\nflags\t: fpu hypervisor\n" } },
	  { { "breakpoints", DOCTOR_NO, "breakpoint-never-fires", "debug exceptions" },
	    { "kernel-breakpoints", DOCTOR_NO, "breakpoint-never-fires", "uprobe" } } },
	{ "breakpoints of which all are taken",
	  { .level = 2, .attr_size = 144, .breakpoints = SLOTS_ARE_TAKEN },
	  true,
	  { { "/proc/self/status", STATUS("1000", NO_CAPS, "0") } },
	  { { "breakpoints", DOCTOR_OK, NULL, "fire here is unknown: all debug registers" } } },
	{ "Debian's level 3",
	  { .core_pmu = true, .level = 3, .refuses_all = true, .attr_size = 136 },
	  false,
	  { { "/proc/sys/kernel/perf_event_paranoid", "3\n" },
	    { "/etc/os-release", "ID=debian\nVERSION_ID=\"12\"\n" },
	    { "/proc/sys/kernel/osrelease", "6.1.0-50-cloud-amd64\n" },
	    { PMUS "cpu/type", "4\n" } },
	  { { "count-user", DOCTOR_NO, "paranoid-all",
	      "kernel.perf_event_paranoid=2 (currently 3)" },
	    { "sample", DOCTOR_NO, "paranoid-all", NULL },
	    { "paranoid", DOCTOR_NO, NULL, "every perf event needs" },
	    { "capabilities", DOCTOR_LIMITED, "paranoid-all", "run perch as root (CAP_SYS_ADMIN)" },
	    { "count-kernel", DOCTOR_NO, "paranoid-all", "kernel.perf_event_paranoid=1" },
	    { "system-wide", DOCTOR_NO, "paranoid-all", "kernel.perf_event_paranoid=0" },
	    { "kernel", DOCTOR_OK, NULL, "debian 12" } } },
	{ "CAP_PERFMON at Debian's level 3",
	  { .privileged = true, .level = 3, .refuses_all = true, .loads = true, .attr_size = 144 },
	  false,
	  { { "/proc/sys/kernel/perf_event_paranoid", "3\n" },
	    { "/proc/sys/kernel/osrelease", "7.2.13+deb14-amd64\n" },
	    { "/proc/self/status", STATUS("1000", PERFMON, "0") } },
	  { { "count-user", DOCTOR_NO, "paranoid-all", "run perch as root (CAP_SYS_ADMIN)" },
	    { "paranoid", DOCTOR_NO, NULL, "CAP_PERFMON is not enough" },
	    { "capabilities", DOCTOR_LIMITED, "paranoid-all", "run perch as root (CAP_SYS_ADMIN)" },
	    { "uprobes", DOCTOR_NO, "paranoid-all", "run perch as root (CAP_SYS_ADMIN)" },
	    { "kprobes", DOCTOR_NO, "paranoid-all", "run perch as root (CAP_SYS_ADMIN)" },
	    { "bpf", DOCTOR_NO, "paranoid-all", "no event can be opened" } } },
	{ "CAP_PERFMON at level 3 of a kernel without it",
	  { .privileged = true, .level = 3, .attr_size = 144 },
	  true,
	  { { "/proc/sys/kernel/perf_event_paranoid", "3\n" },
	    { "/proc/self/status", STATUS("1000", PERFMON, "0") } },
	  { { "paranoid", DOCTOR_OK, NULL, "does not restrict" },
	    { "capabilities", DOCTOR_OK, NULL, NULL },
	    { "kprobes", DOCTOR_OK, NULL, NULL } } },
	{ "cgroup2 without systemd",
	  { .privileged = true, .admin = true, .bare_cgroup = "/child", .attr_size = 144 },
	  true,
	  { { "/proc/self/status", STATUS("0", ALL_CAPS, "0") },
	    { "/proc/self/mounts", CGROUP2 },
	    { "/proc/cgroups", "#subsys_name\thierarchy\nperf_event\t0\t1\t1\n" },
	    { CGROUPS "cgroup.subtree_control", "" },
	    { CGROUPS "child/cgroup.type", "domain\n" } },
	  { { "cgroups", DOCTOR_LIMITED, "cgroup-gone",
	      "sys/fs/cgroup/cgroup.subtree_control is empty" },
	    { "cgroups", DOCTOR_LIMITED, "cgroup-gone", "echo +pids > " } } },
	{ "cgroup2 without systemd and without cgroups",
	  { .privileged = true, .admin = true, .attr_size = 144 },
	  true,
	  { { "/proc/self/status", STATUS("0", ALL_CAPS, "0") },
	    { "/proc/self/mounts", CGROUP2 },
	    { CGROUPS "cgroup.subtree_control", "" } },
	  { { "cgroups", DOCTOR_LIMITED, NULL, "new cgroups have no perf_event" },
	    { "cgroups", DOCTOR_LIMITED, NULL, "echo +pids > " } } },
	{ "cgroup2 with systemd",
	  { .privileged = true, .admin = true, .bare_cgroup = "/other", .attr_size = 144 },
	  true,
	  { { "/proc/self/status", STATUS("0", ALL_CAPS, "0") },
	    { "/proc/self/mounts", CGROUP2 },
	    { CGROUPS "cgroup.subtree_control", "cpu pids\n" },
	    { CGROUPS "system.slice/cgroup.type", "domain\n" } },
	  { { "cgroups", DOCTOR_OK, NULL, "/system.slice" } } },
	{ "cgroup2 beside cgroup v1",
	  { .privileged = true, .admin = true, .attr_size = 144 },
	  true,
	  { { "/proc/self/status", STATUS("0", ALL_CAPS, "0") },
	    { "/proc/self/mounts", CGROUP2 },
	    { "/proc/cgroups", "#subsys_name\thierarchy\ncpu\t2\t1\t1\nperf_event\t0\t1\t1\n" },
	    { CGROUPS "cgroup.subtree_control", "" } },
	  { { "cgroups", DOCTOR_OK, NULL, "tried on " } } },
	{ "cgroup2 in a container",
	  { .privileged = true, .admin = true, .attr_size = 144 },
	  true,
	  { { "/proc/self/status", STATUS("0", ALL_CAPS, "0") },
	    { "/proc/self/mounts", CGROUP2 },
	    { CGROUPS "cgroup.type", "domain\n" },
	    { CGROUPS "cgroup.subtree_control", "" } },
	  { { "cgroups", DOCTOR_OK, NULL, "tried on " } } },
	{ "level 3 on a kernel without it",
	  { .level = 3, .attr_size = 136 },
	  true,
	  { { "/proc/sys/kernel/perf_event_paranoid", "3\n" } },
	  { { "count-user", DOCTOR_OK, NULL, NULL },
	    { "paranoid", DOCTOR_LIMITED, NULL, "3 has the effect of 2" },
	    { "count-kernel", DOCTOR_NO, "kernel-profiling",
	      "perf_event_paranoid=1 (currently 3)" } } },
	{ "a machine at level -1",
	  { .core_pmu = true, .level = -1, .attr_size = 112 },
	  true,
	  { { "/proc/sys/kernel/perf_event_paranoid", "-1\n" },
	    { PMUS "cpu_core/type", "4\n" },
	    { PMUS "cpu_core/cpus", "0-1\n" },
	    { PMUS "cpu_core/caps/max_precise", "0\n" },
	    { PMUS "cpu_atom/type", "10\n" },
	    { PMUS "cpu_atom/cpus", "2-3\n" },
	    { "/sys/kernel/debug/tracing/events/sched/sched_switch/id", "21\n" } },
	  { { "count-kernel", DOCTOR_OK, NULL, NULL },
	    { "system-wide", DOCTOR_OK, NULL, NULL },
	    { "cgroups", DOCTOR_NO, NULL, "cgroup2" },
	    { "paranoid", DOCTOR_OK, NULL, "not single processes of other users" },
	    { "rings", DOCTOR_OK, NULL, "paranoid -1" },
	    { "core-pmu", DOCTOR_OK, NULL, "cpu_atom; cpu_core (precise up to 0)" },
	    { "precise", DOCTOR_NO, "precise", NULL },
	    { "other-users", DOCTOR_NO, "other-process", "cap_perfmon" },
	    { "tracepoint-data", DOCTOR_OK, NULL, NULL },
	    { "attr-size", DOCTOR_LIMITED, NULL, "sig_data (Linux 5.13)" },
	    { "pmus", DOCTOR_OK, NULL, "cpu_atom 10 (2 CPUs)" } } },
	{ "tracepoints of system calls",
	  { .level = 2, .attr_size = 136 },
	  true,
	  { { "/sys/kernel/tracing/events/sched/sched_switch/id", "21\n" },
	    { "/sys/kernel/tracing/events/raw_syscalls/sys_enter/id", "22\n" } },
	  { { "tracepoints", DOCTOR_LIMITED, "kernel-profiling", "others count 0" },
	    { "tracepoint-data", DOCTOR_LIMITED, "tracepoint-raw", "only for system calls" },
	    { "tracefs", DOCTOR_OK, NULL, NULL } } },
	{ "the seccomp filter of docker",
	  { .filter = EPERM },
	  false,
	  { { "/proc/self/status", STATUS("0", "00000000a80425fb", "2") }, { "/.dockerenv", "" } },
	  { { "count-user", DOCTOR_NO, "seccomp", NULL },
	    { "sample", DOCTOR_NO, "seccomp", NULL },
	    { "seccomp", DOCTOR_NO, "seccomp", "the filter refuses perf_event_open" },
	    { "container", DOCTOR_LIMITED, NULL, "docker" },
	    { "bpf", DOCTOR_NO, NULL, "--cap-add BPF --cap-add PERFMON" },
	    { "uprobes", DOCTOR_NO, "seccomp", NULL },
	    { "attr-size", DOCTOR_UNKNOWN, NULL, NULL } } },
	{ "a filter that permits events",
	  { .level = 2, .attr_size = 136 },
	  true,
	  { { "/proc/self/status", STATUS("1000", NO_CAPS, "2") } },
	  { { "seccomp", DOCTOR_OK, NULL, "permits perf_event_open" },
	    { "count-user", DOCTOR_OK, NULL, NULL } } },
	{ "no perf events",
	  { .filter = ENOSYS },
	  false,
	  { { "/proc/version", "Linux version 4.4.0 #1 SMP Sun Jan 10 15:06:54 PST 2016\n" } },
	  { { "count-user", DOCTOR_NO, "no-syscall", NULL },
	    { "container", DOCTOR_LIMITED, NULL, "gvisor" },
	    { "core-pmu", DOCTOR_NO, "no-hardware", "gVisor" } } },
	{ "root of a user namespace",
	  { .level = 2, .attr_size = 136 },
	  true,
	  { { "/proc/self/status", STATUS("0", ALL_CAPS, "0") },
	    { "/proc/self/uid_map", "0 1000 1\n" } },
	  { { "user-namespace", DOCTOR_LIMITED, "user-namespace", "initial" },
	    { "capabilities", DOCTOR_LIMITED, "user-namespace", NULL },
	    { "uprobes", DOCTOR_NO, "probe-privilege", "outside the user namespace" },
	    { "count-kernel", DOCTOR_NO, "*", "outside the user namespace" },
	    { "paranoid", DOCTOR_LIMITED, NULL, NULL },
	    { "rings", DOCTOR_OK, NULL, "RLIMIT_MEMLOCK" } } },
	{ "low limits, lockdown and SELinux",
	  { .core_pmu = true, .level = 2, .attr_size = 136 },
	  true,
	  { { "/proc/self/limits", LIMITS("8", "65536") },
	    { "/proc/sys/kernel/perf_event_mlock_kb", "64\n" },
	    { "/proc/sys/kernel/perf_event_max_sample_rate", "1750\n" },
	    { "/proc/sys/kernel/perf_event_max_stack", "16\n" },
	    { "/sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet\n" },
	    { "/dev/kmsg",
	      "4,1,2,-;perf: interrupt took too long (9 > 8), lowering kernel.perf_event_max_sample_rate to 1750\n" },
	    { "/sys/kernel/security/lockdown", "none integrity [confidentiality]\n" },
	    { "/sys/fs/selinux/enforce", "1" } },
	  { { "rings", DOCTOR_LIMITED, "mmap-locked", "perf_event_mlock_kb=516" },
	    { "descriptors", DOCTOR_LIMITED, "descriptors", "5 left of 8" },
	    { "sample-rate", DOCTOR_LIMITED, "frequency", "took too long (9 > 8)" },
	    { "stack-depth", DOCTOR_LIMITED, NULL, "=127" },
	    { "vdso", DOCTOR_LIMITED, NULL, "hpet" },
	    { "lockdown", DOCTOR_LIMITED, "lockdown-regs", "confidentiality" },
	    { "kprobes", DOCTOR_NO, "lockdown-probe", NULL },
	    { "security-modules", DOCTOR_LIMITED, NULL, "SELinux" } } },
	{ "lockdown that cannot be read, and one user for all processes",
	  { .core_pmu = true,
	    .level = 1,
	    .attr_size = 144,
	    .locked_down = true,
	    .same_user = true },
	  true,
	  { { "/proc/sys/kernel/perf_event_paranoid", "1\n" },
	    { "/proc/self/status", STATUS("0", NO_CAPS, "3") },
	    { "/proc/sys/kernel/perf_event_max_sample_rate", "1750\n" },
	    { "/proc/sys/kernel/perf_cpu_time_max_percent", "100\n" },
	    { "/proc/sys/kernel/perf_event_mlock_kb", "64\n" },
	    { "/proc/self/limits", LIMITS("1024", "0") },
	    { PMUS "cpu/type", "4\n" } },
	  { { "lockdown", DOCTOR_LIMITED, "lockdown-regs", "even to root" },
	    { "other-users", DOCTOR_UNKNOWN, NULL, "this same user" },
	    { "seccomp", DOCTOR_UNKNOWN, NULL, NULL },
	    { "paranoid", DOCTOR_LIMITED, NULL, "kernel.perf_event_paranoid=0 (currently 1)" },
	    { "sample-rate", DOCTOR_LIMITED, "frequency",
	      "kernel.perf_cpu_time_max_percent=25 kernel.perf_event_max" },
	    { "rings", DOCTOR_LIMITED, "mmap-locked", "RLIMIT_MEMLOCK to 1808 KiB" },
	    { "security-modules", DOCTOR_OK, NULL, "none that refuses events" } } },
	{ "no context for a call chain",
	  { .level = 2, .attr_size = 144 },
	  true,
	  { { "/proc/sys/kernel/perf_event_max_contexts_per_stack", "0\n" } },
	  { { "stack-depth", DOCTOR_LIMITED, NULL, "are empty" },
	    { "stack-depth", DOCTOR_LIMITED, NULL, "max_contexts_per_stack=8" } } },
	{ "one context for a call chain",
	  { .level = 2, .attr_size = 144 },
	  true,
	  { { "/proc/sys/kernel/perf_event_max_contexts_per_stack", "1\n" } },
	  { { "stack-depth", DOCTOR_LIMITED, NULL, "start in the kernel end there" } } },
	{ "no lockdown, which cannot be read",
	  { .level = 2, .attr_size = 144 },
	  true,
	  { { "/proc/self/status", STATUS("1000", NO_CAPS, "0") } },
	  { { "lockdown", DOCTOR_OK, NULL, "not confidentiality" } } },
	{ "EACCES from a filter, or from the level of a distribution",
	  { .filter = EACCES },
	  false,
	  { { "/proc/sys/kernel/perf_event_paranoid", "3\n" },
	    { "/proc/self/status", STATUS("1000", NO_CAPS, "2") } },
	  { { "seccomp", DOCTOR_UNKNOWN, NULL, "the filter or the kernel" },
	    { "lockdown", DOCTOR_UNKNOWN, NULL, NULL },
	    { "security-modules", DOCTOR_UNKNOWN, NULL, NULL } } },
	{ "EACCES from a filter, or from SELinux",
	  { .filter = EACCES },
	  false,
	  { { "/proc/self/status", STATUS("0", ALL_CAPS, "2") },
	    { "/sys/fs/selinux/enforce", "1" } },
	  { { "seccomp", DOCTOR_UNKNOWN, NULL, "the filter or the kernel" } } },
	{ "EACCES that only the filter can return",
	  { .filter = EACCES },
	  false,
	  { { "/proc/self/status", STATUS("0", ALL_CAPS, "2") } },
	  { { "count-user", DOCTOR_NO, "seccomp", NULL },
	    { "seccomp", DOCTOR_NO, "seccomp", "the filter refuses perf_event_open" },
	    { "lockdown", DOCTOR_UNKNOWN, NULL, NULL } } },
	{ "a filter with an errno that the kernel does not return",
	  { .filter = EOPNOTSUPP },
	  false,
	  { { "/proc/self/status", STATUS("0", ALL_CAPS, "2") } },
	  { { "seccomp", DOCTOR_NO, "seccomp", "SystemCallFilter=perf_event_open" },
	    { "uprobes", DOCTOR_NO, "*", NULL } } },
};

static void make_tree(char *root, const struct fixture *fixture)
{
	struct tree_file files[64];
	size_t nr = 0;

	for (size_t i = 0; i < sizeof(common) / sizeof(*common); i++)
		files[nr++] = common[i];
	for (size_t i = 0;
	     i < sizeof(fixture->files) / sizeof(*fixture->files) && fixture->files[i].path; i++)
		files[nr++] = fixture->files[i];
	tree_make(root, files, nr);
}

static void check_result(const struct doctor *doctor, const struct expected *expected)
{
	const struct doctor_result *found = doctor_find_result(doctor, expected->id);

	assert_non_null(found);
	if (found->status != expected->status)
		fail_msg("%s: status %d, %s: %s", expected->id, found->status, found->value,
			 found->reason);
	if (!expected->cause)
		assert_null(found->cause);
	else if (!found->cause ||
		 (strcmp(expected->cause, "*") && strcmp(expected->cause, found->cause)))
		fail_msg("%s: cause %s, expected %s: %s", expected->id,
			 found->cause ? found->cause : "none", expected->cause, found->reason);
	if (expected->contained && !strstr(found->value, expected->contained) &&
	    !strstr(found->reason, expected->contained) &&
	    !strstr(found->change, expected->contained))
		fail_msg("%s: '%s', '%s', '%s' do not contain '%s'", expected->id, found->value,
			 found->reason, found->change, expected->contained);
}

/* The JSON has every check with every member. */
static void check_json(const struct doctor *doctor)
{
	static const char *const members[] = { "id",	"group", "title",  "status",
					       "value", "cause", "reason", "change" };
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	json_t *all, *checks;

	assert_non_null(out);
	assert_true(doctor_print_json(doctor, out));
	fclose(out);
	all = json_loads(text, 0, NULL);
	free(text);
	assert_non_null(all);
	assert_int_equal(json_is_true(json_object_get(all, "usable")), doctor->usable);
	checks = json_object_get(all, "checks");
	assert_int_equal(json_array_size(checks), doctor->nr);
	for (size_t i = 0; i < doctor->nr; i++) {
		const json_t *check = json_array_get(checks, i);

		for (size_t m = 0; m < sizeof(members) / sizeof(*members); m++)
			assert_non_null(json_object_get(check, members[m]));
		assert_string_equal(json_string_value(json_object_get(check, "id")),
				    doctor->result[i].id);
	}
	json_decref(all);
}

/* The text has one marked line for each check, no line is too wide, and colours are optional. */
static void check_text(const struct doctor *doctor, bool colours, unsigned width)
{
	char *text = NULL, *save = NULL;
	size_t size, marks = 0;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	assert_true(doctor_print_text(doctor, out, colours, width));
	fclose(out);
	assert_int_equal(strchr(text, '\033') != NULL, colours);
	assert_non_null(strstr(text, doctor->usable ? "You can profile" : "You cannot profile"));
	assert_null(strchr(text, '{')); /* no placeholder is left */
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		marks += line[0] == ' ' && line[1] == ' ' && line[2] != ' ';
		/* a word may be longer than the line */
		if (width && !colours && strlen(line) > width)
			assert_null(strchr(line + strspn(line, " "), ' '));
	}
	assert_int_equal(marks, doctor->nr);
	free(text);
}

/* Runs the checks with a simulated kernel, on a machine whose files are below root. */
static struct doctor *run_checks(struct kernel *kernel, const char *root)
{
	struct perch_syscalls syscalls = perch_kernel_syscalls;
	struct doctor *doctor = calloc(1, sizeof(*doctor));

	assert_non_null(doctor);
	syscalls.context = kernel;
	syscalls.perf_event_open = fake_open;
	syscalls.read = fake_read;
	syscalls.close = fake_close;
	doctor->load_program = kernel->admin || kernel->loads ? load_program : refuse_program;
	assert_int_equal(perch_machine_new(&doctor->machine, root, &syscalls, NULL), 0);
	doctor_run_checks(doctor);
	assert_int_equal(kernel->open, 0);
	assert_int_equal(kernel->probes, 0);
	return doctor;
}

static void free_doctor(struct doctor *doctor)
{
	perch_machine_free(doctor->machine);
	free(doctor);
}

static void check_fixture(const struct fixture *fixture, const struct doctor *doctor)
{
	for (size_t i = 0;
	     i < sizeof(fixture->expected) / sizeof(*fixture->expected) && fixture->expected[i].id;
	     i++)
		check_result(doctor, &fixture->expected[i]);
	assert_int_equal(doctor->usable, fixture->usable);
	for (size_t i = 0; i < doctor->nr; i++)
		if (doctor->result[i].status != DOCTOR_OK && !doctor->result[i].reason[0])
			fail_msg("%s has no reason", doctor->result[i].id);
	check_json(doctor);
	check_text(doctor, false, 0);
	check_text(doctor, true, 100);
	check_text(doctor, false, 80);
}

static void checks_report_expected_results(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(fixtures) / sizeof(*fixtures); i++) {
		struct kernel kernel = fixtures[i].kernel;
		struct doctor *doctor;
		char root[PATH_MAX];

		print_message("%s\n", fixtures[i].name);
		make_tree(root, &fixtures[i]);
		doctor = run_checks(&kernel, root);
		check_fixture(&fixtures[i], doctor);
		free_doctor(doctor);
		tree_remove(root);
	}
}

/* Every check has a result even on a machine without files. */
static void checks_work_without_files(void **state)
{
	static const struct tree_file file = { "/x", "" };
	struct kernel kernel = { .filter = EPERM };
	struct doctor *doctor;
	char root[PATH_MAX];

	(void)state;
	tree_make(root, &file, 1);
	doctor = run_checks(&kernel, root);
	assert_false(doctor->usable);
	check_json(doctor);
	check_text(doctor, false, 0);
	free_doctor(doctor);
	tree_remove(root);
}

/* Texts of the system may contain control characters. */
static void texts_are_cleaned_and_truncated(void **state)
{
	struct doctor_result result = { .id = "x" };

	(void)state;
	doctor_set_value(&result, "%s", "a\033[31mb\xff");
	assert_string_equal(result.value, "a?[31mb?");
	doctor_set_reason(&result, DOCTOR_NO, "%0900d", 1);
	assert_true(strlen(result.reason) < sizeof(result.reason));
	assert_int_equal(result.status, DOCTOR_NO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(checks_report_expected_results),
		cmocka_unit_test(checks_work_without_files),
		cmocka_unit_test(texts_are_cleaned_and_truncated),
	};

	/* the texts have paths of the simulated machine, and are cut off at some length */
	setenv("TMPDIR", "/tmp", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
