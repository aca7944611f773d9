/* SPDX-License-Identifier: MIT */
#include "rounds.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/no_memory.h"

#define FIRST_OF_FILES	   64		/* record types that the kernel does not write */
#define CACHED_ROUND_BYTES (256u << 10) /* of memory between rounds */
#define MOST_ROUND_BYTES   (8u << 20)	/* of records that wait to be sorted */

/* Notes where the records are that came since the last call, from an offset on. */
static int note_records(struct agent_rounds *rounds, const struct perch_decoder *decoder,
			size_t offset, struct perch_error *err)
{
	struct perch_record_header header;
	struct agent_waiting *waiting;

	for (; rounds->used - offset >= sizeof(header); offset += header.size) {
		memcpy(&header, rounds->bytes + offset, sizeof(header));
		if (header.size < sizeof(header) || header.size > rounds->used - offset)
			break;
		if (header.type >= FIRST_OF_FILES)
			continue;
		waiting = PERCH__ARRAY_APPEND(rounds->waiting, rounds->nr_waiting,
					      rounds->waiting_capacity);
		if (!waiting)
			return PERCH__NO_MEMORY(err, "for records");
		waiting->offset = offset;
		if (!perch_decoder_time(decoder, rounds->bytes + offset, header.size,
					&waiting->time))
			waiting->time = 0;
	}
	return 0;
}

int agent_rounds_add(struct agent_rounds *rounds, const struct perch_decoder *decoder,
		     const struct iovec *pieces, int nr, struct perch_error *err)
{
	size_t first = rounds->used;

	for (int i = 0; i < nr; i++) {
		if (PERCH__ARRAY_RESERVE(rounds->bytes, rounds->capacity,
					 rounds->used + pieces[i].iov_len))
			return PERCH__NO_MEMORY(err, "for records");
		if (pieces[i].iov_len)
			memcpy(rounds->bytes + rounds->used, pieces[i].iov_base, pieces[i].iov_len);
		rounds->used += pieces[i].iov_len;
	}
	return note_records(rounds, decoder, first, err);
}

bool agent_rounds_are_large(const struct agent_rounds *rounds)
{
	return rounds->used > MOST_ROUND_BYTES;
}

static int by_time(const void *a, const void *b)
{
	const struct agent_waiting *first = a, *second = b;

	if (first->time != second->time)
		return first->time < second->time ? -1 : 1;
	return (first->offset > second->offset) - (first->offset < second->offset);
}

int agent_rounds_deliver(struct agent_rounds *rounds, bool sorted,
			 int (*take)(void *context, const char *bytes, size_t size,
				     struct perch_error *err),
			 void *context, struct perch_error *err)
{
	int rc = 0;

	if (rounds->nr_waiting && sorted)
		qsort(rounds->waiting, rounds->nr_waiting, sizeof(*rounds->waiting), by_time);
	for (size_t i = 0; i < rounds->nr_waiting && rc >= 0; i++) {
		size_t offset = rounds->waiting[i].offset;

		rc = take(context, rounds->bytes + offset, rounds->used - offset, err);
	}
	rounds->nr_waiting = 0;
	rounds->used = 0;
	if (rounds->capacity > CACHED_ROUND_BYTES)
		agent_rounds_clear(rounds);
	return rc < 0 ? rc : 0;
}

void agent_rounds_clear(struct agent_rounds *rounds)
{
	free(rounds->bytes);
	free(rounds->waiting);
	*rounds = (struct agent_rounds){ .used = 0 };
}
