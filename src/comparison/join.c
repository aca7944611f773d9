/* SPDX-License-Identifier: MIT */
/* Rows of several profiles that have the same texts are one row. */
#include "internal.h"

struct wanted {
	const struct perch_comparison *comparison;
	const char *texts;
	size_t length;
};

static bool same_texts(const void *items, uint32_t index, const void *key)
{
	const struct comparison_row *row = &((const struct comparison_row *)items)[index];
	const struct wanted *wanted = key;

	return row->length == wanted->length &&
	       !memcmp(wanted->comparison->text + row->text, wanted->texts, row->length);
}

static int add_row(struct perch_comparison *comparison, uint64_t hash, const struct wanted *wanted)
{
	size_t row = comparison->nr_rows;

	if (PERCH__ARRAY_RESERVE(comparison->row, comparison->row_capacity, row + 1) ||
	    PERCH__ARRAY_RESERVE(comparison->sum, comparison->sum_capacity,
				 (row + 1) * comparison->options.nr_profiles) ||
	    PERCH__ARRAY_RESERVE(comparison->text, comparison->text_capacity,
				 comparison->text_size + wanted->length) ||
	    perch__hash_add(&comparison->by_text, hash, row))
		return -ENOMEM;
	comparison->row[row] = (struct comparison_row){ comparison->text_size, wanted->length };
	memcpy(comparison->text + comparison->text_size, wanted->texts, wanted->length);
	comparison->text_size += wanted->length;
	memset(&comparison->sum[row * comparison->options.nr_profiles], 0,
	       comparison->options.nr_profiles * sizeof(*comparison->sum));
	comparison->nr_rows++;
	free(comparison->first_of_row); /* it lacks the new row, until it is sorted again */
	comparison->first_of_row = NULL;
	return 0;
}

int64_t perch__comparison_join(struct perch_comparison *comparison, size_t profile,
			       const char *texts, size_t length,
			       const struct perch_comparison_sum *sum)
{
	const struct wanted wanted = { comparison, texts, length };
	uint64_t hash = perch__hash_bytes(comparison->by_text.seed, texts, length);
	size_t row =
		perch__hash_find(&comparison->by_text, hash, same_texts, comparison->row, &wanted);
	struct perch_comparison_sum *joined;

	if (row == PERCH__HASH_NONE) {
		row = comparison->nr_rows;
		if (add_row(comparison, hash, &wanted))
			return -ENOMEM;
	}
	joined = &comparison->sum[row * comparison->options.nr_profiles + profile];
	joined->period += sum->period;
	joined->samples += sum->samples;
	return (int64_t)row;
}

const char *perch_comparison_text(const struct perch_comparison *comparison, size_t row, size_t key)
{
	const char *text = comparison->text + comparison->row[row].text;

	while (key--)
		text += strlen(text) + 1;
	return text;
}

void perch__comparison_free_rows(struct perch_comparison *comparison)
{
	free(comparison->row);
	free(comparison->sum);
	free(comparison->text);
	free(comparison->sorted);
	perch__hash_clear(&comparison->by_text);
}
