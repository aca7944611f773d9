/* SPDX-License-Identifier: MIT */
/*
 * Command-line options as perf parses them.
 */
#ifndef PERCH_CLI_OPTIONS_H
#define PERCH_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "commands.h"
#include "messages.h"

enum cli_kind {
	CLI_FLAG,     /* bool *: --name sets it, --no-name clears it */
	CLI_COUNT,    /* int *: incremented each time (-v -v) */
	CLI_STRING,   /* const char ** */
	CLI_NUMBER,   /* uint64_t *: decimal or 0x hex */
	CLI_POSITIVE, /* the same, from 1 on; --no-name sets 0, which stands for "not given" */
	CLI_CALL,     /* .call(.value, argument or NULL, negated) */
	/*
	 * like the previous one, but the argument is attached (-Iword, --name=word), never the next
	 * word
	 */
	CLI_CALL_ATTACHED,
};

/* Returns 0, or a negative errno after it printed the reason by cli_usage_error(). */
typedef int cli_option_call(void *value, const char *argument, bool negated);

struct cli_option {
	char letter;	      /* 0 when there is none */
	const char *name;     /* long name without dashes, or NULL */
	const char *argument; /* its name in the help; NULL when the option takes none */
	const char *help;
	enum cli_kind kind;
	void *value;
	cli_option_call *call;
	/* the argument may be missing: when the next word starts with '-', as in perf */
	bool optional;
	bool hidden; /* accepted because perf has it, not in the help */
};

/* The texts that --help prints about a subcommand in addition to its options. */
struct cli_usage {
	const char *name;     /* "stat" */
	const char *operands; /* "[OPTIONS] -- PROGRAM [ARGUMENTS]" */
	const char *summary;  /* one line */
};

/*
 * Parses options up to the first operand or "--". Returns the index of the first operand, argc when
 * there is none. -h and --help print the help and exit with 0. An error prints a usage error and
 * exits with 2. Accepted forms: unambiguous prefixes of long names, --no-name, --name of an option
 * that is called no-name, --name=value, --name value, -nvalue, -n value, bundled flags (-ag).
 */
int cli_parse(const struct cli_usage *usage, const struct cli_option *options, size_t nr, int argc,
	      char **argv);

/*
 * The same for a command with at most one operand, which options may follow, as in perf. *operand
 * is NULL without it. Returns the operand that is too much, or NULL.
 */
const char *cli_parse_operand(const struct cli_usage *usage, const struct cli_option *options,
			      size_t nr, int argc, char **argv, const char **operand);

#endif
