/* SPDX-License-Identifier: MIT */
/*
 * When a recording was made. Its file has other times after it was copied or restored, so only its
 * contents count: CLOCK_DATA has a moment by the wall clock and by the clock of the records,
 * SAMPLE_TIME the first and the last sample. A moment is before the records, too.
 */
#include "internal.h"

/* A moment by two clocks. */
struct moment {
	uint64_t wall, time;
};

/* The moment before the records of perch. */
static bool read_start(const struct perch_reader *reader, struct moment *moment)
{
	const struct perch__section *attrs = &reader->header.attrs;
	const uint8_t *at;

	if (reader->pipe || reader->data_offset < sizeof(struct perch__file_start) ||
	    attrs->offset + attrs->size > reader->data_offset - sizeof(struct perch__file_start))
		return false;
	at = reader->file + reader->data_offset - sizeof(struct perch__file_start);
	moment->wall = perch__file_u64(reader, at + offsetof(struct perch__file_start, wall));
	moment->time = perch__file_u64(reader, at + offsetof(struct perch__file_start, time));
	return perch__file_u64(reader, at) == PERCH__START_MAGIC && moment->wall &&
	       moment->wall <= INT64_MAX;
}

static bool read_moment(const struct perch_reader *reader, struct moment *moment)
{
	struct perch__view view = reader->feature[PERCH_FEATURE_CLOCK_DATA];
	uint32_t version, clock;

	if (!view.at)
		return read_start(reader, moment);
	return perch__take_u32(&view, &version) && perch__take_u32(&view, &clock) &&
	       perch__take_u64(&view, &moment->wall) && perch__take_u64(&view, &moment->time) &&
	       moment->wall && moment->wall <= INT64_MAX;
}

/* Returns 0 for a time before 1970, or after the years that 63 bits have. */
static uint64_t to_wall(const struct moment *moment, uint64_t time)
{
	uint64_t since = time - moment->time, before = moment->time - time;

	if (time < moment->time)
		return before < moment->wall ? moment->wall - before : 0;
	return since <= INT64_MAX - moment->wall ? moment->wall + since : 0;
}

int perch_reader_time_of_day(const struct perch_reader *reader, uint64_t time, uint64_t *ns)
{
	struct moment moment;

	if (!read_moment(reader, &moment))
		return -ENODATA;
	*ns = to_wall(&moment, time);
	return 0;
}

/* The moment is one of the recording: perf writes that of the start, perch that of the end. */
void perch_reader_get_times(const struct perch_reader *reader, struct perch_recording_times *times)
{
	struct perch__view view = reader->feature[PERCH_FEATURE_SAMPLE_TIME];
	uint64_t first = 0, last = 0;
	struct moment moment;

	*times = (struct perch_recording_times){ 0 };
	if (!read_moment(reader, &moment))
		return;
	/* of a killed recording only its start is known */
	if (!reader->feature[PERCH_FEATURE_CLOCK_DATA].at)
		times->start = moment.wall;
	/* perf writes zeros without build ids, and into pipes */
	if (!view.at || !perch__take_u64(&view, &first) || !perch__take_u64(&view, &last) ||
	    !first || first > last)
		return;
	first = to_wall(&moment, first);
	last = to_wall(&moment, last);
	times->start = first && first < moment.wall ? first : moment.wall;
	times->end = !last || last > moment.wall ? last : moment.wall;
}
