/* SPDX-License-Identifier: MIT */
/*
 * Snapshots of a ring of mode OVERWRITE. The kernel writes downwards from position 0. data_head is
 * the start of the newest record; older records follow it, up to the ring's size. Only the oldest
 * record can be overwritten in part, at its end.
 */
#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "base/array.h"
#include "base/no_memory.h"
#include "buffer.h"

/*
 * When the ring is paused, a writer may still be writing a record. It finishes within microseconds,
 * because writers do not sleep. The record is visible when the writer moves data_head.
 */
#define WRITER_NS 50000

static int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void wait_for_writers(const struct perch_ring *ring)
{
	int64_t left = ring->snapshot.paused_ns + WRITER_NS - now_ns();
	struct timespec rest = { 0, left };

	if (!ring->snapshot.paused_ns || left <= 0 || left > WRITER_NS)
		return;
	while (nanosleep(&rest, &rest) < 0 && errno == EINTR)
		; /* a signal handler ran: sleep the rest */
}

static int check_ring(struct perch_ring *ring, enum perch_snapshot_order order,
		      struct perch_error *err)
{
	if (ring->mode != PERCH_RING_OVERWRITE)
		return perch_error_set(err, EINVAL, PERCH_ERROR_USAGE,
				       "a snapshot needs a ring of mode OVERWRITE");
	if (order != PERCH_SNAPSHOT_NEWEST_FIRST && order != PERCH_SNAPSHOT_OLDEST_FIRST)
		return perch_error_set(err, EINVAL, PERCH_ERROR_USAGE, "unknown snapshot order %d",
				       (int)order);
	return ring->paused ? 0 : perch_ring_pause(ring, err);
}

/*
 * Returns the start of the newest record. The 32-bit head of a 32-bit kernel is extended to 64
 * bits: it is below the last one.
 */
static uint64_t load_head(const struct perch_ring *ring)
{
	uint64_t head = perch__ring_head(ring), last = ring->snapshot.head;

	return sizeof(long) == 4 && head <= UINT32_MAX ? last - (uint32_t)(last - head) : head;
}

static int index_record(struct perch__snapshot *snapshot, size_t nr, uint64_t position, size_t most)
{
	int rc = PERCH__ARRAY_RESERVE_MAX(snapshot->index, snapshot->capacity, nr + 1, most);

	if (!rc)
		snapshot->index[nr] = (position - snapshot->head) / 8;
	return rc;
}

/* Finds the records up to limit. Returns the number of complete ones, or -ENOMEM. *cut is set if
 * another record starts before limit and ends after it. */
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

/* Counts what was written since the previous snapshot and is not in this one. */
static void count_overwritten(struct perch__snapshot *snapshot, bool cut)
{
	uint64_t written = snapshot->previous_head - snapshot->head,
		 held = snapshot->end - snapshot->head;

	if (!written)
		return;
	snapshot->cut += cut;
	if (written > held)
		snapshot->overwritten += written - held;
	snapshot->previous_head = snapshot->head;
}

ssize_t perch_ring_snapshot(struct perch_ring *ring, enum perch_snapshot_order order,
			    struct perch_error *err)
{
	struct perch__snapshot *snapshot = &ring->snapshot;
	uint64_t bytes;
	bool cut = false;
	ssize_t nr;
	int rc;

	rc = perch__check_ring_fork(ring, err);
	if (rc < 0)
		return rc;
	snapshot->remaining = 0;
	rc = check_ring(ring, order, err);
	if (rc < 0)
		return rc;
	wait_for_writers(ring);
	snapshot->order = order;
	snapshot->head = load_head(ring);
	if (0 - snapshot->head > INT64_MAX)
		return perch_error_set(
			err, EINVAL, PERCH_ERROR_USAGE,
			"this ring was written upwards: mode OVERWRITE needs an event with write_backward");
	/* the kernel only decreases the head */
	if (snapshot->previous_head - snapshot->head > INT64_MAX) {
		ring->damaged++;
		snapshot->previous_head = snapshot->head;
	}
	bytes = snapshot->advanced - snapshot->head;
	nr = find_records(ring, snapshot->head + (bytes < ring->size ? bytes : ring->size), &cut);
	if (nr < 0)
		return PERCH__NO_MEMORY(err, "for the index of a snapshot");
	count_overwritten(snapshot, cut);
	snapshot->at = snapshot->head;
	snapshot->remaining = nr;
	return nr;
}

void perch_ring_snapshot_advance(struct perch_ring *ring)
{
	ring->snapshot.advanced = ring->snapshot.head;
}

/*
 * Returns the number of bytes of the snapshot that are still valid: a late writer may have
 * overwritten the oldest records.
 */
static uint64_t valid_bytes(const struct perch_ring *ring)
{
	const struct perch__snapshot *snapshot = &ring->snapshot;
	uint64_t held = snapshot->end - snapshot->head, moved = snapshot->head - load_head(ring);
	uint64_t most = moved < ring->size ? ring->size - moved : 0;

	return held < most ? held : most;
}

const struct perch_record_header *perch__snapshot_next(struct perch_ring *ring)
{
	struct perch__snapshot *snapshot = &ring->snapshot;
	struct perch_record_header header;
	uint64_t at, valid = valid_bytes(ring);

	while (snapshot->remaining) {
		at = snapshot->at;
		snapshot->remaining--;
		if (snapshot->order == PERCH_SNAPSHOT_OLDEST_FIRST)
			at = snapshot->head + 8ull * snapshot->index[snapshot->remaining];
		if (at - snapshot->head < valid &&
		    perch__ring_header(ring, at, snapshot->head + valid, &header)) {
			snapshot->at = at + header.size;
			snapshot->size = header.size;
			snapshot->bytes += header.size;
			return perch__ring_contiguous(ring, at, header.size);
		}
		snapshot->cut++;
	}
	return NULL;
}
