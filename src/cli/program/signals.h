/* SPDX-License-Identifier: MIT */
/* Signals that end a command. */
#ifndef PERCH_CLI_SIGNALS_H
#define PERCH_CLI_SIGNALS_H

#include <stdbool.h>

/* Blocks SIGINT, SIGQUIT, SIGTERM and SIGHUP. Returns a descriptor that is readable when one has
 * come (signalfd(2)), or -1 with errno. */
int cli_open_ending_signals(void);

/* Blocks them, from before a command makes what it must remove until it waits for signals itself.
 */
void cli_hold_signals(void);
bool cli_signals_are_held(void);
/* Ends that: in a program that it starts, or when signals have handlers. */
void cli_release_signals(void);

#endif
