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
struct run {
	char *bytes;
	size_t used, room, at;
	/* of the record at .at; of those without one, that of the record before */
	uint64_t time;
};

struct shot {
	struct record *record;
	struct run *runs;
	struct iovec pieces[MOST_PIECES];
	int nr;
};

static int take(void *context, size_t ring, const struct iovec *pieces, int nr)
{
	struct shot *shot = context;
	struct run *run = &shot->runs[ring];

	for (int i = 0; i < nr; i++) {
		size_t wanted = run->used + pieces[i].iov_len;

		if (wanted > run->room) {
			size_t room = wanted > 2 * run->room ? wanted : 2 * run->room;
			char *grown = realloc(run->bytes, room);

			if (!grown)
				return -ENOMEM;
			run->bytes = grown;
			run->room = room;
		}
		memcpy(run->bytes + run->used, pieces[i].iov_base, pieces[i].iov_len);
		run->used = wanted;
	}
	return 0;
}

static const struct perch_record_header *head_of(const struct run *run)
{
	return (const void *)(run->bytes + run->at);
}

static void look(const struct record *record, struct run *run)
{
	uint64_t time;

	if (run->at < run->used &&
	    perch_decoder_time(record->decoder, head_of(run), head_of(run)->size, &time) && time)
		run->time = time;
}

static int flush(struct shot *shot)
{
	struct record *record = shot->record;
	int nr = shot->nr;

	shot->nr = 0;
	return nr ? perch_writer_append(record->writer, shot->pieces, nr, &record->err) : 0;
}

/* Whatever of a run is not younger than the time: it lies in one piece. */
static int put_until(struct shot *shot, struct run *run, uint64_t time)
{
	size_t first = run->at;

	do {
		run->at += head_of(run)->size;
		look(shot->record, run);
	} while (run->at < run->used && run->time <= time);
	shot->pieces[shot->nr++] = (struct iovec){ run->bytes + first, run->at - first };
	return shot->nr == MOST_PIECES ? flush(shot) : 0;
}

/* The run whose next record is the oldest; *until: the time of the one that comes after it. */
static struct run *oldest(struct shot *shot, uint64_t *until)
{
	struct run *found = NULL;

	*until = UINT64_MAX;
	for (size_t i = 0; i < shot->record->nr_rings; i++) {
		struct run *run = &shot->runs[i];

		if (run->at >= run->used)
			continue;
		if (!found || run->time < found->time) {
			*until = found ? found->time : *until;
			found = run;
		} else if (run->time < *until) {
			*until = run->time;
		}
	}
	return found;
}

static int write_runs(struct shot *shot)
{
	struct record *record = shot->record;
	struct run *run;
	uint64_t until;
	int rc = 0;

	for (size_t i = 0; i < record->nr_rings; i++) {
		struct iovec pieces[2] = { { shot->runs[i].bytes, shot->runs[i].used } };

		record_scan(record, i, pieces);
		look(record, &shot->runs[i]);
	}
	while (rc >= 0 && (run = oldest(shot, &until)))
		rc = put_until(shot, run, until);
	return rc < 0 ? rc : flush(shot);
}

int record_write_shot(struct record *record)
{
	struct shot *shot = calloc(1, sizeof(*shot));
	ssize_t rc = -ENOMEM;

	if (shot) {
		shot->record = record;
		shot->runs = calloc(record->nr_rings, sizeof(*shot->runs));
	}
	if (!shot || !shot->runs)
		perch_error_set(&record->err, ENOMEM, PERCH_ERROR_NO_MEMORY,
				"no memory for a snapshot");
	else
		rc = perch_sampler_snapshot(record->sampler, take, shot, &record->err);
	if (shot && rc == -ENOMEM)
		perch_error_set(&record->err, ENOMEM, PERCH_ERROR_NO_MEMORY,
				"no memory for a snapshot");
	/* mappings and names that came until the rings stood still: a program may have begun since
	 * the last look */
	if (rc >= 0)
		rc = record_write_round(record);
	if (rc >= 0)
		rc = write_runs(shot);
	for (size_t i = 0; shot && shot->runs && i < record->nr_rings; i++)
		free(shot->runs[i].bytes);
	if (shot)
		free(shot->runs);
	free(shot);
	return rc < 0 ? (int)rc : 0;
}
