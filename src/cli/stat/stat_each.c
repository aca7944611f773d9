/* SPDX-License-Identifier: MIT */
/* In which order lines and what they are added up to are shown. */
#include <stdlib.h>

#include "stat.h"

static int by_value(const void *one, const void *other)
{
	double a = (*(const struct stat_cell *const *)one)->value.mean;
	double b = (*(const struct stat_cell *const *)other)->value.mean;

	return (a < b) - (a > b);
}

/* Of all threads of the machine most did nothing: those are left out. */
static bool shown_thread(const struct stat_job *stat, const struct stat_line *line, size_t group)
{
	return stat_shown(stat, line, group) &&
	       (!stat->target.all_cpus || line->cell[group].value.mean > 0);
}

/* The busiest thread first. */
static void print_threads(const struct stat_job *stat, const struct stat_line *line,
			  stat_print_line *print, FILE *out)
{
	const struct stat_cell **sorted = calloc(stat->nr_groups + 1, sizeof(*sorted));
	size_t nr = 0;

	if (!sorted)
		return;
	for (size_t i = 0; i < stat->nr_groups; i++)
		if (shown_thread(stat, line, i))
			sorted[nr++] = &line->cell[i];
	qsort(sorted, nr, sizeof(*sorted), by_value);
	for (size_t i = 0; i < nr; i++)
		print(stat, line, sorted[i] - line->cell, out);
	free(sorted);
}

void stat_for_each(const struct stat_job *stat, stat_print_line *print, FILE *out)
{
	/* CPUs beside each other for each event, all events together for a socket, as perf has it
	 */
	bool groups_first = stat->aggregation != STAT_CPU && stat->aggregation != STAT_THREAD;
	size_t outer = groups_first ? stat->nr_groups : stat->nr_lines;
	size_t inner = groups_first ? stat->nr_lines : stat->nr_groups;

	for (size_t i = 0; i < outer; i++) {
		if (stat->aggregation == STAT_THREAD) {
			print_threads(stat, &stat->line[i], print, out);
			continue;
		}
		for (size_t k = 0; k < inner; k++) {
			const struct stat_line *line = &stat->line[groups_first ? k : i];
			size_t group = groups_first ? i : k;

			if (stat_shown(stat, line, group))
				print(stat, line, group, out);
		}
	}
}
