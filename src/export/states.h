/* SPDX-License-Identifier: MIT */
/*
 * What threads and CPUs did when, in bounded memory. Each has a track of spans that follow each
 * other. When there are too many spans, those of the less busy threads are merged to one each, and
 * then those below a quantum with their neighbors, and the quantum doubles: a merged span has the
 * time of each state. When there are too many tracks, the less busy threads become one sum.
 */
#ifndef PERCH_EXPORT_STATES_H
#define PERCH_EXPORT_STATES_H

#include <perch/off_cpu.h>
#include <perch/timeline.h>

#include "internal.h"

/* Numbers of the page, too: data.js. */
enum export_state {
	EXPORT_RUNNING,
	EXPORT_RUNNABLE,  /* it was woken, or is new, and waits for a CPU */
	EXPORT_PREEMPTED, /* it lost its CPU, or gave it up */
	EXPORT_BLOCKED,
	EXPORT_DISK, /* blocked, and no signal ends that (D) */
	EXPORT_OFF,  /* off the CPU; why is unknown */
	EXPORT_STATES,
	EXPORT_NO_STATE = EXPORT_STATES, /* it is new, or has ended */
};

struct state_span {
	uint64_t start, end;	 /* ns */
	float ns[EXPORT_STATES]; /* time in each state; less than the span: the CPU was idle */
	uint32_t tid;		 /* of a CPU: the thread that ran; NO_INDEX: several */
	bool uncertain;		 /* it, or a part, may be wrong: a switch is missing */
};

struct state_track {
	bool is_cpu;
	bool ended;   /* sums of its short waits can follow */
	uint32_t id;  /* thread, or CPU */
	uint32_t pid; /* 0 if unknown, and of a CPU */
	char name[32];
	uint64_t sum[EXPORT_STATES];	  /* ns */
	uint64_t unplaced[EXPORT_STATES]; /* ns: it was, but where is unknown */
	uint64_t end;			  /* of the last span */
	struct state_span *span;
	size_t nr, capacity;
};

/* The track of a thread that lives. */
struct state_slot {
	uint32_t tid, track; /* NO_INDEX: it has none yet */
	bool left_out;	     /* its track was, and is counted */
	uint64_t since;	     /* when */
};

struct export_states {
	/* limits while tracks are made; above .max_spans, only the busiest tracks have spans */
	size_t max_tracks, max_spans, max_fine_tracks;
	struct state_track *track;
	size_t nr_tracks, capacity, nr_spans;
	struct state_slot *slot;
	size_t nr_slots;
	struct perch__hash_table table; /* of slots, by thread; the caller has set .seed */
	uint32_t *cpu;			/* by number: its track + 1; 0: none */
	size_t nr_cpus;
	uint64_t quantum;     /* ns: shorter spans may be merged; 0: none is */
	uint64_t first, last; /* ns, of all spans; 0: none */
	/* threads that have no track */
	uint64_t left_out, left_sum[EXPORT_STATES];
};

void perch__states_init(struct export_states *states, uint64_t seed);
void perch__states_clear(struct export_states *states);

/* Takes an interval of a timeline. Those of a thread are in the order of time. Returns 0 or
 * -ENOMEM. */
int perch__states_interval(struct export_states *states,
			   const struct perch_timeline_interval *interval);
/*
 * The same from samples of off-CPU time: what is between the intervals of a thread is time on the
 * CPU. time: of the sample; began: the start of the recording. Returns 0 or -ENOMEM.
 */
int perch__states_off_cpu(struct export_states *states, const struct perch_off_cpu *off_cpu,
			  uint64_t time, uint64_t began, const char *name);
int perch__states_fork(struct export_states *states, uint32_t pid, uint32_t tid, uint64_t time);
/* The thread has run until now. */
int perch__states_ran(struct export_states *states, uint32_t tid, uint64_t time);
int perch__states_exit(struct export_states *states, uint32_t tid, uint64_t time);
int perch__states_all_ran(struct export_states *states, uint64_t time);
/* A thread of a timeline has ended: another one may get its id. */
void perch__states_end(struct export_states *states, uint32_t tid);
/* Keeps the busiest threads and CPUs, and merges spans until they are few enough. Returns 0 or
 * -ENOMEM. */
int perch__states_select(struct export_states *states, size_t threads, size_t cpus, size_t spans);

/* The state of a sample of off-CPU time: enum export_state. */
unsigned perch__states_of_off_cpu(uint32_t state);

#endif
