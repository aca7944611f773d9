/* SPDX-License-Identifier: MIT */
/*
 * Intervals of threads. A file calls only files below its own:
 *
 *	function_calls.c  calls of functions, by their probes (perch/function_calls.h)
 *	pairs.c		intervals of anything else, by a key (perch/pairs.h)
 *	timeline.c	what a program calls; records of the kernel other than samples
 *	tracepoints.c	samples of tracepoints: a table of them and their fields
 *	changes.c	what a switch, a wakeup, a fork or an exit changes
 *	deliver.c	ends intervals: the callbacks, lost records, counts
 *	threads.c	the threads that live
 *	state.c		the states of a thread, and prev_state of sched_switch
 */
#ifndef PERCH_TIMELINE_INTERNAL_H
#define PERCH_TIMELINE_INTERNAL_H

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <perch/timeline.h>

#include "base/array.h"
#include "base/hash_table.h"

#define TIMELINE_UNKNOWN     UINT32_MAX /* no thread, CPU or index */
#define TIMELINE_MAX_THREADS (1u << 20)
#define TIMELINE_MAX_LOSSES  65536u
#define TIMELINE_ENDED_NS    1000000000u

/* ---- state.c ---- */

/* The bits of prev_state, which differ between releases, from the print fmt of sched_switch. */
struct timeline_task_states {
	char letter[64];    /* of each bit; 0: none */
	uint64_t preempted; /* the bit that is printed as "+"; 0: none */
};

void perch__timeline_read_states(struct timeline_task_states *states, const char *print_fmt);
char perch__timeline_letter(const struct timeline_task_states *states, uint64_t prev_state);
enum perch_timeline_state perch__timeline_state(char letter);

/* ---- threads.c ---- */

struct timeline_waker {
	uint32_t pid, tid, cpu, flags;
};

/* Zeros are a thread of which nothing is known. */
struct timeline_thread {
	struct perch_timeline_thread thread; /* what callbacks see */
	uint64_t start;			     /* of what it does */
	uint64_t exited;		     /* .ended: when */
	struct timeline_waker waker;
	char raw_name[16]; /* as a tracepoint had it last */
	uint32_t flags;	   /* of the interval */
	uint8_t state;	   /* enum perch_timeline_state */
	char letter;
	bool live;  /* the entry is in use */
	bool seen;  /* its state is known */
	bool ended; /* it exits, but has yet to leave the CPU */
	bool early; /* it was woken while it ran: .waker */
	/* idle threads: of their CPU */
	uint32_t current;  /* index of the thread that runs; TIMELINE_UNKNOWN: unknown */
	uint64_t switched; /* time of the last switch; 0: none */
	uint64_t lost_to;  /* end of the last loss */
};

#define TIMELINE_RECENT 256

struct timeline_threads {
	struct timeline_thread *thread;
	size_t nr, capacity;
	uint32_t *unused; /* indexes of entries that are not in use; as many items as .thread */
	size_t nr_unused, unused_capacity;
	struct perch__hash_table table;
	/* index + 1 of the thread that was found last, by low bits of its key: most lookups end
	 * here */
	uint32_t recent[TIMELINE_RECENT];
	size_t max;
	uint64_t swept;
};

static inline uint32_t *perch__timeline_recent(struct timeline_threads *threads, uint32_t tid,
					       uint32_t cpu)
{
	return &threads->recent[(tid ? tid : ~cpu) % TIMELINE_RECENT];
}

/* By the hash. */
struct timeline_thread *perch__timeline_search(struct timeline_threads *threads, uint32_t tid,
					       uint32_t cpu);

/* cpu: of an idle thread (tid 0), else ignored. Returns NULL if there is none. */
static inline struct timeline_thread *perch__timeline_find(struct timeline_threads *threads,
							   uint32_t tid, uint32_t cpu)
{
	uint32_t index = *perch__timeline_recent(threads, tid, cpu) - 1;
	struct timeline_thread *thread;

	if (__builtin_expect(index < threads->nr, 1)) {
		thread = &threads->thread[index];
		if (thread->live && thread->thread.tid == tid && (tid || thread->thread.cpu == cpu))
			return thread;
	}
	return perch__timeline_search(threads, tid, cpu);
}

/* The entries may move. Returns 0, -ENOSPC at the limit, or -ENOMEM. */
int perch__timeline_get(struct timeline_threads *threads, uint32_t tid, uint32_t cpu,
			struct timeline_thread **thread);
void perch__timeline_remove(struct timeline_threads *threads, struct timeline_thread *thread);
void perch__timeline_clear_threads(struct timeline_threads *threads);

/* ---- tracepoints.c ---- */

#define TIMELINE_FIELDS 7

struct timeline_tracepoint;

/* An event with the fields that its tracepoint has; those of the format are not needed any more. */
struct timeline_event {
	const struct timeline_tracepoint *tracepoint; /* NULL: none */
	struct perch_tracepoint_field field[TIMELINE_FIELDS];
	uint32_t fields; /* bits of the fields that it has */
	uint32_t plain;	 /* of them: numbers of 4 or 8 bytes, and texts of 16, at their offset */
	uint32_t wide, is_signed;	  /* of the plain ones: of 8 bytes; signed */
	uint32_t offset[TIMELINE_FIELDS]; /* of the plain ones */
	uint32_t size;			  /* of the data up to the end of the last plain one */
};

/* ---- the timeline ---- */

/* Which events there are. */
enum {
	TIMELINE_HAS_SWITCH = 1 << 0,
	TIMELINE_HAS_WAKING = 1 << 1,
	TIMELINE_HAS_WAKEUP = 1 << 2,
	TIMELINE_HAS_MIGRATE = 1 << 3,
};

struct timeline_loss {
	uint32_t cpu;
	uint64_t from, to;
};

struct perch_timeline {
	struct perch_timeline_options options;
	struct timeline_threads threads;
	struct timeline_event *event; /* by perch_record.event */
	size_t nr_events;
	uint32_t has;
	struct timeline_task_states states;
	/* records have the ids of a namespace (a container), and tracepoints those of the kernel:
	 * which thread a record is about is unknown */
	bool other_ids;
	struct timeline_loss *loss; /* announced ones, by .from */
	size_t nr_losses, losses_capacity, next_loss;
	uint64_t lost_to;     /* end of the last loss on any CPU */
	uint64_t lost_all_to; /* end of the last loss of an unknown CPU */
	uint64_t now;	      /* of the last record */
	int rc;		      /* the first result of a callback that is not 0 */
	struct perch_timeline_stats stats;
	uint64_t lost_samples; /* by LOST_SAMPLES records; stats.lost: by LOST records */
};

/* A change at a time: from a tracepoint or from another record. */
struct timeline_change {
	uint64_t time;
	uint32_t cpu;		       /* where it happened */
	uint32_t pid, tid;	       /* of the thread that it happened to */
	uint32_t other_pid, other_tid; /* the waker, the parent, the next thread */
	uint32_t flags;
	uint32_t to_cpu;
	int32_t priority;
	uint64_t ns;
	enum perch_timeline_state state;
	char letter;
	bool last;	  /* exit: nothing of the thread is recorded after it */
	const char *name; /* NULL: unknown */
	size_t name_length;
	bool raw_name; /* .name has 16 bytes, and NULs after its text */
};

/* Returns 1, 0 if the tracepoint is not used, or -EBADMSG. */
int perch__timeline_find_fields(struct perch_timeline *timeline, struct timeline_event *event,
				const struct perch_tracepoint_format *format,
				struct perch_error *err);
void perch__timeline_take_sample(struct perch_timeline *timeline,
				 const struct perch_record *record);

/* ---- deliver.c ---- */

/* Ends what the thread does, and lets it do something else. */
void perch__timeline_begin(struct perch_timeline *timeline, struct timeline_thread *thread,
			   enum perch_timeline_state state, uint64_t time);
/* Delivers the interval up to a time, which becomes the start of the next one. out: the switch that
 * ends it; NULL: none. */
void perch__timeline_deliver(struct perch_timeline *timeline, struct timeline_thread *thread,
			     uint64_t time, const struct timeline_change *out);
void perch__timeline_edge(struct perch_timeline *timeline, const struct timeline_thread *thread,
			  enum perch_timeline_event event, const struct timeline_change *change);
/* Delivers the last interval and discards the thread. */
void perch__timeline_end_thread(struct perch_timeline *timeline, struct timeline_thread *thread,
				uint64_t time);
/* Records of a CPU are missing up to a time. */
void perch__timeline_lose(struct perch_timeline *timeline, uint32_t cpu, uint64_t to);
/* Adds a thread. Returns NULL if that is not possible, which is counted. */
struct timeline_thread *perch__timeline_add_thread(struct perch_timeline *timeline, uint32_t tid,
						   uint32_t cpu);

/* Finds or adds a thread. */
static inline struct timeline_thread *perch__timeline_thread(struct perch_timeline *timeline,
							     uint32_t tid, uint32_t pid,
							     uint32_t cpu)
{
	struct timeline_thread *thread = perch__timeline_find(&timeline->threads, tid, cpu);

	if (__builtin_expect(!thread, 0)) {
		thread = perch__timeline_add_thread(timeline, tid, cpu);
		if (!thread)
			return NULL;
	}
	if (tid && pid && pid != UINT32_MAX)
		thread->thread.pid = pid;
	return thread;
}

/* ---- changes.c ---- */

/* .state and .letter: of the thread from now on. .other_tid: who runs next, if known. */
void perch__timeline_out(struct perch_timeline *timeline, const struct timeline_change *change);
void perch__timeline_in(struct perch_timeline *timeline, const struct timeline_change *change);
/* Both, of one CPU at one time. The name of the next thread is known before the callbacks. */
void perch__timeline_switch(struct perch_timeline *timeline, const struct timeline_change *out,
			    const struct timeline_change *in);
/* Adds flags of the edge to the change. */
void perch__timeline_wake(struct perch_timeline *timeline, struct timeline_change *change);
void perch__timeline_wake_new(struct perch_timeline *timeline, struct timeline_change *change);
void perch__timeline_migrate(struct perch_timeline *timeline, const struct timeline_change *change);
void perch__timeline_fork(struct perch_timeline *timeline, const struct timeline_change *change);
void perch__timeline_exit(struct perch_timeline *timeline, const struct timeline_change *change);
/* The thread has another name by a record. */
void perch__timeline_name(struct perch_timeline *timeline, const struct timeline_change *change);
void perch__timeline_runtime(struct perch_timeline *timeline, const struct timeline_change *change);

#endif
