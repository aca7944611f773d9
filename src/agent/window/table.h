/* SPDX-License-Identifier: MIT */
/*
 * Items that are each once in a table, and that leave it with their last reference. Their indexes
 * stay the same, and those of items that have left are used again, so a table is as large as it
 * ever had to be at one time.
 */
#ifndef PERCH_AGENT_TABLE_H
#define PERCH_AGENT_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash_table.h"

/* The first member of an item. */
struct agent_item {
	uint64_t hash;
	uint32_t references; /* 0: the item is free, */
	uint32_t next_free;  /* and this is the index + 1 of another one */
};

struct agent_table {
	void *items;
	size_t size; /* bytes of an item */
	size_t nr, capacity;
	size_t used; /* items that are not free */
	uint32_t first_free;
	struct perch__hash_table index;
};

void agent_table_init(struct agent_table *table, size_t size);
/* The caller frees what items point to before. */
void agent_table_clear(struct agent_table *table);

static inline void *agent_table_at(const struct agent_table *table, uint32_t index)
{
	return (char *)table->items + index * table->size;
}

/* Returns the index of the item that equals the key, or PERCH__HASH_NONE. */
uint32_t agent_table_find(const struct agent_table *table, uint64_t hash, perch__hash_equal *equal,
			  const void *key);
/* Adds an item without references, whose other members are zero. Returns its index, or
 * PERCH__HASH_NONE if out of memory. */
uint32_t agent_table_add(struct agent_table *table, uint64_t hash);

static inline void agent_table_refer(const struct agent_table *table, uint32_t index)
{
	((struct agent_item *)agent_table_at(table, index))->references++;
}

/* Returns true if it was the last reference: the item has left, and its members are valid until
 * another one is added. */
bool agent_table_release(struct agent_table *table, uint32_t index);

/* Bytes that the items in the table need. */
static inline size_t agent_table_bytes(const struct agent_table *table)
{
	return table->used * (table->size + 2 * sizeof(struct perch__hash_slot));
}

/* With free items. */
static inline size_t agent_table_allocated(const struct agent_table *table)
{
	return table->capacity * table->size +
	       (table->index.slot ? table->index.mask + 1 : 0) * sizeof(struct perch__hash_slot);
}

#endif
