/* SPDX-License-Identifier: MIT */
/*
 * What all subcommands share: options in perf's manner, errors, and what is shown on a terminal.
 * Starting the program to measure is in program.h.
 */
#ifndef PERCH_CLI_OPTIONS_H
#define PERCH_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <perch/error.h>

/* Exit status of the command itself. Otherwise the measured program's own. */
#define CLI_EXIT_FAILURE	1
#define CLI_EXIT_USAGE		2
#define CLI_EXIT_NOT_EXECUTABLE 126
#define CLI_EXIT_NOT_FOUND	127

enum cli_kind {
	CLI_FLAG,   /* bool *: --name sets it, --no-name clears it */
	CLI_COUNT,  /* int *: one more each time (-v -v) */
	CLI_STRING, /* const char ** */
	CLI_NUMBER, /* uint64_t *: decimal or 0x hex */
	CLI_CALL,   /* .call(.value, argument or NULL, negated) */
	/* the same, but only -Iword and --name=word are its argument: the next word never is */
	CLI_CALL_ATTACHED,
};

/* Returns 0, or a negative errno after having said what is wrong by cli_usage_error(). */
typedef int cli_option_call(void *value, const char *argument, bool negated);

struct cli_option {
	char letter;	      /* 0: none */
	const char *name;     /* long name without dashes; NULL: none */
	const char *argument; /* what help calls it; NULL: takes none */
	const char *help;
	enum cli_kind kind;
	void *value;
	cli_option_call *call;
	/* the argument may be left out (perf: when the next word starts with '-') */
	bool optional;
	bool hidden; /* accepted for perf's sake, not shown in help */
};

struct cli_command {
	const char *name;    /* "stat" */
	const char *usage;   /* "[OPTIONS] -- PROGRAM [ARGUMENTS]" */
	const char *summary; /* one line */
	/* argv[0] is the subcommand's name; returns the exit status */
	int (*run)(int argc, char **argv);
};

/* The table of subcommands, in main.c; NULL when there is none of that name. */
const struct cli_command *cli_command(const char *name);
int perch_cmd_stat(int argc, char **argv);
int perch_cmd_record(int argc, char **argv);
int perch_cmd_report(int argc, char **argv);
int perch_cmd_script(int argc, char **argv);
int perch_cmd_dump(int argc, char **argv);
int perch_cmd_list(int argc, char **argv);
int perch_cmd_explain(int argc, char **argv);
int perch_cmd_doctor(int argc, char **argv);

/*
 * Parses options up to the first word that is none, or "--". Returns the index of the first operand
 * (argc when none). -h and --help print the help and exit 0; what cannot be parsed is a usage error
 * and exits 2. Long options may be shortened while unambiguous; --name=value, --name value,
 * -nvalue, -n value; flags may be bundled (-ag).
 */
int cli_parse(const char *command, const struct cli_option *options, size_t nr, int argc,
	      char **argv);
void cli_print_help(FILE *stream, const char *command, const struct cli_option *options, size_t nr);

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

#define CLI_NR(array) (sizeof(array) / sizeof((array)[0]))

extern const char cli_version[]; /* "0.1.0" */

#endif
