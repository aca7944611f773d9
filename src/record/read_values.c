/* SPDX-License-Identifier: MIT */
/* Counter values in records: PERF_SAMPLE_READ and PERF_RECORD_READ. */
#include "internal.h"

static unsigned int time_words(uint64_t format)
{
	return !!(format & PERCH_FORMAT_TOTAL_TIME_ENABLED) +
	       !!(format & PERCH_FORMAT_TOTAL_TIME_RUNNING);
}

static const uint64_t *decode_times(struct perch_read_values *read, const uint64_t *at, bool swap)
{
	if (read->format & PERCH_FORMAT_TOTAL_TIME_ENABLED)
		read->enabled_ns = perch__u64(at++, swap);
	if (read->format & PERCH_FORMAT_TOTAL_TIME_RUNNING)
		read->running_ns = perch__u64(at++, swap);
	return at;
}

/* The words of a group up to its values, and of a single counter, in order. A word exists if its
 * bit is in the read format, or is 0. */
struct read_field {
	uint64_t bit;
	const char *name;
};
static const struct read_field group_fields[] = {
	{ PERCH_FORMAT_GROUP, "number of read.values" },
	{ PERCH_FORMAT_TOTAL_TIME_ENABLED, "read.time_enabled" },
	{ PERCH_FORMAT_TOTAL_TIME_RUNNING, "read.time_running" },
	{ PERCH_FORMAT_GROUP, "read.values" },
};
static const struct read_field single_fields[] = {
	{ 0, "read.value" },
	{ PERCH_FORMAT_TOTAL_TIME_ENABLED, "read.time_enabled" },
	{ PERCH_FORMAT_TOTAL_TIME_RUNNING, "read.time_running" },
	{ PERCH_FORMAT_ID, "read.id" },
	{ PERCH_FORMAT_LOST, "read.lost" },
};

/* Finds the first word that exceeds the record. */
static const uint64_t *truncated_read(uint64_t format, const uint64_t *at, const uint64_t *end,
				      struct perch__truncated_field *truncated)
{
	const struct read_field *field = format & PERCH_FORMAT_GROUP ? group_fields : single_fields;
	const struct read_field *last = format & PERCH_FORMAT_GROUP ? group_fields + 3
								    : single_fields + 4;

	while (field < last && (at < end || (field->bit && !(format & field->bit)))) {
		at += !field->bit || format & field->bit;
		field++;
	}
	*truncated = (struct perch__truncated_field){ at, field->name };
	return NULL;
}

/*
 * A single counter is: value, times, id, lost. A group is: nr, times, then value, id, lost of each
 * member.
 */
const uint64_t *perch__decode_read(struct perch_read_values *read, uint64_t format,
				   const uint64_t *at, const uint64_t *end, bool swap,
				   struct perch__truncated_field *truncated)
{
	uint64_t left = end - at, nr;
	unsigned int times = time_words(format);
	unsigned int each = 1 + !!(format & PERCH_FORMAT_ID) + !!(format & PERCH_FORMAT_LOST);

	*read = (struct perch_read_values){ .format = format, .words_each = each, .swapped = swap };
	if (!(format & PERCH_FORMAT_GROUP)) {
		if (left < times + each)
			return truncated_read(format, at, end, truncated);
		read->nr = 1;
		read->words = at;
		decode_times(read, at + 1, swap);
		return at + times + each;
	}
	if (left < 1 + times)
		return truncated_read(format, at, end, truncated);
	nr = perch__u64(at, swap);
	if (nr > (left - 1 - times) / each)
		return truncated_read(format, at, end, truncated);
	read->nr = nr;
	read->words = decode_times(read, at + 1, swap);
	return read->words + nr * each;
}

void perch_read_values_at(const struct perch_read_values *values, uint64_t index,
			  struct perch_read_value *value)
{
	const bool swap = values->swapped;
	const uint64_t *at;

	*value = (struct perch_read_value){ 0 };
	if (index >= values->nr)
		return;
	at = values->words + index * values->words_each;
	value->value = perch__u64(at++, swap);
	if (!(values->format & PERCH_FORMAT_GROUP))
		at += time_words(values->format);
	if (values->format & PERCH_FORMAT_ID)
		value->id = perch__u64(at++, swap);
	if (values->format & PERCH_FORMAT_LOST)
		value->lost = perch__u64(at, swap);
}

bool perch_read_values_find(const struct perch_read_values *values, uint64_t id,
			    struct perch_read_value *value)
{
	for (uint64_t i = 0; i < values->nr && values->format & PERCH_FORMAT_ID; i++) {
		perch_read_values_at(values, i, value);
		if (value->id == id)
			return true;
	}
	*value = (struct perch_read_value){ 0 };
	return false;
}
