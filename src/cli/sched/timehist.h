/* SPDX-License-Identifier: MIT */
/* perch sched timehist: sched_timehist.c has the command, sched_line.c and sched_summary.c print.
 */
#ifndef PERCH_CLI_SCHED_TIMEHIST_H
#define PERCH_CLI_SCHED_TIMEHIST_H

#include "sched.h"

#define TIMEHIST_COMMAND   "sched timehist"
#define TIMEHIST_MAX_STACK 5
#define TIMEHIST_TASKS	   256

/* What a thread waited for since it ran last: all that is off the CPU, and the part of it in which
 * it was runnable. */
struct timehist_wait {
	uint64_t sleep, io, preempt, delay; /* ns; delay is a part of the others */
	uint64_t before_migration;	    /* ns: runnable up to its migration */
	uint64_t runnable_since;	    /* 0: it is not */
	char letter;			    /* as it left the CPU */
	bool uncertain;
};

struct timehist_thread {
	struct timehist_wait wait;
	bool ran; /* it has left a CPU */
	/* sums */
	struct perch__mean runs; /* ns */
	uint64_t run, least, most, sleep, io, preempt, delay, migrations;
	uint32_t tid, pid, parent;
	bool still; /* its end was not recorded */
	char name[32];
};

/* A thread as it is printed. */
struct timehist_task {
	uint32_t tid, pid;
	char name[32];
	uint32_t length; /* of the text; 0: none */
	char text[SCHED_TASK_BYTES];
};

struct timehist {
	struct sched_reading reading;
	bool wakeups, migrations, next, cpu_visual, state, show_priority, before_migration;
	bool idle_only, summary_only, with_summary, no_chains;
	uint64_t max_stack;
	struct timehist_thread *thread; /* by perch_timeline_thread.index */
	size_t nr_threads;
	struct timehist_thread *ended;
	size_t nr_ended, ended_capacity;
	struct timehist_task task[TIMEHIST_TASKS]; /* by low bits of their ids */
	uint64_t second;			   /* of the last line that was printed */
	size_t second_length;			   /* of its text; 0: none */
	char second_text[24];
	struct timehist_cpu {
		uint64_t idle;
		bool seen;
	} * cpu;
	size_t nr_cpus;
	uint64_t nr_switches, run; /* ns */
	bool no_memory;
};

/* ---- sched_line.c ---- */

void timehist_print_head(struct timehist *timehist);
void timehist_print_run(struct timehist *timehist, const struct perch_timeline_interval *interval,
			const struct timehist_wait *wait);
void timehist_print_edge(struct timehist *timehist, const struct perch_timeline_edge *edge);
void timehist_print_lost(struct timehist *timehist, const struct perch_record *record);

/* ---- sched_summary.c ---- */

void timehist_print_summary(struct timehist *timehist);

#endif
