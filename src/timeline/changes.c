/* SPDX-License-Identifier: MIT */
/*
 * What a switch, a wakeup, a fork or an exit changes. Records may be missing: a thread that leaves
 * a CPU must have come to it, and one that comes must have left. What is concluded instead of a
 * missing record is uncertain.
 *
 * perch__timeline_thread() may move the threads: pointers to others are fetched after it.
 */
#include "timeline/internal.h"

/* The idle thread of a CPU, which has what is known of the CPU. NULL: unknown. */
static struct timeline_thread *get_cpu(struct perch_timeline *timeline, uint32_t cpu)
{
	return cpu == TIMELINE_UNKNOWN ? NULL : perch__timeline_thread(timeline, 0, 0, cpu);
}

static struct timeline_thread *get_thread(struct perch_timeline *timeline,
					  const struct timeline_change *change)
{
	if (!change->tid && change->cpu == TIMELINE_UNKNOWN)
		return NULL;
	return perch__timeline_thread(timeline, change->tid, change->pid, change->cpu);
}

/* Finds or adds both, because the second may move the first. Returns false without the thread. */
static bool get_both(struct perch_timeline *timeline, const struct timeline_change *change,
		     struct timeline_thread **cpu, struct timeline_thread **thread)
{
	uint32_t index;

	*cpu = get_cpu(timeline, change->cpu);
	index = *cpu ? (*cpu)->thread.index : 0;
	*thread = get_thread(timeline, change);
	if (*cpu)
		*cpu = &timeline->threads.thread[index];
	return *thread;
}

static void set_name(struct timeline_thread *thread, const char *name, size_t length)
{
	size_t most = sizeof(thread->thread.name) - 1;

	length = length < most ? length : most;
	memset(thread->raw_name, 0, sizeof(thread->raw_name));
	memset(thread->thread.name, 0, sizeof(thread->thread.name));
	memcpy(thread->thread.name, name, length);
}

/*
 * Tracepoints have the first part of a worker's name ("kworker/0:1" of "kworker/0:1-events"), and
 * another name only if the record of a change was lost.
 */
static void see_name(struct timeline_thread *thread, const struct timeline_change *change)
{
	const char *name = thread->thread.name;
	size_t most = sizeof(thread->thread.name) - 1;
	size_t length = change->name_length < most ? change->name_length : most;

	if (change->name && change->raw_name) {
		if (!memcmp(thread->raw_name, change->name, sizeof(thread->raw_name)))
			return;
		memcpy(thread->raw_name, change->name, sizeof(thread->raw_name));
		length = strnlen(change->name, sizeof(thread->raw_name));
	}
	if (!change->name || (!strncmp(name, change->name, length) && !name[length]))
		return;
	if (length < most && !memcmp(name, change->name, length) &&
	    (name[length] == '-' || name[length] == '+') && !memcmp(name, "kworker/", 8))
		return;
	set_name(thread, change->name, length);
}

/* What the thread did before its first record. */
static void see(struct perch_timeline *timeline, struct timeline_thread *thread,
		enum perch_timeline_state state)
{
	perch__timeline_begin(timeline, thread, state, timeline->options.started);
	thread->flags = PERCH_TIMELINE_BEGAN_BEFORE;
}

/* A record of the thread is missing: what it did up to this time is uncertain. */
static void conclude(struct perch_timeline *timeline, struct timeline_thread *thread,
		     enum perch_timeline_state state, uint64_t time)
{
	timeline->stats.missing_switches++;
	thread->flags |= PERCH_TIMELINE_UNCERTAIN;
	perch__timeline_begin(timeline, thread, state, time);
	thread->flags |= PERCH_TIMELINE_UNCERTAIN;
}

/* Whatever ran on the CPU has left it, but the thread. */
static void vacate(struct perch_timeline *timeline, struct timeline_thread *cpu, uint32_t index,
		   uint64_t time)
{
	struct timeline_thread *thread;

	if (!cpu || cpu->current == TIMELINE_UNKNOWN || cpu->current == index)
		return;
	thread = &timeline->threads.thread[cpu->current];
	cpu->current = TIMELINE_UNKNOWN;
	if (thread->live && thread->state == PERCH_TIMELINE_RUNNING &&
	    thread->thread.cpu == cpu->thread.cpu)
		conclude(timeline, thread, PERCH_TIMELINE_UNKNOWN, time);
}

/* The thread does not run where it was seen last. */
static void leave_cpu(struct perch_timeline *timeline, const struct timeline_thread *thread)
{
	struct timeline_thread *cpu =
		perch__timeline_find(&timeline->threads, 0, thread->thread.cpu);

	if (cpu && cpu->current == thread->thread.index)
		cpu->current = TIMELINE_UNKNOWN;
}

static void set_cpu(struct timeline_thread *thread, uint32_t cpu)
{
	if (thread->thread.tid)
		thread->thread.cpu = cpu;
}

/* A thread leaves the CPU that it has not been seen to come to. */
static void come_unseen(struct perch_timeline *timeline, const struct timeline_thread *cpu,
			struct timeline_thread *thread, const struct timeline_change *change)
{
	bool switched = cpu && cpu->switched;

	if (!thread->seen && !switched) {
		set_cpu(thread, change->cpu);
		see(timeline, thread, PERCH_TIMELINE_RUNNING);
		return;
	}
	if (!thread->seen)
		see(timeline, thread, PERCH_TIMELINE_UNKNOWN);
	leave_cpu(timeline, thread);
	set_cpu(thread, change->cpu);
	conclude(timeline, thread, PERCH_TIMELINE_RUNNING, change->time);
}

/* The thread leaves the CPU. */
static void leave(struct perch_timeline *timeline, struct timeline_thread *cpu,
		  struct timeline_thread *thread, const struct timeline_change *change)
{
	vacate(timeline, cpu, thread->thread.index, change->time);
	if (!thread->seen || thread->state != PERCH_TIMELINE_RUNNING ||
	    (change->cpu != TIMELINE_UNKNOWN && thread->thread.cpu != change->cpu))
		come_unseen(timeline, cpu, thread, change);
	see_name(thread, change);
	if (change->priority >= 0)
		thread->thread.priority = change->priority;
	if (cpu) {
		cpu->current = TIMELINE_UNKNOWN;
		cpu->switched = change->time;
	}
	perch__timeline_deliver(timeline, thread, change->time, change);
	thread->state = (uint8_t)change->state;
	thread->letter = change->letter;
	thread->flags = change->flags;
	if (change->state == PERCH_TIMELINE_PREEMPTED) {
		thread->early = false;
	} else if (thread->thread.tid && (thread->ended || change->state == PERCH_TIMELINE_DEAD)) {
		thread->seen = false;
		perch__timeline_end_thread(timeline, thread, change->time);
	}
}

void perch__timeline_out(struct perch_timeline *timeline, const struct timeline_change *change)
{
	struct timeline_thread *cpu, *thread;

	if (get_both(timeline, change, &cpu, &thread))
		leave(timeline, cpu, thread, change);
}

/* What a thread did before it comes to a CPU. */
static void come(struct perch_timeline *timeline, struct timeline_thread *thread,
		 const struct timeline_change *change)
{
	const uint32_t wakeups = TIMELINE_HAS_WAKING | TIMELINE_HAS_WAKEUP;

	if (!thread->seen) {
		if (thread->thread.tid)
			see(timeline, thread, PERCH_TIMELINE_UNKNOWN);
	} else if (thread->state == PERCH_TIMELINE_RUNNING) {
		timeline->stats.missing_switches++;
		thread->flags |= PERCH_TIMELINE_UNCERTAIN;
		leave_cpu(timeline, thread);
	} else if (thread->state >= PERCH_TIMELINE_BLOCKED && thread->early) {
		thread->state = PERCH_TIMELINE_WOKEN;
		thread->letter = 'R';
		thread->flags |= PERCH_TIMELINE_WOKEN_EARLY;
	} else if (thread->state >= PERCH_TIMELINE_BLOCKED && thread->thread.tid &&
		   (timeline->has & wakeups) && !timeline->options.some_threads) {
		timeline->stats.missing_wakeups++;
		thread->flags |= PERCH_TIMELINE_UNCERTAIN;
	}
	perch__timeline_begin(timeline, thread, PERCH_TIMELINE_RUNNING, change->time);
}

static void arrive(struct perch_timeline *timeline, struct timeline_thread *cpu,
		   struct timeline_thread *thread, const struct timeline_change *change)
{
	uint32_t before;

	vacate(timeline, cpu, thread->thread.index, change->time);
	before = thread->thread.cpu;
	come(timeline, thread, change);
	thread->early = false;
	set_cpu(thread, change->cpu);
	if (change->priority >= 0)
		thread->thread.priority = change->priority;
	if (cpu) {
		cpu->current = thread->thread.index;
		cpu->switched = change->time;
	}
	if (before != change->cpu && before != TIMELINE_UNKNOWN && thread->thread.tid &&
	    !(timeline->has & TIMELINE_HAS_MIGRATE)) {
		const struct timeline_change moved = { .time = change->time,
						       .cpu = before,
						       .to_cpu = change->cpu,
						       .other_tid = UINT32_MAX };

		perch__timeline_edge(timeline, thread, PERCH_TIMELINE_MIGRATION, &moved);
	}
}

void perch__timeline_in(struct perch_timeline *timeline, const struct timeline_change *change)
{
	struct timeline_thread *cpu, *thread;

	if (get_both(timeline, change, &cpu, &thread))
		arrive(timeline, cpu, thread, change);
}

void perch__timeline_switch(struct perch_timeline *timeline, const struct timeline_change *out,
			    const struct timeline_change *in)
{
	struct timeline_thread *next = in->tid ? get_thread(timeline, in) : NULL, *cpu, *thread;
	uint32_t index = next ? next->thread.index : 0;

	if (next)
		see_name(next, in);
	if (get_both(timeline, out, &cpu, &thread))
		leave(timeline, cpu, thread, out);
	/* the threads may have moved, or others may have taken their places */
	next = next ? &timeline->threads.thread[index] : NULL;
	if (next && cpu && next->live && next->thread.tid == in->tid)
		arrive(timeline, cpu, next, in);
	else if (in->tid != UINT32_MAX)
		perch__timeline_in(timeline, in);
}

static void set_waker(struct timeline_thread *thread, const struct timeline_change *change)
{
	thread->waker = (struct timeline_waker){ .pid = change->other_pid,
						 .tid = change->other_tid,
						 .cpu = change->cpu,
						 .flags = change->flags };
}

void perch__timeline_wake(struct perch_timeline *timeline, struct timeline_change *change)
{
	struct timeline_thread *thread = get_thread(timeline, change);

	if (!thread || !change->tid)
		return;
	if (!thread->seen)
		see(timeline, thread, PERCH_TIMELINE_UNKNOWN);
	see_name(thread, change);
	/* a thread that wakes itself runs */
	if (change->tid == change->other_tid || thread->state == PERCH_TIMELINE_WOKEN ||
	    thread->state == PERCH_TIMELINE_PREEMPTED) {
		change->flags |= PERCH_TIMELINE_REPEATED;
	} else if (thread->state == PERCH_TIMELINE_RUNNING) {
		thread->early = true;
		set_waker(thread, change);
		change->flags |= PERCH_TIMELINE_WOKEN_EARLY;
	} else {
		perch__timeline_begin(timeline, thread, PERCH_TIMELINE_WOKEN, change->time);
		if (change->to_cpu != TIMELINE_UNKNOWN)
			set_cpu(thread, change->to_cpu);
		set_waker(thread, change);
	}
	perch__timeline_edge(timeline, thread, PERCH_TIMELINE_WAKEUP, change);
}

/* Another thread had this id, and its end was not recorded. */
static void replace(struct perch_timeline *timeline, uint32_t tid, uint64_t time)
{
	struct timeline_thread *thread = perch__timeline_find(&timeline->threads, tid, 0);

	if (!thread || !thread->seen || thread->state == PERCH_TIMELINE_NEW)
		return;
	leave_cpu(timeline, thread);
	thread->flags |= PERCH_TIMELINE_UNCERTAIN | PERCH_TIMELINE_UNFINISHED;
	perch__timeline_end_thread(timeline, thread, time);
}

void perch__timeline_wake_new(struct perch_timeline *timeline, struct timeline_change *change)
{
	struct timeline_thread *thread;

	if (!change->tid)
		return;
	replace(timeline, change->tid, change->time);
	thread = get_thread(timeline, change);
	if (thread && !thread->seen)
		perch__timeline_begin(timeline, thread, PERCH_TIMELINE_NEW, change->time);
	perch__timeline_wake(timeline, change);
}

void perch__timeline_migrate(struct perch_timeline *timeline, const struct timeline_change *change)
{
	struct timeline_thread *thread = change->tid ? get_thread(timeline, change) : NULL;

	if (!thread)
		return;
	/* a thread that runs is moved after it has left its CPU */
	if (thread->state != PERCH_TIMELINE_RUNNING)
		set_cpu(thread, change->to_cpu);
	perch__timeline_edge(timeline, thread, PERCH_TIMELINE_MIGRATION, change);
}

void perch__timeline_fork(struct perch_timeline *timeline, const struct timeline_change *change)
{
	struct timeline_thread *thread;
	const struct timeline_thread *parent;

	if (!change->tid)
		return;
	replace(timeline, change->tid, change->time);
	thread = get_thread(timeline, change);
	if (!thread || thread->seen)
		return;
	perch__timeline_begin(timeline, thread, PERCH_TIMELINE_NEW, change->time);
	parent = perch__timeline_find(&timeline->threads, change->other_tid, TIMELINE_UNKNOWN);
	thread->thread.parent_pid = change->other_pid;
	if (parent)
		memcpy(thread->thread.name, parent->thread.name, sizeof(parent->thread.name));
	set_cpu(thread, change->cpu);
	perch__timeline_edge(timeline, thread, PERCH_TIMELINE_FORK, change);
}

void perch__timeline_exit(struct perch_timeline *timeline, const struct timeline_change *change)
{
	struct timeline_thread *thread =
		change->tid ? perch__timeline_find(&timeline->threads, change->tid, 0) : NULL;

	if (!thread)
		return;
	if (!thread->ended) {
		thread->ended = true;
		thread->exited = change->time;
		perch__timeline_edge(timeline, thread, PERCH_TIMELINE_EXIT, change);
	}
	if (change->last) {
		leave_cpu(timeline, thread);
		perch__timeline_end_thread(timeline, thread, change->time);
	}
}

void perch__timeline_name(struct perch_timeline *timeline, const struct timeline_change *change)
{
	struct timeline_thread *thread = change->tid ? get_thread(timeline, change) : NULL;

	if (!thread)
		return;
	set_name(thread, change->name, change->name_length);
	/* time 0: the recorder has found it in /proc */
	if (change->time)
		perch__timeline_edge(timeline, thread, PERCH_TIMELINE_NAME, change);
}

void perch__timeline_runtime(struct perch_timeline *timeline, const struct timeline_change *change)
{
	struct timeline_thread *thread = change->tid ? get_thread(timeline, change) : NULL;

	if (thread)
		perch__timeline_edge(timeline, thread, PERCH_TIMELINE_RUNTIME, change);
}
