/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <string.h>

#include "commands/event_list.h"
#include "messages.h"
#include "program/control.h"

int cli_control_open(struct cli_control *control, const char *command, const char *text)
{
	struct perch_error err;
	int rc = text ? perch_channel_open(&control->channel, text, &err) : 0;

	control->command = command;
	if (rc == -EINVAL)
		return cli_usage_error(command, "--control %s", err.message);
	if (rc < 0)
		perch_error_prefix(&err, "--control: ");
	return rc < 0 ? cli_error(command, &err) : 0;
}

int cli_control_fd(const struct cli_control *control)
{
	return control->channel ? perch_channel_fd(control->channel) : -1;
}

void cli_control_close(struct cli_control *control)
{
	perch_channel_close(control->channel);
}

void cli_control_list(const struct perch_channel_request *request,
		      const struct perch_file_event *events, size_t nr)
{
	struct cli_event_format list = { stderr, request->frequency, request->groups,
					 request->verbose, NULL };

	cli_put_events(&list, events, nr);
}

void cli_control_read(struct cli_control *control, cli_control_call *call, void *context)
{
	struct perch_channel_request request;
	struct perch_error err;
	int rc;

	while (control->channel && (rc = perch_channel_next(control->channel, &request, &err))) {
		if (rc < 0)
			cli_note(control->command, "--control: %s", err.message);
		if (rc < 0 && rc != -EINVAL)
			return;
		if (rc < 0)
			continue;
		rc = call(context, &request, &err);
		if (rc < 0)
			cli_note(control->command, "--control: %s", err.message);
		rc = perch_channel_answer(control->channel, rc < 0 ? &err : NULL);
		if (rc < 0 && !control->answer_lost) {
			cli_note(control->command, "--control: cannot write the answer: %s",
				 strerror(-rc));
			control->answer_lost = true;
		}
	}
}
