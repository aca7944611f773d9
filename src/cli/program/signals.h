/* SPDX-License-Identifier: MIT */
/* Signals that end a live view. */
#ifndef PERCH_CLI_SIGNALS_H
#define PERCH_CLI_SIGNALS_H

/* Blocks SIGINT, SIGQUIT, SIGTERM and SIGHUP. Returns a descriptor that is readable when one has
 * come (signalfd(2)), or -1 with errno. */
int cli_open_ending_signals(void);

#endif
