/* SPDX-License-Identifier: MIT */
/* Tests of explanations: their order, confidence and follow-ups, for valid and random input. */
#define _GNU_SOURCE
#include <stdlib.h>

#include "explain_kernel.h"

/* An unprivileged user on the same kernel. */
static const struct tree_file user_files[] = {
	{ "/proc/sys/kernel/osrelease", "6.18.1\n" },
	{ "/proc/sys/kernel/perf_event_paranoid", "2\n" },
	{ "/proc/sys/kernel/perf_event_max_sample_rate", "100000\n" },
	{ "/proc/sys/kernel/perf_event_max_stack", "127\n" },
	{ "/proc/self/status",
	  "Name:\tx\nUid:\t1000\t1000\t1000\t1000\nCapEff:\t0000000000000000\nSeccomp:\t0\n" },
	{ "/sys/devices/system/cpu/online", "0-3\n" },
	{ "/sys/devices/system/cpu/possible", "0-3\n" },
	{ "/sys/devices/system/cpu/present", "0-3\n" },
	{ PMUS "software/type", "1\n" },
};

static struct kernel kernel;

static int setup(void **state)
{
	(void)state;
	kernel_start(&kernel, user_files, sizeof(user_files) / sizeof(*user_files));
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	kernel_stop(&kernel);
	return 0;
}

#define SOFTWARE                                                           \
	.type = PERCH_TYPE_SOFTWARE, .config = PERCH_COUNT_SW_PAGE_FAULTS, \
	.size = sizeof(struct perch_attr)

static struct perch_open_call call_of(const struct perch_attr *attr, int errnum)
{
	return (struct perch_open_call){
		.attr = attr, .cpu = -1, .group_fd = -1, .errnum = errnum, .from_log = true
	};
}

static void reports_a_certain_cause(void **state)
{
	const struct perch_attr attr = { SOFTWARE, .exclude_kernel = 1, .remove_on_exec = 1,
					 .enable_on_exec = 1 };
	const struct perch_open_call call = call_of(&attr, EINVAL);
	struct perch_explanation explanation;

	(void)state;
	assert_int_equal(perch_explain_open_call(&call, NULL, NULL, &explanation), 0);
	assert_int_equal(explanation.errnum, EINVAL);
	assert_int_equal(explanation.nr_findings, 1);
	assert_int_equal(explanation.confidence, PERCH_CONFIDENCE_CERTAIN);
	assert_int_equal(explanation.finding[0].cause, PERCH_CAUSE_EXEC_CONFLICT);
	assert_int_equal(explanation.finding[0].kind, PERCH_ERROR_CONFLICT);
	assert_int_equal(explanation.nr_next, 0);
	assert_int_equal(explanation.open_calls, 0);
	assert_false(explanation.out_of_budget);
	assert_false(explanation.succeeds_now);
}

/* Faults that the kernel would find after EACCES are follow-ups, also in the error. */
static void reports_follow_ups(void **state)
{
	const struct perch_attr attr = { SOFTWARE,
					 .sample_period = 1,
					 .sample_type = PERCH_SAMPLE_CALLCHAIN,
					 .sample_max_stack = 500,
					 .use_clockid = 1,
					 .clockid = 2 };
	const struct perch_open_call call = call_of(&attr, EACCES);
	struct perch_explanation explanation;
	struct perch_error err;

	(void)state;
	assert_int_equal(perch_explain_open_call(&call, NULL, kernel.machine, &explanation), 0);
	assert_int_equal(explanation.finding[0].cause, PERCH_CAUSE_KERNEL_PROFILING);
	assert_int_equal(explanation.nr_next, 2);
	assert_int_equal(explanation.next[0].cause, PERCH_CAUSE_STACK_DEPTH);
	assert_int_equal(explanation.next[1].cause, PERCH_CAUSE_CLOCKID);
	assert_int_equal(perch_explain(&call, kernel.machine, &err), -EACCES);
	assert_int_equal(err.cause, PERCH_CAUSE_KERNEL_PROFILING);
	assert_int_equal(err.kind, PERCH_ERROR_PARANOID);
	assert_non_null(strstr(err.next, "500"));
	assert_non_null(strstr(err.next, "; then "));
	assert_true(err.remedy[0]);
}

/* Two causes match: the message has both. */
static void reports_all_possible_causes(void **state)
{
	const struct perch_attr attr = { SOFTWARE, .exclude_kernel = 1 };
	struct perch_open_call call = call_of(&attr, EINVAL);
	struct perch_explanation explanation;
	struct perch_error err;

	(void)state;
	call.group_fd = 7;
	call.flags = PERCH_FLAG_FD_OUTPUT;
	assert_int_equal(perch_explain_open_call(&call, NULL, kernel.machine, &explanation), 0);
	assert_int_equal(explanation.confidence, PERCH_CONFIDENCE_AMBIGUOUS);
	assert_true(explanation.nr_findings > 1);
	for (size_t i = 0; i < explanation.nr_findings; i++)
		for (size_t k = 0; k < i; k++)
			assert_string_not_equal(explanation.finding[i].message,
						explanation.finding[k].message);
	perch_explanation_error(&explanation, &err);
	assert_non_null(strstr(err.message, "; or "));
	assert_int_equal(err.cause, explanation.finding[0].cause);
}

/* Nonzero bytes beyond struct perch_attr, or beyond the size of the kernel. */
static void explains_attrs_longer_than_the_struct(void **state)
{
	static const struct {
		size_t at;
		uint32_t kernel_size;
		const char *field;
	} cases[] = {
		{ 200, 144, "size" },
		{ 143, 136, "config4" },
		{ 130, 128, "config3" },
		{ 125, 120, "sig_data" },
	};
	union {
		struct perch_attr attr;
		unsigned char bytes[4096];
	} large;
	struct perch_explanation explanation;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct perch_open_call call = call_of(&large.attr, E2BIG);

		memset(&large, 0, sizeof(large));
		large.attr.type = PERCH_TYPE_SOFTWARE;
		large.attr.size = sizeof(large);
		large.bytes[cases[i].at] = 1;
		call.kernel_size = cases[i].kernel_size;
		assert_int_equal(perch_explain_open_call(&call, NULL, NULL, &explanation), 0);
		assert_int_equal(explanation.finding[0].cause, PERCH_CAUSE_TOO_NEW);
		assert_int_equal(explanation.confidence, PERCH_CONFIDENCE_CERTAIN);
		assert_string_equal(explanation.finding[0].field[0], cases[i].field);
	}
}

static void refuses_invalid_arguments(void **state)
{
	const struct perch_attr attr = { SOFTWARE };
	const struct perch_open_call fine = call_of(&attr, 0), failed = call_of(&attr, EIO);
	struct perch_explanation explanation;
	struct perch_error err;

	(void)state;
	assert_int_equal(perch_explain_open_call(NULL, NULL, NULL, &explanation), -EINVAL);
	assert_int_equal(perch_explain_open_call(&fine, NULL, NULL, &explanation), -EINVAL);
	assert_int_equal(perch_explain_open_call(&failed, NULL, NULL, NULL), -EINVAL);
	assert_int_equal(perch_explain(&fine, NULL, &err), -EINVAL);
	assert_int_equal(perch_explain(&failed, NULL, NULL), -EIO);
	assert_int_equal(perch_explain_open_call(&failed, NULL, NULL, &explanation), 0);
	assert_int_equal(perch_explanation_error(&explanation, NULL), -EIO);
	assert_string_equal(perch_confidence_name(PERCH_CONFIDENCE_CERTAIN), "certain");
	assert_string_equal(perch_confidence_name(PERCH_CONFIDENCE_LIKELY), "likely");
	assert_string_equal(perch_confidence_name(PERCH_CONFIDENCE_AMBIGUOUS), "ambiguous");
	assert_string_equal(perch_confidence_name((enum perch_confidence)77), "unknown");
}

/* Without the attr no cause is certain, and there are no follow-ups. */
static void without_the_attr_no_cause_is_certain(void **state)
{
	static const int errnums[] = { ENOENT, EINVAL, EACCES, EOPNOTSUPP, ENODEV };
	struct perch_explanation explanation;

	(void)state;
	for (size_t i = 0; i < sizeof(errnums) / sizeof(*errnums); i++) {
		struct perch_open_call call = call_of(NULL, errnums[i]);

		call.attr_is_partial = true;
		assert_int_equal(perch_explain_open_call(&call, NULL, kernel.machine, &explanation),
				 0);
		assert_int_not_equal(explanation.confidence, PERCH_CONFIDENCE_CERTAIN);
		assert_int_equal(explanation.nr_next, 0);
	}
}

/* In a partial attr, a field that is 0 may be missing. */
static void zero_fields_of_a_partial_attr_are_unknown(void **state)
{
	static const struct perch_attr with_clock = { .size = sizeof(struct perch_attr),
						      .use_clockid = 1,
						      .clockid = 1 };
	static const struct perch_open_call_leader leader = { .attr = &with_clock, .cpu = -1 };
	static const struct {
		struct perch_attr attr;
		const struct perch_open_call_leader *leader;
	} cases[] = {
		{ { .type = PERCH_TYPE_BREAKPOINT, .size = 144, .bp_len = 8, .bp_addr = 0x1001 },
		  NULL },
		{ { .type = PERCH_TYPE_BREAKPOINT, .size = 144, .bp_type = PERCH_BREAKPOINT_X },
		  NULL },
		{ { .type = PERCH_TYPE_TRACEPOINT, .size = 144, .config = 300, .use_clockid = 1 },
		  NULL },
		{ { SOFTWARE }, &leader },
		{ { SOFTWARE, .use_clockid = 1 }, &leader },
	};
	struct perch_explanation explanation;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct perch_open_call call = call_of(&cases[i].attr, EINVAL);

		call.leader = cases[i].leader;
		call.group_fd = call.leader ? 3 : -1;
		assert_int_equal(perch_explain_open_call(&call, NULL, kernel.machine, &explanation),
				 0);
		assert_int_equal(explanation.confidence, PERCH_CONFIDENCE_CERTAIN);
		call.attr_is_partial = true;
		assert_int_equal(perch_explain_open_call(&call, NULL, kernel.machine, &explanation),
				 0);
		assert_int_not_equal(explanation.confidence, PERCH_CONFIDENCE_CERTAIN);
	}
}

/* A cause that two fields have is reported for each of them. */
static void reports_one_cause_for_each_field(void **state)
{
	const struct perch_attr attr = { SOFTWARE, .exclude_kernel = 1, .reserved_2 = 1,
					 .reserved_3 = 1 };
	const struct perch_open_call call = call_of(&attr, EINVAL);
	struct perch_explanation explanation;

	(void)state;
	assert_int_equal(perch_explain_open_call(&call, NULL, kernel.machine, &explanation), 0);
	assert_string_equal(explanation.finding[0].field[0], "reserved_2");
	assert_int_equal(explanation.nr_next, 1);
	assert_int_equal(explanation.next[0].cause, PERCH_CAUSE_RESERVED_BITS);
	assert_string_equal(explanation.next[0].field[0], "aux_action");
}

static bool has_raw(const struct seen_call *call)
{
	return call->attr->sample_type & PERCH_SAMPLE_RAW;
}

/*
 * With a seccomp filter, EPERM may come from the filter or from perf. An open call without an attr
 * distinguishes them.
 */
static void distinguishes_seccomp_filters_from_perf(void **state)
{
	static const struct tree_file files[] = {
		{ "/proc/sys/kernel/osrelease", "6.18.1\n" },
		{ "/proc/sys/kernel/perf_event_paranoid", "2\n" },
		{ "/proc/self/status",
		  "Name:\tx\nUid:\t1000\t1000\t1000\t1000\nCapEff:\t0000000000000000\nSeccomp:\t2\n" },
		{ PMUS "tracepoint/type", "2\n" },
	};
	const struct perch_attr attr = { .type = PERCH_TYPE_TRACEPOINT,
					 .size = 144,
					 .config = 300,
					 .exclude_kernel = 1,
					 .sample_period = 1,
					 .sample_type = PERCH_SAMPLE_RAW };
	static const struct perch_attr kernel_event = { SOFTWARE };
	static const struct perch_attr branches = { SOFTWARE,
						    .exclude_kernel = 1,
						    .exclude_hv = 1,
						    .sample_period = 1,
						    .sample_type = PERCH_SAMPLE_BRANCH_STACK,
						    .branch_sample_type = PERCH_SAMPLE_BRANCH_USER |
									  PERCH_SAMPLE_BRANCH_ANY };
	const struct perch_open_call call = call_of(&attr, EPERM);
	struct perch_open_call refused = call;
	struct perch_explanation explanation;
	struct kernel filtered;

	(void)state;
	kernel_start(&filtered, files, sizeof(files) / sizeof(*files));
	assert_int_equal(perch_explain_open_call(&call, NULL, filtered.machine, &explanation), 0);
	assert_int_equal(explanation.confidence, PERCH_CONFIDENCE_AMBIGUOUS);
	assert_int_equal(explanation.finding[0].cause, PERCH_CAUSE_TRACEPOINT_RAW);
	assert_int_equal(explanation.finding[1].cause, PERCH_CAUSE_SECCOMP);
	filtered.fault[0] = (struct fault){ has_raw, EPERM };
	kernel_explain(&filtered, &call, 0, &explanation);
	assert_int_equal(explanation.confidence, PERCH_CONFIDENCE_CERTAIN);
	assert_int_equal(explanation.finding[0].cause, PERCH_CAUSE_TRACEPOINT_RAW);
	filtered.filter_errno = EPERM;
	kernel_explain(&filtered, &call, 0, &explanation);
	assert_int_equal(explanation.confidence, PERCH_CONFIDENCE_CERTAIN);
	assert_int_equal(explanation.finding[0].cause, PERCH_CAUSE_SECCOMP);
	for (size_t i = 0; i < 2; i++) { /* filters of sandboxes also return these */
		refused.errnum = i ? EOPNOTSUPP : EACCES;
		refused.attr = i ? &branches : &kernel_event;
		assert_int_equal(
			perch_explain_open_call(&refused, NULL, filtered.machine, &explanation), 0);
		assert_int_not_equal(explanation.confidence, PERCH_CONFIDENCE_CERTAIN);
		assert_int_equal(explanation.finding[0].cause,
				 i ? PERCH_CAUSE_BRANCH_STACK : PERCH_CAUSE_KERNEL_PROFILING);
	}
	refused = call;
	filtered.filter_errno = refused.errnum = EOPNOTSUPP; /* a filter may return any errno */
	kernel_explain(&filtered, &refused, 0, &explanation);
	assert_int_equal(explanation.finding[0].cause, PERCH_CAUSE_SECCOMP);
	assert_non_null(strstr(explanation.finding[0].message, "blocks perf_event_open"));
	kernel_stop(&filtered);
}

/* The message of an unknown errno has the name of the errno, and the event. */
static void explains_unknown_errnos(void **state)
{
	const struct perch_attr attr = { SOFTWARE };
	struct perch_explanation explanation;

	(void)state;
	for (int errnum = 1; errnum < 5000; errnum++) {
		const struct perch_open_call call = call_of(&attr, errnum);

		assert_int_equal(perch_explain_open_call(&call, NULL, NULL, &explanation), 0);
		assert_true(explanation.finding[0].message[0]);
		if (explanation.finding[0].cause == PERCH_CAUSE_UNEXPLAINED)
			assert_non_null(strstr(explanation.finding[0].message, strerror(errnum)));
	}
}

static void check_finding(const struct perch_finding *finding)
{
	assert_true(finding->cause > PERCH_CAUSE_NONE && finding->cause < PERCH_CAUSE_MAX);
	assert_int_equal(finding->kind, perch_cause_kind(finding->cause));
	assert_true(finding->nr_fields <= 4);
	for (size_t i = 0; i < finding->nr_fields; i++)
		assert_true(finding->field[i] && finding->field[i][0]);
	assert_non_null(memchr(finding->since, '\0', sizeof(finding->since)));
	assert_non_null(memchr(finding->message, '\0', sizeof(finding->message)));
	assert_non_null(memchr(finding->remedy, '\0', sizeof(finding->remedy)));
	assert_true(finding->message[0]);
	assert_null(strchr(finding->message, '{'));
	assert_null(strchr(finding->remedy, '{'));
}

static void check_explanation(const struct perch_explanation *explanation)
{
	struct perch_error err;

	assert_in_range(explanation->nr_findings, 1, PERCH_FINDINGS_MAX);
	assert_true(explanation->nr_next <= PERCH_NEXT_MAX);
	assert_true(explanation->confidence == PERCH_CONFIDENCE_AMBIGUOUS ||
		    explanation->nr_findings == 1);
	for (size_t i = 0; i < explanation->nr_findings; i++)
		check_finding(&explanation->finding[i]);
	for (size_t i = 0; i < explanation->nr_next; i++)
		check_finding(&explanation->next[i]);
	assert_int_equal(perch_explanation_error(explanation, &err), -explanation->errnum);
	assert_true(err.message[0]);
}

static uint64_t state_of_chance;

static uint64_t rng(void)
{
	state_of_chance = state_of_chance * 6364136223846793005ull + 1442695040888963407ull;
	return state_of_chance >> 33 ^ state_of_chance << 31;
}

/* Most bytes are 0, because later checks are reached only if earlier fields are valid. */
static void fill(unsigned char *bytes, size_t size)
{
	unsigned zeros = 1 + rng() % 60;

	for (size_t i = 0; i < size; i++)
		bytes[i] = rng() % zeros ? 0 : rng();
}

static bool refuses_at_random(const struct seen_call *call)
{
	return (call->attr->sample_type ^ call->attr->flags ^ call->attr->config ^
		call->attr->type) %
	       5;
}

/* The attr is in memory of exactly its size, so that sanitizers find reads beyond it. */
static void explains_random_bytes(void **state)
{
	static const int errnums[] = { EINVAL, EACCES, EPERM, ENOENT, EOPNOTSUPP, E2BIG,  ENODEV,
				       EBADF,  ESRCH,  EBUSY, ENOSYS, EOVERFLOW,  ENOSPC, EMFILE,
				       EINTR,  EFAULT, ENXIO, 524,    4095,	  INT_MAX };
	struct perch_explanation explanation;

	(void)state;
	for (unsigned i = 0; i < 20000; i++) {
		uint32_t size = rng() % 8 ? rng() % 200 : rng() % 4097;
		size_t readable = size ? size : PERCH_ATTR_SIZE_VER0;
		unsigned char *bytes = malloc(readable < 8 ? 8 : readable);
		struct perch_open_call call = {
			.pid = (pid_t)rng() % 3 - 1,
			.cpu = (int)(rng() % 7) - 2,
			.group_fd = (int)(rng() % 4) - 2,
			.flags = rng() % 3 ? 0 : rng() % 20,
			.errnum = errnums[rng() % (sizeof(errnums) / sizeof(*errnums))],
			.attr_is_partial = rng() % 9 == 0,
			.pid_is_cgroup_fd = rng() % 9 == 0
		};

		fill(bytes, readable < 8 ? 8 : readable);
		if (rng() % 2)
			memcpy(bytes, &(uint32_t){ rng() % 6 }, 4);
		memcpy(bytes + 4, &size, sizeof(size));
		call.attr = rng() % 50 ? (void *)bytes : NULL;
		if (call.errnum == E2BIG)
			call.kernel_size = 64 + 8 * (rng() % 11);
		kernel.named = call.pid;
		kernel.fault[0] = (struct fault){ refuses_at_random, call.errnum };
		assert_int_equal(perch_explain_open_call(&call, NULL, NULL, &explanation), 0);
		check_explanation(&explanation);
		assert_int_equal(perch_explain_open_call(&call, NULL, kernel.machine, &explanation),
				 0);
		check_explanation(&explanation);
		kernel_explain(&kernel, &call, 0, &explanation);
		check_explanation(&explanation);
		assert_true(explanation.open_calls <= 25);
		free(bytes);
	}
}

/*
 * Missing privilege has two remedies. A follow-up that is true of only one remedy names its
 * condition.
 */
static void follow_ups_name_their_condition(void **state)
{
	static const struct tree_file files[] = {
		{ "/proc/sys/kernel/osrelease", "7.3.0\n" },
		{ "/proc/sys/kernel/perf_event_paranoid", "2\n" },
		{ "/proc/self/status",
		  "Name:\tx\nUid:\t1000\t1000\t1000\t1000\nCapEff:\t0000000000000000\nSeccomp:\t0\n" },
		{ PMUS "software/type", "1\n" },
		{ PMUS "msr/type", "10\n" },
		{ PMUS "msr/events/tsc", "event=0x00\n" },
	};
	static const struct perch_attr msr = { .type = TYPE_MSR, .size = 144, .config = 77 };
	static const struct perch_attr poke = { SOFTWARE, .text_poke = 1, .sample_period = 1,
						.sample_type = PERCH_SAMPLE_PHYS_ADDR };
	const struct perch_open_call of_msr = call_of(&msr, EACCES),
				     of_poke = call_of(&poke, EACCES);
	struct perch_explanation explanation;
	struct kernel newer;

	(void)state;
	kernel_start(&newer, files, sizeof(files) / sizeof(*files));
	assert_int_equal(perch_explain_open_call(&of_msr, NULL, newer.machine, &explanation), 0);
	assert_int_equal(explanation.finding[0].cause, PERCH_CAUSE_KERNEL_PROFILING);
	/* exclude_kernel is not a follow-up, because no remedy sets it */
	assert_int_equal(explanation.nr_next, 1);
	assert_int_equal(explanation.next[0].cause, PERCH_CAUSE_PMU_EVENT);
	assert_int_equal(perch_explain_open_call(&of_poke, NULL, newer.machine, &explanation), 0);
	assert_int_equal(explanation.finding[0].cause, PERCH_CAUSE_KERNEL_PROFILING);
	assert_int_equal(explanation.nr_next, 2);
	assert_int_equal(explanation.next[0].cause, PERCH_CAUSE_TEXT_POKE);
	assert_int_equal(
		strncmp(explanation.next[0].message, "with exclude_kernel set: TEXT_POKE", 34), 0);
	assert_int_equal(explanation.next[1].cause, PERCH_CAUSE_PHYS_ADDR);
	assert_int_equal(strncmp(explanation.next[1].message, "physical", 8), 0);
	kernel_stop(&newer);
}

/* The kernel looks for the id of a tracepoint before the group, and after the period. */
static void checks_tracepoint_ids_in_their_order(void **state)
{
	static const struct tree_file files[] = {
		{ "/proc/sys/kernel/osrelease", "6.18.1\n" },
		{ "/proc/sys/kernel/perf_event_paranoid", "2\n" },
		{ "/proc/self/status",
		  "Name:\tx\nUid:\t0\t0\t0\t0\nCapEff:\t000001ffffffffff\nSeccomp:\t0\n" },
		{ PMUS "software/type", "1\n" },
		{ PMUS "tracepoint/type", "2\n" },
		{ "/sys/kernel/tracing/events/sched/sched_switch/id", "300\n" },
	};
	static const struct perch_attr aux = { .type = PERCH_TYPE_TRACEPOINT,
					       .size = 144,
					       .config = 4711,
					       .exclude_kernel = 1,
					       .aux_sample_size = 8 };
	static const struct perch_attr period = { .type = PERCH_TYPE_TRACEPOINT,
						  .size = 144,
						  .config = 4711,
						  .sample_period = UINT64_MAX };
	const struct perch_open_call of_aux = call_of(&aux, EINVAL),
				     of_period = call_of(&period, EINVAL);
	struct perch_explanation explanation;
	struct kernel traced;

	(void)state;
	kernel_start(&traced, files, sizeof(files) / sizeof(*files));
	for (int probes = 0; probes < 2; probes++) {
		static const struct perch_probing probing = { .microseconds = 60000000 };

		perch_explain_open_call(&of_aux, probes ? &probing : NULL, traced.machine,
					&explanation);
		assert_int_equal(explanation.finding[0].cause, PERCH_CAUSE_TRACEPOINT_ID);
		assert_int_equal(explanation.confidence, PERCH_CONFIDENCE_CERTAIN);
		perch_explain_open_call(&of_period, probes ? &probing : NULL, traced.machine,
					&explanation);
		assert_int_equal(explanation.finding[0].cause, PERCH_CAUSE_PERIOD);
		assert_true(explanation.nr_next >= 1);
		assert_int_equal(explanation.next[0].cause, PERCH_CAUSE_TRACEPOINT_ID);
	}
	kernel_stop(&traced);
	/* a user may not read tracefs: no fact decides */
	perch_explain_open_call(&of_aux, NULL, kernel.machine, &explanation);
	assert_int_equal(explanation.finding[0].cause, PERCH_CAUSE_TRACEPOINT_ID);
	assert_int_equal(explanation.finding[1].cause, PERCH_CAUSE_GROUP_AUX);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(reports_a_certain_cause),
		TEST(reports_follow_ups),
		TEST(reports_all_possible_causes),
		TEST(explains_attrs_longer_than_the_struct),
		TEST(refuses_invalid_arguments),
		TEST(without_the_attr_no_cause_is_certain),
		TEST(explains_unknown_errnos),
		TEST(explains_random_bytes),
		TEST(zero_fields_of_a_partial_attr_are_unknown),
		TEST(reports_one_cause_for_each_field),
		TEST(distinguishes_seccomp_filters_from_perf),
		TEST(follow_ups_name_their_condition),
		TEST(checks_tracepoint_ids_in_their_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
