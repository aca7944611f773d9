/* SPDX-License-Identifier: MIT */
/**
 * @file
 * Instructions of the code of a function (perch_symbols_read_code()), by capstone. That library is
 * large, and is loaded when a disassembler is first made; it stays loaded.
 *
 * Architectures: x86, ARM, PowerPC, s390, MIPS, and RISC-V with capstone 5.
 *
 * In all functions err may be NULL. Functions without err cannot fail.
 *
 * Threads: one thread per disassembler at a time. Different disassemblers are independent. The
 * first one sets the allocator of capstone (CS_OPT_MEM) for the whole process: a program that uses
 * capstone itself must not set one, and must not be in one of its functions at that time.
 *
 * Signals: no function is async-signal-safe. They allocate memory.
 */
#ifndef PERCH_DISASSEMBLER_H
#define PERCH_DISASSEMBLER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <perch/event.h>
#include <perch/symbol.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Where the program goes on after an instruction. */
enum perch_flow {
	PERCH_FLOW_NEXT,  /**< at the next instruction in memory */
	PERCH_FLOW_JUMP,  /**< elsewhere, or at the next one if the jump has a condition */
	PERCH_FLOW_CALL,  /**< in another function */
	PERCH_FLOW_RETURN /**< in the caller */
};

/** An instruction, or bytes that are none. */
struct perch_instruction {
	uint64_t address;     /**< of its first byte */
	size_t size;	      /**< its bytes; more than 0 */
	const uint8_t *bytes; /**< in the code */
	enum perch_flow flow; /**< where the program goes on */
	bool data;	      /**< data by the symbols of the file */
	bool undecoded; /**< no instruction of the architecture, or none that capstone decodes */
	bool vector;	/**< undecoded, but one instruction: AVX or AVX-512 */
	bool has_target;
	bool has_memory;
	uint64_t target;      /**< of a jump or call (has_target) */
	uint64_t memory;      /**< of an operand relative to the instruction (has_memory) */
	char mnemonic[48];    /**< ".byte" for bytes that are no instruction */
	char operands[200];   /**< without the target, which is the last operand */
	uint64_t reserved[4]; /**< for members of later versions */
};

/**
 * Returns true if the next instruction in memory is never executed after this one: it returns, or
 * jumps without a condition.
 */
PERCH_API bool perch_instruction_ends_run(const struct perch_instruction *instruction);

/** A disassembler of the code of one function. */
struct perch_disassembler;

/**
 * Makes a disassembler.
 *
 * @param[out] disassembler  the disassembler; NULL after an error
 * @param code               must outlive the disassembler
 * @param intel              Intel's syntax for x86, instead of AT&T's
 * @param[out] err           the reason of a failure
 * @return 0, -ENOENT: capstone cannot be loaded, -ENOTSUP: it does not support the architecture, or
 *         perch was built without it, or -ENOMEM
 */
PERCH_API int perch_disassembler_new(struct perch_disassembler **disassembler,
				     const struct perch_code *code, bool intel,
				     struct perch_error *err);

/** Frees the disassembler. NULL is allowed. */
PERCH_API void perch_disassembler_free(struct perch_disassembler *disassembler);

/** Returns the next instruction in *instruction; false at the end of the code. */
PERCH_API bool perch_disassembler_next(struct perch_disassembler *disassembler,
				       struct perch_instruction *instruction);

/** Continues with the first instruction. */
PERCH_API void perch_disassembler_rewind(struct perch_disassembler *disassembler);

/**
 * Checks that a probe of a user program is at the start of an instruction. The kernel accepts every
 * offset with bytes that may be an instruction, and writes a breakpoint there. Inside an
 * instruction it makes another instruction, and the program is killed or computes something else.
 *
 * @param event     the event; what is no user probe at an offset is not checked
 * @param machine   knows the PMU of the event
 * @param[out] err  why it is not known, or the reason of a failure, with the instructions before
 *                  and after the probe
 * @return 0, 1 if the code is not known well enough, -EINVAL for a probe inside an instruction, or
 *         -ENOMEM
 */
PERCH_API int perch_check_probe_start(const struct perch_event *event,
				      struct perch_machine *machine, struct perch_error *err);

#ifdef __cplusplus
}
#endif
#endif
