/* SPDX-License-Identifier: MIT */
#include <stdbool.h>
#include <string.h>

#include "base/edit_distance.h"
#include "messages.h"
#include "names.h"

#define SIMILAR 3  /* names that are suggested */
#define WIDTH	80 /* of a line with names */

struct suggestions {
	const char *name[SIMILAR];
	unsigned distance[SIMILAR];
	size_t nr;
};

/* Inserts a name behind the names that are at least as similar. */
static void suggest_name(struct suggestions *suggestions, const char *name, unsigned distance)
{
	size_t at = suggestions->nr;

	for (size_t i = 0; i < suggestions->nr; i++)
		if (!strcmp(suggestions->name[i], name))
			return;
	while (at && suggestions->distance[at - 1] > distance)
		at--;
	if (at == SIMILAR)
		return;
	suggestions->nr += suggestions->nr < SIMILAR;
	for (size_t i = suggestions->nr - 1; i > at; i--) {
		suggestions->name[i] = suggestions->name[i - 1];
		suggestions->distance[i] = suggestions->distance[i - 1];
	}
	suggestions->name[at] = name;
	suggestions->distance[at] = distance;
}

/* Finds names that differ little from the word, and then names that begin with it. */
static void find_similar(struct suggestions *suggestions, const struct cli_names *names,
			 const char *word, size_t length)
{
	enum { LEAST_PREFIX = 3 };
	unsigned least = length < 3 ? 2 : (unsigned)length / 3 + 1; /* of no similar name */
	char text[PERCH__EDIT_MAX_LENGTH + 1] = "";

	if (length >= sizeof(text))
		return;
	memcpy(text, word, length);
	if (names->similar)
		suggest_name(suggestions, names->similar, 0);
	for (size_t i = 0; i < names->nr; i++) {
		unsigned distance = perch__edit_distance(text, names->name[i]);

		if (distance < least)
			suggest_name(suggestions, names->name[i], distance);
		else if (length >= LEAST_PREFIX && !strncmp(names->name[i], text, length))
			suggest_name(suggestions, names->name[i], least);
	}
}

static void put_names(const struct cli_names *names)
{
	size_t column = 0;

	fprintf(stderr, "The %ss are:\n", names->what);
	for (size_t i = 0; i < names->nr; i++) {
		size_t length = strlen(names->name[i]);

		if (column && column + 1 + length > WIDTH) {
			fputc('\n', stderr);
			column = 0;
		}
		column += (size_t)fprintf(stderr, "%s%s", column ? " " : "  ", names->name[i]);
	}
	fputc('\n', stderr);
}

int cli_refuse_name(const char *command, const char *option, const struct cli_names *names,
		    const char *word, size_t length)
{
	struct suggestions suggestions = { .nr = 0 };
	char similar[256] = "";
	size_t used = 0;

	find_similar(&suggestions, names, word, length);
	for (size_t i = 0; i < suggestions.nr && used < sizeof(similar); i++)
		used += (size_t)snprintf(similar + used, sizeof(similar) - used, "%s%s",
					 !i			  ? ", perhaps "
					 : i + 1 < suggestions.nr ? ", "
								  : " or ",
					 suggestions.name[i]);
	cli_usage_error(command, "%s%sno %s '%.*s'%s", option ? option : "", option ? ": " : "",
			names->what, (int)length, word, similar);
	put_names(names);
	return CLI_EXIT_USAGE;
}

bool cli_is_word(const char *word, const char *name)
{
	size_t length = strlen(word);

	return length > 2 && !strncmp(name, word, length);
}
