/* SPDX-License-Identifier: MIT */
/*
 * Instructions of bytes, by capstone. The library is loaded when it is first needed: it is large,
 * and only `perch annotate` and `perch script` use it.
 */
#ifndef PERCH_CLI_DISASSEMBLER_H
#define PERCH_CLI_DISASSEMBLER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <perch/symbol.h>

enum instruction_flow {
	FLOW_NEXT,
	FLOW_JUMP,
	FLOW_CALL,
	FLOW_RETURN,
};

struct instruction {
	uint64_t address;
	size_t size;
	const uint8_t *bytes;
	enum instruction_flow flow;
	bool data;	/* data by the symbols of the file */
	bool undecoded; /* no instruction of the architecture, or none that capstone decodes */
	bool vector;	/* undecoded, but one instruction: AVX or AVX-512 */
	bool has_target;
	uint64_t target; /* of a jump or call */
	bool has_memory;
	uint64_t memory; /* of an operand that is relative to the instruction */
	char mnemonic[48];
	char operands[200]; /* without the target, which is the last operand */
};

/* True if the next instruction in memory is never executed after this one: it returns, or jumps
 * without a condition. */
bool instruction_ends_run(const struct instruction *instruction);

struct disassembler;

/*
 * code must outlive the disassembler. intel: Intel's syntax for x86. Returns 0, or a negative errno
 * with err: no capstone, or an architecture that it does not support.
 */
int disassembler_open(struct disassembler **result, const struct perch_code *code, bool intel,
		      struct perch_error *err);
/* Returns the next instruction; false at the end. */
bool disassembler_next(struct disassembler *disassembler, struct instruction *instruction);
void disassembler_rewind(struct disassembler *disassembler);
void disassembler_close(struct disassembler *disassembler);

#endif
