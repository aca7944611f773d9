/* SPDX-License-Identifier: MIT */
/* Filters for events that are already in a list. */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "terms.h"

/* Tracepoints, and PMUs with address filters: the file is there where the driver has them. */
static bool takes_filter(const struct perch_attr *attr, struct perch_machine *machine)
{
	const struct perch_pmu *pmu;
	char path[PATH_MAX], text[32];
	uint64_t nr;
	ssize_t got;

	if (attr->type == PERCH_TYPE_TRACEPOINT)
		return true;
	if (attr->type < PERCH_TYPE_MAX)
		return false;
	pmu = perch_machine_pmu_of_type(machine, attr->type);
	if (!pmu)
		return false;
	snprintf(path, sizeof(path), PERCH__PMUS "/%s/nr_addr_filters", pmu->name);
	got = perch_machine_read(machine, path, text, sizeof(text));
	return got > 0 && !perch__parse_number(text, got, &nr) && nr;
}

/*
 * With the filter that the event has already: a hit must pass both. Of address filters each range
 * is one more. To be freed; NULL: no memory.
 */
static char *join(const struct perch_event *event, const char *filter)
{
	char *joined;

	if (!event->filter)
		return strdup(filter);
	if (asprintf(&joined, event->attr.type == PERCH_TYPE_TRACEPOINT ? "(%s) && (%s)" : "%s,%s",
		     event->filter, filter) < 0)
		return NULL;
	return joined;
}

static int make_one(const struct perch_event *event, const char *filter,
		    struct perch_machine *machine, char **made, struct perch_error *err)
{
	int rc = perch__check_filter(event, filter, machine, err);

	if (rc)
		return rc;
	*made = join(event, filter);
	if (!*made)
		return perch_error_set(err, ENOMEM, PERCH_ERROR_NO_MEMORY, "no memory for filters");
	if (strlen(*made) <= PERCH__FILTER_MAX)
		return 0;
	return perch_error_set(
		err, EINVAL, PERCH_ERROR_USAGE,
		"the filters of '%s' are longer together than the %d bytes that the kernel takes",
		event->name, PERCH__FILTER_MAX);
}

/* One for each event that takes it: all are made before the first is changed. */
static int set_all(struct perch_events *events, size_t from, const char *filter,
		   struct perch_machine *machine, struct perch_error *err)
{
	size_t nr = from < events->nr ? events->nr - from : 0, takers = 0;
	char **made = calloc(nr + 1, sizeof(*made));
	int rc = 0;

	if (!made)
		return perch_error_set(err, ENOMEM, PERCH_ERROR_NO_MEMORY, "no memory for filters");
	for (size_t i = 0; i < nr && !rc; i++) {
		if (!takes_filter(&events->event[from + i].attr, machine))
			continue;
		takers++;
		rc = make_one(&events->event[from + i], filter, machine, &made[i], err);
	}
	if (!rc && !takers) {
		rc = perch_error_set(err, EINVAL, PERCH_ERROR_USAGE,
				     "no event before the filter '%s' takes one", filter);
		perch_error_remedy(err,
				   "tracepoints take filters, and PMUs that have nr_addr_filters");
	}
	for (size_t i = 0; i < nr; i++)
		if (made[i] && !rc) {
			free(events->event[from + i].filter);
			events->event[from + i].filter = made[i];
		} else {
			free(made[i]);
		}
	free(made);
	return rc;
}

int perch_events_set_filter(struct perch_events *events, size_t from, const char *filter,
			    struct perch_machine *machine, struct perch_error *err)
{
	struct perch_machine *own = NULL;
	size_t length = strlen(filter);
	int rc = 0;

	if (!length)
		return perch_error_set(err, EINVAL, PERCH_ERROR_USAGE,
				       "an empty filter keeps nothing out");
	if (length > PERCH__FILTER_MAX)
		return perch_error_set(err, EINVAL, PERCH_ERROR_USAGE,
				       "the kernel takes filters of at most %d bytes",
				       PERCH__FILTER_MAX);
	if (!machine)
		rc = perch_machine_new(&own, NULL, NULL, err);
	if (!rc)
		rc = set_all(events, from, filter, machine ? machine : own, err);
	perch_machine_free(own);
	return rc;
}
