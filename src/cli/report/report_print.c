/* SPDX-License-Identifier: MIT */
/* The rows of a report, in perf's columns. */
#include <inttypes.h>
#include <string.h>

#include "terminal/color.h"
#include "options.h"
#include "terminal/pager.h"
#include "report_group.h"

#define LEAST_WIDTH 12 /* of a column that is fitted to the terminal */

/* ---- text: collected, because a call of stdio for each part of a line takes longer ---- */

static void flush_text(struct report_table *table)
{
	fwrite(table->text, 1, table->used, table->out);
	table->used = 0;
}

static void put_bytes(struct report_table *table, const char *bytes, size_t nr)
{
	if (nr > sizeof(table->text) - table->used)
		flush_text(table);
	if (nr > sizeof(table->text)) {
		fwrite(bytes, 1, nr, table->out);
		return;
	}
	memcpy(table->text + table->used, bytes, nr);
	table->used += nr;
}

static void put_string(struct report_table *table, const char *text)
{
	put_bytes(table, text, strlen(text));
}

/* Writes a character nr times. */
static void put_repeated(struct report_table *table, char character, size_t nr)
{
	for (size_t some; nr; nr -= some) {
		if (table->used == sizeof(table->text))
			flush_text(table);
		some = sizeof(table->text) - table->used;
		some = nr < some ? nr : some;
		memset(table->text + table->used, character, some);
		table->used += some;
	}
}

static void put_spaces(struct report_table *table, size_t nr)
{
	put_repeated(table, ' ', nr);
}

static void put_colored(struct report_table *table, double percent, const char *text)
{
	const char *start = cli_color_of(table->report->color, percent);

	put_string(table, start ? start : "");
	put_string(table, text);
	put_string(table, start ? CLI_COLOR_END : "");
}

/* Columns are characters, not bytes: a byte that continues a character has bit 7 and not bit 6. */
static size_t columns_of(const char *text, size_t length)
{
	const uint64_t high = 0x8080808080808080;
	size_t nr = 0;

	for (uint64_t word; length >= sizeof(word); text += sizeof(word), length -= sizeof(word)) {
		memcpy(&word, text, sizeof(word));
		word &= high & ~(word << 1);
		nr += sizeof(word) - (word ? (size_t)__builtin_popcountll(word) : 0);
	}
	for (; length; text++, length--)
		nr += (*text & 0xc0) != 0x80;
	return nr;
}

size_t report_columns_of(const char *text)
{
	return columns_of(text, strlen(text));
}

/* Returns the bytes of the first columns of a text. */
static size_t bytes_of(const char *text, size_t columns)
{
	size_t at = 0;

	while (text[at] && (columns || (text[at] & 0xc0) == 0x80))
		columns -= (text[at++] & 0xc0) != 0x80;
	return at;
}

/* ---- cells ---- */

static void put_separated(struct report_table *table, const char *text)
{
	for (; *text; text++)
		put_repeated(table, cli_field_character(*text, table->report->separator), 1);
}

/* Cuts a text that is longer than a fitted column. The last column is not padded. */
static void put_text(struct report_table *table, size_t at, const char *text)
{
	const struct report_list *columns = &table->report->columns;
	size_t width = table->width[at], length = strlen(text), used;

	if (table->report->separator) {
		put_separated(table, text);
		return;
	}
	used = columns_of(text, length);
	if (columns->column[at]->right && used < width)
		put_spaces(table, width - used);
	if (table->fitted[at] && used > width) {
		size_t dots = width > 6 ? 3 : 0;

		put_bytes(table, text, bytes_of(text, width - dots));
		put_repeated(table, '.', dots);
		used = width;
	} else {
		put_bytes(table, text, length);
	}
	if (used < width && at + 1 < columns->nr && !columns->column[at]->right)
		put_spaces(table, width - used);
}

static void put_gap(struct report_table *table, size_t at, const char *first)
{
	if (!at)
		put_string(table, first);
	else if (table->report->separator)
		put_bytes(table, table->report->separator, 1);
	else
		put_spaces(table, 2);
}

static double percent_of(const struct report_table *table, size_t at, uint64_t period)
{
	uint64_t total = report_total_of(&table->whole, table->report->columns.column[at]);

	return total ? 100.0 * period / total : 0;
}

/* A percentage without padding. */
static const char *share_text(struct report_table *table, size_t at, uint64_t period)
{
	struct share *share = &table->share[at];

	if (!share->text[0] || share->period != period) {
		share->period = period;
		snprintf(share->text, sizeof(share->text), "%.2f%%", percent_of(table, at, period));
	}
	return share->text;
}

/* Characters of a sum without its title, for each event of a group. */
static size_t width_of_part(const struct perch_column *column)
{
	return column->type == PERCH_COLUMN_PERCENT && column->width < 8 ? 8 : column->width;
}

static void put_share(struct report_table *table, size_t at, uint64_t period)
{
	const char *text = share_text(table, at, period);
	char padded[64];

	if (!table->report->color || table->report->separator) {
		put_text(table, at, text);
		return;
	}
	snprintf(padded, sizeof(padded), "%*s", (int)table->width[at], text);
	put_colored(table, percent_of(table, at, period), padded);
}

static const char *cell_text(const struct report_table *table, size_t at,
			     const struct perch_row *row, char *buffer)
{
	return perch_profile_cell(table->profile, row, table->report->columns.column[at], buffer,
				  PERCH_CELL_BYTES);
}

/* Prints a sum of one event of a group. */
static void put_part(struct report_table *table, const struct perch_column *column, uint64_t value,
		     uint64_t total, size_t width)
{
	char text[32];

	if (column->type != PERCH_COLUMN_PERCENT) {
		snprintf(text, sizeof(text), "%" PRIu64, value);
		put_spaces(table, width > strlen(text) ? width - strlen(text) : 0);
		put_string(table, text);
		return;
	}
	snprintf(text, sizeof(text), "%*.2f%%", width ? (int)width - 1 : 0,
		 total ? 100.0 * value / total : 0);
	if (table->report->separator)
		put_string(table, text);
	else
		put_colored(table, total ? 100.0 * value / total : 0, text);
}

/* Prints the sums of all events of a group. */
static void put_parts(struct report_table *table, size_t at, const struct perch_row *row)
{
	const struct perch_column *column = table->report->columns.column[at];
	const struct report_group *group = table->group;
	size_t width = table->report->separator ? 0 : width_of_part(column);

	if (table->width[at] > group->nr * width && width)
		put_spaces(table, table->width[at] - group->nr * width);
	for (size_t i = 0; i < group->nr; i++) {
		put_string(table, width ? "" : " ");
		put_part(table, column, report_group_value(group, table->profile, row, i, column),
			 report_total_of(&group->total[i], column), width);
	}
}

static void put_cell(struct report_table *table, size_t at, const struct perch_row *row)
{
	const struct perch_column *column = table->report->columns.column[at];
	char buffer[PERCH_CELL_BYTES];
	const char *text;

	if (table->group && column->scope == PERCH_COLUMN_PERIOD) {
		put_parts(table, at, row);
		return;
	}
	if (column->type == PERCH_COLUMN_PERCENT) {
		put_share(table, at, perch_profile_value(table->profile, row, column));
		return;
	}
	text = cell_text(table, at, row, buffer);
	/* a level's text starts where its indentation ends */
	if (table->report->hierarchy)
		text += strspn(text, " ");
	put_text(table, at, text);
}

void report_put_cell(struct report_table *table, size_t at, const struct perch_row *row)
{
	put_cell(table, at, row);
	flush_text(table);
}

/* perf's name of the column "Overhead" beside "Children", if -F does not choose the columns. */
static const char *title_of(const struct report *report, size_t at)
{
	const struct perch_column *column = report->columns.column[at];

	return report->children && !report_chooses_columns(report) &&
			       !strcmp(column->name, "overhead")
		       ? "Self"
		       : column->header;
}

void report_put_title(struct report_table *table, size_t at)
{
	put_text(table, at, title_of(table->report, at));
	flush_text(table);
}

static void put_titles(struct report_table *table)
{
	const struct report *report = table->report;

	for (size_t at = 0; at < report->columns.nr; at++) {
		put_gap(table, at, "# ");
		put_text(table, at, title_of(report, at));
	}
	put_string(table, "\n");
	if (report->separator)
		return;
	for (size_t at = 0; at < report->columns.nr; at++) {
		put_gap(table, at, "# ");
		put_repeated(table, '.', table->width[at]);
	}
	put_string(table, "\n#\n");
}

/* The width of -w of a column. As in perf, a column that is hidden has a width in the list, too. */
static unsigned forced_width(const struct report *report, size_t at)
{
	for (size_t i = 0; i < report->every.nr; i++)
		if (report->every.column[i] == report->columns.column[at])
			return report->widths[i];
	return 0;
}

/* The width by which a column is compared with others. */
static size_t weighed_width(const struct report_table *table, size_t at, size_t wide)
{
	return at == wide ? table->width[at] / 2 : table->width[at];
}

void report_fit_columns(struct report_table *table, size_t first, size_t terminal, size_t wide)
{
	size_t total = 0, nr = table->report->columns.nr;

	for (size_t i = first; i < nr; i++)
		total += 2 + table->width[i];
	while (total > terminal) {
		size_t widest = nr;

		for (size_t i = first; i < nr; i++)
			if (!forced_width(table->report, i) && table->width[i] > LEAST_WIDTH &&
			    table->report->columns.column[i]->scope != PERCH_COLUMN_PERIOD &&
			    (widest == nr ||
			     weighed_width(table, i, wide) > weighed_width(table, widest, wide)))
				widest = i;
		if (widest == nr)
			return;
		table->fitted[widest] = true;
		table->width[widest]--;
		total--;
	}
}

/* The least width of a column, or the one of -w. */
static size_t first_width(const struct report_table *table, size_t at)
{
	const struct report *report = table->report;
	const struct perch_column *column = report->columns.column[at];
	size_t title = strlen(title_of(report, at)), forced = forced_width(report, at);
	size_t least = column->width;

	/* sums are never cut, as in perf */
	if (table->fitted[at])
		return forced;
	if (forced)
		return forced > title ? forced : title;
	if (column->scope == PERCH_COLUMN_PERIOD)
		least = width_of_part(column) * (table->group ? table->group->nr : 1);
	return title > least ? title : least;
}

/* Makes columns as wide as their longest text in the rows that are printed. */
static void widen_columns(struct report_table *table, const struct perch_row *rows, size_t nr)
{
	const struct report *report = table->report;
	char buffer[PERCH_CELL_BYTES];
	size_t of_text[REPORT_COLUMNS], nr_of_text = 0;

	for (size_t at = 0; at < report->columns.nr; at++)
		if (!forced_width(report, at) &&
		    report->columns.column[at]->scope != PERCH_COLUMN_PERIOD)
			of_text[nr_of_text++] = at;
	for (size_t i = 0; i < nr && nr_of_text; i++) {
		if (report_is_small(report, &rows[i], table->total))
			continue;
		for (size_t j = 0; j < nr_of_text; j++) {
			size_t at = of_text[j];
			size_t used = report_columns_of(cell_text(table, at, &rows[i], buffer));

			if (table->width[at] < used)
				table->width[at] = used;
		}
	}
}

void report_set_widths(struct report_table *table, const struct perch_row *rows, size_t nr)
{
	const struct report *report = table->report;
	size_t terminal;

	for (size_t at = 0; at < report->columns.nr; at++) {
		table->fitted[at] = forced_width(report, at) &&
				    report->columns.column[at]->scope != PERCH_COLUMN_PERIOD;
		table->width[at] = first_width(table, at);
	}
	widen_columns(table, rows, nr);
	terminal = report->full ? 0 : cli_terminal_columns();
	if (terminal)
		report_fit_columns(table, 0, terminal, SIZE_MAX);
}

int report_get_rows(const struct report_table *table, unsigned event, const struct perch_row **rows,
		    size_t *nr)
{
	const struct report *report = table->report;
	const struct perch_rows_options options = {
		.by = report->by.column,
		.nr_by = report->by.nr,
		.children = report->children,
		.named_callers = report->filter.resolved,
	};
	struct perch_error err;

	if (table->group) {
		*rows = table->group->row;
		*nr = table->group->nr_rows;
		return 0;
	}
	return perch_profile_rows(table->profile, event, &options, rows, nr, &err)
		       ? cli_error(report->input.command, &err)
		       : 0;
}

/* Returns how many of nr rows there are up to the last one that is printed. */
static size_t rows_to_print(const struct report_table *table, const struct perch_row *rows,
			    size_t nr)
{
	const struct report *report = table->report;
	size_t printed = 0;

	for (size_t i = 0; report->entries && i < nr; i++)
		if (!report_is_small(report, &rows[i], table->total) &&
		    ++printed == report->entries)
			return i + 1;
	return nr;
}

int report_print_rows(struct report_table *table, unsigned event)
{
	const struct report *report = table->report;
	const struct perch_row *rows;
	size_t nr;
	int status = report_get_rows(table, event, &rows, &nr);

	if (status)
		return status;
	nr = rows_to_print(table, rows, nr);
	if (!report->separator)
		report_set_widths(table, rows, nr);
	if (!report->quiet)
		put_titles(table);
	for (size_t i = 0; i < nr && !status && !ferror(table->out); i++) {
		if (report_is_small(report, &rows[i], table->total))
			continue;
		for (size_t at = 0; at < report->columns.nr; at++) {
			put_gap(table, at, "  ");
			put_cell(table, at, &rows[i]);
		}
		put_string(table, "\n");
		if (report->graph.shape == SHAPE_NONE)
			continue;
		flush_text(table);
		status = report_print_graph(table->out, report, table->profile, &rows[i],
					    table->total);
	}
	flush_text(table);
	return status;
}
