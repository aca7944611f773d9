/* SPDX-License-Identifier: MIT */
/* A function as a JSON object in one line. */
#include <stdlib.h>
#include <string.h>

#include "annotate.h"
#include "base/text_stream.h"
#include "base/json_writer.h"
#include "options.h"

static void put_events(struct perch__json_writer *json, const struct listing *listing)
{
	perch__json_put_array(json, "events");
	for (size_t i = 0; i < listing->columns->nr; i++) {
		perch__json_put_object(json, NULL);
		perch__json_put_text(json, "event",
				     listing->annotate->events[listing->columns->event[i]].name);
		perch__json_put_number(json, "samples", listing->sum[i].samples);
		perch__json_put_number(json, "period", listing->sum[i].period);
		perch__json_put_number(json, "total_samples", listing->total[i].samples);
		perch__json_put_number(json, "total_period", listing->total[i].period);
		perch__json_end(json);
	}
	perch__json_end(json);
}

/* Arrays in the order of the events. */
static void put_sums(struct perch__json_writer *json, const struct listing *listing,
		     const struct annotate_sum *sum)
{
	perch__json_put_array(json, "samples");
	for (size_t i = 0; i < listing->columns->nr; i++) {
		perch__json_key(json, NULL);
		perch__json_number(json, sum[i].samples);
	}
	perch__json_end(json);
	perch__json_put_array(json, "period");
	for (size_t i = 0; i < listing->columns->nr; i++) {
		perch__json_key(json, NULL);
		perch__json_number(json, sum[i].period);
	}
	perch__json_end(json);
}

static const char *flow_name(enum perch_flow flow)
{
	static const char *const names[] = { "next", "jump", "call", "return" };

	return names[flow];
}

static void put_row(struct perch__json_writer *json, const struct listing *listing,
		    const struct annotate_row *row)
{
	const struct perch_instruction *instruction = &row->instruction;
	char *text = NULL;
	size_t size = 0;
	FILE *line = perch__open_text(&text, &size);

	perch__json_put_object(json, NULL);
	perch__json_put_hex(json, "address", instruction->address);
	perch__json_key(json, "bytes");
	perch__json_hex_bytes(json, instruction->bytes, instruction->size);
	if (line) {
		annotate_put_instruction(line, listing, instruction);
		if (perch__close_text(line, &text))
			perch__json_put_text(json, "text", text);
		free(text);
	}
	if (instruction->data || instruction->undecoded)
		perch__json_put_text(json, "kind", instruction->data ? "data" : "unknown");
	else if (instruction->flow != PERCH_FLOW_NEXT)
		perch__json_put_text(json, "kind", flow_name(instruction->flow));
	if (instruction->has_target) {
		uint64_t inside;
		const char *name = listing_target(listing, instruction->target, &inside);

		perch__json_put_hex(json, "target", instruction->target);
		if (name) {
			perch__json_put_text(json, "target_function", name);
			perch__json_put_hex(json, "target_offset", inside);
		}
	}
	if (row->function && row->function != listing->function->symbol)
		perch__json_put_text(
			json, "inlined",
			perch_symbols_name(perch_session_symbols(listing->annotate->input.session),
					   row->function));
	if (row->file) {
		perch__json_put_text(json, "file", row->file);
		perch__json_put_number(json, "line", row->line);
	}
	if (row->has_samples)
		put_sums(json, listing, row->sum);
	perch__json_end(json);
}

void annotate_json(FILE *out, struct listing *listing, const struct perch_error *missing)
{
	const struct perch_symbol *symbol = listing->function->symbol;
	struct perch_symbols *symbols = perch_session_symbols(listing->annotate->input.session);
	struct perch__output output = { 0 };
	struct perch__json_writer json = { .out = &output };
	struct annotate_row row;

	if (perch__output_open(&output, out))
		return;
	perch__json_begin_object(&json);
	perch__json_put_text(&json, "function", perch_symbols_name(symbols, symbol));
	perch__json_put_text(&json, "dso", symbol->dso->path);
	perch__json_put_hex(&json, "offset", symbol->start);
	perch__json_put_number(&json, "size", symbol->end - symbol->start);
	put_events(&json, listing);
	if (missing) {
		perch__json_put_text(&json, "missing", missing->message);
	} else {
		perch__json_put_hex(&json, "address", listing->code.address);
		perch__json_put_number(&json, "undecoded_bytes", listing->undecoded);
		perch__json_put_array(&json, "instructions");
		while (listing_next(listing, &row))
			put_row(&json, listing, &row);
		perch__json_end(&json);
	}
	perch__json_end(&json);
	perch__output_text(&output, "\n");
	perch__output_flush(&output);
	perch__output_close(&output);
}
