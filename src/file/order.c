/* SPDX-License-Identifier: MIT */
/*
 * Sorts records by time. The records of a ring are in order, and a recorder writes the rings one
 * after the other in rounds. So a file consists of ascending runs that overlap only with their
 * neighbours:
 *
 *	ring 0   ring 1   ring 0   ring 1
 *	1 4 6    2 3 5    7 9      8 10
 *
 * The sort is a stable merge of adjacent runs, which first excludes the entries that are in place.
 * It moves each entry of a recorded file a few times only, and takes O(n log n) for any file.
 *
 * The index has the records of some rounds only (rounds.h): a batch. A file without FINISHED_ROUND
 * is one batch. The files of a directory are read side by side (streams.c) if nothing in them is
 * compressed; else all of them together are one batch.
 */
#include "base/no_memory.h"
#include "base/search.h"
#include "rounds.h"

#define RELEASE_LEAST (4u << 20) /* bytes: each call interrupts the other threads */
#define MIN_RUN	      24u
#define MAX_RUNS      66u /* each pending run is at least twice as long as the next one */

struct run {
	size_t start, length;
};

struct sorter {
	struct perch__index_entry *entries;
	struct perch__index_entry *copy; /* a copy of the left run during a merge */
	size_t copy_capacity;
	struct run runs[MAX_RUNS];
	size_t nr;
};

/* Returns how many of the first n entries have this time or a lower one. */
static size_t count_upto(const struct perch__index_entry *entries, size_t n, uint64_t time)
{
	return PERCH__SEARCH(n, i, entries[i].time <= time);
}

/* Returns how many of the first n entries have a lower time. */
static size_t count_before(const struct perch__index_entry *entries, size_t n, uint64_t time)
{
	return time ? count_upto(entries, n, time - 1) : 0;
}

/* Merges two adjacent runs. Entries of equal time keep their order. */
static int merge_runs(struct sorter *sorter, struct run a, struct run b)
{
	struct perch__index_entry *entries = sorter->entries;
	const struct perch__index_entry *left, *left_end, *right, *right_end;
	struct perch__index_entry *out;
	size_t in_place = count_upto(entries + a.start, a.length, entries[b.start].time);
	size_t n = a.length - in_place;

	if (!n)
		return 0;
	b.length = count_before(entries + b.start, b.length, entries[b.start - 1].time);
	if (PERCH__ARRAY_RESERVE(sorter->copy, sorter->copy_capacity, n))
		return -ENOMEM;
	out = entries + a.start + in_place;
	memcpy(sorter->copy, out, n * sizeof(*out));
	left = sorter->copy;
	left_end = left + n;
	right = entries + b.start;
	right_end = right + b.length;
	while (left < left_end && right < right_end)
		*out++ = right->time < left->time ? *right++ : *left++;
	memcpy(out, left, (left_end - left) * sizeof(*out));
	return 0;
}

static int merge_top(struct sorter *sorter)
{
	struct run *a = &sorter->runs[sorter->nr - 2], *b = a + 1;
	int rc = merge_runs(sorter, *a, *b);

	a->length += b->length;
	sorter->nr--;
	return rc;
}

static int push_run(struct sorter *sorter, struct run run)
{
	int rc = 0;

	sorter->runs[sorter->nr++] = run;
	while (!rc && sorter->nr > 1 &&
	       sorter->runs[sorter->nr - 2].length / 2 < sorter->runs[sorter->nr - 1].length)
		rc = merge_top(sorter);
	return rc;
}

/* Inserts entries[sorted..n) into entries[0..sorted), which are in order. */
static void insert_entry(struct perch__index_entry *entries, size_t sorted, size_t n)
{
	for (size_t i = sorted; i < n; i++) {
		struct perch__index_entry entry = entries[i];
		size_t at = i;

		for (; at && entries[at - 1].time > entry.time; at--)
			entries[at] = entries[at - 1];
		entries[at] = entry;
	}
}

static size_t next_run(struct perch__index_entry *entries, size_t n)
{
	size_t length = 1, least = n < MIN_RUN ? n : MIN_RUN;

	while (length < n && entries[length - 1].time <= entries[length].time)
		length++;
	if (length >= least)
		return length;
	insert_entry(entries, length, least);
	return least;
}

static int sort_entries(struct sorter *sorter, size_t nr)
{
	int rc = 0;

	for (size_t at = 0; !rc && at < nr;) {
		struct run run = { .start = at, .length = next_run(sorter->entries + at, nr - at) };

		rc = push_run(sorter, run);
		at += run.length;
	}
	while (!rc && sorter->nr > 1)
		rc = merge_top(sorter);
	return rc;
}

int perch__index_sort(struct perch__sorted *sorted)
{
	struct sorter sorter = { .entries = sorted->entries,
				 .copy = sorted->copy,
				 .copy_capacity = sorted->copy_capacity };
	int rc = sort_entries(&sorter, sorted->nr);

	sorted->copy = sorter.copy;
	sorted->copy_capacity = sorter.copy_capacity;
	return rc;
}

/* ---- the index ---- */

/* Discards the entries that were delivered, and the decompressed records that only they refer to.
 */
static void discard_delivered(struct perch_reader *reader)
{
	struct perch__sorted *sorted = &reader->sorted;
	uint64_t least = reader->cursor.decompressed_at;

	if (!sorted->ready)
		return;
	sorted->nr -= sorted->ready;
	memmove(sorted->entries, sorted->entries + sorted->ready,
		sorted->nr * sizeof(*sorted->entries));
	sorted->next = sorted->ready = 0;
	if (sorted->stream)
		perch__streams_release(reader);
	if (!least)
		return;
	for (size_t i = 0; i < sorted->nr; i++) {
		uint64_t offset = sorted->entries[i].offset;

		if (offset >= reader->extent && offset - reader->extent - reader->discarded < least)
			least = offset - reader->extent - reader->discarded;
	}
	perch__discard_decompressed(reader, &reader->cursor, least);
}

/* A position that grows with the bytes of records that were read. */
static uint64_t bytes_read(const struct perch_reader *reader)
{
	return reader->cursor.at + reader->discarded + reader->cursor.decompressed_end;
}

/* Batches are large enough for the sort and the release of pages to take little of the time. */
static bool is_batch(const struct perch_reader *reader, size_t before, uint64_t bytes_before)
{
	const struct perch__sorted *sorted = &reader->sorted;
	size_t added = sorted->nr - before;

	if (reader->nr_ranges > 1)
		return false;
	return added >= before &&
	       (added >= sorted->batch || bytes_read(reader) - bytes_before >= PERCH__BATCH_BYTES);
}

/* Reads records up to the end of a batch. */
static int collect_batch(struct perch_reader *reader, struct perch_error *err)
{
	struct perch__sorted *sorted = &reader->sorted;
	struct perch__rounds *rounds = &sorted->rounds;
	uint64_t bytes_before = bytes_read(reader), released = reader->cursor.at;
	size_t before = sorted->nr;
	uint64_t offset;
	int rc;

	while ((rc = perch__cursor_next(reader, &reader->cursor, &offset, err)) > 0) {
		struct perch__index_entry *entry;
		uint64_t time;

		if (reader->cursor.range != rounds->range)
			*rounds = (struct perch__rounds){ .range = reader->cursor.range };
		time = perch__rounds_time(reader, rounds, offset);
		entry = PERCH__ARRAY_APPEND(sorted->entries, sorted->nr, sorted->capacity);
		if (!entry)
			return -ENOMEM;
		*entry = (struct perch__index_entry){ .time = time, .offset = offset };
		if (__builtin_expect(rounds->ended, 0)) {
			rounds->ended = false;
			if (is_batch(reader, before, bytes_before))
				return 0;
		}
		if (reader->cursor.at - released > PERCH__BATCH_BYTES)
			perch__release(reader, &released, reader->cursor.at);
	}
	sorted->ended = !rc;
	return rc;
}

/* Computes the lowest offset that each block and the later ones need, for perch__release(). */
static int plan_release(struct perch_reader *reader)
{
	struct perch__sorted *sorted = &reader->sorted;
	size_t blocks = sorted->ready / PERCH__INDEX_BLOCK + 1;
	uint64_t least = sorted->ended ? reader->records_end : reader->cursor.at;

	if (PERCH__ARRAY_RESERVE(sorted->needed_from, sorted->needed_capacity, blocks))
		return -ENOMEM;
	if (sorted->stream) { /* each file has pages that are needed */
		memset(sorted->needed_from, 0, blocks * sizeof(*sorted->needed_from));
		return 0;
	}
	for (size_t i = sorted->nr, block = blocks; block-- > 0;) {
		while (i > block * PERCH__INDEX_BLOCK) {
			i--;
			if (sorted->entries[i].offset < least)
				least = sorted->entries[i].offset;
		}
		sorted->needed_from[block] = least;
	}
	return 0;
}

static int compare_offsets(const void *left, const void *right)
{
	const struct perch__index_entry *a = left, *b = right;

	return (a->offset > b->offset) - (a->offset < b->offset);
}

/* Records of one time are in the order of the files, as if all files were one batch. */
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

static int sort_batch(struct perch_reader *reader)
{
	struct perch__sorted *sorted = &reader->sorted;
	int rc = perch__index_sort(sorted);

	if (rc)
		return rc;
	if (sorted->ended)
		sorted->ready = sorted->nr;
	else if (sorted->stream)
		sorted->ready =
			count_before(sorted->entries, sorted->nr, perch__streams_limit(reader));
	else
		sorted->ready = count_upto(sorted->entries, sorted->nr, sorted->rounds.limit);
	if (sorted->stream)
		sort_equal_times(sorted->entries, sorted->ready);
	if (sorted->ready && sorted->entries[sorted->ready - 1].time > sorted->rounds.delivered)
		sorted->rounds.delivered = sorted->entries[sorted->ready - 1].time;
	return plan_release(reader);
}

static int next_batch(struct perch_reader *reader, struct perch_error *err)
{
	struct perch__sorted *sorted = &reader->sorted;
	bool first = !sorted->started;
	int rc;

	sorted->whole = !sorted->nr && first;
	sorted->started = true;
	discard_delivered(reader);
	sorted->from = perch__cursor_position(reader);
	rc = first ? perch__streams_begin(reader, err) : 0;
	if (!rc)
		rc = sorted->stream ? perch__streams_collect(reader, err)
				    : collect_batch(reader, err);
	if (!rc)
		rc = sort_batch(reader);
	sorted->whole = sorted->whole && sorted->ended;
	return rc == -ENOMEM ? PERCH__NO_MEMORY(err, "to sort the records by time") : rc;
}

int perch__sorted_next(struct perch_reader *reader, uint64_t *offset, struct perch_error *err)
{
	struct perch__sorted *sorted = &reader->sorted;
	size_t at;

	while (__builtin_expect(sorted->next == sorted->ready, 0)) {
		if (sorted->ended)
			return 0;
		if (sorted->failed)
			return perch_error_set(err, sorted->failed, PERCH_ERROR_FILE,
					       "reading the file has failed before");
		sorted->failed = -next_batch(reader, err);
		if (sorted->failed)
			return -sorted->failed;
	}
	at = sorted->next++;
	if (at % PERCH__INDEX_BLOCK == 0 &&
	    sorted->needed_from[at / PERCH__INDEX_BLOCK] > reader->released + RELEASE_LEAST)
		perch__release(reader, &reader->released,
			       sorted->needed_from[at / PERCH__INDEX_BLOCK]);
	*offset = sorted->entries[at].offset;
	return 1;
}

void perch__sorted_rewind(struct perch_reader *reader)
{
	struct perch__sorted *sorted = &reader->sorted;

	sorted->next = 0;
	if (sorted->whole)
		return;
	sorted->nr = sorted->ready = 0;
	sorted->started = sorted->ended = false;
	sorted->failed = 0;
	sorted->rounds = (struct perch__rounds){ 0 };
	perch__cursor_start(reader, &reader->cursor);
	perch__streams_free(reader);
}

void perch__sorted_free(struct perch_reader *reader)
{
	free(reader->sorted.entries);
	free(reader->sorted.copy);
	free(reader->sorted.needed_from);
	perch__streams_free(reader);
}
