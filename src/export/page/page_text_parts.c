/* SPDX-License-Identifier: MIT */
/* What both kinds of text have: names, numbers, events, samples and frames. */
#define _GNU_SOURCE
#include <errno.h>

#include "page_text.h"

uint32_t perch__text_name(struct page *page, const char *start, const char *end)
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
	uint32_t index = reader->entry.thread == PAGE_NONE || reader->entry.event == PAGE_NONE ||
					 reader->entry.node == PAGE_NONE
				 ? PAGE_NONE
				 : perch__page_entry(page, &reader->entry);

	if (index == PAGE_NONE)
		return -ENOMEM;
	if (__builtin_add_overflow(page->entry[index].samples, samples,
				   &page->entry[index].samples) ||
	    __builtin_add_overflow(page->entry[index].period, period, &page->entry[index].period))
		return -EOVERFLOW;
	reader->sample.entry = index;
	return 0;
}

void perch__text_add_frame(struct page *page, uint32_t *node, const struct text_frame *frame)
{
	uint32_t function;

	if (*node == PAGE_NONE || frame->name == PAGE_NONE || frame->dso == PAGE_NONE ||
	    frame->file == PAGE_NONE) {
		*node = PAGE_NONE;
		return;
	}
	function = perch__page_function_of(page, frame->name, frame->dso, frame->kind);
	*node = perch__page_child(
		page, *node, perch__page_location_of(page, function, frame->file, frame->line));
}
