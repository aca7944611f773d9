/* SPDX-License-Identifier: MIT */
/*
 * What the rings had no room for. A LOST record is written when there is room again, which at the end never comes: so each
 * event is asked, and the file is told by a LOST_SAMPLES record of its id, as perf does from 6.1 on. Of several files each
 * is told what was lost since the one before.
 */
#include <string.h>

#include "record.h"

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

int record_tell_lost(struct record *record)
{
	const struct perch_attr *attr;
	const uint64_t *ids;
	uint64_t all = 0, *told = record->lost_told;
	const char *name;
	size_t nr;
	int rc = 0;

	for (size_t i = 0; (attr = perch_sampler_event(record->sampler, i, &name, &ids, &nr)); i++) {
		struct perch_layout layout;

		if (!(attr->read_format & PERCH_FORMAT_LOST))
			continue;	/* kernels before 6.0 do not know */
		perch_layout_init(&layout, attr, PERCH_BYTES_NATIVE);
		for (size_t id = 0; id < nr && rc >= 0; id++, told++) {
			uint64_t lost;

			if (perch_sampler_lost(record->sampler, i, id, &lost, NULL) < 0 || lost <= *told)
				continue;
			if (record->overwrite && i >= record->events.nr)
				record->side_lost += lost - *told;
			else
				all += lost - *told;
			rc = write_lost(record, &layout, ids[id], lost - *told);
			*told = lost;
		}
	}
	/* what LOST records have told is among them */
	if (all > record->lost)
		record->lost = all;
	return rc;
}
