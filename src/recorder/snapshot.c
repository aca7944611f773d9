/* SPDX-License-Identifier: MIT */
/*
 * A snapshot of the rings of --overwrite. The rings are paused only while they are copied; the
 * copies are merged by time and written afterwards.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/no_memory.h"
#include "internal.h"

#define MAX_PIECES 512

/* The records of one ring, oldest first. */
struct ring_copy {
	char *bytes;
	size_t used, capacity, at;
	uint64_t time; /* time of the record at .at, or of the last one before it that has a time */
};

struct snapshot {
	const struct perch_decoder *decoder;
	struct recorder_output *output;
	struct ring_copy *copies;
	size_t nr_copies;
	struct iovec pieces[MAX_PIECES];
	int nr;
};

static int copy_ring(void *context, size_t ring, const struct iovec *pieces, int nr)
{
	struct snapshot *snapshot = context;
	struct ring_copy *copy = &snapshot->copies[ring];

	if (ring >= snapshot->nr_copies)
		return 0; /* of a thread that the program added, which it must not */
	for (int i = 0; i < nr; i++) {
		if (PERCH__ARRAY_RESERVE(copy->bytes, copy->capacity,
					 copy->used + pieces[i].iov_len))
			return -ENOMEM;
		memcpy(copy->bytes + copy->used, pieces[i].iov_base, pieces[i].iov_len);
		copy->used += pieces[i].iov_len;
	}
	return 0;
}

static const struct perch_record_header *header_of(const struct ring_copy *copy)
{
	return (const void *)(copy->bytes + copy->at);
}

static void update_time(const struct snapshot *snapshot, struct ring_copy *copy)
{
	uint64_t time;

	if (copy->at < copy->used &&
	    perch_decoder_time(snapshot->decoder, header_of(copy), header_of(copy)->size, &time) &&
	    time)
		copy->time = time;
}

static int flush(struct snapshot *snapshot, struct perch_error *err)
{
	int nr = snapshot->nr;

	snapshot->nr = 0;
	return nr ? perch__recorder_append(snapshot->output, snapshot->pieces, nr, err) : 0;
}

/* Writes the next record of a copy and the following ones that are not newer than `until`. */
static int write_until(struct snapshot *snapshot, struct ring_copy *copy, uint64_t until,
		       struct perch_error *err)
{
	size_t first = copy->at;

	do {
		copy->at += header_of(copy)->size;
		update_time(snapshot, copy);
	} while (copy->at < copy->used && copy->time <= until);
	snapshot->pieces[snapshot->nr++] = (struct iovec){ copy->bytes + first, copy->at - first };
	return snapshot->nr == MAX_PIECES ? flush(snapshot, err) : 0;
}

/*
 * Returns the copy whose next record is the oldest. Sets *until to the time of the oldest record of
 * the other copies.
 */
static struct ring_copy *find_oldest(struct snapshot *snapshot, uint64_t *until)
{
	struct ring_copy *found = NULL;

	*until = UINT64_MAX;
	for (size_t i = 0; i < snapshot->nr_copies; i++) {
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

static int write_copies(struct snapshot *snapshot, struct recorder_scan *scan,
			struct perch_error *err)
{
	struct ring_copy *copy;
	uint64_t until;
	int rc = 0;

	for (size_t i = 0; i < snapshot->nr_copies; i++) {
		struct iovec pieces[2] = { { snapshot->copies[i].bytes,
					     snapshot->copies[i].used } };

		/* the rings of samples have no mappings, so there are no edits */
		perch__recorder_scan_ring(scan, i, pieces);
		update_time(snapshot, &snapshot->copies[i]);
	}
	while (rc >= 0 && (copy = find_oldest(snapshot, &until)))
		rc = write_until(snapshot, copy, until, err);
	return rc < 0 ? rc : flush(snapshot, err);
}

static void free_snapshot(struct snapshot *snapshot)
{
	for (size_t i = 0; snapshot && snapshot->copies && i < snapshot->nr_copies; i++)
		free(snapshot->copies[i].bytes);
	if (snapshot)
		free(snapshot->copies);
	free(snapshot);
}

int perch__recorder_write_snapshot(struct recorder_rings *rings, struct recorder_scan *scan,
				   const struct perch_decoder *decoder,
				   struct recorder_output *output, struct perch_error *err)
{
	struct snapshot *snapshot = calloc(1, sizeof(*snapshot));
	ssize_t rc = -ENOMEM;

	if (snapshot) {
		snapshot->decoder = decoder;
		snapshot->output = output;
		snapshot->nr_copies = rings->nr;
		snapshot->copies = calloc(rings->nr, sizeof(*snapshot->copies));
	}
	if (snapshot && snapshot->copies)
		rc = perch_sampler_snapshot(rings->sampler, copy_ring, snapshot, err);
	if (rc == -ENOMEM)
		PERCH__NO_MEMORY(err, "for a snapshot");
	/* side-band records until the pause: a program may have started since the last round */
	if (rc >= 0)
		rc = perch__recorder_write_round(rings, scan, output, err);
	if (rc >= 0)
		rc = write_copies(snapshot, scan, err);
	free_snapshot(snapshot);
	return rc < 0 ? (int)rc : 0;
}
