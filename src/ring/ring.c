/* SPDX-License-Identifier: MIT */
/*
 * One ring. The kernel advances data_head after it has written a record. It does not write beyond
 * data_tail + size, and counts what it cannot write in a LOST record.
 *
 * A batch is what the kernel had written when data_head was read. data_tail is published once per
 * batch.
 */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/no_memory.h"
#include "buffer.h"

/* The index of a snapshot has 32 bits per record, in units of 8 bytes. */
#define OVERWRITE_MAX (8ull << 32)

static int map_ring(struct perch_ring *ring, size_t pages, size_t page_bytes,
		    struct perch_error *err)
{
	size_t bytes = (pages + 1) * page_bytes;
	void *base;
	int rc = perch__map(ring, bytes, 0, ring->mode, ring->machine, &base, err);

	if (rc < 0)
		return rc;
	ring->control = base;
	ring->data = (char *)base + page_bytes;
	ring->size = pages * page_bytes;
	ring->mapped = bytes;
	rc = perch__mark_ring(ring, err);
	if (rc < 0) {
		ring->calls->munmap(ring->calls->context, base, bytes);
		return rc;
	}
	/* a ring that was mapped before continues where its last reader stopped */
	if (ring->mode == PERCH_RING_FORWARD)
		ring->tail = ring->next = ring->head = ring->first = ring->control->data_tail &
								     ~7ull;
	return 0;
}

static struct perch_ring *make_ring(enum perch_ring_mode mode, int fd, struct perch_error *err)
{
	struct perch_ring *new_ring = calloc(1, sizeof(*new_ring));

	if (!new_ring) {
		PERCH__NO_MEMORY(err, "for a ring");
		return NULL;
	}
	new_ring->mode = mode;
	new_ring->fd = fd;
	return new_ring;
}

static int check_mode(enum perch_ring_mode mode, uint64_t size, struct perch_error *err)
{
	if (mode != PERCH_RING_FORWARD && mode != PERCH_RING_OVERWRITE)
		return perch_error_set(err, EINVAL, PERCH_ERROR_USAGE, "unknown ring mode %d",
				       (int)mode);
	if (mode == PERCH_RING_OVERWRITE && size > OVERWRITE_MAX)
		return perch_error_set(err, EINVAL, PERCH_ERROR_USAGE,
				       "a ring of mode OVERWRITE has at most 32 GiB");
	return 0;
}

int perch_ring_open(struct perch_ring **ring, int fd, size_t pages, enum perch_ring_mode mode,
		    struct perch_machine *machine, struct perch_error *err)
{
	size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	struct perch_ring *new_ring;
	int rc;

	*ring = NULL;
	if (!pages || pages & (pages - 1) || pages > SIZE_MAX / 4 / page_bytes)
		return perch_error_set(
			err, EINVAL, PERCH_ERROR_USAGE,
			"the ring size must be a power of two of pages (%zu pages are not, or too many)",
			pages);
	rc = check_mode(mode, (uint64_t)pages * page_bytes, err);
	if (rc < 0)
		return rc;
	new_ring = make_ring(mode, fd, err);
	if (!new_ring)
		return -ENOMEM;
	new_ring->machine = machine;
	new_ring->calls = machine ? perch_machine_syscalls(machine) : &perch_kernel_syscalls;
	new_ring->generation = perch__fork_generation();
	rc = map_ring(new_ring, pages, page_bytes, err);
	if (rc < 0)
		free(new_ring);
	else
		*ring = new_ring;
	return rc;
}

int perch_ring_from_memory(struct perch_ring **ring, struct perch_mmap_page *control, void *data,
			   size_t size, enum perch_ring_mode mode, struct perch_error *err)
{
	struct perch_ring *new_ring;
	int rc;

	*ring = NULL;
	if (size < 8 || size & (size - 1) || (uintptr_t)data & 7 ||
	    (mode == PERCH_RING_FORWARD && control->data_tail & 7))
		return perch_error_set(
			err, EINVAL, PERCH_ERROR_USAGE,
			"the size of a ring in memory must be a power of two, and its data and data_tail aligned to 8 bytes");
	rc = check_mode(mode, size, err);
	if (rc < 0)
		return rc;
	new_ring = make_ring(mode, -1, err);
	if (!new_ring)
		return -ENOMEM;
	new_ring->control = control;
	new_ring->data = data;
	new_ring->size = size;
	if (mode == PERCH_RING_FORWARD)
		new_ring->tail = new_ring->next = new_ring->head = new_ring->first =
			control->data_tail;
	*ring = new_ring;
	return 0;
}

static void unmap_ring(struct perch_ring *ring)
{
	if (ring->aux.mapped)
		ring->calls->munmap(ring->calls->context, ring->aux.area, ring->aux.mapped);
	if (!ring->mapped)
		return;
	perch__unmark_ring(ring);
	ring->calls->munmap(ring->calls->context, ring->control, ring->mapped);
}

/* In a child nothing is mapped, and other memory may have the addresses. */
void perch_ring_close(struct perch_ring *ring)
{
	if (!ring)
		return;
	if (!perch__ring_is_forked(ring))
		unmap_ring(ring);
	free(ring->snapshot.index);
	free(ring);
}

void perch_ring_get_stats(const struct perch_ring *ring, struct perch_ring_stats *stats)
{
	*stats = (struct perch_ring_stats){
		.bytes = ring->next - ring->first - ring->skipped + ring->snapshot.bytes,
		.damaged = ring->damaged,
		.overwritten = ring->snapshot.overwritten,
		.cut = ring->snapshot.cut,
		.paused = ring->paused,
	};
}

/* A head that is further away than the ring's size was not written by the kernel. */
static void load_head(struct perch_ring *ring)
{
	if (ring->mode == PERCH_RING_OVERWRITE)
		return;
	ring->head = perch__ring_written(ring);
	if (ring->head - ring->next > ring->size)
		perch__drop_batch(ring);
}

uint64_t perch__ring_damaged(const struct perch_ring *ring)
{
	return ring->damaged;
}

unsigned perch__lost_word(uint32_t type, uint16_t size)
{
	if (type == PERCH_RECORD_LOST && size >= 24)
		return 2;
	return type == PERCH_RECORD_LOST_SAMPLES && size >= 16;
}

void perch__stats_other(struct perch_sampler_stats *stats, uint32_t type, uint64_t lost)
{
	stats->throttled += type == PERCH_RECORD_THROTTLE;
	stats->unthrottled += type == PERCH_RECORD_UNTHROTTLE;
	stats->unknown += type == 0 || type >= PERCH_RECORD_MAX;
	stats->lost += lost;
}

static void count_at(const struct perch_ring *ring, uint64_t position,
		     const struct perch_record_header *header, struct perch_sampler_stats *stats)
{
	unsigned word = perch__lost_word(header->type, header->size);
	uint64_t lost = 0;

	if (word)
		memcpy(&lost, perch__ring_at(ring, position + 8 * word), sizeof(lost));
	perch__stats_count(stats, header->type, lost);
}

/*
 * Returns the end of the complete records of the batch. A record starts where the one before it
 * ends, so each step would wait for memory. Prefetching hides that wait, and so does a branch that
 * the CPU predicts: "the size is that of the last record". The empty asm prevents the compiler
 * from replacing the branch by an addition of the loaded size.
 */
static uint64_t end_of_batch(const struct perch_ring *ring, struct perch_sampler_stats *stats)
{
	uint64_t end = ring->next, head = ring->head, samples = 0;
	struct perch_record_header header;
	size_t step = 0;

	for (; end != head && perch__ring_header(ring, end, head, &header); end += step) {
		__builtin_prefetch(perch__ring_at(ring, end + PERCH__PREFETCH_DISTANCE));
		if (header.size != step) {
			step = header.size;
			__asm__("" : "+r"(step));
		}
		if (__builtin_expect(header.type == PERCH_RECORD_SAMPLE, 1))
			samples++;
		else if (stats)
			count_at(ring, end, &header, stats);
	}
	if (stats) {
		stats->records += samples;
		stats->samples += samples;
	}
	return end;
}

size_t perch__ring_peek(struct perch_ring *ring, struct iovec pieces[2],
			struct perch_sampler_stats *stats)
{
	uint64_t end;
	size_t bytes;

	if (perch__ring_is_forked(ring)) {
		pieces[0] = pieces[1] = (struct iovec){ 0 };
		return 0;
	}
	load_head(ring);
	end = end_of_batch(ring, stats);
	bytes = end - ring->next;
	/* if valid records precede the invalid one, the next peek finds it at the start */
	if (!bytes && end != ring->head)
		perch__drop_batch(ring);
	perch__pieces(ring->data, ring->size, ring->next, bytes, pieces);
	return bytes;
}

size_t perch_ring_peek(struct perch_ring *ring, struct iovec pieces[2])
{
	return perch__ring_peek(ring, pieces, NULL);
}

void perch_ring_consume(struct perch_ring *ring, size_t bytes)
{
	uint64_t left = ring->head - ring->next;

	if (perch__ring_is_forked(ring))
		return;
	/* records start at multiples of 8: at other positions a header could wrap */
	ring->next += (bytes < left ? bytes : left) & ~7ull;
	perch__publish_tail(ring);
}

bool perch__next_batch(struct perch_ring *ring)
{
	perch__publish_tail(ring);
	load_head(ring);
	return ring->head != ring->next;
}

const struct perch_record_header *perch_ring_next(struct perch_ring *ring)
{
	const struct perch_record_header *record;

	if (perch__ring_is_forked(ring))
		return NULL;
	if (ring->mode == PERCH_RING_OVERWRITE)
		return perch__snapshot_next(ring);
	record = perch__batch_next(ring);
	/* what was written during a round is of the next one, or a slow reader would have no end */
	if (!record && ring->in_round)
		perch__publish_tail(ring);
	else if (!record && perch__next_batch(ring))
		record = perch__batch_next(ring);
	ring->in_round = record;
	return record;
}
