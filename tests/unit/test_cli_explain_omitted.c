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
	assert_int_equal(fixture->job.unreadable, 0);
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
	assert_int_equal(fixture->job.unreadable, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(omitted_fields_are_possible_causes),
		TEST(advises_a_full_log_without_a_cause),
		TEST(no_rule_about_an_absent_attr_applies),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
