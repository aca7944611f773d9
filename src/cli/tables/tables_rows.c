/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "tables.h"

int tables_add(struct tables_row *row, const struct perch_pair *pair)
{
	uint64_t ns = pair->end - pair->start;

	if (pair->uncertain) {
		row->uncertain++;
		row->uncertain_ns += ns;
		return 0;
	}
	if (cli_delays_add(&row->delays, ns))
		return -ENOMEM;
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

/* The middle of a class may be outside of what was measured. */
static uint64_t row_percentile(const struct tables_row *row, double percent)
{
	uint64_t ns = cli_delays_percentile(&row->delays, percent);

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
	return row_percentile(row, 50);
}

uint64_t tables_p90(const struct tables *tables, const struct tables_row *row)
{
	(void)tables;
	return row_percentile(row, 90);
}

uint64_t tables_p99(const struct tables *tables, const struct tables_row *row)
{
	(void)tables;
	return row_percentile(row, 99);
}

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
		cli_delays_clear(&table->row[i].delays);
		free(table->row[i].name);
		free(table->row[i].chain);
	}
	free(table->row);
	perch__hash_clear(&table->by_key);
	table->row = NULL;
	table->nr = table->capacity = 0;
}
