/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "main_event.h"
#include "options.h"
#include "report_browser.h"

#define UNFOLDED_ROWS 1000 /* of the key E */

bool report_can_be_browsed(const struct report *report)
{
	return !report->stdio && !report->json && !report->hierarchy && !report->blocks &&
	       !report->separator && !report->threads && !report->header && !report->quiet &&
	       screen_is_possible();
}

/* A page up or down moves the view, too. */
static bool move_cursor(struct browser *browser, int key)
{
	size_t last = browser->lines.nr ? browser->lines.nr - 1 : 0, page = browser_page(browser);
	size_t *top = &browser->top;

	if (key == SCREEN_PAGE_UP || key == 'b')
		*top = *top > page ? *top - page : 0;
	else if (key == SCREEN_PAGE_DOWN || key == ' ')
		*top = *top + page < last ? *top + page : last;
	return screen_move(key, &browser->cursor, browser->lines.nr, page);
}

/* ---- call graphs ---- */

static bool has_graphs(struct browser *browser, bool say_so)
{
	bool found = browser->report.graph.shape != SHAPE_NONE;

	if (!found && say_so)
		snprintf(browser->message, sizeof(browser->message),
			 "The rows have no call graph: the samples lack call chains (record with "
			 "-g), or -g none is given");
	return found;
}

/* Folds or unfolds the line of the cursor. Returns false if it has no branches. */
static bool toggle(struct browser *browser, bool all)
{
	struct browser_line line;
	int rc;

	if (!has_graphs(browser, all) || !browser->lines.nr)
		return false;
	line = browser_lines_get(&browser->lines, browser->cursor);
	rc = all ? browser_lines_toggle_all(&browser->lines, browser->cursor, browser_graph_of_row,
					    browser)
		 : browser_lines_toggle(&browser->lines, browser->cursor, browser_graph_of_row,
					browser);
	if (rc < 0)
		snprintf(browser->message, sizeof(browser->message),
			 "No memory for the call graph");
	if (all && rc > 0) /* the branch of the cursor may be gone */
		browser->cursor = browser_lines_of_row(&browser->lines, line.at);
	return rc != 0;
}

static void unfold_all(struct browser *browser)
{
	size_t row;

	if (!has_graphs(browser, true) || !browser->lines.nr)
		return;
	row = browser_lines_get(&browser->lines, browser->cursor).at;
	if (browser_lines_unfold(&browser->lines, UNFOLDED_ROWS, browser_graph_of_row, browser))
		snprintf(browser->message, sizeof(browser->message), "No memory for call graphs");
	else if (browser->lines.nr_rows > UNFOLDED_ROWS)
		snprintf(browser->message, sizeof(browser->message),
			 "The first %d rows are unfolded", UNFOLDED_ROWS);
	browser->cursor = browser_lines_of_row(&browser->lines, row);
}

static void fold_all(struct browser *browser)
{
	size_t row = browser->lines.nr ? browser_lines_get(&browser->lines, browser->cursor).at : 0;

	browser_lines_fold(&browser->lines);
	browser->cursor = row;
}

/* ---- filters ---- */

static bool has_key(const struct browser *browser, const char *name)
{
	return report_has_column(&browser->report.keys, perch_column_find(name, strlen(name)));
}

static void note_missing_key(struct browser *browser, const char *names)
{
	snprintf(browser->message, sizeof(browser->message),
		 "This needs the column %s: press o to add it", names);
}

/* The row of the cursor; NULL if there is none. */
static const struct perch_row *current_row(const struct browser *browser)
{
	if (!browser->lines.nr)
		return NULL;
	return &browser->row[browser_lines_get(&browser->lines, browser->cursor).row];
}

/* The function of the line of the cursor: that of the row or of the branch. */
static const struct perch_frame *current_frame(const struct browser *browser)
{
	struct browser_line line;

	if (!browser->lines.nr)
		return NULL;
	line = browser_lines_get(&browser->lines, browser->cursor);
	return line.branch ? &line.open->graph.node[line.branch->node].frame
			   : &browser->row[line.row].frame;
}

static void zoom_dso(struct browser *browser)
{
	const struct perch_row *row = current_row(browser);

	if (!browser->filter.dso && (!row || !has_key(browser, "dso")))
		note_missing_key(browser, "dso");
	else
		browser->filter.dso = browser->filter.dso ? NULL : row->frame.dso;
}

static void zoom_thread(struct browser *browser)
{
	const struct perch_row *row = current_row(browser);

	if (browser->filter.thread)
		browser->filter.thread = NULL;
	else if (!row || (!has_key(browser, "comm") && !has_key(browser, "pid") &&
			  !has_key(browser, "tid")))
		note_missing_key(browser, "comm, pid or tid");
	else
		browser->filter.thread = row;
}

static void zoom_kernel(struct browser *browser)
{
	if (!has_key(browser, "sym") && !has_key(browser, "dso"))
		note_missing_key(browser, "sym or dso");
	else
		browser->filter.kernel = !browser->filter.kernel;
}

/* Removes the last filter. Returns false if there is none. */
static bool zoom_out(struct browser *browser)
{
	struct browser_filter *filter = &browser->filter;

	if (filter->symbol[0])
		filter->symbol[0] = '\0';
	else if (filter->dso)
		filter->dso = NULL;
	else if (filter->thread)
		filter->thread = NULL;
	else if (filter->kernel)
		filter->kernel = false;
	else if (filter->limit > 0)
		filter->limit = 0;
	else
		return false;
	return true;
}

static void ask_limit(struct browser *browser)
{
	char text[32], *end;
	double limit;

	snprintf(text, sizeof(text), "%g", browser->filter.limit);
	if (!screen_ask("Least percentage of rows:", text, sizeof(text)))
		return;
	limit = strtod(text, &end);
	if (*end || end == text || !(limit >= 0 && limit <= 100))
		snprintf(browser->message, sizeof(browser->message),
			 "A percentage is a number from 0 to 100");
	else
		browser->filter.limit = limit;
}

/* ---- events, files, columns ---- */

/* Returns the next event with samples, in a direction, or the current one. */
static unsigned next_event(const struct browser *browser, int step)
{
	unsigned nr = (unsigned)browser->nr_events, event = browser->event;

	for (unsigned i = 0; i < nr; i++) {
		struct perch_profile_total total;

		if (step < 0)
			event = event ? event - 1 : nr - 1;
		else
			event = (event + (i ? 1 : (unsigned)browser->members)) % nr;
		perch_profile_get_total(browser->profile, event, &total);
		if (total.all_samples)
			return event;
	}
	return browser->event;
}

static uint64_t samples_of(const void *context, uint32_t event)
{
	const struct browser *browser = context;
	struct perch_profile_total total;

	perch_profile_get_total(browser->profile, event, &total);
	return total.all_samples;
}

/* The event, or the first one of the group, that is shown first. */
static unsigned first_event(const struct browser *browser, const struct report *report)
{
	unsigned nr = (unsigned)browser->nr_events, at = 0, members;
	unsigned event = cli_main_event(browser->events, nr, samples_of, browser);

	while (at < nr) {
		members = (unsigned)report_group_events(report, browser->events, at, nr - at);
		if (event < at + members)
			return at;
		at += members;
	}
	return 0;
}

/* Says what the first event leaves out. */
static void note_other_events(struct browser *browser)
{
	uint64_t others = 0;

	for (unsigned i = 0; i < browser->nr_events; i++)
		if (i < browser->event || i >= browser->event + browser->members)
			others += samples_of(browser, i);
	if (others)
		snprintf(browser->message, sizeof(browser->message),
			 "%" PRIu64 " %s of other events: Tab shows the next one", others,
			 cli_word(others, "sample", "samples"));
}

static int show_event(struct browser *browser, const struct report *report, unsigned event)
{
	if (event == browser->event)
		return 0;
	browser->scroll = 0;
	browser_close_event(browser);
	return browser_show_event(browser, report, event);
}

/* Sorts rows by their own share, or again by that with callees. */
static int change_order(struct browser *browser, const struct report *report)
{
	const struct perch_row *thread = browser->filter.thread;
	uint32_t index = thread ? thread->index : 0;
	int status;

	if (!browser->report.children) {
		snprintf(
			browser->message, sizeof(browser->message),
			"The rows have no share with callees (Children): they are sorted by their own");
		return 0;
	}
	browser->by_self = !browser->by_self;
	browser_close_event(browser);
	status = browser_show_event(browser, report, browser->event);
	for (size_t i = 0; thread && !status && i < browser->nr_rows; i++)
		if (browser->row[i].index == index)
			browser->filter.thread = &browser->row[i];
	if (!status && thread)
		status = browser_select(browser);
	browser->cursor = browser->top = 0;
	snprintf(browser->message, sizeof(browser->message), "Rows are sorted by %s",
		 browser->by_self ? "their own share (Self)" : "the share with callees (Children)");
	return status;
}

static int switch_event_or_file(struct browser *browser, const struct report *report)
{
	unsigned event = browser->event;
	char file[4096];

	if (browser_switch(browser, &event, file, sizeof(file)))
		return show_event(browser, report, event);
	if (file[0])
		browser_restart(browser, "-i", file);
	return 0;
}

static void ask_columns(struct browser *browser)
{
	char names[512] = "";

	for (size_t i = 0; i < browser->report.keys.nr; i++)
		snprintf(names + strlen(names), sizeof(names) - strlen(names), "%s%s", i ? "," : "",
			 browser->report.keys.column[i]->name);
	if (!screen_ask("Columns:", names, sizeof(names)))
		return;
	if (report_are_columns(&browser->report, names, browser->message, sizeof(browser->message)))
		browser_restart(browser, "-s", strdup(names));
}

static void annotate_row(struct browser *browser)
{
	const struct perch_frame *frame = current_frame(browser);

	if (browser->live && !browser->live->annotate)
		snprintf(browser->message, sizeof(browser->message),
			 "Instructions can be shown when the file has been read");
	else if (!has_key(browser, "sym"))
		note_missing_key(browser, "sym");
	else if (!frame)
		snprintf(browser->message, sizeof(browser->message), "There is no row");
	else if (!frame->symbol)
		snprintf(browser->message, sizeof(browser->message),
			 "An address without a function cannot be annotated");
	else if (browser->live)
		browser->live->annotate(browser->live->context, frame->symbol, browser->event,
					browser->message, sizeof(browser->message));
	else
		browser_annotate(browser, frame);
}

/* The menu of a row. Returns the key of what was selected. */
static int menu(void)
{
	static const struct {
		const char *text;
		int key;
	} items[] = {
		{ "Annotate the function", 'a' },
		{ "Zoom into or out of the DSO", 'd' },
		{ "Zoom into or out of the thread", 't' },
		{ "Zoom into or out of the kernel", 'k' },
		{ "Show only functions with a text in their name", '/' },
		{ "Unfold or fold the row with all branches", 'e' },
		{ "Group by other columns", 'o' },
		{ "Sort by Self, or by Children", 'O' },
		{ "Another event or file", 's' },
		{ "Write the lines to a file", 'P' },
		{ "Leave", 'q' },
	};
	const char *texts[CLI_NR(items)];
	int selected;

	for (size_t i = 0; i < CLI_NR(items); i++)
		texts[i] = items[i].text;
	selected = screen_select("Menu", texts, CLI_NR(items));
	return selected < 0 ? SCREEN_OTHER : items[selected].key;
}

/* ---- keys ---- */

/* Keys that change which rows are shown. Returns true if the key is one of them. */
static bool change_filter(struct browser *browser, int key)
{
	switch (key) {
	case 'd':
		zoom_dso(browser);
		return true;
	case 't':
		zoom_thread(browser);
		return true;
	case 'k':
		zoom_kernel(browser);
		return true;
	case '/':
		screen_ask("Part of the function's name:", browser->filter.symbol,
			   sizeof(browser->filter.symbol));
		return true;
	case 'L':
		ask_limit(browser);
		return true;
	case 'F':
		if (browser->report.children)
			snprintf(browser->message, sizeof(browser->message),
				 "The shares of callers are of all samples: F needs --no-children");
		else
			browser->of_shown = !browser->of_shown;
		return true;
	case SCREEN_ESCAPE:
	case SCREEN_LEFT:
		return zoom_out(browser);
	default:
		return false;
	}
}

static void change_view(struct browser *browser, int key)
{
	switch (key) {
	case '+':
		toggle(browser, false);
		break;
	case 'e':
		toggle(browser, true);
		break;
	case 'E':
		unfold_all(browser);
		break;
	case 'C':
		fold_all(browser);
		break;
	case 'H':
		browser->titles = !browser->titles;
		break;
	case 'a':
		annotate_row(browser);
		break;
	case 'P':
		browser_print(browser);
		break;
	case 'i':
		browser_show_header(browser);
		break;
	case 'o':
		ask_columns(browser);
		break;
	case 'h':
	case '?':
		browser_show_help();
		break;
	default:
		if (key > ' ' && key <= '~')
			snprintf(browser->message, sizeof(browser->message),
				 "%c is no key of this browser: h shows the keys", key);
		break;
	}
}

/* Returns 0, the exit status, or -1 to leave. */
static int do_key(struct browser *browser, const struct report *report, int key)
{
	if (key == 'q' || key == SCREEN_CLOSED)
		return -1;
	if (move_cursor(browser, key))
		return 0;
	if (key == SCREEN_RIGHT || (key == SCREEN_LEFT && browser->scroll)) {
		browser_scroll(browser, key == SCREEN_RIGHT);
		return 0;
	}
	if (key == SCREEN_TAB || key == SCREEN_BACK_TAB)
		return show_event(browser, report, next_event(browser, key == SCREEN_TAB ? 1 : -1));
	if (key == 's')
		return switch_event_or_file(browser, report);
	if (key == 'O')
		return change_order(browser, report);
	if (change_filter(browser, key))
		return browser_select(browser);
	/* as in perf, the view of an event is left for the list of the events */
	if (key == SCREEN_LEFT && browser->nr_events > browser->members)
		return switch_event_or_file(browser, report);
	change_view(browser, key);
	return 0;
}

/* Takes what is new in a live profile. Returns 0, the exit status, or -1 to leave. */
static int refresh_rows(struct browser *browser, const struct report *report)
{
	const struct browser_live *live = browser->live;
	struct perch_profile *profile = NULL;
	int status;

	if (live->is_full && live->is_full(live->context)) {
		browser_close_event(browser);
		perch_profile_free(browser->profile);
		browser->profile = NULL;
		browser->filter.dso = NULL;
		status = live->restart(live->context, &browser->profile);
		if (status)
			return status;
		/* of the new session */
		perch_reader_events(perch_session_reader(report->input.session), &browser->events);
		return browser_show_event(browser, report, browser->event);
	}
	status = live->refresh(live->context, &profile);
	if (status || !profile)
		return status;
	status = browser_replace_profile(browser, report, profile);
	if (!status && live->is_final && live->is_final(live->context)) {
		browser->live = NULL;
		screen_set_idle(NULL, NULL);
	}
	return status;
}

static int next_key(struct browser *browser, const struct report *report)
{
	const struct browser_live *live = browser->live;
	int key = screen_key_or_idle();

	if (key == SCREEN_IDLE)
		return refresh_rows(browser, report);
	browser->message[0] = '\0';
	if (key == 'm')
		key = menu();
	else if (key == SCREEN_ENTER)
		key = toggle(browser, false) ? SCREEN_OTHER : menu();
	if (live && live->key(live->context, key, browser->message, sizeof(browser->message)))
		return 0;
	return do_key(browser, report, key);
}

/* Returns the exit status. */
static int browse(struct browser *browser, const struct report *report)
{
	const struct browser_live *live = browser->live;
	int status;

	browser->titles = true;
	browser->members = 1;
	browser->filter.limit = report->percent_limit;
	if (!screen_open()) {
		cli_note(report->input.command,
			 "the type of the terminal is unknown: --stdio prints text");
		return CLI_EXIT_FAILURE;
	}
	if (live)
		screen_set_idle(live->idle, live->context);
	status = browser_show_event(browser, report, browser->event);
	if (!status && !live)
		note_other_events(browser);
	while (!status) {
		browser_draw(browser);
		status = next_key(browser, report);
	}
	if (browser->profile)
		browser_close_event(browser);
	screen_close();
	return status < 0 ? 0 : status;
}

int browser_run(const struct report *report, struct perch_profile **profile,
		const struct browser_live *live)
{
	struct browser browser = { .profile = *profile, .members = 1, .live = live };
	int status;

	browser.nr_events =
		perch_reader_events(perch_session_reader(report->input.session), &browser.events);
	if (live && live->nr_events)
		browser.nr_events = live->nr_events;
	browser.event = first_event(&browser, report);
	status = browse(&browser, report);
	*profile = browser.profile;
	return status;
}

int report_browse(struct report *report, struct perch_profile *profile)
{
	return browser_run(report, &profile, NULL);
}

int report_browse_live(struct report *report, struct perch_profile *profile,
		       const struct browser_live *live)
{
	int status = browser_run(report, &profile, live);

	perch_profile_free(profile);
	return status;
}
