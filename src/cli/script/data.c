/* SPDX-License-Identifier: MIT */
/* Registers, memory accesses, page sizes, branches and BPF output of a sample, as perf prints them.
 */
#include <errno.h>
#include <string.h>
#include <perch/fields.h>

#include "options.h"
#include "put.h"
#include "script.h"

/* ---- registers ---- */

/* Writes the name of a register. perf has those of x86 in capital letters. */
static char *put_register(const struct script *script, char *at, unsigned bit)
{
	const char *name = perch_register_name(script->arch, bit);
	bool capital = script->arch == PERCH_ARCH_X86;

	if (!name)
		return put_number(put_bytes(at, "R", 1), bit, 1, 0);
	at = put_spaces(at, 5 - (int)strlen(name));
	for (; *name; name++)
		*at++ = capital && *name >= 'a' && *name <= 'z' ? (char)(*name - 'a' + 'A') : *name;
	return at;
}

void script_put_registers(struct script *script, struct perch__output *out,
			  const struct perch_record *record, const struct perch_registers *regs)
{
	const uint64_t *value = regs->value;
	char *at;

	if (!regs->nr)
		return;
	at = put_bytes(perch__output_reserve(out, 64), " ABI:", 5);
	at = put_number(at, regs->abi, 1, 0);
	*at++ = ' ';
	perch__output_end(out, at);
	for (uint64_t mask = regs->mask; mask; mask &= mask - 1) {
		if (value == regs->value + regs->nr)
			return;
		at = put_register(script, perch__output_reserve(out, 128),
				  (unsigned)__builtin_ctzll(mask));
		at = put_address(put_bytes(at, ":", 1), perch_word(record, value++));
		*at++ = ' ';
		perch__output_end(out, at);
	}
}

/* ---- memory accesses ---- */

static char *put_part(char *at, const char *name, uint64_t data_src, enum perch_mem_part part)
{
	at = put_text(at, name);
	return at + perch_format_mem_part(data_src, part, at, 256);
}

void script_put_data_src(struct script *script, struct perch__output *out, uint64_t data_src)
{
	char *at = perch__output_reserve(out, 2048), *start = at;

	at = put_hex(at, data_src, 16);
	at = put_part(at, " |OP ", data_src, PERCH_MEM_PART_OPERATION);
	at = put_part(at, "|LVL ", data_src, PERCH_MEM_PART_LEVEL);
	at = put_part(at, "|SNP ", data_src, PERCH_MEM_PART_SNOOP);
	at = put_part(at, "|TLB ", data_src, PERCH_MEM_PART_TLB);
	at = put_part(at, "|LCK ", data_src, PERCH_MEM_PART_LOCK);
	at = put_part(at, "|BLK ", data_src, PERCH_MEM_PART_BLOCKED);
	/* a column as wide as the longest text so far */
	if (at - start > script->data_src_width)
		script->data_src_width = (int)(at - start);
	perch__output_end(out, put_spaces(at, script->data_src_width - (int)(at - start)));
}

void script_put_page_size(struct perch__output *out, uint64_t size)
{
	static const char units[] = "BKMGT";
	int unit = 0;
	char *at = perch__output_reserve(out, 64);

	*at++ = ' ';
	if (!size) {
		perch__output_end(out, put_text(at, "N/A"));
		return;
	}
	for (; size >= 2048 && units[unit + 1]; size >>= 10)
		unit++;
	at = put_number(at, size, 1, 0);
	*at++ = units[unit];
	perch__output_end(out, at);
}

/* ---- output of BPF programs ---- */

/* True if the bytes are a text and the NULs after it. */
static bool is_string(const uint8_t *bytes, size_t size)
{
	size_t length = 0, end;

	while (length < size && bytes[length] >= ' ' && bytes[length] < 0x7f)
		length++;
	for (end = length; end < size && !bytes[end];)
		end++;
	return end == size && end > length;
}

static int put_waker(struct script *script, const struct script_event *event,
		     const struct perch_off_cpu *off_cpu, const struct perch_record *record)
{
	struct perch__output *out = event->out;
	struct perch_session_sample waker;
	const char *comm;

	if (perch_session_resolve_waker(script->session, record, &waker, NULL) < 0)
		return -ENOMEM;
	comm = perch_thread_comm(waker.thread);
	perch__output_text(out, off_cpu->flags & PERCH_OFF_CPU_WOKEN_BY_INTERRUPT
					? ", woken by an interrupt of "
					: ", woken by ");
	perch__output_clean(out, comm, strlen(comm));
	perch__output_bytes(out, " ", 1);
	perch__output_number(out, off_cpu->waker_tid);
	if (event->chain && off_cpu->waker_nr)
		return script_put_chain(script, event, &waker);
	perch__output_bytes(out, "\n", 1);
	return 0;
}

int script_put_off_cpu(struct script *script, const struct script_event *event,
		       const struct perch_record *record)
{
	struct perch__output *out = event->out;
	struct perch_off_cpu off_cpu;

	if (!perch_session_off_cpu(script->session, record, &off_cpu))
		return 0;
	if (!off_cpu.intervals)
		return 1; /* of perf, which prints no more of it */
	perch__output_text(out, "\n      off-CPU: ");
	perch__output_text(out, perch_off_cpu_state_name(off_cpu.state));
	if (off_cpu.intervals > 1) {
		perch__output_text(out, ", sum of ");
		perch__output_number(out, off_cpu.intervals);
		perch__output_text(out, " intervals");
	}
	if (off_cpu.flags & PERCH_OFF_CPU_BEGAN_BEFORE)
		perch__output_text(out, ", since the start of the recording");
	if (off_cpu.flags & PERCH_OFF_CPU_NOT_ENDED)
		perch__output_text(out, ", until its end");
	if (off_cpu.flags & PERCH_OFF_CPU_WOKEN)
		return put_waker(script, event, &off_cpu, record) ? -ENOMEM : 1;
	perch__output_bytes(out, "\n", 1);
	return 1;
}

void script_put_bpf_output(struct perch__output *out, const struct perch_record *record)
{
	const uint8_t *bytes = record->sample.raw.data;
	size_t size = record->sample.raw.size;

	perch__output_bytes(out, "\n", 1);
	for (size_t line = 0; line < size; line += 8) {
		size_t nr = size - line < 8 ? size - line : 8;
		char text[16];

		perch__output_text(out, line ? "                 " : "      BPF output:");
		perch__output_bytes(out, text,
				    (size_t)snprintf(text, sizeof(text), " %04zx:", line));
		for (size_t i = 0; i < nr; i++) {
			perch__output_bytes(out, " ", 1);
			perch__output_hex_bytes(out, &bytes[line + i], 1);
		}
		perch__output_spaces(out, 3 * (8 - nr) + 2);
		for (size_t i = line; i < line + nr; i++) {
			char shown = bytes[i] >= ' ' && bytes[i] < 0x7f ? (char)bytes[i] : '.';

			perch__output_bytes(out, &shown, 1);
		}
		perch__output_spaces(out, 8 - nr);
		perch__output_bytes(out, "\n", 1);
	}
	if (!size || !is_string(bytes, size))
		return;
	perch__output_text(out, "      BPF string: \"");
	perch__output_clean(out, (const char *)bytes, strnlen((const char *)bytes, size));
	perch__output_text(out, "\"\n");
}

/* ---- branches ---- */

/* The kernel of most architectures is in the upper half of the addresses, so the address shows it.
 */
static unsigned mode_of(const struct script *script, const struct perch_record *record,
			uint64_t address)
{
	unsigned mode = record->misc & PERCH_MISC_CPUMODE_MASK;

	if (script->arch == PERCH_ARCH_S390 ||
	    (mode != PERCH_MISC_USER && mode != PERCH_MISC_KERNEL))
		return mode;
	return address >> 63				    ? PERCH_MISC_KERNEL
	       : mode == PERCH_MISC_KERNEL && address >> 32 ? PERCH_MISC_USER
							    : mode;
}

int script_resolve(struct script *script, const struct perch_session_sample *sample,
		   uint64_t address, struct script_target *target)
{
	struct perch_processes *processes = perch_session_processes(script->session);
	const struct perch_record *record = sample->record;
	struct perch_thread *thread =
		perch_processes_thread(processes, record->sample.pid, record->sample.tid);

	if (!thread)
		return -ENOMEM;
	perch_processes_resolve(processes, thread, mode_of(script, record, address), address,
				&target->location);
	target->symbol = NULL;
	target->dso = script_dso_path(script, target->location.dso);
	return target->dso ? 0 : -ENOMEM;
}

void script_find_symbol(struct script *script, struct script_target *target)
{
	target->symbol =
		perch_symbols_find(script->symbols, target->location.dso, target->location.offset);
}

char *script_put_symbol(const struct script *script, char *at, const struct script_target *target,
			bool with_offset)
{
	const char *name = target->symbol ? perch_symbols_name(script->symbols, target->symbol)
					  : "[unknown]";

	at = put_bytes(at, name, strnlen(name, SCRIPT_MAX_NAME));
	if (target->symbol && with_offset)
		at = put_address(put_bytes(at, "+", 1),
				 target->location.offset - target->symbol->start);
	return at;
}

/* The address that a sample accesses may be that of a variable. */
static void find_accessed(struct script *script, struct script_target *target)
{
	target->symbol = perch_symbols_find_data(script->symbols, target->location.dso,
						 target->location.offset);
	if (!target->symbol)
		script_find_symbol(script, target);
}

int script_put_location(struct script *script, const struct script_event *event,
			const struct perch_session_sample *sample, uint64_t address)
{
	struct script_target target;
	char *at;

	if (!(event->fields & (SCRIPT_SYM | SCRIPT_DSO)))
		return 0;
	if (script_resolve(script, sample, address, &target))
		return -ENOMEM;
	if (perch_dso_is(target.location.dso, PERCH_DSO_IS_MEMORY))
		target.dso = strncmp(target.dso, "/tmp/perf-", 10) ? target.dso : "//anon";
	else if (event->fields & SCRIPT_SYM)
		find_accessed(script, &target);
	at = perch__output_reserve(event->out, SCRIPT_MAX_LINE);
	if (event->fields & SCRIPT_SYM)
		at = script_put_symbol(script, put_bytes(at, " ", 1), &target,
				       event->fields & SCRIPT_SYMOFF);
	if (event->fields & SCRIPT_DSO)
		at = put_text(put_text(put_bytes(at, " (", 2), target.dso), ")");
	perch__output_end(event->out, at);
	return 0;
}

/* The offset in the file, or from the start of the kernel or a module. */
static uint64_t offset_of(const struct script_target *target)
{
	return target->location.dso->start ? target->location.offset - target->location.dso->start
					   : target->location.offset;
}

/* Writes one end of a branch. */
static char *put_end(struct script *script, const struct script_event *event, char *at,
		     uint64_t address, const struct script_target *target)
{
	if (event->fields & SCRIPT_BRSTACK)
		at = put_address(at, address);
	else if (event->fields & SCRIPT_BRSTACKSYM)
		at = script_put_symbol(script, at, target, true);
	else
		at = put_address(at, offset_of(target));
	if (event->fields & SCRIPT_DSO) {
		*at++ = '(';
		at = put_text(put_text(at, target->dso), ")");
	}
	return at;
}

const char *script_branch_type(const struct perch_branch_entry *entry)
{
	static const char *const types[16] = {
		"",	  "COND",      "UNCOND",   "IND",  "CALL", "IND_CALL", "RET",	"SYSCALL",
		"SYSRET", "COND_CALL", "COND_RET", "ERET", "IRQ",  "SERROR",   "NO_TX",
	};
	static const char *const new_types[16] = { "FAULT_ALGN", "FAULT_DATA", "FAULT_INST",
						   "ARCH_1",	 "ARCH_2",     "ARCH_3",
						   "ARCH_4",	 "ARCH_5" };
	const char *name = entry->type == 15 ? new_types[entry->new_type] : types[entry->type];

	return name ? name : "";
}

/* Writes "/P/-/-/4/COND ". */
static char *put_flags(char *at, const struct perch_branch_entry *entry)
{
	*at++ = '/';
	*at++ = entry->predicted ? 'P' : entry->mispred ? 'M' : '-';
	*at++ = '/';
	*at++ = entry->in_tx ? 'X' : '-';
	*at++ = '/';
	*at++ = entry->abort ? 'A' : '-';
	at = put_number(put_bytes(at, "/", 1), entry->cycles, 1, 0);
	return put_text(put_text(put_bytes(at, "/", 1), script_branch_type(entry)), " ");
}

int script_put_branches(struct script *script, const struct script_event *event,
			const struct perch_session_sample *sample)
{
	bool locate = event->fields & SCRIPT_DSO || !(event->fields & SCRIPT_BRSTACK);
	bool symbols = event->fields & SCRIPT_BRSTACKSYM && !(event->fields & SCRIPT_BRSTACK);
	struct script_target from = { 0 }, to = { 0 };

	for (uint64_t i = 0; i < sample->record->sample.branches.nr; i++) {
		struct perch_branch_entry entry;
		char *at;

		perch_branch_at(sample->record, i, &entry);
		if (locate && (script_resolve(script, sample, entry.from, &from) ||
			       script_resolve(script, sample, entry.to, &to)))
			return -ENOMEM;
		if (symbols) {
			script_find_symbol(script, &from);
			script_find_symbol(script, &to);
		}
		at = perch__output_reserve(event->out, 2 * SCRIPT_MAX_LINE + 128);
		if (!(event->fields & SCRIPT_BRSTACKSYM) || event->fields & SCRIPT_BRSTACK)
			*at++ = ' ';
		at = put_end(script, event, at, entry.from, &from);
		*at++ = '/';
		at = put_end(script, event, at, entry.to, &to);
		perch__output_end(event->out, put_flags(at, &entry));
	}
	return 0;
}
