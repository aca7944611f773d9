/* SPDX-License-Identifier: MIT */
/* Selects the records to print, and finds their events. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/edit_distance.h"
#include "dump.h"

#define NAMED_TYPES  256 /* types from here on have no names */
#define MAX_DISTANCE 2	 /* maximum edit distance of a suggestion */

/* Returns the type with this name or number, or -1. */
static int64_t type_of(const char *word, size_t length)
{
	char *end;
	unsigned long number;

	for (uint32_t type = 0; type < NAMED_TYPES; type++) {
		const char *name = perch_record_name(type);

		if (name && strlen(name) == length && !strncasecmp(name, word, length))
			return type;
	}
	if (!isdigit((unsigned char)word[0]))
		return -1;
	errno = 0;
	number = strtoul(word, &end, 0);
	return end == word + length && !errno && number <= UINT32_MAX ? (int64_t)number : -1;
}

const char *dump_similar_type(const char *word, size_t length)
{
	char text[PERCH__EDIT_MAX_LENGTH + 1];
	unsigned best = MAX_DISTANCE + 1;
	const char *found = NULL;

	if (length <= MAX_DISTANCE || length >= sizeof(text))
		return NULL;
	memcpy(text, word, length);
	text[length] = '\0';
	for (uint32_t type = 0; type < NAMED_TYPES; type++) {
		const char *name = perch_record_name(type);
		unsigned distance = name ? perch__edit_distance(text, name) : best;

		if (distance < best) {
			best = distance;
			found = name;
		}
	}
	return found;
}

const char *dump_add_types(struct dump *dump, const char *names)
{
	while (true) {
		size_t length = strcspn(names, ",");
		bool unnamed = length == strlen(DUMP_UNNAMED) &&
			       !strncasecmp(names, DUMP_UNNAMED, length);
		int64_t type = unnamed ? 0 : type_of(names, length);

		if (type < 0 || dump->nr_types == DUMP_MAX_TYPES)
			return names;
		dump->unnamed |= unnamed;
		if (!unnamed)
			dump->types[dump->nr_types++] = type;
		if (!names[length])
			return NULL;
		names += length + 1;
	}
}

bool dump_wants(const struct dump *dump, uint32_t type)
{
	if (!dump->filtered)
		return true;
	if (dump->unnamed && !perch_record_name(type))
		return true;
	for (size_t i = 0; i < dump->nr_types; i++)
		if (dump->types[i] == type)
			return true;
	return false;
}

const char *dump_event_name(const struct dump *dump, const struct perch_record *record)
{
	const struct perch_file_event *events;
	size_t nr;

	if (record->type >= PERCH_RECORD_HEADER_ATTR)
		return NULL;
	nr = perch_reader_events(dump->reader, &events);
	return record->event < nr ? events[record->event].name : NULL;
}

const struct perch_tracepoint_format *dump_tracepoint(const struct dump *dump,
						      const struct perch_record *record)
{
	const struct perch_tracepoint_format *format;
	const struct perch_file_event *events;
	size_t nr = perch_reader_events(dump->reader, &events);

	if (record->type != PERCH_RECORD_SAMPLE || !record->sample.raw.size ||
	    record->event >= nr || events[record->event].attr.type != PERCH_TYPE_TRACEPOINT)
		return NULL;
	perch_reader_tracepoint(dump->reader, events[record->event].attr.config, &format, NULL);
	return format;
}
