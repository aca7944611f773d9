/* SPDX-License-Identifier: MIT */
/* The commands of --control. */
#include <errno.h>

#include "report/browser/report_browser.h"
#include "top.h"

static int carry_out(void *context, const struct perch_channel_request *request,
		     struct perch_error *err)
{
	struct top *top = context;
	const struct perch_file_event *events;
	size_t nr;

	switch (request->command) {
	case PERCH_CHANNEL_EVLIST:
		if (report_can_be_browsed(&top->report))
			return perch_error_set(err, EINVAL, PERCH_ERROR_USAGE,
					       "evlist needs --stdio: the terminal has a browser");
		nr = perch_recorder_events(top->recorder, &events);
		cli_control_list(request, events, nr);
		return 0;
	case PERCH_CHANNEL_SNAPSHOT:
		return perch_error_set(err, EINVAL, PERCH_ERROR_USAGE,
				       "snapshot is a command of perch record");
	case PERCH_CHANNEL_STOP:
		top->stopped = true;
		return 0;
	default:
		return perch_recorder_control(top->recorder, request, err);
	}
}

void top_take_commands(struct top *top)
{
	cli_control_read(&top->control, carry_out, top);
}
