/* SPDX-License-Identifier: MIT */
/*
 * What the rings had no room for. A LOST record is written when there is room again, which at the
 * end never comes: so each event is asked, and the file is told by a LOST_SAMPLES record of its id,
 * as perf does from 6.1 on. Of several files each is told what was lost since the one before. What
 * is said to the user is by event and CPU, each of which has its ring.
 *
 * A flight recorder loses what comes while its rings stand still for a file: that is missing
 * between this file and the next, whose LOST records tell of it. So it asks before the rings stand
 * still again, and of the file that is written then.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "record.h"

#define COMMAND	    "record"
#define MOST_PLACES 8 /* CPUs, and events, that are named */

struct lost_samples {
	struct perch_record_header header;
	uint64_t lost;
	uint64_t trailer[8];
};

static int write_lost(struct record *record, const struct perch_parse_info *parse_info, uint64_t id,
		      uint64_t lost)
{
	struct lost_samples made = { .header = { PERCH_RECORD_LOST_SAMPLES, 0, 0 }, .lost = lost };
	struct iovec piece = { &made,
			       offsetof(struct lost_samples, trailer) + parse_info->id_size };

	if (parse_info->id_size > sizeof(made.trailer))
		return 0;
	made.header.size = (uint16_t)piece.iov_len;
	if (parse_info->trailer_id_word > 0)
		made.trailer[parse_info->id_size / sizeof(uint64_t) -
			     (size_t)parse_info->trailer_id_word] = id;
	return perch_writer_append(record->writer, &piece, 1, &record->err);
}

/* What one event lost on one CPU and thread since the last file that was written whole. */
static int tell_one(struct record *record, const struct perch_parse_info *parse_info, size_t event,
		    size_t id, uint64_t id_value, uint64_t told, uint64_t *now)
{
	uint64_t lost, more;
	size_t ring;
	pid_t pid;
	int cpu;

	*now = told;
	if (perch_sampler_lost(record->sampler, event, id, &lost, NULL) < 0 || lost <= told ||
	    perch_sampler_id_info(record->sampler, event, id, &cpu, &pid, &ring) < 0)
		return 0;
	more = lost - told;
	*now = lost;
	record->lost_at[event * record->nr_rings + ring] += more;
	if (record->overwrite && event >= record->events.nr)
		record->side_lost += more;
	else
		record->lost += more;
	return write_lost(record, parse_info, id_value, more);
}

/* Nothing of this file is lost so far: another one may have failed after it was told, and what it
 * read is read again. */
static void begin_lost(struct record *record)
{
	uint64_t *in_ring = &record->lost_at[record->nr_file_events * record->nr_rings];

	record->lost = 0;
	record->side_lost = record->side_lost_told;
	memset(record->lost_at, 0,
	       record->nr_file_events * record->nr_rings * sizeof(*record->lost_at));
	for (size_t ring = 0; ring < record->nr_rings; ring++)
		if (record->backward[ring])
			in_ring[ring] = 0;
}

int record_write_lost(struct record *record)
{
	const struct perch_attr *attr;
	const uint64_t *ids;
	const char *name;
	size_t nr, at = 0;
	int rc = 0;

	begin_lost(record);
	for (size_t i = 0; (attr = perch_sampler_event(record->sampler, i, &name, &ids, &nr));
	     i++) {
		struct perch_parse_info parse_info;

		if (!(attr->read_format & PERCH_FORMAT_LOST))
			continue; /* kernels before 6.0 do not know */
		record->lost_known = true;
		perch_parse_info_init(&parse_info, attr, PERCH_BYTES_NATIVE);
		for (size_t id = 0; id < nr && rc >= 0; id++, at++)
			rc = tell_one(record, &parse_info, i, id, ids[id], record->lost_told[at],
				      &record->lost_now[at]);
	}
	return rc;
}

/* LOST records tell the same once more, and may do so in the file that comes after: they count
 * where events know nothing. */
void record_add_lost(struct record *record)
{
	const uint64_t *in_ring = &record->lost_at[record->nr_file_events * record->nr_rings];

	for (size_t ring = 0; ring < record->nr_rings && !record->lost_known; ring++)
		record->lost += in_ring[ring];
}

void record_save_lost(struct record *record)
{
	uint64_t *in_ring = &record->lost_at[record->nr_file_events * record->nr_rings];
	size_t ids = 0;

	for (size_t i = 0; i < record->nr_file_events; i++)
		ids += record->file_events[i].nr_ids;
	memcpy(record->lost_told, record->lost_now, ids * sizeof(*record->lost_told));
	record->side_lost_told = record->side_lost; /* it is missing in all files to come */
	memset(in_ring, 0, record->nr_rings * sizeof(*in_ring));
}

static int cpu_of(const struct record *record, size_t ring)
{
	size_t found;
	pid_t pid;
	int cpu;

	for (size_t event = 0; event < record->nr_file_events; event++)
		for (size_t id = 0;
		     !perch_sampler_id_info(record->sampler, event, id, &cpu, &pid, &found); id++)
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
			fprintf(to, "%s%" PRIu64 " on CPU %d", nr > 1 ? ", " : "", lost[ring],
				cpu_of(record, ring));
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

void record_print_lost(const struct record *record)
{
	size_t nr = 0;

	for (size_t event = 0; event < record->nr_file_events; event++) {
		const uint64_t *lost = &record->lost_at[event * record->nr_rings];

		if (is_any(record, lost) && nr++ < MOST_PLACES)
			tell_places(record, record->file_events[event].name, lost);
	}
	if (nr > MOST_PLACES)
		cli_note(COMMAND, "lost: more of %zu other events", nr - MOST_PLACES);
	if (!record->lost_known &&
	    is_any(record, &record->lost_at[record->nr_file_events * record->nr_rings]))
		tell_places(record, NULL,
			    &record->lost_at[record->nr_file_events * record->nr_rings]);
}
