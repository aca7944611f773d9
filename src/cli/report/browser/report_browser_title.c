/* SPDX-License-Identifier: MIT */
/* The first line of the report's browser: samples, event, zooms and filters. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/text_stream.h"
#include "options.h"
#include "report_browser.h"

#define SMALL_SCREEN 8 /* rows below which the summary has one line */

static void put_number(FILE *out, uint64_t nr)
{
	char unit = report_scale(&nr);

	fprintf(out, "%" PRIu64, nr);
	if (unit != ' ')
		putc(unit, out);
}

/* The end of a long path names the file. */
static void put_dso(FILE *out, const struct perch_dso *dso)
{
	char path[4096], end[256];

	perch_clean_text(dso->path, path, sizeof(path));
	screen_end_of(path, screen_columns() / 2, end, sizeof(end));
	fputs(end, out);
}

static void put_zooms(FILE *out, const struct browser *browser)
{
	const struct browser_filter *filter = &browser->filter;
	char buffer[PERCH_CELL_BYTES];

	if (browser->lines.nr_rows < browser->nr_rows && browser->all)
		fprintf(out, ", %.2f%% in %zu of %zu rows",
			100.0 * (double)browser->shown / (double)browser->all,
			browser->lines.nr_rows, browser->nr_rows);
	if (filter->dso) {
		fputs(", DSO: ", out);
		put_dso(out, filter->dso);
	}
	if (filter->kernel)
		fputs(", kernel", out);
	if (filter->thread &&
	    report_has_column(&browser->report.keys, perch_column_find("comm", 4)))
		fprintf(out, ", thread: %s",
			perch_profile_cell(browser->profile, filter->thread,
					   perch_column_find("comm", 4), buffer, sizeof(buffer)));
	if (filter->symbol[0])
		fprintf(out, ", symbol: %s", filter->symbol);
	if (filter->limit > 0)
		fprintf(out, ", at least %g%%", filter->limit);
	if (browser->of_shown)
		fputs(", percentages of the rows that are shown", out);
}

static void put_summary(FILE *out, const struct browser *browser)
{
	uint64_t samples = 0, period = 0;

	for (size_t i = 0; i < browser->members; i++) {
		struct perch_profile_total total;

		perch_profile_get_total(browser->profile, browser->event + i, &total);
		samples += browser->report.relative ? total.samples : total.all_samples;
		period +=
			report_total(&browser->report, browser->profile, browser->event + i).period;
	}
	if (browser->live) {
		browser->live->put_summary(out, browser->live->context);
		put_zooms(out, browser);
		return;
	}
	fputs("Samples: ", out);
	put_number(out, samples);
	fprintf(out, " of event%s '", browser->members > 1 ? "s" : "");
	for (size_t i = 0; i < browser->members; i++) {
		fputs(i ? ", " : "", out);
		cli_put_clean(out, browser->events[browser->event + i].name);
	}
	putc('\'', out);
	put_zooms(out, browser); /* first: the end of the line may be cut */
	fprintf(out, ", Event count (approx.): %" PRIu64, period);
}

/* Returns where a text is continued on a second line: behind the last comma, or double space, from
 * which on the rest does not fit. */
static const char *end_of_line(const char *text)
{
	size_t columns = screen_columns();
	const char *end = NULL, *at = text;

	for (size_t used = 0; *at && used <= columns; used++, at += screen_character(at))
		if (at > text && at[0] == ' ' && (at[-1] == ',' || at[1] == ' '))
			end = at;
	return end;
}

static void draw_line(size_t row, const char *text)
{
	bool cut;

	screen_fill(row, screen_put_marked(row, 0, SCREEN_TITLE, text, &cut), SCREEN_TITLE);
}

void browser_draw_summary(struct browser *browser)
{
	const bool is_small = screen_rows() < SMALL_SCREEN;
	char *text = NULL, *first;
	const char *end;
	size_t size;
	FILE *out = perch__open_text(&text, &size);

	browser->summary_lines = 1;
	if (!out)
		return;
	put_summary(out, browser);
	if (!perch__close_text(out, &text))
		return;
	end = is_small || screen_width_of(text) <= screen_columns() ? NULL : end_of_line(text);
	first = end ? strndup(text, (size_t)(end - text)) : NULL;
	draw_line(0, first ? first : text);
	if (first) {
		draw_line(1, end + strspn(end, " "));
		browser->summary_lines = 2;
	}
	free(first);
	free(text);
}
