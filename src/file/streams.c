/* SPDX-License-Identifier: MIT */
/*
 * The files of a directory, read side by side. A first pass over each file finds the limit of each
 * of its blocks: all records from it on have this time or a higher one. The file with the lowest
 * limit is read next, so the index has what the files have of one part of the time. Nothing is
 * assumed about the order in a file: it may have several rings, and it has no FINISHED_ROUND.
 */
#include "base/no_memory.h"
#include "base/search.h"
#include "rounds.h"

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
		time = perch__rounds_time(reader, &rounds, offset);
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
	struct perch__sorted *sorted = &reader->sorted;

	for (size_t i = 0; sorted->stream && i < reader->nr_ranges; i++)
		free(sorted->stream[i].limit);
	free(sorted->stream);
	sorted->stream = NULL;
}

/* Compressed records of several files would need as many decompressors. */
int perch__streams_begin(struct perch_reader *reader, struct perch_error *err)
{
	struct perch__sorted *sorted = &reader->sorted;
	int rc = 1;

	if (reader->nr_ranges < 2 || reader->copied)
		return 0;
	sorted->stream = calloc(reader->nr_ranges, sizeof(*sorted->stream));
	if (!sorted->stream)
		return -ENOMEM;
	for (size_t i = 0; i < reader->nr_ranges && rc > 0; i++) {
		struct perch__stream *stream = &sorted->stream[i];

		perch__cursor_of_range(reader, &stream->cursor, i);
		stream->released = reader->range[i].start;
		rc = scan_blocks(reader, stream, err);
		make_limits(stream);
	}
	if (rc <= 0)
		perch__streams_free(reader);
	return rc < 0 ? rc : 0;
}

/* ---- batches ---- */

static uint64_t limit_of(const struct perch__stream *stream)
{
	return stream->at < stream->nr_limits ? stream->limit[stream->at] : UINT64_MAX;
}

/* The first of the streams with the lowest limit; NULL: all have ended. */
static struct perch__stream *lowest_stream(const struct perch_reader *reader)
{
	struct perch__stream *lowest = NULL;

	for (size_t i = 0; i < reader->nr_ranges; i++) {
		struct perch__stream *stream = &reader->sorted.stream[i];

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
static int read_block(struct perch_reader *reader, struct perch__stream *stream,
		      struct perch_error *err)
{
	struct perch__sorted *sorted = &reader->sorted;
	uint64_t offset, from = stream->cursor.at;
	struct perch__index_entry *entry;
	int rc = 1;

	for (size_t nr = 0; nr < BLOCK_RECORDS; nr++) {
		rc = perch__cursor_next(reader, &stream->cursor, &offset, err);
		if (rc <= 0)
			break;
		entry = PERCH__ARRAY_APPEND(sorted->entries, sorted->nr, sorted->capacity);
		if (!entry)
			return -ENOMEM;
		entry->time = perch__rounds_time(reader, &stream->rounds, offset);
		entry->offset = offset;
	}
	stream->at++;
	stream->ended = !rc;
	reader->cursor.at += stream->cursor.at - from; /* for the progress */
	reader->cursor.corrupt += stream->cursor.corrupt;
	stream->cursor.corrupt = 0;
	return rc < 0 ? rc : 0;
}

int perch__streams_collect(struct perch_reader *reader, struct perch_error *err)
{
	struct perch__sorted *sorted = &reader->sorted;
	uint64_t from = reader->cursor.at;
	struct perch__stream *stream;
	size_t before = sorted->nr;
	int rc = 0;

	/* at least as many as are held, because the next sort visits all of them */
	while (!rc &&
	       (sorted->nr - before < before || (sorted->nr - before < sorted->batch &&
						 reader->cursor.at - from < PERCH__BATCH_BYTES))) {
		stream = lowest_stream(reader);
		sorted->ended = !stream;
		if (!stream)
			break;
		rc = read_block(reader, stream, err);
	}
	return rc;
}

void perch__streams_release(struct perch_reader *reader)
{
	struct perch__sorted *sorted = &reader->sorted;
	uint64_t *needed = calloc(reader->nr_ranges, sizeof(*needed));

	if (!needed)
		return; /* the pages stay */
	for (size_t i = 0; i < reader->nr_ranges; i++)
		needed[i] = sorted->stream[i].cursor.at;
	for (size_t i = 0; i < sorted->nr; i++) {
		uint64_t offset = sorted->entries[i].offset;
		size_t range =
			PERCH__SEARCH(reader->nr_ranges, k, reader->range[k].start <= offset) - 1;

		if (offset < needed[range])
			needed[range] = offset;
	}
	for (size_t i = 0; i < reader->nr_ranges; i++)
		perch__release(reader, &sorted->stream[i].released, needed[i]);
	free(needed);
}
