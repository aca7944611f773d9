/* SPDX-License-Identifier: MIT */
/*
 * Joins entries and returns of functions (perch/function_calls.h). The stacks of open calls grow
 * down, as the stacks of threads: a call inside of another one has a lower stack pointer, or the
 * same one after a tail call. The kernel discards return probes by the same rule
 * (cleanup_return_instances() of kernel/events/uprobes.c).
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <perch/function_calls.h>

#include "base/array.h"
#include "base/hash_table.h"
#include "base/no_memory.h"
#include "base/reserved.h"

enum { MAX_OPEN = 1 << 20, NO_THREAD = UINT32_MAX };

/* An open call. */
struct open_call {
	uint64_t start, sp, value;
	uint32_t function;
	uint32_t losses; /* of the object when it began */
};

struct call_thread {
	uint32_t tid;
	uint32_t next_free;
	struct open_call *call; /* the outermost one first */
	size_t nr, capacity;
	/* after a return: the stack pointer of its call. Others at the same one are calls before
	 * tail calls, whose returns follow at once. 0: there are none. */
	uint64_t returning;
};

struct perch_function_calls {
	struct perch_function_calls_options options;
	struct call_thread *thread;
	size_t nr_threads, capacity;
	uint32_t first_free;
	struct perch__hash_table by_tid;
	uint32_t losses;
	struct perch_function_calls_stats stats;
};

int perch_function_calls_new(struct perch_function_calls **result,
			     const struct perch_function_calls_options *options,
			     struct perch_error *err)
{
	struct perch_function_calls *calls;

	*result = NULL;
	if (PERCH__CHECK_RESERVED(options, "perch_function_calls_options", err))
		return -EINVAL;
	calls = perch__calloc(1, sizeof(*calls));
	if (!calls)
		return PERCH__NO_MEMORY(err, "for calls");
	calls->options = *options;
	if (!calls->options.max_open)
		calls->options.max_open = MAX_OPEN;
	calls->first_free = NO_THREAD;
	calls->by_tid.seed = perch__hash_seed(calls);
	*result = calls;
	return 0;
}

void perch_function_calls_free(struct perch_function_calls *calls)
{
	if (!calls)
		return;
	for (size_t i = 0; i < calls->nr_threads; i++)
		free(calls->thread[i].call);
	perch__hash_clear(&calls->by_tid);
	free(calls->thread);
	free(calls);
}

/* ---- threads ---- */

static bool has_tid(const void *threads, uint32_t index, const void *tid)
{
	return ((const struct call_thread *)threads)[index].tid == *(const uint32_t *)tid;
}

static uint32_t find_thread(const struct perch_function_calls *calls, uint32_t tid)
{
	return perch__hash_find(&calls->by_tid, perch__hash_integer(calls->by_tid.seed, tid),
				has_tid, calls->thread, &tid);
}

/* Returns the index of a new thread, or NO_THREAD without memory. */
static uint32_t add_thread(struct perch_function_calls *calls, uint32_t tid)
{
	uint32_t index = calls->first_free;
	struct call_thread *thread;

	if (perch__hash_reserve(&calls->by_tid, calls->by_tid.nr + 1))
		return NO_THREAD;
	if (index == NO_THREAD) {
		if (!PERCH__ARRAY_APPEND(calls->thread, calls->nr_threads, calls->capacity))
			return NO_THREAD;
		index = (uint32_t)calls->nr_threads - 1;
	} else {
		calls->first_free = calls->thread[index].next_free;
	}
	thread = &calls->thread[index];
	*thread = (struct call_thread){ .tid = tid };
	perch__hash_add(&calls->by_tid, perch__hash_integer(calls->by_tid.seed, tid), index);
	return index;
}

static void remove_thread(struct perch_function_calls *calls, uint32_t index)
{
	struct call_thread *thread = &calls->thread[index];

	perch__hash_remove(&calls->by_tid, perch__hash_integer(calls->by_tid.seed, thread->tid),
			   index);
	free(thread->call);
	*thread = (struct call_thread){ .next_free = calls->first_free };
	calls->first_free = index;
}

/* ---- calls ---- */

/* Delivers the innermost call of a thread and removes it. */
static int deliver(struct perch_function_calls *calls, struct call_thread *thread, uint64_t time,
		   uint32_t flags)
{
	const struct open_call *open = &thread->call[--thread->nr];
	const struct perch_function_call call = {
		.tid = thread->tid,
		.function = open->function,
		.start = open->start,
		.end = time > open->start ? time : open->start,
		.value = open->value,
		.depth = (uint32_t)thread->nr,
		.flags = flags | (open->losses != calls->losses ? PERCH_CALL_UNCERTAIN : 0),
	};

	calls->stats.open--;
	calls->stats.calls += !flags;
	calls->stats.lost += flags == PERCH_CALL_LOST;
	calls->stats.uncertain += !flags && call.flags;
	return calls->options.call ? calls->options.call(calls->options.context, &call) : 0;
}

/* Delivers calls without a return, until `left` are open. */
static int discard(struct perch_function_calls *calls, struct call_thread *thread, size_t left,
		   uint64_t time, uint32_t flags)
{
	int rc = 0;

	while (thread->nr > left && !rc)
		rc = deliver(calls, thread, time, flags);
	return rc;
}

/* A stack pointer that is not below that of an open call shows that the call was left. After a
 * return, so does the same one, unless `keeps` it as that of a tail call. */
static int discard_left(struct perch_function_calls *calls, struct call_thread *thread, uint64_t sp,
			bool keeps, uint64_t time)
{
	size_t left = thread->nr;

	while (left && sp) {
		const uint64_t open = thread->call[left - 1].sp;

		if (!open || open > sp || (open == sp && keeps && thread->returning != sp))
			break;
		left--;
	}
	return discard(calls, thread, left, time, PERCH_CALL_LOST);
}

int perch_function_calls_enter(struct perch_function_calls *calls,
			       const struct perch_function_event *event, struct perch_error *err)
{
	uint32_t index = find_thread(calls, event->tid);
	struct call_thread *thread;
	struct open_call *open;
	int rc;

	if (calls->stats.open >= calls->options.max_open) {
		calls->stats.left_out++;
		return 0;
	}
	if (index == PERCH__HASH_NONE)
		index = add_thread(calls, event->tid);
	if (index == NO_THREAD)
		return PERCH__NO_MEMORY(err, "for calls");
	thread = &calls->thread[index];
	rc = discard_left(calls, thread, event->sp, true, event->time);
	thread->returning = 0;
	if (rc)
		return rc;
	open = PERCH__ARRAY_APPEND(thread->call, thread->nr, thread->capacity);
	if (!open)
		return PERCH__NO_MEMORY(err, "for calls");
	*open = (struct open_call){ event->time, event->sp, event->value, event->function,
				    calls->losses };
	calls->stats.open++;
	return 0;
}

/*
 * The stack pointer after a return is above the return address of the call on x86, and that of its
 * entry on arm64. So a call that returns has the highest stack pointer that is not above it.
 */
static bool may_return(const struct open_call *open, const struct perch_function_event *event)
{
	return open->function == event->function &&
	       (!open->sp || !event->sp || open->sp <= event->sp);
}

int perch_function_calls_leave(struct perch_function_calls *calls,
			       const struct perch_function_event *event)
{
	const uint32_t index = find_thread(calls, event->tid);
	struct call_thread *thread = index == PERCH__HASH_NONE ? NULL : &calls->thread[index];
	size_t at = thread ? thread->nr : 0;
	uint64_t sp;
	int rc;

	while (at && !may_return(&thread->call[at - 1], event))
		at--;
	if (!at) {
		calls->stats.without_entry++;
		return 0;
	}
	/* of calls of the function that were left, the outermost one below the stack pointer
	 * returns: the others have lower ones */
	while (at > 1 && event->sp && thread->call[at - 1].sp &&
	       thread->call[at - 2].function == event->function &&
	       thread->call[at - 2].sp > thread->call[at - 1].sp &&
	       thread->call[at - 2].sp < event->sp)
		at--;
	sp = thread->call[at - 1].sp;
	rc = discard(calls, thread, at, event->time, PERCH_CALL_LOST);
	if (!rc)
		rc = deliver(calls, thread, event->time, 0);
	thread->returning = sp;
	return rc;
}

int perch_function_calls_end_thread(struct perch_function_calls *calls, uint32_t tid, uint64_t time)
{
	const uint32_t index = find_thread(calls, tid);
	int rc;

	if (index == PERCH__HASH_NONE)
		return 0;
	rc = discard(calls, &calls->thread[index], 0, time, PERCH_CALL_OPEN);
	if (!rc)
		remove_thread(calls, index);
	return rc;
}

void perch_function_calls_add_loss(struct perch_function_calls *calls)
{
	calls->losses++;
}

int perch_function_calls_finish(struct perch_function_calls *calls, uint64_t time)
{
	int rc = 0;

	for (size_t i = 0; i < calls->nr_threads && !rc; i++)
		rc = discard(calls, &calls->thread[i], 0, time, PERCH_CALL_OPEN);
	return rc;
}

void perch_function_calls_get_stats(const struct perch_function_calls *calls,
				    struct perch_function_calls_stats *stats)
{
	*stats = calls->stats;
}
