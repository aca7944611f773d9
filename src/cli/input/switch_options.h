/* SPDX-License-Identifier: MIT */
/* The options --switch-on and --switch-off, by which events of the file select the others. */
#ifndef PERCH_CLI_SWITCH_OPTIONS_H
#define PERCH_CLI_SWITCH_OPTIONS_H

#include <perch/filter.h>

#include "input.h"

struct cli_switch {
	struct perch_switch_options options;
	struct perch_switch *by_events; /* NULL: no option was given */
};

/* Finds the events in the session that was just opened. Returns 0, or CLI_EXIT_USAGE after it has
 * printed an error. */
int cli_switch_open(struct cli_switch *given, const struct cli_input *input);
/* Follows the events. Returns true if a sample is left out. */
static inline bool cli_switch_is_off(struct cli_switch *given, const struct perch_record *sample)
{
	return given->by_events && !perch_switch_match(given->by_events, sample);
}
/* Prints to stderr, after reading, that no sample has switched on. */
void cli_switch_print_note(const struct cli_switch *given, const char *command);

#endif
