/* SPDX-License-Identifier: MIT */
/*
 * The files of a directory, read side by side. A first pass over each file finds the limit of each
 * of its blocks: all records from it on have this time or a higher one. The file with the lowest
 * limit is read next, so the index has what the files have of one part of the time. Nothing is
 * assumed about the order in a file: it may have several rings, and it has no FINISHED_ROUND.
 */
#include "order.h"
#include "rounds.h"

/* Streams have no compressed records. */
static const struct perch__output nothing;

#define BLOCK_RECORDS 512u

/* ---- the first pass ---- */

static bool is_next_compressed(const struct perch_reader *reader,
			       const struct perch__cursor *cursor)
{
	return cursor->end - cursor->at >= sizeof(struct perch_record_header) &&
	       perch__is_compressed(perch__file_u32(reader, reader->file + cursor->at));
}

/* Finds the lowest time of each block of a file. Returns 1, 0 if it has a compressed record, or a
 * negative errno. */
static int scan_blocks(struct perch_reader *reader, struct perch__stream *stream,
		       struct perch_error *err)
{
	struct perch__rounds rounds = { 0 };
	struct perch__cursor cursor;
	uint64_t offset, time, released = stream->released;
	uint64_t *block = NULL;
	int rc = 1;

	perch__cursor_of_range(reader, &cursor, stream->cursor.range);
	for (size_t nr = 0;; nr++) {
		if (is_next_compressed(reader, &cursor))
			return 0;
		rc = perch__cursor_next(reader, &cursor, &offset, err);
		if (rc <= 0)
			return rc < 0 ? rc : 1;
		if (nr % BLOCK_RECORDS == 0) {
			block = PERCH__ARRAY_APPEND(stream->limit, stream->nr_limits,
						    stream->limits_capacity);
			if (!block)
				return -ENOMEM;
			*block = UINT64_MAX;
		}
		time = perch__rounds_time(reader, &nothing, &rounds, offset);
		/* what was there before the recording has no time, and comes first */
		if (time < *block && (time || !rounds.latest))
			*block = time;
		if (cursor.at - released > PERCH__BATCH_BYTES)
			perch__release(reader, &released, cursor.at);
	}
}

/* From the lowest time of each block to that of it and all later ones. */
static void make_limits(struct perch__stream *stream)
{
	for (size_t i = stream->nr_limits; i-- > 1;)
		if (stream->limit[i] < stream->limit[i - 1])
			stream->limit[i - 1] = stream->limit[i];
}

void perch__streams_free(struct perch_reader *reader)
{
	struct perch__sorter *sorter = &reader->blocks.sorter;

	for (size_t i = 0; sorter->stream && i < reader->nr_ranges; i++)
		free(sorter->stream[i].limit);
	free(sorter->stream);
	sorter->stream = NULL;
}

/* Compressed records of several files would need as many decompressors. */
int perch__streams_begin(struct perch_reader *reader, struct perch_error *err)
{
	struct perch__sorter *sorter = &reader->blocks.sorter;
	int rc = 1;

	if (reader->nr_ranges < 2 || reader->copied)
		return 0;
	sorter->stream = calloc(reader->nr_ranges, sizeof(*sorter->stream));
	if (!sorter->stream)
		return -ENOMEM;
	for (size_t i = 0; i < reader->nr_ranges && rc > 0; i++) {
		struct perch__stream *stream = &sorter->stream[i];

		perch__cursor_of_range(reader, &stream->cursor, i);
		stream->released = reader->range[i].start;
		rc = scan_blocks(reader, stream, err);
		make_limits(stream);
	}
	if (rc <= 0)
		perch__streams_free(reader);
	return rc < 0 ? rc : 0;
}

/* ---- blocks of the reader ---- */

static uint64_t limit_of(const struct perch__stream *stream)
{
	return stream->at < stream->nr_limits ? stream->limit[stream->at] : UINT64_MAX;
}

/* The first of the streams with the lowest limit; NULL: all have ended. */
static struct perch__stream *lowest_stream(const struct perch_reader *reader)
{
	struct perch__stream *lowest = NULL;

	for (size_t i = 0; i < reader->nr_ranges; i++) {
		struct perch__stream *stream = &reader->blocks.sorter.stream[i];

		if (!stream->ended && (!lowest || limit_of(stream) < limit_of(lowest)))
			lowest = stream;
	}
	return lowest;
}

uint64_t perch__streams_limit(const struct perch_reader *reader)
{
	const struct perch__stream *lowest = lowest_stream(reader);

	return lowest ? limit_of(lowest) : UINT64_MAX;
}

/* Reads a block of a file. */
static int read_block(struct perch_reader *reader, struct perch__block *block,
		      struct perch__stream *stream, struct perch_error *err)
{
	uint64_t offset, from = stream->cursor.at;
	struct perch__index_entry *entry;
	int rc = 1;

	for (size_t nr = 0; nr < BLOCK_RECORDS; nr++) {
		rc = perch__cursor_next(reader, &stream->cursor, &offset, err);
		if (rc <= 0)
			break;
		entry = PERCH__ARRAY_APPEND(block->entries, block->nr, block->capacity);
		if (!entry)
			return -ENOMEM;
		entry->time = perch__rounds_time(reader, &nothing, &stream->rounds, offset);
		entry->offset = offset;
	}
	stream->at++;
	stream->ended = !rc;
	reader->cursor.at += stream->cursor.at - from; /* for the progress */
	reader->cursor.corrupt += stream->cursor.corrupt;
	stream->cursor.corrupt = 0;
	return rc < 0 ? rc : 0;
}

int perch__streams_collect(struct perch_reader *reader, struct perch__block *block,
			   struct perch_error *err)
{
	uint64_t from = reader->cursor.at;
	struct perch__stream *stream;
	size_t before = block->nr;
	int rc = 0;

	/* at least as many as are held, because the next sort visits all of them */
	while (!rc &&
	       (block->nr - before < before || (block->nr - before < reader->blocks.batch &&
						reader->cursor.at - from < PERCH__BATCH_BYTES))) {
		stream = lowest_stream(reader);
		block->ended = !stream;
		if (!stream)
			break;
		rc = read_block(reader, block, stream, err);
	}
	return rc;
}

int perch__streams_plan_release(struct perch_reader *reader, struct perch__block *block)
{
	if (PERCH__ARRAY_RESERVE(block->needed_from, block->needed_capacity, reader->nr_ranges))
		return -ENOMEM;
	for (size_t i = 0; i < reader->nr_ranges; i++)
		block->needed_from[i] = reader->blocks.sorter.stream[i].cursor.at;
	for (size_t i = block->ready; i < block->nr; i++) {
		uint64_t offset = block->entries[i].offset;
		size_t range =
			PERCH__SEARCH(reader->nr_ranges, k, reader->range[k].start <= offset) - 1;

		if (offset < block->needed_from[range])
			block->needed_from[range] = offset;
	}
	return 0;
}

void perch__streams_release(struct perch_reader *reader, const struct perch__block *block)
{
	for (size_t i = 0; i < reader->nr_ranges; i++)
		perch__release(reader, &reader->blocks.sorter.stream[i].released,
			       block->needed_from[i]);
}
