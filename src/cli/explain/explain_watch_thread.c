/* SPDX-License-Identifier: MIT */
/* The threads that are watched, and the processes they belong to. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>

#include "explain_watch.h"
#include "options.h"

static struct watch_thread **bucket(struct watch *watch, pid_t tid)
{
	return &watch->thread[(unsigned)tid % WATCH_BUCKETS];
}

struct watch_thread *watch_find(struct watch *watch, pid_t tid)
{
	struct watch_thread *thread = *bucket(watch, tid);

	while (thread && thread->tid != tid)
		thread = thread->next;
	return thread;
}

struct watch_group *watch_find_group(struct watch *watch, pid_t pid)
{
	struct watch_group *group = watch->groups;

	while (group && group->pid != pid)
		group = group->next;
	return group;
}

void watch_resume(struct watch *watch, struct watch_thread *thread, int signal)
{
	bool stop = watch->every || thread->group->every || thread->call.kind != WATCH_OTHER;

	thread->running = true;
	/* one that was killed in the meantime cannot be told: its end is reported */
	ptrace(stop ? PTRACE_SYSCALL : PTRACE_CONT, thread->tid, NULL, (void *)(long)signal);
}

void watch_every_call(struct watch *watch, struct watch_group *group, const char *reason)
{
	if (group->every || watch->every)
		return;
	group->every = true;
	if (!watch->said_slow)
		cli_note(EXPLAIN_COMMAND,
			 "every system call of process %d stops from now on, which is slow: %s",
			 group->pid, reason);
	watch->said_slow = true;
	/* those that run were not told to stop at calls */
	for (size_t i = 0; i < WATCH_BUCKETS; i++)
		for (struct watch_thread *thread = watch->thread[i]; thread; thread = thread->next)
			if (thread->group == group && thread->running)
				ptrace(PTRACE_INTERRUPT, thread->tid, NULL, NULL);
}

void watch_opening_over(struct watch *watch, struct watch_thread *thread)
{
	struct watch_group *group = thread->group;

	if (group->opening != thread)
		return;
	group->opening = NULL;
	for (size_t i = 0; i < WATCH_BUCKETS; i++)
		for (struct watch_thread *other = watch->thread[i]; other; other = other->next) {
			if (other == thread || other->group != group || !other->waiting)
				continue;
			other->waiting = false;
			group->opening = other;
			watch_get_attr(other);
			watch_resume(watch, other, 0);
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
static struct watch_group *make_group(struct watch *watch, pid_t pid, pid_t parent_pid)
{
	struct watch_group *group = calloc(1, sizeof(*group));
	const struct watch_group *parent;

	if (!group)
		return NULL;
	parent = parent_pid ? watch_find_group(watch, parent_pid) : NULL;
	if (parent) {
		*group = *parent;
		group->threads = 0;
		group->opening = NULL;
		explain_forked(watch->job, parent->pid, pid);
	}
	group->pid = pid;
	group->next = watch->groups;
	watch->groups = group;
	return group;
}

/*
 * A new thread may stop before its creator's stop tells of it, so either may be the first to come
 * here. The creator's word is the better one: the kernel names init, or a grandparent, as the
 * parent of some.
 */
struct watch_thread *watch_meet(struct watch *watch, pid_t tid, pid_t creator)
{
	struct watch_thread *thread = watch_find(watch, tid);
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
	thread->group = watch_find_group(watch, process);
	if (!thread->group)
		thread->group = make_group(watch, process, parent);
	if (!thread->group) {
		free(thread);
		return NULL;
	}
	thread->group->threads++;
	watch->nr_threads++;
	thread->next = *bucket(watch, tid);
	*bucket(watch, tid) = thread;
	return thread;
}

static void free_group(struct watch *watch, struct watch_group *group)
{
	struct watch_group **link = &watch->groups;

	while (*link != group)
		link = &(*link)->next;
	*link = group->next;
	free(group);
}

void watch_leave(struct watch *watch, struct watch_thread *thread)
{
	struct watch_thread **link = bucket(watch, thread->tid);
	struct watch_group *group = thread->group;

	watch_opening_over(watch, thread);
	while (*link != thread)
		link = &(*link)->next;
	*link = thread->next;
	watch->nr_threads--;
	if (!--group->threads) {
		explain_ended(watch->job, group->pid);
		free_group(watch, group);
	}
	free(thread->attr);
	free(thread);
}

/*
 * The kernel ends all threads but the one that executes, which takes over the leader's number: the
 * leader's entry is its own from now on, and its old number is nobody's. No status tells of the old
 * leader's end.
 */
struct watch_thread *watch_became(struct watch *watch, pid_t before, pid_t leader)
{
	struct watch_thread *thread = watch_meet(watch, leader, 0);
	struct watch_thread *old = before != leader ? watch_find(watch, before) : NULL;

	if (!thread)
		return NULL;
	if (old) {
		watch_opening_over(watch, thread);
		thread->entered = old->entered;
		thread->call.kind = WATCH_OTHER;
		thread->waiting = false;
		watch_leave(watch, old);
	}
	return thread;
}

void watch_free(struct watch *watch)
{
	for (size_t i = 0; i < WATCH_BUCKETS; i++)
		while (watch->thread[i])
			watch_leave(watch, watch->thread[i]);
	free(watch->room);
	watch->room = NULL;
	free(watch->kept);
	watch->kept = NULL;
	watch->kept_first = watch->kept_end = watch->kept_room = 0;
	perch_machine_free(watch->machine);
	watch->machine = NULL;
}
