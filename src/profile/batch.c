/* SPDX-License-Identifier: MIT */
/*
 * Collects samples, and counts many at a time: lookups of different samples do not wait for each
 * other's memory.
 */
#include "internal.h"

/* Reserves all memory first, so a batch is counted as a whole or stays as it is. */
int perch__samples_count(struct perch_profile *profile)
{
	struct batch *batch = profile->batch;

	if (!batch || !batch->nr)
		return 0;
	if (perch__addresses_reserve(profile->addresses, batch->nr_keys) ||
	    (profile->flat
		     ? perch__flat_reserve(profile->flat,
					   profile->addresses->keys.nr + batch->nr_keys, batch->nr)
		     : perch__stacks_reserve(&profile->stacks, batch->nr_keys)))
		return -ENOMEM;
	batch->unit = profile->unit;
	perch__addresses_number(profile->addresses, batch->key, batch->nr_keys, batch->number);
	if (profile->flat)
		perch__flat_add_batch(profile->flat, batch);
	else
		perch__stacks_add(&profile->stacks, profile->last_stack, batch);
	batch->nr = batch->nr_keys = 0;
	return 0;
}

/* Stores the key of an address. */
static void add_key(struct perch_profile *profile, const struct sample *sample, unsigned cpumode,
		    uint64_t ip)
{
	struct batch *batch = profile->batch;

	batch->key[batch->nr_keys++] =
		perch__address_key(profile->addresses, sample->thread, cpumode, ip);
}

static void add_flat(struct perch_profile *profile, const struct sample *sample)
{
	const struct chain *chain = sample->chain;

	add_key(profile, sample,
		chain ? chain->cpumode[0] : sample->record->misc & PERCH_MISC_CPUMODE_MASK,
		chain ? chain->ip[0] : sample->record->sample.ip);
}

static void add_chain(struct perch_profile *profile, const struct sample *sample, uint32_t context,
		      struct batch_sample *to)
{
	const struct chain *chain = sample->chain;
	struct last_stack *last;
	bool other;
	size_t shared;

	to->slot = perch_thread_tid(sample->thread) % LAST_STACKS;
	last = &profile->last_stack[to->slot];
	other = last->context != context;
	shared = perch__last_stack_update(last, profile->processes, sample->thread, chain);
	if (other)
		shared = 0;
	last->context = context;
	to->shared = shared;
	to->nr = chain->nr - shared;
	for (size_t i = chain->nr - shared; i-- > 0;)
		add_key(profile, sample, chain->cpumode[i], chain->ip[i]);
}

int perch__samples_add(struct perch_profile *profile, const struct sample *sample, uint32_t context)
{
	struct batch *batch = profile->batch;
	struct batch_sample *to;

	if ((batch->nr == BATCH_SAMPLES || batch->nr_keys + MAX_DEPTH > BATCH_KEYS) &&
	    perch__samples_count(profile))
		return -ENOMEM;
	to = &batch->sample[batch->nr++];
	*to = (struct batch_sample){ .period = sample->record->sample.period, .context = context };
	if (profile->flat)
		add_flat(profile, sample);
	else
		add_chain(profile, sample, context, to);
	return 0;
}
