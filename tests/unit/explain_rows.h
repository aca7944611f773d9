/* SPDX-License-Identifier: MIT */
/* An open call for each rule of src/explain/rules/rules*.def, and its expected explanation. */
#ifndef PERCH_TEST_EXPLAIN_ROWS_H
#define PERCH_TEST_EXPLAIN_ROWS_H

#include <errno.h>
#include <stdbool.h>
#include <time.h>

#include <perch/explain.h>

#include "explain_machines.h"

struct row {
	const char *rule;
	enum machine_kind machine;
	int errnum;
	const char *words;	/* part of the message or remedy */
	bool later;		/* not the first candidate: only probing could decide */
	struct perch_attr attr; /* size 0: this version's */
	bool no_attr;
	bool partial; /* of a log that omits fields that are 0 here */
	pid_t pid;
	int cpu_plus_1; /* 0 is the default: -1 */
	int group_plus_1;
	unsigned long flags;
	const struct perch_open_call_leader *leader;
};

/* A designated initializer avoids warnings about the members that remain 0. */
/* clang-format off */
#define ROW(rule, machine, errnum, text, ...) \
	{ #rule, machine, errnum, .words = text, ##__VA_ARGS__ }
/* clang-format on */
#define ATTR(...)      .attr = { __VA_ARGS__ }
#define OMITS	       .partial = true
#define LATER	       .later = true
#define SAMPLES(what)  .sample_type = PERCH_SAMPLE_##what
#define TYPE(what)     .type = PERCH_TYPE_##what
#define SOFTWARE(what) .type = PERCH_TYPE_SOFTWARE, .config = PERCH_COUNT_SW_##what
#define BREAKPOINT(kind, length, address)                                                    \
	.type = PERCH_TYPE_BREAKPOINT, .bp_type = PERCH_BREAKPOINT_##kind, .bp_len = length, \
	.bp_addr = address
#define KERNEL_ADDRESS UINT64_C(0xffffffff81000000)
#define USER	       .exclude_kernel = 1
#define CPU(n)	       .cpu_plus_1 = (n) + 1
#define GROUP(n)       .group_plus_1 = (n) + 1
#define CGROUP(fd)     .pid = fd, .flags = PERCH_FLAG_PID_CGROUP
#define LED_BY(which)  GROUP(3), .leader = &leader_##which

/* Leaders, all of descriptor 3. */
#define LEADER(name, attributes, ...)                                                         \
	static const struct perch_attr attr_of_##name = { .size = sizeof(struct perch_attr),  \
							  attributes };                       \
	static const struct perch_open_call_leader leader_##name = { .attr = &attr_of_##name, \
								     .members = 1,            \
								     __VA_ARGS__ }
LEADER(software, TYPE(SOFTWARE), .cpu = -1);
LEADER(inheriting, .inherit = 1, .cpu = -1);
LEADER(member, TYPE(SOFTWARE), .cpu = -1, .is_member = true);
/* clockid 0: CLOCK_REALTIME */
LEADER(with_clock, .use_clockid = 1, .cpu = -1, .has_ring = true);
LEADER(on_cpu_1, TYPE(SOFTWARE), .cpu = 1, .has_ring = true);
LEADER(of_process_9, TYPE(SOFTWARE), .pid = 9, .cpu = -1, .has_ring = true);
LEADER(of_atom, .type = ATOM, .cpu = -1);
LEADER(backward, .write_backward = 1, .cpu = -1, .has_ring = true);
LEADER(of_cgroup, TYPE(SOFTWARE), .pid = 7, .cpu = 0, .flags = PERCH_FLAG_PID_CGROUP);

static const struct row rows[] = {
	/* before perf */
	ROW(no_syscall, BARE, ENOSYS, "perf_event_paranoid"),
	ROW(seccomp_enosys, CONTAINER, ENOSYS, "docker"),
	ROW(no_regs, NONE, ENOSYS, "architecture", ATTR(SAMPLES(STACK_USER))),
	ROW(no_syscall_or_filtered, NONE, ENOSYS, "perf_event_open"),
	ROW(seccomp, CONTAINER, EPERM, "--cap-add PERFMON"),
	ROW(seccomp, LOCKED, EPERM, "where the filter is set"),

	/* the arguments */
	ROW(open_flags, NONE, EINVAL, "0x10", .flags = 0x10),
	ROW(attr_pointer, NONE, EFAULT, "NULL", .no_attr = true),
	ROW(attr_read_only, NONE, EFAULT, "is 12", ATTR(.size = 12)),
	ROW(probe_pointer, ROOT, EFAULT, "(0x1)", ATTR(.type = UPROBE, .config1 = 1)),
	ROW(attr_unreadable, NONE, EFAULT, "cannot read the attr"),
	ROW(attr_size, NONE, E2BIG, "currently 5", ATTR(.size = 5)),
	ROW(probe_name, ROOT, E2BIG, "4096", ATTR(.type = UPROBE, .config1 = 1)),
	ROW(attr_size_written, NONE, E2BIG, "its own size"),

	/* the attr */
	ROW(reserved_1, NONE, EINVAL, "bit 40 of the attr's flags", ATTR(.reserved_1 = 1)),
	ROW(reserved_1, NONE, EINVAL, "bits 41, 60-63 of the attr's flags",
	    ATTR(.reserved_1 = 0xf00002)),
	ROW(reserved_2, NONE, EINVAL, "bits 0, 2 of the 16 bits after sample_max_stack",
	    ATTR(.reserved_2 = 5)),
	ROW(reserved_3, NONE, EINVAL, "bit 3 of aux_action", ATTR(.reserved_3 = 1)),
	ROW(reserved_3, NONE, EINVAL, "bits 4-31 of aux_action", ATTR(.reserved_3 = 0x1ffffffe)),
	ROW(sample_type, NONE, EINVAL, "0x10000000000", ATTR(.sample_type = 1ull << 40 | 1)),
	ROW(read_format, NONE, EINVAL, ": 0x400", ATTR(.read_format = 0x401)),
	ROW(branch_bits, NONE, EINVAL, "0x80000000",
	    ATTR(SAMPLES(BRANCH_STACK), .branch_sample_type = 1ull << 31 | 8)),
	ROW(branch_kind, NONE, EINVAL, "no type",
	    ATTR(SAMPLES(BRANCH_STACK), .branch_sample_type = PERCH_SAMPLE_BRANCH_USER)),
	ROW(branch_privilege, GUEST, EACCES, "(currently 2)",
	    ATTR(USER, SAMPLES(BRANCH_STACK),
		 .branch_sample_type = PERCH_SAMPLE_BRANCH_ANY | PERCH_SAMPLE_BRANCH_KERNEL)),
	ROW(branch_kernel, GUEST, EACCES, "exclude_kernel and exclude_hv",
	    ATTR(SAMPLES(BRANCH_STACK), .branch_sample_type = PERCH_SAMPLE_BRANCH_ANY)),
	ROW(branch_hv, GUEST, EACCES, "without exclude_hv",
	    ATTR(USER, SAMPLES(BRANCH_STACK), .branch_sample_type = PERCH_SAMPLE_BRANCH_ANY)),
	ROW(regs_user, NONE, EINVAL, "register", ATTR(SAMPLES(REGS_USER))),
	ROW(regs_intr, NONE, EINVAL, "register", ATTR(SAMPLES(REGS_INTR))),
	ROW(stack_size, NONE, EINVAL, "currently 12",
	    ATTR(SAMPLES(STACK_USER), .sample_stack_user = 12)),
	ROW(stack_size, NONE, EINVAL, "currently 65536",
	    ATTR(SAMPLES(STACK_USER), .sample_stack_user = 65536)),
	ROW(sample_cgroup, GUEST, EINVAL, "CONFIG_CGROUP_PERF", ATTR(SAMPLES(CGROUP))),
	ROW(weight_conflict, NONE, EINVAL, "WEIGHT_STRUCT",
	    ATTR(.sample_type = PERCH_SAMPLE_WEIGHT | PERCH_SAMPLE_WEIGHT_STRUCT)),
	ROW(inherit_thread, NONE, EINVAL, "needs inherit", ATTR(.inherit_thread = 1)),
	ROW(exec_conflict, NONE, EINVAL, "enable_on_exec",
	    ATTR(.remove_on_exec = 1, .enable_on_exec = 1)),
	ROW(sigtrap_exec, NONE, EINVAL, "remove_on_exec", ATTR(.sigtrap = 1, .enable_on_exec = 1)),

	/* permissions and limits */
	ROW(paranoid_all, STRICT, EACCES, "sysctl kernel.perf_event_paranoid=2", ATTR(USER)),
	ROW(paranoid_all, UBUNTU, EACCES, "CAP_PERFMON is not enough", ATTR(USER)),
	ROW(kernel_profiling_tracepoint, GUEST, EACCES, "currently 2",
	    ATTR(TYPE(TRACEPOINT), .config = 300)),
	ROW(namespace_kernel, OTHER_ROOT, EACCES, "in a user namespace", ATTR(TYPE(SOFTWARE))),
	ROW(kernel_profiling_pmu, GUEST, EACCES, "the PMU msr", ATTR(.type = MSR)),
	ROW(kernel_profiling_always, GUEST, EACCES, "occurs only in the kernel",
	    ATTR(TYPE(SOFTWARE), .config = PERCH_COUNT_SW_CONTEXT_SWITCHES)),
	ROW(kernel_profiling_only, GUEST, EACCES,
	    "user space instead: set exclude_kernel, clear exclude_user (:u)",
	    ATTR(TYPE(SOFTWARE), .exclude_user = 1)),
	ROW(kernel_profiling, GUEST, EACCES, "(currently 2)", ATTR(TYPE(SOFTWARE))),
	ROW(kernel_profiling, NONE, EACCES, "sysctl kernel.perf_event_paranoid=1",
	    ATTR(TYPE(SOFTWARE))),
	ROW(text_poke, NEWEST, EACCES, "text_poke", ATTR(TYPE(SOFTWARE), USER, .text_poke = 1)),
	ROW(callchain_kernel, NEWEST, EACCES, "exclude_callchain_kernel",
	    ATTR(TYPE(SOFTWARE), USER, SAMPLES(CALLCHAIN))),
	ROW(callchain_kernel, GUEST, EACCES, "exclude_callchain_kernel",
	    ATTR(TYPE(SOFTWARE), USER, SAMPLES(CALLCHAIN))),
	ROW(namespaces, GUEST, EACCES, "CAP_PERFMON", ATTR(USER, .namespaces = 1)),
	ROW(frequency, GUEST, EINVAL, "5001 Hz", ATTR(.freq = 1, .sample_freq = 5001)),
	ROW(frequency, NONE, EINVAL, "18446744073709551615 Hz",
	    ATTR(.freq = 1, .sample_freq = UINT64_MAX)),
	ROW(period, NONE, EINVAL, "below 2^63", ATTR(.sample_period = 1ull << 63)),
	ROW(phys_addr, GUEST, EACCES, "physical", ATTR(USER, SAMPLES(PHYS_ADDR))),
	ROW(lockdown_regs, LOCKED, EPERM, "confidentiality", ATTR(SAMPLES(REGS_INTR))),
	ROW(cgroup_nothing, NONE, EINVAL, "needs a cgroup and a CPU", CGROUP(-1)),
	ROW(cgroup_target, NONE, EINVAL, "cpu is -1, and pid is descriptor 7", CGROUP(7)),
	ROW(cgroup_no_fd, NONE, EINVAL, "descriptor of a cgroup, but pid is -1", CGROUP(-1),
	    CPU(0)),

	/* descriptors and targets */
	ROW(descriptors, GUEST, EMFILE, "ulimit -n 4096"),
	ROW(system_descriptors, NONE, ENFILE, "the system has reached"),
	ROW(group_fd_negative, NONE, EBADF, "-2", GROUP(-2)),
	ROW(group_fd, NONE, EBADF, "group_fd 77", GROUP(77)),
	ROW(leader_gone, NONE, ENODEV, "leader", GROUP(3)),
	ROW(no_process, NONE, ESRCH, "4711", .pid = 4711),
	ROW(no_process, GUEST, ESRCH, "zombie", .pid = -2),
	ROW(group_inherit, NONE, EINVAL, "1 in the leader", LED_BY(inheriting)),
	ROW(cpu_negative, NONE, EINVAL, "currently -2", CPU(-2)),
	ROW(no_target, NONE, EINVAL, "cpu is -1", .pid = -1),
	ROW(cpu_absent, GUEST, EINVAL, "CPU 9999 does not exist: this machine has 4 CPUs",
	    CPU(9999)),
	ROW(cpu_absent, GUEST, EINVAL, "0-2", CPU(6)),
	ROW(sigtrap_task, NONE, EINVAL, "target thread", ATTR(.sigtrap = 1, .remove_on_exec = 1),
	    .pid = -1, CPU(0)),
	ROW(inherit_read, NONE, EINVAL, "PERF_SAMPLE_TID", ATTR(.inherit = 1, SAMPLES(READ))),
	ROW(inherit_read_old, OLD, EINVAL, "4.4.0-116-generic",
	    ATTR(TYPE(SOFTWARE), .inherit = 1,
		 .sample_type = PERCH_SAMPLE_READ | PERCH_SAMPLE_TID)),
	ROW(inherit_group_old, OLD, EINVAL, "4.13",
	    ATTR(TYPE(SOFTWARE), .inherit = 1, .read_format = PERCH_FORMAT_GROUP)),

#include "explain_rows_pmu.h"
#include "explain_rows_group.h"

	/* fields that a log omits */
	ROW(omitted_branches, NONE, EINVAL, "strace -v", OMITS,
	    ATTR(TYPE(SOFTWARE), SAMPLES(BRANCH_STACK))),
	ROW(omitted_regs_user, NONE, EINVAL, "strace -v", OMITS,
	    ATTR(TYPE(SOFTWARE), SAMPLES(REGS_USER))),
	ROW(omitted_regs_intr, NONE, EINVAL, "strace -v", OMITS,
	    ATTR(TYPE(SOFTWARE), SAMPLES(REGS_INTR))),
	ROW(omitted_stack_size, NONE, EINVAL, "strace -v", OMITS,
	    ATTR(TYPE(SOFTWARE), SAMPLES(STACK_USER))),
	ROW(omitted_clockid, NONE, EINVAL, "strace -v", OMITS,
	    ATTR(TYPE(SOFTWARE), .use_clockid = 1)),
	ROW(omitted_breakpoint, NONE, EINVAL, "strace -v", OMITS, ATTR(TYPE(BREAKPOINT))),
	ROW(omitted_breakpoint_address, NONE, EPERM, "strace -v", OMITS, ATTR(TYPE(BREAKPOINT))),
	ROW(omitted_stack_depth, NONE, EOVERFLOW, "strace -v", OMITS,
	    ATTR(TYPE(SOFTWARE), SAMPLES(CALLCHAIN))),
	ROW(omitted_aux_sample, NONE, EINVAL, "strace -v", OMITS,
	    ATTR(TYPE(SOFTWARE), SAMPLES(AUX))),
};

#endif
