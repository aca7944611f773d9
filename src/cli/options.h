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

/* What --help prints about a subcommand beside its options. */
struct cli_usage {
	const char *name;     /* "stat" */
	const char *operands; /* "[OPTIONS] -- PROGRAM [ARGUMENTS]" */
	const char *summary;  /* one line */
};

/*
 * Parses options up to the first word that is none, or "--". Returns the index of the first operand
 * (argc when none). -h and --help print the help and exit 0; what cannot be parsed is a usage error
 * and exits 2. Long options may be shortened while unambiguous; --name=value, --name value,
 * -nvalue, -n value; flags may be bundled (-ag).
 */
int cli_parse(const struct cli_usage *usage, const struct cli_option *options, size_t nr, int argc,
	      char **argv);

#endif
