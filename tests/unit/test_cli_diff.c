/* SPDX-License-Identifier: MIT */
/* perch diff: rows of several files are joined by their texts, compared and sorted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "cli/diff/diff.h"

static struct diff *new_diff(size_t nr_files)
{
	struct diff *diff = calloc(1, sizeof(*diff));

	assert_non_null(diff);
	diff->nr_files = nr_files;
	diff->order = 1;
	diff->method = DIFF_DELTA_ABS;
	diff->event = calloc(1, sizeof(*diff->event));
	assert_non_null(diff->event);
	diff->nr_events = 1;
	return diff;
}

static void delete_diff(struct diff *diff)
{
	diff_free(diff);
	free(diff);
}

static void add(struct diff *diff, size_t file, const char *text, uint64_t period)
{
	const struct diff_sum sum = { period, 1 };

	diff->event->found[file] = true;
	diff->event->total[file].period += period;
	diff->event->total[file].samples++;
	assert_true(diff_join(diff, diff->event, file, text, strlen(text) + 1, &sum) >= 0);
}

/* a: 50 % of the first file and 10 % of the second; b: 30 and 30; c: only in the second, 60;
 * d: only in the first, 20. */
static struct diff *four_rows(void)
{
	struct diff *diff = new_diff(2);

	add(diff, 0, "a", 50);
	add(diff, 0, "b", 30);
	add(diff, 0, "d", 20);
	add(diff, 1, "c", 120);
	add(diff, 1, "a", 20);
	add(diff, 1, "b", 60);
	return diff;
}

/* The first texts of the rows in their order. */
static const char *sorted(const struct diff *diff)
{
	static char texts[16];
	size_t nr;
	uint32_t *rows = diff_sort(diff, diff->event, &nr);

	assert_non_null(rows);
	assert_true(nr < sizeof(texts));
	for (size_t i = 0; i < nr; i++)
		texts[i] = diff->event->text[diff->event->row[rows[i]].text];
	texts[nr] = 0;
	free(rows);
	return texts;
}

static void joins_rows_of_equal_texts(void **state)
{
	struct diff *diff = four_rows();

	(void)state;
	assert_int_equal(diff->event->nr_rows, 4);
	assert_int_equal(diff_sum_of(diff, diff->event, 0, 0)->period, 50);
	assert_int_equal(diff_sum_of(diff, diff->event, 0, 1)->period, 20);
	/* two rows of one file with the same text are one */
	add(diff, 1, "a", 5);
	assert_int_equal(diff->event->nr_rows, 4);
	assert_int_equal(diff_sum_of(diff, diff->event, 0, 1)->period, 25);
	assert_int_equal(diff_sum_of(diff, diff->event, 0, 1)->samples, 2);
	assert_true(diff_has_pair(diff, diff->event, 0));
	assert_false(diff_has_pair(diff, diff->event, 2));
	assert_false(diff_has_pair(diff, diff->event, 3));
	delete_diff(diff);
}

static void distinguishes_cells(void **state)
{
	struct diff *diff = new_diff(2);
	const struct diff_sum sum = { 1, 1 };

	(void)state;
	/* "ab" "" and "a" "b" */
	assert_int_equal(diff_join(diff, diff->event, 0, "ab\0", 4, &sum), 0);
	assert_int_equal(diff_join(diff, diff->event, 0, "a\0b", 4, &sum), 1);
	assert_int_equal(diff->event->nr_rows, 2);
	delete_diff(diff);
}

static void computes_each_method(void **state)
{
	struct diff *diff = four_rows();

	(void)state;
	assert_float_equal(diff_compute(diff, diff->event, 0, 1), -40, 1e-9);
	diff->method = DIFF_RATIO;
	assert_float_equal(diff_compute(diff, diff->event, 0, 1), 0.4, 1e-9);
	diff->method = DIFF_WDIFF;
	diff->base_weight = 2;
	diff->weight = 3;
	assert_float_equal(diff_compute(diff, diff->event, 0, 1), 20 * 3 - 50 * 2, 1e-9);
	delete_diff(diff);
}

static void has_no_share_of_nothing(void **state)
{
	struct diff *diff = new_diff(2);

	(void)state;
	assert_float_equal(diff_share(diff->event, 0, 0), 0, 1e-9);
	delete_diff(diff);
}

static void sorts_by_what_is_computed(void **state)
{
	struct diff *diff = four_rows();

	(void)state;
	/* c +60, a -40, b 0; d is not in the second file */
	assert_string_equal(sorted(diff), "cabd");
	diff->method = DIFF_DELTA;
	assert_string_equal(sorted(diff), "cbad");
	/* c has no ratio */
	diff->method = DIFF_RATIO;
	assert_string_equal(sorted(diff), "bacd");
	diff->order = 0;
	assert_string_equal(sorted(diff), "abdc");
	diff->baseline_only = true;
	assert_string_equal(sorted(diff), "ab");
	delete_diff(diff);
}

static void sorts_by_the_chosen_file(void **state)
{
	struct diff *diff = new_diff(3);

	(void)state;
	add(diff, 0, "a", 50);
	add(diff, 0, "b", 50);
	add(diff, 1, "a", 90);
	add(diff, 1, "b", 10);
	add(diff, 2, "a", 10);
	add(diff, 2, "b", 90);
	diff->method = DIFF_DELTA;
	assert_string_equal(sorted(diff), "ab");
	diff->order = 2;
	assert_string_equal(sorted(diff), "ba");
	delete_diff(diff);
}

/* Equal rows are sorted by their texts, so that the output does not change from run to run. */
static void sorts_equal_rows_by_text(void **state)
{
	struct diff *diff = new_diff(2);

	(void)state;
	for (const char *text = "hgfedcba"; *text; text++) {
		const char cell[2] = { *text };

		add(diff, 0, cell, 10);
	}
	assert_string_equal(sorted(diff), "abcdefgh");
	delete_diff(diff);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(joins_rows_of_equal_texts),
		cmocka_unit_test(distinguishes_cells),
		cmocka_unit_test(computes_each_method),
		cmocka_unit_test(has_no_share_of_nothing),
		cmocka_unit_test(sorts_by_what_is_computed),
		cmocka_unit_test(sorts_by_the_chosen_file),
		cmocka_unit_test(sorts_equal_rows_by_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
