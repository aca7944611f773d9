/* SPDX-License-Identifier: MIT */
/* The key q on a terminal that is not in full-screen mode. */
#ifndef PERCH_CLI_QUIT_KEY_H
#define PERCH_CLI_QUIT_KEY_H

#include <stdbool.h>

/* The terminal passes keys at once, until cli_end_quit_key() or a signal that ends the process.
 * Returns false if the command does not own a terminal. */
bool cli_start_quit_key(void);
void cli_end_quit_key(void);
/* Takes what was typed, without waiting. Returns true if it has a q, or if the terminal is gone. */
bool cli_is_quit_key(void);

#endif
