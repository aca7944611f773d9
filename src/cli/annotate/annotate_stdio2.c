/* SPDX-License-Identifier: MIT */
/* The rows of a function as text with labels and arrows, as `perf annotate --stdio2` prints them.
 */
#include <inttypes.h>
#include <string.h>

#include "annotate.h"
#include "options.h"

static int column_width(const struct annotate *annotate)
{
	return annotate->show_period ? 12 : 6;
}

int annotate_sums_width(const struct listing *listing)
{
	return (column_width(listing->annotate) + 1) * (int)listing->columns->nr;
}

/* Digits of the largest offset. */
static int label_width(const struct listing *listing)
{
	int digits = snprintf(NULL, 0, "%zx", listing->code.size);

	return digits > 4 ? digits : 4;
}

void annotate_put_source_line(FILE *out, const struct listing *listing, uint32_t line,
			      const char *text, size_t length)
{
	fprintf(out, "%*s ", annotate_sums_width(listing) + 1 + label_width(listing) + 1, "");
	if (line)
		annotate_put_source(out, text, length);
	else
		fprintf(out, "%s():", text);
	putc('\n', out);
}

void annotate_put_title(FILE *out, const struct listing *listing)
{
	const struct annotate *annotate = listing->annotate;
	const struct perch_symbol *symbol = listing->function->symbol;
	struct perch_symbols *symbols = perch_session_symbols(annotate->input.session);
	const struct perch_attr *attr = &annotate->events[listing->columns->event[0]].attr;
	const bool browsed = annotate->layout == LAYOUT_BROWSER;
	char path[4096];

	fprintf(out, "Samples: %" PRIu64, listing->sum[0].samples);
	if (browsed) /* first: the end of the line may be cut */
		fprintf(out, "  [percent: %s]", annotate_percent_type(annotate));
	fprintf(out, "  of event%s '", listing->columns->nr > 1 ? "s" : "");
	annotate_put_events(out, annotate, listing->columns);
	fputs("'", out);
	if (attr->freq)
		fprintf(out, ", %" PRIu64 " Hz", attr->sample_freq);
	fprintf(out, ", Event count (approx.): %" PRIu64, listing->sum[0].period);
	if (!browsed)
		fprintf(out, ", [percent: %s]", annotate_percent_type(annotate));
	if (perch_dso_is(symbol->dso, PERCH_DSO_IS_FILE))
		perch_clean_text(symbol->dso->path, path, sizeof(path));
	else
		snprintf(path, sizeof(path), "%s", perch_symbols_dso_name(symbols, symbol->dso));
	fprintf(out, "\n%s%s%s%s\n", perch_symbols_name(symbols, symbol),
		strchr(perch_symbols_name(symbols, symbol), '(') ? "" : "()", browsed ? "\n" : " ",
		path);
}

void annotate_put_sums(FILE *out, const struct listing *listing, const struct annotate_sum *sum)
{
	const struct annotate *annotate = listing->annotate;
	int width = column_width(annotate);

	for (size_t i = 0; i < listing->columns->nr; i++) {
		if (!sum[i].samples)
			fprintf(out, "%*s ", width, "");
		else if (annotate->show_period)
			fprintf(out, "%*" PRIu64 " ", width, sum[i].period);
		else if (annotate->show_samples)
			fprintf(out, "%*" PRIu64 " ", width, sum[i].samples);
		else
			fprintf(out, "%*.2f ", width, listing_percent(listing, sum, i));
	}
}

static const char *arrow_of(const struct listing *listing,
			    const struct perch_instruction *instruction)
{
	switch (instruction->flow) {
	case PERCH_FLOW_RETURN:
		return "←";
	case PERCH_FLOW_CALL:
		return "→";
	case PERCH_FLOW_JUMP:
		if (!instruction->has_target || !listing_has(listing, instruction->target))
			return "→";
		return instruction->target > instruction->address ? "↓" : "↑";
	default:
		return " ";
	}
}

void annotate_put_row(FILE *out, const struct listing *listing, const struct annotate_row *row)
{
	const struct perch_instruction *instruction = &row->instruction;
	int width = label_width(listing);

	annotate_put_sums(out, listing, row->sum);
	if (row->is_target)
		fprintf(out, " %*" PRIx64 ": ", width,
			instruction->address - listing->code.address);
	else
		fprintf(out, " %*s", width + 2, "");
	fprintf(out, "%s ", arrow_of(listing, instruction));
	if (listing->annotate->style.asm_raw)
		for (size_t i = 0; i < instruction->size; i++)
			fprintf(out, "%02x ", instruction->bytes[i]);
	/* a jump inside of the function has the label */
	if (instruction->flow == PERCH_FLOW_JUMP && instruction->has_target &&
	    listing_has(listing, instruction->target))
		fprintf(out, "%-6s %s%" PRIx64, instruction->mnemonic, instruction->operands,
			instruction->target - listing->code.address);
	else
		annotate_put_instruction(out, listing, instruction);
	putc('\n', out);
}

void annotate_stdio2(FILE *out, struct listing *listing)
{
	struct source_walk walk = { 0 };
	struct annotate_row row;

	annotate_put_title(out, listing);
	fputs(listing->annotate->show_period	? "Period\n"
	      : listing->annotate->show_samples ? "Samples\n"
						: "Percent\n",
	      out);
	while (listing_next(listing, &row)) {
		annotate_walk_source(out, &walk, listing, &row, annotate_put_source_line);
		annotate_put_row(out, listing, &row);
	}
	putc('\n', out);
}
