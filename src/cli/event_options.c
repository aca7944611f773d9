/* SPDX-License-Identifier: MIT */
#include <errno.h>

#include "event_options.h"
#include "options.h"

static int refuse_negation(const char *command, const char *name)
{
	cli_usage_error(command, "--%s cannot be negated", name);
	return -EINVAL;
}

int cli_add_events(const char *command, struct perch_events *events, size_t *last, const char *text,
		   struct perch_machine *machine)
{
	size_t before = events->nr;
	struct perch_error err;
	int rc;

	if (!text)
		return refuse_negation(command, "event");
	rc = perch_events_add(events, text, machine, &err);
	if (rc < 0)
		cli_event_error(command, text, &err);
	else
		*last = before;
	return rc;
}

int cli_add_event_file(const char *command, struct perch_events *events, size_t *last, const char *path,
		       struct perch_machine *machine)
{
	size_t before = events->nr;
	struct perch_error err;
	int rc;

	if (!path)
		return refuse_negation(command, "event-file");
	rc = perch_events_add_file(events, path, machine, &err);
	if (rc < 0)
		cli_error(command, &err);
	else
		*last = before;
	return rc;
}

int cli_add_filter(const char *command, struct perch_events *events, size_t last, const char *filter,
		   struct perch_machine *machine)
{
	struct perch_error err;
	int rc;

	if (!filter)
		return refuse_negation(command, "filter");
	if (!events->nr) {
		cli_usage_error(command, "--filter must follow the -e that it filters, and there is none before it");
		return -EINVAL;
	}
	rc = perch_events_set_filter(events, last, filter, machine, &err);
	if (rc < 0)
		cli_error(command, &err);
	return rc;
}
