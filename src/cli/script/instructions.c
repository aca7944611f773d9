/* SPDX-License-Identifier: MIT */
/*
 * The code that was executed: the sampled instruction, the instructions between the branches of a
 * branch stack, and source lines. The bytes are those of the binaries that were mapped.
 */
#include <errno.h>
#include <string.h>

#include "code.h"
#include "options.h"
#include "put.h"
#include "script.h"

#define MAX_BLOCK 16384 /* bytes between two branches; what is longer is not a block */
#define LENGTH	  0x7fu /* of script_block.length */

/* ---- the sampled instruction ---- */

static struct script_instruction instruction_at(const struct script_block *block, uint32_t index,
						uint64_t offset)
{
	return (struct script_instruction){
		.bytes = block->bytes + offset,
		.length = block->length[index] & LENGTH,
		.assembly = block->assembly ? &block->assembly[index] : NULL,
	};
}

int script_find_instruction(struct script *script, const struct script_event *event,
			    const struct perch_session_sample *sample,
			    struct script_instruction *instruction)
{
	const struct perch_address *address =
		perch_session_address(script->session, sample->chain[0]);
	struct script_block wanted = { .dso = address->dso, .offset = address->offset, .size = 1 };
	const struct script_block *block;

	if (event->fields & SCRIPT_DISASM) {
		wanted.with_text = true;
		wanted.address = sample->record->sample.ip;
	}
	block = script_find_block(script, &wanted);
	if (!block)
		return -ENOMEM;
	*instruction = block->nr ? instruction_at(block, 0, 0) : (struct script_instruction){ 0 };
	return 0;
}

int script_put_assembly(struct script *script, const struct perch_session_sample *sample,
			const struct script_assembly *assembly, char **at)
{
	struct script_target target;

	*at = put_text(*at, assembly->text);
	if (!assembly->has_target)
		return 0;
	if (script_resolve(script, sample, assembly->target, &target))
		return -ENOMEM;
	script_find_symbol(script, &target);
	*at = target.symbol ? script_put_symbol(script, *at, &target, true)
			    : put_address(*at, assembly->target);
	return 0;
}

/* Writes "48 83 c3 01". */
static char *put_hex_bytes(char *at, const uint8_t *bytes, unsigned length)
{
	static const char digits[] = "0123456789abcdef";

	for (unsigned i = 0; i < length; i++) {
		*at++ = digits[bytes[i] >> 4];
		*at++ = digits[bytes[i] & 15];
		*at++ = ' ';
	}
	return at;
}

static int put_instruction(struct script *script, const struct script_event *event,
			   const struct perch_session_sample *sample)
{
	struct script_instruction instruction;
	int rc = script_find_instruction(script, event, sample, &instruction);
	char *at;

	if (rc)
		return rc;
	at = perch__output_reserve(event->out, 128 + SCRIPT_MAX_ASSEMBLY);
	if (event->fields & SCRIPT_INSNLEN)
		at = put_number(put_text(at, " ilen: "), instruction.length, 1, 0);
	if (event->fields & SCRIPT_INSN && instruction.length)
		at = put_hex_bytes(put_text(at, " insn: "), instruction.bytes, instruction.length) -
		     1;
	if (instruction.assembly) {
		at = put_bytes(at, "\t\t", 2);
		rc = script_put_assembly(script, sample, instruction.assembly, &at);
	}
	perch__output_end(event->out, at);
	return rc;
}

/* ---- source lines ---- */

/* Writes the line of source code at an address, unless it was the last one of the thread. Returns
 * true if it has written one, false, or -ENOMEM. */
static int put_source_line(struct script *script, const struct script_event *event, uint32_t tid,
			   const struct perch_dso *dso, uint64_t offset)
{
	struct script_code *code = script_code_of(script);
	const struct perch_symbol_frame *frame = NULL;
	struct script_last_line *last;
	const char *text;
	size_t length;
	char *at;
	int nr = 0;

	if (!code)
		return -ENOMEM;
	if (perch_symbols_has_debug_info(script->symbols, dso))
		nr = perch_symbols_frames(script->symbols, dso, offset, &frame);
	if (nr <= 0 || !frame->file || !frame->line)
		return nr < 0 ? nr : false;
	last = &code->last_line[tid % SCRIPT_CODE_THREADS];
	if (last->tid == tid && last->line == frame->line && last->file &&
	    !strcmp(last->file, frame->file))
		return false;
	text = perch_sources_line(code->sources, frame->file, 0, frame->line, &length);
	if (!text)
		return false;
	*last = (struct script_last_line){ .tid = tid, .line = frame->line, .file = frame->file };
	at = perch__output_reserve(event->out, 64);
	*at++ = '|';
	nr = (int)(put_number(at, frame->line, 1, 0) - at);
	at = put_spaces(at + nr, 8 - nr);
	*at++ = ' ';
	perch__output_end(event->out, at);
	for (size_t done = 0; done < length; done++) { /* tabs stay */
		const char *tab = memchr(text + done, '\t', length - done);
		size_t part = tab ? (size_t)(tab - text) - done : length - done;

		perch__output_clean(event->out, text + done, part);
		perch__output_bytes(event->out, "\t", tab != NULL);
		done += part;
	}
	return true;
}

int script_put_source_line(struct script *script, const struct script_event *event,
			   const struct perch_session_sample *sample)
{
	const struct perch_address *address =
		perch_session_address(script->session, sample->chain[0]);
	int rc = put_source_line(script, event, sample->record->sample.tid, address->dso,
				 address->offset);

	if (rc > 0)
		perch__output_bytes(event->out, "\n", 1);
	return rc < 0 ? rc : 0;
}

/* ---- branch stacks ---- */

/* What is written of one sample. */
struct path {
	struct script *script;
	const struct script_event *event;
	const struct perch_session_sample *sample;
	const struct perch_symbol *symbol; /* the last one that was written */
	uint64_t cycles;		   /* of all branches so far */
};

/* Writes "\tname+off:" if the address is in another function than the one before. */
static int put_path_symbol(struct path *path, struct script_target *target)
{
	char *at;

	script_find_symbol(path->script, target);
	if (!target->symbol || target->symbol == path->symbol)
		return 0;
	path->symbol = target->symbol;
	at = perch__output_reserve(path->event->out, SCRIPT_MAX_LINE);
	at = script_put_symbol(path->script, put_bytes(at, "\t", 1), target, false);
	if (target->location.offset != target->symbol->start)
		at = put_number(put_bytes(at, "+", 1),
				target->location.offset - target->symbol->start, 1, 0);
	perch__output_end(path->event->out, put_bytes(at, ":\n", 2));
	return 0;
}

/* Writes "\taddress\tinsn: 48 83 c3 01 ", or the text of the instruction, without the end of the
 * line. Moves *at to its end. */
static int put_path_instruction(const struct path *path, char **at, uint64_t ip,
				const struct script_instruction *instruction, int width)
{
	char *start;

	*(*at)++ = '\t';
	for (int shift = 60; shift >= 0; shift -= 4)
		*(*at)++ = "0123456789abcdef"[ip >> shift & 15];
	*(*at)++ = '\t';
	start = *at;
	if (!instruction->assembly)
		*at = put_hex_bytes(put_text(*at, "insn: "), instruction->bytes,
				    instruction->length);
	else if (script_put_assembly(path->script, path->sample, instruction->assembly, at))
		return -ENOMEM;
	*at = put_spaces(*at, width - (int)(*at - start));
	if (path->event->fields & SCRIPT_BRSTACKINSNLEN)
		*at = put_number(put_text(*at, "\tilen: "), instruction->length, 1, 0);
	return 0;
}

#define PATH_LINE (256 + SCRIPT_MAX_ASSEMBLY)

static int put_path_line(struct path *path, uint64_t ip,
			 const struct script_instruction *instruction)
{
	char *at = perch__output_reserve(path->event->out, PATH_LINE);
	int rc = put_path_instruction(path, &at, ip, instruction, 0);

	perch__output_end(path->event->out, put_bytes(at, "\n", 1));
	return rc;
}

/* Writes the branch with what the CPU recorded of it. nr: instructions since the one before. */
static int put_path_branch(struct path *path, uint64_t ip,
			   const struct script_instruction *instruction,
			   const struct perch_branch_entry *entry, unsigned nr)
{
	char *at = perch__output_reserve(path->event->out, PATH_LINE), text[32];
	int rc = put_path_instruction(path, &at, ip, instruction, 30);

	at = put_text(at, "\t#");
	at = put_text(at, entry->predicted ? " PRED" : "");
	at = put_text(at, entry->mispred ? " MISPRED" : "");
	at = put_text(at, entry->in_tx ? " INTX" : "");
	at = put_text(at, entry->abort ? " ABORT" : "");
	if (entry->cycles) {
		path->cycles += entry->cycles;
		at = put_number(put_text(at, " "), entry->cycles, 1, 0);
		at = put_number(put_text(at, " cycles ["), path->cycles, 1, 0);
		at = put_text(at, "]");
		if (nr) {
			snprintf(text, sizeof(text), " %.2f IPC", (double)nr / entry->cycles);
			at = put_text(at, text);
		}
	}
	perch__output_end(path->event->out, put_bytes(at, "\n", 1));
	return rc;
}

/* Writes the source line of an instruction if -F has srccode. */
static int put_path_source(struct path *path, const struct script_target *target, uint64_t offset)
{
	int rc;

	if (!(path->event->fields & SCRIPT_SRCCODE))
		return 0;
	rc = put_source_line(path->script, path->event, path->sample->record->sample.tid,
			     target->location.dso, offset);
	if (rc > 0)
		perch__output_bytes(path->event->out, "\n", 1);
	return rc < 0 ? rc : 0;
}

/* Finds the instructions from one address to another one. *block without instructions: there are
 * none. Returns 0 or -ENOMEM. */
static int find_path(struct path *path, uint64_t start, uint64_t end, struct script_target *target,
		     const struct script_block **block)
{
	static const struct script_block none;
	bool with_text = path->event->fields & SCRIPT_BRSTACKDISASM;
	struct script_block wanted = { .size = (uint32_t)(end - start) + 1,
				       .with_text = with_text,
				       .address = with_text ? start : 0 };

	*block = &none;
	if (!start || !end || end < start || end - start > MAX_BLOCK - SCRIPT_MAX_INSTRUCTION)
		return 0;
	if (script_resolve(path->script, path->sample, start, target))
		return -ENOMEM;
	if (!perch_dso_is(target->location.dso, PERCH_DSO_IS_MAPPED))
		return 0;
	wanted.dso = target->location.dso;
	wanted.offset = target->location.offset;
	*block = script_find_block(path->script, &wanted);
	return *block ? 0 : -ENOMEM;
}

/* Writes the branch before which nothing is known. */
static int put_first_branch(struct path *path, const struct perch_branch_entry *entry)
{
	struct script_target target;
	struct script_instruction instruction;
	const struct script_block *block;

	if (find_path(path, entry->from, entry->from, &target, &block))
		return -ENOMEM;
	if (!block->nr)
		return 0;
	put_path_symbol(path, &target);
	instruction = instruction_at(block, 0, 0);
	if (put_path_branch(path, entry->from, &instruction, entry, 0))
		return -ENOMEM;
	return put_path_source(path, &target, target.location.offset);
}

/* Moves to another offset of the same DSO. */
static void move_target(struct script_target *target, uint64_t start, uint64_t offset)
{
	target->location.offset = start + offset;
}

/* Writes the instructions from the target of a branch to the next branch. */
static int put_block(struct path *path, uint64_t start, const struct perch_branch_entry *entry)
{
	uint64_t end = entry->from, offset = 0, first;
	struct script_target target;
	const struct script_block *block;

	if (find_path(path, start, end, &target, &block))
		return -ENOMEM;
	if (!block->nr)
		return 0;
	first = target.location.offset;
	for (uint32_t i = 0; i < block->nr; i++) {
		struct script_instruction instruction = instruction_at(block, i, offset);
		bool last = start + offset == end;

		move_target(&target, first, offset);
		put_path_symbol(path, &target);
		if (last ? put_path_branch(path, end, &instruction, entry, i + 1)
			 : put_path_line(path, start + offset, &instruction))
			return -ENOMEM;
		if (put_path_source(path, &target, first + offset))
			return -ENOMEM;
		if (last)
			return 0;
		offset += instruction.length;
	}
	perch__output_text(path->event->out, "\tmismatch of LBR data and executable\n");
	return 0;
}

/* Writes the instructions from the target of the last branch to the sampled one. */
static int put_last_block(struct path *path, uint64_t start)
{
	uint64_t end = path->sample->record->sample.ip, offset = 0, first;
	struct script_target target;
	const struct script_block *block;

	if (find_path(path, start, end, &target, &block))
		return -ENOMEM;
	if (!block->nr) { /* at least the sampled instruction */
		start = end;
		if (find_path(path, start, end, &target, &block))
			return -ENOMEM;
	}
	first = target.location.offset;
	for (uint32_t i = 0; i < block->nr; i++) {
		struct script_instruction instruction = instruction_at(block, i, offset);

		move_target(&target, first, offset);
		put_path_symbol(path, &target);
		if (put_path_line(path, start + offset, &instruction))
			return -ENOMEM;
		if (block->length[i] & SCRIPT_LEAVES && start + offset != end) {
			perch__output_text(path->event->out, "\t... not reaching sample ...\n");
			break;
		}
		if (put_path_source(path, &target, first + offset))
			return -ENOMEM;
		offset += instruction.length;
	}
	return 0;
}

static bool is_kernel(uint64_t address)
{
	return address >> 63;
}

static int put_path(struct script *script, const struct script_event *event,
		    const struct perch_session_sample *sample)
{
	const struct perch_record *record = sample->record;
	struct path path = { .script = script, .event = event, .sample = sample };
	uint64_t nr = record->sample.branches.nr;
	struct perch_branch_entry entry, before;

	if (!nr)
		return 0;
	/* as in perf: the newest ones, each between two branches */
	if (script->max_blocks && nr - 1 > script->max_blocks)
		nr = script->max_blocks + 1;
	perch__output_bytes(event->out, "\n", 1);
	perch_branch_at(record, nr - 1, &before);
	if (put_first_branch(&path, &before))
		return -ENOMEM;
	for (uint64_t i = nr - 1; i-- > 0; before = entry) {
		perch_branch_at(record, i, &entry);
		/* the way into the kernel is not always recorded, only the way out */
		if (is_kernel(before.to) != is_kernel(entry.from) && i > 0)
			perch_branch_at(record, --i, &entry);
		if (is_kernel(before.to) == is_kernel(entry.from) &&
		    put_block(&path, before.to, &entry))
			return -ENOMEM;
	}
	/* a sample at a branch: its target is not executed yet */
	if (before.from == record->sample.ip || before.abort ||
	    is_kernel(before.to) != is_kernel(record->sample.ip))
		return 0;
	return put_last_block(&path, before.to);
}

int script_put_instructions(struct script *script, const struct script_event *event,
			    const struct perch_session_sample *sample)
{
	if (event->fields & (SCRIPT_INSN | SCRIPT_INSNLEN | SCRIPT_DISASM) &&
	    put_instruction(script, event, sample))
		return -ENOMEM;
	return event->fields & SCRIPT_PATH ? put_path(script, event, sample) : 0;
}
