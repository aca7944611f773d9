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
	/* bool: --name sets it, --no-name clears it; with .words, it is the value of the word */
	CLI_FLAG,
	CLI_COUNT,   /* int: incremented each time (-v -v) */
	CLI_STRING,  /* const char * */
	CLI_NUMBER,  /* uint64_t, of cli_parse_number() */
	CLI_WORD,    /* an enum: the value of one of .words; --no-name sets 0, the default */
	CLI_BITS,    /* uint64_t: the values of a list of .words, with commas, are added */
	CLI_PERCENT, /* double: from 0 to 100 */
	/* nothing is set: it is always so, or has no effect here; an argument is a number */
	CLI_IGNORED,
};

/* An option of a command line, for the function that sets it. */
struct cli_given {
	const char *command; /* "report", for messages */
	const struct cli_option *option;
	void *state;	  /* at .at in the state of the command */
	const char *text; /* the argument; NULL: none, or negated */
	bool negated;
	uint64_t value; /* of the words */
	double percent;
};

/* Returns 0, or another number after it has printed the reason by cli_usage_error(). */
typedef int cli_option_set(const struct cli_given *given);

struct cli_word {
	const char *name;
	uint64_t value;
};

/*
 * A row of a table of options. Tables end with a row of zeros. They are constant: an option is set
 * in the state that the command passes to the parser.
 */
struct cli_option {
	char letter;	      /* 0 when there is none */
	const char *name;     /* long name without dashes, or NULL */
	const char *argument; /* its name in the help; NULL when the option takes none */
	const char *help;
	enum cli_kind kind;
	/* the argument may be missing: when the next word starts with '-', as in perf */
	bool optional;
	bool hidden;	  /* accepted because perf has it, not in the help */
	bool attached;	  /* the argument is attached (-Iword, --name=word), never the next word */
	bool not_negated; /* there is no --no-name */
	bool inverted;	  /* of a flag: --name clears it, --no-name sets it */
	bool positive; /* of a number: from 1 on; --no-name sets 0, which stands for "not given" */
	size_t at;     /* of the member that is set, in the state of the command */
	/* called instead of setting a member; with .words, after the word was found */
	cli_option_set *set;
	/* the words of the argument; the last name is NULL. Two words of a value are aliases */
	const struct cli_word *words;
	const struct cli_word *(*get_words)(void); /* instead of .words: of another table */
	bool open;	     /* .words are not all that there are, so they are not checked */
	const char *refusal; /* why there is no such option: it is an error */
	/*
	 * A row with a table stands for all of its rows, in whose state .at is added. .short_names:
	 * those of its first rows, instead of their own; '-' is none. .help and
	 * .set are those of its first row, if they are not NULL.
	 */
	const struct cli_option *table;
	const char *short_names;
};

/* clang-format would put each of the initializers on a line of its own. */
#define CLI_ROW(...)        \
	{                   \
		__VA_ARGS__ \
	}

/* The member of a struct that an option sets: its type chooses the kind. */
#define CLI_KIND_OF(value) \
	_Generic((value),               \
		bool: CLI_FLAG,         \
		int: CLI_COUNT,         \
		unsigned int: CLI_WORD, \
		uint64_t: CLI_NUMBER,   \
		double: CLI_PERCENT,    \
		const char *: CLI_STRING)
#define CLI_SETS(type, member_) \
	.at = offsetof(type, member_), .kind = CLI_KIND_OF(((type *)NULL)->member_)

/* A command, as its help describes it. */
struct cli_usage {
	const char *name;     /* "stat" */
	const char *operands; /* "[OPTIONS] -- PROGRAM [ARGUMENTS]" */
	const char *summary;  /* one line */
	const struct cli_option *options;
	/* what the first operand can be; a table of them ends with a row of zeros */
	const struct cli_subcommand *subcommands;
	/* what the argument COLUMNS can have; NULL: the columns of perch_columns() */
	const struct cli_word *(*columns)(void);
};

/* A word of a command. usage: its options; NULL: those of the command go on. */
struct cli_subcommand {
	const char *name;
	const struct cli_usage *usage;
};

/*
 * Parses options up to the first operand or "--", and sets them in the state of the command.
 * Returns the index of the first operand, argc when there is none. -h and --help print the help
 * and exit with 0. An error prints a usage error and exits with 2. Accepted forms: unambiguous
 * prefixes of long names, --no-name, --name of an option that is called no-name, --name=value,
 * --name value, -nvalue, -n value, bundled flags (-ag).
 */
int cli_options_parse(const struct cli_usage *usage, void *state, int argc, char **argv);

/*
 * The same for a command with at most one operand, which options may follow, as in perf. *operand
 * is NULL without it. Returns the operand that is too much, or NULL.
 */
const char *cli_options_parse_operand(const struct cli_usage *usage, void *state, int argc,
				      char **argv, const char **operand);

/* Parses "10" or "0xa", without blanks or a sign. Returns false if the text is no such number. */
bool cli_parse_number(const char *text, uint64_t *number);
/* Parses a time of at most a day: 500us, 1ms, 2s; without a unit in ms. */
bool cli_parse_duration(const char *text, uint64_t *ns);
/*
 * Takes the next number, at most INT32_MAX, from a list such as "12,34". *list becomes the rest,
 * NULL after the last number. Returns false if a number does not come next.
 */
bool cli_take_id(const char **list, uint32_t *id);
/* True if a word of the list, which commas divide, is the text. A list of NULL has no words. */
bool cli_list_has(const char *list, const char *text);

/* ---- options_table.c ---- */

enum { CLI_MAX_OPTIONS = 128 }; /* of a command */

/* Copies the rows of a table and of the tables in it, without rows that stand for tables. Returns
 * their number. */
size_t cli_options_list(const struct cli_option *table, struct cli_option options[CLI_MAX_OPTIONS]);
/*
 * Finds an option by its long name or an unambiguous prefix of it, of this length and without
 * dashes. A whole name of any form comes before the prefixes: --buildid is the positive form of
 * --no-buildid, not a prefix of --buildid-mmap. *other is another option with the prefix, or NULL.
 */
const struct cli_option *cli_options_find_long(const struct cli_option *options, size_t nr,
					       const char *name, size_t length, bool *negated,
					       const struct cli_option **other);
const struct cli_option *cli_options_find_letter(const struct cli_option *options, size_t nr,
						 char letter);
bool cli_begins_with_no(const char *name); /* with "no-" */
/* Stores "a, b or c". mark: with "(default)" behind the word that --no-name sets. */
void cli_options_put_words(const struct cli_word *words, bool mark, char *list, size_t size);
/* Prints what --help prints. */
void cli_options_print_help(const struct cli_usage *usage, const struct cli_option *options,
			    size_t nr);
/* Finds a word of this length, in any case. Returns NULL if there is none. */
const struct cli_word *cli_word_find(const struct cli_word *words, const char *text, size_t length);
/*
 * Finds the word, or of CLI_BITS the words, of an argument. Returns 0 and the value; or
 * CLI_EXIT_USAGE after it has printed the words, and the most similar one.
 */
int cli_options_find_words(const char *command, const struct cli_option *option, const char *text,
			   uint64_t *value);

#endif
