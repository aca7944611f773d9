/* SPDX-License-Identifier: MIT */
/* Samples between those of two events (perch_switch in perch/filter.h). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <perch/filter.h>

#include "base/reserved.h"
#include "base/no_memory.h"

struct perch_switch {
	bool show;
	bool has_on, has_off;
	unsigned on_event, off_event;
	bool is_off; /* samples are left out until that of on_event */
	bool was_on; /* there was one */
};

/* Lists the names of the events. */
static void list_names(const struct perch_file_event *events, size_t nr, char *list, size_t size)
{
	size_t used = 0;

	list[0] = '\0';
	for (size_t i = 0; i < nr; i++) {
		char name[128];

		perch_clean_text(events[i].name, name, sizeof(name));
		if (used + strlen(name) + 8 > size) {
			snprintf(list + used, size - used, ", ...");
			return;
		}
		used += (size_t)snprintf(list + used, size - used, "%s%s", i ? ", " : "", name);
	}
}

/* Stores the index of the event with a name, if there is a name. */
static int find_event(struct perch_session *session, const char *option, const char *name,
		      unsigned *event, struct perch_error *err)
{
	const struct perch_file_event *events;
	size_t nr = perch_reader_events(perch_session_reader(session), &events);
	char list[512];

	for (size_t i = 0; name && i < nr; i++)
		if (!strcmp(events[i].name, name)) {
			*event = (unsigned)i;
			return 0;
		}
	if (!name)
		return 0;
	list_names(events, nr, list, sizeof(list));
	perch_error_set(err, ENOENT, PERCH_ERROR_USAGE, "the file has no event '%s'; it has: %s",
			name, list);
	perch_error_field(err, option, NULL);
	return -ENOENT;
}

int perch_switch_new(struct perch_switch **result, struct perch_session *session,
		     const struct perch_switch_options *options, struct perch_error *err)
{
	struct perch_switch new = { .show = options->show,
				    .has_on = options->on,
				    .has_off = options->off,
				    .is_off = options->on };
	int rc;

	*result = NULL;
	if (PERCH__CHECK_RESERVED(options, "perch_switch_options", err))
		return -EINVAL;
	rc = find_event(session, "on", options->on, &new.on_event, err);
	if (rc)
		return rc;
	rc = find_event(session, "off", options->off, &new.off_event, err);
	if (rc)
		return rc;
	*result = malloc(sizeof(new));
	if (!*result)
		return PERCH__NO_MEMORY(err, "for a switch");
	**result = new;
	return 0;
}

void perch_switch_free(struct perch_switch *of)
{
	free(of);
}

bool perch_switch_match(struct perch_switch *of, const struct perch_record *sample)
{
	if (of->is_off) {
		if (!of->has_on || sample->event != of->on_event)
			return false;
		of->is_off = false;
		of->was_on = true;
		return of->show;
	}
	if (of->has_off && sample->event == of->off_event) {
		of->is_off = true;
		return of->show;
	}
	return true;
}

bool perch_switch_was_on(const struct perch_switch *of)
{
	return !of->has_on || of->was_on;
}
