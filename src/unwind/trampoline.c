/* SPDX-License-Identifier: MIT */
/*
 * The trampolines of Python (-X perf): one for each function of a program in Python, in memory that
 * has no rules. All are copies of one function, which calls the interpreter; the size of the
 * function in the perf map says which one. The interpreter has no frame pointer, or a frame pointer
 * that some of them do not keep.
 */
#include "internal.h"

enum { PARTS = 3 };

/* Code up to .end, which has a number of words on the stack, with the return address. */
struct trampoline_part {
	uint8_t end, words;
	bool saves; /* the frame pointer of the caller, in the second word from the CFA on */
};

/* The interpreter returns to the second part. */
struct trampoline {
	uint16_t machine;
	uint8_t size;
	struct trampoline_part part[PARTS];
};

static const struct trampoline trampolines[] = {
	/* sub $8, %rsp; call *%rcx; add $8, %rsp; ret */
	{ EM_X86_64, 11, { { 4, 1, false }, { 10, 2, false }, { 11, 1, false } } },
	/* the same after endbr64 */
	{ EM_X86_64, 15, { { 8, 1, false }, { 14, 2, false }, { 15, 1, false } } },
	/* push %rbp; mov %rsp, %rbp; call *%rcx; pop %rbp; ret (later releases) */
	{ EM_X86_64, 8, { { 1, 1, false }, { 7, 2, true }, { 8, 1, false } } },
	{ EM_X86_64, 12, { { 5, 1, false }, { 11, 2, true }, { 12, 1, false } } },
	/* stp x29, x30, [sp, -16]!; mov x29, sp; blr x3; ldp x29, x30, [sp], 16; ret */
	{ EM_AARCH64, 20, { { 4, 0, false }, { 16, 2, true }, { 20, 0, false } } },
	/* the same with paciasp at the start, and autiasp before ret */
	{ EM_AARCH64, 28, { { 8, 0, false }, { 20, 2, true }, { 28, 0, false } } },
};

static const struct trampoline_part *find_part(uint16_t machine, uint64_t size, uint64_t at)
{
	for (size_t i = 0; i < PERCH__NR(trampolines); i++) {
		const struct trampoline_part *part = trampolines[i].part;

		if (trampolines[i].machine != machine || trampolines[i].size != size)
			continue;
		while (part->end <= at)
			part++;
		return part;
	}
	return NULL;
}

/* Returns the function of a map file around the address, or NULL. */
static const struct perch_symbol *find_function(const struct rules *rules, uint64_t offset)
{
	const struct perch_symbol_frame *frames;
	/* other than perch_symbols_find(), it counts no address without a name */
	int nr = perch_dso_is(rules->dso, PERCH_DSO_IS_MEMORY)
			 ? perch_symbols_frames(rules->symbols, rules->dso, offset, &frames)
			 : 0;

	return nr > 0 ? frames[nr - 1].symbol : NULL;
}

static void put_saved(struct row *row, unsigned word, uint8_t number,
		      const struct architecture *architecture)
{
	row->saved[row->nr++] = (struct saved){
		.offset = (int16_t)(-(int)word * architecture->word),
		.number = number,
		.rule = SAVED_IN_STACK,
	};
}

bool perch__trampoline_row(struct row *row, const struct rules *rules, uint64_t offset)
{
	const struct architecture *architecture = rules->architecture;
	const struct perch_symbol *symbol = architecture ? find_function(rules, offset) : NULL;
	const struct trampoline_part *part;

	if (!symbol || strncmp(symbol->name, "py::", 4))
		return false;
	part = find_part(architecture->machine, symbol->end - symbol->start,
			 offset - symbol->start);
	if (!part)
		return false;
	row->kind = ROW_FAST;
	row->cfa_register = architecture->sp;
	row->cfa_offset = part->words * architecture->word;
	row->return_register = architecture->link == NO_REGISTER ? architecture->pc
								 : architecture->link;
	row->same = architecture->preserved;
	if (part->words)
		put_saved(row, 1, row->return_register, architecture);
	else
		row->same |= 1ull << row->return_register;
	if (part->saves) {
		put_saved(row, 2, architecture->fp, architecture);
		row->same &= ~(1ull << architecture->fp);
	}
	return true;
}
