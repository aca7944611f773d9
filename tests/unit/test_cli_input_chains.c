/* SPDX-License-Identifier: MIT */
/* Which call chains are counted to find programs without frame pointers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "input/input.h"

/* Counts a chain of one address in samples of this type. Returns the counted chains. */
static uint64_t counted(uint64_t sample_type, uint32_t type, uint16_t misc)
{
	const uint64_t chain[] = { PERCH_CONTEXT_USER, 0x1000 };
	const struct perch_parse_info info = { .sample_type = sample_type };
	struct cli_input input = { .command = "report" };
	struct perch_record record = { .type = type, .misc = misc, .parse_info = &info };

	record.sample.callchain.nr = 2;
	record.sample.callchain.ip = chain;
	cli_input_count_chain(&input, &record);
	assert_int_equal(input.short_chains, input.user_chains);
	return input.user_chains;
}

static void counts_recorded_chains(void **state)
{
	const uint64_t type = PERCH_SAMPLE_IP | PERCH_SAMPLE_CALLCHAIN;

	(void)state;
	assert_int_equal(counted(type, PERCH_RECORD_SAMPLE, PERCH_MISC_USER), 1);
	assert_int_equal(counted(type, PERCH_RECORD_SAMPLE, PERCH_MISC_KERNEL), 0);
	assert_int_equal(counted(type, PERCH_RECORD_COMM, PERCH_MISC_USER), 0);
}

/* With --branch-history these have the addresses of calls, which are no return addresses. */
static void counts_no_chains_that_are_made(void **state)
{
	const uint64_t type = PERCH_SAMPLE_IP | PERCH_SAMPLE_CALLCHAIN;

	(void)state;
	assert_int_equal(
		counted(type | PERCH_SAMPLE_BRANCH_STACK, PERCH_RECORD_SAMPLE, PERCH_MISC_USER), 0);
	assert_int_equal(
		counted(type | PERCH_SAMPLE_STACK_USER, PERCH_RECORD_SAMPLE, PERCH_MISC_USER), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counts_recorded_chains),
		cmocka_unit_test(counts_no_chains_that_are_made),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
