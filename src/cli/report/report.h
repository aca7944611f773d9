/* SPDX-License-Identifier: MIT */
/*
 * The files of `perch report`. A file calls only files below its own:
 *
 *	report.c		the command: the profile of a file and what is printed of it
 *	browser/report_browser_reading.c  rows on a terminal while a file is read
 *	browser/report_browser.c	events and keys
 *	  browser/report_browser_actions.c  annotation, menus, files
 *	  browser/report_browser_live.c	  new rows of perch top
 *	  browser/report_browser_view.c	  what is shown and how it is drawn
 *	  browser/report_browser_title.c  the first line
 *	report_event.c		the table of an event
 *	  report_hierarchy.c	  --hierarchy
 *	report_read.c		the samples that the options select
 *	report_threads.c	-T: counts of threads
 *	report_json.c		rows as JSON
 *	report_command.c	the command line
 *	  report_options.c	  options with arguments of their own form
 *	report_print.c		rows in perf's columns
 *	report_columns.c	-s and -F
 *	report_mode.c		what rows count: samples, branches (-b) or accesses (--mem-mode)
 *	report_graph.c		call graphs as trees of text
 *	  report_chains.c	  call chains one by one
 *	report_blocks.c		--total-cycles
 *	report_branches.c	the types of branches
 *	report_group.c		the rows of a group
 *	report_lacking.c	columns of which no sample has the value
 *	report_latency.c	whether rows have latencies
 *	report_stats.c		--stats
 *	report_tasks.c		--tasks
 *	  report_maps.c		  --mmaps
 *	report_parts.c		parts that several of these need
 */
#ifndef PERCH_CLI_REPORT_H
#define PERCH_CLI_REPORT_H

#include <stdbool.h>
#include <stdio.h>
#include <time.h>
#include <perch/blocks.h>
#include <perch/profile.h>
#include "config_file.h"
#include "annotate/annotate_style.h"
#include "input/filter_options.h"
#include "input/input.h"
#include "input/switch_options.h"
#include "perf/unsupported.h"

enum report_shape { SHAPE_NONE, SHAPE_GRAPH, SHAPE_FRACTAL, SHAPE_FLAT, SHAPE_FOLDED };
enum report_value { VALUE_PERCENT, VALUE_PERIOD, VALUE_COUNT };

/* Of -g. */
struct report_graph {
	enum report_shape shape;
	enum perch_call_graph_order order;
	bool order_set;
	enum perch_call_graph_key key;
	enum report_value value;
	double limit;	   /* branches with a lower percentage are left out */
	unsigned long max; /* branches of a level, or chains; 0 is no limit */
	bool branches;	   /* "branch": with the branches of branch stacks */
};

/* What was printed of the call graphs of rows. */
struct report_graphs {
	bool printed;  /* of any row */
	bool left_out; /* a row without one has branches, which are below the limit */
};

/* Of all branches with a type. */
struct report_branch_types {
	uint64_t total;
	uint64_t count[16], more[16]; /* by type; of PERCH_BR_EXTEND_ABI by new_type */
	uint64_t forward, backward;   /* of PERCH_BR_COND */
	uint64_t crosses_4k, crosses_2m;
};

#define REPORT_COLUMNS 64

struct report_list {
	const struct perch_column *column[REPORT_COLUMNS];
	size_t nr;
};

struct report {
	struct cli_input input;
	struct cli_filter filter;
	struct cli_switch switching;
	struct cli_config config;
	const char *sort, *output;  /* -s, -F */
	const char *default_sort;   /* NULL: report_default_keys() chooses */
	struct report_list keys;    /* group samples */
	struct report_list columns; /* are printed: sums and keys */
	struct report_list by;	    /* sort rows */
	struct report_list hidden;  /* keys that have the same text in all rows */
	bool other_functions;	    /* rows have other functions than the one of the filter */
	struct report_list every;   /* columns and hidden ones, in the order of -w */
	bool hierarchy;
	bool group, no_group; /* --group: all events side by side; groups event by event */
	const char *event;    /* of -e; NULL: all events */
	uint64_t group_sort;  /* the event of a group that sorts its rows */
	bool children;
	bool children_set;
	struct report_graph graph;
	struct report_graphs *graphs;	 /* NULL: not counted */
	uint64_t entries;		 /* most rows of a table; 0 is no limit */
	uint64_t least;			 /* rows with fewer samples are left out */
	double percent_limit;		 /* rows with a lower percentage are left out */
	bool relative;			 /* percentages are of the samples that match the filter */
	const char *separator;		 /* -t; NULL: columns are padded */
	unsigned widths[REPORT_COLUMNS]; /* -w; 0 is the width of the text */
	uint64_t time_quantum;		 /* ns; 0 is the default */
	const char *parent;		 /* -p: expression of the column parent */
	const char *ignore_callees;	 /* an expression */
	bool raw_trace;			 /* fields of tracepoints as they are recorded */
	bool full_paths, ns;		 /* of source files; times with nanoseconds */
	struct annotate_style style;	 /* of functions in the browser */
	struct cli_unsupported unsupported;
	bool full; /* -v: columns are not fitted to the terminal */
	bool quiet, color, json;
	bool stdio;  /* text, also on a terminal */
	bool tui;    /* a browser was asked for */
	char **argv; /* of the command, for the browser to start it anew */
	bool show_samples, show_period, show_cpu;
	bool stats, tasks, mmaps, header, header_only, long_header, show_empty;
	struct report_threads *threads; /* of -T */
	bool show_threads;
	bool no_inline; /* call chains without inlined functions */
	bool branches;	/* -b: rows count branches, not samples */
	bool branches_set;
	bool branch_history; /* --branch-history */
	bool exact_chains;   /* call chains have branches: no address is a return address */
	struct perch_trace_columns *trace_columns; /* NULL: the file is not open */
	bool of_tracepoints;			   /* all events are */
	bool total_cycles;			   /* basic blocks, not rows */
	struct perch_blocks *blocks;
	struct report_branch_types branch_types;
	bool memory;		 /* --mem-mode: samples count by their weight */
	bool latency;		 /* --latency: rows are sorted by their latency */
	bool latencies;		 /* rows have latencies */
	uint64_t seen, parallel; /* samples, and those while several threads run */
};

/* ---- report_command.c ---- */

/* Reads the user's defaults and the options. Returns 0, or the exit status after it has printed an
 * error. */
int report_parse(struct report **report, int argc, char **argv);

/* ---- report.c ---- */

/* Sets perf's defaults of children and call graphs, if the samples have call chains or not. */
void report_set_default_graph(struct report *report, bool chains);

/* ---- report_columns.c ---- */

/* Makes the lists of columns. Returns 0, or CLI_EXIT_USAGE after it has printed an error. */
int report_set_keys(struct report *report);
int report_set_columns(struct report *report);
/* True if all columns are those of -F: it adds none to the default ones. */
bool report_chooses_columns(const struct report *report);
/* Prints a comment for each hidden column. */
void report_put_hidden(FILE *out, const struct report *report);
bool report_has_column(const struct report_list *list, const struct perch_column *column);
/* True if all names of a list as of -s are columns, of any file or of the open one of a report.
 * message: which one is not. */
bool report_are_columns(const struct report *report, const char *names, char *message, size_t size);

/* ---- report_mode.c ---- */

/* Decides what rows count, from the options and the file. Returns 0 or the exit status. */
int report_set_mode(struct report *report);
const char *report_default_keys(const struct report *report);
/* Returns the report without columns of other tracepoints than those of nr events. */
struct report report_of_events(const struct report *report, unsigned event, size_t nr);
/* Sets the period of a sample that rows count. */
void report_weigh(const struct report *report, struct perch_record *record);
/* Prints the comment about the total of an event. */
void report_put_total(FILE *out, const struct report *report, uint64_t total);

/* ---- report_latency.c ---- */

/* True for the columns of latencies, whose percentages are of the sum of latencies. */
bool report_is_latency(const struct perch_column *column);
/* Decides whether rows have latencies. Returns 0, or the exit status after it has printed what an
 * option needs and the file does not have. */
int report_set_latencies(struct report *report);
/* Counts a sample by the number of threads that run. Returns 0, or a negative errno if it is
 * unknown and an option needs it. */
int report_count_parallel(struct report *report, struct perch_error *err);
/* The shares that are printed without -F, as in perf: one that -s names is the only one. */
struct report_shares {
	bool overhead, latency;
	bool latency_first;
};
struct report_shares report_default_shares(const struct report *report);
/* Prints to stderr if records are lost. */
void report_note_lost_switches(const struct report *report);

/* ---- report_lacking.c ---- */

/* Prints to stderr which columns no sample has a value for, and the options of record. sample_type:
 * the bits of all events. */
void report_note_lacking(const struct report *report, uint64_t sample_type);

/* ---- report_branches.c ---- */

/* Counts the branches of a sample by their types. */
void report_add_branch_types(struct report *report, const struct perch_record *record);
/* Prints their shares, unless the branches have no types. */
void report_put_branch_types(FILE *out, const struct report *report);

/* ---- report_blocks.c: --total-cycles ---- */

struct report_table;
/* Prints the blocks of an event. Returns the exit status. */
int report_print_blocks(const struct report_table *table, unsigned event);

/* ---- report_options.c ---- */

/* Of a struct report. The first table has those of perch top, too. */
extern const struct cli_option report_row_options[];
extern const struct cli_option report_options[];

/* Sets a graph as -g SHAPE,LIMIT,... Returns 0 or CLI_EXIT_USAGE. */
int report_set_graph(const char *command, struct report_graph *graph, const char *text);

/* Sets the user's defaults, before options. Returns 0 or the exit status. */
int report_set_defaults(struct report *report);
/* True if the variable of a report can have the value. */
bool report_takes_variable(const char *name, const char *value);

/* ---- report_read.c ---- */

/* The samples of a file, which are read in steps. */
struct report_reading {
	struct report *report;
	struct perch_profile *profile;
	bool chains;	      /* there are call chains */
	bool shows_chains;    /* their functions are printed */
	unsigned left_starts; /* samples whose debug information is opened at once */
	bool ended;	      /* the profile is finished, unless .rc is negative */
	int rc;		      /* a negative errno, with .err; else 0 */
	struct perch_error err;
	struct timespec start;
	/* Called at most 20 times a second while samples are read or merged. Returns false to end
	 * that: reading as by report_read_stop(), merging with -ECANCELED. NULL: none. */
	bool (*busy)(void *context, const struct report_reading *reading);
	void *busy_context;
	double next_busy;
	bool merging;	    /* samples become rows */
	double merge_start; /* seconds after the start */
	double merged;	    /* the part of this work that is done, from 0 to 1 */
	char stopped[32];   /* what was read by then, such as "12%"; "": all */
};

/* Makes a profile without samples. Returns 0, or the exit status after it has printed an error. */
int report_read_start(struct report_reading *reading, struct report *report);
/* Reads samples until that many seconds after the start, or until all are read. */
void report_read_until(struct report_reading *reading, double seconds);
/* Finishes the profile with the samples so far. */
void report_read_stop(struct report_reading *reading);
/* Makes a profile of the samples so far. Returns 0, or a negative errno with reading->err. */
int report_read_snapshot(struct report_reading *reading, struct perch_profile **profile);
/* Writes what is going on: "reading samples: 12%, about 3 s left". */
void report_read_describe(const struct report_reading *reading, char *text, size_t size);
double report_read_seconds(const struct report_reading *reading);
/* An estimate by the bytes that were read; INFINITY if the size is unknown. */
double report_read_seconds_left(const struct report_reading *reading);
/* True if events have call chains, which the first samples may lack. */
bool report_read_has_chains(const struct report *report);
/* Writes what was read: "12%", or "12 MiB" if the size of the file is unknown. */
void report_read_put_done(const struct report_reading *reading, char *text, size_t size);
void report_read_close(struct report_reading *reading);
/* What the profile of a report has. */
struct perch_profile_options report_profile_options(const struct report *report);

/* ---- report_stats.c, report_tasks.c: --stats, --tasks, --mmaps. They return the exit status ----
 */

int report_print_stats(FILE *out, struct report *report);
int report_print_tasks(FILE *out, struct report *report);

/* ---- report_parts.c ---- */

/* The period of which a row has its percentage, and the latency. */
struct report_total {
	uint64_t period, latency;
};
struct report_total report_total(const struct report *report, const struct perch_profile *profile,
				 unsigned event);
/* The one of them for a column of percentages. */
static inline uint64_t report_total_of(const struct report_total *total,
				       const struct perch_column *column)
{
	return report_is_latency(column) ? total->latency : total->period;
}
/* True if a row is below --percent-limit. */
bool report_is_small(const struct report *report, const struct perch_row *row, uint64_t total);
/* Prints what -g asks for of a branch: its percentage of the total, its period, or its samples. */
void report_put_value(FILE *out, const struct report *report, uint64_t period, uint64_t samples,
		      uint64_t total);
/* Makes the call graph of a row, with branches from `least` on. Returns 0 or the exit status. */
int report_make_graph(const struct report *report, struct perch_profile *profile,
		      const struct perch_row *row, uint64_t least, struct perch_call_graph *graph);
/* Name of a function, or its address; valid as long as buffer, of PERCH_CELL_BYTES. */
const char *report_function(struct perch_profile *profile, const struct perch_frame *frame,
			    char *buffer);
/* Text of a frame of a call graph; valid as long as buffer, of REPORT_FRAME_BYTES. */
#define REPORT_FRAME_BYTES (3 * PERCH_CELL_BYTES)
const char *report_frame(const struct report *report, struct perch_profile *profile,
			 const struct perch_frame *frame, char *buffer);

/* ---- report_print.c ---- */

struct report_table {
	FILE *out;
	const struct report *report;
	struct perch_profile *profile;
	const struct report_group *group; /* NULL: the rows are those of one event */
	uint64_t total;			  /* period of 100 %, of the first event of a group */
	struct report_total whole;	  /* the same, with the latency */
	size_t width[REPORT_COLUMNS];
	bool fitted[REPORT_COLUMNS]; /* longer texts are cut */
	/* by column, the last percentage as text: many rows with few samples have the same one */
	struct share {
		uint64_t period;
		char text[16];
	} share[REPORT_COLUMNS];
	char text[4096]; /* was put into the table, and is not written to out yet */
	size_t used;	 /* its bytes */
};

/* Returns the characters of a text. */
size_t report_columns_of(const char *text);
/* Prints a column of a row, or its title. */
void report_put_cell(struct report_table *table, size_t at, const struct perch_row *row);
void report_put_title(struct report_table *table, size_t at);

/* Computes the widths of columns from the printed rows. */
void report_set_widths(struct report_table *table, const struct perch_row *rows, size_t nr);
/*
 * Shrinks the widest texts until the columns from `first` on fit into the terminal. Column `wide`
 * gets twice the width of the others; SIZE_MAX: none.
 */
void report_fit_columns(struct report_table *table, size_t first, size_t terminal, size_t wide);
/* Returns the sorted rows of an event, or of a group. Returns 0 or the exit status. */
int report_get_rows(const struct report_table *table, unsigned event, const struct perch_row **rows,
		    size_t *nr);
/* Prints the titles and rows of an event. Returns the exit status. */
int report_print_rows(struct report_table *table, unsigned event);

/* ---- report_hierarchy.c ---- */

/* Prints the titles and rows of an event. Returns the exit status. */
int report_print_hierarchy(struct report_table *table, unsigned event);

/* ---- report_event.c ---- */

/* Scales a number of samples as perf does: 1000 stays, 1234 is 1K. Returns the unit, or a space. */
char report_scale(uint64_t *nr);

/* Prints the rows of one event, or of several events side by side. Returns the exit status. */
int report_print_event(FILE *out, const struct report *report, struct perch_profile *profile,
		       const struct perch_file_event *events, unsigned event, size_t nr);

/* ---- report_graph.c, report_chains.c ---- */

/* Prints the call graph of a row, and a blank line unless the graph is empty. total: the period of
 * the event. Returns the exit status. */
int report_print_graph(FILE *out, const struct report *report, struct perch_profile *profile,
		       const struct perch_row *row, uint64_t total);
/* A call chain of a row that ends in its last frame. */
struct report_chain {
	uint32_t node; /* the last one */
	uint64_t period;
};
struct report_chains {
	struct perch_call_graph graph;
	uint32_t *parent; /* by node */
	struct report_chain *chain;
	size_t nr;
	uint32_t *path; /* memory for report_chain_path() */
};
/* Makes the chains of a row with at least this period, the largest first. Returns 0 or the exit
 * status. */
int report_make_chains(const struct report *report, struct perch_profile *profile,
		       const struct perch_row *row, uint64_t least, struct report_chains *chains);
/* Stores the nodes of a chain in chains->path, the first one of the order first. Returns their
 * number. */
size_t report_chain_path(struct report_chains *chains, const struct report_chain *chain);
void report_clear_chains(struct report_chains *chains);
/* Prints the shapes flat and folded. */
int report_print_chains(FILE *out, const struct report *report, struct perch_profile *profile,
			const struct perch_row *row, uint64_t total, bool *any);

/* ---- report_json.c ---- */

/* Prints a JSON object for each row of all events. Returns the exit status. */
int report_print_json(FILE *out, struct report *report, struct perch_profile *profile);

#endif
