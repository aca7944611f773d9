/* SPDX-License-Identifier: MIT */
/* What the files of a session share. */
#ifndef PERCH_SESSION_SESSION_H
#define PERCH_SESSION_SESSION_H

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <perch/session.h>

#include "internal.h"
#include "reads.h"
#include "session/tracepoint/tracepoint_text.h"

enum { MAX_MARKERS = 8 };

struct perch_session {
	struct perch_session_options options;
	struct perch_reader *reader;
	struct perch_processes *processes;
	struct perch_symbols *symbols;
	struct perch_addresses *addresses;
	const struct perch_file_event *events;
	size_t nr_events;
	/* lost: by LOST records; lost_samples: by LOST_SAMPLES records */
	struct perch_session_stats stats;
	uint64_t lost_samples;
	bool live;			/* records are passed by perch_session_put() */
	const struct perch_record *put; /* the next one; NULL: none */
	bool merging_deferred;		/* an event defers call chains, and records come by time */
	uint64_t recorded_since;	/* ns since 1970; 0: unknown */
	bool call_stacks;		/* an event has call stacks in branch records */
	bool counts_running;		/* the number of threads that run is known */
	struct perch_record record;	/* of perch_session_next_sample() */
	uint32_t chain[PERCH_MAX_CALL_CHAIN];
	struct perch_unwinder *unwinder; /* NULL until it is needed */
	bool truncated; /* the stack that was unwound last is longer than its copy */
	struct tracepoint_texts *texts; /* NULL until they are needed */
	struct reads *reads;		/* NULL: samples have no counts, or are not divided */
	/* the kernel's part of a chain with its markers, a marker, and the part that was unwound */
	uint64_t words[2 * PERCH_MAX_CALL_CHAIN + MAX_MARKERS + 1];
	bool off_cpu;				    /* an event is off-CPU time */
	struct perch_record waker;		    /* of the last sample, as a sample */
	uint64_t waker_words[PERCH_MAX_CALL_CHAIN]; /* its call chain */
	bool *marked; /* by number of a frame that off_cpu.c makes: it exists; NULL: none */
	size_t nr_marked;
	bool branch_history; /* of the options, and an event has branch stacks other than calls */
	uint64_t history[BRANCH_HISTORY_WORDS]; /* a chain with branches */
};

/* True if the branch stacks of the samples are call stacks (`record --call-graph lbr`). */
static inline bool perch__has_call_stacks(const struct perch_attr *attr)
{
	return attr->sample_type & PERCH_SAMPLE_BRANCH_STACK &&
	       attr->branch_sample_type & PERCH_SAMPLE_BRANCH_CALL_STACK;
}

/* True if they are branches that ran before the sample. */
static inline bool perch__has_branch_history(const struct perch_attr *attr)
{
	return attr->sample_type & PERCH_SAMPLE_BRANCH_STACK && !perch__has_call_stacks(attr);
}

/* ---- user_chain.c ---- */

/* True if call chains of an event lack the user part, which copies of the stack are for. */
static inline bool perch__lacks_user_chain(const struct perch_attr *attr)
{
	return attr->exclude_callchain_user || !(attr->sample_type & PERCH_SAMPLE_CALLCHAIN);
}

/* True if the sample has a copy of the user stack instead of a user call chain. */
static inline bool perch__has_stack(const struct perch_session *session,
				    const struct perch_record *record)
{
	return record->sample.stack_user.dynamic_size &&
	       perch__lacks_user_chain(&session->events[record->event].attr);
}

/* True if the record has the call chain that was made last, and its copy of the stack is too short.
 */
static inline bool perch__has_truncated_stack(const struct perch_session *session,
					      const struct perch_record *record)
{
	const uint64_t *chain = record->sample.callchain.ip;

	return session->truncated && (chain == session->words || chain == session->history);
}

/* Adds what unwinding finds to the call chain of a sample, after the kernel's part. Returns 0 or a
 * negative errno. */
int perch__unwind_sample(struct perch_session *session, struct perch_record *record,
			 struct perch_error *err);
/* Replaces the user part of the call chain of a sample by the call stack of its branch records. */
void perch__use_call_stack(struct perch_session *session, struct perch_record *record);
/* Adds the branches of the branch stack to the call chain, whose addresses become exact. */
void perch__use_branch_history(struct perch_session *session, struct perch_record *record);

/* The type of perch_addresses_call_chain(). */
typedef int perch__add_chain(struct perch_addresses *addresses, struct perch_thread *thread,
			     const struct perch_record *record, uint32_t *numbers, size_t max);

/* ---- off_cpu.c ---- */

/* Gives a sample of perf's off-CPU time the thread, the period and the call chain of its raw data,
 * and a wait without a call chain a frame with the reason. Returns 0 or -ENOMEM. */
int perch__use_off_cpu(struct perch_session *session, struct perch_record *record);
/* Adds a frame with the state above the call chain of a sample, whose length is nr. Returns the new
 * length or -ENOMEM. */
int perch__join_state(struct perch_session *session, const struct perch_record *record,
		      struct perch_thread *thread, perch__add_chain *add, int nr);
/* Makes session->waker of a sample of off-CPU time. Returns false if it has no waker. */
bool perch__make_waker(struct perch_session *session, const struct perch_record *record,
		       struct perch_off_cpu *off_cpu);
/*
 * Adds the call chain of the waker of a sample to its own, whose length is nr: above it, from the
 * innermost function on, behind a frame with the waker's name. The byte before the innermost one is
 * looked up as that of a call, which is in the same function. Returns the new length or -ENOMEM.
 */
int perch__join_waker(struct perch_session *session, const struct perch_record *record,
		      perch__add_chain *add, int nr);

#endif
