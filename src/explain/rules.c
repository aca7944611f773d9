/* SPDX-License-Identifier: MIT */
/* The static rules, in the order in which the kernel checks. The first that fits the errno and the call is the cause. */
#include <errno.h>

#include "internal.h"

#define SYSFS_HINT "perch list shows what this machine can count"

static bool always(const struct perch__case *c) { (void)c; return true; }
static bool flag_bits(const struct perch__case *c) { return c->call->flags & ~15ul; }
static bool null_attr(const struct perch__case *c) { return !c->call->attr; }
static bool reserved(const struct perch__case *c) { return c->attr.reserved_1 || c->attr.reserved_2 || c->attr.reserved_3; }
static bool sample_bits(const struct perch__case *c) { return c->attr.sample_type >= PERCH_SAMPLE_MAX; }
static bool read_bits(const struct perch__case *c) { return c->attr.read_format >= PERCH_FORMAT_MAX; }

static bool branch_bits(const struct perch__case *c)
{
	uint64_t wanted = c->attr.branch_sample_type;

	return c->attr.sample_type & PERCH_SAMPLE_BRANCH_STACK &&
	       (wanted >= PERCH_SAMPLE_BRANCH_MAX || !(wanted & ~(uint64_t)PERCH_SAMPLE_BRANCH_PLM_ALL));
}

static bool bad_stack(const struct perch__case *c)
{
	uint32_t size = c->attr.sample_stack_user;

	return c->attr.sample_type & PERCH_SAMPLE_STACK_USER && (size % 8 || size >= 65528);
}

static bool both_weights(const struct perch__case *c)
{
	return (c->attr.sample_type & PERCH_SAMPLE_WEIGHT_TYPE) == PERCH_SAMPLE_WEIGHT_TYPE;
}

static bool no_registers(const struct perch__case *c)
{
	return (c->attr.sample_type & PERCH_SAMPLE_REGS_USER && !c->attr.sample_regs_user) ||
	       (c->attr.sample_type & PERCH_SAMPLE_REGS_INTR && !c->attr.sample_regs_intr);
}

static bool thread_without_inherit(const struct perch__case *c) { return c->attr.inherit_thread && !c->attr.inherit; }
static bool exec_both(const struct perch__case *c) { return c->attr.remove_on_exec && c->attr.enable_on_exec; }
static bool sigtrap_stays(const struct perch__case *c) { return c->attr.sigtrap && !c->attr.remove_on_exec; }
static bool high_period(const struct perch__case *c) { return !c->attr.freq && c->attr.sample_period >> 63; }
static bool cgroup_incomplete(const struct perch__case *c)
{
	return c->call->flags & PERCH_FLAG_PID_CGROUP && (c->call->pid == -1 || c->call->cpu == -1);
}

static bool nobody(const struct perch__case *c) { return c->call->pid == -1 && c->call->cpu == -1; }

static bool read_inherited(const struct perch__case *c)
{
	return c->attr.inherit && c->attr.sample_type & PERCH_SAMPLE_READ && !(c->attr.sample_type & PERCH_SAMPLE_TID);
}

static bool group_inherited(const struct perch__case *c)
{
	return c->attr.inherit && c->attr.read_format & PERCH_FORMAT_GROUP;
}

static bool odd_clock(const struct perch__case *c)
{
	static const int known[] = { 0, 1, 4, 7, 11 };

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (c->attr.clockid == known[i])
			return false;
	return c->attr.use_clockid;
}

static bool in_group(const struct perch__case *c) { return c->call->group_fd >= 0; }
static bool pinned_member(const struct perch__case *c) { return in_group(c) && (c->attr.pinned || c->attr.exclusive); }
static bool breakpoint(const struct perch__case *c) { return c->attr.type == PERCH_TYPE_BREAKPOINT; }
static bool tracepoint(const struct perch__case *c) { return c->attr.type == PERCH_TYPE_TRACEPOINT; }
static bool sampling(const struct perch__case *c) { return c->attr.sample_period != 0; }
static bool cgroup(const struct perch__case *c) { return c->call->flags & PERCH_FLAG_PID_CGROUP; }
static bool cpu_wide(const struct perch__case *c) { return c->call->pid == -1 || cgroup(c); }
static bool branches(const struct perch__case *c) { return c->attr.sample_type & PERCH_SAMPLE_BRANCH_STACK; }
static bool aux(const struct perch__case *c)
{
	return c->attr.aux_output || c->attr.aux_action || c->attr.sample_type & PERCH_SAMPLE_AUX;
}

static bool hardware(const struct perch__case *c)
{
	return c->attr.type == PERCH_TYPE_HARDWARE || c->attr.type == PERCH_TYPE_HW_CACHE || c->attr.type == PERCH_TYPE_RAW;
}

static bool no_hardware(const struct perch__case *c) { return hardware(c) && perch__no_core_pmu(c); }
static bool software(const struct perch__case *c) { return c->attr.type == PERCH_TYPE_SOFTWARE; }
static bool kernel_wanted(const struct perch__case *c)
{
	return !c->attr.exclude_kernel && perch__may_lack_privilege(c) && perch__paranoid_may_exceed(c, 1);
}

static bool cpu_wanted(const struct perch__case *c)
{
	return cpu_wide(c) && perch__may_lack_privilege(c) && perch__paranoid_may_exceed(c, 0);
}

static bool phys_wanted(const struct perch__case *c)
{
	return c->attr.sample_type & PERCH_SAMPLE_PHYS_ADDR && perch__may_lack_privilege(c);
}

static bool namespaces_wanted(const struct perch__case *c) { return c->attr.namespaces && perch__may_lack_admin(c); }
static bool uprobe(const struct perch__case *c) { return perch__pmu_is(c, "uprobe") || perch__pmu_is(c, "kprobe"); }
static bool all_forbidden(const struct perch__case *c) { return perch__may_lack_privilege(c) && perch__paranoid_exceeds(c, 2); }
static bool others_process(const struct perch__case *c) { return c->call->pid > 0; }
static bool kernel_breakpoint(const struct perch__case *c) { return breakpoint(c) && c->attr.bp_addr >> 63; }
static bool raw_tracepoint(const struct perch__case *c) { return tracepoint(c) && c->attr.sample_type & PERCH_SAMPLE_RAW; }

const struct perch__rule perch__rules[] = {
	{ ENOSYS, PERCH_CAUSE_NO_SYSCALL, always, "", "this kernel, or the emulator it runs under, has no perf_event_open", "use a kernel built with CONFIG_PERF_EVENTS" },
	{ EINVAL, PERCH_CAUSE_BAD_FIELD, flag_bits, "flags", "flags {flags} has bits that mean nothing to perf_event_open", "use the PERCH_FLAG_* bits" },
	{ EFAULT, PERCH_CAUSE_USAGE, null_attr, "attr", "the attr's pointer leads nowhere", "pass the address of a struct perch_attr" },
	{ E2BIG, PERCH_CAUSE_TOO_NEW, always, "size", "the attr has fields that this kernel is too old for", "leave the newest fields zero, or use a newer kernel" },
	{ EINVAL, PERCH_CAUSE_TOO_NEW, reserved, "", "bits are set that no kernel up to 7.2 knows", "leave the reserved bits zero" },
	{ EINVAL, PERCH_CAUSE_BAD_FIELD, sample_bits, "sample_type", "sample_type has the unknown bits {sample_bits}", "use the PERCH_SAMPLE_* bits" },
	{ EINVAL, PERCH_CAUSE_BAD_FIELD, read_bits, "read_format", "read_format has the unknown bits {read_bits}", "use the PERCH_FORMAT_* bits" },
	{ EINVAL, PERCH_CAUSE_BAD_FIELD, branch_bits, "branch_sample_type", "branch_sample_type does not say which branches to sample, or has unknown bits", "set PERCH_SAMPLE_BRANCH_ANY or another kind" },
	{ EINVAL, PERCH_CAUSE_BAD_FIELD, no_registers, "sample_regs_user", "registers are to be sampled but the mask names none", "set sample_regs_user or sample_regs_intr" },
	{ EINVAL, PERCH_CAUSE_BAD_FIELD, bad_stack, "sample_stack_user", "sample_stack_user {stack} is no multiple of 8 below 65528", "use 8192, say" },
	{ EINVAL, PERCH_CAUSE_CONFLICT, both_weights, "sample_type", "WEIGHT and WEIGHT_STRUCT exclude each other", "ask for one of them" },
	{ EINVAL, PERCH_CAUSE_CONFLICT, thread_without_inherit, "inherit_thread", "inherit_thread needs inherit", "set both, or neither" },
	{ EINVAL, PERCH_CAUSE_CONFLICT, exec_both, "remove_on_exec", "remove_on_exec and enable_on_exec exclude each other", "set one of them" },
	{ EINVAL, PERCH_CAUSE_CONFLICT, sigtrap_stays, "sigtrap", "sigtrap needs remove_on_exec: a new program has no handler", "set remove_on_exec too" },
	{ EACCES, PERCH_CAUSE_PARANOID, all_forbidden, "", "kernel.perf_event_paranoid{paranoid} allows ordinary users no perf events at all", "sysctl kernel.perf_event_paranoid=2 as root, or give the program CAP_PERFMON" },
	{ EACCES, PERCH_CAUSE_PARANOID, kernel_wanted, "exclude_kernel", "ordinary users may not measure the kernel while kernel.perf_event_paranoid{paranoid} is above 1", "measure user space alone (:u), sysctl kernel.perf_event_paranoid=1 as root, or use CAP_PERFMON" },
	{ EACCES, PERCH_CAUSE_PRIVILEGE, namespaces_wanted, "namespaces", "following namespaces needs CAP_SYS_ADMIN", "run as root, or leave namespaces out" },
	{ EACCES, PERCH_CAUSE_PRIVILEGE, phys_wanted, "sample_type", "physical addresses need CAP_PERFMON or CAP_SYS_ADMIN", "leave PHYS_ADDR out, or run as root" },
	{ EACCES, PERCH_CAUSE_PARANOID, cpu_wanted, "pid", "ordinary users may not measure whole CPUs while kernel.perf_event_paranoid{paranoid} is above 0", "measure one process, sysctl kernel.perf_event_paranoid=0 as root, or use CAP_PERFMON" },
	{ EINVAL, PERCH_CAUSE_FREQUENCY, perch__above_max_rate, "sample_freq", "{frequency} samples a second are more than kernel.perf_event_max_sample_rate{max_rate} allows", "ask for a lower frequency, or raise the sysctl as root" },
	{ EINVAL, PERCH_CAUSE_PERIOD, high_period, "sample_period", "a sample_period has to be below 2^63", "use a smaller period" },
	{ EINVAL, PERCH_CAUSE_BAD_TARGET, cgroup_incomplete, "cpu", "a cgroup is measured on one CPU: neither pid nor cpu may be -1", "open it on each CPU" },
	{ EMFILE, PERCH_CAUSE_DESCRIPTORS, always, "", "this process may open no more file descriptors{descriptors}", "raise the limit (ulimit -n), or close some" },
	{ ENFILE, PERCH_CAUSE_DESCRIPTORS, always, "", "the system has no file descriptor left", "close some, or raise fs.file-max" },
	{ EBADF, PERCH_CAUSE_BAD_TARGET, cgroup, "pid", "descriptor {pid} is no cgroup folder", "open a folder of the cgroup2 file system" },
	{ EBADF, PERCH_CAUSE_BAD_GROUP, always, "group_fd", "group_fd {group_fd} is not the descriptor of an event", "give the leader's descriptor, or -1" },
	{ ESRCH, PERCH_CAUSE_NO_PROCESS, always, "pid", "there is no thread {pid}, or it has ended", "check the number with ps -eL" },
	{ ENOENT, PERCH_CAUSE_UNKNOWN_EVENT, tracepoint, "config", "there is no tracepoint with id {config}", SYSFS_HINT },
	{ ENOENT, PERCH_CAUSE_NOT_SUPPORTED, no_hardware, "type", "this machine has no hardware counters that its kernel can use, as is common in virtual machines", "use cpu-clock or task-clock in place of cycles; " SYSFS_HINT },
	{ ENOENT, PERCH_CAUSE_NOT_SUPPORTED, hardware, "config", "this machine has no counter for that hardware event", SYSFS_HINT },
	{ ENOENT, PERCH_CAUSE_UNKNOWN_EVENT, software, "config", "this kernel has no software event {config}", SYSFS_HINT },
	{ ENOENT, PERCH_CAUSE_UNKNOWN_PMU, perch__type_unregistered, "type", "this machine has no PMU of type {type}", SYSFS_HINT },
	{ ENOENT, PERCH_CAUSE_NOT_SUPPORTED, always, "config", "the PMU {pmu} has no event with config {config}", SYSFS_HINT },
	{ EOPNOTSUPP, PERCH_CAUSE_NOT_SUPPORTED, aux, "", "the PMU {pmu} has no AUX area", "leave the aux fields zero" },
	{ EOPNOTSUPP, PERCH_CAUSE_NOT_SUPPORTED, branches, "sample_type", "the PMU {pmu} cannot record branches", "leave BRANCH_STACK out" },
	{ EOPNOTSUPP, PERCH_CAUSE_NOT_SUPPORTED, sampling, "sample_period", "the PMU {pmu} counts this, but cannot sample it so", "count it, or sample with a software event" },
	{ EOPNOTSUPP, PERCH_CAUSE_NOT_SUPPORTED, always, "", "the PMU {pmu} cannot do what the attr asks", SYSFS_HINT },
	{ EOVERFLOW, PERCH_CAUSE_STACK_DEPTH, always, "sample_max_stack", "call chains of {depth} frames are deeper than kernel.perf_event_max_stack{max_stack}", "ask for fewer, or raise the sysctl as root" },
	{ EINVAL, PERCH_CAUSE_CONFLICT, read_inherited, "sample_type", "inherited events that sample READ need TID too (6.12)", "add PERCH_SAMPLE_TID" },
	{ EINVAL, PERCH_CAUSE_BAD_FIELD, odd_clock, "clockid", "clockid {clockid} is none that perf events know", "use MONOTONIC, MONOTONIC_RAW, REALTIME, BOOTTIME or TAI" },
	{ ENOSPC, PERCH_CAUSE_BREAKPOINTS, breakpoint, "", "all debug registers are taken (x86 has four)", "remove a breakpoint; debuggers use them too" },
	{ EPERM, PERCH_CAUSE_PRIVILEGE, kernel_breakpoint, "bp_addr", "a breakpoint at a kernel address needs CAP_SYS_ADMIN", "run as root" },
	{ EPERM, PERCH_CAUSE_PRIVILEGE, raw_tracepoint, "sample_type", "raw data of tracepoints needs CAP_PERFMON, or kernel.perf_event_paranoid{paranoid} of -1", "leave RAW out, or run as root" },
	{ EPERM, PERCH_CAUSE_BLOCKED, always, "", "a seccomp filter or security module blocks perf_event_open, as containers do by default", "start the container with a profile that allows perf_event_open" },
	{ EACCES, PERCH_CAUSE_PRIVILEGE, uprobe, "type", "probes need CAP_SYS_ADMIN", "run as root" },
	{ EACCES, PERCH_CAUSE_PRIVILEGE, others_process, "pid", "this user may not trace process {pid}", "run as its owner or as root; kernel.yama.ptrace_scope may forbid it too" },
	{ EINVAL, PERCH_CAUSE_NO_CPU, perch__cpu_absent, "cpu", "there is no CPU {cpu}: this machine has {cpus}", "use one that /sys/devices/system/cpu/online lists" },
	{ ENODEV, PERCH_CAUSE_NO_CPU, always, "cpu", "CPU {cpu} is offline", "use one that /sys/devices/system/cpu/online lists" },
	{ EINVAL, PERCH_CAUSE_BAD_TARGET, nobody, "pid", "pid -1 and cpu -1 together are no target", "measure everything on each CPU, or one thread on any" },
	{ EINVAL, PERCH_CAUSE_BAD_GROUP, pinned_member, "pinned", "only a group's leader can be pinned or exclusive", "set it on the leader" },
	{ EINVAL, PERCH_CAUSE_BAD_FIELD, breakpoint, "bp_type", "the processor has no breakpoint of type {bp_type} and length {bp_len} at {bp_addr}", "lengths are 1, 2, 4, 8, addresses multiples of them; execution wants sizeof(long)" },
	{ EINVAL, PERCH_CAUSE_BAD_GROUP, in_group, "group_fd", "the event cannot join its group: members need the leader's target, CPU and clock, and room on the PMU", "open them for the same target, or alone" },
	{ EINVAL, PERCH_CAUSE_CONFLICT, group_inherited, "read_format", "kernels before 6.12 have no group reads of inherited events", "leave FORMAT_GROUP or inherit out" },
	{ EBUSY, PERCH_CAUSE_NOT_SUPPORTED, always, "", "another user has the PMU {pmu} for itself", "end the other measurement first" },
	{ EINTR, PERCH_CAUSE_SYSTEM, always, "", "the probe is in use by ftrace", "disable it in tracefs first" },
};
const size_t perch__rules_nr = sizeof(perch__rules) / sizeof(*perch__rules);
