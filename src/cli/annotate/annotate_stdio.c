/* SPDX-License-Identifier: MIT */
/* The rows of a function as text, as `perf annotate --stdio` prints them. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "annotate.h"
#include "base/text_stream.h"
#include "terminal/color.h"
#include "options.h"

enum { BYTES_WIDTH = 24 }; /* of --asm-raw: 7 bytes and 3 spaces */

static int column_width(const struct annotate *annotate)
{
	return annotate->show_period ? 12 : 8;
}

static int all_width(const struct listing *listing)
{
	return column_width(listing->annotate) * (int)listing->columns->nr + 1;
}

/* Returns the length of the line. */
static int put_title(FILE *out, const struct listing *listing)
{
	const struct annotate *annotate = listing->annotate;
	const struct perch_dso *dso = listing->function->symbol->dso;
	struct perch_symbols *symbols = perch_session_symbols(annotate->input.session);
	const char *title = annotate->show_period    ? " Period"
			    : annotate->show_samples ? " Samples"
						     : " Percent";
	char path[4096], *text = NULL;
	size_t size = 0;
	FILE *line = perch__open_text(&text, &size);
	int length = 0;

	if (!line)
		return 0;
	if (annotate->full_paths && perch_dso_is(dso, PERCH_DSO_IS_FILE))
		perch_clean_text(dso->path, path, sizeof(path));
	else
		snprintf(path, sizeof(path), "%s", perch_symbols_dso_name(symbols, dso));
	fprintf(line, "%-*s|\tSource code & Disassembly of %s for ", all_width(listing), title,
		path);
	annotate_put_events(line, annotate, listing->columns);
	fprintf(line, " (%" PRIu64 " samples, percent: %s)", listing->sum[0].samples,
		annotate_percent_type(annotate));
	if (perch__close_text(line, &text)) {
		fprintf(out, "%s\n", text);
		length = (int)size;
	}
	free(text);
	return length;
}

static void put_empty(FILE *out, const struct listing *listing)
{
	fprintf(out, "%*s:", all_width(listing), "");
}

static void put_source_line(FILE *out, const struct listing *listing, uint32_t line,
			    const char *text, size_t length)
{
	put_empty(out, listing);
	if (line) {
		fprintf(out, " %-4" PRIu32 " ", line);
		annotate_put_source(out, text, length);
		putc('\n', out);
	} else {
		/* the name of a function has been cleaned */
		fprintf(out, "      %s():\n", text);
	}
}

static void put_heading(FILE *out, const struct listing *listing)
{
	const struct perch_symbol *symbol = listing->function->symbol;
	struct perch_symbols *symbols = perch_session_symbols(listing->annotate->input.session);

	if (listing->code.section[0]) {
		put_empty(out, listing);
		fprintf(out, "      Disassembly of section %s:\n", listing->code.section);
		put_empty(out, listing);
		putc('\n', out);
	}
	put_empty(out, listing);
	fprintf(out, "      %0*" PRIx64 " <%s>:\n", listing->code.wide ? 16 : 8,
		listing->code.address, perch_symbols_name(symbols, symbol));
}

/* With -v: the samples of each offset, as perf prints them. */
static void put_points(FILE *out, const struct listing *listing)
{
	const struct perch_annotated_function *function = listing->function;

	for (size_t i = 0; i < function->nr; i++)
		if (function->point[i].event == listing->columns->event[0])
			fprintf(out, "%*s%" PRIx64 ": %" PRIu64 "\n", 28, "",
				listing->code.address + function->point[i].offset,
				function->point[i].samples);
	fprintf(out, "%*sh->nr_samples: %" PRIu64 "\n", 19, "", listing->sum[0].samples);
}

/* Returns the largest percentage. */
static double put_sums(FILE *out, const struct listing *listing, const struct annotate_sum *sum)
{
	const struct annotate *annotate = listing->annotate;
	double most = 0;

	for (size_t i = 0; i < listing->columns->nr; i++) {
		double percent = listing_percent(listing, sum, i);
		char text[32];

		if (annotate->show_period)
			snprintf(text, sizeof(text), "%12" PRIu64, sum[i].period);
		else if (annotate->show_samples)
			snprintf(text, sizeof(text), "%8" PRIu64, sum[i].samples);
		else
			snprintf(text, sizeof(text), "%8.2f", percent);
		cli_put_colored(out, annotate->color, percent, text);
		most = percent > most ? percent : most;
	}
	return most;
}

/* Prints a source line in the color of a percentage. */
static void put_file_line(FILE *out, const struct annotate *annotate, double percent,
			  const char *mark, const char *file, uint32_t line)
{
	const char *start = cli_color_of(annotate->color, percent);

	fprintf(out, "%s%s%s:%" PRIu32 "%s", start ? start : "", mark,
		annotate_file_name(annotate, file), line, start ? CLI_COLOR_END : "");
}

static void put_raw(FILE *out, const struct perch_instruction *instruction)
{
	int used = 0;

	for (size_t i = 0; i < instruction->size; i++)
		used += fprintf(out, "%02x ", instruction->bytes[i]);
	fprintf(out, "%*s", used < BYTES_WIDTH ? BYTES_WIDTH - used : 1, "");
}

/* With -l: the lines with at least half a percent, the hottest first. */
static void put_summary(FILE *out, const struct listing *listing)
{
	char path[4096];
	int length = 2;

	perch_clean_text(listing->function->symbol->dso->path, path, sizeof(path));
	length = fprintf(out, "\nSorted summary for file %s\n", path) - 1;
	for (int i = 0; i < length + 4; i++)
		putc('-', out);
	fputs("\n\n", out);
	for (size_t i = 0; i < listing->nr_lines; i++) {
		const struct annotate_line *line = &listing->line[i];
		double most = 0;

		for (size_t j = 0; j < listing->columns->nr; j++) {
			double percent = listing_percent(listing, line->sum, j);

			most = percent > most ? percent : most;
		}
		if (most < 0.5)
			continue;
		put_sums(out, listing, line->sum);
		put_file_line(out, listing->annotate, most, " ", line->file, line->line);
		putc('\n', out);
	}
}

static void put_instruction(FILE *out, const struct listing *listing,
			    const struct perch_instruction *instruction, int width)
{
	const bool color = listing->annotate->color;

	fprintf(out, " : %s  %*" PRIx64 ":%s%s   ", color ? CLI_COLOR_MAGENTA : "", width,
		instruction->address, color ? CLI_COLOR_END : "", color ? CLI_COLOR_BLUE : "");
	if (listing->annotate->style.asm_raw)
		put_raw(out, instruction);
	annotate_put_instruction(out, listing, instruction);
	if (color)
		fputs(CLI_COLOR_END, out);
}

void annotate_stdio(FILE *out, struct listing *listing)
{
	const struct annotate *annotate = listing->annotate;
	struct source_walk walk = { 0 };
	struct annotate_row row;
	const char *file = NULL;
	uint32_t line = 0;
	double percent;
	int length, width;

	if (annotate->print_line)
		put_summary(out, listing);
	length = put_title(out, listing);
	for (int i = 0; i < length; i++)
		putc('-', out);
	putc('\n', out);
	if (annotate->input.verbose && !annotate->quiet)
		put_points(out, listing);
	put_heading(out, listing);
	width = snprintf(NULL, 0, "%" PRIx64, listing->code.address + listing->code.size);
	while (listing_next(listing, &row)) {
		annotate_walk_source(out, &walk, listing, &row, put_source_line);
		percent = put_sums(out, listing, row.sum);
		put_instruction(out, listing, &row.instruction, width);
		if (annotate->print_line && row.has_samples && row.file &&
		    (row.line != line || row.file != file)) {
			put_file_line(out, annotate, percent, " // ", row.file, row.line);
			file = row.file;
			line = row.line;
		}
		putc('\n', out);
	}
}
