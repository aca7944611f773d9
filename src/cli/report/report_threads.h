/* SPDX-License-Identifier: MIT */
#ifndef PERCH_CLI_REPORT_THREADS_H
#define PERCH_CLI_REPORT_THREADS_H

#include <stdio.h>
#include <perch/file.h>
#include <perch/record.h>

/* The counts of READ records, by thread and event. */
struct report_threads;

/* NULL if out of memory. */
struct report_threads *report_threads_new(void);
/* NULL is allowed. */
void report_threads_free(struct report_threads *threads);
/* Adds the count of a READ record; ignores others. 0 or -ENOMEM. */
int report_threads_add(struct report_threads *threads, const struct perch_record *record);
/* Prints the sums, a thread a line. Returns the exit status. */
int report_threads_put(FILE *out, struct report_threads *threads,
		       const struct perch_file_event *events);

#endif
