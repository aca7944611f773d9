/* SPDX-License-Identifier: MIT */
/* Rows as JSON, one object a line. */
#include <string.h>

#include "base/json_writer.h"
#include "options.h"
#include "report.h"

struct report_writer {
	struct perch__output out;
	struct perch__json_writer json;
	const struct report *report;
	struct perch_profile *profile;
	uint64_t total;		   /* period of 100 % */
	struct report_total whole; /* the same, with the latency */
};

/* A percentage with two digits, as a number. */
static void put_percent(struct report_writer *writer, const char *name, uint64_t period,
			uint64_t total)
{
	char text[32];
	int length = snprintf(text, sizeof(text), "%.2f", total ? 100.0 * period / total : 0);

	perch__json_key(&writer->json, name);
	perch__output_bytes(&writer->out, text, length);
}

/* The name without the characters of the mode, which have a key of their own. */
static void put_function(struct report_writer *writer, const struct perch_frame *frame)
{
	const char mode[] = { frame->cpumode_char, 0 };
	char buffer[PERCH_CELL_BYTES];

	perch__json_put_text(&writer->json, "mode", mode);
	perch__json_put_text(&writer->json, "sym", report_function(writer->profile, frame, buffer));
}

static void put_column(struct report_writer *writer, const struct perch_row *row,
		       const struct perch_column *column)
{
	uint64_t value = perch_profile_value(writer->profile, row, column);
	char buffer[PERCH_CELL_BYTES];

	if (column->type == PERCH_COLUMN_PERCENT)
		put_percent(writer, column->name, value, report_total_of(&writer->whole, column));
	else if (!strcmp(column->name, "sym"))
		put_function(writer, &row->frame);
	else if (column->type != PERCH_COLUMN_NUMBER)
		perch__json_put_text(&writer->json, column->name,
				     perch_profile_cell(writer->profile, row, column, buffer,
							sizeof(buffer)));
	else if (strcmp(column->name, "cpu") || value != PERCH_NO_CPU)
		perch__json_put_number(&writer->json, column->name, value);
}

static int put_chains(struct report_writer *writer, const struct perch_row *row)
{
	const struct report *report = writer->report;
	struct perch__json_writer *json = &writer->json;
	uint64_t least = writer->total * report->graph.limit / 100;
	char buffer[REPORT_FRAME_BYTES];
	struct report_chains chains;
	int status = report_make_chains(report, writer->profile, row, least, &chains);

	if (status)
		return status;
	perch__json_put_array(json, "chains");
	for (size_t i = 0; i < chains.nr && (!report->graph.max || i < report->graph.max); i++) {
		size_t nr = report_chain_path(&chains, &chains.chain[i]);

		perch__json_put_object(json, NULL);
		put_percent(writer, "overhead", chains.chain[i].period, writer->total);
		perch__json_put_number(&writer->json, "period", chains.chain[i].period);
		if (report->graph.value == VALUE_COUNT)
			perch__json_put_number(
				&writer->json, "sample",
				chains.graph.node[chains.chain[i].node].self_samples);
		perch__json_put_array(json, "frames");
		for (size_t j = 0; j < nr; j++)
			perch__json_put_text(&writer->json, NULL,
					     report_frame(report, writer->profile,
							  &chains.graph.node[chains.path[j]].frame,
							  buffer));
		perch__json_end(json);
		perch__json_end(json);
	}
	perch__json_end(json);
	report_clear_chains(&chains);
	return 0;
}

static int put_row(struct report_writer *writer, const struct perch_row *row, const char *event)
{
	static const char *const sums[] = { "overhead", "sample", "period" };
	const struct report_list *columns = &writer->report->columns;
	int status = 0;

	perch__json_begin_object(&writer->json);
	perch__json_put_text(&writer->json, "event", event);
	for (size_t i = 0; i < columns->nr; i++)
		put_column(writer, row, columns->column[i]);
	for (size_t i = 0; i < CLI_NR(sums); i++) {
		const struct perch_column *column = perch_column_find(sums[i], strlen(sums[i]));

		if (!report_has_column(columns, column))
			put_column(writer, row, column);
	}
	if (writer->report->graph.shape != SHAPE_NONE)
		status = put_chains(writer, row);
	perch__json_end(&writer->json);
	perch__output_text(&writer->out, "\n");
	return status;
}

static int put_event(struct report_writer *writer, unsigned event, const char *name)
{
	const struct report *report = writer->report;
	const struct perch_rows_options options = {
		.by = report->by.column,
		.nr_by = report->by.nr,
		.children = report->children,
		.named_callers = report->filter.resolved,
	};
	const struct perch_row *rows;
	struct perch_error err;
	int status = 0;
	size_t nr;

	if (perch_profile_rows(writer->profile, event, &options, &rows, &nr, &err))
		return cli_error(report->input.command, &err);
	writer->whole = report_total(report, writer->profile, event);
	writer->total = writer->whole.period;
	for (size_t i = 0; i < nr && !status; i++)
		if (!report_is_small(report, &rows[i], writer->total))
			status = put_row(writer, &rows[i], name);
	return status;
}

int report_print_json(FILE *out, struct report *report, struct perch_profile *profile)
{
	struct perch_reader *reader = perch_session_reader(report->input.session);
	struct report_writer writer = { .report = report, .profile = profile };
	const struct perch_file_event *events;
	size_t nr = perch_reader_events(reader, &events);
	int status = 0;

	if (perch__output_open(&writer.out, out)) {
		cli_note(report->input.command, "no memory for output");
		return CLI_EXIT_FAILURE;
	}
	writer.json.out = &writer.out;
	for (size_t event = 0; event < nr && !status; event++)
		status = put_event(&writer, event, events[event].name);
	perch__output_flush(&writer.out);
	if (cli_check_stdout(report->input.command, writer.out.error))
		status = CLI_EXIT_FAILURE;
	perch__output_close(&writer.out);
	return status;
}
