/* SPDX-License-Identifier: MIT */
/* Remedies propose only what the kernel accepts and what then measures something. */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include <perch/explain.h>

#include "tree.h"

#define TRACING "/sys/kernel/tracing/"
#define EVENTS	TRACING "events/"
#define PMUS	"/sys/bus/event_source/devices/"

/* An unprivileged user who may read tracefs, and a kernel without kprobes. */
static const struct tree_file user_files[] = {
	{ "/proc/sys/kernel/osrelease", "6.18.1\n" },
	{ "/proc/sys/kernel/perf_event_paranoid", "2\n" },
	{ "/proc/sys/kernel/perf_event_max_sample_rate", "100000\n" },
	{ "/proc/sys/kernel/perf_event_mlock_kb", "2147483000\n" },
	{ "/proc/self/status",
	  "Name:\tx\nUid:\t1000\t1000\t1000\t1000\nCapEff:\t0000000000000000\nSeccomp:\t0\n" },
	{ "/proc/self/uid_map", "         0          0 4294967295\n" },
	{ "/proc/self/limits", "Max locked memory         65536     65536     bytes     \n" },
	{ "/sys/devices/system/cpu/online", "0\n" },
	{ PMUS "software/type", "1\n" },
	{ PMUS "tracepoint/type", "2\n" },
	{ PMUS "breakpoint/type", "5\n" },
	{ EVENTS "ftrace/wakeup/id", "3\n" },
	{ EVENTS "sched/sched_switch/id", "314\n" },
	{ EVENTS "raw_syscalls/sys_enter/id", "400\n" },
	{ EVENTS "syscalls/sys_enter_read/id", "700\n" },
	{ EVENTS "uprobes/mine/id", "1900\n" },
	{ TRACING "uprobe_events", "p:uprobes/mine /bin/true:0x1000\n" },
};

static struct perch_machine *machine;
static char root[PATH_MAX];

static int setup(void **state)
{
	(void)state;
	tree_make(root, user_files, sizeof(user_files) / sizeof(*user_files));
	return perch_machine_new(&machine, root, NULL, NULL);
}

static int teardown(void **state)
{
	(void)state;
	perch_machine_free(machine);
	tree_remove(root);
	return 0;
}

static struct perch_finding explain(struct perch_attr attr, int errnum)
{
	const struct perch_open_call call = {
		.attr = &attr, .cpu = -1, .group_fd = -1, .errnum = errnum
	};
	struct perch_explanation explanation;

	attr.size = sizeof(attr);
	assert_int_equal(perch_explain_open_call(&call, NULL, machine, &explanation), 0);
	return explanation.finding[0];
}

#define TRACEPOINT(id) .type = PERCH_TYPE_TRACEPOINT, .config = (id)

/* With exclude_kernel, events that occur only in the kernel would count 0. */
static void user_space_alone_is_proposed_for_events_that_occur_there(void **state)
{
	static const struct {
		struct perch_attr attr;
		bool proposed;
	} rows[] = {
		{ { .type = PERCH_TYPE_SOFTWARE, .config = PERCH_COUNT_SW_TASK_CLOCK }, true },
		{ { .type = PERCH_TYPE_SOFTWARE, .config = PERCH_COUNT_SW_PAGE_FAULTS }, true },
		{ { .type = PERCH_TYPE_SOFTWARE, .config = PERCH_COUNT_SW_CONTEXT_SWITCHES },
		  false },
		{ { .type = PERCH_TYPE_SOFTWARE, .config = PERCH_COUNT_SW_CPU_MIGRATIONS }, false },
		{ { TRACEPOINT(314) }, false },
		{ { TRACEPOINT(314), .exclude_user = 1 }, false },
		{ { TRACEPOINT(700) }, true },
		{ { TRACEPOINT(1900) }, true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct perch_finding finding = explain(rows[i].attr, EACCES);

		assert_int_equal(finding.cause, PERCH_CAUSE_KERNEL_PROFILING);
		if ((strstr(finding.remedy, "user space") != NULL) != rows[i].proposed)
			fail_msg("row %zu: %s", i, finding.remedy);
		assert_non_null(strstr(finding.remedy, "CAP_PERFMON"));
	}
}

/* Level 1 does not permit the raw data of a tracepoint, except for system calls of own tasks. */
static void the_level_of_raw_data_is_named_with_that_of_the_kernel(void **state)
{
	static const struct {
		uint64_t id;
		bool private_data;
	} rows[] = { { 314, true }, { 400, false }, { 700, false }, { 1900, false } };

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const struct perch_attr attr = { TRACEPOINT(rows[i].id), .size = sizeof(attr),
						 .sample_period = 1,
						 .sample_type = PERCH_SAMPLE_RAW };
		const struct perch_open_call call = {
			.attr = &attr, .cpu = -1, .group_fd = -1, .errnum = EACCES
		};
		struct perch_explanation explanation;
		const struct perch_finding *next = &explanation.next[0];

		assert_int_equal(perch_explain_open_call(&call, NULL, machine, &explanation), 0);
		assert_int_equal(explanation.finding[0].cause, PERCH_CAUSE_KERNEL_PROFILING);
		assert_int_equal(explanation.nr_next == 1 &&
					 next->cause == PERCH_CAUSE_TRACEPOINT_RAW,
				 rows[i].private_data);
		assert_int_equal(strstr(explanation.finding[0].remedy, "paranoid=-1") != NULL,
				 rows[i].private_data);
		if (rows[i].private_data)
			assert_non_null(strstr(next->message, "<= -1 (currently 2)"));
	}
}

/* Without RAW, the event would be opened and count 0. */
static void counting_is_not_proposed_if_the_count_is_0(void **state)
{
	static const struct perch_attr user_only = { TRACEPOINT(314), .exclude_kernel = 1,
						     .sample_type = PERCH_SAMPLE_RAW },
				       kernel = { TRACEPOINT(314),
						  .sample_type = PERCH_SAMPLE_RAW };
	struct perch_finding finding = explain(user_only, EPERM);

	(void)state;
	assert_int_equal(finding.cause, PERCH_CAUSE_TRACEPOINT_RAW);
	assert_null(strstr(finding.remedy, "allowed"));
	assert_non_null(strstr(finding.remedy, "sysctl kernel.perf_event_paranoid=-1"));
	finding = explain(kernel, EPERM); /* the level is 1 or less, which the files do not show */
	assert_non_null(strstr(finding.remedy, "counting is allowed"));
}

/* If this user may not read tracefs, the name of the tracepoint is unknown. */
static void unknown_tracepoints_get_a_limited_proposal(void **state)
{
	static const struct tree_file files[] = {
		{ "/proc/sys/kernel/perf_event_paranoid", "2\n" },
		{ "/proc/self/status",
		  "Name:\tx\nUid:\t1\t1\t1\t1\nCapEff:\t0000000000000000\nSeccomp:\t0\n" },
	};
	struct perch_machine *before = machine;
	struct perch_finding finding;
	char bare[PATH_MAX];

	(void)state;
	tree_make(bare, files, sizeof(files) / sizeof(*files));
	assert_int_equal(perch_machine_new(&machine, bare, NULL, NULL), 0);
	finding = explain((struct perch_attr){ TRACEPOINT(314) }, EACCES);
	assert_non_null(strstr(finding.remedy, "only tracepoints of system calls and uprobes"));
	assert_null(strstr(finding.remedy, "measure only user space"));
	perch_machine_free(machine);
	machine = before;
	tree_remove(bare);
}

static void lint_finds_tracepoints_that_count_nothing(void **state)
{
	static const struct {
		uint64_t id;
		bool nothing;
	} rows[] = { { 314, true }, { 700, false }, { 1900, false }, { 1234, false } };

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const struct perch_attr attr = { TRACEPOINT(rows[i].id), .size = sizeof(attr),
						 .exclude_kernel = 1 };
		const struct perch_open_call call = { .attr = &attr, .cpu = -1, .group_fd = -1 };
		struct perch_finding findings[4];
		size_t nr = perch_lint(&call, machine, findings, 4);
		bool found = false;

		for (size_t k = 0; k < nr; k++)
			found |= findings[k].cause == PERCH_CAUSE_LINT_KERNEL_ONLY;
		assert_int_equal(found, rows[i].nothing);
	}
}

/* The sysctls are ints. */
static void no_remedy_has_a_sysctl_above_its_maximum(void **state)
{
	struct perch_operation operation = { .kind = PERCH_OPERATION_MMAP,
					     .errnum = EPERM,
					     .length = SIZE_MAX / 4 + 1,
					     .protection = 3,
					     .map_flags = 1,
					     .other_fd = -1 };
	struct perch_explanation explanation;
	struct perch_finding finding;
	struct perch_attr attr = {
		.type = PERCH_TYPE_SOFTWARE, .size = sizeof(attr), .freq = 1, .exclude_kernel = 1
	};

	(void)state;
	attr.sample_freq = INT_MAX;
	finding = explain(attr, EINVAL);
	assert_non_null(strstr(finding.remedy, "max_sample_rate=2147483647"));
	attr.sample_freq++;
	finding = explain(attr, EINVAL);
	assert_int_equal(finding.cause, PERCH_CAUSE_FREQUENCY);
	assert_null(strstr(finding.remedy, "sysctl kernel"));
	assert_non_null(strstr(finding.remedy, "at most 2147483647"));

	assert_int_equal(perch_explain_operation(&operation, machine, &explanation), 0);
	assert_int_equal(explanation.finding[0].cause, PERCH_CAUSE_MMAP_LOCKED);
	assert_null(strstr(explanation.finding[0].remedy, "sysctl"));
	assert_non_null(strstr(explanation.finding[0].remedy, "RLIMIT_MEMLOCK"));

	operation = (struct perch_operation){ .kind = PERCH_OPERATION_IOCTL,
					      .errnum = EINVAL,
					      .attr = &attr,
					      .cpu = -1,
					      .request = PERCH_IOC_PERIOD,
					      .period = UINT64_C(1) << 40,
					      .period_known = true,
					      .other_fd = -1 };
	assert_int_equal(perch_explain_operation(&operation, machine, &explanation), 0);
	assert_int_equal(explanation.finding[0].cause, PERCH_CAUSE_IOCTL_PERIOD);
	assert_null(strstr(explanation.finding[0].remedy, "sysctl kernel"));
}

static void kprobes_are_not_proposed_without_them(void **state)
{
	struct perch_finding finding = explain((struct perch_attr){ TRACEPOINT(1) }, EPERM);

	(void)state;
	assert_null(strstr(finding.remedy, "kprobe"));
}

/* perf can open two of the entries of the trace file, whose ids are the smallest. */
static void ids_without_a_tracepoint_are_certain(void **state)
{
	static const struct {
		uint64_t id;
		bool absent;
	} rows[] = { { 2, true },    { 3, true },    { 4, true },    { 6, true },
		     { 16, true },   { 5, true },    { 17, true },   { 313, true },
		     { 314, false }, { 700, false }, { 65535, true } };

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const struct perch_attr attr = { TRACEPOINT(rows[i].id), .size = sizeof(attr),
						 .exclude_kernel = 1 };
		struct perch_open_call call = {
			.attr = &attr, .cpu = -1, .group_fd = -1, .errnum = EINVAL
		};
		struct perch_explanation explanation;

		assert_int_equal(perch_explain_open_call(&call, NULL, machine, &explanation), 0);
		/* something that the call does not show is wrong if tracefs has the id */
		assert_int_equal(explanation.finding[0].cause, rows[i].absent
								       ? PERCH_CAUSE_TRACEPOINT_ID
								       : PERCH_CAUSE_UNEXPLAINED);
		if ((explanation.confidence == PERCH_CONFIDENCE_CERTAIN) != rows[i].absent)
			fail_msg("id %u: %s", (unsigned)rows[i].id,
				 perch_confidence_name(explanation.confidence));
		/* without tracefs, only the entries of the trace file are certain */
		call.from_log = true;
		assert_int_equal(perch_explain_open_call(&call, NULL, NULL, &explanation), 0);
		assert_int_equal(explanation.confidence == PERCH_CONFIDENCE_CERTAIN,
				 rows[i].id < 17 && rows[i].id != 5);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(user_space_alone_is_proposed_for_events_that_occur_there),
		cmocka_unit_test(the_level_of_raw_data_is_named_with_that_of_the_kernel),
		cmocka_unit_test(counting_is_not_proposed_if_the_count_is_0),
		cmocka_unit_test(unknown_tracepoints_get_a_limited_proposal),
		cmocka_unit_test(lint_finds_tracepoints_that_count_nothing),
		cmocka_unit_test(no_remedy_has_a_sysctl_above_its_maximum),
		cmocka_unit_test(kprobes_are_not_proposed_without_them),
		cmocka_unit_test(ids_without_a_tracepoint_are_certain),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
