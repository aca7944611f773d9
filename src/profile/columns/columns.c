/* SPDX-License-Identifier: MIT */
/* The table of columns. */
#include "base/edit_distance.h"
#include "profile/internal.h"

#define NEEDS(bits, option) .sample_type = PERCH_SAMPLE_##bits, .record_option = (option)

static const struct perch_column columns[] = {
/* clang-format off */
#define COLUMN(id, scope_, type_, header_, summary_, ...)                     \
	{                                                                     \
		.name = #id, .header = (header_), .summary = (summary_),      \
		.scope = PERCH_COLUMN_##scope_, .type = PERCH_COLUMN_##type_, \
		.methods = &perch__column_##id, __VA_ARGS__                   \
	},
#define BRANCH_COLUMN(id, type_, header_, summary_) \
	COLUMN(id, SAMPLE, type_, header_, summary_, .of_branches = true)
/* clang-format on */
#include "columns.def"
};

const struct perch_column *perch_columns(size_t *nr)
{
	*nr = PERCH__NR(columns);
	return columns;
}

static bool is_name(const char *name, const char *wanted, size_t length)
{
	return name && !strncmp(name, wanted, length) && !name[length];
}

const struct perch_column *perch_column_find(const char *name, size_t length)
{
	for (size_t i = 0; i < PERCH__NR(columns); i++)
		if (is_name(columns[i].name, name, length) ||
		    is_name(columns[i].alias, name, length))
			return &columns[i];
	return NULL;
}

const struct perch_column *perch_column_similar(const char *name, size_t length)
{
	const struct perch_column *similar = NULL;
	char word[PERCH__EDIT_MAX_LENGTH + 1];
	unsigned least;

	if (length >= sizeof(word))
		return NULL;
	memcpy(word, name, length);
	word[length] = 0;
	least = length < 3 ? 2 : length / 3 + 1; /* of a word that is not similar */
	for (size_t i = 0; i < PERCH__NR(columns); i++) {
		const char *const names[] = { columns[i].name, columns[i].alias };

		for (size_t j = 0; j < 2 && names[j]; j++) {
			unsigned distance = perch__edit_distance(word, names[j]);

			if (distance < least) {
				least = distance;
				similar = &columns[i];
			}
		}
	}
	return similar;
}
