/* SPDX-License-Identifier: MIT */
/* The rows of latency: with the columns of perf and percentiles, as JSON, or as fields. */
#define _GNU_SOURCE /* qsort_r */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "sched.h"

const struct cli_word sched_key_words[] = {
	{ "avg", SCHED_KEY_AVG },	{ "max", SCHED_KEY_MAX },
	{ "switch", SCHED_KEY_SWITCH }, { "runtime", SCHED_KEY_RUNTIME },
	{ "p50", SCHED_KEY_P50 },	{ "p90", SCHED_KEY_P90 },
	{ "p99", SCHED_KEY_P99 },	{ 0 },
};

static double percentile(const struct sched_row *row, double percent)
{
	uint64_t delay = cli_delays_percentile(&row->delays, percent);

	return (double)(delay < row->max ? delay : row->max);
}

static double value_of(const struct sched_row *row, enum sched_key key)
{
	switch (key) {
	case SCHED_KEY_AVG:
		return row->counted ? (double)row->total / (double)row->counted : 0;
	case SCHED_KEY_MAX:
		return (double)row->max;
	case SCHED_KEY_SWITCH:
		return (double)row->counted;
	case SCHED_KEY_RUNTIME:
		return (double)row->runtime;
	case SCHED_KEY_P50:
		return percentile(row, 50);
	case SCHED_KEY_P90:
		return percentile(row, 90);
	default:
		return percentile(row, 99);
	}
}

static int compare_rows(const void *one, const void *other, void *context)
{
	const struct sched_rows *rows = context;
	const struct sched_row *a = one, *b = other;

	for (size_t i = 0; i < rows->nr_keys; i++) {
		double left = value_of(a, rows->key[i]), right = value_of(b, rows->key[i]);

		if (left != right)
			return left < right ? 1 : -1;
	}
	return strcmp(a->name, b->name)
		       ? strcmp(a->name, b->name)
		       : (a->first_tid > b->first_tid) - (a->first_tid < b->first_tid);
}

static void print_line(struct sched_reading *reading, int width)
{
	char *at = perch__output_reserve(&reading->out, (size_t)width + 2);

	*at++ = ' ';
	memset(at, '-', (size_t)width);
	at[width] = '\n';
	perch__output_end(&reading->out, at + width + 1);
}

static void print_row(struct sched_reading *reading, const struct sched_row *row)
{
	char task[SCHED_TASK_BYTES + 24];

	if (row->threads > 1)
		snprintf(task, sizeof(task), "%s:(%" PRIu64 ")", row->name, row->threads);
	else
		snprintf(task, sizeof(task), "%s:%" PRIu32, row->name, row->first_tid);
	sched_printf(reading,
		     "  %-21s |%11.3f ms |%9" PRIu64
		     " | avg:%8.3f ms | p50:%8.3f ms | p90:%8.3f ms | p99:%8.3f ms | max:%8.3f ms "
		     "| max start: %12.6f s | max end: %12.6f s",
		     task, (double)row->runtime / 1e6, row->counted,
		     value_of(row, SCHED_KEY_AVG) / 1e6, percentile(row, 50) / 1e6,
		     percentile(row, 90) / 1e6, percentile(row, 99) / 1e6, (double)row->max / 1e6,
		     (double)row->max_start / 1e9, (double)row->max_end / 1e9);
	if (row->uncertain)
		sched_printf(reading, " | uncertain: %" PRIu64, row->uncertain);
	sched_printf(reading, "\n");
}

static void print_table(const struct sched_rows *rows)
{
	struct sched_reading *reading = rows->reading;
	uint64_t runtime = 0, counted = 0, uncertain = 0, uncertain_ns = 0;

	sched_printf(reading, "\n");
	print_line(reading, 190);
	sched_printf(reading,
		     "  Task                  |   Runtime ms  |  Count   | Avg delay ms    | "
		     "50 %% delay ms   | 90 %% delay ms   | 99 %% delay ms   | "
		     "Max delay ms    | Max delay start           | Max delay end          |\n");
	print_line(reading, 190);
	for (size_t i = 0; i < rows->nr; i++) {
		const struct sched_row *row = &rows->row[i];

		uncertain += row->uncertain;
		uncertain_ns += row->uncertain_ns;
		runtime += row->runtime;
		counted += row->counted;
		if (row->counted || row->uncertain)
			print_row(reading, row);
	}
	print_line(reading, 113);
	sched_printf(reading, "  TOTAL:                |%11.3f ms |%9" PRIu64 " |\n",
		     (double)runtime / 1e6, counted);
	print_line(reading, 51);
	if (uncertain)
		sched_printf(reading,
			     "  %" PRIu64 " delays (%.3f ms) may be wrong and are not counted: "
			     "records are missing\n",
			     uncertain, (double)uncertain_ns / 1e6);
	sched_printf(reading, "\n");
}

/* ---- for programs: times in ns ---- */

static const struct {
	const char *name;
	size_t at; /* of a uint64_t in struct sched_row */
	bool time; /* since 1970 it has more than 53 bits: it is a number all the same */
} values[] = {
	{ "threads", offsetof(struct sched_row, threads) },
	{ "runtime_ns", offsetof(struct sched_row, runtime) },
	{ "count", offsetof(struct sched_row, counted) },
	{ "delay_ns", offsetof(struct sched_row, total) },
	{ "max_ns", offsetof(struct sched_row, max) },
	{ "max_start", offsetof(struct sched_row, max_start), true },
	{ "max_end", offsetof(struct sched_row, max_end), true },
	{ "preemptions", offsetof(struct sched_row, preemptions) },
	{ "migrations", offsetof(struct sched_row, migrations) },
	{ "uncertain", offsetof(struct sched_row, uncertain) },
	{ "uncertain_ns", offsetof(struct sched_row, uncertain_ns) },
};

static const struct {
	const char *name;
	enum sched_key key;
} computed[] = {
	{ "avg_ns", SCHED_KEY_AVG },
	{ "p50_ns", SCHED_KEY_P50 },
	{ "p90_ns", SCHED_KEY_P90 },
	{ "p99_ns", SCHED_KEY_P99 },
};

static uint64_t member_of(const struct sched_row *row, size_t i)
{
	return *(const uint64_t *)((const char *)row + values[i].at);
}

static void print_json(const struct sched_rows *rows)
{
	struct perch__json_writer *json = &rows->reading->writer;

	json->indented = true;
	perch__json_begin_array(json);
	for (size_t i = 0; i < rows->nr; i++) {
		const struct sched_row *row = &rows->row[i];

		perch__json_put_object(json, NULL);
		perch__json_put_text(json, "comm", row->name);
		perch__json_put_number(json, "tid", row->first_tid);
		for (size_t k = 0; k < CLI_NR(values); k++)
			(values[k].time ? perch__json_put_integer : perch__json_put_number)(
				json, values[k].name, member_of(row, k));
		for (size_t k = 0; k < CLI_NR(computed); k++)
			perch__json_put_number(json, computed[k].name,
					       (uint64_t)value_of(row, computed[k].key));
		perch__json_end(json);
	}
	perch__json_end(json);
	perch__output_char(&rows->reading->out, '\n');
}

static void print_fields(const struct sched_rows *rows)
{
	struct sched_reading *reading = rows->reading;
	const char *between = reading->separator;

	sched_printf(reading, "comm%stid", between);
	for (size_t k = 0; k < CLI_NR(values); k++)
		sched_printf(reading, "%s%s", between, values[k].name);
	for (size_t k = 0; k < CLI_NR(computed); k++)
		sched_printf(reading, "%s%s", between, computed[k].name);
	for (size_t i = 0; i < rows->nr; i++) {
		const struct sched_row *row = &rows->row[i];
		char name[SCHED_TASK_BYTES];

		snprintf(name, sizeof(name), "%s", row->name);
		cli_make_field(name, between);
		sched_printf(reading, "\n%s%s%" PRIu32, name, between, row->first_tid);
		for (size_t k = 0; k < CLI_NR(values); k++)
			sched_printf(reading, "%s%" PRIu64, between, member_of(row, k));
		for (size_t k = 0; k < CLI_NR(computed); k++)
			sched_printf(reading, "%s%" PRIu64, between,
				     (uint64_t)value_of(row, computed[k].key));
	}
	sched_printf(reading, "\n");
}

void sched_rows_print(struct sched_rows *rows)
{
	if (rows->nr)
		qsort_r(rows->row, rows->nr, sizeof(*rows->row), compare_rows, rows);
	if (rows->reading->json)
		print_json(rows);
	else if (rows->reading->separator)
		print_fields(rows);
	else
		print_table(rows);
}
