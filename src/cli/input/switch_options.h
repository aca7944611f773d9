/* SPDX-License-Identifier: MIT */
/* The options --switch-on and --switch-off, by which events of the file select the others. */
#ifndef PERCH_CLI_SWITCH_OPTIONS_H
#define PERCH_CLI_SWITCH_OPTIONS_H

#include "input.h"
#include "options.h"

struct cli_switch {
	const char *on, *off; /* the options: names of events; NULL is none */
	bool show;	      /* the samples of these events are not left out */
	unsigned on_event, off_event;
	bool is_off; /* samples are left out until that of --switch-on */
	bool was_on; /* there was one */
};

/* Finds the events in the session that was just opened. Returns 0, or CLI_EXIT_USAGE after it has
 * printed an error. */
int cli_switch_open(struct cli_switch *options, const struct cli_input *input);
/* Follows the events. Returns true if a sample of the event is left out. */
bool cli_switch_is_off(struct cli_switch *options, unsigned event);
/* Prints to stderr, after reading, that no sample has switched on. */
void cli_switch_print_note(const struct cli_switch *options, const char *command);

#endif
