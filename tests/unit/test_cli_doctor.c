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

static int load_program(void *context)
{
	const struct kernel *kernel = context;

	return kernel->admin || kernel->loads ? 0 : -EPERM;
}

struct expected {
	const char *id;
	enum perch_check_status status;
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
	  { { "count-user", PERCH_CHECK_OK, NULL, NULL },
	    { "cycles", PERCH_CHECK_OK, NULL, NULL },
	    { "sample", PERCH_CHECK_OK, NULL, "by cycles" },
	    { "precise", PERCH_CHECK_OK, NULL, "cycles:ppp" },
	    { "branch-stacks", PERCH_CHECK_OK, NULL, NULL },
	    { "callchains", PERCH_CHECK_LIMITED, "kernel-profiling", "user space only" },
	    { "count-kernel", PERCH_CHECK_NO, "kernel-profiling",
	      "instead of 2: sysctl kernel.perf_event_paranoid=1" },
	    { "system-wide", PERCH_CHECK_NO, "system-wide",
	      "instead of 2: sysctl kernel.perf_event_paranoid=0" },
	    { "core-pmu", PERCH_CHECK_OK, NULL, "cpu (precise up to 3, 32 branches)" },
	    { "nmi-watchdog", PERCH_CHECK_LIMITED, NULL, "nmi_watchdog=0" },
	    { "tracefs", PERCH_CHECK_NO, NULL, "mount -t tracefs" },
	    { "attr-size", PERCH_CHECK_LIMITED, NULL, "config4 (Linux 6.19)" },
	    { "uprobes", PERCH_CHECK_NO, "probe-privilege", "root" },
	    { "kernel-symbols", PERCH_CHECK_LIMITED, NULL,
	      "setcap cap_perfmon,cap_bpf,cap_syslog+ep" },
	    { "kernel-breakpoints", PERCH_CHECK_NO, "breakpoint-privilege", NULL },
	    { "bpf", PERCH_CHECK_NO, NULL, "setcap cap_perfmon,cap_bpf,cap_syslog+ep" },
	    { "kprobes", PERCH_CHECK_NO, "probe-privilege", NULL },
	    { "rings", PERCH_CHECK_OK, NULL, "a ring of 2048 KiB on each of 4 CPUs" } } },
	{ "root in a virtual machine",
	  { .privileged = true, .admin = true, .level = 2, .attr_size = 144 },
	  true,
	  { { "/proc/self/status", STATUS("0", ALL_CAPS, "0") },
	    { "/proc/cpuinfo", "processor\t: 0\nflags\t: fpu hypervisor\n" },
	    { "/sys/kernel/tracing/events/sched/sched_switch/id", "21\n" },
	    { "/proc/kallsyms", "0000000000000000 A first\nffffffff81000000 T _text\n" } },
	  { { "cycles", PERCH_CHECK_NO, "no-hardware", "hypervisor" },
	    { "sample", PERCH_CHECK_LIMITED, "no-hardware", "by cpu-clock" },
	    { "sample-kernel", PERCH_CHECK_OK, NULL, "by cpu-clock" },
	    { "core-pmu", PERCH_CHECK_NO, "no-hardware", "a message of the boot" },
	    { "paranoid", PERCH_CHECK_OK, NULL, "does not restrict" },
	    { "tracepoint-data", PERCH_CHECK_OK, NULL, NULL },
	    { "uprobes", PERCH_CHECK_OK, NULL, NULL },
	    { "kprobes", PERCH_CHECK_OK, NULL, NULL },
	    { "attr-size", PERCH_CHECK_OK, NULL, NULL },
	    { "kernel-symbols", PERCH_CHECK_OK, NULL, "shown" },
	    { "rings", PERCH_CHECK_OK, NULL, "CAP_IPC_LOCK" },
	    { "other-users", PERCH_CHECK_OK, NULL, "process 1 of uid 0" },
	    { "nmi-watchdog", PERCH_CHECK_OK, NULL, "on" },
	    { "bpf", PERCH_CHECK_OK, NULL, NULL } } },
	{ "breakpoints that never fire",
	  { .privileged = true,
	    .admin = true,
	    .level = 2,
	    .attr_size = 144,
	    .breakpoints = BREAKPOINTS_NEVER_FIRE },
	  true,
	  { { "/proc/self/status", STATUS("0", ALL_CAPS, "2") },
	    { "/proc/cpuinfo", "processor\t: 0\nflags\t: fpu hypervisor\n" } },
	  { { "breakpoints", PERCH_CHECK_NO, "breakpoint-never-fires", "debug exceptions" },
	    { "kernel-breakpoints", PERCH_CHECK_NO, "breakpoint-never-fires", "uprobe" } } },
	{ "breakpoints of which all are taken",
	  { .level = 2, .attr_size = 144, .breakpoints = SLOTS_ARE_TAKEN },
	  true,
	  { { "/proc/self/status", STATUS("1000", NO_CAPS, "0") } },
	  { { "breakpoints", PERCH_CHECK_OK, NULL,
	      "fire here is unknown: all debug registers" } } },
	{ "Debian's level 3",
	  { .core_pmu = true, .level = 3, .refuses_all = true, .attr_size = 136 },
	  false,
	  { { "/proc/sys/kernel/perf_event_paranoid", "3\n" },
	    { "/etc/os-release", "ID=debian\nVERSION_ID=\"12\"\n" },
	    { "/proc/sys/kernel/osrelease", "6.1.0-50-cloud-amd64\n" },
	    { PMUS "cpu/type", "4\n" } },
	  { { "count-user", PERCH_CHECK_NO, "paranoid-all",
	      "instead of 3: sysctl kernel.perf_event_paranoid=2" },
	    { "sample", PERCH_CHECK_NO, "paranoid-all", NULL },
	    { "paranoid", PERCH_CHECK_NO, NULL, "every perf event needs" },
	    { "capabilities", PERCH_CHECK_LIMITED, "paranoid-all",
	      "run perch as root (CAP_SYS_ADMIN)" },
	    { "count-kernel", PERCH_CHECK_NO, "paranoid-all", "kernel.perf_event_paranoid=1" },
	    { "system-wide", PERCH_CHECK_NO, "paranoid-all", "kernel.perf_event_paranoid=0" },
	    { "kernel", PERCH_CHECK_OK, NULL, "debian 12" } } },
	{ "CAP_PERFMON at Debian's level 3",
	  { .privileged = true, .level = 3, .refuses_all = true, .loads = true, .attr_size = 144 },
	  false,
	  { { "/proc/sys/kernel/perf_event_paranoid", "3\n" },
	    { "/proc/sys/kernel/osrelease", "7.2.13+deb14-amd64\n" },
	    { "/proc/self/status", STATUS("1000", PERFMON, "0") } },
	  { { "count-user", PERCH_CHECK_NO, "paranoid-all", "run perch as root (CAP_SYS_ADMIN)" },
	    { "paranoid", PERCH_CHECK_NO, NULL, "CAP_PERFMON is not enough" },
	    { "capabilities", PERCH_CHECK_LIMITED, "paranoid-all",
	      "run perch as root (CAP_SYS_ADMIN)" },
	    { "uprobes", PERCH_CHECK_NO, "paranoid-all", "run perch as root (CAP_SYS_ADMIN)" },
	    { "kprobes", PERCH_CHECK_NO, "paranoid-all", "run perch as root (CAP_SYS_ADMIN)" },
	    { "bpf", PERCH_CHECK_NO, "paranoid-all", "no event can be opened" } } },
	{ "CAP_PERFMON at level 3 of a kernel without it",
	  { .privileged = true, .level = 3, .attr_size = 144 },
	  true,
	  { { "/proc/sys/kernel/perf_event_paranoid", "3\n" },
	    { "/proc/self/status", STATUS("1000", PERFMON, "0") } },
	  { { "paranoid", PERCH_CHECK_OK, NULL, "does not restrict" },
	    { "capabilities", PERCH_CHECK_OK, NULL, NULL },
	    { "kprobes", PERCH_CHECK_OK, NULL, NULL } } },
	{ "cgroup2 without systemd",
	  { .privileged = true, .admin = true, .bare_cgroup = "/child", .attr_size = 144 },
	  true,
	  { { "/proc/self/status", STATUS("0", ALL_CAPS, "0") },
	    { "/proc/self/mounts", CGROUP2 },
	    { "/proc/cgroups", "#subsys_name\thierarchy\nperf_event\t0\t1\t1\n" },
	    { CGROUPS "cgroup.subtree_control", "" },
	    { CGROUPS "child/cgroup.type", "domain\n" } },
	  { { "cgroups", PERCH_CHECK_LIMITED, "cgroup-gone",
	      "sys/fs/cgroup/cgroup.subtree_control is empty" },
	    { "cgroups", PERCH_CHECK_LIMITED, "cgroup-gone", "echo +pids > " } } },
	{ "cgroup2 without systemd and without cgroups",
	  { .privileged = true, .admin = true, .attr_size = 144 },
	  true,
	  { { "/proc/self/status", STATUS("0", ALL_CAPS, "0") },
	    { "/proc/self/mounts", CGROUP2 },
	    { CGROUPS "cgroup.subtree_control", "" } },
	  { { "cgroups", PERCH_CHECK_LIMITED, NULL, "new cgroups have no perf_event" },
	    { "cgroups", PERCH_CHECK_LIMITED, NULL, "echo +pids > " } } },
	{ "cgroup2 with systemd",
	  { .privileged = true, .admin = true, .bare_cgroup = "/other", .attr_size = 144 },
	  true,
	  { { "/proc/self/status", STATUS("0", ALL_CAPS, "0") },
	    { "/proc/self/mounts", CGROUP2 },
	    { CGROUPS "cgroup.subtree_control", "cpu pids\n" },
	    { CGROUPS "system.slice/cgroup.type", "domain\n" } },
	  { { "cgroups", PERCH_CHECK_OK, NULL, "/system.slice" } } },
	{ "cgroup2 beside cgroup v1",
	  { .privileged = true, .admin = true, .attr_size = 144 },
	  true,
	  { { "/proc/self/status", STATUS("0", ALL_CAPS, "0") },
	    { "/proc/self/mounts", CGROUP2 },
	    { "/proc/cgroups", "#subsys_name\thierarchy\ncpu\t2\t1\t1\nperf_event\t0\t1\t1\n" },
	    { CGROUPS "cgroup.subtree_control", "" } },
	  { { "cgroups", PERCH_CHECK_OK, NULL, "tried on " } } },
	{ "cgroup2 in a container",
	  { .privileged = true, .admin = true, .attr_size = 144 },
	  true,
	  { { "/proc/self/status", STATUS("0", ALL_CAPS, "0") },
	    { "/proc/self/mounts", CGROUP2 },
	    { CGROUPS "cgroup.type", "domain\n" },
	    { CGROUPS "cgroup.subtree_control", "" } },
	  { { "cgroups", PERCH_CHECK_OK, NULL, "tried on " } } },
	{ "level 3 on a kernel without it",
	  { .level = 3, .attr_size = 136 },
	  true,
	  { { "/proc/sys/kernel/perf_event_paranoid", "3\n" } },
	  { { "count-user", PERCH_CHECK_OK, NULL, NULL },
	    { "paranoid", PERCH_CHECK_LIMITED, NULL, "3 has the effect of 2" },
	    { "count-kernel", PERCH_CHECK_NO, "kernel-profiling",
	      "instead of 3: sysctl kernel.perf_event_paranoid=1" } } },
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
	  { { "count-kernel", PERCH_CHECK_OK, NULL, NULL },
	    { "system-wide", PERCH_CHECK_OK, NULL, NULL },
	    { "cgroups", PERCH_CHECK_NO, NULL, "cgroup2" },
	    { "paranoid", PERCH_CHECK_OK, NULL, "not single processes of other users" },
	    { "rings", PERCH_CHECK_OK, NULL, "paranoid -1" },
	    { "core-pmu", PERCH_CHECK_OK, NULL, "cpu_atom; cpu_core (precise up to 0)" },
	    { "precise", PERCH_CHECK_NO, "precise", NULL },
	    { "other-users", PERCH_CHECK_NO, "other-process", "cap_perfmon" },
	    { "tracepoint-data", PERCH_CHECK_OK, NULL, NULL },
	    { "attr-size", PERCH_CHECK_LIMITED, NULL, "sig_data (Linux 5.13)" },
	    { "pmus", PERCH_CHECK_OK, NULL, "cpu_atom 10 (2 CPUs)" } } },
	{ "tracepoints of system calls",
	  { .level = 2, .attr_size = 136 },
	  true,
	  { { "/sys/kernel/tracing/events/sched/sched_switch/id", "21\n" },
	    { "/sys/kernel/tracing/events/raw_syscalls/sys_enter/id", "22\n" } },
	  { { "tracepoints", PERCH_CHECK_LIMITED, "kernel-profiling", "others count 0" },
	    { "tracepoint-data", PERCH_CHECK_LIMITED, "tracepoint-raw", "only for system calls" },
	    { "tracefs", PERCH_CHECK_OK, NULL, NULL } } },
	{ "the seccomp filter of docker",
	  { .filter = EPERM },
	  false,
	  { { "/proc/self/status", STATUS("0", "00000000a80425fb", "2") }, { "/.dockerenv", "" } },
	  { { "count-user", PERCH_CHECK_NO, "seccomp", NULL },
	    { "sample", PERCH_CHECK_NO, "seccomp", NULL },
	    { "seccomp", PERCH_CHECK_NO, "seccomp", "the filter refuses perf_event_open" },
	    { "container", PERCH_CHECK_LIMITED, NULL, "docker" },
	    { "bpf", PERCH_CHECK_NO, NULL, "--cap-add BPF --cap-add PERFMON" },
	    { "uprobes", PERCH_CHECK_NO, "seccomp", NULL },
	    { "attr-size", PERCH_CHECK_UNKNOWN, NULL, NULL } } },
	{ "a filter that permits events",
	  { .level = 2, .attr_size = 136 },
	  true,
	  { { "/proc/self/status", STATUS("1000", NO_CAPS, "2") } },
	  { { "seccomp", PERCH_CHECK_OK, NULL, "permits perf_event_open" },
	    { "count-user", PERCH_CHECK_OK, NULL, NULL } } },
	{ "no perf events",
	  { .filter = ENOSYS },
	  false,
	  { { "/proc/version", "Linux version 4.4.0 #1 SMP Sun Jan 10 15:06:54 PST 2016\n" } },
	  { { "count-user", PERCH_CHECK_NO, "no-syscall", NULL },
	    { "container", PERCH_CHECK_LIMITED, NULL, "gvisor" },
	    { "core-pmu", PERCH_CHECK_NO, "no-hardware", "gVisor" } } },
	{ "root of a user namespace",
	  { .level = 2, .attr_size = 136 },
	  true,
	  { { "/proc/self/status", STATUS("0", ALL_CAPS, "0") },
	    { "/proc/self/uid_map", "0 1000 1\n" } },
	  { { "user-namespace", PERCH_CHECK_LIMITED, "user-namespace", "initial" },
	    { "capabilities", PERCH_CHECK_LIMITED, "user-namespace", NULL },
	    { "uprobes", PERCH_CHECK_NO, "probe-privilege", "outside the user namespace" },
	    { "count-kernel", PERCH_CHECK_NO, "*", "outside the user namespace" },
	    { "paranoid", PERCH_CHECK_LIMITED, NULL, NULL },
	    { "rings", PERCH_CHECK_OK, NULL, "RLIMIT_MEMLOCK" } } },
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
	  { { "rings", PERCH_CHECK_LIMITED, "mmap-locked", "perf_event_mlock_kb=516" },
	    { "descriptors", PERCH_CHECK_LIMITED, "descriptors", "5 left of 8" },
	    { "sample-rate", PERCH_CHECK_LIMITED, "frequency", "took too long (9 > 8)" },
	    { "stack-depth", PERCH_CHECK_LIMITED, NULL, "=127" },
	    { "vdso", PERCH_CHECK_LIMITED, NULL, "hpet" },
	    { "lockdown", PERCH_CHECK_LIMITED, "lockdown-regs", "confidentiality" },
	    { "kprobes", PERCH_CHECK_NO, "lockdown-probe", NULL },
	    { "security-modules", PERCH_CHECK_LIMITED, NULL, "SELinux" } } },
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
	  { { "lockdown", PERCH_CHECK_LIMITED, "lockdown-regs", "even to root" },
	    { "other-users", PERCH_CHECK_UNKNOWN, NULL, "this same user" },
	    { "seccomp", PERCH_CHECK_UNKNOWN, NULL, NULL },
	    { "paranoid", PERCH_CHECK_LIMITED, NULL,
	      "instead of 1: sysctl kernel.perf_event_paranoid=0" },
	    { "sample-rate", PERCH_CHECK_LIMITED, "frequency",
	      "kernel.perf_cpu_time_max_percent=25 kernel.perf_event_max" },
	    { "rings", PERCH_CHECK_LIMITED, "mmap-locked", "RLIMIT_MEMLOCK to 1808 KiB" },
	    { "security-modules", PERCH_CHECK_OK, NULL, "none that refuses events" } } },
	{ "no context for a call chain",
	  { .level = 2, .attr_size = 144 },
	  true,
	  { { "/proc/sys/kernel/perf_event_max_contexts_per_stack", "0\n" } },
	  { { "stack-depth", PERCH_CHECK_LIMITED, NULL, "are empty" },
	    { "stack-depth", PERCH_CHECK_LIMITED, NULL, "max_contexts_per_stack=8" } } },
	{ "one context for a call chain",
	  { .level = 2, .attr_size = 144 },
	  true,
	  { { "/proc/sys/kernel/perf_event_max_contexts_per_stack", "1\n" } },
	  { { "stack-depth", PERCH_CHECK_LIMITED, NULL, "start in the kernel end there" } } },
	{ "no lockdown, which cannot be read",
	  { .level = 2, .attr_size = 144 },
	  true,
	  { { "/proc/self/status", STATUS("1000", NO_CAPS, "0") } },
	  { { "lockdown", PERCH_CHECK_OK, NULL, "not confidentiality" } } },
	{ "EACCES from a filter, or from the level of a distribution",
	  { .filter = EACCES },
	  false,
	  { { "/proc/sys/kernel/perf_event_paranoid", "3\n" },
	    { "/proc/self/status", STATUS("1000", NO_CAPS, "2") } },
	  { { "seccomp", PERCH_CHECK_UNKNOWN, NULL, "the filter or the kernel" },
	    { "lockdown", PERCH_CHECK_UNKNOWN, NULL, NULL },
	    { "security-modules", PERCH_CHECK_UNKNOWN, NULL, NULL } } },
	{ "EACCES from a filter, or from SELinux",
	  { .filter = EACCES },
	  false,
	  { { "/proc/self/status", STATUS("0", ALL_CAPS, "2") },
	    { "/sys/fs/selinux/enforce", "1" } },
	  { { "seccomp", PERCH_CHECK_UNKNOWN, NULL, "the filter or the kernel" } } },
	{ "EACCES that only the filter can return",
	  { .filter = EACCES },
	  false,
	  { { "/proc/self/status", STATUS("0", ALL_CAPS, "2") } },
	  { { "count-user", PERCH_CHECK_NO, "seccomp", NULL },
	    { "seccomp", PERCH_CHECK_NO, "seccomp", "the filter refuses perf_event_open" },
	    { "lockdown", PERCH_CHECK_UNKNOWN, NULL, NULL } } },
	{ "a filter with an errno that the kernel does not return",
	  { .filter = EOPNOTSUPP },
	  false,
	  { { "/proc/self/status", STATUS("0", ALL_CAPS, "2") } },
	  { { "seccomp", PERCH_CHECK_NO, "seccomp", "SystemCallFilter=perf_event_open" },
	    { "uprobes", PERCH_CHECK_NO, "*", NULL } } },
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

static void check_result(const struct perch_checks *checks, const struct expected *expected)
{
	const struct perch_check *found = perch_checks_find(checks, expected->id);

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
static void check_json(const struct perch_checks *checks, struct perch_machine *machine)
{
	static const char *const members[] = { "id",	"group", "title",  "status",
					       "value", "cause", "reason", "change" };
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	const struct perch_check *results;
	size_t nr = perch_checks_results(checks, &results);
	json_t *all, *array;

	assert_non_null(out);
	assert_true(doctor_print_json(checks, machine, out));
	fclose(out);
	all = json_loads(text, 0, NULL);
	free(text);
	assert_non_null(all);
	assert_int_equal(json_is_true(json_object_get(all, "usable")), perch_checks_usable(checks));
	array = json_object_get(all, "checks");
	assert_int_equal(json_array_size(array), nr);
	for (size_t i = 0; i < nr; i++) {
		const json_t *check = json_array_get(array, i);

		for (size_t m = 0; m < sizeof(members) / sizeof(*members); m++)
			assert_non_null(json_object_get(check, members[m]));
		assert_string_equal(json_string_value(json_object_get(check, "id")), results[i].id);
	}
	json_decref(all);
}

/* The text has one marked line for each check, no line is too wide, and colours are optional. */
static void check_text(const struct perch_checks *checks, bool colours, unsigned width)
{
	const struct perch_check *results;
	char *text = NULL, *save = NULL;
	size_t size, marks = 0;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	assert_true(doctor_print_text(checks, out, colours, width));
	fclose(out);
	assert_int_equal(strchr(text, '\033') != NULL, colours);
	assert_non_null(strstr(text, perch_checks_usable(checks) ? "You can profile"
								 : "You cannot profile"));
	assert_null(strchr(text, '{')); /* no placeholder is left */
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		marks += line[0] == ' ' && line[1] == ' ' && line[2] != ' ';
		/* a word may be longer than the line */
		if (width && !colours && strlen(line) > width)
			assert_null(strchr(line + strspn(line, " "), ' '));
	}
	assert_int_equal(marks, perch_checks_results(checks, &results));
	free(text);
}

/* Runs the checks with a simulated kernel, on a machine whose files are below root. */
static struct perch_checks *run_checks(struct kernel *kernel, const char *root,
				       struct perch_machine **machine)
{
	struct perch_syscalls syscalls = perch_kernel_syscalls;
	struct perch_checks_options options = { .load_program = load_program, .context = kernel };
	struct perch_checks *checks;

	syscalls.context = kernel;
	syscalls.perf_event_open = fake_open;
	syscalls.read = fake_read;
	syscalls.close = fake_close;
	assert_int_equal(perch_machine_new(machine, root, &syscalls, NULL), 0);
	options.machine = *machine;
	assert_int_equal(perch_checks_run(&checks, &options, NULL), 0);
	assert_int_equal(kernel->open, 0);
	assert_int_equal(kernel->probes, 0);
	return checks;
}

static void check_fixture(const struct fixture *fixture, const struct perch_checks *checks,
			  struct perch_machine *machine)
{
	const struct perch_check *results;
	size_t nr = perch_checks_results(checks, &results);

	for (size_t i = 0;
	     i < sizeof(fixture->expected) / sizeof(*fixture->expected) && fixture->expected[i].id;
	     i++)
		check_result(checks, &fixture->expected[i]);
	assert_int_equal(perch_checks_usable(checks), fixture->usable);
	for (size_t i = 0; i < nr; i++)
		if (results[i].status != PERCH_CHECK_OK && !results[i].reason[0])
			fail_msg("%s has no reason", results[i].id);
	check_json(checks, machine);
	check_text(checks, false, 0);
	check_text(checks, true, 100);
	check_text(checks, false, 80);
}

static void checks_report_expected_results(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(fixtures) / sizeof(*fixtures); i++) {
		struct kernel kernel = fixtures[i].kernel;
		struct perch_machine *machine;
		struct perch_checks *checks;
		char root[PATH_MAX];

		print_message("%s\n", fixtures[i].name);
		make_tree(root, &fixtures[i]);
		checks = run_checks(&kernel, root, &machine);
		check_fixture(&fixtures[i], checks, machine);
		perch_checks_free(checks);
		perch_machine_free(machine);
		tree_remove(root);
	}
}

/* Every check has a result even on a machine without files. */
static void checks_work_without_files(void **state)
{
	static const struct tree_file file = { "/x", "" };
	struct kernel kernel = { .filter = EPERM };
	struct perch_machine *machine;
	struct perch_checks *checks;
	char root[PATH_MAX];

	(void)state;
	tree_make(root, &file, 1);
	checks = run_checks(&kernel, root, &machine);
	assert_false(perch_checks_usable(checks));
	check_json(checks, machine);
	check_text(checks, false, 0);
	perch_checks_free(checks);
	perch_machine_free(machine);
	tree_remove(root);
}

/* Texts of the system may contain control characters, and the program is named in changes. */
static void texts_are_cleaned(void **state)
{
	static const struct tree_file file = { "/proc/sys/kernel/osrelease", "6.6\033[31m\xff\n" };
	struct kernel kernel = { .filter = EPERM };
	struct perch_checks_options options = { .program = "a\033program",
						.load_program = load_program,
						.context = &kernel,
						.filter_kills = true };
	struct perch_syscalls syscalls = perch_kernel_syscalls;
	struct perch_checks *checks;
	char root[PATH_MAX];

	(void)state;
	syscalls.context = &kernel;
	syscalls.perf_event_open = fake_open;
	tree_make(root, &file, 1);
	assert_int_equal(perch_machine_new(&options.machine, root, &syscalls, NULL), 0);
	assert_int_equal(perch_checks_run(&checks, &options, NULL), 0);
	perch_machine_free(options.machine);
	assert_string_equal(perch_checks_find(checks, "kernel")->value, "Linux 6.6?[31m?");
	assert_non_null(strstr(perch_checks_find(checks, "bpf")->change, "a?program"));
	assert_null(perch_checks_find(checks, "no-such-check"));
	perch_checks_free(checks);
	tree_remove(root);
}

/* This machine, with the calls of the kernel. */
static void checks_this_machine(void **state)
{
	const struct perch_check *results;
	struct perch_checks *checks;
	size_t nr;

	(void)state;
	assert_int_equal(perch_checks_run(&checks, NULL, NULL), 0);
	nr = perch_checks_results(checks, &results);
	assert_true(nr > 30);
	assert_int_equal(perch_checks_find(checks, "kernel")->status, PERCH_CHECK_OK);
	assert_string_equal(perch_check_status_name(PERCH_CHECK_LIMITED), "limited");
	perch_checks_free(checks);
	perch_checks_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(checks_report_expected_results),
		cmocka_unit_test(checks_work_without_files),
		cmocka_unit_test(texts_are_cleaned),
		cmocka_unit_test(checks_this_machine),
	};

	/* the texts have paths of the simulated machine, and are cut off at some length */
	setenv("TMPDIR", "/tmp", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
