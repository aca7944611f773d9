/* SPDX-License-Identifier: MIT */
/* What both kinds of text have: names, numbers, events, samples and frames. */
#define _GNU_SOURCE
#include <errno.h>

#include "page_text.h"

struct page_text_id perch__text_name(struct page *page, const char *start, const char *end)
{
	char name[TEXT_MAX_NAME], clean[TEXT_MAX_NAME];
	size_t length = (size_t)(end - start);

	if (length >= sizeof(name))
		length = sizeof(name) - 1;
	memcpy(name, start, length);
	name[length] = '\0';
	perch_clean_text(name, clean, sizeof(clean));
	return perch__page_text(page, clean);
}

const char *perch__text_number(const char *at, uint64_t *number)
{
	const char *start = at;

	for (*number = 0; isdigit((unsigned char)*at); at++)
		if (__builtin_mul_overflow(*number, UINT64_C(10), number) ||
		    __builtin_add_overflow(*number, (uint64_t)(*at - '0'), number))
			return NULL;
	return at > start ? at : NULL;
}

bool perch__text_wants(struct text_reader *reader, const char *event)
{
	char joined[PERCH__EVENT_NAME];
	size_t used = strlen(reader->other_events);

	if (!reader->event)
		return true;
	if (!strcmp(event, reader->event) ||
	    (perch__joined_name(event, joined, sizeof(joined)) && !strcmp(joined, reader->event)))
		return reader->found = true;
	if (!strstr(reader->other_events, event))
		snprintf(reader->other_events + used, sizeof(reader->other_events) - used, "%s%s",
			 used ? ", " : "", event);
	return false;
}

int perch__text_add_samples(struct text_reader *reader, uint64_t samples, uint64_t period)
{
	struct page *page = reader->page;
	const struct page_entry *wanted = &reader->entry;
	struct page_entry *entry;

	reader->sample.entry = PAGE_NO(entry);
	if (wanted->thread.nr != PAGE_NONE && wanted->event.nr != PAGE_NONE &&
	    wanted->node.nr != PAGE_NONE)
		reader->sample.entry = perch__page_entry(page, wanted);
	if (reader->sample.entry.nr == PAGE_NONE)
		return -ENOMEM;
	entry = &page->entry[reader->sample.entry.nr];
	if (__builtin_add_overflow(entry->samples, samples, &entry->samples) ||
	    __builtin_add_overflow(entry->period, period, &entry->period))
		return -EOVERFLOW;
	return 0;
}

/* As in a page of a recording, callers outside of all mappings that follow each other are one. */
static bool repeats_unknown(const struct page *page, struct page_node_id node,
			    struct page_function_id function)
{
	const struct page_function *of = &page->function[function.nr];
	const char *name = page->text + of->name.nr;

	return node.nr && !of->dso.nr &&
	       (!strcmp(name, "[unknown]") || !strcmp(name, "[kernel]")) &&
	       page->location[page->node[node.nr].location.nr].function.nr == function.nr;
}

void perch__text_add_frame(struct page *page, struct page_node_id *node,
			   const struct text_frame *frame)
{
	const struct page_function function = { frame->name, frame->dso, frame->kind };
	struct page_location location = { .file = frame->file, .line = frame->line };

	location.function = perch__page_function_of(page, &function);
	if (node->nr != PAGE_NONE && location.function.nr != PAGE_NONE &&
	    repeats_unknown(page, *node, location.function))
		return;
	*node = perch__page_child(page, *node, perch__page_location_of(page, &location));
}
