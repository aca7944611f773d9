/* SPDX-License-Identifier: MIT */
/* Lines of the result: their order, what is printed before each, and the lines of -x and -j. */
#include <stdlib.h>
#include <string.h>

#include "base/json_writer.h"
#include "stat.h"

static int by_value(const void *one, const void *other)
{
	double a = (*(const struct stat_cell *const *)one)->value.mean;
	double b = (*(const struct stat_cell *const *)other)->value.mean;

	return (a < b) - (a > b);
}

/* -a --per-thread leaves out threads that did not run: most of the machine's threads. */
static bool is_shown_thread(const struct stat_job *stat, const struct stat_line *line, size_t group)
{
	return stat_is_shown(stat, line, group) &&
	       (!stat->options.target.all_cpus || line->cell[group].value.mean > 0);
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
		if (is_shown_thread(stat, line, i))
			sorted[nr++] = &line->cell[i];
	qsort(sorted, nr, sizeof(*sorted), by_value);
	for (size_t i = 0; i < nr; i++)
		print(stat, line, sorted[i] - line->cell, out);
	free(sorted);
}

void stat_for_each_line(const struct stat_job *stat, stat_print_line *print, FILE *out)
{
	/* as in perf: by event and then CPU, but by socket, die, core or node and then event */
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

			if (stat_is_shown(stat, line, group))
				print(stat, line, group, out);
		}
	}
}

void stat_print_csv_text(const struct stat_job *stat, const char *text, FILE *out)
{
	const char *sep = stat->options.separator;
	char clean[512];

	perch_clean_text(text, clean, sizeof(clean));
	if (!strchr(clean, '"') && (!*sep || !strstr(clean, sep))) {
		fputs(clean, out);
		return;
	}
	fputc('"', out);
	for (const char *at = clean; *at; at++) {
		if (*at == '"')
			fputc('"', out);
		fputc(*at, out);
	}
	fputc('"', out);
}

/* -A shows an event with the term percore by core. NULL for other events. */
static const struct perch_cpu_topology *percore_topology(const struct stat_job *stat,
							 const struct stat_line *line, size_t group)
{
	const struct stat_part *part;

	if (!line || stat->aggregation != STAT_CPU || !line->event->terms.percore)
		return NULL;
	part = &stat->part[line->part];
	for (size_t i = 0; part->topology && i < part->targets.nr; i++)
		if (part->group[i] == group)
			return &part->topology[i];
	return NULL;
}

static void format_core(const struct perch_cpu_topology *topology, char *buffer, size_t size)
{
	snprintf(buffer, size, "S%d-D%d-C%d", topology->socket, topology->die, topology->core);
}

/* Formats the name of the group. Returns the width of perf's column. */
static int format_group(const struct stat_job *stat, const struct stat_line *line, size_t group,
			char *buffer, size_t size)
{
	const struct perch_cpu_topology *topology = &stat->group[group].topology,
					*core = percore_topology(stat, line, group);

	switch (stat->aggregation) {
	case STAT_CPU:
		if (core)
			format_core(core, buffer, size);
		else
			snprintf(buffer, size, "CPU%d", topology->cpu);
		return 10;
	case STAT_SOCKET:
		snprintf(buffer, size, "S%d", topology->socket);
		return 6;
	case STAT_DIE:
		snprintf(buffer, size, "S%d-D%d", topology->socket, topology->die);
		return 12;
	case STAT_CORE:
		format_core(topology, buffer, size);
		return 15;
	case STAT_NODE:
		snprintf(buffer, size, "N%d", topology->node);
		return 6;
	default:
		buffer[0] = '\0';
		return 0;
	}
}

static bool shows_cpu_count(const struct stat_job *stat)
{
	return stat->aggregation >= STAT_SOCKET && stat->aggregation <= STAT_NODE;
}

/* The number of CPUs on which the line was counted; of the group, if it was not counted. */
static unsigned cpu_count(const struct stat_job *stat, const struct stat_line *line, size_t group)
{
	unsigned nr = line ? line->cell[group].nr : 0;

	return nr ? nr : stat->group[group].nr;
}

static void print_time(const struct stat_job *stat, FILE *out)
{
	fprintf(out, "%6llu.%09llu%s", (unsigned long long)(stat->interval_ns / 1000000000),
		(unsigned long long)(stat->interval_ns % 1000000000),
		stat->options.separator ? stat->options.separator : " ");
}

static void print_thread(const struct stat_job *stat, const struct stat_group *group, FILE *out)
{
	char name[sizeof(group->comm) + 16];

	if (!stat->options.separator) {
		fprintf(out, "%16s-%-8d ", group->comm, (int)group->tid);
		return;
	}
	snprintf(name, sizeof(name), "%s-%d", group->comm, (int)group->tid);
	stat_print_csv_text(stat, name, out);
	fputs(stat->options.separator, out);
}

void stat_print_prefix(const struct stat_job *stat, const struct stat_line *line, size_t group,
		       FILE *out)
{
	const char *sep = stat->options.separator ? stat->options.separator : " ";
	char name[64];
	int width;

	if (stat->interval_ns)
		print_time(stat, out);
	else if (stat->options.summary && stat->options.separator && stat->options.csv_summary)
		fprintf(out, "%16s%s", "summary", sep);
	if (stat->aggregation == STAT_GLOBAL)
		return;
	if (stat->aggregation == STAT_THREAD) {
		print_thread(stat, &stat->group[group], out);
		return;
	}
	width = format_group(stat, line, group, name, sizeof(name));
	if (stat->options.separator)
		stat_print_csv_text(stat, name, out);
	else
		fprintf(out, "%*s", -width, name);
	fputs(sep, out);
	if (shows_cpu_count(stat))
		fprintf(out, "%*u%s", stat->options.separator ? 0 : 4, cpu_count(stat, line, group),
			sep);
}

const char *stat_missing_text(const struct stat_line *line)
{
	return line->supported ? "<not counted>" : "<not supported>";
}

int stat_decimals(const struct stat_line *line)
{
	bool whole = line->scale >= 0 && line->scale < 0x1p63 &&
		     line->scale == (double)(uint64_t)line->scale;

	return whole ? 0 : 2;
}

/* A second metric is on a line of its own, in the same column. */
static void print_csv_metrics(const struct stat_job *stat, const struct stat_line *line,
			      size_t group, FILE *out)
{
	const char *sep = stat->options.separator;
	struct perch_metric metrics[PERCH_METRICS_MAX];
	size_t nr = stat_metrics(stat, line, group, metrics);
	int empty = 3 + (*line->cgroup != '\0') + (stat->options.repeat > 1) + 1;

	if (!nr)
		fprintf(out, "%s%s\n", sep, sep);
	for (size_t i = 0; i < nr; i++) {
		if (i) {
			stat_print_prefix(stat, line, group, out);
			for (int k = 0; k < empty; k++)
				fputs(sep, out);
		}
		fprintf(out, "%s%.*f%s", sep, metrics[i].decimals, metrics[i].value, sep);
		stat_print_csv_text(stat, metrics[i].unit, out);
		fputc('\n', out);
	}
}

void stat_print_csv_line(const struct stat_job *stat, const struct stat_line *line, size_t group,
			 FILE *out)
{
	const struct stat_cell *cell = &line->cell[group];
	const char *sep = stat->options.separator;

	stat_print_prefix(stat, line, group, out);
	if (stat_is_counted(line, group))
		fprintf(out, "%.*f", stat_decimals(line), cell->value.mean * line->scale);
	else
		stat_print_csv_text(stat, stat_missing_text(line), out);
	fputs(sep, out);
	stat_print_csv_text(stat, line->unit, out);
	fputs(sep, out);
	stat_print_csv_text(stat, line->name, out);
	if (*line->cgroup) {
		fputs(sep, out);
		stat_print_csv_text(stat, line->cgroup, out);
	}
	if (stat->options.repeat > 1)
		fprintf(out, "%s%.2f%%", sep, perch__mean_error_percent(&cell->value));
	fprintf(out, "%s%.0f%s%.2f", sep, cell->running.mean, sep, stat_percent_running(cell));
	print_csv_metrics(stat, line, group, out);
}

/* The layout of objects is perf's, whose white space struct perch__json_writer does not write. */
static void print_json_text(const char *text, FILE *out)
{
	char clean[512];

	perch_clean_text(text, clean, sizeof(clean));
	perch__json_print_string(out, clean);
}

/* perf's keys. The core of a percore event has the key of --per-core. */
static const char *const keys[] = {
	[STAT_CPU] = "cpu",   [STAT_SOCKET] = "socket", [STAT_DIE] = "die",
	[STAT_CORE] = "core", [STAT_NODE] = "node",	[STAT_THREAD] = "thread",
};

static void print_json_prefix(const struct stat_job *stat, const struct stat_line *line,
			      size_t group, FILE *out)
{
	const struct stat_group *own = &stat->group[group];
	char name[96];

	if (stat->interval_ns)
		fprintf(out, "\"interval\" : %llu.%09llu, ",
			(unsigned long long)(stat->interval_ns / 1000000000),
			(unsigned long long)(stat->interval_ns % 1000000000));
	if (stat->aggregation == STAT_GLOBAL)
		return;
	format_group(stat, line, group, name, sizeof(name));
	if (stat->aggregation == STAT_THREAD)
		snprintf(name, sizeof(name), "%s-%d", own->comm, (int)own->tid);
	if (percore_topology(stat, line, group))
		fprintf(out, "\"core\" : ");
	else
		fprintf(out, "\"%s\" : ", keys[stat->aggregation]);
	/* perf prints the number of a CPU, as a string */
	print_json_text(!strncmp(name, "CPU", 3) && stat->aggregation == STAT_CPU ? name + 3 : name,
			out);
	fputs(", ", out);
	if (shows_cpu_count(stat))
		fprintf(out, "\"aggregate-number\" : %u, ", cpu_count(stat, line, group));
}

static void print_json_metrics(const struct stat_job *stat, const struct stat_line *line,
			       size_t group, FILE *out)
{
	struct perch_metric metrics[PERCH_METRICS_MAX] = { 0 };
	size_t nr = stat_metrics(stat, line, group, metrics);

	fprintf(out, "\"metric-value\" : %f, \"metric-unit\" : \"%s\"}\n", metrics[0].value,
		metrics[0].unit);
	for (size_t i = 1; i < nr; i++) {
		fputc('{', out);
		print_json_prefix(stat, line, group, out);
		fprintf(out, "\"metric-value\" : %f, \"metric-unit\" : \"%s\"}\n", metrics[i].value,
			metrics[i].unit);
	}
}

void stat_print_json_line(const struct stat_job *stat, const struct stat_line *line, size_t group,
			  FILE *out)
{
	const struct stat_cell *cell = &line->cell[group];

	fputc('{', out);
	print_json_prefix(stat, line, group, out);
	if (stat_is_counted(line, group))
		fprintf(out,
			"\"counter-value\" : \"%f\", \"unit\" : ", cell->value.mean * line->scale);
	else
		fprintf(out, "\"counter-value\" : \"%s\", \"unit\" : ", stat_missing_text(line));
	print_json_text(line->unit, out);
	fputs(", \"event\" : ", out);
	print_json_text(line->name, out);
	if (*line->cgroup) {
		fputs(", \"cgroup\" : ", out);
		print_json_text(line->cgroup, out);
	}
	if (stat->options.repeat > 1)
		fprintf(out, ", \"variance\" : %.2f", perch__mean_error_percent(&cell->value));
	fprintf(out, ", \"event-runtime\" : %.0f, \"pcnt-running\" : %.2f, ", cell->running.mean,
		stat_percent_running(cell));
	print_json_metrics(stat, line, group, out);
}
