/* SPDX-License-Identifier: MIT */
/* Makes rows: asks libdw for the rules of an address, and stores sums as numbers. */
#include <dwarf.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/memory.h"
#include "internal.h"

/* An operation that pushes a register plus an offset. */
static bool is_sum(const Dwarf_Op *op, uint64_t *number, uint64_t *offset)
{
	if (op->atom == DW_OP_bregx) {
		*number = op->number;
		*offset = op->number2;
	} else {
		*number = (uint64_t)op->atom - DW_OP_breg0;
		*offset = op->number;
	}
	return op->atom == DW_OP_bregx || (op->atom >= DW_OP_breg0 && op->atom <= DW_OP_breg31);
}

/* Returns false if the rule is not a sum that fits the row. */
static bool take_cfa(struct row *row, const struct architecture *architecture, const Dwarf_Op *ops,
		     size_t nr)
{
	uint64_t number, offset;

	if (nr != 1 || !is_sum(ops, &number, &offset) || number >= architecture->columns ||
	    offset != (uint64_t)(int64_t)(int32_t)offset)
		return false;
	row->cfa_register = (uint8_t)number;
	row->cfa_offset = (int32_t)offset;
	return true;
}

/* Finds the offset of a rule "CFA plus offset"; saved->rule is set too. */
static bool is_saved(struct saved *saved, const Dwarf_Op *ops, size_t nr)
{
	uint64_t offset = 0;
	size_t at = 1;

	if (!nr || ops[0].atom != DW_OP_call_frame_cfa)
		return false;
	if (at < nr && ops[at].atom == DW_OP_plus_uconst)
		offset = ops[at++].number;
	saved->rule = SAVED_IN_STACK;
	if (at < nr && ops[at].atom == DW_OP_stack_value) {
		saved->rule = SAVED_SUM;
		at++;
	}
	saved->offset = (int16_t)offset;
	return at == nr && offset == (uint64_t)(int64_t)saved->offset;
}

/*
 * Adds the rule of a register. ops: NULL if the function does not change it. Returns false if the
 * rule does not fit the row.
 */
static bool take_register(struct row *row, const struct architecture *architecture, uint8_t number,
			  const Dwarf_Op *ops, size_t nr, const Dwarf_Op *memory)
{
	struct saved saved = { .number = number };

	if (number == architecture->sp) {
		/* the stack pointer of the caller is the CFA unless a rule says otherwise */
		if (!ops || (!nr && ops == memory))
			return true;
	} else if (!ops) {
		row->same |= 1ull << number;
		return true;
	} else if (!nr && ops == memory) {
		if (number == row->return_register)
			row->kind = ROW_OUTERMOST;
		return true;
	}
	if (!is_saved(&saved, ops, nr))
		return false;
	if (number == architecture->sp && saved.rule == SAVED_SUM && !saved.offset)
		return true;
	if (row->nr == MAX_SAVED)
		return false;
	row->saved[row->nr++] = saved;
	return true;
}

static void take_rules(struct row *row, const struct architecture *architecture, Dwarf_Frame *frame)
{
	Dwarf_Op memory[3], *ops;
	size_t nr;
	int number = dwarf_frame_info(frame, NULL, NULL, &row->signal_frame);

	row->kind = ROW_BAD;
	if (number < 0 || number >= architecture->columns)
		return;
	row->return_register = (uint8_t)number;
	if (dwarf_frame_cfa(frame, &ops, &nr) || !nr)
		return;
	row->kind = take_cfa(row, architecture, ops, nr) ? ROW_FAST : ROW_SLOW;
	for (number = 0; number < architecture->columns; number++) {
		if (dwarf_frame_register(frame, number, memory, &ops, &nr)) {
			row->kind = ROW_BAD;
			return;
		}
		if (!take_register(row, architecture, (uint8_t)number, ops, nr, memory))
			row->kind = ROW_SLOW;
		if (row->kind == ROW_OUTERMOST)
			return;
	}
}

/*
 * At the end of a function, registers were restored and their places released, but compilers leave
 * the rules as they were. If only pops and the return follow, or a jump to another function, the
 * register has the value of the caller. Elsewhere the place below the stack pointer may be in the
 * red zone. Returns true if other addresses with the same rules may have another row.
 */
static bool take_restored(struct row *row, const struct rules *rules, uint64_t offset)
{
	const struct architecture *architecture = rules->architecture;
	uint8_t code[MAX_EPILOGUE];
	unsigned nr = 0;
	ssize_t size;

	if (architecture->arch != PERCH_ARCH_X86 || row->cfa_register != architecture->sp)
		return false;
	for (unsigned i = 0; i < row->nr; i++)
		nr += row->saved[i].rule == SAVED_IN_STACK &&
		      row->cfa_offset + row->saved[i].offset < 0;
	if (!nr)
		return false;
	if (offset < EPILOGUE_BEFORE)
		return true;
	size = pread(rules->fd, code, sizeof(code), (off_t)(offset - EPILOGUE_BEFORE));
	if (size <= EPILOGUE_BEFORE ||
	    !perch__restores_and_leaves(code, (size_t)size, rules->wide,
					(unsigned)row->cfa_offset / architecture->word))
		return true;
	nr = 0;
	for (unsigned i = 0; i < row->nr; i++) {
		const struct saved saved = row->saved[i];

		if (saved.rule == SAVED_IN_STACK && row->cfa_offset + saved.offset < 0)
			row->same |= 1ull << saved.number;
		else
			row->saved[nr++] = saved;
	}
	memset(row->saved + nr, 0, (row->nr - nr) * sizeof(*row->saved));
	row->nr = (uint8_t)nr;
	return true;
}

static void find_span(struct row *row)
{
	int lowest = 0, highest = 0;

	row->plain = row->kind == ROW_FAST && row->nr > 0 && !row->narrow;
	row->saved_mask = 0;
	for (unsigned i = 0; i < row->nr; i++) {
		const struct saved *saved = &row->saved[i];

		row->plain &= saved->rule == SAVED_IN_STACK;
		row->saved_mask |= 1ull << saved->number;
		lowest = !i || saved->offset < lowest ? saved->offset : lowest;
		highest = !i || saved->offset > highest ? saved->offset : highest;
	}
	row->plain &= row->saved_mask >> row->return_register & 1;
	row->lowest = (int16_t)lowest;
	row->span = (uint32_t)(highest - lowest) + sizeof(uint64_t);
}

static bool returns_from_signal(const struct rules *rules, uint64_t offset)
{
	uint8_t code[SIGRETURN_BYTES] = { 0 }; /* the file may end with the code */

	return offset >= SIGRETURN_BEFORE &&
	       pread(rules->fd, code, sizeof(code), (off_t)(offset - SIGRETURN_BEFORE)) > 0 &&
	       perch__is_sigreturn(rules->architecture, code);
}

static bool is_after_clone(const struct rules *rules, uint64_t offset)
{
	uint8_t code[CLONE_BYTES] = { 0 };

	return rules->architecture->machine == EM_X86_64 && offset >= CLONE_BEFORE &&
	       pread(rules->fd, code, sizeof(code), (off_t)(offset - CLONE_BEFORE)) > 0 &&
	       perch__is_after_clone(code);
}

/* True if no function has called another one at the offset, the return address minus 1. */
static bool has_no_call(const struct rules *rules, uint64_t offset)
{
	uint8_t code[MAX_CALL];

	return rules->architecture->arch == PERCH_ARCH_X86 && offset >= MAX_CALL - 1 &&
	       pread(rules->fd, code, sizeof(code), (off_t)(offset - (MAX_CALL - 1))) ==
		       sizeof(code) &&
	       !perch__may_be_call(code);
}

/* Many linkers write no rules for stubs: they have pushed at most two words. */
static void make_stub_row(struct row *row, const struct rules *rules, uint64_t offset,
			  uint64_t address)
{
	const struct architecture *architecture = rules->architecture;
	uint8_t code[STUB_BYTES];
	unsigned words = 0;

	if (architecture->machine != EM_X86_64 || offset < STUB_BEFORE)
		return;
	for (unsigned i = 0; i < rules->nr_stubs && !words; i++)
		if (address - rules->stubs[i].address < rules->stubs[i].size &&
		    pread(rules->fd, code, sizeof(code), (off_t)(offset - STUB_BEFORE)) ==
			    sizeof(code))
			words = perch__stub_words(code);
	if (!words)
		return;
	row->kind = ROW_FAST;
	row->cfa_register = architecture->sp;
	row->cfa_offset = (int32_t)(words * architecture->word);
	row->return_register = architecture->pc;
	row->same = architecture->preserved;
	row->nr = 1;
	row->saved[0] = (struct saved){ .offset = (int16_t)-architecture->word,
					.number = architecture->pc,
					.rule = SAVED_IN_STACK };
	find_span(row);
}

static void recognize_code(struct row *row, const struct rules *rules, uint64_t offset,
			   uint64_t address)
{
	if (returns_from_signal(rules, offset)) {
		row->kind = ROW_SIGNAL;
		row->signal_frame = true;
		return;
	}
	if (is_after_clone(rules, offset)) {
		row->kind = ROW_CLONE;
		return;
	}
	make_stub_row(row, rules, offset, address);
	row->no_call = row->kind == ROW_NO_RULE && has_no_call(rules, offset);
}

/* The rules at an address. free() frees them. Returns NULL if there are none. */
static Dwarf_Frame *frame_at(Dwarf_CFI *cfi, Dwarf_Addr address)
{
	Dwarf_Frame *frame;

	return PERCH__COUNTED_CALL(dwarf_cfi_addrframe(cfi, address, &frame) ? NULL : frame);
}

static void make_jit_row(struct row *row, uint64_t offset, const struct architecture *architecture)
{
	struct jit_rules rules;
	Dwarf_Frame *frame;

	if (!perch__jit_rules_open(&rules, row->dso, offset, architecture))
		return;
	frame = frame_at(rules.cfi, rules.address);
	if (frame) {
		take_rules(row, architecture, frame);
		find_span(row);
		/* an expression would need the rules as long as the row; compilers do not write
		 * them */
		if (row->kind == ROW_SLOW)
			row->kind = ROW_BAD;
		free(frame);
	}
	perch__jit_rules_close(&rules);
}

/*
 * Returns the end of the offsets with the rules of a frame. Its start is not known: libdw's is too
 * low after DW_CFA_restore_state.
 */
static uint64_t end_of(Dwarf_Frame *frame, const struct rules *rules, uint64_t offset,
		       uint64_t address)
{
	uint64_t end, last;
	bool signal_frame;

	if (dwarf_frame_info(frame, NULL, &end, &signal_frame) < 0 || end <= address)
		return offset + 1;
	if (!perch__rules_address(rules, offset + (end - 1 - address), &last) || last != end - 1)
		return offset + 1;
	return offset + (end - address);
}

void perch__row_make(struct row *row, struct rules *rules, uint64_t offset, uint64_t *end)
{
	const struct architecture *architecture = rules->architecture;
	Dwarf_Frame *frame = NULL;
	bool in_debug_frame = false;
	uint64_t address;

	/* rows are compared by their bytes */
	memset(row, 0, sizeof(*row));
	*end = offset + 1;
	row->dso = rules->dso;
	row->kind = rules->has_error ? ROW_NO_FILE : ROW_NO_RULE;
	row->narrow = architecture->word == sizeof(uint32_t);
	if (row->dso->jitdump)
		make_jit_row(row, offset, architecture);
	else if (perch__trampoline_row(row, rules, offset))
		find_span(row);
	if (!perch__rules_address(rules, offset, &address))
		return;
	if (rules->eh_frame)
		frame = frame_at(rules->eh_frame, address);
	if (!frame) {
		perch__rules_complete(rules);
		if (rules->debug_frame.cfi)
			frame = frame_at(rules->debug_frame.cfi, address);
		in_debug_frame = frame;
	} else {
		/* .eh_frame may have rules for addresses to which .debug_frame gives others */
		*end = end_of(frame, rules, offset, address);
	}
	if (!frame) {
		recognize_code(row, rules, offset, address);
		return;
	}
	take_rules(row, architecture, frame);
	/* the linker of Go writes no .eh_frame */
	if (in_debug_frame && perch__go_switches_stack(rules, offset))
		row->kind = ROW_OTHER_STACK;
	if (row->kind == ROW_FAST && take_restored(row, rules, offset))
		*end = offset + 1;
	find_span(row);
	if (row->kind == ROW_SLOW)
		row->frame = frame;
	else
		free(frame);
}
