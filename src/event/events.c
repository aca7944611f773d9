/* SPDX-License-Identifier: MIT */
/* The list of events, which owns the texts of each. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "internal.h"

int perch__add_event(struct perch__parser *parser, struct perch_event **result)
{
	struct perch_events *events = parser->events;
	struct perch_event *event;

	if (events->nr >= PERCH__EVENTS_MAX) {
		perch__parse_error(parser, parser->token.at, E2BIG, PERCH_ERROR_USAGE,
				   "a list has at most %d events", PERCH__EVENTS_MAX);
		perch_error_remedy(parser->err, "write narrower globs");
		return -E2BIG;
	}
	if (PERCH__ARRAY_RESERVE_BY_NR(events->event, events->nr, 1))
		return perch__parse_error(parser, parser->token.at, ENOMEM, PERCH_ERROR_NO_MEMORY,
					  "no memory for another event");
	event = &events->event[events->nr];
	memset(event, 0, sizeof(*event));
	event->attr.size = sizeof(event->attr);
	event->leader = event->first = events->nr++;
	event->members = 1;
	event->scale = 1.0;
	*result = event;
	return 0;
}

int perch__mark_event(struct perch__parser *parser, size_t index, enum perch__mark mark)
{
	if (PERCH__ARRAY_RESERVE_ZEROED(parser->mark, parser->nr_marks, index + 1))
		return perch__parse_error(parser, parser->token.at, ENOMEM, PERCH_ERROR_NO_MEMORY,
					  "no memory for another event");
	parser->mark[index] |= mark;
	return 0;
}

bool perch__is_marked(const struct perch__parser *parser, size_t index, enum perch__mark mark)
{
	return index < parser->nr_marks && parser->mark[index] & mark;
}

void perch__drop_events(struct perch_events *events, size_t nr)
{
	while (events->nr > nr) {
		struct perch_event *event = &events->event[--events->nr];

		free(event->filter);
		free(event->path);
		free(event->arguments);
		free(event->unread);
	}
}

void perch_events_clear(struct perch_events *events)
{
	perch__drop_events(events, 0);
	free(events->event);
	memset(events, 0, sizeof(*events));
}
