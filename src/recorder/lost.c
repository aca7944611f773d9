/* SPDX-License-Identifier: MIT */
/* Numbers of lost samples of events, as LOST_SAMPLES records at the end of a file. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

struct lost_samples {
	struct perch_record_header header;
	uint64_t lost;
	uint64_t sample_id[8];
};

int perch__recorder_lost_init(struct recorder_lost *lost, const struct perch_file_event *events,
			      size_t nr_events, size_t nr_rings, size_t first_sideband)
{
	size_t ids = 0;

	for (size_t i = 0; i < nr_events; i++)
		ids += events[i].nr_ids;
	*lost = (struct recorder_lost){
		.nr_events = nr_events,
		.nr_rings = nr_rings,
		.nr_ids = ids,
		.first_sideband = first_sideband,
		.before = calloc(ids + 1, sizeof(*lost->before)),
		.now = calloc(ids + 1, sizeof(*lost->now)),
		.in_ring = calloc((nr_events + 1) * nr_rings, sizeof(*lost->in_ring)),
	};
	return lost->before && lost->now && lost->in_ring ? 0 : -ENOMEM;
}

void perch__recorder_lost_clear(struct recorder_lost *lost)
{
	free(lost->before);
	free(lost->now);
	free(lost->in_ring);
}

static int write_record(struct recorder_output *output, const struct perch_parse_info *parse_info,
			uint64_t id, uint64_t lost, struct perch_error *err)
{
	struct lost_samples record = { .header = { PERCH_RECORD_LOST_SAMPLES, 0, 0 },
				       .lost = lost };
	struct iovec piece = { &record,
			       offsetof(struct lost_samples, sample_id) + parse_info->id_size };

	if (parse_info->id_size > sizeof(record.sample_id))
		return 0;
	record.header.size = (uint16_t)piece.iov_len;
	if (parse_info->trailer_id_word > 0)
		record.sample_id[parse_info->id_size / sizeof(uint64_t) -
				 (size_t)parse_info->trailer_id_word] = id;
	return perch__recorder_append(output, &piece, 1, err);
}

/* Returns the number of one id since the last complete file. */
static uint64_t count_id(struct recorder_lost *lost, const struct recorder_rings *rings,
			 size_t event, size_t id, size_t index)
{
	uint64_t before = lost->before[index], now, more;
	size_t ring;
	pid_t pid;
	int cpu;

	lost->now[index] = before;
	if (perch_sampler_lost(rings->sampler, event, id, &now, NULL) < 0 || now <= before ||
	    perch_sampler_id_info(rings->sampler, event, id, &cpu, &pid, &ring) < 0 ||
	    event >= lost->nr_events || ring >= lost->nr_rings)
		return 0;
	more = now - before;
	lost->now[index] = now;
	lost->in_ring[event * lost->nr_rings + ring] += more;
	if (event >= lost->first_sideband)
		lost->sideband += more;
	else
		lost->total += more;
	return more;
}

/* A file that could not be written may have been counted already: its numbers are read again. */
static void reset(struct recorder_lost *lost, const struct recorder_rings *rings)
{
	uint64_t *records = perch__recorder_lost_records(lost);

	lost->total = 0;
	lost->sideband = lost->sideband_before;
	memset(lost->in_ring, 0, lost->nr_events * lost->nr_rings * sizeof(*lost->in_ring));
	for (size_t ring = 0; ring < lost->nr_rings; ring++)
		if (rings->backward[ring])
			records[ring] = 0;
}

int perch__recorder_write_lost(struct recorder_lost *lost, const struct recorder_rings *rings,
			       struct recorder_output *output, struct perch_error *err)
{
	const struct perch_attr *attr;
	const uint64_t *ids;
	const char *name;
	size_t nr, index = 0;
	int rc = 0;

	reset(lost, rings);
	for (size_t i = 0; (attr = perch_sampler_event(rings->sampler, i, &name, &ids, &nr)); i++) {
		struct perch_parse_info parse_info;

		if (!(attr->read_format & PERCH_FORMAT_LOST))
			continue; /* before Linux 6.0 */
		lost->counted = true;
		perch_parse_info_init(&parse_info, attr, PERCH_BYTES_NATIVE);
		/* a program must add no threads; if it does, what they lose is not counted */
		for (size_t id = 0; id < nr && index < lost->nr_ids && rc >= 0; id++, index++) {
			uint64_t more = count_id(lost, rings, i, id, index);

			if (more)
				rc = write_record(output, &parse_info, ids[id], more, err);
		}
	}
	return rc;
}

void perch__recorder_lost_add_records(struct recorder_lost *lost)
{
	const uint64_t *records = perch__recorder_lost_records(lost);

	for (size_t ring = 0; ring < lost->nr_rings && !lost->counted; ring++)
		lost->total += records[ring];
}

void perch__recorder_lost_next_file(struct recorder_lost *lost)
{
	memcpy(lost->before, lost->now, lost->nr_ids * sizeof(*lost->before));
	lost->sideband_before = lost->sideband; /* later files miss these records too */
	memset(perch__recorder_lost_records(lost), 0, lost->nr_rings * sizeof(*lost->in_ring));
}
