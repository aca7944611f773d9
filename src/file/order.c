/* SPDX-License-Identifier: MIT */
/*
 * Records by time. Each CPU's ring is in order, and the recorder writes the rings one after the
 * other, round by round; so the file is a sequence of ascending runs that overlap only with their
 * neighbours. A stable merge of adjacent runs, which first cuts off what is in place already,
 * touches each entry only a few times on such files, and takes n log n on any.
 */
#include <stdlib.h>
#include "internal.h"

#define LEAST_RUN 24u
#define MOST_RUNS 66u /* each pending run is at least twice as long as the next */

struct run {
	size_t start, length;
};

struct sorter {
	struct perch__index_entry *entries;
	struct perch__index_entry *spare;
	size_t available;
	struct run runs[MOST_RUNS];
	size_t nr;
};

/* How many of the first n entries come before or with `time`. */
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

/* How many of the first n entries come before `time`. */
static size_t count_before(const struct perch__index_entry *entries, size_t n, uint64_t time)
{
	return time ? count_upto(entries, n, time - 1) : 0;
}

static int make_spare(struct sorter *sorter, size_t n)
{
	if (n <= sorter->available)
		return 0;
	free(sorter->spare);
	sorter->available = n + n / 2;
	sorter->spare = malloc(sorter->available * sizeof(*sorter->spare));
	return sorter->spare ? 0 : -ENOMEM;
}

/* Merges two adjacent runs. Equal times keep their order: the first run's come first. */
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
	if (make_spare(sorter, n))
		return -ENOMEM;
	out = entries + a.start + in_place;
	memcpy(sorter->spare, out, n * sizeof(*out));
	left = sorter->spare;
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

/* Inserts entries[sorted..n) into the ascending ones before them. */
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
	size_t length = 1, least = n < LEAST_RUN ? n : LEAST_RUN;

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
	free(sorter.spare);
	return rc;
}

/* ---- the index ---- */

/*
 * Records without a time are delivered where a reader that sorts round by round would: at once,
 * before all that waits for the end of its round. That limit only ever grows, so they keep their
 * order among themselves.
 */
struct rounds {
	size_t range;	     /* of a directory: its files have rounds of their own */
	uint64_t latest;     /* of all times so far */
	uint64_t last_round; /* the same at the last FINISHED_ROUND */
	uint64_t limit;	     /* everything up to here has been delivered */
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

static bool grow_index(struct perch_reader *reader, size_t *available)
{
	size_t more = *available ? *available + *available / 2 : 4096;
	struct perch__index_entry *index = realloc(reader->index, more * sizeof(*index));

	if (!index)
		return false;
	reader->index = index;
	*available = more;
	return true;
}

static int collect(struct perch_reader *reader, struct perch_error *err)
{
	struct rounds rounds = { 0 };
	uint64_t offset;
	size_t available = 0;
	int rc;

	reader->nr_index = 0;
	free(reader->index);
	reader->index = NULL;
	perch__cursor_start(reader, &reader->cursor);
	while ((rc = perch__cursor_next(reader, &reader->cursor, &offset, err)) > 0) {
		uint64_t time;

		if (reader->cursor.range != rounds.range)
			rounds = (struct rounds){ .range = reader->cursor.range };
		time = entry_time(reader, &rounds, offset);
		if (reader->nr_index == available && !grow_index(reader, &available))
			return perch_error_set(err, ENOMEM, PERCH_ERROR_NO_MEMORY,
					       "no memory to put the records in order");
		reader->index[reader->nr_index++] =
			(struct perch__index_entry){ .time = time, .offset = offset };
		if (reader->cursor.at - reader->released > 8u << 20)
			perch__release(reader, reader->cursor.at);
	}
	perch__release(reader, reader->records_end);
	reader->released = 0;
	return rc;
}

/*
 * For each block, from which offset on the file is still needed once the blocks before it are done.
 */
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
				       "no memory to put the records in order");
	reader->indexed = !rc;
	return rc;
}
