/* SPDX-License-Identifier: MIT */
/* Orders nodes, entries and samples for the data block, where an item is a difference to the one
 * before it. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "page.h"

/*
 * Numbers the nodes so that each is followed by its descendants. number: by old index the new one.
 * A parent has a smaller index than its children before and after.
 */
static void number_nodes(const struct page *page, uint32_t *first, uint32_t *next, uint32_t *number)
{
	uint32_t at = 0, nr = 0;

	for (size_t i = 0; i < page->nr_nodes; i++)
		first[i] = next[i] = PAGE_NONE;
	for (uint32_t i = (uint32_t)page->nr_nodes - 1; i > 0; i--) {
		next[i] = first[page->node[i].parent.nr];
		first[page->node[i].parent.nr] = i;
	}
	while (at != PAGE_NONE) {
		number[at] = nr++;
		if (first[at] != PAGE_NONE) {
			at = first[at];
			continue;
		}
		while (at != PAGE_NONE && next[at] == PAGE_NONE)
			at = page->node[at].parent.nr;
		if (at != PAGE_NONE)
			at = next[at];
	}
}

static int sort_nodes(struct page *page)
{
	size_t nr = page->nr_nodes;
	uint32_t *memory = calloc(nr, 3 * sizeof(*memory)), *number;
	struct page_node *node = calloc(nr, sizeof(*node));

	if (!memory || !node) {
		free(memory);
		free(node);
		return -ENOMEM;
	}
	number = memory + 2 * nr;
	number_nodes(page, memory, memory + nr, number);
	node[0] = page->node[0];
	for (size_t i = 1; i < nr; i++) {
		node[number[i]].parent.nr = number[page->node[i].parent.nr];
		node[number[i]].location = page->node[i].location;
	}
	/* with the capacity that page_model.c computes from nr_nodes, which does not grow any more
	 */
	memcpy(page->node, node, nr * sizeof(*node));
	for (size_t i = 0; i < page->nr_entries; i++)
		page->entry[i].node.nr = number[page->entry[i].node.nr];
	free(node);
	free(memory);
	return 0;
}

/* Sorts entries by node; those of a node by event, recording and thread. */
static int compare_entries(const void *left, const void *right, void *entries)
{
	const struct page_entry *a = (struct page_entry *)entries + *(const uint32_t *)left;
	const struct page_entry *b = (struct page_entry *)entries + *(const uint32_t *)right;

	if (a->node.nr != b->node.nr)
		return a->node.nr < b->node.nr ? -1 : 1;
	if (a->event.nr != b->event.nr)
		return a->event.nr < b->event.nr ? -1 : 1;
	if (a->old != b->old)
		return a->old < b->old ? -1 : 1;
	return a->thread.nr < b->thread.nr ? -1 : a->thread.nr > b->thread.nr;
}

static int compare_times(const void *left, const void *right)
{
	const struct page_sample *a = left, *b = right;

	return a->time < b->time ? -1 : a->time > b->time;
}

/* Sorts samples by entry and time. They are mostly sorted by time before. */
static int sort_samples(struct page *page)
{
	struct page_sample *sorted = calloc(page->nr_samples + 1, sizeof(*sorted));
	size_t *end = calloc(page->nr_entries + 1, sizeof(*end));

	if (!sorted || !end) {
		free(sorted);
		free(end);
		return -ENOMEM;
	}
	for (size_t i = 0; i < page->nr_samples; i++)
		end[page->sample[i].entry.nr + 1]++;
	for (size_t i = 0; i < page->nr_entries; i++)
		end[i + 1] += end[i];
	for (size_t i = 0; i < page->nr_samples; i++)
		sorted[end[page->sample[i].entry.nr]++] = page->sample[i];
	for (size_t i = 0, start = 0; i < page->nr_entries; start = end[i++])
		for (size_t k = start + 1; k < end[i]; k++)
			if (sorted[k].time < sorted[k - 1].time) {
				qsort(sorted + start, end[i] - start, sizeof(*sorted),
				      compare_times);
				break;
			}
	free(page->sample);
	page->sample = sorted;
	free(end);
	return 0;
}

static int sort_entries(struct page *page)
{
	size_t nr = page->nr_entries;
	uint32_t *order = calloc(nr + 1, 2 * sizeof(*order)), *number;
	struct page_entry *entry = calloc(nr + 1, sizeof(*entry));

	if (!order || !entry) {
		free(order);
		free(entry);
		return -ENOMEM;
	}
	number = order + nr;
	for (uint32_t i = 0; i < nr; i++)
		order[i] = i;
	qsort_r(order, nr, sizeof(*order), compare_entries, page->entry);
	for (uint32_t i = 0; i < nr; i++) {
		entry[i] = page->entry[order[i]];
		number[order[i]] = i;
	}
	for (size_t i = 0; i < page->nr_samples; i++)
		page->sample[i].entry.nr = number[page->sample[i].entry.nr];
	free(order);
	free(page->entry);
	page->entry = entry;
	return sort_samples(page);
}

int perch__page_sort(struct page *page)
{
	int rc = sort_nodes(page);

	return rc ? rc : sort_entries(page);
}
