/* SPDX-License-Identifier: MIT */
#ifndef PERCH_CLI_REPORT_H
#define PERCH_CLI_REPORT_H

#include <stdbool.h>
#include <stdio.h>
#include <perch/profile.h>
#include "recording.h"

enum report_graph { GRAPH_NONE, GRAPH_CALLER, GRAPH_CALLEE };

struct report_key {
	const char *name; /* for -s */
	const char *alias;
	unsigned key; /* PERCH_KEY_* */
	const char *title;
};

struct report {
	const char *input;
	const char *kallsyms;
	bool children;
	bool children_set;
	enum report_graph graph;
	bool graph_set;
	double percent_limit;		  /* lines below it are left out */
	double graph_limit;		  /* branches below it are left out */
	const struct report_key *keys[8]; /* in the order asked */
	size_t nr_keys;
	bool stats, header, header_only;
};

/* One event's report. total: sum of its periods. */
int report_print_event(FILE *out, const struct report *report, struct cli_recording *recording,
		       struct perch_profile *profile, unsigned event, const char *name);
/* The call graph below a line. parent: the period the line stands for. Prints a blank line after it
 * unless empty. */
int report_print_graph(FILE *out, const struct report *report, struct cli_recording *recording,
		       struct perch_profile *profile, const struct perch_row *row, uint64_t total);
/* `perf report --stats`. */
int report_stats(FILE *out, struct cli_recording *recording);
#endif
