/* SPDX-License-Identifier: MIT */
/* Adds the tables of one page to another. */
#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "page.h"

/* By index in the page that is added, the index in the other. */
struct merge {
	struct page *to;
	const struct page *from;
	uint32_t *function, *location, *node, *thread, *event, *entry;
	bool old;
	uint64_t scale; /* of numbers of the page that is added */
};

static uint32_t merge_text(const struct merge *merge, uint32_t text)
{
	return perch__page_text(merge->to, merge->from->text + text);
}

/* Sets MAP[i] for each i below NR; leaves the function if out of memory. */
#define MERGE(map, nr, expression)                  \
	do {                                        \
		for (size_t i = 0; i < (nr); i++) { \
			(map)[i] = (expression);    \
			if ((map)[i] == PAGE_NONE)  \
				return -ENOMEM;     \
		}                                   \
	} while (0)

/* Folded stacks to compare with have no name of their event: it is the one that is shown. */
static uint32_t merge_event(const struct merge *merge, uint32_t event)
{
	struct page *to = merge->to;
	uint64_t others;

	if (merge->old && merge->from->has_counts && !to->has_counts && to->nr_events)
		return perch__page_main_event(to, &others);
	return perch__page_event(to, perch__page_event_name(merge->from, event),
				 merge->from->event[event].is_clock);
}

static int merge_tables(const struct merge *merge)
{
	struct page *to = merge->to;
	const struct page *from = merge->from;

	MERGE(merge->function, from->nr_functions,
	      perch__page_function_of(to, merge_text(merge, from->function[i].name),
				      merge_text(merge, from->function[i].dso),
				      from->function[i].kind));
	MERGE(merge->location, from->nr_locations,
	      perch__page_location_of(to, merge->function[from->location[i].function],
				      merge_text(merge, from->location[i].file),
				      from->location[i].line));
	merge->node[0] = 0;
	for (size_t i = 1; i < from->nr_nodes; i++) {
		const struct page_node *node = &from->node[i];

		merge->node[i] = perch__page_child(to, merge->node[node->parent],
						   merge->location[node->location]);
		if (merge->node[i] == PAGE_NONE)
			return -ENOMEM;
	}
	MERGE(merge->thread, from->nr_threads,
	      perch__page_thread_of(to, from->thread[i].pid, from->thread[i].tid,
				    merge_text(merge, from->thread[i].comm)));
	MERGE(merge->event, from->nr_events, merge_event(merge, (uint32_t)i));
	return 0;
}

/* Returns true if the sum is too large. */
static bool add_scaled(uint64_t *to, uint64_t number, uint64_t scale)
{
	uint64_t scaled;

	return __builtin_mul_overflow(number, scale, &scaled) ||
	       __builtin_add_overflow(*to, scaled, to);
}

static int merge_samples(const struct merge *merge)
{
	struct page *to = merge->to;
	const struct page *from = merge->from;

	for (size_t i = 0; i < from->nr_entries; i++) {
		const struct page_entry *entry = &from->entry[i];
		uint32_t index = perch__page_entry(
			to, &(struct page_entry){ .node = merge->node[entry->node],
						  .thread = merge->thread[entry->thread],
						  .event = merge->event[entry->event],
						  .old = merge->old,
						  .state = entry->state });

		if (index == PAGE_NONE)
			return -ENOMEM;
		if (add_scaled(&to->entry[index].samples, entry->samples, merge->scale) ||
		    add_scaled(&to->entry[index].period, entry->period, merge->scale))
			return -EOVERFLOW;
		merge->entry[i] = index;
	}
	if (merge->old)
		return 0;
	to->has_counts |= from->has_counts;
	if (PERCH__ARRAY_RESERVE_BY_NR(to->sample, to->nr_samples, from->nr_samples))
		return -ENOMEM;
	for (size_t i = 0; i < from->nr_samples; i++) {
		to->sample[to->nr_samples] = from->sample[i];
		to->sample[to->nr_samples].period *= merge->scale; /* at most that of the entry */
		to->sample[to->nr_samples++].entry = merge->entry[from->sample[i].entry];
	}
	to->has_times |= from->has_times;
	to->has_cpus |= from->has_cpus;
	return 0;
}

int perch__page_merge(struct page *to, const struct page *from, bool old)
{
	struct merge merge = { .to = to, .from = from, .old = old, .scale = 1 };
	uint32_t *memory = calloc(from->nr_functions + from->nr_locations + from->nr_nodes +
					  from->nr_threads + from->nr_events + from->nr_entries + 1,
				  sizeof(*memory));
	int rc;

	if (!memory)
		return -ENOMEM;
	merge.function = memory;
	merge.location = merge.function + from->nr_functions;
	merge.node = merge.location + from->nr_locations;
	merge.thread = merge.node + from->nr_nodes;
	merge.event = merge.thread + from->nr_threads;
	merge.entry = merge.event + from->nr_events;
	rc = perch__page_set_digits(to, from->digits);
	for (unsigned i = from->digits; i < to->digits; i++)
		merge.scale *= 10;
	if (!rc)
		rc = merge_tables(&merge);
	if (!rc)
		rc = merge_samples(&merge);
	free(memory);
	return rc;
}
