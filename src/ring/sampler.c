/* SPDX-License-Identifier: MIT */
/* A sampler: closing, control, properties, and waiting for data. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "buffer.h"

#define ERROR_POLL_MS  10 /* between two checks of the rings while a descriptor is in error */
#define MERGE_DELAY_MS 10 /* after which the records that a merge holds are due */

void perch__sampler_close_events(struct perch_sampler *sampler)
{
	const struct perch_syscalls *calls = perch_machine_syscalls(sampler->machine);

	perch_merge_free(sampler->merge);
	sampler->merge = NULL;
	for (size_t i = 0; i < sampler->nr_rings; i++)
		perch_ring_close(sampler->rings[i].ring);
	for (size_t i = 0; i < sampler->nr_fds; i++)
		if (sampler->fds[i] >= 0)
			calls->close(calls->context, sampler->fds[i]);
	for (size_t i = 0; sampler->events && i < sampler->nr_events; i++) {
		free(sampler->events[i].ids);
		free(sampler->events[i].id_info);
		sampler->events[i].ids = NULL;
		sampler->events[i].id_info = NULL;
		sampler->events[i].nr_ids = 0;
	}
	free(sampler->fds);
	free(sampler->rings);
	free(sampler->polls);
	sampler->fds = NULL;
	sampler->rings = NULL;
	sampler->polls = NULL;
	sampler->nr_fds = sampler->nr_rings = sampler->nr_backward = sampler->current = 0;
}

void perch_sampler_close(struct perch_sampler *sampler)
{
	if (!sampler)
		return;
	perch__sampler_close_events(sampler);
	perch_decoder_free(sampler->decoder);
	free(sampler->events);
	if (sampler->own_machine)
		perch_machine_free(sampler->machine);
	free(sampler);
}

/* Only leaders: their members follow them. */
static int control_all(struct perch_sampler *sampler, bool enable, struct perch_error *err)
{
	for (size_t i = 0; i < sampler->nr_fds; i++) {
		size_t index = i % sampler->nr_events;
		int rc;

		if (sampler->fds[i] < 0 || sampler->events[index].leader != (int)index)
			continue;
		rc = enable ? perch_event_enable(sampler->fds[i], false, sampler->machine, err)
			    : perch_event_disable(sampler->fds[i], false, sampler->machine, err);
		if (rc < 0) {
			perch_error_prefix(err, "event '%s': ", sampler->events[index].name);
			return rc;
		}
	}
	return 0;
}

int perch_sampler_enable(struct perch_sampler *sampler, struct perch_error *err)
{
	return control_all(sampler, true, err);
}

int perch_sampler_disable(struct perch_sampler *sampler, struct perch_error *err)
{
	return control_all(sampler, false, err);
}

size_t perch_sampler_rings(const struct perch_sampler *sampler)
{
	return sampler->nr_rings;
}

int perch_sampler_ring_fd(const struct perch_sampler *sampler, size_t ring)
{
	return ring < sampler->nr_rings ? sampler->polls[ring].fd : -EINVAL;
}

struct perch_ring *perch_sampler_ring(struct perch_sampler *sampler, size_t ring)
{
	return ring < sampler->nr_rings ? sampler->rings[ring].ring : NULL;
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
	const struct perch__id_info *info;

	if (index >= sampler->nr_events || id >= sampler->events[index].nr_ids)
		return -EINVAL;
	info = &sampler->events[index].id_info[id];
	*cpu = info->cpu;
	*pid = info->pid;
	*ring = info->ring;
	return 0;
}

size_t perch_sampler_leader(const struct perch_sampler *sampler, size_t index)
{
	return index < sampler->nr_events ? (size_t)sampler->events[index].leader : index;
}

const struct perch_attr *perch_sampler_missing_features(const struct perch_sampler *sampler,
							size_t index)
{
	static const struct perch_attr none;
	const struct perch_attr *missing_features =
		index < sampler->nr_events ? &sampler->events[index].missing_features : &none;

	return memcmp(missing_features, &none, sizeof(none)) ? missing_features : NULL;
}

/* Records that a merge holds are not new data: the next round, which new data starts, delivers
 * them. */
static bool has_new_data(const struct perch_sampler *sampler)
{
	for (size_t i = sampler->nr_backward; i < sampler->nr_rings; i++) {
		const struct perch_ring *ring = sampler->rings[i].ring;

		if (perch__ring_written(ring) != (sampler->merge ? ring->head : ring->next))
			return true;
	}
	return false;
}

static bool has_held_records(const struct perch_sampler *sampler)
{
	for (size_t i = sampler->nr_backward; sampler->merge && i < sampler->nr_rings; i++)
		if (sampler->rings[i].ring->head != sampler->rings[i].ring->next)
			return true;
	return false;
}

/*
 * A descriptor whose thread has exited reports POLLHUP from then on, but other events may still
 * write into its ring. Any of their descriptors wakes for the ring, so one of them is polled
 * instead.
 */
static void poll_other_event(struct perch_sampler *sampler, size_t ring)
{
	size_t each = sampler->nr_events * sampler->nr_threads;
	struct perch__cpu_ring *cpu_ring = &sampler->rings[ring];

	do
		cpu_ring->polled++;
	while (cpu_ring->polled < each &&
	       (cpu_ring->fds[cpu_ring->polled] < 0 ||
		!perch__ring_has_event(sampler, cpu_ring, cpu_ring->polled % sampler->nr_events)));
	sampler->polls[ring].fd = cpu_ring->polled < each ? cpu_ring->fds[cpu_ring->polled] : -1;
}

enum polled {
	POLLED_ENDED, /* every target of every ring has exited */
	POLLED_ERROR, /* a descriptor is in error: poll(2) returns at once every time */
	POLLED_OPEN,
};

/*
 * Evaluates the result of poll(2). POLLERR does not mean that the thread has exited: a pinned event
 * that lost its counter reports it until it is enabled again. An invalid descriptor (POLLNVAL) is
 * treated as one that has hung up.
 */
static enum polled after_poll(struct perch_sampler *sampler)
{
	enum polled found = POLLED_ENDED;
	bool error = false;

	for (size_t i = 0; i < sampler->nr_rings; i++) {
		struct pollfd *polled = &sampler->polls[i];

		sampler->rings[i].failed = polled->fd >= 0 && polled->revents & POLLERR;
		if (polled->fd >= 0 && polled->revents & (POLLHUP | POLLNVAL))
			poll_other_event(sampler, i);
		else if (sampler->rings[i].failed)
			error = true;
		if (polled->fd >= 0)
			found = POLLED_OPEN;
	}
	return error ? POLLED_ERROR : found;
}

static bool has_open_poll(const struct perch_sampler *sampler)
{
	for (size_t i = 0; i < sampler->nr_rings; i++)
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

/* Milliseconds until the timeout; -1 if there is none. */
static int remaining_ms(int timeout_ms, int64_t end)
{
	int64_t left = end - now_ms();

	if (timeout_ms <= 0)
		return timeout_ms;
	return left > 0 ? (int)left : 0;
}

/* With a descriptor in error poll(2) returns at once. Sleep instead, then check all rings. */
static int sleep_before_retry(int left)
{
	if (left < 0 || left > ERROR_POLL_MS)
		left = ERROR_POLL_MS;
	return poll(NULL, 0, left) < 0 ? -errno : 0;
}

static int wait_for_data(struct perch_sampler *sampler, int timeout_ms)
{
	int64_t end = timeout_ms > 0 ? now_ms() + timeout_ms : 0;

	for (;;) {
		enum polled found = has_open_poll(sampler) ? POLLED_OPEN : POLLED_ENDED;
		int left = has_new_data(sampler) ? 0 : remaining_ms(timeout_ms, end);
		int rc = 0;

		if (found != POLLED_ENDED) {
			rc = poll(sampler->polls, sampler->nr_rings, left);
			if (rc < 0)
				return -errno;
			found = after_poll(sampler);
		}
		if (has_new_data(sampler))
			return 1;
		if (found == POLLED_ENDED)
			return -ENODATA;
		if (!rc || (found == POLLED_ERROR && !left))
			return 0;
		if (found == POLLED_ERROR) {
			rc = sleep_before_retry(left);
			if (rc < 0)
				return rc;
		}
	}
}

/*
 * The kernel reports a wakeup to one poll(2) only, even if data remains in the ring. So the rings
 * are checked first; if they have data, poll(2) does not wait and only finds hang-ups.
 */
static int wait_or_retry(struct perch_sampler *sampler, int timeout_ms)
{
	int rc;

	if (!has_held_records(sampler))
		return wait_for_data(sampler, timeout_ms);
	rc = wait_for_data(sampler, timeout_ms < 0 || timeout_ms > MERGE_DELAY_MS ? MERGE_DELAY_MS
										  : timeout_ms);
	return rc < 0 && rc != -ENODATA ? rc : 1;
}

int perch_sampler_wait(struct perch_sampler *sampler, int timeout_ms, struct perch_error *err)
{
	int rc = wait_or_retry(sampler, timeout_ms);

	if (rc == -ENODATA)
		return perch_error_set(err, ENODATA, PERCH_ERROR_NO_PROCESS,
				       "all targets of the sampler have ended");
	return rc < 0 ? perch_error_set(err, -rc, PERCH_ERROR_SYSTEM,
					"cannot wait for data of the sampler: %s", strerror(-rc))
		      : rc;
}
