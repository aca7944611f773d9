/* SPDX-License-Identifier: MIT */
/* Each check of the kernel has a cause, and each cause has a check and a rule. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include <perch/error.h>

#include "explain_refusals.h"

#define NR(array) (sizeof(array) / sizeof(*(array)))

/* The causes in the tables of rules. */
static const enum perch_cause open_rules[] = {
#define RULE(name, cause, errnum, fields, since, condition, fix, message, remedy) \
	PERCH_CAUSE_##cause,
#include "explain/rules/rules.def"
#undef RULE
};

static const enum perch_cause operation_rules[] = {
#define RULE(name, cause, errnum, fields, since, condition, message, remedy) PERCH_CAUSE_##cause,
#define FALLBACK							     RULE
#include "explain/operation/mmap.def"
#include "explain/operation/ioctl.def"
#include "explain/operation/read.def"
#undef RULE
#undef FALLBACK
};

static const enum perch_cause lint_rules[] = {
#define LINT(name, cause, fields, since, condition, message, remedy) PERCH_CAUSE_##cause,
#include "explain/lint.def"
#undef LINT
};

#define CAUSE(name, slug, kind, meaning) PERCH_CAUSE_##name,
static const enum perch_cause open_causes[] = { PERCH_OPEN_CAUSES(CAUSE) };
static const enum perch_cause operation_causes[] = { PERCH_OPERATION_CAUSES(CAUSE)
							     PERCH_ADDRESS_CAUSES(CAUSE) };
static const enum perch_cause lint_causes[] = { PERCH_LINT_CAUSES(CAUSE) };

/* Causes without a rule. */
static const struct {
	enum perch_cause cause;
	const char *why;
} without_rule[] = {
	{ PERCH_CAUSE_TRANSIENT, "found by making the call again" },
	{ PERCH_CAUSE_UNEXPLAINED, "used when no rule matches" },
};

static bool has(const enum perch_cause *causes, size_t nr, enum perch_cause cause)
{
	for (size_t i = 0; i < nr; i++)
		if (causes[i] == cause)
			return true;
	return false;
}

static bool is_listed(const struct refusal *list, size_t nr, enum perch_cause cause)
{
	for (size_t i = 0; i < nr; i++)
		if (list[i].cause == cause)
			return true;
	return false;
}

static bool needs_no_rule(enum perch_cause cause)
{
	for (size_t i = 0; i < NR(without_rule); i++)
		if (without_rule[i].cause == cause)
			return true;
	return false;
}

/* Every check has a cause with a rule, or a reason. */
static void check_list(const struct refusal *list, size_t nr, const enum perch_cause *rules,
		       size_t nr_rules)
{
	size_t bad = 0;

	for (size_t i = 0; i < nr; i++) {
		assert_true(list[i].what[0]);
		if (list[i].cause == PERCH_CAUSE_NONE
			    ? list[i].why_not && list[i].why_not[0]
			    : needs_no_rule(list[i].cause) || has(rules, nr_rules, list[i].cause))
			continue;
		print_error("no rule has the cause '%s' (%s)\n", perch_cause_slug(list[i].cause),
			    list[i].what);
		bad++;
	}
	assert_int_equal(bad, 0);
}

/* Every cause belongs to a check. */
static void check_causes(const enum perch_cause *causes, size_t nr, const struct refusal *list,
			 size_t nr_list)
{
	size_t bad = 0;

	for (size_t i = 0; i < nr; i++) {
		if (is_listed(list, nr_list, causes[i]))
			continue;
		print_error("nothing that the kernel refuses has the cause '%s'\n",
			    perch_cause_slug(causes[i]));
		bad++;
	}
	assert_int_equal(bad, 0);
}

static void every_open_condition_is_tested(void **state)
{
	(void)state;
	check_list(open_refusals, NR(open_refusals), open_rules, NR(open_rules));
}

static void every_open_cause_is_tested(void **state)
{
	static struct refusal all[NR(open_refusals) + NR(lint_refusals)];

	(void)state;
	memcpy(all, open_refusals, sizeof(open_refusals));
	memcpy(all + NR(open_refusals), lint_refusals, sizeof(lint_refusals));
	check_causes(open_causes, NR(open_causes), all, NR(all));
}

static void every_operation_condition_is_tested(void **state)
{
	(void)state;
	check_list(operation_refusals, NR(operation_refusals), operation_rules,
		   NR(operation_rules));
}

static void every_operation_cause_is_tested(void **state)
{
	(void)state;
	check_causes(operation_causes, NR(operation_causes), operation_refusals,
		     NR(operation_refusals));
}

/* The lint list is not complete, but each lint cause has a rule. */
static void every_lint_cause_has_a_rule(void **state)
{
	(void)state;
	check_list(lint_refusals, NR(lint_refusals), lint_rules, NR(lint_rules));
	for (size_t i = 0; i < NR(lint_causes); i++)
		if (!has(lint_rules, NR(lint_rules), lint_causes[i]))
			fail_msg("no rule has the cause '%s'", perch_cause_slug(lint_causes[i]));
	for (size_t i = 0; i < NR(lint_rules); i++)
		assert_true(has(lint_causes, NR(lint_causes), lint_rules[i]));
}

/* The cause of each rule is in the list of its table. */
static void every_rule_has_a_cause_of_its_table(void **state)
{
	(void)state;
	for (size_t i = 0; i < NR(open_rules); i++)
		assert_true(has(open_causes, NR(open_causes), open_rules[i]));
	for (size_t i = 0; i < NR(operation_rules); i++)
		assert_true(has(operation_causes, NR(operation_causes), operation_rules[i]) ||
			    has(open_causes, NR(open_causes), operation_rules[i]));
}

/* Slugs are unique lower-case words with hyphens; each cause has a kind and a meaning. */
static void slugs_are_unique(void **state)
{
	(void)state;
	for (int i = PERCH_CAUSE_NONE + 1; i < PERCH_CAUSE_MAX; i++) {
		const char *slug = perch_cause_slug((enum perch_cause)i);

		assert_true(slug[0] &&
			    strspn(slug, "abcdefghijklmnopqrstuvwxyz0123456789-") == strlen(slug));
		assert_true(perch_cause_meaning((enum perch_cause)i)[0]);
		assert_true(perch_cause_kind((enum perch_cause)i) != PERCH_ERROR_NONE);
		for (int k = PERCH_CAUSE_NONE + 1; k < i; k++)
			assert_string_not_equal(slug, perch_cause_slug((enum perch_cause)k));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_open_condition_is_tested),
		cmocka_unit_test(every_open_cause_is_tested),
		cmocka_unit_test(every_operation_condition_is_tested),
		cmocka_unit_test(every_operation_cause_is_tested),
		cmocka_unit_test(every_lint_cause_has_a_rule),
		cmocka_unit_test(every_rule_has_a_cause_of_its_table),
		cmocka_unit_test(slugs_are_unique),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
