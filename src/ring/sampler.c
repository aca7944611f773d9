/* SPDX-License-Identifier: MIT */
/* A sampler at work: what it consists of, and waiting. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "buffer.h"

#define STUCK_MS 10 /* between two looks at rings while a descriptor is in error */
#define HELD_MS	 10 /* until what a merge holds back is due, when nothing else comes */

void perch__sampler_close(struct perch_sampler *sampler)
{
	const struct perch_syscalls *calls = perch_machine_syscalls(sampler->machine);

	perch_merge_free(sampler->merge);
	sampler->merge = NULL;
	for (size_t i = 0; i < sampler->nr_lanes; i++)
		perch_ring_close(sampler->lanes[i].ring);
	for (size_t i = 0; i < sampler->nr_fds; i++)
		if (sampler->fds[i] >= 0)
			calls->close(calls->context, sampler->fds[i]);
	for (size_t i = 0; sampler->events && i < sampler->nr_events; i++) {
		free(sampler->events[i].ids);
		free(sampler->events[i].places);
		sampler->events[i].ids = NULL;
		sampler->events[i].places = NULL;
		sampler->events[i].nr_ids = 0;
	}
	free(sampler->fds);
	free(sampler->lanes);
	free(sampler->polls);
	sampler->fds = NULL;
	sampler->lanes = NULL;
	sampler->polls = NULL;
	sampler->nr_fds = sampler->nr_lanes = sampler->nr_backward = sampler->turn = 0;
}

void perch_sampler_close(struct perch_sampler *sampler)
{
	if (!sampler)
		return;
	perch__sampler_close(sampler);
	perch_decoder_free(sampler->decoder);
	free(sampler->events);
	if (sampler->own_machine)
		perch_machine_free(sampler->machine);
	free(sampler);
}

/* Leaders only: their members follow. */
static int control_all(struct perch_sampler *sampler, unsigned long request)
{
	const struct perch_syscalls *calls = perch_machine_syscalls(sampler->machine);

	for (size_t i = 0; i < sampler->nr_fds; i++) {
		size_t index = i % sampler->nr_events;

		if (sampler->fds[i] < 0 || sampler->events[index].leader != (int)index)
			continue;
		if (calls->ioctl(calls->context, sampler->fds[i], request, 0) < 0)
			return -errno;
	}
	return 0;
}

int perch_sampler_enable(struct perch_sampler *sampler)
{
	return control_all(sampler, PERCH_IOC_ENABLE);
}

int perch_sampler_disable(struct perch_sampler *sampler)
{
	return control_all(sampler, PERCH_IOC_DISABLE);
}

size_t perch_sampler_rings(const struct perch_sampler *sampler)
{
	return sampler->nr_lanes;
}

int perch_sampler_ring_fd(const struct perch_sampler *sampler, size_t ring)
{
	return ring < sampler->nr_lanes ? sampler->polls[ring].fd : -EINVAL;
}

struct perch_ring *perch_sampler_ring(struct perch_sampler *sampler, size_t ring)
{
	return ring < sampler->nr_lanes ? sampler->lanes[ring].ring : NULL;
}

const struct perch_attr *perch_sampler_event(const struct perch_sampler *sampler, size_t index,
					     const char **name, const uint64_t **ids, size_t *nr)
{
	const struct perch__sampler_event *event;

	*nr = 0;
	if (index >= sampler->nr_events)
		return NULL;
	event = &sampler->events[index];
	*name = event->name;
	*ids = event->ids;
	*nr = event->nr_ids;
	return &event->attr;
}

int perch_sampler_id_info(const struct perch_sampler *sampler, size_t index, size_t id, int *cpu,
			  pid_t *pid, size_t *ring)
{
	const struct perch__place *place;

	if (index >= sampler->nr_events || id >= sampler->events[index].nr_ids)
		return -EINVAL;
	place = &sampler->events[index].places[id];
	*cpu = place->cpu;
	*pid = place->pid;
	*ring = place->lane;
	return 0;
}

size_t perch_sampler_leader(const struct perch_sampler *sampler, size_t index)
{
	return index < sampler->nr_events ? (size_t)sampler->events[index].leader : index;
}

const struct perch_attr *perch_sampler_missing_features(const struct perch_sampler *sampler,
							size_t index)
{
	static const struct perch_attr nothing;
	const struct perch_attr *missing_features =
		index < sampler->nr_events ? &sampler->events[index].missing_features : &nothing;

	return memcmp(missing_features, &nothing, sizeof(nothing)) ? missing_features : NULL;
}

/* What a merge has seen and holds back is no news: it comes in the next round, which begins when
 * there is some. */
static bool any_data(const struct perch_sampler *sampler)
{
	for (size_t i = sampler->nr_backward; i < sampler->nr_lanes; i++) {
		const struct perch_ring *ring = sampler->lanes[i].ring;

		if (perch__ring_written(ring) != (sampler->merge ? ring->head : ring->next))
			return true;
	}
	return false;
}

static bool any_held(const struct perch_sampler *sampler)
{
	for (size_t i = sampler->nr_backward; sampler->merge && i < sampler->nr_lanes; i++)
		if (sampler->lanes[i].ring->head != sampler->lanes[i].ring->next)
			return true;
	return false;
}

/*
 * A descriptor whose thread has exited hangs up for ever, though others may still write into its
 * ring: then one of those is polled instead, for any of them wakes for the ring.
 */
static void poll_next_of(struct perch_sampler *sampler, size_t ring)
{
	size_t each = sampler->nr_events * sampler->nr_threads;
	struct perch__lane *lane = &sampler->lanes[ring];

	do
		lane->polled++;
	while (lane->polled < each &&
	       (lane->fds[lane->polled] < 0 ||
		!perch__lane_has(sampler, lane, lane->polled % sampler->nr_events)));
	sampler->polls[ring].fd = lane->polled < each ? lane->fds[lane->polled] : -1;
}

enum polled {
	POLLED_ENDED, /* every target of every ring has exited */
	POLLED_STUCK, /* a descriptor is in error, and would answer at once for ever */
	POLLED_GOOD,
};

/*
 * What poll(2) found. POLLERR is no exit: a pinned event that lost its counter says so, until it is
 * enabled again. A descriptor that is none (POLLNVAL) will never wake anybody, and is left like one
 * that hung up.
 */
static enum polled after_poll(struct perch_sampler *sampler)
{
	enum polled found = POLLED_ENDED;
	bool stuck = false;

	for (size_t i = 0; i < sampler->nr_lanes; i++) {
		struct pollfd *polled = &sampler->polls[i];

		sampler->lanes[i].failed = polled->fd >= 0 && polled->revents & POLLERR;
		if (polled->fd >= 0 && polled->revents & (POLLHUP | POLLNVAL))
			poll_next_of(sampler, i);
		else if (sampler->lanes[i].failed)
			stuck = true;
		if (polled->fd >= 0)
			found = POLLED_GOOD;
	}
	return stuck ? POLLED_STUCK : found;
}

static bool any_alive(const struct perch_sampler *sampler)
{
	for (size_t i = 0; i < sampler->nr_lanes; i++)
		if (sampler->polls[i].fd >= 0)
			return true;
	return false;
}

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Milliseconds until the end of the waiting; -1: there is none. */
static int time_left(int timeout_ms, int64_t end)
{
	int64_t left = end - now_ms();

	if (timeout_ms <= 0)
		return timeout_ms;
	return left > 0 ? (int)left : 0;
}

/* Beside a descriptor in error poll(2) cannot wait: sleep instead, and look at all rings again. */
static int sleep_stuck(int left)
{
	if (left < 0 || left > STUCK_MS)
		left = STUCK_MS;
	return poll(NULL, 0, left) < 0 ? -errno : 0;
}

/* Until there is news. */
static int wait_for_news(struct perch_sampler *sampler, int timeout_ms)
{
	int64_t end = timeout_ms > 0 ? now_ms() + timeout_ms : 0;

	for (;;) {
		enum polled found = any_alive(sampler) ? POLLED_GOOD : POLLED_ENDED;
		int left = any_data(sampler) ? 0 : time_left(timeout_ms, end);
		int rc = 0;

		if (found != POLLED_ENDED) {
			rc = poll(sampler->polls, sampler->nr_lanes, left);
			if (rc < 0)
				return -errno;
			found = after_poll(sampler);
		}
		if (any_data(sampler))
			return 1;
		if (found == POLLED_ENDED)
			return -ENODATA;
		if (!rc || (found == POLLED_STUCK && !left))
			return 0;
		if (found == POLLED_STUCK) {
			rc = sleep_stuck(left);
			if (rc < 0)
				return rc;
		}
	}
}

/*
 * The kernel reports a wakeup to one poll only, whatever remains in the ring after it. So data is
 * looked for before, and when there is some, poll does not wait but only finds out who hung up.
 */
int perch_sampler_wait(struct perch_sampler *sampler, int timeout_ms)
{
	int rc;

	if (!any_held(sampler))
		return wait_for_news(sampler, timeout_ms);
	rc = wait_for_news(sampler, timeout_ms < 0 || timeout_ms > HELD_MS ? HELD_MS : timeout_ms);
	return rc < 0 && rc != -ENODATA ? rc : 1;
}
