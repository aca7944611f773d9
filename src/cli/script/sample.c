/* SPDX-License-Identifier: MIT */
/* Prints a sample as text. */
#include <errno.h>

#include "put.h"
#include "script.h"

static int put_addr(struct script *script, const struct script_event *event,
		    const struct perch_session_sample *sample)
{
	uint64_t addr = sample->record->sample.addr;

	perch__output_end(event->out, put_hex(perch__output_reserve(event->out, 32), addr, 16));
	return event->correlates ? script_put_location(script, event, sample, addr) : 0;
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
	return event->chain ? script_put_chain(script, event, sample) : put_single(event, sample);
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
	int rc;

	if (event->fields & SCRIPT_IREGS)
		script_put_registers(script, out, record, &record->sample.regs_intr);
	if (event->fields & SCRIPT_UREGS)
		script_put_registers(script, out, record, &record->sample.regs_user);
	if (event->fields & (SCRIPT_BRSTACK | SCRIPT_BRSTACKSYM | SCRIPT_BRSTACKOFF) &&
	    script_put_branches(script, event, sample))
		return -ENOMEM;
	if (event->fields & SCRIPT_BPF_OUTPUT &&
	    event->event->attr.config == PERCH_COUNT_SW_BPF_OUTPUT &&
	    event->type == SCRIPT_SOFTWARE) {
		rc = script_put_off_cpu(script, event, record);
		if (rc < 0)
			return rc;
		if (!rc)
			script_put_bpf_output(out, record);
	}
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
	struct script_start start;
	char *at;

	if (!event->fields)
		return 0;
	event->samples++;
	if (event->queued) {
		size_t nr = sample->nr;

		if (script->max_stack && nr > script->max_stack)
			nr = (size_t)script->max_stack;
		return script_queue_add(script->queue, event, sample, nr);
	}
	if (script_queue_flush(script->queue))
		return -ENOMEM;
	at = perch__output_reserve(event->out, SCRIPT_START_BYTES);
	start = script_start_of(sample);
	at = script_put_head(script, event, &start, at);
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
