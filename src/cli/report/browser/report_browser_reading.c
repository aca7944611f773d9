/* SPDX-License-Identifier: MIT */
/* The browser while a large file is read: the rows so far, the progress, and a key to stop. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "options.h"
#include "report_browser.h"

#define STEP_SECONDS  0.05 /* between two looks at the keys */
#define DRAW_SECONDS  0.3  /* between two displays of the progress */
#define LEAST_SECONDS 1.0  /* between two profiles */
#define MOST_SHARE    0.1  /* of the time that new profiles may take */

struct reading_live {
	struct report_reading *reading;
	/* in seconds after the start: when a new profile is made, and when the progress was shown
	 */
	double next, drawn;
	bool final;
};

/* While samples are merged, which keys have to wait for. Only q ends it. */
static bool busy(void *context, const struct report_reading *reading)
{
	struct reading_live *live = context;
	size_t row = screen_rows() - 1;
	char text[160];

	if (!reading->merging || screen_has_dialog())
		return true;
	if (report_read_seconds(reading) >= live->drawn + DRAW_SECONDS) {
		report_read_describe(reading, text, sizeof(text));
		strcat(text, " (q stops)");
		screen_fill(row, screen_put(row, 0, SCREEN_TITLE, text), SCREEN_TITLE);
		screen_show();
		live->drawn = report_read_seconds(reading);
	}
	return !screen_is_quit_waiting();
}

static bool idle_while_reading(void *context)
{
	struct reading_live *live = context;

	if (live->final)
		return false;
	screen_set_idle_ms(0); /* reading goes on at once */
	report_read_until(live->reading, report_read_seconds(live->reading) + STEP_SECONDS);
	if (live->reading->ended)
		screen_set_idle_ms(100);
	return live->reading->ended ||
	       report_read_seconds(live->reading) >= live->drawn + DRAW_SECONDS;
}

static int refresh_reading(void *context, struct perch_profile **profile)
{
	struct reading_live *live = context;
	struct report_reading *reading = live->reading;
	double start = report_read_seconds(reading), seconds;
	int rc;

	*profile = NULL;
	if (reading->rc)
		return -1; /* the message follows on the terminal */
	if (reading->ended) {
		live->final = true;
		*profile = reading->profile;
		reading->profile = NULL;
		return 0;
	}
	live->drawn = start;
	if (start < live->next)
		return 0;
	rc = report_read_snapshot(reading, profile);
	if (rc == -ECANCELED) /* q, which is read next */
		return 0;
	if (rc) {
		reading->rc = rc;
		return -1;
	}
	seconds = (report_read_seconds(reading) - start) / MOST_SHARE;
	live->drawn = report_read_seconds(reading);
	live->next = live->drawn + (seconds > LEAST_SECONDS ? seconds : LEAST_SECONDS);
	return 0;
}

static bool is_final(void *context)
{
	return ((struct reading_live *)context)->final;
}

static void put_summary(FILE *out, void *context)
{
	const struct report_reading *reading = ((struct reading_live *)context)->reading;
	double left = report_read_seconds_left(reading);
	char done[32];

	report_read_put_done(reading, done, sizeof(done));
	fprintf(out, "Reading: %s", done);
	if (isfinite(left))
		fprintf(out, ", about %.0f s left", left);
	fputs(" (q stops)", out);
}

static bool take_key(void *context, int key, char *message, size_t size)
{
	struct reading_live *live = context;

	if (key != 'q' || live->reading->ended)
		return false;
	report_read_stop(live->reading);
	snprintf(message, size, "Stopped: the rows are of the first %s of the file; q leaves",
		 live->reading->stopped);
	return true;
}

int report_browse_reading(struct report *report, struct report_reading *reading,
			  struct perch_profile *first)
{
	struct reading_live live = { .reading = reading };
	const struct browser_live browser = {
		.context = &live,
		.idle = idle_while_reading,
		.refresh = refresh_reading,
		.put_summary = put_summary,
		.key = take_key,
		.is_final = is_final,
	};
	int status;

	reading->busy = busy;
	reading->busy_context = &live;
	status = browser_run(report, &first, &browser);
	reading->busy = NULL;
	reading->busy_context = NULL;
	if (live.final) {
		reading->profile = first;
		return status;
	}
	perch_profile_free(first);
	if (!status && reading->rc && reading->rc != -ECANCELED)
		status = cli_error(report->input.command, &reading->err);
	return status;
}
