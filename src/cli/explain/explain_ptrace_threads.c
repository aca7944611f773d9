/* SPDX-License-Identifier: MIT */
/* The threads that are watched, and the processes they belong to. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>

#include "explain_ptrace.h"
#include "options.h"

static struct tracee **bucket(struct tracer *tracer, pid_t tid)
{
	return &tracer->thread[(unsigned)tid % TRACER_BUCKETS];
}

struct tracee *tracer_find(struct tracer *tracer, pid_t tid)
{
	struct tracee *thread = *bucket(tracer, tid);

	while (thread && thread->tid != tid)
		thread = thread->next;
	return thread;
}

struct tracee_process *tracer_find_process(struct tracer *tracer, pid_t pid)
{
	struct tracee_process *group = tracer->groups;

	while (group && group->pid != pid)
		group = group->next;
	return group;
}

void tracer_resume(struct tracer *tracer, struct tracee *thread, int signal)
{
	bool stop = tracer->every || thread->group->every ||
		    thread->call.kind != TRACEE_SYSCALL_OTHER;

	thread->running = true;
	/* one that was killed in the meantime cannot be told: its end is reported */
	ptrace(stop ? PTRACE_SYSCALL : PTRACE_CONT, thread->tid, NULL, (void *)(long)signal);
}

void tracer_stop_every_syscall(struct tracer *tracer, struct tracee_process *group,
			       const char *reason)
{
	if (group->every || tracer->every)
		return;
	group->every = true;
	if (!tracer->said_slow)
		cli_note(EXPLAIN_COMMAND,
			 "every system call of process %d stops from now on, which is slow: %s",
			 group->pid, reason);
	tracer->said_slow = true;
	/* those that run were not told to stop at calls */
	for (size_t i = 0; i < TRACER_BUCKETS; i++)
		for (struct tracee *thread = tracer->thread[i]; thread; thread = thread->next)
			if (thread->group == group && thread->running)
				ptrace(PTRACE_INTERRUPT, thread->tid, NULL, NULL);
}

void tracer_end_open(struct tracer *tracer, struct tracee *thread)
{
	struct tracee_process *group = thread->group;

	if (group->opening != thread)
		return;
	group->opening = NULL;
	for (size_t i = 0; i < TRACER_BUCKETS; i++)
		for (struct tracee *other = tracer->thread[i]; other; other = other->next) {
			if (other == thread || other->group != group || !other->waiting)
				continue;
			other->waiting = false;
			group->opening = other;
			tracee_read_attr(other);
			tracer_resume(tracer, other, 0);
			return;
		}
}

/* Which process the thread belongs to, and whose child that is; false: it is gone. */
static bool look_up(pid_t tid, pid_t *process, pid_t *parent)
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

/* A new process has its parent's descriptors and filters. */
static struct tracee_process *make_group(struct tracer *tracer, pid_t pid, pid_t parent_pid)
{
	struct tracee_process *group = calloc(1, sizeof(*group));
	const struct tracee_process *parent;

	if (!group)
		return NULL;
	parent = parent_pid ? tracer_find_process(tracer, parent_pid) : NULL;
	if (parent) {
		*group = *parent;
		group->threads = 0;
		group->opening = NULL;
		explain_handle_fork(tracer->job, parent->pid, pid);
	}
	group->pid = pid;
	group->next = tracer->groups;
	tracer->groups = group;
	return group;
}

/*
 * A new thread may stop before its creator's stop tells of it, so either may be the first to come
 * here. The creator's word is the better one: the kernel names init, or a grandparent, as the
 * parent of some.
 */
struct tracee *tracer_add(struct tracer *tracer, pid_t tid, pid_t creator)
{
	struct tracee *thread = tracer_find(tracer, tid);
	pid_t process, parent;

	if (thread)
		return thread;
	/* so quick that it has come and gone before its creator's stop */
	if (!look_up(tid, &process, &parent) && creator)
		return NULL;
	if (creator)
		parent = creator;
	thread = calloc(1, sizeof(*thread));
	if (!thread)
		return NULL;
	thread->tid = tid;
	thread->running = true;
	thread->group = tracer_find_process(tracer, process);
	if (!thread->group)
		thread->group = make_group(tracer, process, parent);
	if (!thread->group) {
		free(thread);
		return NULL;
	}
	thread->group->threads++;
	tracer->nr_threads++;
	thread->next = *bucket(tracer, tid);
	*bucket(tracer, tid) = thread;
	return thread;
}

static void free_group(struct tracer *tracer, struct tracee_process *group)
{
	struct tracee_process **link = &tracer->groups;

	while (*link != group)
		link = &(*link)->next;
	*link = group->next;
	free(group);
}

void tracer_remove(struct tracer *tracer, struct tracee *thread)
{
	struct tracee **link = bucket(tracer, thread->tid);
	struct tracee_process *group = thread->group;

	tracer_end_open(tracer, thread);
	while (*link != thread)
		link = &(*link)->next;
	*link = thread->next;
	tracer->nr_threads--;
	if (!--group->threads) {
		explain_handle_exit(tracer->job, group->pid);
		free_group(tracer, group);
	}
	free(thread->attr);
	free(thread);
}

/*
 * The kernel ends all threads but the one that executes, which takes over the leader's number: the
 * leader's entry is its own from now on, and its old number is nobody's. No status tells of the old
 * leader's end.
 */
struct tracee *tracer_replace_leader(struct tracer *tracer, pid_t before, pid_t leader)
{
	struct tracee *thread = tracer_add(tracer, leader, 0);
	struct tracee *old = before != leader ? tracer_find(tracer, before) : NULL;

	if (!thread)
		return NULL;
	if (old) {
		tracer_end_open(tracer, thread);
		thread->entered = old->entered;
		thread->call.kind = TRACEE_SYSCALL_OTHER;
		thread->waiting = false;
		tracer_remove(tracer, old);
	}
	return thread;
}

void tracer_free(struct tracer *tracer)
{
	for (size_t i = 0; i < TRACER_BUCKETS; i++)
		while (tracer->thread[i])
			tracer_remove(tracer, tracer->thread[i]);
	free(tracer->room);
	tracer->room = NULL;
	free(tracer->kept);
	tracer->kept = NULL;
	tracer->kept_first = tracer->kept_end = tracer->kept_room = 0;
	perch_machine_free(tracer->machine);
	tracer->machine = NULL;
}
