/* SPDX-License-Identifier: MIT */
/* When threads ran, and who woke them: all of it, or in bounded memory (states.h). */
#ifndef PERCH_EXPORT_SCHEDULE_H
#define PERCH_EXPORT_SCHEDULE_H

#include <perch/timeline.h>

#include "internal.h"
#include "states.h"

struct schedule_thread {
	uint32_t tid, pid; /* pid 0 if unknown */
	int32_t priority;  /* -1 if unknown */
	uint32_t last_run; /* index, while what follows is not known; NO_INDEX */
	char name[16];	   /* the last one, cleaned; "" if unknown */
};

/* A thread ran on a CPU. */
struct schedule_run {
	uint64_t start, end; /* ns */
	uint32_t cpu;	     /* UINT32_MAX: unknown */
	uint32_t thread;     /* index */
	uint8_t next_state;  /* enum perch_timeline_state */
	char letter;	     /* of that state; 0: unknown */
	bool involuntary;    /* it lost the CPU */
	bool unfinished;     /* it ran until the recording ended */
	bool uncertain;	     /* it may be wrong: a switch is missing */
	/* the part of what followed that may be wrong; 0 if there is none */
	uint64_t wait_start, wait_end;
};

struct schedule_wakeup {
	uint64_t time;	     /* ns */
	uint32_t thread;     /* index: who was woken */
	uint32_t waker_tid;  /* UINT32_MAX: unknown */
	uint32_t cpu;	     /* where; UINT32_MAX: unknown */
	uint32_t target_cpu; /* where the thread will run; UINT32_MAX: unknown */
	bool by_interrupt;
};

struct export_schedule {
	struct perch_timeline *timeline; /* NULL before the first record */
	bool some_threads;		 /* not all threads of the CPUs were recorded */
	bool merged;			 /* with EXPORT_MERGED: .states has all there is */
	bool has_states;		 /* .merged: the recording says what threads did */
	bool has_off_cpu;		 /* .merged: by samples of off-CPU time alone */
	uint64_t began, now;		 /* .has_off_cpu: times of records */
	struct export_states states;
	struct schedule_thread *thread; /* no idle ones */
	struct perch__hash_table table; /* of threads, by tid */
	struct schedule_run *run;
	struct schedule_wakeup *wakeup;
	size_t nr_threads, nr_runs, nr_wakeups;
	uint64_t uncertain; /* intervals that may be wrong */
};

/* Opens and frees export->schedule. Returns 0 or -ENOMEM. */
int perch__schedule_open(struct perch_export *export);
void perch__schedule_close(struct perch_export *export);
/* Takes a record of any type, in the order of time. Returns 0 or a negative errno. */
int perch__schedule_add(struct perch_export *export, const struct perch_record *record,
			struct perch_error *err);
/* Ends what has not ended, after the last record. Returns 0 or -ENOMEM. */
int perch__schedule_end(struct perch_export *export);

#endif
