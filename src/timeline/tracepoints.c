/* SPDX-License-Identifier: MIT */
/* The tracepoints that a timeline uses. Their fields are found once for each event. */
#include <stdio.h>

#include "timeline/internal.h"

/* common_flags of all tracepoints: interrupt context, hard or soft */
#define IN_INTERRUPT (0x08 | 0x10)
/* offset of common_pid, in all tracepoints */
#define COMMON_PID 4

struct timeline_tracepoint {
	const char *system, *name;
	uint32_t has; /* what a timeline with this event has */
	void (*take)(struct perch_timeline *timeline, const struct timeline_event *event,
		     const struct perch_record *record);
	uint32_t needed;		    /* so many fields must exist */
	const char *field[TIMELINE_FIELDS]; /* numbers and texts; the needed ones first */
};

/* ---- values ---- */

static bool has_field(const struct timeline_event *event, size_t field)
{
	return event->fields >> field & 1;
}

/* Plain fields are read without the checks of each. */
static bool has_plain_fields(const struct timeline_event *event, const struct perch_record *record)
{
	return record->sample.raw.size >= event->size && record->sample.raw.data &&
	       !record->parse_info->swapped;
}

/* Returns a number; `missing` if the sample has none. */
static int64_t number_of(const struct timeline_event *event, const struct perch_record *record,
			 size_t field, int64_t missing)
{
	int64_t value;

	if (event->plain >> field & 1 && has_plain_fields(event, record)) {
		const char *at = (const char *)record->sample.raw.data + event->field[field].offset;
		int32_t number;

		if (event->field[field].size == sizeof(value)) {
			memcpy(&value, at, sizeof(value));
			return value;
		}
		memcpy(&number, at, sizeof(number));
		return event->field[field].is_signed ? number : (int64_t)(uint32_t)number;
	}
	if (has_field(event, field) &&
	    !perch_tracepoint_get_s64(&event->field[field], record, &value))
		return value;
	return missing;
}

static void name_of(const struct timeline_event *event, const struct perch_record *record,
		    size_t field, struct timeline_change *change)
{
	if (event->plain >> field & 1 && has_plain_fields(event, record)) {
		change->name = (const char *)record->sample.raw.data + event->field[field].offset;
		change->raw_name = true;
		return;
	}
	if (!has_field(event, field) ||
	    perch_tracepoint_get_text(&event->field[field], record, &change->name,
				      &change->name_length))
		change->name = NULL;
}

/* Ids of threads and CPUs are numbers of 32 bits; -1 is none. */
static uint32_t id_of(const struct timeline_event *event, const struct perch_record *record,
		      size_t field)
{
	return (uint32_t)number_of(event, record, field, -1);
}

static struct timeline_change change_of(const struct perch_record *record)
{
	const struct perch_sample_id *at = &record->sample_id;

	return (struct timeline_change){ .time = at->time,
					 .cpu = at->has & PERCH_SAMPLE_CPU ? at->cpu
									   : TIMELINE_UNKNOWN,
					 .other_tid = UINT32_MAX,
					 .to_cpu = TIMELINE_UNKNOWN,
					 .priority = -1 };
}

/* The thread in whose context it happened, by the id that tracepoints have: common_pid. 0: unknown,
 * or an idle thread. */
static uint32_t context_id(const struct perch_record *record)
{
	uint32_t tid = 0;

	if (record->sample.raw.size >= COMMON_PID + sizeof(tid))
		memcpy(&tid, (const char *)record->sample.raw.data + COMMON_PID, sizeof(tid));
	return record->parse_info->swapped ? __builtin_bswap32(tid) : tid;
}

/* Ids of samples are those of the recorder's namespace, but not of a thread that has ended. */
static bool has_other_ids(const struct perch_record *record)
{
	uint32_t tid = record->sample_id.tid, context = context_id(record);

	return record->sample_id.has & PERCH_SAMPLE_TID && tid && tid != UINT32_MAX && context &&
	       context != tid;
}

static void set_other(struct timeline_change *change, const struct perch_record *record)
{
	const struct perch_sample_id *at = &record->sample_id;
	uint32_t context = context_id(record);

	if (!(at->has & PERCH_SAMPLE_TID))
		return;
	change->other_pid = context && context != at->tid ? 0 : at->pid;
	change->other_tid = context ? context : at->tid;
}

static bool in_interrupt(const struct perch_record *record)
{
	const unsigned char *raw = record->sample.raw.data;

	return record->sample.raw.size > 2 && (raw[2] & IN_INTERRUPT);
}

/* ---- what the tracepoints say ---- */

enum {
	PREV_PID,
	NEXT_PID,
	PREV_STATE,
	PREV_COMM,
	NEXT_COMM,
	PREV_PRIO,
	NEXT_PRIO,
};

static void take_switch(struct perch_timeline *timeline, const struct timeline_event *event,
			const struct perch_record *record)
{
	struct timeline_change change = change_of(record), next = change;
	uint64_t prev_state = (uint64_t)number_of(event, record, PREV_STATE, 0);

	change.tid = id_of(event, record, PREV_PID);
	change.other_tid = id_of(event, record, NEXT_PID);
	change.letter = perch__timeline_letter(&timeline->states, prev_state);
	change.state = perch__timeline_state(change.letter);
	if (prev_state & timeline->states.preempted)
		change.flags = PERCH_TIMELINE_INVOLUNTARY;
	if (record->sample_id.tid == change.tid)
		change.pid = record->sample_id.pid;
	change.priority = (int32_t)number_of(event, record, PREV_PRIO, -1);
	name_of(event, record, PREV_COMM, &change);
	next.tid = change.other_tid;
	name_of(event, record, NEXT_COMM, &next);
	if (!timeline->options.some_threads)
		perch__timeline_see_name(timeline, &next);
	perch__timeline_out(timeline, &change);
	if (timeline->options.some_threads)
		return;
	next.priority = (int32_t)number_of(event, record, NEXT_PRIO, -1);
	perch__timeline_in(timeline, &next);
}

enum {
	WAKE_PID,
	WAKE_CPU,
	WAKE_COMM,
	WAKE_PRIO,
};

static struct timeline_change wakeup_of(const struct timeline_event *event,
					const struct perch_record *record)
{
	struct timeline_change change = change_of(record);

	change.tid = id_of(event, record, WAKE_PID);
	change.to_cpu = id_of(event, record, WAKE_CPU);
	change.priority = (int32_t)number_of(event, record, WAKE_PRIO, -1);
	name_of(event, record, WAKE_COMM, &change);
	set_other(&change, record);
	if (in_interrupt(record))
		change.flags = PERCH_TIMELINE_BY_INTERRUPT;
	return change;
}

static void take_waking(struct perch_timeline *timeline, const struct timeline_event *event,
			const struct perch_record *record)
{
	const struct timeline_change change = wakeup_of(event, record);

	perch__timeline_wake(timeline, &change);
}

/* It follows sched_waking, often on another CPU, when the thread may have run and blocked again. */
static void take_wakeup(struct perch_timeline *timeline, const struct timeline_event *event,
			const struct perch_record *record)
{
	if (!(timeline->has & TIMELINE_HAS_WAKING))
		take_waking(timeline, event, record);
}

static void take_wakeup_new(struct perch_timeline *timeline, const struct timeline_event *event,
			    const struct perch_record *record)
{
	const struct timeline_change change = wakeup_of(event, record);

	perch__timeline_wake_new(timeline, &change);
}

enum {
	MIGRATE_PID,
	MIGRATE_FROM,
	MIGRATE_TO,
};

static void take_migrate(struct perch_timeline *timeline, const struct timeline_event *event,
			 const struct perch_record *record)
{
	struct timeline_change change = change_of(record);

	change.tid = id_of(event, record, MIGRATE_PID);
	change.cpu = id_of(event, record, MIGRATE_FROM);
	change.to_cpu = id_of(event, record, MIGRATE_TO);
	set_other(&change, record);
	perch__timeline_migrate(timeline, &change);
}

enum {
	RUNTIME_PID,
	RUNTIME_NS,
};

static void take_runtime(struct perch_timeline *timeline, const struct timeline_event *event,
			 const struct perch_record *record)
{
	struct timeline_change change = change_of(record);

	change.tid = id_of(event, record, RUNTIME_PID);
	change.ns = (uint64_t)number_of(event, record, RUNTIME_NS, 0);
	perch__timeline_runtime(timeline, &change);
}

enum {
	FORK_PARENT,
	FORK_CHILD,
};

static void take_fork(struct perch_timeline *timeline, const struct timeline_event *event,
		      const struct perch_record *record)
{
	struct timeline_change change = change_of(record);

	set_other(&change, record);
	change.tid = id_of(event, record, FORK_CHILD);
	change.other_tid = id_of(event, record, FORK_PARENT);
	perch__timeline_fork(timeline, &change);
}

static void take_exit(struct perch_timeline *timeline, const struct timeline_event *event,
		      const struct perch_record *record)
{
	struct timeline_change change = change_of(record);

	change.tid = id_of(event, record, 0);
	perch__timeline_exit(timeline, &change);
}

static const struct timeline_tracepoint tracepoints[] = {
	{ "sched",
	  "sched_switch",
	  TIMELINE_HAS_SWITCH,
	  take_switch,
	  3,
	  { "prev_pid", "next_pid", "prev_state", "prev_comm", "next_comm", "prev_prio",
	    "next_prio" } },
	{ "sched",
	  "sched_waking",
	  TIMELINE_HAS_WAKING,
	  take_waking,
	  1,
	  { "pid", "target_cpu", "comm", "prio" } },
	{ "sched",
	  "sched_wakeup",
	  TIMELINE_HAS_WAKEUP,
	  take_wakeup,
	  1,
	  { "pid", "target_cpu", "comm", "prio" } },
	{ "sched",
	  "sched_wakeup_new",
	  0,
	  take_wakeup_new,
	  1,
	  { "pid", "target_cpu", "comm", "prio" } },
	{ "sched",
	  "sched_migrate_task",
	  TIMELINE_HAS_MIGRATE,
	  take_migrate,
	  3,
	  { "pid", "orig_cpu", "dest_cpu" } },
	{ "sched", "sched_stat_runtime", 0, take_runtime, 2, { "pid", "runtime" } },
	{ "sched", "sched_process_fork", 0, take_fork, 2, { "parent_pid", "child_pid" } },
	{ "sched", "sched_process_exit", 0, take_exit, 1, { "pid" } },
};

/* ---- events ---- */

static const struct timeline_tracepoint *find_tracepoint(
	const struct perch_tracepoint_format *format)
{
	for (size_t i = 0; i < sizeof(tracepoints) / sizeof(*tracepoints); i++)
		if (!strcmp(perch_tracepoint_format_name(format), tracepoints[i].name) &&
		    !strcmp(perch_tracepoint_format_system(format), tracepoints[i].system))
			return &tracepoints[i];
	return NULL;
}

static bool is_plain(const struct perch_tracepoint_field *field)
{
	if (field->location != PERCH_TRACEPOINT_AT_OFFSET)
		return false;
	if (field->kind == PERCH_TRACEPOINT_TEXT)
		return field->size == 16;
	return field->kind == PERCH_TRACEPOINT_NUMBER && (field->size == 4 || field->size == 8);
}

static void add_plain(struct timeline_event *event, size_t i)
{
	uint32_t end = event->field[i].offset + event->field[i].size;

	event->plain |= 1u << i;
	if (event->size < end)
		event->size = end;
}

int perch__timeline_find_fields(struct perch_timeline *timeline, struct timeline_event *event,
				const struct perch_tracepoint_format *format,
				struct perch_error *err)
{
	const struct timeline_tracepoint *tracepoint = find_tracepoint(format);

	if (!tracepoint)
		return 0;
	*event = (struct timeline_event){ 0 };
	for (size_t i = 0; i < TIMELINE_FIELDS && tracepoint->field[i]; i++) {
		const struct perch_tracepoint_field *field =
			perch_tracepoint_format_find(format, tracepoint->field[i]);

		if (field) {
			event->field[i] = *field;
			event->fields |= 1u << i;
			if (is_plain(field))
				add_plain(event, i);
		} else if (i < tracepoint->needed) {
			return perch_error_set(err, EBADMSG, PERCH_ERROR_FORMAT,
					       "the format of %s:%s has no field %s",
					       tracepoint->system, tracepoint->name,
					       tracepoint->field[i]);
		}
	}
	event->tracepoint = tracepoint;
	timeline->has |= tracepoint->has;
	if (tracepoint->has & TIMELINE_HAS_SWITCH)
		perch__timeline_read_states(&timeline->states,
					    perch_tracepoint_format_print_fmt(format));
	return 1;
}

void perch__timeline_take_sample(struct perch_timeline *timeline, const struct perch_record *record)
{
	const struct timeline_event *event;
	int64_t value;

	if (record->event >= timeline->nr_events)
		return;
	event = &timeline->event[record->event];
	if (!event->tracepoint)
		return;
	for (size_t i = 0; i < event->tracepoint->needed; i++) {
		if (event->plain >> i & 1 && has_plain_fields(event, record))
			continue;
		if (perch_tracepoint_get_s64(&event->field[i], record, &value)) {
			timeline->stats.damaged++;
			return;
		}
	}
	timeline->other_ids |= has_other_ids(record);
	event->tracepoint->take(timeline, event, record);
}
