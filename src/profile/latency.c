/* SPDX-License-Identifier: MIT */
/*
 * Latencies: the period of each sample, divided by the number of threads that ran at its time.
 *
 * While samples are counted, this number is a word of their context, so that counting is the same
 * as without latencies. Contexts that differ only in this word become one when the tree of frames
 * is made, and each node gets the sum of its latencies. Samples at an unknown number have none.
 */
#include "base/wide.h"
#include "internal.h"

/* Latencies are multiples of 1 / 2^shift: a period of 1 can be divided, and sums do not overflow.
 */
static unsigned shift_of(const struct perch_profile *profile)
{
	uint64_t most = 1;

	for (size_t i = 0; i < profile->nr_events; i++) {
		uint64_t sum;

		if (__builtin_add_overflow(profile->event[i].total.period,
					   profile->event[i].skipped_period, &sum))
			sum = UINT64_MAX;
		most = sum > most ? sum : most;
	}
	for (unsigned shift = 20; shift; shift--)
		if (most <= (uint64_t)INT64_MAX >> shift)
			return shift;
	return 0;
}

static uint64_t divide_period(const struct latency *latency, uint64_t period, uint32_t parallelism)
{
	return parallelism ? perch__divide_product(period, 1ull << latency->shift, parallelism / 2,
						   parallelism)
			   : 0;
}

/* Makes the contexts without the word of the parallelism, which is the last one. */
static int merge_contexts(struct perch_profile *profile)
{
	struct latency *latency = &profile->latency;
	size_t nr = profile->contexts.nr;

	latency->merged.width = profile->contexts.width - latency->hidden;
	latency->context = calloc(nr + 1, sizeof(*latency->context));
	latency->parallelism = calloc(nr + 1, sizeof(*latency->parallelism));
	if (!latency->context || !latency->parallelism)
		return -ENOMEM;
	for (uint32_t i = 0; i < nr; i++) {
		const uint64_t *words = perch__tuples_at(&profile->contexts, i);

		latency->parallelism[i] = (uint32_t)words[latency->word];
		latency->context[i].nr = perch__tuples_add(&latency->merged, words);
		if (latency->context[i].nr == NO_NUMBER)
			return -ENOMEM;
	}
	return 0;
}

int perch__latency_start(struct perch_profile *profile)
{
	if (!profile->latency.word)
		return 0;
	profile->latency.shift = shift_of(profile);
	return merge_contexts(profile);
}

/* Adds the latency of samples to a count of the tree. Returns 0 or -ENOMEM. */
static int add_latency(struct perch_profile *profile, uint32_t count, struct context_id context,
		       uint64_t period)
{
	struct latency *latency = &profile->latency;
	uint64_t part = divide_period(latency, period, latency->parallelism[context.nr]);

	if (PERCH__ARRAY_RESERVE_ZEROED(latency->self, latency->capacity, (size_t)count + 1))
		return -ENOMEM;
	latency->self[count] += part;
	profile->event[perch__context_event(profile, context)].total.latency += part;
	return 0;
}

int perch__count_samples(struct perch_profile *profile, struct node_id node,
			 struct context_id context, uint64_t period, uint64_t samples)
{
	uint32_t count = perch__tree_count(&profile->tree, node, period, samples);

	if (count == NO_NUMBER)
		return -ENOMEM;
	return profile->latency.word ? add_latency(profile, count, context, period) : 0;
}

/* Frees what the forest is made from. */
static void clear_counts(struct latency *latency)
{
	free(latency->context);
	free(latency->parallelism);
	free(latency->self);
	latency->context = NULL;
	latency->parallelism = NULL;
	latency->self = NULL;
	latency->capacity = 0;
}

void perch__latency_finish(struct perch_profile *profile)
{
	struct latency *latency = &profile->latency;

	if (!latency->word)
		return;
	clear_counts(latency);
	perch__tuples_clear(&profile->contexts);
	profile->contexts = latency->merged;
	latency->merged = (struct tuples){ 0 };
}

int perch__latency_of_rows(struct perch_profile *profile)
{
	struct latency *latency = &profile->latency;
	const struct forest *forest = &profile->forest;

	if (!latency->word)
		return 0;
	latency->row = calloc(profile->nr_rows + 1, sizeof(*latency->row));
	if (!latency->row)
		return -ENOMEM;
	for (uint32_t i = 0; i < forest->nr && forest->latency; i++) {
		struct perch_row_latency *row = &latency->row[forest->row[i].nr];
		struct node_id at = { i };

		row->self += perch__forest_self(forest, forest->latency, at);
		if (forest->row[i].outermost)
			row->children += perch__forest_total(forest, forest->latency, at);
	}
	for (size_t i = 0; i < profile->nr_rows; i++)
		profile->row[i].latency = &latency->row[profile->row[i].index];
	return 0;
}

void perch__latency_skip(struct perch_profile *profile, unsigned event, uint64_t period)
{
	uint32_t parallelism = perch_processes_parallelism(profile->processes);

	if (parallelism)
		profile->event[event].skipped_latency += (double)period / parallelism;
}

uint64_t perch__latency_skipped(const struct perch_profile *profile, unsigned event)
{
	double sum = profile->event[event].skipped_latency * (double)(1u << profile->latency.shift);

	return sum < (double)INT64_MAX ? (uint64_t)sum : INT64_MAX;
}

void perch__latency_clear(struct perch_profile *profile)
{
	clear_counts(&profile->latency);
	free(profile->latency.row);
	perch__tuples_clear(&profile->latency.merged);
}
