/* SPDX-License-Identifier: MIT */
/*
 * Sorts records by time. The records of a ring are in order, and a recorder writes the rings one
 * after the other in rounds. So a file consists of ascending runs that overlap only with their
 * neighbours:
 *
 *	ring 0   ring 1   ring 0   ring 1
 *	1 4 6    2 3 5    7 9      8 10
 *
 * The index of a block has the records of some rounds only (rounds.h). A file without
 * FINISHED_ROUND is one block. The files of a directory are read side by side (streams.c) if
 * nothing in them is compressed; else all of them together are one block.
 */
#include "base/no_memory.h"
#include "order.h"
#include "rounds.h"

/* ---- what the last block had and did not deliver ---- */

/* Decompressed records that only delivered entries refer to are left out. */
static int keep_output(const struct perch_reader *reader, struct perch__block *block,
		       const struct perch__block *last)
{
	const struct perch__output *output = &last->output;
	uint64_t least = output->at;

	for (size_t i = last->ready; least && i < last->nr; i++) {
		uint64_t offset = last->entries[i].offset;

		if (offset >= reader->extent && offset - reader->extent - output->discarded < least)
			least = offset - reader->extent - output->discarded;
	}
	return perch__output_move(&block->output, output, least);
}

static int keep_rest(struct perch_reader *reader, struct perch__block *block)
{
	const struct perch__block *last = reader->blocks.sorter.last;
	size_t nr = last->nr - last->ready;

	if (keep_output(reader, block, last) ||
	    PERCH__ARRAY_RESERVE(block->entries, block->capacity, nr))
		return -ENOMEM;
	if (nr)
		memmove(block->entries, last->entries + last->ready, nr * sizeof(*block->entries));
	block->nr = nr;
	block->ready = 0;
	return 0;
}

/* ---- the records of a block ---- */

/* A position that grows with the bytes of records that were read. */
static uint64_t bytes_read(const struct perch_reader *reader)
{
	const struct perch__output *output = reader->cursor.output;

	return reader->cursor.at + output->discarded + output->end;
}

/* Blocks are large enough for the sort and the release of pages to take little of the time. */
static bool is_full(const struct perch_reader *reader, const struct perch__block *block,
		    size_t before, uint64_t bytes_before)
{
	size_t added = block->nr - before;

	if (reader->nr_ranges > 1)
		return false;
	return added >= before && (added >= reader->blocks.batch ||
				   bytes_read(reader) - bytes_before >= PERCH__BATCH_BYTES);
}

/* Reads records up to the end of a round. */
static int collect(struct perch_reader *reader, struct perch__block *block, struct perch_error *err)
{
	struct perch__rounds *rounds = &reader->blocks.sorter.rounds;
	uint64_t bytes_before = bytes_read(reader), released = reader->cursor.at;
	size_t before = block->nr;
	uint64_t offset;
	int rc;

	while ((rc = perch__cursor_next(reader, &reader->cursor, &offset, err)) > 0) {
		struct perch__index_entry *entry;
		uint64_t time;

		if (reader->cursor.range != rounds->range)
			*rounds = (struct perch__rounds){ .range = reader->cursor.range };
		time = perch__rounds_time(reader, &block->output, rounds, offset);
		entry = PERCH__ARRAY_APPEND(block->entries, block->nr, block->capacity);
		if (!entry)
			return -ENOMEM;
		*entry = (struct perch__index_entry){ .time = time, .offset = offset };
		if (__builtin_expect(rounds->ended, 0)) {
			rounds->ended = false;
			if (is_full(reader, block, before, bytes_before))
				return 0;
		}
		if (reader->cursor.at - released > PERCH__BATCH_BYTES)
			perch__release(reader, &released, reader->cursor.at);
	}
	block->ended = !rc;
	return rc;
}

/* Computes the lowest offset that some entries and the later ones need, for perch__release(). */
static int plan_release(struct perch_reader *reader, struct perch__block *block)
{
	size_t parts = block->ready / PERCH__INDEX_BLOCK + 1;
	uint64_t least = block->ended ? reader->records_end : reader->cursor.at;

	if (reader->blocks.sorter.stream)
		return perch__streams_plan_release(reader, block);
	if (PERCH__ARRAY_RESERVE(block->needed_from, block->needed_capacity, parts))
		return -ENOMEM;
	for (size_t i = block->nr, part = parts; part-- > 0;) {
		while (i > part * PERCH__INDEX_BLOCK) {
			i--;
			if (block->entries[i].offset < least)
				least = block->entries[i].offset;
		}
		block->needed_from[part] = least;
	}
	return 0;
}

/* ---- the order ---- */

static int compare_offsets(const void *left, const void *right)
{
	const struct perch__index_entry *a = left, *b = right;

	return (a->offset > b->offset) - (a->offset < b->offset);
}

/* Records of one time are in the order of the files, as if all files were one block. */
static void sort_equal_times(struct perch__index_entry *entries, size_t nr)
{
	for (size_t first = 0, end; first < nr; first = end) {
		bool in_order = true;

		for (end = first + 1; end < nr && entries[end].time == entries[first].time; end++)
			in_order &= entries[end - 1].offset < entries[end].offset;
		if (!in_order)
			qsort(entries + first, end - first, sizeof(*entries), compare_offsets);
	}
}

/* Returns how many entries no later record can precede. */
static size_t count_ready(const struct perch_reader *reader, const struct perch__block *block)
{
	const struct perch__sorter *sorter = &reader->blocks.sorter;

	if (block->ended)
		return block->nr;
	return sorter->stream ? perch__count_before(block->entries, block->nr,
						    perch__streams_limit(reader))
			      : perch__count_upto(block->entries, block->nr, sorter->rounds.limit);
}

static int sort_block(struct perch_reader *reader, struct perch__block *block)
{
	struct perch__sorter *sorter = &reader->blocks.sorter;
	int rc =
		perch__index_sort(block->entries, block->nr, &sorter->copy, &sorter->copy_capacity);

	if (rc)
		return rc;
	block->ready = count_ready(reader, block);
	if (sorter->stream)
		sort_equal_times(block->entries, block->ready);
	if (block->ready && block->entries[block->ready - 1].time > sorter->rounds.delivered)
		sorter->rounds.delivered = block->entries[block->ready - 1].time;
	return 0;
}

static int fill_block(struct perch_reader *reader, struct perch__block *block,
		      struct perch_error *err)
{
	struct perch__sorter *sorter = &reader->blocks.sorter;
	int rc = sorter->last ? keep_rest(reader, block) : perch__streams_begin(reader, err);

	reader->cursor.output = &block->output;
	block->from = perch__cursor_position(reader, &reader->cursor);
	block->ended = false;
	while (!rc && !block->ready && !block->ended) {
		rc = sorter->stream ? perch__streams_collect(reader, block, err)
				    : collect(reader, block, err);
		if (!rc)
			rc = sort_block(reader, block);
	}
	return rc ? rc : plan_release(reader, block);
}

void perch__block_make(struct perch_reader *reader, struct perch__block *block)
{
	struct perch__sorter *sorter = &reader->blocks.sorter;
	bool first = !sorter->last;
	int rc;

	block->err = (struct perch_error){ 0 };
	rc = fill_block(reader, block, &block->err);
	if (rc == -ENOMEM)
		PERCH__NO_MEMORY(&block->err, "to sort the records by time");
	if (rc) {
		block->ready = 0;
		block->ended = false;
	}
	block->whole = first && block->ended;
	block->cursor = reader->cursor;
	block->late = sorter->rounds.late;
	sorter->last = block;
}

void perch__sorter_restart(struct perch_reader *reader)
{
	struct perch__sorter *sorter = &reader->blocks.sorter;

	sorter->last = NULL;
	sorter->rounds = (struct perch__rounds){ 0 };
	perch__cursor_start(reader, &reader->cursor);
	perch__streams_free(reader);
}

void perch__sorter_free(struct perch_reader *reader)
{
	free(reader->blocks.sorter.copy);
	perch__streams_free(reader);
}
