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
	struct page_function_id *function;
	struct page_location_id *location;
	struct page_node_id *node;
	struct page_thread_id *thread;
	struct page_event_id *event;
	struct page_entry_id *entry;
	bool old;
	uint64_t scale; /* of numbers of the page that is added */
};

static struct page_text_id merge_text(const struct merge *merge, struct page_text_id text)
{
	return perch__page_text(merge->to, merge->from->text + text.nr);
}

/* Sets MAP[i] for each i below NUMBER; leaves the function if out of memory. */
#define MERGE(map, number, expression)                  \
	do {                                            \
		for (size_t i = 0; i < (number); i++) { \
			(map)[i] = (expression);        \
			if ((map)[i].nr == PAGE_NONE)   \
				return -ENOMEM;         \
		}                                       \
	} while (0)

/* Folded stacks to compare with have no name of their event: it is the one that is shown. */
static struct page_event_id merge_event(const struct merge *merge, struct page_event_id event)
{
	struct page *to = merge->to;
	uint64_t others;

	if (merge->old && merge->from->has_counts && !to->has_counts && to->nr_events)
		return perch__page_main_event(to, &others);
	return perch__page_event(to, perch__page_event_name(merge->from, event),
				 merge->from->event[event.nr].is_clock);
}

static struct page_function_id merge_function(const struct merge *merge,
					      const struct page_function *from)
{
	return perch__page_function_of(
		merge->to, &(struct page_function){ merge_text(merge, from->name),
						    merge_text(merge, from->dso), from->kind });
}

static struct page_location_id merge_location(const struct merge *merge,
					      const struct page_location *from)
{
	return perch__page_location_of(
		merge->to, &(struct page_location){ merge->function[from->function.nr],
						    merge_text(merge, from->file), from->line });
}

static struct page_thread_id merge_thread(const struct merge *merge, const struct page_thread *from)
{
	return perch__page_thread_of(merge->to,
				     &(struct page_thread){ from->pid, from->tid,
							    merge_text(merge, from->comm) });
}

static int merge_tables(const struct merge *merge)
{
	struct page *to = merge->to;
	const struct page *from = merge->from;

	MERGE(merge->function, from->nr_functions, merge_function(merge, &from->function[i]));
	MERGE(merge->location, from->nr_locations, merge_location(merge, &from->location[i]));
	merge->node[0].nr = 0;
	for (size_t i = 1; i < from->nr_nodes; i++) {
		const struct page_node *node = &from->node[i];

		merge->node[i] = perch__page_child(to, merge->node[node->parent.nr],
						   merge->location[node->location.nr]);
		if (merge->node[i].nr == PAGE_NONE)
			return -ENOMEM;
	}
	MERGE(merge->thread, from->nr_threads, merge_thread(merge, &from->thread[i]));
	MERGE(merge->event, from->nr_events,
	      merge_event(merge, (struct page_event_id){ (uint32_t)i }));
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
		struct page_entry *sum;

		merge->entry[i] = perch__page_entry(
			to, &(struct page_entry){ .node = merge->node[entry->node.nr],
						  .thread = merge->thread[entry->thread.nr],
						  .event = merge->event[entry->event.nr],
						  .old = merge->old,
						  .state = entry->state });
		if (merge->entry[i].nr == PAGE_NONE)
			return -ENOMEM;
		sum = &to->entry[merge->entry[i].nr];
		if (add_scaled(&sum->samples, entry->samples, merge->scale) ||
		    add_scaled(&sum->period, entry->period, merge->scale))
			return -EOVERFLOW;
	}
	if (merge->old)
		return 0;
	to->has_counts |= from->has_counts;
	if (PERCH__ARRAY_RESERVE_BY_NR(to->sample, to->nr_samples, from->nr_samples))
		return -ENOMEM;
	for (size_t i = 0; i < from->nr_samples; i++) {
		to->sample[to->nr_samples] = from->sample[i];
		to->sample[to->nr_samples].period *= merge->scale; /* at most that of the entry */
		to->sample[to->nr_samples++].entry = merge->entry[from->sample[i].entry.nr];
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
	merge.function = (struct page_function_id *)memory;
	merge.location = (struct page_location_id *)(merge.function + from->nr_functions);
	merge.node = (struct page_node_id *)(merge.location + from->nr_locations);
	merge.thread = (struct page_thread_id *)(merge.node + from->nr_nodes);
	merge.event = (struct page_event_id *)(merge.thread + from->nr_threads);
	merge.entry = (struct page_entry_id *)(merge.event + from->nr_events);
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
