/* SPDX-License-Identifier: MIT */
/* Prints a sample as text. */
#include <errno.h>
#include <time.h>

#include "put.h"
#include "script.h"

/* ---- the start of a line ---- */

/* Writes the name of a thread. The cleaned text is cached for the next sample of the same name. */
static char *put_comm(struct script *script, char *at, const struct perch_thread *thread,
		      bool chains)
{
	const char *format = script->latency ? "%8.8s " : chains ? "%s " : "%16s ";
	uint32_t index = thread ? perch_thread_comm_index(thread) : UINT32_MAX;
	struct script_comm *comm = &script->comm[chains];

	if (index != comm->index || !thread) {
		char clean[64];

		perch_clean_text(thread ? perch_thread_comm(thread) : ":-1", clean, sizeof(clean));
		comm->length = snprintf(comm->text, sizeof(comm->text), format, clean);
		comm->index = index;
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
		*at++ = 'K';
	if (mode == PERCH_MISC_GUEST_USER)
		*at++ = 'G';
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
	uint64_t ns = script->tod_ns + (time - script->clock_ns);
	time_t seconds = (time_t)(ns / 1000000000);
	struct tm local;

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
		at = put_comm(script, at, start->thread, event->chain);
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

/* ---- the rest ---- */

struct script_start script_start_of(const struct perch_session_sample *sample)
{
	const struct perch_record *record = sample->record;

	return (struct script_start){
		.thread = sample->thread,
		.pid = record->sample.pid,
		.tid = record->sample.tid,
		.cpu = record->sample.cpu,
		.time = record->sample.time,
		.misc = record->misc,
		.type = PERCH_RECORD_SAMPLE,
	};
}

/* Writes the start up to the name of the event: "gcc 19780 [001]  4525.042075: 200000 cpu-clock:".
 */
static char *put_head(struct script *script, const struct script_event *event,
		      const struct perch_session_sample *sample, char *at)
{
	const struct perch_record *record = sample->record;
	const struct script_start start = script_start_of(sample);

	at = script_put_start(script, event, &start, at);
	if (event->fields & SCRIPT_PERIOD) {
		at = put_number(at, record->sample.period, 1, 10);
		*at++ = ' ';
	}
	if (event->fields & SCRIPT_EVENT)
		at = put_bytes(at, event->name, (size_t)event->name_length);
	return at;
}

static int put_addr(struct script *script, const struct script_event *event,
		    const struct perch_session_sample *sample)
{
	uint64_t addr = sample->record->sample.addr;

	perch__output_end(event->out, put_hex(perch__output_reserve(event->out, 32), addr, 16));
	return event->correlates ? script_put_location(script, event, sample, addr) : 0;
}

/* Writes the call chain, each frame on its line. */
static int put_chain(struct script *script, const struct script_event *event,
		     const struct perch_session_sample *sample)
{
	size_t nr = sample->nr;
	char called = 0;

	if (script->max_stack && nr > script->max_stack)
		nr = (size_t)script->max_stack;
	perch__output_bytes(event->out, "\n", 1);
	for (size_t i = 0; i < nr; i++) {
		const struct script_line *line =
			script_lines_chain(event->lines, sample->chain[i], called);

		if (!line)
			return -ENOMEM;
		called = script_called(event->has_calls, line->cpumode_char);
		perch__output_bytes(event->out, line->text, line->length);
		if (line->stop)
			break;
		if (sample->truncated && i + 1 == sample->nr)
			perch__output_bytes(event->out, event->lines->truncated,
					    event->lines->truncated_length);
	}
	return 0;
}

/* Writes the sampled address on the line of the sample. */
static int put_single(const struct script_event *event, const struct perch_session_sample *sample)
{
	const struct script_line *line = script_lines_single(event->lines, sample->chain[0]);
	char *at;

	if (!line)
		return -ENOMEM;
	at = perch__output_reserve(event->out, 32 + (size_t)line->length);
	*at++ = ' ';
	at = put_hex(at, sample->record->sample.ip, 16);
	perch__output_end(event->out, put_bytes(at, line->text, line->length));
	return 0;
}

static int put_ip(struct script *script, const struct script_event *event,
		  const struct perch_session_sample *sample)
{
	return event->chain ? put_chain(script, event, sample) : put_single(event, sample);
}

static void put_column(struct perch__output *out, uint64_t number)
{
	perch__output_end(out, put_number(perch__output_reserve(out, 32), number, 1, 16));
}

/* The weights are one number, or three of them, by the type of the sample. */
static void put_weights(const struct script_event *event, const struct perch_record *record)
{
	union perch_sample_weight weight = { .full = record->sample.weight };
	bool parts = event->event->attr.sample_type & PERCH_SAMPLE_WEIGHT_STRUCT;

	if (event->fields & SCRIPT_WEIGHT)
		put_column(event->out, parts ? weight.var1_dw : weight.full);
	if (event->fields & SCRIPT_INS_LAT)
		put_column(event->out, weight.var2_w);
	if (event->fields & SCRIPT_RETIRE_LAT)
		put_column(event->out, weight.var3_w);
}

/* Fields between the name of the event and the address. */
static int put_before_ip(struct script *script, const struct script_event *event,
			 const struct perch_session_sample *sample)
{
	const struct perch_record *record = sample->record;
	char text[512];

	if (event->fields & SCRIPT_FLAGS) /* only instruction traces have some */
		perch__output_spaces(event->out, 24);
	if (event->fields & SCRIPT_TRACE && event->type == SCRIPT_TRACEPOINT &&
	    script_put_trace(script, event, record))
		return -ENOMEM;
	if (event->fields & SCRIPT_ADDR && put_addr(script, event, sample))
		return -ENOMEM;
	if (event->fields & SCRIPT_DATA_SRC)
		script_put_data_src(script, event->out, record->sample.data_src);
	put_weights(event, record);
	if (event->fields & SCRIPT_TRANSACTION) {
		perch_format_transaction(record->sample.transaction, text, sizeof(text));
		perch__output_bytes(event->out, " ", 1);
		perch__output_text(event->out, text);
	}
	if (event->fields & SCRIPT_CGROUP) {
		const char *name = perch_processes_cgroup_name(
			perch_session_processes(script->session), record->sample.cgroup);

		perch__output_bytes(event->out, " ", 1);
		if (!name)
			name = "unknown";
		perch__output_clean(event->out, name, strlen(name));
	}
	return 0;
}

#define INSTRUCTIONS (SCRIPT_INSN | SCRIPT_INSNLEN | SCRIPT_DISASM | SCRIPT_PATH)

/* Fields after the address. */
static int put_after_ip(struct script *script, const struct script_event *event,
			const struct perch_session_sample *sample)
{
	const struct perch_record *record = sample->record;
	struct perch__output *out = event->out;

	if (event->fields & SCRIPT_IREGS)
		script_put_registers(script, out, record, &record->sample.regs_intr);
	if (event->fields & SCRIPT_UREGS)
		script_put_registers(script, out, record, &record->sample.regs_user);
	if (event->fields & (SCRIPT_BRSTACK | SCRIPT_BRSTACKSYM | SCRIPT_BRSTACKOFF) &&
	    script_put_branches(script, event, sample))
		return -ENOMEM;
	if (event->fields & SCRIPT_BPF_OUTPUT &&
	    event->event->attr.config == PERCH_COUNT_SW_BPF_OUTPUT &&
	    event->type == SCRIPT_SOFTWARE)
		script_put_bpf_output(out, record);
	if (event->fields & INSTRUCTIONS && script_put_instructions(script, event, sample))
		return -ENOMEM;
	if (event->fields & SCRIPT_PHYS_ADDR)
		perch__output_end(out, put_hex(perch__output_reserve(out, 32),
					       record->sample.phys_addr, 16));
	if (event->fields & SCRIPT_DATA_PAGE_SIZE)
		script_put_page_size(out, record->sample.data_page_size);
	if (event->fields & SCRIPT_CODE_PAGE_SIZE)
		script_put_page_size(out, record->sample.code_page_size);
	return 0;
}

/* Writes "from => to" of a sample that is a branch. */
static int put_branch(struct script *script, const struct script_event *event,
		      const struct perch_session_sample *sample)
{
	if (event->fields & SCRIPT_IP && put_ip(script, event, sample))
		return -ENOMEM;
	if (event->event->attr.sample_type & PERCH_SAMPLE_ADDR &&
	    (event->fields & SCRIPT_ADDR || !script->fields.type[event->type].set)) {
		perch__output_bytes(event->out, " => ", 4);
		return put_addr(script, event, sample);
	}
	return 0;
}

#define BEFORE_IP                                                                      \
	(SCRIPT_FLAGS | SCRIPT_TRACE | SCRIPT_ADDR | SCRIPT_DATA_SRC | SCRIPT_WEIGHT | \
	 SCRIPT_INS_LAT | SCRIPT_RETIRE_LAT | SCRIPT_TRANSACTION | SCRIPT_CGROUP)
#define AFTER_IP                                                                                \
	(SCRIPT_IREGS | SCRIPT_UREGS | SCRIPT_BRSTACK | SCRIPT_BRSTACKSYM | SCRIPT_BRSTACKOFF | \
	 SCRIPT_BPF_OUTPUT | SCRIPT_PHYS_ADDR | SCRIPT_DATA_PAGE_SIZE | SCRIPT_CODE_PAGE_SIZE | \
	 INSTRUCTIONS)

bool script_is_queued(const struct script_event *event)
{
	return event->chain && !event->branches &&
	       !(event->fields & (BEFORE_IP | AFTER_IP | SCRIPT_SRCCODE | SCRIPT_METRIC));
}

int script_put_sample(struct script *script, const struct perch_session_sample *sample)
{
	struct script_event *event = script_event_of(script, sample->record);
	char *at;

	if (!event->fields)
		return 0;
	event->samples++;
	if (event->queued) {
		size_t nr = sample->nr;

		if (script->max_stack && nr > script->max_stack)
			nr = (size_t)script->max_stack;
		at = put_head(script, event, sample, script_queue_head(script->queue));
		return script_queue_add(script->queue, event, at, sample->chain, nr,
					sample->truncated && nr == sample->nr);
	}
	if (script_queue_flush(script->queue))
		return -ENOMEM;
	at = perch__output_reserve(event->out, SCRIPT_START_BYTES);
	at = put_head(script, event, sample, at);
	/* perf has a space after the name of the event, also at the end of the line */
	if (event->fields & SCRIPT_EVENT && (!event->chain || event->fields & BEFORE_IP))
		*at++ = ' ';
	perch__output_end(event->out, at);
	if (event->branches) {
		if (put_branch(script, event, sample))
			return -ENOMEM;
	} else {
		if (event->fields & BEFORE_IP && put_before_ip(script, event, sample))
			return -ENOMEM;
		if (event->fields & SCRIPT_IP && put_ip(script, event, sample))
			return -ENOMEM;
		if (event->fields & AFTER_IP && put_after_ip(script, event, sample))
			return -ENOMEM;
	}
	perch__output_bytes(event->out, "\n", 1);
	return event->fields & SCRIPT_SRCCODE ? script_put_source_line(script, event, sample) : 0;
}
