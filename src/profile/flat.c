/* SPDX-License-Identifier: MIT */
/* Samples without their call chains: they are counted by context and address. */
#include "internal.h"

/* Returns the count of an address in another context than its first one, or NULL. */
static struct count *find_other(struct flat *flat, uint32_t context, uint32_t address)
{
	uint32_t at;
	bool is_new;

	at = perch__key_set_add(&flat->keys, context, address, &is_new);
	if (at == NO_NUMBER)
		return NULL;
	if (!is_new)
		return &flat->other[at];
	if (PERCH__ARRAY_RESERVE_BY_NR(flat->other, at, 1)) {
		perch__key_set_remove_last(&flat->keys);
		return NULL;
	}
	flat->other[at] = (struct count){ .context = context };
	return &flat->other[at];
}

int perch__flat_add(struct perch_profile *profile, uint32_t address, uint32_t context,
		    uint64_t period)
{
	struct flat *flat = profile->flat;
	struct count *count;

	if (PERCH__ARRAY_RESERVE_ZEROED(flat->first, flat->nr_first, (size_t)address + 1))
		return -ENOMEM;
	count = &flat->first[address];
	if (!count->samples)
		count->context = context;
	else if (count->context != context)
		count = find_other(flat, context, address);
	if (!count)
		return -ENOMEM;
	count->period += period;
	count->samples++;
	return 0;
}

static int fold_count(struct perch_profile *profile, const struct count *count, uint32_t frame)
{
	uint32_t node = perch__tree_child(&profile->tree, count->context, NO_NODE, frame);

	if (node == NO_NODE)
		return -ENOMEM;
	profile->tree.node[node].self += count->period;
	profile->tree.node[node].samples += count->samples;
	return 0;
}

int perch__flat_fold(struct perch_profile *profile, const struct frame_lists *lists)
{
	const struct flat *flat = profile->flat;
	int rc = 0;

	for (size_t i = 0; i < flat->nr_first && !rc; i++)
		if (flat->first[i].samples)
			rc = fold_count(profile, &flat->first[i], lists->frame[i]);
	for (size_t i = 0; i < flat->keys.nr && !rc; i++)
		rc = fold_count(profile, &flat->other[i], lists->frame[flat->keys.key[i][1]]);
	if (!rc)
		perch__tree_link(&profile->tree);
	return rc;
}

void perch__flat_free(struct perch_profile *profile)
{
	if (!profile->flat)
		return;
	perch__key_set_clear(&profile->flat->keys);
	free(profile->flat->first);
	free(profile->flat->other);
	free(profile->flat);
	profile->flat = NULL;
}
