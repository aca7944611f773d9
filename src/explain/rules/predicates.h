/* SPDX-License-Identifier: MIT */
/* Predicates for the conditions and fixes of the rules. `c` is the case. */
#ifndef PERCH_EXPLAIN_PREDICATES_H
#define PERCH_EXPLAIN_PREDICATES_H

#include <stddef.h>
#include <time.h>
#include <unistd.h>

#include "event/kernel_only.h"
#include "machine/breakpoints.h"
#include "explain/facts.h"

/* ---- Matches ---- */
#define YES_IF(condition)     ((condition) ? PERCH__YES : PERCH__NO)
#define UNKNOWN_IF(condition) ((condition) ? PERCH__UNKNOWN : PERCH__NO)
/* Evaluates the match, which may read facts, only if the cheap condition is true. */
#define IF(condition, match) ((condition) ? (match) : PERCH__NO)
/*
 * The second operand is not evaluated if the first one determines the result. Put the expensive one
 * second.
 */
#define AND(a, b) SHORT_CIRCUIT(PERCH__NO, perch__and, a, b, __COUNTER__)
#define OR(a, b)  SHORT_CIRCUIT(PERCH__YES, perch__or, a, b, __COUNTER__)
/* __COUNTER__ makes the names of variables unique, so that AND and OR can be nested. */
#define SHORT_CIRCUIT(settled, join, a, b, number) SHORT_CIRCUIT_NAMED(settled, join, a, b, number)
#define SHORT_CIRCUIT_NAMED(settled, join, a, b, number)                                \
	__extension__({                                                                 \
		enum perch__match first_##number = (a);                                 \
		first_##number == (settled) ? first_##number : join(first_##number, b); \
	})
#define AT_MOST_UNKNOWN(match) perch__and(PERCH__UNKNOWN, match)
/*
 * For the condition that a field is 0. In a partial attr the field may be unknown. The fields are
 * those up to clockid.
 */
#define YES_IF_ZERO(condition)                                                                     \
	((condition)                                                                               \
		 ? perch__shows_up_to(c->call, PERCH_ATTR_SIZE_VER3) ? PERCH__YES : PERCH__UNKNOWN \
		 : PERCH__NO)
/*
 * True if the field is 0 because a log does not show it, as that of strace without -v. This is for
 * fields that have a byte offset: a log shows flags that are set.
 */
#define OMITTED(field)                                                           \
	(c->call->attr && !c->attr.field &&                                      \
	 !perch__shows_up_to(c->call, offsetof(struct perch_attr, field) + 1) && \
	 offsetof(struct perch_attr, field) < (c->size ? c->size : PERCH_ATTR_SIZE_VER0))
/*
 * True for one errno only. A rule with this condition is never a follow-up, because errnum is then
 * 0.
 */
#define ERRNO_IS(number) (c->errnum == (number))

#ifndef ENOTSUPP
#define ENOTSUPP 524 /* internal to the kernel, but returned to user space */
#endif

/* A log has the address of the attr only. No rule about a field of the attr matches. */
#define LACKS_ATTR (!c->call->attr && c->call->attr_is_partial)

/* ---- The open call ---- */
#define FLAGS(bits)	     (c->flags & (bits))
#define IN_GROUP	     (c->group_fd >= 0 && !FLAGS(PERCH_FLAG_FD_NO_GROUP))
#define REDIRECTS_OUTPUT     (c->group_fd >= 0 && FLAGS(PERCH_FLAG_FD_OUTPUT))
#define TARGETS_CGROUP	     FLAGS(PERCH_FLAG_PID_CGROUP)
#define TARGETS_TASK	     (c->pid != -1 && !TARGETS_CGROUP)
#define LEADER		     (c->call->leader)
#define LEADER_IS(condition) (LEADER && LEADER->attr && (condition))
#define SIZE_OUT_OF_RANGE            \
	(c->call->attr && c->size && \
	 (c->size < PERCH_ATTR_SIZE_VER0 || c->size > (uint32_t)sysconf(_SC_PAGESIZE)))

/* ---- The attr ---- */
#define SAMPLES(what) (c->attr.sample_type & PERCH_SAMPLE_##what)
#define COUNTS	      (!c->attr.sample_period)
#define SOFTWARE      (c->attr.type == PERCH_TYPE_SOFTWARE)
#define TRACEPOINT    (c->attr.type == PERCH_TYPE_TRACEPOINT)
#define BREAKPOINT    (c->attr.type == PERCH_TYPE_BREAKPOINT)
#define DYNAMIC_PMU   (c->attr.type >= PERCH_TYPE_MAX) /* the type is in sysfs */
#define GENERIC	      (c->attr.type == PERCH_TYPE_HARDWARE || c->attr.type == PERCH_TYPE_HW_CACHE)
#define HARDWARE      (GENERIC || c->attr.type == PERCH_TYPE_RAW)
#define MAY_BE_CORE   (HARDWARE || DYNAMIC_PMU)
#define EXCLUDES                                                                 \
	(c->attr.exclude_user || c->attr.exclude_kernel || c->attr.exclude_hv || \
	 c->attr.exclude_idle || c->attr.exclude_host || c->attr.exclude_guest)
#define NMI_SAFE_CLOCK \
	(c->attr.clockid == CLOCK_MONOTONIC || c->attr.clockid == CLOCK_MONOTONIC_RAW)
#define VALID_CLOCK                                             \
	(NMI_SAFE_CLOCK || c->attr.clockid == CLOCK_REALTIME || \
	 c->attr.clockid == CLOCK_BOOTTIME || c->attr.clockid == CLOCK_TAI)
#define KERNEL_BRANCHES ((unsigned)(PERCH_SAMPLE_BRANCH_KERNEL | PERCH_SAMPLE_BRANCH_HV))
/* Without a privilege level in branch_sample_type, the exclude bits of the event set it. */
#define BRANCHES_FOLLOW_EXCLUDES \
	(SAMPLES(BRANCH_STACK) && !(c->attr.branch_sample_type & PERCH_SAMPLE_BRANCH_PLM_ALL))

#define BRANCH_FILTERS                \
	(c->attr.branch_sample_type & \
	 ~(uint64_t)(PERCH_SAMPLE_BRANCH_PLM_ALL | PERCH_SAMPLE_BRANCH_ANY))

/* ---- Architectures: a refusal is explained on the machine where it happened ---- */
#if defined(__x86_64__) || defined(__i386__)
#define X86 1
#else
#define X86 0
#endif
#if defined(__x86_64__)
#define X86_64 1
#else
#define X86_64 0
#endif
#if defined(__x86_64__)
#define NO_REGS_BITS UINT64_C(0xff00f000) /* DS, ES, FS, GS, and those between R15 and XMM0 */
#elif defined(__i386__)
#define NO_REGS_BITS UINT64_C(0xffff0000)
#elif defined(__aarch64__)
#define NO_REGS_BITS (~(UINT64_C(0x1ffffffff) | UINT64_C(1) << 46))
#else
#define NO_REGS_BITS UINT64_C(0)
#endif
#define BAD_REGS(field) \
	(c->attr.field ? YES_IF(c->attr.field & NO_REGS_BITS) : YES_IF(!OMITTED(field)))
#define FIX_REGS(mask) (mask) = (mask) & ~NO_REGS_BITS ? (mask) & ~NO_REGS_BITS : 1

/* ---- Facts that several rules use ---- */
#define NEEDS_PRIVILEGE_ABOVE(level) AND(perch__paranoid_above(c, level), perch__unprivileged(c))
/* exclude_kernel does not avoid the privilege that this PMU needs. */
#define CANNOT_EXCLUDE_KERNEL (DYNAMIC_PMU && perch__pmu_cannot_exclude(c) == PERCH__YES)
#define KERNEL_ONLY_IS(what) \
	(perch__kernel_only(&c->attr, NULL, c->machine) == PERCH__KERNEL_ONLY_##what)
/* The raw data of this tracepoint needs privilege in own tasks too. Every user may read that of
 * system calls and uprobes in own tasks. */
#define ALWAYS_PRIVATE_DATA                                                 \
	(TRACEPOINT && KERNEL_ONLY_IS(YES) &&                               \
	 perch__tracepoint_is(c, "raw_syscalls/sys_enter") != PERCH__YES && \
	 perch__tracepoint_is(c, "raw_syscalls/sys_exit") != PERCH__YES)
/* The level that permits an event of the kernel: 1, or the level of its raw data. */
#define KERNEL_LEVEL \
	(TRACEPOINT && SAMPLES(RAW) && (ALWAYS_PRIVATE_DATA || KERNEL_ONLY_IS(UNKNOWN)) ? -1 : 1)
/* with exclude_kernel the event counts something */
#define COUNTS_USER_SPACE (!CANNOT_EXCLUDE_KERNEL && KERNEL_ONLY_IS(NO))
#define CANNOT_PTRACE	  AND(perch__unprivileged(c), perch__lacks(c, PERCH_CAP_SYS_PTRACE))
#define IS_UPROBE	  IF(DYNAMIC_PMU, perch__pmu_is(c, "uprobe"))
#define IS_KPROBE	  IF(DYNAMIC_PMU, perch__pmu_is(c, "kprobe"))
#define IS_PROBE	  IF(DYNAMIC_PMU, OR(perch__pmu_is(c, "uprobe"), perch__pmu_is(c, "kprobe")))
#define FTRACE_FUNCTION \
	(TRACEPOINT && c->attr.config == 1) /* ftrace:function has the same id on every kernel */
#define IS_ARM_CORE OR(perch__core_pmu_is(c, "arm"), perch__core_pmu_is(c, "apple"))
#define IS_CORE	    IF(MAY_BE_CORE, perch__pmu_is_core(c))
/* True for an address above user space. With five-level page tables (la57) user space is larger. */
#if defined(__x86_64__)
#define USER_END UINT64_C(0x7ffffffff000)
#define IS_KERNEL_ADDRESS(address) \
	((address) >= UINT64_C(0xfffffffffff000) ? PERCH__YES : perch__cpu_lacks(c, "la57"))
#elif UINTPTR_MAX > 0xffffffff
#define USER_END		   (UINT64_C(1) << 56)
#define IS_KERNEL_ADDRESS(address) ((address) >> 63 ? PERCH__YES : PERCH__UNKNOWN)
#else
#define USER_END		   UINT64_C(0xc0000000)
#define IS_KERNEL_ADDRESS(address) PERCH__UNKNOWN
#endif
#define KERNEL_ADDRESS                                                                           \
	IF(BREAKPOINT &&                                                                         \
		   (c->attr.bp_addr >= USER_END || c->attr.bp_addr + c->attr.bp_len > USER_END), \
	   IS_KERNEL_ADDRESS(c->attr.bp_addr))
/*
 * The CPU entry area of x86-64 begins with the interrupt descriptor table, and ends within 512 GiB:
 * where depends on the release and the number of CPUs. Breakpoints are refused there since 5.8.
 */
#define ENTRY_AREA	 UINT64_C(0xfffffe0000000000)
#define ENTRY_AREA_BYTES (UINT64_C(512) << 30)
#define BREAKPOINT_OVERLAPS(start, bytes)                                                   \
	(BREAKPOINT && c->attr.bp_len && c->attr.bp_addr + c->attr.bp_len - 1 >= (start) && \
	 c->attr.bp_addr < (start) + (bytes))
#define IN_ENTRY_AREA (X86_64 && BREAKPOINT_OVERLAPS(ENTRY_AREA, ENTRY_AREA_BYTES))
/* Moves a breakpoint to user space, without a change of its alignment. */
#define MOVE_BREAKPOINT c->attr.bp_addr = 0x10000 + (c->attr.bp_addr & 0xfff)
#define BAD_CACHE_EVENT                                                 \
	((c->attr.config & 0xff) >= PERCH_COUNT_HW_CACHE_MAX ||         \
	 (c->attr.config >> 8 & 0xff) >= PERCH_COUNT_HW_CACHE_OP_MAX || \
	 (c->attr.config >> 16 & 0xff) >= PERCH_COUNT_HW_CACHE_RESULT_MAX)
/* The kernel looks for the id of a tracepoint before it checks the group. */
#define TRACEPOINT_MAY_BE_ABSENT \
	(ERRNO_IS(EINVAL) && TRACEPOINT && perch__tracepoint_absent(c) == PERCH__UNKNOWN)
/* The leader is not an AUX event: those have dynamic types. */
#define NO_AUX_LEADER                                                     \
	((!IN_GROUP || LEADER_IS(LEADER->attr->type < PERCH_TYPE_MAX)) && \
			 !TRACEPOINT_MAY_BE_ABSENT                        \
		 ? PERCH__YES                                             \
		 : UNKNOWN_IF(ERRNO_IS(EINVAL)))

#define TRACEPOINT_ABSENT perch__tracepoint_absent(c)
/* The kernel looks for the event before the cgroup: both may be absent (ENOENT). */
#define MAY_LACK_SOFTWARE_EVENT(release)                                                   \
	(TARGETS_CGROUP				      ? perch__may_lack_change(c, release) \
	 : perch__older_than(c, release) == PERCH__NO ? PERCH__NO                          \
						      : PERCH__YES)
#define HAS_AUX_ACTION perch__not(perch__may_lack_field(c, "aux_action"))

/* Without an attr, as in some logs, the type is unknown. */
#define YES_IF_ATTR (c->call->attr ? PERCH__YES : PERCH__UNKNOWN)
/*
 * The kernel refuses exclude_user, exclude_kernel and exclude_hv with EPERM. Other core PMUs of Arm
 * do so in kernels of some vendors; x86 never does.
 */
#define CORE_IS(prefix) YES_IF(perch__core_pmu_is(c, prefix) == PERCH__YES)
#define MAY_REFUSE_EXCLUDES                        \
	OR(OR(CORE_IS("armv5"), CORE_IS("armv6")), \
	   AT_MOST_UNKNOWN(X86 ? CORE_IS("arm") : PERCH__YES))

/* ---- Fixes with several statements ---- */
#define CLEAR_EXCLUDES                                                       \
	c->attr.exclude_user = c->attr.exclude_kernel = c->attr.exclude_hv = \
		c->attr.exclude_idle = c->attr.exclude_host = c->attr.exclude_guest = 0
#define COPY_LEADER_CLOCK                                                \
	{                                                                \
		if (LEADER_IS(true)) {                                   \
			c->attr.use_clockid = LEADER->attr->use_clockid; \
			c->attr.clockid = LEADER->attr->clockid;         \
		}                                                        \
	}
/*
 * Events for which perf itself returns EPERM. For other events only a seccomp filter or a security
 * module returns it.
 */
#define PERF_MAY_RETURN_EPERM                                             \
	(TRACEPOINT || BREAKPOINT || SAMPLES(REGS_INTR) || DYNAMIC_PMU || \
	 (EXCLUDES && HARDWARE && MAY_REFUSE_EXCLUDES != PERCH__NO))

/* True if the leader is unknown and may have this clock, which probing can try. */
#define LEADER_CLOCK_MAY_BE(clock)                            \
	UNKNOWN_IF(ERRNO_IS(EINVAL) && IN_GROUP && !LEADER && \
		   !(c->attr.use_clockid && c->attr.clockid == (clock)))

#endif
