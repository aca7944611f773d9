/* SPDX-License-Identifier: MIT */
/* --total-cycles: prints basic blocks (perch/blocks.h). */
#include <inttypes.h>
#include <string.h>

#include "options.h"
#include "report.h"

static void put_cycles(char *text, size_t size, uint64_t cycles)
{
	if (cycles >= 1000000)
		snprintf(text, size, "%.1fM", (double)cycles / 1000000);
	else if (cycles >= 1000)
		snprintf(text, size, "%.1fK", (double)cycles / 1000);
	else
		snprintf(text, size, "%" PRIu64, cycles);
}

/* The source line of an offset, or the function and the offset in it. */
static void put_position(struct perch_symbols *symbols, const struct perch_block *block,
			 uint64_t offset, char *text, size_t size)
{
	const struct perch_symbol_frame *frames;
	const char *slash;

	if (offset == PERCH_BLOCK_NO_START) {
		snprintf(text, size, "?");
	} else if (perch_symbols_frames(symbols, block->dso, offset, &frames) > 0 && frames->file) {
		slash = strrchr(frames->file, '/');
		snprintf(text, size, "%s:%" PRIu32, slash ? slash + 1 : frames->file, frames->line);
	} else {
		snprintf(text, size, "%s+%" PRIu64, perch_symbols_name(symbols, block->symbol),
			 offset - block->symbol->start);
	}
}

static uint64_t average_of(const struct perch_block *block)
{
	return block->cycles / block->count;
}

/* averages: the sum of those of all blocks */
static void put_block(const struct report_table *table, const struct perch_block *block,
		      uint64_t averages)
{
	struct perch_symbols *symbols = perch_session_symbols(table->report->input.session);
	char cycles[32], average[32], start[512], end[512], range[1040];

	put_cycles(cycles, sizeof(cycles), block->cycles);
	put_cycles(average, sizeof(average), average_of(block));
	put_position(symbols, block, block->start, start, sizeof(start));
	put_position(symbols, block, block->end, end, sizeof(end));
	snprintf(range, sizeof(range), "[%s -> %s]", start, end);
	fprintf(table->out, "  %14.2f%%  %14s  %10.2f%%  %10s  %70s  %20s\n",
		100.0 * (double)block->cycles / (double)perch_blocks_total(table->report->blocks),
		cycles, 100.0 * (double)average_of(block) / (double)averages, average, range,
		perch_symbols_dso_name(symbols, block->dso));
}

static void put_titles(FILE *out)
{
	static const struct {
		const char *title;
		int width;
	} columns[] = { { "Sampled Cycles%", 15 },	 { "Sampled Cycles", 14 },
			{ "Avg Cycles%", 11 },		 { "Avg Cycles", 10 },
			{ "[Program Block Range]", 70 }, { "Shared Object", 20 } };

	for (size_t i = 0; i < CLI_NR(columns); i++)
		fprintf(out, "%s%*s", i ? "  " : "# ", columns[i].width, columns[i].title);
	putc('\n', out);
	for (size_t i = 0; i < CLI_NR(columns); i++) {
		fputs(i ? "  " : "# ", out);
		for (int dots = 0; dots < columns[i].width; dots++)
			putc('.', out);
	}
	fputs("\n#\n", out);
}

int report_print_blocks(const struct report_table *table, unsigned event)
{
	struct perch_blocks *blocks = table->report->blocks;
	double total = (double)perch_blocks_total(blocks);
	const struct perch_block *rows;
	uint64_t averages = 0;
	struct perch_error err;
	size_t nr;

	if (perch_blocks_rows(blocks, event, &rows, &nr, &err))
		return cli_error(table->report->input.command, &err);
	for (size_t i = 0; i < nr; i++)
		averages += average_of(&rows[i]);
	if (!table->report->quiet)
		put_titles(table->out);
	for (size_t i = 0; i < nr; i++)
		if (100.0 * (double)rows[i].cycles / total >= table->report->percent_limit)
			put_block(table, &rows[i], averages ? averages : 1);
	return 0;
}
