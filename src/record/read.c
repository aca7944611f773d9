/* SPDX-License-Identifier: MIT */
/* Counter values inside records: PERF_SAMPLE_READ and PERF_RECORD_READ. */
#include "internal.h"

static unsigned int time_words(uint64_t format)
{
	return !!(format & PERCH_FORMAT_TOTAL_TIME_ENABLED) +
	       !!(format & PERCH_FORMAT_TOTAL_TIME_RUNNING);
}

static const uint64_t *decode_times(struct perch_read_values *read, const uint64_t *at)
{
	if (read->format & PERCH_FORMAT_TOTAL_TIME_ENABLED)
		read->enabled_ns = *at++;
	if (read->format & PERCH_FORMAT_TOTAL_TIME_RUNNING)
		read->running_ns = *at++;
	return at;
}

/*
 * One counter is value, times, id, lost; a group is nr, times, then value, id, lost for each
 * member. So with one counter the times lie inside its entry.
 */
const uint64_t *perch__decode_read(struct perch_read_values *read, uint64_t format,
				   const uint64_t *at, const uint64_t *end)
{
	uint64_t left = end - at;
	unsigned int times = time_words(format);

	*read = (struct perch_read_values){ .format = format };
	read->words_each = 1 + !!(format & PERCH_FORMAT_ID) + !!(format & PERCH_FORMAT_LOST);
	if (!(format & PERCH_FORMAT_GROUP)) {
		if (left < times + read->words_each)
			return NULL;
		read->nr = 1;
		read->words = at;
		decode_times(read, at + 1);
		return at + times + read->words_each;
	}
	if (left < 1 + times || at[0] > (left - 1 - times) / read->words_each)
		return NULL;
	read->nr = at[0];
	read->words = decode_times(read, at + 1);
	return read->words + read->nr * read->words_each;
}

void perch_read_values_at(const struct perch_read_values *values, uint64_t index,
			  struct perch_read_value *value)
{
	const uint64_t *at;

	*value = (struct perch_read_value){ 0 };
	if (index >= values->nr)
		return;
	at = values->words + index * values->words_each;
	value->value = *at++;
	if (!(values->format & PERCH_FORMAT_GROUP))
		at += time_words(values->format);
	if (values->format & PERCH_FORMAT_ID)
		value->id = *at++;
	if (values->format & PERCH_FORMAT_LOST)
		value->lost = *at;
}
