/* SPDX-License-Identifier: MIT */
/* What a program calls: records of the kernel become changes of threads. */
#include "base/no_memory.h"
#include "base/reserved.h"
#include "timeline/internal.h"

int perch_timeline_new(struct perch_timeline **timeline,
		       const struct perch_timeline_options *options, struct perch_error *err)
{
	*timeline = NULL;
	if (PERCH__CHECK_RESERVED(options, "perch_timeline_options", err))
		return -EINVAL;
	*timeline = calloc(1, sizeof(**timeline));
	if (!*timeline)
		return PERCH__NO_MEMORY(err, "for a timeline");
	if (options)
		(*timeline)->options = *options;
	(*timeline)->threads.max = (*timeline)->options.max_threads
					   ? (*timeline)->options.max_threads
					   : TIMELINE_MAX_THREADS;
	perch__timeline_read_states(&(*timeline)->states, "");
	return 0;
}

void perch_timeline_free(struct perch_timeline *timeline)
{
	if (!timeline)
		return;
	perch__timeline_clear_threads(&timeline->threads);
	free(timeline->event);
	free(timeline->loss);
	free(timeline);
}

int perch_timeline_add_event(struct perch_timeline *timeline, uint16_t event,
			     const struct perch_tracepoint_format *format, struct perch_error *err)
{
	struct timeline_event found = { 0 };
	int rc = perch__timeline_find_fields(timeline, &found, format, err);

	if (rc <= 0)
		return rc;
	if (PERCH__ARRAY_RESERVE_ZEROED(timeline->event, timeline->nr_events, (size_t)event + 1))
		return PERCH__NO_MEMORY(err, "for a timeline");
	timeline->event[event] = found;
	return 1;
}

int perch_timeline_add_loss(struct perch_timeline *timeline, uint32_t cpu, uint64_t from,
			    uint64_t to, struct perch_error *err)
{
	struct timeline_loss *loss;

	if (timeline->nr_losses == TIMELINE_MAX_LOSSES) {
		/* all that follow become one, which has what is between them */
		loss = &timeline->loss[timeline->nr_losses - 1];
		loss->cpu = TIMELINE_UNKNOWN;
		loss->to = loss->to < to ? to : loss->to;
		return 0;
	}
	loss = PERCH__ARRAY_APPEND(timeline->loss, timeline->nr_losses, timeline->losses_capacity);
	if (!loss)
		return PERCH__NO_MEMORY(err, "for a timeline");
	*loss = (struct timeline_loss){ .cpu = cpu, .from = from, .to = to };
	return 0;
}

/* ---- records other than samples ---- */

static struct timeline_change change_of(const struct perch_record *record)
{
	const struct perch_sample_id *at = &record->sample_id;

	return (struct timeline_change){ .time = at->time,
					 .cpu = at->has & PERCH_SAMPLE_CPU ? at->cpu
									   : TIMELINE_UNKNOWN,
					 .pid = at->pid,
					 .tid = at->tid,
					 .other_tid = UINT32_MAX,
					 .to_cpu = TIMELINE_UNKNOWN,
					 .priority = -1 };
}

/* The last switch of a thread that nobody waits for has no thread id any more. */
static void find_ended(struct perch_timeline *timeline, struct timeline_change *change)
{
	const struct timeline_thread *cpu =
		perch__timeline_find(&timeline->threads, 0, change->cpu);
	const struct timeline_thread *thread;

	if (!cpu || cpu->current == TIMELINE_UNKNOWN)
		return;
	thread = &timeline->threads.thread[cpu->current];
	if (thread->live && thread->ended)
		change->tid = thread->thread.tid;
}

static void take_switch(struct perch_timeline *timeline, const struct perch_record *record)
{
	const struct perch_switch_record *at = &record->context_switch;
	struct timeline_change change = change_of(record);
	const struct timeline_thread *thread;
	bool running;

	if (!(record->sample_id.has & PERCH_SAMPLE_TID))
		return;
	if (record->type == PERCH_RECORD_SWITCH)
		timeline->options.some_threads = true;
	else if (at->out)
		change.other_tid = at->other_tid;
	if (at->out && (!change.tid || change.tid == UINT32_MAX))
		find_ended(timeline, &change);
	if (change.tid == UINT32_MAX)
		return;
	thread = perch__timeline_find(&timeline->threads, change.tid, change.cpu);
	running = thread && thread->seen && thread->state == PERCH_TIMELINE_RUNNING &&
		  thread->thread.cpu == change.cpu;
	/* sched_switch has said the same before */
	if ((timeline->has & TIMELINE_HAS_SWITCH) && running != at->out)
		return;
	if (!at->out) {
		perch__timeline_in(timeline, &change);
		return;
	}
	change.letter = at->preempt ? 'R' : 0;
	change.flags = at->preempt ? PERCH_TIMELINE_INVOLUNTARY : 0;
	change.state = at->preempt ? PERCH_TIMELINE_PREEMPTED : PERCH_TIMELINE_BLOCKED;
	perch__timeline_out(timeline, &change);
}

static void take_task(struct perch_timeline *timeline, const struct perch_record *record)
{
	struct timeline_change change = change_of(record);
	struct timeline_thread *thread = NULL;

	change.pid = record->task.pid;
	change.tid = record->task.tid;
	if (record->type == PERCH_RECORD_FORK) {
		change.other_pid = record->task.ppid;
		change.other_tid = record->task.ptid;
		/* time 0: the recorder has found it in /proc, and it may run or not */
		if (change.time)
			perch__timeline_fork(timeline, &change);
		else if (change.tid)
			thread = perch__timeline_thread(timeline, change.tid, change.pid, 0);
		if (thread)
			thread->thread.parent_pid = record->task.ppid;
		return;
	}
	change.last = timeline->options.some_threads;
	perch__timeline_exit(timeline, &change);
}

static void take_name(struct perch_timeline *timeline, const struct perch_record *record)
{
	struct timeline_change change = change_of(record);

	change.pid = record->comm.pid;
	change.tid = record->comm.tid;
	change.name = record->comm.comm.text;
	change.name_length = record->comm.comm.length;
	perch__timeline_name(timeline, &change);
}

static void take_lost(struct perch_timeline *timeline, const struct perch_record *record)
{
	const struct timeline_change change = change_of(record);

	if (record->type == PERCH_RECORD_LOST)
		timeline->stats.lost += record->lost.lost;
	else
		timeline->lost_samples += record->lost.lost;
	perch__timeline_lose(timeline, change.cpu, change.time ? change.time : timeline->now);
}

static void pass_time(struct perch_timeline *timeline, uint64_t time)
{
	struct perch_timeline_stats *stats = &timeline->stats;

	if (!stats->first_time) {
		stats->first_time = time;
		if (!timeline->options.started)
			timeline->options.started = time;
	}
	stats->backwards += time < timeline->now;
	if (timeline->now < time)
		timeline->now = time;
	stats->last_time = timeline->now;
	while (timeline->next_loss < timeline->nr_losses &&
	       timeline->loss[timeline->next_loss].from <= time) {
		const struct timeline_loss *loss = &timeline->loss[timeline->next_loss++];

		perch__timeline_lose(timeline, loss->cpu, loss->to);
	}
}

int perch_timeline_feed(struct perch_timeline *timeline, const struct perch_record *record,
			struct perch_error *err)
{
	uint64_t time = record->sample_id.has & PERCH_SAMPLE_TIME ? record->sample_id.time : 0;

	timeline->rc = 0;
	if (time)
		pass_time(timeline, time);
	switch (record->type) {
	case PERCH_RECORD_SAMPLE:
		if (time)
			perch__timeline_take_sample(timeline, record);
		else
			timeline->stats.damaged++;
		break;
	case PERCH_RECORD_SWITCH:
	case PERCH_RECORD_SWITCH_CPU_WIDE:
		if (time)
			take_switch(timeline, record);
		break;
	case PERCH_RECORD_FORK:
	case PERCH_RECORD_EXIT:
		if (!timeline->other_ids)
			take_task(timeline, record);
		break;
	case PERCH_RECORD_COMM:
		if (!timeline->other_ids)
			take_name(timeline, record);
		break;
	case PERCH_RECORD_LOST:
	case PERCH_RECORD_LOST_SAMPLES:
		take_lost(timeline, record);
		break;
	default:
		break;
	}
	if (timeline->rc == -ENOMEM)
		return PERCH__NO_MEMORY(err, "for a timeline");
	return timeline->rc;
}

int perch_timeline_finish(struct perch_timeline *timeline, uint64_t time)
{
	struct timeline_threads *threads = &timeline->threads;

	timeline->rc = 0;
	if (!time)
		time = timeline->now;
	for (size_t i = 0; i < threads->nr; i++) {
		struct timeline_thread *thread = &threads->thread[i];

		if (!thread->live)
			continue;
		thread->flags |= PERCH_TIMELINE_UNFINISHED;
		perch__timeline_end_thread(timeline, thread, time);
	}
	return timeline->rc;
}

void perch_timeline_get_stats(const struct perch_timeline *timeline,
			      struct perch_timeline_stats *stats)
{
	*stats = timeline->stats;
	/* LOST_SAMPLES records, at the end of a file, include what LOST records report */
	if (stats->lost < timeline->lost_samples)
		stats->lost = timeline->lost_samples;
}

const struct perch_timeline_thread *perch_timeline_find(struct perch_timeline *timeline,
							uint32_t tid, uint32_t cpu)
{
	const struct timeline_thread *thread = perch__timeline_find(&timeline->threads, tid, cpu);

	return thread ? &thread->thread : NULL;
}
