/* SPDX-License-Identifier: MIT */
/* The traced threads, their processes, and their wait statuses. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "base/array.h"
#include "ptrace.h"

static uint64_t hash_tid(const struct tracer *tracer, pid_t tid)
{
	return perch__hash_integer(tracer->by_tid.seed, (uint32_t)tid);
}

static bool has_tid(const void *threads, uint32_t index, const void *tid)
{
	struct tracee *const *thread = threads;

	return thread[index]->tid == *(const pid_t *)tid;
}

static uint32_t find_index(const struct tracer *tracer, pid_t tid)
{
	return perch__hash_find(&tracer->by_tid, hash_tid(tracer, tid), has_tid, tracer->threads,
				&tid);
}

struct tracee *tracer_find(struct tracer *tracer, pid_t tid)
{
	uint32_t index = find_index(tracer, tid);

	return index != PERCH__HASH_NONE ? tracer->threads[index] : NULL;
}

static struct tracee_process *find_process(struct tracer *tracer, pid_t pid)
{
	struct tracee_process *process = tracer->processes;

	while (process && process->pid != pid)
		process = process->next;
	return process;
}

bool tracer_resume(struct tracer *tracer, struct tracee *thread, int signal)
{
	bool stop = tracer->every_syscall || thread->process->every_syscall ||
		    thread->syscall.kind != TRACEE_SYSCALL_OTHER;

	thread->running = true;
	return !ptrace(stop ? PTRACE_SYSCALL : PTRACE_CONT, thread->tid, NULL,
		       (void *)(long)signal);
}

void tracer_stop_every_syscall(struct tracer *tracer, struct tracee_process *process,
			       const char *reason)
{
	if (process->every_syscall || tracer->every_syscall)
		return;
	process->every_syscall = true;
	if (!tracer->slow_noted)
		trace_note(tracer->job,
			   "every system call of process %d stops from now on, which is slow: %s",
			   process->pid, reason);
	tracer->slow_noted = true;
	/* running threads were resumed without stops at system calls */
	for (size_t i = 0; i < tracer->nr_threads; i++) {
		const struct tracee *thread = tracer->threads[i];

		if (thread->process == process && thread->running)
			ptrace(PTRACE_INTERRUPT, thread->tid, NULL, NULL);
	}
}

void tracer_end_open(struct tracer *tracer, struct tracee *thread)
{
	struct tracee_process *process = thread->process;

	if (process->opener != thread)
		return;
	process->opener = NULL;
	for (size_t i = 0; i < tracer->nr_threads; i++) {
		struct tracee *other = tracer->threads[i];

		if (other == thread || other->process != process || !other->waiting)
			continue;
		tracee_read_attr(other);
		other->waiting = !tracer_resume(tracer, other, 0);
		/* else it was killed before it made the call */
		if (!other->waiting) {
			process->opener = other;
			return;
		}
	}
}

/* Reads the process of a thread, and the parent of that. Returns false if the thread has ended. */
static bool read_process(pid_t tid, pid_t *process, pid_t *parent)
{
	char path[32], line[256];
	FILE *file;

	*process = tid;
	*parent = 0;
	snprintf(path, sizeof(path), "/proc/%d/status", tid);
	file = fopen(path, "re");
	if (!file)
		return false;
	while (fgets(line, sizeof(line), file)) {
		sscanf(line, "Tgid: %d", process);
		if (sscanf(line, "PPid: %d", parent) == 1)
			break;
	}
	fclose(file);
	return true;
}

/* A new process inherits descriptors and filters of its parent. */
static struct tracee_process *add_process(struct tracer *tracer, pid_t pid, pid_t parent_pid)
{
	struct tracee_process *process = calloc(1, sizeof(*process));
	const struct tracee_process *parent;

	if (!process)
		return NULL;
	parent = parent_pid ? find_process(tracer, parent_pid) : NULL;
	if (parent) {
		*process = *parent;
		process->threads = 0;
		process->opener = NULL;
		trace_handle_fork(tracer->job, parent->pid, pid);
	}
	process->pid = pid;
	process->next = tracer->processes;
	tracer->processes = process;
	return process;
}

static bool add_thread(struct tracer *tracer, struct tracee *thread)
{
	if (!tracer->by_tid.seed)
		tracer->by_tid.seed = perch__hash_seed(tracer);
	if (PERCH__ARRAY_RESERVE(tracer->threads, tracer->threads_capacity,
				 tracer->nr_threads + 1) ||
	    perch__hash_add(&tracer->by_tid, hash_tid(tracer, thread->tid), tracer->nr_threads))
		return false;
	tracer->threads[tracer->nr_threads++] = thread;
	return true;
}

static void free_process(struct tracer *tracer, struct tracee_process *process)
{
	struct tracee_process **link = &tracer->processes;

	while (*link != process)
		link = &(*link)->next;
	*link = process->next;
	free(process);
}

/*
 * A new thread may stop before or after its creator stops with the event of fork or clone, so both
 * call this. The creator is more reliable than PPid, which is init or a grandparent for some.
 */
struct tracee *tracer_add(struct tracer *tracer, pid_t tid, pid_t creator)
{
	struct tracee *thread = tracer_find(tracer, tid);
	pid_t pid, parent;

	if (thread)
		return thread;
	/* the thread ended before its creator stopped */
	if (!read_process(tid, &pid, &parent) && creator)
		return NULL;
	if (creator)
		parent = creator;
	thread = calloc(1, sizeof(*thread));
	if (!thread)
		return NULL;
	thread->tid = tid;
	thread->running = true;
	thread->process = find_process(tracer, pid);
	if (!thread->process)
		thread->process = add_process(tracer, pid, parent);
	if (!thread->process || !add_thread(tracer, thread)) {
		if (thread->process && !thread->process->threads)
			free_process(tracer, thread->process);
		free(thread);
		return NULL;
	}
	thread->process->threads++;
	return thread;
}

/* The last thread of the array moves to the free index. */
void tracer_remove(struct tracer *tracer, struct tracee *thread)
{
	struct tracee_process *process = thread->process;
	uint32_t index = find_index(tracer, thread->tid), last = tracer->nr_threads - 1;

	tracer_end_open(tracer, thread);
	perch__hash_remove(&tracer->by_tid, hash_tid(tracer, thread->tid), index);
	if (index != last) {
		tracer->threads[index] = tracer->threads[last];
		perch__hash_move(&tracer->by_tid, hash_tid(tracer, tracer->threads[index]->tid),
				 last, index);
	}
	tracer->nr_threads--;
	if (!--process->threads) {
		trace_handle_exit(tracer->job, process->pid);
		free_process(tracer, process);
	}
	free(thread->attr);
	free(thread);
}

/*
 * When a thread executes a program, the kernel ends all other threads of the process and gives it
 * the tid of the leader. No wait status reports the end of the old leader.
 */
struct tracee *tracer_replace_leader(struct tracer *tracer, pid_t before, pid_t leader)
{
	struct tracee *thread = tracer_add(tracer, leader, 0);
	struct tracee *old = before != leader ? tracer_find(tracer, before) : NULL;

	if (!thread)
		return NULL;
	if (old) {
		tracer_end_open(tracer, thread);
		thread->in_syscall = old->in_syscall;
		thread->syscall.kind = TRACEE_SYSCALL_OTHER;
		thread->waiting = thread->trapped = false;
		tracer_remove(tracer, old);
	}
	return thread;
}

pid_t tracer_wait(struct tracer *tracer, int *status)
{
	const struct tracee_status *queued;

	if (tracer->first_status == tracer->nr_statuses)
		return waitpid(-1, status, __WALL);
	queued = &tracer->statuses[tracer->first_status++];
	if (tracer->first_status == tracer->nr_statuses)
		tracer->first_status = tracer->nr_statuses = 0;
	*status = queued->status;
	return queued->tid;
}

/*
 * Statuses of other threads must be taken too: exec in another thread waits until the tracer has
 * taken the ends of all threads of the process.
 */
pid_t tracer_wait_for(struct tracer *tracer, pid_t tid, int *status)
{
	pid_t got;

	for (;;) {
		/* without memory for the queue, other threads have to wait */
		const bool can_queue = !PERCH__ARRAY_RESERVE(
			tracer->statuses, tracer->statuses_capacity, tracer->nr_statuses + 1);

		got = waitpid(can_queue ? -1 : tid, status, __WALL);
		if (got == tid || (got < 0 && errno != EINTR))
			return got;
		if (got > 0)
			tracer->statuses[tracer->nr_statuses++] =
				(struct tracee_status){ got, *status };
	}
}

void tracer_free(struct tracer *tracer)
{
	while (tracer->nr_threads)
		tracer_remove(tracer, tracer->threads[tracer->nr_threads - 1]);
	perch__hash_clear(&tracer->by_tid);
	free(tracer->threads);
	tracer->threads = NULL;
	tracer->threads_capacity = 0;
	free(tracer->saved_attr);
	tracer->saved_attr = NULL;
	free(tracer->statuses);
	tracer->statuses = NULL;
	tracer->first_status = tracer->nr_statuses = tracer->statuses_capacity = 0;
	perch_machine_free(tracer->machine);
	tracer->machine = NULL;
}
