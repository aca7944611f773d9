/* SPDX-License-Identifier: MIT */
/* --control: perf's commands while counting. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "stat.h"

int stat_for_each_set(struct stat_job *stat, stat_set_call *call)
{
	struct perch_error err;

	for (size_t i = 0; i < stat->nr_parts; i++)
		if (call(stat->part[i].set, &err))
			return cli_error(STAT_COMMAND, &err);
	return 0;
}

struct control {
	struct stat_job *stat;
	stat_end_interval *end_interval; /* may be NULL */
	void *context;
	int status; /* of end_interval */
};

static int control_events(struct stat_job *stat, bool enable, const char *name,
			  struct perch_error *err)
{
	bool found = false;
	char clean[80];
	int rc = 0;

	for (size_t i = 0; i < stat->nr_parts && !rc; i++) {
		struct stat_part *part = &stat->part[i];

		/* members follow their leader, and are enabled if they were disabled by name */
		for (size_t k = 0; k < part->events.nr && !rc; k++) {
			const struct perch_event *event = &part->events.event[k];

			if (name ? strcmp(event->name, name) != 0
				 : !enable || event->leader == (int)k)
				continue;
			rc = perch_set_control(part->set, k, enable, err);
			found = true;
		}
		if (!name && !rc)
			rc = enable ? perch_set_enable(part->set, err)
				    : perch_set_disable(part->set, err);
	}
	if (rc || found || !name)
		return rc;
	perch_clean_text(name, clean, sizeof(clean));
	return perch_error_set(err, ENOENT, PERCH_ERROR_USAGE, "no event '%s' is counted", clean);
}

/* The interval ends while events are disabled: before they are enabled, after they are disabled. */
static int enable_or_disable(struct control *control, bool enable, const char *name,
			     struct perch_error *err)
{
	int rc;

	if (enable && control->end_interval)
		control->status = control->end_interval(control->stat, control->context);
	rc = control_events(control->stat, enable, name, err);
	if (!enable && !rc && control->end_interval)
		control->status = control->end_interval(control->stat, control->context);
	return rc;
}

static int list_events(const struct stat_job *stat, const struct perch_channel_request *request,
		       struct perch_error *err)
{
	for (size_t i = 0; i < stat->nr_parts; i++) {
		const struct perch_events *from = &stat->part[i].events;
		struct perch_file_event *events = calloc(from->nr + 1, sizeof(*events));

		if (!events)
			return PERCH__NO_MEMORY(err, "for the list of events");
		for (size_t k = 0; k < from->nr; k++) {
			events[k].name = from->event[k].name;
			events[k].attr = from->event[k].attr;
			events[from->event[k].leader].members++;
		}
		cli_control_list(request, events, from->nr);
		free(events);
	}
	return 0;
}

static int carry_out(void *context, const struct perch_channel_request *request,
		     struct perch_error *err)
{
	struct control *control = context;

	switch (request->command) {
	case PERCH_CHANNEL_ENABLE:
	case PERCH_CHANNEL_DISABLE:
		return enable_or_disable(control, request->command == PERCH_CHANNEL_ENABLE,
					 request->event, err);
	case PERCH_CHANNEL_EVLIST:
		return list_events(control->stat, request, err);
	case PERCH_CHANNEL_SNAPSHOT:
		return perch_error_set(err, EINVAL, PERCH_ERROR_USAGE,
				       "snapshot is a command of perch record");
	case PERCH_CHANNEL_PING:
		return 0;
	case PERCH_CHANNEL_STOP:
		control->stat->stop_requested = true;
	}
	return 0;
}

int stat_read_control(struct stat_job *stat, stat_end_interval *end_interval, void *context)
{
	struct control control = { stat, end_interval, context, 0 };

	cli_control_read(&stat->control, carry_out, &control);
	return control.status;
}
