/* SPDX-License-Identifier: MIT */
/* The table, in the columns of perf 6.1. */
#include <string.h>

#include "stat.h"

#define VALUE_WIDTH	18
#define UNIT_WIDTH	4 /* at least */
#define NAME_WIDTH	32
#define BARE_NAME_WIDTH 25 /* of an event without a count */
#define METRIC_WIDTH	35

static int unit_width(const struct stat_job *stat)
{
	int width = UNIT_WIDTH;

	for (size_t i = 0; i < stat->nr_lines; i++)
		if ((int)strlen(stat->line[i].unit) > width)
			width = strlen(stat->line[i].unit);
	return width;
}

static void print_title(const struct stat_job *stat, FILE *out)
{
	const struct cli_target *target = &stat->options.target;
	const char *tasks = target->pids   ? target->pids
			    : target->tids ? target->tids
					   : target->user;

	fputs("\n Performance counter stats for ", out);
	if (tasks) {
		fprintf(out, "%s '",
			target->pids   ? "process id"
			: target->tids ? "thread id"
				       : "user");
		cli_put_clean(out, tasks);
	} else if (target->cpu_list) {
		fputs("'CPU(s) ", out);
		cli_put_clean(out, target->cpu_list);
	} else if (target->all_cpus) {
		fputs("'system wide", out);
	} else {
		fputc('\'', out);
		for (char **word = stat->argv; *word; word++) {
			if (word != stat->argv)
				fputc(' ', out);
			cli_put_clean(out, *word);
		}
	}
	fputc('\'', out);
	if (stat->elapsed_ns.nr > 1)
		fprintf(out, " (%u runs)", stat->elapsed_ns.nr);
	fputs(":\n\n", out);
}

void stat_print_interval_header(const struct stat_job *stat, FILE *out)
{
	static const char *const groups[] = {
		[STAT_GLOBAL] = "",
		[STAT_CPU] = "CPU        ",
		[STAT_SOCKET] = "socket cpus ",
		[STAT_DIE] = "die          cpus ",
		[STAT_CORE] = "core            cpus ",
		[STAT_NODE] = "node   cpus ",
		[STAT_THREAD] = "            comm-pid      ",
	};

	fprintf(out, "#           time %s%*s %-*s events\n", groups[stat->aggregation], VALUE_WIDTH,
		"counts", unit_width(stat), "unit");
}

static void print_metric(const struct perch_metric *metric, FILE *out)
{
	int used = fprintf(out, " # %*.*f%s", metric->width, metric->decimals, metric->value,
			   metric->sign);

	fprintf(out, " %-*s", METRIC_WIDTH - used - 1, metric->unit);
}

static void print_missing(const struct stat_job *stat, const struct stat_line *line, FILE *out)
{
	fprintf(out, "%*s %-*s %-*s", VALUE_WIDTH, stat_missing_text(line), unit_width(stat),
		line->unit, BARE_NAME_WIDTH, line->name);
	if (*line->cgroup) {
		fputc(' ', out);
		cli_put_clean(out, line->cgroup);
	}
	fprintf(out, "%*s\n", METRIC_WIDTH, "");
}

/* The second metric is on a line of its own, below the first. */
static void print_second_metric(const struct stat_job *stat, const struct stat_line *line,
				size_t group, const struct perch_metric *metric, FILE *out)
{
	stat_print_prefix(stat, line, group, out);
	fprintf(out, "%*s", VALUE_WIDTH + 1 + unit_width(stat) + 1 + NAME_WIDTH, "");
	print_metric(metric, out);
	fputc('\n', out);
}

void stat_print_table_line(const struct stat_job *stat, const struct stat_line *line, size_t group,
			   FILE *out)
{
	const struct stat_cell *cell = &line->cell[group];
	double percent = perch__mean_error_percent(&cell->value);
	struct perch_metric metrics[PERCH_METRICS_MAX];
	size_t nr = stat_metrics(stat, line, group, metrics);

	stat_print_prefix(stat, line, group, out);
	if (!stat_is_counted(line, group)) {
		print_missing(stat, line, out);
		return;
	}
	fprintf(out, stat->options.big_num ? "%'*.*f" : "%*.*f", VALUE_WIDTH, stat_decimals(line),
		cell->value.mean * line->scale);
	fprintf(out, " %-*s %-*s", unit_width(stat), line->unit, NAME_WIDTH, line->name);
	if (*line->cgroup) {
		fputc(' ', out);
		cli_put_clean(out, line->cgroup);
	}
	if (nr)
		print_metric(&metrics[0], out);
	else
		fprintf(out, "%-*s", METRIC_WIDTH, "");
	if (stat->elapsed_ns.nr > 1 && percent != 0)
		fprintf(out, "  ( +-%6.2f%% )", percent);
	if (cell->running.mean < cell->enabled.mean)
		fprintf(out, "  (%.2f%%)", stat_percent_running(cell));
	fputc('\n', out);
	for (size_t i = 1; i < nr; i++)
		print_second_metric(stat, line, group, &metrics[i], out);
}

/* Decimal places of a time: two significant digits of its error. */
static int digits_for(double error)
{
	int digits = 2;

	if (error <= 0)
		return 9;
	for (; error < 1 && digits < 9; digits++)
		error *= 10;
	return digits;
}

/* --table: the time of each run, its distance from the mean, and a '#' for each 5% of distance. */
static void print_runs(const struct stat_job *stat, int digits, FILE *out)
{
	double mean = stat->elapsed_ns.mean;

	fprintf(out, "%*s# Table of individual measurements:\n", 16 - digits, "");
	for (unsigned i = 0; i < stat->elapsed_ns.nr; i++) {
		double off = stat->run_ns[i] - mean;
		double share = mean > 0 ? (off < 0 ? -off : off) / mean : 0;
		int marks = share < 2 ? 1 + (int)(share * 20) : 40;

		fprintf(out, " %17.*f (%+.*f) %.*s\n", digits, stat->run_ns[i] / 1e9, digits,
			off / 1e9, marks, "########################################");
	}
	fprintf(out, "\n%*s# Final result:\n", 16 - digits, "");
}

static void print_times(const struct stat_job *stat, FILE *out)
{
	double elapsed = stat->elapsed_ns.mean / 1e9;
	double error = perch__mean_error(&stat->elapsed_ns) / 1e9;
	int digits = digits_for(error);
	const struct cli_target *target = &stat->options.target;

	if (stat->nr_lines)
		fputc('\n', out);
	if (stat->elapsed_ns.nr > 1) {
		if (stat->options.table)
			print_runs(stat, digits, out);
		fprintf(out, " %17.*f +- %.*f seconds time elapsed", digits, elapsed, digits,
			error);
		if (error > 0)
			fprintf(out, "  ( +-%6.2f%% )",
				perch__mean_error_percent(&stat->elapsed_ns));
		fputs("\n\n", out);
		return;
	}
	fprintf(out, " %17.9f seconds time elapsed\n", elapsed);
	if (stat->argv && !stat->options.report && !cli_target_system_wide(target) &&
	    !cli_target_has_tasks(target))
		fprintf(out, "\n %17.9f seconds user\n %17.9f seconds sys\n\n", stat->user_seconds,
			stat->sys_seconds);
	fputc('\n', out);
}

void stat_print_table(const struct stat_job *stat, FILE *out)
{
	print_title(stat, out);
	if (stat->options.metric_only)
		stat_print_metric_rows(stat, out);
	else
		stat_for_each_line(stat, stat_print_table_line, out);
	print_times(stat, out);
	if (!stat->options.report)
		stat_print_reasons(stat, out);
}
