/* SPDX-License-Identifier: MIT */
/* Counts the samples of a batch: by stack of addresses, or by address. */
#include "profile/internal.h"

/* Reserves all memory first, so a batch is counted as a whole or stays as it is. */
int perch__batch_count(struct perch_profile *profile, struct batch *batch)
{
	if (perch__addresses_reserve(profile->addresses, batch->nr_keys) ||
	    (profile->flat
		     ? perch__flat_reserve(profile->flat,
					   profile->addresses->keys.nr + batch->nr_keys, batch->nr)
		     : perch__tree_reserve(&profile->stacks, batch->nr_keys, batch->nr)))
		return -ENOMEM;
	perch__batch_resolve(batch);
	perch__addresses_number(profile->addresses, &batch->key->word, batch->nr_keys,
				batch->number);
	if (profile->flat)
		perch__flat_add_batch(profile->flat, batch);
	else
		perch__stacks_add(&profile->stacks, profile->last_stack, batch);
	batch->nr = batch->nr_keys = 0;
	return 0;
}
