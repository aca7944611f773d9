/* SPDX-License-Identifier: MIT */
/*
 * The flight recorder. Into a ring of mode OVERWRITE the kernel writes downwards from position 0:
 * data_head is the start of the newest record, and what lies behind it up to the ring's size are
 * older ones. Only the oldest can have been written over, at its end, where the newest begins.
 */
#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "buffer.h"

/*
 * A writer that was in the middle of a record when the ring was paused finishes it; until it moves
 * the head, nothing tells of it. Writers do not sleep, and take some microseconds.
 */
#define WRITER_NS 50000

static int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

void perch__snapshot_paused(struct perch_ring *ring)
{
	if (ring->mode == PERCH_RING_OVERWRITE && ring->fd >= 0)
		ring->snapshot.paused_ns = now_ns();
}

void perch__snapshot_end(struct perch_ring *ring)
{
	ring->snapshot.remaining = 0;
}

static void wait_for_writers(const struct perch_ring *ring)
{
	int64_t left = ring->snapshot.paused_ns + WRITER_NS - now_ns();
	struct timespec rest = { 0, left };

	if (ring->snapshot.paused_ns && left > 0 && left <= WRITER_NS)
		nanosleep(&rest, NULL);
}

static int check(struct perch_ring *ring, enum perch_snapshot_order order, struct perch_error *err)
{
	if (ring->mode != PERCH_RING_OVERWRITE)
		return perch_error_set(
			err, EINVAL, PERCH_ERROR_USAGE,
			"a snapshot of a ring that the kernel does not write over: open it with mode OVERWRITE");
	if (order != PERCH_SNAPSHOT_NEWEST_FIRST && order != PERCH_SNAPSHOT_OLDEST_FIRST)
		return perch_error_set(err, EINVAL, PERCH_ERROR_USAGE,
				       "a snapshot in unknown order %d", (int)order);
	return ring->paused ? 0 : perch_ring_pause(ring, err);
}

/* Where the newest record begins. Of a kernel of 32 bits: that far below where it began the last
 * time. */
static uint64_t load_head(const struct perch_ring *ring)
{
	uint64_t head = perch__ring_head(ring), last = ring->snapshot.head;

	return sizeof(long) == 4 && head <= UINT32_MAX ? last - (uint32_t)(last - head) : head;
}

/* One more entry of the index, which grows by doubling up to what the ring can hold. */
static int index_record(struct perch__snapshot *snapshot, size_t nr, uint64_t position, size_t most)
{
	if (nr == snapshot->capacity) {
		size_t room = snapshot->capacity ? 2 * snapshot->capacity : 1024;
		uint32_t *index;

		if (room > most)
			room = most;
		index = realloc(snapshot->index, room * sizeof(*index));
		if (!index)
			return -ENOMEM;
		snapshot->index = index;
		snapshot->capacity = room;
	}
	snapshot->index[nr] = (position - snapshot->head) / 8;
	return 0;
}

/* Goes through the records up to limit: how many are whole, or -ENOMEM. *cut: one more begins
 * there. */
static ssize_t find_records(struct perch_ring *ring, uint64_t limit, bool *cut)
{
	struct perch__snapshot *snapshot = &ring->snapshot;
	struct perch_record_header header;
	uint64_t at = snapshot->head;
	size_t nr = 0;

	for (; at != limit; at += header.size, nr++) {
		if (!perch__ring_header(ring, at, limit, &header)) {
			*cut = header.size > limit - at && !(header.size & 7);
			ring->damaged += !*cut;
			break;
		}
		if (snapshot->order == PERCH_SNAPSHOT_OLDEST_FIRST &&
		    index_record(snapshot, nr, at, ring->size / 8) < 0)
			return -ENOMEM;
	}
	snapshot->end = at;
	return nr;
}

/* What came since the snapshot before and is not in this one. */
static void count_overwritten(struct perch__snapshot *snapshot, bool cut)
{
	uint64_t came = snapshot->previous_head - snapshot->head,
		 held = snapshot->end - snapshot->head;

	if (!came)
		return;
	snapshot->cut += cut;
	if (came > held)
		snapshot->overwritten += came - held;
	snapshot->previous_head = snapshot->head;
}

ssize_t perch_ring_snapshot(struct perch_ring *ring, enum perch_snapshot_order order,
			    struct perch_error *err)
{
	struct perch__snapshot *snapshot = &ring->snapshot;
	uint64_t new_bytes;
	bool cut = false;
	ssize_t nr;
	int rc;

	snapshot->remaining = 0;
	rc = check(ring, order, err);
	if (rc < 0)
		return rc;
	wait_for_writers(ring);
	snapshot->order = order;
	snapshot->head = load_head(ring);
	if (0 - snapshot->head > INT64_MAX)
		return perch_error_set(
			err, EINVAL, PERCH_ERROR_USAGE,
			"this ring was written upwards: an event whose ring is to be written over needs write_backward");
	/* heads only go down: anything else was not the kernel */
	if (snapshot->previous_head - snapshot->head > INT64_MAX) {
		ring->damaged++;
		snapshot->previous_head = snapshot->head;
	}
	new_bytes = snapshot->advanced - snapshot->head;
	nr = find_records(ring, snapshot->head + (new_bytes < ring->size ? new_bytes : ring->size),
			  &cut);
	if (nr < 0)
		return perch_error_set(err, ENOMEM, PERCH_ERROR_NO_MEMORY,
				       "no memory for an index of the ring's records");
	count_overwritten(snapshot, cut);
	snapshot->at = snapshot->head;
	snapshot->remaining = nr;
	return nr;
}

void perch_ring_snapshot_advance(struct perch_ring *ring)
{
	ring->snapshot.advanced = ring->snapshot.head;
}

/* What is still valid of the snapshot, in bytes: a writer that was late may have reached the oldest
 * records. */
static uint64_t valid_bytes(const struct perch_ring *ring)
{
	const struct perch__snapshot *snapshot = &ring->snapshot;
	uint64_t held = snapshot->end - snapshot->head, moved = snapshot->head - load_head(ring);
	uint64_t room = moved < ring->size ? ring->size - moved : 0;

	return held < room ? held : room;
}

const struct perch_record_header *perch__snapshot_next(struct perch_ring *ring)
{
	struct perch__snapshot *snapshot = &ring->snapshot;
	struct perch_record_header header;
	uint64_t at, held = valid_bytes(ring);

	while (snapshot->remaining) {
		at = snapshot->at;
		snapshot->remaining--;
		if (snapshot->order == PERCH_SNAPSHOT_OLDEST_FIRST)
			at = snapshot->head + 8ull * snapshot->index[snapshot->remaining];
		if (at - snapshot->head < held &&
		    perch__ring_header(ring, at, snapshot->head + held, &header)) {
			snapshot->at = at + header.size;
			snapshot->size = header.size;
			snapshot->bytes += header.size;
			return perch__ring_contiguous(ring, at, header.size);
		}
		snapshot->cut++;
	}
	return NULL;
}
