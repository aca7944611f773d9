/* SPDX-License-Identifier: MIT */
/*
 * Completes samples whose user call chain is in another record, CALLCHAIN_DEFERRED.
 *
 * The kernel gives each stay of a thread in the kernel a cookie. Samples of that time have the
 * cookie, and one record with the cookie follows when the thread returns to user space. A sample
 * that is taken between the record and the return has the cookie too:
 *
 *	thread enters the kernel   sample   sample   record   sample     thread returns
 *	                           held     held              complete
 *
 * Samples that wait for their record are in three lists, each in order of age: of all samples, of a
 * thread, and of a cookie of a thread. A hash table finds the lists of threads and of cookies. The
 * list of a thread also has the call chain of its last record, for samples after it.
 */
#include <stdlib.h>
#include "base/array.h"
#include "base/hash_table.h"
#include "base/no_memory.h"
#include "internal.h"

#define DEFAULT_BYTES (16u << 20)
/* The words of two records: a merged chain cannot be longer. */
#define MAX_CHAIN_WORDS (2 * (UINT16_MAX / 8))

enum list_kind { LIST_ALL, LIST_THREAD, LIST_COOKIE, NR_LISTS };

struct key {
	uint64_t cookie; /* 0 for LIST_THREAD */
	uint64_t thread; /* the tid, or NO_THREAD */
	enum list_kind kind;
};
#define NO_THREAD UINT64_MAX

struct waiting {
	struct {
		struct waiting *older, *newer;
	} in[NR_LISTS];
	uint64_t thread, cookie;
	uint64_t age; /* number of samples before it */
	const struct perch_parse_info *parse_info;
	uint64_t offset;
	uint16_t event;
	uint16_t size;
	_Alignas(8) unsigned char bytes[];
};

/* The words of a CALLCHAIN_DEFERRED record. */
struct chain {
	const uint64_t *words;
	uint64_t nr;
	bool swapped; /* the words are in the other byte order */
};

/* A list is in the table while it has samples or a call chain. */
struct list {
	struct key key;
	struct waiting *oldest, *newest;
	/* of a thread: its last CALLCHAIN_DEFERRED record; NULL if none */
	uint64_t *words;
	uint64_t nr_words, last_cookie;
	bool swapped;
};

struct perch_deferred {
	size_t max_bytes;
	size_t used_bytes;  /* of samples */
	size_t chain_bytes; /* of the last call chains of threads */
	uint64_t next_age;
	struct list all;
	struct waiting *returned; /* used by the caller until the next call */
	struct perch__hash_table table;
	struct list *lists; /* items of the table */
	size_t nr_lists, capacity;
	uint64_t merged[MAX_CHAIN_WORDS];
};

int perch_deferred_new(struct perch_deferred **result, size_t bytes, struct perch_error *err)
{
	struct perch_deferred *deferred = calloc(1, sizeof(*deferred));

	*result = deferred;
	if (!deferred)
		return PERCH__NO_MEMORY(err, "to merge deferred call chains");
	deferred->max_bytes = bytes ? bytes : DEFAULT_BYTES;
	deferred->table.seed = perch__hash_seed(deferred);
	return 0;
}

void perch_deferred_free(struct perch_deferred *deferred)
{
	if (!deferred)
		return;
	while (deferred->all.oldest) {
		struct waiting *waiting = deferred->all.oldest;

		deferred->all.oldest = waiting->in[LIST_ALL].newer;
		free(waiting);
	}
	for (size_t i = 0; i < deferred->nr_lists; i++)
		free(deferred->lists[i].words);
	free(deferred->returned);
	free(deferred->lists);
	perch__hash_clear(&deferred->table);
	free(deferred);
}

static void free_returned(struct perch_deferred *deferred)
{
	free(deferred->returned);
	deferred->returned = NULL;
}

/* ---- lists of samples ---- */

/* Records without a tid match each other, by the cookie only. */
static uint64_t thread_of(const struct perch_record *record)
{
	return record->sample_id.has & PERCH_SAMPLE_TID ? record->sample_id.tid : NO_THREAD;
}

static struct key thread_key(uint64_t thread)
{
	return (struct key){ .thread = thread, .kind = LIST_THREAD };
}

static struct key cookie_key(uint64_t thread, uint64_t cookie)
{
	return (struct key){ .cookie = cookie, .thread = thread, .kind = LIST_COOKIE };
}

static uint64_t hash_of(const struct perch_deferred *deferred, struct key key)
{
	return perch__hash_pair(deferred->table.seed + key.kind, key.thread, key.cookie);
}

static bool same_key(const void *items, uint32_t index, const void *key)
{
	const struct key *one = &((const struct list *)items)[index].key, *other = key;

	return one->cookie == other->cookie && one->thread == other->thread &&
	       one->kind == other->kind;
}

static struct list *find_list(const struct perch_deferred *deferred, struct key key)
{
	uint32_t index = perch__hash_find(&deferred->table, hash_of(deferred, key), same_key,
					  deferred->lists, &key);

	return index == PERCH__HASH_NONE ? NULL : &deferred->lists[index];
}

/* Finds or makes a list. Other lists may move. Returns NULL if out of memory. */
static struct list *get_list(struct perch_deferred *deferred, struct key key)
{
	struct list *list = find_list(deferred, key);

	if (list)
		return list;
	list = PERCH__ARRAY_APPEND(deferred->lists, deferred->nr_lists, deferred->capacity);
	if (!list)
		return NULL;
	*list = (struct list){ .key = key };
	if (perch__hash_add(&deferred->table, hash_of(deferred, key), deferred->nr_lists - 1) < 0) {
		deferred->nr_lists--;
		return NULL;
	}
	return list;
}

/* Removes a list that has become empty. The last list takes its index. */
static void put_list(struct perch_deferred *deferred, struct list *list)
{
	size_t index = list - deferred->lists, last;

	if (list->oldest || list->words)
		return;
	last = --deferred->nr_lists;
	perch__hash_remove(&deferred->table, hash_of(deferred, list->key), index);
	if (index == last)
		return;
	*list = deferred->lists[last];
	perch__hash_move(&deferred->table, hash_of(deferred, list->key), last, index);
}

static void append_waiting(struct list *list, struct waiting *waiting, enum list_kind kind)
{
	waiting->in[kind].older = list->newest;
	if (list->newest)
		list->newest->in[kind].newer = waiting;
	else
		list->oldest = waiting;
	list->newest = waiting;
}

static void unlink_from(struct list *list, struct waiting *waiting, enum list_kind kind)
{
	struct waiting *older = waiting->in[kind].older, *newer = waiting->in[kind].newer;

	if (older)
		older->in[kind].newer = newer;
	else
		list->oldest = newer;
	if (newer)
		newer->in[kind].older = older;
	else
		list->newest = older;
}

static int append_to_all(struct perch_deferred *deferred, struct waiting *waiting)
{
	struct list *thread = get_list(deferred, thread_key(waiting->thread)), *cookie;

	if (!thread)
		return -ENOMEM;
	cookie = get_list(deferred, cookie_key(waiting->thread, waiting->cookie));
	thread = find_list(deferred, thread_key(waiting->thread)); /* it may have moved */
	if (!cookie) {
		put_list(deferred, thread);
		return -ENOMEM;
	}
	append_waiting(cookie, waiting, LIST_COOKIE);
	append_waiting(thread, waiting, LIST_THREAD);
	append_waiting(&deferred->all, waiting, LIST_ALL);
	return 0;
}

static struct waiting *take_waiting(struct perch_deferred *deferred, struct waiting *waiting)
{
	struct list *list = find_list(deferred, cookie_key(waiting->thread, waiting->cookie));

	unlink_from(list, waiting, LIST_COOKIE);
	put_list(deferred, list);
	list = find_list(deferred, thread_key(waiting->thread));
	unlink_from(list, waiting, LIST_THREAD);
	put_list(deferred, list);
	unlink_from(&deferred->all, waiting, LIST_ALL);
	deferred->used_bytes -= sizeof(*waiting) + waiting->size;
	return waiting;
}

/* ---- merging ---- */

/* True if the user part of a sample's call chain is in another record, with *cookie. */
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

static uint64_t *copy_words(uint64_t *to, const uint64_t *words, uint64_t nr, bool swap)
{
	for (uint64_t i = 0; i < nr; i++)
		*to++ = perch__u64(words + i, swap);
	return to;
}

/*
 * Replaces the marker and the cookie of a sample's chain by a marker and the words of the record.
 * Linux 6.19 to 7.3 write only addresses into the record; a record may begin with the marker too.
 */
static void merge_chain(struct perch_deferred *deferred, struct perch_record *record,
			struct chain user)
{
	bool swapped = record->parse_info->swapped;
	const uint64_t *ip = record->sample.callchain.ip;
	uint64_t nr = record->sample.callchain.nr, at = 0, marker = PERCH_CONTEXT_USER;
	uint64_t *to = deferred->merged;

	while (at < nr && perch_word(record, ip + at) != PERCH_CONTEXT_USER_DEFERRED)
		at++;
	to = copy_words(to, ip, at, false);
	if (!user.nr || perch__u64(user.words, user.swapped) != PERCH_CONTEXT_USER)
		to = copy_words(to, &marker, 1, swapped);
	to = copy_words(to, user.words, user.nr, swapped != user.swapped);
	if (nr - at > 2)
		to = copy_words(to, ip + at + 2, nr - at - 2, false);
	record->sample.callchain.ip = deferred->merged;
	record->sample.callchain.nr = to - deferred->merged;
}

/* ---- the last call chain of each thread ---- */

static void discard_chain(struct perch_deferred *deferred, struct list *thread)
{
	deferred->chain_bytes -= sizeof(*thread) + thread->nr_words * sizeof(uint64_t);
	free(thread->words);
	thread->words = NULL;
	put_list(deferred, thread);
}

static void discard_chains(struct perch_deferred *deferred)
{
	for (size_t i = deferred->nr_lists; deferred->chain_bytes && i--;)
		if (deferred->lists[i].words)
			discard_chain(deferred, &deferred->lists[i]);
}

/*
 * Without memory, or above the limit, the chain is not kept: then samples after the record
 * stay incomplete.
 */
static void keep_chain(struct perch_deferred *deferred, const struct perch_record *from)
{
	struct key key = thread_key(thread_of(from));
	size_t bytes = from->deferred.nr * sizeof(uint64_t), need = sizeof(struct list) + bytes;
	struct list *thread = find_list(deferred, key);
	uint64_t *words;

	if (thread && thread->words) {
		if (thread->last_cookie == from->deferred.cookie)
			return;
		discard_chain(deferred, thread);
	}
	if (need > deferred->max_bytes)
		return;
	if (need > deferred->max_bytes - deferred->chain_bytes)
		discard_chains(deferred);
	words = malloc(bytes + !bytes);
	thread = words ? get_list(deferred, key) : NULL;
	if (!thread) {
		free(words);
		return;
	}
	if (bytes)
		memcpy(words, from->deferred.ip, bytes);
	thread->words = words;
	thread->nr_words = from->deferred.nr;
	thread->swapped = from->parse_info->swapped;
	thread->last_cookie = from->deferred.cookie;
	deferred->chain_bytes += need;
}

int perch_deferred_complete(struct perch_deferred *deferred, struct perch_record *record)
{
	const struct list *thread;
	uint64_t cookie;

	free_returned(deferred);
	if (!is_deferred(record, &cookie))
		return 0;
	thread = find_list(deferred, thread_key(thread_of(record)));
	if (!thread || !thread->words || thread->last_cookie != cookie)
		return 0;
	merge_chain(deferred, record,
		    (struct chain){ thread->words, thread->nr_words, thread->swapped });
	return 1;
}

/* ---- holding and returning samples ---- */

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
		.thread = thread_of(record),
		.cookie = cookie,
		.age = deferred->next_age++,
		.parse_info = record->parse_info,
		.offset = record->offset,
		.event = record->event,
		.size = record->size,
	};
	memcpy(waiting->bytes, record->bytes, record->size);
	if (append_to_all(deferred, waiting) < 0) {
		free(waiting);
		return -ENOSPC;
	}
	deferred->used_bytes += need;
	return 1;
}

/*
 * Returns the oldest sample with the record's cookie, of its thread or without a tid; NULL if none.
 */
static struct waiting *find_match(const struct perch_deferred *deferred,
				  const struct perch_record *callchain_deferred)
{
	uint64_t cookie = callchain_deferred->deferred.cookie;
	const struct list *list =
		find_list(deferred, cookie_key(thread_of(callchain_deferred), cookie));
	const struct list *without_tid = find_list(deferred, cookie_key(NO_THREAD, cookie));

	if (!list || (without_tid && without_tid->oldest->age < list->oldest->age))
		list = without_tid;
	return list ? list->oldest : NULL;
}

/*
 * Removes a held sample and returns it in *record. It cannot fail: the same bytes were decoded
 * before with the same parse info.
 */
static int return_sample(struct perch_deferred *deferred, struct waiting *waiting,
			 struct perch_record *record)
{
	deferred->returned = take_waiting(deferred, waiting);
	perch_record_decode(record, waiting->parse_info, waiting->bytes, waiting->size, NULL);
	record->event = waiting->event;
	record->offset = waiting->offset;
	return 1;
}

int perch_deferred_next(struct perch_deferred *deferred,
			const struct perch_record *callchain_deferred, struct perch_record *record)
{
	struct waiting *waiting;

	free_returned(deferred);
	if (!callchain_deferred) {
		discard_chains(deferred);
		return deferred->all.oldest ? return_sample(deferred, deferred->all.oldest, record)
					    : 0;
	}
	if (callchain_deferred->type != PERCH_RECORD_CALLCHAIN_DEFERRED)
		return 0;
	keep_chain(deferred, callchain_deferred);
	waiting = find_match(deferred, callchain_deferred);
	if (!waiting)
		return 0;
	return_sample(deferred, waiting, record);
	merge_chain(deferred, record,
		    (struct chain){ callchain_deferred->deferred.ip,
				    callchain_deferred->deferred.nr,
				    callchain_deferred->parse_info->swapped });
	return 1;
}

int perch_deferred_next_incomplete(struct perch_deferred *deferred,
				   const struct perch_record *callchain_deferred,
				   struct perch_record *record)
{
	const struct waiting *match;
	const struct list *thread;

	free_returned(deferred);
	if (!callchain_deferred || callchain_deferred->type != PERCH_RECORD_CALLCHAIN_DEFERRED)
		return 0;
	match = find_match(deferred, callchain_deferred);
	thread = match ? find_list(deferred, thread_key(match->thread)) : NULL;
	if (!thread || match->thread == NO_THREAD || thread->oldest == match)
		return 0;
	return return_sample(deferred, thread->oldest, record);
}
