/* SPDX-License-Identifier: MIT */
/* Comparisons: rows of several profiles are joined by their texts, compared and sorted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "comparison/internal.h"

static const struct perch_column column = { .name = "comm", .header = "Command" };

static struct perch_comparison *new_comparison(size_t nr_profiles)
{
	const struct perch_column *keys[] = { &column, &column };
	const struct perch_comparison_options options = {
		.nr_profiles = nr_profiles, .keys = keys, .nr_keys = 2, .order = 1
	};
	struct perch_comparison *comparison;

	assert_int_equal(perch_comparison_new(&comparison, &options, NULL), 0);
	return comparison;
}

static void add(struct perch_comparison *comparison, size_t profile, const char *text,
		uint64_t period)
{
	const struct perch_comparison_sum sum = { period, 1 };
	char cells[8] = "";

	strcpy(cells, text); /* the second cell is empty */
	comparison->total[profile].period += period;
	comparison->total[profile].samples++;
	assert_true(perch__comparison_join(comparison, profile, cells, strlen(text) + 2, &sum) >=
		    0);
}

/* a: 50 % of the first profile and 10 % of the second; b: 30 and 30; c: only in the second, 60;
 * d: only in the first, 20. */
static struct perch_comparison *four_rows(void)
{
	struct perch_comparison *rows = new_comparison(2);

	add(rows, 0, "a", 50);
	add(rows, 0, "b", 30);
	add(rows, 0, "d", 20);
	add(rows, 1, "c", 120);
	add(rows, 1, "a", 20);
	add(rows, 1, "b", 60);
	return rows;
}

/* The first texts of the rows in their order. */
static const char *sorted(struct perch_comparison *rows)
{
	static char texts[16];
	const uint32_t *row;
	size_t nr;

	assert_int_equal(perch_comparison_sort(rows, &row, &nr, NULL), 0);
	assert_true(nr < sizeof(texts));
	for (size_t i = 0; i < nr; i++)
		texts[i] = perch_comparison_text(rows, row[i], 0)[0];
	texts[nr] = 0;
	return texts;
}

static void joins_rows_of_equal_texts(void **state)
{
	struct perch_comparison *rows = four_rows();

	(void)state;
	assert_int_equal(perch_comparison_rows(rows), 4);
	assert_int_equal(perch_comparison_row_sum(rows, 0, 0)->period, 50);
	assert_int_equal(perch_comparison_row_sum(rows, 0, 1)->period, 20);
	/* two rows of one file with the same text are one */
	add(rows, 1, "a", 5);
	assert_int_equal(perch_comparison_rows(rows), 4);
	assert_int_equal(perch_comparison_row_sum(rows, 0, 1)->period, 25);
	assert_int_equal(perch_comparison_row_sum(rows, 0, 1)->samples, 2);
	perch_comparison_free(rows);
}

static void distinguishes_cells(void **state)
{
	struct perch_comparison *rows = new_comparison(2);
	const struct perch_comparison_sum sum = { 1, 1 };

	(void)state;
	/* "ab" "" and "a" "b" */
	assert_int_equal(perch__comparison_join(rows, 0, "ab\0", 4, &sum), 0);
	assert_int_equal(perch__comparison_join(rows, 0, "a\0b", 4, &sum), 1);
	assert_int_equal(perch_comparison_rows(rows), 2);
	assert_string_equal(perch_comparison_text(rows, 0, 1), "");
	assert_string_equal(perch_comparison_text(rows, 1, 1), "b");
	perch_comparison_free(rows);
}

static void computes_each_method(void **state)
{
	struct perch_comparison *rows = four_rows();

	(void)state;
	assert_float_equal(perch_comparison_compute(rows, 0, 1), -40, 1e-9);
	rows->options.method = PERCH_COMPARISON_RATIO;
	assert_float_equal(perch_comparison_compute(rows, 0, 1), 0.4, 1e-9);
	rows->options.method = PERCH_COMPARISON_WDIFF;
	rows->options.base_weight = 2;
	rows->options.weight = 3;
	assert_float_equal(perch_comparison_compute(rows, 0, 1), 20 * 3 - 50 * 2, 1e-9);
	perch_comparison_free(rows);
}

/* The array by row, which a later row is not in. */
static void has_no_callers_before_it_is_sorted_again(void **state)
{
	struct perch_comparison *rows = four_rows();
	const struct perch_comparison_sum sum = { 1, 1 };

	(void)state;
	rows->branches = new_comparison(2);
	assert_int_equal(perch__comparison_join(rows->branches, 0, "r00000001main", 14, &sum), 0);
	sorted(rows);
	assert_int_equal(perch_comparison_first_caller(rows, 1), 0);
	assert_string_equal(perch_comparison_branch_name(rows, 0), "main");
	add(rows, 0, "e", 5);
	assert_null(perch_comparison_branches(rows));
	assert_int_equal(perch_comparison_first_caller(rows, 4), PERCH_COMPARISON_NONE);
	sorted(rows);
	assert_int_equal(perch_comparison_first_caller(rows, 1), 0);
	assert_int_equal(perch_comparison_first_caller(rows, 4), PERCH_COMPARISON_NONE);
	perch_comparison_free(rows);
}

static void has_no_share_of_nothing(void **state)
{
	struct perch_comparison *rows = new_comparison(2);

	(void)state;
	assert_int_equal(perch__comparison_join(rows, 1, "a\0", 3,
						&(struct perch_comparison_sum){ 1, 1 }),
			 0);
	assert_float_equal(perch_comparison_share(rows, 0, 0), 0, 1e-9);
	perch_comparison_free(rows);
}

static void sorts_by_what_is_computed(void **state)
{
	struct perch_comparison *rows = four_rows();

	(void)state;
	/* c +60, a -40, b 0; d is not in the second file */
	assert_string_equal(sorted(rows), "cabd");
	rows->options.method = PERCH_COMPARISON_DELTA;
	assert_string_equal(sorted(rows), "cbad");
	/* c has no ratio */
	rows->options.method = PERCH_COMPARISON_RATIO;
	assert_string_equal(sorted(rows), "bacd");
	rows->options.order = 0;
	assert_string_equal(sorted(rows), "abdc");
	rows->options.baseline_only = true;
	assert_string_equal(sorted(rows), "ab");
	perch_comparison_free(rows);
}

static void sorts_by_the_chosen_file(void **state)
{
	struct perch_comparison *rows = new_comparison(3);

	(void)state;
	add(rows, 0, "a", 50);
	add(rows, 0, "b", 50);
	add(rows, 1, "a", 90);
	add(rows, 1, "b", 10);
	add(rows, 2, "a", 10);
	add(rows, 2, "b", 90);
	rows->options.method = PERCH_COMPARISON_DELTA;
	assert_string_equal(sorted(rows), "ab");
	rows->options.order = 2;
	assert_string_equal(sorted(rows), "ba");
	perch_comparison_free(rows);
}

/* Equal rows are sorted by their texts, so that the output does not change from run to run. */
static void sorts_equal_rows_by_text(void **state)
{
	struct perch_comparison *rows = new_comparison(2);

	(void)state;
	for (const char *text = "hgfedcba"; *text; text++) {
		const char cell[2] = { *text };

		add(rows, 0, cell, 10);
	}
	assert_string_equal(sorted(rows), "abcdefgh");
	perch_comparison_free(rows);
}

/* Shares are estimates of the samples: few samples, and many rows, make a change likely by chance.
 */
static void finds_what_has_changed_most(void **state)
{
	struct perch_comparison *rows = four_rows();
	struct perch_comparison_change change;

	(void)state;
	perch_comparison_most_changed(rows, 1, &change);
	assert_int_equal(change.row, 3); /* c, by 60 points */
	assert_true(change.error > 10 && change.error < 50);
	assert_true(change.chance > 0.1 && change.chance <= 1);
	for (size_t profile = 0; profile < 2; profile++) {
		rows->total[profile].samples = 100000;
		for (size_t row = 0; row < 4; row++)
			rows->sum[row * 2 + profile].samples *= 25000;
	}
	perch_comparison_most_changed(rows, 1, &change);
	assert_true(change.error < 1);
	assert_true(change.chance < 1e-6);
	perch_comparison_free(rows);

	rows = new_comparison(2);
	perch_comparison_most_changed(rows, 1, &change);
	assert_int_equal(change.row, PERCH_COMPARISON_NONE);
	add(rows, 0, "a", 10);
	add(rows, 1, "a", 20);
	perch_comparison_most_changed(rows, 1, &change);
	assert_int_equal(change.row, PERCH_COMPARISON_NONE);
	perch_comparison_free(rows);
}

static void finds_programs_with_other_names(void **state)
{
	static const struct perch_column dso = { .name = "dso" }, sym = { .name = "sym" };
	const struct perch_column *keys[] = { &dso, &sym };
	const struct perch_comparison_options options = { .nr_profiles = 2,
							  .keys = keys,
							  .nr_keys = 2 };
	static const char cells[2][2][8] = { { "v1\0main", "v1\0work" },
					     { "v2\0main", "v2\0work" } };
	const struct perch_comparison_sum sum = { 10, 1 };
	struct perch_comparison *rows;

	(void)state;
	assert_int_equal(perch_comparison_new(&rows, &options, NULL), 0);
	for (size_t profile = 0; profile < 2; profile++)
		for (size_t i = 0; i < 2; i++) {
			rows->total[profile].period += sum.period;
			assert_true(perch__comparison_join(rows, profile, cells[profile][i], 8,
							   &sum) >= 0);
		}
	assert_true(perch_comparison_is_renamed(rows, 1));
	rows->text[rows->row[0].text + 3] = 'x'; /* another function */
	rows->text[rows->row[1].text + 3] = 'y';
	assert_false(perch_comparison_is_renamed(rows, 1));
	perch_comparison_free(rows);
}

static void refuses_other_numbers(void **state)
{
	const struct perch_column *keys[] = { &column };
	const struct perch_comparison_options good = { .nr_profiles = 2,
						       .keys = keys,
						       .nr_keys = 1 };
	struct perch_comparison_options bad[6] = { good, good, good, good, good, good };
	struct perch_comparison *rows;

	(void)state;
	bad[0].nr_profiles = 1;
	bad[1].nr_profiles = PERCH_COMPARISON_PROFILES + 1;
	bad[2].nr_keys = 0;
	bad[3].nr_keys = PERCH_COMPARISON_KEYS + 1;
	bad[4].order = 2;
	bad[5].reserved[1] = 1;
	for (size_t i = 0; i < 6; i++) {
		assert_int_equal(perch_comparison_new(&rows, &bad[i], NULL), -EINVAL);
		assert_null(rows);
	}
	assert_int_equal(perch_comparison_new(&rows, &good, NULL), 0);
	assert_int_equal(perch_comparison_add(rows, 2, NULL, 0, NULL, NULL), -EINVAL);
	assert_null(perch_comparison_branches(rows));
	perch_comparison_free(rows);
	perch_comparison_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(joins_rows_of_equal_texts),
		cmocka_unit_test(distinguishes_cells),
		cmocka_unit_test(computes_each_method),
		cmocka_unit_test(has_no_callers_before_it_is_sorted_again),
		cmocka_unit_test(has_no_share_of_nothing),
		cmocka_unit_test(sorts_by_what_is_computed),
		cmocka_unit_test(sorts_by_the_chosen_file),
		cmocka_unit_test(sorts_equal_rows_by_text),
		cmocka_unit_test(finds_what_has_changed_most),
		cmocka_unit_test(finds_programs_with_other_names),
		cmocka_unit_test(refuses_other_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
