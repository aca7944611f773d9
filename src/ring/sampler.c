/* SPDX-License-Identifier: MIT */
/* A sampler at work: waiting, handing out records, counting. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "internal.h"

#define STUCK_MS 10	/* between two looks at rings while a descriptor is in error */

void perch__sampler_close(struct perch_sampler *sampler)
{
	const struct perch_calls *calls = perch_machine_calls(sampler->machine);

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
	sampler->nr_fds = sampler->nr_lanes = 0;
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
	const struct perch_calls *calls = perch_machine_calls(sampler->machine);

	for (size_t i = 0; i < sampler->nr_fds; i++) {
		size_t index = i % sampler->nr_events;

		if (sampler->fds[i] < 0 || sampler->events[index].leader != (int)index)
			continue;
		if (calls->control(calls->context, sampler->fds[i], request, 0) < 0)
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

const struct perch_attr *perch_sampler_event(const struct perch_sampler *sampler, size_t index, const char **name,
					     const uint64_t **ids, size_t *nr)
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

int perch_sampler_place(const struct perch_sampler *sampler, size_t index, size_t id, int *cpu, pid_t *pid, size_t *ring)
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

const struct perch_attr *perch_sampler_dropped(const struct perch_sampler *sampler, size_t index)
{
	static const struct perch_attr nothing;
	const struct perch_attr *dropped = index < sampler->nr_events ? &sampler->events[index].dropped : &nothing;

	return memcmp(dropped, &nothing, sizeof(nothing)) ? dropped : NULL;
}

static bool any_data(const struct perch_sampler *sampler)
{
	for (size_t i = 0; i < sampler->nr_lanes; i++)
		if (perch__ring_has_data(sampler->lanes[i].ring))
			return true;
	return false;
}

/*
 * A descriptor whose thread has exited hangs up for ever, though others may still write into its ring: then one of those is
 * polled instead, for any of them wakes for the ring.
 */
static void poll_next_of(struct perch_sampler *sampler, size_t ring)
{
	size_t each = sampler->nr_events * sampler->nr_threads;
	struct perch__lane *lane = &sampler->lanes[ring];

	do
		lane->polled++;
	while (lane->polled < each && lane->fds[lane->polled] < 0);
	sampler->polls[ring].fd = lane->polled < each ? lane->fds[lane->polled] : -1;
}

enum polled {
	POLLED_ENDED,		/* every target of every ring has exited */
	POLLED_STUCK,		/* a descriptor is in error, and would answer at once for ever */
	POLLED_GOOD,
};

/*
 * What poll(2) found. POLLERR is no exit: a pinned event that lost its counter says so, until it is enabled again. A
 * descriptor that is none (POLLNVAL) will never wake anybody, and is left like one that hung up.
 */
static enum polled after_poll(struct perch_sampler *sampler)
{
	enum polled found = POLLED_ENDED;
	bool stuck = false;

	for (size_t i = 0; i < sampler->nr_lanes; i++) {
		struct pollfd *polled = &sampler->polls[i];

		if (polled->fd >= 0 && polled->revents & (POLLHUP | POLLNVAL))
			poll_next_of(sampler, i);
		else if (polled->fd >= 0 && polled->revents & POLLERR)
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

/*
 * The kernel reports a wakeup to one poll only, whatever remains in the ring after it. So data is looked for before, and
 * when there is some, poll does not wait but only finds out who hung up.
 */
int perch_sampler_wait(struct perch_sampler *sampler, int timeout_ms)
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
			if (rc)
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

static uint64_t lost_in(const struct perch_record_header *header)
{
	unsigned word = perch__lost_word(header->type, header->size);

	return word ? ((const uint64_t *)header)[word] : 0;
}

/* The next record of the batches in hand, lane after lane; a lane left is given its next batch when its turn comes again. */
static const struct perch_record_header *next_bytes(struct perch_sampler *sampler)
{
	for (size_t tries = 0; tries <= sampler->nr_lanes; tries++) {
		struct perch_ring *ring = sampler->lanes[sampler->turn].ring;
		const struct perch_record_header *bytes = perch__ring_record(ring);

		if (bytes)
			return bytes;
		perch__ring_publish(ring);	/* now, not a round later: the kernel needs the room */
		sampler->turn = (sampler->turn + 1) % sampler->nr_lanes;
		perch__ring_advance(sampler->lanes[sampler->turn].ring);
	}
	return NULL;
}

int perch_sampler_next(struct perch_sampler *sampler, struct perch_record *record)
{
	const struct perch_record_header *bytes;

	while ((bytes = next_bytes(sampler))) {
		uint16_t size = bytes->size;

		perch__stats_count(&sampler->stats, bytes->type, lost_in(bytes));
		sampler->stats.bytes += size;
		if (perch_decoder_decode(sampler->decoder, record, bytes, size, NULL) >= 0)
			return 1;
		sampler->stats.damaged++;
	}
	return 0;
}

ssize_t perch_sampler_drain(struct perch_sampler *sampler, perch_drain_function *function, void *context)
{
	ssize_t drained = 0;

	for (size_t i = 0; i < sampler->nr_lanes; i++) {
		struct perch_ring *ring = sampler->lanes[i].ring;
		struct iovec pieces[2];
		size_t bytes = perch__ring_peek(ring, pieces, &sampler->stats);
		int rc;

		if (!bytes)
			continue;
		rc = function(context, i, pieces, pieces[1].iov_len ? 2 : 1);
		perch_ring_consume(ring, bytes);
		sampler->stats.bytes += bytes;
		if (rc < 0)
			return rc;
		drained += bytes;
	}
	return drained;
}

void perch_sampler_stats(const struct perch_sampler *sampler, struct perch_sampler_stats *stats)
{
	*stats = sampler->stats;
	for (size_t i = 0; i < sampler->nr_lanes; i++)
		stats->damaged += perch__ring_damaged(sampler->lanes[i].ring);
}
