/* SPDX-License-Identifier: MIT */
/*
 * Collects samples, and counts many at a time: lookups of different samples do not wait for each
 * other's memory.
 */
#include "internal.h"

/* The samples of a batch share frames only with each other: another thread may count the next one,
 * and batches are the same for any number of threads. */
static void start_batch(struct perch_profile *profile)
{
	for (size_t i = 0; i < LAST_STACKS; i++)
		profile->last_stack[i].generation = 0;
}

int perch__samples_count(struct perch_profile *profile)
{
	struct batch *batch = profile->batch;

	if (profile->counters && perch__counters_wait(profile->counters))
		return -ENOMEM;
	if (!batch || !batch->nr)
		return 0;
	batch->unit = profile->unit;
	start_batch(profile);
	if (perch__batch_count(profile, batch))
		return -ENOMEM;
	perch__batch_drop_mappings(batch);
	return 0;
}

/* Makes space in the batch. Returns 0 or -ENOMEM. */
static int end_batch(struct perch_profile *profile)
{
	if (profile->nr_threads && !profile->counters) {
		profile->counters = perch__counters_new(profile, profile->nr_threads);
		if (!profile->counters)
			profile->nr_threads = 0;
	}
	if (!profile->counters)
		return perch__samples_count(profile);
	profile->batch->unit = profile->unit;
	start_batch(profile);
	return perch__counters_pass(profile->counters);
}

static void add_flat(struct perch_profile *profile, const struct sample *sample)
{
	const struct chain *chain = sample->chain;
	uint8_t cpumode = sample->record->misc & PERCH_MISC_CPUMODE_MASK;

	if (chain)
		perch__batch_add_keys(profile, sample->thread, chain->ip, chain->cpumode, 1);
	else
		perch__batch_add_keys(profile, sample->thread, &sample->record->sample.ip, &cpumode,
				      1);
}

static void add_chain(struct perch_profile *profile, const struct sample *sample,
		      struct context_id context, struct batch_sample *to)
{
	const struct chain *chain = sample->chain;
	struct last_stack *last;
	bool other;
	size_t shared;

	to->slot = perch_thread_tid(sample->thread) % LAST_STACKS;
	last = &profile->last_stack[to->slot];
	other = last->context.nr != context.nr;
	shared = perch__last_stack_update(last, profile->processes, sample->thread, chain);
	if (other)
		shared = 0;
	last->context = context;
	to->shared = shared;
	to->nr = chain->nr - shared;
	perch__batch_add_keys(profile, sample->thread, chain->ip, chain->cpumode, to->nr);
}

int perch__samples_add(struct perch_profile *profile, const struct sample *sample,
		       struct context_id context)
{
	struct batch *batch = profile->batch;
	struct batch_sample *to;

	if ((batch->nr == BATCH_SAMPLES || batch->nr_keys + MAX_DEPTH > BATCH_KEYS) &&
	    end_batch(profile))
		return -ENOMEM;
	batch = profile->batch;
	to = &batch->sample[batch->nr++];
	*to = (struct batch_sample){ .period = sample->record->sample.period, .context = context };
	if (profile->flat)
		add_flat(profile, sample);
	else
		add_chain(profile, sample, context, to);
	return 0;
}
