/* SPDX-License-Identifier: MIT */
/**
 * @file
 * Calls of functions: joins samples of probes at entries and at returns (uprobe: and uretprobe:).
 *
 * The caller passes entries and returns of a thread in the order of time, with the stack pointer if
 * samples have it ("sp=%sp" is an argument of a probe that has it). A call is delivered when its
 * end is known:
 *
 *     perch_function_calls_enter(calls, &event, err);
 *     ...
 *     perch_function_calls_leave(calls, &event, err);
 *
 * Each thread has a stack of open calls, so nested and recursive calls have their own times. The
 * kernel reports no return of some calls, and they are delivered as lost:
 *
 * - A function that longjmp(3) or an exception left. The stack pointer of the next entry or return
 *   shows it. So does the return of a function around it.
 * - Calls of a thread beyond 64 that have not returned, over all return probes.
 * - Calls that had not ended with their thread or at the end of the recording.
 *
 * A tail call begins where the stack pointer is that of the function before it; the kernel reports
 * both returns, the inner one first.
 *
 * Threads: one thread per object at a time. Different objects are independent.
 *
 * Fork: an object is plain memory. A child can use and free its copy.
 *
 * Signals: no function is async-signal-safe. They allocate memory.
 */
#ifndef PERCH_FUNCTION_CALLS_H
#define PERCH_FUNCTION_CALLS_H

#include <stdint.h>
#include <perch/error.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The open calls of all threads. */
struct perch_function_calls;

/** What is known of a call: bits of perch_function_call.flags. */
enum perch_function_call_flag {
	/** It has no return: .end is when that was noticed, and it ended before. */
	PERCH_CALL_LOST = 1 << 0,
	/** It was still open at the end of its thread or of the recording. */
	PERCH_CALL_OPEN = 1 << 1,
	/** Samples were lost while it was open: its return may be that of another call. */
	PERCH_CALL_UNCERTAIN = 1 << 2,
};

/** An entry or a return. */
struct perch_function_event {
	uint32_t tid;	   /**< the thread */
	uint32_t function; /**< what the caller chooses: the same for entry and return */
	uint64_t time;	   /**< in ns */
	uint64_t sp;	   /**< the stack pointer when the probe hit; 0 is unknown */
	uint64_t value;	   /**< of an entry: what the caller finds in perch_function_call.value */
	uint64_t reserved[2]; /**< must be 0 */
};

/** A call. */
struct perch_function_call {
	uint32_t tid;	      /**< the thread */
	uint32_t function;    /**< of its events */
	uint64_t start;	      /**< time of the entry */
	uint64_t end;	      /**< time of the return; not before start */
	uint64_t value;	      /**< of the entry */
	uint32_t depth;	      /**< open calls of the thread around it */
	uint32_t flags;	      /**< enum perch_function_call_flag */
	uint64_t reserved[2]; /**< for members of later versions; 0 */
};

/** How calls are joined. */
struct perch_function_calls_options {
	/** Called for each call when it has ended, in the order of their ends. Another result than
	 * 0 is that of the function that has delivered it. */
	int (*call)(void *context, const struct perch_function_call *call);
	void *context;	      /**< its first argument */
	uint32_t max_open;    /**< most open calls of all threads; 0: 1048576 */
	uint32_t unused;      /**< must be 0 */
	uint64_t reserved[2]; /**< must be 0 */
};

/** What was found so far. */
struct perch_function_calls_stats {
	uint64_t calls;		/**< calls with their return */
	uint64_t uncertain;	/**< of them, those with PERCH_CALL_UNCERTAIN */
	uint64_t lost;		/**< calls without a return, that were not open at the end */
	uint64_t open;		/**< calls that are open now */
	uint64_t without_entry; /**< returns of calls that began before, or whose entry was lost */
	uint64_t left_out;	/**< entries that were one too many */
	uint64_t reserved[2];	/**< for members of later versions; 0 */
};

/**
 * Creates an object without calls.
 *
 * @param[out] calls  the new object; NULL after a failure
 * @param options     the callback
 * @param[out] err    the reason of a failure; NULL is allowed
 * @return 0, -EINVAL, or -ENOMEM
 */
PERCH_API int perch_function_calls_new(struct perch_function_calls **calls,
				       const struct perch_function_calls_options *options,
				       struct perch_error *err);

/** Frees an object, without delivering the open calls. NULL is allowed. */
PERCH_API void perch_function_calls_free(struct perch_function_calls *calls);

/**
 * A thread enters a function. Calls that the stack pointer shows to be left are delivered first.
 *
 * @param calls     the object
 * @param event     the entry
 * @param[out] err  the reason of a failure; NULL is allowed
 * @return 0, -ENOMEM, or what the callback returned
 */
PERCH_API int perch_function_calls_enter(struct perch_function_calls *calls,
					 const struct perch_function_event *event,
					 struct perch_error *err);

/**
 * A function returns. Its call is delivered, after those inside of it that have no return.
 *
 * @param calls  the object
 * @param event  the return; value is ignored
 * @return 0, or what the callback returned; needs no err
 */
PERCH_API int perch_function_calls_leave(struct perch_function_calls *calls,
					 const struct perch_function_event *event);

/**
 * A thread ends: its open calls are delivered.
 *
 * @param calls  the object
 * @param tid    the thread
 * @param time   when
 * @return 0, or what the callback returned; needs no err
 */
PERCH_API int perch_function_calls_end_thread(struct perch_function_calls *calls, uint32_t tid,
					      uint64_t time);

/** Samples were lost: the calls that are open become uncertain. */
PERCH_API void perch_function_calls_add_loss(struct perch_function_calls *calls);

/**
 * The recording ends: all open calls are delivered.
 *
 * @param calls  the object, which has no open calls then
 * @param time   when
 * @return 0, or what the callback returned; needs no err
 */
PERCH_API int perch_function_calls_finish(struct perch_function_calls *calls, uint64_t time);

/** Returns what was found so far, in *stats. */
PERCH_API void perch_function_calls_get_stats(const struct perch_function_calls *calls,
					      struct perch_function_calls_stats *stats);

#ifdef __cplusplus
}
#endif
#endif
