/* SPDX-License-Identifier: MIT */
/* Compares the rows of the files, and sorts them as perf does. */
#define _GNU_SOURCE
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "diff.h"

double diff_share(const struct diff_event *event, size_t file, uint64_t period)
{
	return event->total[file].period ? 100.0 * period / event->total[file].period : 0;
}

double diff_compute(const struct diff *diff, const struct diff_event *event, size_t row,
		    size_t file)
{
	uint64_t before = diff_sum_of(diff, event, row, 0)->period;
	uint64_t after = diff_sum_of(diff, event, row, file)->period;

	switch (diff->method) {
	case DIFF_RATIO:
		return (double)after / (before ? before : 1);
	case DIFF_WDIFF:
		return (double)after * diff->weight - (double)before * diff->base_weight;
	default:
		return diff_share(event, file, after) - diff_share(event, 0, before);
	}
}

static bool has_row(const struct diff *diff, const struct diff_event *event, size_t row,
		    size_t file)
{
	return diff_sum_of(diff, event, row, file)->samples;
}

bool diff_has_pair(const struct diff *diff, const struct diff_event *event, size_t row)
{
	for (size_t file = 1; file < diff->nr_files; file++)
		if (has_row(diff, event, row, file))
			return has_row(diff, event, row, 0);
	return false;
}

struct sorting {
	const struct diff *diff;
	const struct diff_event *event;
};

/* Compares what is computed for a file, the largest first. Rows that the file does not have are
 * last. by_base: so are rows that the first file does not have, if nothing can be computed. */
static int compare_computed(const struct sorting *sorting, size_t a, size_t b, size_t file,
			    bool by_base)
{
	const struct diff *diff = sorting->diff;
	bool has_a = has_row(diff, sorting->event, a, file);
	bool has_b = has_row(diff, sorting->event, b, file);
	double left, right;

	if (!has_a || !has_b)
		return has_b - has_a;
	if (by_base && diff->method != DIFF_DELTA && diff->method != DIFF_DELTA_ABS) {
		has_a = has_row(diff, sorting->event, a, 0);
		has_b = has_row(diff, sorting->event, b, 0);
		if (!has_a || !has_b)
			return has_b - has_a;
	}
	left = diff_compute(diff, sorting->event, a, file);
	right = diff_compute(diff, sorting->event, b, file);
	if (diff->method == DIFF_DELTA_ABS) {
		left = fabs(left);
		right = fabs(right);
	}
	return (left < right) - (left > right);
}

static int compare_rows(const void *left, const void *right, void *context)
{
	const struct sorting *sorting = context;
	const struct diff *diff = sorting->diff;
	const struct diff_event *event = sorting->event;
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
	uint64_t before = diff_sum_of(diff, event, a, 0)->period;
	uint64_t after = diff_sum_of(diff, event, b, 0)->period;
	size_t shorter = event->row[a].length < event->row[b].length ? event->row[a].length
								     : event->row[b].length;
	int order = 0;

	if (diff->order)
		order = compare_computed(sorting, a, b, diff->order, true);
	if (!order)
		order = (before < after) - (before > after);
	for (size_t file = 1; file < diff->nr_files && !order; file++)
		order = compare_computed(sorting, a, b, file, false);
	if (!order)
		order = memcmp(event->text + event->row[a].text, event->text + event->row[b].text,
			       shorter);
	return order;
}

uint32_t *diff_sort(const struct diff *diff, const struct diff_event *event, size_t *nr)
{
	struct sorting sorting = { diff, event };
	uint32_t *rows = malloc((event->nr_rows + 1) * sizeof(*rows));

	*nr = 0;
	if (!rows)
		return NULL;
	for (size_t i = 0; i < event->nr_rows; i++)
		if (!diff->baseline_only || diff_has_pair(diff, event, i))
			rows[(*nr)++] = (uint32_t)i;
	qsort_r(rows, *nr, sizeof(*rows), compare_rows, &sorting);
	return rows;
}
