/* SPDX-License-Identifier: MIT */
/*
 * Sends windows to servers: OTLP profiles over HTTP, and Pyroscope's Push API. A thread of its own
 * does all that may wait: names of hosts, TLS, answers, the disk. So the functions here return at
 * once, but for agent_push_close().
 *
 * A window goes to the spool of each target first. A target has one request at a time, the oldest
 * first, and at most one in a second. A request whose answer says that it was not taken (401, 407,
 * 429, 502, 503, 504), or that could not be sent, is repeated with the same profile id: after
 * Retry-After, else after 1 to 60 seconds +-20 %. Another error drops the window. When all of a
 * request was sent and no answer came, the server may have the window, so it is dropped, and
 * requests without one ask whether the server answers again. No window is delivered twice.
 */
#ifndef PERCH_AGENT_PUSH_H
#define PERCH_AGENT_PUSH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <perch/error.h>

#include "spool.h"

enum agent_push_kind {
	AGENT_PUSH_OTLP,      /* ExportProfilesServiceRequest; it is compressed here */
	AGENT_PUSH_PYROSCOPE, /* push.v1.PushRequest, of agent_pyroscope_request() */
	AGENT_NR_PUSH_KINDS,
};

enum {
	AGENT_TARGETS_MAX = 8,
	AGENT_HEADERS_MAX = 8,
	AGENT_URL_MAX = 1024,
	AGENT_CODES_MAX = 16, /* different codes that are counted; others are in the last */
	AGENT_REASON_MAX = 256,
};

/* ---- push_target.c: --push ---- */

struct agent_push_target {
	enum agent_push_kind kind;
	char *url;  /* with the path of the API */
	char *name; /* of counters and messages: the URL without its query, and a number */
	uint64_t hash;
	/* of files; NULL: none. The first two are read for each request, because tokens change. */
	char *token_file, *basic_file, *ca_file, *cert_file, *key_file;
	char *header[AGENT_HEADERS_MAX]; /* "Name: value" */
	size_t nr_headers;
};

/*
 * Parses the argument of --push:
 *
 *	[otlp+|pyroscope+]http[s]://HOST[:PORT][/PATH][,OPTION=VALUE]...
 *
 * A URL without a path has that of the API. Options: token-file (a bearer token), basic-file
 * (USER:PASSWORD), ca-file, cert-file, key-file, header (Name: value). Returns 0, -EINVAL or
 * -ENOMEM; the target is empty then.
 */
int agent_push_target_parse(struct agent_push_target *target, const char *text,
			    struct perch_error *err);
/* Gives the last target a name with a number, " (2)", if an earlier one has the same URL but for
 * its query or kind. Returns 0 or -ENOMEM. */
int agent_push_target_number(struct agent_push_target *target, size_t nr, struct perch_error *err);
/* Copies a target. Returns 0 or -ENOMEM; the copy is empty then. */
int agent_push_target_copy(struct agent_push_target *copy, const struct agent_push_target *target,
			   struct perch_error *err);
bool agent_push_target_equal(const struct agent_push_target *a, const struct agent_push_target *b);
void agent_push_target_clear(struct agent_push_target *target);

/* ---- push_random.c ---- */

/* Returns ns, 20 % less to 20 % more: agents that started together do not send together. */
uint64_t agent_push_jitter(uint64_t ns);
/* The length of the first window: from a fifth to six fifths, so that first requests differ, too.
 */
uint64_t agent_push_first(uint64_t ns);
/* Sets 16 bytes at random. */
void agent_push_profile_id(uint8_t profile_id[AGENT_PROFILE_ID]);

/* ---- pyroscope.c ---- */

struct agent_pyroscope_label {
	/* "service_name"; other characters become '_', and the last label of a name counts then */
	const char *name, *value;
};

struct agent_pyroscope_series {
	const struct agent_pyroscope_label *label; /* without __name__, which is process_cpu */
	size_t nr_labels;
	const void *pprof; /* with or without gzip */
	size_t size;
};

/* Names in queries of engines: other bytes than letters, digits and '_' become '_'. */
void agent_plain_name(char *name);
/* Makes the request of several series. *bytes is for free(). Returns 0, -EFBIG or -ENOMEM. */
int agent_pyroscope_request(const struct agent_pyroscope_series *series, size_t nr,
			    const uint8_t profile_id[AGENT_PROFILE_ID], void **bytes, size_t *size);

/* ---- push.c ---- */

struct agent_push_options {
	const struct agent_push_target *target; /* are copied */
	size_t nr;
	const char *spool;	/* directory; NULL: in memory */
	uint64_t spool_bytes;	/* 0: the default, see agent_spool_options */
	uint64_t spool_age;	/* ns; 0: the default */
	uint64_t timeout;	/* ns of a request; 0: 30 s */
	uint64_t least_wait;	/* ns between two requests to a target; 0: 1 s */
	uint64_t most_wait;	/* ns after a failure; 0: 60 s. Retry-After: 10 times as much */
	const char *user_agent; /* "perch-agent/0.1.0" */
	/* a line for the log, from the thread; the text is clean */
	void (*note)(void *context, const char *text);
	void *context;
};

struct agent_push_window {
	const void *bytes; /* are copied */
	size_t size;
	uint8_t profile_id[AGENT_PROFILE_ID];
	uint64_t begin; /* ns of the wall clock */
};

struct agent_push_target_stats {
	const char *name; /* of the target */
	struct {
		int code; /* of HTTP; 0: there was no answer */
		uint64_t requests;
	} code[AGENT_CODES_MAX];
	size_t nr_codes;
	uint64_t windows, bytes;		 /* that the target has taken; bytes as sent */
	uint64_t rejected;			 /* profiles, by partial_success */
	uint64_t dropped[AGENT_NR_DROP_REASONS]; /* windows */
	uint64_t dropped_bytes[AGENT_NR_DROP_REASONS]; /* as sent; of the queue before gzip */
	bool failing;				       /* the last request was not taken */
	char reason[AGENT_REASON_MAX]; /* why, or why a window was dropped last; clean */
};

struct agent_push_stats {
	struct agent_push_target_stats target[AGENT_TARGETS_MAX];
	size_t nr_targets;
	struct agent_spool_stats spool;
	uint64_t queued_bytes;	/* that are not in the spool yet */
	uint64_t dropped_other; /* windows of targets that are no longer given */
};

struct agent_push;

/*
 * Starts the thread. -ENOSYS: libcurl cannot be loaded, -EBUSY: another agent uses the spool.
 * Returns 0 or a negative errno.
 */
int agent_push_open(struct agent_push **push, const struct agent_push_options *options,
		    struct perch_error *err);
/*
 * Changes targets and the spool; all else stays. A target whose URL stays keeps its counters and
 * windows, and goes on at once if its other options change. If nothing changes, nothing is
 * interrupted, else requests that have begun have `wait` ns for their answers. Returns 0, or a
 * negative errno if the targets or the spool cannot be used: it goes on as before. -EAGAIN: they
 * are changed, but there is no thread; another change, or the next window, tries to start one.
 */
int agent_push_change(struct agent_push *push, const struct agent_push_options *options,
		      uint64_t wait, struct perch_error *err);
/* True if there is a target of the kind, so that its windows need not be made otherwise. */
bool agent_push_wants(const struct agent_push *push, enum agent_push_kind kind);
/*
 * Adds a window for all targets of the kind. Returns 0; -ENOSPC if 8 MB wait for the thread, -EFBIG
 * or -ENOMEM: the window is dropped and counted.
 */
int agent_push_add(struct agent_push *push, enum agent_push_kind kind,
		   const struct agent_push_window *window);
/* Counts a window that could not be made as dropped, for all targets of the kind. */
void agent_push_not_made(struct agent_push *push, enum agent_push_kind kind);
void agent_push_stats(struct agent_push *push, struct agent_push_stats *stats);
/*
 * Ends the thread. Windows that were added are in the spool then. Requests that have begun have
 * `wait` ns for their answers; without a directory, so have all windows. NULL is allowed.
 */
void agent_push_close(struct agent_push *push, uint64_t wait);

#endif
