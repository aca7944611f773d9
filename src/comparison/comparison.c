/* SPDX-License-Identifier: MIT */
/* What a program calls (perch/comparison.h). */
#include "base/reserved.h"
#include "base/no_memory.h"
#include "internal.h"

static int check_options(const struct perch_comparison_options *options, struct perch_error *err)
{
	if (PERCH__CHECK_RESERVED(options, "perch_comparison_options", err))
		return -EINVAL;
	if (options->nr_profiles >= 2 && options->nr_profiles <= PERCH_COMPARISON_PROFILES &&
	    options->nr_keys >= 1 && options->nr_keys <= PERCH_COMPARISON_KEYS &&
	    options->order < options->nr_profiles && options->method <= PERCH_COMPARISON_WDIFF)
		return 0;
	return perch_error_set(err, EINVAL, PERCH_ERROR_USAGE,
			       "a comparison has 2 to %d profiles and 1 to %d keys, and one of its "
			       "profiles and methods",
			       PERCH_COMPARISON_PROFILES, PERCH_COMPARISON_KEYS);
}

int perch_comparison_new(struct perch_comparison **comparison,
			 const struct perch_comparison_options *options, struct perch_error *err)
{
	struct perch_comparison *new;

	*comparison = NULL;
	if (check_options(options, err))
		return -EINVAL;
	new = calloc(1, sizeof(*new));
	if (!new)
		return PERCH__NO_MEMORY(err, "for a comparison");
	new->options = *options;
	memcpy(new->key, options->keys, options->nr_keys * sizeof(*new->key));
	new->options.keys = new->key;
	new->by_text.seed = perch__hash_seed(new);
	*comparison = new;
	return 0;
}

void perch_comparison_free(struct perch_comparison *comparison)
{
	if (!comparison)
		return;
	perch__comparison_free_rows(comparison);
	if (comparison->branches)
		perch__comparison_free_rows(comparison->branches);
	free(comparison->branches);
	free(comparison->first);
	free(comparison->next);
	free(comparison->first_of_row);
	free(comparison);
}

/* Stores the cells of a row, each with a NUL. Returns their length. */
static size_t make_texts(const struct perch_comparison *comparison, struct perch_profile *profile,
			 const struct perch_row *row, const struct perch_column *const *columns,
			 char *texts)
{
	size_t used = 0;

	for (size_t i = 0; i < comparison->options.nr_keys; i++) {
		const char *text = "";
		char cell[PERCH_CELL_BYTES];
		size_t length;

		if (comparison->key[i]->scope != PERCH_COLUMN_PERIOD)
			text = perch_profile_cell(profile, row, columns[i], cell, sizeof(cell));
		length = strnlen(text, PERCH_CELL_BYTES - 1);
		memcpy(texts + used, text, length);
		used += length;
		texts[used++] = 0;
	}
	return used;
}

static int add_rows(struct perch_comparison *comparison, size_t index,
		    struct perch_profile *profile, const struct perch_row *rows, size_t nr,
		    const struct perch_column *const *columns, char *texts, struct perch_error *err)
{
	for (size_t i = 0; i < nr; i++) {
		const struct perch_comparison_sum sum = { rows[i].self, rows[i].samples };
		int64_t joined;
		size_t length;
		int rc;

		if (!sum.samples)
			continue;
		length = make_texts(comparison, profile, &rows[i], columns, texts);
		joined = perch__comparison_join(comparison, index, texts, length, &sum);
		if (joined < 0)
			return PERCH__NO_MEMORY(err, "for a comparison");
		rc = comparison->options.branches
			     ? perch__comparison_add_branches(comparison, index, profile, &rows[i],
							      (uint32_t)joined, err)
			     : 0;
		if (rc)
			return rc;
	}
	return 0;
}

int perch_comparison_add(struct perch_comparison *comparison, size_t index,
			 struct perch_profile *profile, unsigned event,
			 const struct perch_column *const *columns, struct perch_error *err)
{
	bool relative = comparison->options.relative;
	struct perch_profile_total total;
	const struct perch_row *rows;
	char *texts;
	size_t nr;
	int rc;

	if (index >= comparison->options.nr_profiles)
		return perch_error_set(err, EINVAL, PERCH_ERROR_USAGE,
				       "the comparison has %zu profiles",
				       comparison->options.nr_profiles);
	perch_profile_get_total(profile, event, &total);
	comparison->total[index].samples = relative ? total.samples : total.all_samples;
	comparison->total[index].period = relative ? total.period : total.all_period;
	rc = perch_profile_rows(profile, event, NULL, &rows, &nr, err);
	if (rc)
		return rc;
	texts = malloc(comparison->options.nr_keys * PERCH_CELL_BYTES);
	if (!texts)
		return PERCH__NO_MEMORY(err, "for a comparison");
	rc = add_rows(comparison, index, profile, rows, nr, columns ? columns : comparison->key,
		      texts, err);
	free(texts);
	return rc;
}

int perch_comparison_sort(struct perch_comparison *comparison, const uint32_t **rows, size_t *nr,
			  struct perch_error *err)
{
	int64_t sorted = perch__comparison_order(comparison);

	if (sorted < 0 || perch__comparison_sort_branches(comparison))
		return PERCH__NO_MEMORY(err, "for a comparison");
	*rows = comparison->sorted;
	*nr = (size_t)sorted;
	return 0;
}

size_t perch_comparison_rows(const struct perch_comparison *comparison)
{
	return comparison->nr_rows;
}

const struct perch_comparison_sum *perch_comparison_total(const struct perch_comparison *comparison,
							  size_t profile)
{
	return &comparison->total[profile];
}

const struct perch_comparison *perch_comparison_branches(const struct perch_comparison *comparison)
{
	return comparison->first_of_row ? comparison->branches : NULL;
}
