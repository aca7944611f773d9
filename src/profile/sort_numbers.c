/* SPDX-License-Identifier: MIT */
/* Sorts by numbers: a radix sort, which compares nothing. */
#include "internal.h"

/* With fewer items, comparisons are faster than counting bytes. */
#define FEW 64

static void sort_few(struct sort_item *items, size_t nr)
{
	for (size_t i = 1; i < nr; i++) {
		struct sort_item item = items[i];
		size_t at = i;

		for (; at && items[at - 1].number > item.number; at--)
			items[at] = items[at - 1];
		items[at] = item;
	}
}

/* Moves the items to another array, in the order of one byte of their numbers. */
static void sort_by_byte(struct sort_item *to, const struct sort_item *from, size_t nr,
			 unsigned shift)
{
	size_t next[256] = { 0 }, at = 0;

	for (size_t i = 0; i < nr; i++)
		next[from[i].number >> shift & 0xff]++;
	for (size_t i = 0; i < 256; i++) {
		size_t count = next[i];

		next[i] = at;
		at += count;
	}
	for (size_t i = 0; i < nr; i++)
		to[next[from[i].number >> shift & 0xff]++] = from[i];
}

void perch__sort_by_numbers(struct sort_item *items, size_t nr, struct sort_item *scratch)
{
	struct sort_item *from = items, *to = scratch;
	uint64_t differences = 0;

	if (nr < FEW) {
		sort_few(items, nr);
		return;
	}
	for (size_t i = 1; i < nr; i++)
		differences |= items[i].number ^ items[0].number;
	/* the least significant byte first; bytes that are equal in all items change nothing */
	for (unsigned shift = 0; shift < 64; shift += 8) {
		struct sort_item *other = from;

		if (!(differences >> shift & 0xff))
			continue;
		sort_by_byte(to, from, nr, shift);
		from = to;
		to = other;
	}
	if (from != items)
		memcpy(items, from, nr * sizeof(*items));
}
