/* SPDX-License-Identifier: MIT */
/*
 * Requests of HTTP by libcurl, which is loaded when the first target needs it: it brings thirty
 * other libraries. Nothing of an answer is trusted: redirections are not followed, its head has at
 * most 64 KB, its body is read up to ANSWER_MAX bytes, and all of a request has a time limit.
 */
#ifndef PERCH_AGENT_PUSH_HTTP_H
#define PERCH_AGENT_PUSH_HTTP_H

#include "push.h"

enum {
	PUSH_ANSWER_MAX = 16384,
	PUSH_RETRY_AFTER_MAX = 64,
};

struct push_http; /* the requests of all targets */

struct push_request {
	/* set by the caller */
	const struct agent_push_target *target;
	const char *user_agent;
	long timeout; /* milliseconds */
	const void *body;
	size_t size;
	bool gzip;
	/* called before the last bytes of a body are sent; another result than 0 ends the request
	 */
	int (*before_last)(void *context);
	void *context;
	/* set when it has ended */
	bool ended;
	bool all_sent; /* or the last bytes were on their way */
	int code;      /* of the answer; 0: none */
	bool is_protobuf;
	char retry_after[PUSH_RETRY_AFTER_MAX]; /* the header; "": none */
	uint8_t answer[PUSH_ANSWER_MAX];
	size_t answer_size;
	char reason[AGENT_REASON_MAX]; /* why there is no answer */
	/* private */
	void *easy, *headers;
	size_t given, head_size;
};

/* Returns 0, -ENOSYS if libcurl cannot be loaded, or -ENOMEM. */
int push_http_new(struct push_http **http, struct perch_error *err);
void push_http_free(struct push_http *http);
/* Begins a request. If that fails, it has ended at once, with a reason. */
void push_http_start(struct push_http *http, struct push_request *request);
/* Ends a request without an answer; does nothing if it has ended. */
void push_http_cancel(struct push_http *http, struct push_request *request);
/* Does what can be done, then waits for more, at most `timeout` milliseconds. */
void push_http_run(struct push_http *http, int timeout);
/* Ends the wait of push_http_run(), from another thread. */
void push_http_wake(struct push_http *http);

#endif
