/* SPDX-License-Identifier: MIT */
/*
 * The files of `perch diff`. A file calls only files below its own:
 *
 *	diff.c			options, then all of it
 *	diff_print.c		the table of an event
 *	diff_summary.c		what has changed most
 *	  diff_renamed.c	  programs with another name in the other file
 *	diff_read.c		reads the files, one after the other
 *	diff_graph.c		joins the branches of call graphs
 *	  diff_join.c		  rows that have the same texts are one
 *	  diff_compute.c	  compares and sorts
 */
#ifndef PERCH_CLI_DIFF_H
#define PERCH_CLI_DIFF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <perch/profile.h>

#include "base/hash_table.h"
#include "input/filter_options.h"
#include "options.h"

#define DIFF_COMMAND   "diff"
#define DIFF_MAX_FILES 32
#define DIFF_MAX_KEYS  16

enum diff_method { DIFF_DELTA, DIFF_DELTA_ABS, DIFF_RATIO, DIFF_WDIFF };

/* Of a row, or of all rows, in one file. */
struct diff_sum {
	uint64_t period, samples;
};

/* The samples with the same texts in all files. */
struct diff_row {
	size_t text, length; /* the cells in diff_event.text, with a NUL after each */
};

/* An event of the first file. */
struct diff_event {
	char *name;
	uint32_t type;
	uint64_t config;
	bool is_dummy;		    /* takes no samples: no note is about it */
	bool found[DIFF_MAX_FILES]; /* the file has the event */
	bool freq[DIFF_MAX_FILES];
	uint64_t rate[DIFF_MAX_FILES]; /* the frequency or the period */
	struct diff_sum total[DIFF_MAX_FILES];
	struct diff_row *row;
	size_t nr_rows, row_capacity;
	struct diff_sum *sum; /* of row and file: row * nr_files + file */
	size_t sum_capacity;
	char *text;
	size_t text_size, text_capacity;
	struct perch__hash_table by_text; /* -> row */
	/* with call graphs: the branches below all rows, as rows; see diff_graph.c */
	struct diff_event *branches;
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
	enum diff_method method;
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

/* Adds a row of a file. texts: the cells, each with a NUL. Returns the number of the row, or
 * -ENOMEM. */
int64_t diff_join(const struct diff *diff, struct diff_event *event, size_t file, const char *texts,
		  size_t length, const struct diff_sum *sum);
void diff_free(struct diff *diff);

/* True for a key whose cells are sums of the baseline, and not texts of rows: those are empty. */
static inline bool diff_is_sum(const struct perch_column *key)
{
	return key->scope == PERCH_COLUMN_PERIOD;
}

/* True if diff has the sum. */
bool diff_has_sum(const struct perch_column *key);

static inline const struct diff_sum *diff_sum_of(const struct diff *diff,
						 const struct diff_event *event, size_t row,
						 size_t file)
{
	return &event->sum[row * diff->nr_files + file];
}

/* ---- diff_graph.c ---- */

/* Adds the call graph of a row of a file. number: that of the row in the event. Returns the exit
 * status. */
int diff_graph_add(const struct diff *diff, struct diff_event *event, size_t file,
		   struct perch_profile *profile, const struct perch_row *row, uint32_t number);

/* The branches below each row, in their order. */
struct diff_graph {
	uint32_t *first, *next; /* by branch; NO_BRANCH: none */
	uint32_t *first_of_row; /* by row */
};
#define NO_BRANCH UINT32_MAX

/* Returns 0 or -ENOMEM; the caller clears the graph in both cases. */
int diff_graph_sort(const struct diff *diff, const struct diff_event *event,
		    struct diff_graph *graph);
void diff_graph_clear(struct diff_graph *graph);
/* The name of the function of a branch. */
const char *diff_graph_name(const struct diff_event *event, uint32_t branch);
/* True if the share of a branch has changed enough to be printed. */
bool diff_graph_is_shown(const struct diff *diff, const struct diff_event *event, uint32_t branch);

/* The share of a period in all of the event, in percent. */
double diff_share(const struct diff_event *event, size_t file, uint64_t period);
/* The difference of the shares in percentage points, the ratio of the periods, or their weighted
 * difference. */
double diff_compute(const struct diff *diff, const struct diff_event *event, size_t row,
		    size_t file);
/* True if a row is in the first file and in another one. */
bool diff_has_pair(const struct diff *diff, const struct diff_event *event, size_t row);
/* Returns the numbers of the rows in their order, which the caller frees; NULL without memory. */
uint32_t *diff_sort(const struct diff *diff, const struct diff_event *event, size_t *nr);

/* Prints the tables of all events. Returns the exit status. */
int diff_print(const struct diff *diff);
/* Prints which row has changed most, and how likely that is by chance. */
void diff_print_summary(const struct diff *diff, const struct diff_event *event);
/* True if most of the change is of functions whose DSO has another name in the other file. */
bool diff_is_renamed(const struct diff *diff, const struct diff_event *event, size_t file);
/* Prints to stderr in what files, machines and events differ. */
void diff_print_differences(const struct diff *diff);

struct diff_machine_feature {
	enum perch_feature feature;
	const char *name;
};
extern const struct diff_machine_feature diff_machine_features[5];

#endif
