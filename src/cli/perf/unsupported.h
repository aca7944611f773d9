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

/* Refuses the options that have an effect on this recording. Returns 0 or CLI_EXIT_USAGE. */
int cli_check_unsupported(const struct cli_unsupported *options, const struct cli_input *input);

#endif
