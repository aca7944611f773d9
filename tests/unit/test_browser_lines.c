/* SPDX-License-Identifier: MIT */
/* The lines of a browser, on built call graphs. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "cli/browser/lines.h"

/*
 * A graph with two branches below a chain of two frames; periods in brackets:
 * root -> 1 (10) -> 2 (10) -> 3 (6), 4 (4) -> 5 (4)
 */
static const struct {
	uint64_t period;
	uint32_t first_child, next;
} nodes[] = { { 10, 1, 0 }, { 10, 2, 0 }, { 10, 3, 0 }, { 6, 0, 4 }, { 4, 5, 0 }, { 4, 0, 0 } };

#define NR (sizeof(nodes) / sizeof(nodes[0]))

/* Row 1 has no call graph; making that of row 3 fails. */
static int make(void *context, size_t row, struct perch_call_graph *graph)
{
	unsigned *made = context;

	memset(graph, 0, sizeof(*graph));
	++*made;
	if (row == 3)
		return -EIO;
	graph->nr = row == 1 ? 1 : NR;
	graph->node = calloc(NR, sizeof(*graph->node));
	assert_non_null(graph->node);
	for (size_t i = 0; i < graph->nr && row != 1; i++) {
		graph->node[i].period = nodes[i].period;
		graph->node[i].first_child = nodes[i].first_child;
		graph->node[i].next = nodes[i].next;
	}
	return 0;
}

static bool is_even(void *context, size_t row)
{
	(void)context;
	return row % 2 == 0;
}

static uint32_t node_at(const struct browser_lines *lines, size_t at)
{
	struct browser_line line = browser_lines_get(lines, at);

	return line.branch ? line.branch->node : 0;
}

static void unfolds_rows_and_branches(void **state)
{
	struct browser_lines lines = { 0 };
	unsigned made = 0;

	(void)state;
	assert_int_equal(browser_lines_set(&lines, 6, NULL, NULL), 0);
	assert_int_equal(lines.nr, 6);
	assert_int_equal(browser_lines_toggle(&lines, 2, make, &made), 1);
	/* the chain of the whole row is unfolded, its branches are not */
	assert_int_equal(lines.nr, 6 + 4);
	assert_int_equal(node_at(&lines, 3), 1);
	assert_int_equal(node_at(&lines, 4), 2);
	assert_int_equal(node_at(&lines, 5), 3);
	assert_int_equal(node_at(&lines, 6), 4);
	assert_int_equal(browser_lines_get(&lines, 2).row, 2);
	assert_int_equal(browser_lines_get(&lines, 6).row, 2);
	assert_int_equal(browser_lines_get(&lines, 7).row, 3);
	assert_null(browser_lines_get(&lines, 7).branch);
	assert_int_equal(browser_lines_of_row(&lines, 3), 7);
	assert_int_equal(browser_lines_get(&lines, 5).branch->depth, 1);

	/* a frame without callers does not unfold; a branch does */
	assert_int_equal(browser_lines_toggle(&lines, 5, make, &made), 0);
	assert_int_equal(browser_lines_toggle(&lines, 6, make, &made), 1);
	assert_int_equal(lines.nr, 6 + 5);
	assert_int_equal(node_at(&lines, 7), 5);
	assert_false(browser_lines_get(&lines, 7).branch->head);

	/* a row above moves the lines below */
	assert_int_equal(browser_lines_toggle(&lines, 0, make, &made), 1);
	assert_int_equal(lines.nr, 6 + 5 + 4);
	assert_int_equal(browser_lines_get(&lines, 6).row, 2);
	assert_int_equal(node_at(&lines, 7), 1);
	assert_int_equal(browser_lines_toggle(&lines, 0, make, &made), 1);
	assert_int_equal(lines.nr, 6 + 5);
	/* folding the chain hides the rest */
	assert_int_equal(browser_lines_toggle(&lines, 3, make, &made), 1);
	assert_int_equal(lines.nr, 6 + 1);
	assert_int_equal(made, 2);
	browser_lines_clear(&lines);
}

static void unfolds_everything(void **state)
{
	struct browser_lines lines = { 0 };
	unsigned made = 0;

	(void)state;
	assert_int_equal(browser_lines_set(&lines, 6, is_even, NULL), 0);
	assert_int_equal(lines.nr, 3);
	assert_int_equal(browser_lines_get(&lines, 1).row, 2);
	assert_int_equal(browser_lines_toggle_all(&lines, 1, make, &made), 1);
	assert_int_equal(lines.nr, 3 + 5);
	/* on a branch, it folds the row */
	assert_int_equal(browser_lines_toggle_all(&lines, 4, make, &made), 1);
	assert_int_equal(lines.nr, 3);
	assert_int_equal(browser_lines_unfold(&lines, 2, make, &made), 0);
	assert_int_equal(lines.nr, 3 + 2 * 5);
	browser_lines_fold(&lines);
	assert_int_equal(lines.nr, 3);
	assert_int_equal(lines.nr_open, 0);
	browser_lines_clear(&lines);
}

static void rows_without_graph_stay_folded(void **state)
{
	struct browser_lines lines = { 0 };
	unsigned made = 0;

	(void)state;
	assert_int_equal(browser_lines_set(&lines, 4, NULL, NULL), 0);
	assert_int_equal(browser_lines_toggle(&lines, 1, make, &made), 0);
	assert_int_equal(browser_lines_toggle(&lines, 3, make, &made), -EIO);
	assert_int_equal(lines.nr, 4);
	assert_int_equal(browser_lines_unfold(&lines, 4, make, &made), -EIO);
	browser_lines_clear(&lines);
	assert_int_equal(browser_lines_set(&lines, 0, NULL, NULL), 0);
	assert_int_equal(lines.nr, 0);
	browser_lines_clear(&lines);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(unfolds_rows_and_branches),
		cmocka_unit_test(unfolds_everything),
		cmocka_unit_test(rows_without_graph_stay_folded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
