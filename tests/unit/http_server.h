/* SPDX-License-Identifier: MIT */
/*
 * A server of HTTP in a thread, for tests of clients. It answers the requests as a script says, one
 * connection at a time, and keeps what it got.
 */
#ifndef PERCH_TESTS_HTTP_SERVER_H
#define PERCH_TESTS_HTTP_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How to answer a request. */
struct http_answer {
	int code;	     /* 0: see below */
	const char *headers; /* lines with "\r\n"; NULL: none */
	const void *body;
	size_t size;
	enum {
		HTTP_ANSWER,
		HTTP_CLOSE,	    /* all of the request is read, then the connection ends */
		HTTP_HANG,	    /* all is read, and nothing comes until the client ends it */
		HTTP_STOP_READING,  /* some of the body is read, then nothing */
		HTTP_ENDLESS_BODY,  /* after the head of the answer */
		HTTP_ENDLESS_HEADS, /* lines without an end */
		HTTP_DRIP,	    /* a byte of the head from time to time */
		HTTP_HANG_IN_BODY,  /* after the head of the answer and its body, which is longer */
	} how;
};

struct http_request {
	double time; /* seconds, monotonic */
	char head[4096];
	uint8_t *body;
	size_t size;   /* of the body, as read */
	bool complete; /* all of it was */
};

struct http_server;

/* Starts a server on a port of 127.0.0.1. The last answer is for all further requests. */
struct http_server *http_server_start(const struct http_answer *answers, size_t nr);
/* The same on a port that is in use by nobody, or was by a server before. */
struct http_server *http_server_start_at(unsigned port, const struct http_answer *answers,
					 size_t nr);
unsigned http_server_port(const struct http_server *server);
/* Finds a port on which nothing listens. */
unsigned http_free_port(void);
/* Waits until the server has begun to read the body of `nr` requests. Fails the test after a
 * minute. */
void http_server_wait_begun(struct http_server *server, size_t nr);
/* Waits until `nr` requests are read as far as the script says. */
void http_server_wait(struct http_server *server, size_t nr);
/* The requests up to now; the first ones do not change. */
size_t http_server_requests(struct http_server *server, const struct http_request **request);
/* Ends the server, and its connection. Requests are freed. */
void http_server_stop(struct http_server *server);

#endif
