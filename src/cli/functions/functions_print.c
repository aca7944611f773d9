/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "functions.h"

/* What follows the last slash and colon of "/usr/lib/libc.so.6:malloc". */
static const char *short_name(const char *name)
{
	const char *colon = strchr(name, ':');

	return colon && colon[1] ? colon + 1 : name;
}

void functions_print_call(const struct functions *functions, const struct perch_function_call *call,
			  const char *arguments)
{
	const char *name = short_name(functions->row[call->function].name);

	printf("%12.3f %7u %*s%s(%s)", (double)(call->start - functions->first_time) / 1e6,
	       call->tid, (int)(2 * (call->depth < 20 ? call->depth : 20)), "", name, arguments);
	if (call->flags & PERCH_CALL_OPEN)
		printf(" has not returned\n");
	else if (call->flags & PERCH_CALL_LOST)
		printf(" was left, or its return was not reported\n");
	else
		printf("%s%s <%.3f us>%s\n", *functions->returned ? " " : "", functions->returned,
		       (double)(call->end - call->start) / 1e3,
		       call->flags ? " (samples were lost)" : "");
}

static int by_total(const void *left, const void *right)
{
	const struct functions_row *a = left, *b = right;

	if (a->total != b->total)
		return a->total > b->total ? -1 : 1;
	return strcmp(a->name, b->name);
}

/* A class of times has a middle that may be above the longest time. */
static uint64_t time_of_percentile(const struct functions_row *row, double percent)
{
	const uint64_t ns = cli_delays_percentile(&row->delays, percent);

	return ns < row->max ? ns : row->max;
}

static double to_us(uint64_t ns)
{
	return (double)ns / 1e3;
}

void functions_print_table(struct functions *functions)
{
	struct perch_function_calls_stats stats;

	perch_function_calls_get_stats(functions->calls, &stats);
	if (functions->nr_rows)
		qsort(functions->row, functions->nr_rows, sizeof(*functions->row), by_total);
	printf("%s%10s %12s %10s %10s %10s %10s %6s  %s\n", functions->verbose ? "\n" : "", "calls",
	       "total ms", "avg us", "p50 us", "p99 us", "max us", "lost", "function");
	for (size_t i = 0; i < functions->nr_rows; i++) {
		const struct functions_row *row = &functions->row[i];

		if (!row->calls && !row->lost)
			continue;
		printf("%10" PRIu64 " %12.3f %10.3f %10.3f %10.3f %10.3f %6" PRIu64 "  %s\n",
		       row->calls, (double)row->total / 1e6,
		       row->calls ? to_us(row->total) / (double)row->calls : 0,
		       to_us(time_of_percentile(row, 50)), to_us(time_of_percentile(row, 99)),
		       to_us(row->max), row->lost, row->name);
	}
	if (functions->losses)
		cli_note(FUNCTIONS_COMMAND,
			 "samples were lost: calls that were open are in the column lost");
	if (stats.without_entry)
		cli_note(FUNCTIONS_COMMAND,
			 "%" PRIu64 " return%s of calls whose entry is not there",
			 stats.without_entry, stats.without_entry == 1 ? "" : "s");
}
