/* SPDX-License-Identifier: MIT */
/*
 * Columns whose value is an address have the number of the address in contexts, because symbols are
 * looked up at the end. Then the number of a frame replaces it: of the first one that has the same
 * value in the column, so that contexts with equal values become equal.
 */
#include <errno.h>
#include "internal.h"

struct context_folding {
	struct perch_profile *profile;
	const struct frame_lists *lists;
	struct key_set values; /* (word of the context, value of the frame) -> first[] */
	struct frame_id *first;
	struct context_id *number; /* by old context: the new one */
	struct tuples contexts;
};

/* Returns the frame that stands for an address in a column, or NO_FRAME. */
static struct frame_id frame_of(struct context_folding *folding, size_t word,
				struct address_id address)
{
	const struct perch_column *column = folding->profile->sample_column[word];
	struct frame_id frame = folding->lists->frame[address.nr];
	uint32_t at;
	bool is_new;

	at = perch__key_set_add(&folding->values, word,
				column->methods->frame_value(folding->profile, frame), &is_new);
	if (at == NO_NUMBER)
		return NO_FRAME;
	if (is_new) {
		if (PERCH__ARRAY_RESERVE_BY_NR(folding->first, at, 1))
			return NO_FRAME;
		folding->first[at] = frame;
	}
	return folding->first[at];
}

static int fold_context(struct context_folding *folding, uint32_t context)
{
	struct perch_profile *profile = folding->profile;
	uint64_t words[1 + MAX_COLUMNS];

	memcpy(words, perch__tuples_at(&profile->contexts, context),
	       profile->contexts.width * sizeof(*words));
	for (size_t i = 1; i < profile->contexts.width; i++) {
		const struct perch_column_methods *methods = profile->sample_column[i]->methods;
		struct frame_id frame;

		if (!methods || !methods->frame_value)
			continue;
		frame = frame_of(folding, i, (struct address_id){ (uint32_t)words[i] });
		if (frame.nr == NO_NUMBER)
			return -ENOMEM;
		words[i] = frame.nr;
	}
	folding->number[context].nr = perch__tuples_add(&folding->contexts, words);
	return folding->number[context].nr == NO_NUMBER ? -ENOMEM : 0;
}

/* Replaces the contexts of what was counted. */
static void renumber(struct context_folding *folding)
{
	struct perch_profile *profile = folding->profile;
	struct flat *flat = profile->flat;

	for (size_t i = 0; i < profile->stacks.nr; i++) {
		struct above *above = &profile->stacks.node[i].above;

		if (perch__is_root(*above))
			*above = perch__root_of(folding->number[perch__root_context(*above).nr]);
	}
	for (size_t i = 0; flat && i < flat->nr_first; i++)
		if (flat->first[i].samples)
			flat->first[i].context = folding->number[flat->first[i].context.nr];
	for (size_t i = 0; flat && i < flat->keys.nr; i++)
		flat->other[i].context = folding->number[flat->other[i].context.nr];
	perch__tuples_clear(&profile->contexts);
	profile->contexts = folding->contexts;
}

bool perch__contexts_have_addresses(const struct perch_profile *profile)
{
	for (size_t i = 1; i < profile->contexts.width; i++) {
		const struct perch_column_methods *methods = profile->sample_column[i]->methods;

		if (methods && methods->frame_value)
			return true;
	}
	return false;
}

int perch__contexts_fold(struct perch_profile *profile, const struct frame_lists *lists)
{
	struct context_folding folding = { .profile = profile, .lists = lists };
	size_t nr = profile->contexts.nr;
	int rc = 0;

	if (!perch__contexts_have_addresses(profile))
		return 0;
	folding.contexts.width = profile->contexts.width;
	folding.number = calloc(nr + 1, sizeof(*folding.number));
	if (!folding.number)
		return -ENOMEM;
	for (size_t i = 0; i < nr && !rc; i++)
		rc = fold_context(&folding, i);
	if (rc)
		perch__tuples_clear(&folding.contexts);
	else
		renumber(&folding);
	perch__key_set_clear(&folding.values);
	free(folding.first);
	free(folding.number);
	return rc;
}
