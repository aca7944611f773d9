/* SPDX-License-Identifier: MIT */
/* For programs: fields between separators, and JSON; perf 6.1's fields in its order. */
#include <string.h>

#include "stat.h"

static const char *missing(const struct stat_line *line)
{
	return line->supported ? "<not counted>" : "<not supported>";
}

static int decimals(const struct stat_line *line)
{
	return line->scale == (double)(uint64_t)line->scale ? 0 : 2;
}

/* A second metric has a line of its own, in the same column. */
static void print_csv_metrics(const struct stat_job *stat, const struct stat_line *line,
			      size_t group, FILE *out)
{
	const char *sep = stat->separator;
	struct stat_metric metrics[STAT_METRICS];
	size_t nr = stat_metrics(stat, line, group, metrics);
	int empty = 3 + (*line->cgroup != '\0') + stat->spread + 1;

	if (!nr)
		fprintf(out, "%s%s\n", sep, sep);
	for (size_t i = 0; i < nr; i++) {
		if (i) {
			stat_print_prefix(stat, line, group, out);
			for (int k = 0; k < empty; k++)
				fputs(sep, out);
		}
		fprintf(out, "%s%.*f%s", sep, metrics[i].decimals, metrics[i].value, sep);
		stat_put_field(stat, metrics[i].unit, out);
		fputc('\n', out);
	}
}

void stat_print_csv_line(const struct stat_job *stat, const struct stat_line *line, size_t group,
			 FILE *out)
{
	const struct stat_cell *cell = &line->cell[group];
	const char *sep = stat->separator;

	stat_print_prefix(stat, line, group, out);
	if (stat_counted(line, group))
		fprintf(out, "%.*f", decimals(line), cell->value.mean * line->scale);
	else
		stat_put_field(stat, missing(line), out);
	fputs(sep, out);
	stat_put_field(stat, line->unit, out);
	fputs(sep, out);
	stat_put_field(stat, line->name, out);
	if (*line->cgroup) {
		fputs(sep, out);
		stat_put_field(stat, line->cgroup, out);
	}
	if (stat->spread)
		fprintf(out, "%s%.2f%%", sep, perch__mean_error_percent(&cell->value));
	fprintf(out, "%s%.0f%s%.2f", sep, cell->running.mean, sep, stat_percent_running(cell));
	print_csv_metrics(stat, line, group, out);
}

static void print_json_metrics(const struct stat_job *stat, const struct stat_line *line,
			       size_t group, FILE *out)
{
	struct stat_metric metrics[STAT_METRICS] = { 0 };
	size_t nr = stat_metrics(stat, line, group, metrics);

	fprintf(out, "\"metric-value\" : %f, \"metric-unit\" : \"%s\"}\n", metrics[0].value,
		metrics[0].unit);
	for (size_t i = 1; i < nr; i++) {
		fputc('{', out);
		stat_print_json_prefix(stat, line, group, out);
		fprintf(out, "\"metric-value\" : %f, \"metric-unit\" : \"%s\"}\n", metrics[i].value,
			metrics[i].unit);
	}
}

void stat_print_json_line(const struct stat_job *stat, const struct stat_line *line, size_t group,
			  FILE *out)
{
	const struct stat_cell *cell = &line->cell[group];

	fputc('{', out);
	stat_print_json_prefix(stat, line, group, out);
	if (stat_counted(line, group))
		fprintf(out,
			"\"counter-value\" : \"%f\", \"unit\" : ", cell->value.mean * line->scale);
	else
		fprintf(out, "\"counter-value\" : \"%s\", \"unit\" : ", missing(line));
	stat_put_json_string(out, line->unit);
	fputs(", \"event\" : ", out);
	stat_put_json_string(out, line->name);
	if (*line->cgroup) {
		fputs(", \"cgroup\" : ", out);
		stat_put_json_string(out, line->cgroup);
	}
	if (stat->spread)
		fprintf(out, ", \"variance\" : %.2f", perch__mean_error_percent(&cell->value));
	fprintf(out, ", \"event-runtime\" : %.0f, \"pcnt-running\" : %.2f, ", cell->running.mean,
		stat_percent_running(cell));
	print_json_metrics(stat, line, group, out);
}
