/* SPDX-License-Identifier: MIT */
/* Facts about the recording that several formats have. */
#include <stdlib.h>
#include <string.h>

#include "base/kernel/dummy_event.h"
#include "internal.h"

const char *perch__export_unit(const struct perch_attr *attr)
{
	bool clock = attr->type == PERCH_TYPE_SOFTWARE &&
		     (attr->config == PERCH_COUNT_SW_CPU_CLOCK ||
		      attr->config == PERCH_COUNT_SW_TASK_CLOCK);

	return clock ? "nanoseconds" : "count";
}

uint64_t perch__export_time_of_day(const struct perch_export *export, uint64_t time)
{
	struct perch_reader *reader = perch_session_reader(export->session);
	uint64_t words[3]; /* version and clock, the time of day, the time of the clock */
	const void *data;
	size_t size;

	if (perch_reader_feature(reader, PERCH_FEATURE_CLOCK_DATA, &data, &size) ||
	    size < sizeof(words))
		return 0;
	memcpy(words, data, sizeof(words));
	if (perch_reader_byte_order(reader) != PERCH_BYTES_NATIVE)
		for (size_t i = 0; i < 3; i++)
			words[i] = __builtin_bswap64(words[i]);
	return words[1] + (time - words[2]);
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
