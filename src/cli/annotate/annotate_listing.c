/* SPDX-License-Identifier: MIT */
/* The rows of a function: instructions with their samples, lines and jumps. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "annotate.h"
#include "base/array.h"
#include "base/text.h"
#include "base/no_memory.h"
#include "options.h"

static size_t column_of(const struct annotate_columns *columns, uint32_t event)
{
	size_t column = 0;

	while (column < columns->nr && columns->event[column] != event)
		column++;
	return column;
}

static void add_point(const struct listing *listing, const struct perch_annotation_point *point,
		      struct annotate_sum *sum)
{
	size_t column = column_of(listing->columns, point->event);

	if (column == listing->columns->nr)
		return;
	sum[column].samples += point->samples;
	sum[column].period += point->period;
}

static void set_sums(struct listing *listing)
{
	for (size_t i = 0; i < listing->function->nr; i++)
		add_point(listing, &listing->function->point[i], listing->sum);
	for (size_t i = 0; i < listing->columns->nr; i++) {
		struct perch_annotation_total total;

		perch_annotation_get_total(listing->annotate->annotation,
					   listing->columns->event[i], &total);
		listing->total[i] = (struct annotate_sum){ total.samples, total.period };
	}
}

double listing_percent(const struct listing *listing, const struct annotate_sum *sum, size_t column)
{
	const struct annotate *annotate = listing->annotate;
	const struct annotate_sum *all = annotate->style.percent_type & ANNOTATE_GLOBAL
						 ? &listing->total[column]
						 : &listing->sum[column];
	uint64_t whole = annotate->style.percent_type & ANNOTATE_HITS ? all->samples : all->period;
	uint64_t part = annotate->style.percent_type & ANNOTATE_HITS ? sum[column].samples
								     : sum[column].period;

	return whole ? 100.0 * (double)part / (double)whole : 0;
}

bool listing_has(const struct listing *listing, uint64_t address)
{
	return address - listing->code.address < listing->code.size;
}

/* ---- lines ---- */

static void set_line(struct listing *listing, struct annotate_row *row)
{
	const struct perch_symbol *symbol = listing->function->symbol;
	const struct perch_symbol_frame *frames;
	uint64_t offset = row->instruction.address - listing->code.address + listing->code.offset;

	if (listing->annotate->style.no_source && !listing->annotate->print_line &&
	    listing->annotate->layout != LAYOUT_JSON)
		return;
	if (perch_symbols_frames(perch_session_symbols(listing->annotate->input.session),
				 symbol->dso, offset, &frames) < 1)
		return;
	row->function = frames[0].symbol;
	row->file = frames[0].file;
	row->line = frames[0].line;
}

static bool is_line_of(const void *items, uint32_t index, const void *key)
{
	const struct annotate_line *line = &((const struct annotate_line *)items)[index];
	const struct annotate_row *row = key;

	return line->line == row->line && !strcmp(line->file, row->file);
}

/* Returns the line of a row, or NULL if there is no memory. */
static struct annotate_line *find_line(struct listing *listing, const struct annotate_row *row)
{
	struct perch__hash_table *table = &listing->line_table;
	struct annotate_line *line;
	uint64_t hash;
	uint32_t index;

	if (!table->nr)
		table->seed = perch__hash_seed(listing);
	hash = perch__hash_pair(table->seed, perch__hash_text(table->seed, row->file), row->line);
	index = perch__hash_find(table, hash, is_line_of, listing->line, row);
	if (index != PERCH__HASH_NONE)
		return &listing->line[index];
	if (PERCH__ARRAY_RESERVE(listing->line, listing->lines_capacity, listing->nr_lines + 1) ||
	    perch__hash_add(table, hash, listing->nr_lines))
		return NULL;
	line = &listing->line[listing->nr_lines++];
	*line = (struct annotate_line){ .file = row->file, .line = row->line };
	return line;
}

/* Returns 0 or -ENOMEM. */
static int add_line(struct listing *listing, const struct annotate_row *row)
{
	struct annotate_line *line;

	if (!row->has_samples || !row->file)
		return 0;
	line = find_line(listing, row);
	if (!line)
		return -ENOMEM;
	for (size_t i = 0; i < listing->columns->nr; i++) {
		line->sum[i].samples += row->sum[i].samples;
		line->sum[i].period += row->sum[i].period;
	}
	return 0;
}

static int compare_lines(const void *a, const void *b)
{
	const struct annotate_line *x = a, *y = b;

	/* by the first column, as the functions */
	if (x->sum[0].period != y->sum[0].period)
		return x->sum[0].period > y->sum[0].period ? -1 : 1;
	if (x->sum[0].samples != y->sum[0].samples)
		return x->sum[0].samples > y->sum[0].samples ? -1 : 1;
	return x->line == y->line ? 0 : x->line < y->line ? -1 : 1;
}

/* ---- rows ---- */

/* Marks the targets of jumps, and with -l sums up the samples of lines. Returns 0 or -ENOMEM. */
static int look_ahead(struct listing *listing)
{
	struct annotate_row row;
	int rc = 0;

	listing->targets = calloc(listing->code.size / 8 + 1, 1);
	if (!listing->targets)
		return -ENOMEM;
	while (!rc && listing_next(listing, &row)) {
		uint64_t at = row.instruction.target - listing->code.address;

		if (row.instruction.flow == PERCH_FLOW_JUMP && row.instruction.has_target &&
		    at < listing->code.size)
			listing->targets[at / 8] |= (uint8_t)(1 << at % 8);
		listing->undecoded += row.instruction.undecoded ? row.instruction.size : 0;
		listing->vectors += row.instruction.vector;
		listing->has_lines |= row.file != NULL;
		if (listing->annotate->print_line)
			rc = add_line(listing, &row);
	}
	/* samples of the part of a large function that was not read */
	for (; listing->next_point < listing->function->nr; listing->next_point++)
		if (column_of(listing->columns,
			      listing->function->point[listing->next_point].event) <
		    listing->columns->nr)
			listing->cut += listing->function->point[listing->next_point].samples;
	if (listing->nr_lines)
		qsort(listing->line, listing->nr_lines, sizeof(*listing->line), compare_lines);
	listing->next_point = 0;
	perch_disassembler_rewind(listing->disassembler);
	return rc;
}

int listing_open(struct listing *listing, struct annotate *annotate,
		 const struct perch_annotated_function *function,
		 const struct annotate_columns *columns, struct perch_error *err)
{
	const struct perch_symbol *symbol = function->symbol;
	int rc;

	*listing = (struct listing){
		.annotate = annotate,
		.function = function,
		.columns = columns,
	};
	set_sums(listing);
	rc = perch_symbols_read_code(perch_session_symbols(annotate->input.session), symbol->dso,
				     symbol->start, symbol->end - symbol->start, &listing->code,
				     err);
	if (!rc)
		rc = perch_disassembler_new(&listing->disassembler, &listing->code,
					    annotate->style.intel, err);
	if (!rc && look_ahead(listing))
		rc = PERCH__NO_MEMORY(err, "for a listing");
	if (rc)
		listing_close(listing);
	return rc;
}

bool listing_next(struct listing *listing, struct annotate_row *row)
{
	const struct perch_annotated_function *function = listing->function;
	struct perch_instruction *instruction = &row->instruction;
	uint64_t at;

	if (!perch_disassembler_next(listing->disassembler, instruction))
		return false;
	at = instruction->address - listing->code.address;
	memset(row->sum, 0, listing->columns->nr * sizeof(*row->sum));
	row->has_samples = false;
	row->function = NULL;
	row->file = NULL;
	row->line = 0;
	row->is_target = listing->targets && listing->targets[at / 8] >> at % 8 & 1;
	for (; listing->next_point < function->nr &&
	       function->point[listing->next_point].offset < at + instruction->size;
	     listing->next_point++) {
		const struct perch_annotation_point *point = &function->point[listing->next_point];

		if (column_of(listing->columns, point->event) == listing->columns->nr)
			continue;
		add_point(listing, point, row->sum);
		row->has_samples = true;
		if (point->offset != at)
			listing->inside += point->samples;
	}
	set_line(listing, row);
	return true;
}

void listing_close(struct listing *listing)
{
	perch_disassembler_free(listing->disassembler);
	perch_code_clear(&listing->code);
	free(listing->targets);
	free(listing->line);
	perch__hash_clear(&listing->line_table);
	listing->disassembler = NULL;
	listing->targets = NULL;
	listing->line = NULL;
}

/* ---- text that the layouts share ---- */

struct listing_range listing_range(const struct listing *listing)
{
	const struct perch_code *code = &listing->code;

	return (struct listing_range){ listing->function->symbol->dso, code->start, code->end,
				       code->address, code->offset };
}

const struct perch_symbol *listing_function(struct perch_symbols *symbols,
					    const struct listing_range *range, uint64_t address)
{
	return address >= range->start && address < range->end
		       ? perch_symbols_find(symbols, range->dso,
					    address - range->address + range->offset)
		       : NULL;
}

const char *listing_target(const struct listing *listing, uint64_t address, uint64_t *inside)
{
	struct listing_range range = listing_range(listing);
	const struct perch_symbol *symbol = listing->function->symbol;
	struct perch_symbols *symbols = perch_session_symbols(listing->annotate->input.session);
	uint64_t offset = address - range.address + range.offset;

	if (address < range.start || address >= range.end)
		return NULL;
	if (offset < symbol->start || offset >= symbol->end)
		symbol = listing_function(symbols, &range, address);
	if (!symbol)
		return NULL;
	*inside = offset - symbol->start;
	return perch_symbols_name(symbols, symbol);
}

const char *annotate_file_name(const struct annotate *annotate, const char *path)
{
	const char *slash = annotate->full_paths ? NULL : strrchr(path, '/');

	return slash ? slash + 1 : path;
}

void annotate_put_events(FILE *out, const struct annotate *annotate,
			 const struct annotate_columns *columns)
{
	if (columns->is_group)
		fputs("anon group { ", out);
	for (size_t i = 0; i < columns->nr; i++) {
		fputs(i ? ", " : "", out);
		cli_put_clean(out, annotate->events[columns->event[i]].name);
	}
	if (columns->is_group)
		fputs(" }", out);
}

const char *annotate_percent_type(const struct annotate *annotate)
{
	return annotate->style.percent_type & ANNOTATE_GLOBAL
		       ? annotate->style.percent_type & ANNOTATE_HITS ? "global hits"
								      : "global period"
	       : annotate->style.percent_type & ANNOTATE_HITS ? "local hits"
							      : "local period";
}

static void put_address(FILE *out, const struct listing *listing, uint64_t address)
{
	uint64_t inside;
	const char *name = listing_target(listing, address, &inside);

	fprintf(out, "%llx", (unsigned long long)address);
	if (name && inside)
		fprintf(out, " <%s+0x%llx>", name, (unsigned long long)inside);
	else if (name)
		fprintf(out, " <%s>", name);
}

void annotate_put_instruction(FILE *out, const struct listing *listing,
			      const struct perch_instruction *instruction)
{
	const char *mnemonic = instruction->mnemonic;

	if (instruction->operands[0] || instruction->has_target)
		fprintf(out, "%-6s %s", mnemonic, instruction->operands);
	else
		fputs(mnemonic, out);
	if (instruction->has_target)
		put_address(out, listing, instruction->target);
	if (instruction->has_memory) {
		fputs("        # ", out);
		put_address(out, listing, instruction->memory);
	}
}

/* ---- source lines between instructions ---- */

void annotate_put_source(FILE *out, const char *text, size_t length)
{
	size_t column = 0;

	for (size_t at = 0; at < length; column++) {
		struct perch__character next = perch__next_character(text + at, length - at);

		if (text[at] == '\t') {
			fprintf(out, "%*s", (int)(8 - column % 8), "");
			column += 7 - column % 8;
		} else if (next.printable) {
			fwrite(text + at, 1, next.size, out);
		} else {
			putc('?', out);
		}
		at += next.size;
	}
}

enum { MOST_BETWEEN = 5 }; /* lines without instructions that are shown, too */

/* Returns the largest line of a file that was shown, to be changed. */
static uint32_t *most_of(struct source_walk *walk, const char *file)
{
	const size_t most = CLI_NR(walk->seen);

	for (size_t i = 0; i < walk->nr_seen && i < most; i++)
		if (!strcmp(walk->seen[i].file, file))
			return &walk->seen[i].most;
	walk->seen[walk->nr_seen % most].file = file;
	walk->seen[walk->nr_seen % most].most = 0;
	return &walk->seen[walk->nr_seen++ % most].most;
}

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

void annotate_walk_source(FILE *out, struct source_walk *walk, const struct listing *listing,
			  const struct annotate_row *row, put_source *put)
{
	struct annotate *annotate = listing->annotate;
	struct perch_symbols *symbols = perch_session_symbols(annotate->input.session);
	uint32_t *most, first = row->line;

	if (row->function && row->function != walk->function) {
		const char *name = perch_symbols_name(symbols, row->function);

		if (walk->function || row->function != listing->function->symbol)
			put(out, listing, 0, name, strlen(name));
		walk->function = row->function;
	}
	if (annotate->style.no_source || !row->file || !row->line ||
	    (walk->line == row->line && same_text(walk->file, row->file)))
		return;
	walk->file = row->file;
	walk->line = row->line;
	most = most_of(walk, row->file);
	if (*most && row->line > *most && row->line - *most <= MOST_BETWEEN)
		first = *most + 1;
	for (uint32_t line = first; line <= row->line && line; line++) {
		size_t length;
		const char *text = perch_sources_line(annotate->sources, row->file,
						      listing->code.modified_at, line, &length);

		if (text)
			put(out, listing, line, text, length);
		walk->shown += text != NULL;
	}
	if (!walk->missing && !perch_sources_has(annotate->sources, row->file))
		walk->missing = row->file;
	if (row->line > *most)
		*most = row->line;
}
