/* SPDX-License-Identifier: MIT */
/* The rows of a group of events: each has the sums of all events of the group, side by side. */
#ifndef PERCH_CLI_REPORT_GROUP_H
#define PERCH_CLI_REPORT_GROUP_H

#include "report.h"

struct report_group {
	unsigned first;		    /* event */
	size_t nr;		    /* events that follow each other */
	struct report_total *total; /* by event: what is 100 % */
	/*
	 * Those of the first event, and those of other events with sums of 0. The table prints
	 * their names, percentages of --percent-limit and call graphs, as in perf.
	 */
	struct perch_row *row;
	size_t nr_rows;
	const struct perch_row **part; /* by row and event; NULL: the event has no such row */
};

/*
 * Returns how many events from `at` on are printed side by side; nr is the number of events from
 * there to the last one.
 */
size_t report_group_events(const struct report *report, const struct perch_file_event *events,
			   size_t at, size_t nr);

/* Makes the sorted rows; of a hierarchy in the order of the columns that group samples. Returns 0
 * or the exit status. */
int report_group_open(struct report_group *group, const struct report *report,
		      struct perch_profile *profile, unsigned first, size_t nr);
void report_group_close(struct report_group *group);

/* Returns the value of an event, by its place in the group, in a column of sums. */
uint64_t report_group_value(const struct report_group *group, struct perch_profile *profile,
			    const struct perch_row *row, size_t event,
			    const struct perch_column *column);

/* Compares two rows by a column of sums, for the larger one first. */
int report_group_compare(const struct report_group *group, const struct report *report,
			 struct perch_profile *profile, const struct perch_row *a,
			 const struct perch_row *b, const struct perch_column *column);

#endif
