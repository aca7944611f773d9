/* SPDX-License-Identifier: MIT */
/* The two lookups of this room: numbers to objects, and texts to objects. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

static size_t hash_number(uint64_t key)
{
	return (key * 0x9e3779b97f4a7c15ull) >> 20;
}

static int table_double(struct table *table)
{
	size_t size = table->slot ? (table->mask + 1) * 2 : 64;
	struct table larger = { calloc(size, sizeof(*table->slot)), table->nr, size - 1 };

	if (!larger.slot)
		return -ENOMEM;
	for (size_t i = 0; table->slot && i <= table->mask; i++) {
		size_t at = hash_number(table->slot[i].key) & larger.mask;

		if (!table->slot[i].value)
			continue;
		while (larger.slot[at].value)
			at = (at + 1) & larger.mask;
		larger.slot[at].key = table->slot[i].key;
		larger.slot[at].value = table->slot[i].value;
	}
	free(table->slot);
	*table = larger;
	return 0;
}

int perch__table_put(struct table *table, uint64_t key, void *value)
{
	size_t at;

	if (!table->slot || (table->nr + 1) * 2 > table->mask + 1)
		if (table_double(table))
			return -ENOMEM;
	for (at = hash_number(key) & table->mask; table->slot[at].value;
	     at = (at + 1) & table->mask)
		if (table->slot[at].key == key)
			break;
	if (!table->slot[at].value)
		table->nr++;
	table->slot[at].key = key;
	table->slot[at].value = value;
	return 0;
}

void *perch__table_get(const struct table *table, uint64_t key)
{
	if (!table->slot)
		return NULL;
	for (size_t at = hash_number(key) & table->mask; table->slot[at].value;
	     at = (at + 1) & table->mask)
		if (table->slot[at].key == key)
			return table->slot[at].value;
	return NULL;
}

uint64_t perch__hash_bytes(const void *bytes, size_t size, uint64_t seed)
{
	const uint8_t *byte = bytes;
	uint64_t hash = seed ^ 0xcbf29ce484222325ull;

	for (size_t i = 0; i < size; i++)
		hash = (hash ^ byte[i]) * 0x100000001b3ull;
	return hash ^ hash >> 29;
}

void *perch__strings_find(const struct strings *strings, uint64_t hash,
			  bool (*match)(const void *value, const void *key), const void *key)
{
	if (!strings->slot)
		return NULL;
	for (size_t at = hash & strings->mask; strings->slot[at].value;
	     at = (at + 1) & strings->mask)
		if (strings->slot[at].hash == hash && match(strings->slot[at].value, key))
			return strings->slot[at].value;
	return NULL;
}

int perch__strings_add(struct strings *strings, uint64_t hash, void *value)
{
	size_t at;

	if (!strings->slot || (strings->nr + 1) * 2 > strings->mask + 1) {
		size_t size = strings->slot ? (strings->mask + 1) * 2 : 64;
		struct strings larger = { calloc(size, sizeof(*strings->slot)), strings->nr,
					  size - 1 };

		if (!larger.slot)
			return -ENOMEM;
		for (size_t i = 0; strings->slot && i <= strings->mask; i++) {
			if (!strings->slot[i].value)
				continue;
			at = strings->slot[i].hash & larger.mask;
			while (larger.slot[at].value)
				at = (at + 1) & larger.mask;
			larger.slot[at].hash = strings->slot[i].hash;
			larger.slot[at].value = strings->slot[i].value;
		}
		free(strings->slot);
		*strings = larger;
	}
	for (at = hash & strings->mask; strings->slot[at].value; at = (at + 1) & strings->mask)
		;
	strings->slot[at].hash = hash;
	strings->slot[at].value = value;
	strings->nr++;
	return 0;
}

int perch__grow(void *array, size_t nr, size_t element)
{
	void **list = array;
	void *larger;

	/* nr is a power of two (or 0) exactly when the list is full */
	if (nr & (nr - 1) && nr)
		return 0;
	larger = reallocarray(*list, nr ? nr * 2 : 1, element);
	if (!larger)
		return -ENOMEM;
	*list = larger;
	return 0;
}
