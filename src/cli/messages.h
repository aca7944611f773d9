/* SPDX-License-Identifier: MIT */
/* Messages to the user, the exit status, and text that is safe on a terminal. */
#ifndef PERCH_CLI_MESSAGES_H
#define PERCH_CLI_MESSAGES_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <perch/error.h>

/* Exit status of the command itself. Otherwise the measured program's own. */
#define CLI_EXIT_FAILURE	1
#define CLI_EXIT_USAGE		2
#define CLI_EXIT_NOT_EXECUTABLE 126
#define CLI_EXIT_NOT_FOUND	127

/* "perch stat: " + message + newline + how to get help, on stderr; returns CLI_EXIT_USAGE. */
int cli_usage_error(const char *command, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* "perch stat: " + the error's sentence and remedy, on stderr; returns CLI_EXIT_FAILURE. */
int cli_error(const char *command, const struct perch_error *err);
/* The same for an event string: shows the string with a caret below the character at fault. Returns
 * CLI_EXIT_USAGE. */
int cli_event_error(const char *command, const char *events, const struct perch_error *err);
/* One line on stderr for the user: "perch record: " + text. */
void cli_note(const char *command, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Writes a name from outside with control characters and invalid UTF-8 replaced by '?'. */
void cli_put_clean(FILE *stream, const char *text);

/* A line of progress on stderr when that is a terminal; nothing in a pipe. done == total clears it.
 */
void cli_progress(const char *what, uint64_t done, uint64_t total);

extern const char cli_version[]; /* "0.1.0" */

#define CLI_NR(array) (sizeof(array) / sizeof((array)[0]))

#endif
