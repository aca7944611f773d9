/* SPDX-License-Identifier: MIT */
/*
 * The AUX area: what a trace unit writes itself, without the kernel in between. The kernel tells of
 * it by AUX records in the ring, and by aux_head. Of an area that is not written over, head and
 * tail run freely: the kernel takes their difference for what is still to be read, so a tail that
 * was masked would stop the trace for good after the first wrap.
 */
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "buffer.h"

#define LAST_BYTES 4096 /* of an area: something there means that it was filled once */

static int check(const struct perch_ring *ring, enum perch_ring_mode mode, struct perch_error *err)
{
	if (mode != PERCH_RING_FORWARD && mode != PERCH_RING_OVERWRITE)
		return perch_error_set(err, EINVAL, PERCH_ERROR_USAGE,
				       "an AUX area of unknown mode %d", (int)mode);
	if (ring->aux.area)
		return perch_error_set(err, EBUSY, PERCH_ERROR_USAGE,
				       "the ring has an AUX area already");
	return 0;
}

static void use(struct perch_ring *ring, void *area, size_t size, enum perch_ring_mode mode)
{
	struct perch__aux *aux = &ring->aux;

	*aux = (struct perch__aux){ .area = area,
				    .size = size,
				    .overwrite = mode == PERCH_RING_OVERWRITE };
	if (!aux->overwrite)
		aux->next = aux->head = ring->control->aux_tail;
}

static int map(struct perch_ring *ring, size_t bytes, enum perch_ring_mode mode,
	       struct perch_machine *machine, struct perch_error *err)
{
	struct perch_operation operation = {
		.kind = PERCH_OPERATION_MMAP,
		.length = bytes,
		.protection = PROT_READ | PROT_WRITE,
		.map_flags = MAP_SHARED,
		.offset = ring->mapped,
		.ring_size = ring->mapped,
		.other_fd = -1,
	};
	void *area;

	if (mode == PERCH_RING_OVERWRITE)
		operation.protection = PROT_READ;
	ring->control->aux_offset = operation.offset;
	ring->control->aux_size = bytes;
	area = ring->calls->mmap(ring->calls->context, bytes, operation.protection,
				 operation.map_flags, ring->fd, (off_t)operation.offset);
	if (area == MAP_FAILED) {
		operation.errnum = errno;
		ring->control->aux_offset = ring->control->aux_size = 0;
		return perch__ring_map_refused(&operation, machine, err);
	}
	use(ring, area, bytes, mode);
	ring->aux.mapped = bytes;
	return 0;
}

int perch_ring_open_aux(struct perch_ring *ring, size_t pages, enum perch_ring_mode mode,
			struct perch_machine *machine, struct perch_error *err)
{
	size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	int rc = check(ring, mode, err);

	if (rc < 0)
		return rc;
	if (!ring->mapped)
		return perch_error_set(err, EINVAL, PERCH_ERROR_USAGE,
				       "a ring in memory has no descriptor to map an AUX area of");
	/* the place of the area is written into the ring's first page */
	if (ring->mode == PERCH_RING_OVERWRITE)
		return perch_error_set(
			err, EINVAL, PERCH_ERROR_USAGE,
			"an AUX area goes with a ring of mode FORWARD: this one is mapped read-only");
	if (!pages || pages & (pages - 1) || pages > SIZE_MAX / 4 / page_bytes)
		return perch_error_set(err, EINVAL, PERCH_ERROR_USAGE,
				       "an AUX area of %zu pages: not a power of two, or too large",
				       pages);
	return map(ring, pages * page_bytes, mode, machine ? machine : ring->machine, err);
}

int perch_ring_aux_from_memory(struct perch_ring *ring, void *area, size_t size,
			       enum perch_ring_mode mode, struct perch_error *err)
{
	int rc = check(ring, mode, err);

	if (rc < 0)
		return rc;
	if (!area || !size || size & (size - 1))
		return perch_error_set(err, EINVAL, PERCH_ERROR_USAGE,
				       "an AUX area's memory must be a power of two of bytes");
	use(ring, area, size, mode);
	return 0;
}

void perch__aux_close(struct perch_ring *ring)
{
	if (ring->aux.mapped)
		ring->calls->munmap(ring->calls->context, ring->aux.area, ring->aux.mapped);
}

/* Acquire: the trace unit's bytes come before the head that tells of them. */
static uint64_t load_head(const struct perch_ring *ring)
{
	return __atomic_load_n(&ring->control->aux_head, __ATOMIC_ACQUIRE);
}

static void set_tail(struct perch_ring *ring, uint64_t tail)
{
	ring->aux.next = tail;
	__atomic_store_n(&ring->control->aux_tail, tail, __ATOMIC_RELEASE);
}

size_t perch_ring_aux_peek(struct perch_ring *ring, struct iovec pieces[2])
{
	struct perch__aux *aux = &ring->aux;

	pieces[0] = pieces[1] = (struct iovec){ 0 };
	if (!aux->area || aux->overwrite)
		return 0;
	aux->head = perch__widen_position(load_head(ring), aux->next, aux->size);
	/* what an AUX record told of may have been consumed before the head that tells of it moved
	 */
	if (aux->next - aux->head <= aux->size)
		aux->head = aux->next;
	/* no area can have that much: the head was not written by the kernel */
	if (aux->head - aux->next > aux->size) {
		ring->damaged++;
		set_tail(ring, aux->head);
	}
	perch__pieces(aux->area, aux->size, aux->next, aux->head - aux->next, pieces);
	return aux->head - aux->next;
}

void perch_ring_aux_consume(struct perch_ring *ring, size_t bytes)
{
	struct perch__aux *aux = &ring->aux;
	uint64_t left = aux->head - aux->next;

	if (aux->area && !aux->overwrite && left)
		set_tail(ring, aux->next + (bytes < left ? bytes : left));
}

static void count_flags(struct perch_aux_stats *stats, const struct perch_aux_record *record)
{
	stats->truncated += !!(record->flags & PERCH_AUX_FLAG_TRUNCATED);
	stats->overwrite += !!(record->flags & PERCH_AUX_FLAG_OVERWRITE);
	stats->partial += !!(record->flags & PERCH_AUX_FLAG_PARTIAL);
	stats->collision += !!(record->flags & PERCH_AUX_FLAG_COLLISION);
}

/* Forward: no byte below the tail is ours any more, and none can be a whole area above it. */
static uint64_t unread_before(const struct perch__aux *aux, uint64_t end)
{
	uint64_t bytes = end - aux->next;

	return bytes <= aux->size ? bytes : 0;
}

/*
 * Of an area that is written over: what was not, before end. The heads of some trace units run
 * freely, those of others are places in the area; a head below an end that is no such place has not
 * been moved yet.
 */
static uint64_t intact_before(const struct perch__aux *aux, uint64_t end, uint64_t head)
{
	uint64_t since;

	if (head >= end)
		since = head - end;
	else
		since = end <= aux->size ? head + aux->size - end : 0;
	return since < aux->size ? aux->size - since : 0;
}

/*
 * A record is out before aux_head moves, so the head is no bound for it: the bytes were there
 * before the record was. When the kernel writes over, the record's offset is where its bytes end.
 */
ssize_t perch_ring_aux_data(struct perch_ring *ring, const struct perch_record *record,
			    struct iovec pieces[2])
{
	struct perch__aux *aux = &ring->aux;
	uint64_t end, bytes, size = record->aux.size;

	pieces[0] = pieces[1] = (struct iovec){ 0 };
	if (record->type != PERCH_RECORD_AUX || !aux->area)
		return -EINVAL;
	end = record->aux.offset;
	if (!(record->aux.flags & PERCH_AUX_FLAG_OVERWRITE))
		end += size;
	if (!aux->overwrite)
		end = perch__widen_position(end, aux->next, aux->size);
	bytes = aux->overwrite ? intact_before(aux, end, load_head(ring)) : unread_before(aux, end);
	if (bytes > size)
		bytes = size;
	count_flags(&aux->stats, &record->aux);
	aux->stats.bytes += size;
	aux->stats.missing += size - bytes;
	if (!bytes)
		return size ? -ENODATA : 0;
	if (!aux->overwrite && end - aux->next > aux->head - aux->next)
		aux->head = end;
	perch__pieces(aux->area, aux->size, end - bytes, bytes, pieces);
	return bytes;
}

/* An area comes zeroed. The end of one whose head is a place in it tells whether the head went
 * round. */
static bool has_wrapped(struct perch__aux *aux, uint64_t head)
{
	size_t last = aux->size < LAST_BYTES ? aux->size : LAST_BYTES;

	if (head >= aux->size)
		aux->wrapped = true;
	for (size_t i = aux->size - last; i < aux->size && !aux->wrapped; i++)
		if (i >= head)
			aux->wrapped = aux->area[i] != 0;
	return aux->wrapped;
}

size_t perch_ring_aux_snapshot(struct perch_ring *ring, struct iovec pieces[2])
{
	struct perch__aux *aux = &ring->aux;
	uint64_t head;
	size_t bytes;

	pieces[0] = pieces[1] = (struct iovec){ 0 };
	if (!aux->area || !aux->overwrite)
		return 0;
	head = load_head(ring);
	bytes = has_wrapped(aux, head) ? aux->size : head;
	perch__pieces(aux->area, aux->size, head - bytes, bytes, pieces);
	return bytes;
}

void perch_ring_get_aux_stats(const struct perch_ring *ring, struct perch_aux_stats *stats)
{
	*stats = ring->aux.stats;
}
