/* SPDX-License-Identifier: MIT */
/*
 * Threads that count batches. A single one counts in the profile. Each of several has addresses and
 * stacks of its own, and gets every n-th batch. The merge goes through all batches in their order:
 * it adds what each had as the first one of its thread. So addresses and stacks get the numbers
 * that they have without threads. Threads without batches read ahead.
 */
#include "base/batch_thread.h"
#include "file/ahead.h"
#include "profile/internal.h"

#define BATCHES 4 /* that wait for a thread */

/* A thread, and what it has counted since the last merge. */
struct counter {
	struct perch_profile *profile;
	struct perch__batch_thread *thread;
	struct key_set keys; /* struct address_key */
	struct tree stacks;
	struct last_stack *last_stack; /* only .number */
	/* by batch: the numbers of addresses and stacks before it; and one more in the merge */
	struct counted {
		size_t addresses, stacks;
	} * before;
	size_t nr_batches, batches_capacity;
	/* in the merge: the numbers in the profile */
	uint32_t *address;
	struct node_id *stack;
};

struct counters {
	struct perch_profile *profile;
	size_t nr, next;
	struct counter counter[];
};

/* ---- the work of a thread ---- */

static int count_in_profile(void *context, void *batch)
{
	struct counter *counter = context;

	return perch__batch_count(counter->profile, batch);
}

static struct counted numbers_so_far(const struct counter *counter)
{
	return (struct counted){ counter->keys.nr, counter->stacks.nr };
}

static int count_separately(void *context, void *passed)
{
	struct counter *counter = context;
	struct batch *batch = passed;

	if (perch__key_set_reserve(&counter->keys, batch->nr_keys) ||
	    perch__tree_reserve(&counter->stacks, batch->nr_keys, batch->nr) ||
	    PERCH__ARRAY_RESERVE(counter->before, counter->batches_capacity,
				 counter->nr_batches + 2))
		return -ENOMEM;
	counter->before[counter->nr_batches++] = numbers_so_far(counter);
	perch__batch_resolve(batch);
	perch__key_set_add_all(&counter->keys, &batch->key->word, batch->nr_keys, batch->number);
	perch__stacks_add(&counter->stacks, counter->last_stack, batch);
	batch->nr = batch->nr_keys = 0;
	return 0;
}

static bool read_ahead(void *context)
{
	const struct counter *counter = context;

	return perch__reader_read_ahead(counter->profile->reader);
}

/* ---- the merge ---- */

#define AHEAD 8

static struct above merged_above(const struct counter *counter, const struct node *stack)
{
	return perch__is_root(stack->above) ? stack->above
					    : perch__below_node(counter->stack[stack->above.nr]);
}

/* Loads the memory for a stack, if the one above it is merged. */
static void prefetch_merge(const struct tree *to, const struct counter *counter, size_t nr_merged,
			   const struct node *stack)
{
	if (perch__is_root(stack->above) || stack->above.nr < nr_merged)
		perch__tree_prefetch(to, merged_above(counter, stack),
				     counter->address[stack->key]);
}

static int merge_stacks(struct tree *to, struct counter *counter, size_t from, size_t end)
{
	const struct node *stack = counter->stacks.node;

	for (size_t i = from; i < end; i++) {
		if (i + AHEAD < end)
			prefetch_merge(to, counter, i, &stack[i + AHEAD]);
		counter->stack[i] = perch__tree_child(to, merged_above(counter, &stack[i]),
						      counter->address[stack[i].key]);
		if (counter->stack[i].nr == NO_NUMBER)
			return -ENOMEM;
	}
	return 0;
}

/* Adds the addresses and stacks of a batch. Addresses and stacks that the profile has stay as they
 * are. */
static int merge_batch(struct perch_profile *profile, struct counter *counter, size_t batch)
{
	const struct counted from = counter->before[batch], end = counter->before[batch + 1];
	size_t nr = end.addresses - from.addresses;

	if (perch__addresses_reserve(profile->addresses, nr))
		return -ENOMEM;
	perch__addresses_number(profile->addresses, counter->keys.key + from.addresses, nr,
				counter->address + from.addresses);
	return merge_stacks(&profile->stacks, counter, from.stacks, end.stacks);
}

static int start_merge(struct counter *counter)
{
	counter->address = malloc((counter->keys.nr + 1) * sizeof(*counter->address));
	counter->stack = malloc((counter->stacks.nr + 1) * sizeof(*counter->stack));
	if (!counter->address || !counter->stack)
		return -ENOMEM;
	if (counter->nr_batches)
		counter->before[counter->nr_batches] = numbers_so_far(counter);
	return 0;
}

static void end_merge(struct counter *counter)
{
	free(counter->address);
	free(counter->stack);
	counter->address = NULL;
	counter->stack = NULL;
}

/* Adds the samples of all stacks. There must be space. */
static void merge_counts(struct tree *to, const struct counter *counter)
{
	const struct tree *stacks = &counter->stacks;

	for (size_t i = 0; i < stacks->nr; i++) {
		const struct node *stack = &stacks->node[i];

		if (stack->count != NO_NUMBER)
			perch__tree_count(to, counter->stack[i], stacks->count[stack->count].period,
					  stacks->count[stack->count].samples);
	}
}

static void clear_counts(struct counter *counter)
{
	perch__key_set_clear(&counter->keys);
	perch__tree_clear(&counter->stacks);
	counter->nr_batches = 0;
}

/* After -ENOMEM the counters keep what they have, and it can be merged again. */
static int merge_counters(struct counters *counters)
{
	struct perch_profile *profile = counters->profile;
	size_t nr_counts = 0;
	int rc = 0;

	for (size_t i = 0; i < counters->nr && !rc; i++) {
		rc = start_merge(&counters->counter[i]);
		nr_counts += counters->counter[i].stacks.nr_counts;
	}
	for (size_t batch = 0; !rc; batch++) {
		struct counter *counter = &counters->counter[batch % counters->nr];

		if (batch / counters->nr == counter->nr_batches)
			break;
		rc = merge_batch(profile, counter, batch / counters->nr);
	}
	if (!rc)
		rc = perch__tree_reserve(&profile->stacks, 0, nr_counts);
	for (size_t i = 0; i < counters->nr && !rc; i++)
		merge_counts(&profile->stacks, &counters->counter[i]);
	for (size_t i = 0; i < counters->nr; i++) {
		end_merge(&counters->counter[i]);
		if (!rc)
			clear_counts(&counters->counter[i]);
	}
	if (!rc)
		counters->next = 0;
	return rc;
}

/* ---- the threads ---- */

static bool start_counter(struct counter *counter, bool separately)
{
	if (separately) {
		counter->last_stack = calloc(LAST_STACKS, sizeof(*counter->last_stack));
		if (!counter->last_stack)
			return false;
	}
	counter->thread = perch__batch_thread_new(&(struct perch__batch_job){
		.run = separately ? count_separately : count_in_profile,
		.idle = counter->profile->reads_ahead ? read_ahead : NULL,
		.context = counter,
		.batch_size = sizeof(struct batch),
		.nr_batches = BATCHES,
		.free = perch__batch_free,
	});
	return counter->thread;
}

struct counters *perch__counters_new(struct perch_profile *profile, size_t nr)
{
	struct counters *counters = calloc(1, sizeof(*counters) + nr * sizeof(*counters->counter));

	if (!counters)
		return NULL;
	counters->profile = profile;
	while (counters->nr < nr) {
		struct counter *counter = &counters->counter[counters->nr++];

		counter->profile = profile;
		if (!start_counter(counter, nr > 1)) {
			perch__counters_free(counters);
			return NULL;
		}
	}
	return counters;
}

int perch__counters_pass(struct counters *counters)
{
	void *batch = counters->profile->batch;
	int rc = perch__batch_thread_pass(counters->counter[counters->next].thread, &batch);

	counters->profile->batch = batch;
	if (rc)
		return rc;
	perch__batch_drop_mappings(batch);
	counters->next = (counters->next + 1) % counters->nr;
	return 0;
}

int perch__counters_wait(struct counters *counters)
{
	int rc = 0;

	for (size_t i = 0; i < counters->nr && !rc; i++)
		rc = perch__batch_thread_wait(counters->counter[i].thread);
	return rc || counters->nr == 1 ? rc : merge_counters(counters);
}

bool perch__counters_are_forked(const struct counters *counters)
{
	return counters && perch__batch_thread_is_forked(counters->counter[0].thread);
}

void perch__counters_free(struct counters *counters)
{
	/* what a thread may have been changing stays allocated: its pointers may be those of
	 * memory that is free */
	bool are_forked = perch__counters_are_forked(counters);

	for (size_t i = 0; counters && i < counters->nr; i++) {
		struct counter *counter = &counters->counter[i];

		perch__batch_thread_free(counter->thread);
		free(counter->last_stack);
		if (are_forked)
			continue;
		clear_counts(counter);
		free(counter->before);
	}
	free(counters);
}
