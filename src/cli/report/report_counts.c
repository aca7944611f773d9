/* SPDX-License-Identifier: MIT */
/*
 * The counts of a file of perf stat record, which has no samples. Its STAT records have the counts
 * of an event on a CPU or in a thread up to then; a STAT_ROUND record ends an interval (-I), or all
 * of it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "options.h"
#include "terminal/pager.h"
#include "report.h"

/* Words of the records, after their headers. */
enum { STAT_ID, STAT_CPU_THREAD, STAT_VALUE, STAT_ENABLED, STAT_RUNNING, STAT_WORDS };
enum { ROUND_KIND, ROUND_NS, ROUND_WORDS };
enum { UPDATE_KIND, UPDATE_ID, UPDATE_VALUE };
enum { UPDATE_UNIT, UPDATE_SCALE };

struct stat_count {
	double value;
	uint64_t enabled, running;
};

/* The last count of an event on a CPU or in a thread. */
struct cell {
	uint64_t id;
	size_t event;
	struct stat_count count;
};

struct counted {
	struct stat_count now, before; /* before: up to the last interval */
	double scale;		       /* 0: 1 */
	char unit[16];
};

struct counts {
	struct report *report;
	FILE *out;
	const struct perch_file_event *events;
	struct counted *counted; /* by event */
	struct cell *cell;	 /* by id */
	size_t nr_events, nr_cells;
	bool swapped, intervals;
	uint64_t elapsed_ns;
};

static int compare_ids(const void *a, const void *b)
{
	const struct cell *left = a, *right = b;

	return (left->id > right->id) - (left->id < right->id);
}

static struct cell *find_cell(const struct counts *counts, uint64_t id)
{
	return bsearch(&(struct cell){ .id = id }, counts->cell, counts->nr_cells,
		       sizeof(*counts->cell), compare_ids);
}

static int make_cells(struct counts *counts)
{
	size_t nr = 0;

	for (size_t i = 0; i < counts->nr_events; i++)
		nr += counts->events[i].nr_ids;
	counts->counted = calloc(counts->nr_events + 1, sizeof(*counts->counted));
	counts->cell = calloc(nr + 1, sizeof(*counts->cell));
	if (!counts->counted || !counts->cell)
		return -ENOMEM;
	for (size_t i = 0; i < counts->nr_events; i++)
		for (size_t j = 0; j < counts->events[i].nr_ids; j++)
			counts->cell[counts->nr_cells++] =
				(struct cell){ .id = counts->events[i].ids[j], .event = i };
	qsort(counts->cell, counts->nr_cells, sizeof(*counts->cell), compare_ids);
	return 0;
}

/* Returns a word of a record after its header; 0 if the record is shorter. */
static uint64_t word(const struct counts *counts, const struct perch_record *record, unsigned index)
{
	uint64_t value;

	if (record->size < 8 * (index + 2))
		return 0;
	memcpy(&value, (const char *)record->bytes + 8 * (index + 1), sizeof(value));
	return counts->swapped ? __builtin_bswap64(value) : value;
}

static void add_count(struct stat_count *to, const struct stat_count *count, int sign)
{
	to->value += sign * count->value;
	to->enabled += (uint64_t)sign * count->enabled;
	to->running += (uint64_t)sign * count->running;
}

static void take_count(struct counts *counts, const struct perch_record *record)
{
	struct cell *cell = find_cell(counts, word(counts, record, STAT_ID));
	struct stat_count count = {
		.value = (double)word(counts, record, STAT_VALUE),
		.enabled = word(counts, record, STAT_ENABLED),
		.running = word(counts, record, STAT_RUNNING),
	};

	if (!cell)
		return;
	add_count(&counts->counted[cell->event].now, &cell->count, -1);
	add_count(&counts->counted[cell->event].now, &count, 1);
	cell->count = count;
}

static void take_update(struct counts *counts, const struct perch_record *record)
{
	const struct cell *cell = find_cell(counts, word(counts, record, UPDATE_ID));
	uint64_t kind = word(counts, record, UPDATE_KIND), value;
	struct counted *counted = cell ? &counts->counted[cell->event] : NULL;
	const size_t head = 8 * (UPDATE_VALUE + 1);

	if (!counted || record->size < head + 8)
		return;
	if (kind == UPDATE_UNIT)
		snprintf(counted->unit, sizeof(counted->unit), "%.*s", (int)(record->size - head),
			 (const char *)record->bytes + head);
	if (kind != UPDATE_SCALE)
		return;
	value = word(counts, record, UPDATE_VALUE);
	memcpy(&counted->scale, &value, sizeof(value));
}

static void put_count(const struct counts *counts, size_t event, const struct stat_count *count)
{
	const struct counted *counted = &counts->counted[event];
	double value = count->value;

	if (!count->running)
		fprintf(counts->out, " %18s", "<not counted>");
	else if (count->running < count->enabled)
		value *= (double)count->enabled / (double)count->running;
	if (count->running && counted->scale != 0 && counted->scale != 1)
		fprintf(counts->out, " %18.2f", value * counted->scale);
	else if (count->running)
		fprintf(counts->out, " %18.0f", value);
	fputc(' ', counts->out);
	cli_put_clean(counts->out, counted->unit);
	fprintf(counts->out, "%*s", counted->unit[0] ? 1 : 0, "");
	cli_put_clean(counts->out, counts->events[event].name);
	if (count->running && count->running < count->enabled)
		fprintf(counts->out, "  (%.2f%%)",
			100.0 * (double)count->running / (double)count->enabled);
	fputc('\n', counts->out);
}

static void end_interval(struct counts *counts)
{
	if (!counts->intervals)
		fputs("#           time             counts unit events\n", counts->out);
	counts->intervals = true;
	for (size_t i = 0; i < counts->nr_events; i++) {
		struct counted *counted = &counts->counted[i];
		struct stat_count difference = counted->now;

		add_count(&difference, &counted->before, -1);
		counted->before = counted->now;
		fprintf(counts->out, " %15.9f", (double)counts->elapsed_ns / 1e9);
		put_count(counts, i, &difference);
	}
}

static void take_record(struct counts *counts, const struct perch_record *record)
{
	switch (record->type) {
	case PERCH_RECORD_STAT:
		if (record->size >= 8 * (STAT_WORDS + 1))
			take_count(counts, record);
		break;
	case PERCH_RECORD_EVENT_UPDATE:
		take_update(counts, record);
		break;
	case PERCH_RECORD_STAT_ROUND:
		counts->elapsed_ns = word(counts, record, ROUND_NS);
		if (!word(counts, record, ROUND_KIND))
			end_interval(counts);
		break;
	default:
		break;
	}
}

/* The arguments of the recorder, from the program on if that is known. */
static void put_title(const struct counts *counts)
{
	struct perch_reader *reader = perch_session_reader(counts->report->input.session);
	const char *const *arguments;
	size_t nr = perch_reader_command_line(reader, &arguments);

	fputs("\n Performance counter stats", counts->out);
	for (size_t i = 0; i < nr; i++) {
		fputs(i ? " " : " for '", counts->out);
		cli_put_clean(counts->out, arguments[i]);
	}
	fputs(nr ? "':\n\n" : ":\n\n", counts->out);
}

static void put_totals(const struct counts *counts)
{
	put_title(counts);
	for (size_t i = 0; i < counts->nr_events; i++)
		put_count(counts, i, &counts->counted[i].now);
	if (counts->elapsed_ns)
		fprintf(counts->out, "\n %17.9f seconds time elapsed\n",
			(double)counts->elapsed_ns / 1e9);
	fputc('\n', counts->out);
}

int report_print_counts(FILE *out, struct report *report)
{
	struct perch_reader *reader = perch_session_reader(report->input.session);
	struct counts counts = {
		.report = report,
		.out = out,
		.swapped = perch_reader_byte_order(reader) != PERCH_BYTES_NATIVE,
	};
	struct perch_record record;
	int rc;

	counts.nr_events = perch_reader_events(reader, &counts.events);
	cli_start_pager();
	rc = make_cells(&counts);
	if (rc)
		cli_note(report->input.command, "no memory for the counts of %zu events",
			 counts.nr_events);
	while (!rc && (rc = cli_input_next(&report->input, &record)) > 0) {
		take_record(&counts, &record);
		rc = 0;
	}
	if (!rc && !counts.intervals)
		put_totals(&counts);
	free(counts.counted);
	free(counts.cell);
	return rc ? CLI_EXIT_FAILURE : 0;
}
