/* SPDX-License-Identifier: MIT */
/* Draws a function in the browser of perch annotate. */
#include <string.h>

#include "annotate_draw.h"
#include "browser/screen.h"

size_t annotate_draw_lines(void)
{
	return screen_rows() > 3 ? screen_rows() - 3 : 1;
}

/* The sign beside a line between a jump and its target; NULL: none. */
static const char *jump_sign(const struct annotate_view *view, size_t cursor, size_t line)
{
	const struct view_row *row = annotate_view_row(view, cursor);
	size_t target;

	if (!row || row->flow != PERCH_FLOW_JUMP || !row->has_target)
		return NULL;
	target = annotate_view_find(view, row->target);
	if (target == NO_LINE || target == cursor)
		return NULL;
	if (line == cursor)
		return target > cursor ? "┌" : "└";
	if (line == target)
		return target > cursor ? "└" : "┌";
	return (line > cursor) != (line > target) ? "│" : NULL;
}

static void draw_line(const struct functions *functions, size_t line, size_t y)
{
	const struct annotate_view *view = &functions->view;
	const struct view_row *row = annotate_view_row(view, line);
	bool selected = line == functions->cursor;
	enum screen_style style = selected ? SCREEN_SELECTED : row ? SCREEN_NORMAL : SCREEN_DIM;
	const char *text = view->line[line], *sign;
	size_t width = (size_t)view->sums_width, length = strlen(text), column;
	char sums[64 * 14];

	if (width > length)
		width = length;
	if (width >= sizeof(sums))
		width = sizeof(sums) - 1;
	memcpy(sums, text, width);
	sums[width] = '\0';
	column = screen_put(y, 0, screen_share_style(row ? row->percent : 0, selected), sums);
	sign = jump_sign(view, functions->cursor, line);
	column = screen_put(y, column, style, sign ? sign : " ");
	text += width + (text[width] == ' ');
	for (size_t skip = functions->left; skip && *text; skip--)
		text += screen_character(text);
	column = screen_put(y, column, style, text);
	if (selected)
		screen_fill(y, column, style);
}

static void draw_bar(size_t y, const char *text)
{
	bool cut;

	screen_fill(y, screen_put_marked(y, 0, SCREEN_TITLE, text, &cut), SCREEN_TITLE);
}

/* The function and its DSO: of a long path, the end, and of a long name, the start is shown. */
static void draw_function(const struct annotate_view *view)
{
	size_t columns = screen_columns(), name = screen_width_of(view->title[TITLE_FUNCTION]);
	size_t column, most = name + 1 < columns / 2 ? columns - name - 1 : columns / 2;
	char path[1024];

	screen_end_of(view->title[TITLE_DSO], most, path, sizeof(path));
	column = screen_put(1, 0, SCREEN_TITLE, view->title[TITLE_FUNCTION]);
	column = screen_put(1, column, SCREEN_TITLE, " ");
	if (name + 1 + screen_width_of(path) > columns) {
		column = columns - screen_width_of(path);
		if (column > 4)
			screen_put(1, column - 4, SCREEN_TITLE, "... ");
	}
	screen_fill(1, screen_put(1, column, SCREEN_TITLE, path), SCREEN_TITLE);
}

void annotate_draw(const struct functions *functions)
{
	const struct annotate_view *view = &functions->view;
	struct perch_symbols *symbols = perch_session_symbols(functions->annotate->input.session);
	size_t page = annotate_draw_lines();
	const struct perch_symbol *symbol =
		functions->pages.page[functions->current].function.symbol;
	char line[200];

	screen_erase();
	if (functions->reason[0]) {
		draw_bar(0, perch_symbols_name(symbols, symbol));
		screen_put(2, 0, SCREEN_NORMAL, "No instructions:");
		screen_put_lines(3, SCREEN_NORMAL, functions->reason);
	} else {
		draw_bar(0, view->title[TITLE_SAMPLES]);
		draw_function(view);
		for (size_t i = 0; i < page && functions->top + i < view->nr_lines; i++)
			draw_line(functions, functions->top + i, i + 2);
	}
	snprintf(line, sizeof(line), "Function %zu of %zu  Press 'h' for help on keys",
		 functions->current + 1, functions->pages.nr);
	draw_bar(screen_rows() - 1, functions->message[0] ? functions->message : line);
	screen_show();
}

void annotate_draw_help(void)
{
	static const char *const lines[] = {
		"Up, Down, Page Up, Page Down, b, Space, Home, End   move",
		"q, Escape         leave, or go back to the caller",
		"n, Tab            the instruction with the next smaller share",
		"N, Back Tab       the instruction with the next larger share",
		"H                 the instruction with the largest share",
		"Enter             follow a jump, or show the function that is called",
		"Right, Left       move the view; Left at the first column is as Escape",
		">, <              next and previous function",
		"f                 list of the functions with samples",
		"/                 search a text from here on; Enter again searches on",
		"s                 show or hide source lines, or the reason why there are none",
		"t                 percentages, periods or numbers of samples",
		"p                 percentages of the function, or of the recording",
		"B                 percentages by periods, or by numbers of samples",
		"P                 write the function into the file perf.annotate.N",
		"Control-L         draw the screen anew",
		"h, ?, F1          this help",
	};

	screen_text("Keys", lines, sizeof(lines) / sizeof(lines[0]), 0);
}
