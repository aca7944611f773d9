/* SPDX-License-Identifier: MIT */
/* What the report's browser shows, and how it is drawn. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/text_stream.h"
#include "options.h"
#include "report_browser.h"

#define MEASURED 2000 /* rows from which the widths of columns are computed */
#define SIGNS	 2    /* characters before a row */
#define STEP	 8    /* characters by which the last column is scrolled */

int browser_graph_of_row(void *context, size_t row, struct perch_call_graph *graph)
{
	struct browser *browser = context;
	const struct report *report = &browser->report;
	bool fractal = report->graph.shape == SHAPE_FRACTAL;
	uint64_t least = fractal ? 0 : browser->all * report->graph.limit / 100;

	return perch_profile_call_graph(browser->profile, &browser->row[row], report->graph.order,
					report->children, least, graph, NULL);
}

static uint64_t period_of(const struct browser *browser, const struct perch_row *row)
{
	return browser->report.children ? row->children : row->self;
}

/* True if the name of a function, or the address of code without one, has a part. */
static bool has_name(const struct browser *browser, const struct perch_frame *frame,
		     const char *part)
{
	struct perch_symbols *symbols = perch_session_symbols(browser->report.input.session);
	char buffer[REPORT_FRAME_BYTES];

	return strstr(frame->symbol
			      ? perch_symbols_name(symbols, frame->symbol)
			      : report_frame(&browser->report, browser->profile, frame, buffer),
		      part);
}

static bool is_wanted(void *context, size_t at)
{
	struct browser *browser = context;
	const struct browser_filter *filter = &browser->filter;
	const struct perch_row *row = &browser->row[at], *thread = filter->thread;

	if (filter->limit > 0 &&
	    (browser->all ? 100.0 * period_of(browser, row) / browser->all : 0) < filter->limit)
		return false;
	if (filter->dso && row->frame.dso != filter->dso)
		return false;
	if (filter->kernel && row->frame.cpumode_char != 'k')
		return false;
	for (size_t i = 0; thread && i < filter->nr_columns; i++)
		if (perch_profile_value(browser->profile, row, filter->column[i]) !=
		    perch_profile_value(browser->profile, thread, filter->column[i]))
			return false;
	return !filter->symbol[0] || has_name(browser, &row->frame, filter->symbol);
}

/* The columns of a thread, if the rows have them. */
static void find_thread_columns(struct browser *browser)
{
	static const char *const names[] = { "comm", "pid", "tid" };
	struct browser_filter *filter = &browser->filter;

	filter->nr_columns = 0;
	for (size_t i = 0; i < CLI_NR(names); i++) {
		const struct perch_column *column = perch_column_find(names[i], strlen(names[i]));

		if (report_has_column(&browser->report.keys, column))
			filter->column[filter->nr_columns++] = column;
	}
}

/* Percentages are of all rows, or of the shown ones. */
static void set_total(struct browser *browser)
{
	struct report_total shown = { 0 };

	for (size_t i = 0; i < browser->lines.nr_rows; i++) {
		const struct perch_row *row = &browser->row[browser->lines.order[i]];

		shown.period += row->self;
		shown.latency += row->latency ? row->latency->self : 0;
	}
	browser->shown = shown.period;
	browser->table.whole = browser->of_shown ? shown : browser->whole;
	browser->table.total = browser->table.whole.period;
	memset(browser->table.share, 0, sizeof(browser->table.share));
}

int browser_select(struct browser *browser)
{
	bool any = browser->lines.nr > 0;
	size_t row = any ? browser_lines_get(&browser->lines, browser->cursor).row : 0;

	find_thread_columns(browser);
	if (browser_lines_set(&browser->lines, browser->nr_rows, is_wanted, browser))
		return CLI_EXIT_FAILURE;
	browser->cursor = browser->top = 0;
	for (size_t i = 0; any && i < browser->lines.nr_rows; i++)
		if (browser->lines.order[i] == row)
			browser->cursor = i;
	set_total(browser);
	return 0;
}

static void sort_by_self(struct report *report)
{
	const struct report_list by = report->by;
	const struct perch_column *self = perch_column_find("overhead", strlen("overhead"));

	report->by.column[0] = self;
	report->by.nr = 1;
	for (size_t i = 0; i < by.nr && report->by.nr < REPORT_COLUMNS; i++)
		if (by.column[i] != self)
			report->by.column[report->by.nr++] = by.column[i];
}

int browser_show_event(struct browser *browser, const struct report *report, unsigned event)
{
	size_t members =
		report_group_events(report, browser->events, event, browser->nr_events - event);
	int status = 0;

	browser->event = event;
	browser->members = members;
	browser->report = report_of_events(report, event, members);
	browser->report.color = false; /* the screen has its own */
	if (browser->by_self)
		sort_by_self(&browser->report);
	browser->full = report->full;
	browser->report.full = true; /* widths are fitted when lines are drawn */
	browser->whole = report_total(report, browser->profile, event);
	browser->all = browser->whole.period;
	browser->table = (struct report_table){ .report = &browser->report,
						.profile = browser->profile,
						.total = browser->all,
						.whole = browser->whole };
	if (members > 1) {
		status = report_group_open(&browser->group, &browser->report, browser->profile,
					   event, members);
		browser->table.group = &browser->group;
	}
	if (!status)
		status = report_get_rows(&browser->table, event, &browser->row, &browser->nr_rows);
	browser->filter.thread = NULL;
	browser->lines.nr = 0;
	if (!status)
		status = browser_select(browser);
	if (status)
		return status;
	report_set_widths(&browser->table, browser->row,
			  browser->nr_rows < MEASURED ? browser->nr_rows : MEASURED);
	memcpy(browser->widths.width, browser->table.width, sizeof(browser->widths.width));
	memcpy(browser->widths.fitted, browser->table.fitted, sizeof(browser->widths.fitted));
	return 0;
}

void browser_close_event(struct browser *browser)
{
	if (browser->members > 1)
		report_group_close(&browser->group);
	browser_lines_clear(&browser->lines);
}

/* ---- lines ---- */

/* A part of a line, in a style that its share gives. */
struct piece {
	double percent; /* negative: without a share */
	const char *text;
};

/* Where the pieces of a line go: to the screen or to a file. */
struct sink {
	FILE *out;
	size_t screen_row, column;
	size_t first; /* column of a row */
	size_t skip;  /* characters of the last column, or of a branch */
	bool selected;
	bool *cut;
};

static void put_piece(struct sink *sink, double percent, const char *text)
{
	enum screen_style style = sink->selected ? SCREEN_SELECTED : SCREEN_NORMAL;

	if (sink->out) {
		fputs(text, sink->out);
		return;
	}
	if (percent >= 0)
		style = screen_share_style(percent, sink->selected);
	sink->column = screen_put_marked(sink->screen_row, sink->column, style, text, sink->cut);
}

/* Without the characters that are scrolled out of the screen. */
static void put_scrolled(struct sink *sink, double percent, const char *text)
{
	for (; sink->skip && *text; sink->skip--)
		text += screen_character(text);
	put_piece(sink, percent, text);
}

static double percent_of(const struct browser *browser, const struct perch_row *row,
			 const struct perch_column *column)
{
	uint64_t total = report_total_of(&browser->table.whole, column);

	return total ? 100.0 * perch_profile_value(browser->profile, row, column) / total : 0;
}

/* The sign before a row or branch: whether it can be unfolded. */
static const char *sign_of(bool foldable, bool unfolded)
{
	return !foldable ? "  " : unfolded ? "- " : "+ ";
}

static void put_row(struct browser *browser, struct sink *sink, const struct browser_line *line)
{
	const struct report_list *columns = &browser->report.columns;
	const struct perch_row *row = &browser->row[line->row];
	double percent = -1;
	char *text = NULL;
	size_t size;

	put_piece(sink, -1, sign_of(browser->report.graph.shape != SHAPE_NONE, line->open));
	for (size_t at = sink->first; at < columns->nr; at++) {
		const struct perch_column *column = columns->column[at];
		bool share = column->type == PERCH_COLUMN_PERCENT && !browser->table.group;

		browser->table.out = perch__open_text(&text, &size);
		if (!browser->table.out)
			return;
		report_put_cell(&browser->table, at, row);
		if (!perch__close_text(browser->table.out, &text))
			return;
		if (at > sink->first)
			put_piece(sink, -1, "  ");
		if (share)
			percent = percent_of(browser, row, column);
		if (at + 1 < columns->nr)
			put_piece(sink, share ? percent : -1, text);
		else
			put_scrolled(sink, share ? percent : -1, text);
		free(text);
		text = NULL;
	}
}

/* The share of a branch, or what -g says in its place. */
static void put_share(struct browser *browser, struct sink *sink,
		      const struct perch_call_graph_node *node, uint64_t total)
{
	char *text = NULL;
	size_t size;
	FILE *out = perch__open_text(&text, &size);

	if (!out)
		return;
	report_put_value(out, &browser->report, node->period, node->samples, total);
	if (!perch__close_text(out, &text))
		return;
	put_scrolled(sink, total ? 100.0 * node->period / total : 0, text);
	put_scrolled(sink, -1, " ");
	free(text);
}

static void put_branch(struct browser *browser, struct sink *sink, const struct browser_line *line)
{
	const struct browser_branch *branch = line->branch;
	const struct perch_call_graph_node *node = &line->open->graph.node[branch->node];
	uint64_t period = period_of(browser, &browser->row[line->row]);
	bool fractal = browser->report.graph.shape == SHAPE_FRACTAL;
	char buffer[REPORT_FRAME_BYTES], indent[64];

	snprintf(indent, sizeof(indent), "%*s",
		 SIGNS + 3 + 3 * (branch->depth < 16 ? branch->depth : 16), "");
	put_scrolled(sink, -1, indent);
	put_scrolled(sink, -1, branch->head ? sign_of(branch->foldable, branch->unfolded) : "  ");
	if (branch->head && node->period != period)
		put_share(browser, sink, node, fractal ? period : browser->table.total);
	put_scrolled(sink, -1,
		     report_frame(&browser->report, browser->profile, &node->frame, buffer));
}

static void put_line(struct browser *browser, struct sink *sink, size_t at)
{
	struct browser_line line = browser_lines_get(&browser->lines, at);

	if (line.branch)
		put_branch(browser, sink, &line);
	else
		put_row(browser, sink, &line);
}

/* The first column that is shown. */
static size_t first_column(const struct browser *browser)
{
	size_t last = browser->report.columns.nr - 1;

	return browser->scroll < last ? browser->scroll : last;
}

void browser_scroll(struct browser *browser, bool right)
{
	if (!right)
		browser->scroll--;
	else if (first_column(browser) + 1 < browser->report.columns.nr || browser->cut)
		browser->scroll++;
}

/* The column of names of functions, or the last one. */
static size_t main_column(const struct report_list *columns)
{
	for (size_t at = 0; at < columns->nr; at++)
		if (!strcmp(columns->column[at]->name, "sym"))
			return at;
	return columns->nr - 1;
}

/* Sets the widths of columns: fitted to the screen, or as wide as their texts. */
static void set_fitted(struct browser *browser, bool fitted)
{
	struct report_table *table = &browser->table;
	size_t first = first_column(browser);

	memcpy(table->width, browser->widths.width, sizeof(table->width));
	memcpy(table->fitted, browser->widths.fitted, sizeof(table->fitted));
	/* the last column is cut when it is written, because it can be scrolled */
	if (fitted && first + 1 < browser->report.columns.nr && !browser->full)
		report_fit_columns(table, first, screen_columns(),
				   main_column(&browser->report.columns));
}

void browser_write(struct browser *browser, FILE *out)
{
	set_fitted(browser, false);
	for (size_t at = 0; at < browser->lines.nr; at++) {
		struct sink sink = { .out = out };

		put_line(browser, &sink, at);
		putc('\n', out);
	}
}

/* ---- the screen ---- */

static void draw_titles(struct browser *browser)
{
	const struct report_list *columns = &browser->report.columns;
	size_t row = browser->summary_lines, first = first_column(browser);
	size_t column = screen_put(row, 0, SCREEN_TITLE, "  ");

	for (size_t at = first; at < columns->nr; at++) {
		char *text = NULL;
		size_t size;

		browser->table.out = perch__open_text(&text, &size);
		if (!browser->table.out)
			return;
		report_put_title(&browser->table, at);
		if (!perch__close_text(browser->table.out, &text))
			return;
		if (at > first)
			column = screen_put(row, column, SCREEN_TITLE, "  ");
		column = screen_put(row, column, SCREEN_TITLE, text);
		free(text);
	}
	screen_fill(row, column, SCREEN_TITLE);
}

size_t browser_page(const struct browser *browser)
{
	size_t used = browser->summary_lines + browser->titles + 1;

	return screen_rows() > used ? screen_rows() - used : 1;
}

void browser_draw(struct browser *browser)
{
	size_t first, page, column;

	screen_erase();
	browser_draw_summary(browser);
	first = browser->summary_lines + browser->titles;
	page = browser_page(browser);
	if (browser->cursor >= browser->lines.nr)
		browser->cursor = browser->lines.nr ? browser->lines.nr - 1 : 0;
	if (browser->top + page > browser->lines.nr)
		browser->top = browser->lines.nr > page ? browser->lines.nr - page : 0;
	if (browser->cursor < browser->top)
		browser->top = browser->cursor;
	if (browser->cursor >= browser->top + page)
		browser->top = browser->cursor - page + 1;
	set_fitted(browser, true);
	browser->cut = false;
	if (browser->titles)
		draw_titles(browser);
	for (size_t i = 0; i < page && browser->top + i < browser->lines.nr; i++) {
		struct sink sink = { .screen_row = first + i,
				     .first = first_column(browser),
				     .skip = STEP * (browser->scroll - first_column(browser)),
				     .cut = &browser->cut,
				     .selected = browser->top + i == browser->cursor };

		put_line(browser, &sink, browser->top + i);
		if (sink.selected)
			screen_fill(first + i, sink.column, SCREEN_SELECTED);
	}
	column = screen_put(screen_rows() - 1, 0, SCREEN_TITLE,
			    browser->message[0] ? browser->message
			    : browser->lines.nr
				    ? "Press 'h' for help on keys"
				    : "No rows. Escape removes filters, 'h' shows help");
	screen_fill(screen_rows() - 1, column, SCREEN_TITLE);
	screen_show();
}
