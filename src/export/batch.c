/* SPDX-License-Identifier: MIT */
/*
 * The stack and the entry of samples, many at a time: lookups of different samples do not wait for
 * each other's memory. If there are many samples and the program allows it, a thread adds them up,
 * in their order, while the program reads the next ones.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/batch_thread.h"
#include "base/chain_levels.h"
#include "states.h"

_Static_assert(PERCH_MAX_CALL_CHAIN <= PERCH__MAX_LEVELS, "a chain has at most this many levels");

#define SAMPLES	  256
#define ADDRESSES (8 * SAMPLES)
#define FEW	  4 /* batches that are added up before the thread starts */
#define BATCHES	  8 /* that wait for the thread */

struct waiting_sample {
	uint64_t period, time;
	uint32_t thread, event, state;
	uint32_t cpu;
	uint32_t nr; /* addresses */
};

struct export_batch {
	size_t nr, nr_addresses;
	size_t first; /* with times: the index of the first occurrence */
	struct waiting_sample sample[SAMPLES];
	/* of all samples, one after the other, each innermost first: numbers, or with .add_chain
	 * their positions until they are known */
	uint32_t chain[ADDRESSES + PERCH_MAX_CALL_CHAIN];
};

struct export_batches {
	struct export_batch *batch; /* takes samples */
	bool failed;		    /* -ENOMEM: samples are lost, so the export is */
	size_t nr_skipped; /* addresses of samples that are not added, which have positions, too */
	unsigned nr_added_up;		    /* batches, before the thread starts */
	struct perch__batch_thread *thread; /* NULL: the caller adds up */
	/*
	 * The members below, and stacks, entries and occurrences of the export, belong to the
	 * thread until perch__export_batches_end().
	 */
	/* the stack of the sample before, outermost first: most samples share their outer callers
	 * with it */
	uint32_t last_chain[PERCH_MAX_CALL_CHAIN], last_stack[PERCH_MAX_CALL_CHAIN];
	size_t nr_last;
	int rc; /* the first error: its batch is lost, so each later one fails, too */
};

/* Samples whose stacks are looked up together. */
struct batch_group {
	struct perch_export *export;
	const struct waiting_sample *sample; /* the first one */
	struct perch__chain_part part[PERCH__CHAINS];
	const uint32_t *chain[PERCH__CHAINS];
	uint32_t stack[PERCH__CHAINS]; /* of the level before, and then of the sample */
	uint64_t hash[PERCH__CHAINS];
};

/* ---- stacks ---- */

static bool same_node(const void *nodes, uint32_t index, const void *key)
{
	const struct stack_node *node = (const struct stack_node *)nodes + index, *wanted = key;

	return node->parent == wanted->parent && node->address == wanted->address;
}

/* Returns the index of a stack node. There is space for a new one. */
static uint32_t find_node(struct perch_export *export, const struct stack_node *node, uint64_t hash)
{
	uint32_t found = perch__hash_find(&export->stacks, hash, same_node, export->stack, node);

	if (found != PERCH__HASH_NONE)
		return found;
	perch__hash_add(&export->stacks, hash, export->nr_stacks);
	export->stack[export->nr_stacks] = *node;
	return (uint32_t) export->nr_stacks++;
}

static struct stack_node node_of(const struct batch_group *group, size_t i, size_t level)
{
	return (struct stack_node){
		.parent = group->stack[i],
		.address = group->chain[i][group->part[i].nr - 1 - level],
		.entry = NO_INDEX,
	};
}

static void find_level(void *context, size_t level, uint64_t chains, uint64_t shared)
{
	struct batch_group *group = context;
	struct perch_export *export = group->export;

	PERCH__FOR_EACH_BIT(i, chains & ~shared)
	{
		struct stack_node node = node_of(group, i, level);

		group->hash[i] = perch__hash_pair(export->stacks.seed, node.parent, node.address);
		perch__hash_prefetch(&export->stacks, group->hash[i]);
	}
	PERCH__FOR_EACH_BIT(i, chains & ~shared)
	{
		uint32_t guess = perch__hash_peek(&export->stacks, group->hash[i]);

		if (guess != PERCH__HASH_NONE)
			__builtin_prefetch(&export->stack[guess], 1);
	}
	PERCH__FOR_EACH_BIT(i, chains)
	{
		uint32_t *stack = &export->batches->last_stack[level];

		if (!(shared >> i & 1)) {
			const struct stack_node node = node_of(group, i, level);

			*stack = find_node(export, &node, group->hash[i]);
		}
		group->stack[i] = *stack;
	}
}

/* Returns how many outer addresses of a chain the last one has, and makes it the last one. */
static size_t update_last(struct export_batches *batches, const uint32_t *chain, size_t nr)
{
	size_t shared = 0;

	while (shared < nr && shared < batches->nr_last &&
	       batches->last_chain[shared] == chain[nr - 1 - shared])
		shared++;
	for (size_t depth = shared; depth < nr; depth++)
		batches->last_chain[depth] = chain[nr - 1 - depth];
	batches->nr_last = nr;
	return shared;
}

/* ---- entries ---- */

static bool same_entry(const void *entries, uint32_t index, const void *key)
{
	const struct export_entry *entry = (const struct export_entry *)entries + index,
				  *wanted = key;

	return entry->stack == wanted->stack && entry->thread == wanted->thread &&
	       entry->event == wanted->event && entry->state == wanted->state;
}

/* Adds an entry without samples. Returns its index, or NO_INDEX if out of memory. */
static uint32_t add_entry(struct perch_export *export, const struct export_entry *entry)
{
	if (export->nr_entries > PERCH__HASH_MAX ||
	    PERCH__ARRAY_RESERVE_BY_NR(export->entry, export->nr_entries, 1))
		return NO_INDEX;
	export->entry[export->nr_entries] = *entry;
	return (uint32_t) export->nr_entries++;
}

/* Returns the entry with the thread, event and state of another one, by hash; NULL if out of
 * memory. */
static struct export_entry *find_other(struct perch_export *export,
				       const struct export_entry *wanted)
{
	uint64_t hash = perch__hash_pair(perch__hash_integer(export->entries.seed, wanted->stack),
					 wanted->thread,
					 (uint64_t)wanted->state << 32 | wanted->event);
	uint32_t found =
		perch__hash_find(&export->entries, hash, same_entry, export->entry, wanted);

	if (found != PERCH__HASH_NONE)
		return &export->entry[found];
	found = add_entry(export, wanted);
	if (found == NO_INDEX || perch__hash_add(&export->entries, hash, found))
		return NULL;
	return &export->entry[found];
}

/*
 * Returns the samples of a stack, thread and event; NULL if out of memory. Most stacks have one
 * entry, which needs no lookup.
 */
static struct export_entry *find_entry(struct perch_export *export,
				       const struct export_entry *wanted)
{
	uint32_t *first;

	if (wanted->stack == NO_INDEX)
		return find_other(export, wanted);
	first = &export->stack[wanted->stack].entry;
	if (*first == NO_INDEX)
		*first = add_entry(export, wanted);
	if (*first == NO_INDEX)
		return NULL;
	return same_entry(export->entry, *first, wanted) ? &export->entry[*first]
							 : find_other(export, wanted);
}

/* ---- groups ---- */

static void find_stacks(struct batch_group *group, const uint32_t *chain, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		uint32_t length = group->sample[i].nr;

		group->chain[i] = chain;
		group->stack[i] = NO_INDEX;
		group->part[i] = (struct perch__chain_part){
			(uint32_t)update_last(group->export->batches, chain, length), length
		};
		chain += length;
	}
	perch__walk_levels(group->part, nr, find_level, group);
}

/* occurrence: of the first sample; NULL: the format has none. Returns 0 or -ENOMEM. */
static int add_to_entries(const struct batch_group *group, size_t nr, struct occurrence *occurrence)
{
	struct perch_export *export = group->export;

	for (size_t i = 0; i < nr; i++) {
		uint32_t stack = group->stack[i];

		if (stack != NO_INDEX && export->stack[stack].entry != NO_INDEX)
			__builtin_prefetch(&export->entry[export->stack[stack].entry], 1);
	}
	for (size_t i = 0; i < nr; i++) {
		const struct waiting_sample *sample = &group->sample[i];
		const struct export_entry wanted = { .stack = group->stack[i],
						     .thread = sample->thread,
						     .event = sample->event,
						     .state = sample->state };
		struct export_entry *entry = find_entry(export, &wanted);

		if (!entry)
			return -ENOMEM;
		entry->samples++;
		entry->period += sample->period;
		if (occurrence)
			occurrence[i] = (struct occurrence){
				.time = sample->time,
				.period = sample->period,
				.entry = (uint32_t)(entry - export->entry),
				.cpu = sample->cpu,
			};
	}
	return 0;
}

/* ---- batches ---- */

/* Makes space for all addresses and samples of a batch. Returns 0 or -ENOMEM. */
static int reserve_batch(struct perch_export *export, const struct export_batch *batch)
{
	size_t nr_stacks = export->nr_stacks + batch->nr_addresses;

	if (nr_stacks > PERCH__HASH_MAX ||
	    PERCH__ARRAY_RESERVE_BY_NR(export->stack, export->nr_stacks, batch->nr_addresses) ||
	    perch__hash_reserve(&export->stacks, nr_stacks))
		return -ENOMEM;
	return perch__export_has_times(export)
		       ? PERCH__ARRAY_RESERVE_BY_NR(export->occurrence, batch->first, batch->nr)
		       : 0;
}

/* The job of the thread. Adds up the samples of a batch, and empties it. */
static int add_up(void *context, void *passed)
{
	struct perch_export *export = context;
	struct export_batch *batch = passed;
	const uint32_t *chain = batch->chain;
	int rc = export->batches->rc ? export->batches->rc : reserve_batch(export, batch);

	for (size_t at = 0; at < batch->nr && !rc; at += PERCH__CHAINS) {
		size_t nr = batch->nr - at < PERCH__CHAINS ? batch->nr - at : PERCH__CHAINS;
		struct batch_group group = { .export = export, .sample = &batch->sample[at] };

		find_stacks(&group, chain, nr);
		rc = add_to_entries(&group, nr,
				    perch__export_has_times(export)
					    ? export->occurrence + batch->first + at
					    : NULL);
		for (size_t i = 0; i < nr; i++)
			chain += group.sample[i].nr;
	}
	batch->nr = batch->nr_addresses = 0;
	export->batches->rc = rc;
	return rc;
}

/* Numbers the waiting addresses. Returns 0 or -ENOMEM. */
static int number_addresses(struct perch_export *export, struct export_batch *batch)
{
	const uint32_t *numbers;

	if (perch_session_number_chains(export->session, &numbers, NULL))
		return -ENOMEM;
	for (size_t i = 0; i < batch->nr_addresses; i++)
		batch->chain[i] = numbers[batch->chain[i]];
	return 0;
}

/* Of addresses outside of all mappings that follow each other, a page has only the innermost one:
 * they are no callers, but what an unwinder read after it lost its way. */
static void merge_unknown(struct perch_export *export, struct export_batch *batch)
{
	const uint32_t *from = batch->chain;
	uint32_t *to = batch->chain;

	for (size_t i = 0; i < batch->nr; i++) {
		const uint32_t *end = from + batch->sample[i].nr, *first = to;
		bool before = false;

		for (; from < end; from++) {
			const struct perch_address *address =
				perch_session_address(export->session, *from);
			bool unknown = !perch_dso_is(address->dso, PERCH_DSO_IS_MAPPED);

			if (!unknown || !before)
				*to++ = *from;
			before = unknown;
		}
		batch->sample[i].nr = (uint32_t)(to - first);
	}
	batch->nr_addresses = (size_t)(to - batch->chain);
}

/* Adds up the batch, or passes it to the thread. Returns 0 or -ENOMEM. */
static int pass_batch(struct perch_export *export)
{
	struct export_batches *batches = export->batches;
	void *batch = batches->batch;
	int rc;

	if (export->options.threads && !batches->thread && batches->nr_added_up++ == FEW)
		batches->thread = perch__batch_thread_new(
			&(struct perch__batch_job){ .run = add_up,
						    .context = export,
						    .batch_size = sizeof(struct export_batch),
						    .nr_batches = BATCHES });
	if (!batches->thread)
		return add_up(export, batch);
	rc = perch__batch_thread_pass(batches->thread, &batch);
	batches->batch = batch;
	return rc;
}

/* Returns 0 or -ENOMEM; then it fails again. */
static int end_batch(struct perch_export *export)
{
	struct export_batches *batches = export->batches;
	struct export_batch *batch = batches->batch;

	if (batches->failed)
		return -ENOMEM;
	batches->failed = true;
	if (export->options.add_chain && (batch->nr || batches->nr_skipped) &&
	    number_addresses(export, batch))
		return -ENOMEM;
	batches->nr_skipped = 0;
	if (export->format->methods->flags & EXPORT_MERGED)
		merge_unknown(export, batch);
	batch->first = export->nr_occurrences - (perch__export_has_times(export) ? batch->nr : 0);
	if (batch->nr && pass_batch(export))
		return -ENOMEM;
	batches->failed = false;
	return 0;
}

int perch__export_batches_end(struct perch_export *export)
{
	struct export_batches *batches = export->batches;
	int rc = end_batch(export);

	if (batches->thread && !rc)
		rc = perch__batch_thread_wait(batches->thread);
	perch__batch_thread_free(batches->thread);
	batches->thread = NULL;
	batches->nr_added_up = 0;
	batches->failed |= rc < 0;
	return rc;
}

struct export_batches *perch__export_batches_new(void)
{
	struct export_batches *batches = calloc(1, sizeof(*batches));

	if (!batches)
		return NULL;
	batches->batch = calloc(1, sizeof(*batches->batch));
	if (batches->batch)
		return batches;
	free(batches);
	return NULL;
}

bool perch__export_batches_are_forked(const struct export_batches *batches)
{
	return perch__batch_thread_is_forked(batches->thread);
}

bool perch__export_batches_free(struct export_batches *batches)
{
	bool is_forked = perch__export_batches_are_forked(batches);

	perch__batch_thread_free(batches->thread);
	free(batches->batch);
	free(batches);
	return is_forked;
}

static int end_if_full(struct perch_export *export)
{
	const struct export_batch *batch = export->batches->batch;

	return batch->nr == SAMPLES || batch->nr_addresses >= ADDRESSES ||
			       export->batches->nr_skipped >= ADDRESSES
		       ? end_batch(export)
		       : 0;
}

/* The state of the thread during the time of a sample. */
static uint32_t state_of(const struct perch_export *export, const struct perch_record *record)
{
	struct perch_off_cpu off_cpu;

	if (!(export->format->methods->flags & EXPORT_MERGED) ||
	    !perch_session_off_cpu(export->session, record, &off_cpu))
		return EXPORT_RUNNING;
	return perch__states_of_off_cpu(off_cpu.state);
}

int perch__export_batches_add(struct perch_export *export,
			      const struct perch_session_sample *sample, uint32_t thread)
{
	size_t nr = sample->nr < PERCH_MAX_CALL_CHAIN ? sample->nr : PERCH_MAX_CALL_CHAIN;
	const struct perch_sample *values = &sample->record->sample;
	uint64_t type = sample->event->attr.sample_type;
	struct export_batch *batch = export->batches->batch;

	if (export->batches->failed)
		return -ENOMEM;
	batch->sample[batch->nr++] = (struct waiting_sample){
		.period = values->period,
		.time = type & PERCH_SAMPLE_TIME ? values->time : 0,
		.thread = thread,
		.event = export->event[sample->record->event].leader,
		.state = state_of(export, sample->record),
		.cpu = type & PERCH_SAMPLE_CPU ? values->cpu : NO_INDEX,
		.nr = (uint32_t)nr,
	};
	memcpy(batch->chain + batch->nr_addresses, sample->chain, nr * sizeof(*sample->chain));
	batch->nr_addresses += nr;
	export->nr_occurrences += perch__export_has_times(export);
	return end_if_full(export);
}

int perch__export_batches_skip(struct perch_export *export,
			       const struct perch_session_sample *sample)
{
	if (export->batches->failed)
		return -ENOMEM;
	export->batches->nr_skipped += sample->nr;
	return end_if_full(export);
}
