/* SPDX-License-Identifier: MIT */
/*
 * Requests that wait for their answer: one file for each, in a directory that survives the agent.
 * Bytes and age are limited; the oldest are dropped first. Without a directory they are in memory.
 *
 * The name of a file has what is needed to send it: TARGET-BEGIN-PROFILE_ID.window, in hexadecimal.
 * Before the last bytes of a request go to the server, the file gets the suffix .sent: what an
 * agent that was killed has sent, but whose answer it has not read, is never sent again.
 *
 * The directory may be hostile: only regular files of this user, with a name of this form and a
 * valid head, are read; nothing else in it is opened, followed or removed. One thread at a time.
 */
#ifndef PERCH_AGENT_SPOOL_H
#define PERCH_AGENT_SPOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <perch/error.h>

enum {
	AGENT_PROFILE_ID = 16,
	AGENT_SPOOL_ENTRIES_MAX = 16384,
	AGENT_BODY_MAX = 8 << 20, /* bytes of a request */
};

/* Why a window was dropped: X(NAME, "label"). */
#define AGENT_DROP_REASONS(X)                                                              \
	X(QUEUE, "queue_full")	    /* windows came faster than they could be stored */    \
	X(SPOOL, "spool_full")	    /* the oldest, when a newer one came */                \
	X(AGE, "too_old")	    /* older than the spool keeps, or than engines take */ \
	X(SIZE, "too_large")	    /* more than AGENT_BODY_MAX bytes */                   \
	X(REFUSED, "refused")	    /* the answer was an error that no retry can change */ \
	X(UNANSWERED, "unanswered") /* sent, but the connection ended before the answer */ \
	X(DAMAGED, "damaged")	    /* the file was changed */                             \
	X(STORE, "store_failed")    /* the disk is full, or memory */                      \
	X(MADE, "not_made")	    /* it could not be made of the samples */

enum agent_drop_reason {
#define X(name, label) AGENT_DROP_##name,
	AGENT_DROP_REASONS(X)
#undef X
		AGENT_NR_DROP_REASONS
};

/* Returns "spool_full" for AGENT_DROP_SPOOL. */
const char *agent_drop_reason_name(enum agent_drop_reason reason);

struct agent_spool_options {
	const char *directory; /* made with mode 0700 if it is missing; NULL: in memory */
	uint64_t bytes;	       /* of all files; 0: 64 MB, or 8 MB of memory */
	uint64_t age;	       /* ns since the begin of the window; 0: one hour */
	/* called for each window that is dropped */
	void (*dropped)(void *context, uint64_t target, enum agent_drop_reason reason,
			uint64_t bytes);
	void *context;
};

/* A request, and its place in the order. */
struct agent_spool_entry {
	uint64_t target; /* a hash, which stays the same after a restart */
	uint64_t begin;	 /* of the window, ns of the wall clock */
	uint8_t profile_id[AGENT_PROFILE_ID];
	uint64_t size; /* bytes of the body */
	bool gzip;     /* Content-Encoding */
	bool sent;     /* marked */
};

struct agent_spool_stats {
	uint64_t bytes, entries; /* that wait */
	uint64_t oldest;	 /* begin of the oldest window; 0: none waits */
	uint64_t foreign;	 /* files of the directory that are not used */
	uint64_t taken_over;	 /* of an earlier agent */
};

struct agent_spool;

/*
 * Opens the spool, and takes over what an earlier agent has left. A directory that another agent
 * uses is -EBUSY. now: ns of the wall clock, here and below.
 */
int agent_spool_open(struct agent_spool **spool, const struct agent_spool_options *options,
		     uint64_t now, struct perch_error *err);
/* Changes the limits, which are as in the options. */
void agent_spool_limit(struct agent_spool *spool, uint64_t bytes, uint64_t age);
/* Moves what is in memory to another spool. */
void agent_spool_move(struct agent_spool *from, struct agent_spool *to, uint64_t now);
/* NULL: in memory. */
const char *agent_spool_directory(const struct agent_spool *spool);
/* True if the path leads to the directory of the spool; NULL: if that is in memory. */
bool agent_spool_is_in(const struct agent_spool *spool, const char *path);
void agent_spool_close(struct agent_spool *spool); /* files stay; NULL is allowed */
/* Stores a request. Returns 0, or a negative errno; then it is dropped and counted. */
int agent_spool_add(struct agent_spool *spool, const struct agent_spool_entry *entry,
		    const void *bytes, uint64_t now);
/* Drops what is too old. */
void agent_spool_expire(struct agent_spool *spool, uint64_t now);
/* Finds the oldest request to a target. Returns false if there is none. */
bool agent_spool_oldest(const struct agent_spool *spool, uint64_t target,
			struct agent_spool_entry *entry);
/* Returns the body of the entry, for free(); NULL: it is dropped, with the reason. */
void *agent_spool_load(struct agent_spool *spool, const struct agent_spool_entry *entry);
/* Marks the entry as sent, or removes the mark. Returns 0 or a negative errno. */
int agent_spool_mark(struct agent_spool *spool, const struct agent_spool_entry *entry, bool sent);
/* Removes the entry. */
void agent_spool_remove(struct agent_spool *spool, const struct agent_spool_entry *entry);
/* Removes the entry, and counts it as dropped. */
void agent_spool_drop(struct agent_spool *spool, const struct agent_spool_entry *entry,
		      enum agent_drop_reason reason);
void agent_spool_stats(const struct agent_spool *spool, struct agent_spool_stats *stats);

/* ---- spool_file.c ---- */

enum {
	AGENT_SPOOL_NAME = 96, /* bytes of a name and its NUL */
	AGENT_SPOOL_HEAD = 32, /* bytes before the body */
};

/* Writes the name of the file. */
void agent_spool_name(const struct agent_spool_entry *entry, char name[AGENT_SPOOL_NAME]);
/* Reads a name: all of the entry but size and gzip. Returns false for other names. */
bool agent_spool_parse_name(const char *name, struct agent_spool_entry *entry);
void agent_spool_make_head(const struct agent_spool_entry *entry, const void *bytes,
			   uint8_t head[AGENT_SPOOL_HEAD]);
/*
 * Checks the bytes of a file: head and body. Sets size and gzip of the entry. Returns the body
 * inside of the bytes, NULL if they are damaged.
 */
const void *agent_spool_parse(const void *bytes, size_t size, struct agent_spool_entry *entry);

#endif
