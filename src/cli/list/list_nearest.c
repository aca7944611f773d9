/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "list.h"
#include "options.h"

#define MEANT "did you mean "

/* What -e would say of the word: the parser knows all names. */
void list_tell_nearest(const struct list *list, const char *word)
{
	struct perch_events events = { 0 };
	struct perch_error err = { 0 };

	if (perch_events_parse(&events, word, list->machine, &err) < 0 &&
	    !strncmp(err.remedy, MEANT, strlen(MEANT)))
		cli_note("list", "%s", err.remedy);
	perch_events_clear(&events);
}
