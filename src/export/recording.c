/* SPDX-License-Identifier: MIT */
/* Facts about the recording that several formats have. */
#include <stdlib.h>
#include <string.h>
#include <perch/metrics.h>

#include "base/kernel/dummy_event.h"
#include "base/kernel/off_cpu_event.h"
#include "internal.h"

const char *perch__export_unit(const struct perch_file_event *event)
{
	return perch_metric_is_clock(&event->attr) || perch__is_off_cpu(event) ? "nanoseconds"
									       : "count";
}

uint64_t perch__export_time_of_day(const struct perch_export *export, uint64_t time)
{
	uint64_t ns = 0;

	perch_reader_time_of_day(perch_session_reader(export->session), time, &ns);
	return ns;
}

uint32_t *perch__export_event_positions(const struct perch_export *export, size_t *nr_written)
{
	const struct perch_file_event *event;
	size_t nr = perch_reader_events(perch_session_reader(export->session), &event);
	uint32_t *position = calloc(nr + 1, sizeof(*position));
	/* in the others, samples of other events are markers */
	bool selects = export->options.event && !export->format->markers;

	*nr_written = 0;
	if (!position)
		return NULL;
	for (size_t i = 0; i < nr; i++)
		position[i] = perch__is_dummy(&event[i].attr) || export->event[i].leader != i ||
					      (selects && !export->event[i].selected)
				      ? NO_INDEX
				      : 0;
	for (size_t i = 0; i < export->nr_entries; i++)
		position[export->entry[i].event] = 0;
	for (size_t i = 0; i < nr; i++)
		if (position[i] != NO_INDEX)
			position[i] = (uint32_t)(*nr_written)++;
	return position;
}
