/* SPDX-License-Identifier: MIT */
/*
 * A stable merge of adjacent runs, which first excludes the entries that are in place. It moves
 * each entry of a recorded file a few times only, and takes O(n log n) for any file.
 */
#include "base/array.h"
#include "order.h"

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

/* Merges two adjacent runs. Entries of equal time keep their order. */
static int merge_runs(struct sorter *sorter, struct run a, struct run b)
{
	struct perch__index_entry *entries = sorter->entries;
	const struct perch__index_entry *left, *left_end, *right, *right_end;
	struct perch__index_entry *out;
	size_t in_place = perch__count_upto(entries + a.start, a.length, entries[b.start].time);
	size_t n = a.length - in_place;

	if (!n)
		return 0;
	b.length = perch__count_before(entries + b.start, b.length, entries[b.start - 1].time);
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

int perch__index_sort(struct perch__index_entry *entries, size_t nr,
		      struct perch__index_entry **copy, size_t *copy_capacity)
{
	struct sorter sorter = { .entries = entries,
				 .copy = *copy,
				 .copy_capacity = *copy_capacity };
	int rc = sort_entries(&sorter, nr);

	*copy = sorter.copy;
	*copy_capacity = sorter.copy_capacity;
	return rc;
}
