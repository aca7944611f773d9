/* SPDX-License-Identifier: MIT */
/*
 * Perfetto's format: switches and wakeups of each CPU. They are written as the events sched_switch
 * and sched_waking of ftrace, of which Perfetto makes the tracks of CPUs, the states of threads and
 * the arrows from wakers. A switch is made of two runs that follow each other.
 */
#include <errno.h>
#include <stdlib.h>

#include "perfetto.h"

#define BUNDLE		  256 /* events of a packet */
#define DEFAULT_PRIORITY  120
#define FLAG_IN_INTERRUPT 0x8 /* of ftrace's common_flags */
/* Bits of prev_state from Linux 4.14 on; an unused one for a state that was not recorded. */
enum { STATE_PREEMPTED = 0x100, STATE_UNKNOWN = 0x200 };

/* An event of a CPU. */
struct cpu_event {
	uint64_t time;
	uint32_t cpu;
	uint32_t wakeup;   /* index; NO_INDEX: a switch */
	uint32_t from, to; /* of a switch: indexes of runs; NO_INDEX: idle */
	uint32_t order;	   /* of switches at the same time */
};

/* ---- the order ---- */

static int compare_runs(const void *left, const void *right)
{
	const struct schedule_run *a = left, *b = right;

	if (a->cpu != b->cpu)
		return a->cpu < b->cpu ? -1 : 1;
	if (a->cpu == UINT32_MAX && a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return (a->end > b->end) - (a->end < b->end);
}

/* A wakeup at the time of a switch precedes it: the waker was running. */
static int compare_events(const void *left, const void *right)
{
	const struct cpu_event *a = left, *b = right;

	if (a->cpu != b->cpu)
		return a->cpu < b->cpu ? -1 : 1;
	if (a->time != b->time)
		return a->time < b->time ? -1 : 1;
	if ((a->wakeup == NO_INDEX) != (b->wakeup == NO_INDEX))
		return a->wakeup == NO_INDEX ? 1 : -1;
	return (a->order > b->order) - (a->order < b->order);
}

static void add_switch(struct cpu_event *event, size_t *nr, uint64_t time, uint32_t cpu,
		       uint32_t from, uint32_t to)
{
	event[*nr] = (struct cpu_event){ time, cpu, NO_INDEX, from, to, (uint32_t)*nr };
	(*nr)++;
}

/*
 * Makes the switch to each of the first runs, and to the idle thread after a run that no other one
 * follows.
 */
static size_t make_events(const struct export_schedule *schedule, size_t nr_runs,
			  struct cpu_event *event)
{
	const struct schedule_run *run = schedule->run;
	size_t nr = 0;

	for (uint32_t i = 0; i < nr_runs; i++) {
		bool adjoins = i && run[i - 1].cpu == run[i].cpu && run[i - 1].end >= run[i].start;
		bool last = i + 1 == nr_runs || run[i + 1].cpu != run[i].cpu;

		add_switch(event, &nr, run[i].start, run[i].cpu, adjoins ? i - 1 : NO_INDEX, i);
		if (last ? !run[i].unfinished : run[i + 1].start > run[i].end)
			add_switch(event, &nr, run[i].end, run[i].cpu, i, NO_INDEX);
	}
	for (uint32_t i = 0; i < schedule->nr_wakeups; i++) {
		const struct schedule_wakeup *wakeup = &schedule->wakeup[i];

		event[nr++] =
			(struct cpu_event){ .time = wakeup->time,
					    .cpu = wakeup->cpu == UINT32_MAX ? 0 : wakeup->cpu,
					    .wakeup = i };
	}
	if (nr)
		qsort(event, nr, sizeof(*event), compare_events);
	return nr;
}

/* ---- packets ---- */

struct bundle {
	Perch__Perfetto__FtraceEvent event[BUNDLE], *events[BUNDLE];
	Perch__Perfetto__SchedSwitch change[BUNDLE];
	Perch__Perfetto__SchedWaking waking[BUNDLE];
};

static int64_t state_of(const struct schedule_run *run)
{
	static const struct {
		char letter;
		uint16_t bit;
	} bits[] = { { 'S', 0x1 },  { 'D', 0x2 },  { 'T', 0x4 },  { 't', 0x8 },
		     { 'X', 0x10 }, { 'Z', 0x20 }, { 'P', 0x40 }, { 'I', 0x80 } };

	if (run->next_state == PERCH_TIMELINE_PREEMPTED)
		return run->involuntary ? STATE_PREEMPTED : 0;
	if (run->next_state == PERCH_TIMELINE_WOKEN)
		return 0; /* it was woken on its way off the CPU, and is runnable */
	for (size_t i = 0; i < sizeof(bits) / sizeof(bits[0]); i++)
		if (bits[i].letter == run->letter)
			return bits[i].bit;
	return run->next_state == PERCH_TIMELINE_BLOCKED ? 1 : STATE_UNKNOWN;
}

static int32_t priority_of(const struct schedule_thread *thread)
{
	return thread->priority >= 0 ? thread->priority : DEFAULT_PRIORITY;
}

static void fill_switch(const struct export_schedule *schedule, const struct cpu_event *from,
			Perch__Perfetto__FtraceEvent *event, Perch__Perfetto__SchedSwitch *change)
{
	static char idle[] = "swapper";
	const struct schedule_run *last = from->from == NO_INDEX ? NULL
								 : &schedule->run[from->from];
	const struct schedule_run *next = from->to == NO_INDEX ? NULL : &schedule->run[from->to];
	struct schedule_thread *prev = last ? &schedule->thread[last->thread] : NULL;
	struct schedule_thread *to = next ? &schedule->thread[next->thread] : NULL;

	change->prev_comm = prev ? prev->name : idle;
	PERFETTO_SET(*change, prev_pid, prev ? (int32_t)prev->tid : 0);
	PERFETTO_SET(*change, prev_prio, prev ? priority_of(prev) : DEFAULT_PRIORITY);
	PERFETTO_SET(*change, prev_state, last ? state_of(last) : 0);
	change->next_comm = to ? to->name : idle;
	PERFETTO_SET(*change, next_pid, to ? (int32_t)to->tid : 0);
	PERFETTO_SET(*change, next_prio, to ? priority_of(to) : DEFAULT_PRIORITY);
	PERFETTO_SET(*event, pid, prev ? prev->tid : 0);
	event->sched_switch = change;
}

static void fill_wakeup(const struct export_schedule *schedule,
			const struct schedule_wakeup *wakeup, Perch__Perfetto__FtraceEvent *event,
			Perch__Perfetto__SchedWaking *waking)
{
	struct schedule_thread *thread = &schedule->thread[wakeup->thread];

	waking->comm = thread->name;
	PERFETTO_SET(*waking, pid, (int32_t)thread->tid);
	PERFETTO_SET(*waking, prio, priority_of(thread));
	PERFETTO_SET(*waking, success, 1);
	if (wakeup->target_cpu != UINT32_MAX)
		PERFETTO_SET(*waking, target_cpu, (int32_t)wakeup->target_cpu);
	PERFETTO_SET(*event, pid, wakeup->waker_tid == UINT32_MAX ? 0 : wakeup->waker_tid);
	PERFETTO_SET(*event, common_flags, wakeup->by_interrupt ? FLAG_IN_INTERRUPT : 0);
	event->sched_waking = waking;
}

/* Writes events of one CPU. */
static int put_bundle(struct perfetto *perfetto, struct bundle *to, const struct cpu_event *from,
		      size_t nr)
{
	const struct export_schedule *schedule = perfetto->export->schedule;
	Perch__Perfetto__TracePacket packet = PERCH__PERFETTO__TRACE_PACKET__INIT;
	Perch__Perfetto__FtraceEventBundle bundle = PERCH__PERFETTO__FTRACE_EVENT_BUNDLE__INIT;

	for (size_t i = 0; i < nr; i++) {
		to->events[i] = &to->event[i];
		perch__perfetto__ftrace_event__init(&to->event[i]);
		PERFETTO_SET(to->event[i], timestamp, from[i].time);
		if (from[i].wakeup == NO_INDEX) {
			perch__perfetto__sched_switch__init(&to->change[i]);
			fill_switch(schedule, &from[i], &to->event[i], &to->change[i]);
		} else {
			perch__perfetto__sched_waking__init(&to->waking[i]);
			fill_wakeup(schedule, &schedule->wakeup[from[i].wakeup], &to->event[i],
				    &to->waking[i]);
		}
	}
	PERFETTO_SET(bundle, cpu, from->cpu);
	bundle.n_event = nr;
	bundle.event = to->events;
	packet.ftrace_events = &bundle;
	return perch__perfetto_put(perfetto, &packet, SEQUENCE_MAIN);
}

/* ---- runs on unknown CPUs ---- */

/* A thread of which the CPU is not known has a track with a slice for each thing it did. */
static int put_track(struct perfetto *perfetto, const struct schedule_thread *from)
{
	Perch__Perfetto__TracePacket packet = PERCH__PERFETTO__TRACE_PACKET__INIT;
	Perch__Perfetto__TrackDescriptor track = PERCH__PERFETTO__TRACK_DESCRIPTOR__INIT;
	Perch__Perfetto__ThreadDescriptor thread = PERCH__PERFETTO__THREAD_DESCRIPTOR__INIT;

	PERFETTO_SET(track, uuid, (uint64_t)from->tid);
	PERFETTO_SET(thread, pid, (int32_t)from->pid);
	PERFETTO_SET(thread, tid, (int32_t)from->tid);
	thread.thread_name = (char *)from->name;
	track.thread = &thread;
	packet.track_descriptor = &track;
	return perch__perfetto_put(perfetto, &packet, SEQUENCE_MAIN);
}

enum { SLICE_BEGIN = 1, SLICE_END };

/* name: NULL ends the last slice of the track. */
static int put_event(struct perfetto *perfetto, uint32_t tid, const char *name, uint64_t time)
{
	Perch__Perfetto__TracePacket packet = PERCH__PERFETTO__TRACE_PACKET__INIT;
	Perch__Perfetto__TrackEvent event = PERCH__PERFETTO__TRACK_EVENT__INIT;

	PERFETTO_SET(event, type, name ? SLICE_BEGIN : SLICE_END);
	PERFETTO_SET(event, track_uuid, (uint64_t)tid);
	event.name = (char *)name;
	packet.track_event = &event;
	PERFETTO_SET(packet, timestamp, time);
	return perch__perfetto_put(perfetto, &packet, SEQUENCE_MAIN);
}

/* Marks a part that may be wrong. end: 0 for none. */
static int put_mark(struct perfetto *perfetto, uint32_t tid, uint64_t start, uint64_t end)
{
	int rc = end ? put_event(perfetto, tid, "uncertain: a switch is missing", start) : 0;

	return rc || !end ? rc : put_event(perfetto, tid, NULL, end);
}

static int compare_threads(const void *left, const void *right)
{
	const struct schedule_run *a = left, *b = right;

	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	return (a->start > b->start) - (a->start < b->start);
}

/* A run of which a switch is missing has a slice of that name on the track of its thread, and so
 * has what followed a run. Sorts the runs by thread and time. */
static int mark_uncertain(struct perfetto *perfetto, struct schedule_run *run, size_t nr)
{
	struct export_schedule *schedule = perfetto->export->schedule;
	uint32_t last = NO_INDEX;
	int rc = 0;

	if (schedule->uncertain)
		qsort(run, nr, sizeof(*run), compare_threads);
	for (size_t i = 0; i < nr && !rc; i++) {
		const struct schedule_thread *thread = &schedule->thread[run[i].thread];

		if (!run[i].uncertain && !run[i].wait_end)
			continue;
		if (run[i].thread != last)
			rc = put_track(perfetto, thread);
		last = run[i].thread;
		if (!rc && run[i].uncertain)
			rc = put_mark(perfetto, thread->tid, run[i].start, run[i].end);
		if (!rc)
			rc = put_mark(perfetto, thread->tid, run[i].wait_start, run[i].wait_end);
	}
	return rc;
}

struct span {
	uint64_t start, end;
};

/* What a thread did, and in it the part that may be wrong. */
static int put_state(struct perfetto *perfetto, uint32_t tid, uint32_t state, struct span span,
		     struct span uncertain)
{
	int rc = put_event(perfetto, tid, perch_timeline_state_name(state), span.start);

	if (!rc)
		rc = put_mark(perfetto, tid, uncertain.start, uncertain.end);
	return rc ? rc : put_event(perfetto, tid, NULL, span.end);
}

/* The runs are sorted by thread and time. */
static int put_slices(struct perfetto *perfetto, const struct schedule_run *run, size_t nr)
{
	const struct export_schedule *schedule = perfetto->export->schedule;
	int rc = 0;

	for (size_t i = 0; i < nr && !rc; i++) {
		const struct schedule_thread *thread = &schedule->thread[run[i].thread];
		struct span ran = { run[i].start, run[i].end }, waited = { .start = run[i].end };

		if (!i || run[i - 1].thread != run[i].thread)
			rc = put_track(perfetto, thread);
		if (!rc)
			rc = put_state(perfetto, thread->tid, PERCH_TIMELINE_RUNNING, ran,
				       run[i].uncertain ? ran : (struct span){ 0 });
		if (i + 1 < nr && run[i + 1].thread == run[i].thread)
			waited.end = run[i + 1].start;
		if (!rc && waited.end > waited.start)
			rc = put_state(perfetto, thread->tid, run[i].next_state, waited,
				       (struct span){ run[i].wait_start, run[i].wait_end });
	}
	return rc;
}

int perch__perfetto_schedule(struct perfetto *perfetto)
{
	struct export_schedule *schedule = perfetto->export->schedule;
	size_t most = 2 * schedule->nr_runs + schedule->nr_wakeups, nr, on_cpus;
	struct cpu_event *event = calloc(most + 1, sizeof(*event));
	struct bundle *bundle = malloc(sizeof(*bundle));
	int rc = event && bundle ? 0 : -ENOMEM;

	if (!rc && schedule->nr_runs)
		qsort(schedule->run, schedule->nr_runs, sizeof(*schedule->run), compare_runs);
	on_cpus = schedule->nr_runs;
	while (on_cpus && schedule->run[on_cpus - 1].cpu == UINT32_MAX)
		on_cpus--;
	nr = rc ? 0 : make_events(schedule, on_cpus, event);
	for (size_t first = 0, next; first < nr && !rc; first = next) {
		next = first + 1;
		while (next < nr && next - first < BUNDLE && event[next].cpu == event[first].cpu)
			next++;
		rc = put_bundle(perfetto, bundle, event + first, next - first);
	}
	if (!rc)
		rc = mark_uncertain(perfetto, schedule->run, on_cpus);
	if (!rc && schedule->nr_runs)
		rc = put_slices(perfetto, schedule->run + on_cpus, schedule->nr_runs - on_cpus);
	free(event);
	free(bundle);
	return rc;
}
