/* SPDX-License-Identifier: MIT */
/* What a command line can be continued with, for the completions of shells. */
#ifndef PERCH_CLI_COMPLETION_H
#define PERCH_CLI_COMPLETION_H

#include <stddef.h>

#include "options.h"

/*
 * Prints what the last of the words can be, a line for each. words are those after "perch" up to
 * the cursor; the last one may be "". A line is the whole word, then a tab and what it means, if
 * that is known. A line that begins with a colon stands for words that the shell knows:
 *
 *	:files PREFIX         files, behind this part of the word
 *	:directories PREFIX
 *	:program N            a program and its arguments; the Nth word is the program, from 1 on
 *
 * commands are the usages of all commands. Returns the exit status.
 */
int cli_complete(const struct cli_usage *const *commands, size_t nr, int nr_words, char **words);

#endif
