/* SPDX-License-Identifier: MIT */
/* The state of one target: its requests, one after another, and what follows from their answers. */
#ifndef PERCH_AGENT_PUSH_SENDER_H
#define PERCH_AGENT_PUSH_SENDER_H

#include <pthread.h>
#include <time.h>

#include "push_http.h"

#define PUSH_MILLISECOND 1000000ull
#define PUSH_SECOND	 1000000000ull

enum { PUSH_IDLE_MS = 10000 }; /* the longest wait, for windows that become too old */

/* What all senders have. */
struct push_shared {
	struct agent_push_options options;
	struct agent_spool *spool;
	struct push_http *http;
	pthread_mutex_t mutex; /* of the stats */
};

struct push_sender {
	struct push_shared *shared;
	struct agent_push_target target;
	struct push_request request;
	struct agent_spool_entry entry; /* of the request */
	void *body;
	bool busy;
	bool asks;	   /* the request is without a window */
	bool unsure;	   /* a window got no answer: the next request is without one */
	bool gone;	   /* the spool dropped the window while it was sent */
	uint64_t next;	   /* ns of the monotonic clock: no request before */
	unsigned failures; /* one after another */
	struct agent_push_target_stats stats;
};

static inline uint64_t push_clock(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * PUSH_SECOND + (uint64_t)now.tv_nsec;
}

/* Writes a line for the log. */
void push_note(const struct push_shared *shared, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void push_sender_count_dropped(struct push_sender *sender, enum agent_drop_reason reason,
			       uint64_t bytes);
/* Begins a request if there is a window, and no other one. now: of the monotonic clock. */
void push_sender_begin(struct push_sender *sender, uint64_t now);
/* Does what follows from an answer, if it has come. */
void push_sender_end(struct push_sender *sender);
/* Milliseconds until the next call of push_sender_begin() at the latest. */
int push_sender_wait(const struct push_sender *sender, uint64_t now);
/* Ends a request that has no answer yet, or not all of it. */
void push_sender_cancel(struct push_sender *sender);
/* The same, and others follow: if the server may have the window, that is dropped. */
void push_sender_interrupt(struct push_sender *sender);
/* Goes on where another one of the same URL is, with other options from the beginning. */
void push_sender_take_over(struct push_sender *sender, const struct push_sender *from);

#endif
