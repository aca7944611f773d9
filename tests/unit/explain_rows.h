/* SPDX-License-Identifier: MIT */
/* A call for each rule of src/explain/rules.def, and what must be said of it. */
#ifndef PERCH_TEST_EXPLAIN_ROWS_H
#define PERCH_TEST_EXPLAIN_ROWS_H

#include <errno.h>
#include <stdbool.h>
#include <time.h>

#include <perch/explain.h>

/* The machines that the rows are set on; see machine_files in test_explain.c. */
enum machine_kind {
	NONE,				/* no facts at all */
	GUEST,				/* a 6.14 virtual machine without a core PMU, paranoid 2, an ordinary user */
	OLD,				/* 4.4 with a core PMU, paranoid 2, an ordinary user */
	STRICT,				/* a distribution's paranoid 3, an ordinary user */
	LOCKED,				/* root under lockdown=confidentiality and a seccomp filter */
	NR_MACHINES
};

struct row {
	const char *rule;
	enum machine_kind machine;
	int errnum;
	enum perch_error_kind kind;
	const char *field;
	const char *words;		/* somewhere in the message */
	struct perch_attr attr;		/* size 0: this version's */
	bool no_attr;
	pid_t pid;
	int cpu_plus_1;			/* so that 0 is what most rows want: -1 */
	int group_plus_1;
	unsigned long flags;
};

/* .words by name: that tells the compilers that the rest is left at 0 on purpose. */
#define ROW(rule, machine, errnum, kind, field, said, ...) \
	{ #rule, machine, errnum, PERCH_ERROR_##kind, field, .words = said, ##__VA_ARGS__ }
#define ATTR(...) .attr = { __VA_ARGS__ }
#define SAMPLES(what) .sample_type = PERCH_SAMPLE_##what
#define BREAKPOINT(kind, length, address) \
	.type = PERCH_TYPE_BREAKPOINT, .bp_type = PERCH_BREAKPOINT_##kind, .bp_len = length, .bp_addr = address
#define KERNEL_ADDRESS UINT64_C(0xffffffff81000000)
#define CPU(n) .cpu_plus_1 = (n) + 1
#define GROUP(n) .group_plus_1 = (n) + 1
#define UPROBE 8
#define MSR 10

static const struct row rows[] = {
	/* the arguments */
	ROW(call_flags, NONE, EINVAL, BAD_FIELD, "flags", "0x10", .flags = 0x10),
	ROW(attr_pointer, NONE, EFAULT, USAGE, "attr", "NULL", .no_attr = true),
	ROW(probe_pointer, NONE, EFAULT, BAD_FIELD, "config1", "config1", ATTR(.type = UPROBE, .config1 = 1)),
	ROW(attr_unreadable, NONE, EFAULT, USAGE, "attr", "cannot read the attr"),
	ROW(attr_size, NONE, E2BIG, BAD_FIELD, "size", "is 5", ATTR(.size = 5)),

	/* the attr by itself */
	ROW(reserved_1, NONE, EINVAL, BAD_FIELD, "reserved_1", "flag", ATTR(.reserved_1 = 1)),
	ROW(reserved_2, NONE, EINVAL, BAD_FIELD, "reserved_2", "padding", ATTR(.reserved_2 = 1)),
	ROW(reserved_3, NONE, EINVAL, BAD_FIELD, "aux_action", "aux_action", ATTR(.reserved_3 = 1)),
	ROW(sample_type, NONE, EINVAL, BAD_FIELD, "sample_type", "0x10000000000", ATTR(.sample_type = 1ull << 40 | 1)),
	ROW(read_format, NONE, EINVAL, BAD_FIELD, "read_format", ": 0x400", ATTR(.read_format = 0x401)),
	ROW(branch_bits, NONE, EINVAL, BAD_FIELD, "branch_sample_type", "0x80000000",
	    ATTR(SAMPLES(BRANCH_STACK), .branch_sample_type = 1ull << 31)),
	ROW(branch_kind, NONE, EINVAL, BAD_FIELD, "branch_sample_type", "no kind",
	    ATTR(SAMPLES(BRANCH_STACK), .branch_sample_type = PERCH_SAMPLE_BRANCH_USER)),
	ROW(branch_privilege, GUEST, EACCES, PARANOID, "branch_sample_type", "(it is 2)",
	    ATTR(SAMPLES(BRANCH_STACK), .branch_sample_type = PERCH_SAMPLE_BRANCH_ANY)),
	ROW(regs_user, NONE, EINVAL, BAD_FIELD, "sample_regs_user", "register", ATTR(SAMPLES(REGS_USER))),
	ROW(regs_intr, NONE, EINVAL, BAD_FIELD, "sample_regs_intr", "register", ATTR(SAMPLES(REGS_INTR))),
	ROW(no_regs, NONE, ENOSYS, NOT_SUPPORTED, "sample_type", "architecture", ATTR(SAMPLES(STACK_USER))),
	ROW(no_syscall, NONE, ENOSYS, NO_SYSCALL, "", "perf_event_open"),
	ROW(stack_size, NONE, EINVAL, BAD_FIELD, "sample_stack_user", "is 12",
	    ATTR(SAMPLES(STACK_USER), .sample_stack_user = 12)),
	ROW(two_weights, NONE, EINVAL, CONFLICT, "sample_type", "WEIGHT_STRUCT",
	    ATTR(.sample_type = PERCH_SAMPLE_WEIGHT | PERCH_SAMPLE_WEIGHT_STRUCT)),
	ROW(inherit_thread, NONE, EINVAL, CONFLICT, "inherit_thread", "without inherit", ATTR(.inherit_thread = 1)),
	ROW(exec_both, NONE, EINVAL, CONFLICT, "remove_on_exec", "enable_on_exec",
	    ATTR(.remove_on_exec = 1, .enable_on_exec = 1)),
	ROW(sigtrap_exec, NONE, EINVAL, CONFLICT, "sigtrap", "remove_on_exec", ATTR(.sigtrap = 1)),

	/* who asks */
	ROW(paranoid_all, STRICT, EACCES, PARANOID, "", "(it is 3)", ATTR(.exclude_kernel = 1)),
	ROW(kernel_side, GUEST, EACCES, PARANOID, "exclude_kernel", "(it is 2)", ATTR(.type = PERCH_TYPE_SOFTWARE)),
	ROW(namespaces, GUEST, EACCES, PRIVILEGE, "namespaces", "CAP_PERFMON",
	    ATTR(.exclude_kernel = 1, .namespaces = 1)),
	ROW(frequency, GUEST, EINVAL, FREQUENCY, "sample_freq", "5001 samples a second",
	    ATTR(.freq = 1, .sample_freq = 5001)),
	ROW(frequency, NONE, EINVAL, FREQUENCY, "sample_freq", "18446744073709551615 samples",
	    ATTR(.freq = 1, .sample_freq = UINT64_MAX)),
	ROW(period, NONE, EINVAL, PERIOD, "sample_period", "highest bit", ATTR(.sample_period = 1ull << 63)),
	ROW(phys_addr, GUEST, EACCES, PARANOID, "sample_type", "physical",
	    ATTR(.exclude_kernel = 1, SAMPLES(PHYS_ADDR))),
	ROW(lockdown_regs, LOCKED, EPERM, PRIVILEGE, "sample_type", "confidentiality", ATTR(SAMPLES(REGS_INTR))),
	ROW(cgroup_target, NONE, EINVAL, BAD_TARGET, "cpu", "pid 7 with cpu -1 names none", .pid = 7, .flags = PERCH_FLAG_PID_CGROUP),

	/* descriptors and targets */
	ROW(descriptors, GUEST, EMFILE, DESCRIPTORS, "", "(it is 1024)"),
	ROW(descriptors_all, NONE, ENFILE, DESCRIPTORS, "", "whole system"),
	ROW(group_fd, NONE, EBADF, BAD_GROUP, "group_fd", "group_fd 77", GROUP(77)),
	ROW(cgroup_fd, NONE, EBADF, BAD_TARGET, "pid", "pid 7", .pid = 7, CPU(0), .flags = PERCH_FLAG_PID_CGROUP),
	ROW(no_process, NONE, ESRCH, NO_PROCESS, "pid", "4711", .pid = 4711),
	ROW(no_leader, NONE, ENODEV, BAD_GROUP, "group_fd", "leader", GROUP(3)),
	ROW(cpu_negative, NONE, EINVAL, NO_CPU, "cpu", "cpu -2", CPU(-2)),
	ROW(no_target, NONE, EINVAL, BAD_TARGET, "cpu", "cpu -1", .pid = -1),
	ROW(cpu_absent, GUEST, EINVAL, NO_CPU, "cpu", "no CPU 9999: this machine has 4 CPUs", CPU(9999)),
	ROW(cpu_absent, GUEST, EINVAL, NO_CPU, "cpu", "no CPU 6", CPU(6)),
	ROW(cpu_offline, GUEST, ENODEV, NO_CPU, "cpu", "CPU 3", CPU(3)),
	ROW(pmu_gone, GUEST, ENODEV, NOT_SUPPORTED, "type", "PMU msr", ATTR(.type = MSR)),
	ROW(pmu_gone, NONE, ENODEV, NOT_SUPPORTED, "type", "PMU of type 10", ATTR(.type = MSR)),
	ROW(sigtrap_task, NONE, EINVAL, CONFLICT, "sigtrap", "task", ATTR(.sigtrap = 1, .remove_on_exec = 1),
	    .pid = -1, CPU(0)),
	ROW(inherit_read, NONE, EINVAL, CONFLICT, "inherit", "PERCH_SAMPLE_TID", ATTR(.inherit = 1, SAMPLES(READ))),
	ROW(inherit_read_old, OLD, EINVAL, TOO_NEW, "inherit", "6.13",
	    ATTR(.inherit = 1, .sample_type = PERCH_SAMPLE_READ | PERCH_SAMPLE_TID)),
	ROW(inherit_group_old, OLD, EINVAL, TOO_NEW, "read_format", "4.13",
	    ATTR(.inherit = 1, .read_format = PERCH_FORMAT_GROUP)),

#include "explain_rows_pmu.h"
};

#endif
