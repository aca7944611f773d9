/* SPDX-License-Identifier: MIT */
/* The events that formats have. Those of the kinds of cores of a hybrid CPU are one. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/kernel/dummy_event.h"
#include "internal.h"

/* Joins an event to one before it. Returns 0 or -ENOMEM. */
static int join_event(struct perch_export *export, const struct perch_file_event *event,
		      uint32_t index)
{
	char joined[PERCH__EVENT_NAME];

	export->event[index].leader = index;
	for (uint32_t i = 0; i < index; i++) {
		struct export_event *leader = &export->event[i];

		if (leader->leader != i ||
		    !perch__are_one_event(event[i].name, &event[i].attr, event[index].name,
					  &event[index].attr))
			continue;
		export->event[index].leader = i;
		if (!leader->name && perch__joined_name(event[i].name, joined, sizeof(joined)))
			leader->name = strdup(joined);
		return leader->name || !strcmp(event[i].name, event[index].name) ? 0 : -ENOMEM;
	}
	return 0;
}

int perch__export_events_open(struct perch_export *export)
{
	const struct perch_file_event *event;
	size_t nr = perch_reader_events(perch_session_reader(export->session), &event);

	export->event = calloc(nr + 1, sizeof(*export->event));
	if (!export->event)
		return -ENOMEM;
	export->nr_events = nr;
	for (uint32_t i = 0; i < nr; i++)
		if (join_event(export, event, i))
			return -ENOMEM;
	return 0;
}

void perch__export_events_close(struct perch_export *export)
{
	for (size_t i = 0; i < export->nr_events; i++)
		free(export->event[i].name);
	free(export->event);
}

const char *perch__export_event_name(const struct perch_export *export, uint32_t index)
{
	const struct perch_file_event *event;

	perch_reader_events(perch_session_reader(export->session), &event);
	return export->event[index].name ? export->event[index].name : event[index].name;
}

/* ---- the event that is shown ---- */

/* Sets the error that names all events. */
static int no_event(const struct perch_export *export, const char *wanted, struct perch_error *err)
{
	char names[512] = "";

	for (uint32_t i = 0; i < export->nr_events; i++) {
		size_t used = strlen(names);

		if (export->event[i].leader == i)
			snprintf(names + used, sizeof(names) - used, "%s%s", used ? ", " : "",
				 perch__export_event_name(export, i));
	}
	return perch_error_set(err, EINVAL, PERCH_ERROR_USAGE,
			       "the recording has no event '%s'; it has %s", wanted, names);
}

/* Makes joined events several again. */
static void separate_event(struct perch_export *export, uint32_t leader)
{
	free(export->event[leader].name);
	export->event[leader].name = NULL;
	for (uint32_t i = leader; i < export->nr_events; i++)
		if (export->event[i].leader == leader)
			export->event[i].leader = i;
}

int perch__export_select(struct perch_export *export, const char *wanted, struct perch_error *err)
{
	const struct perch_file_event *event;
	bool found = false;

	perch_reader_events(perch_session_reader(export->session), &event);
	/* the name of joined events first: it is that of all of them */
	for (uint32_t i = 0; i < export->nr_events && !found; i++)
		if (export->event[i].leader == i &&
		    !strcmp(perch__export_event_name(export, i), wanted)) {
			for (uint32_t j = i; j < export->nr_events; j++)
				export->event[j].selected = export->event[j].leader == i;
			found = true;
		}
	for (uint32_t i = 0; i < export->nr_events && !found; i++)
		if (!strcmp(event[i].name, wanted)) {
			separate_event(export, export->event[i].leader);
			export->event[i].selected = found = true;
		}
	return found ? 0 : no_event(export, wanted, err);
}

/* True if an event can be the one that a format shows first. */
static bool is_candidate(const struct perch_export *export, const struct perch_attr *attr)
{
	return !perch__is_dummy(attr) &&
	       !(export->format->markers && attr->type == PERCH_TYPE_TRACEPOINT);
}

uint32_t perch__export_main_event(const struct perch_export *export)
{
	const struct perch_file_event *event;
	uint32_t main = NO_INDEX, any = NO_INDEX;

	perch_reader_events(perch_session_reader(export->session), &event);
	for (uint32_t i = 0; i < export->nr_events; i++) {
		const struct export_event *at = &export->event[i];

		if (at->leader != i)
			continue;
		if (at->selected)
			return i;
		if (at->samples && any == NO_INDEX)
			any = i;
		if (is_candidate(export, &event[i].attr) &&
		    (main == NO_INDEX || at->samples > export->event[main].samples))
			main = i;
	}
	return main == NO_INDEX || (!export->event[main].samples && any != NO_INDEX &&
				    !export->format->markers)
		       ? any
		       : main;
}
