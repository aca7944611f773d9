/* SPDX-License-Identifier: MIT */
/* The rows of a report, in perf's columns. */
#include <inttypes.h>
#include <string.h>

#include "options.h"
#include "pager.h"
#include "report.h"

#define LEAST_WIDTH 12 /* of a column that is fitted to the terminal */

struct table {
	FILE *out;
	const struct report *report;
	struct perch_profile *profile;
	size_t width[8];
	bool fitted[8]; /* longer texts are cut */
	/* the last percentage as text: many rows with few samples have the same one */
	struct share {
		uint64_t period;
		char text[32];
	} share[2];
};

/* Columns are characters, not bytes. */
static size_t columns_of(const char *text)
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

/* Cuts a text that is longer than a fitted column. The last column is not padded. */
static void put_text(const struct table *table, size_t column, const char *text)
{
	size_t width = table->width[column], used = columns_of(text);

	if (table->fitted[column] && used > width) {
		size_t dots = width > 6 ? 3 : 0;

		fwrite(text, 1, bytes_of(text, width - dots), table->out);
		fwrite("...", 1, dots, table->out);
		used = width;
	} else {
		fputs(text, table->out);
	}
	if (used < width && column + 1 < table->report->nr_keys)
		put_spaces(table->out, width - used);
}

static void put_share(struct table *table, struct share *share, uint64_t period, uint64_t total)
{
	if (!share->text[0] || share->period != period) {
		share->period = period;
		snprintf(share->text, sizeof(share->text), "   %6.2f%%",
			 total ? 100.0 * period / total : 0);
	}
	fputs(share->text, table->out);
}

static size_t cell_width(const struct table *table, const struct perch_column *column,
			 const struct perch_row *row)
{
	char buffer[PERCH_CELL_BYTES];

	return columns_of(perch_profile_cell(table->profile, row, column, buffer, sizeof(buffer)));
}

static void put_cell(const struct table *table, size_t column, const struct perch_row *row)
{
	char buffer[PERCH_CELL_BYTES];

	put_text(table, column,
		 perch_profile_cell(table->profile, row, table->report->keys[column], buffer,
				    sizeof(buffer)));
}

static void put_titles(const struct table *table)
{
	const struct report *report = table->report;
	FILE *out = table->out;

	fputs(report->children ? "# Children      Self" : "# Overhead", out);
	for (size_t i = 0; i < report->nr_keys; i++) {
		fputs("  ", out);
		put_text(table, i, report->keys[i]->header);
	}
	fputs(report->children ? "\n# ........  ........" : "\n# ........", out);
	for (size_t i = 0; i < report->nr_keys; i++) {
		fputs("  ", out);
		for (size_t dots = 0; dots < table->width[i]; dots++)
			putc('.', out);
	}
	fputs("\n#\n", out);
}

/* 1234 as it is, 804133 as 804K, as perf does. */
static void put_samples(FILE *out, uint64_t nr)
{
	static const char units[] = " KMG";
	int unit = 0;

	while (nr / 1000 && unit < 3 && nr >= 10000) {
		nr /= 1000;
		unit++;
	}
	fprintf(out, "# Samples: %" PRIu64 "%c", nr, units[unit]);
}

static void put_event(const struct table *table, const char *name,
		      const struct perch_profile_total *total)
{
	fputs("#\n", table->out);
	put_samples(table->out, total->samples);
	fputs(" of event '", table->out);
	cli_put_clean(table->out, name);
	fprintf(table->out, "'\n# Event count (approx.): %" PRIu64 "\n#\n", total->period);
}

/* The percentage of a row, by which rows are sorted. */
static double share_of(const struct report *report, const struct perch_row *row, uint64_t total)
{
	return total ? 100.0 * (report->children ? row->children : row->self) / total : 0;
}

/* Shrinks the widest texts until a row fits into the terminal. */
static void fit_columns(struct table *table)
{
	size_t terminal = table->report->full ? 0 : cli_terminal_columns();
	size_t total = table->report->children ? 20 : 10, nr = table->report->nr_keys;

	for (size_t i = 0; i < nr; i++)
		total += 2 + table->width[i];
	while (terminal && total > terminal) {
		size_t widest = nr;

		for (size_t i = 0; i < nr; i++)
			if (!table->report->widths[i] && table->width[i] > LEAST_WIDTH &&
			    (widest == nr || table->width[i] > table->width[widest]))
				widest = i;
		if (widest == nr)
			return;
		table->fitted[widest] = true;
		table->width[widest]--;
		total--;
	}
}

/* Computes the widths of columns from the printed rows. */
static void set_widths(struct table *table, const struct perch_row *rows, size_t nr)
{
	const struct report *report = table->report;

	for (size_t column = 0; column < report->nr_keys; column++) {
		table->width[column] = strlen(report->keys[column]->header);
		for (size_t i = 0; i < nr && !report->widths[column]; i++) {
			size_t width = cell_width(table, report->keys[column], &rows[i]);

			if (width > table->width[column])
				table->width[column] = width;
		}
		if (report->widths[column]) {
			table->width[column] = report->widths[column];
			table->fitted[column] = true;
		}
	}
	fit_columns(table);
}

int report_print_event(FILE *out, const struct report *report, struct perch_profile *profile,
		       unsigned event, const char *name)
{
	struct table table = { .out = out, .report = report, .profile = profile };
	const struct perch_rows_options options = { .children = report->children };
	struct perch_profile_total total;
	const struct perch_row *rows;
	struct perch_error err;
	size_t nr;

	perch_profile_get_total(profile, event, &total);
	if (perch_profile_rows(profile, event, &options, &rows, &nr, &err))
		return cli_error("report", &err);
	while (nr && share_of(report, &rows[nr - 1], total.period) < report->percent_limit)
		nr--;
	set_widths(&table, rows, nr);
	put_event(&table, name, &total);
	put_titles(&table);
	for (size_t i = 0; i < nr; i++) {
		const struct perch_row *row = &rows[i];
		uint64_t period = report->children ? row->children : row->self;

		put_share(&table, &table.share[0], period, total.period);
		if (report->children)
			put_share(&table, &table.share[1], row->self, total.period);
		for (size_t column = 0; column < report->nr_keys; column++) {
			fputs("  ", out);
			put_cell(&table, column, row);
		}
		putc('\n', out);
		if (report->graph != GRAPH_NONE &&
		    report_print_graph(out, report, profile, row, total.period))
			return CLI_EXIT_FAILURE;
	}
	fputs("\n\n", out);
	return 0;
}
