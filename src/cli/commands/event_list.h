/* SPDX-License-Identifier: MIT */
/* Lists events as perf evlist does: for perch evlist, and for the command evlist of --control. */
#ifndef PERCH_CLI_EVENT_LIST_H
#define PERCH_CLI_EVENT_LIST_H

#include <stdbool.h>
#include <stdio.h>
#include <perch/file.h>

struct cli_event_format {
	FILE *out;
	bool frequency, groups;
	int verbose;
	const char *between; /* ": " before the first detail of an event, then ", " */
};

/* Prints what is before a detail of an event. */
void cli_put_between(struct cli_event_format *list);
/* Prints the event with its details, without a newline. */
void cli_put_event(struct cli_event_format *list, const struct perch_file_event *event);
/* Prints a group in one line. Returns how many events it has. */
size_t cli_put_group(const struct cli_event_format *list, const struct perch_file_event *events,
		     size_t nr);
/* Prints all events, each in a line; groups in one. */
void cli_put_events(struct cli_event_format *list, const struct perch_file_event *events,
		    size_t nr);

#endif
