/* SPDX-License-Identifier: MIT */
/* The table of an event, in the layout of perf diff. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "diff.h"
#include "terminal/pager.h"

enum kind { BASELINE, COMPUTED, FORMULA, PERIOD };

struct column {
	enum kind kind;
	size_t file;
	char title[40];
	int width;
};

struct table {
	const struct diff *diff;
	const struct perch_comparison *comparison; /* of the rows */
	struct column column[3 * DIFF_MAX_FILES];
	size_t nr_columns;
	size_t key_width[DIFF_MAX_KEYS];
	size_t last_key; /* the last one that is printed, which is not padded */
};

#define MAX_GRAPH_DEPTH 100 /* of branches that are indented more */

static void add_column(struct table *table, enum kind kind, size_t file, const char *title,
		       int width)
{
	struct column *column = &table->column[table->nr_columns++];

	column->kind = kind;
	column->file = file;
	if (table->diff->nr_files > 2)
		snprintf(column->title, sizeof(column->title), "%s/%zu", title, file);
	else
		snprintf(column->title, sizeof(column->title), "%s", title);
	column->width = (int)strlen(column->title) > width ? (int)strlen(column->title) : width;
}

static void add_columns(struct table *table)
{
	static const struct {
		const char *title;
		int width;
	} methods[] = {
		[PERCH_COMPARISON_DELTA] = { "Delta", 7 },
		[PERCH_COMPARISON_DELTA_ABS] = { "Delta Abs", 7 },
		[PERCH_COMPARISON_RATIO] = { "Ratio", 14 },
		[PERCH_COMPARISON_WDIFF] = { "Weighted diff", 14 },
	};
	const struct diff *diff = table->diff;

	for (size_t file = 0; file < diff->nr_files; file++) {
		if (file)
			add_column(table, COMPUTED, file, methods[diff->method].title,
				   methods[diff->method].width);
		else
			add_column(table, BASELINE, file, "Baseline", 8);
		if (file && diff->show_formula)
			add_column(table, FORMULA, file, "Formula", 70);
		if (diff->show_period)
			add_column(table, PERIOD, file, file ? "Period" : "Base period", 14);
	}
}

/* ---- cells ---- */

/* rows: those of the table, or its branches */
static void format_computed(const struct table *table, const struct perch_comparison *rows,
			    size_t row, size_t file, char *text, size_t size)
{
	const struct diff *diff = table->diff;
	double value = perch_comparison_compute(rows, row, file);
	bool base = perch_comparison_row_sum(rows, row, 0)->samples;

	if (diff->method == PERCH_COMPARISON_DELTA || diff->method == PERCH_COMPARISON_DELTA_ABS)
		snprintf(text, size, "%+.2f%%", value);
	else if (!base)
		snprintf(text, size, "N/A");
	else if (diff->method == PERCH_COMPARISON_RATIO)
		snprintf(text, size, "%.6f", value);
	else
		snprintf(text, size, "%.0f", value);
}

static void format_formula(const struct table *table, const struct perch_comparison *rows,
			   size_t row, size_t file, char *text, size_t size)
{
	const struct diff *diff = table->diff;
	uint64_t before = perch_comparison_row_sum(rows, row, 0)->period;
	uint64_t after = perch_comparison_row_sum(rows, row, file)->period;

	if (diff->method == PERCH_COMPARISON_RATIO)
		snprintf(text, size, "%" PRIu64 " / %" PRIu64, after, before);
	else if (diff->method == PERCH_COMPARISON_WDIFF)
		snprintf(text, size, "(%" PRIu64 " * %" PRId64 ") - (%" PRIu64 " * %" PRId64 ")",
			 after, diff->weight, before, diff->base_weight);
	else
		snprintf(text, size,
			 "(%" PRIu64 " * 100 / %" PRIu64 ") - (%" PRIu64 " * 100 / %" PRIu64 ")",
			 after, perch_comparison_total(rows, file)->period, before,
			 perch_comparison_total(rows, 0)->period);
}

/* A cell is empty if the file has no samples of the row, except the period in the first file. */
static void format_cell(const struct table *table, const struct perch_comparison *rows,
			const struct column *column, size_t row, char *text, size_t size)
{
	const struct perch_comparison_sum *sum = perch_comparison_row_sum(rows, row, column->file);

	text[0] = 0;
	if (column->kind == PERIOD && (!column->file || sum->samples))
		snprintf(text, size, "%" PRIu64, sum->period);
	if (!sum->samples)
		return;
	if (column->kind == BASELINE)
		snprintf(text, size, table->diff->separator ? "%.2f" : "%.2f%%",
			 perch_comparison_share(rows, row, 0));
	else if (column->kind == COMPUTED)
		format_computed(table, rows, row, column->file, text, size);
	else if (column->kind == FORMULA)
		format_formula(table, rows, row, column->file, text, size);
}

/* ---- sums of the baseline among the keys ---- */

enum sum { OVERHEAD, SAMPLE, SUM_PERIOD, NR_SUMS };

static const struct {
	const char *name;
	size_t width;
} sums[NR_SUMS] = {
	[OVERHEAD] = { "overhead", 8 },
	[SAMPLE] = { "sample", 12 },
	[SUM_PERIOD] = { "period", 12 },
};

/* Returns NR_SUMS if there is none. */
static enum sum sum_of(const struct perch_column *key)
{
	enum sum sum = OVERHEAD;

	while (sum < NR_SUMS && strcmp(sums[sum].name, key->name))
		sum++;
	return sum;
}

bool diff_has_sum(const struct perch_column *key)
{
	return sum_of(key) < NR_SUMS;
}

/* Returns the text of a key in a row. buffer: of SUM_BYTES. */
#define SUM_BYTES 32
static const char *key_text(const struct table *table, size_t key, size_t row, char *buffer)
{
	const struct perch_comparison_sum *sum =
		perch_comparison_row_sum(table->comparison, row, 0);
	const struct perch_column *column = table->diff->key[key];

	if (!diff_is_sum(column))
		return perch_comparison_text(table->comparison, row, key);
	if (sum_of(column) == OVERHEAD)
		snprintf(buffer, SUM_BYTES, "%.2f%%",
			 perch_comparison_share(table->comparison, row, 0));
	else
		snprintf(buffer, SUM_BYTES, "%" PRIu64,
			 sum_of(column) == SAMPLE ? sum->samples : sum->period);
	return buffer;
}

/* ---- lines ---- */

/* Columns are characters, not bytes. */
static size_t characters(const char *text)
{
	size_t nr = 0;

	for (; *text; text++)
		nr += (*text & 0xc0) != 0x80;
	return nr;
}

static void put_spaces(size_t nr)
{
	printf("%*s", (int)nr, "");
}

/* Prints the cell of a key. A separator in it is printed as a dot. */
static void put_key(const struct table *table, size_t key, const char *text)
{
	char separator = table->diff->separator;
	size_t used = characters(text), width = table->key_width[key];
	bool right = table->diff->key[key]->right || diff_is_sum(table->diff->key[key]);

	if (separator) {
		for (text += strspn(text, " "); *text; text++)
			putchar(cli_field_character(*text, &separator));
		return;
	}
	if (right && used < width)
		put_spaces(width - used);
	fputs(text, stdout);
	if (!right && used < width && key < table->last_key)
		put_spaces(width - used);
}

static void put_between(const struct table *table)
{
	if (table->diff->separator)
		putchar(table->diff->separator);
	else
		fputs("  ", stdout);
}

#define TITLES SIZE_MAX /* in place of a row */

static void put_keys(const struct table *table, size_t row)
{
	const struct diff *diff = table->diff;
	char buffer[SUM_BYTES];
	bool first = true;

	for (size_t i = 0; i < diff->nr_keys; i++) {
		if (diff->hidden[i])
			continue;
		if (!first)
			put_between(table);
		first = false;
		put_key(table, i,
			row == TITLES ? diff->key[i]->header : key_text(table, i, row, buffer));
	}
	putchar('\n');
}

static void put_column(const struct table *table, const struct column *column, const char *text)
{
	if (table->diff->separator)
		fputs(text, stdout);
	else
		printf("%*s", column->width, text);
	put_between(table);
}

static void put_cells(const struct table *table, const struct perch_comparison *rows, size_t row)
{
	char cell[160];

	if (!table->diff->separator)
		fputs("  ", stdout);
	for (size_t i = 0; i < table->nr_columns; i++) {
		format_cell(table, rows, &table->column[i], row, cell, sizeof(cell));
		put_column(table, &table->column[i], cell);
	}
}

/* Prints a branch with its name in the last column, indented by its depth. */
static void put_branch(const struct table *table, uint32_t branch, int depth)
{
	static const char no_text[DIFF_MAX_KEYS];

	put_cells(table, perch_comparison_branches(table->comparison), branch);
	for (size_t i = 0; i < table->last_key; i++) {
		if (table->diff->hidden[i])
			continue;
		put_key(table, i, no_text);
		put_between(table);
	}
	printf("%*s<- ", 2 * (depth < MAX_GRAPH_DEPTH ? depth : MAX_GRAPH_DEPTH), "");
	puts(perch_comparison_branch_name(table->comparison, branch));
}

/* True if the share of a branch has changed enough to be printed. */
static bool is_shown(const struct diff *diff, const struct perch_comparison *branches,
		     uint32_t branch)
{
	double before = perch_comparison_share(branches, branch, 0);

	for (size_t file = 1; file < diff->nr_files; file++)
		if (fabs(perch_comparison_share(branches, branch, file) - before) >=
		    diff->graph_limit)
			return true;
	return false;
}

/* Prints the branches below a row that have changed. A call chain is limited, so this recursion
 * is. */
static void put_branches(const struct table *table, uint32_t first, int depth)
{
	const struct perch_comparison *rows = table->comparison;

	for (uint32_t at = first; at != PERCH_COMPARISON_NONE;
	     at = perch_comparison_next_branch(rows, at, false)) {
		if (!is_shown(table->diff, perch_comparison_branches(rows), at))
			continue;
		put_branch(table, at, depth);
		put_branches(table, perch_comparison_next_branch(rows, at, true), depth + 1);
	}
}

static void put_row(const struct table *table, size_t row)
{
	put_cells(table, table->comparison, row);
	put_keys(table, row);
	put_branches(table, perch_comparison_first_caller(table->comparison, row), 1);
}

static void put_dots(size_t nr)
{
	while (nr--)
		putchar('.');
}

static void put_titles(const struct table *table)
{
	fputs("# ", stdout);
	for (size_t i = 0; i < table->nr_columns; i++)
		put_column(table, &table->column[i], table->column[i].title);
	put_keys(table, TITLES);
	if (table->diff->separator)
		return;
	putchar('#');
	for (size_t i = 0; i < table->nr_columns; i++) {
		fputs(i ? "  " : " ", stdout);
		put_dots((size_t)table->column[i].width);
	}
	for (size_t i = 0; i < table->diff->nr_keys; i++) {
		if (table->diff->hidden[i])
			continue;
		fputs("  ", stdout);
		put_dots(table->key_width[i]);
	}
	fputs("\n#\n", stdout);
}

static void set_widths(struct table *table, const uint32_t *rows, size_t nr)
{
	const struct diff *diff = table->diff;

	for (size_t key = 0; key < diff->nr_keys; key++) {
		table->key_width[key] = diff_is_sum(diff->key[key])
						? sums[sum_of(diff->key[key])].width
						: characters(diff->key[key]->header);
		if (!diff->hidden[key])
			table->last_key = key;
	}
	for (size_t i = 0; i < nr; i++)
		for (size_t key = 0; key < diff->nr_keys; key++) {
			char buffer[SUM_BYTES];
			size_t width = characters(key_text(table, key, rows[i], buffer));

			if (width > table->key_width[key])
				table->key_width[key] = width;
		}
}

static void put_files(const struct diff *diff)
{
	puts("# Data files:");
	for (size_t i = 0; i < diff->nr_files; i++) {
		printf("#  [%zu] ", i);
		cli_put_clean(stdout, diff->file[i].path);
		puts(i ? "" : " (Baseline)");
	}
	puts("#");
}

static int print_event(const struct diff *diff, const struct diff_event *event)
{
	struct table table = { .diff = diff, .comparison = event->comparison };
	const uint32_t *rows;
	struct perch_error err;
	size_t nr;

	if (perch_comparison_sort(event->comparison, &rows, &nr, &err))
		return cli_error(DIFF_COMMAND, &err);
	add_columns(&table);
	set_widths(&table, rows, nr);
	if (!diff->quiet) {
		fputs(event == diff->event ? "# Event '" : "\n# Event '", stdout);
		cli_put_clean(stdout, event->name);
		puts("'\n#");
		if (diff->verbose || diff->nr_files > 2)
			put_files(diff);
		put_titles(&table);
	}
	for (size_t i = 0; i < nr; i++)
		put_row(&table, rows[i]);
	if (!diff->quiet)
		diff_print_summary(diff, event);
	return 0;
}

int diff_print(const struct diff *diff)
{
	int status = 0;

	cli_start_pager();
	for (size_t i = 0; i < diff->nr_events && !status; i++)
		status = print_event(diff, &diff->event[i]);
	return status;
}
