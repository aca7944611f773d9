/* SPDX-License-Identifier: MIT */
/* The rows of a report, in perf's columns. */
#include <inttypes.h>
#include <string.h>

#include "color.h"
#include "options.h"
#include "pager.h"
#include "report_group.h"

#define LEAST_WIDTH 12 /* of a column that is fitted to the terminal */

/* Columns are characters, not bytes. */
size_t report_columns_of(const char *text)
{
	size_t nr = 0;

	for (; *text; text++)
		nr += (*text & 0xc0) != 0x80;
	return nr;
}

static void put_spaces(FILE *out, size_t nr)
{
	static const char spaces[] = "                                ";

	for (size_t some; nr; nr -= some) {
		some = nr < sizeof(spaces) - 1 ? nr : sizeof(spaces) - 1;
		fwrite(spaces, 1, some, out);
	}
}

/* Returns the bytes of the first columns of a text. */
static size_t bytes_of(const char *text, size_t columns)
{
	size_t at = 0;

	while (text[at] && (columns || (text[at] & 0xc0) == 0x80))
		columns -= (text[at++] & 0xc0) != 0x80;
	return at;
}

/* Writes a text of -t: the separator in it becomes a dot. */
static void put_separated(const struct report_table *table, const char *text)
{
	for (; *text; text++)
		putc(*text == table->report->separator[0] ? '.' : *text, table->out);
}

/* Cuts a text that is longer than a fitted column. The last column is not padded. */
static void put_text(const struct report_table *table, size_t at, const char *text)
{
	const struct report_list *columns = &table->report->columns;
	size_t width = table->width[at], used;

	if (table->report->separator) {
		put_separated(table, text);
		return;
	}
	used = report_columns_of(text);
	if (columns->column[at]->right && used < width)
		put_spaces(table->out, width - used);
	if (table->fitted[at] && used > width) {
		size_t dots = width > 6 ? 3 : 0;

		fwrite(text, 1, bytes_of(text, width - dots), table->out);
		fwrite("...", 1, dots, table->out);
		used = width;
	} else {
		fputs(text, table->out);
	}
	if (used < width && at + 1 < columns->nr && !columns->column[at]->right)
		put_spaces(table->out, width - used);
}

static void put_gap(const struct report_table *table, size_t at, const char *first)
{
	if (at && table->report->separator)
		putc(table->report->separator[0], table->out);
	else
		fputs(at ? "  " : first, table->out);
}

/* A percentage without padding. */
static const char *share_text(struct report_table *table, size_t at, uint64_t period)
{
	struct share *share = &table->share[at];

	if (!share->text[0] || share->period != period) {
		share->period = period;
		snprintf(share->text, sizeof(share->text), "%.2f%%",
			 table->total ? 100.0 * period / table->total : 0);
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
	cli_put_colored(table->out, table->report->color,
			table->total ? 100.0 * period / table->total : 0, padded);
}

static const char *cell_text(const struct report_table *table, size_t at,
			     const struct perch_row *row, char *buffer)
{
	return perch_profile_cell(table->profile, row, table->report->columns.column[at], buffer,
				  PERCH_CELL_BYTES);
}

/* Prints a sum of one event of a group. */
static void put_part(const struct report_table *table, const struct perch_column *column,
		     uint64_t value, uint64_t total, size_t width)
{
	const struct report *report = table->report;
	char text[32];

	if (column->type != PERCH_COLUMN_PERCENT) {
		fprintf(table->out, "%*" PRIu64, (int)width, value);
		return;
	}
	snprintf(text, sizeof(text), "%*.2f%%", width ? (int)width - 1 : 0,
		 total ? 100.0 * value / total : 0);
	if (report->separator)
		fputs(text, table->out);
	else
		cli_put_colored(table->out, report->color, total ? 100.0 * value / total : 0, text);
}

/* Prints the sums of all events of a group. */
static void put_parts(const struct report_table *table, size_t at, const struct perch_row *row)
{
	const struct perch_column *column = table->report->columns.column[at];
	const struct report_group *group = table->group;
	size_t width = table->report->separator ? 0 : width_of_part(column);

	if (table->width[at] > group->nr * width && width)
		put_spaces(table->out, table->width[at] - group->nr * width);
	for (size_t i = 0; i < group->nr; i++) {
		fputs(width ? "" : " ", table->out);
		put_part(table, column, report_group_value(group, table->profile, row, i, column),
			 group->total[i], width);
	}
}

void report_put_cell(struct report_table *table, size_t at, const struct perch_row *row)
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

/* perf's name of the column "Overhead" beside "Children", if -F does not choose the columns. */
static const char *title_of(const struct report *report, size_t at)
{
	const struct perch_column *column = report->columns.column[at];

	return report->children && !report_chooses_columns(report) &&
			       !strcmp(column->name, "overhead")
		       ? "Self"
		       : column->header;
}

void report_put_title(const struct report_table *table, size_t at)
{
	put_text(table, at, title_of(table->report, at));
}

static void put_titles(const struct report_table *table)
{
	const struct report *report = table->report;
	FILE *out = table->out;

	for (size_t at = 0; at < report->columns.nr; at++) {
		put_gap(table, at, "# ");
		report_put_title(table, at);
	}
	putc('\n', out);
	if (report->separator)
		return;
	for (size_t at = 0; at < report->columns.nr; at++) {
		put_gap(table, at, "# ");
		for (size_t dots = 0; dots < table->width[at]; dots++)
			putc('.', out);
	}
	fputs("\n#\n", out);
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

void report_set_widths(struct report_table *table, const struct perch_row *rows, size_t nr)
{
	const struct report *report = table->report;
	char buffer[PERCH_CELL_BYTES];
	size_t terminal;

	for (size_t at = 0; at < report->columns.nr; at++) {
		const struct perch_column *column = report->columns.column[at];
		unsigned forced = forced_width(report, at);
		size_t width = strlen(title_of(report, at));

		size_t least = column->width;

		if (column->scope == PERCH_COLUMN_PERIOD)
			least = width_of_part(column) * (table->group ? table->group->nr : 1);
		width = width < least ? least : width;
		for (size_t i = 0; i < nr && !forced && column->scope != PERCH_COLUMN_PERIOD; i++) {
			size_t used;

			if (report_is_small(report, &rows[i], table->total))
				continue;
			used = report_columns_of(cell_text(table, at, &rows[i], buffer));
			width = used > width ? used : width;
		}
		/* sums are never cut, as in perf */
		table->fitted[at] = forced && column->scope != PERCH_COLUMN_PERIOD;
		if (table->fitted[at])
			width = forced;
		else if (forced)
			width = forced > strlen(title_of(report, at))
					? forced
					: strlen(title_of(report, at));
		table->width[at] = width;
	}
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
		       ? cli_error(REPORT_COMMAND, &err)
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
			report_put_cell(table, at, &rows[i]);
		}
		putc('\n', table->out);
		if (report->graph.shape != SHAPE_NONE)
			status = report_print_graph(table->out, report, table->profile, &rows[i],
						    table->total);
	}
	return status;
}
