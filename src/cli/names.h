/* SPDX-License-Identifier: MIT */
/* A word that must be one of a list of names. */
#ifndef PERCH_CLI_NAMES_H
#define PERCH_CLI_NAMES_H

#include <stdbool.h>
#include <stddef.h>

struct cli_names {
	const char *what;    /* "column" */
	const char *similar; /* the name of which the word is a mistyped alias; NULL: not known */
	const char *const *name;
	size_t nr;
};

/*
 * Prints a usage error that a word is none of the names, with the most similar ones, and then all
 * names in lines of at most 80 columns. option: "-s", or NULL. Returns CLI_EXIT_USAGE.
 */
int cli_refuse_name(const char *command, const char *option, const struct cli_names *names,
		    const char *word, size_t length);

/* True if a word is the name of a subcommand, or as in perf its first three characters or more. */
bool cli_is_word(const char *word, const char *name);

#endif
