/* SPDX-License-Identifier: MIT */
/*
 * Call chains: walking one, and completing samples whose user part is in a later record.
 *
 * Samples that wait for a CALLCHAIN_DEFERRED record are in one list by age and in one queue per
 * key, a pair of thread and cookie. Queues are in order of age too, so the oldest sample of all is
 * the first of its queue. A hash table finds the queue of a key.
 */
#include <stdlib.h>
#include "base/array.h"
#include "base/hash_table.h"
#include "internal.h"

/* ---- walking a call chain ---- */

static const struct {
	uint64_t marker;
	uint8_t cpumode;
} contexts[] = {
	{ PERCH_CONTEXT_HV, PERCH_MISC_HYPERVISOR },
	{ PERCH_CONTEXT_KERNEL, PERCH_MISC_KERNEL },
	{ PERCH_CONTEXT_USER, PERCH_MISC_USER },
	{ PERCH_CONTEXT_USER_DEFERRED, PERCH_MISC_USER },
	/* kernel or user space of the guest: the marker does not say which */
	{ PERCH_CONTEXT_GUEST, PERCH_MISC_CPUMODE_UNKNOWN },
	{ PERCH_CONTEXT_GUEST_KERNEL, PERCH_MISC_GUEST_KERNEL },
	{ PERCH_CONTEXT_GUEST_USER, PERCH_MISC_GUEST_USER },
};

/* Markers of newer kernels have an unknown cpumode. */
static uint8_t cpumode_of(uint64_t marker)
{
	for (size_t i = 0; i < PERCH__NR(contexts); i++) {
		if (contexts[i].marker == marker)
			return contexts[i].cpumode;
	}
	return PERCH_MISC_CPUMODE_UNKNOWN;
}

void perch_chain_init(struct perch_chain *chain, const struct perch_record *record)
{
	const uint64_t *ip = NULL;
	uint64_t nr = 0;

	if (record->type == PERCH_RECORD_SAMPLE) {
		ip = record->sample.callchain.ip;
		nr = record->sample.callchain.nr;
	} else if (record->type == PERCH_RECORD_CALLCHAIN_DEFERRED) {
		ip = record->deferred.ip;
		nr = record->deferred.nr;
	}
	*chain = (struct perch_chain){
		.at = ip,
		.end = nr ? ip + nr : ip,
		.swapped = nr && record->parse_info->swapped,
		.cpumode = record->misc & PERCH_MISC_CPUMODE_MASK,
	};
}

bool perch_chain_next(struct perch_chain *chain, struct perch_chain_address *address)
{
	while (chain->at < chain->end) {
		uint64_t word = perch__u64(chain->at++, chain->swapped);

		if (__builtin_expect(word < PERCH_CONTEXT_MAX, 1)) {
			*address = (struct perch_chain_address){ .ip = word,
								 .cpumode = chain->cpumode };
			return true;
		}
		chain->cpumode = cpumode_of(word);
		if (word != PERCH_CONTEXT_USER_DEFERRED || chain->at == chain->end)
			continue;
		/* the kernel writes one cookie; if there are several, the first one counts */
		if (!chain->deferred)
			chain->cookie = perch__u64(chain->at, chain->swapped);
		chain->deferred = true;
		chain->at++;
	}
	return false;
}

/* ---- samples with a deferred user call chain ---- */

#define DEFAULT_BYTES (16u << 20)
/* The words of two records: a merged chain cannot be longer. */
#define MAX_CHAIN_WORDS (2 * (UINT16_MAX / 8))

struct key {
	uint64_t cookie;
	uint64_t thread; /* the tid, or NO_THREAD */
};
#define NO_THREAD UINT64_MAX

struct waiting {
	struct waiting *next_in_queue;
	struct waiting *older, *newer;
	struct key key;
	uint64_t age; /* number of samples before it */
	const struct perch_parse_info *parse_info;
	uint64_t offset;
	uint16_t event;
	uint16_t size;
	_Alignas(8) unsigned char bytes[];
};

/* The waiting samples of one key, oldest first. A queue is never empty. */
struct queue {
	struct key key;
	struct waiting *first, *last;
};

struct perch_deferred {
	size_t max_bytes, used_bytes;
	uint64_t next_age;
	struct waiting *oldest, *newest;
	struct waiting *returned; /* used by the caller until the next call */
	struct perch__hash_table table;
	struct queue *queues; /* items of the table */
	size_t nr_queues, capacity;
	uint64_t chain[MAX_CHAIN_WORDS];
};

int perch_deferred_new(struct perch_deferred **result, size_t bytes, struct perch_error *err)
{
	struct perch_deferred *deferred = calloc(1, sizeof(*deferred));

	*result = deferred;
	if (!deferred)
		return perch_error_set(err, ENOMEM, PERCH_ERROR_NO_MEMORY,
				       "no memory to merge deferred call chains");
	deferred->max_bytes = bytes ? bytes : DEFAULT_BYTES;
	deferred->table.seed = perch__hash_seed(deferred);
	return 0;
}

void perch_deferred_free(struct perch_deferred *deferred)
{
	if (!deferred)
		return;
	while (deferred->oldest) {
		struct waiting *waiting = deferred->oldest;

		deferred->oldest = waiting->newer;
		free(waiting);
	}
	free(deferred->returned);
	free(deferred->queues);
	perch__hash_clear(&deferred->table);
	free(deferred);
}

static void free_returned(struct perch_deferred *deferred)
{
	free(deferred->returned);
	deferred->returned = NULL;
}

/* Records without a tid match each other, by the cookie only. */
static struct key key_of(const struct perch_record *record, uint64_t cookie)
{
	bool has_tid = record->sample_id.has & PERCH_SAMPLE_TID;

	return (struct key){ .cookie = cookie,
			     .thread = has_tid ? record->sample_id.tid : NO_THREAD };
}

static uint64_t hash_of(const struct perch_deferred *deferred, struct key key)
{
	return perch__hash_pair(deferred->table.seed, key.thread, key.cookie);
}

static bool same_key(const void *items, uint32_t index, const void *key)
{
	const struct key *one = &((const struct queue *)items)[index].key, *other = key;

	return one->cookie == other->cookie && one->thread == other->thread;
}

static struct queue *find_queue(const struct perch_deferred *deferred, struct key key)
{
	uint32_t index = perch__hash_find(&deferred->table, hash_of(deferred, key), same_key,
					  deferred->queues, &key);

	return index == PERCH__HASH_NONE ? NULL : &deferred->queues[index];
}

static struct queue *add_queue(struct perch_deferred *deferred, struct key key)
{
	struct queue *queue =
		PERCH__ARRAY_APPEND(deferred->queues, deferred->nr_queues, deferred->capacity);

	if (!queue)
		return NULL;
	queue->key = key;
	if (perch__hash_add(&deferred->table, hash_of(deferred, key), deferred->nr_queues - 1) <
	    0) {
		deferred->nr_queues--;
		return NULL;
	}
	return queue;
}

/* The last queue takes the index of the removed one. */
static void remove_queue(struct perch_deferred *deferred, struct queue *queue)
{
	size_t index = queue - deferred->queues, last = --deferred->nr_queues;

	perch__hash_remove(&deferred->table, hash_of(deferred, queue->key), index);
	if (index == last)
		return;
	*queue = deferred->queues[last];
	perch__hash_move(&deferred->table, hash_of(deferred, queue->key), last, index);
}

/* True if the user part of a sample's call chain is in a later record, with *cookie. */
static bool is_deferred(const struct perch_record *record, uint64_t *cookie)
{
	struct perch_chain_address address;
	struct perch_chain chain;

	if (record->type != PERCH_RECORD_SAMPLE || !record->sample.callchain.nr)
		return false;
	perch_chain_init(&chain, record);
	while (perch_chain_next(&chain, &address))
		;
	*cookie = chain.cookie;
	return chain.deferred;
}

static int append(struct perch_deferred *deferred, struct waiting *waiting)
{
	struct queue *queue = find_queue(deferred, waiting->key);

	if (!queue)
		queue = add_queue(deferred, waiting->key);
	if (!queue)
		return -ENOMEM;
	if (queue->last)
		queue->last->next_in_queue = waiting;
	else
		queue->first = waiting;
	queue->last = waiting;
	waiting->older = deferred->newest;
	if (deferred->newest)
		deferred->newest->newer = waiting;
	else
		deferred->oldest = waiting;
	deferred->newest = waiting;
	return 0;
}

int perch_deferred_hold(struct perch_deferred *deferred, const struct perch_record *record)
{
	size_t need = sizeof(struct waiting) + record->size;
	struct waiting *waiting;
	uint64_t cookie;

	free_returned(deferred);
	if (!is_deferred(record, &cookie))
		return 0;
	if (need > deferred->max_bytes - deferred->used_bytes)
		return -ENOSPC;
	waiting = malloc(need);
	if (!waiting)
		return -ENOSPC;
	*waiting = (struct waiting){
		.key = key_of(record, cookie),
		.age = deferred->next_age++,
		.parse_info = record->parse_info,
		.offset = record->offset,
		.event = record->event,
		.size = record->size,
	};
	memcpy(waiting->bytes, record->bytes, record->size);
	if (append(deferred, waiting) < 0) {
		free(waiting);
		return -ENOSPC;
	}
	deferred->used_bytes += need;
	return 1;
}

/* Removes the first sample of a queue. */
static struct waiting *take_first(struct perch_deferred *deferred, struct queue *queue)
{
	struct waiting *waiting = queue->first;

	queue->first = waiting->next_in_queue;
	if (!queue->first)
		remove_queue(deferred, queue);
	if (waiting->older)
		waiting->older->newer = waiting->newer;
	else
		deferred->oldest = waiting->newer;
	if (waiting->newer)
		waiting->newer->older = waiting->older;
	else
		deferred->newest = waiting->older;
	deferred->used_bytes -= sizeof(*waiting) + waiting->size;
	return waiting;
}

/*
 * Returns the oldest sample with the record's cookie, of its thread or without a tid; NULL if none.
 */
static struct waiting *take_match(struct perch_deferred *deferred,
				  const struct perch_record *callchain_deferred)
{
	struct key key = key_of(callchain_deferred, callchain_deferred->deferred.cookie);
	struct queue *queue = find_queue(deferred, key), *without_tid;

	key.thread = NO_THREAD;
	without_tid = find_queue(deferred, key);
	if (!queue || (without_tid && without_tid->first->age < queue->first->age))
		queue = without_tid;
	return queue ? take_first(deferred, queue) : NULL;
}

/* Copies words in the byte order of `record`, which may differ from that of `from`. */
static uint64_t *copy_words(uint64_t *to, const struct perch_record *record,
			    const struct perch_record *from, const uint64_t *words, uint64_t nr)
{
	for (uint64_t i = 0; i < nr; i++)
		*to++ = perch__u64(words + i,
				   record->parse_info->swapped != from->parse_info->swapped);
	return to;
}

/* Replaces the marker and the cookie of the sample's chain by the deferred chain. */
static void merge_chain(struct perch_deferred *deferred, struct perch_record *record,
			const struct perch_record *callchain_deferred)
{
	const uint64_t *ip = record->sample.callchain.ip;
	uint64_t nr = record->sample.callchain.nr, at = 0;
	uint64_t *to = deferred->chain;

	while (at < nr && perch_word(record, ip + at) != PERCH_CONTEXT_USER_DEFERRED)
		at++;
	to = copy_words(to, record, record, ip, at);
	to = copy_words(to, record, callchain_deferred, callchain_deferred->deferred.ip,
			callchain_deferred->deferred.nr);
	if (nr - at > 2)
		to = copy_words(to, record, record, ip + at + 2, nr - at - 2);
	record->sample.callchain.ip = deferred->chain;
	record->sample.callchain.nr = to - deferred->chain;
}

int perch_deferred_next(struct perch_deferred *deferred,
			const struct perch_record *callchain_deferred, struct perch_record *record)
{
	struct waiting *waiting = NULL;

	free_returned(deferred);
	if (callchain_deferred && callchain_deferred->type != PERCH_RECORD_CALLCHAIN_DEFERRED)
		return 0;
	if (callchain_deferred)
		waiting = take_match(deferred, callchain_deferred);
	else if (deferred->oldest)
		waiting = take_first(deferred, find_queue(deferred, deferred->oldest->key));
	if (!waiting)
		return 0;
	deferred->returned = waiting;
	/* cannot fail: the same bytes were decoded before with the same parse info */
	perch_record_decode(record, waiting->parse_info, waiting->bytes, waiting->size, NULL);
	record->event = waiting->event;
	record->offset = waiting->offset;
	if (callchain_deferred)
		merge_chain(deferred, record, callchain_deferred);
	return 1;
}
