/* SPDX-License-Identifier: MIT */
/**
 * @file
 * Off-CPU time: what a sample of the event "offcpu-time" says beside its call chain.
 *
 * A recorder makes such samples (perch_recorder_options.off_cpu), one for each interval in which a
 * thread was off the CPU, or one for many short intervals of the same call chain. The period of a
 * sample is the time in ns, and its time is the end of the interval. The raw data of a sample has
 * the rest. It begins as that of perf record --off-cpu since perf 6.16, which perf reads; samples
 * of perf have no state.
 *
 * Threads: any number of threads may decode at the same time.
 *
 * Fork: there is no state.
 *
 * Signals: all functions are async-signal-safe.
 */
#ifndef PERCH_OFF_CPU_H
#define PERCH_OFF_CPU_H

#include <perch/record.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The name of the event. */
#define PERCH_OFF_CPU_EVENT "offcpu-time"

/** Most bytes of a copied user stack in its samples: the rest of the 65,535 bytes that a record has
 * is for the call chain of the kernel, registers, and what is said of the interval. */
#define PERCH_OFF_CPU_MAX_STACK 63488u

/** How a thread left the CPU. */
enum perch_off_cpu_state {
	PERCH_OFF_CPU_UNKNOWN,
	/** It waited for something; how is unknown, because the recorder could not use the
	 * tracepoint sched:sched_switch. Otherwise it is one of the states from the next one on. */
	PERCH_OFF_CPU_BLOCKED,
	/** It could have continued: another thread got the CPU, or it gave it up (sched_yield). */
	PERCH_OFF_CPU_PREEMPTED,
	PERCH_OFF_CPU_SLEEPING,	       /**< it waited, and a signal would have ended that (S) */
	PERCH_OFF_CPU_UNINTERRUPTIBLE, /**< it waited, mostly for a disk (D) */
	PERCH_OFF_CPU_STOPPED,	       /**< by a signal (T) or by a debugger (t) */
	PERCH_OFF_CPU_DEAD,	       /**< it has ended (X, Z) */
	PERCH_OFF_CPU_PARKED,	       /**< a thread of the kernel that was parked (P) */
	PERCH_OFF_CPU_IDLE,	       /**< a thread of the kernel that waits for work (I) */
	PERCH_OFF_CPU_STATES,	       /**< number of states */
};

/** What is known of an interval: bits of perch_off_cpu.flags. */
enum perch_off_cpu_flag {
	/** It began before the recording, which has counted it since its own start. */
	PERCH_OFF_CPU_BEGAN_BEFORE = 1 << 0,
	/** It had not ended at the end of the recording. */
	PERCH_OFF_CPU_NOT_ENDED = 1 << 1,
	/** It is known who woke the thread: .waker_pid and others. */
	PERCH_OFF_CPU_WOKEN = 1 << 2,
	/** An interrupt woke it, which interrupted the waker: a timer, a disk, another CPU. */
	PERCH_OFF_CPU_WOKEN_BY_INTERRUPT = 1 << 3,
};

/** An interval off the CPU, or the sum of several. */
struct perch_off_cpu {
	uint32_t pid;	    /**< process */
	uint32_t tid;	    /**< thread */
	uint64_t ns;	    /**< the time off the CPU, in ns */
	uint64_t intervals; /**< 1; more: the sum of that many intervals; 0: unknown */
	uint64_t start;	    /**< when the first interval began, by the clock of the samples */
	uint64_t cgroup;    /**< as of a sample; 0 if unknown */
	uint32_t state;	    /**< enum perch_off_cpu_state */
	uint32_t flags;	    /**< enum perch_off_cpu_flag */
	uint64_t nr;	    /**< entries of the call chain; an empty one has a marker */
	const void *chain;  /**< the call chain, of 8 bytes each, not aligned; NULL without one */
	uint32_t waker_pid; /**< process of the waker */
	uint32_t waker_tid; /**< thread that made this one runnable; 0 is an idle CPU */
	uint64_t waker_nr;  /**< entries of its call chain */
	const void *waker_chain; /**< as .chain */
	uint64_t reserved[1];
};

/**
 * Decodes the raw data of a sample of the event.
 *
 * @param[out] off_cpu  the interval; its call chain points into the sample
 * @param sample        a sample of an event of the name PERCH_OFF_CPU_EVENT, in this machine's byte
 *                      order
 * @return false if the raw data is not of this form
 */
PERCH_API bool perch_off_cpu_decode(struct perch_off_cpu *off_cpu,
				    const struct perch_sample *sample);

/** Returns the word for a state: "blocked", "preempted", "sleeping" and so on; "unknown". */
PERCH_API const char *perch_off_cpu_state_name(uint32_t state);

#ifdef __cplusplus
}
#endif
#endif
