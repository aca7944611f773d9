/* SPDX-License-Identifier: MIT */
/* perch stat report, for perch report, which prints such files in the same way. */
#ifndef PERCH_CLI_STAT_REPORT_H
#define PERCH_CLI_STAT_REPORT_H

#include <stdio.h>

#include "input/input.h"

/* Prints the counts of an open file. Returns 0, or the exit status after it has printed an error.
 */
int cli_print_counts(FILE *out, const struct cli_input *input);

#endif
