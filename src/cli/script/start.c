/* SPDX-License-Identifier: MIT */
/* The start of a line: thread, CPU, time and others, up to the name of the event. */
#include <time.h>

#include "put.h"
#include "script.h"

/* Writes the name of a thread. The cleaned text is cached for the next sample of the same name. */
static char *put_comm(struct script *script, char *at, const struct script_start *start,
		      bool chains)
{
	const char *format = script->latency ? "%8.8s " : chains ? "%s " : "%16s ";
	struct script_comm *comm = &script->comm[chains];

	if (start->comm_index != comm->index) {
		char clean[SCRIPT_COMM_BYTES - 1]; /* a blank follows */

		perch_clean_text(start->comm, clean, sizeof(clean));
		comm->length = snprintf(comm->text, sizeof(comm->text), format, clean);
		comm->index = start->comm_index;
	}
	return put_bytes(at, comm->text, (size_t)comm->length);
}

/* Writes a letter for the kind of code, and those of flags of the record. */
static char *put_misc(char *at, const struct script_start *start)
{
	static const char modes[8] = { 0, 'K', 'U', 'H', 'G', 'g', 0, 0 };
	unsigned mode = start->misc & PERCH_MISC_CPUMODE_MASK;
	char *first = at;

	if (mode == PERCH_MISC_HYPERVISOR) /* its number has the bits of two others */
		at = put_bytes(at, "KU", 2);
	if (mode == PERCH_MISC_GUEST_USER)
		at = put_bytes(at, "KG", 2);
	if (modes[mode])
		*at++ = modes[mode];
	if ((start->type == PERCH_RECORD_MMAP || start->type == PERCH_RECORD_MMAP2) &&
	    start->misc & PERCH_MISC_MMAP_DATA)
		*at++ = 'M';
	if (start->type == PERCH_RECORD_COMM && start->misc & PERCH_MISC_COMM_EXEC)
		*at++ = 'E';
	if ((start->type == PERCH_RECORD_SWITCH || start->type == PERCH_RECORD_SWITCH_CPU_WIDE) &&
	    start->misc & PERCH_MISC_SWITCH_OUT) {
		*at++ = 'S';
		if (start->misc & PERCH_MISC_SWITCH_OUT_PREEMPT)
			*at++ = 'p';
	}
	return put_spaces(at, 6 - (int)(at - first));
}

static char *put_seconds(const struct script *script, char *at, uint64_t time)
{
	at = put_number(at, time / 1000000000, 1, 5);
	*at++ = '.';
	return script->ns ? put_number(at, time % 1000000000, 9, 0)
			  : put_number(at, time / 1000 % 1000000, 6, 0);
}

char *script_put_tod(const struct script *script, char *at, uint64_t time)
{
	uint64_t ns = 0;
	time_t seconds;
	struct tm local;

	perch_reader_time_of_day(perch_session_reader(script->session), time, &ns);
	seconds = (time_t)(ns / 1000000000);
	if (!localtime_r(&seconds, &local))
		return at;
	at += strftime(at, 64, "%F %H:%M:%S", &local);
	*at++ = '.';
	at = script->ns ? put_number(at, ns % 1000000000, 9, 0)
			: put_number(at, ns / 1000 % 1000000, 6, 0);
	*at++ = ' ';
	return at;
}

uint64_t script_relative_time(struct script *script, uint64_t time)
{
	uint64_t before = script->last_time;

	if (!before || script->deltatime)
		script->last_time = time;
	/* records of another clock may be earlier */
	return before && time > before ? time - before : 0;
}

char *script_put_start(struct script *script, const struct script_event *event,
		       const struct script_start *start, char *at)
{
	uint64_t fields = event->fields;

	if (fields & SCRIPT_COMM)
		at = put_comm(script, at, start, event->chain);
	if ((fields & (SCRIPT_PID | SCRIPT_TID)) == (SCRIPT_PID | SCRIPT_TID)) {
		char *end;

		at = put_signed(at, (int32_t)start->pid, 5);
		*at++ = '/';
		end = put_signed(at, (int32_t)start->tid, 0);
		at = put_spaces(end, 5 - (int)(end - at));
		*at++ = ' ';
	} else if (fields & (SCRIPT_PID | SCRIPT_TID)) {
		at = put_signed(at, (int32_t)(fields & SCRIPT_PID ? start->pid : start->tid), 5);
		*at++ = ' ';
	}
	if (fields & SCRIPT_CPU && script->latency) {
		at = put_number(at, start->cpu, 1, 3);
		*at++ = ' ';
	} else if (fields & SCRIPT_CPU) {
		*at++ = '[';
		at = put_number(at, start->cpu, 3, 0);
		at = put_bytes(at, "] ", 2);
	}
	if (fields & SCRIPT_MISC)
		at = put_misc(at, start);
	if (fields & SCRIPT_TOD)
		at = script_put_tod(script, at, start->time);
	if (fields & SCRIPT_TIME) {
		uint64_t time = start->time;

		if (script->reltime || script->deltatime)
			time = script_relative_time(script, time);
		at = put_bytes(put_seconds(script, at, time), ": ", 2);
	}
	return at;
}

struct script_start script_start_of(const struct perch_session_sample *sample)
{
	const struct perch_record *record = sample->record;

	return (struct script_start){
		.comm = perch_thread_comm(sample->thread),
		.comm_index = perch_thread_comm_index(sample->thread),
		.pid = record->sample.pid,
		.tid = record->sample.tid,
		.cpu = record->sample.cpu,
		.time = record->sample.time,
		.misc = record->misc,
		.type = PERCH_RECORD_SAMPLE,
		.period = record->sample.period,
	};
}

char *script_put_head(struct script *script, const struct script_event *event,
		      const struct script_start *start, char *at)
{
	at = script_put_start(script, event, start, at);
	if (event->fields & SCRIPT_PERIOD) {
		at = put_number(at, start->period, 1, 10);
		*at++ = ' ';
	}
	if (event->fields & SCRIPT_EVENT)
		at = put_bytes(at, event->name, (size_t)event->name_length);
	return at;
}
