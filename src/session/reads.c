/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/hash_table.h"
#include "reads.h"

/* The last count of an event by its id, which is different on each CPU. */
struct last_count {
	uint64_t id;
	/* inherited events count each thread by itself (since 6.12); 0: the counts of all threads
	 */
	uint32_t tid;
	uint32_t event;
	uint64_t value;
};

struct reads {
	const struct perch_file_event *events;
	struct last_count *count;
	size_t nr_counts;
	struct perch__hash_table counts;
	struct perch_record record; /* the sample that has the counts */
	uint64_t next, nr;	    /* of its counts */
	uint64_t unknown;
};

static bool same_count(const void *counts, uint32_t index, const void *key)
{
	const struct last_count *count = (const struct last_count *)counts + index, *wanted = key;

	return count->id == wanted->id && count->tid == wanted->tid;
}

static uint64_t hash_of(const struct reads *reads, const struct last_count *count)
{
	return perch__hash_pair(reads->counts.seed, count->id, count->tid);
}

static struct last_count *find_count(const struct reads *reads, const struct last_count *wanted)
{
	uint32_t found = perch__hash_find(&reads->counts, hash_of(reads, wanted), same_count,
					  reads->count, wanted);

	return found == PERCH__HASH_NONE ? NULL : &reads->count[found];
}

/* Returns the new count, or NULL if out of memory. */
static struct last_count *add_count(struct reads *reads, const struct last_count *count)
{
	if (PERCH__ARRAY_RESERVE_BY_NR(reads->count, reads->nr_counts, 1) ||
	    perch__hash_add(&reads->counts, hash_of(reads, count), reads->nr_counts))
		return NULL;
	reads->count[reads->nr_counts] = *count;
	return &reads->count[reads->nr_counts++];
}

static int add_ids(struct reads *reads, uint32_t event)
{
	for (size_t i = 0; i < reads->events[event].nr_ids; i++) {
		const struct last_count count = { .id = reads->events[event].ids[i],
						  .event = event };

		if (!find_count(reads, &count) && !add_count(reads, &count))
			return -ENOMEM;
	}
	return 0;
}

int perch__reads_new(struct reads **result, const struct perch_file_event *events, size_t nr_events)
{
	struct reads *reads;
	bool any = false;
	int rc = 0;

	*result = NULL;
	for (size_t i = 0; i < nr_events; i++)
		any |= events[i].attr.sample_type & PERCH_SAMPLE_READ;
	if (!any)
		return 0;
	reads = calloc(1, sizeof(*reads));
	if (!reads)
		return -ENOMEM;
	reads->events = events;
	reads->counts.seed = perch__hash_seed(reads);
	for (size_t i = 0; i < nr_events && !rc; i++)
		rc = add_ids(reads, (uint32_t)i);
	if (rc)
		perch__reads_free(reads);
	else
		*result = reads;
	return rc;
}

void perch__reads_free(struct reads *reads)
{
	if (!reads)
		return;
	perch__hash_clear(&reads->counts);
	free(reads->count);
	free(reads);
}

uint64_t perch__reads_unknown(const struct reads *reads)
{
	return reads ? reads->unknown : 0;
}

bool perch__reads_start(struct reads *reads, const struct perch_record *record)
{
	/* without ids, nothing says whose counts they are */
	if (!record->parse_info || !(record->parse_info->sample_type & PERCH_SAMPLE_READ) ||
	    !(record->sample.read.format & PERCH_FORMAT_ID))
		return false;
	reads->record = *record;
	reads->next = 0;
	reads->nr = record->sample.read.nr;
	return true;
}

/* Returns the last count of an event in the sample's thread; NULL if out of memory, or with
 * *unknown if the file has no event with the id. */
static struct last_count *last_count(struct reads *reads, uint64_t id, bool *unknown)
{
	struct last_count wanted = { .id = id }, *count = find_count(reads, &wanted);
	const struct perch_attr *attr = count ? &reads->events[count->event].attr : NULL;

	*unknown = !count;
	if (!count || !attr->inherit || !(attr->sample_type & PERCH_SAMPLE_TID))
		return count;
	wanted.tid = reads->record.sample.tid;
	wanted.event = count->event;
	if (!wanted.tid)
		return count;
	count = find_count(reads, &wanted);
	return count ? count : add_count(reads, &wanted);
}

int perch__reads_next(struct reads *reads, struct perch_record *record)
{
	while (reads->next < reads->nr) {
		struct perch_read_value value;
		struct last_count *count;
		uint64_t period;
		bool unknown;

		perch_read_values_at(&reads->record.sample.read, reads->next++, &value);
		count = last_count(reads, value.id, &unknown);
		if (unknown) {
			reads->unknown++;
			continue;
		}
		if (!count)
			return -ENOMEM;
		/* a count that is smaller than before is that of a damaged file */
		period = value.value > count->value ? value.value - count->value : 0;
		count->value = value.value;
		if (!period)
			continue;
		*record = reads->record;
		record->event = (uint16_t)count->event;
		record->sample.id = value.id;
		record->sample.period = period;
		if (record->sample_id.has & (PERCH_SAMPLE_ID | PERCH_SAMPLE_IDENTIFIER))
			record->sample_id.id = value.id;
		return 1;
	}
	return 0;
}
