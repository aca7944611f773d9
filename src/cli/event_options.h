/* SPDX-License-Identifier: MIT */
/* -e, --event-file and --filter: the same for all commands that open events. */
#ifndef PERCH_CLI_EVENT_OPTIONS_H
#define PERCH_CLI_EVENT_OPTIONS_H

#include <perch/event.h>

/*
 * Each takes the option's argument, NULL when it was negated, which none of them can be. *last is the number of the first
 * event of the last -e: what --filter is about. 0, or a negative errno after having told what is wrong.
 */
int cli_add_events(const char *command, struct perch_events *events, size_t *last, const char *text,
		   struct perch_machine *machine);
int cli_add_event_file(const char *command, struct perch_events *events, size_t *last, const char *path,
		       struct perch_machine *machine);
int cli_add_filter(const char *command, struct perch_events *events, size_t last, const char *filter,
		   struct perch_machine *machine);

#endif
