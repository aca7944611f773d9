/* SPDX-License-Identifier: MIT */
/* -e, --event-file and --filter: the same for all commands that open events. */
#ifndef PERCH_CLI_EVENT_OPTIONS_H
#define PERCH_CLI_EVENT_OPTIONS_H

#include <perch/event.h>

/*
 * Each takes the option's argument, NULL when it was negated, which none of them can be. *last is
 * the number of the first event of the last -e: what --filter is about. 0, or a negative errno
 * after having told what is wrong.
 */
int cli_add_events(const char *command, struct perch_events *events, size_t *last, const char *text,
		   struct perch_machine *machine);
int cli_add_event_file(const char *command, struct perch_events *events, size_t *last,
		       const char *path, struct perch_machine *machine);
int cli_add_filter(const char *command, struct perch_events *events, size_t last,
		   const char *filter, struct perch_machine *machine);

/*
 * The name of an event that counts user space alone, since this user may see no more: as if its
 * text said so. Behind a slash or letters that the text has itself the u alone, as perf has it:
 * "msr/tsc/u", "cycles:pu", else "cycles:u".
 */
void cli_user_space_name(const struct perch_event *event, char *name, size_t size);
/*
 * Where the library's remedy names a field of the attr, the one that a user of the command has: an
 * option, a term. Leaves other errors as they are. Returns err.
 */
const struct perch_error *cli_reword(const struct perch_error *err, struct perch_error *reworded);
/* cli_error() of an error that came from opening events. */
int cli_open_error(const char *command, const struct perch_error *err);

#endif
