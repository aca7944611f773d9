/* SPDX-License-Identifier: MIT */
/* Threads of a log, their processes, and their unfinished system calls. */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "strace.h"

#define THREADS_MAX    65536
#define UNFINISHED_MAX (16u << 20) /* bytes of unfinished system calls in all threads */

static uint64_t hash_tid(const struct strace_log *log, pid_t tid)
{
	return perch__hash_integer(log->by_tid.seed, (uint32_t)tid);
}

static bool has_tid(const void *threads, uint32_t index, const void *tid)
{
	const struct strace_thread *thread = threads;

	return thread[index].tid == *(const pid_t *)tid;
}

static struct strace_thread *find_thread(const struct strace_log *log, pid_t tid)
{
	uint32_t index =
		perch__hash_find(&log->by_tid, hash_tid(log, tid), has_tid, log->thread, &tid);

	return index != PERCH__HASH_NONE ? &log->thread[index] : NULL;
}

/* Adds the thread if it is new. Returns NULL if out of memory, or above the limit. */
static struct strace_thread *get_thread(struct strace_log *log, pid_t tid)
{
	struct strace_thread *thread = find_thread(log, tid);

	if (thread)
		return thread;
	if (!log->by_tid.seed)
		log->by_tid.seed = perch__hash_seed(log);
	if (log->nr_threads >= THREADS_MAX ||
	    PERCH__ARRAY_RESERVE(log->thread, log->capacity, log->nr_threads + 1) ||
	    perch__hash_add(&log->by_tid, hash_tid(log, tid), log->nr_threads))
		return NULL;
	thread = &log->thread[log->nr_threads++];
	*thread = (struct strace_thread){ .tid = tid, .process = tid };
	return thread;
}

pid_t strace_thread_process(const struct strace_log *log, pid_t tid)
{
	const struct strace_thread *thread = find_thread(log, tid);

	return thread ? thread->process : tid;
}

void strace_add_thread(struct strace_log *log, pid_t tid, pid_t process)
{
	struct strace_thread *thread = get_thread(log, tid);

	if (thread)
		thread->process = process;
}

bool strace_has_thread(const struct strace_log *log, pid_t tid)
{
	return find_thread(log, tid) != NULL;
}

static bool is_making_child(const struct strace_thread *thread)
{
	static const char *const calls[] = { "clone(", "clone3(", "fork(", "vfork(" };

	for (size_t i = 0; thread->unfinished && !thread->open_held && i < TRACE_NR(calls); i++)
		if (!strncmp(thread->unfinished, calls[i], strlen(calls[i])))
			return true;
	return false;
}

void strace_adopt_thread(struct strace_log *log, pid_t tid)
{
	const struct strace_thread *parent = NULL;
	struct strace_thread *child;
	size_t nr_parents = 0;
	pid_t process;
	bool is_thread;

	if (find_thread(log, tid))
		return;
	for (size_t i = 0; i < log->nr_threads; i++)
		if (is_making_child(&log->thread[i])) {
			parent = &log->thread[i];
			nr_parents++;
		}
	process = nr_parents == 1 ? parent->process : tid;
	is_thread = nr_parents == 1 && strstr(parent->unfinished, "CLONE_THREAD");
	child = get_thread(log, tid); /* moves the array */
	if (!child || nr_parents != 1)
		return;
	child->adopted = true;
	if (is_thread)
		child->process = process;
	else
		trace_handle_fork(log->job, process, tid);
}

bool strace_was_adopted(struct strace_log *log, pid_t tid)
{
	struct strace_thread *thread = find_thread(log, tid);
	bool adopted = thread && thread->adopted;

	if (adopted)
		thread->adopted = false;
	return adopted;
}

static void drop_unfinished(struct strace_log *log, struct strace_thread *thread)
{
	if (thread->unfinished)
		log->unfinished_bytes -= strlen(thread->unfinished);
	free(thread->unfinished);
	thread->unfinished = NULL;
	thread->open_held = false;
}

/* The last thread moves to the free index. */
static void remove_thread(struct strace_log *log, struct strace_thread *thread)
{
	uint32_t index = thread - log->thread, last = log->nr_threads - 1;

	drop_unfinished(log, thread);
	perch__hash_remove(&log->by_tid, hash_tid(log, thread->tid), index);
	if (index != last) {
		*thread = log->thread[last];
		perch__hash_move(&log->by_tid, hash_tid(log, thread->tid), last, index);
	}
	log->nr_threads--;
}

void strace_remove_thread(struct strace_log *log, pid_t tid)
{
	struct strace_thread *thread = find_thread(log, tid);

	if (strace_thread_process(log, tid) == tid)
		trace_handle_exit(log->job, tid);
	if (thread)
		remove_thread(log, thread);
}

bool strace_save_unfinished(struct strace_log *log, pid_t tid, const char *text, size_t length)
{
	struct strace_thread *thread = get_thread(log, tid);

	if (!thread)
		return false;
	drop_unfinished(log, thread);
	if (length > UNFINISHED_MAX - log->unfinished_bytes)
		return false;
	thread->unfinished = strndup(text, length);
	if (!thread->unfinished)
		return false;
	log->unfinished_bytes += strlen(thread->unfinished);
	return true;
}

char *strace_take_unfinished(struct strace_log *log, pid_t tid)
{
	struct strace_thread *thread = find_thread(log, tid);
	char *text = thread ? thread->unfinished : NULL;

	if (text) {
		log->unfinished_bytes -= strlen(text);
		thread->unfinished = NULL;
	}
	return text;
}

bool strace_hold_open(struct strace_log *log, pid_t tid, const char *text, size_t length)
{
	if (!strace_save_unfinished(log, tid, text, length))
		return false;
	find_thread(log, tid)->open_held = true;
	return true;
}

char *strace_take_open(struct strace_log *log, pid_t tid)
{
	struct strace_thread *thread = find_thread(log, tid);

	if (!thread || !thread->open_held)
		return NULL;
	thread->open_held = false;
	return strace_take_unfinished(log, tid);
}

void strace_log_clear(struct strace_log *log)
{
	while (log->nr_threads)
		remove_thread(log, &log->thread[log->nr_threads - 1]);
	perch__hash_clear(&log->by_tid);
	free(log->thread);
	log->thread = NULL;
	log->capacity = 0;
	free(log->cut_line);
	log->cut_line = NULL;
}
