/* SPDX-License-Identifier: MIT */
/*
 * The files of a directory, read side by side. Each has its own rounds, and so a limit: all later
 * records of the file have this time or a higher one. The file with the lowest limit is read next,
 * so the index has what the files have of one part of the time. A file of perf has the records of
 * one ring, which are in order, but for those of interrupts: it has no rounds.
 */
#include "base/no_memory.h"
#include "base/search.h"
#include "rounds.h"

#define LEAST_RECORDS	256u
#define RECORDS_TO_WAIT 65536u	   /* a file with so many records before its first round has none */
#define NESTED_NS	100000000u /* its records are at most so much older than those before */

/* Compressed records of several files would need as many decompressors. A file that was not ended
 * does not say if it has some. */
static bool can_stream(const struct perch_reader *reader)
{
	return reader->nr_ranges > 1 && !reader->unfinished && !reader->copied &&
	       !reader->feature[PERCH_FEATURE_COMPRESSED].at;
}

int perch__streams_begin(struct perch_reader *reader)
{
	struct perch__sorted *sorted = &reader->sorted;

	if (sorted->stream || sorted->from || !can_stream(reader))
		return 0;
	sorted->stream = calloc(reader->nr_ranges, sizeof(*sorted->stream));
	if (!sorted->stream)
		return -ENOMEM;
	for (size_t i = 0; i < reader->nr_ranges; i++) {
		perch__cursor_of_range(reader, &sorted->stream[i].cursor, i);
		sorted->stream[i].released = reader->range[i].start;
	}
	return 0;
}

static uint64_t limit_of(const struct perch__stream *stream)
{
	const struct perch__rounds *rounds = &stream->rounds;

	if (stream->ended)
		return UINT64_MAX;
	if (rounds->any)
		return rounds->limit;
	return stream->records >= RECORDS_TO_WAIT && rounds->latest > NESTED_NS
		       ? rounds->latest - NESTED_NS
		       : 0;
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

/* Moves what is counted for all files together. */
static void count_damage(struct perch_reader *reader, struct perch__stream *stream)
{
	reader->cursor.corrupt += stream->cursor.corrupt;
	reader->sorted.rounds.late += stream->rounds.late;
	stream->cursor.corrupt = stream->rounds.late = 0;
}

/* Reads some records of a file, up to the end of a round if it has rounds. */
static int read_stream(struct perch_reader *reader, struct perch__stream *stream, size_t most,
		       struct perch_error *err)
{
	struct perch__sorted *sorted = &reader->sorted;
	uint64_t offset, from = stream->cursor.at;
	struct perch__index_entry *entry;
	bool round = false;
	size_t nr = 0;
	int rc = 1;

	stream->rounds.delivered = sorted->rounds.delivered;
	while ((nr < most || (stream->rounds.any && !round)) &&
	       (rc = perch__cursor_next(reader, &stream->cursor, &offset, err)) > 0) {
		if (stream->cursor.decompressing)
			return perch_error_set(err, EBADMSG, PERCH_ERROR_FILE,
					       "a file of the directory has compressed records, "
					       "but the header does not say so");
		entry = PERCH__ARRAY_APPEND(sorted->entries, sorted->nr, sorted->capacity);
		if (!entry)
			return -ENOMEM;
		entry->time = perch__rounds_time(reader, &stream->rounds, offset);
		entry->offset = offset;
		round = stream->rounds.ended;
		stream->rounds.ended = false;
		nr++;
	}
	stream->records += nr;
	stream->ended = !rc;
	reader->cursor.at += stream->cursor.at - from; /* for the progress */
	count_damage(reader, stream);
	return rc < 0 ? rc : 0;
}

int perch__streams_collect(struct perch_reader *reader, struct perch_error *err)
{
	struct perch__sorted *sorted = &reader->sorted;
	size_t before = sorted->nr, each = sorted->batch / (4 * reader->nr_ranges);
	uint64_t from = reader->cursor.at;
	struct perch__stream *stream;
	int rc = 0;

	if (each < LEAST_RECORDS)
		each = LEAST_RECORDS;
	while (!rc && sorted->nr - before < sorted->batch &&
	       reader->cursor.at - from < PERCH__BATCH_BYTES) {
		stream = lowest_stream(reader);
		sorted->ended = !stream;
		if (!stream)
			break;
		rc = read_stream(reader, stream, each, err);
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
