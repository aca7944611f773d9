/* SPDX-License-Identifier: MIT */
/* Colors of text output, which --stdio-color selects. */
#ifndef PERCH_CLI_TERMINAL_COLOR_H
#define PERCH_CLI_TERMINAL_COLOR_H

#include <stdbool.h>
#include <stdio.h>

#include "options.h"

#define CLI_COLOR_RED	  "\033[31m"
#define CLI_COLOR_GREEN	  "\033[32m"
#define CLI_COLOR_BLUE	  "\033[34m"
#define CLI_COLOR_MAGENTA "\033[35m"
#define CLI_COLOR_END	  "\033[m"

/* The words of --stdio-color, and what sets a bool to them. Without a word they are always used. */
enum { CLI_COLOR_NEVER, CLI_COLOR_ALWAYS, CLI_COLOR_AUTO };
int cli_set_color(const struct cli_given *given);

/* Returns what starts the color of a percentage, as in perf: red from 5 percent on, green from 0.5
 * percent on. NULL: none. */
const char *cli_color_of(bool color, double percent);
/* Prints a text in the color of a percentage. */
void cli_put_colored(FILE *out, bool color, double percent, const char *text);

#endif
