/* SPDX-License-Identifier: MIT */
/* Refusals of mmap(2), ioctl(2) and read(2) on an event's descriptor: what their rules look at, and
 * the tables. */
#ifndef PERCH_EXPLAIN_OPERATIONS_H
#define PERCH_EXPLAIN_OPERATIONS_H

#include "facts.h"

struct perch__operation_case {
	const struct perch_operation *op;
	struct perch_open_call call;
	/* the event as it was opened: the facts of calls look at that */
	struct perch__case c;
	struct perch_attr other;  /* SET_OUTPUT's other event */
	bool has_attr, has_other; /* unknown attrs are all zero */
	size_t page_bytes;
	uint64_t pages; /* of the mapping, rounded up as the kernel does */
};

struct perch__operation_rule {
	const char *name; /* one of its own, for tests */
	enum perch_cause cause;
	int errnum;
	const char *field[4]; /* at fault; fewer: NULL behind the last one */
	/* NULL: the release does not matter; "*": the request's */
	const char *since;
	/* MAYBE: a fact is missing that would settle it. In a last resort also: something else is
	 * possible. */
	enum perch__match (*match)(const struct perch__operation_case *o);
	/* said because of the errno alone, when no other rule holds */
	bool fallback;
	const char *sentence; /* with {facts} */
	const char *remedy;
};

/* Each in the kernel's order of checks; the last has no name. */
extern const struct perch__operation_rule perch__mmap_rules[];
extern const struct perch__operation_rule perch__ioctl_rules[];
extern const struct perch__operation_rule perch__read_rules[];

/* An ioctl on events. Unknown ones have the name NULL. */
struct perch__request {
	unsigned long request;
	const char *name;  /* "SET_OUTPUT" */
	const char *what;  /* "set the output" */
	const char *since; /* "" when all kernels have it */
};
const struct perch__request *perch__find_request(unsigned long request);

/* What rings may take, in KiB; the one in hand counts with its control page. */
struct perch__ring_limits {
	uint64_t need;
	uint64_t per_cpu; /* kernel.perf_event_mlock_kb */
	uint64_t cpus;
	uint64_t user; /* per_cpu * cpus: all rings of a user */
	/* RLIMIT_MEMLOCK: beyond that; UINT64_MAX: no limit */
	uint64_t process;
};
/* False: a fact is missing. */
bool perch__ring_limits(const struct perch__operation_case *o, struct perch__ring_limits *ring);
/* Whether the limit of locked memory holds for this process, and the ring alone is above it. */
enum perch__match perch__memory_is_limited(const struct perch__operation_case *o);
enum perch__match perch__ring_above_limit(const struct perch__operation_case *o);

/* Bytes that one read(2) of the event gives. exact (may be NULL): false when the size of its group
 * is not known. */
uint64_t perch__read_bytes(const struct perch__operation_case *o, bool *exact);

/* How the parentheses of a filter stand: '(' one is never closed, ')' one was never opened, '"' a
 * string has no end. */
char perch__filter_error(const char *filter);
/* an address filter that names one: "start 0x10@/bin/true" */
bool perch__filter_has_file(const char *filter);

/* Writes the value of a placeholder. False: no such placeholder. */
bool perch__operation_placeholder(const void *operation_case, const char *name, size_t length,
				  char *buffer, size_t size);

#endif
