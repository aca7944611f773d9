/* SPDX-License-Identifier: MIT */
/*
 * The parts of a ring, for the files that access its memory.
 *
 * Positions are byte counts that never wrap; masked with size - 1 they are offsets in the buffer.
 * Records start at multiples of 8 bytes and have such sizes, so a header never wraps around the end
 * of the buffer, but a record may.
 */
#ifndef PERCH_RING_BUFFER_H
#define PERCH_RING_BUFFER_H

#include <string.h>

#include "base/fork.h"
#include "internal.h"

#define PERCH__WRAP_BUFFER_SIZE	 (1u << 16)
#define PERCH__PREFETCH_DISTANCE 1024 /* bytes; the data comes from the cache of another CPU */

/* The AUX area of a ring. */
struct perch__aux {
	char *area;    /* NULL if there is none */
	size_t size;   /* a power of two */
	size_t mapped; /* bytes to unmap; 0 for the caller's memory */
	bool overwrite;
	bool wrapped;  /* OVERWRITE: the head has wrapped, so all of the area holds data */
	uint64_t next; /* FORWARD: the tail, the first byte not consumed */
	uint64_t head; /* FORWARD: end of the bytes returned last */
	struct perch_aux_stats stats;
};

/*
 * The contents of a ring of mode OVERWRITE when it was paused. The kernel writes downwards from
 * position 0, so the newest record has the lowest position.
 */
struct perch__snapshot {
	uint64_t head;		/* start of the newest record */
	uint64_t previous_head; /* of the snapshot before */
	uint64_t advanced;	/* records from this position on are left out; 0 at first */
	uint64_t end;		/* end of the oldest complete record */
	uint64_t at;		/* newest first: the next record */
	uint32_t *index;  /* oldest first: (position - head) / 8 of each record, newest first */
	size_t capacity;  /* entries allocated for index */
	size_t remaining; /* records not returned yet */
	uint16_t size;	  /* of the record returned last, as it was checked */
	enum perch_snapshot_order order;
	int64_t paused_ns; /* when the ring was paused, CLOCK_MONOTONIC; 0 without a descriptor */
	uint64_t bytes;	   /* returned by all snapshots */
	uint64_t overwritten, cut;
};

struct perch_ring {
	struct perch_mmap_page *control;
	char *data;
	size_t size; /* a power of two */
	/* OVERWRITE: the next three stay equal, and data_tail is never written */
	uint64_t tail; /* the published data_tail */
	uint64_t next; /* first byte not returned or not consumed */
	uint64_t head; /* end of the current batch */
	enum perch_ring_mode mode;
	int fd;		     /* -1 for the caller's memory */
	uint32_t generation; /* of the process that mapped it; 0 for the caller's memory */
	bool paused;
	bool in_round; /* FORWARD: perch_ring_next() has returned records up to a head */
	size_t mapped; /* bytes to unmap; 0 for the caller's memory */
	struct perch_machine *machine;
	const struct perch_syscalls *calls;
	uint64_t first;	  /* where reading began */
	uint64_t skipped; /* bytes of dropped batches */
	uint64_t damaged;
	struct perch__snapshot snapshot;
	struct perch__aux aux;
	uint64_t wrapped[PERCH__WRAP_BUFFER_SIZE / 8]; /* a record that wraps is copied here */
};

/*
 * Maps bytes of the ring's descriptor at an offset, read-only for mode OVERWRITE. The error of a
 * failure is an explanation; machine may be NULL.
 */
int perch__map(const struct perch_ring *ring, size_t bytes, uint64_t offset,
	       enum perch_ring_mode mode, struct perch_machine *machine, void **memory,
	       struct perch_error *err);
/*
 * Marks the buffer as read by this ring, so that no second ring reads it. Returns -EEXIST if it has
 * a mark already.
 */
int perch__mark_ring(struct perch_ring *ring, struct perch_error *err);
/* Removes the mark. */
void perch__unmark_ring(struct perch_ring *ring);
/* True if the ring was mapped before a fork: it has no memory in this process. */
static inline bool perch__ring_is_forked(const struct perch_ring *ring)
{
	return perch__is_forked(ring->generation);
}
/* Returns -ESTALE and fills *err if the ring was mapped before a fork; else 0. */
int perch__check_ring_fork(const struct perch_ring *ring, struct perch_error *err);
/* Writes data_tail: the kernel may overwrite what was returned or consumed. */
void perch__publish_tail(struct perch_ring *ring);
/* Drops the rest of the current batch, which is not a sequence of records. */
void perch__drop_batch(struct perch_ring *ring);
/* Ends the current batch and starts the next one; false if the kernel has written nothing. */
bool perch__next_batch(struct perch_ring *ring);
/* Returns the next record of the current snapshot, in its order; NULL if there is none. */
const struct perch_record_header *perch__snapshot_next(struct perch_ring *ring);

static inline char *perch__ring_at(const struct perch_ring *ring, uint64_t position)
{
	return ring->data + (position & (ring->size - 1));
}

/* Acquire pairs with the kernel's store of data_head after the bytes of the records. */
static inline uint64_t perch__ring_head(const struct perch_ring *ring)
{
	return __atomic_load_n(&ring->control->data_head, __ATOMIC_ACQUIRE) & ~7ull;
}

/*
 * Returns the 64-bit position of a head. A 32-bit kernel counts in 32 bits and stores them as 64,
 * so its heads restart at 0 after 4 GiB; it also reads only 32 bits of a tail. A head of 32 bits is
 * recognized by its distance from `position`: at most `size`, counted in 32 bits.
 */
static inline uint64_t perch__widen_position(uint64_t head, uint64_t position, size_t size)
{
	uint32_t distance = (uint32_t)(head - position);

	return head - position > size && head <= UINT32_MAX && distance <= size
		       ? position + distance
		       : head;
}

/* FORWARD: the end of what the kernel has written. */
static inline uint64_t perch__ring_written(const struct perch_ring *ring)
{
	return perch__widen_position(perch__ring_head(ring), ring->next, ring->size);
}

/* Copies the header at a position before `end`, once, because the memory is shared. False if it
 * cannot be a header. */
static inline bool perch__ring_header(const struct perch_ring *ring, uint64_t position,
				      uint64_t end, struct perch_record_header *header)
{
	memcpy(header, perch__ring_at(ring, position), sizeof(*header));
	return header->size >= sizeof(*header) && !(header->size & 7) &&
	       header->size <= end - position;
}

/*
 * Returns the record of `size` bytes at a position; one that wraps is copied into the ring's
 * buffer.
 */
static inline const struct perch_record_header *perch__ring_contiguous(struct perch_ring *ring,
								       uint64_t position,
								       uint16_t size)
{
	size_t first = ring->size - (position & (ring->size - 1));

	if (__builtin_expect(first >= size, 1))
		return (const struct perch_record_header *)perch__ring_at(ring, position);
	memcpy(ring->wrapped, perch__ring_at(ring, position), first);
	memcpy((char *)ring->wrapped + first, ring->data, size - first);
	return (const struct perch_record_header *)ring->wrapped;
}

/* Bytes from a position of a circular buffer, as one or two pieces. */
static inline void perch__pieces(char *buffer, size_t size, uint64_t position, size_t bytes,
				 struct iovec pieces[2])
{
	size_t offset = position & (size - 1), first = size - offset;

	pieces[0] = pieces[1] = (struct iovec){ 0 };
	if (first > bytes)
		first = bytes;
	if (first)
		pieces[0] = (struct iovec){ buffer + offset, first };
	if (bytes > first)
		pieces[1] = (struct iovec){ buffer, bytes - first };
}

/* Returns the next record of the current batch; NULL at its end. */
static inline const struct perch_record_header *perch__batch_next(struct perch_ring *ring)
{
	struct perch_record_header header;
	uint64_t position = ring->next;

	if (position == ring->head)
		return NULL;
	if (__builtin_expect(!perch__ring_header(ring, position, ring->head, &header), 0)) {
		perch__drop_batch(ring);
		return NULL;
	}
	__builtin_prefetch(perch__ring_at(ring, position + PERCH__PREFETCH_DISTANCE));
	ring->next = position + header.size;
	return perch__ring_contiguous(ring, position, header.size);
}

#endif
