/* SPDX-License-Identifier: MIT */
/* --metric-only: one column per ratio of the events, one row per group. */
#include <string.h>

#include "stat.h"

#define COLUMN_WIDTH 20

/* "branch-misses of all branches": some units need the name of the event. */
static void format_column(const struct stat_line *line, const char *unit, char *buffer, size_t size)
{
	if (!strncmp(unit, "of all ", 7))
		snprintf(buffer, size, "%s %s", line->name, unit);
	else
		snprintf(buffer, size, "%s", unit);
}

static int column_width(const char *name)
{
	return strlen(name) >= COLUMN_WIDTH ? (int)strlen(name) + 1 : COLUMN_WIDTH;
}

/* Calls print for each column. metric is NULL if the group has no value. */
typedef void print_column(const struct stat_job *stat, const char *name,
			  const struct perch_metric *metric, FILE *out);

static void for_each_column(const struct stat_job *stat, size_t group, print_column *print,
			    FILE *out)
{
	for (size_t i = 0; i < stat->nr_lines; i++) {
		const struct stat_line *line = &stat->line[i];
		const char *unit = perch_metric_unit(&line->event->attr);
		struct perch_metric metrics[PERCH_METRICS_MAX];
		const struct perch_metric *found = NULL;
		char name[sizeof(line->name) + sizeof(metrics[0].unit)];
		size_t nr;

		if (line->merged_into != i || !unit)
			continue;
		nr = stat_metrics(stat, line, group, metrics);
		for (size_t k = 0; k < nr; k++)
			if (!strcmp(metrics[k].unit, unit))
				found = &metrics[k];
		format_column(line, unit, name, sizeof(name));
		print(stat, name, found, out);
	}
}

static void print_column_name(const struct stat_job *stat, const char *name,
			      const struct perch_metric *metric, FILE *out)
{
	(void)metric;
	if (stat->options.separator) {
		stat_print_csv_text(stat, name, out);
		fputs(stat->options.separator, out);
	} else {
		fprintf(out, "%*s ", column_width(name), name);
	}
}

static void print_value(const struct stat_job *stat, const char *name,
			const struct perch_metric *metric, FILE *out)
{
	char text[64] = "";

	if (metric)
		snprintf(text, sizeof(text), "%.*f%s", metric->decimals, metric->value,
			 strchr(metric->sign, '%') && !stat->options.separator ? "%" : "");
	if (stat->options.separator)
		fprintf(out, "%s%s", text, stat->options.separator);
	else
		fprintf(out, "%*s ", column_width(name), text);
}

/* The columns of the group are as wide as in stat_print_prefix(). */
void stat_print_metric_header(const struct stat_job *stat, FILE *out)
{
	static const struct {
		int width;
		const char *text, *fields[2];
	} groups[] = {
		[STAT_GLOBAL] = { 0, "", { NULL } },
		[STAT_CPU] = { 11, "CPU", { "cpu" } },
		[STAT_SOCKET] = { 12, "socket cpus", { "socket", "cpus" } },
		[STAT_DIE] = { 18, "die          cpus", { "die", "cpus" } },
		[STAT_CORE] = { 21, "core            cpus", { "core", "cpus" } },
		[STAT_NODE] = { 12, "node   cpus", { "node", "cpus" } },
		[STAT_THREAD] = { 26, "        comm-pid", { "comm-pid" } },
	}, *group;
	const char *sep = stat->options.separator;

	group = &groups[stat->aggregation];
	if (sep) {
		fprintf(out, "%s%s", stat->options.interval_ms ? "time" : "",
			stat->options.interval_ms ? sep : "");
		for (size_t i = 0; i < 2 && group->fields[i]; i++)
			fprintf(out, "%s%s", group->fields[i], sep);
	} else {
		fprintf(out, "%s%-*s", stat->options.interval_ms ? "#           time " : "",
			group->width, group->text);
	}
	for_each_column(stat, 0, print_column_name, out);
	fputc('\n', out);
}

void stat_print_metric_rows(const struct stat_job *stat, FILE *out)
{
	if (!stat->options.interval_ms)
		stat_print_metric_header(stat, out);
	for (size_t i = 0; i < stat->nr_groups; i++) {
		stat_print_prefix(stat, NULL, i, out);
		for_each_column(stat, i, print_value, out);
		fputc('\n', out);
	}
}
