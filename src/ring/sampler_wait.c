/* SPDX-License-Identifier: MIT */
/*
 * Waits for data of a sampler, and its descriptor for the caller's event loop.
 *
 * For each ring one descriptor is polled. All events of a ring wake it. A descriptor whose thread
 * has exited reports POLLHUP from then on, but other events may still write into its ring, so one
 * of theirs is polled instead.
 *
 * perch_sampler_fd() is an epoll of these descriptors. poll(2) of a ring's descriptor takes the
 * wakeup, also if it is made by an epoll. So the caller's epoll sees a wakeup once, and the rings
 * are examined after each one that the library takes itself.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "buffer.h"

#define ERROR_POLL_MS  10  /* between two checks of the rings while a descriptor is in error */
#define UNWATCHED_MS   100 /* between two wakeups of perch_sampler_fd() for rings without one */
#define MERGE_DELAY_MS 10  /* after which the records that a merge holds are due */
#define WAKEUPS	       64  /* taken by one epoll_wait(2) */
#define TIMER	       UINT64_MAX

/* Records that a merge holds are not new data: the next round, which new data starts, delivers
 * them. */
bool perch__sampler_has_new_data(const struct perch_sampler *sampler)
{
	for (size_t i = 0; i < sampler->nr_rings; i++) {
		const struct perch_ring *ring = sampler->rings[i].ring;

		if (perch__is_read(&sampler->rings[i]) &&
		    perch__ring_written(ring) != (sampler->merge ? ring->head : ring->next))
			return true;
	}
	return false;
}

static bool has_held_records(const struct perch_sampler *sampler)
{
	for (size_t i = 0; sampler->merge && i < sampler->nr_rings; i++)
		if (perch__is_read(&sampler->rings[i]) &&
		    sampler->rings[i].ring->head != sampler->rings[i].ring->next)
			return true;
	return false;
}

/* ---- The polled descriptor of each ring ---- */

void perch__sampler_poll_ring(struct perch_sampler *sampler, size_t index)
{
	struct perch__sampler_ring *ring = &sampler->rings[index];
	size_t at = ring->polled;

	sampler->polls[index].fd = -1;
	for (size_t i = 0; ring->ring && i < sampler->nr_fds; i++, at++) {
		if (at >= sampler->nr_fds)
			at = 0;
		/* states of the descriptors of other rings are those of other threads */
		if (sampler->fds[at] < 0 || perch__ring_of_fd(sampler, at) != index ||
		    sampler->fd_state[at] != PERCH__FD_OPEN)
			continue;
		ring->polled = at;
		sampler->polls[index].fd = sampler->fds[at];
		return;
	}
}

static void poll_other_event(struct perch_sampler *sampler, size_t ring)
{
	sampler->fd_state[sampler->rings[ring].polled] = PERCH__FD_ENDED;
	perch__sampler_poll_ring(sampler, ring);
}

enum polled {
	POLLED_ENDED, /* every target of every ring has exited */
	POLLED_ERROR, /* a descriptor is in error: poll(2) returns at once every time */
	POLLED_OPEN,
};

/*
 * Evaluates the result of poll(2). POLLERR does not mean that the thread has exited: a pinned event
 * that lost its counter reports it until it is enabled again. An invalid descriptor (POLLNVAL) is
 * treated as one that has hung up. *moved: a ring has another descriptor, which was not polled yet.
 */
static enum polled ring_after_poll(struct perch_sampler *sampler, size_t i, bool *moved)
{
	struct pollfd *polled = &sampler->polls[i];

	sampler->rings[i].failed = polled->fd >= 0 && polled->revents & POLLERR;
	if (polled->fd >= 0 && polled->revents & (POLLHUP | POLLNVAL)) {
		poll_other_event(sampler, i);
		*moved |= polled->fd >= 0;
	} else if (sampler->rings[i].failed) {
		return POLLED_ERROR;
	}
	return polled->fd >= 0 ? POLLED_OPEN : POLLED_ENDED;
}

static enum polled after_poll(struct perch_sampler *sampler, bool *moved)
{
	enum polled found = POLLED_ENDED;
	bool error = false;

	*moved = false;
	for (size_t i = 0; i < sampler->nr_rings; i++) {
		enum polled ring = ring_after_poll(sampler, i, moved);

		error |= ring == POLLED_ERROR;
		if (ring != POLLED_ENDED)
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

/* Finds the targets that have ended and the events in error, without waiting. */
static void find_ended(struct perch_sampler *sampler)
{
	bool moved = has_open_poll(sampler);

	while (moved) {
		if (poll(sampler->polls, sampler->nr_rings, 0) < 0)
			return;
		after_poll(sampler, &moved);
	}
	perch__sampler_watch(sampler);
}

/* ---- The descriptor of the sampler ---- */

static void set_timer(struct perch_sampler *sampler, long ms)
{
	const struct itimerspec time = { .it_value.tv_nsec = ms ? ms * 1000000 : 1 };

	timerfd_settime(sampler->timer, 0, &time, NULL);
}

void perch__sampler_wake(struct perch_sampler *sampler)
{
	if (sampler->epoll >= 0)
		set_timer(sampler, 0);
}

/* True if a ring is read without wakeups: an event is in error, or the epoll refused it. */
static bool has_unwatched(const struct perch_sampler *sampler)
{
	for (size_t i = 0; i < sampler->nr_rings; i++)
		if (sampler->polls[i].fd >= 0 && sampler->rings[i].watched < 0)
			return true;
	return false;
}

void perch__sampler_watch(struct perch_sampler *sampler)
{
	for (size_t i = 0; sampler->epoll >= 0 && i < sampler->nr_rings; i++) {
		struct perch__sampler_ring *ring = &sampler->rings[i];
		/* without events: only EPOLLHUP and EPOLLERR */
		struct epoll_event event = { .events = ring->backward ? 0 : EPOLLIN,
					     .data.u64 = i };
		/* an event in error would always be ready */
		int fd = ring->failed ? -1 : sampler->polls[i].fd;

		if (fd == ring->watched)
			continue;
		if (ring->watched >= 0)
			epoll_ctl(sampler->epoll, EPOLL_CTL_DEL, ring->watched, NULL);
		ring->watched = -1;
		if (fd >= 0 && !epoll_ctl(sampler->epoll, EPOLL_CTL_ADD, fd, &event))
			ring->watched = fd;
	}
	if (sampler->epoll >= 0 && has_unwatched(sampler))
		set_timer(sampler, UNWATCHED_MS);
}

/* Makes the descriptor ready after a short time if records are held, or a ring makes no wakeups. */
static void start_timer(struct perch_sampler *sampler)
{
	if (has_held_records(sampler))
		set_timer(sampler, MERGE_DELAY_MS);
	else if (has_unwatched(sampler))
		set_timer(sampler, UNWATCHED_MS);
}

bool perch__sampler_take_wakeups(struct perch_sampler *sampler)
{
	struct epoll_event events[WAKEUPS];
	uint64_t expired;
	int nr;

	if (sampler->epoll < 0)
		return false;
	nr = epoll_wait(sampler->epoll, events, WAKEUPS, 0);
	for (int i = 0; i < nr; i++)
		if (events[i].data.u64 == TIMER &&
		    read(sampler->timer, &expired, sizeof(expired)) < 0)
			continue; /* it was set again */
	if (nr > 0)
		find_ended(sampler);
	start_timer(sampler);
	return nr > 0;
}

/*
 * A filter of system calls may refuse poll(2) and epoll_wait(2), which take wakeups. Without them
 * the descriptor would stay readable, and a program that polls it would never sleep.
 */
static bool refuses_waits(int epoll)
{
	struct epoll_event event;

	return (epoll_wait(epoll, &event, 1, 0) < 0 && errno != EINTR) ||
	       (poll(NULL, 0, 0) < 0 && errno != EINTR);
}

static int open_epoll(struct perch_sampler *sampler)
{
	struct epoll_event event = { .events = EPOLLIN, .data.u64 = TIMER };

	sampler->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (sampler->epoll >= 0)
		sampler->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (sampler->timer < 0 ||
	    epoll_ctl(sampler->epoll, EPOLL_CTL_ADD, sampler->timer, &event) < 0 ||
	    refuses_waits(sampler->epoll))
		return -errno;
	return 0;
}

int perch_sampler_fd(struct perch_sampler *sampler, struct perch_error *err)
{
	int rc = perch__sampler_check_fork(sampler, err);

	if (rc)
		return rc;
	if (sampler->epoll >= 0)
		return sampler->epoll;
	rc = open_epoll(sampler);
	if (rc >= 0) {
		perch__sampler_watch(sampler);
		return sampler->epoll;
	}
	if (sampler->epoll >= 0)
		close(sampler->epoll);
	if (sampler->timer >= 0)
		close(sampler->timer);
	sampler->epoll = sampler->timer = -1;
	perch_error_set(err, -rc,
			rc == -EMFILE || rc == -ENFILE ? PERCH_ERROR_DESCRIPTORS
						       : PERCH_ERROR_SYSTEM,
			"cannot make a descriptor of the sampler: %s", strerror(-rc));
	if (rc == -EPERM || rc == -ENOSYS || rc == -EACCES)
		perch_error_remedy(err, "a filter of system calls (seccomp) may refuse it: allow "
					"poll(2), epoll(7) and timerfd_create(2) where it is set");
	return rc;
}

bool perch_sampler_ended(struct perch_sampler *sampler)
{
	bool has_data, taken = false;

	if (perch__is_forked(sampler->generation))
		return true;
	perch__sampler_begin_round(sampler);
	if (sampler->epoll >= 0)
		taken = perch__sampler_take_wakeups(sampler);
	else
		find_ended(sampler);
	has_data = perch__sampler_has_new_data(sampler);
	/* the wakeup may be of data that the caller has not seen */
	if (taken && has_data)
		set_timer(sampler, 0);
	return !has_open_poll(sampler) && !has_data;
}

/* ---- Waiting ---- */

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
		int left = perch__sampler_has_new_data(sampler) ? 0 : remaining_ms(timeout_ms, end);
		bool moved;
		int rc = 0;

		if (found != POLLED_ENDED) {
			rc = poll(sampler->polls, sampler->nr_rings, left);
			if (rc < 0)
				return -errno;
			found = after_poll(sampler, &moved);
			perch__sampler_watch(sampler);
		}
		if (perch__sampler_has_new_data(sampler))
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
	int rc = perch__sampler_check_fork(sampler, err);

	if (rc)
		return rc;
	perch__sampler_begin_round(sampler);
	rc = wait_or_retry(sampler, timeout_ms);
	if (rc == -ENODATA)
		return perch_error_set(err, ENODATA, PERCH_ERROR_NO_PROCESS,
				       "all targets of the sampler have ended");
	return rc < 0 ? perch_error_set(err, -rc, PERCH_ERROR_SYSTEM,
					"cannot wait for data of the sampler: %s", strerror(-rc))
		      : rc;
}

/* Copies what is polled of the rings. Returns the timeout, which is short if one is not polled. */
static int polls_of(const struct perch_sampler *sampler, const size_t *rings, size_t nr,
		    struct pollfd *polls, int timeout_ms)
{
	for (size_t i = 0; i < nr; i++) {
		polls[i] = sampler->polls[rings[i]];
		if (!sampler->rings[rings[i]].failed)
			continue;
		polls[i].fd = -1; /* it would be ready each time */
		if (timeout_ms < 0 || timeout_ms > ERROR_POLL_MS)
			timeout_ms = ERROR_POLL_MS;
	}
	return timeout_ms;
}

int perch_sampler_wait_rings(struct perch_sampler *sampler, const size_t *rings, size_t nr,
			     int wake_fd, struct pollfd *polls, int timeout_ms)
{
	bool moved = false, open = false;
	int ready;

	timeout_ms = polls_of(sampler, rings, nr, polls, timeout_ms);
	polls[nr] = (struct pollfd){ wake_fd, POLLIN, 0 };
	ready = poll(polls, nr + 1, timeout_ms);
	if (ready < 0)
		return errno == EINTR ? 0 : -errno;
	for (size_t i = 0; i < nr; i++) {
		if (polls[i].fd >= 0)
			sampler->polls[rings[i]].revents = polls[i].revents;
		else if (sampler->rings[rings[i]].failed) /* it is looked at again */
			sampler->polls[rings[i]].revents = 0;
		open |= ring_after_poll(sampler, rings[i], &moved) != POLLED_ENDED;
	}
	if (!open && !polls[nr].revents)
		return -ENODATA;
	return ready > 0;
}
