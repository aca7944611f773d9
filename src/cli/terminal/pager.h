/* SPDX-License-Identifier: MIT */
/*
 * The pager of long output on a terminal, and the size of the terminal.
 *
 * The pager is $PERCH_PAGER, else $PAGER, else less or more. An empty value or "cat" means none. It
 * starts only when the output does not fit on the screen: a child process holds the text until
 * then.
 *
 *   perch --stdout, stderr--> pipe --> child --text that fits--> terminal
 *                                            \--longer text----> pager
 */
#ifndef PERCH_CLI_PAGER_H
#define PERCH_CLI_PAGER_H

#include <stdbool.h>

extern bool cli_no_pager; /* --no-pager */

/*
 * Starts to page the output, if stdout is a terminal. It ends when the process exits: the exit
 * waits for the pager. A second call does nothing.
 */
void cli_start_pager(void);

/* Columns of the terminal of stdout, also when it is paged; 0 if stdout is not a terminal. */
unsigned cli_terminal_columns(void);

#endif
