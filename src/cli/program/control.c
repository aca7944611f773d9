/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <string.h>

#include "commands/event_list.h"
#include "messages.h"
#include "program/control.h"

/* A client that reads no answers causes one message, not one for each command. A process has one
 * channel. */
static bool answer_lost;

int cli_control_open(const char *command, const char *text, struct perch_channel **channel)
{
	struct perch_error err;
	int rc = text ? perch_channel_open(channel, text, &err) : 0;

	if (rc == -EINVAL)
		return cli_usage_error(command, "--control %s", err.message);
	if (rc < 0)
		perch_error_prefix(&err, "--control: ");
	return rc < 0 ? cli_error(command, &err) : 0;
}

void cli_control_list(const struct perch_recorder *recorder,
		      const struct perch_channel_request *request)
{
	struct cli_event_format list = { stderr, request->frequency, request->groups,
					 request->verbose, NULL };
	const struct perch_file_event *events;
	size_t nr = perch_recorder_events(recorder, &events);

	cli_put_events(&list, events, nr);
}

void cli_control_read(const char *command, struct perch_channel *channel, cli_control_call *call,
		      void *context)
{
	struct perch_channel_request request;
	struct perch_error err;
	int rc;

	while ((rc = perch_channel_next(channel, &request, &err))) {
		if (rc < 0)
			cli_note(command, "--control: %s", err.message);
		if (rc < 0 && rc != -EINVAL)
			return;
		if (rc < 0)
			continue;
		rc = call(context, &request, &err);
		if (rc < 0)
			cli_note(command, "--control: %s", err.message);
		rc = perch_channel_answer(channel, rc < 0 ? &err : NULL);
		if (rc < 0 && !answer_lost) {
			cli_note(command, "--control: cannot write the answer: %s", strerror(-rc));
			answer_lost = true;
		}
	}
}
