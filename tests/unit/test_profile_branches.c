/* SPDX-License-Identifier: MIT */
/* Tests profiles of branches. */
#include <errno.h>
#include "profile_fixture.h"

#define KERNEL 0xffffffff81000000ull

/* Starts a profile of branches. */
static void start_branches(struct fixture *f, const char *names)
{
	const struct perch_profile_options options = { .names = names, .branches = 1 };

	perch_profile_free(f->profile);
	assert_int_equal(perch_profile_new(&f->profile, f->processes, f->symbols, &options, NULL),
			 0);
}

static struct perch_record with_branches(const struct perch_branch_entry *entries, size_t nr,
					 const struct perch_parse_info *info)
{
	struct perch_record record = sample_record(PID, PID, 1000, CODE);

	record.parse_info = info;
	record.sample.branches.nr = nr;
	record.sample.branches.entry = entries;
	return record;
}

static const struct perch_parse_info plain = { .sample_type = PERCH_SAMPLE_BRANCH_STACK,
					       .branch_sample_type = PERCH_SAMPLE_BRANCH_ANY };

static void add_branches(struct fixture *f, const struct perch_branch_entry *entries, size_t nr)
{
	struct perch_record record = with_branches(entries, nr, &plain);

	add(f, &record);
}

static const struct perch_branch_entry mixed[] = {
	{ .from = CODE + 0x10, .to = CODE + 0x20, .predicted = 1, .cycles = 7 },
	{ .from = CODE + 0x10, .to = CODE + 0x20, .predicted = 1, .cycles = 7 },
	{ .from = CODE + 0x10, .to = KERNEL, .mispred = 1, .in_tx = 1 },
	{ .from = 0x500, .to = CODE + 0x20, .abort = 1, .cycles = 3 },
};

static void counts_branches(void **state)
{
	struct fixture *f = *state;
	struct perch_profile_total total;
	struct perch_record record = with_branches(mixed, NR(mixed), &plain);

	start_branches(f, "dso_from,symbol_from,dso_to,symbol_to");
	add_branches(f, mixed, NR(mixed));
	add_branches(f, NULL, 0);
	assert_int_equal(perch_profile_skip(f->profile, &record, NULL), 0);
	finish(f);
	assert_int_equal(rows_of(f, 0, false), 3);
	assert_int_equal(f->rows[0].self, 2);
	assert_int_equal(f->rows[0].samples, 2);
	check_cell(f, 0, "dso_from", "first");
	check_cell(f, 0, "symbol_from", "[.] 0x0000000000010010");
	check_cell(f, 0, "dso_to", "first");
	check_cell(f, 0, "symbol_to", "[.] 0x0000000000010020");
	perch_profile_get_total(f->profile, 0, &total);
	assert_int_equal(total.samples, 4);
	assert_int_equal(total.period, 4);
	assert_int_equal(total.all_samples, 8);
	assert_int_equal(total.all_period, 8);
	for (size_t i = 1; i < f->nr; i++) {
		char buffer[PERCH_CELL_BYTES];
		const char *from = perch_profile_cell(f->profile, &f->rows[i], column("dso_from"),
						      buffer, sizeof(buffer));
		bool to_kernel = !strcmp(from, "first");

		check_cell(f, i, "dso_from", to_kernel ? "first" : "[unknown]");
		check_cell(f, i, "symbol_to",
			   to_kernel ? "[k] 0xffffffff81000000" : "[.] 0x0000000000010020");
	}
}

/* Addresses of one DSO are one row without a column of functions. */
static void merges_rows_of_one_dso(void **state)
{
	const struct perch_branch_entry entries[] = {
		{ .from = CODE + 0x10, .to = CODE + 0x20 },
		{ .from = CODE + 0x30, .to = CODE + 0x40 },
		{ .from = 0x500, .to = CODE + 0x20 },
	};
	struct fixture *f = *state;

	start_branches(f, "dso_from");
	add_branches(f, entries, NR(entries));
	finish(f);
	assert_int_equal(rows_of(f, 0, false), 2);
	assert_int_equal(f->rows[0].self, 2);
	check_cell(f, 0, "dso_from", "first");
	check_cell(f, 1, "dso_from", "[unknown]");
}

static void shows_flags(void **state)
{
	struct fixture *f = *state;

	start_branches(f, "mispredict,cycles,in_tx,abort,weight");
	add_branches(f, mixed, NR(mixed));
	finish(f);
	assert_int_equal(rows_of(f, 0, false), 3);
	check_cell(f, 0, "mispredict", "N");
	check_cell(f, 0, "cycles", "7");
	check_cell(f, 0, "in_tx", ".");
	check_cell(f, 0, "abort", ".");
	check_cell(f, 0, "weight", "14");
	assert_int_equal(value(f, 0, "cycles"), 7);
	for (size_t i = 1; i < 3; i++) {
		bool aborted = value(f, i, "abort");

		check_cell(f, i, "abort", aborted ? "A" : ".");
		check_cell(f, i, "mispredict", aborted ? "N/A" : "Y");
		check_cell(f, i, "cycles", aborted ? "3" : "-");
		check_cell(f, i, "in_tx", aborted ? "." : "T");
		check_cell(f, i, "weight", aborted ? "3" : "1");
	}
}

static void leaves_out_unresolved_branches(void **state)
{
	const struct perch_profile_options options = { .branches = 1, .resolved_branches = 1 };
	struct perch_profile_total total;
	struct fixture *f = *state;

	assert_int_equal(perch_profile_new(&f->profile, f->processes, f->symbols, &options, NULL),
			 0);
	add_branches(f, mixed, NR(mixed)); /* the DSO has no functions */
	finish(f);
	perch_profile_get_total(f->profile, 0, &total);
	assert_int_equal(total.samples, 0);
	assert_int_equal(rows_of(f, 0, false), 0);
}

/* Calls that have not returned are no branches between functions. */
static void ignores_call_stacks(void **state)
{
	static const struct perch_parse_info stacks = {
		.sample_type = PERCH_SAMPLE_BRANCH_STACK,
		.branch_sample_type = PERCH_SAMPLE_BRANCH_CALL_STACK,
	};
	struct perch_record record = with_branches(mixed, NR(mixed), &stacks);
	struct fixture *f = *state;

	start_branches(f, "symbol_from");
	add(f, &record);
	finish(f);
	assert_int_equal(rows_of(f, 0, false), 0);
}

static void refuses_columns_of_branches(void **state)
{
	static const char *const names[] = { "dso_from", "sym,symbol_to", "cycles", "abort" };
	struct fixture *f = *state;
	struct perch_error err;

	for (size_t i = 0; i < NR(names); i++) {
		const struct perch_profile_options options = { .names = names[i] };

		assert_int_equal(perch_profile_new(&f->profile, f->processes, f->symbols, &options,
						   &err),
				 -EINVAL);
		assert_null(f->profile);
		assert_non_null(strstr(err.message, "is one of branches"));
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(counts_branches),	   TEST(merges_rows_of_one_dso),
		TEST(shows_flags),	   TEST(leaves_out_unresolved_branches),
		TEST(ignores_call_stacks), TEST(refuses_columns_of_branches),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
