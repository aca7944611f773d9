/* SPDX-License-Identifier: MIT */
/* The context of a sample: its event, and its values in the columns of scope SAMPLE. */
#include "internal.h"

static int value_of(const struct perch_column *column, const struct sample *sample, uint64_t *value)
{
	if (column->methods)
		return column->methods->value(sample, value);
	return column->value(column->data, sample->record, sample->thread, value);
}

static bool same_words(const uint64_t *a, const uint64_t *b, size_t nr)
{
	while (nr && a[nr - 1] == b[nr - 1])
		nr--;
	return !nr;
}

int perch__context_of(const struct sample *sample, struct context_id *context)
{
	struct perch_profile *profile = sample->profile;
	size_t width = profile->contexts.width;
	uint64_t words[1 + MAX_COLUMNS];
	struct context_id *recent =
		&profile->recent_context[perch_thread_tid(sample->thread) % RECENT_CONTEXTS];
	uint32_t number;

	words[0] = sample->record->event;
	for (size_t i = 1; i < width; i++) {
		int rc = value_of(profile->sample_column[i], sample, &words[i]);

		if (rc < 0)
			return rc;
	}
	if (recent->nr < profile->contexts.nr &&
	    same_words(perch__tuples_at(&profile->contexts, recent->nr), words, width)) {
		*context = *recent;
		return 0;
	}
	number = perch__tuples_add(&profile->contexts, words);
	if (number == NO_NUMBER)
		return -ENOMEM;
	recent->nr = number;
	*context = *recent;
	return 0;
}
