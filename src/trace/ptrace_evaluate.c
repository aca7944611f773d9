/* SPDX-License-Identifier: MIT */
/*
 * Whether a seccomp filter that the program installs can refuse a system call that perch traces.
 * The kernel runs all filters, and the strictest answer counts: a refusal hides the call from the
 * filter of perch. The filter is run with the values that are known: the architecture, the number
 * and some arguments. At a jump that depends on another value, both ways are taken.
 */
#define _GNU_SOURCE
#include <linux/seccomp.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <perch/abi.h>

#include "ptrace.h"

#define STEPS_MAX 100000 /* of all ways of one system call */
#define DEPTH_MAX 64	 /* jumps on one way that depend on an unknown value */

/* A word of the filter's input, or a register. */
struct value {
	bool is_constant;
	uint32_t word;
};

struct machine_state {
	struct value a, x, memory[BPF_MEMWORDS];
};

struct evaluation {
	const struct sock_filter *code;
	unsigned length, steps;
	struct value input[sizeof(struct seccomp_data) / 4];
};

static struct value constant(uint32_t word)
{
	return (struct value){ true, word };
}

static bool is_refusal(struct value action)
{
	const uint32_t kind = action.word & SECCOMP_RET_ACTION_FULL;

	return !action.is_constant ||
	       (kind != SECCOMP_RET_ALLOW && kind != SECCOMP_RET_LOG && kind != SECCOMP_RET_TRACE);
}

static struct value calculate(uint16_t operation, struct value a, struct value b)
{
	if (!a.is_constant || (!b.is_constant && operation != BPF_NEG))
		return (struct value){ 0 };
	switch (operation) {
	case BPF_ADD:
		return constant(a.word + b.word);
	case BPF_SUB:
		return constant(a.word - b.word);
	case BPF_MUL:
		return constant(a.word * b.word);
	case BPF_OR:
		return constant(a.word | b.word);
	case BPF_AND:
		return constant(a.word & b.word);
	case BPF_XOR:
		return constant(a.word ^ b.word);
	case BPF_LSH:
		return b.word < 32 ? constant(a.word << b.word) : (struct value){ 0 };
	case BPF_RSH:
		return b.word < 32 ? constant(a.word >> b.word) : (struct value){ 0 };
	case BPF_NEG:
		return constant(-a.word);
	}
	return (struct value){ 0 }; /* division: not worth an exact answer */
}

static bool compare_words(uint16_t operation, uint32_t a, uint32_t b)
{
	switch (operation) {
	case BPF_JEQ:
		return a == b;
	case BPF_JGT:
		return a > b;
	case BPF_JGE:
		return a >= b;
	default:
		return a & b; /* BPF_JSET */
	}
}

/* Loads, stores and calculations. Returns false for an instruction that seccomp does not have. */
static bool execute_instruction(const struct evaluation *evaluation,
				const struct sock_filter *instruction, struct machine_state *state)
{
	const uint32_t k = instruction->k;

	switch (BPF_CLASS(instruction->code)) {
	case BPF_LD:
	case BPF_LDX: {
		struct value *target = BPF_CLASS(instruction->code) == BPF_LD ? &state->a
									      : &state->x;
		const uint16_t mode = BPF_MODE(instruction->code);

		if (mode == BPF_IMM)
			*target = constant(k);
		else if (mode == BPF_LEN)
			*target = constant(sizeof(struct seccomp_data));
		else if (mode == BPF_MEM && k < BPF_MEMWORDS)
			*target = state->memory[k];
		else if (mode == BPF_ABS && k % 4 == 0 && k / 4 < TRACE_NR(evaluation->input))
			*target = evaluation->input[k / 4];
		else
			return false;
		return true;
	}
	case BPF_ST:
	case BPF_STX:
		if (k >= BPF_MEMWORDS)
			return false;
		state->memory[k] = BPF_CLASS(instruction->code) == BPF_ST ? state->a : state->x;
		return true;
	case BPF_ALU:
		/* the kernel ends the program at a division by 0 */
		if (BPF_OP(instruction->code) == BPF_DIV && BPF_SRC(instruction->code) == BPF_X &&
		    !(state->x.is_constant && state->x.word))
			return false;
		state->a = calculate(BPF_OP(instruction->code), state->a,
				     BPF_SRC(instruction->code) == BPF_X ? state->x : constant(k));
		return true;
	case BPF_MISC:
		if (BPF_MISCOP(instruction->code) == BPF_TAX)
			state->x = state->a;
		else
			state->a = state->x;
		return true;
	}
	return false;
}

/* True if one of the ways from this instruction on ends with a refusal, or is not understood. */
static bool may_refuse_from(struct evaluation *evaluation, unsigned at, struct machine_state state,
			    unsigned depth)
{
	while (at < evaluation->length && evaluation->steps++ < STEPS_MAX) {
		const struct sock_filter *instruction = &evaluation->code[at++];
		const struct value b =
			BPF_SRC(instruction->code) == BPF_X ? state.x : constant(instruction->k);
		const uint16_t class = BPF_CLASS(instruction->code);

		if (class == BPF_RET)
			return is_refusal(BPF_RVAL(instruction->code) == BPF_A
						  ? state.a
						  : constant(instruction->k));
		if (class != BPF_JMP) {
			if (!execute_instruction(evaluation, instruction, &state))
				return true;
		} else if (BPF_OP(instruction->code) == BPF_JA) {
			at += instruction->k;
		} else if (state.a.is_constant && b.is_constant) {
			at += compare_words(BPF_OP(instruction->code), state.a.word, b.word)
				      ? instruction->jt
				      : instruction->jf;
		} else {
			if (depth == DEPTH_MAX ||
			    may_refuse_from(evaluation, at + instruction->jt, state, depth + 1))
				return true;
			at += instruction->jf;
		}
	}
	return true;
}

/* argument is -1 if none is known. */
static bool may_refuse(const struct tracer_filter_program *program, const struct tracee_abi *abi,
		       uint32_t number, int argument, uint32_t value)
{
	const bool little = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
	const size_t arguments = offsetof(struct seccomp_data, args) / 4;
	struct evaluation evaluation = { .code = program->code, .length = program->length };

	evaluation.input[offsetof(struct seccomp_data, nr) / 4] = constant(number);
	evaluation.input[offsetof(struct seccomp_data, arch) / 4] = constant(abi->arch);
	if (argument >= 0) {
		evaluation.input[arguments + argument * 2 + !little] = constant(value);
		evaluation.input[arguments + argument * 2 + little] = constant(0);
	}
	return may_refuse_from(&evaluation, 0, (struct machine_state){ 0 }, 0);
}

bool tracer_filter_may_refuse(const struct tracer_filter_program *program,
			      const struct tracee_abi *abi)
{
	static const uint32_t requests[] = {
		PERCH_IOC_ENABLE,	PERCH_IOC_DISABLE,   PERCH_IOC_REFRESH,
		PERCH_IOC_RESET,	PERCH_IOC_PERIOD,    PERCH_IOC_SET_OUTPUT,
		PERCH_IOC_SET_FILTER,	PERCH_IOC_ID,	     PERCH_IOC_SET_BPF,
		PERCH_IOC_PAUSE_OUTPUT, PERCH_IOC_QUERY_BPF, PERCH_IOC_MODIFY_ATTRIBUTES,
	};

	for (size_t i = 0; i < TRACE_NR(requests); i++)
		if (may_refuse(program, abi, abi->ioctl, 1, requests[i]))
			return true;
	return may_refuse(program, abi, abi->perf_event_open, -1, 0) ||
	       may_refuse(program, abi, abi->mmap, 2, PROT_READ) ||
	       may_refuse(program, abi, abi->mmap, 2, PROT_READ | PROT_WRITE) ||
	       may_refuse(program, abi, abi->read, -1, 0) ||
	       may_refuse(program, abi, abi->readv, -1, 0) ||
	       may_refuse(program, abi, abi->prctl, 0, PR_SET_SECCOMP) ||
	       may_refuse(program, abi, abi->seccomp, 0, SECCOMP_SET_MODE_FILTER);
}
