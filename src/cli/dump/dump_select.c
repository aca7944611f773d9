/* SPDX-License-Identifier: MIT */
/* Which records are shown, and whose they are. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "dump.h"

#define LAST_NAMED 256			/* types beyond have no names */

/* A type by its name, or its number; -1 when it is none. */
static int64_t type_of(const char *word, size_t length)
{
	char *end;
	unsigned long number;

	for (uint32_t type = 0; type < LAST_NAMED; type++) {
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

const char *dump_add_types(struct dump *dump, const char *names)
{
	while (true) {
		size_t length = strcspn(names, ",");
		int64_t type = type_of(names, length);

		if (type < 0 || dump->nr_types == DUMP_MOST_TYPES)
			return names;
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
