/* SPDX-License-Identifier: MIT */
/* The terminal in full-screen mode, by ncurses. Texts are written as they are: clean them before.
 */
#ifndef PERCH_CLI_BROWSER_SCREEN_H
#define PERCH_CLI_BROWSER_SCREEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "output_file.h"

/* How a text looks. */
enum screen_style {
	SCREEN_NORMAL,
	SCREEN_TITLE,	 /* the first and last line, and titles of columns */
	SCREEN_SELECTED, /* the line of the cursor */
	SCREEN_TOP,	 /* a share of at least 5 percent */
	SCREEN_MEDIUM,	 /* at least 0.5 percent */
	SCREEN_DIM,
};

/* Keys that are not characters. */
enum screen_key {
	SCREEN_UP = 0x110000, /* above Unicode */
	SCREEN_DOWN,
	SCREEN_LEFT,
	SCREEN_RIGHT,
	SCREEN_PAGE_UP,
	SCREEN_PAGE_DOWN,
	SCREEN_HOME,
	SCREEN_END,
	SCREEN_ENTER,
	SCREEN_ESCAPE,
	SCREEN_TAB,
	SCREEN_BACK_TAB,
	SCREEN_BACKSPACE,
	SCREEN_RESIZED,
	SCREEN_OTHER,
	SCREEN_CLOSED, /* the terminal is gone */
	SCREEN_IDLE,   /* no key: of screen_key_or_idle() */
};

/* True if standard input and output are a terminal that can move the cursor. */
bool screen_is_possible(void);
/* Starts and ends the full-screen mode. screen_open() returns false if the terminal is unknown. */
bool screen_open(void);
void screen_close(void);

size_t screen_rows(void);
size_t screen_columns(void);

void screen_erase(void);
/* Writes a text from a column on, cut at the right edge. Returns the column behind it. */
size_t screen_put(size_t row, size_t column, enum screen_style style, const char *text);
/* Writes a text on as many lines as it needs, with line breaks at spaces. */
void screen_put_lines(size_t row, enum screen_style style, const char *text);
/* The same, but a text that is cut ends in three dots, and *cut is set. */
size_t screen_put_marked(size_t row, size_t column, enum screen_style style, const char *text,
			 bool *cut);
/* Returns the columns that a text takes. */
size_t screen_width_of(const char *text);
/* Copies a text, of a longer one than `columns` its end after three dots. */
void screen_end_of(const char *text, size_t columns, char *result, size_t size);
/* Fills the rest of a row. */
void screen_fill(size_t row, size_t column, enum screen_style style);
/* The style of a share; on the line of the cursor it is that of the cursor. */
enum screen_style screen_share_style(double percent, bool selected);
/* Shows what was written. */
void screen_show(void);
/* Waits for a key: a character, or enum screen_key. */
int screen_key(void);
/* Also returns SCREEN_IDLE when the function of screen_set_idle() returns true. */
int screen_key_or_idle(void);
/* True if q was typed and not read yet, and no dialog is shown. Other keys stay to be read. */
bool screen_is_quit_waiting(void);
/* True while a dialog waits for a key. */
bool screen_has_dialog(void);
/* While keys are waited for, here and in dialogs, calls a function at intervals. NULL: none. */
void screen_set_idle(bool (*idle)(void *context), void *context);
void screen_set_idle_ms(int ms);

/* Returns the bytes of the first character of a text that is not empty. */
size_t screen_character(const char *text);

/* ---- dialogs ---- */

/* Moves a cursor within nr lines. Returns false for other keys. */
bool screen_move(int key, size_t *at, size_t nr, size_t page);

/*
 * Lets the user edit a line of text. Returns false if the user leaves it by Escape, and then the
 * text is unchanged.
 */
bool screen_ask(const char *question, char *text, size_t size);
/* Lets the user select one of nr texts. Returns its index, or -1. */
int screen_select(const char *title, const char *const *texts, size_t nr);
/*
 * Shows lines of text in a window of the whole screen, which arrows scroll, '/' searches and
 * q leaves. first: the line that is shown first. Returns the key that left it.
 */
int screen_text(const char *title, const char *const *lines, size_t nr, size_t first);
/* Shows a message on the last line, and waits for a key. */
void screen_message(const char *text);

/*
 * Opens the first file NAME.N that does not exist. Returns false after it made a message.
 * screen_close_file() makes the message that says what was written.
 */
bool screen_create_file(struct cli_output_file *out, const char *name, char *message, size_t size);
void screen_close_file(struct cli_output_file *out, size_t lines, char *message, size_t size);

#endif
