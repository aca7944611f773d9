/* SPDX-License-Identifier: MIT */
#include "table.h"

#include "base/array.h"

void agent_table_init(struct agent_table *table, size_t size)
{
	*table = (struct agent_table){ .size = size };
	table->index.seed = perch__hash_seed(table);
}

void agent_table_clear(struct agent_table *table)
{
	free(table->items);
	perch__hash_clear(&table->index);
	agent_table_init(table, table->size);
}

uint32_t agent_table_find(const struct agent_table *table, uint64_t hash, perch__hash_equal *equal,
			  const void *key)
{
	return perch__hash_find(&table->index, hash, equal, table->items, key);
}

static bool reserve(struct agent_table *table)
{
	size_t capacity = table->capacity ? 2 * table->capacity : 64;
	void *items;

	if (table->nr < table->capacity)
		return true;
	items = reallocarray(table->items, capacity, table->size);
	if (!items)
		return false;
	table->items = items;
	table->capacity = capacity;
	return true;
}

uint32_t agent_table_add(struct agent_table *table, uint64_t hash)
{
	struct agent_item *item;
	uint32_t index;

	if (!table->first_free && !reserve(table))
		return PERCH__HASH_NONE;
	index = table->first_free ? table->first_free - 1 : (uint32_t)table->nr;
	if (perch__hash_add(&table->index, hash, index))
		return PERCH__HASH_NONE;
	item = agent_table_at(table, index);
	if (table->first_free)
		table->first_free = item->next_free;
	else
		table->nr++;
	memset(item, 0, table->size);
	item->hash = hash;
	table->used++;
	return index;
}

bool agent_table_release(struct agent_table *table, uint32_t index)
{
	struct agent_item *item = agent_table_at(table, index);

	if (--item->references)
		return false;
	perch__hash_remove(&table->index, item->hash, index);
	item->next_free = table->first_free;
	table->first_free = index + 1;
	table->used--;
	return true;
}
