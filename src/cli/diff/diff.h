/* SPDX-License-Identifier: MIT */
/*
 * The files of `perch diff`. A file calls only files below its own:
 *
 *	diff.c			options, then all of it
 *	diff_print.c		the table of an event
 *	diff_summary.c		what has changed most
 *	diff_read.c		reads the files, one after the other
 */
#ifndef PERCH_CLI_DIFF_H
#define PERCH_CLI_DIFF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <perch/comparison.h>

#include "input/filter_options.h"
#include "options.h"

#define DIFF_COMMAND   "diff"
#define DIFF_MAX_FILES PERCH_COMPARISON_PROFILES
#define DIFF_MAX_KEYS  PERCH_COMPARISON_KEYS

/* An event of the first file. */
struct diff_event {
	char *name;
	uint32_t type;
	uint64_t config;
	bool is_dummy;		    /* takes no samples: no note is about it */
	bool found[DIFF_MAX_FILES]; /* the file has the event */
	bool freq[DIFF_MAX_FILES];
	uint64_t rate[DIFF_MAX_FILES]; /* the frequency or the period */
	struct perch_comparison *comparison;
};

/* What the header of a file says about its machine. NULL if it says nothing. */
struct diff_file {
	const char *path;
	char *texts[5]; /* of diff_machine_features */
};

struct diff {
	struct diff_file file[DIFF_MAX_FILES];
	size_t nr_files;
	struct diff_event *event;
	size_t nr_events;
	const struct perch_column *key[DIFF_MAX_KEYS];
	bool hidden[DIFF_MAX_KEYS]; /* the filter permits only one text */
	size_t nr_keys;
	/* options of all files */
	struct cli_input input;
	struct perch_filter_options filter;
	bool inlined;  /* the filter selects samples by the names of inlined functions */
	bool relative; /* --percentage: shares of the samples that match */
	/* of the table */
	enum perch_comparison_method method;
	int64_t base_weight, weight;
	uint64_t order;
	bool show_period, show_formula, baseline_only, quiet;
	bool graph;
	double graph_limit; /* percentage points */
	int verbose;
	char separator; /* 0: columns are padded */
};

/* The key "trace", the text of a tracepoint's sample. Each file has a column of its own for it. */
extern const struct perch_column diff_trace_key;

/* Reads a file: its events, machine and rows. Returns the exit status. */
int diff_read_file(struct diff *diff, size_t file);

void diff_free(struct diff *diff);

/* True for a key whose cells are sums of the baseline, and not texts of rows: those are empty. */
static inline bool diff_is_sum(const struct perch_column *key)
{
	return key->scope == PERCH_COLUMN_PERIOD;
}

/* True if diff has the sum. */
bool diff_has_sum(const struct perch_column *key);

/* Prints the tables of all events. Returns the exit status. */
int diff_print(const struct diff *diff);
/* Prints which row has changed most, and how likely that is by chance. */
void diff_print_summary(const struct diff *diff, const struct diff_event *event);
/* Prints to stderr in what files, machines and events differ. */
void diff_print_differences(const struct diff *diff);

struct diff_machine_feature {
	enum perch_feature feature;
	const char *name;
};
extern const struct diff_machine_feature diff_machine_features[5];

#endif
