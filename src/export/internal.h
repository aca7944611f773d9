/* SPDX-License-Identifier: MIT */
/* The data from which all formats are written. */
#ifndef PERCH_EXPORT_INTERNAL_H
#define PERCH_EXPORT_INTERNAL_H

#include <stdbool.h>
#include <perch/export.h>

#include "base/hash_table.h"

#define NO_INDEX UINT32_MAX

/* ---- collect.c: samples, added up ---- */

/* The end of a stack of addresses: an address, and the stack of its callers. */
struct stack_node {
	uint32_t parent;  /* index; NO_INDEX: none, it is the outermost address */
	uint32_t address; /* number for perch_session_address() */
};

/* A thread under one name. Members that the format does not have are 0. */
struct thread_name {
	uint32_t pid, tid, comm_index;
	char *comm; /* cleaned */
};

/* The samples of one stack, thread and event. */
struct entry {
	uint32_t stack, thread, event; /* indexes; stack NO_INDEX: no address */
	uint64_t samples, period;
};

struct perch_export {
	struct perch_session *session;
	enum perch_export_format format;
	struct perch_export_options options;
	struct perch_export_stats stats;
	uint32_t first_event;		/* of folded stacks; NO_INDEX before the first sample */
	uint64_t first_time, last_time; /* ns; 0 if samples have no time */

	struct stack_node *stack;
	struct thread_name *thread;
	struct entry *entry;
	size_t nr_stacks, nr_threads, nr_entries;
	struct perch__hash_table stacks, threads, entries;

	/* the stack of the sample before: most samples share their outer callers with it */
	uint32_t last_chain[PERCH_MAX_CALL_CHAIN], last_stack[PERCH_MAX_CALL_CHAIN];
	size_t nr_last;
};

/* ---- frames.c: the functions at an address ---- */

/*
 * Returns the functions at an address, innermost first: the inlined ones, then the function of
 * perch_address.symbol. is_caller: it is a return address, so the line of the call before it is
 * meant. The frames are valid until the next call. Returns their number, at least 1, or -ENOMEM.
 */
int perch__export_frames(struct perch_export *export, uint32_t number, bool is_caller,
			 const struct perch_symbol_frame **frames);

/*
 * Returns the name of a function; without a function the name of the DSO in brackets, or
 * "[unknown]". buffer has PERCH__EXPORT_NAME bytes. The name is cleaned.
 */
#define PERCH__EXPORT_NAME 4096
const char *perch__export_name(struct perch_export *export, const struct perch_address *address,
			       const struct perch_symbol *symbol, char *buffer);

/* ---- folded.c, pprof.c: formats; the caller flushes out ---- */

int perch__export_folded(struct perch_export *export, FILE *out, struct perch_error *err);
int perch__export_pprof(struct perch_export *export, FILE *out, struct perch_error *err);

#endif
