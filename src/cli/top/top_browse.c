/* SPDX-License-Identifier: MIT */
/* The browser of perch report, with a profile that is made anew. */
#include <poll.h>

#include "annotate/annotate.h"
#include "report/browser/report_browser.h"
#include "top.h"

#define FIRST_SECONDS 0.5 /* until the first rows */

struct top_live {
	struct top *top;
	int status; /* of reading the rings */
	bool first;
};

bool top_can_be_browsed(const struct top *top)
{
	return report_can_be_browsed(&top->report);
}

static bool idle(void *context)
{
	struct top_live *live = context;
	struct top *top = live->top;
	struct pollfd signals = { top->signals, POLLIN, 0 };

	top_take_commands(top);
	if (top->stopped || poll(&signals, 1, 0) != 0)
		live->status = -1; /* also if it cannot be known */
	if (!live->status && !top->ended)
		live->status = top_read(top);
	screen_set_idle_ms(top->ms);
	if (live->status || (!top->ended && perch_sampler_ended(top->sampler)))
		return true;
	return !top->ended &&
	       top_seconds(top) >= (live->first ? FIRST_SECONDS : (double)top->delay);
}

static int refresh(void *context, struct perch_profile **profile)
{
	struct top_live *live = context;
	struct top *top = live->top;

	*profile = NULL;
	if (live->status)
		return live->status;
	live->first = false;
	top->ended = perch_sampler_ended(top->sampler);
	return top_refresh(top, profile);
}

static bool is_full(void *context)
{
	return top_is_full(((struct top_live *)context)->top);
}

static int restart(void *context, struct perch_profile **profile)
{
	struct top_live *live = context;
	int status = top_restart(live->top);

	return status ? status : refresh(context, profile);
}

static void put_summary(FILE *out, void *context)
{
	const struct top_live *live = context;

	if (live->top->ended)
		fputs("ended  ", out);
	top_put_summary(out, live->top);
}

static bool take_key(void *context, int key, char *message, size_t size)
{
	struct top *top = ((struct top_live *)context)->top;

	if (key != 'z')
		return false;
	top->zero = !top->zero;
	snprintf(message, size, "%s",
		 top->zero ? "Only the samples since the last refresh count"
			   : "Samples lose an eighth of their weight at each refresh");
	return true;
}

/* While instructions are shown. Returns false when the command ends. */
static bool refresh_unseen(void *context)
{
	struct perch_profile *profile;
	struct top_live *live = context;

	if (!live->status)
		live->status = refresh(context, &profile);
	if (!live->status)
		perch_profile_free(profile);
	return !live->status;
}

static void annotate(void *context, const struct perch_symbol *symbol, unsigned event,
		     char *message, size_t size)
{
	const struct top_live *live = context;
	const struct annotate_live shown = {
		.input = &live->top->report.input,
		.refresh = refresh_unseen,
		.context = context,
	};
	struct perch_annotation *annotation;
	struct perch_error err;

	if (top_annotate(live->top, &annotation, &err)) {
		snprintf(message, size, "%s", err.message);
		return;
	}
	annotate_browse_live(&shown, annotation, symbol, event, message, size);
	perch_annotation_free(annotation);
}

int top_browse(struct top *top)
{
	struct top_live live = { .top = top, .first = true };
	const struct browser_live browser = {
		.context = &live,
		.nr_events = top->plan.events.nr,
		.idle = idle,
		.refresh = refresh,
		.is_full = is_full,
		.restart = restart,
		.put_summary = put_summary,
		.key = take_key,
		.annotate = annotate,
	};
	struct perch_profile *profile;
	struct perch_error err;

	if (top_count_addresses(top, &err))
		return cli_error(TOP_COMMAND, &err);
	if (perch_profile_snapshot(top->profile, &profile, &err))
		return cli_error(TOP_COMMAND, &err);
	return report_browse_live(&top->report, profile, &browser);
}
