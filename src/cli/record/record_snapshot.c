/* SPDX-License-Identifier: MIT */
/*
 * A snapshot of the rings of a flight recorder, by time. The rings are copied while they stand
 * still, which is short; they are merged and written when the kernel writes into them again.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "record.h"

#define MOST_PIECES 512

/* What one ring held, oldest first. */
struct ring_copy {
	char *bytes;
	size_t used, room, at;
	/* of the record at .at; of those without one, that of the record before */
	uint64_t time;
};

struct snapshot {
	struct record *record;
	struct ring_copy *copies;
	struct iovec pieces[MOST_PIECES];
	int nr;
};

static int take(void *context, size_t ring, const struct iovec *pieces, int nr)
{
	struct snapshot *snapshot = context;
	struct ring_copy *copy = &snapshot->copies[ring];

	for (int i = 0; i < nr; i++) {
		size_t wanted = copy->used + pieces[i].iov_len;

		if (wanted > copy->room) {
			size_t room = wanted > 2 * copy->room ? wanted : 2 * copy->room;
			char *grown = realloc(copy->bytes, room);

			if (!grown)
				return -ENOMEM;
			copy->bytes = grown;
			copy->room = room;
		}
		memcpy(copy->bytes + copy->used, pieces[i].iov_base, pieces[i].iov_len);
		copy->used = wanted;
	}
	return 0;
}

static const struct perch_record_header *head_of(const struct ring_copy *copy)
{
	return (const void *)(copy->bytes + copy->at);
}

static void look(const struct record *record, struct ring_copy *copy)
{
	uint64_t time;

	if (copy->at < copy->used &&
	    perch_decoder_time(record->decoder, head_of(copy), head_of(copy)->size, &time) && time)
		copy->time = time;
}

static int flush(struct snapshot *snapshot)
{
	struct record *record = snapshot->record;
	int nr = snapshot->nr;

	snapshot->nr = 0;
	return nr ? perch_writer_append(record->writer, snapshot->pieces, nr, &record->err) : 0;
}

/* Whatever of a run is not younger than the time: it lies in one piece. */
static int put_until(struct snapshot *snapshot, struct ring_copy *copy, uint64_t time)
{
	size_t first = copy->at;

	do {
		copy->at += head_of(copy)->size;
		look(snapshot->record, copy);
	} while (copy->at < copy->used && copy->time <= time);
	snapshot->pieces[snapshot->nr++] = (struct iovec){ copy->bytes + first, copy->at - first };
	return snapshot->nr == MOST_PIECES ? flush(snapshot) : 0;
}

/* The run whose next record is the oldest; *until: the time of the one that comes after it. */
static struct ring_copy *oldest(struct snapshot *snapshot, uint64_t *until)
{
	struct ring_copy *found = NULL;

	*until = UINT64_MAX;
	for (size_t i = 0; i < snapshot->record->nr_rings; i++) {
		struct ring_copy *copy = &snapshot->copies[i];

		if (copy->at >= copy->used)
			continue;
		if (!found || copy->time < found->time) {
			*until = found ? found->time : *until;
			found = copy;
		} else if (copy->time < *until) {
			*until = copy->time;
		}
	}
	return found;
}

static int write_copies(struct snapshot *snapshot)
{
	struct record *record = snapshot->record;
	struct ring_copy *copy;
	uint64_t until;
	int rc = 0;

	for (size_t i = 0; i < record->nr_rings; i++) {
		struct iovec pieces[2] = { { snapshot->copies[i].bytes,
					     snapshot->copies[i].used } };

		record_scan(record, i, pieces);
		look(record, &snapshot->copies[i]);
	}
	while (rc >= 0 && (copy = oldest(snapshot, &until)))
		rc = put_until(snapshot, copy, until);
	return rc < 0 ? rc : flush(snapshot);
}

int record_write_snapshot(struct record *record)
{
	struct snapshot *snapshot = calloc(1, sizeof(*snapshot));
	ssize_t rc = -ENOMEM;

	if (snapshot) {
		snapshot->record = record;
		snapshot->copies = calloc(record->nr_rings, sizeof(*snapshot->copies));
	}
	if (!snapshot || !snapshot->copies)
		perch_error_set(&record->err, ENOMEM, PERCH_ERROR_NO_MEMORY,
				"no memory for a snapshot");
	else
		rc = perch_sampler_snapshot(record->sampler, take, snapshot, &record->err);
	if (snapshot && rc == -ENOMEM)
		perch_error_set(&record->err, ENOMEM, PERCH_ERROR_NO_MEMORY,
				"no memory for a snapshot");
	/* mappings and names that came until the rings stood still: a program may have begun since
	 * the last look */
	if (rc >= 0)
		rc = record_write_round(record);
	if (rc >= 0)
		rc = write_copies(snapshot);
	for (size_t i = 0; snapshot && snapshot->copies && i < record->nr_rings; i++)
		free(snapshot->copies[i].bytes);
	if (snapshot)
		free(snapshot->copies);
	free(snapshot);
	return rc < 0 ? (int)rc : 0;
}
