/* SPDX-License-Identifier: MIT */
/* perch report: options in report.c, then the table (report_print.c), then its call graphs
 * (report_graph.c). */
#ifndef PERCH_CLI_REPORT_H
#define PERCH_CLI_REPORT_H

#include <stdbool.h>
#include <stdio.h>
#include <perch/profile.h>
#include "input.h"

enum report_graph { GRAPH_NONE, GRAPH_CALLER, GRAPH_CALLEE };

struct report {
	struct cli_input input;
	bool children;
	bool children_set;
	enum report_graph graph;
	bool graph_set;
	double percent_limit;		    /* rows with a lower percentage are left out */
	double graph_limit;		    /* branches with a lower percentage are left out */
	const struct perch_column *keys[8]; /* in the order of -s */
	size_t nr_keys;
	unsigned widths[8]; /* -w; 0 is the width of the text */
	bool full;	    /* -v: columns are not fitted to the terminal */
	bool stats, header, header_only;
	bool no_inline; /* call chains without inlined functions */
};

/* Prints the rows of one event. Returns the exit status. */
int report_print_event(FILE *out, const struct report *report, struct perch_profile *profile,
		       unsigned event, const char *name);
/* Prints the call graph of a row, and a blank line unless the graph is empty. total: the period of
 * the event. Returns the exit status. */
int report_print_graph(FILE *out, const struct report *report, struct perch_profile *profile,
		       const struct perch_row *row, uint64_t total);

#endif
