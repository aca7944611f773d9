/* SPDX-License-Identifier: MIT */
/* Makes rows: finds the rules of an address, and stores sums as numbers. */
#include <stdlib.h>
#include <unistd.h>

#include "base/memory.h"
#include "internal.h"

/* Returns false if the rule is not a sum that fits the row. */
static bool take_cfa(struct row *row, const struct architecture *architecture,
		     const struct cfi_rule *rule)
{
	if (rule->kind != CFI_SUM || rule->number >= architecture->columns ||
	    rule->offset != (int32_t)rule->offset)
		return false;
	row->cfa_register = rule->number;
	row->cfa_offset = (int32_t)rule->offset;
	return true;
}

/* Adds the rule of a register. Returns false if the rule does not fit the row. */
static bool take_register(struct row *row, const struct architecture *architecture, uint8_t number,
			  const struct cfi_rule *rule)
{
	bool is_sp = number == architecture->sp;

	switch ((enum cfi_rule_kind)rule->kind) {
	case CFI_SAME:
		row->same |= is_sp ? 0 : 1ull << number;
		return true;
	case CFI_UNDEFINED:
		if (number == row->return_register)
			row->kind = ROW_OUTERMOST;
		return true;
	case CFI_SUM: /* the stack pointer of the caller is the CFA unless a rule says otherwise */
		if (is_sp && !rule->offset)
			return true;
		break;
	case CFI_IN_STACK:
		break;
	default:
		return false;
	}
	if (rule->offset != (int16_t)rule->offset || row->nr == MAX_SAVED)
		return false;
	row->saved[row->nr++] = (struct saved){
		.number = number,
		.rule = rule->kind == CFI_SUM ? SAVED_SUM : SAVED_IN_STACK,
		.offset = (int16_t)rule->offset,
	};
	return true;
}

static void take_rules(struct row *row, const struct architecture *architecture,
		       const struct cfi_rules *rules)
{
	row->kind = ROW_BAD;
	row->return_register = rules->return_register;
	row->signal_frame = rules->signal_frame;
	if (row->return_register >= architecture->columns || rules->cfa.kind == CFI_UNDEFINED)
		return;
	row->kind = take_cfa(row, architecture, &rules->cfa) ? ROW_FAST : ROW_SLOW;
	for (uint8_t number = 0; number < architecture->columns; number++) {
		if (!take_register(row, architecture, number, &rules->of[number]))
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
	    !perch__restores_and_leaves(code, (size_t)size, rules->elf.wide,
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

static void make_jit_row(struct row *row, uint64_t offset, const struct architecture *architecture)
{
	struct cfi_rules rules;

	if (perch__jit_rules_find(row->dso, offset, architecture, &rules) <= 0)
		return;
	take_rules(row, architecture, &rules);
	find_span(row);
	/* an expression would need the rules as long as the row; compilers do not write them */
	if (row->kind == ROW_SLOW)
		row->kind = ROW_BAD;
}

/* Returns the end of the offsets with the rules. */
static uint64_t end_of(const struct cfi_rules *found, const struct rules *rules, uint64_t offset,
		       uint64_t address)
{
	uint64_t last;

	if (!perch__rules_address(rules, offset + (found->end - 1 - address), &last) ||
	    last != found->end - 1)
		return offset + 1;
	return offset + (found->end - address);
}

/* Finds the rules of an address. Returns as perch__cfi_find(). */
static int find_rules(struct rules *rules, uint64_t address, struct cfi_rules *found,
		      bool *in_debug_frame)
{
	int rc = perch__cfi_find(&rules->eh_frame, rules->architecture, address, found);

	*in_debug_frame = false;
	if (rc)
		return rc;
	perch__rules_complete(rules);
	*in_debug_frame = true;
	return perch__cfi_find(&rules->debug_frame, rules->architecture, address, found);
}

/* Keeps rules that do not fit the row. */
static void keep_rules(struct row *row, const struct cfi_rules *rules)
{
	row->rules = perch__malloc(sizeof(*rules));
	if (row->rules)
		*row->rules = *rules;
	else
		row->kind = ROW_BAD;
}

void perch__row_make(struct row *row, struct rules *rules, uint64_t offset, uint64_t *end)
{
	const struct architecture *architecture = rules->architecture;
	struct cfi_rules found;
	bool in_debug_frame;
	uint64_t address;
	int rc;

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
	rc = find_rules(rules, address, &found, &in_debug_frame);
	if (rc < 0) {
		perch__rules_damaged(rules);
		row->kind = ROW_NO_FILE;
		return;
	}
	if (!rc) {
		recognize_code(row, rules, offset, address);
		return;
	}
	/* .eh_frame may have rules for addresses to which .debug_frame gives others */
	if (!in_debug_frame)
		*end = end_of(&found, rules, offset, address);
	take_rules(row, architecture, &found);
	/* the linker of Go writes no .eh_frame */
	if (in_debug_frame && perch__go_switches_stack(rules, offset))
		row->kind = ROW_OTHER_STACK;
	if (row->kind == ROW_FAST && take_restored(row, rules, offset))
		*end = offset + 1;
	find_span(row);
	if (row->kind == ROW_SLOW)
		keep_rules(row, &found);
}
