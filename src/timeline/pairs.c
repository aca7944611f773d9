/* SPDX-License-Identifier: MIT */
/*
 * Begins are in an array, whose free slots are a list, and a hash table finds them by their key.
 * Losses are intervals that do not touch each other, in the order of time.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <perch/pairs.h>

#include "base/array.h"
#include "base/hash_table.h"
#include "base/no_memory.h"
#include "base/reserved.h"
#include "base/search.h"

enum { MAX_OPEN = 1 << 20, MAX_LOSSES = 1 << 16, NO_SLOT = UINT32_MAX };

struct loss {
	uint64_t from, to;
};

struct slot {
	struct perch_pair pair;
	uint32_t next_free;
};

struct perch_pairs {
	bool keep_first;
	size_t max_open;
	struct slot *slot;
	size_t nr, capacity;
	uint32_t first_free;
	struct perch__hash_table by_key;
	struct loss *loss;
	size_t nr_losses, loss_capacity;
	struct perch_pairs_stats stats;
};

static int no_memory(struct perch_error *err)
{
	return PERCH__NO_MEMORY(err, "for pairs of events");
}

int perch_pairs_new(struct perch_pairs **result, const struct perch_pairs_options *options,
		    struct perch_error *err)
{
	struct perch_pairs *pairs;

	*result = NULL;
	if (PERCH__CHECK_RESERVED(options, "perch_pairs_options", err))
		return -EINVAL;
	pairs = perch__calloc(1, sizeof(*pairs));
	if (!pairs)
		return no_memory(err);
	pairs->keep_first = options && options->keep_first;
	pairs->max_open = options && options->max_open ? options->max_open : MAX_OPEN;
	if (pairs->max_open > PERCH__HASH_MAX)
		pairs->max_open = PERCH__HASH_MAX;
	pairs->first_free = NO_SLOT;
	pairs->by_key.seed = perch__hash_seed(pairs);
	*result = pairs;
	return 0;
}

void perch_pairs_free(struct perch_pairs *pairs)
{
	if (!pairs)
		return;
	perch__hash_clear(&pairs->by_key);
	free(pairs->slot);
	free(pairs->loss);
	free(pairs);
}

static uint64_t hash_of(const struct perch_pairs *pairs, const struct perch_pair_key *key)
{
	return perch__hash_integer(perch__hash_pair(pairs->by_key.seed, key->word[0], key->word[1]),
				   key->word[2]);
}

static bool is_same(const void *slots, uint32_t index, const void *key)
{
	const struct slot *slot = slots;

	return !memcmp(&slot[index].pair.key, key, sizeof(struct perch_pair_key));
}

static uint32_t find_open(const struct perch_pairs *pairs, const struct perch_pair_key *key)
{
	return perch__hash_find(&pairs->by_key, hash_of(pairs, key), is_same, pairs->slot, key);
}

/* Returns the index of a slot that is free, or NO_SLOT without memory. */
static uint32_t free_slot(struct perch_pairs *pairs)
{
	uint32_t index = pairs->first_free;

	if (index != NO_SLOT) {
		pairs->first_free = pairs->slot[index].next_free;
		return index;
	}
	if (!PERCH__ARRAY_APPEND(pairs->slot, pairs->nr, pairs->capacity))
		return NO_SLOT;
	return (uint32_t)pairs->nr - 1;
}

static void give_back(struct perch_pairs *pairs, uint32_t index)
{
	pairs->slot[index].next_free = pairs->first_free;
	pairs->first_free = index;
}

int perch_pairs_begin(struct perch_pairs *pairs, const struct perch_pair *begin,
		      struct perch_error *err)
{
	uint32_t index = find_open(pairs, &begin->key);

	if (index != PERCH__HASH_NONE) {
		pairs->stats.repeated++;
		if (!pairs->keep_first)
			pairs->slot[index].pair = *begin;
		return 1;
	}
	if (pairs->stats.open == pairs->max_open) {
		pairs->stats.left_out++;
		return 2;
	}
	index = free_slot(pairs);
	if (index == NO_SLOT)
		return no_memory(err);
	pairs->slot[index].pair = *begin;
	if (perch__hash_add(&pairs->by_key, hash_of(pairs, &begin->key), index)) {
		give_back(pairs, index);
		return no_memory(err);
	}
	pairs->stats.open++;
	return 0;
}

struct perch_pair *perch_pairs_find(struct perch_pairs *pairs, const struct perch_pair_key *key)
{
	uint32_t index = find_open(pairs, key);

	return index == PERCH__HASH_NONE ? NULL : &pairs->slot[index].pair;
}

/* True if a loss is within the time: neither ends before it, nor begins after it. */
static bool overlaps_loss(const struct perch_pairs *pairs, uint64_t start, uint64_t end)
{
	size_t low = PERCH__SEARCH(pairs->nr_losses, i, pairs->loss[i].to < start);

	return low < pairs->nr_losses && pairs->loss[low].from <= end;
}

bool perch_pairs_end(struct perch_pairs *pairs, const struct perch_pair_key *key, uint64_t time,
		     struct perch_pair *pair)
{
	uint32_t index = find_open(pairs, key);

	if (index == PERCH__HASH_NONE) {
		pairs->stats.without_begin++;
		return false;
	}
	*pair = pairs->slot[index].pair;
	memset(pair->reserved, 0, sizeof(pair->reserved));
	pair->end = time < pair->start ? pair->start : time;
	pair->uncertain = time < pair->start || overlaps_loss(pairs, pair->start, pair->end);
	perch__hash_remove(&pairs->by_key, hash_of(pairs, key), index);
	give_back(pairs, index);
	pairs->stats.open--;
	pairs->stats.pairs++;
	pairs->stats.uncertain += pair->uncertain;
	return true;
}

int perch_pairs_add_loss(struct perch_pairs *pairs, uint64_t from, uint64_t to)
{
	struct loss *loss;

	if (from > to)
		from = to;
	/* losses that it touches become one with it, and all if there are too many */
	while (pairs->nr_losses) {
		const struct loss *last = &pairs->loss[pairs->nr_losses - 1];

		if (last->to < from && pairs->nr_losses < MAX_LOSSES)
			break;
		from = last->from < from ? last->from : from;
		to = last->to > to ? last->to : to;
		pairs->nr_losses--;
		if (last->to < from)
			break;
	}
	loss = PERCH__ARRAY_APPEND(pairs->loss, pairs->nr_losses, pairs->loss_capacity);
	if (!loss)
		return -ENOMEM;
	*loss = (struct loss){ from, to };
	return 0;
}

void perch_pairs_restart(struct perch_pairs *pairs)
{
	perch__hash_clear(&pairs->by_key);
	pairs->nr = 0;
	pairs->first_free = NO_SLOT;
	pairs->stats = (struct perch_pairs_stats){ 0 };
}

void perch_pairs_get_stats(const struct perch_pairs *pairs, struct perch_pairs_stats *stats)
{
	*stats = pairs->stats;
}
