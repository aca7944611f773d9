/* SPDX-License-Identifier: MIT */
/* Ends intervals and delivers them, with what is doubtful about them. */
#include "timeline/internal.h"

/* Returns true if records may be missing that would have ended the interval earlier. */
static bool spans_loss(struct perch_timeline *timeline, const struct timeline_thread *thread)
{
	const struct timeline_thread *cpu;

	if (thread->start >= timeline->lost_to)
		return false;
	/* a thread that runs is on this CPU; one that does not may have been on any */
	if (thread->state != PERCH_TIMELINE_RUNNING || thread->thread.cpu == TIMELINE_UNKNOWN)
		return true;
	cpu = perch__timeline_find(&timeline->threads, 0, thread->thread.cpu);
	return thread->start < timeline->lost_all_to || (cpu && thread->start < cpu->lost_to);
}

static void call_interval(struct perch_timeline *timeline,
			  const struct perch_timeline_interval *interval)
{
	int rc;

	timeline->stats.intervals++;
	if (interval->flags & PERCH_TIMELINE_UNCERTAIN) {
		timeline->stats.uncertain++;
		timeline->stats.uncertain_ns += interval->end - interval->start;
	}
	if (!timeline->options.interval)
		return;
	rc = timeline->options.interval(timeline->options.context, interval);
	if (rc && !timeline->rc)
		timeline->rc = rc;
}

void perch__timeline_deliver(struct perch_timeline *timeline, struct timeline_thread *thread,
			     uint64_t time, const struct timeline_change *out)
{
	struct perch_timeline_interval interval = {
		.thread = &thread->thread,
		.start = thread->start,
		.end = time,
		.state = thread->state,
		.flags = thread->flags,
		.cpu = thread->thread.cpu,
		.letter = (uint8_t)thread->letter,
		.waker_tid = UINT32_MAX,
		.waker_cpu = UINT32_MAX,
		.next_tid = out ? out->other_tid : UINT32_MAX,
		.next_letter = out ? (uint8_t)out->letter : 0,
	};

	if (time < thread->start) {
		interval.end = thread->start;
		interval.flags |= PERCH_TIMELINE_UNCERTAIN;
	}
	if (thread->state == PERCH_TIMELINE_WOKEN) {
		interval.waker_pid = thread->waker.pid;
		interval.waker_tid = thread->waker.tid;
		interval.waker_cpu = thread->waker.cpu;
		interval.flags |= thread->waker.flags;
	}
	if (spans_loss(timeline, thread))
		interval.flags |= PERCH_TIMELINE_UNCERTAIN;
	thread->start = interval.end;
	thread->flags = 0;
	call_interval(timeline, &interval);
}

/* Of idle threads, only the times in which they run are of use. */
static bool has_interval(const struct timeline_thread *thread)
{
	return thread->seen && (thread->thread.tid || thread->state == PERCH_TIMELINE_RUNNING);
}

void perch__timeline_begin(struct perch_timeline *timeline, struct timeline_thread *thread,
			   enum perch_timeline_state state, uint64_t time)
{
	if (has_interval(thread))
		perch__timeline_deliver(timeline, thread, time, NULL);
	else
		thread->start = time;
	thread->seen = true;
	thread->state = (uint8_t)state;
	thread->letter = state == PERCH_TIMELINE_RUNNING || state == PERCH_TIMELINE_WOKEN ? 'R' : 0;
}

void perch__timeline_edge(struct perch_timeline *timeline, const struct timeline_thread *thread,
			  enum perch_timeline_event event, const struct timeline_change *change)
{
	const struct perch_timeline_edge edge = { .thread = &thread->thread,
						  .time = change->time,
						  .event = event,
						  .cpu = change->to_cpu,
						  .from_cpu = change->cpu,
						  .other_pid = change->other_pid,
						  .other_tid = change->other_tid,
						  .flags = change->flags,
						  .ns = change->ns };
	int rc;

	if (!timeline->options.edge)
		return;
	rc = timeline->options.edge(timeline->options.context, &edge);
	if (rc && !timeline->rc)
		timeline->rc = rc;
}

void perch__timeline_end_thread(struct perch_timeline *timeline, struct timeline_thread *thread,
				uint64_t time)
{
	const struct timeline_change end = { .time = time,
					     .cpu = thread->thread.cpu,
					     .to_cpu = TIMELINE_UNKNOWN,
					     .flags = thread->flags & PERCH_TIMELINE_UNFINISHED,
					     .other_tid = UINT32_MAX };

	if (has_interval(thread))
		perch__timeline_deliver(timeline, thread, time, NULL);
	perch__timeline_edge(timeline, thread, PERCH_TIMELINE_END, &end);
	perch__timeline_remove(&timeline->threads, thread);
}

/* The last switch of a thread may be lost, or of no event that is recorded. */
static void discard_ended(struct perch_timeline *timeline)
{
	struct timeline_threads *threads = &timeline->threads;

	if (timeline->now - threads->swept < TIMELINE_ENDED_NS)
		return;
	threads->swept = timeline->now;
	for (size_t i = 0; i < threads->nr; i++) {
		struct timeline_thread *thread = &threads->thread[i];

		if (!thread->live || !thread->ended ||
		    timeline->now - thread->exited < TIMELINE_ENDED_NS)
			continue;
		thread->flags |= PERCH_TIMELINE_UNCERTAIN | PERCH_TIMELINE_UNFINISHED;
		perch__timeline_end_thread(timeline, thread,
					   thread->exited > thread->start ? thread->exited
									  : thread->start);
	}
}

struct timeline_thread *perch__timeline_add_thread(struct perch_timeline *timeline, uint32_t tid,
						   uint32_t cpu)
{
	struct timeline_thread *thread;
	uint64_t live;
	int rc;

	if (tid == UINT32_MAX) { /* no thread has this id */
		timeline->stats.damaged++;
		return NULL;
	}
	discard_ended(timeline);
	rc = perch__timeline_get(&timeline->threads, tid, cpu, &thread);
	timeline->stats.left_out += rc == -ENOSPC;
	if (rc == -ENOMEM)
		timeline->rc = rc;
	if (rc)
		return NULL;
	live = timeline->threads.nr - timeline->threads.nr_unused;
	if (timeline->stats.most_threads < live)
		timeline->stats.most_threads = live;
	return thread;
}

void perch__timeline_lose(struct perch_timeline *timeline, uint32_t cpu, uint64_t to)
{
	struct timeline_thread *idle =
		cpu == TIMELINE_UNKNOWN ? NULL : perch__timeline_thread(timeline, 0, 0, cpu);
	uint64_t *cpu_to = idle ? &idle->lost_to : &timeline->lost_all_to;

	if (*cpu_to < to)
		*cpu_to = to;
	if (timeline->lost_to < to)
		timeline->lost_to = to;
}
