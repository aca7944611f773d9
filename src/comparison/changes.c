/* SPDX-License-Identifier: MIT */
/* What has changed most, and functions whose DSO has another name in the other profile. */
#include <math.h>

#include "base/library.h"
#include "internal.h"

#if __has_include(<gnu/lib-names.h>)
#include <gnu/lib-names.h>
#endif

/* ---- what has changed most ---- */

/*
 * Returns the variance of a share that was found by sampling, of the number of samples with and
 * without the property. One sample is added to both, because the share of 0 of 10 samples is not
 * certain (Agresti and Caffo, 2000).
 */
static double variance(uint64_t samples, uint64_t all)
{
	double share = (samples + 1.0) / (all + 2.0);

	return share * (1 - share) / (all + 2.0);
}

/* The functions of libm that a change needs. */
struct functions {
	double (*square_root)(double);
	double (*complementary_error)(double);
};

/* The library is not linked with libm: this is the only place that needs it, and `perch stat true`
 * is mostly start. Returns false if it cannot be loaded. */
static bool load_functions(struct functions *functions)
{
#ifdef LIBM_SO
	const struct perch__function names[] = { { "sqrt", &functions->square_root },
						 { "erfc", &functions->complementary_error } };

	return perch__load_library(LIBM_SO, names, 2);
#else
	*functions = (struct functions){ sqrt, erfc };
	return true;
#endif
}

static double change_of(const struct perch_comparison *comparison, size_t row, size_t profile)
{
	return fabs(perch_comparison_share(comparison, row, profile) -
		    perch_comparison_share(comparison, row, 0));
}

/* The two-sided test of a difference of shares; with many rows, one of them differs by chance, so
 * the probability is multiplied by their number (Bonferroni). */
static void set_chance(const struct perch_comparison *comparison, size_t profile, double most,
		       struct perch_comparison_change *change)
{
	const struct perch_comparison_sum *total = comparison->total;
	uint64_t before = perch_comparison_row_sum(comparison, change->row, 0)->samples;
	uint64_t after = perch_comparison_row_sum(comparison, change->row, profile)->samples;
	struct functions functions;
	double error, chance;

	change->error = change->chance = NAN;
	if (!load_functions(&functions))
		return;
	error = functions.square_root(variance(before, total[0].samples) +
				      variance(after, total[profile].samples));
	chance = functions.complementary_error(most / 100 / error / functions.square_root(2)) *
		 comparison->nr_rows;
	change->error = 100 * error;
	change->chance = chance > 1 ? 1 : chance;
}

void perch_comparison_most_changed(const struct perch_comparison *comparison, size_t profile,
				   struct perch_comparison_change *change)
{
	double most = 0;

	*change = (struct perch_comparison_change){ .row = PERCH_COMPARISON_NONE };
	if (!comparison->total[0].samples || !comparison->total[profile].samples)
		return;
	for (size_t row = 0; row < comparison->nr_rows; row++) {
		double of_row = change_of(comparison, row, profile);

		if (of_row > most) {
			most = of_row;
			change->row = (uint32_t)row;
		}
	}
	if (most > 0)
		set_chance(comparison, profile, most, change);
}

/* ---- other names ---- */

/* A row that only one of the two profiles has. */
struct single {
	const struct perch_comparison *comparison;
	uint32_t row;
	double share;
	bool is_new;
};

/* Returns the index of a key, or the number of keys. */
static size_t find_key(const struct perch_comparison *comparison, const char *name)
{
	size_t i = 0;

	while (i < comparison->options.nr_keys && strcmp(comparison->key[i]->name, name))
		i++;
	return i;
}

/* Compares the cells of all keys but the DSO. */
static int compare_but_dso(const void *left, const void *right)
{
	const struct single *a = left, *b = right;
	size_t dso = find_key(a->comparison, "dso");
	int order = 0;

	for (size_t i = 0; i < a->comparison->options.nr_keys && !order; i++)
		if (i != dso)
			order = strcmp(perch_comparison_text(a->comparison, a->row, i),
				       perch_comparison_text(b->comparison, b->row, i));
	return order;
}

/* Stores the rows that only one profile has. Returns their number; *change is that of all shares.
 */
static size_t find_singles(const struct perch_comparison *comparison, size_t profile,
			   struct single *single, double *change)
{
	size_t nr = 0, function = find_key(comparison, "sym");

	*change = 0;
	for (uint32_t row = 0; row < comparison->nr_rows; row++) {
		bool was = perch_comparison_row_sum(comparison, row, 0)->samples;
		bool is = perch_comparison_row_sum(comparison, row, profile)->samples;

		*change += change_of(comparison, row, profile);
		/* the symbol of a function without a name is an address */
		if (was != is && !strstr(perch_comparison_text(comparison, row, function), " 0x"))
			single[nr++] = (struct single){ comparison, row,
							perch_comparison_share(comparison, row, 0) +
								perch_comparison_share(
									comparison, row, profile),
							is };
	}
	return nr;
}

/* Returns the shares of rows that differ from a row of the other profile by the DSO alone. */
static double add_renamed(struct single *single, size_t nr)
{
	double share = 0;

	qsort(single, nr, sizeof(*single), compare_but_dso);
	for (size_t i = 0, end; i < nr; i = end) {
		bool has_old = false, has_new = false;
		double sum = 0;

		for (end = i; end < nr && !compare_but_dso(&single[i], &single[end]); end++) {
			sum += single[end].share;
			has_old |= !single[end].is_new;
			has_new |= single[end].is_new;
		}
		if (has_old && has_new)
			share += sum;
	}
	return share;
}

bool perch_comparison_is_renamed(const struct perch_comparison *comparison, size_t profile)
{
	size_t nr_keys = comparison->options.nr_keys, nr;
	struct single *single;
	double change, renamed;

	if (!comparison->nr_rows || find_key(comparison, "dso") == nr_keys ||
	    find_key(comparison, "sym") == nr_keys)
		return false;
	single = perch__reallocarray(NULL, comparison->nr_rows, sizeof(*single));
	if (!single)
		return false; /* without the answer the comparison is still right */
	nr = find_singles(comparison, profile, single, &change);
	renamed = add_renamed(single, nr);
	free(single);
	return renamed > change / 2;
}
