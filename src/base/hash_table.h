/* SPDX-License-Identifier: MIT */
/*
 * The hash table of all modules. It maps a hash to an index into an array of the caller. The array
 * has keys and values; the table has the index and 32 bits of the hash, so most lookups compare one
 * key. The table uses linear probing and is at most half full. A zeroed table is empty.
 *
 *	static bool same_id(const void *items, uint32_t index, const void *key)
 *	{
 *		return ((const struct item *)items)[index].id == *(const uint64_t *)key;
 *	}
 *
 *	hash = perch__hash_integer(table.seed, id);
 *	index = perch__hash_find(&table, hash, same_id, items, &id);
 *	if (index == PERCH__HASH_NONE)
 *		rc = perch__hash_add(&table, hash, nr_items);
 *
 * The functions are inline: with a constant comparison function a lookup makes no function call.
 * Tables with untrusted keys need a random seed (perch__hash_seed()), so that no input can force
 * collisions.
 */
#ifndef PERCH_BASE_HASH_TABLE_H
#define PERCH_BASE_HASH_TABLE_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "large_pages.h"

#define PERCH__HASH_NONE UINT32_MAX	  /* no index */
#define PERCH__HASH_MAX	 (UINT32_MAX / 2) /* entries of a table, and the largest index */

struct perch__hash_slot {
	uint32_t hash;	 /* low bits of the hash */
	uint32_t number; /* index + 1; 0 is a free slot */
};

struct perch__hash_table {
	struct perch__hash_slot *slot;
	size_t mask; /* number of slots - 1 */
	size_t nr;   /* used slots */
	uint64_t seed;
};

/* Compares the item at an index with a key. items and key are arguments of perch__hash_find(). */
typedef bool perch__hash_equal(const void *items, uint32_t index, const void *key);

/* Returns a random seed. The address of object is a fallback while the system has no random
 * numbers. */
static inline uint64_t perch__hash_seed(const void *object)
{
	struct timespec now = { 0 };
	uint64_t seed;

	if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) == sizeof(seed))
		return seed;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uintptr_t)object ^ (uint64_t)now.tv_nsec << 32 ^ (uint64_t)now.tv_sec;
}

/* Each bit of the number and of the seed changes about half of the bits of the hash. */
static inline uint64_t perch__hash_integer(uint64_t seed, uint64_t number)
{
	number ^= seed;
	number = (number ^ number >> 33) * 0xff51afd7ed558ccdu;
	number = (number ^ number >> 33) * 0xc4ceb9fe1a85ec53u;
	return number ^ number >> 33;
}

/* Hashes two numbers; their order matters. */
static inline uint64_t perch__hash_pair(uint64_t seed, uint64_t first, uint64_t second)
{
	uint64_t product = (seed ^ first) * 0x9e3779b97f4a7c15u;

	return perch__hash_integer(product ^ product >> 32, second);
}

static inline uint64_t perch__hash_bytes(uint64_t seed, const void *bytes, size_t size)
{
	const unsigned char *at = bytes;
	uint64_t hash = perch__hash_integer(seed, size), word;

	for (; size >= sizeof(word); at += sizeof(word), size -= sizeof(word)) {
		memcpy(&word, at, sizeof(word));
		hash = perch__hash_integer(hash, word);
	}
	word = 0;
	while (size)
		word = word << 8 | at[--size];
	return perch__hash_integer(hash, word);
}

static inline uint64_t perch__hash_text(uint64_t seed, const char *text)
{
	return perch__hash_bytes(seed, text, strlen(text));
}

/* Loads the slot of a hash into the CPU's cache. */
static inline void perch__hash_prefetch(const struct perch__hash_table *table, uint64_t hash)
{
	if (table->slot)
		__builtin_prefetch(&table->slot[(uint32_t)hash & table->mask]);
}

/* Returns the index of the item that perch__hash_find() will compare first, or PERCH__HASH_NONE.
 * Its memory can be loaded before the lookup. */
static inline uint32_t perch__hash_peek(const struct perch__hash_table *table, uint64_t hash)
{
	return table->slot ? table->slot[(uint32_t)hash & table->mask].number - 1
			   : PERCH__HASH_NONE;
}

/* Returns the index of the item that equals the key, or PERCH__HASH_NONE. */
static inline __attribute__((always_inline)) uint32_t perch__hash_find(
	const struct perch__hash_table *table, uint64_t hash, perch__hash_equal *equal,
	const void *items, const void *key)
{
	if (!table->slot)
		return PERCH__HASH_NONE;
	for (size_t at = (uint32_t)hash & table->mask;; at = (at + 1) & table->mask) {
		struct perch__hash_slot slot = table->slot[at];

		if (!slot.number)
			return PERCH__HASH_NONE;
		if (slot.hash == (uint32_t)hash && equal(items, slot.number - 1, key))
			return slot.number - 1;
	}
}

static inline void perch__hash_put(struct perch__hash_slot *slots, size_t mask,
				   struct perch__hash_slot slot)
{
	size_t at = slot.hash & mask;

	while (slots[at].number)
		at = (at + 1) & mask;
	slots[at] = slot;
}

/* Makes slots for nr entries in total. Returns 0, or -ENOMEM; the table is then unchanged. */
static inline int perch__hash_reserve(struct perch__hash_table *table, size_t nr)
{
	size_t old = table->slot ? table->mask + 1 : 0, slots = old ? old : 64;
	struct perch__hash_slot *slot;

	if (nr > PERCH__HASH_MAX)
		return -ENOMEM;
	while (slots / 2 < nr)
		slots *= 2;
	if (slots == old)
		return 0;
	slot = perch__calloc(slots, sizeof(*slot));
	if (!slot)
		return -ENOMEM;
	perch__use_large_pages(slot, slots * sizeof(*slot));
	for (size_t i = 0; i < old; i++) {
		if (table->slot[i].number)
			perch__hash_put(slot, slots - 1, table->slot[i]);
	}
	free(table->slot);
	table->slot = slot;
	table->mask = slots - 1;
	return 0;
}

/*
 * Adds an index under a hash. The caller has checked that no equal key exists, or allows several.
 * Returns 0, or -ENOMEM if out of memory or for more than PERCH__HASH_MAX entries.
 */
static inline int perch__hash_add(struct perch__hash_table *table, uint64_t hash, size_t index)
{
	if (index > PERCH__HASH_MAX)
		return -ENOMEM;
	if (!table->slot || table->nr >= (table->mask + 1) / 2) {
		int rc = perch__hash_reserve(table, table->nr + 1);

		if (rc)
			return rc;
	}
	perch__hash_put(table->slot, table->mask,
			(struct perch__hash_slot){ (uint32_t)hash, (uint32_t)index + 1 });
	table->nr++;
	return 0;
}

/* Returns the slot of an index that was added under the hash, or NULL. */
static inline struct perch__hash_slot *perch__hash_slot_of(const struct perch__hash_table *table,
							   uint64_t hash, uint32_t index)
{
	size_t at = (uint32_t)hash & table->mask;

	while (table->slot && table->slot[at].number) {
		if (table->slot[at].number == index + 1)
			return &table->slot[at];
		at = (at + 1) & table->mask;
	}
	return NULL;
}

/* Changes the index of an item that was moved in the array of the caller. */
static inline void perch__hash_move(struct perch__hash_table *table, uint64_t hash, uint32_t from,
				    uint32_t to)
{
	struct perch__hash_slot *slot = perch__hash_slot_of(table, hash, from);

	if (slot)
		slot->number = to + 1;
}

/* Removes an index. Later slots of the same cluster move up, so no search ends too early. */
static inline void perch__hash_remove(struct perch__hash_table *table, uint64_t hash,
				      uint32_t index)
{
	struct perch__hash_slot *slot = perch__hash_slot_of(table, hash, index);
	size_t hole;

	if (!slot)
		return;
	hole = (size_t)(slot - table->slot);
	for (size_t at = (hole + 1) & table->mask; table->slot[at].number;
	     at = (at + 1) & table->mask) {
		size_t home = table->slot[at].hash & table->mask;

		if (((at - home) & table->mask) < ((at - hole) & table->mask))
			continue;
		table->slot[hole] = table->slot[at];
		hole = at;
	}
	table->slot[hole].number = 0;
	table->nr--;
}

/* Frees the slots; the seed stays. */
static inline void perch__hash_clear(struct perch__hash_table *table)
{
	free(table->slot);
	*table = (struct perch__hash_table){ .seed = table->seed };
}

#endif
