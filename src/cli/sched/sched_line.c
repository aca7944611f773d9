/* SPDX-License-Identifier: MIT */
/* The lines of timehist, with the columns of perf; as JSON, or as fields. */
#include <inttypes.h>
#include <string.h>

#include "script/put.h"
#include "timehist.h"

#define TASK_WIDTH 30
#define LINE_BYTES (4096 + 8192) /* with a column for each of 4096 CPUs */

static bool for_programs(const struct timehist *timehist)
{
	return timehist->reading.json || timehist->reading.separator;
}

/* ---- the head ---- */

static void print_fields_head(struct timehist *timehist)
{
	static const char *const names[] = { "event",	  "time",   "cpu",	"comm",
					     "tid",	  "pid",    "priority", "wait_ns",
					     "delay_ns",  "run_ns", "state",	"other_comm",
					     "other_tid", "to_cpu", "uncertain" };

	for (size_t i = 0; i < CLI_NR(names); i++)
		sched_printf(&timehist->reading, "%s%s", i ? timehist->reading.separator : "",
			     names[i]);
	sched_printf(&timehist->reading, "\n");
}

static int nr_visual(const struct timehist *timehist)
{
	return timehist->cpu_visual ? (int)timehist->reading.nr_cpus : 0;
}

/* The part of a line of the head that options add: before or behind the name. */
static void print_visual_head(struct timehist *timehist, char character)
{
	struct sched_reading *reading = &timehist->reading;

	if (!timehist->cpu_visual)
		return;
	sched_printf(reading, " ");
	for (int i = 0; i < nr_visual(timehist); i++)
		sched_printf(reading, "%c", character ? character : "0123456789abcdef"[i % 16]);
	sched_printf(reading, " ");
}

static void print_optional_head(struct timehist *timehist, const char *before, const char *state)
{
	if (timehist->before_migration)
		sched_printf(&timehist->reading, "  %12s", before);
	if (timehist->state)
		sched_printf(&timehist->reading, "  %5s", state);
}

void timehist_print_head(struct timehist *timehist)
{
	struct sched_reading *reading = &timehist->reading;
	const char *priority = timehist->show_priority ? "prio      " : "";
	int width = timehist->show_priority ? 10 : 0;

	if (reading->json) {
		perch__json_begin_array(&reading->writer);
		return;
	}
	if (reading->separator) {
		print_fields_head(timehist);
		return;
	}
	sched_printf(reading, "%15s  %5s ", "time", "cpu");
	print_visual_head(timehist, 0);
	sched_printf(reading, " %-30s  %s%9s  %9s  %9s", "task name", priority, "wait time",
		     "sch delay", "run time");
	print_optional_head(timehist, "pre-mig time", "state");
	sched_printf(reading, "\n%15s  %5s ", "", "");
	print_visual_head(timehist, ' ');
	sched_printf(reading, " %-30s  %*s%9s  %9s  %9s", "[tid/pid]", width, "", "(msec)",
		     "(msec)", "(msec)");
	print_optional_head(timehist, "(msec)", "");
	sched_printf(reading, "\n--------------- ------ ");
	print_visual_head(timehist, '-');
	sched_printf(reading, " ------------------------------  %s---------  ---------  ---------",
		     timehist->show_priority ? "--------  " : "");
	print_optional_head(timehist, "------------", "-----");
	sched_printf(reading, "\n");
}

/* ---- lines ---- */

/* "  37251.722095 [0000]  " and a column for each CPU. */
static char *put_start(struct timehist *timehist, char *at, uint64_t time, uint32_t cpu,
		       uint32_t marked, char mark)
{
	uint64_t second = time / 1000000000;
	uint32_t us = (uint32_t)(time % 1000000000 / 1000);

	/* most lines are of the second of the line before */
	if (!timehist->second_length || timehist->second != second) {
		timehist->second = second;
		timehist->second_length = (size_t)(put_number(timehist->second_text, second, 1, 8) -
						   timehist->second_text);
	}
	memcpy(at, timehist->second_text, sizeof(timehist->second_text));
	at += timehist->second_length;
	*at++ = '.';
	at = put_thousandths(put_thousandths(at, us / 1000), us % 1000);
	at = put_bytes(at, " [", 2);
	at = cpu == UINT32_MAX ? put_text(at, "   -") : put_number(at, cpu, 4, 0);
	at = put_bytes(at, "] ", 2);
	if (timehist->cpu_visual) {
		*at++ = ' ';
		for (uint32_t i = 0; i < timehist->reading.nr_cpus; i++)
			*at++ = i == marked ? mark : ' ';
		*at++ = ' ';
	}
	return put_bytes(at, " ", 1);
}

/* Threads are printed many times: their text is made once, and filled with spaces. */
static const struct timehist_task *find_task(struct timehist *timehist,
					     const struct perch_timeline_thread *thread)
{
	struct timehist_task *task =
		&timehist->task[(thread->tid ? thread->tid : ~thread->cpu) % TIMEHIST_TASKS];

	if (task->length && task->tid == thread->tid && task->pid == thread->pid &&
	    !memcmp(task->name, thread->name, sizeof(task->name)))
		return task;
	task->tid = thread->tid;
	task->pid = thread->pid;
	memcpy(task->name, thread->name, sizeof(task->name));
	sched_put_task(task->text, thread);
	task->length = (uint32_t)strlen(task->text);
	memset(task->text + task->length, ' ', sizeof(task->text) - task->length);
	return task;
}

static char *put_task(struct timehist *timehist, char *at,
		      const struct perch_timeline_thread *thread, uint32_t width)
{
	const struct timehist_task *task = find_task(timehist, thread);

	memcpy(at, task->text, sizeof(task->text));
	return at + (task->length < width ? width : task->length);
}

/* "    0.019", as perf without rounding. Most times are below 1 s. */
static inline __attribute__((always_inline)) char *put_ms(char *at, uint64_t ns, int width)
{
	uint32_t us;

	if (__builtin_expect(ns >= 1000000000, 0)) {
		at = put_number(at, ns / 1000000, 1, width - 4);
		us = (uint32_t)(ns / 1000 % 1000);
	} else {
		uint32_t ms = (uint32_t)ns / 1000000;

		us = (uint32_t)ns / 1000;
		memset(at, ' ', (size_t)width);
		at += width - 4;
		put_thousandths(at - 3, ms);
		if (ms < 100)
			at[-3] = ' ';
		if (ms < 10)
			at[-2] = ' ';
		us %= 1000;
	}
	*at++ = '.';
	return put_thousandths(at, us);
}

/* ---- call chains ---- */

/* Each switch has these functions, which say nothing; perf leaves them out, too. */
static bool is_scheduler(const char *name)
{
	return !strcmp(name, "schedule") || !strcmp(name, "__schedule") ||
	       !strcmp(name, "preempt_schedule") || !strcmp(name, "perf_trace_sched_switch") ||
	       !strcmp(name, "__traceiter_sched_switch");
}

static void print_chain(struct timehist *timehist)
{
	struct perch__output *out = &timehist->reading.out;
	struct perch_session *session = timehist->reading.input.session;
	const struct perch_record *record = &timehist->reading.record;
	struct perch_session_sample sample;
	size_t nr = 0;

	if (timehist->no_chains || !record->sample.callchain.nr ||
	    perch_session_resolve(session, record, &sample, NULL))
		return;
	perch__output_spaces(out, 2);
	for (size_t i = 1; i < sample.nr && nr < timehist->max_stack; i++) {
		const struct perch_address *address =
			perch_session_address(session, sample.chain[i]);
		char name[256] = "[unknown]";

		if (address->symbol)
			perch_clean_text(address->symbol->name, name, sizeof(name));
		if (is_scheduler(name))
			continue;
		perch__output_text(out, nr++ ? " <- " : "");
		perch__output_text(out, name);
	}
}

static bool is_of_thread(const struct perch_record *record,
			 const struct perch_timeline_thread *thread)
{
	return record->type == PERCH_RECORD_SAMPLE && record->sample.tid == thread->tid;
}

/* ---- runs ---- */

static uint64_t run_of(const struct perch_timeline_interval *interval)
{
	return interval->flags & PERCH_TIMELINE_BEGAN_BEFORE ? 0 : interval->end - interval->start;
}

static const struct perch_timeline_thread *next_of(const struct timehist *timehist,
						   const struct perch_timeline_interval *interval)
{
	return interval->next_tid == UINT32_MAX
		       ? NULL
		       : perch_timeline_find(timehist->reading.timeline, interval->next_tid,
					     interval->cpu);
}

/* The state of the thread from now on. */
static char state_after(const struct perch_timeline_interval *interval)
{
	return interval->next_letter ? (char)interval->next_letter : '-';
}

/* An event for programs. other: the thread that runs next or is woken; NULL: none. */
static void print_event(struct timehist *timehist, const char *event, uint64_t time, uint32_t cpu,
			const struct perch_timeline_thread *thread,
			const struct timehist_wait *wait, uint64_t run, char state,
			const struct perch_timeline_thread *other, uint32_t to_cpu, bool uncertain)
{
	struct perch__json_writer *json = &timehist->reading.writer;
	uint64_t off = wait ? wait->sleep + wait->io + wait->preempt : 0;
	const char *between = timehist->reading.separator;
	char name[SCHED_NAME_BYTES], other_name[SCHED_NAME_BYTES] = "", letter[2] = { state };

	sched_put_field(&timehist->reading, name, thread);
	if (other)
		sched_put_field(&timehist->reading, other_name, other);
	if (!timehist->reading.json) {
		sched_printf(&timehist->reading,
			     "%s%s%" PRIu64 "%s%" PRIi32 "%s%s%s%" PRIu32 "%s%" PRIu32 "%s%" PRIi32
			     "%s%" PRIu64 "%s%" PRIu64 "%s%" PRIu64 "%s%s%s%s%s%" PRIi32
			     "%s%" PRIi32 "%s%d\n",
			     event, between, time, between, (int32_t)cpu, between, name, between,
			     thread->tid, between, thread->pid, between, thread->priority, between,
			     off, between, wait ? wait->delay : 0, between, run, between, letter,
			     between, other_name, between, other ? (int32_t)other->tid : -1,
			     between, (int32_t)to_cpu, between, uncertain);
		return;
	}
	perch__json_put_object(json, NULL);
	perch__json_put_text(json, "event", event);
	perch__json_put_integer(json, "time", time);
	perch__json_put_signed(json, "cpu", (int32_t)cpu);
	perch__json_put_text(json, "comm", name);
	perch__json_put_number(json, "tid", thread->tid);
	perch__json_put_number(json, "pid", thread->pid);
	if (wait) {
		perch__json_put_signed(json, "priority", thread->priority);
		perch__json_put_number(json, "wait_ns", off);
		perch__json_put_number(json, "delay_ns", wait->delay);
		perch__json_put_number(json, "run_ns", run);
		perch__json_put_text(json, "state", letter);
	}
	if (other) {
		perch__json_put_text(json, "other_comm", other_name);
		perch__json_put_number(json, "other_tid", other->tid);
	}
	if (to_cpu != UINT32_MAX)
		perch__json_put_number(json, "to_cpu", to_cpu);
	if (uncertain)
		perch__json_put_flag(json, "uncertain", true);
	perch__json_end(json);
}

void timehist_print_run(struct timehist *timehist, const struct perch_timeline_interval *interval,
			const struct timehist_wait *wait)
{
	const struct perch_timeline_thread *thread = interval->thread, *next;
	bool uncertain = wait->uncertain || interval->flags & PERCH_TIMELINE_UNCERTAIN;
	char *at;

	next = timehist->next || for_programs(timehist) ? next_of(timehist, interval) : NULL;
	if (for_programs(timehist)) {
		print_event(timehist, "run", interval->end, interval->cpu, thread, wait,
			    run_of(interval), state_after(interval), next, UINT32_MAX, uncertain);
		return;
	}
	at = perch__output_reserve(&timehist->reading.out, LINE_BYTES);
	at = put_start(timehist, at, interval->end, interval->cpu, interval->cpu,
		       thread->tid ? 's' : 'i');
	at = put_task(timehist, at, thread, TASK_WIDTH);
	if (timehist->show_priority)
		at = put_signed(put_bytes(at, "  ", 2), thread->priority, 8);
	at = put_ms(at, wait->sleep + wait->io + wait->preempt, 11);
	at = put_ms(at, wait->delay, 11);
	at = put_ms(at, run_of(interval), 11);
	if (timehist->before_migration)
		at = put_ms(at, wait->before_migration, 14);
	if (timehist->state) {
		at = put_spaces(at, 6);
		*at++ = state_after(interval);
	}
	*at++ = uncertain ? '?' : ' ';
	if (next) {
		at = put_text(at, " next: ");
		at = put_task(timehist, at, next, SCHED_TASK_WIDTH);
	}
	perch__output_end(&timehist->reading.out, at);
	if (is_of_thread(&timehist->reading.record, thread))
		print_chain(timehist);
	perch__output_char(&timehist->reading.out, '\n');
}

/* ---- edges ---- */

void timehist_print_edge(struct timehist *timehist, const struct perch_timeline_edge *edge)
{
	bool wakeup = edge->event == PERCH_TIMELINE_WAKEUP;
	const struct perch_sample_id *here = &timehist->reading.record.sample_id;
	const struct perch_timeline_thread unknown = { .tid = edge->other_tid,
						       .pid = edge->other_pid };
	const struct perch_timeline_thread *other =
		perch_timeline_find(timehist->reading.timeline, edge->other_tid, here->cpu);
	char *at;

	if (!other)
		other = &unknown;
	if (for_programs(timehist)) {
		print_event(timehist, wakeup ? "wakeup" : "migration", edge->time, here->cpu, other,
			    NULL, 0, 0, edge->thread, edge->cpu, false);
		return;
	}
	at = perch__output_reserve(&timehist->reading.out, LINE_BYTES);
	at = put_start(timehist, at, edge->time, here->cpu, wakeup ? UINT32_MAX : here->cpu, 'm');
	at = put_task(timehist, at, other, TASK_WIDTH);
	at = put_spaces(at, timehist->show_priority ? 45 : 35);
	at = put_text(at, wakeup ? "awakened: " : "migrated: ");
	at = put_task(timehist, at, edge->thread, 0);
	if (!wakeup) {
		at = put_number(put_text(at, " cpu "), edge->from_cpu, 1, 0);
		at = put_number(put_text(at, " => "), edge->cpu, 1, 0);
	}
	*at++ = '\n';
	perch__output_end(&timehist->reading.out, at);
}

void timehist_print_lost(struct timehist *timehist, const struct perch_record *record)
{
	if (timehist->summary_only)
		return;
	sched_printf(&timehist->reading,
		     "%8" PRIu64 ".%06" PRIu64 " lost %" PRIu64 " events on cpu %" PRIu32 "\n",
		     record->sample_id.time / 1000000000, record->sample_id.time / 1000 % 1000000,
		     record->lost.lost, record->sample_id.cpu);
}
