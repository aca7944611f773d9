/* SPDX-License-Identifier: MIT */
/* Logs of strace that omit fields of the attr, or the attr: what they omit is unknown, not 0. */
#define _GNU_SOURCE
#include <errno.h>

#include "cli/options.h"
#include "explain_log_fixture.h"

#define ATTR                                                                                    \
	"{type=PERF_TYPE_SOFTWARE, size=PERF_ATTR_SIZE_VER7, config=PERF_COUNT_SW_TASK_CLOCK, " \
	"sample_period=1000, sample_type="
#define OMITS ", read_format=0, precise_ip=0 /* arbitrary skid */, ...}, 0, -1, -1, 0) = -1 "

static json_t *explain_samples(struct fixture *fixture, const char *samples, const char *result)
{
	char log[512];

	snprintf(log, sizeof(log), "perf_event_open(" ATTR "%s" OMITS "%s\n", samples, result);
	return explain(fixture, log);
}

static void omitted_fields_are_possible_causes(void **state)
{
	static const struct {
		const char *samples, *result, *cause, *field;
	} cases[] = {
		{ "PERF_SAMPLE_CALLCHAIN", "EOVERFLOW (Value too large for defined data type)",
		  "stack-depth", "sample_max_stack" },
		{ "PERF_SAMPLE_STACK_USER", "EINVAL (Invalid argument)", "stack-size",
		  "sample_stack_user" },
		{ "PERF_SAMPLE_AUX", "EINVAL (Invalid argument)", "group-aux", "aux_sample_size" },
		{ "PERF_SAMPLE_REGS_USER", "EINVAL (Invalid argument)", "regs-user",
		  "sample_regs_user" },
		{ "PERF_SAMPLE_BRANCH_STACK", "EINVAL (Invalid argument)", "branch-kind",
		  "branch_sample_type" },
	};
	struct fixture *fixture = *state;

	for (size_t i = 0; i < CLI_NR(cases); i++) {
		json_t *object = explain_samples(fixture, cases[i].samples, cases[i].result);
		char shown[80];

		assert_string_equal(word(object, "cause"), cases[i].cause);
		assert_string_not_equal(word(object, "confidence"), "certain");
		snprintf(shown, sizeof(shown), "%s, which the log does not show", cases[i].field);
		assert_non_null(strstr(word(object, "message"), shown));
		assert_null(strstr(word(object, "message"), "0x0"));
		snprintf(shown, sizeof(shown), "strace -v shows the value of %s", cases[i].field);
		assert_non_null(strstr(word(object, "remedy"), shown));
	}
	assert_int_equal(fixture->job.trace.unreadable, 0);
}

/* The errno is one of perf events, but the log has too little for a cause. */
static void advises_a_full_log_without_a_cause(void **state)
{
	struct fixture *fixture = *state;
	json_t *object = explain_samples(fixture, "PERF_SAMPLE_IP", "EINVAL (Invalid argument)");

	assert_string_equal(word(object, "cause"), "unexplained");
	assert_non_null(strstr(word(object, "remedy"), "strace -v"));
	object = explain_samples(fixture, "PERF_SAMPLE_IP", "EOVERFLOW (Value too large)");
	assert_null(strstr(word(object, "remedy"), "do not return this errno"));
}

/* strace -e raw=all writes the address of the attr. */
static void no_rule_about_an_absent_attr_applies(void **state)
{
	static const struct {
		const char *result, *cause;
	} cases[] = {
		{ "EINVAL (Invalid argument)", "unexplained" },
		{ "EOVERFLOW (Value too large for defined data type)", "unexplained" },
		{ "ENOENT (No such file or directory)", "unexplained" },
		{ "EOPNOTSUPP (Operation not supported)", "unexplained" },
		{ "EACCES (Permission denied)", "unexplained" },
		{ "EBUSY (Device or resource busy)", "unexplained" },
		/* not about the attr */
		{ "ESRCH (No such process)", "no-process" },
		{ "ENOSYS (Function not implemented)", "no-syscall" },
	};
	struct fixture *fixture = *state;
	char log[256];

	for (size_t i = 0; i < CLI_NR(cases); i++) {
		bool is_absent = !strcmp(cases[i].cause, "unexplained");
		json_t *object;

		snprintf(log, sizeof(log),
			 "perf_event_open(0x7fffae4d8650, 0x7b, 0xffffffff, 0xffffffff, 0) = -1 "
			 "%s\n",
			 cases[i].result);
		object = explain(fixture, log);
		assert_string_equal(word(object, "cause"), cases[i].cause);
		assert_string_not_equal(word(object, "confidence"), "certain");
		assert_int_equal(strstr(word(object, "message"), "attr is not in the log") != NULL,
				 is_absent);
		assert_int_equal(strstr(word(object, "remedy"), "strace -v") != NULL, is_absent);
	}
	assert_int_equal(fixture->job.trace.unreadable, 0);
}

/* strace -v of an attr with more bytes than strace knows: only these are omitted. */
static void fields_that_a_full_log_shows_are_not_omitted(void **state)
{
	static const struct {
		const char *type, *samples, *shown, *cause;
	} cases[] = {
		{ "SOFTWARE", "BRANCH_STACK", "", "branch-kind" },
		{ "BREAKPOINT", "IP", "bp_type=HW_BREAKPOINT_W, bp_addr=0x1000, bp_len=0, ",
		  "breakpoint-length" },
	};
	struct fixture *fixture = *state;
	json_t *object;
	char log[1024];

	for (size_t i = 0; i < CLI_NR(cases); i++) {
		snprintf(
			log, sizeof(log),
			"perf_event_open({type=PERF_TYPE_%s, size=0x88 /* PERF_ATTR_SIZE_??? */, "
			"config=0, sample_period=1000, sample_type=PERF_SAMPLE_%s, read_format=0, "
			"disabled=1, inherit=0, precise_ip=0 /* arbitrary skid */, sigtrap=0, "
			"wakeup_events=0, %ssample_regs_user=0, sample_regs_intr=0, aux_watermark=0, "
			"sample_max_stack=0, aux_sample_size=0, sig_data=0, ...}, 0, -1, -1, 0) = -1 "
			"EINVAL (Invalid argument)\n",
			cases[i].type, cases[i].samples, cases[i].shown);
		object = explain(fixture, log);
		assert_string_equal(word(object, "cause"), cases[i].cause);
		assert_string_equal(word(object, "confidence"), "certain");
		assert_null(strstr(word(object, "message"), "the log does not show"));
		assert_null(strstr(word(object, "remedy"), "strace"));
		assert_true(json_is_true(json_object_get(object, "attr_is_partial")));
	}
	/* a cause in the bytes that this strace does not print is possible */
	snprintf(
		log, sizeof(log),
		"perf_event_open({type=PERF_TYPE_SOFTWARE, size=0x88, config=0, sample_period=0, "
		"sample_type=0, read_format=0, precise_ip=0 /* arbitrary skid */, wakeup_events=0, "
		"config1=0, config2=0, sample_max_stack=0, aux_sample_size=0, sig_data=0, ...}, 0, "
		"-1, -1, 0) = -1 EINVAL (Invalid argument)\n");
	object = explain(fixture, log);
	assert_string_equal(word(object, "cause"), "unexplained");
	assert_non_null(strstr(word(object, "remedy"), "a newer strace"));
	assert_int_equal(fixture->job.trace.unreadable, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(omitted_fields_are_possible_causes),
		TEST(advises_a_full_log_without_a_cause),
		TEST(no_rule_about_an_absent_attr_applies),
		TEST(fields_that_a_full_log_shows_are_not_omitted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
