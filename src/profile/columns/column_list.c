/* SPDX-License-Identifier: MIT */
/* The columns of a profile, from the options. */
#include "base/reserved.h"
#include "profile/internal.h"

size_t perch__columns_index(const struct perch_profile *profile, const struct perch_column *column)
{
	for (size_t i = 0; i < profile->nr_columns; i++)
		if (profile->column[i] == column)
			return i;
	return MAX_COLUMNS;
}

bool perch__columns_has(const struct perch_profile *profile,
			const struct perch_column_methods *methods)
{
	for (size_t i = 0; i < profile->nr_columns; i++)
		if (profile->column[i]->methods == methods)
			return true;
	return false;
}

static bool needs_functions(const struct perch_column_methods *methods)
{
	static const struct perch_column_methods *const without[] = {
		&perch__column_dso,	 &perch__column_dso_size, &perch__column_level,
		&perch__column_dso_from, &perch__column_dso_to,
	};

	for (size_t i = 0; i < PERCH__NR(without); i++)
		if (methods == without[i])
			return false;
	return methods && methods->frame_value;
}

bool perch__columns_need_functions(const struct perch_profile *profile)
{
	for (size_t i = 0; i < profile->nr_columns; i++)
		if (needs_functions(profile->column[i]->methods))
			return true;
	return false;
}

static int add_column(struct perch_profile *profile, const struct perch_column *column,
		      struct perch_error *err)
{
	size_t at = profile->nr_columns;

	if (perch__columns_index(profile, column) != MAX_COLUMNS)
		return 0;
	if (column->of_branches && !profile->branches) {
		perch_error_set(
			err, EINVAL, PERCH_ERROR_USAGE,
			"the column '%s' is one of branches, and this is a profile of samples",
			column->name);
		perch_error_remedy(err, "record with -b");
		return -EINVAL;
	}
	if (at == MAX_COLUMNS)
		return perch_error_set(err, E2BIG, PERCH_ERROR_USAGE,
				       "a profile has at most %u columns", MAX_COLUMNS);
	profile->column[at] = column;
	profile->nr_columns++;
	if (column->scope == PERCH_COLUMN_SAMPLE) {
		profile->word[at] = profile->contexts.width;
		profile->sample_column[profile->contexts.width++] = column;
	} else if (column->scope == PERCH_COLUMN_FRAME) {
		profile->frame_column[profile->nr_frame_columns++] = column;
	}
	return 0;
}

static int add_name(struct perch_profile *profile, const char *name, size_t length,
		    struct perch_error *err)
{
	const struct perch_column *column = perch_column_find(name, length), *similar;
	char text[64];

	if (column)
		return add_column(profile, column, err);
	snprintf(text, sizeof(text), "%.*s", length < sizeof(text) ? (int)length : 60, name);
	perch_clean_text(text, text, sizeof(text));
	perch_error_set(err, EINVAL, PERCH_ERROR_USAGE, "a profile has no column '%s'", text);
	similar = perch_column_similar(name, length);
	if (similar)
		perch_error_remedy(err, "use '%s', which is similar", similar->name);
	return -EINVAL;
}

static int add_names(struct perch_profile *profile, const char *names, struct perch_error *err)
{
	while (true) {
		size_t length = strcspn(names, ",");
		int rc = add_name(profile, names, length, err);

		if (rc || !names[length])
			return rc;
		names += length + 1;
	}
}

/* Adds a column of the caller: one of the library, or one of the program. */
static int add_given(struct perch_profile *profile, const struct perch_column *column,
		     struct perch_error *err)
{
	if (PERCH__CHECK_RESERVED(column, "perch_column", err))
		return -EINVAL;
	if (!column->methods && (column->scope != PERCH_COLUMN_SAMPLE || !column->value))
		return perch_error_set(
			err, EINVAL, PERCH_ERROR_USAGE,
			"a column of a program needs .value and the scope PERCH_COLUMN_SAMPLE");
	return add_column(profile, column, err);
}

/* Finds the word of the column parallelism. Latencies need it, also without the column. */
static int find_parallelism(struct perch_profile *profile, bool latencies, struct perch_error *err)
{
	static const char name[] = "parallelism";
	const struct perch_column *column = perch_column_find(name, sizeof(name) - 1);
	size_t at = perch__columns_index(profile, column);

	if (at != MAX_COLUMNS) {
		profile->latency.word = profile->word[at];
	} else if (latencies) {
		if (profile->contexts.width > MAX_COLUMNS)
			return perch_error_set(err, E2BIG, PERCH_ERROR_USAGE,
					       "a profile has at most %u columns", MAX_COLUMNS);
		profile->latency.hidden = true;
		profile->latency.word = profile->contexts.width;
		profile->sample_column[profile->contexts.width++] = column;
	}
	return 0;
}

int perch__columns_set(struct perch_profile *profile, const struct perch_profile_options *options,
		       struct perch_error *err)
{
	int rc = 0;

	profile->contexts.width = 1; /* the event */
	if (options && options->names)
		rc = add_names(profile, options->names, err);
	for (size_t i = 0; options && i < options->nr_columns && !rc; i++)
		rc = add_given(profile, options->columns[i], err);
	return rc ? rc : find_parallelism(profile, options && options->latencies, err);
}

const struct perch_column *const *perch_profile_columns(const struct perch_profile *profile,
							size_t *nr)
{
	*nr = profile->nr_columns;
	return profile->column;
}
