/* SPDX-License-Identifier: MIT */
/* Dialogs in full-screen mode. */
#include <errno.h>
#include <string.h>

#include "screen.h"

/* Of a text that is too long for the line, the end is shown: characters are added there. */
static void draw_question(const char *question, const char *text, bool changed)
{
	size_t row = screen_rows() - 1, column = screen_put(row, 0, SCREEN_TITLE, question);
	const char *keys = text[0] && !changed ? "   Enter sets, Escape cancels, Control-U clears"
					       : "   Enter sets, Escape cancels";
	char end[1024];

	column = screen_put(row, column, SCREEN_TITLE, " ");
	screen_end_of(text, column + 1 < screen_columns() ? screen_columns() - column - 1 : 0, end,
		      sizeof(end));
	column = screen_put(row, column, SCREEN_TITLE, end);
	column = screen_put(row, column, SCREEN_TITLE, "_");
	if (column + strlen(keys) <= screen_columns())
		column = screen_put(row, column, SCREEN_TITLE, keys);
	screen_fill(row, column, SCREEN_TITLE);
	screen_show();
}

bool screen_ask(const char *question, char *text, size_t size)
{
	char before[256];

	snprintf(before, sizeof(before), "%s", text);
	while (true) {
		size_t length = strlen(text);
		int key;

		draw_question(question, text, strcmp(text, before));
		key = screen_key();
		if (key == SCREEN_ENTER)
			return true;
		if (key == SCREEN_ESCAPE || key == SCREEN_CLOSED) {
			snprintf(text, size, "%s", before);
			return false;
		}
		if (key == SCREEN_BACKSPACE && length) {
			/* a character of UTF-8 has several bytes */
			while (length > 1 && (text[length - 1] & 0xc0) == 0x80)
				length--;
			text[length - 1] = '\0';
		} else if (key == 0x15) { /* Control-U */
			text[0] = '\0';
		} else if (key >= ' ' && key < 0x7f && length + 1 < size) {
			text[length] = (char)key;
			text[length + 1] = '\0';
		}
	}
}

void screen_message(const char *text)
{
	size_t row = screen_rows() - 1;
	size_t column = screen_put(row, 0, SCREEN_TITLE, text);

	column = screen_put(row, column, SCREEN_TITLE, "  (press a key)");
	screen_fill(row, column, SCREEN_TITLE);
	screen_show();
	screen_key();
}

bool screen_move(int key, size_t *at, size_t nr, size_t page)
{
	size_t last = nr ? nr - 1 : 0;

	switch (key) {
	case SCREEN_UP:
		*at -= *at > 0;
		return true;
	case SCREEN_DOWN:
		*at += *at < last;
		return true;
	case SCREEN_PAGE_UP:
	case 'b':
		*at = *at > page ? *at - page : 0;
		return true;
	case SCREEN_PAGE_DOWN:
	case ' ':
		*at = *at + page < last ? *at + page : last;
		return true;
	case SCREEN_HOME:
		*at = 0;
		return true;
	case SCREEN_END:
		*at = last;
		return true;
	default:
		return false;
	}
}

int screen_select(const char *title, const char *const *texts, size_t nr)
{
	size_t at = 0, top = 0;

	while (true) {
		size_t page = screen_rows() > 4 ? screen_rows() - 4 : 1, column;
		int key;

		if (at < top)
			top = at;
		if (at >= top + page)
			top = at - page + 1;
		screen_erase();
		column = screen_put(0, 0, SCREEN_TITLE, title);
		screen_fill(0, column, SCREEN_TITLE);
		for (size_t i = 0; i < page && top + i < nr; i++) {
			enum screen_style style = top + i == at ? SCREEN_SELECTED : SCREEN_NORMAL;

			column = screen_put(i + 2, 0, style, "  ");
			column = screen_put(i + 2, column, style, texts[top + i]);
			screen_put(i + 2, column, style, "  ");
		}
		column = screen_put(screen_rows() - 1, 0, SCREEN_TITLE,
				    "Enter selects, q or Escape leaves");
		screen_fill(screen_rows() - 1, column, SCREEN_TITLE);
		screen_show();
		key = screen_key();
		if (key == SCREEN_ENTER || key == SCREEN_RIGHT)
			return nr ? (int)at : -1;
		if (key == 'q' || key == SCREEN_ESCAPE || key == SCREEN_LEFT ||
		    key == SCREEN_CLOSED)
			return -1;
		screen_move(key, &at, nr, page);
	}
}

/* Returns the next line with a text, or the current one. */
static size_t find_line(const char *const *lines, size_t nr, size_t from, const char *text)
{
	for (size_t i = 1; text[0] && i <= nr; i++)
		if (strstr(lines[(from + i) % nr], text))
			return (from + i) % nr;
	return from;
}

static void draw_text(const char *title, const char *const *lines, size_t nr, size_t top,
		      size_t left)
{
	size_t page = screen_rows() > 2 ? screen_rows() - 2 : 1, column;
	char position[160];

	screen_erase();
	column = screen_put(0, 0, SCREEN_TITLE, title);
	screen_fill(0, column, SCREEN_TITLE);
	for (size_t i = 0; i < page && top + i < nr; i++) {
		const char *text = lines[top + i];

		for (size_t skip = left; skip && *text; skip--)
			do
				text++;
			while ((*text & 0xc0) == 0x80);
		screen_put(i + 1, 0, SCREEN_NORMAL, text);
	}
	snprintf(position, sizeof(position),
		 "%zu-%zu of %zu  arrows: scroll, /: search, n: next, q: back", nr ? top + 1 : 0,
		 top + page < nr ? top + page : nr, nr);
	column = screen_put(screen_rows() - 1, 0, SCREEN_TITLE, position);
	screen_fill(screen_rows() - 1, column, SCREEN_TITLE);
	screen_show();
}

int screen_text(const char *title, const char *const *lines, size_t nr, size_t first)
{
	size_t top = first < nr ? first : 0, left = 0;
	char wanted[128] = "";

	while (true) {
		size_t page = screen_rows() > 2 ? screen_rows() - 2 : 1;
		size_t most = nr > page ? nr - page + 1 : 1;
		int key;

		draw_text(title, lines, nr, top, left);
		key = screen_key();
		if (key == 'q' || key == SCREEN_ESCAPE || key == SCREEN_CLOSED)
			return key;
		if (key == SCREEN_RIGHT)
			left += 8;
		else if (key == SCREEN_LEFT)
			left -= left >= 8 ? 8 : left;
		else if (key == '/' && nr && screen_ask("Search:", wanted, sizeof(wanted)))
			top = find_line(lines, nr, top, wanted);
		else if (key == 'n' && nr)
			top = find_line(lines, nr, top, wanted);
		else
			screen_move(key, &top, most, page);
	}
}

bool screen_create_file(struct cli_output_file *out, const char *name, char *message, size_t size)
{
	struct perch_error err;
	int rc = -EEXIST;

	for (unsigned i = 0; i < 1000 && rc == -EEXIST; i++) {
		char path[64];

		snprintf(path, sizeof(path), "%s.%u", name, i);
		rc = cli_output_open(out, path, CLI_OUTPUT_OWN_NAME | CLI_OUTPUT_NEW, &err);
	}
	if (rc)
		snprintf(message, size, "%s", err.message);
	return !rc;
}

void screen_close_file(struct cli_output_file *out, size_t lines, char *message, size_t size)
{
	struct perch_error err;
	char path[64];

	snprintf(path, sizeof(path), "%s", out->path);
	if (cli_output_close(out, 0, &err))
		snprintf(message, size, "%s", err.message);
	else
		snprintf(message, size, "%zu %s written to %s", lines,
			 lines == 1 ? "line" : "lines", path);
}
