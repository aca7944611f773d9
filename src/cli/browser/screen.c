/* SPDX-License-Identifier: MIT */
#define NCURSES_NOMACROS       1
#define _XOPEN_SOURCE_EXTENDED 1
#include <curses.h>
#include <langinfo.h>
#include <locale.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>

#include "messages.h"
#include "screen.h"

static struct {
	SCREEN *terminal;
	bool colors, wide;
	bool (*idle)(void *context);
	void *context;
	int idle_ms;   /* how often it is called */
	bool dialog;   /* screen_key() waits */
	int typed[64]; /* keys that were typed and not read yet */
	size_t nr_typed;
} screen;

#define IDLE_MS 100

enum pair { PAIR_TITLE = 1, PAIR_SELECTED, PAIR_TOP, PAIR_MEDIUM };

bool screen_is_possible(void)
{
	const char *type = getenv("TERM");

	return isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) && type && type[0] &&
	       strcmp(type, "dumb") != 0;
}

static void choose_colors(void)
{
	const char *no_color = getenv("NO_COLOR");

	screen.colors = has_colors() && !(no_color && no_color[0]) && start_color() == OK;
	if (!screen.colors)
		return;
	use_default_colors();
	init_pair(PAIR_TITLE, COLOR_WHITE, COLOR_BLUE);
	init_pair(PAIR_SELECTED, COLOR_BLACK, COLOR_YELLOW);
	init_pair(PAIR_TOP, COLOR_RED, -1);
	init_pair(PAIR_MEDIUM, COLOR_GREEN, -1);
}

/* Messages would be written over the screen. */
static void show_message(const char *text)
{
	size_t row = screen_rows() - 1;

	screen_fill(row, screen_put(row, 0, SCREEN_TITLE, text), SCREEN_TITLE);
	screen_show();
}

bool screen_open(void)
{
	/* for the width of characters; numbers keep the C locale's format */
	setlocale(LC_CTYPE, "");
	screen.wide = !strcmp(nl_langinfo(CODESET), "UTF-8");
	screen.terminal = newterm(NULL, stdout, stdin);
	if (!screen.terminal)
		return false;
	set_term(screen.terminal);
	raw();
	noecho();
	nonl();
	keypad(stdscr, TRUE);
	set_escdelay(50);
	curs_set(0);
	choose_colors();
	cli_show_messages_by(show_message);
	return true;
}

void screen_close(void)
{
	cli_show_messages_by(NULL);
	endwin();
	delscreen(screen.terminal);
	screen.terminal = NULL;
}

size_t screen_rows(void)
{
	int rows = getmaxy(stdscr);

	return rows > 0 ? (size_t)rows : 1;
}

size_t screen_columns(void)
{
	int columns = getmaxx(stdscr);

	return columns > 0 ? (size_t)columns : 1;
}

void screen_erase(void)
{
	werase(stdscr);
}

static void set_style(enum screen_style style)
{
	static const struct {
		attr_t with_colors, without;
		short pair;
	} looks[] = {
		[SCREEN_NORMAL] = { A_NORMAL, A_NORMAL, 0 },
		[SCREEN_TITLE] = { A_BOLD, A_REVERSE, PAIR_TITLE },
		[SCREEN_SELECTED] = { A_NORMAL, A_REVERSE | A_BOLD, PAIR_SELECTED },
		[SCREEN_TOP] = { A_NORMAL, A_BOLD, PAIR_TOP },
		[SCREEN_MEDIUM] = { A_NORMAL, A_NORMAL, PAIR_MEDIUM },
		[SCREEN_DIM] = { A_DIM, A_DIM, 0 },
	};

	wattr_set(stdscr, screen.colors ? looks[style].with_colors : looks[style].without,
		  screen.colors ? looks[style].pair : 0, NULL);
}

/* Signs that have a similar one in ASCII. */
static const struct {
	char sign[4], plain;
} plain_signs[] = { { "│", '|' }, { "┌", '+' }, { "└", '+' }, { "↓", 'v' },
		    { "↑", '^' }, { "→", '>' }, { "←", '<' } };

static char plain_character(const char *text)
{
	for (size_t i = 0; i < sizeof(plain_signs) / sizeof(plain_signs[0]); i++)
		if (!strncmp(text, plain_signs[i].sign, strlen(plain_signs[i].sign)))
			return plain_signs[i].plain;
	return *text & 0x80 ? '?' : *text;
}

/* In a locale without UTF-8, other characters beyond ASCII are question marks. */
static void put_bytes(const char *text, size_t columns)
{
	char plain[512];
	size_t used = 0;

	if (screen.wide) {
		waddnstr(stdscr, text, -1);
		return;
	}
	for (; *text && used < sizeof(plain) - 1 && used < columns; text++)
		if ((*text & 0xc0) != 0x80)
			plain[used++] = plain_character(text);
	plain[used] = '\0';
	waddnstr(stdscr, plain, -1);
}

/* Returns the bytes of the first character of a text, and the columns that it takes. */
static size_t character(const char *text, size_t *columns)
{
	size_t bytes = 1;
	wchar_t wide;
	int width;

	while ((text[bytes] & 0xc0) == 0x80)
		bytes++;
	width = screen.wide && mbtowc(&wide, text, bytes) > 0 ? wcwidth(wide) : 1;
	*columns = width < 0 ? 1 : (size_t)width;
	return bytes;
}

/* Cuts a text to a number of columns: characters that ncurses would wrap are left out. */
static void put_cut(const char *text, size_t columns)
{
	size_t bytes = 0, used = 0, width, more;
	char cut[4 * 1024];

	for (; text[bytes]; bytes += more, used += width) {
		more = character(text + bytes, &width);
		if (used + width > columns || bytes + more >= sizeof(cut))
			break;
	}
	memcpy(cut, text, bytes);
	cut[bytes] = '\0';
	put_bytes(cut, columns);
}

size_t screen_character(const char *text)
{
	size_t columns;

	return character(text, &columns);
}

/* Writes a text that is cut at column `end`. */
static size_t put_until(size_t row, size_t column, size_t end, enum screen_style style,
			const char *text)
{
	int y, x;

	if (row >= screen_rows() || column >= end)
		return column;
	set_style(style);
	wmove(stdscr, (int)row, (int)column);
	put_cut(text, end - column);
	getyx(stdscr, y, x);
	/* behind the last column, ncurses goes on with the next line or stays */
	return y == (int)row && x > (int)column ? (size_t)x : text[0] ? screen_columns() : column;
}

size_t screen_put(size_t row, size_t column, enum screen_style style, const char *text)
{
	return put_until(row, column, screen_columns(), style, text);
}

enum { DOTS = 3 };

size_t screen_width_of(const char *text)
{
	size_t used = 0, width;

	for (; *text; used += width)
		text += character(text, &width);
	return used;
}

void screen_end_of(const char *text, size_t columns, char *result, size_t size)
{
	size_t used = screen_width_of(text), left = columns > DOTS ? columns - DOTS : 0, width;
	const char *dots = used > columns ? "..." : "";

	for (; dots[0] && used > left; used -= width)
		text += character(text, &width);
	snprintf(result, size, "%s%s", dots, text);
}

size_t screen_put_marked(size_t row, size_t column, enum screen_style style, const char *text,
			 bool *cut)
{
	size_t end = screen_columns();

	if (column + screen_width_of(text) <= end)
		return screen_put(row, column, style, text);
	*cut = true;
	if (column + DOTS < end)
		column = put_until(row, column, end - DOTS, style, text);
	return screen_put(row, column, style, "...");
}

/* Returns the end of the words of a text that fit in a line; at least one character. */
static const char *end_of_words(const char *text)
{
	const char *end = NULL, *at = text;
	size_t used = 0, width;

	while (*at && used < screen_columns()) {
		if (*at == ' ' && at > text)
			end = at;
		at += character(at, &width);
		used += width;
	}
	return !*at || *at == ' ' || !end ? at : end;
}

void screen_put_lines(size_t row, enum screen_style style, const char *text)
{
	char line[1024];

	for (; *text && row + 1 < screen_rows(); row++) {
		const char *end = end_of_words(text);

		snprintf(line, sizeof(line), "%.*s", (int)(end - text), text);
		screen_put(row, 0, style, line);
		text = end + strspn(end, " ");
	}
}

void screen_fill(size_t row, size_t column, enum screen_style style)
{
	set_style(style);
	for (; column < screen_columns(); column++)
		mvwaddch(stdscr, (int)row, (int)column, ' ');
}

enum screen_style screen_share_style(double percent, bool selected)
{
	if (selected)
		return SCREEN_SELECTED;
	return percent >= 5 ? SCREEN_TOP : percent >= 0.5 ? SCREEN_MEDIUM : SCREEN_NORMAL;
}

void screen_show(void)
{
	wrefresh(stdscr);
}

static int function_key(wint_t key)
{
	static const struct {
		wint_t curses;
		int key;
	} keys[] = {
		{ KEY_UP, SCREEN_UP },
		{ KEY_DOWN, SCREEN_DOWN },
		{ KEY_LEFT, SCREEN_LEFT },
		{ KEY_RIGHT, SCREEN_RIGHT },
		{ KEY_PPAGE, SCREEN_PAGE_UP },
		{ KEY_NPAGE, SCREEN_PAGE_DOWN },
		{ KEY_HOME, SCREEN_HOME },
		{ KEY_END, SCREEN_END },
		{ KEY_ENTER, SCREEN_ENTER },
		{ KEY_BTAB, SCREEN_BACK_TAB },
		{ KEY_RESIZE, SCREEN_RESIZED },
		{ KEY_BACKSPACE, SCREEN_BACKSPACE },
		{ KEY_F(1), 'h' },
	};

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (keys[i].curses == key)
			return keys[i].key;
	return SCREEN_OTHER;
}

#define NO_KEY (-1)

void screen_set_idle_ms(int ms)
{
	screen.idle_ms = ms;
	wtimeout(stdscr, ms);
}

void screen_set_idle(bool (*idle)(void *context), void *context)
{
	screen.idle = idle;
	screen.context = context;
	screen_set_idle_ms(idle ? IDLE_MS : -1);
}

/* No key has come: the time is over, or the terminal is gone. */
static int no_key(void)
{
	struct pollfd input = { STDIN_FILENO, POLLIN, 0 };

	if (!screen.idle)
		return SCREEN_CLOSED;
	if (poll(&input, 1, 0) > 0) /* a key came after all, or the terminal is gone */
		return input.revents & (POLLHUP | POLLERR | POLLNVAL) ? SCREEN_CLOSED : NO_KEY;
	return screen.idle(screen.context) ? SCREEN_IDLE : NO_KEY;
}

/*
 * After an Escape character: the key of a sequence that the terminal's description lacks, as those
 * of Home and End often are. A character of its own comes later than those of a sequence.
 */
static int escape_key(void)
{
	static const struct {
		char rest[4];
		int key;
	} keys[] = { { "[H", SCREEN_HOME },  { "OH", SCREEN_HOME }, { "[1~", SCREEN_HOME },
		     { "[7~", SCREEN_HOME }, { "[F", SCREEN_END },  { "OF", SCREEN_END },
		     { "[4~", SCREEN_END },  { "[8~", SCREEN_END } };
	char rest[16] = "";
	wint_t key = 0;

	wtimeout(stdscr, 0);
	for (size_t at = 0; at < sizeof(rest) - 1; at++) {
		if (wget_wch(stdscr, &key) != OK || key >= 0x7f)
			break;
		if (!at && key != '[' && key != 'O') {
			unget_wch((wchar_t)key); /* a key of its own, which came fast */
			break;
		}
		rest[at] = (char)key;
		/* the last byte of a sequence is a letter or ~ */
		if (at && key >= '@')
			break;
	}
	wtimeout(stdscr, screen.idle ? screen.idle_ms : -1);
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (!strcmp(rest, keys[i].rest))
			return keys[i].key;
	return rest[0] ? SCREEN_OTHER : SCREEN_ESCAPE;
}

static int key_of_character(wint_t key)
{
	switch (key) {
	case '\r':
	case '\n':
		return SCREEN_ENTER;
	case '\t':
		return SCREEN_TAB;
	case '\b':
	case 0x7f:
		return SCREEN_BACKSPACE;
	case 0x1b:
		return escape_key();
	case 0x0c: /* Control-L */
		clearok(stdscr, TRUE);
		return SCREEN_RESIZED;
	case 0x03: /* Control-C: raw mode has no signals */
		return 'q';
	default:
		return (int)key;
	}
}

/* Returns NO_KEY at the end of the time. */
static int read_key(void)
{
	wint_t key;
	int rc = wget_wch(stdscr, &key);

	if (rc == ERR)
		return NO_KEY;
	return rc == KEY_CODE_YES ? function_key(key) : key_of_character(key);
}

static int get_key(void)
{
	int key;

	if (screen.nr_typed) {
		key = screen.typed[0];
		memmove(screen.typed, screen.typed + 1, --screen.nr_typed * sizeof(key));
		return key;
	}
	key = read_key();
	return key == NO_KEY ? no_key() : key;
}

bool screen_is_quit_waiting(void)
{
	bool found = false;
	int key = 0;

	while (key != NO_KEY && screen.nr_typed < sizeof(screen.typed) / sizeof(screen.typed[0])) {
		wtimeout(stdscr, 0);
		key = read_key();
		if (key != NO_KEY)
			screen.typed[screen.nr_typed++] = key;
	}
	wtimeout(stdscr, screen.idle ? screen.idle_ms : -1);
	for (size_t i = 0; i < screen.nr_typed; i++)
		found |= screen.typed[i] == 'q';
	return found && !screen.dialog;
}

bool screen_has_dialog(void)
{
	return screen.dialog;
}

int screen_key_or_idle(void)
{
	int key;

	do
		key = get_key();
	while (key == NO_KEY);
	return key;
}

int screen_key(void)
{
	int key;

	screen.dialog = true;
	do
		key = screen_key_or_idle();
	while (key == SCREEN_IDLE);
	screen.dialog = false;
	return key;
}
