/* SPDX-License-Identifier: MIT */
/*
 * What a ring is made of, for the files that look into it. Positions run freely; masked they are
 * offsets. Records are multiples of 8 bytes and begin at such, so a header never wraps, while a
 * record may.
 */
#ifndef PERCH_RING_BUFFER_H
#define PERCH_RING_BUFFER_H

#include <string.h>

#include "internal.h"

#define PERCH__WRAP_BUFFER_SIZE (1u << 16)
#define PERCH__PREFETCH_DISTANCE                                        \
	1024 /* bytes: what another CPU has written comes from far away \
	      */

/* The AUX area behind a ring. */
struct perch__aux {
	char *area;    /* NULL: none */
	size_t size;   /* power of two */
	size_t mapped; /* bytes to unmap; 0: the caller's memory */
	bool overwrite;
	bool wrapped;  /* seen to have wrapped: all of it holds data; OVERWRITE */
	uint64_t next; /* first byte not consumed: the tail; FORWARD */
	uint64_t head; /* end of what was handed out last */
	struct perch_aux_stats stats;
};

/* What a ring of mode OVERWRITE held when it was paused. The kernel writes downwards, from position
 * 0 on. */
struct perch__snapshot {
	uint64_t head;		/* the newest record */
	uint64_t previous_head; /* head of the snapshot before */
	/* what lies from here on is not wanted again; at first the place where the kernel began */
	uint64_t advanced;
	uint64_t end; /* end of the oldest whole record */
	uint64_t at;  /* newest first: the next record to hand out */
	/* oldest first: where the records are, in units of 8 bytes behind head; newest first */
	uint32_t *index;
	size_t capacity;  /* entries of index */
	size_t remaining; /* records not handed out */
	uint16_t size;	  /* of the one handed out last, as it was checked */
	enum perch_snapshot_order order;
	int64_t paused_ns; /* when the pause began; 0: not by this ring */
	uint64_t bytes;	   /* handed out, of all snapshots */
	uint64_t overwritten, cut;
};

struct perch_ring {
	struct perch_mmap_page *control;
	char *data;
	size_t size;   /* power of two */
	uint64_t tail; /* as the kernel was told */
	uint64_t next; /* first byte not handed out or not consumed */
	uint64_t head; /* end of the batch in hand */
	/* OVERWRITE: the three above stay equal, and the tail is never written */
	enum perch_ring_mode mode;
	int fd; /* -1: the caller's memory */
	bool paused;
	size_t mapped; /* bytes to unmap; 0: the caller's memory */
	struct perch_machine *machine;
	const struct perch_syscalls *calls;
	uint64_t first;	  /* where reading began */
	uint64_t skipped; /* bytes of dropped batches */
	uint64_t damaged;
	struct perch__snapshot snapshot;
	struct perch__aux aux;
	uint64_t wrapped[PERCH__WRAP_BUFFER_SIZE / 8];
};

/* Drops the rest of the batch in hand: it holds no records. */
void perch__drop_batch(struct perch_ring *ring);
/* Explains a refused mmap(2). */
int perch__ring_map_refused(const struct perch_operation *operation, struct perch_machine *machine,
			    struct perch_error *err);
/* snapshot.c. The ring was just paused; what a snapshot holds is gone. */
void perch__snapshot_paused(struct perch_ring *ring);
const struct perch_record_header *perch__snapshot_next(struct perch_ring *ring);
void perch__snapshot_end(struct perch_ring *ring);
/* aux.c */
void perch__aux_close(struct perch_ring *ring);

static inline char *perch__ring_at(const struct perch_ring *ring, uint64_t position)
{
	return ring->data + (position & (ring->size - 1));
}

/* Acquire pairs with the kernel's store of data_head after the records' bytes. */
static inline uint64_t perch__ring_head(const struct perch_ring *ring)
{
	return __atomic_load_n(&ring->control->data_head, __ATOMIC_ACQUIRE) & ~7ull;
}

/*
 * A kernel of 32 bits counts in as many and stores them in 64: its heads begin again at 0 after 4
 * GiB. What is at most size bytes from a position so is there, and not 4 GiB before. (It looks at
 * no more than 32 bits of a tail.)
 */
static inline uint64_t perch__widen_position(uint64_t head, uint64_t position, size_t size)
{
	uint32_t came = (uint32_t)(head - position);

	return head - position > size && head <= UINT32_MAX && came <= size ? position + came
									    : head;
}

/* FORWARD: the end of what the kernel has written. */
static inline uint64_t perch__ring_written(const struct perch_ring *ring)
{
	return perch__widen_position(perch__ring_head(ring), ring->next, ring->size);
}

/* The header at a position before end; false when it cannot be one. Read once: the memory is
 * shared. */
static inline bool perch__ring_header(const struct perch_ring *ring, uint64_t position,
				      uint64_t end, struct perch_record_header *header)
{
	memcpy(header, perch__ring_at(ring, position), sizeof(*header));
	return header->size >= sizeof(*header) && !(header->size & 7) &&
	       header->size <= end - position;
}

/* The record of size bytes at a position, put together in the ring's own buffer when it wraps. */
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

/* bytes from a position on of a buffer of size bytes, as one or two pieces. */
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

/* The next record of the batch in hand; NULL at the batch's end. */
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
