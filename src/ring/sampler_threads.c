/* SPDX-License-Identifier: MIT */
/*
 * Adds threads to a running sampler and removes them.
 *
 * The rings may still have records of a removed thread. So its ids stay until the rings have been
 * read up to where they were written at the removal. A ring is mapped from the descriptor of one
 * event, its owner. If the owner belongs to a removed thread, it is disabled but stays open,
 * because the other events of the ring write into it.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "buffer.h"

static int *fds_of(const struct perch_sampler *sampler, size_t target)
{
	return &sampler->fds[target * sampler->nr_events];
}

static bool is_thread(const struct perch_sampler *sampler,
		      const struct perch__sampler_target *target, pid_t tid)
{
	pid_t own = target->target.tid ? target->target.tid : sampler->opener;

	return !target->removed && !target->free && !target->target.use_cgroup && own == tid;
}

static bool has_thread(const struct perch_sampler *sampler, pid_t tid)
{
	for (size_t i = 0; i < sampler->nr_targets; i++)
		if (is_thread(sampler, &sampler->targets[i], tid))
			return true;
	return false;
}

/* ---- Removing ---- */

static bool owns_ring(const struct perch_sampler *sampler, size_t fd)
{
	for (size_t i = 0; i < sampler->nr_rings; i++)
		if (sampler->rings[i].ring && sampler->rings[i].owner == fd)
			return true;
	return false;
}

static bool target_owns_ring(const struct perch_sampler *sampler, size_t target)
{
	for (size_t i = 0; i < sampler->nr_rings; i++)
		if (sampler->rings[i].ring &&
		    sampler->rings[i].owner / sampler->nr_events == target)
			return true;
	return false;
}

/* Ids move to the place of the removed ones, in order. */
static void remove_ids(struct perch_sampler *sampler, size_t target)
{
	for (size_t i = 0; i < sampler->nr_events; i++) {
		struct perch__sampler_event *event = &sampler->events[i];
		size_t left = 0;

		for (size_t id = 0; id < event->nr_ids; id++) {
			if (event->id_info[id].target == target)
				continue;
			event->ids[left] = event->ids[id];
			event->id_info[left++] = event->id_info[id];
		}
		event->nr_ids = left;
	}
}

static void close_fd(struct perch_sampler *sampler, size_t fd)
{
	const struct perch_syscalls *calls = perch_machine_syscalls(sampler->machine);

	if (sampler->fds[fd] >= 0)
		calls->close(calls->context, sampler->fds[fd]);
	sampler->fds[fd] = -1;
}

/* Unmaps the ring of a removed thread, and closes its owner. */
static void free_ring(struct perch_sampler *sampler, size_t index)
{
	struct perch__sampler_ring *ring = &sampler->rings[index];
	struct perch_sampler_stats stats = { 0 };

	perch_sampler_get_ring_stats(sampler, index, &stats);
	perch__stats_add(&sampler->freed_stats, &stats);
	sampler->polls[index].fd = -1;
	perch__sampler_watch(sampler);
	perch_ring_close(ring->ring);
	close_fd(sampler, ring->owner);
	*ring = (struct perch__sampler_ring){ .cpu = -1, .watched = -1 };
}

/* True if the ring has no record that was written before the position. */
static bool is_read_to(const struct perch_ring *ring, uint64_t end)
{
	if (ring->mode == PERCH_RING_OVERWRITE)
		return end - perch__ring_head(ring) >= ring->size;
	return (int64_t)(ring->next - end) >= 0;
}

/* Frees the ring of one thread, if its records have been read. Those of a backward ring are lost.
 */
static bool free_thread_ring(struct perch_sampler *sampler, size_t index)
{
	struct perch__sampler_ring *ring = &sampler->rings[index];

	if (perch__is_read(ring)) {
		if (sampler->merge
			    ? perch_merge_remove(sampler->merge, ring->merge_index, false, NULL) > 0
			    : perch__ring_written(ring->ring) != ring->ring->next)
			return false;
	}
	free_ring(sampler, index);
	return true;
}

static bool is_drained(struct perch_sampler *sampler, struct perch__sampler_target *target)
{
	bool drained = true;

	for (int i = 0; i < 2; i++) {
		if (target->ring[i] == PERCH__NO_INDEX)
			continue;
		if (sampler->per_thread
			    ? free_thread_ring(sampler, target->ring[i])
			    : is_read_to(sampler->rings[target->ring[i]].ring, target->end[i]))
			target->ring[i] = PERCH__NO_INDEX;
		else
			drained = false;
	}
	return drained;
}

static void free_target(struct perch_sampler *sampler, size_t index)
{
	struct perch__sampler_target *target = &sampler->targets[index];

	remove_ids(sampler, index);
	target->drained = true;
	target->free = !target_owns_ring(sampler, index);
	sampler->has_free |= target->free;
}

void perch__sampler_free_removed(struct perch_sampler *sampler)
{
	for (size_t i = 0; i < sampler->nr_targets && sampler->nr_removed; i++) {
		struct perch__sampler_target *target = &sampler->targets[i];

		if (!target->removed || target->drained || !is_drained(sampler, target))
			continue;
		free_target(sampler, i);
		sampler->nr_removed--;
	}
}

/* Events of a thread that has ended are disabled already, so errors do not matter. */
static void disable_target(struct perch_sampler *sampler, size_t target)
{
	const struct perch_syscalls *calls = perch_machine_syscalls(sampler->machine);
	const int *fds = fds_of(sampler, target);

	for (size_t i = 0; i < sampler->nr_events; i++)
		if (fds[i] >= 0 && sampler->events[i].leader == (int)i)
			calls->ioctl(calls->context, fds[i], PERCH_IOC_DISABLE, 0);
}

/* The rings poll other descriptors before these are closed. */
static void stop_polling(struct perch_sampler *sampler, size_t target)
{
	size_t first = target * sampler->nr_events;

	for (size_t i = 0; i < sampler->nr_events; i++)
		sampler->fd_state[first + i] = PERCH__FD_ENDED;
	for (size_t i = 0; i < sampler->nr_rings; i++)
		if (sampler->rings[i].polled / sampler->nr_events == target)
			perch__sampler_poll_ring(sampler, i);
	perch__sampler_watch(sampler);
}

static void close_target(struct perch_sampler *sampler, size_t target)
{
	size_t first = target * sampler->nr_events;

	/* members before their leaders: a member without a leader would be enabled */
	for (size_t i = sampler->nr_events; i--;)
		if (!owns_ring(sampler, first + i))
			close_fd(sampler, first + i);
}

static void remove_target(struct perch_sampler *sampler, size_t index)
{
	struct perch__sampler_target *target = &sampler->targets[index];

	disable_target(sampler, index);
	stop_polling(sampler, index);
	close_target(sampler, index);
	for (int i = 0; i < 2; i++) {
		const struct perch_ring *ring = target->ring[i] == PERCH__NO_INDEX
							? NULL
							: sampler->rings[target->ring[i]].ring;

		if (ring)
			target->end[i] = ring->mode == PERCH_RING_OVERWRITE
						 ? perch__ring_head(ring)
						 : perch__ring_written(ring);
	}
	for (size_t i = 0; i < sampler->nr_events; i++)
		for (size_t id = 0; id < sampler->events[i].nr_ids; id++) {
			struct perch__id_info *info = &sampler->events[i].id_info[id];

			if (info->target != index || info->fd < 0)
				continue;
			sampler->rings[info->ring].nr_writers--;
			info->fd = -1;
		}
	target->removed = true;
	sampler->nr_removed++;
}

int perch_sampler_remove_thread(struct perch_sampler *sampler, pid_t tid, struct perch_error *err)
{
	int forked = perch__sampler_check_fork(sampler, err);

	if (forked)
		return forked;
	if (!tid)
		tid = gettid();
	if (!has_thread(sampler, tid)) {
		perch_error_set(err, ESRCH, PERCH_ERROR_NO_PROCESS,
				"the sampler has no thread %d as a target", (int)tid);
		return -ESRCH;
	}
	for (size_t i = 0; i < sampler->nr_targets; i++)
		if (is_thread(sampler, &sampler->targets[i], tid))
			remove_target(sampler, i);
	perch__sampler_free_removed(sampler);
	return 0;
}

/* ---- Adding ---- */

static void clear_descriptors(struct perch_sampler *sampler, size_t target)
{
	for (size_t i = 0; i < sampler->nr_events; i++) {
		fds_of(sampler, target)[i] = -1;
		sampler->fd_state[target * sampler->nr_events + i] = PERCH__FD_OPEN;
	}
}

static int open_added(struct perch_sampler *sampler, struct perch_error *err)
{
	int rc = 0;

	for (int backward = sampler->overwrite; rc >= 0 && backward >= 0; backward--)
		for (size_t i = 0; rc >= 0 && i < sampler->nr_targets; i++)
			if (sampler->targets[i].added)
				rc = perch__sampler_open_target(sampler, i, backward, err);
	for (size_t i = 0; rc >= 0 && i < sampler->nr_targets; i++)
		if (sampler->targets[i].added && sampler->targets[i].ended)
			return perch_error_set(err, ESRCH, PERCH_ERROR_NO_PROCESS,
					       "thread %d has ended",
					       (int)sampler->targets[i].target.tid);
	return rc;
}

/* Enables the leaders, if those of the other threads are enabled. */
static int enable_target(struct perch_sampler *sampler, size_t target, struct perch_error *err)
{
	const int *fds = fds_of(sampler, target);
	int rc = 0;

	for (size_t i = 0; rc >= 0 && i < sampler->nr_events; i++) {
		bool enabled = perch__is_tracking_event(sampler, i) ? sampler->tracking
								    : sampler->enabled;

		if (fds[i] < 0 || !enabled || sampler->events[i].leader != (int)i)
			continue;
		rc = perch_event_enable(fds[i], false, sampler->machine, err);
		if (rc < 0)
			perch_error_prefix(err, "event '%s': ", sampler->events[i].name);
	}
	return rc;
}

static int pause_new_rings(struct perch_sampler *sampler, size_t target, struct perch_error *err)
{
	int rc = 0;

	for (int i = 0; i < 2 && sampler->paused && rc >= 0; i++)
		if (sampler->targets[target].ring[i] != PERCH__NO_INDEX)
			rc = perch_ring_pause(sampler->rings[sampler->targets[target].ring[i]].ring,
					      err);
	return rc;
}

static int start_added(struct perch_sampler *sampler, struct perch_error *err)
{
	int rc = sampler->nr_events > 1 ? perch__sampler_make_decoder(sampler, err) : 0;

	for (size_t i = 0; rc >= 0 && i < sampler->nr_targets; i++) {
		if (!sampler->targets[i].added)
			continue;
		rc = perch__sampler_signal_target(sampler, i, err);
		if (rc >= 0)
			rc = pause_new_rings(sampler, i, err);
		if (rc >= 0)
			rc = enable_target(sampler, i, err);
	}
	return rc;
}

static void remove_added(struct perch_sampler *sampler)
{
	for (size_t i = 0; i < sampler->nr_targets; i++) {
		if (!sampler->targets[i].added)
			continue;
		sampler->targets[i].added = false;
		remove_target(sampler, i);
	}
	perch__sampler_free_removed(sampler);
}

static void poll_added(struct perch_sampler *sampler)
{
	for (size_t i = 0; i < sampler->nr_targets; i++)
		sampler->targets[i].added = false;
	for (size_t i = 0; i < sampler->nr_rings; i++)
		if (sampler->polls[i].fd < 0)
			perch__sampler_poll_ring(sampler, i);
	perch__sampler_watch(sampler);
}

static int add_targets(struct perch_sampler *sampler, pid_t tid, struct perch_error *err)
{
	int rc = perch__sampler_add_thread_targets(sampler, tid, err);

	if (rc >= 0)
		rc = perch__sampler_reserve_fds(sampler, err);
	for (size_t i = 0; i < sampler->nr_targets; i++) {
		if (!sampler->targets[i].added)
			continue;
		if (rc >= 0) {
			clear_descriptors(sampler, i);
			continue;
		}
		sampler->targets[i].added = false;
		sampler->targets[i].free = sampler->has_free = true;
	}
	return rc;
}

int perch_sampler_add_thread(struct perch_sampler *sampler, pid_t tid, struct perch_error *err)
{
	int rc = perch__sampler_check_fork(sampler, err);

	if (rc)
		return rc;
	if (tid < 0)
		return perch_error_set(err, EINVAL, PERCH_ERROR_BAD_TARGET, "%d is not a thread",
				       (int)tid);
	if (!tid)
		tid = gettid();
	if (has_thread(sampler, tid))
		return perch_error_set(err, EEXIST, PERCH_ERROR_USAGE,
				       "thread %d is already a target of the sampler", (int)tid);
	perch__sampler_free_removed(sampler);
	rc = add_targets(sampler, tid, err);
	if (rc < 0)
		return rc;
	rc = open_added(sampler, err);
	if (rc >= 0)
		rc = start_added(sampler, err);
	if (rc < 0) {
		remove_added(sampler);
		return rc;
	}
	poll_added(sampler);
	return 0;
}
