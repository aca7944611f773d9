/* SPDX-License-Identifier: MIT */
/* Messages to the user, the exit status, and text that is safe on a terminal. */
#ifndef PERCH_CLI_MESSAGES_H
#define PERCH_CLI_MESSAGES_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <perch/error.h>

/* Exit statuses of the command itself. Otherwise it exits with the status of the program. */
#define CLI_EXIT_FAILURE	1
#define CLI_EXIT_USAGE		2
#define CLI_EXIT_NOT_EXECUTABLE 126
#define CLI_EXIT_NOT_FOUND	127

/* The line of a file that is looked at: cli_usage_error() and cli_error() begin with it. path NULL:
 * none. */
void cli_set_position(const char *path, unsigned line);
/* Prints "perch stat: MESSAGE" and how to get help to stderr. Returns CLI_EXIT_USAGE. */
int cli_usage_error(const char *command, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Prints "perch stat: " with message and remedy to stderr. Returns CLI_EXIT_FAILURE. */
int cli_error(const char *command, const struct perch_error *err);
/*
 * Like cli_error(), for an event string: prints a caret below the wrong character. Returns
 * CLI_EXIT_USAGE.
 */
int cli_event_error(const char *command, const char *events, const struct perch_error *err);
/* Returns the word for a number: "record" or "records". */
static inline const char *cli_word(uint64_t number, const char *one, const char *several)
{
	return number == 1 ? one : several;
}
/* Prints that two options exclude each other. Returns CLI_EXIT_USAGE. */
int cli_refuse_both(const char *command, const char *one, const char *other);
/* Prints that memory has run out; returns CLI_EXIT_FAILURE. */
int cli_no_memory(const char *command);
/* Prints one line "perch record: TEXT" to stderr. */
void cli_note(const char *command, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Passes texts of cli_note() and cli_put_progress() to a function, instead of stderr; NULL: none.
 */
void cli_show_messages_by(void (*show)(const char *text));
/* Replaces the last line of stderr, which is a terminal. The text is clean; "" removes the line. */
void cli_put_progress(const char *command, const char *text);

/*
 * If the reader of stdout ends ("| head"), the command goes on up to its messages, which would be
 * lost otherwise. cli_end_by_closed_pipe() then ends it as SIGPIPE would have.
 */
void cli_survive_closed_pipe(void);
void cli_end_by_closed_pipe(void);

/*
 * Flushes stdout and checks that all output was written. Prints the reason of a failure once:
 * `error` is the errno of an earlier write, 0 if it is not known. Returns 0 or CLI_EXIT_FAILURE.
 */
int cli_check_stdout(const char *command, int error);

/* Writes an untrusted name; '?' replaces control characters and invalid UTF-8. */
void cli_put_clean(FILE *stream, const char *text);

/* A character of a text that stands between separators: what could begin one becomes a dot. */
static inline char cli_field_character(char character, const char *separator)
{
	if (character != separator[0])
		return character;
	return character == '.' ? '_' : '.';
}
/* The same for a whole text. */
void cli_make_field(char *text, const char *separator);

/* Updates a progress line on stderr if that is a terminal. done == total clears the line. */
void cli_progress(const char *what, uint64_t done, uint64_t total);

extern const char cli_version[]; /* "0.1.0" */

#define CLI_NR(array) (sizeof(array) / sizeof((array)[0]))

#endif
