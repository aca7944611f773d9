/* SPDX-License-Identifier: MIT */
/*
 * The browser of perch report on a terminal: report_browser.c (events, keys),
 * report_browser_view.c (what is shown and how it is drawn), report_browser_title.c (the first
 * line), report_browser_actions.c (annotation, menus, files), report_browser_live.c (new rows of
 * perch top), report_browser_reading.c (rows while a file is read). browser/ has the lines and the
 * screen.
 */
#ifndef PERCH_CLI_REPORT_BROWSER_H
#define PERCH_CLI_REPORT_BROWSER_H

#include "browser/lines.h"
#include "browser/screen.h"
#include "report/report.h"
#include "report/report_group.h"

/* A profile that changes while it is shown. */
struct browser_live {
	void *context;
	size_t nr_events;
	/* Reads samples; called at least ten times a second. Returns true if refresh() has
	 * something to do. */
	bool (*idle)(void *context);
	/* Sets *profile to a new profile, or NULL. Returns 0, the exit status, or -1 to leave. */
	int (*refresh)(void *context, struct perch_profile **profile);
	/* True if the symbols of the profiles are freed by restart(). */
	bool (*is_full)(void *context);
	int (*restart)(void *context, struct perch_profile **profile);
	/* The start of the first line. */
	void (*put_summary)(FILE *out, void *context);
	/* Returns true if the key is one of the command's own; the message is then shown. */
	bool (*key)(void *context, int key, char *message, size_t size);
	/* Shows the instructions of a function with the samples of an event; NULL: they cannot be
	 * shown. */
	void (*annotate)(void *context, const struct perch_symbol *symbol, unsigned event,
			 char *message, size_t size);
	/* True if the last profile will not change any more; NULL: never. */
	bool (*is_final)(void *context);
};

/* Which rows are shown. */
struct browser_filter {
	char symbol[128];		      /* part of the name; "": all */
	const struct perch_dso *dso;	      /* NULL: all */
	bool kernel;			      /* only the kernel */
	const struct perch_row *thread;	      /* rows with the same comm, pid and tid; NULL: all */
	const struct perch_column *column[3]; /* those of them that rows have */
	size_t nr_columns;
	double limit; /* percent */
};

/* Widths of columns, as in struct report_table. */
struct browser_widths {
	size_t width[REPORT_COLUMNS];
	bool fitted[REPORT_COLUMNS];
};

struct browser {
	struct report report; /* with the columns of the event */
	struct perch_profile *profile;
	const struct perch_file_event *events;
	size_t nr_events;
	unsigned event; /* the first one that is shown */
	size_t members; /* events side by side */
	struct report_group group;
	struct report_table table;
	uint64_t all;		   /* the period of 100 % of all rows */
	struct report_total whole; /* the same, with the latency */
	uint64_t shown;		   /* the period of the rows that are shown */
	const struct perch_row *row;
	size_t nr_rows;
	struct browser_filter filter;
	bool of_shown; /* percentages are of the rows that are shown */
	bool by_self;  /* rows are sorted by their own share, not by that with callees */
	bool titles;
	size_t summary_lines; /* the first line, or two if it is long */
	struct browser_lines lines;
	size_t cursor, top;		 /* numbers of lines */
	struct browser_widths widths;	 /* of columns that are not fitted to the screen */
	size_t scroll;			 /* how often the view was moved to the right */
	bool cut;			 /* lines are longer than the screen */
	bool full;			 /* -v: columns are not fitted to the screen */
	char message[256];		 /* on the last line, until the next key */
	const struct browser_live *live; /* NULL: the profile does not change */
};

/* True if the report can be browsed: on a terminal, and not in another form. */
bool report_can_be_browsed(const struct report *report);
/* Shows the profile until the user leaves. Returns the exit status. */
int report_browse(struct report *report, struct perch_profile *profile);

/* Shows a live profile until the user leaves, and frees it. The report has the columns. */
int report_browse_live(struct report *report, struct perch_profile *profile,
		       const struct browser_live *live);

/* Shows a profile of what was read so far, which it frees, while the rest is read. Returns the exit
 * status. */
int report_browse_reading(struct report *report, struct report_reading *reading,
			  struct perch_profile *first);

/* ---- report_browser.c ---- */

/* Shows a profile, which may change, from its first event with samples on, or from event 0 on.
 * Returns the exit status; *profile is the last one. */
int browser_run(const struct report *report, struct perch_profile **profile,
		const struct browser_live *live);

/* ---- report_browser_live.c ---- */

/* Shows another profile with the same columns and events, and frees the one before. Returns 0 or
 * the exit status. */
int browser_replace_profile(struct browser *browser, const struct report *report,
			    struct perch_profile *profile);

/* ---- report_browser_title.c ---- */

/* Draws the first line, and sets browser->summary_lines. */
void browser_draw_summary(struct browser *browser);

/* ---- report_browser_view.c ---- */

/* Shows an event. Returns 0, or the exit status. */
int browser_show_event(struct browser *browser, const struct report *report, unsigned event);
void browser_close_event(struct browser *browser);
/* Selects the rows by the filter. The cursor stays on its row if that is still shown. */
int browser_select(struct browser *browser);
void browser_draw(struct browser *browser);
/* The rows and branches that the screen shows. */
size_t browser_page(const struct browser *browser);
/* Moves the view by a column. After the last column it moves by some characters. */
void browser_scroll(struct browser *browser, bool right);
/* Writes all lines as text. */
void browser_write(struct browser *browser, FILE *out);
browser_make_graph browser_graph_of_row;

/* ---- report_browser_actions.c ---- */

void browser_show_help(void);
void browser_show_header(struct browser *browser);
/* Annotates the function of a row or branch, by perch annotate. */
void browser_annotate(struct browser *browser, const struct perch_frame *frame);
/* Writes the lines into the first file perf.hist.N that does not exist. */
void browser_print(struct browser *browser);
/* Lets the user select an event; returns false if another file was selected, whose path is then in
 * `file`, or nothing. */
bool browser_switch(struct browser *browser, unsigned *event, char *file, size_t size);
/* Starts the command anew with two arguments more. Returns only after an error. */
void browser_restart(struct browser *browser, const char *option, const char *value);

#endif
