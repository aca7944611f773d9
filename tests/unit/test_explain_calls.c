/* SPDX-License-Identifier: MIT */
/* Refused open calls and their causes, on described machines. */
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
#include <time.h>
#include <cmocka.h>

#include <perch/explain.h>

#include "tree.h"
#include "x86_rules.h"

#define PMUS "/sys/bus/event_source/devices/"

/* An unprivileged user on a virtual machine with Linux 5.4. */
static const struct tree_file old_files[] = {
	{ "/proc/sys/kernel/osrelease", "5.4.0-old\n" },
	{ "/proc/sys/kernel/perf_event_paranoid", "2\n" },
	{ "/proc/sys/kernel/perf_event_max_sample_rate", "9000\n" },
	{ "/proc/sys/kernel/perf_event_max_stack", "127\n" },
	{ "/proc/self/status", "Name:\tx\nCapEff:\t0000000000000000\nSeccomp:\t2\n" },
	{ "/sys/devices/system/cpu/online", "0-3\n" },
	{ "/sys/devices/system/cpu/present", "0-3\n" },
	{ "/sys/kernel/security/lockdown", "none integrity [confidentiality]\n" },
	{ PMUS "software/type", "1\n" },
	{ PMUS "uprobe/type", "8\n" },
	{ PMUS "msr/type", "10\n" },
	{ PMUS "uncore_imc/type", "23\n" },
};
static char root[PATH_MAX];
static struct perch_machine *old;

static int setup(void **state)
{
	(void)state;
	tree_make(root, old_files, sizeof(old_files) / sizeof(*old_files));
	return perch_machine_new(&old, root, NULL, NULL);
}

static int teardown(void **state)
{
	(void)state;
	perch_machine_free(old);
	tree_remove(root);
	return 0;
}

#define SOFTWARE                                                           \
	.type = PERCH_TYPE_SOFTWARE, .config = PERCH_COUNT_SW_PAGE_FAULTS, \
	.size = sizeof(struct perch_attr)
#define HARDWARE     .type = PERCH_TYPE_HARDWARE, .size = sizeof(struct perch_attr)
#define BREAKPOINT   .type = PERCH_TYPE_BREAKPOINT, .size = sizeof(struct perch_attr)
#define CALL(errnum) 0, -1, -1, 0, errnum

struct refusal {
	const char *what;
	struct perch_attr attr;
	pid_t pid;
	int cpu, group_fd;
	unsigned long flags;
	int errnum;
	enum perch_error_kind kind;
	const char *field;
	const char *since;
};

/* Rules that need no fact. */
static const struct refusal always[] = {
	{ "flags", { SOFTWARE }, 0, -1, -1, 1ul << 20, EINVAL, PERCH_ERROR_BAD_FIELD, "flags", "" },
	{ "attr size", { .size = 10 }, CALL(E2BIG), PERCH_ERROR_BAD_FIELD, "size", "" },
	{ "newer field",
	  { .size = 136, .config4 = 1 },
	  CALL(E2BIG),
	  PERCH_ERROR_TOO_NEW,
	  "config4",
	  "6.19" },
	{ "sig_data on 5.12",
	  { .size = 120, .sig_data = 1 },
	  CALL(E2BIG),
	  PERCH_ERROR_TOO_NEW,
	  "sig_data",
	  "5.13" },
	{ "reserved bit",
	  { SOFTWARE, .reserved_1 = 1 },
	  CALL(EINVAL),
	  PERCH_ERROR_BAD_FIELD,
	  "reserved_1",
	  "" },
	{ "padding",
	  { SOFTWARE, .reserved_2 = 1 },
	  CALL(EINVAL),
	  PERCH_ERROR_BAD_FIELD,
	  "reserved_2",
	  "" },
	{ "sample_type",
	  { SOFTWARE, .sample_type = 1ull << 40 },
	  CALL(EINVAL),
	  PERCH_ERROR_BAD_FIELD,
	  "sample_type",
	  "" },
	{ "read_format",
	  { SOFTWARE, .read_format = 1 << 9 },
	  CALL(EINVAL),
	  PERCH_ERROR_BAD_FIELD,
	  "read_format",
	  "" },
	{ "branch kind",
	  { HARDWARE, .sample_type = PERCH_SAMPLE_BRANCH_STACK, .branch_sample_type = 1 },
	  CALL(EINVAL),
	  PERCH_ERROR_BAD_FIELD,
	  "branch_sample_type",
	  "" },
	{ "branch bits",
	  { HARDWARE, .sample_type = PERCH_SAMPLE_BRANCH_STACK, .branch_sample_type = 1ull << 33 },
	  CALL(EINVAL),
	  PERCH_ERROR_BAD_FIELD,
	  "branch_sample_type",
	  "" },
	{ "user registers",
	  { SOFTWARE, .sample_type = PERCH_SAMPLE_REGS_USER },
	  CALL(EINVAL),
	  PERCH_ERROR_BAD_FIELD,
	  "sample_regs_user",
	  "" },
	{ "stack size",
	  { SOFTWARE, .sample_type = PERCH_SAMPLE_STACK_USER, .sample_stack_user = 7 },
	  CALL(EINVAL),
	  PERCH_ERROR_BAD_FIELD,
	  "sample_stack_user",
	  "" },
	{ "two weights",
	  { SOFTWARE, .sample_type = PERCH_SAMPLE_WEIGHT | PERCH_SAMPLE_WEIGHT_STRUCT },
	  CALL(EINVAL),
	  PERCH_ERROR_CONFLICT,
	  "sample_type",
	  "" },
	{ "inherit_thread",
	  { SOFTWARE, .inherit_thread = 1 },
	  CALL(EINVAL),
	  PERCH_ERROR_CONFLICT,
	  "inherit_thread",
	  "" },
	{ "on exec",
	  { SOFTWARE, .remove_on_exec = 1, .enable_on_exec = 1 },
	  CALL(EINVAL),
	  PERCH_ERROR_CONFLICT,
	  "remove_on_exec",
	  "" },
	{ "sigtrap",
	  { SOFTWARE, .sigtrap = 1 },
	  CALL(EINVAL),
	  PERCH_ERROR_CONFLICT,
	  "sigtrap",
	  "" },
	{ "period",
	  { SOFTWARE, .sample_period = 1ull << 63 },
	  CALL(EINVAL),
	  PERCH_ERROR_PERIOD,
	  "sample_period",
	  "" },
	{ "cgroup target",
	  { SOFTWARE },
	  5,
	  -1,
	  -1,
	  PERCH_FLAG_PID_CGROUP,
	  EINVAL,
	  PERCH_ERROR_BAD_TARGET,
	  "cpu",
	  "" },
	{ "no target", { SOFTWARE }, -1, -1, -1, 0, EINVAL, PERCH_ERROR_BAD_TARGET, "cpu", "" },
	{ "cpu -2", { SOFTWARE }, 0, -2, -1, 0, EINVAL, PERCH_ERROR_NO_CPU, "cpu", "" },
	{ "offline", { SOFTWARE }, -1, 1, -1, 0, ENODEV, PERCH_ERROR_NO_CPU, "cpu", "" },
	{ "pid", { SOFTWARE }, 99999, -1, -1, 0, ESRCH, PERCH_ERROR_NO_PROCESS, "pid", "" },
	{ "group_fd", { SOFTWARE }, 0, -1, 77, 0, EBADF, PERCH_ERROR_BAD_GROUP, "group_fd", "" },
	{ "cgroup fd",
	  { SOFTWARE },
	  77,
	  0,
	  -1,
	  PERCH_FLAG_PID_CGROUP,
	  EBADF,
	  PERCH_ERROR_BAD_TARGET,
	  "pid",
	  "" },
	{ "EMFILE", { SOFTWARE }, CALL(EMFILE), PERCH_ERROR_DESCRIPTORS, "", "" },
	{ "no hardware", { HARDWARE }, CALL(ENOENT), PERCH_ERROR_NOT_SUPPORTED, "type", "" },
	{ "software 99",
	  { .type = PERCH_TYPE_SOFTWARE, .config = 99, .size = 64 },
	  CALL(ENOENT),
	  PERCH_ERROR_BAD_FIELD,
	  "config",
	  "" },
	{ "breakpoints", { BREAKPOINT }, CALL(ENOSPC), PERCH_ERROR_BREAKPOINTS, "", "" },
	{ "bp_type",
	  { BREAKPOINT, .bp_type = 0, .bp_len = 8 },
	  CALL(EINVAL),
	  PERCH_ERROR_BAD_FIELD,
	  "bp_type",
	  "" },
	{ "bp_len",
	  { BREAKPOINT, .bp_type = PERCH_BREAKPOINT_W, .bp_len = 3 },
	  CALL(EINVAL),
	  PERCH_ERROR_BAD_FIELD,
	  "bp_len",
	  "" },
	{ "bp_len 0",
	  { BREAKPOINT, .bp_type = PERCH_BREAKPOINT_W, .bp_addr = 8 },
	  CALL(EINVAL),
	  PERCH_ERROR_BAD_FIELD,
	  "bp_len",
	  "" },
	{ "bp_addr",
	  { BREAKPOINT, .bp_type = PERCH_BREAKPOINT_W, .bp_len = 4, .bp_addr = 0x1001 },
	  CALL(EINVAL),
	  PERCH_ERROR_BAD_FIELD,
	  "bp_addr",
	  "" },
	{ "kernel bp",
	  { BREAKPOINT, .bp_type = PERCH_BREAKPOINT_W, .bp_len = 8, .bp_addr = ~0xfffull,
	    .exclude_kernel = 1 },
	  CALL(EINVAL),
	  PERCH_ERROR_CONFLICT,
	  "exclude_kernel",
	  "" },
	{ "branches",
	  { SOFTWARE, .sample_type = PERCH_SAMPLE_BRANCH_STACK, .branch_sample_type = 8 },
	  CALL(EOPNOTSUPP),
	  PERCH_ERROR_NOT_SUPPORTED,
	  "sample_type",
	  "" },
	{ "precise",
	  { HARDWARE, .precise_ip = 2, .sample_period = 1 },
	  CALL(EOPNOTSUPP),
	  PERCH_ERROR_NOT_SUPPORTED,
	  "precise_ip",
	  "" },
	{ "no interrupt",
	  { HARDWARE, .sample_period = 1 },
	  CALL(EOPNOTSUPP),
	  PERCH_ERROR_NOT_SUPPORTED,
	  "sample_period",
	  "" },
	{ "stack depth",
	  { SOFTWARE, .sample_type = PERCH_SAMPLE_CALLCHAIN, .sample_max_stack = 500 },
	  CALL(EOVERFLOW),
	  PERCH_ERROR_STACK_DEPTH,
	  "sample_max_stack",
	  "" },
	{ "clockid",
	  { SOFTWARE, .use_clockid = 1, .clockid = CLOCK_PROCESS_CPUTIME_ID },
	  CALL(EINVAL),
	  PERCH_ERROR_BAD_FIELD,
	  "clockid",
	  "" },
	{ "clock of NMIs",
	  { HARDWARE, .use_clockid = 1, .clockid = CLOCK_REALTIME },
	  CALL(EINVAL),
	  PERCH_ERROR_CONFLICT,
	  "clockid",
	  "" },
	{ "pinned member",
	  { SOFTWARE, .pinned = 1 },
	  0,
	  -1,
	  5,
	  0,
	  EINVAL,
	  PERCH_ERROR_BAD_GROUP,
	  "pinned",
	  "" },
	{ "member", { SOFTWARE }, 0, -1, 5, 0, EINVAL, PERCH_ERROR_BAD_GROUP, "inherit", "" },
	{ "inherit and READ",
	  { SOFTWARE, .inherit = 1, .sample_type = PERCH_SAMPLE_READ },
	  CALL(EINVAL),
	  PERCH_ERROR_CONFLICT,
	  "inherit",
	  "6.12" },
	{ "deferred callchains",
	  { SOFTWARE, .defer_callchain = 1 },
	  CALL(EINVAL),
	  PERCH_ERROR_TOO_NEW,
	  "defer_callchain",
	  "6.19" },
	{ "kernel side", { SOFTWARE }, CALL(EACCES), PERCH_ERROR_PARANOID, "exclude_kernel", "" },
	{ "all CPUs",
	  { SOFTWARE, .exclude_kernel = 1 },
	  -1,
	  0,
	  -1,
	  0,
	  EACCES,
	  PERCH_ERROR_PARANOID,
	  "pid",
	  "" },
	{ "other process",
	  { SOFTWARE, .exclude_kernel = 1 },
	  1,
	  -1,
	  -1,
	  0,
	  EACCES,
	  PERCH_ERROR_PRIVILEGE,
	  "pid",
	  "" },
	{ "raw tracepoint",
	  { .type = PERCH_TYPE_TRACEPOINT, .size = 64, .sample_type = PERCH_SAMPLE_RAW },
	  CALL(EPERM),
	  PERCH_ERROR_PARANOID,
	  "sample_type",
	  "" },
	{ "container", { SOFTWARE }, CALL(EPERM), PERCH_ERROR_BLOCKED, "", "" },
	{ "no syscall", { SOFTWARE }, CALL(ENOSYS), PERCH_ERROR_NO_SYSCALL, "", "" },
	{ "no registers",
	  { SOFTWARE, .sample_type = PERCH_SAMPLE_REGS_USER, .sample_regs_user = 1 },
	  CALL(ENOSYS),
	  PERCH_ERROR_NOT_SUPPORTED,
	  "sample_type",
	  "" },
	{ "who knows", { SOFTWARE }, CALL(EIO), PERCH_ERROR_SYSTEM, "", "" },
};

/* Open calls whose causes need facts of the old machine. */
static const struct refusal by_facts[] = {
	{ "rate",
	  { SOFTWARE, .freq = 1, .sample_freq = 9001 },
	  CALL(EINVAL),
	  PERCH_ERROR_FREQUENCY,
	  "sample_freq",
	  "" },
	{ "absent CPU", { SOFTWARE }, -1, 4, -1, 0, EINVAL, PERCH_ERROR_NO_CPU, "cpu", "" },
	{ "no PMU", { HARDWARE }, CALL(ENOENT), PERCH_ERROR_NOT_SUPPORTED, "type", "" },
	{ "type 77",
	  { .type = 77, .size = 64 },
	  CALL(ENOENT),
	  PERCH_ERROR_UNKNOWN_PMU,
	  "type",
	  "" },
	{ "uprobe",
	  { .type = 8, .size = 64, .exclude_kernel = 1 },
	  CALL(EACCES),
	  PERCH_ERROR_PRIVILEGE,
	  "type",
	  "" },
	{ "uncore :u",
	  { .type = 23, .size = 64, .exclude_kernel = 1 },
	  -1,
	  0,
	  -1,
	  0,
	  EINVAL,
	  PERCH_ERROR_CONFLICT,
	  "exclude_kernel",
	  "" },
	{ "uncore of a task",
	  { .type = 23, .size = 64 },
	  CALL(EINVAL),
	  PERCH_ERROR_BAD_TARGET,
	  "pid",
	  "" },
	{ "too new a bit",
	  { SOFTWARE, .build_id = 1 },
	  CALL(EINVAL),
	  PERCH_ERROR_TOO_NEW,
	  "build_id",
	  "5.12" },
	{ "too new a sample",
	  { SOFTWARE, .sample_type = PERCH_SAMPLE_CODE_PAGE_SIZE },
	  CALL(EINVAL),
	  PERCH_ERROR_TOO_NEW,
	  "sample_type",
	  "5.11" },
	{ "too new a format",
	  { SOFTWARE, .read_format = PERCH_FORMAT_LOST },
	  CALL(EINVAL),
	  PERCH_ERROR_TOO_NEW,
	  "read_format",
	  "6.0" },
	{ "too new in a group",
	  { SOFTWARE, .inherit = 1, .inherit_thread = 1 },
	  0,
	  -1,
	  4,
	  0,
	  EINVAL,
	  PERCH_ERROR_TOO_NEW,
	  "inherit_thread",
	  "5.13" },
	{ "new software event",
	  { .type = PERCH_TYPE_SOFTWARE, .config = PERCH_COUNT_SW_CGROUP_SWITCHES, .size = 64 },
	  CALL(ENOENT),
	  PERCH_ERROR_TOO_NEW,
	  "config",
	  "5.13" },
	{ "inherited READ",
	  { SOFTWARE, .inherit = 1, .sample_type = PERCH_SAMPLE_READ | PERCH_SAMPLE_TID },
	  CALL(EINVAL),
	  PERCH_ERROR_TOO_NEW,
	  "inherit",
	  "6.12" },
	{ "lockdown",
	  { SOFTWARE, .sample_type = PERCH_SAMPLE_REGS_INTR, .sample_regs_intr = 1 },
	  CALL(EPERM),
	  PERCH_ERROR_PRIVILEGE,
	  "sample_type",
	  "" },
	{ "seccomp", { SOFTWARE }, CALL(EPERM), PERCH_ERROR_BLOCKED, "", "" },
};

static void check(const struct refusal *refusal, struct perch_machine *machine)
{
	struct perch_open_call call = {
		.attr = &refusal->attr,
		.pid = refusal->pid,
		.cpu = refusal->cpu,
		.group_fd = refusal->group_fd,
		.flags = refusal->flags,
		.errnum = refusal->errnum,
		.from_log = !machine,
	};
	struct perch_error err;

	assert_int_equal(perch_explain(&call, machine, &err), -refusal->errnum);
	if (err.kind != refusal->kind || strcmp(err.field, refusal->field) ||
	    strcmp(err.since, refusal->since))
		fail_msg("%s: %s, field '%s', since '%s': %s", refusal->what,
			 perch_error_kind_slug(err.kind), err.field, err.since, err.message);
	assert_int_equal(err.errnum, refusal->errnum);
	assert_true(err.message[0]);
	assert_null(strchr(err.message, '{'));
	if (refusal->kind != PERCH_ERROR_SYSTEM)
		assert_true(err.remedy[0]);
}

static void causes_by_rules(void **state)
{
	(void)state;
	NEEDS_X86_RULES();
	for (size_t i = 0; i < sizeof(always) / sizeof(*always); i++)
		check(&always[i], NULL);
}

static void causes_by_facts(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(by_facts) / sizeof(*by_facts); i++)
		check(&by_facts[i], old);
}

static void messages_have_the_values(void **state)
{
	struct perch_attr attr = { SOFTWARE };
	struct perch_open_call call = {
		.attr = &attr, .cpu = -1, .group_fd = -1, .errnum = EACCES
	};
	struct perch_error err;

	(void)state;
	perch_explain(&call, old, &err);
	assert_non_null(strstr(err.message, "kernel.perf_event_paranoid <= 1 (currently 2)"));
	call.from_log = true;
	perch_explain(&call, NULL, &err);
	assert_null(strstr(err.message, "currently"));
	call.from_log = false;
	attr.freq = 1;
	attr.sample_freq = 50000;
	call.errnum = EINVAL;
	perch_explain(&call, old, &err);
	assert_non_null(strstr(err.message, "50000 Hz"));
	assert_non_null(strstr(err.message, "(currently 9000)"));
}

static void explains_null_attr_without_err(void **state)
{
	struct perch_open_call call = { .cpu = -1, .group_fd = -1, .errnum = EFAULT };
	struct perch_error err;

	(void)state;
	assert_int_equal(perch_explain(&call, NULL, &err), -EFAULT);
	assert_string_equal(err.field, "attr");
	assert_int_equal(perch_explain(&call, old, NULL), -EFAULT);
	call.errnum = 0;
	assert_int_equal(perch_explain(&call, NULL, &err), -EINVAL);
	assert_int_equal(perch_explain(NULL, NULL, &err), -EINVAL);
}

/* The kernel does not read beyond attr.size, so these fields are not at fault. */
static void fields_beyond_size_are_not_at_fault(void **state)
{
	struct perch_attr attr = { SOFTWARE, .config4 = 1, .sample_stack_user = 7 };
	struct perch_open_call call = {
		.attr = &attr, .cpu = -1, .group_fd = 9, .errnum = EINVAL, .from_log = true
	};
	struct perch_error err;

	(void)state;
	attr.size = PERCH_ATTR_SIZE_VER0;
	perch_explain(&call, NULL, &err);
	assert_int_equal(err.kind, PERCH_ERROR_BAD_GROUP);
}

/* A log without the attr: the type is unknown. The arguments still count. */
static void missing_attr_proves_nothing(void **state)
{
	struct perch_open_call call = {
		.cpu = -1, .group_fd = -1, .errnum = ENOENT, .attr_is_partial = true
	};
	struct perch_explanation explained;

	(void)state;
	assert_int_equal(perch_explain_open_call(&call, NULL, old, &explained), 0);
	assert_int_not_equal(explained.confidence, PERCH_CONFIDENCE_CERTAIN);
	assert_int_equal(explained.nr_next, 0);
	call.errnum = EINVAL;
	call.cpu = -2;
	assert_int_equal(perch_explain_open_call(&call, NULL, old, &explained), 0);
	assert_int_equal(explained.finding[0].cause, PERCH_CAUSE_CPU_NEGATIVE);
	assert_int_equal(explained.nr_findings, 1);
}

/* Fields that a log does not have may be nonzero: a condition that they are 0 is no proof. */
static void partial_attr_is_less_certain(void **state)
{
	struct perch_attr attr = { SOFTWARE, .inherit_thread = 1 };
	struct perch_open_call call = {
		.attr = &attr, .cpu = -1, .group_fd = -1, .errnum = EINVAL
	};
	struct perch_explanation explained;

	(void)state;
	assert_int_equal(perch_explain_open_call(&call, NULL, NULL, &explained), 0);
	assert_int_equal(explained.confidence, PERCH_CONFIDENCE_CERTAIN);
	call.attr_is_partial = true;
	assert_int_equal(perch_explain_open_call(&call, NULL, NULL, &explained), 0);
	assert_int_not_equal(explained.confidence, PERCH_CONFIDENCE_CERTAIN);
	attr.reserved_2 = 1; /* what is there is there */
	assert_int_equal(perch_explain_open_call(&call, NULL, NULL, &explained), 0);
	assert_int_equal(explained.finding[0].cause, PERCH_CAUSE_RESERVED_BITS);
}

/* Without facts, the CPU remains a candidate. */
static void names_a_cpu_that_may_not_exist(void **state)
{
	struct perch_attr attr = { SOFTWARE };
	struct perch_open_call call = {
		.attr = &attr, .cpu = 99, .group_fd = -1, .errnum = EINVAL, .from_log = true
	};
	struct perch_error err;

	(void)state;
	perch_explain(&call, NULL, &err);
	assert_int_equal(err.kind, PERCH_ERROR_NO_CPU);
	assert_non_null(strstr(err.message, "CPU 99 may not exist"));
	call.group_fd = 9; /* a likely rule does not exclude it either */
	perch_explain(&call, NULL, &err);
	assert_int_equal(err.kind, PERCH_ERROR_BAD_GROUP);
	assert_non_null(strstr(err.message, "CPU 99 may not exist"));
	call.cpu = call.group_fd = -1;
	perch_explain(&call, NULL, &err);
	assert_null(strstr(err.message, "CPU"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(causes_by_rules),
		cmocka_unit_test(causes_by_facts),
		cmocka_unit_test(messages_have_the_values),
		cmocka_unit_test(explains_null_attr_without_err),
		cmocka_unit_test(fields_beyond_size_are_not_at_fault),
		cmocka_unit_test(missing_attr_proves_nothing),
		cmocka_unit_test(partial_attr_is_less_certain),
		cmocka_unit_test(names_a_cpu_that_may_not_exist),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
