/* SPDX-License-Identifier: MIT */
/* The table, column by column as perf 6.1 prints it. */
#include <string.h>

#include "stat.h"

#define VALUE_WIDTH 18
#define UNIT_WIDTH 4
#define NAME_WIDTH 32
#define BARE_NAME_WIDTH 25		/* of an event without a number */
#define METRIC_WIDTH 35

static void print_title(const struct stat *stat, FILE *out)
{
	fputs("\n Performance counter stats for ", out);
	if (stat->all_cpus) {
		fputs("'system wide", out);
	} else if (stat->cpu_list) {
		fputs("'CPU(s) ", out);
		cli_put_clean(out, stat->cpu_list);
	} else if (stat->pids) {
		fputs("process id '", out);
		cli_put_clean(out, stat->pids);
	} else if (stat->tids) {
		fputs("thread id '", out);
		cli_put_clean(out, stat->tids);
	} else {
		fputc('\'', out);
		for (char **word = stat->argv; *word; word++) {
			if (word != stat->argv)
				fputc(' ', out);
			cli_put_clean(out, *word);
		}
	}
	fputc('\'', out);
	if (stat->repeat > 1)
		fprintf(out, " (%llu runs)", (unsigned long long)stat->repeat);
	fputs(":\n\n", out);
}

static void print_metric(const struct stat *stat, const struct stat_event *event, FILE *out)
{
	struct stat_metric metric;
	int used;

	if (!stat_metric(stat, event, &metric)) {
		fprintf(out, "%-*s", METRIC_WIDTH, "");
		return;
	}
	used = fprintf(out, " # %*.*f%s", metric.width, metric.decimals, metric.value, metric.sign);
	fprintf(out, " %-*s", METRIC_WIDTH - used - 1, metric.unit);
}

static void print_event(const struct stat *stat, const struct stat_event *event, FILE *out)
{
	double percent = stat_error_percent(&event->value);

	if (!stat_counted(event)) {
		fprintf(out, "%*s %-*s %-*s%-*s", VALUE_WIDTH,
			event->supported ? "<not counted>" : "<not supported>", UNIT_WIDTH, "", BARE_NAME_WIDTH,
			event->name, METRIC_WIDTH, "");
		fputc('\n', out);
		return;
	}
	fprintf(out, "%*.*f %-*s %-*s", VALUE_WIDTH, event->scale == (double)(uint64_t)event->scale ? 0 : 2,
		event->value.mean * event->scale, UNIT_WIDTH, event->unit, NAME_WIDTH, event->name);
	print_metric(stat, event, out);
	if (stat->repeat > 1 && percent != 0)
		fprintf(out, "  ( +-%6.2f%% )", percent);
	if (event->running.mean < event->enabled.mean)
		fprintf(out, "  (%.2f%%)", 100.0 * event->running.mean / event->enabled.mean);
	fputc('\n', out);
}

/* Two digits more than the spread makes certain. */
static int digits_for(double spread)
{
	int digits = 2;

	if (spread <= 0)
		return 9;
	for (; spread < 1 && digits < 9; digits++)
		spread *= 10;
	return digits;
}

static void print_times(const struct stat *stat, FILE *out)
{
	double elapsed = stat->elapsed_ns.mean / 1e9;
	double spread = stat_error(&stat->elapsed_ns) / 1e9;
	int digits = digits_for(spread);

	if (stat->repeat > 1) {
		fprintf(out, "\n %17.*f +- %.*f seconds time elapsed", digits, elapsed, digits, spread);
		if (spread > 0)
			fprintf(out, "  ( +-%6.2f%% )", stat_error_percent(&stat->elapsed_ns));
		fputs("\n\n", out);
		return;
	}
	fprintf(out, "\n %17.9f seconds time elapsed\n", elapsed);
	if (stat->program.pid > 0 && !stat->all_cpus && !stat->cpu_list && !stat->pids && !stat->tids)
		fprintf(out, "\n %17.9f seconds user\n %17.9f seconds sys\n", stat->user_seconds, stat->sys_seconds);
	fputs("\n\n", out);
}

static bool same_reason(const struct stat_event *one, const struct stat_event *other)
{
	return !one->supported && !other->supported && !strcmp(one->reason.message, other->reason.message) &&
	       !strcmp(one->reason.remedy, other->reason.remedy);
}

/* Each reason once, with the events it keeps away. */
static void print_reasons(const struct stat *stat, FILE *out)
{
	bool any = false;

	for (size_t i = 0; i < stat->events.nr; i++) {
		size_t first = 0;

		if (stat->event[i].supported || !stat->event[i].reason.errnum)
			continue;
		while (!same_reason(&stat->event[first], &stat->event[i]))
			first++;
		if (first < i)
			continue;
		fprintf(out, " %s", stat->event[i].name);
		for (size_t k = i + 1; k < stat->events.nr; k++)
			if (same_reason(&stat->event[i], &stat->event[k]))
				fprintf(out, ", %s", stat->event[k].name);
		fputs(": ", out);
		perch_error_print(out, &stat->event[i].reason);
		any = true;
	}
	if (any)
		fputc('\n', out);
}

void stat_print_table(const struct stat *stat, FILE *out)
{
	print_title(stat, out);
	for (size_t i = 0; i < stat->events.nr; i++)
		print_event(stat, &stat->event[i], out);
	print_times(stat, out);
	print_reasons(stat, out);
}
