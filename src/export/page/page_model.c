/* SPDX-License-Identifier: MIT */
/* Tables in which each text, function, location, stack, thread and entry is once. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "export/internal.h"
#include "page.h"

int perch__page_init(struct page *page)
{
	uint64_t seed = perch__hash_seed(page);

	*page = (struct page){ 0 };
	page->texts.seed = page->functions.seed = page->locations.seed = seed;
	page->nodes.seed = page->threads.seed = page->events.seed = page->entries.seed = seed;
	if (perch__page_text(page, "").nr ||
	    PERCH__ARRAY_RESERVE_BY_NR(page->node, page->nr_nodes, 1))
		return -ENOMEM;
	page->node[page->nr_nodes++] = (struct page_node){ PAGE_NO(node), PAGE_NO(location) };
	return 0;
}

void perch__page_clear(struct page *page)
{
	free(page->text);
	free(page->function);
	free(page->location);
	free(page->node);
	free(page->thread);
	free(page->entry);
	free(page->sample);
	free(page->event);
	free(page->note);
	free(page->row_name);
	perch__hash_clear(&page->texts);
	perch__hash_clear(&page->functions);
	perch__hash_clear(&page->locations);
	perch__hash_clear(&page->nodes);
	perch__hash_clear(&page->threads);
	perch__hash_clear(&page->events);
	perch__hash_clear(&page->entries);
	perch__hash_clear(&page->names);
	*page = (struct page){ 0 };
}

static bool same_text(const void *text, uint32_t offset, const void *key)
{
	return !strcmp((const char *)text + offset, key);
}

struct page_text_id perch__page_text(struct page *page, const char *text)
{
	uint64_t hash = perch__hash_text(page->texts.seed, text);
	uint32_t found = perch__hash_find(&page->texts, hash, same_text, page->text, text);
	size_t size = strlen(text) + 1;

	if (found != PERCH__HASH_NONE)
		return (struct page_text_id){ found };
	if (PERCH__ARRAY_RESERVE_BY_NR(page->text, page->nr_bytes, size) ||
	    perch__hash_add(&page->texts, hash, page->nr_bytes))
		return PAGE_NO(text);
	memcpy(page->text + page->nr_bytes, text, size);
	found = (uint32_t)page->nr_bytes;
	page->nr_bytes += size;
	return (struct page_text_id){ found };
}

static uint64_t hash_key(uint64_t seed, const uint32_t *number, size_t nr)
{
	uint64_t hash = perch__hash_pair(seed, number[0], number[1]);

	for (size_t i = 2; i < nr; i++)
		hash = perch__hash_integer(hash, number[i]);
	return hash;
}

/*
 * Defines find_NAME(), which returns the item whose key (its first NUMBERS numbers) is that of
 * *wanted, and adds *wanted if there is none.
 */
#define DEFINE_FIND(name, array, nr_items, table, numbers)                                      \
	static bool same_##name(const void *items, uint32_t index, const void *key)             \
	{                                                                                       \
		return !memcmp((const struct page_##name *)items + index, key,                  \
			       (numbers) * sizeof(uint32_t));                                   \
	}                                                                                       \
                                                                                                \
	static struct page_##name##_id find_##name(struct page *page,                           \
						   const struct page_##name *wanted)            \
	{                                                                                       \
		uint64_t hash = hash_key(page->table.seed, (const uint32_t *)wanted, numbers);  \
		uint32_t found =                                                                \
			perch__hash_find(&page->table, hash, same_##name, page->array, wanted); \
                                                                                                \
		if (found != PERCH__HASH_NONE)                                                  \
			return (struct page_##name##_id){ found };                              \
		if (PERCH__ARRAY_RESERVE_BY_NR(page->array, page->nr_items, 1) ||               \
		    perch__hash_add(&page->table, hash, page->nr_items))                        \
			return PAGE_NO(name);                                                   \
		page->array[page->nr_items] = *wanted;                                          \
		return (struct page_##name##_id){ (uint32_t)page->nr_items++ };                 \
	}

DEFINE_FIND(function, function, nr_functions, functions, 3)
DEFINE_FIND(location, location, nr_locations, locations, 3)
DEFINE_FIND(node, node, nr_nodes, nodes, 2)
DEFINE_FIND(thread, thread, nr_threads, threads, 3)
DEFINE_FIND(event, event, nr_events, events, 2)
DEFINE_FIND(entry, entry, nr_entries, entries, 5)

static bool same_name(const void *functions, uint32_t index, const void *name)
{
	return ((const struct page_function *)functions)[index].name.nr ==
	       ((const struct page_text_id *)name)->nr;
}

/* The function of a name, which is added with its DSO and kind if there is none. */
static struct page_function_id find_by_name(struct page *page, const struct page_function *wanted)
{
	uint64_t hash = perch__hash_integer(page->functions.seed, wanted->name.nr);
	struct page_function_id found = { perch__hash_find(&page->names, hash, same_name,
							   page->function, &wanted->name) };

	if (found.nr != PERCH__HASH_NONE)
		return found;
	found = find_function(page, wanted);
	if (found.nr != PAGE_NONE && perch__hash_add(&page->names, hash, found.nr))
		return PAGE_NO(function);
	return found;
}

struct page_function_id perch__page_function_of(struct page *page,
						const struct page_function *wanted)
{
	if (wanted->name.nr == PAGE_NONE || wanted->dso.nr == PAGE_NONE)
		return PAGE_NO(function);
	return page->by_name ? find_by_name(page, wanted) : find_function(page, wanted);
}

struct page_function_id perch__page_function(struct page *page, const char *name, const char *dso,
					     uint32_t kind)
{
	struct page_function wanted = { .name = perch__page_text(page, name), .kind = kind };

	wanted.dso = perch__page_text(page, dso);
	return perch__page_function_of(page, &wanted);
}

struct page_location_id perch__page_location_of(struct page *page,
						const struct page_location *wanted)
{
	if (wanted->function.nr == PAGE_NONE || wanted->file.nr == PAGE_NONE)
		return PAGE_NO(location);
	return find_location(page, wanted);
}

struct page_location_id perch__page_location(struct page *page, struct page_function_id function,
					     const char *file, uint32_t line)
{
	return perch__page_location_of(
		page, &(struct page_location){ function, perch__page_text(page, file), line });
}

struct page_thread_id perch__page_thread_of(struct page *page, const struct page_thread *wanted)
{
	return wanted->comm.nr == PAGE_NONE ? PAGE_NO(thread) : find_thread(page, wanted);
}

struct page_thread_id perch__page_thread(struct page *page, uint32_t pid, uint32_t tid,
					 const char *comm)
{
	return perch__page_thread_of(page, &(struct page_thread){ pid, tid,
								  perch__page_text(page, comm) });
}

struct page_node_id perch__page_child(struct page *page, struct page_node_id parent,
				      struct page_location_id location)
{
	if (parent.nr == PAGE_NONE || location.nr == PAGE_NONE)
		return PAGE_NO(node);
	return find_node(page, &(struct page_node){ parent, location });
}

struct page_event_id perch__page_event(struct page *page, const char *name, bool is_clock)
{
	struct page_text_id text = perch__page_text(page, name);

	return text.nr == PAGE_NONE
		       ? PAGE_NO(event)
		       : find_event(page,
				    &(struct page_event){ .name = text, .is_clock = is_clock });
}

struct page_event_id perch__page_text_event(struct page *page, const char *name, bool is_clock)
{
	char joined[PERCH__EVENT_NAME];
	struct page_text_id text, *single;
	struct page_event_id event = PAGE_NO(event);
	size_t nr = page->nr_events;

	if (!perch__joined_name(name, joined, sizeof(joined)))
		return perch__page_event(page, name, is_clock);
	text = perch__page_text(page, name);
	if (text.nr != PAGE_NONE)
		event = perch__page_event(page, joined, is_clock);
	if (event.nr == PAGE_NONE)
		return event;
	single = &page->event[event.nr].single;
	if (page->nr_events > nr)
		*single = text;
	else if (single->nr != text.nr)
		single->nr = 0;
	return event;
}

const char *perch__page_event_name(const struct page *page, struct page_event_id event)
{
	const struct page_event *at = &page->event[event.nr];

	return page->text + (at->single.nr ? at->single.nr : at->name.nr);
}

struct page_event_id perch__page_main_event(const struct page *page, uint64_t *others)
{
	uint64_t *samples = calloc(page->nr_events + 1, sizeof(*samples));
	struct page_event_id main = { 0 };

	*others = 0;
	if (!samples)
		return PAGE_NO(event);
	for (size_t i = 0; i < page->nr_entries; i++)
		if (!page->entry[i].old)
			samples[page->entry[i].event.nr] += page->entry[i].samples;
	for (uint32_t i = 1; i < page->nr_events; i++)
		if (samples[i] > samples[main.nr])
			main.nr = i;
	for (uint32_t i = 0; i < page->nr_events; i++)
		*others += i != main.nr ? samples[i] : 0;
	free(samples);
	return main;
}

struct page_entry_id perch__page_entry(struct page *page, const struct page_entry *wanted)
{
	struct page_entry key = *wanted;

	key.samples = key.period = 0;
	return find_entry(page, &key);
}

int perch__page_set_digits(struct page *page, unsigned digits)
{
	uint64_t scale = 1, scaled;

	for (unsigned i = page->digits; i < digits; i++)
		scale *= 10;
	if (scale == 1)
		return 0;
	for (size_t i = 0; i < page->nr_entries; i++)
		if (__builtin_mul_overflow(page->entry[i].samples, scale, &scaled) ||
		    __builtin_mul_overflow(page->entry[i].period, scale, &scaled))
			return -EOVERFLOW;
	for (size_t i = 0; i < page->nr_entries; i++) {
		page->entry[i].samples *= scale;
		page->entry[i].period *= scale;
	}
	/* periods of samples are at most those of their entries */
	for (size_t i = 0; i < page->nr_samples; i++)
		page->sample[i].period *= scale;
	page->digits = digits;
	return 0;
}

int perch__page_note(struct page *page, const char *text)
{
	struct page_text_id note = perch__page_text(page, text);

	if (note.nr == PAGE_NONE || PERCH__ARRAY_RESERVE_BY_NR(page->note, page->nr_notes, 1))
		return -ENOMEM;
	page->note[page->nr_notes++] = note;
	return 0;
}
