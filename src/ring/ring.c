/* SPDX-License-Identifier: MIT */
/*
 * One ring. The kernel moves data_head after it has written a record, and stops writing (LOST) where data_tail says that
 * the reader still is. Positions run freely; masked they are offsets. Records are multiples of 8 bytes, so a header never
 * wraps, while a record may.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "internal.h"

#define RECORD_MAX (1u << 16)

struct perch_ring {
	struct perch_mmap_page *control;
	char *data;
	size_t size;			/* power of two */
	size_t mapped;			/* bytes to unmap; 0: the caller's memory */
	const struct perch_calls *calls;
	uint64_t tail;			/* as the kernel was told */
	uint64_t next;			/* first byte not handed out or not consumed */
	uint64_t head;			/* end of the batch in hand */
	uint64_t damaged;
	uint64_t wrapped[RECORD_MAX / 8];
};

/* The machine is asked for its limits here only: where /proc cannot be read, rings work all the same. */
static int map_refused(const struct perch_operation *operation, struct perch_machine *machine, struct perch_error *err)
{
	struct perch_explanation explanation;
	struct perch_machine *own = NULL;

	if (!err)
		return -operation->errnum;
	if (!machine && perch_machine_new(&own, NULL, NULL, NULL) >= 0)
		machine = own;
	perch_explain_operation(operation, machine, &explanation);
	perch_machine_free(own);
	return perch_explanation_error(&explanation, err);
}

static int map_ring(struct perch_ring *ring, int fd, size_t pages, size_t page_bytes, struct perch_machine *machine,
		    struct perch_error *err)
{
	size_t bytes = (pages + 1) * page_bytes;
	struct perch_operation operation = {
		.kind = PERCH_OPERATION_MAP, .length = bytes, .protection = PROT_READ | PROT_WRITE, .map_flags = MAP_SHARED,
		.other_fd = -1,
	};
	void *base = ring->calls->map(ring->calls->context, bytes, operation.protection, operation.map_flags, fd, 0);

	if (base == MAP_FAILED) {
		operation.errnum = errno;
		return map_refused(&operation, machine, err);
	}
	ring->control = base;
	ring->data = (char *)base + page_bytes;
	ring->size = pages * page_bytes;
	ring->mapped = bytes;
	return 0;
}

int perch_ring_open(struct perch_ring **ring, int fd, size_t pages, enum perch_ring_mode mode,
		    struct perch_machine *machine, struct perch_error *err)
{
	size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	struct perch_ring *made;
	int rc;

	(void)mode;
	*ring = NULL;
	if (!pages || pages & (pages - 1) || pages > SIZE_MAX / 4 / page_bytes)
		return perch_error_set(err, EINVAL, PERCH_ERROR_USAGE, "a ring of %zu pages: not a power of two, or too large",
				       pages);
	made = calloc(1, sizeof(*made));
	if (!made)
		return perch_error_set(err, ENOMEM, PERCH_ERROR_NO_MEMORY, "no memory for a ring");
	made->calls = machine ? perch_machine_calls(machine) : &perch_kernel_calls;
	rc = map_ring(made, fd, pages, page_bytes, machine, err);
	if (rc < 0)
		free(made);
	else
		*ring = made;
	return rc;
}

int perch_ring_from_memory(struct perch_ring **ring, struct perch_mmap_page *control, void *data, size_t size,
			   enum perch_ring_mode mode, struct perch_error *err)
{
	struct perch_ring *made;

	(void)mode;
	*ring = NULL;
	if (size < 8 || size & (size - 1) || (uintptr_t)data & 7 || control->data_tail & 7)
		return perch_error_set(err, EINVAL, PERCH_ERROR_USAGE,
				       "a ring's memory must be a power of two of bytes, and it and its tail aligned to 8");
	made = calloc(1, sizeof(*made));
	if (!made)
		return perch_error_set(err, ENOMEM, PERCH_ERROR_NO_MEMORY, "no memory for a ring");
	made->control = control;
	made->data = data;
	made->size = size;
	made->tail = made->next = made->head = control->data_tail;
	*ring = made;
	return 0;
}

void perch_ring_close(struct perch_ring *ring)
{
	if (!ring)
		return;
	if (ring->mapped)
		ring->calls->unmap(ring->calls->context, ring->control, ring->mapped);
	free(ring);
}

static char *at(const struct perch_ring *ring, uint64_t position)
{
	return ring->data + (position & (ring->size - 1));
}

/* Acquire pairs with the kernel's store of data_head after the records' bytes. */
static uint64_t load_head(const struct perch_ring *ring)
{
	return __atomic_load_n(&ring->control->data_head, __ATOMIC_ACQUIRE) & ~7ull;
}

/* Release: our reads of the bytes are done before the kernel may write over them. */
void perch__ring_publish(struct perch_ring *ring)
{
	if (ring->tail == ring->next)
		return;
	ring->tail = ring->next;
	__atomic_store_n(&ring->control->data_tail, ring->tail, __ATOMIC_RELEASE);
}

static void drop_batch(struct perch_ring *ring)
{
	ring->damaged++;
	ring->next = ring->head;
	perch__ring_publish(ring);
}

/* Takes up the head. A distance that no ring can have means a head that was not written by the kernel. */
static void take_head(struct perch_ring *ring)
{
	ring->head = load_head(ring);
	if (ring->head - ring->next > ring->size)
		drop_batch(ring);
}

/* The header at a position of the batch; false when it cannot be one. Read once: the memory is shared. */
static bool header_at(const struct perch_ring *ring, uint64_t position, struct perch_record_header *header)
{
	memcpy(header, at(ring, position), sizeof(*header));
	return header->size >= sizeof(*header) && !(header->size & 7) && header->size <= ring->head - position;
}

bool perch__ring_has_data(const struct perch_ring *ring)
{
	return load_head(ring) != ring->next;
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

void perch__stats_count(struct perch_sampler_stats *stats, uint32_t type, uint64_t lost)
{
	stats->records++;
	stats->samples += type == PERCH_RECORD_SAMPLE;
	stats->throttled += type == PERCH_RECORD_THROTTLE;
	stats->unthrottled += type == PERCH_RECORD_UNTHROTTLE;
	stats->unknown += type == 0 || type >= PERCH_RECORD_MAX;
	stats->lost += lost;
}

static void count_at(const struct perch_ring *ring, uint64_t position, const struct perch_record_header *header,
		     struct perch_sampler_stats *stats)
{
	unsigned word = perch__lost_word(header->type, header->size);
	uint64_t lost = 0;

	if (word)
		memcpy(&lost, at(ring, position + 8 * word), sizeof(lost));
	perch__stats_count(stats, header->type, lost);
}

size_t perch__ring_peek(struct perch_ring *ring, struct iovec pieces[2], struct perch_sampler_stats *stats)
{
	struct perch_record_header header;
	size_t bytes, first;
	uint64_t end;

	pieces[0] = pieces[1] = (struct iovec){ 0 };
	take_head(ring);
	for (end = ring->next; end != ring->head && header_at(ring, end, &header); end += header.size)
		if (stats)
			count_at(ring, end, &header, stats);
	bytes = end - ring->next;
	/* nonsense after good records is met again, then first, when those are consumed */
	if (!bytes && end != ring->head)
		drop_batch(ring);
	first = ring->size - (ring->next & (ring->size - 1));
	if (first > bytes)
		first = bytes;
	if (first)
		pieces[0] = (struct iovec){ at(ring, ring->next), first };
	if (bytes > first)
		pieces[1] = (struct iovec){ ring->data, bytes - first };
	return bytes;
}

size_t perch_ring_peek(struct perch_ring *ring, struct iovec pieces[2])
{
	return perch__ring_peek(ring, pieces, NULL);
}

void perch_ring_consume(struct perch_ring *ring, size_t bytes)
{
	uint64_t left = ring->head - ring->next;

	ring->next += bytes < left ? bytes : left;
	perch__ring_publish(ring);
}

const struct perch_record_header *perch__ring_record(struct perch_ring *ring)
{
	struct perch_record_header header;
	uint64_t position = ring->next;
	size_t first;

	if (position == ring->head)
		return NULL;
	if (!header_at(ring, position, &header)) {
		drop_batch(ring);
		return NULL;
	}
	ring->next += header.size;
	first = ring->size - (position & (ring->size - 1));
	if (first >= header.size)
		return (const struct perch_record_header *)at(ring, position);
	memcpy(ring->wrapped, at(ring, position), first);
	memcpy((char *)ring->wrapped + first, ring->data, header.size - first);
	return (const struct perch_record_header *)ring->wrapped;
}

bool perch__ring_advance(struct perch_ring *ring)
{
	perch__ring_publish(ring);
	take_head(ring);
	return ring->head != ring->next;
}

const struct perch_record_header *perch_ring_next(struct perch_ring *ring)
{
	const struct perch_record_header *record = perch__ring_record(ring);

	if (!record && perch__ring_advance(ring))
		record = perch__ring_record(ring);
	return record;
}
