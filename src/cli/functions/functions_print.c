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

int functions_open_output(struct functions *functions)
{
	struct perch_error err;

	functions->stream = stdout;
	if (functions->output && cli_output_open(&functions->file, functions->output, 0, &err))
		return cli_error(FUNCTIONS_COMMAND, &err);
	if (functions->output)
		functions->stream = functions->file.stream;
	functions->writer.out = &functions->out;
	return perch__output_open(&functions->out, functions->stream) ||
			       (functions->json && perch__output_open(&functions->members, NULL))
		       ? cli_no_memory(FUNCTIONS_COMMAND)
		       : 0;
}

int functions_close_output(struct functions *functions)
{
	struct perch_error err;

	perch__output_flush(&functions->out);
	if (!functions->output)
		return cli_check_stdout(FUNCTIONS_COMMAND, functions->out.error) ? CLI_EXIT_FAILURE
										 : 0;
	return cli_output_close(&functions->file, functions->out.error, &err)
		       ? cli_error(FUNCTIONS_COMMAND, &err)
		       : 0;
}

/* ---- calls ---- */

static struct perch__json_writer *begin_object(struct functions *functions)
{
	functions->writer.depth = 0;
	functions->writer.not_empty[0] = false;
	perch__json_begin_object(&functions->writer);
	return &functions->writer;
}

static void end_object(struct functions *functions)
{
	perch__json_end(&functions->writer);
	perch__output_char(&functions->out, '\n');
}

static void put_object(struct perch__json_writer *json, const char *name, const char *object)
{
	perch__json_key(json, name);
	perch__output_text(json->out, object);
}

static void put_call(struct functions *functions, const struct perch_function_call *call,
		     const char *arguments)
{
	struct perch__json_writer *json = begin_object(functions);

	perch__json_put_integer(json, "time", call->start);
	if (!call->flags)
		perch__json_put_integer(json, "duration", call->end - call->start);
	perch__json_put_number(json, "tid", call->tid);
	perch__json_put_number(json, "depth", call->depth);
	perch__json_put_text(json, "function", functions->row[call->function].name);
	put_object(json, "arguments", arguments);
	if (*functions->returned && strcmp(functions->returned, "{}"))
		put_object(json, "returned", functions->returned);
	if (call->flags & PERCH_CALL_OPEN)
		perch__json_put_flag(json, "open", true);
	else if (call->flags & PERCH_CALL_LOST)
		perch__json_put_flag(json, "left", true);
	else if (call->flags)
		perch__json_put_flag(json, "uncertain", true);
	end_object(functions);
}

void functions_print_call(struct functions *functions, const struct perch_function_call *call,
			  const char *arguments)
{
	const char *name = short_name(functions->row[call->function].name);
	FILE *out = functions->stream;

	if (functions->json) {
		put_call(functions, call, arguments);
		return;
	}
	fprintf(out, "%12.3f %7u %*s%s(%s)", (double)(call->start - functions->first_time) / 1e6,
		call->tid, (int)(2 * (call->depth < 20 ? call->depth : 20)), "", name, arguments);
	if (call->flags & PERCH_CALL_OPEN)
		fprintf(out, " has not returned\n");
	else if (call->flags & PERCH_CALL_LOST)
		fprintf(out, " was left, or its return was not reported\n");
	else
		fprintf(out, "%s%s <%.3f us>%s\n", *functions->returned ? " " : "",
			functions->returned, (double)(call->end - call->start) / 1e3,
			call->flags ? " (samples were lost)" : "");
}

/* ---- the table ---- */

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

static void put_row(struct functions *functions, const struct functions_row *row)
{
	struct perch__json_writer *json = begin_object(functions);

	perch__json_put_text(json, "function", row->name);
	perch__json_put_integer(json, "calls", row->calls);
	perch__json_put_integer(json, "total", row->total);
	perch__json_put_integer(json, "avg", row->calls ? row->total / row->calls : 0);
	perch__json_put_integer(json, "p50", time_of_percentile(row, 50));
	perch__json_put_integer(json, "p99", time_of_percentile(row, 99));
	perch__json_put_integer(json, "max", row->max);
	perch__json_put_integer(json, "lost", row->lost);
	end_object(functions);
}

static void print_row(const struct functions *functions, const struct functions_row *row)
{
	fprintf(functions->stream,
		"%10" PRIu64 " %12.3f %10.3f %10.3f %10.3f %10.3f %6" PRIu64 "  %s\n", row->calls,
		(double)row->total / 1e6, row->calls ? to_us(row->total) / (double)row->calls : 0,
		to_us(time_of_percentile(row, 50)), to_us(time_of_percentile(row, 99)),
		to_us(row->max), row->lost, row->name);
}

static void print_notes(const struct functions *functions, bool any)
{
	struct perch_function_calls_stats stats;

	perch_function_calls_get_stats(functions->calls, &stats);
	if (!any)
		cli_note(FUNCTIONS_COMMAND,
			 "no call was seen: the functions were not called, or are inlined where "
			 "they are called ('perch list -x FILE' marks those)");
	if (functions->losses)
		cli_note(FUNCTIONS_COMMAND,
			 "samples were lost: calls that were open are in the column lost");
	if (stats.without_entry)
		cli_note(FUNCTIONS_COMMAND,
			 "%" PRIu64 " return%s of calls whose entry is not there",
			 stats.without_entry, stats.without_entry == 1 ? "" : "s");
}

void functions_print_table(struct functions *functions)
{
	bool any = false;

	if (functions->nr_rows)
		qsort(functions->row, functions->nr_rows, sizeof(*functions->row), by_total);
	if (!functions->json)
		fprintf(functions->stream, "%s%10s %12s %10s %10s %10s %10s %6s  %s\n",
			functions->verbose ? "\n" : "", "calls", "total ms", "avg us", "p50 us",
			"p99 us", "max us", "lost", "function");
	for (size_t i = 0; i < functions->nr_rows; i++) {
		const struct functions_row *row = &functions->row[i];

		if (!row->calls && !row->lost)
			continue;
		any = true;
		/* with -v, objects are calls */
		if (!functions->json)
			print_row(functions, row);
		else if (!functions->verbose)
			put_row(functions, row);
	}
	print_notes(functions, any);
}
