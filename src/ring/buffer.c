/* SPDX-License-Identifier: MIT */
/* Mapping, pausing and consuming a ring's buffer: what ring.c, snapshot.c and aux.c share. */
#include <errno.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "buffer.h"

/* Only this error path reads the limits of the machine: rings work where /proc cannot be read. */
static int explain_refused_map(const struct perch_operation *operation,
			       struct perch_machine *machine, struct perch_error *err)
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

int perch__map(const struct perch_ring *ring, size_t bytes, uint64_t offset,
	       enum perch_ring_mode mode, struct perch_machine *machine, void **memory,
	       struct perch_error *err)
{
	struct perch_operation operation = {
		.kind = PERCH_OPERATION_MMAP,
		.length = bytes,
		.protection = mode == PERCH_RING_OVERWRITE ? PROT_READ : PROT_READ | PROT_WRITE,
		.map_flags = MAP_SHARED,
		.offset = offset,
		.ring_size = ring->mapped,
		.other_fd = -1,
	};

	*memory = ring->calls->mmap(ring->calls->context, bytes, operation.protection,
				    operation.map_flags, ring->fd, (int64_t)offset);
	if (*memory != MAP_FAILED)
		return 0;
	operation.errnum = errno;
	return explain_refused_map(&operation, machine, err);
}

/*
 * The mark is in the last bytes of the control page, which the kernel zeroes and does not use. It
 * is in the memory that all mappings of the buffer share, so it is found also by another descriptor
 * of the event, of an event that writes into the same ring, and in another process. It ends with
 * the last mapping of the buffer, so a reader that was killed leaves none.
 */
#define MARK_MAGIC 0x50657263ull

static uint64_t *mark_of(const struct perch_ring *ring)
{
	return (uint64_t *)ring->data - 1;
}

/* A ring of mode OVERWRITE is mapped read-only: it is writable for one store. */
static bool make_writable(const struct perch_ring *ring, bool writable)
{
	if (ring->mode == PERCH_RING_FORWARD)
		return true;
	if (ring->calls->mmap != perch_kernel_syscalls.mmap)
		return false; /* not a mapping of the kernel */
	return !mprotect(ring->control, ring->mapped,
			 writable ? PROT_READ | PROT_WRITE : PROT_READ);
}

int perch__mark_ring(struct perch_ring *ring, struct perch_error *err)
{
	uint64_t found = __atomic_load_n(mark_of(ring), __ATOMIC_RELAXED),
		 mark = MARK_MAGIC << 32 | (uint32_t)getpid();

	if (!found && make_writable(ring, true)) {
		__atomic_compare_exchange_n(mark_of(ring), &found, mark, false, __ATOMIC_RELAXED,
					    __ATOMIC_RELAXED);
		make_writable(ring, false);
	}
	if (found >> 32 != MARK_MAGIC)
		return 0;
	perch_error_set(
		err, EEXIST, PERCH_ERROR_USAGE,
		"the event already has a ring, which process %u reads, and two readers lose records",
		(unsigned)(uint32_t)found);
	perch_error_remedy(err, "read that ring, or open another event");
	return -EEXIST;
}

void perch__unmark_ring(struct perch_ring *ring)
{
	/* other processes may have the buffer mapped, so it may outlive this mapping */
	if (*mark_of(ring) >> 32 == MARK_MAGIC && make_writable(ring, true))
		__atomic_store_n(mark_of(ring), 0, __ATOMIC_RELAXED);
}

int perch__check_ring_fork(const struct perch_ring *ring, struct perch_error *err)
{
	return perch__ring_is_forked(ring) ? PERCH__FORK_ERROR(err, "the ring") : 0;
}

static int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int set_paused(struct perch_ring *ring, bool paused, struct perch_error *err)
{
	int rc = perch__check_ring_fork(ring, err);

	/* in a child the request would pause the ring of the parent */
	if (!rc && ring->fd >= 0)
		rc = perch_event_pause_output(ring->fd, paused, ring->machine, err);
	if (rc >= 0)
		ring->paused = paused;
	return rc;
}

int perch_ring_pause(struct perch_ring *ring, struct perch_error *err)
{
	int rc = set_paused(ring, true, err);

	if (rc >= 0 && ring->mode == PERCH_RING_OVERWRITE && ring->fd >= 0)
		ring->snapshot.paused_ns = now_ns();
	return rc;
}

int perch_ring_resume(struct perch_ring *ring, struct perch_error *err)
{
	ring->snapshot.remaining = 0;
	return set_paused(ring, false, err);
}

/* Release: all reads of the bytes come before the store that lets the kernel overwrite them. */
void perch__publish_tail(struct perch_ring *ring)
{
	if (ring->tail == ring->next)
		return;
	ring->tail = ring->next;
	__atomic_store_n(&ring->control->data_tail, ring->tail, __ATOMIC_RELEASE);
}

void perch__drop_batch(struct perch_ring *ring)
{
	ring->damaged++;
	ring->skipped += ring->head - ring->next;
	ring->next = ring->head;
	perch__publish_tail(ring);
}
