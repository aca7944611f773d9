/* SPDX-License-Identifier: MIT */
/**
 * @file
 * Timelines: what threads and CPUs did when, from context switches.
 *
 * The caller feeds the records of a recording in the order of time. A timeline makes intervals of
 * them and delivers each when it ends: the thread ran on a CPU, waited for one, or was blocked. It
 * works from whatever is there:
 *
 * | records | what is known |
 * |---|---|
 * | SWITCH, SWITCH_CPU_WIDE | running, preempted, blocked |
 * | sched:sched_switch | running, preempted, and in what state a thread is blocked |
 * | sched:sched_waking, or sched:sched_wakeup | from when a thread was runnable, and who woke it |
 * | sched:sched_wakeup_new | when a new thread became runnable |
 * | sched:sched_migrate_task | migrations; without it, a switch shows them |
 * | sched:sched_stat_runtime | the time that the scheduler has counted |
 * | FORK, EXIT, COMM; sched:sched_process_fork, _exit | threads begin, end, have names |
 *
 *	static int print(void *context, const struct perch_timeline_interval *interval)
 *	{
 *		printf("%u %s %" PRIu64 "\n", interval->thread->tid,
 *		       perch_timeline_state_name(interval->state),
 *		       interval->end - interval->start);
 *		return 0;
 *	}
 *
 *	const struct perch_timeline_options options = { .interval = print };
 *
 *	perch_timeline_new(&timeline, &options, &err);
 *	for (size_t i = 0; i < nr_events; i++)
 *		if (!perch_session_format(session, &events[i], &format, NULL))
 *			perch_timeline_add_event(timeline, i, format, &err);
 *	while (perch_session_next(session, &record, &err) > 0)
 *		perch_timeline_feed(timeline, &record, &err);
 *	perch_timeline_finish(timeline, 0);
 *
 * The intervals of a thread follow each other without gaps: their sum is its lifetime, as far as it
 * was recorded. Memory is bounded by the number of threads that live at the same time.
 *
 * In a container, records have the ids of its namespace, and tracepoints those of the kernel.
 *Threads then have the ids and names of tracepoints, and FORK, EXIT and COMM records are not used.
 *
 * An interval that may be wrong has the flag PERCH_TIMELINE_UNCERTAIN: records were lost in it, one
 * of its ends is missing, or the time went backwards. perch_timeline_stats counts them.
 *
 * In all functions err may be NULL. Functions without err cannot fail.
 *
 * Threads: one thread per timeline at a time.
 *
 * Fork: a timeline is plain memory. A child can use and free its copy.
 *
 * Signals: no function is async-signal-safe. They allocate memory.
 */
#ifndef PERCH_TIMELINE_H
#define PERCH_TIMELINE_H

#include <perch/error.h>
#include <perch/record.h>
#include <perch/tracepoint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Makes intervals of records. */
struct perch_timeline;

/** What a thread does. From PERCH_TIMELINE_BLOCKED on it waits for something. */
enum perch_timeline_state {
	PERCH_TIMELINE_UNKNOWN,	  /**< it is off the CPU, and its switch was not recorded */
	PERCH_TIMELINE_RUNNING,	  /**< it runs. Of the idle thread: the CPU is idle */
	PERCH_TIMELINE_NEW,	  /**< it was created and is not yet runnable */
	PERCH_TIMELINE_WOKEN,	  /**< it is runnable after a wakeup, and waits for a CPU */
	PERCH_TIMELINE_PREEMPTED, /**< it is runnable, but lost its CPU or gave it up */
	PERCH_TIMELINE_BLOCKED,	  /**< it waits; SWITCH records do not have the kind */
	PERCH_TIMELINE_SLEEPING,  /**< it waits, and a signal wakes it (S) */
	/** It waits, and no signal or only a fatal one wakes it (D): often for a disk. */
	PERCH_TIMELINE_UNINTERRUPTIBLE,
	PERCH_TIMELINE_IDLE,	/**< a kernel thread that waits for work (I) */
	PERCH_TIMELINE_STOPPED, /**< stopped by a signal (T), or by a debugger (t) */
	PERCH_TIMELINE_PARKED,	/**< a kernel thread that was parked (P) */
	PERCH_TIMELINE_DEAD,	/**< it has ended (X, Z) */
	PERCH_TIMELINE_STATES,	/**< number of states */
};

/** What is known of an interval: bits of perch_timeline_interval.flags. */
enum perch_timeline_flag {
	/** It may be wrong: see the head of this file. */
	PERCH_TIMELINE_UNCERTAIN = 1 << 0,
	/** It began before the recording; .start is the start of the recording. */
	PERCH_TIMELINE_BEGAN_BEFORE = 1 << 1,
	/** It had not ended at the end of the recording, or when its thread was discarded. */
	PERCH_TIMELINE_UNFINISHED = 1 << 2,
	/** WOKEN: an interrupt woke it, which interrupted the waker: a timer, a disk, another CPU.
	 */
	PERCH_TIMELINE_BY_INTERRUPT = 1 << 3,
	/** WOKEN: it was woken on its way off the CPU, before its switch was recorded. .start is
	 * the time of the switch. perf(1) does not see this wakeup. */
	PERCH_TIMELINE_WOKEN_EARLY = 1 << 4,
	/** PREEMPTED: the kernel took the CPU away; without it, it may have given it up. */
	PERCH_TIMELINE_INVOLUNTARY = 1 << 5,
	/** WAKEUP: the thread was runnable already, so it has no effect. */
	PERCH_TIMELINE_REPEATED = 1 << 6,
};

/** A thread. Idle threads have tid 0, one for each CPU. */
struct perch_timeline_thread {
	uint32_t tid;
	uint32_t pid;	     /**< process; 0 if unknown, and of an idle thread */
	uint32_t parent_pid; /**< process of the thread that created it; UINT32_MAX if unknown */
	/** Number of the thread, for tables of the caller: two threads that live at the same time
	 * have different ones. It is below perch_timeline_stats.most_threads, and another thread
	 * may have it after the edge PERCH_TIMELINE_END. */
	uint32_t index;
	int32_t priority; /**< as tracepoints show it: below 100 are real-time; -1 if unknown */
	uint32_t cpu;	  /**< where it runs or ran last; UINT32_MAX if unknown */
	char name[32];	  /**< NUL-terminated, untrusted; "" if unknown. Workers have long ones. */
	uint32_t unused;
	uint64_t reserved[2];
};

/** What a thread did from one time to another. */
struct perch_timeline_interval {
	/** Valid until the callback returns. */
	const struct perch_timeline_thread *thread;
	uint64_t start;	 /**< in ns, by the clock of the records */
	uint64_t end;	 /**< at least .start */
	uint32_t state;	 /**< enum perch_timeline_state */
	uint32_t flags;	 /**< enum perch_timeline_flag */
	uint32_t cpu;	 /**< RUNNING: the CPU; WOKEN: where it will run; others: where it ran last;
			  * UINT32_MAX if unknown */
	uint32_t letter; /**< state as the kernel prints it: 'S', 'D'...; 'R'; 0 if unknown */
	uint32_t waker_pid;   /**< WOKEN: process of the waker; 0 if unknown */
	uint32_t waker_tid;   /**< WOKEN: who woke it; UINT32_MAX if unknown, 0 is an idle CPU */
	uint32_t waker_cpu;   /**< WOKEN: CPU of the waker */
	uint32_t next_tid;    /**< RUNNING: who ran next on the CPU; UINT32_MAX if unknown */
	uint32_t next_letter; /**< RUNNING: .letter of what follows; 0 if unknown */
	uint32_t unused;
	uint64_t reserved[3];
};

/** What happened at one time. */
enum perch_timeline_event {
	PERCH_TIMELINE_WAKEUP, /**< .other made .thread runnable */
	/** .thread was moved from .from_cpu to .cpu */
	PERCH_TIMELINE_MIGRATION,
	PERCH_TIMELINE_FORK,	/**< .other created .thread */
	PERCH_TIMELINE_NAME,	/**< .thread has another name, by execve(2) or prctl(2) */
	PERCH_TIMELINE_EXIT,	/**< .thread ends; it may still run */
	PERCH_TIMELINE_RUNTIME, /**< the scheduler has counted that .thread ran for .ns */
	/** The last interval of .thread was delivered: it has ended and is discarded. With
	 * PERCH_TIMELINE_UNFINISHED its end was not recorded. */
	PERCH_TIMELINE_END,
	PERCH_TIMELINE_EVENTS, /**< number of events */
};

/** Something that connects two threads or CPUs. */
struct perch_timeline_edge {
	/** Valid until the callback returns. */
	const struct perch_timeline_thread *thread;
	uint64_t time;	    /**< in ns */
	uint32_t event;	    /**< enum perch_timeline_event */
	uint32_t cpu;	    /**< MIGRATION and WAKEUP: where .thread will run; UINT32_MAX if unknown
			     */
	uint32_t from_cpu;  /**< where it happened; MIGRATION: the CPU before */
	uint32_t other_pid; /**< process of the waker or parent; 0 if unknown */
	uint32_t other_tid; /**< the waker or parent; UINT32_MAX if unknown */
	uint32_t flags; /**< PERCH_TIMELINE_BY_INTERRUPT; PERCH_TIMELINE_WOKEN_EARLY: WAKEUP of a
			 * thread that is running, which may have no effect;
			 * PERCH_TIMELINE_REPEATED */
	uint64_t ns;	/**< RUNTIME */
	uint64_t reserved[3];
};

/** What a timeline has seen. */
struct perch_timeline_stats {
	uint64_t intervals;	   /**< delivered */
	uint64_t uncertain;	   /**< of them: with PERCH_TIMELINE_UNCERTAIN */
	uint64_t uncertain_ns;	   /**< their sum */
	uint64_t missing_switches; /**< a thread left a CPU without coming, or came without leaving
				    */
	uint64_t missing_wakeups;  /**< a blocked thread ran again, although wakeups are recorded */
	uint64_t backwards;	   /**< records with an earlier time than the one before */
	uint64_t lost;		   /**< lost records, that the records count */
	uint64_t damaged;	   /**< samples that lack the fields of their tracepoint, or a time;
				    *   records of a thread without an id (-1) */
	uint64_t left_out;	   /**< records of threads above options.max_threads */
	uint64_t most_threads;	   /**< threads at the same time, with idle ones */
	uint64_t first_time;	   /**< of the records, in ns; 0 if there are none */
	uint64_t last_time;	   /**< of the records, in ns */
	uint64_t reserved[4];
};

/** What a timeline delivers to. All members may be 0. */
struct perch_timeline_options {
	/** Called for each interval at its end. The result ends perch_timeline_feed() if it is not
	 * 0. */
	int (*interval)(void *context, const struct perch_timeline_interval *interval);
	/** Called for each edge, after the interval that it ends. */
	int (*edge)(void *context, const struct perch_timeline_edge *edge);
	void *context;	  /**< passed to both */
	uint64_t started; /**< when the recording began, in ns; 0 is the time of the first record */
	uint32_t max_threads; /**< at the same time; 0 is 1048576 */
	/** Only some threads were recorded (record -p, -t, or a program), not CPUs: nothing is
	 * concluded about the thread that ran before or next. A SWITCH record sets it. */
	unsigned some_threads : 1;
	uint64_t reserved[4]; /**< must be 0 */
};

/**
 * Makes a timeline.
 *
 * @param[out] timeline  the new timeline; NULL after a failure
 * @param options        NULL is all 0
 * @param[out] err       the reason of a failure
 * @return 0, or a negative errno
 * @retval -EINVAL  a reserved member of the options is not 0
 * @retval -ENOMEM  out of memory
 */
PERCH_API int perch_timeline_new(struct perch_timeline **timeline,
				 const struct perch_timeline_options *options,
				 struct perch_error *err);

/** Frees a timeline without delivering anything. NULL is allowed. */
PERCH_API void perch_timeline_free(struct perch_timeline *timeline);

/**
 * Adds a tracepoint, so that its samples are used. SWITCH and side-band records need no call.
 *
 * @param timeline  the timeline, before its first record
 * @param event     index of the event: perch_record.event
 * @param format    of the tracepoint; not used afterwards
 * @param[out] err  the reason of a failure
 * @return 1; 0 if a timeline does not use this tracepoint; or a negative errno
 * @retval -EBADMSG  the tracepoint lacks a field
 * @retval -ENOMEM   out of memory
 */
PERCH_API int perch_timeline_add_event(struct perch_timeline *timeline, uint16_t event,
				       const struct perch_tracepoint_format *format,
				       struct perch_error *err);

/**
 * Announces that records of a CPU are missing: intervals that overlap this time are uncertain. A
 * LOST record does the same, but it comes after the intervals that ended between the loss and the
 * record.
 *
 * @param timeline  the timeline
 * @param cpu       the CPU; UINT32_MAX is all
 * @param from      time of the last record before the loss, in ns; not before that of an earlier
 *                  call
 * @param to        time of the next record, in ns
 * @param[out] err  the reason of a failure
 * @return 0, or -ENOMEM
 */
PERCH_API int perch_timeline_add_loss(struct perch_timeline *timeline, uint32_t cpu, uint64_t from,
				      uint64_t to, struct perch_error *err);

/**
 * Takes a record, and delivers what it ends. Records that say nothing about threads are ignored.
 *
 * @param timeline  the timeline
 * @param record    a decoded record; records come in the order of time. It is not used afterwards.
 * @param[out] err  the reason of a failure
 * @return 0; the result of a callback that is not 0; or a negative errno
 * @retval -ENOMEM  out of memory
 */
PERCH_API int perch_timeline_feed(struct perch_timeline *timeline,
				  const struct perch_record *record, struct perch_error *err);

/**
 * Ends all intervals, with PERCH_TIMELINE_UNFINISHED, and discards all threads.
 *
 * @param timeline  the timeline; it can be fed again with later records
 * @param time      the end of the recording, in ns; 0 is the time of the last record
 * @return 0, or the result of a callback that is not 0
 */
PERCH_API int perch_timeline_finish(struct perch_timeline *timeline, uint64_t time);

/** Returns what was seen so far. */
PERCH_API void perch_timeline_get_stats(const struct perch_timeline *timeline,
					struct perch_timeline_stats *stats);

/**
 * Finds a thread that has not ended.
 *
 * @param timeline  the timeline
 * @param tid       the thread; 0 is the idle thread of a CPU
 * @param cpu       the CPU of an idle thread; else not used
 * @return the thread, valid until the next record; NULL if it is unknown
 */
PERCH_API const struct perch_timeline_thread *perch_timeline_find(struct perch_timeline *timeline,
								  uint32_t tid, uint32_t cpu);

/** Returns a word for a state: "running", "preempted"...; NULL if it is unknown. */
PERCH_API const char *perch_timeline_state_name(uint32_t state);

#ifdef __cplusplus
}
#endif
#endif
