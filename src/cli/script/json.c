/* SPDX-License-Identifier: MIT */
/*
 * A sample as a JSON object on one line. Keys are the names of -F. The JSON type of a key does not
 * depend on its value: addresses, masks and times are strings, because readers that store numbers
 * as doubles lose digits above 2^53.
 */
#include <errno.h>
#include <string.h>

#include "base/json_writer.h"
#include "script.h"

/* ---- frames ---- */

static void put_source(struct perch__json_writer *json, const struct script_event *event,
		       const struct perch_symbol_frame *frame)
{
	if (!(event->fields & SCRIPT_SRCLINE) || !frame->file || !frame->line)
		return;
	perch__json_put_text(json, "file", frame->file);
	perch__json_put_number(json, "line", frame->line);
}

/* Writes the function of an address. Returns 0 or -ENOMEM. */
static int put_function(struct script *script, struct perch__json_writer *json,
			const struct script_event *event, const struct perch_address *address,
			const struct perch_symbol_frame *frame)
{
	const char *path = script_dso_path(script, address->dso);

	if (!path)
		return -ENOMEM;
	if (event->fields & SCRIPT_SYM && address->symbol)
		perch__json_put_text(json, "sym",
				     perch_symbols_name(script->symbols, address->symbol));
	if (event->fields & SCRIPT_SYMOFF && address->symbol)
		perch__json_put_number(json, "symoff", address->offset - address->symbol->start);
	if (event->fields & SCRIPT_DSO && perch_dso_is(address->dso, PERCH_DSO_IS_MAPPED))
		perch__json_put_text(json, "dso", path);
	if (event->fields & SCRIPT_DSOFF && perch_dso_is(address->dso, PERCH_DSO_IS_FILE))
		perch__json_put_hex(json, "dsoff", address->offset);
	if (frame)
		put_source(json, event, frame);
	return 0;
}

/* Writes the functions that are inlined at an address, then the one that contains them. *stop: the
 * call chain ends here. */
static int put_frame(struct script *script, struct perch__json_writer *json,
		     const struct script_event *event, uint32_t number, uint64_t ip, bool is_return,
		     bool *stop)
{
	const struct perch_address named =
		script_named(script, perch_session_address(script->session, number), is_return);
	const struct perch_address *address = &named;
	const struct perch_symbol_frame *frame = NULL;
	int nr = 0, rc;

	if ((!script->no_inline || event->fields & SCRIPT_SRCLINE) &&
	    perch_symbols_has_debug_info(script->symbols, address->dso))
		nr = perch_symbols_frames(script->symbols, address->dso,
					  address->offset - (is_return && address->offset), &frame);
	if (nr < 0)
		return nr;
	*stop = false;
	for (int i = 0; i < nr - 1 && !script->no_inline && !*stop; i++) {
		perch__json_put_object(json, NULL);
		perch__json_put_hex(json, "ip", ip);
		if (event->fields & SCRIPT_SYM && frame[i].symbol)
			perch__json_put_text(json, "sym",
					     perch_symbols_name(script->symbols, frame[i].symbol));
		put_source(json, event, &frame[i]);
		perch__json_put_flag(json, "inlined", true);
		perch__json_end(json);
		*stop = script_stops_at(script, frame[i].symbol);
	}
	if (*stop)
		return 0;
	perch__json_put_object(json, NULL);
	perch__json_put_hex(json, "ip", ip);
	rc = put_function(script, json, event, address, nr ? &frame[nr - 1] : NULL);
	perch__json_end(json);
	*stop = script_stops_at(script, address->symbol);
	return rc;
}

/* Writes the call chain. Its first address is the sampled one. */
static int put_chain(struct script *script, struct perch__json_writer *json,
		     const struct script_event *event, const struct perch_session_sample *sample)
{
	const struct perch_record *record = sample->record;
	struct perch_chain_address address = { .ip = record->sample.ip };
	struct perch_chain chain;
	bool stop = false;
	char called = 0;
	int rc = 0;

	perch_chain_init(&chain, record);
	perch__json_put_array(json, "callchain");
	for (size_t i = 0;
	     i < sample->nr && !rc && !stop && (!script->max_stack || i < script->max_stack); i++) {
		char kind = perch_session_address(script->session, sample->chain[i])->cpumode_char;

		rc = put_frame(script, json, event, sample->chain[i], address.ip, kind == called,
			       &stop);
		called = script_called(event->has_calls, kind);
		if (!perch_chain_next(&chain, &address))
			break;
		/* most chains begin with the sampled address */
		if (!i && address.ip == record->sample.ip &&
		    address.cpumode == (record->misc & PERCH_MISC_CPUMODE_MASK) &&
		    !perch_chain_next(&chain, &address))
			break;
	}
	perch__json_end(json);
	if (sample->truncated && (!script->max_stack || sample->nr <= script->max_stack))
		perch__json_put_flag(json, "stack_truncated", true);
	return rc;
}

static int put_ip(struct script *script, struct perch__json_writer *json,
		  const struct script_event *event, const struct perch_session_sample *sample)
{
	const struct perch_address *address =
		perch_session_address(script->session, sample->chain[0]);
	const struct perch_symbol_frame *frame = NULL;
	int nr = 0, rc;

	perch__json_put_hex(json, "ip", sample->record->sample.ip);
	if (event->fields & SCRIPT_SRCLINE &&
	    perch_symbols_has_debug_info(script->symbols, address->dso))
		nr = perch_symbols_frames(script->symbols, address->dso, address->offset, &frame);
	if (nr < 0)
		return nr;
	rc = put_function(script, json, event, address, nr ? &frame[nr - 1] : NULL);
	if (!rc && event->chain)
		rc = put_chain(script, json, event, sample);
	return rc;
}

/* ---- other fields ---- */

/* Who and when. */
static void put_start(struct script *script, struct perch__json_writer *json,
		      const struct script_event *event, const struct perch_session_sample *sample)
{
	static const char *const modes[8] = { "unknown",      "kernel",	    "user",    "hypervisor",
					      "guest kernel", "guest user", "unknown", "unknown" };
	const struct perch_sample *values = &sample->record->sample;

	if (event->fields & SCRIPT_EVENT)
		perch__json_put_text(json, "event", event->event->name);
	if (event->fields & SCRIPT_COMM)
		perch__json_put_text(json, "comm", perch_thread_comm(sample->thread));
	if (event->fields & SCRIPT_PID)
		perch__json_put_signed(json, "pid", (int32_t)values->pid);
	if (event->fields & SCRIPT_TID)
		perch__json_put_signed(json, "tid", (int32_t)values->tid);
	if (event->fields & SCRIPT_CPU)
		perch__json_put_number(json, "cpu", values->cpu);
	if (event->fields & SCRIPT_MISC)
		perch__json_put_text(json, "misc",
				     modes[sample->record->misc & PERCH_MISC_CPUMODE_MASK]);
	if (event->fields & SCRIPT_TIME) {
		perch__json_key(json, "time");
		perch__json_decimal(json, script->reltime || script->deltatime
						  ? script_relative_time(script, values->time)
						  : values->time);
	}
	if (event->fields & SCRIPT_TOD) {
		char text[128];

		perch__json_key(json, "tod");
		perch__json_string(json, text,
				   (size_t)(script_put_tod(script, text, values->time) - text) - 1);
	}
	if (event->fields & SCRIPT_PERIOD)
		perch__json_put_number(json, "period", values->period);
}

/* The fields of a tracepoint, without the ones that all tracepoints have. */
static void put_trace(struct perch__json_writer *json, const struct script_event *event,
		      const struct perch_record *record)
{
	perch__json_put_object(json, "trace");
	perch_tracepoint_visit(event->format, record, perch__json_trace_field, json);
	perch__json_end(json);
}

static void put_registers(struct script *script, struct perch__json_writer *json, const char *name,
			  const struct perch_record *record, const struct perch_registers *regs)
{
	const uint64_t *value = regs->value;

	if (!regs->nr)
		return;
	perch__json_put_object(json, name);
	for (uint64_t mask = regs->mask; mask && value < regs->value + regs->nr; mask &= mask - 1) {
		unsigned bit = (unsigned)__builtin_ctzll(mask);
		const char *register_name = perch_register_name(script->arch, bit);
		char number[16];

		snprintf(number, sizeof(number), "R%u", bit);
		perch__json_put_hex(json, register_name ? register_name : number,
				    perch_word(record, value++));
	}
	perch__json_end(json);
}

/* Writes one end of a branch: its address as the key, and "from_sym", "from_symoff", "from_dso". */
static int put_branch_end(struct script *script, struct perch__json_writer *json,
			  const struct script_event *event,
			  const struct perch_session_sample *sample, const char *end,
			  uint64_t address)
{
	struct script_target target;
	char name[16];

	perch__json_put_hex(json, end, address);
	if (!(event->fields & (SCRIPT_BRSTACKSYM | SCRIPT_BRSTACKOFF)) || !address)
		return 0;
	if (script_resolve(script, sample, address, &target))
		return -ENOMEM;
	if (!perch_dso_is(target.location.dso, PERCH_DSO_IS_MAPPED))
		return 0;
	script_find_symbol(script, &target);
	if (event->fields & SCRIPT_BRSTACKSYM && target.symbol) {
		snprintf(name, sizeof(name), "%s_sym", end);
		perch__json_put_text(json, name,
				     perch_symbols_name(script->symbols, target.symbol));
		snprintf(name, sizeof(name), "%s_symoff", end);
		perch__json_put_number(json, name, target.location.offset - target.symbol->start);
	}
	snprintf(name, sizeof(name), "%s_dso", end);
	perch__json_put_text(json, name, target.dso);
	if (event->fields & SCRIPT_BRSTACKOFF &&
	    perch_dso_is(target.location.dso, PERCH_DSO_IS_FILE)) {
		snprintf(name, sizeof(name), "%s_dsoff", end);
		perch__json_put_hex(json, name, target.location.offset);
	}
	return 0;
}

static int put_branches(struct script *script, struct perch__json_writer *json,
			const struct script_event *event, const struct perch_session_sample *sample)
{
	perch__json_put_array(json, "brstack");
	for (uint64_t i = 0; i < sample->record->sample.branches.nr; i++) {
		struct perch_branch_entry entry;
		const char *type;

		perch_branch_at(sample->record, i, &entry);
		perch__json_put_object(json, NULL);
		if (put_branch_end(script, json, event, sample, "from", entry.from) ||
		    put_branch_end(script, json, event, sample, "to", entry.to))
			return -ENOMEM;
		if (entry.predicted)
			perch__json_put_flag(json, "predicted", true);
		if (entry.mispred)
			perch__json_put_flag(json, "mispredicted", true);
		if (entry.in_tx)
			perch__json_put_flag(json, "in_tx", true);
		if (entry.abort)
			perch__json_put_flag(json, "abort", true);
		perch__json_put_number(json, "cycles", entry.cycles);
		type = script_branch_type(&entry);
		if (*type)
			perch__json_put_text(json, "type", type);
		perch__json_end(json);
	}
	perch__json_end(json);
	return 0;
}

/* Writes the sampled instruction: its bytes, in hexadecimal, and its text, if they are known. */
static int put_instruction(struct script *script, struct perch__json_writer *json,
			   const struct script_event *event,
			   const struct perch_session_sample *sample)
{
	struct script_instruction instruction;
	int rc = script_find_instruction(script, event, sample, &instruction);
	char text[SCRIPT_MAX_ASSEMBLY], *end = text;

	if (rc || !instruction.length)
		return rc;
	if (event->fields & SCRIPT_INSN) {
		perch__json_key(json, "insn");
		perch__json_hex_bytes(json, instruction.bytes, instruction.length);
	}
	if (event->fields & SCRIPT_INSNLEN)
		perch__json_put_number(json, "insnlen", instruction.length);
	if (!instruction.assembly)
		return 0;
	rc = script_put_assembly(script, sample, instruction.assembly, &end);
	*end = 0;
	if (!rc)
		perch__json_put_text(json, "disasm", text);
	return rc;
}

/* The path of the cgroup, if it is in the recording. */
static void put_cgroup(struct script *script, struct perch__json_writer *json, uint64_t id)
{
	const char *name =
		perch_processes_cgroup_name(perch_session_processes(script->session), id);

	perch__json_put_number(json, "cgroup_id", id);
	if (name)
		perch__json_put_text(json, "cgroup", name);
}

static void put_memory(struct perch__json_writer *json, const struct script_event *event,
		       const struct perch_sample *values)
{
	union perch_sample_weight weight = { .full = values->weight };
	bool parts = event->event->attr.sample_type & PERCH_SAMPLE_WEIGHT_STRUCT;
	char text[512];

	if (event->fields & SCRIPT_ADDR)
		perch__json_put_hex(json, "addr", values->addr);
	if (event->fields & SCRIPT_PHYS_ADDR)
		perch__json_put_hex(json, "phys_addr", values->phys_addr);
	if (event->fields & SCRIPT_DATA_SRC) {
		perch_format_data_src(values->data_src, text, sizeof(text));
		perch__json_put_hex(json, "data_src", values->data_src);
		perch__json_put_text(json, "data_src_text", text);
	}
	if (event->fields & SCRIPT_WEIGHT)
		perch__json_put_number(json, "weight", parts ? weight.var1_dw : weight.full);
	if (event->fields & SCRIPT_INS_LAT)
		perch__json_put_number(json, "ins_lat", weight.var2_w);
	if (event->fields & SCRIPT_RETIRE_LAT)
		perch__json_put_number(json, "retire_lat", weight.var3_w);
	if (event->fields & SCRIPT_TRANSACTION) {
		perch_format_transaction(values->transaction, text, sizeof(text));
		perch__json_put_hex(json, "transaction", values->transaction);
		perch__json_put_text(json, "transaction_text", text);
	}
	if (event->fields & SCRIPT_DATA_PAGE_SIZE)
		perch__json_put_number(json, "data_page_size", values->data_page_size);
	if (event->fields & SCRIPT_CODE_PAGE_SIZE)
		perch__json_put_number(json, "code_page_size", values->code_page_size);
}

static int put_waker(struct script *script, struct perch__json_writer *json,
		     const struct script_event *event, const struct perch_off_cpu *off_cpu,
		     const struct perch_record *record)
{
	struct perch_session_sample waker;
	int rc = 0;

	if (perch_session_resolve_waker(script->session, record, &waker, NULL) < 0)
		return -ENOMEM;
	perch__json_put_object(json, "waker");
	perch__json_put_text(json, "comm", perch_thread_comm(waker.thread));
	perch__json_put_number(json, "pid", off_cpu->waker_pid);
	perch__json_put_number(json, "tid", off_cpu->waker_tid);
	perch__json_put_flag(json, "interrupt", off_cpu->flags & PERCH_OFF_CPU_WOKEN_BY_INTERRUPT);
	if (event->chain)
		rc = put_chain(script, json, event, &waker);
	perch__json_end(json);
	return rc;
}

static int put_bpf_output(struct script *script, struct perch__json_writer *json,
			  const struct script_event *event, const struct perch_record *record)
{
	struct perch_off_cpu off_cpu;
	int rc = 0;

	if (!perch_session_off_cpu(script->session, record, &off_cpu)) {
		perch__json_key(json, "bpf-output");
		perch__json_hex_bytes(json, record->sample.raw.data, record->sample.raw.size);
		return 0;
	}
	perch__json_put_object(json, "off-cpu");
	perch__json_put_text(json, "state", perch_off_cpu_state_name(off_cpu.state));
	if (off_cpu.intervals) { /* not of perf */
		perch__json_put_number(json, "intervals", off_cpu.intervals);
		perch__json_put_integer(json, "start", off_cpu.start);
	}
	perch__json_put_flag(json, "began-before", off_cpu.flags & PERCH_OFF_CPU_BEGAN_BEFORE);
	perch__json_put_flag(json, "ended", !(off_cpu.flags & PERCH_OFF_CPU_NOT_ENDED));
	if (off_cpu.flags & PERCH_OFF_CPU_WOKEN)
		rc = put_waker(script, json, event, &off_cpu, record);
	perch__json_end(json);
	return rc;
}

int script_put_json(struct script *script, const struct perch_session_sample *sample)
{
	struct script_event *event = script_event_of(script, sample->record);
	const struct perch_record *record = sample->record;
	struct perch__json_writer json = { .out = event->out };
	int rc = 0;

	if (!event->fields)
		return 0;
	event->samples++;
	perch__json_begin_object(&json);
	put_start(script, &json, event, sample);
	if (event->fields & SCRIPT_TRACE && event->format)
		put_trace(&json, event, record);
	else if (event->fields & SCRIPT_TRACE && event->type == SCRIPT_TRACEPOINT)
		script->unformatted++;
	put_memory(&json, event, &record->sample);
	if (event->fields & SCRIPT_CGROUP)
		put_cgroup(script, &json, record->sample.cgroup);
	if (event->fields & SCRIPT_IP)
		rc = put_ip(script, &json, event, sample);
	if (!rc && event->fields & (SCRIPT_INSN | SCRIPT_INSNLEN | SCRIPT_DISASM))
		rc = put_instruction(script, &json, event, sample);
	if (event->fields & SCRIPT_IREGS)
		put_registers(script, &json, "iregs", record, &record->sample.regs_intr);
	if (event->fields & SCRIPT_UREGS)
		put_registers(script, &json, "uregs", record, &record->sample.regs_user);
	if (!rc && event->fields & (SCRIPT_BRSTACK | SCRIPT_BRSTACKSYM | SCRIPT_BRSTACKOFF))
		rc = put_branches(script, &json, event, sample);
	if (!rc && event->fields & SCRIPT_BPF_OUTPUT)
		rc = put_bpf_output(script, &json, event, record);
	perch__json_end(&json);
	perch__output_bytes(event->out, "\n", 1);
	return rc;
}
