/* SPDX-License-Identifier: MIT */
/* Which records are shown, and whose they are. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "dump.h"

#define LAST_NAMED 256 /* types beyond have no names */

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

/* Letters that two words have in common at their start and, of what is left, at their end; case
 * aside. */
static size_t common(const char *one, size_t length, const char *other, size_t other_length)
{
	size_t start = 0, end = 0;

	while (start < length && start < other_length &&
	       !strncasecmp(one + start, other + start, 1))
		start++;
	while (start + end < length && start + end < other_length &&
	       !strncasecmp(one + length - end - 1, other + other_length - end - 1, 1))
		end++;
	return start + end;
}

const char *dump_near_type(const char *word, size_t length)
{
	for (uint32_t type = 0; length > 2 && type < LAST_NAMED; type++) {
		const char *name = perch_record_name(type);
		size_t other = name ? strlen(name) : 0, longer = other > length ? other : length;

		if (name && common(word, length, name, other) + 2 >= longer)
			return name;
	}
	return NULL;
}

const char *dump_add_types(struct dump *dump, const char *names)
{
	while (true) {
		size_t length = strcspn(names, ",");
		bool unnamed = length == strlen(DUMP_UNNAMED) &&
			       !strncasecmp(names, DUMP_UNNAMED, length);
		int64_t type = unnamed ? 0 : type_of(names, length);

		if (type < 0 || dump->nr_types == DUMP_MOST_TYPES)
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
