/* SPDX-License-Identifier: MIT */
/*
 * Samples whose user callchain comes later, kept until it does. Each is found by thread and cookie
 * in a table of lists; all are on one list by age. A list of the table is in order of age as well,
 * so that the oldest sample of all is always the first of its list. Cookies and threads come from
 * files that anyone may have made: the table's hash has a seed.
 */
#include <stdlib.h>
#include "base/hash_table.h"
#include "internal.h"

#define DEFAULT_BYTES  (16u << 20)
#define BYTES_PER_LIST 1024u
#define MOST_LISTS     (1u << 16)
/* No more words than two records have room for. */
#define MOST_CHAIN_WORDS (2 * (UINT16_MAX / 8))

struct key {
	uint64_t cookie;
	uint64_t thread; /* NO_THREAD, or the tid */
};
#define NO_THREAD UINT64_MAX

struct held {
	struct held *next_in_list;
	struct held *older, *newer;
	struct key key;
	uint64_t age; /* numbers from 0 on, the oldest first */
	const struct perch_parse_info *parse_info;
	uint64_t offset;
	uint16_t event;
	uint16_t size;
	_Alignas(8) unsigned char bytes[];
};

struct list {
	struct held *first, *last;
};

struct perch_deferred {
	size_t most, used;
	uint64_t seed, next_age;
	struct held *oldest, *newest;
	struct held *given; /* what the caller has from us until the next call */
	size_t mask;
	struct list *lists;
	uint64_t chain[MOST_CHAIN_WORDS];
};

int perch_deferred_new(struct perch_deferred **result, size_t bytes, struct perch_error *err)
{
	struct perch_deferred *deferred = calloc(1, sizeof(*deferred));
	size_t lists = 16;

	*result = NULL;
	if (!deferred)
		return perch_error_set(err, ENOMEM, PERCH_ERROR_NO_MEMORY,
				       "no memory for a stitcher of callchains");
	deferred->most = bytes ? bytes : DEFAULT_BYTES;
	while (lists < MOST_LISTS && lists < deferred->most / BYTES_PER_LIST)
		lists *= 2;
	deferred->mask = lists - 1;
	deferred->seed = perch__hash_seed(deferred);
	deferred->lists = calloc(lists, sizeof(*deferred->lists));
	if (!deferred->lists) {
		free(deferred);
		return perch_error_set(err, ENOMEM, PERCH_ERROR_NO_MEMORY,
				       "no memory for a stitcher of callchains");
	}
	*result = deferred;
	return 0;
}

void perch_deferred_free(struct perch_deferred *deferred)
{
	if (!deferred)
		return;
	while (deferred->oldest) {
		struct held *held = deferred->oldest;

		deferred->oldest = held->newer;
		free(held);
	}
	free(deferred->given);
	free(deferred->lists);
	free(deferred);
}

static void forget_given(struct perch_deferred *deferred)
{
	free(deferred->given);
	deferred->given = NULL;
}

static struct list *list_of(const struct perch_deferred *deferred, struct key key)
{
	uint64_t hash = perch__hash_pair(deferred->seed, key.thread, key.cookie);

	return &deferred->lists[hash & deferred->mask];
}

/* A record that does not tell its thread is matched by the cookie alone, with others that do not.
 */
static struct key key_of(const struct perch_record *record, uint64_t cookie)
{
	bool told = record->sample_id.has & PERCH_SAMPLE_TID;

	return (struct key){ .cookie = cookie, .thread = told ? record->sample_id.tid : NO_THREAD };
}

static bool waits_for(const struct perch_record *record, uint64_t *cookie)
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

static void append(struct perch_deferred *deferred, struct held *held)
{
	struct list *list = list_of(deferred, held->key);

	held->next_in_list = NULL;
	if (list->last)
		list->last->next_in_list = held;
	else
		list->first = held;
	list->last = held;
	held->newer = NULL;
	held->older = deferred->newest;
	if (deferred->newest)
		deferred->newest->newer = held;
	else
		deferred->oldest = held;
	deferred->newest = held;
}

int perch_deferred_hold(struct perch_deferred *deferred, const struct perch_record *record)
{
	size_t need = sizeof(struct held) + record->size;
	struct held *held;
	uint64_t cookie;

	forget_given(deferred);
	if (!waits_for(record, &cookie))
		return 0;
	if (need > deferred->most - deferred->used)
		return -ENOSPC;
	held = malloc(need);
	if (!held)
		return -ENOSPC;
	*held = (struct held){
		.key = key_of(record, cookie),
		.age = deferred->next_age++,
		.parse_info = record->parse_info,
		.offset = record->offset,
		.event = record->event,
		.size = record->size,
	};
	memcpy(held->bytes, record->bytes, record->size);
	append(deferred, held);
	deferred->used += need;
	return 1;
}

/* Takes the one behind `before` (NULL: the first) out of its list. */
static void take_out(struct perch_deferred *deferred, struct held *before, struct held *held)
{
	struct list *list = list_of(deferred, held->key);

	if (before)
		before->next_in_list = held->next_in_list;
	else
		list->first = held->next_in_list;
	if (list->last == held)
		list->last = before;
	if (held->older)
		held->older->newer = held->newer;
	else
		deferred->oldest = held->newer;
	if (held->newer)
		held->newer->older = held->older;
	else
		deferred->newest = held->older;
	deferred->used -= sizeof(*held) + held->size;
}

static struct held *find(const struct perch_deferred *deferred, struct key key,
			 struct held **before)
{
	struct held *held = list_of(deferred, key)->first;

	*before = NULL;
	while (held && (held->key.cookie != key.cookie || held->key.thread != key.thread)) {
		*before = held;
		held = held->next_in_list;
	}
	return held;
}

/* The oldest of those of its thread and those of no thread. */
static struct held *take_match(struct perch_deferred *deferred,
			       const struct perch_record *callchain_deferred)
{
	struct key key = key_of(callchain_deferred, callchain_deferred->deferred.cookie);
	struct key anyone = { .cookie = key.cookie, .thread = NO_THREAD };
	struct held *before, *before_other;
	struct held *held = find(deferred, key, &before);
	struct held *other = key.thread == NO_THREAD ? NULL : find(deferred, anyone, &before_other);

	if (other && (!held || other->age < held->age)) {
		held = other;
		before = before_other;
	}
	if (held)
		take_out(deferred, before, held);
	return held;
}

/* Words are put down as `record` has them, whose order of bytes may be another than that of `from`.
 */
static uint64_t *copy_words(uint64_t *to, const struct perch_record *record,
			    const struct perch_record *from, const uint64_t *words, uint64_t nr)
{
	for (uint64_t i = 0; i < nr; i++)
		*to++ = perch__u64(words + i,
				   record->parse_info->swapped != from->parse_info->swapped);
	return to;
}

/* The sample's chain with the marker and its cookie replaced by what the deferred record has. */
static void stitch(struct perch_deferred *deferred, struct perch_record *record,
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
	struct held *held = deferred->oldest;

	forget_given(deferred);
	if (callchain_deferred && callchain_deferred->type != PERCH_RECORD_CALLCHAIN_DEFERRED)
		return 0;
	if (callchain_deferred)
		held = take_match(deferred, callchain_deferred);
	else if (held)
		take_out(deferred, NULL, held);
	if (!held)
		return 0;
	deferred->given = held;
	/* It was decoded once, from the same bytes by the same layout: it cannot fail now. */
	perch_record_decode(record, held->parse_info, held->bytes, held->size, NULL);
	record->event = held->event;
	record->offset = held->offset;
	if (callchain_deferred)
		stitch(deferred, record, callchain_deferred);
	return 1;
}
