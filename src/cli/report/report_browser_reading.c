/* SPDX-License-Identifier: MIT */
/* The browser while a large file is read: the rows so far, the progress, and a key to stop. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>

#include "options.h"
#include "report_browser.h"

#define STEP_SECONDS  0.05 /* between two looks at the keys */
#define DRAW_SECONDS  0.3  /* between two displays of the progress */
#define LEAST_SECONDS 1.0  /* between two profiles */
#define MOST_SHARE    0.1  /* of the time that new profiles may take */

struct live {
	struct report_reading *reading;
	/* in seconds after the start: when a new profile is made, and when the progress was shown
	 */
	double next, drawn;
	bool final;
	char stopped[32]; /* what was read when the user stopped; "": all */
};

/* "12%", or "12 MiB" if the size of the file is unknown. */
static void put_done(const struct report_reading *reading, char *text, size_t size)
{
	uint64_t done, total;

	report_read_progress(reading, &done, &total);
	if (total)
		snprintf(text, size, "%u%%", (unsigned)(100.0 * (double)done / (double)total));
	else
		snprintf(text, size, "%" PRIu64 " MiB", done >> 20);
}

static bool idle(void *context)
{
	struct live *live = context;

	if (live->final)
		return false;
	screen_set_idle_ms(0); /* reading goes on at once */
	report_read_until(live->reading, report_read_seconds(live->reading) + STEP_SECONDS, NULL);
	if (live->reading->ended)
		screen_set_idle_ms(100);
	return live->reading->ended ||
	       report_read_seconds(live->reading) >= live->drawn + DRAW_SECONDS;
}

static int refresh(void *context, struct perch_profile **profile)
{
	struct live *live = context;
	struct report_reading *reading = live->reading;
	double start = report_read_seconds(reading), seconds;

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
	if (perch_profile_snapshot(reading->profile, profile, &reading->err)) {
		reading->rc = -ENOMEM;
		return -1;
	}
	seconds = (report_read_seconds(reading) - start) / MOST_SHARE;
	live->drawn = report_read_seconds(reading);
	live->next = live->drawn + (seconds > LEAST_SECONDS ? seconds : LEAST_SECONDS);
	return 0;
}

static bool is_final(void *context)
{
	return ((struct live *)context)->final;
}

static void put_summary(FILE *out, void *context)
{
	const struct report_reading *reading = ((struct live *)context)->reading;
	double left = report_read_seconds_left(reading);
	char done[32];

	put_done(reading, done, sizeof(done));
	fprintf(out, "Reading: %s", done);
	if (isfinite(left))
		fprintf(out, ", about %.0f s left", left);
	fputs(" (q stops)", out);
}

static bool take_key(void *context, int key, char *message, size_t size)
{
	struct live *live = context;

	if (key != 'q' || live->reading->ended)
		return false;
	put_done(live->reading, live->stopped, sizeof(live->stopped));
	report_read_stop(live->reading);
	snprintf(message, size, "Stopped: the rows are of the first %s of the file; q leaves",
		 live->stopped);
	return true;
}

int report_browse_reading(struct report *report, struct report_reading *reading)
{
	struct live live = { .reading = reading };
	const struct browser_live browser = {
		.context = &live,
		.idle = idle,
		.refresh = refresh,
		.put_summary = put_summary,
		.key = take_key,
		.is_final = is_final,
	};
	struct perch_profile *profile;
	int status;

	if (perch_profile_snapshot(reading->profile, &profile, &reading->err))
		return cli_error(REPORT_COMMAND, &reading->err);
	status = browser_run(report, &profile, &browser);
	if (live.final) {
		reading->profile = profile;
	} else {
		perch_profile_free(profile);
		if (!status && reading->rc)
			status = cli_error(REPORT_COMMAND, &reading->err);
	}
	if (live.stopped[0] && !status)
		cli_note(REPORT_COMMAND, "reading was stopped: the rows are of the first %s of %s",
			 live.stopped, report->input.path);
	return status;
}
