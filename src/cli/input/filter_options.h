/* SPDX-License-Identifier: MIT */
/* The options that select samples and change call chains, which several commands share. */
#ifndef PERCH_CLI_FILTER_OPTIONS_H
#define PERCH_CLI_FILTER_OPTIONS_H

#include <perch/filter.h>

#include "input.h"

struct cli_filter {
	struct perch_filter_options options;
	struct perch_filter *filter; /* NULL: no option was given */
	const char *symbol_part;     /* --symbol-filter */
	bool resolved;		     /* -U: only samples in functions with a name */
	bool exclude_other;	     /* -x: only samples with a parent */
	uint64_t max_stack;	     /* addresses of a call chain; 0 is no limit */
	/* filter_functions.c */
	struct perch_addresses *by_symbol; /* for tests of the sampled function; NULL: none */
	uint64_t wanted, unwanted;	   /* samples that were tested by their function */
};

/*
 * Makes the filter of a session that was just opened, if an option was given. Returns 0, or the
 * exit status after it has printed an error.
 */
int cli_filter_open(struct cli_filter *filter, const struct cli_input *input);
void cli_filter_close(struct cli_filter *filter);
/* Tests the last record of the session. Returns 1, 0 or -ENOMEM. */
static inline int cli_filter_match(struct cli_filter *filter, const struct perch_record *record)
{
	return filter->filter ? perch_filter_match(filter->filter, record) : 1;
}
/*
 * For the sums of --percentage absolute: true if the last record, which does not match, is in the
 * CPUs and the time of the filter. As in perf, samples of others are in no sum.
 */
static inline bool cli_filter_counts(const struct cli_filter *filter)
{
	enum perch_filter_part part = perch_filter_rejected_by(filter->filter);

	return part != PERCH_FILTER_CPU && part != PERCH_FILTER_TIME;
}
enum { CLI_FILTER_MOST_ARGUMENTS = 22 };
/* Stores the options that were given, as arguments of a command: names and values. Returns their
 * number. */
size_t cli_filter_arguments(const struct cli_filter *filter,
			    const char *arguments[CLI_FILTER_MOST_ARGUMENTS]);
/* True if an option selects samples. */
bool cli_filter_is_given(const struct cli_filter *filter);
/* Prints to stderr, after reading, which options match no sample, and what there is instead. */
void cli_filter_print_notes(const struct cli_filter *filter, const struct cli_input *input);

/* ---- filter_functions.c: tests that report and exports share ---- */

enum cli_function { CLI_FUNCTION_WANTED, CLI_FUNCTION_OTHER, CLI_FUNCTION_UNRESOLVED };

/* Makes the tests of a session that was just opened. Returns 0, or the exit status after it has
 * printed an error. */
int cli_filter_open_functions(struct cli_filter *filter, const struct cli_input *input);
void cli_filter_close_functions(struct cli_filter *filter);
/* Tests the sampled function of the last record of the session, which is a sample. Returns enum
 * cli_function, or -ENOMEM. */
int cli_filter_test_function(struct cli_filter *filter, const struct cli_input *input,
			     const struct perch_record *record);
/* With -x, sets the expression that a function of the call chain matches. parent: that of -p, or
 * NULL. */
void cli_filter_exclude_other(struct cli_filter *filter, const char *parent);
/* Leaves out the outer addresses of a call chain from --max-stack on. Returns true if there are
 * some. */
bool cli_filter_cut_chain(const struct cli_filter *filter, struct perch_record *record);

#endif
