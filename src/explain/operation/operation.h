/* SPDX-License-Identifier: MIT */
/* Refused mmap(2), ioctl(2) and read(2) calls of an event: their case, their rules, their facts. */
#ifndef PERCH_EXPLAIN_OPERATIONS_H
#define PERCH_EXPLAIN_OPERATIONS_H

#include "explain/facts.h"

struct perch__operation_case {
	const struct perch_operation *op;
	struct perch_open_call call;
	/* the open call of the event, for the facts of open calls */
	struct perch__case c;
	struct perch_attr other;  /* SET_OUTPUT: the other event */
	bool has_attr, has_other; /* unknown attrs are all zero */
	size_t page_bytes;
	uint64_t pages; /* of the mapping, rounded up */
};

struct perch__operation_rule {
	const char *name; /* unique, for tests */
	enum perch_cause cause;
	int errnum;
	const char *field[4]; /* at fault, NULL after the last one */
	/* NULL: irrelevant; "*": that of the request */
	const char *since;
	/* UNKNOWN: a fact is missing. In a fallback also: other causes are possible. */
	enum perch__match (*match)(const struct perch__operation_case *o);
	/* used if no other rule matches the errno */
	bool fallback;
	const char *message; /* with {placeholders} */
	const char *remedy;
};

/* In the order of the kernel's checks. The last row has no name. */
extern const struct perch__operation_rule perch__mmap_rules[];
extern const struct perch__operation_rule perch__ioctl_rules[];
extern const struct perch__operation_rule perch__read_rules[];

/* An ioctl of events. The name of an unknown one is NULL. */
struct perch__request {
	unsigned long request;
	const char *name;  /* "SET_OUTPUT" */
	const char *what;  /* "set the output" */
	const char *since; /* "" if all kernels have it */
};
const struct perch__request *perch__find_request(unsigned long request);

/* Limits of locked memory, in KiB. need includes the control page. */
struct perch__ring_limits {
	uint64_t need;
	uint64_t per_cpu; /* kernel.perf_event_mlock_kb */
	uint64_t cpus;
	uint64_t user; /* per_cpu * cpus: all rings of a user */
	/* RLIMIT_MEMLOCK, in addition; UINT64_MAX: no limit */
	uint64_t process;
};
/* Returns false if a fact is missing. */
bool perch__ring_limits(const struct perch__operation_case *o, struct perch__ring_limits *ring);
/* Whether the limit applies to this process, and whether the ring alone exceeds it. */
enum perch__match perch__memory_is_limited(const struct perch__operation_case *o);
enum perch__match perch__ring_above_limit(const struct perch__operation_case *o);

/* ---- Addresses of mmap(2), see mapping_facts.c ---- */
/* whether the flags fix the address; UNKNOWN if they do, and it is unknown */
enum perch__match perch__fixes_address(const struct perch__operation_case *o);
enum perch__match perch__below_min_address(const struct perch__operation_case *o);
enum perch__match perch__above_user_space(const struct perch__operation_case *o);
/* The process has more mappings than vm.max_map_count. */
enum perch__match perch__too_many_mappings(const struct perch__operation_case *o);
enum perch__match perch__above_address_limit(const struct perch__operation_case *o);
enum perch__match perch__above_data_limit(const struct perch__operation_case *o);
/* A private writable mapping exceeds what vm.overcommit_memory allows. */
enum perch__match perch__above_commit_limit(const struct perch__operation_case *o);
/* The fixed range has a part of another ring, or a sealed mapping. */
enum perch__match perch__cuts_ring(const struct perch__operation_case *o);
enum perch__match perch__replaces_sealed(const struct perch__operation_case *o);
/* MAP_LOCKED, and RLIMIT_MEMLOCK is 0 */
enum perch__match perch__may_not_lock(const struct perch__operation_case *o);
/* False if a limit of the address space is unknown. */
bool perch__address_space_known(const struct perch__operation_case *o);
/* the flags that MAP_SHARED_VALIDATE refuses */
int perch__unsupported_flags(int map_flags);
/* whether the flags map another thing than the event */
bool perch__is_anonymous(const struct perch_operation *op);
uint64_t perch__user_space_end(void);
uint64_t perch__address_limit(const struct perch__operation_case *o); /* UINT64_MAX: unknown */
/* The numbers of messages; 0 if unknown. */
uint64_t perch__min_address(const struct perch__operation_case *o);
uint64_t perch__max_mappings(const struct perch__operation_case *o);

/* Bytes that one read(2) of the event returns. exact may be NULL; it is false if the size of the
 * group is unknown. */
uint64_t perch__read_bytes(const struct perch__operation_case *o, bool *exact);

/* What the kernel refuses in the filter of a tracepoint. */
enum perch__filter_fault {
	PERCH__FILTER_NONE, /* or unknown */
	PERCH__FILTER_FIELD,
	PERCH__FILTER_OPERATOR,		  /* it does not exist */
	PERCH__FILTER_OPERATOR_OF_TEXT,	  /* it is only for numbers */
	PERCH__FILTER_OPERATOR_OF_NUMBER, /* it is only for strings */
	PERCH__FILTER_VALUE,		  /* neither a number nor a string in quotes */
	PERCH__FILTER_NUMBER_OF_TEXT,	  /* a string field is compared with no string */
	PERCH__FILTER_TEXT_OF_NUMBER,	  /* and the reverse */
	PERCH__FILTER_LONG_TEXT,
	PERCH__FILTER_NO_FIELD,	  /* no name where a comparison begins */
	PERCH__FILTER_NO_JOIN,	  /* no && or || after a comparison */
	PERCH__FILTER_NO_OPERAND, /* && or || without a comparison before it */
};

enum perch__filter_type {
	PERCH__FILTER_TYPE_UNKNOWN, /* without a format */
	PERCH__FILTER_TYPE_NUMBER,  /* signed */
	PERCH__FILTER_TYPE_UNSIGNED,
	PERCH__FILTER_TYPE_STRING,
	PERCH__FILTER_TYPE_ABSENT, /* the tracepoint has no such field */
};

struct perch__filter {
	const char *text;
	enum perch__filter_fault fault;
	enum perch__filter_type type; /* of the field of the comparison at the fault */
	char part[64];		      /* of the filter, at the fault */
	char field[72];		      /* the field of the comparison at the fault */
	char tracepoint[512];	      /* "sched:sched_switch"; "" if unknown */
	char fields[256];	      /* "prev_comm, prev_pid"; "" if unknown */
};

/* Finds the first fault. */
void perch__check_filter_of(const struct perch__operation_case *o, struct perch__filter *filter);

/* Returns '(' for an unclosed parenthesis, ')' for one without an opening, '"' for an unclosed
 * string, or 0. */
char perch__filter_error(const char *filter);
/* whether an address filter names a file: "start 0x10@/bin/true" */
bool perch__filter_has_file(const char *filter);

/* Writes the value of a placeholder. Returns false if there is no such placeholder. */
bool perch__operation_placeholder(const void *operation_case, const char *name, size_t length,
				  char *buffer, size_t size);

#endif
