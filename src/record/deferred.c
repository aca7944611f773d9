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
#define MAX_CHAIN_WORDS (2 * (UINT16_MAX / 8))

struct key {
	uint64_t cookie;
	uint64_t thread; /* NO_THREAD, or the tid */
};
#define NO_THREAD UINT64_MAX

struct waiting {
	struct waiting *next_in_list;
	struct waiting *older, *newer;
	struct key key;
	uint64_t age; /* numbers from 0 on, the oldest first */
	const struct perch_parse_info *parse_info;
	uint64_t offset;
	uint16_t event;
	uint16_t size;
	_Alignas(8) unsigned char bytes[];
};

struct list {
	struct waiting *first, *last;
};

struct perch_deferred {
	size_t most, used;
	uint64_t seed, next_age;
	struct waiting *oldest, *newest;
	struct waiting *returned; /* what the caller has from us until the next call */
	size_t mask;
	struct list *lists;
	uint64_t chain[MAX_CHAIN_WORDS];
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
		struct waiting *waiting = deferred->oldest;

		deferred->oldest = waiting->newer;
		free(waiting);
	}
	free(deferred->returned);
	free(deferred->lists);
	free(deferred);
}

static void free_returned(struct perch_deferred *deferred)
{
	free(deferred->returned);
	deferred->returned = NULL;
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
	bool has_tid = record->sample_id.has & PERCH_SAMPLE_TID;

	return (struct key){ .cookie = cookie,
			     .thread = has_tid ? record->sample_id.tid : NO_THREAD };
}

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

static void append(struct perch_deferred *deferred, struct waiting *waiting)
{
	struct list *list = list_of(deferred, waiting->key);

	waiting->next_in_list = NULL;
	if (list->last)
		list->last->next_in_list = waiting;
	else
		list->first = waiting;
	list->last = waiting;
	waiting->newer = NULL;
	waiting->older = deferred->newest;
	if (deferred->newest)
		deferred->newest->newer = waiting;
	else
		deferred->oldest = waiting;
	deferred->newest = waiting;
}

int perch_deferred_hold(struct perch_deferred *deferred, const struct perch_record *record)
{
	size_t need = sizeof(struct waiting) + record->size;
	struct waiting *waiting;
	uint64_t cookie;

	free_returned(deferred);
	if (!is_deferred(record, &cookie))
		return 0;
	if (need > deferred->most - deferred->used)
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
	append(deferred, waiting);
	deferred->used += need;
	return 1;
}

/* Takes the one behind `before` (NULL: the first) out of its list. */
static void unlink_sample(struct perch_deferred *deferred, struct waiting *before,
			  struct waiting *waiting)
{
	struct list *list = list_of(deferred, waiting->key);

	if (before)
		before->next_in_list = waiting->next_in_list;
	else
		list->first = waiting->next_in_list;
	if (list->last == waiting)
		list->last = before;
	if (waiting->older)
		waiting->older->newer = waiting->newer;
	else
		deferred->oldest = waiting->newer;
	if (waiting->newer)
		waiting->newer->older = waiting->older;
	else
		deferred->newest = waiting->older;
	deferred->used -= sizeof(*waiting) + waiting->size;
}

static struct waiting *find(const struct perch_deferred *deferred, struct key key,
			    struct waiting **before)
{
	struct waiting *waiting = list_of(deferred, key)->first;

	*before = NULL;
	while (waiting && (waiting->key.cookie != key.cookie || waiting->key.thread != key.thread)) {
		*before = waiting;
		waiting = waiting->next_in_list;
	}
	return waiting;
}

/* The oldest of those of its thread and those of no thread. */
static struct waiting *take_match(struct perch_deferred *deferred,
				  const struct perch_record *callchain_deferred)
{
	struct key key = key_of(callchain_deferred, callchain_deferred->deferred.cookie);
	struct key anyone = { .cookie = key.cookie, .thread = NO_THREAD };
	struct waiting *before, *before_other;
	struct waiting *waiting = find(deferred, key, &before);
	struct waiting *other = key.thread == NO_THREAD ? NULL
							: find(deferred, anyone, &before_other);

	if (other && (!waiting || other->age < waiting->age)) {
		waiting = other;
		before = before_other;
	}
	if (waiting)
		unlink_sample(deferred, before, waiting);
	return waiting;
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
	struct waiting *waiting = deferred->oldest;

	free_returned(deferred);
	if (callchain_deferred && callchain_deferred->type != PERCH_RECORD_CALLCHAIN_DEFERRED)
		return 0;
	if (callchain_deferred)
		waiting = take_match(deferred, callchain_deferred);
	else if (waiting)
		unlink_sample(deferred, NULL, waiting);
	if (!waiting)
		return 0;
	deferred->returned = waiting;
	/* It was decoded once, from the same bytes by the same layout: it cannot fail now. */
	perch_record_decode(record, waiting->parse_info, waiting->bytes, waiting->size, NULL);
	record->event = waiting->event;
	record->offset = waiting->offset;
	if (callchain_deferred)
		merge_chain(deferred, record, callchain_deferred);
	return 1;
}
