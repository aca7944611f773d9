/* SPDX-License-Identifier: MIT */
/*
 * The rows of all addresses that were needed. Functions of compilers save the same registers in the
 * same words of the stack, so most addresses share a few rows, which stay in the CPU's cache.
 * Addresses with the same rules mostly follow each other: they are a range.
 */
#include <stdlib.h>

#include "internal.h"

/* Addresses in the same block of 1 << BLOCK_BITS bytes have the same hash. */
enum { MAX_RANGES = 1 << 20, BLOCK_BITS = 8 };

/* ---- rows ---- */

static bool same_rules(const void *items, uint32_t index, const void *key)
{
	return !memcmp(&((const struct row *)items)[index], key, sizeof(struct row));
}

/* Returns the index of the added row, or PERCH__HASH_NONE if out of memory. */
static uint32_t add_row(struct rows *rows, const struct row *row)
{
	if (PERCH__ARRAY_RESERVE(rows->row, rows->rows_capacity, rows->nr_rows + 1))
		return PERCH__HASH_NONE;
	rows->row[rows->nr_rows] = *row;
	return (uint32_t)rows->nr_rows++;
}

/* Returns the index of a row with the same rules, which is added if there is none; or
 * PERCH__HASH_NONE if out of memory. */
static uint32_t share_row(struct rows *rows, const struct row *row)
{
	/* the bytes after the rules are zero */
	size_t size = offsetof(struct row, saved) + row->nr * sizeof(*row->saved);
	uint64_t hash = perch__hash_bytes(rows->by_rules.seed, row, size);
	uint32_t index = perch__hash_find(&rows->by_rules, hash, same_rules, rows->row, row);

	if (index != PERCH__HASH_NONE)
		return index;
	index = add_row(rows, row);
	if (index != PERCH__HASH_NONE && perch__hash_add(&rows->by_rules, hash, index))
		return PERCH__HASH_NONE;
	return index;
}

/* Makes the row of an address. *end: of the addresses with the same row. Returns the index of the
 * row, or PERCH__HASH_NONE if out of memory. */
static uint32_t make_row(struct rows *rows, struct rules *rules, uint64_t offset, uint64_t *end)
{
	uint32_t index;
	struct row row;

	perch__row_make(&row, rules, offset, end);
	/* expressions are not compared */
	index = row.rules ? add_row(rows, &row) : share_row(rows, &row);
	if (index == PERCH__HASH_NONE)
		free(row.rules);
	return index;
}

/* ---- ranges ---- */

struct register_location {
	const struct perch_dso *dso;
	uint64_t offset;
};

static bool same_location(const void *items, uint32_t index, const void *key)
{
	const struct range *range = &((const struct range *)items)[index];
	const struct register_location *location = key;

	return range->start <= location->offset && location->offset < range->end &&
	       range->dso == location->dso;
}

static bool same_end(const void *items, uint32_t index, const void *key)
{
	const struct range *range = &((const struct range *)items)[index];
	const struct range *other = key;

	return range->end == other->end && range->row == other->row && range->dso == other->dso;
}

static uint64_t hash_of(const struct rows *rows, const struct perch_dso *dso, uint64_t offset)
{
	return perch__hash_pair(rows->by_block.seed, (uintptr_t)dso, offset >> BLOCK_BITS);
}

/* Adds a range, or its addresses to a range with the same end. Returns 0 or -ENOMEM. */
static int add_range(struct rows *rows, const struct range *range)
{
	uint64_t hash = hash_of(rows, range->dso, range->start);
	uint32_t index = perch__hash_find(&rows->by_block, hash, same_end, rows->range, range);

	if (index != PERCH__HASH_NONE) {
		rows->range[index].start = range->start;
		return 0;
	}
	if (PERCH__ARRAY_RESERVE(rows->range, rows->ranges_capacity, rows->nr_ranges + 1) ||
	    perch__hash_add(&rows->by_block, hash, rows->nr_ranges))
		return -ENOMEM;
	rows->range[rows->nr_ranges++] = *range;
	return 0;
}

uint32_t perch__rows_find(const struct rows *rows, const struct perch_dso *dso, uint64_t offset)
{
	struct register_location location = { .dso = dso, .offset = offset };
	uint32_t index = perch__hash_find(&rows->by_block, hash_of(rows, dso, offset),
					  same_location, rows->range, &location);

	return index == PERCH__HASH_NONE ? index : rows->range[index].row;
}

bool perch__rows_full(const struct rows *rows)
{
	return rows->nr_ranges == MAX_RANGES;
}

uint32_t perch__rows_add(struct rows *rows, struct rules *rules, uint64_t offset)
{
	struct range range = { .start = offset, .dso = rules->dso };

	range.row = make_row(rows, rules, offset, &range.end);
	if (range.row == PERCH__HASH_NONE || add_range(rows, &range))
		return PERCH__HASH_NONE;
	return range.row;
}

void perch__rows_clear(struct rows *rows)
{
	for (size_t i = 0; i < rows->nr_rows; i++)
		free(rows->row[i].rules);
	rows->nr_rows = rows->nr_ranges = 0;
	perch__hash_clear(&rows->by_rules);
	perch__hash_clear(&rows->by_block);
}

void perch__rows_free(struct rows *rows)
{
	perch__rows_clear(rows);
	free(rows->row);
	free(rows->range);
}
