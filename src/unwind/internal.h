/* SPDX-License-Identifier: MIT */
/*
 * Call chains from registers and copies of user stacks. A row has the rules of addresses of a DSO.
 * Most rows are a few sums: the canonical frame address (CFA) is a register plus an offset, and
 * each saved register is in the stack at the CFA plus an offset. Then a frame costs a lookup and a
 * few loads. Other rules are expressions, which are evaluated for each frame (ROW_SLOW), with a
 * limited number of operations.
 *
 * Return addresses are looked up at address - 1, except below a signal frame. Code without rules
 * is unwound by the frame pointer, if the result is mapped code. The stack pointer must grow from
 * frame to frame, so a chain cannot loop. Each end has a reason (enum perch_unwind_end). A file
 * calls only files below its own:
 *
 *	unwind.c		finds the row of each address, and follows the callers
 *	frame_address.c		where the frame of a function is
 *	rows.c			each row once, and the ranges of addresses that share it
 *	row.c			makes a row of the rules of an address
 *	  rules.c		  the file of a DSO, and its sections with rules
 *	  jit_rules.c		  the rules in a jitdump
 *	  cfi_program.c		  the rules at an address, by programs
 *	  cfi.c			  reads .eh_frame and .debug_frame
 *	  go_runtime.c		  functions of the Go runtime that switch stacks
 *	  trampoline.c		  trampolines of Python
 *	step.c			from the registers of a function to those of its caller
 *	  expression.c		  rules that are expressions
 *	architecture.c		registers of each architecture
 *	instructions.c		code whose rules are missing or incomplete
 */
#ifndef PERCH_UNWIND_INTERNAL_H
#define PERCH_UNWIND_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <perch/jitdump.h>
#include <perch/unwind.h>

#include "base/array.h"
#include "base/files/cursor.h"
#include "base/files/elf.h"
#include "base/hash_table.h"

/* ---- architecture.c ---- */

enum { MAX_REGISTERS = 33, NO_REGISTER = 0xff };

/* Registers have the numbers of DWARF. */
struct architecture {
	enum perch_arch arch;
	const struct architecture *narrow; /* of its 32-bit programs; NULL: not supported */
	uint16_t machine;		   /* EM_* of its files */
	uint8_t word;			   /* bytes of a register */
	uint8_t nr;			   /* registers, with the program counter */
	uint8_t columns;		   /* registers that rules restore */
	uint8_t sp, fp, pc;		   /* pc: on x86-64 also the column of the return address */
	uint8_t link;		    /* holds the return address of leaf functions; or NO_REGISTER */
	uint64_t preserved;	    /* registers that functions must preserve */
	uint64_t address_bits;	    /* of addresses: others are pointer authentication codes */
	uint8_t bit[MAX_REGISTERS]; /* bit in the mask of the sample, by register */
	/* where the frame of a signal has the registers, from the stack pointer: offset of the
	 * first word, and the word of each; 0: not known */
	uint16_t signal_offset;
	uint8_t signal_word[MAX_REGISTERS];
};
/* Returns NULL if the architecture is not supported. */
const struct architecture *perch__architecture(enum perch_arch arch);

struct registers {
	uint64_t valid; /* bits of the registers with a value */
	uint64_t value[MAX_REGISTERS];
};

static inline bool perch__register_is_valid(const struct registers *registers, unsigned number)
{
	return registers->valid >> number & 1;
}

static inline void perch__register_set(struct registers *registers, unsigned number, uint64_t value)
{
	registers->value[number] = value;
	registers->valid |= 1ull << number;
}

/* The copy of the stack. */
struct copied_stack {
	const uint8_t *bytes;
	uint64_t start, size;
	bool swapped; /* the other byte order */
	bool narrow;  /* words have 32 bits */
	/* operations of expressions that the sample may still cost; NULL: no limit */
	unsigned *operations;
};

static inline uint64_t perch__stack_word_size(const struct copied_stack *stack)
{
	return stack->narrow ? sizeof(uint32_t) : sizeof(uint64_t);
}

/* The result of a step or of a read. */
enum outcome {
	FOUND,
	BELOW_STACK, /* the address is below the copy */
	ABOVE_STACK, /* the address is above the copy */
	LOOP,
	OUTERMOST,
	NO_FRAME_POINTER,
	INVALID,
};

/* size: 1, 2, 4 or 8 */
static inline enum outcome perch__stack_read_bytes(const struct copied_stack *stack,
						   uint64_t address, uint64_t size, uint64_t *value)
{
	bool big = (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__) != stack->swapped;
	uint64_t at = address - stack->start;

	if (address < stack->start)
		return BELOW_STACK;
	if (at >= stack->size || stack->size - at < size)
		return ABOVE_STACK;
	*value = 0;
	for (uint64_t i = 0; i < size; i++)
		*value |= (uint64_t)stack->bytes[at + i] << 8 * (big ? size - 1 - i : i);
	return FOUND;
}

static inline enum outcome perch__stack_read(const struct copied_stack *stack, uint64_t address,
					     uint64_t *value)
{
	uint64_t at = address - stack->start;

	if (stack->narrow)
		return perch__stack_read_bytes(stack, address, sizeof(uint32_t), value);
	if (address < stack->start)
		return BELOW_STACK;
	if (at >= stack->size || stack->size - at < sizeof(*value))
		return ABOVE_STACK;
	memcpy(value, stack->bytes + at, sizeof(*value));
	if (stack->swapped)
		*value = __builtin_bswap64(*value);
	return FOUND;
}

/* ---- expression.c ---- */

/* The bytes of a DWARF expression. */
struct expression {
	const uint8_t *bytes;
	size_t size;
	bool swapped; /* the other byte order */
};
/*
 * Evaluates an expression with a limited number of operations, as many as are left for the sample.
 * cfa: it is pushed first; NULL while the CFA itself is computed.
 */
enum outcome perch__expression_evaluate(const struct expression *expression,
					const struct registers *registers,
					const struct copied_stack *stack, const uint64_t *cfa,
					uint64_t *result);

/* ---- cfi.c: call frame information ---- */

enum cfi_rule_kind {
	CFI_UNDEFINED,	/* the register is lost */
	CFI_SAME,	/* as in the caller */
	CFI_IN_STACK,	/* at the CFA plus .offset */
	CFI_SUM,	/* the CFA plus .offset; of the CFA itself, register .number plus .offset */
	CFI_REGISTER,	/* in register .number */
	CFI_EXPRESSION, /* in the stack, where the expression leads */
	CFI_VALUE,	/* the value of the expression */
};

struct cfi_rule {
	uint8_t kind, number;
	uint32_t size; /* of the expression */
	int64_t offset;
	const uint8_t *expression; /* in the section */
};

/* The rules at an address. */
struct cfi_rules {
	uint64_t end; /* of the addresses with the same rules */
	struct cfi_rule cfa, of[MAX_REGISTERS];
	uint8_t return_register;
	bool signal_frame, swapped;
};

struct cfi_function {
	uint64_t start, entry; /* entry: offset in the section */
};

/* A section with call frame information. Begins with zeros: there is none. */
struct cfi {
	uint8_t *bytes;
	size_t size;
	uint64_t address; /* of the section */
	bool eh_frame;	  /* else .debug_frame */
	bool wide, swapped;
	uint8_t *table; /* .eh_frame_hdr; NULL: all functions are listed */
	uint64_t table_address;
	size_t nr_rows;
	struct cfi_function *function; /* sorted */
	size_t nr, capacity;
};
/*
 * Reads a section of a file. table: .eh_frame_hdr, or NULL. Returns 0, -ENOENT: the section
 * has no bytes, or another negative errno: it is damaged, or out of memory.
 */
int perch__cfi_open(struct cfi *cfi, const struct perch__elf *elf,
		    const struct perch__elf_section *section,
		    const struct perch__elf_section *table);
/* Reads the .eh_frame of a file without section headers, as its program finds it. Returns the same.
 */
int perch__cfi_open_segment(struct cfi *cfi, const struct perch__elf *elf);
/* Takes the bytes of an .eh_frame of 64-bit code. Returns false if they are damaged. */
bool perch__cfi_take(struct cfi *cfi, void *eh_frame, size_t size, uint64_t address, bool swapped);
void perch__cfi_close(struct cfi *cfi);
/* Finds the rules of an address. Returns 1; 0: there are none; or -EBADMSG: they are damaged. */
int perch__cfi_find(const struct cfi *cfi, const struct architecture *architecture,
		    uint64_t address, struct cfi_rules *rules);

/* ---- rules.c: the rules in a file ---- */

/* A section with stubs of the procedure linkage table (PLT). */
struct stubs {
	uint64_t address, size;
};

enum { MAX_STUBS = 4 };

struct rules {
	const struct perch_dso *dso;
	const struct architecture *architecture; /* of the file, or of the unwinder */
	struct perch_symbols *symbols;		 /* finds the separate debug file */
	int fd;					 /* -1 if not open */
	struct perch__elf elf;
	struct cfi eh_frame; /* of the file, or of the debug file */
	struct stubs stubs[MAX_STUBS];
	unsigned nr_stubs;
	struct cfi debug_frame;
	bool deferred; /* .debug_frame was not searched yet */
	bool of_go;    /* a program in Go */
	bool has_error;
	char error[512]; /* why there are none */
	uint64_t ends[PERCH_UNWIND_ENDS];
};
/* Returns NULL if out of memory. A file that cannot be used has an error. */
struct rules *perch__rules_open(struct perch_symbols *symbols, const struct perch_dso *dso,
				const struct architecture *architecture);
/*
 * Searches .debug_frame, for an address that .eh_frame does not have: in the file, else in its
 * separate debug file. Returns false if it is damaged; .eh_frame is used all the same.
 */
bool perch__rules_complete(struct rules *rules);
/* Says that the rules are damaged. */
void perch__rules_damaged(struct rules *rules);
/* Finds the address in the file of an offset. Returns false if none is mapped from there. */
bool perch__rules_address(const struct rules *rules, uint64_t offset, uint64_t *address);
void perch__rules_close(struct rules *rules);

/* ---- go_runtime.c ---- */

/*
 * True if the function around the offset is one of the Go runtime that continues on another stack.
 * The linker of Go writes rules for it as if it did not.
 */
bool perch__go_switches_stack(const struct rules *rules, uint64_t offset);

/* ---- jit_rules.c: the rules of a function of a JIT compiler ---- */

/*
 * Finds the rules of an offset. Expressions in them are not valid. Returns 1, 0: there are none, or
 * -EBADMSG, also if out of memory.
 */
int perch__jit_rules_find(const struct perch_dso *dso, uint64_t offset,
			  const struct architecture *architecture, struct cfi_rules *rules);

/* ---- instructions.c: code whose rules are missing or incomplete ---- */

enum { EPILOGUE_BEFORE = 1, MAX_EPILOGUE = 32 };

/*
 * True if x86 code pops registers and returns, or has popped them and jumps to another function.
 * code: from EPILOGUE_BEFORE on; words: of the stack, up to the return address
 */
bool perch__restores_and_leaves(const uint8_t *code, size_t size, bool wide, unsigned words);

enum { SIGRETURN_BEFORE = 9, SIGRETURN_BYTES = 19 };

/*
 * True if a signal handler returns to an instruction: code without rules that calls
 * rt_sigreturn(2). code: SIGRETURN_BYTES bytes, of which SIGRETURN_BEFORE are before the
 * instruction. It may be the byte before the code, as a return address minus 1 is.
 */
bool perch__is_sigreturn(const struct architecture *architecture, const uint8_t *code);

enum { MAX_CALL = 7 };

/* True if x86 code of MAX_CALL bytes may end in a call. */
bool perch__may_be_call(const uint8_t *code);

enum { MAX_INSTRUCTION = 15 };

/* Both of x86-64, at the first byte. A size is 0 if the instruction is not a call. */
size_t perch__call_size(const uint8_t *code, size_t size);
bool perch__is_return(const uint8_t *code, size_t size);

enum { CLONE_BEFORE = 14, CLONE_BYTES = CLONE_BEFORE + 6 };

/*
 * True if code of x86-64 is that after clone(2) or clone3(2) of a C library, where a new thread and
 * the one that made it part. It has no rules. code: CLONE_BYTES bytes, of which CLONE_BEFORE are
 * before the instruction
 */
bool perch__is_after_clone(const uint8_t *code);

/* before: the bytes that perch__stub_words() needs before the instruction. */
enum { STUB_BEFORE = 6, STUB_BYTES = 16 };

/*
 * Returns how many words a stub of a procedure linkage table (PLT) of x86-64 has on the stack
 * before an instruction, with the return address; 0 if the instruction is not one of a stub. code:
 * STUB_BYTES bytes, of which the instruction begins at STUB_BEFORE.
 */
unsigned perch__stub_words(const uint8_t *code);

/* ---- row.c ---- */

enum row_kind {
	ROW_FAST,
	ROW_SLOW,
	ROW_OUTERMOST,
	ROW_SIGNAL,	 /* the return from a signal handler, without rules */
	ROW_CLONE,	 /* after clone(2), without rules */
	ROW_OTHER_STACK, /* the function switches stacks; its rules do not say when */
	ROW_BAD,
	ROW_NO_RULE, /* the frame pointer is tried */
	ROW_NO_FILE, /* the frame pointer is tried */
};

enum saved_rule { SAVED_IN_STACK, SAVED_SUM };

struct saved {
	int16_t offset; /* from the CFA */
	uint8_t number;
	uint8_t rule; /* enum saved_rule */
};

enum { MAX_SAVED = 13 };

struct row {
	const struct perch_dso *dso;
	int32_t cfa_offset;
	uint8_t kind, cfa_register, nr;
	uint8_t return_register;
	bool signal_frame;
	bool narrow;   /* the rules are those of a 32-bit program */
	bool no_call;  /* ROW_NO_RULE: no call ends with the byte at the address */
	uint64_t same; /* bits of registers with the same value in the caller */
	/*
	 * The usual row: a fast one whose .saved are all in the stack, with the return address.
	 * saved_mask: their bits; lowest, span: the bytes of the stack that have them, from the
	 * CFA.
	 */
	bool plain;
	int16_t lowest;
	uint32_t span;
	uint64_t saved_mask;
	struct saved saved[MAX_SAVED];
	struct cfi_rules *rules; /* of ROW_SLOW; freed with the row */
};
/*
 * Makes the row of an address, whose unused bytes are zero. offset: in the DSO of the rules. The
 * offsets from there to *end have the same row.
 */
void perch__row_make(struct row *row, struct rules *rules, uint64_t offset, uint64_t *end);

/* ---- trampoline.c ---- */

/*
 * Sets the rules of a row, but for its span, if the address is that of a trampoline of Python.
 * Returns false if it is not.
 */
bool perch__trampoline_row(struct row *row, const struct rules *rules, uint64_t offset);

/* ---- rows.c ---- */

/* Addresses whose row is known, by their offsets. */
struct range {
	uint64_t start, end;
	const struct perch_dso *dso;
	uint32_t row;
};

struct rows {
	struct row *row;
	size_t nr_rows, rows_capacity;
	struct perch__hash_table by_rules; /* -> row */
	struct range *range;
	size_t nr_ranges, ranges_capacity;
	struct perch__hash_table by_block; /* DSO and block of offsets -> ranges */
};
/* Both return the index of the row of an address, or PERCH__HASH_NONE: it is not known, and out of
 * memory. */
uint32_t perch__rows_find(const struct rows *rows, const struct perch_dso *dso, uint64_t offset);
uint32_t perch__rows_add(struct rows *rows, struct rules *rules, uint64_t offset);
/* True if no more rows can be added before perch__rows_clear(). */
bool perch__rows_full(const struct rows *rows);
void perch__rows_clear(struct rows *rows);
void perch__rows_free(struct rows *rows);

/* ---- step.c: from a frame to its caller ---- */

/*
 * The stack pointer of each caller must be higher. A leaf function of arm64 may have no frame, and
 * a signal handler may have a stack of its own.
 */
static inline bool perch__is_caller(const struct row *row, uint64_t before, uint64_t after,
				    bool innermost)
{
	return after > before || (after == before && innermost) || row->signal_frame;
}

/*
 * The step of a usual row, if all that was saved is in the copy. Else it changes nothing and
 * returns false; perch__frame_step() takes the step then.
 */
static inline bool perch__plain_step(const struct row *row, const struct architecture *architecture,
				     const struct copied_stack *stack, bool innermost,
				     struct registers *registers)
{
	const uint8_t *bytes;
	uint64_t cfa, from;
	int lowest = row->lowest;

	if (!row->plain || stack->swapped ||
	    !perch__register_is_valid(registers, row->cfa_register))
		return false;
	cfa = registers->value[row->cfa_register] + (uint64_t)(int64_t)row->cfa_offset;
	from = cfa + (uint64_t)(int64_t)lowest - stack->start;
	if (from > stack->size || stack->size - from < row->span ||
	    !perch__is_caller(row, registers->value[architecture->sp], cfa, innermost))
		return false;
	bytes = stack->bytes + from;
	for (unsigned i = 0, nr = row->nr; i < nr; i++) {
		const struct saved *saved = &row->saved[i];

		memcpy(&registers->value[saved->number], bytes + (saved->offset - lowest),
		       sizeof(uint64_t));
	}
	registers->valid = (registers->valid & row->same) | row->saved_mask;
	if (!(row->saved_mask >> architecture->sp & 1))
		perch__register_set(registers, architecture->sp, cfa);
	perch__register_set(registers, architecture->pc,
			    registers->value[row->return_register] & architecture->address_bits);
	return true;
}

/* innermost: the frame is the first one, or a signal interrupted it. */
enum outcome perch__frame_step(const struct row *row, const struct architecture *architecture,
			       const struct copied_stack *stack, bool innermost,
			       struct registers *registers);

#endif
