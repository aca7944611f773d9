/* SPDX-License-Identifier: MIT */
/*
 * What the rings had no room for. A LOST record is written when there is room again, which at the end never comes: so each
 * event is asked, and the file is told by a LOST_SAMPLES record of its id, as perf does from 6.1 on. Of several files each
 * is told what was lost since the one before. What is said to the user is by event and CPU, each of which has its ring.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "record.h"

#define COMMAND "record"
#define MOST_PLACES 8	/* CPUs, and events, that are named */

struct lost_samples {
	struct perch_record_header header;
	uint64_t lost;
	uint64_t trailer[8];
};

static int write_lost(struct record *record, const struct perch_layout *layout, uint64_t id, uint64_t lost)
{
	struct lost_samples made = { .header = { PERCH_RECORD_LOST_SAMPLES, 0, 0 }, .lost = lost };
	struct iovec piece = { &made, offsetof(struct lost_samples, trailer) + layout->id_size };

	if (layout->id_size > sizeof(made.trailer))
		return 0;
	made.header.size = (uint16_t)piece.iov_len;
	if (layout->trailer_id_word > 0)
		made.trailer[layout->id_size / sizeof(uint64_t) - (size_t)layout->trailer_id_word] = id;
	return perch_writer_put(record->writer, &piece, 1, &record->err);
}

/* What one event lost on one CPU and thread since the file before. */
static int tell_one(struct record *record, const struct perch_layout *layout, size_t event, size_t id, uint64_t id_value,
		    uint64_t *told)
{
	uint64_t lost, more;
	size_t ring;
	pid_t pid;
	int cpu;

	if (perch_sampler_lost(record->sampler, event, id, &lost, NULL) < 0 || lost <= *told ||
	    perch_sampler_place(record->sampler, event, id, &cpu, &pid, &ring) < 0)
		return 0;
	more = lost - *told;
	*told = lost;
	record->lost_at[event * record->nr_rings + ring] += more;
	if (record->overwrite && event >= record->events.nr)
		record->side_lost += more;
	else
		record->lost += more;
	return write_lost(record, layout, id_value, more);
}

/* LOST records tell the same once more, and may do so in the file that comes after: they count where events know nothing. */
int record_tell_lost(struct record *record)
{
	const struct perch_attr *attr;
	const uint64_t *ids;
	uint64_t *told = record->lost_told;
	bool known = false;
	const char *name;
	size_t nr;
	int rc = 0;

	for (size_t i = 0; (attr = perch_sampler_event(record->sampler, i, &name, &ids, &nr)); i++) {
		struct perch_layout layout;

		if (!(attr->read_format & PERCH_FORMAT_LOST))
			continue;	/* kernels before 6.0 do not know */
		known = true;
		perch_layout_init(&layout, attr, PERCH_BYTES_NATIVE);
		for (size_t id = 0; id < nr && rc >= 0; id++, told++)
			rc = tell_one(record, &layout, i, id, ids[id], told);
	}
	for (size_t ring = 0; ring < record->nr_rings; ring++) {
		uint64_t *told_in_ring = &record->lost_at[record->nr_file_events * record->nr_rings + ring];

		if (known)
			*told_in_ring = 0;
		record->lost += *told_in_ring;
	}
	return rc;
}

void record_begin_lost(struct record *record)
{
	record->lost = 0;	/* what .side_lost tells of is missing in all files to come */
	memset(record->lost_at, 0, (record->nr_file_events + 1) * record->nr_rings * sizeof(*record->lost_at));
}

static int cpu_of(const struct record *record, size_t ring)
{
	size_t found;
	pid_t pid;
	int cpu;

	for (size_t event = 0; event < record->nr_file_events; event++)
		for (size_t id = 0; !perch_sampler_place(record->sampler, event, id, &cpu, &pid, &found); id++)
			if (found == ring)
				return cpu;
	return -1;
}

/* "12 on CPU 0, 30 on CPU 1" */
static void put_places(FILE *to, const struct record *record, const uint64_t *lost)
{
	uint64_t others = 0;
	size_t nr = 0;

	for (size_t ring = 0; ring < record->nr_rings; ring++) {
		if (!lost[ring])
			continue;
		if (nr++ < MOST_PLACES)
			fprintf(to, "%s%" PRIu64 " on CPU %d", nr > 1 ? ", " : "", lost[ring], cpu_of(record, ring));
		else
			others += lost[ring];
	}
	if (others)
		fprintf(to, ", %" PRIu64 " on %zu others", others, nr - MOST_PLACES);
}

static bool is_any(const struct record *record, const uint64_t *lost)
{
	for (size_t ring = 0; ring < record->nr_rings; ring++)
		if (lost[ring])
			return true;
	return false;
}

static void tell_places(const struct record *record, const char *name, const uint64_t *lost)
{
	char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	if (!to)
		return;
	if (name)
		fprintf(to, "%s: ", name);
	put_places(to, record, lost);
	if (!fclose(to))
		cli_note(COMMAND, "lost: %s", text);
	free(text);
}

void record_tell_places(const struct record *record)
{
	size_t nr = 0;

	for (size_t event = 0; event < record->nr_file_events; event++) {
		const uint64_t *lost = &record->lost_at[event * record->nr_rings];

		if (is_any(record, lost) && nr++ < MOST_PLACES)
			tell_places(record, record->file_events[event].name, lost);
	}
	if (nr > MOST_PLACES)
		cli_note(COMMAND, "lost: more of %zu other events", nr - MOST_PLACES);
	if (!nr && is_any(record, &record->lost_at[record->nr_file_events * record->nr_rings]))
		tell_places(record, NULL, &record->lost_at[record->nr_file_events * record->nr_rings]);
}
