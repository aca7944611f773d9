/* SPDX-License-Identifier: MIT */
/*
 * The AUX area: trace hardware writes it without the kernel. The kernel reports the data by AUX
 * records in the ring, and by aux_head.
 *
 * In mode FORWARD aux_head and aux_tail are byte counts that never wrap, and the kernel takes their
 * difference as the number of unread bytes. A masked tail would stop the trace after the first
 * wrap.
 */
#include <errno.h>
#include <unistd.h>

#include "buffer.h"

#define LAST_BYTES 4096 /* has_wrapped() looks for data there */

static int check_aux(const struct perch_ring *ring, enum perch_ring_mode mode,
		     struct perch_error *err)
{
	if (mode != PERCH_RING_FORWARD && mode != PERCH_RING_OVERWRITE)
		return perch_error_set(err, EINVAL, PERCH_ERROR_USAGE, "unknown AUX area mode %d",
				       (int)mode);
	if (perch__ring_is_forked(ring))
		return perch__check_ring_fork(ring, err);
	if (ring->aux.area)
		return perch_error_set(err, EBUSY, PERCH_ERROR_USAGE,
				       "the ring has an AUX area already");
	return 0;
}

static void use_area(struct perch_ring *ring, void *area, size_t size, enum perch_ring_mode mode)
{
	struct perch__aux *aux = &ring->aux;

	*aux = (struct perch__aux){ .area = area,
				    .size = size,
				    .overwrite = mode == PERCH_RING_OVERWRITE };
	if (!aux->overwrite)
		aux->next = aux->head = ring->control->aux_tail;
}

static int map_aux(struct perch_ring *ring, size_t bytes, enum perch_ring_mode mode,
		   struct perch_machine *machine, struct perch_error *err)
{
	const uint64_t offset = ring->mapped;
	void *area;
	int rc;

	ring->control->aux_offset = offset;
	ring->control->aux_size = bytes;
	rc = perch__map(ring, bytes, offset, mode, machine, &area, err);
	if (rc < 0) {
		ring->control->aux_offset = ring->control->aux_size = 0;
		return rc;
	}
	use_area(ring, area, bytes, mode);
	ring->aux.mapped = bytes;
	return 0;
}

int perch_ring_open_aux(struct perch_ring *ring, size_t pages, enum perch_ring_mode mode,
			struct perch_machine *machine, struct perch_error *err)
{
	size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	int rc = check_aux(ring, mode, err);

	if (rc < 0)
		return rc;
	if (!ring->mapped)
		return perch_error_set(
			err, EINVAL, PERCH_ERROR_USAGE,
			"a ring in memory has no descriptor to map an AUX area from");
	/* the offset and size of the area are written into the ring's control page */
	if (ring->mode == PERCH_RING_OVERWRITE)
		return perch_error_set(
			err, EINVAL, PERCH_ERROR_USAGE,
			"an AUX area needs a ring of mode FORWARD (this ring is mapped read-only)");
	if (!pages || pages & (pages - 1) || pages > SIZE_MAX / 4 / page_bytes)
		return perch_error_set(
			err, EINVAL, PERCH_ERROR_USAGE,
			"the AUX area size must be a power of two of pages (%zu pages are not, or too many)",
			pages);
	return map_aux(ring, pages * page_bytes, mode, machine ? machine : ring->machine, err);
}

int perch_ring_aux_from_memory(struct perch_ring *ring, void *area, size_t size,
			       enum perch_ring_mode mode, struct perch_error *err)
{
	int rc = check_aux(ring, mode, err);

	if (rc < 0)
		return rc;
	if (!area || !size || size & (size - 1))
		return perch_error_set(err, EINVAL, PERCH_ERROR_USAGE,
				       "the size of an AUX area in memory must be a power of two");
	use_area(ring, area, size, mode);
	return 0;
}

/* Acquire: the traced bytes are visible before the head that includes them. */
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
	if (!aux->area || aux->overwrite || perch__ring_is_forked(ring))
		return 0;
	aux->head = perch__widen_position(load_head(ring), aux->next, aux->size);
	/* the bytes of an AUX record may be consumed before aux_head moves past them */
	if (aux->next - aux->head <= aux->size)
		aux->head = aux->next;
	/* a head further away than the area's size was not written by the kernel */
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

	if (aux->area && !aux->overwrite && left && !perch__ring_is_forked(ring))
		set_tail(ring, aux->next + (bytes < left ? bytes : left));
}

static void count_flags(struct perch_aux_stats *stats, const struct perch_aux_record *record)
{
	stats->truncated += !!(record->flags & PERCH_AUX_FLAG_TRUNCATED);
	stats->overwrite += !!(record->flags & PERCH_AUX_FLAG_OVERWRITE);
	stats->partial += !!(record->flags & PERCH_AUX_FLAG_PARTIAL);
	stats->collision += !!(record->flags & PERCH_AUX_FLAG_COLLISION);
}

/* FORWARD: the unconsumed bytes before a position; 0 if it is out of range. */
static uint64_t unread_before(const struct perch__aux *aux, uint64_t end)
{
	uint64_t bytes = end - aux->next;

	return bytes <= aux->size ? bytes : 0;
}

/*
 * OVERWRITE: the bytes before `end` that are not overwritten. The heads of some trace units count
 * all bytes, those of others are offsets in the area. A head below an `end` that is no offset has
 * not moved yet.
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
 * The kernel writes an AUX record after the data and before it moves aux_head, so the head is no
 * limit here. In a record with the flag OVERWRITE the offset is the end of the data.
 */
ssize_t perch_ring_aux_data(struct perch_ring *ring, const struct perch_record *record,
			    struct iovec pieces[2])
{
	struct perch__aux *aux = &ring->aux;
	uint64_t end, bytes, size = record->aux.size;

	pieces[0] = pieces[1] = (struct iovec){ 0 };
	if (perch__ring_is_forked(ring))
		return -ESTALE;
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

/* A new area is zeroed. If the head is an offset in the area, data at the area's end shows that the
 * head has wrapped. */
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
	if (!aux->area || !aux->overwrite || perch__ring_is_forked(ring))
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
