/* SPDX-License-Identifier: MIT */
/*
 * Why the kernel refuses: every cause that perch tells apart, one line each, X(NAME, "slug", KIND,
 * "meaning"). Slugs are stable: scripts may match them, and perch-causes(7), which is made of these
 * tables, has a row for each.
 *
 * KIND is the kind of error (enum perch_error_kind in perch/error.h): what a program that only
 * wants to know what to do next switches on. The fields at fault, the release and the remedy belong
 * to the case and are told with it.
 */
#ifndef PERCH_CAUSES_H
#define PERCH_CAUSES_H

/* Refusals of perf_event_open(2), in the order in which the kernel looks. */
#define PERCH_OPEN_CAUSES(X)                                                                       \
	/* before perf sees the call */                                                            \
	X(NO_SYSCALL, "no-syscall", NO_SYSCALL,                                                    \
	  "the kernel, a sandbox or an emulator has no perf_event_open")                           \
	X(SECCOMP, "seccomp", BLOCKED, "a seccomp filter answers in the kernel's place")           \
	/* the arguments */                                                                        \
	X(OPEN_FLAGS, "open-flags", BAD_FIELD,                                                     \
	  "the flags argument has a bit that the kernel does not know")                            \
	X(ATTR_POINTER, "attr-pointer", USAGE,                                                     \
	  "the attr pointer is NULL or cannot be read or written")                                 \
	X(ATTR_SIZE, "attr-size", BAD_FIELD, "attr.size is below 64 or above one page")            \
	X(TOO_NEW, "too-new", TOO_NEW, "a field, bit or flag that this kernel is too old for")     \
	/* the attr by itself */                                                                   \
	X(RESERVED_BITS, "reserved-bits", BAD_FIELD,                                               \
	  "padding or reserved bits of the attr are not zero")                                     \
	X(SAMPLE_TYPE_BITS, "sample-type-bits", BAD_FIELD,                                         \
	  "sample_type has bits that no kernel knows")                                             \
	X(READ_FORMAT_BITS, "read-format-bits", BAD_FIELD,                                         \
	  "read_format has bits that no kernel knows")                                             \
	X(BRANCH_BITS, "branch-bits", BAD_FIELD,                                                   \
	  "branch_sample_type has bits that no kernel knows")                                      \
	X(BRANCH_KIND, "branch-kind", BAD_FIELD,                                                   \
	  "branch_sample_type names privilege levels and no kind of branch")                       \
	X(BRANCH_PRIVILEGE, "branch-privilege", PARANOID,                                          \
	  "branches of the kernel or hypervisor need privilege")                                   \
	X(REGS_USER, "regs-user", BAD_FIELD,                                                       \
	  "sample_regs_user is empty or has a register that cannot be sampled")                    \
	X(REGS_INTR, "regs-intr", BAD_FIELD,                                                       \
	  "sample_regs_intr is empty or has a register that cannot be sampled")                    \
	X(NO_REGS, "no-regs", NOT_SUPPORTED,                                                       \
	  "this architecture samples neither registers nor user stacks")                           \
	X(STACK_SIZE, "stack-size", BAD_FIELD,                                                     \
	  "sample_stack_user is no multiple of 8 up to 65528")                                     \
	X(SAMPLE_CGROUP, "sample-cgroup", NOT_SUPPORTED,                                           \
	  "SAMPLE_CGROUP needs a kernel with CONFIG_CGROUP_PERF")                                  \
	X(WEIGHT_CONFLICT, "weight-conflict", CONFLICT,                                            \
	  "WEIGHT and WEIGHT_STRUCT exclude each other")                                           \
	X(INHERIT_THREAD, "inherit-thread", CONFLICT, "inherit_thread needs inherit")              \
	X(EXEC_CONFLICT, "exec-conflict", CONFLICT,                                                \
	  "remove_on_exec and enable_on_exec exclude each other")                                  \
	X(SIGTRAP_EXEC, "sigtrap-exec", CONFLICT, "sigtrap needs remove_on_exec")                  \
	/* who asks */                                                                             \
	X(PARANOID_ALL, "paranoid-all", PARANOID,                                                  \
	  "a distribution's paranoid level refuses every event to ordinary users")                 \
	X(KERNEL_PROFILING, "kernel-profiling", PARANOID,                                          \
	  "measuring the kernel's side needs privilege at this paranoid level")                    \
	X(TEXT_POKE, "text-poke", PARANOID,                                                        \
	  "TEXT_POKE records need privilege at this paranoid level")                               \
	X(CALLCHAIN_KERNEL, "callchain-kernel", PARANOID,                                          \
	  "the kernel's part of callchains needs privilege")                                       \
	X(NAMESPACES, "namespaces", PRIVILEGE, "NAMESPACES records need CAP_PERFMON")              \
	X(PHYS_ADDR, "phys-addr", PARANOID,                                                        \
	  "physical addresses need privilege at this paranoid level")                              \
	X(USER_NAMESPACE, "user-namespace", PRIVILEGE,                                             \
	  "capabilities held in another user namespace count for nothing")                         \
	X(SECURITY_MODULE, "security-module", BLOCKED,                                             \
	  "a security module (SELinux, a BPF program) refuses it")                                 \
	X(LOCKDOWN_REGS, "lockdown-regs", PRIVILEGE,                                               \
	  "kernel lockdown (confidentiality) forbids REGS_INTR")                                   \
	X(FREQUENCY, "frequency", FREQUENCY,                                                       \
	  "sample_freq is above kernel.perf_event_max_sample_rate")                                \
	X(PERIOD, "period", PERIOD, "sample_period has its highest bit set")                       \
	X(CGROUP_TARGET, "cgroup-target", BAD_TARGET,                                              \
	  "a cgroup needs its descriptor as pid, and a CPU")                                       \
	/* descriptors and targets */                                                              \
	X(DESCRIPTORS, "descriptors", DESCRIPTORS, "RLIMIT_NOFILE is reached")                     \
	X(SYSTEM_DESCRIPTORS, "system-descriptors", DESCRIPTORS,                                   \
	  "the system's limit of open files is reached")                                           \
	X(GROUP_FD, "group-fd", BAD_GROUP, "group_fd is no open event")                            \
	X(LEADER_GONE, "leader-gone", BAD_GROUP,                                                   \
	  "the group's leader belongs to a task or PMU that is gone")                              \
	X(NO_PROCESS, "no-process", NO_PROCESS, "the target process or thread is not there")       \
	X(GROUP_INHERIT, "group-inherit", BAD_GROUP, "members must have the leader's inherit")     \
	X(CPU_NEGATIVE, "cpu-negative", NO_CPU, "cpu is below -1")                                 \
	X(NO_TARGET, "no-target", BAD_TARGET, "pid -1 and cpu -1 name no target")                  \
	X(CPU_ABSENT, "cpu-absent", NO_CPU, "the machine has no such CPU")                         \
	X(SIGTRAP_TASK, "sigtrap-task", CONFLICT, "sigtrap needs a thread as target")              \
	X(INHERIT_READ, "inherit-read", CONFLICT,                                                  \
	  "inherit and SAMPLE_READ go together with SAMPLE_TID alone, from 6.13")                  \
	X(INHERIT_GROUP, "inherit-group", TOO_NEW,                                                 \
	  "inherited events cannot be read as a group before 4.13")                                \
	/* the PMU */                                                                              \
	X(NO_HARDWARE, "no-hardware", NOT_SUPPORTED,                                               \
	  "the machine has no hardware PMU that Linux can use")                                    \
	X(NO_HARDWARE_EVENT, "no-hardware-event", NOT_SUPPORTED,                                   \
	  "this hardware does not count the event")                                                \
	X(HARDWARE_CONFIG, "hardware-config", BAD_FIELD,                                           \
	  "config is no generic hardware or cache event")                                          \
	X(SOFTWARE_EVENT, "software-event", BAD_FIELD, "config is no software event")              \
	X(NO_PMU, "no-pmu", UNKNOWN_PMU, "no PMU has that type number")                            \
	X(EXTENDED_TYPE, "extended-type", BAD_FIELD,                                               \
	  "the upper half of config names a PMU that takes no generic events")                     \
	X(PMU_CPU, "pmu-cpu", NO_CPU, "the PMU does not serve that CPU")                           \
	X(PMU_GONE, "pmu-gone", NOT_SUPPORTED, "the PMU's driver is not ready or is unloading")    \
	X(PMU_EVENT, "pmu-event", NOT_SUPPORTED, "the PMU has no such event")                      \
	X(PMU_EXCLUDE, "pmu-exclude", CONFLICT,                                                    \
	  "the PMU cannot tell modes apart, and an exclude bit is set")                            \
	X(PMU_SAMPLING, "pmu-sampling", NOT_SUPPORTED, "the PMU counts and cannot sample")         \
	X(PMU_TASK, "pmu-task", BAD_TARGET, "the PMU counts whole CPUs and not tasks")             \
	X(PMU_PRIVILEGE, "pmu-privilege", PRIVILEGE, "a setting of the PMU needs privilege")       \
	X(PMU_BUSY, "pmu-busy", NOT_SUPPORTED, "the PMU, or its branch or trace unit, is taken")   \
	X(PMU_PERIOD, "pmu-period", PERIOD, "the PMU does not take that period or frequency")      \
	X(EXTENDED_REGS, "extended-regs", NOT_SUPPORTED,                                           \
	  "vector registers cannot be sampled with this event")                                    \
	X(TRACEPOINT_ID, "tracepoint-id", BAD_FIELD,                                               \
	  "config is not the id of a tracepoint for perf")                                         \
	X(TRACEPOINT_FUNCTION, "tracepoint-function", CONFLICT,                                    \
	  "ftrace:function samples no user callchain or stack")                                    \
	X(TRACEPOINT_SAMPLES, "tracepoint-samples", CONFLICT,                                      \
	  "the tracepoint can be counted and not sampled")                                         \
	X(FUNCTION_TRACING, "function-tracing", BLOCKED,                                           \
	  "the kernel does not let its functions be traced")                                       \
	X(TRACEPOINT_RAW, "tracepoint-raw", PARANOID, "raw data of a tracepoint needs privilege")  \
	X(PROBE_ENABLED, "probe-enabled", BAD_FIELD,                                               \
	  "the probe is enabled through tracefs already")                                          \
	X(PROBE_PRIVILEGE, "probe-privilege", PRIVILEGE,                                           \
	  "probes need CAP_SYS_ADMIN (kprobes CAP_PERFMON)")                                       \
	X(PROBE_POINTER, "probe-pointer", BAD_FIELD,                                               \
	  "config1 of a probe points to no readable string")                                       \
	X(PROBE_FILE, "probe-file", BAD_FIELD, "the file of a uprobe is not there or is none")     \
	X(PROBE_OFFSET, "probe-offset", BAD_FIELD,                                                 \
	  "the uprobe's offset is beyond the file, or its counter is unaligned")                   \
	X(PROBE_INSTRUCTION, "probe-instruction", NOT_SUPPORTED,                                   \
	  "the instruction at the probe's place cannot be probed")                                 \
	X(PROBE_SYMBOL, "probe-symbol", BAD_FIELD,                                                 \
	  "the kernel has no such function, or several, or forbids probing it")                    \
	X(PROBE_NAME, "probe-name", BAD_FIELD, "the name or path of a probe is too long")          \
	X(LOCKDOWN_PROBE, "lockdown-probe", PRIVILEGE,                                             \
	  "kernel lockdown (confidentiality) forbids kprobes")                                     \
	X(BREAKPOINT_SLOTS, "breakpoint-slots", BREAKPOINTS, "all debug registers are in use")     \
	X(BREAKPOINT_TYPE, "breakpoint-type", BAD_FIELD,                                           \
	  "bp_type is no kind of breakpoint that this machine has")                                \
	X(BREAKPOINT_LENGTH, "breakpoint-length", BAD_FIELD,                                       \
	  "bp_len is no length that the hardware watches")                                         \
	X(BREAKPOINT_ALIGN, "breakpoint-align", BAD_FIELD, "bp_addr is not aligned to bp_len")     \
	X(BREAKPOINT_KERNEL, "breakpoint-kernel", CONFLICT,                                        \
	  "a kernel address is watched and exclude_kernel is set")                                 \
	X(BREAKPOINT_PRIVILEGE, "breakpoint-privilege", PRIVILEGE,                                 \
	  "a breakpoint in the kernel needs CAP_SYS_ADMIN")                                        \
	X(BRANCH_STACK, "branch-stack", NOT_SUPPORTED, "this event cannot record branch stacks")   \
	X(BRANCH_FILTER, "branch-filter", NOT_SUPPORTED, "the hardware cannot filter branches so") \
	X(PRECISE, "precise", NOT_SUPPORTED, "the hardware cannot be as precise as precise_ip")    \
	X(PRECISE_COUNT, "precise-count", CONFLICT, "precise_ip without sampling")                 \
	X(NO_INTERRUPT, "no-interrupt", NOT_SUPPORTED,                                             \
	  "the PMU has no overflow interrupt and cannot sample")                                   \
	X(EXCLUDE_IDLE, "exclude-idle", NOT_SUPPORTED, "this PMU cannot leave the idle task out")  \
	X(EXCLUDE_GUEST, "exclude-guest", NOT_SUPPORTED,                                           \
	  "the event must leave guests out on this machine")                                       \
	X(EXTRA_REGISTER, "extra-register", NOT_SUPPORTED,                                         \
	  "an extra register has bad bits, or the hypervisor hides it")                            \
	X(MEM_LOADS_AUX, "mem-loads-aux", CONFLICT,                                                \
	  "memory loads are sampled only beside mem-loads-aux")                                    \
	X(NOT_SUPPORTED, "not-supported", NOT_SUPPORTED,                                           \
	  "the PMU does not support the event as it is asked for")                                 \
	/* what is allocated and connected */                                                      \
	X(AUX_OUTPUT, "aux-output", NOT_SUPPORTED,                                                 \
	  "the PMU cannot write its samples into an AUX area")                                     \
	X(AUX_START_PAUSED, "aux-start-paused", NOT_SUPPORTED,                                     \
	  "the PMU has no AUX area that could start paused")                                       \
	X(AUX_PAUSE_RESUME, "aux-pause-resume", CONFLICT,                                          \
	  "aux_pause and aux_resume exclude each other")                                           \
	X(CGROUP_FD, "cgroup-fd", BAD_TARGET, "the descriptor given as pid is no cgroup's folder") \
	X(CGROUP_GONE, "cgroup-gone", BAD_TARGET,                                                  \
	  "the cgroup is being removed or lacks the perf_event controller")                        \
	X(GROUP_CGROUP, "group-cgroup", BAD_GROUP, "members must have the leader's cgroup")        \
	X(STACK_DEPTH, "stack-depth", STACK_DEPTH,                                                 \
	  "sample_max_stack is above kernel.perf_event_max_stack")                                 \
	X(CLOCKID, "clockid", BAD_FIELD, "clockid is no clock that events can use")                \
	X(CLOCKID_NMI, "clockid-nmi", CONFLICT,                                                    \
	  "the clock cannot be read in an interrupt of this PMU")                                  \
	X(MEMORY, "memory", NO_MEMORY, "the kernel has no memory for it")                          \
	/* the target once more, and the group */                                                  \
	X(INTERRUPTED, "interrupted", SYSTEM,                                                      \
	  "a signal came while the target was starting a program")                                 \
	X(OTHER_PROCESS, "other-process", PRIVILEGE,                                               \
	  "the target is another user's, or has more rights")                                      \
	X(SIGTRAP_PROCESS, "sigtrap-process", PRIVILEGE,                                           \
	  "sigtrap to another process needs CAP_KILL and CAP_PERFMON")                             \
	X(SYSTEM_WIDE, "system-wide", PARANOID,                                                    \
	  "measuring every process of a CPU needs privilege")                                      \
	X(CPU_OFFLINE, "cpu-offline", NO_CPU, "the CPU is offline")                                \
	X(GROUP_MEMBER, "group-member", BAD_GROUP, "group_fd is itself a member and no leader")    \
	X(GROUP_TARGET, "group-target", BAD_GROUP,                                                 \
	  "members must have the leader's process and CPU")                                        \
	X(GROUP_CLOCK, "group-clock", BAD_GROUP, "members must have the leader's clock")           \
	X(GROUP_PINNED, "group-pinned", BAD_GROUP, "pinned and exclusive are for leaders alone")   \
	X(GROUP_PMUS, "group-pmus", BAD_GROUP, "a group has events of one hardware PMU")           \
	X(GROUP_FULL, "group-full", BAD_GROUP, "the PMU has no room for the whole group at once")  \
	X(GROUP_SIZE, "group-size", BAD_GROUP,                                                     \
	  "one read of the group would give more than 16 KiB")                                     \
	X(GROUP_AUX, "group-aux", BAD_GROUP,                                                       \
	  "aux_output, aux_sample_size, aux_pause, aux_resume need an AUX leader")                 \
	X(OUTPUT, "output", BAD_GROUP, "the output cannot go into the other event's ring")         \
	X(TRANSIENT, "transient", SYSTEM, "the same call succeeds now")                            \
	X(UNEXPLAINED, "unexplained", SYSTEM, "no rule, fact or probe tells why")

/* Refusals of mmap(2), ioctl(2) and read(2) on an event's descriptor. */
/* clang-format off */
#define PERCH_OPERATION_CAUSES(X)                                                                                         \
	X(MMAP_INHERIT, "mmap-inherit", CONFLICT, "an inherited event on every CPU has no ring")                             \
	X(MMAP_PRIVATE, "mmap-private", USAGE, "a ring is mapped MAP_SHARED")                                                \
	X(MMAP_LENGTH, "mmap-length", USAGE, "a ring is 1 + 2^n pages of this machine's size")                               \
	X(MMAP_EXISTING, "mmap-existing", USAGE, "the event's ring exists with another size")                                \
	X(MMAP_OFFSET, "mmap-offset", USAGE, "only an AUX area is mapped at an offset")                                      \
	X(MMAP_EXEC, "mmap-exec", USAGE, "a ring is not executable")                                                         \
	X(MMAP_LOCKED, "mmap-locked", MLOCK, "perf_event_mlock_kb and RLIMIT_MEMLOCK are used up")                           \
	X(MMAP_REDIRECTED, "mmap-redirected", CONFLICT, "the event's output goes into another event's ring")                 \
	X(MMAP_AUX_FIELDS, "mmap-aux-fields", USAGE, "aux_offset and aux_size do not describe the AUX mapping")              \
	X(MMAP_NO_AUX, "mmap-no-aux", NOT_SUPPORTED, "the event's PMU has no AUX area")                                      \
	X(MUNMAP_PART, "munmap-part", USAGE, "a ring is unmapped as a whole")                                                  \
	X(MMAP_FLAGS, "mmap-flags", USAGE, "a ring takes no MAP_HUGETLB and no MAP_SYNC")                                    \
	X(MMAP_MEMORY, "mmap-memory", NO_MEMORY, "the kernel has no memory for the ring")                                    \
	X(IOCTL_UNKNOWN, "ioctl-unknown", USAGE, "no such ioctl on events, or this kernel is older than it")           \
	X(IOCTL_POINTER, "ioctl-pointer", USAGE, "the argument of the ioctl cannot be read or written")                \
	X(IOCTL_REFRESH, "ioctl-refresh", CONFLICT, "REFRESH is for events that sample and are not inherited")         \
	X(IOCTL_PERIOD, "ioctl-period", PERIOD, "PERIOD: the event counts, or the new value is out of range")          \
	X(IOCTL_OUTPUT, "ioctl-output", CONFLICT, "SET_OUTPUT: the two events cannot share a ring")                    \
	X(IOCTL_OUTPUT_FD, "ioctl-output-fd", USAGE, "SET_OUTPUT: the descriptor is no event (pass -1L, not -1)")      \
	X(IOCTL_FILTER, "ioctl-filter", BAD_FIELD, "SET_FILTER: the event takes none, or not this one")                \
	X(IOCTL_FILTER_SET, "ioctl-filter-set", CONFLICT, "SET_FILTER: the event has a filter already")                \
	X(IOCTL_BPF, "ioctl-bpf", CONFLICT, "SET_BPF: the program does not fit the event")                             \
	X(IOCTL_BPF_SET, "ioctl-bpf-set", CONFLICT, "SET_BPF: the event runs a program already")                       \
	X(IOCTL_BPF_QUERY, "ioctl-bpf-query", PRIVILEGE, "QUERY_BPF: needs CAP_PERFMON, a tracepoint and room")        \
	X(IOCTL_PAUSE, "ioctl-pause", USAGE, "PAUSE_OUTPUT: the event has no ring")                                    \
	X(IOCTL_MODIFY, "ioctl-modify", BAD_FIELD, "MODIFY_ATTRIBUTES: only a breakpoint's place may change")          \
	X(READ_SHORT, "read-short", SHORT_READ, "the buffer is smaller than what read_format gives")                       \
	X(READ_ERROR_STATE, "read-error-state", SCHEDULE, "end of file: a pinned event could not be scheduled")            \
	X(READ_CHILD, "read-child", CONFLICT, "the group changed its shape in a child")                                    \
	X(READ_POINTER, "read-pointer", USAGE, "the buffer cannot be written")                                             \
	X(NOT_AN_EVENT, "not-an-event", USAGE, "the descriptor is not open, or no event")                                  \
	X(OPERATION_REVOKED, "operation-revoked", NOT_SUPPORTED, "the event's PMU is gone")                                \
	X(OPERATION_BLOCKED, "operation-blocked", BLOCKED, "a security module or seccomp filter refuses it")
/* clang-format on */

/* What the kernel accepts without a word and cannot have been meant: perch_lint(). */
/* clang-format off */
#define PERCH_LINT_CAUSES(X)                                                                                              \
	X(LINT_SIZE, "lint-size", USAGE, "attr.size 0 means 64: later fields are ignored")                                 \
	X(LINT_BEYOND_SIZE, "lint-beyond-size", USAGE, "a field beyond attr.size is set and ignored")                                    \
	X(LINT_PRECISE, "lint-precise", USAGE, "precise_ip is ignored by this kind of event")                              \
	X(LINT_MAX_STACK, "lint-max-stack", USAGE, "sample_max_stack without CALLCHAIN")                                   \
	X(LINT_CLOCKID, "lint-clockid", USAGE, "clockid without use_clockid")                                              \
	X(LINT_BUILD_ID, "lint-build-id", USAGE, "build_id without mmap2")                                                 \
	X(LINT_INHERIT_STAT, "lint-inherit-stat", USAGE, "inherit_stat without inherit")                                   \
	X(LINT_AUX_SIZE, "lint-aux-size", USAGE, "SAMPLE_AUX without aux_sample_size")                                     \
	X(LINT_OUTPUT, "lint-output", USAGE, "FD_OUTPUT without group_fd")                                                 \
	X(LINT_RAW_BITS, "lint-raw-bits", USAGE, "config has bits outside the PMU's formats, which are dropped")           \
	X(LINT_HARDWARE_SAMPLE, "lint-hardware-sample", USAGE, "sample fields that only hardware events fill")             \
	X(LINT_BRANCH_TYPE, "lint-branch-type", USAGE, "branch_sample_type without BRANCH_STACK")                          \
	X(LINT_REGS, "lint-regs", USAGE, "a register mask without its bit in sample_type")                                 \
	X(LINT_STACK, "lint-stack", USAGE, "sample_stack_user without STACK_USER, or the reverse")                         \
	X(LINT_NMI_WATCHDOG, "lint-nmi-watchdog", USAGE, "pinned or exclusive may starve beside the NMI watchdog")                   \
	X(LINT_GROUP_COUNTERS, "lint-group-counters", USAGE, "the group may never be scheduled: the watchdog has a counter") \
	X(LINT_EXCLUDE_HV, "lint-exclude-hv", USAGE, "exclude_hv does nothing on this architecture")                       \
	X(LINT_EXCLUDE_ALL, "lint-exclude-all", USAGE, "user and kernel are both excluded: nothing is counted")                    \
	X(LINT_FREQ_ZERO, "lint-freq-zero", USAGE, "freq with sample_freq 0 only counts")                                  \
	X(LINT_NO_SAMPLES, "lint-no-samples", USAGE, "records are asked for by an event that does not sample")               \
	X(LINT_MMAP2, "lint-mmap2", USAGE, "mmap2 without mmap")                                                           \
	X(LINT_COMM_EXEC, "lint-comm-exec", USAGE, "comm_exec without comm")                                               \
	X(LINT_WATERMARK, "lint-watermark", USAGE, "wakeup_events and wakeup_watermark share a word, and the other one is meant") \
	X(LINT_NO_GROUP, "lint-no-group", USAGE, "group_fd together with FD_NO_GROUP, and no FD_OUTPUT")                   \
	X(LINT_SIG_DATA, "lint-sig-data", USAGE, "sig_data without sigtrap")                                               \
	X(LINT_AUX_WATERMARK, "lint-aux-watermark", USAGE, "aux_watermark of an event without an AUX area")                \
	X(LINT_EXEC, "lint-exec", USAGE, "enable_on_exec or remove_on_exec can never come true")                           \
	X(LINT_CALLCHAIN, "lint-callchain", USAGE, "settings of call chains without call chains, or chains without frames") \
	X(LINT_BP_TYPE, "lint-bp-type", USAGE, "bp_type of an event that is no breakpoint")                                \
	X(LINT_EXCLUDE_IDLE, "lint-exclude-idle", USAGE, "exclude_idle is ignored by this kind of event")                  \
	X(LINT_CLOCK_EXCLUDE, "lint-clock-exclude", USAGE, "the clocks count in user space and in the kernel alike")       \
	X(LINT_FORMAT_ID, "lint-format-id", USAGE, "counts of a group in samples without ids")
/* clang-format on */

#define PERCH_CAUSES(X) PERCH_OPEN_CAUSES(X) PERCH_OPERATION_CAUSES(X) PERCH_LINT_CAUSES(X)

enum perch_cause {
	PERCH_CAUSE_NONE,
#define PERCH_CAUSE_ENUM(name, slug, kind, meaning) PERCH_CAUSE_##name,
	PERCH_CAUSES(PERCH_CAUSE_ENUM)
#undef PERCH_CAUSE_ENUM
		PERCH_CAUSE_MAX
};

#endif
