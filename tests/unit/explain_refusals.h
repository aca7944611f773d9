/* SPDX-License-Identifier: MIT */
/*
 * All checks of the kernel, in its order, and their causes: R(CAUSE, "condition"), or
 * NO_RULE("condition", "reason").
 */
#ifndef PERCH_TEST_EXPLAIN_REFUSALS_H
#define PERCH_TEST_EXPLAIN_REFUSALS_H

#include <perch/causes.h>

struct refusal {
	enum perch_cause cause; /* PERCH_CAUSE_NONE: there is no rule */
	const char *what;
	const char *why_not;
};

#define R(cause, what)	       { PERCH_CAUSE_##cause, what, 0 },
#define NO_RULE(what, why_not) { PERCH_CAUSE_NONE, what, why_not },

static const struct refusal open_refusals[] = {
	/* before perf sees the call */
	/* clang-format off */
	R(SECCOMP, "EPERM, or an errno of its own, from a seccomp filter")
	R(NO_SYSCALL, "ENOSYS without CONFIG_PERF_EVENTS, in gVisor, WSL 1 and with some filters")
	NO_RULE("a filter that kills (SIGSYS)", "there is no errno, and the process is dead")

	/* the arguments, and the copy of the attr */
	R(OPEN_FLAGS, "EINVAL: a bit of flags that the kernel does not know")
	R(ATTR_POINTER, "EFAULT: attr is not readable, or its size not writable")
	R(ATTR_SIZE, "E2BIG: size below 64 or above a page")
	R(TOO_NEW, "E2BIG: a byte beyond the size of the kernel is set")
	R(TOO_NEW, "EINVAL: a flag of the attr that came later")
	R(RESERVED_BITS, "EINVAL: padding, or the upper bits of aux_action")
	R(SAMPLE_TYPE_BITS, "EINVAL: sample_type at or above the kernel's maximum")
	R(READ_FORMAT_BITS, "EINVAL: read_format at or above the kernel's maximum")
	R(BRANCH_BITS, "EINVAL: branch_sample_type at or above the kernel's maximum")
	R(BRANCH_KIND, "EINVAL: levels of privilege, and no kind of branch")
	R(BRANCH_PRIVILEGE, "EACCES: branches of the kernel or the hypervisor, named or taken from the exclude bits")
	R(REGS_USER, "EINVAL: an empty sample_regs_user, or one with a segment register")
	R(REGS_INTR, "EINVAL: the same of sample_regs_intr")
	R(NO_REGS, "ENOSYS: registers or user stacks on an architecture without")
	R(STACK_SIZE, "EINVAL: sample_stack_user unaligned, or 65535 and more")
	R(SAMPLE_CGROUP, "EINVAL: SAMPLE_CGROUP without CONFIG_CGROUP_PERF")
	R(WEIGHT_CONFLICT, "EINVAL: both weights")
	R(INHERIT_THREAD, "EINVAL: inherit_thread alone")
	R(EXEC_CONFLICT, "EINVAL: remove_on_exec and enable_on_exec")
	R(SIGTRAP_EXEC, "EINVAL: sigtrap without remove_on_exec")

	/* permissions and limits */
	R(PARANOID_ALL, "EACCES: the levels 3 and 4 of distributions, which CAP_PERFMON does not lift")
	R(SECURITY_MODULE, "EACCES or any errno: a security module, at opening")
	R(KERNEL_PROFILING, "EACCES: kernel profiling above paranoid 1")
	R(TEXT_POKE, "EACCES: text_poke above paranoid 1, in kernels of 2026")
	R(CALLCHAIN_KERNEL, "EACCES: callchains with the kernel's part, in the same kernels")
	R(NAMESPACES, "EACCES: namespaces without CAP_PERFMON")
	R(PHYS_ADDR, "EACCES: physical addresses without access to the kernel")
	R(LOCKDOWN_REGS, "EPERM: REGS_INTR under lockdown=confidentiality")
	R(SECURITY_MODULE, "EACCES: SELinux's finer permissions: kernel, cpu, tracepoint")
	R(USER_NAMESPACE, "EACCES: capabilities of another user namespace than the first")
	R(OTHER_PROCESS, "EACCES: another user's process, or one with more rights")
	R(SIGTRAP_PROCESS, "EACCES: sigtrap to another task without the right to signal and trace it")
	R(SYSTEM_WIDE, "EACCES: whole CPUs and cgroups above paranoid 0")
	R(TRACEPOINT_RAW, "EPERM: raw data of a tracepoint above paranoid -1")
	R(PROBE_PRIVILEGE, "EACCES: uprobes without CAP_SYS_ADMIN, kprobes without CAP_PERFMON")
	R(BREAKPOINT_PRIVILEGE, "EPERM: a breakpoint in the kernel without CAP_SYS_ADMIN")
	R(PMU_PRIVILEGE, "EACCES: Intel's any-thread bit, BTS of the kernel, physical addresses and timestamps of SPE, IMC")
	R(INTERRUPTED, "EINTR: a signal while the target was in exec")

	/* rates, periods, cgroups */
	R(FREQUENCY, "EINVAL: sample_freq above the limit")
	R(PERIOD, "EINVAL: the highest bit of sample_period")
	R(CGROUP_TARGET, "EINVAL: PID_CGROUP without a descriptor or CPU")

	/* descriptors and targets */
	R(DESCRIPTORS, "EMFILE: RLIMIT_NOFILE")
	R(SYSTEM_DESCRIPTORS, "ENFILE: fs.file-max")
	R(GROUP_FD, "EBADF: group_fd is not open, no event, or below -1")
	R(LEADER_GONE, "ENODEV: the leader's task has ended or its PMU is gone")
	R(NO_PROCESS, "ESRCH: no such thread, a dying one, a pid below -1")
	R(GROUP_INHERIT, "EINVAL: another inherit than the leader's")

	/* the event as such */
	R(CPU_NEGATIVE, "EINVAL: cpu below -1")
	R(NO_TARGET, "EINVAL: pid -1 with cpu -1")
	R(CPU_ABSENT, "EINVAL: a cpu above the highest possible one")
	R(SIGTRAP_TASK, "EINVAL: sigtrap without a task")
	R(INHERIT_READ, "EINVAL: inherit with READ, always before 6.12, without TID since")
	R(INHERIT_GROUP, "EINVAL: inherit with FORMAT_GROUP before 4.13")
	R(NO_PMU, "ENOENT: a type without a PMU")
	R(NO_HARDWARE, "ENOENT: hardware events on a machine without a PMU")
	R(SOFTWARE_EVENT, "ENOENT: a software event that there is not")
	R(EXTENDED_TYPE, "ENOENT: the upper half of config names a PMU that takes no generic events")
	R(EXTENDED_REGS, "EOPNOTSUPP: vector registers with a PMU that has none")
	R(PMU_EXCLUDE, "EINVAL: an exclude bit with a PMU that cannot distinguish modes")
	R(PMU_CPU, "ENODEV: a CPU outside of the PMU's scope")
	R(PMU_GONE, "ENODEV: the PMU's module is unloading")
	R(MEMORY, "ENOMEM: no memory for the event")

	/* software events and tracepoints */
	R(BRANCH_STACK, "EOPNOTSUPP: branch stacks of a software event, tracepoint, breakpoint or probe")
	R(TRACEPOINT_ID, "EINVAL: config is no tracepoint's id, or of one that perf cannot have")
	R(TRACEPOINT_SAMPLES, "EPERM: samples of a tracepoint that each of them would make hit again")
	R(FUNCTION_TRACING, "EPERM: ftrace:function where the kernel does not allow function tracing")
	R(TRACEPOINT_FUNCTION, "EINVAL: ftrace:function sampled with user callchains or stacks")
	R(PROBE_ENABLED, "EINTR: a uprobe of tracefs that is enabled there")
	R(PROBE_SYMBOL, "ENODEV, ENOENT: a kprobe whose module is gone")
	NO_RULE("EBUSY of a kprobe on a function that is being patched live",
		"the errno does not distinguish them; PMU_BUSY and the rules of probes cover it")

	/* probes */
	R(PROBE_POINTER, "EFAULT: the name or path cannot be read")
	R(PROBE_NAME, "E2BIG: a kernel symbol's name, or a path, that is too long")
	R(PROBE_SYMBOL, "ENOENT, EINVAL, EADDRNOTAVAIL, EILSEQ: no such function, several, none that may be probed, inside an instruction")
	R(LOCKDOWN_PROBE, "EPERM: a kprobe under lockdown=confidentiality")
	R(PROBE_FILE, "ENOENT, EINVAL, EIO: no such file, none with pages")
	R(PROBE_OFFSET, "EINVAL: an offset beyond the end, an unaligned reference counter, or another counter than before")
	R(PROBE_INSTRUCTION, "524: an instruction that cannot be probed")

	/* breakpoints */
	R(BREAKPOINT_SLOTS, "ENOSPC: every slot of the thread or CPU is taken")
	R(BREAKPOINT_TYPE, "EINVAL: bp_type 0, reading alone on x86, or unknown")
	R(BREAKPOINT_LENGTH, "EINVAL: code that is not sizeof(long) long, or a length that is no power of 2")
	R(BREAKPOINT_LENGTH, "EOPNOTSUPP: longer than 8 without the hardware for it")
	R(BREAKPOINT_ALIGN, "EINVAL: bp_addr is not aligned, wraps, or cannot be watched")
	R(BREAKPOINT_KERNEL, "EINVAL: an address of the kernel with exclude_kernel")
	R(NOT_SUPPORTED, "EOPNOTSUPP: no slots of that type at all")
	R(BREAKPOINT_NEVER_FIRES, "EOPNOTSUPP: accepted, and closed by the library, because it would never fire")

	/* the CPU's own PMU */
	R(PMU_GONE, "ENODEV: the PMU has no driver")
	R(PMU_BUSY, "EBUSY: counters reserved by another user")
	R(PMU_CPU, "ENOENT: a CPU that the PMU of a hybrid machine does not serve")
	R(HARDWARE_CONFIG, "EINVAL: a generic or cache event that there is not, or that makes no sense")
	R(NO_HARDWARE_EVENT, "ENOENT: a generic or cache event that this CPU does not count")
	R(PRECISE, "EOPNOTSUPP: precise_ip above what the hardware has")
	R(PRECISE_COUNT, "EINVAL: precise_ip without sampling")
	R(BRANCH_FILTER, "EOPNOTSUPP: a filter of branches that older PEBS, LBR or BRS do not have")
	R(PMU_PERIOD, "EINVAL: a period below what the event can take")
	R(EXTENDED_REGS, "EINVAL: vector registers in regs_user, or without precise_ip")
	R(EXTRA_REGISTER, "EINVAL, ENXIO: config1 of an event with an extra register: bad bits, or none below a hypervisor")
	R(GROUP_FULL, "EINVAL: the group cannot be on the counters at once")
	R(NO_INTERRUPT, "EOPNOTSUPP: sampling without an overflow interrupt")
	NO_RULE("bits of config outside of the mask of the PMU", "they are dropped without a word: LINT_RAW_BITS below")
	R(EXCLUDE_GUEST, "EOPNOTSUPP: guests have the PMU and exclude_guest is clear; Apple's CPUs")
	R(BRANCH_STACK, "EOPNOTSUPP: no branch records in this CPU or virtual machine")
	R(PMU_BUSY, "EBUSY: branch records, BTS and PT exclude each other")
	R(MEM_LOADS_AUX, "ENODATA: memory loads without mem-loads-aux")
	R(NOT_SUPPORTED, "EOPNOTSUPP: transactional modifiers, BTS with options, 64-bit and other special counters")
	R(EXCLUDE_IDLE, "EOPNOTSUPP, EPERM before: exclude_idle on arm")
	R(PMU_EXCLUDE, "EPERM: mode exclusion on cores of ARMv5 and ARMv6, before 3.19")
	R(GROUP_FULL, "ENOSPC before 3.3: the counters of the core PMU")
	R(PMU_EVENT, "EINVAL, ENOENT: an event or bits that a PMU of the uncore, IBS, SPE or PT does not have")
	R(PMU_SAMPLING, "EINVAL: sampling by a PMU that only counts")
	R(PMU_TASK, "EINVAL: a PMU of the uncore for a task or cgroup")
	R(PMU_PERIOD, "EINVAL: a frequency for SPE and BRS, which take periods")
	NO_RULE("errors of powerpc, s390 and riscv that no other machine has",
		"the rules of the errno (EOPNOTSUPP, EINVAL, ENOENT) name the field, and probing decides")
	NO_RULE("rules of Intel's topdown, branch counters and ACR among members of a group",
		"the rules of groups name the member, and probing finds the field")

	/* after the PMU has accepted the event */
	R(AUX_OUTPUT, "EOPNOTSUPP: aux_output with a PMU that cannot, or with aux_pause")
	R(AUX_PAUSE_RESUME, "EINVAL: aux_pause and aux_resume")
	R(AUX_START_PAUSED, "EOPNOTSUPP: aux_start_paused with a PMU that cannot pause")
	R(CGROUP_FD, "EBADF: the descriptor is not a cgroup directory")
	R(CGROUP_GONE, "ENOENT: a dying cgroup, or a hierarchy without perf_event")
	R(GROUP_CGROUP, "EINVAL: another cgroup than the leader's")
	R(PMU_BUSY, "EBUSY: an exclusive PMU with events of tasks and of CPUs")
	R(STACK_DEPTH, "EOVERFLOW: sample_max_stack above the limit")
	R(MEMORY, "ENOMEM: buffers of callchains")
	R(CLOCKID, "EINVAL: a clock that events cannot use")
	R(CLOCKID_NMI, "EINVAL: a clock that an interrupt of this PMU cannot read")

	/* context, group, output */
	R(NO_PROCESS, "ESRCH: the task ended while the event was opened")
	R(CPU_OFFLINE, "ENODEV: the CPU is offline")
	R(GROUP_MEMBER, "EINVAL: group_fd is a member itself")
	R(GROUP_TARGET, "EINVAL: another CPU or task than the leader's")
	R(GROUP_CLOCK, "EINVAL: another clock than the leader's")
	R(GROUP_PINNED, "EINVAL: a pinned or exclusive member")
	R(GROUP_PMUS, "EINVAL: two hardware PMUs")
	R(OUTPUT, "EINVAL: FD_OUTPUT without a ring there, or with another CPU, task, clock, direction")
	R(GROUP_SIZE, "E2BIG: more than 16 KiB at one read")
	R(GROUP_AUX, "EINVAL: AUX members without an AUX leader")
	R(PMU_BUSY, "EBUSY: a second event of an exclusive PMU")
	NO_RULE("EAGAIN, EXDEV", "the kernel never returns them for this system call")

	/* by asking again */
	R(TRANSIENT, "any errno of a call that is let through when it is made again")
	R(UNEXPLAINED, "an errno that no rule has")
};

static const struct refusal operation_refusals[] = {
	/* mmap */
	R(MMAP_INHERIT, "EINVAL: inherit with cpu -1")
	R(MMAP_PRIVATE, "EINVAL: MAP_PRIVATE")
	R(MMAP_FLAGS, "EINVAL, EOPNOTSUPP: flags for other files")
	R(MMAP_LENGTH, "EINVAL: not 1 + 2^n pages")
	R(MMAP_EXISTING, "EINVAL: another size than the ring has")
	R(MMAP_OFFSET, "EINVAL: an offset without a ring")
	R(MMAP_EXEC, "EPERM: PROT_EXEC; EACCES: PR_SET_MDWE")
	R(MMAP_LOCKED, "EPERM: perf_event_mlock_kb and RLIMIT_MEMLOCK together")
	R(MMAP_ADDRESS, "EINVAL: MAP_FIXED at an odd address; ENOMEM: above user space")
	R(MMAP_MIN_ADDRESS, "EPERM: MAP_FIXED below vm.mmap_min_addr; EACCES: SELinux mmap_zero")
	R(MMAP_IN_USE, "EEXIST: MAP_FIXED_NOREPLACE; EPERM: a sealed mapping; EINVAL: a part of a ring")
	R(MMAP_ADDRESS_SPACE, "ENOMEM: RLIMIT_AS, vm.max_map_count, too long for user space")
	R(MMAP_FLAGS, "EINVAL: MAP_GROWSDOWN; EOPNOTSUPP: MAP_SHARED_VALIDATE with other flags")
	R(MMAP_OFFSET, "EOVERFLOW: beyond the largest offset")
	R(MMAP_PRIVATE, "ENOMEM: RLIMIT_DATA, vm.overcommit_memory")
	R(MMAP_LOCKED, "EPERM: MAP_LOCKED, and RLIMIT_MEMLOCK is 0; EAGAIN: mlockall")
	R(MMAP_REDIRECTED, "EINVAL: an event whose output goes into another ring")
	R(OPERATION_BLOCKED, "EACCES: a security module, at reading and writing")
	R(MMAP_MEMORY, "ENOMEM: pages, or a table of AUX pages that is too large")
	R(MMAP_AUX_FIELDS, "EINVAL: aux_offset and aux_size unset, overlapping, odd or another than before")
	R(MMAP_NO_AUX, "EOPNOTSUPP: no AUX area in this PMU")
	R(MUNMAP_PART, "EINVAL: a part of a ring unmapped or moved")
	R(OPERATION_REVOKED, "ENODEV: the PMU is gone")

	/* ioctl */
	R(IOCTL_UNKNOWN, "ENOTTY: no such request")
	R(NOT_AN_EVENT, "EBADF, ENOTTY: no event's descriptor")
	R(IOCTL_POINTER, "EFAULT: an argument that cannot be read or written")
	R(IOCTL_REFRESH, "EINVAL: REFRESH of a counting or inherited event")
	R(IOCTL_PERIOD, "EINVAL: PERIOD of a counting event, 0, too high or too low")
	R(IOCTL_OUTPUT, "EINVAL: SET_OUTPUT against the rules of outputs, or while mapped")
	R(IOCTL_OUTPUT_FD, "EBADF: SET_OUTPUT to what is no event, and -1 as an int")
	R(IOCTL_FILTER, "EINVAL, EOPNOTSUPP, ENOENT, E2BIG: SET_FILTER where there are none, or one that cannot be read")
	R(IOCTL_FILTER_SET, "EEXIST, EBUSY: SET_FILTER beside another one")
	R(IOCTL_BPF, "EBADF, EINVAL, EPROTO, EACCES, E2BIG, EOPNOTSUPP: SET_BPF with a program that does not fit")
	R(IOCTL_BPF_SET, "EEXIST: SET_BPF once more")
	R(IOCTL_BPF_QUERY, "EPERM, EINVAL, E2BIG, EFAULT, ENOSPC: QUERY_BPF")
	R(IOCTL_PAUSE, "EINVAL: PAUSE_OUTPUT without a ring")
	R(IOCTL_MODIFY, "EINVAL, EOPNOTSUPP, ENOSPC: MODIFY_ATTRIBUTES")

	/* read */
	R(READ_SHORT, "ENOSPC: a buffer that is too small")
	R(READ_ERROR_STATE, "0 bytes: an event in error")
	R(READ_POINTER, "EFAULT: a buffer that cannot be written")
	R(READ_CHILD, "ECHILD: a group that changed in a child")
	NO_RULE("EINVAL of write(2), ESPIPE of pread(2)", "no descriptor of an event takes them: it is no refusal of this one")
	NO_RULE("POLLHUP and POLLERR of poll(2)", "they are no errors: the task has ended, or the ring is gone")
};

static const struct refusal lint_refusals[] = {
	R(LINT_SIZE, "attr.size 0: fields after the first 64 bytes are not looked at")
	R(LINT_BEYOND_SIZE, "a field beyond attr.size")
	R(LINT_PRECISE, "precise_ip of software events and breakpoints")
	R(LINT_MAX_STACK, "sample_max_stack without CALLCHAIN")
	R(LINT_CLOCKID, "clockid without use_clockid")
	R(LINT_BUILD_ID, "build_id without mmap2")
	R(LINT_INHERIT_STAT, "inherit_stat without inherit")
	R(LINT_AUX_SIZE, "SAMPLE_AUX without aux_sample_size")
	R(LINT_OUTPUT, "FD_OUTPUT without group_fd")
	R(LINT_RAW_BITS, "bits of config that the PMU drops")
	R(LINT_HARDWARE_SAMPLE, "DATA_SRC, WEIGHT, TRANSACTION of software events")
	R(LINT_NMI_WATCHDOG, "pinned or exclusive beside the NMI watchdog")
	R(LINT_GROUP_COUNTERS, "a group that needs the watchdog's counter")
	R(LINT_EXCLUDE_HV, "exclude_hv where there is no such mode")
	R(LINT_FREQ_ZERO, "freq with sample_freq 0")
	/* clang-format on */
};

#undef R
#undef NO_RULE

#endif
