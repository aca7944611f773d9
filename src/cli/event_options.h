/* SPDX-License-Identifier: MIT */
/* Options -e, --event-file and --filter, and errors of opened events, for all commands that open
 * events. */
#ifndef PERCH_CLI_EVENT_OPTIONS_H
#define PERCH_CLI_EVENT_OPTIONS_H

#include <perch/event.h>

/* The events of a command line. */
struct cli_event_list {
	struct perch_events list;
	size_t last;		       /* index of the first event of the last -e */
	struct perch_machine *machine; /* names of events depend on it */
};

/*
 * Each takes the argument of the option. As in perf, a filter applies to the events of the last
 * -e. Returns 0, or a negative errno after they have printed an error.
 */
int cli_add_events(const char *command, struct cli_event_list *events, const char *text);
int cli_add_event_file(const char *command, struct cli_event_list *events, const char *path);
int cli_add_filter(const char *command, struct cli_event_list *events, const char *filter);

/*
 * The name of an event that was restricted to user space: as if the user had written the modifier
 * u. As in perf, it is added to modifiers that are there: "msr/tsc/u", "cycles:pu", else
 * "cycles:u".
 */
void cli_user_space_name(const struct perch_event *event, char *name, size_t size);
/*
 * Replaces a remedy that names members of the attr by one that names options of the command.
 * Returns replaced, or err when its remedy needs no change.
 */
const struct perch_error *cli_replace_remedy(const struct perch_error *err,
					     struct perch_error *replaced);
/* Like cli_error(), for errors of opening events. */
int cli_open_error(const char *command, const struct perch_error *err);

/* Prints that the filter of a tracepoint is never true. */
void cli_note_filter(const char *command, const struct perch_event *event,
		     struct perch_machine *machine);
/*
 * Prints settings of an event, with the attr to open, that have no effect although the user asked
 * for them, such as cpu-clock:pp or the weight of a software event.
 */
void cli_note_ignored(const char *command, const char *name, const struct perch_attr *attr,
		      struct perch_machine *machine);

/* Lets events have demangled names of functions, and lines and variables of programs. */
void cli_use_debug_info(struct perch_machine *machine);

#endif
