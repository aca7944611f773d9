/* SPDX-License-Identifier: MIT */
/*
 * Options of perf that perch does not implement. They are taken for recordings on which they have
 * no effect in perf, and refused for others.
 */
#ifndef PERCH_CLI_UNSUPPORTED_H
#define PERCH_CLI_UNSUPPORTED_H

#include "input/input.h"
#include "options.h"

struct cli_unsupported {
	bool stitch_lbr; /* call stacks of branch records are joined */
	bool itrace;	 /* how instruction traces are decoded */
};

#define CLI_UNSUPPORTED_OPTIONS(options)                                                           \
	{ 0, "stitch-lbr", NULL, "", CLI_FLAG, &(options)->stitch_lbr, NULL, false, true },        \
	{                                                                                          \
		0, "itrace", "OPTIONS", "", CLI_CALL_ATTACHED, options, cli_set_itrace, true, true \
	}

/* Sets or negates the option --itrace. */
int cli_set_itrace(void *unsupported, const char *argument, bool negated);
/* Refuses the options that have an effect on this recording. Returns 0 or CLI_EXIT_USAGE. */
int cli_check_unsupported(const struct cli_unsupported *options, const struct cli_input *input);

#endif
