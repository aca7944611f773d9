/* SPDX-License-Identifier: MIT */
/* The browser of perch annotate: one function at a time, the hottest instruction first. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "annotate_draw.h"
#include "base/array.h"
#include "browser/screen.h"
#include "options.h"

/* ---- pages ---- */

static void keep_visible(struct functions *functions)
{
	size_t page = annotate_draw_lines(), nr = functions->view.nr_lines;

	if (functions->top + page > nr) /* a larger screen */
		functions->top = nr > page ? nr - page : 0;
	if (functions->cursor < functions->top)
		functions->top = functions->cursor;
	if (functions->cursor >= functions->top + page)
		functions->top = functions->cursor - page + 1;
}

/* Moves the cursor to a line, which is then in the middle of the screen if it was not on it. */
static void move_to(struct functions *functions, size_t line)
{
	size_t page = annotate_draw_lines();

	if (line < functions->top || line >= functions->top + page)
		functions->top = line > page / 2 ? line - page / 2 : 0;
	functions->cursor = line;
}

/* Makes the lines of the current function. */
static void make_view(struct functions *functions)
{
	struct annotate_page *page = &functions->pages.page[functions->current];
	struct perch_error err;
	int rc;

	annotate_view_clear(&functions->view);
	functions->reason[0] = '\0';
	rc = annotate_view_make(&functions->view, functions->annotate, &page->function,
				&page->columns, !page->shown, &err);
	if (rc && !page->shown)
		annotate_count_missing(functions->annotate, page->function.symbol, &err);
	page->shown = true;
	if (rc)
		snprintf(functions->reason, sizeof(functions->reason), "%s%s%s", err.message,
			 err.remedy[0] ? ". " : "", err.remedy);
}

static void show_page(struct functions *functions, size_t page)
{
	functions->current = page;
	make_view(functions);
	functions->cursor = functions->top = functions->hot = functions->left = 0;
	if (functions->view.nr_hot)
		move_to(functions, functions->view.row[functions->view.hot[0]].line);
}

/* Moves the cursor to the hottest instruction of the inlined function that is wanted. */
static void move_to_inlined(struct functions *functions)
{
	const struct annotate_view *view = &functions->view;

	for (size_t i = 0; i < view->nr_hot; i++) {
		const struct view_row *row = &view->row[view->hot[i]];

		if (!annotate_is_inlined(functions->annotate, view->range.dso,
					 row->address - view->range.address + view->range.offset))
			continue;
		functions->hot = i;
		move_to(functions, row->line);
		return;
	}
}

/* Shows the same instruction after the lines were made in another way. */
static void make_view_again(struct functions *functions)
{
	const struct annotate_view *view = &functions->view;
	const struct view_row *row = NULL;
	uint64_t address;
	size_t line = functions->cursor;

	while (line < view->nr_lines && !(row = annotate_view_row(view, line)))
		line++;
	address = row ? row->address : 0;
	make_view(functions);
	line = row ? annotate_view_find(view, address) : NO_LINE;
	functions->hot = 0;
	move_to(functions, line != NO_LINE ? line : 0);
}

/* ---- actions ---- */

static void next_hot(struct functions *functions, bool smaller)
{
	const struct annotate_view *view = &functions->view;
	size_t nr = view->nr_hot;

	if (!nr)
		return;
	/* after other moves, the first one is the hottest */
	if (functions->cursor == view->row[view->hot[functions->hot]].line)
		functions->hot = (functions->hot + (smaller ? 1 : nr - 1)) % nr;
	move_to(functions, view->row[view->hot[functions->hot]].line);
}

static void go_back(struct functions *functions)
{
	struct visit last = functions->visit[--functions->nr_visits];
	size_t line;

	show_page(functions, last.page);
	line = annotate_view_find(&functions->view, last.address);
	if (line != NO_LINE)
		move_to(functions, line);
}

/* Keeps where a call is, for go_back(). Returns false without memory. */
static bool push_visit(struct functions *functions, const struct view_row *row)
{
	if (PERCH__ARRAY_RESERVE_BY_NR(functions->visit, functions->nr_visits, 1)) {
		snprintf(functions->message, sizeof(functions->message), "Out of memory");
		return false;
	}
	functions->visit[functions->nr_visits++] =
		(struct visit){ functions->current, row->address };
	return true;
}

static void show_called(struct functions *functions, const struct view_row *row)
{
	struct perch_symbols *symbols = perch_session_symbols(functions->annotate->input.session);
	const struct perch_symbol *symbol =
		listing_function(symbols, &functions->view.range, row->target);
	size_t page = symbol ? annotate_pages_of(&functions->pages, functions->current, symbol)
			     : ANNOTATE_NO_PAGE;

	if (page == ANNOTATE_NO_PAGE)
		snprintf(functions->message, sizeof(functions->message), "%s",
			 symbol ? "Out of memory" : "No function is at this address");
	else if (push_visit(functions, row))
		show_page(functions, page);
}

static void go_to_target(struct functions *functions)
{
	const struct view_row *row = annotate_view_row(&functions->view, functions->cursor);
	size_t line;

	if (!row || !row->has_target) {
		snprintf(functions->message, sizeof(functions->message),
			 "This line is no jump or call to an address");
		return;
	}
	line = annotate_view_find(&functions->view, row->target);
	if (line == NO_LINE)
		show_called(functions, row);
	else if (row->flow != PERCH_FLOW_CALL || push_visit(functions, row)) /* a call of itself */
		move_to(functions, line);
}

static void search_function(struct functions *functions)
{
	const struct annotate_view *view = &functions->view;

	if (!view->nr_lines ||
	    !screen_ask("Search:", functions->searched, sizeof(functions->searched)) ||
	    !functions->searched[0])
		return;
	for (size_t i = 1; i <= view->nr_lines; i++) {
		size_t line = (functions->cursor + i) % view->nr_lines;

		if (strstr(view->line[line], functions->searched)) {
			move_to(functions, line);
			return;
		}
	}
	snprintf(functions->message, sizeof(functions->message), "No line has \"%s\"",
		 functions->searched);
}

static void select_function(struct functions *functions)
{
	struct perch_symbols *symbols = perch_session_symbols(functions->annotate->input.session);
	char(*names)[200] = calloc(functions->pages.nr, sizeof(*names));
	const char **texts = calloc(functions->pages.nr, sizeof(*texts));
	int selected = -1;

	for (size_t i = 0; names && texts && i < functions->pages.nr; i++) {
		const struct annotate_page *page = &functions->pages.page[i];

		snprintf(names[i], sizeof(names[i]), "%6.2f%%  %.120s  %.60s",
			 annotate_pages_share(functions->annotate, page),
			 perch_symbols_name(symbols, page->function.symbol),
			 perch_symbols_dso_name(symbols, page->function.symbol->dso));
		texts[i] = names[i];
	}
	if (names && texts)
		selected = screen_select("Functions", texts, functions->pages.nr);
	free(names);
	free(texts);
	if (selected >= 0)
		show_page(functions, (size_t)selected);
}

static void print_page(struct functions *functions)
{
	const struct annotate_view *view = &functions->view;
	struct cli_output_file out;

	if (functions->reason[0]) {
		snprintf(functions->message, sizeof(functions->message),
			 "There are no instructions to write");
		return;
	}
	if (!screen_create_file(&out, "perf.annotate", functions->message,
				sizeof(functions->message)))
		return;
	fprintf(out.stream, "%s\n%s %s\n", view->title[TITLE_SAMPLES], view->title[TITLE_FUNCTION],
		view->title[TITLE_DSO]);
	for (size_t i = 0; i < view->nr_lines; i++)
		fprintf(out.stream, "%s\n", view->line[i]);
	screen_close_file(&out, view->nr_lines + 2, functions->message, sizeof(functions->message));
}

/* ---- keys ---- */

static void move_cursor(struct functions *functions, int key)
{
	size_t page = annotate_draw_lines();

	screen_move(key, &functions->cursor, functions->view.nr_lines, page);
}

/* Gives the reason why source lines are not shown. */
static void explain_source(struct functions *functions)
{
	const struct annotate_view *view = &functions->view;
	char path[64];

	if (functions->reason[0])
		return;
	screen_end_of(view->missing, screen_columns() / 2, path, sizeof(path));
	if (!view->has_lines)
		snprintf(functions->message, sizeof(functions->message),
			 "No source lines: compile with -g, or install the debug information");
	else if (path[0])
		snprintf(functions->message, sizeof(functions->message),
			 "Cannot read %s: try perch annotate --prefix DIR, or --symfs", path);
}

/* Shows or hides source lines. A function without them stays as it is. */
static void toggle_source(struct functions *functions)
{
	struct annotate *annotate = functions->annotate;
	bool hides = !annotate->style.no_source && functions->view.nr_source;

	annotate->style.no_source = hides;
	make_view_again(functions);
	if (!hides)
		explain_source(functions);
}

/* Keys that show the function in another way. */
static void change_view(struct functions *functions, int key)
{
	struct annotate *annotate = functions->annotate;

	if (key == 's') {
		toggle_source(functions);
		return;
	}
	if (key == 'p') {
		annotate->style.percent_type ^= ANNOTATE_GLOBAL;
	} else if (key == 'B') {
		annotate->style.percent_type ^= ANNOTATE_HITS;
	} else if (annotate->show_period) {
		annotate->show_period = false;
		annotate->show_samples = true;
	} else {
		annotate->show_period = !annotate->show_samples;
		annotate->show_samples = false;
	}
	make_view_again(functions);
}

/* Returns false to leave. */
static bool go(struct functions *functions, int key)
{
	switch (key) {
	case 'q':
	case SCREEN_ESCAPE:
		if (!functions->nr_visits)
			return false;
		go_back(functions);
		break;
	case SCREEN_LEFT:
		if (functions->left)
			functions->left -= functions->left < 8 ? functions->left : 8;
		else if (!functions->nr_visits)
			return false;
		else
			go_back(functions);
		break;
	case SCREEN_RIGHT:
		functions->left += 8;
		break;
	case '>':
	case '<':
		show_page(functions,
			  (functions->current + (key == '>' ? 1 : functions->pages.nr - 1)) %
				  functions->pages.nr);
		break;
	default:
		break;
	}
	return true;
}

/* Returns false to leave. */
static bool do_key(struct functions *functions, int key)
{
	switch (key) {
	case 'n':
	case SCREEN_TAB:
		next_hot(functions, true);
		break;
	case 'N':
	case SCREEN_BACK_TAB:
		next_hot(functions, false);
		break;
	case 'H':
		functions->hot = 0;
		if (functions->view.nr_hot)
			move_to(functions, functions->view.row[functions->view.hot[0]].line);
		break;
	case SCREEN_ENTER:
		go_to_target(functions);
		break;
	case '/':
		search_function(functions);
		break;
	case 'f':
		select_function(functions);
		break;
	case 's':
	case 't':
	case 'p':
	case 'B':
		change_view(functions, key);
		break;
	case 'P':
		print_page(functions);
		break;
	case 'h':
	case '?':
		annotate_draw_help();
		break;
	case SCREEN_CLOSED:
		return false;
	default:
		if (!go(functions, key))
			return false;
		move_cursor(functions, key);
		break;
	}
	return true;
}

/* Returns the next key that is not idle, or SCREEN_CLOSED if the samples end the command. */
static int next_key(const struct annotate_live *live)
{
	int key = live ? screen_key_or_idle() : screen_key();

	while (live && key == SCREEN_IDLE)
		key = live->refresh(live->context) ? screen_key_or_idle() : SCREEN_CLOSED;
	return key;
}

/* Shows a function, then what keys select. note: the message at first. live: NULL if all samples
 * were read. */
static void browse_functions(struct functions *functions, size_t page, const char *note,
			     const struct annotate_live *live)
{
	int key;

	show_page(functions, page);
	if (functions->annotate->by_inlined)
		move_to_inlined(functions);
	snprintf(functions->message, sizeof(functions->message), "%s", note);
	do {
		keep_visible(functions);
		annotate_draw(functions);
		functions->message[0] = '\0';
		key = next_key(live);
	} while (do_key(functions, key));
}

static void clear_functions(struct functions *functions)
{
	annotate_view_clear(&functions->view);
	annotate_pages_clear(&functions->pages);
	free(functions->visit);
}

/* Finds the functions. Returns 0, or the exit status after it has printed an error. */
static int find_functions(struct functions *functions, char *note, size_t size)
{
	int status = annotate_find_inlined(functions->annotate, note, size);

	return status ? status : annotate_pages_find(&functions->pages, functions->annotate);
}

int annotate_browse(struct annotate *annotate)
{
	struct functions functions = { .annotate = annotate };
	char note[sizeof(functions.message)];
	int status = find_functions(&functions, note, sizeof(note));
	size_t wanted = annotate_pages_wanted(&functions.pages, functions.annotate);

	if (!status && wanted == ANNOTATE_NO_PAGE)
		status = annotate_explain_nothing(annotate);
	else if (!status && !screen_open())
		status = cli_usage_error(ANNOTATE_COMMAND,
					 "the terminal of the variable TERM is unknown: use "
					 "--stdio2");
	else if (!status) {
		browse_functions(&functions, wanted, note, NULL);
		screen_close();
	}
	clear_functions(&functions);
	return status;
}

void annotate_browse_live(const struct annotate_live *live, struct perch_annotation *annotation,
			  const struct perch_symbol *symbol, unsigned event, char *message,
			  size_t size)
{
	struct perch_session *session = live->input->session;
	struct annotate annotate = {
		.input = *live->input,
		.annotation = annotation,
		.symbol = perch_symbols_name(perch_session_symbols(session), symbol),
		.layout = LAYOUT_BROWSER,
		.origin = { symbol->dso->path, symbol->start, event },
	};
	const struct perch_sources_options sources = {
		.root = live->input->options.symbols.root,
	};
	struct functions functions = { .annotate = &annotate };
	char note[sizeof(functions.message)];
	size_t wanted;

	perch_sources_new(&annotate.sources, &sources, NULL); /* or no lines are shown */
	annotate.nr_events = perch_reader_events(perch_session_reader(session), &annotate.events);
	if (!find_functions(&functions, note, sizeof(note))) {
		wanted = annotate_pages_wanted(&functions.pages, functions.annotate);
		if (wanted == ANNOTATE_NO_PAGE)
			snprintf(message, size, "%.150s has no samples of its own",
				 annotate.symbol);
		else
			browse_functions(&functions, wanted, note, live);
	}
	clear_functions(&functions);
	perch_sources_free(annotate.sources);
}
