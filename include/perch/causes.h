/* SPDX-License-Identifier: MIT */
/**
 * @file
 * The causes of refused system calls, X(NAME, "slug", KIND, "meaning").
 *
 * Slugs are stable: scripts may match them. perch-causes(7) is generated from these tables. KIND is
 * the kind of the error (enum perch_error_kind), for programs that do not need the exact cause.
 * Fields at fault, release and remedy depend on the case and are in the explanation.
 */
#ifndef PERCH_CAUSES_H
#define PERCH_CAUSES_H

/** Causes of perf_event_open(2), in the order of the kernel's checks. */
/* clang-format off */
#define PERCH_OPEN_CAUSES(X)									\
	/* before perf */									\
	X(NO_SYSCALL, "no-syscall", NO_SYSCALL,							\
	  "the kernel, a sandbox or an emulator has no perf_event_open")			\
	X(SECCOMP, "seccomp", BLOCKED, "a seccomp filter blocks perf_event_open")		\
	/* the arguments */									\
	X(OPEN_FLAGS, "open-flags", BAD_FIELD, "flags has unknown bits")			\
	X(ATTR_POINTER, "attr-pointer", USAGE,							\
	  "the attr pointer is NULL or cannot be read or written")				\
	X(ATTR_SIZE, "attr-size", BAD_FIELD, "attr.size is below 64 or above one page")		\
	X(TOO_NEW, "too-new", TOO_NEW, "a field, bit or flag needs a newer kernel")		\
	/* the attr */								\
	X(RESERVED_BITS, "reserved-bits", BAD_FIELD,						\
	  "padding or reserved bits of the attr are not zero")					\
	X(SAMPLE_TYPE_BITS, "sample-type-bits", BAD_FIELD, "sample_type has unknown bits")	\
	X(READ_FORMAT_BITS, "read-format-bits", BAD_FIELD, "read_format has unknown bits")	\
	X(BRANCH_BITS, "branch-bits", BAD_FIELD, "branch_sample_type has unknown bits")		\
	X(BRANCH_KIND, "branch-kind", BAD_FIELD,						\
	  "branch_sample_type has privilege levels, but no type of branch")			\
	X(BRANCH_PRIVILEGE, "branch-privilege", PARANOID,					\
	  "branches of the kernel or hypervisor need privilege")				\
	X(REGS_USER, "regs-user", BAD_FIELD,							\
	  "sample_regs_user is empty or has a register that cannot be sampled")			\
	X(REGS_INTR, "regs-intr", BAD_FIELD,							\
	  "sample_regs_intr is empty or has a register that cannot be sampled")			\
	X(NO_REGS, "no-regs", NOT_SUPPORTED,							\
	  "this architecture cannot sample registers or user stacks")				\
	X(STACK_SIZE, "stack-size", BAD_FIELD,							\
	  "sample_stack_user is not a multiple of 8, or above 65528")				\
	X(SAMPLE_CGROUP, "sample-cgroup", NOT_SUPPORTED,					\
	  "PERF_SAMPLE_CGROUP needs a kernel with CONFIG_CGROUP_PERF")				\
	X(WEIGHT_CONFLICT, "weight-conflict", CONFLICT,						\
	  "WEIGHT and WEIGHT_STRUCT exclude each other")					\
	X(INHERIT_THREAD, "inherit-thread", CONFLICT, "inherit_thread needs inherit")		\
	X(EXEC_CONFLICT, "exec-conflict", CONFLICT,						\
	  "remove_on_exec and enable_on_exec exclude each other")				\
	X(SIGTRAP_EXEC, "sigtrap-exec", CONFLICT, "sigtrap needs remove_on_exec")		\
	/* permissions and limits */								\
	X(PARANOID_ALL, "paranoid-all", PARANOID,						\
	  "on some distributions, every event needs privilege at this level of "		\
	  "perf_event_paranoid")								\
	X(KERNEL_PROFILING, "kernel-profiling", PARANOID,					\
	  "kernel profiling needs privilege at this level of perf_event_paranoid")		\
	X(TEXT_POKE, "text-poke", PARANOID,							\
	  "TEXT_POKE records need privilege at this level of perf_event_paranoid")		\
	X(CALLCHAIN_KERNEL, "callchain-kernel", PARANOID,					\
	  "kernel call chains need privilege at this level of perf_event_paranoid")		\
	X(NAMESPACES, "namespaces", PRIVILEGE, "NAMESPACES records need CAP_PERFMON")		\
	X(PHYS_ADDR, "phys-addr", PARANOID,							\
	  "physical addresses need privilege at this level of perf_event_paranoid")		\
	X(USER_NAMESPACE, "user-namespace", PRIVILEGE,						\
	  "capabilities in a user namespace do not count")					\
	X(SECURITY_MODULE, "security-module", BLOCKED,						\
	  "a security module (SELinux, a BPF program) denies the event")			\
	X(LOCKDOWN_REGS, "lockdown-regs", PRIVILEGE,						\
	  "kernel lockdown (confidentiality mode) forbids REGS_INTR")				\
	X(FREQUENCY, "frequency", FREQUENCY,							\
	  "sample_freq is above kernel.perf_event_max_sample_rate")				\
	X(PERIOD, "period", PERIOD, "sample_period is 2^63 or above")				\
	X(CGROUP_TARGET, "cgroup-target", BAD_TARGET,						\
	  "a cgroup event needs a cgroup descriptor as pid, and a CPU")				\
	/* descriptors and targets */								\
	X(DESCRIPTORS, "descriptors", DESCRIPTORS, "RLIMIT_NOFILE is reached")			\
	X(SYSTEM_DESCRIPTORS, "system-descriptors", DESCRIPTORS,				\
	  "the system's limit of open files is reached")					\
	X(GROUP_FD, "group-fd", BAD_GROUP, "group_fd is not an open event")			\
	X(LEADER_GONE, "leader-gone", BAD_GROUP,						\
	  "the group leader's task has exited, or its PMU is gone")				\
	X(NO_PROCESS, "no-process", NO_PROCESS, "the target process or thread does not exist")	\
	X(GROUP_INHERIT, "group-inherit", BAD_GROUP, "group members need the leader's inherit")	\
	X(CPU_NEGATIVE, "cpu-negative", NO_CPU, "cpu is below -1")				\
	X(NO_TARGET, "no-target", BAD_TARGET, "pid -1 and cpu -1 name no target")		\
	X(CPU_ABSENT, "cpu-absent", NO_CPU, "the CPU does not exist")				\
	X(SIGTRAP_TASK, "sigtrap-task", CONFLICT, "sigtrap needs a target thread")		\
	X(INHERIT_READ, "inherit-read", CONFLICT,						\
	  "inherit with PERF_SAMPLE_READ needs PERF_SAMPLE_TID, and Linux 6.12")		\
	X(INHERIT_GROUP, "inherit-group", TOO_NEW,						\
	  "inherit with PERF_FORMAT_GROUP needs Linux 4.13")					\
	/* the PMU */										\
	X(NO_HARDWARE, "no-hardware", NOT_SUPPORTED,						\
	  "the machine has no hardware PMU that Linux supports")				\
	X(NO_HARDWARE_EVENT, "no-hardware-event", NOT_SUPPORTED,				\
	  "the hardware cannot count the event")						\
	X(HARDWARE_CONFIG, "hardware-config", BAD_FIELD,					\
	  "config is not a generic hardware or cache event")					\
	X(SOFTWARE_EVENT, "software-event", BAD_FIELD, "config is not a software event")	\
	X(NO_PMU, "no-pmu", UNKNOWN_PMU, "no PMU has that type number")				\
	X(EXTENDED_TYPE, "extended-type", BAD_FIELD,						\
	  "the upper half of config names a PMU without generic events")			\
	X(PMU_CPU, "pmu-cpu", NO_CPU, "the PMU does not serve the CPU")				\
	X(PMU_GONE, "pmu-gone", NOT_SUPPORTED,							\
	  "the PMU's driver is not ready, or is being unloaded")				\
	X(PMU_EVENT, "pmu-event", NOT_SUPPORTED, "the PMU has no such event")			\
	X(PMU_EXCLUDE, "pmu-exclude", CONFLICT,							\
	  "the PMU cannot exclude user space, the kernel or others, and an exclude bit is set")	\
	X(PMU_SAMPLING, "pmu-sampling", NOT_SUPPORTED, "the PMU can count but not sample")	\
	X(PMU_TASK, "pmu-task", BAD_TARGET, "the PMU counts whole CPUs, not tasks")		\
	X(PMU_PRIVILEGE, "pmu-privilege", PRIVILEGE, "a setting of the PMU needs privilege")	\
	X(PMU_BUSY, "pmu-busy", BUSY, "the PMU, or its branch or trace unit, is in use")	\
	X(PMU_PERIOD, "pmu-period", PERIOD, "the PMU does not support the period or frequency")	\
	X(EXTENDED_REGS, "extended-regs", NOT_SUPPORTED,					\
	  "extended (vector) registers cannot be sampled with this event")			\
	X(TRACEPOINT_ID, "tracepoint-id", BAD_FIELD,						\
	  "config is not the id of a tracepoint for perf")					\
	X(TRACEPOINT_FUNCTION, "tracepoint-function", CONFLICT,					\
	  "ftrace:function cannot sample user call chains or stacks")				\
	X(TRACEPOINT_SAMPLES, "tracepoint-samples", CONFLICT,					\
	  "the tracepoint can be counted but not sampled")					\
	X(FUNCTION_TRACING, "function-tracing", BLOCKED,					\
	  "the kernel does not allow function tracing")						\
	X(TRACEPOINT_RAW, "tracepoint-raw", PARANOID, "raw data of a tracepoint needs privilege") \
	X(PROBE_ENABLED, "probe-enabled", BAD_FIELD,						\
	  "the probe is already enabled through tracefs")					\
	X(PROBE_PRIVILEGE, "probe-privilege", PRIVILEGE,					\
	  "probes need CAP_SYS_ADMIN (kprobes CAP_PERFMON)")					\
	X(PROBE_POINTER, "probe-pointer", BAD_FIELD,						\
	  "config1 of a probe does not point to a readable string")				\
	X(PROBE_FILE, "probe-file", BAD_FIELD,							\
	  "the file of a uprobe does not exist, or cannot be probed")				\
	X(PROBE_OFFSET, "probe-offset", BAD_FIELD,						\
	  "the uprobe's offset is beyond the file, or its counter is unaligned")		\
	X(PROBE_INSTRUCTION, "probe-instruction", NOT_SUPPORTED,				\
	  "the instruction cannot be probed")							\
	X(PROBE_SYMBOL, "probe-symbol", BAD_FIELD,						\
	  "the kernel has no such function, or several, or does not allow a probe in it")	\
	X(PROBE_NAME, "probe-name", BAD_FIELD, "the name or path of a probe is too long")	\
	X(LOCKDOWN_PROBE, "lockdown-probe", PRIVILEGE,						\
	  "kernel lockdown (confidentiality mode) forbids kprobes")				\
	X(BREAKPOINT_SLOTS, "breakpoint-slots", BREAKPOINTS, "all debug registers are in use")	\
	X(BREAKPOINT_TYPE, "breakpoint-type", BAD_FIELD,					\
	  "this machine does not support the bp_type")						\
	X(BREAKPOINT_LENGTH, "breakpoint-length", BAD_FIELD,					\
	  "the hardware does not support the bp_len")						\
	X(BREAKPOINT_ALIGN, "breakpoint-align", BAD_FIELD, "bp_addr is not aligned to bp_len")	\
	X(BREAKPOINT_KERNEL, "breakpoint-kernel", CONFLICT,					\
	  "bp_addr is a kernel address, and exclude_kernel is set")				\
	X(BREAKPOINT_PRIVILEGE, "breakpoint-privilege", PRIVILEGE,				\
	  "a breakpoint at a kernel address needs CAP_SYS_ADMIN")				\
	X(BREAKPOINT_NEVER_FIRES, "breakpoint-never-fires", NOT_SUPPORTED,			\
	  "breakpoints can be opened on this machine and never fire")				\
	X(BRANCH_STACK, "branch-stack", NOT_SUPPORTED, "this event cannot record branch stacks") \
	X(BRANCH_FILTER, "branch-filter", NOT_SUPPORTED,					\
	  "the hardware does not support the branch filter")					\
	X(PRECISE, "precise", NOT_SUPPORTED, "the hardware does not support the precise_ip")	\
	X(PRECISE_COUNT, "precise-count", CONFLICT, "precise_ip needs a sampling event")	\
	X(NO_INTERRUPT, "no-interrupt", NOT_SUPPORTED,						\
	  "the PMU has no overflow interrupt and cannot sample")				\
	X(EXCLUDE_IDLE, "exclude-idle", NOT_SUPPORTED, "the PMU does not support exclude_idle")	\
	X(EXCLUDE_GUEST, "exclude-guest", NOT_SUPPORTED,					\
	  "the event needs exclude_guest on this machine")					\
	X(EXTRA_REGISTER, "extra-register", NOT_SUPPORTED,					\
	  "an extra register has invalid bits, or the hypervisor hides it")			\
	X(MEM_LOADS_AUX, "mem-loads-aux", CONFLICT,						\
	  "memory loads can be sampled only in a group with mem-loads-aux")			\
	X(NOT_SUPPORTED, "not-supported", NOT_SUPPORTED,					\
	  "the PMU does not support the event with these settings")				\
	/* after the PMU has accepted the event */						\
	X(AUX_OUTPUT, "aux-output", NOT_SUPPORTED,						\
	  "the PMU cannot write its samples into an AUX area")					\
	X(AUX_START_PAUSED, "aux-start-paused", NOT_SUPPORTED,					\
	  "the PMU has no AUX area that can start paused")					\
	X(AUX_PAUSE_RESUME, "aux-pause-resume", CONFLICT,					\
	  "aux_pause and aux_resume exclude each other")					\
	X(CGROUP_FD, "cgroup-fd", BAD_TARGET,							\
	  "the descriptor passed as pid is not a cgroup directory")				\
	X(CGROUP_GONE, "cgroup-gone", BAD_TARGET,						\
	  "the cgroup is being removed or lacks the perf_event controller")			\
	X(GROUP_CGROUP, "group-cgroup", BAD_GROUP, "group members need the leader's cgroup")	\
	X(STACK_DEPTH, "stack-depth", STACK_DEPTH,						\
	  "sample_max_stack is above kernel.perf_event_max_stack")				\
	X(CLOCKID, "clockid", BAD_FIELD, "clockid is not a clock for events")			\
	X(CLOCKID_NMI, "clockid-nmi", CONFLICT, "the clock cannot be read in an NMI")		\
	X(MEMORY, "memory", NO_MEMORY, "the kernel has no memory for the event")		\
	/* the target and the group */							\
	X(INTERRUPTED, "interrupted", BUSY, "a signal arrived while the target was in execve")	\
	X(OTHER_PROCESS, "other-process", PRIVILEGE,						\
	  "the target belongs to another user, or has more privileges")				\
	X(SIGTRAP_PROCESS, "sigtrap-process", PRIVILEGE,					\
	  "sigtrap to another process needs CAP_KILL and CAP_PERFMON")				\
	X(SYSTEM_WIDE, "system-wide", PARANOID,							\
	  "system-wide profiling needs privilege at this level of perf_event_paranoid")		\
	X(CPU_OFFLINE, "cpu-offline", NO_CPU, "the CPU is offline")				\
	X(GROUP_MEMBER, "group-member", BAD_GROUP,						\
	  "group_fd is a member of a group, not a leader")					\
	X(GROUP_TARGET, "group-target", BAD_GROUP,						\
	  "group members need the leader's process and CPU")					\
	X(GROUP_CLOCK, "group-clock", BAD_GROUP, "group members need the leader's clock")	\
	X(GROUP_PINNED, "group-pinned", BAD_GROUP,						\
	  "only a group leader can have pinned or exclusive")					\
	X(GROUP_PMUS, "group-pmus", BAD_GROUP, "all hardware events of a group need the same PMU") \
	X(GROUP_FULL, "group-full", BAD_GROUP, "the PMU has too few counters for the group")	\
	X(GROUP_SIZE, "group-size", BAD_GROUP, "one read of the group would exceed 16 KiB")	\
	X(GROUP_AUX, "group-aux", BAD_GROUP,							\
	  "aux_output, aux_sample_size, aux_pause, aux_resume need an AUX leader")		\
	X(OUTPUT, "output", BAD_GROUP, "the output cannot go into the other event's ring")	\
	X(TRANSIENT, "transient", BUSY, "the same open call succeeds now")			\
	X(UNEXPLAINED, "unexplained", SYSTEM, "no rule, fact or probing finds the cause")
/* clang-format on */

/** Causes of mmap(2), ioctl(2) and read(2) of an event. */
/* clang-format off */
#define PERCH_OPERATION_CAUSES(X)								\
	X(MMAP_INHERIT, "mmap-inherit", CONFLICT,						\
	  "an inherited event on every CPU cannot have a ring")					\
	X(MMAP_PRIVATE, "mmap-private", USAGE, "a ring needs MAP_SHARED")			\
	X(MMAP_LENGTH, "mmap-length", USAGE,							\
	  "a ring has 1 + 2^n pages of this machine's page size")				\
	X(MMAP_EXISTING, "mmap-existing", USAGE, "the event already has a ring of another size") \
	X(MMAP_OFFSET, "mmap-offset", USAGE, "only an AUX area has an offset")			\
	X(MMAP_EXEC, "mmap-exec", USAGE, "a ring cannot be executable")				\
	X(MMAP_LOCKED, "mmap-locked", MLOCK,							\
	  "perf_event_mlock_kb and RLIMIT_MEMLOCK are exceeded")				\
	X(MMAP_REDIRECTED, "mmap-redirected", CONFLICT,						\
	  "the event's output goes into another event's ring")					\
	X(MMAP_AUX_FIELDS, "mmap-aux-fields", USAGE,						\
	  "aux_offset and aux_size do not match the mapping")					\
	X(MMAP_NO_AUX, "mmap-no-aux", NOT_SUPPORTED, "the event's PMU has no AUX area")		\
	X(MUNMAP_PART, "munmap-part", USAGE, "a ring can only be unmapped as a whole")		\
	X(MMAP_FLAGS, "mmap-flags", USAGE,							\
	  "a ring does not support MAP_GROWSDOWN, MAP_HUGETLB, MAP_SYNC and unknown flags")	\
	X(MMAP_MEMORY, "mmap-memory", NO_MEMORY, "the kernel has no memory for the ring")	\
	X(IOCTL_UNKNOWN, "ioctl-unknown", USAGE,						\
	  "the request is not an ioctl of events, or needs a newer kernel")			\
	X(IOCTL_POINTER, "ioctl-pointer", USAGE,						\
	  "the argument of the ioctl is not readable or writable")				\
	X(IOCTL_REFRESH, "ioctl-refresh", CONFLICT,						\
	  "REFRESH needs a sampling event without inherit")					\
	X(IOCTL_PERIOD, "ioctl-period", PERIOD,							\
	  "PERIOD: the event only counts, or the new value is out of range")			\
	X(IOCTL_OUTPUT, "ioctl-output", CONFLICT,						\
	  "SET_OUTPUT: the two events cannot share a ring")					\
	X(IOCTL_OUTPUT_FD, "ioctl-output-fd", USAGE,						\
	  "SET_OUTPUT: the descriptor is not an event (pass -1L, not -1)")			\
	X(IOCTL_FILTER, "ioctl-filter", BAD_FIELD,						\
	  "SET_FILTER: the event does not support filters, or not this filter")			\
	X(IOCTL_FILTER_SET, "ioctl-filter-set", CONFLICT,					\
	  "SET_FILTER: the event already has a filter")						\
	X(IOCTL_BPF, "ioctl-bpf", CONFLICT, "SET_BPF: the event does not support this program")	\
	X(IOCTL_BPF_SET, "ioctl-bpf-set", CONFLICT, "SET_BPF: the event already has a program")	\
	X(IOCTL_BPF_QUERY, "ioctl-bpf-query", PRIVILEGE,					\
	  "QUERY_BPF: needs CAP_PERFMON, a tracepoint and space for the ids")			\
	X(IOCTL_PAUSE, "ioctl-pause", USAGE, "PAUSE_OUTPUT: the event has no ring")		\
	X(IOCTL_MODIFY, "ioctl-modify", BAD_FIELD,						\
	  "MODIFY_ATTRIBUTES: only location and type of a breakpoint can change")		\
	X(READ_SHORT, "read-short", SHORT_READ, "the buffer is smaller than read_format needs")	\
	X(READ_ERROR_STATE, "read-error-state", SCHEDULE,					\
	  "end of file: the event is in error state")						\
	X(READ_CHILD, "read-child", CONFLICT, "a child's copy of the group has other members")	\
	X(READ_POINTER, "read-pointer", USAGE, "the buffer is not writable")			\
	X(NOT_AN_EVENT, "not-an-event", USAGE, "the descriptor is not open, or not an event")	\
	X(OPERATION_REVOKED, "operation-revoked", NOT_SUPPORTED, "the event's PMU is gone")	\
	X(OPERATION_BLOCKED, "operation-blocked", BLOCKED,					\
	  "a security module or seccomp filter denies the operation")
/* clang-format on */

/** Settings that the kernel accepts although they have no effect: see perch_lint(). */
/* clang-format off */
#define PERCH_LINT_CAUSES(X)									\
	X(LINT_SIZE, "lint-size", USAGE, "attr.size 0 means 64: later fields are ignored")	\
	X(LINT_BEYOND_SIZE, "lint-beyond-size", USAGE,						\
	  "a field beyond attr.size is set and ignored")					\
	X(LINT_PRECISE, "lint-precise", USAGE, "precise_ip is ignored by this kind of event")	\
	X(LINT_MAX_STACK, "lint-max-stack", USAGE,						\
	  "sample_max_stack is ignored without CALLCHAIN")					\
	X(LINT_CLOCKID, "lint-clockid", USAGE, "clockid is ignored without use_clockid")	\
	X(LINT_BUILD_ID, "lint-build-id", USAGE, "build_id is ignored without mmap2")		\
	X(LINT_INHERIT_STAT, "lint-inherit-stat", USAGE,					\
	  "inherit_stat is ignored without inherit")						\
	X(LINT_AUX_SIZE, "lint-aux-size", USAGE, "SAMPLE_AUX needs aux_sample_size")		\
	X(LINT_OUTPUT, "lint-output", USAGE, "PERF_FLAG_FD_OUTPUT needs group_fd")		\
	X(LINT_RAW_BITS, "lint-raw-bits", USAGE,						\
	  "config has bits outside the PMU's formats, which are ignored")			\
	X(LINT_HARDWARE_SAMPLE, "lint-hardware-sample", USAGE,					\
	  "sample_type has fields that only hardware events fill")				\
	X(LINT_BRANCH_TYPE, "lint-branch-type", USAGE,						\
	  "branch_sample_type is ignored without BRANCH_STACK")					\
	X(LINT_REGS, "lint-regs", USAGE,							\
	  "a register mask is ignored without its bit in sample_type")				\
	X(LINT_STACK, "lint-stack", USAGE,							\
	  "sample_stack_user and STACK_USER need each other")			\
	X(LINT_NMI_WATCHDOG, "lint-nmi-watchdog", USAGE,					\
	  "a pinned or exclusive event may never run because of the NMI watchdog")		\
	X(LINT_GROUP_COUNTERS, "lint-group-counters", USAGE,					\
	  "the group may never run: the NMI watchdog uses a counter")				\
	X(LINT_EXCLUDE_HV, "lint-exclude-hv", USAGE,						\
	  "exclude_hv has no effect on this architecture")					\
	X(LINT_EXCLUDE_ALL, "lint-exclude-all", USAGE,						\
	  "nothing is counted: both modes are excluded")					\
	X(LINT_KERNEL_ONLY, "lint-kernel-only", USAGE,						\
	  "nothing is counted: the event occurs only in the kernel")				\
	X(LINT_FREQ_ZERO, "lint-freq-zero", USAGE, "freq with sample_freq 0 only counts")	\
	X(LINT_NO_SAMPLES, "lint-no-samples", USAGE,						\
	  "sample_type is set, but the event takes no samples")					\
	X(LINT_MMAP2, "lint-mmap2", USAGE, "mmap2 is ignored without mmap")			\
	X(LINT_COMM_EXEC, "lint-comm-exec", USAGE, "comm_exec is ignored without comm")		\
	X(LINT_WATERMARK, "lint-watermark", USAGE,						\
	  "wakeup_events and wakeup_watermark share a word, and watermark selects the wrong one") \
	X(LINT_NO_GROUP, "lint-no-group", USAGE,						\
	  "PERF_FLAG_FD_NO_GROUP without PERF_FLAG_FD_OUTPUT ignores group_fd")			\
	X(LINT_SIG_DATA, "lint-sig-data", USAGE, "sig_data is ignored without sigtrap")		\
	X(LINT_AUX_WATERMARK, "lint-aux-watermark", USAGE,					\
	  "aux_watermark is ignored: the event has no AUX area")				\
	X(LINT_EXEC, "lint-exec", USAGE, "enable_on_exec or remove_on_exec has no effect")	\
	X(LINT_CALLCHAIN, "lint-callchain", USAGE,						\
	  "settings of call chains are ignored, or call chains have no frames")		\
	X(LINT_BP_TYPE, "lint-bp-type", USAGE,							\
	  "bp_type is ignored: the event is not a breakpoint")					\
	X(LINT_EXCLUDE_IDLE, "lint-exclude-idle", USAGE,					\
	  "exclude_idle is ignored by this kind of event")					\
	X(LINT_CLOCK_EXCLUDE, "lint-clock-exclude", USAGE,					\
	  "exclude_user has no effect when clocks count")					\
	X(LINT_FORMAT_ID, "lint-format-id", USAGE, "samples have the counts of a group without ids") \
	X(LINT_BREAKPOINT, "lint-breakpoint", USAGE,						\
	  "nothing is counted: breakpoints never fire on this machine")
/* clang-format on */

/** Causes of mmap(2) of an event that concern addresses of the process. */
/* clang-format off */
#define PERCH_ADDRESS_CAUSES(X)									\
	X(MMAP_ADDRESS, "mmap-address", USAGE,							\
	  "the address of MAP_FIXED is not a multiple of the page size, or above user space")	\
	X(MMAP_MIN_ADDRESS, "mmap-min-address", PRIVILEGE,					\
	  "the address of MAP_FIXED is below vm.mmap_min_addr")					\
	X(MMAP_IN_USE, "mmap-in-use", CONFLICT,							\
	  "something is mapped at the address of MAP_FIXED that cannot be replaced")		\
	X(MMAP_ADDRESS_SPACE, "mmap-address-space", NO_MEMORY,					\
	  "RLIMIT_AS, vm.max_map_count or the address space is exhausted")
/* clang-format on */

/** All causes. New ones are added at the end, so that the others keep their values. */
#define PERCH_CAUSES(X) \
	PERCH_OPEN_CAUSES(X) PERCH_OPERATION_CAUSES(X) PERCH_LINT_CAUSES(X) PERCH_ADDRESS_CAUSES(X)

/** The exact cause of an error or finding. */
enum perch_cause {
	PERCH_CAUSE_NONE, /**< not a refused system call, or no explanation */
#define PERCH_CAUSE_ENUM(name, slug, kind, meaning) PERCH_CAUSE_##name,
	PERCH_CAUSES(PERCH_CAUSE_ENUM)
#undef PERCH_CAUSE_ENUM
		PERCH_CAUSE_MAX /**< number of causes, with NONE */
};

#endif
