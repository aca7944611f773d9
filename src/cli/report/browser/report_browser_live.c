/* SPDX-License-Identifier: MIT */
/* New rows for the browser of a live profile: cursor, filters and unfolded rows stay. */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/text_stream.h"
#include "report_browser.h"

/* A row of the profile before, by its texts: numbers are those of one profile. */
struct old_row {
	struct perch_frame frame;
	char *text;
	bool whole; /* its branches are unfolded */
};

struct old_view {
	struct old_row cursor, thread, *open;
	size_t nr_open;
	size_t line; /* of the cursor below its row */
};

/* Returns the texts of a row in the columns that group samples, or those of its thread; NULL if out
 * of memory. */
static char *texts_of(struct browser *browser, const struct perch_row *row, bool thread)
{
	const struct report_list *keys = &browser->report.keys;
	char buffer[PERCH_CELL_BYTES], *text = NULL;
	size_t size;
	FILE *out = perch__open_text(&text, &size);

	for (size_t i = 0; out && i < keys->nr; i++) {
		const char *name = keys->column[i]->name;

		if (!thread || !strcmp(name, "comm") || !strcmp(name, "pid") ||
		    !strcmp(name, "tid"))
			fprintf(out, "%s\n",
				perch_profile_cell(browser->profile, row, keys->column[i], buffer,
						   sizeof(buffer)));
	}
	if (out)
		perch__close_text(out, &text);
	return text;
}

static void keep_row(struct old_row *old, struct browser *browser, const struct perch_row *row,
		     bool thread)
{
	old->frame = row->frame;
	old->text = texts_of(browser, row, thread);
}

static bool is_same(struct browser *browser, const struct perch_row *row, const struct old_row *old,
		    bool thread)
{
	char *text;
	bool same;

	if (!old->text || (!thread && (row->frame.symbol != old->frame.symbol ||
				       row->frame.offset != old->frame.offset ||
				       row->frame.cpumode_char != old->frame.cpumode_char)))
		return false;
	text = texts_of(browser, row, thread);
	same = text && !strcmp(text, old->text);
	free(text);
	return same;
}

static void keep_view(struct old_view *view, struct browser *browser)
{
	struct browser_lines *lines = &browser->lines;

	if (browser->filter.thread)
		keep_row(&view->thread, browser, browser->filter.thread, true);
	if (lines->nr && browser->cursor) {
		struct browser_line line = browser_lines_get(lines, browser->cursor);

		keep_row(&view->cursor, browser, &browser->row[line.row], false);
		view->line = browser->cursor - browser_lines_of_row(lines, line.at);
	}
	view->open = calloc(lines->nr_open + 1, sizeof(*view->open));
	for (size_t i = 0; view->open && i < lines->nr_open; i++) {
		const struct browser_open_row *open = &lines->open[i];
		struct old_row *old = &view->open[view->nr_open++];

		keep_row(old, browser, &browser->row[lines->order[open->at]], false);
		for (size_t j = 0; j < open->nr; j++)
			old->whole |= open->branch[j].depth && open->branch[j].unfolded;
	}
}

static void clear_view(struct old_view *view)
{
	free(view->cursor.text);
	free(view->thread.text);
	for (size_t i = 0; i < view->nr_open; i++)
		free(view->open[i].text);
	free(view->open);
}

static int find_thread(struct browser *browser, const struct old_row *thread)
{
	for (size_t i = 0; thread->text && i < browser->nr_rows; i++)
		if (is_same(browser, &browser->row[i], thread, true)) {
			browser->filter.thread = &browser->row[i];
			return browser_select(browser);
		}
	if (thread->text)
		snprintf(browser->message, sizeof(browser->message),
			 "The thread has no samples any more: all threads are shown");
	return 0;
}

/* Unfolds the rows that were unfolded, and returns the position of the row of the cursor. */
static size_t find_rows(struct browser *browser, const struct old_view *view)
{
	struct browser_lines *lines = &browser->lines;
	size_t cursor = SIZE_MAX;

	for (size_t at = 0; at < lines->nr_rows; at++) {
		const struct perch_row *row = &browser->row[lines->order[at]];

		if (cursor == SIZE_MAX && is_same(browser, row, &view->cursor, false))
			cursor = at;
		for (size_t i = 0; i < view->nr_open; i++) {
			const struct old_row *old = &view->open[i];

			if (!is_same(browser, row, old, false))
				continue;
			if (old->whole)
				browser_lines_toggle_all(lines, browser_lines_of_row(lines, at),
							 browser_graph_of_row, browser);
			else
				browser_lines_toggle(lines, browser_lines_of_row(lines, at),
						     browser_graph_of_row, browser);
		}
	}
	return cursor;
}

int browser_replace_profile(struct browser *browser, const struct report *report,
			    struct perch_profile *profile)
{
	struct old_view view = { .nr_open = 0 };
	size_t cursor = browser->cursor, top = browser->top, at;
	int status;

	keep_view(&view, browser);
	browser_close_event(browser);
	perch_profile_free(browser->profile);
	browser->profile = profile;
	status = browser_show_event(browser, report, browser->event);
	if (!status)
		status = find_thread(browser, &view.thread);
	if (!status) {
		at = find_rows(browser, &view);
		browser->top = top;
		browser->cursor = cursor;
		if (at != SIZE_MAX) {
			size_t first = browser_lines_of_row(&browser->lines, at);
			size_t next = at + 1 < browser->lines.nr_rows
					      ? browser_lines_of_row(&browser->lines, at + 1)
					      : browser->lines.nr;

			browser->cursor = first + view.line < next ? first + view.line : next - 1;
		}
	}
	clear_view(&view);
	return status;
}
