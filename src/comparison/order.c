/* SPDX-License-Identifier: MIT */
/* Compares the rows of the profiles, and sorts them as perf does. */
#define _GNU_SOURCE /* qsort_r */
#include <math.h>

#include "internal.h"

const struct perch_comparison_sum *perch_comparison_row_sum(
	const struct perch_comparison *comparison, size_t row, size_t profile)
{
	return &comparison->sum[row * comparison->options.nr_profiles + profile];
}

double perch_comparison_share(const struct perch_comparison *comparison, size_t row, size_t profile)
{
	uint64_t all = comparison->total[profile].period;

	return all ? 100.0 * perch_comparison_row_sum(comparison, row, profile)->period / all : 0;
}

double perch_comparison_compute(const struct perch_comparison *comparison, size_t row,
				size_t profile)
{
	const struct perch_comparison_options *options = &comparison->options;
	uint64_t before = perch_comparison_row_sum(comparison, row, 0)->period;
	uint64_t after = perch_comparison_row_sum(comparison, row, profile)->period;

	switch (options->method) {
	case PERCH_COMPARISON_RATIO:
		return (double)after / (before ? before : 1);
	case PERCH_COMPARISON_WDIFF:
		return (double)after * options->weight - (double)before * options->base_weight;
	default:
		return perch_comparison_share(comparison, row, profile) -
		       perch_comparison_share(comparison, row, 0);
	}
}

static bool has_row(const struct perch_comparison *comparison, size_t row, size_t profile)
{
	return perch_comparison_row_sum(comparison, row, profile)->samples;
}

/* True if a row is in the first profile and in another one. */
static bool has_pair(const struct perch_comparison *comparison, size_t row)
{
	for (size_t profile = 1; profile < comparison->options.nr_profiles; profile++)
		if (has_row(comparison, row, profile))
			return has_row(comparison, row, 0);
	return false;
}

/* Compares what is computed for a profile, the largest first. Rows that the profile does not have
 * are last. by_base: so are rows that the first one does not have, if nothing can be computed. */
static int compare_computed(const struct perch_comparison *comparison, size_t a, size_t b,
			    size_t profile, bool by_base)
{
	enum perch_comparison_method method = comparison->options.method;
	bool has_a = has_row(comparison, a, profile);
	bool has_b = has_row(comparison, b, profile);
	double left, right;

	if (!has_a || !has_b)
		return has_b - has_a;
	if (by_base && method != PERCH_COMPARISON_DELTA && method != PERCH_COMPARISON_DELTA_ABS) {
		has_a = has_row(comparison, a, 0);
		has_b = has_row(comparison, b, 0);
		if (!has_a || !has_b)
			return has_b - has_a;
	}
	left = perch_comparison_compute(comparison, a, profile);
	right = perch_comparison_compute(comparison, b, profile);
	if (method == PERCH_COMPARISON_DELTA_ABS) {
		left = fabs(left);
		right = fabs(right);
	}
	return (left < right) - (left > right);
}

static int compare_rows(const void *left, const void *right, void *context)
{
	const struct perch_comparison *comparison = context;
	const struct perch_comparison_options *options = &comparison->options;
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
	const struct comparison_row *one = &comparison->row[a], *two = &comparison->row[b];
	uint64_t before = perch_comparison_row_sum(comparison, a, 0)->period;
	uint64_t after = perch_comparison_row_sum(comparison, b, 0)->period;
	int order = 0;

	if (options->order)
		order = compare_computed(comparison, a, b, options->order, true);
	if (!order)
		order = (before < after) - (before > after);
	for (size_t profile = 1; profile < options->nr_profiles && !order; profile++)
		order = compare_computed(comparison, a, b, profile, false);
	if (!order)
		order = memcmp(comparison->text + one->text, comparison->text + two->text,
			       one->length < two->length ? one->length : two->length);
	return order;
}

int64_t perch__comparison_order(struct perch_comparison *comparison)
{
	int64_t nr = 0;

	free(comparison->sorted);
	comparison->sorted = malloc((comparison->nr_rows + 1) * sizeof(*comparison->sorted));
	if (!comparison->sorted)
		return -ENOMEM;
	for (size_t i = 0; i < comparison->nr_rows; i++)
		if (!comparison->options.baseline_only || has_pair(comparison, i))
			comparison->sorted[nr++] = (uint32_t)i;
	qsort_r(comparison->sorted, (size_t)nr, sizeof(*comparison->sorted), compare_rows,
		comparison);
	return nr;
}
