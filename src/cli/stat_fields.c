/* SPDX-License-Identifier: MIT */
/* For programs: fields between separators, and JSON; perf 6.1's fields in its order. */
#include <string.h>

#include "stat.h"

static const char *missing(const struct stat_event *event)
{
	return event->supported ? "<not counted>" : "<not supported>";
}

static double percent_running(const struct stat_event *event)
{
	return event->enabled.mean > 0 ? 100.0 * event->running.mean / event->enabled.mean : 100.0;
}

static void print_csv_event(const struct stat *stat, const struct stat_event *event, FILE *out)
{
	const char *sep = stat->separator;
	struct stat_metric metric;

	if (stat_counted(event))
		fprintf(out, "%.*f%s%s%s%s", event->scale == (double)(uint64_t)event->scale ? 0 : 2,
			event->value.mean * event->scale, sep, event->unit, sep, event->name);
	else
		fprintf(out, "%s%s%s%s", missing(event), sep, sep, event->name);
	if (stat->repeat > 1)
		fprintf(out, "%s%.2f%%", sep, stat_error_percent(&event->value));
	fprintf(out, "%s%.0f%s%.2f", sep, event->running.mean, sep, percent_running(event));
	if (stat_counted(event) && stat_metric(stat, event, &metric))
		fprintf(out, "%s%.*f%s%s\n", sep, metric.decimals, metric.value, sep, metric.unit);
	else
		fprintf(out, "%s%s\n", sep, sep);
}

void stat_print_csv(const struct stat *stat, FILE *out)
{
	for (size_t i = 0; i < stat->events.nr; i++)
		print_csv_event(stat, &stat->event[i], out);
}

static void put_json_string(FILE *out, const char *text)
{
	char clean[512];

	perch_clean_text(clean, sizeof(clean), text);
	fputc('"', out);
	for (const char *at = clean; *at; at++) {
		if (*at == '"' || *at == '\\')
			fputc('\\', out);
		fputc(*at, out);
	}
	fputc('"', out);
}

static void print_json_event(const struct stat *stat, const struct stat_event *event, FILE *out)
{
	bool counted = stat_counted(event);
	struct stat_metric metric;

	if (counted)
		fprintf(out, "{\"counter-value\" : \"%f\", \"unit\" : ", event->value.mean * event->scale);
	else
		fprintf(out, "{\"counter-value\" : \"%s\", \"unit\" : ", missing(event));
	put_json_string(out, counted ? event->unit : "");
	fputs(", \"event\" : ", out);
	put_json_string(out, event->name);
	if (stat->repeat > 1)
		fprintf(out, ", \"variance\" : %.2f", stat_error_percent(&event->value));
	fprintf(out, ", \"event-runtime\" : %.0f, \"pcnt-running\" : %.2f", event->running.mean,
		percent_running(event));
	if (!counted || !stat_metric(stat, event, &metric))
		metric = (struct stat_metric){ 0 };
	fprintf(out, ", \"metric-value\" : %f, \"metric-unit\" : \"%s\"}\n", metric.value, metric.unit);
}

void stat_print_json(const struct stat *stat, FILE *out)
{
	for (size_t i = 0; i < stat->events.nr; i++)
		print_json_event(stat, &stat->event[i], out);
}
