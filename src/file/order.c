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
 */
#include "internal.h"

#define MIN_RUN	 24u
#define MAX_RUNS 66u /* each pending run is at least twice as long as the next one */

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
	size_t low = 0, high = n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (entries[middle].time <= time)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Returns how many of the first n entries have a lower time. */
static size_t count_before(const struct perch__index_entry *entries, size_t n, uint64_t time)
{
	return time ? count_upto(entries, n, time - 1) : 0;
}

/* Merges two adjacent runs. Entries of equal time keep their order. */
static int merge(struct sorter *sorter, struct run a, struct run b)
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
	int rc = merge(sorter, *a, *b);

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
static void insert(struct perch__index_entry *entries, size_t sorted, size_t n)
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
	insert(entries, length, least);
	return least;
}

int perch__index_sort(struct perch__index_entry *entries, size_t nr)
{
	struct sorter sorter = { .entries = entries };
	int rc = 0;

	for (size_t at = 0; !rc && at < nr;) {
		struct run run = { .start = at, .length = next_run(entries + at, nr - at) };

		rc = push_run(&sorter, run);
		at += run.length;
	}
	while (!rc && sorter.nr > 1)
		rc = merge_top(&sorter);
	free(sorter.copy);
	return rc;
}

/* ---- the index ---- */

/*
 * Records without a time get the position that they have in a reader that sorts round by round: it
 * delivers them at once, before all records that wait for the end of the round. The limit never
 * falls, so these records keep their order.
 */
struct rounds {
	size_t range;	     /* each file of a directory has its own rounds */
	uint64_t latest;     /* the highest time so far */
	uint64_t last_round; /* the highest time at the last FINISHED_ROUND */
	uint64_t
		limit; /* a reader that sorts by rounds has delivered the records up to this time */
};

static uint64_t entry_time(struct perch_reader *reader, struct rounds *rounds, uint64_t offset)
{
	const uint8_t *record = perch__record_at(reader, offset);
	uint64_t time, available = perch__record_available(reader, offset);

	if (perch_decoder_time(reader->decoder, record, available, &time) && time &&
	    time != UINT64_MAX) {
		if (time > rounds->latest)
			rounds->latest = time;
		return time;
	}
	if (perch__file_u32(reader, record) == PERCH_RECORD_FINISHED_ROUND) {
		rounds->limit = rounds->last_round;
		rounds->last_round = rounds->latest;
	}
	return rounds->limit;
}

static int collect(struct perch_reader *reader, struct perch_error *err)
{
	struct rounds rounds = { 0 };
	uint64_t offset;
	int rc;

	reader->nr_index = 0;
	perch__cursor_start(reader, &reader->cursor);
	while ((rc = perch__cursor_next(reader, &reader->cursor, &offset, err)) > 0) {
		struct perch__index_entry *entry;
		uint64_t time;

		if (reader->cursor.range != rounds.range)
			rounds = (struct rounds){ .range = reader->cursor.range };
		time = entry_time(reader, &rounds, offset);
		entry = PERCH__ARRAY_APPEND(reader->index, reader->nr_index,
					    reader->index_capacity);
		if (!entry)
			return perch_error_set(err, ENOMEM, PERCH_ERROR_NO_MEMORY,
					       "no memory to sort the records by time");
		*entry = (struct perch__index_entry){ .time = time, .offset = offset };
		if (reader->cursor.at - reader->released > 8u << 20)
			perch__release(reader, reader->cursor.at);
	}
	perch__release(reader, reader->records_end);
	reader->released = 0;
	return rc;
}

/* Computes the lowest offset that each block and the later ones need, for perch__release(). */
static int plan_release(struct perch_reader *reader)
{
	size_t blocks = reader->nr_index / PERCH__INDEX_BLOCK + 1;
	uint64_t least = reader->records_end;

	reader->needed_from = malloc(blocks * sizeof(*reader->needed_from));
	if (!reader->needed_from)
		return -ENOMEM;
	for (size_t i = reader->nr_index, block = blocks; block-- > 0;) {
		while (i > block * PERCH__INDEX_BLOCK) {
			i--;
			if (reader->index[i].offset < least)
				least = reader->index[i].offset;
		}
		reader->needed_from[block] = least;
	}
	return 0;
}

int perch__index_build(struct perch_reader *reader, struct perch_error *err)
{
	int rc = collect(reader, err);

	if (!rc)
		rc = perch__index_sort(reader->index, reader->nr_index);
	if (!rc)
		rc = plan_release(reader);
	if (rc == -ENOMEM)
		return perch_error_set(err, ENOMEM, PERCH_ERROR_NO_MEMORY,
				       "no memory to sort the records by time");
	reader->indexed = !rc;
	return rc;
}
