/* SPDX-License-Identifier: MIT */
/*
 * When each thread ran on which CPU, what it did afterwards, and who woke it: from the timeline of
 * the recording. Formats with EXPORT_SCHEDULE have it, those with EXPORT_MERGED in bounded memory.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/kernel/off_cpu_event.h"
#include "schedule.h"

/* ---- threads ---- */

static bool same_tid(const void *threads, uint32_t index, const void *key)
{
	return ((const struct schedule_thread *)threads)[index].tid == *(const uint32_t *)key;
}

/* Returns the index of a thread, which has its last name; NO_INDEX if out of memory. */
static uint32_t find_thread(struct export_schedule *schedule,
			    const struct perch_timeline_thread *from)
{
	uint64_t hash = perch__hash_integer(schedule->table.seed, from->tid);
	uint32_t index =
		perch__hash_find(&schedule->table, hash, same_tid, schedule->thread, &from->tid);
	struct schedule_thread *thread;

	if (index == PERCH__HASH_NONE) {
		index = (uint32_t)schedule->nr_threads;
		if (PERCH__ARRAY_RESERVE_BY_NR(schedule->thread, schedule->nr_threads, 1) ||
		    perch__hash_add(&schedule->table, hash, index))
			return NO_INDEX;
		schedule->thread[schedule->nr_threads++] = (struct schedule_thread){
			.tid = from->tid, .priority = -1, .last_run = NO_INDEX
		};
	}
	thread = &schedule->thread[index];
	if (from->pid)
		thread->pid = from->pid;
	if (from->priority >= 0)
		thread->priority = from->priority;
	if (from->name[0])
		perch_clean_text(from->name, thread->name, sizeof(thread->name));
	return index;
}

/* ---- intervals and edges ---- */

/* The first interval after a run has the state in which it ended. */
static void end_run(struct export_schedule *schedule, uint32_t thread,
		    const struct perch_timeline_interval *interval)
{
	uint32_t last = schedule->thread[thread].last_run;
	struct schedule_run *run = last == NO_INDEX ? NULL : &schedule->run[last];

	if (!run)
		return;
	if (interval->flags & PERCH_TIMELINE_UNCERTAIN) {
		if (!run->wait_end)
			run->wait_start = interval->start;
		run->wait_end = interval->end;
	}
	if (run->end != interval->start || run->next_state != PERCH_TIMELINE_UNKNOWN)
		return;
	run->next_state = (uint8_t)interval->state;
	run->letter = (char)interval->letter;
	run->involuntary = interval->flags & PERCH_TIMELINE_INVOLUNTARY;
}

static int take_interval(void *context, const struct perch_timeline_interval *interval)
{
	struct export_schedule *schedule = context;
	uint32_t thread;

	if (!interval->thread->tid)
		return 0; /* an idle CPU: no thread runs */
	schedule->uncertain += !!(interval->flags & PERCH_TIMELINE_UNCERTAIN);
	if (schedule->merged)
		return perch__states_interval(&schedule->states, interval);
	thread = find_thread(schedule, interval->thread);
	if (thread == NO_INDEX)
		return -ENOMEM;
	if (interval->state != PERCH_TIMELINE_RUNNING) {
		end_run(schedule, thread, interval);
		return 0;
	}
	if (PERCH__ARRAY_RESERVE_BY_NR(schedule->run, schedule->nr_runs, 1))
		return -ENOMEM;
	schedule->thread[thread].last_run = (uint32_t)schedule->nr_runs;
	schedule->run[schedule->nr_runs++] = (struct schedule_run){
		.start = interval->start,
		.end = interval->end,
		.cpu = interval->cpu,
		.thread = thread,
		.next_state = PERCH_TIMELINE_UNKNOWN,
		.unfinished = interval->flags & PERCH_TIMELINE_UNFINISHED,
		.uncertain = interval->flags & PERCH_TIMELINE_UNCERTAIN,
	};
	return 0;
}

static int take_edge(void *context, const struct perch_timeline_edge *edge)
{
	struct export_schedule *schedule = context;
	uint32_t thread;

	if (schedule->merged && edge->event == PERCH_TIMELINE_END)
		perch__states_end(&schedule->states, edge->thread->tid);
	if (schedule->merged || edge->event != PERCH_TIMELINE_WAKEUP || !edge->thread->tid)
		return 0;
	thread = find_thread(schedule, edge->thread);
	if (thread == NO_INDEX ||
	    PERCH__ARRAY_RESERVE_BY_NR(schedule->wakeup, schedule->nr_wakeups, 1))
		return -ENOMEM;
	schedule->wakeup[schedule->nr_wakeups++] = (struct schedule_wakeup){
		.time = edge->time,
		.cpu = edge->from_cpu != UINT32_MAX ? edge->from_cpu : edge->cpu,
		.target_cpu = edge->cpu,
		.thread = thread,
		.waker_tid = edge->other_tid,
		.by_interrupt = edge->flags & PERCH_TIMELINE_BY_INTERRUPT,
	};
	return 0;
}

/* ---- records ---- */

/* The map of threads, which is the first record: -1 stands for all. */
static bool names_threads(const struct perch_record *record, bool swapped)
{
	const size_t head = sizeof(struct perch_record_header) + sizeof(uint64_t);
	uint64_t tid;

	if (record->size < head + sizeof(tid))
		return false;
	memcpy(&tid, (const char *)record->bytes + head, sizeof(tid));
	return (swapped ? __builtin_bswap64(tid) : tid) != UINT64_MAX;
}

static int make_timeline(struct perch_export *export, struct perch_error *err)
{
	struct export_schedule *schedule = export->schedule;
	const struct perch_timeline_options options = {
		.interval = take_interval,
		.edge = take_edge,
		.context = schedule,
		.some_threads = schedule->some_threads,
	};
	const struct perch_file_event *events;
	size_t nr = perch_reader_events(perch_session_reader(export->session), &events);
	int rc = perch_timeline_new(&schedule->timeline, &options, err);

	for (size_t i = 0; !rc && i < nr; i++) {
		const struct perch_tracepoint_format *format;

		schedule->has_states |= events[i].attr.context_switch;
		if (events[i].attr.type != PERCH_TYPE_TRACEPOINT ||
		    perch_session_format(export->session, &events[i], &format, NULL))
			continue;
		rc = perch_timeline_add_event(schedule->timeline, (uint16_t)i, format, err);
		schedule->has_states |= rc == 1 && !strcmp(events[i].name, "sched:sched_switch");
		if (rc == 1 || rc == -EBADMSG)
			rc = 0; /* a tracepoint that lacks a field shows no switches */
	}
	for (size_t i = 0; i < nr; i++)
		schedule->has_off_cpu |= perch__is_off_cpu(&events[i]) &&
					 !perch__is_off_cpu_of_perf(&events[i]);
	schedule->has_off_cpu &= !schedule->has_states;
	return rc;
}

/* ---- from samples of off-CPU time ---- */

static uint64_t time_of(const struct perch_record *record)
{
	return record->sample_id.has & PERCH_SAMPLE_TIME ? record->sample_id.time : 0;
}

static int add_off_cpu(struct perch_export *export, const struct perch_record *record)
{
	struct export_schedule *schedule = export->schedule;
	const struct perch_task_record *task = &record->task;
	uint64_t time = time_of(record);
	const struct perch_thread *thread;
	struct perch_off_cpu off_cpu;

	if (!time)
		return 0; /* what was there before the recording */
	if (!schedule->began)
		schedule->began = time;
	if (time > schedule->now)
		schedule->now = time;
	if (record->type == PERCH_RECORD_FORK)
		return perch__states_fork(&schedule->states, task->pid, task->tid, time);
	if (record->type == PERCH_RECORD_EXIT)
		return perch__states_exit(&schedule->states, task->tid, time);
	if (!perch_session_off_cpu(export->session, record, &off_cpu))
		return 0;
	thread = perch_processes_thread(perch_session_processes(export->session), off_cpu.pid,
					off_cpu.tid);
	return thread ? perch__states_off_cpu(&schedule->states, &off_cpu, time, schedule->began,
					      perch_thread_comm(thread))
		      : -ENOMEM;
}

int perch__schedule_add(struct perch_export *export, const struct perch_record *record,
			struct perch_error *err)
{
	struct export_schedule *schedule = export->schedule;
	bool swapped;
	int rc = 0;

	if (record->type == PERCH_RECORD_THREAD_MAP) {
		swapped = perch_reader_byte_order(perch_session_reader(export->session)) !=
			  PERCH_BYTES_NATIVE;
		schedule->some_threads |= names_threads(record, swapped);
	}
	if (record->type >= PERCH_RECORD_HEADER_ATTR)
		return 0;
	if (!schedule->timeline)
		rc = make_timeline(export, err);
	if (!rc && schedule->has_off_cpu && schedule->merged)
		return add_off_cpu(export, record) ? PERCH__NO_MEMORY(err, "to export") : 0;
	if (rc || (schedule->merged && !schedule->has_states))
		return rc;
	return perch_timeline_feed(schedule->timeline, record, err);
}

int perch__schedule_end(struct perch_export *export)
{
	struct export_schedule *schedule = export->schedule;

	if (schedule->has_off_cpu && schedule->merged)
		return perch__states_all_ran(&schedule->states, schedule->now);
	return schedule->timeline ? perch_timeline_finish(schedule->timeline, 0) : 0;
}

int perch__schedule_open(struct perch_export *export)
{
	export->schedule = calloc(1, sizeof(*export->schedule));
	if (!export->schedule)
		return -ENOMEM;
	export->schedule->table.seed = export->stacks.seed;
	export->schedule->merged = export->format->methods->flags & EXPORT_MERGED;
	perch__states_init(&export->schedule->states, export->stacks.seed);
	return 0;
}

void perch__schedule_close(struct perch_export *export)
{
	struct export_schedule *schedule = export->schedule;

	if (!schedule)
		return;
	perch_timeline_free(schedule->timeline);
	perch__states_clear(&schedule->states);
	perch__hash_clear(&schedule->table);
	free(schedule->thread);
	free(schedule->run);
	free(schedule->wakeup);
	free(schedule);
}
