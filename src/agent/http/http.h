/* SPDX-License-Identifier: MIT */
/* The parts of the server. */
#ifndef PERCH_AGENT_HTTP_H
#define PERCH_AGENT_HTTP_H

#include <microhttpd.h>

#include "agent/state.h"

/* ---- http_library.c: libmicrohttpd, which is loaded when the agent listens ---- */

struct agent_http_library {
	__typeof__(&MHD_start_daemon) start_daemon;
	__typeof__(&MHD_stop_daemon) stop_daemon;
	__typeof__(&MHD_run) run;
	__typeof__(&MHD_get_timeout) get_timeout;
	__typeof__(&MHD_get_daemon_info) get_daemon_info;
	__typeof__(&MHD_get_connection_info) get_connection_info;
	__typeof__(&MHD_create_response_from_buffer) response_of_buffer;
	__typeof__(&MHD_create_response_from_fd) response_of_fd;
	__typeof__(&MHD_add_response_header) add_header;
	__typeof__(&MHD_queue_response) queue_response;
	__typeof__(&MHD_destroy_response) destroy_response;
	__typeof__(&MHD_lookup_connection_value_n) lookup;
	__typeof__(&MHD_suspend_connection) suspend;
	__typeof__(&MHD_resume_connection) resume;
};

/* Returns NULL if it cannot be loaded. */
const struct agent_http_library *agent_http_load(struct perch_error *err);

/* ---- http_socket.c ---- */

/* Listens at "127.0.0.1:7099", "[::1]:7099" or "NAME:7099". Returns a descriptor, or a negative
 * errno. *local: only this machine can reach it. */
int agent_http_listen(const char *address, bool *local, struct perch_error *err);
/* True if a header "Host" names no strange server: a page of it in a browser here would otherwise
 * read what this one says. */
bool agent_http_host_is_local(const char *host);

/* ---- http_paths.c: what is at a path ---- */

struct agent_answer {
	unsigned status;
	const char *type;    /* Content-Type */
	const char *file;    /* name of a download; NULL: none */
	const char *refresh; /* seconds; NULL: no header */
	char *text;	     /* malloc(3); NULL: a profile is made */
	size_t size;
	/* of a profile */
	enum agent_kind kind;
	bool from_now;	    /* it begins when it has a place to wait */
	uint64_t from;	    /* else: number of a slice */
	uint64_t due;	    /* ns */
	const char *cgroup; /* path: only its samples; NULL: all */
};

/* Finds a parameter of the query, or a header. NULL: it is missing; without a value it is "". */
typedef const char *agent_query(void *context, const char *name, bool header);

/* Checks who asks for what. token: what requests must have; NULL: none. Returns 0, or the status of
 * the refusal, and the reason. */
unsigned agent_http_refusal(const char *token, const char *method, agent_query *query,
			    void *context, const char **reason);
/* Answers a GET. Returns false if out of memory. */
bool agent_http_answer(struct agent *agent, const char *path, agent_query *query, void *context,
		       struct agent_answer *answer);
/* An answer that is a line of text. */
bool agent_http_text(struct agent_answer *answer, unsigned status, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif
