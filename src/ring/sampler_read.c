/* SPDX-License-Identifier: MIT */
/* Reads a sampler: records, batches and snapshots, and their statistics. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/no_memory.h"
#include "buffer.h"

#define SNAPSHOT_BYTES (256u << 10) /* passed to the callback at once, at most */

static inline uint64_t lost_in(const void *record, uint32_t type, uint16_t size)
{
	unsigned word = type == PERCH_RECORD_SAMPLE ? 0 : perch__lost_word(type, size);

	return word ? ((const uint64_t *)record)[word] : 0;
}

static inline void count_record(struct perch_sampler_stats *stats, uint32_t type, uint16_t size,
				uint64_t lost)
{
	perch__stats_count(stats, type, lost);
	stats->bytes += size;
}

/*
 * Returns the next record of the round, ring by ring; NULL at its end. A round begins with a look
 * at the heads of all rings: it has the records before these. Without this limit a reader that is
 * slower than the kernel would never come back.
 */
static const struct perch_record_header *next_bytes(struct perch_sampler *sampler)
{
	if (!sampler->in_round)
		for (size_t i = 0; i < sampler->nr_rings; i++)
			if (perch__is_read(&sampler->rings[i]))
				perch__next_batch(sampler->rings[i].ring);
	sampler->in_round = true;
	for (; sampler->current < sampler->nr_rings; sampler->current++) {
		const struct perch__sampler_ring *at = &sampler->rings[sampler->current];
		const struct perch_record_header *bytes;

		if (!perch__is_read(at))
			continue;
		bytes = perch__batch_next(at->ring);
		if (bytes)
			return bytes;
		/* now, not one round later: the kernel needs the space */
		perch__publish_tail(at->ring);
	}
	perch__sampler_begin_round(sampler);
	return NULL;
}

/*
 * The end of a round: frees removed threads, and takes wakeups of perch_sampler_fd(). One that came
 * for records of the next round is made again.
 */
static void end_round(struct perch_sampler *sampler)
{
	bool taken = false;

	if (sampler->nr_removed)
		perch__sampler_free_removed(sampler);
	if (sampler->epoll >= 0)
		taken = perch__sampler_take_wakeups(sampler);
	if ((taken || sampler->nr_removed) && perch__sampler_has_new_data(sampler))
		perch__sampler_wake(sampler);
}

int perch_sampler_next(struct perch_sampler *sampler, struct perch_record *record,
		       struct perch_error *err)
{
	const struct perch_record_header *bytes;

	if (perch__is_forked(sampler->generation))
		return perch__sampler_fork_error(err);
	if (!sampler->nr_rings)
		return 0;
	while ((bytes = next_bytes(sampler))) {
		struct perch_sampler_stats *stats = &sampler->rings[sampler->current].stats;
		uint32_t type = bytes->type;
		uint16_t size = bytes->size;
		uint64_t lost = lost_in(bytes, type, size);

		count_record(stats, type, size, lost);
		if (perch_decoder_decode(sampler->decoder, bytes, size, record, NULL) >= 0) {
			count_record(&sampler->events[record->event].stats, type, size, lost);
			return 1;
		}
		stats->damaged++;
	}
	end_round(sampler);
	return 0;
}

static int add_all_rings(struct perch_sampler *sampler, struct perch_merge *merge,
			 struct perch_error *err)
{
	int rc = 0;

	if (PERCH__ARRAY_RESERVE(sampler->merge_rings, sampler->merge_rings_capacity,
				 sampler->nr_rings + 1))
		return PERCH__NO_MEMORY(err, "for a sampler");
	for (size_t i = 0; rc >= 0 && i < sampler->nr_rings; i++) {
		struct perch__sampler_ring *ring = &sampler->rings[i];

		if (!perch__is_read(ring))
			continue;
		rc = perch_merge_add(merge, ring->ring, &ring->merge_index, err);
		if (rc >= 0)
			sampler->merge_rings[ring->merge_index] = i;
	}
	return rc;
}

static int make_merge(struct perch_sampler *sampler, struct perch_error *err)
{
	struct perch_merge *merge;
	int rc = perch_merge_new(&merge, NULL, 0, sampler->decoder, err);

	if (rc < 0)
		return rc;
	rc = add_all_rings(sampler, merge, err);
	if (rc < 0)
		perch_merge_free(merge);
	else
		sampler->merge = merge;
	return rc;
}

int perch_sampler_next_ordered(struct perch_sampler *sampler, bool flush,
			       struct perch_record *record, struct perch_error *err)
{
	size_t ring;
	int rc = 0;

	if (perch__is_forked(sampler->generation))
		return perch__sampler_fork_error(err);
	if (!sampler->nr_rings)
		return 0;
	if (!sampler->merge)
		rc = make_merge(sampler, err);
	while (rc >= 0) {
		struct perch_sampler_stats *stats;
		uint64_t lost;

		rc = perch_merge_next(sampler->merge, flush, record, &ring, NULL);
		if (!rc)
			end_round(sampler);
		if (!rc || (rc < 0 && rc != -EBADMSG))
			break;
		stats = &sampler->rings[sampler->merge_rings[ring]].stats;
		lost = lost_in(record->bytes, record->type, record->size);
		count_record(stats, record->type, record->size, lost);
		if (rc > 0) {
			count_record(&sampler->events[record->event].stats, record->type,
				     record->size, lost);
			break;
		}
		stats->damaged++;
		rc = 0;
	}
	return rc;
}

/* LOST and THROTTLE records are few, so they are decoded to count them for their event. */
static void count_event(struct perch_sampler *sampler, const void *bytes, uint32_t type,
			uint16_t size)
{
	struct perch_record record;

	if (type != PERCH_RECORD_THROTTLE && type != PERCH_RECORD_UNTHROTTLE &&
	    !perch__lost_word(type, size))
		return;
	if (perch_decoder_decode(sampler->decoder, bytes, size, &record, NULL) >= 0)
		count_record(&sampler->events[record.event].stats, type, size,
			     lost_in(bytes, type, size));
}

/* Counts the LOST and THROTTLE records of a batch. They are short; one that wraps is copied. */
static void count_batch(struct perch_sampler *sampler, const struct iovec pieces[2])
{
	size_t bytes = pieces[0].iov_len + pieces[1].iov_len, first = pieces[0].iov_len;
	struct perch_record_header header;
	uint64_t wrapped[64];

	for (size_t offset = 0; offset < bytes; offset += header.size) {
		const char *at = offset < first
					 ? (const char *)pieces[0].iov_base + offset
					 : (const char *)pieces[1].iov_base + (offset - first);

		memcpy(&header, at, sizeof(header));
		if (header.size < sizeof(header) || header.size & 7 || header.size > bytes - offset)
			return; /* another program changed the memory */
		if (offset >= first || offset + header.size <= first) {
			count_event(sampler, at, header.type, header.size);
		} else if (header.size <= sizeof(wrapped)) {
			memcpy(wrapped, at, first - offset);
			memcpy((char *)wrapped + (first - offset), pieces[1].iov_base,
			       header.size - (first - offset));
			count_event(sampler, wrapped, header.type, header.size);
		}
	}
}

ssize_t perch_sampler_drain(struct perch_sampler *sampler, perch_drain_function *function,
			    void *context, struct perch_error *err)
{
	ssize_t drained = 0;

	if (perch__is_forked(sampler->generation))
		return perch__sampler_fork_error(err);
	/* before the rings are read: a record that is written later makes another wakeup */
	if (sampler->epoll >= 0)
		perch__sampler_take_wakeups(sampler);
	for (size_t i = 0; i < sampler->nr_rings; i++) {
		struct perch__sampler_ring *cpu_ring = &sampler->rings[i];
		struct perch_sampler_stats before = cpu_ring->stats;
		struct iovec pieces[2];
		size_t bytes;
		int rc;

		if (!perch__is_read(cpu_ring))
			continue;
		bytes = perch__ring_peek(cpu_ring->ring, pieces, &cpu_ring->stats);
		if (!bytes)
			continue;
		if (cpu_ring->stats.lost != before.lost ||
		    cpu_ring->stats.throttled != before.throttled ||
		    cpu_ring->stats.unthrottled != before.unthrottled)
			count_batch(sampler, pieces);
		rc = function(context, i, pieces, pieces[1].iov_len ? 2 : 1);
		perch_ring_consume(cpu_ring->ring, bytes);
		cpu_ring->stats.bytes += bytes;
		if (rc < 0) {
			perch__sampler_wake(sampler); /* the other rings are not drained */
			return perch_error_set(
				err, -rc, PERCH_ERROR_USAGE,
				"the function passed to perch_sampler_drain() failed: %s",
				strerror(-rc));
		}
		drained += bytes;
	}
	if (sampler->nr_removed)
		perch__sampler_free_removed(sampler);
	return drained;
}

/* A snapshot that is copied, buffer by buffer, for the callback. */
struct snapshot_copy {
	struct perch_sampler *sampler;
	perch_drain_function *function;
	void *context;
	size_t ring, used;
	ssize_t bytes;
	char *buffer;
};

static int flush_copy(struct snapshot_copy *copy)
{
	struct iovec piece[2] = { { copy->buffer, copy->used } };

	if (!copy->used)
		return 0;
	copy->bytes += copy->used;
	copy->sampler->rings[copy->ring].stats.bytes += copy->used;
	copy->used = 0;
	return copy->function(copy->context, copy->ring, piece, 1);
}

/*
 * Copies a record. Returns 1, or 0 if a late writer has overwritten the record. The copy is
 * examined instead of the record, with the size that was checked before, because the record may
 * change at any time.
 */
static int copy_record(struct snapshot_copy *copy, const struct perch_record_header *record,
		       uint16_t size)
{
	struct perch_record_header *to;
	int rc;

	if (copy->used + size > SNAPSHOT_BYTES) {
		rc = flush_copy(copy);
		if (rc < 0)
			return rc;
	}
	to = (struct perch_record_header *)(copy->buffer + copy->used);
	memcpy(to, record, size);
	if (to->size != size)
		return 0;
	copy->used += size;
	perch__stats_count(&copy->sampler->rings[copy->ring].stats, to->type,
			   lost_in(to, to->type, size));
	count_event(copy->sampler, to, to->type, size);
	return 1;
}

static int copy_ring(struct snapshot_copy *copy, size_t index, struct perch_error *err)
{
	struct perch_ring *ring = copy->sampler->rings[index].ring;
	const struct perch_record_header *record;
	ssize_t rc = perch_ring_snapshot(ring, PERCH_SNAPSHOT_OLDEST_FIRST, err);

	copy->ring = index;
	while (rc >= 0 && (record = perch_ring_next(ring))) {
		rc = copy_record(copy, record, ring->snapshot.size);
		if (rc < 0)
			return (int)rc;
		ring->snapshot.cut += !rc;
	}
	return rc < 0 ? (int)rc : flush_copy(copy);
}

/* All rings are paused before the first one is read, so that they end at the same time. */
static int pause_backward(struct perch_sampler *sampler, struct perch_error *err)
{
	int rc = 0;

	for (size_t i = 0; i < sampler->nr_rings && rc >= 0; i++)
		if (perch__is_snapshot(&sampler->rings[i]))
			rc = perch_ring_pause(sampler->rings[i].ring, err);
	return rc;
}

static int resume_backward(struct perch_sampler *sampler, struct perch_error *err)
{
	int rc = 0;

	for (size_t i = 0; i < sampler->nr_rings && !sampler->paused; i++) {
		int one;

		if (!perch__is_snapshot(&sampler->rings[i]))
			continue;
		one = perch_ring_resume(sampler->rings[i].ring, rc < 0 ? NULL : err);
		rc = rc < 0 ? rc : one;
	}
	return rc;
}

ssize_t perch_sampler_snapshot(struct perch_sampler *sampler, perch_drain_function *function,
			       void *context, struct perch_error *err)
{
	struct snapshot_copy copy = { .sampler = sampler,
				      .function = function,
				      .context = context };
	int rc, resumed;

	if (perch__is_forked(sampler->generation))
		return perch__sampler_fork_error(err);
	if (!sampler->overwrite)
		return perch_error_set(err, EINVAL, PERCH_ERROR_USAGE,
				       "a snapshot needs a sampler with .overwrite");
	copy.buffer = malloc(SNAPSHOT_BYTES);
	if (!copy.buffer)
		return PERCH__NO_MEMORY(err, "for a snapshot");
	rc = pause_backward(sampler, err);
	for (size_t i = 0; i < sampler->nr_rings && rc >= 0; i++)
		if (perch__is_snapshot(&sampler->rings[i]))
			rc = copy_ring(&copy, i, err);
	resumed = resume_backward(sampler, rc < 0 ? NULL : err);
	free(copy.buffer);
	if (rc < 0 || resumed < 0)
		return rc < 0 ? rc : resumed;
	return copy.bytes;
}

void perch_sampler_snapshot_advance(struct perch_sampler *sampler)
{
	for (size_t i = 0; i < sampler->nr_rings; i++)
		if (perch__is_snapshot(&sampler->rings[i]))
			perch_ring_snapshot_advance(sampler->rings[i].ring);
}
