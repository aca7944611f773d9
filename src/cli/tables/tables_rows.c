/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "tables.h"

/* ---- times ---- */

enum { SUB_BITS = 5, EXACT = 2 << SUB_BITS }; /* below EXACT each number is a class of its own */

static uint32_t class_of(uint64_t ns)
{
	unsigned power;

	if (ns < EXACT)
		return (uint32_t)ns;
	power = 63 - (unsigned)__builtin_clzll(ns);
	return EXACT + (power - SUB_BITS - 1) * (1u << SUB_BITS) +
	       (uint32_t)(ns >> (power - SUB_BITS) & ((1u << SUB_BITS) - 1));
}

/* The middle of a class. */
static uint64_t time_of(uint32_t class)
{
	unsigned shift;
	uint64_t sub;

	if (class < EXACT)
		return class;
	shift = (class - EXACT) / (1u << SUB_BITS) + 1;
	sub = (class - EXACT) % (1u << SUB_BITS) + (1u << SUB_BITS);
	return (sub << shift) + (UINT64_C(1) << shift) / 2;
}

/* Makes the class one of .count. Returns 0 or -ENOMEM. */
static int extend_times(struct tables_times *times, uint32_t class)
{
	uint32_t first = times->nr && times->first < class ? times->first : class;
	uint32_t end = times->first + times->nr > class + 1 ? times->first + times->nr : class + 1;
	uint32_t before, *count;

	if (times->nr && class >= times->first && class < times->first + times->nr)
		return 0;
	before = times->nr ? times->first - first : 0;
	count = perch__reallocarray(times->count, end - first, sizeof(*count));
	if (!count)
		return -ENOMEM;
	memmove(count + before, count, times->nr * sizeof(*count));
	memset(count, 0, before * sizeof(*count));
	memset(count + before + times->nr, 0, (end - first - before - times->nr) * sizeof(*count));
	*times = (struct tables_times){ .first = first, .nr = end - first, .count = count };
	return 0;
}

int tables_add(struct tables_row *row, const struct perch_pair *pair)
{
	uint64_t ns = pair->end - pair->start;

	if (pair->uncertain) {
		row->uncertain++;
		row->uncertain_ns += ns;
		return 0;
	}
	if (extend_times(&row->times, class_of(ns)))
		return -ENOMEM;
	row->times.count[class_of(ns) - row->times.first]++;
	if (!row->count || ns < row->min)
		row->min = ns;
	if (!row->count || ns > row->max) {
		row->max = ns;
		row->max_start = pair->start;
		row->max_end = pair->end;
	}
	row->count++;
	row->total += ns;
	return 0;
}

uint64_t tables_percentile(const struct tables_row *row, unsigned percent)
{
	uint64_t rank = (row->count * percent + 99) / 100, seen = 0, ns = row->max;

	for (uint32_t i = 0; i < row->times.nr && seen < rank; i++) {
		seen += row->times.count[i];
		ns = time_of(row->times.first + i);
	}
	if (ns < row->min)
		return row->min;
	return ns < row->max ? ns : row->max;
}

uint64_t tables_average(const struct tables *tables, const struct tables_row *row)
{
	(void)tables;
	return row->count ? row->total / row->count : 0;
}

uint64_t tables_p50(const struct tables *tables, const struct tables_row *row)
{
	(void)tables;
	return tables_percentile(row, 50);
}

uint64_t tables_p90(const struct tables *tables, const struct tables_row *row)
{
	(void)tables;
	return tables_percentile(row, 90);
}

uint64_t tables_p99(const struct tables *tables, const struct tables_row *row)
{
	(void)tables;
	return tables_percentile(row, 99);
}

/* ---- rows ---- */

static bool is_same(const void *rows, uint32_t index, const void *key)
{
	const struct tables_row *row = rows;

	return !memcmp(row[index].key, key, sizeof(row->key));
}

static uint64_t hash_of(struct tables_table *table, const uint64_t key[TABLES_KEYS])
{
	if (!table->by_key.seed)
		table->by_key.seed = perch__hash_seed(table);
	return perch__hash_bytes(table->by_key.seed, key, TABLES_KEYS * sizeof(*key));
}

struct tables_row *tables_row(struct tables_table *table, const uint64_t key[TABLES_KEYS])
{
	uint64_t hash = hash_of(table, key);
	uint32_t index = perch__hash_find(&table->by_key, hash, is_same, table->row, key);
	struct tables_row *row;

	if (index != PERCH__HASH_NONE)
		return &table->row[index];
	row = PERCH__ARRAY_APPEND(table->row, table->nr, table->capacity);
	if (!row)
		return NULL;
	if (perch__hash_add(&table->by_key, hash, table->nr - 1)) {
		table->nr--;
		return NULL;
	}
	memcpy(row->key, key, sizeof(row->key));
	return row;
}

struct tables_row *tables_find(const struct tables_table *table, const uint64_t key[TABLES_KEYS])
{
	uint64_t hash = perch__hash_bytes(table->by_key.seed, key, TABLES_KEYS * sizeof(*key));
	uint32_t index = perch__hash_find(&table->by_key, hash, is_same, table->row, key);

	return index == PERCH__HASH_NONE ? NULL : &table->row[index];
}

void tables_clear(struct tables_table *table)
{
	for (size_t i = 0; i < table->nr; i++) {
		free(table->row[i].times.count);
		free(table->row[i].name);
		free(table->row[i].chain);
	}
	free(table->row);
	perch__hash_clear(&table->by_key);
	table->row = NULL;
	table->nr = table->capacity = 0;
}
