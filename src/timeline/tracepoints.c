/* SPDX-License-Identifier: MIT */
/* The tracepoints that a timeline uses. Their fields are found once for each event. */
#include <stdio.h>

#include "timeline/internal.h"

/* common_flags of all tracepoints: interrupt context, hard or soft */
#define IN_INTERRUPT (0x08 | 0x10)
/* offset of common_pid, in all tracepoints */
#define COMMON_PID 4

struct fields;

struct timeline_tracepoint {
	const char *system, *name;
	uint32_t has; /* what a timeline with this event has */
	void (*take)(struct perch_timeline *timeline, const struct fields *fields);
	uint32_t needed;		    /* so many fields must exist */
	const char *field[TIMELINE_FIELDS]; /* numbers and texts; the needed ones first */
};

/* ---- values ---- */

/* A sample, and where its plain fields are; NULL: each field is read with all checks. */
struct fields {
	const struct timeline_event *event;
	const struct perch_record *record;
	const char *plain;
};

static bool has_field(const struct fields *fields, size_t field)
{
	return fields->event->fields >> field & 1;
}

/* Plain fields are read without the checks of each. */
static inline bool is_plain(const struct fields *fields, size_t field)
{
	return __builtin_expect(fields->plain && fields->event->plain >> field & 1, 1);
}

/* Returns a number; `missing` if the sample has none. */
static inline int64_t number_of(const struct fields *fields, size_t field, int64_t missing)
{
	const struct timeline_event *event = fields->event;
	int64_t value;

	if (is_plain(fields, field)) {
		const char *at = fields->plain + event->offset[field];
		int32_t number;

		if (event->wide >> field & 1) {
			memcpy(&value, at, sizeof(value));
			return value;
		}
		memcpy(&number, at, sizeof(number));
		return event->is_signed >> field & 1 ? number : (int64_t)(uint32_t)number;
	}
	if (has_field(fields, field) &&
	    !perch_tracepoint_get_s64(&event->field[field], fields->record, &value))
		return value;
	return missing;
}

static void name_of(const struct fields *fields, size_t field, struct timeline_change *change)
{
	if (is_plain(fields, field)) {
		change->name = fields->plain + fields->event->offset[field];
		change->raw_name = true;
		return;
	}
	if (!has_field(fields, field) ||
	    perch_tracepoint_get_text(&fields->event->field[field], fields->record, &change->name,
				      &change->name_length))
		change->name = NULL;
}

/* Ids of threads and CPUs are numbers of 32 bits; -1 is none. */
static inline uint32_t id_of(const struct fields *fields, size_t field)
{
	return (uint32_t)number_of(fields, field, -1);
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

static void take_switch(struct perch_timeline *timeline, const struct fields *fields)
{
	const struct perch_sample_id *at = &fields->record->sample_id;
	struct timeline_change change = change_of(fields->record);
	struct timeline_change next = change_of(fields->record);
	uint64_t prev_state = (uint64_t)number_of(fields, PREV_STATE, 0);

	change.tid = id_of(fields, PREV_PID);
	change.other_tid = id_of(fields, NEXT_PID);
	change.letter = perch__timeline_letter(&timeline->states, prev_state);
	change.state = perch__timeline_state(change.letter);
	if (prev_state & timeline->states.preempted)
		change.flags = PERCH_TIMELINE_INVOLUNTARY;
	if (at->tid == change.tid)
		change.pid = at->pid;
	change.priority = (int32_t)number_of(fields, PREV_PRIO, -1);
	name_of(fields, PREV_COMM, &change);
	if (timeline->options.some_threads) {
		perch__timeline_out(timeline, &change);
		return;
	}
	next.tid = change.other_tid;
	name_of(fields, NEXT_COMM, &next);
	next.priority = (int32_t)number_of(fields, NEXT_PRIO, -1);
	perch__timeline_switch(timeline, &change, &next);
}

enum {
	WAKE_PID,
	WAKE_CPU,
	WAKE_COMM,
	WAKE_PRIO,
};

static struct timeline_change wakeup_of(const struct fields *fields)
{
	struct timeline_change change = change_of(fields->record);

	change.tid = id_of(fields, WAKE_PID);
	change.to_cpu = id_of(fields, WAKE_CPU);
	change.priority = (int32_t)number_of(fields, WAKE_PRIO, -1);
	name_of(fields, WAKE_COMM, &change);
	set_other(&change, fields->record);
	if (in_interrupt(fields->record))
		change.flags = PERCH_TIMELINE_BY_INTERRUPT;
	return change;
}

static void take_waking(struct perch_timeline *timeline, const struct fields *fields)
{
	struct timeline_change change = wakeup_of(fields);

	perch__timeline_wake(timeline, &change);
}

/* It follows sched_waking, often on another CPU, when the thread may have run and blocked again. */
static void take_wakeup(struct perch_timeline *timeline, const struct fields *fields)
{
	if (!(timeline->has & TIMELINE_HAS_WAKING))
		take_waking(timeline, fields);
}

static void take_wakeup_new(struct perch_timeline *timeline, const struct fields *fields)
{
	struct timeline_change change = wakeup_of(fields);

	perch__timeline_wake_new(timeline, &change);
}

enum {
	MIGRATE_PID,
	MIGRATE_FROM,
	MIGRATE_TO,
};

static void take_migrate(struct perch_timeline *timeline, const struct fields *fields)
{
	struct timeline_change change = change_of(fields->record);

	change.tid = id_of(fields, MIGRATE_PID);
	change.cpu = id_of(fields, MIGRATE_FROM);
	change.to_cpu = id_of(fields, MIGRATE_TO);
	set_other(&change, fields->record);
	perch__timeline_migrate(timeline, &change);
}

enum {
	RUNTIME_PID,
	RUNTIME_NS,
};

static void take_runtime(struct perch_timeline *timeline, const struct fields *fields)
{
	struct timeline_change change = change_of(fields->record);

	change.tid = id_of(fields, RUNTIME_PID);
	change.ns = (uint64_t)number_of(fields, RUNTIME_NS, 0);
	perch__timeline_runtime(timeline, &change);
}

enum {
	FORK_PARENT,
	FORK_CHILD,
};

static void take_fork(struct perch_timeline *timeline, const struct fields *fields)
{
	struct timeline_change change = change_of(fields->record);

	set_other(&change, fields->record);
	change.tid = id_of(fields, FORK_CHILD);
	change.other_tid = id_of(fields, FORK_PARENT);
	perch__timeline_fork(timeline, &change);
}

static void take_exit(struct perch_timeline *timeline, const struct fields *fields)
{
	struct timeline_change change = change_of(fields->record);

	change.tid = id_of(fields, 0);
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

static bool may_be_plain(const struct perch_tracepoint_field *field)
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
	event->wide |= (uint32_t)(event->field[i].size == sizeof(uint64_t)) << i;
	event->is_signed |= (uint32_t)event->field[i].is_signed << i;
	event->offset[i] = event->field[i].offset;
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
			if (may_be_plain(field))
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

/* True if each needed field can be read. */
static bool has_needed(const struct fields *fields)
{
	int64_t value;

	for (size_t i = 0; i < fields->event->tracepoint->needed; i++)
		if (!is_plain(fields, i) &&
		    perch_tracepoint_get_s64(&fields->event->field[i], fields->record, &value))
			return false;
	return true;
}

void perch__timeline_take_sample(struct perch_timeline *timeline, const struct perch_record *record)
{
	struct fields fields = { .record = record };

	if (record->event >= timeline->nr_events)
		return;
	fields.event = &timeline->event[record->event];
	if (!fields.event->tracepoint)
		return;
	if (record->sample.raw.size >= fields.event->size && !record->parse_info->swapped)
		fields.plain = record->sample.raw.data;
	if (!has_needed(&fields)) {
		timeline->stats.damaged++;
		return;
	}
	timeline->other_ids |= has_other_ids(record);
	fields.event->tracepoint->take(timeline, &fields);
}
