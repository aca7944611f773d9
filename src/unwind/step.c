/* SPDX-License-Identifier: MIT */
/* From the registers of a function to those of its caller. */
#include "internal.h"

/* Sets the program counter to the return address. */
static inline enum outcome return_to(const struct row *row, const struct architecture *architecture,
				     bool restored, bool innermost, struct registers *registers)
{
	/* only a leaf function still has its return address in a register */
	if (!perch__register_is_valid(registers, row->return_register) || (!restored && !innermost))
		return INVALID;
	perch__register_set(registers, architecture->pc,
			    registers->value[row->return_register] & architecture->address_bits);
	return FOUND;
}

static inline enum outcome fast_step(const struct row *row, const struct architecture *architecture,
				     const struct copied_stack *stack, bool innermost,
				     struct registers *registers)
{
	uint64_t before = registers->value[architecture->sp], cfa;
	bool restored = false;

	if (!perch__register_is_valid(registers, row->cfa_register))
		return INVALID;
	cfa = registers->value[row->cfa_register] + (uint64_t)(int64_t)row->cfa_offset;
	if (stack->narrow)
		cfa = (uint32_t)cfa;
	if (!perch__is_caller(row, before, cfa, innermost))
		return LOOP;
	registers->valid &= row->same | 1ull << row->return_register;
	perch__register_set(registers, architecture->sp, cfa);
	for (unsigned i = 0; i < row->nr; i++) {
		const struct saved *saved = &row->saved[i];
		uint64_t value = cfa + (uint64_t)(int64_t)saved->offset;
		enum outcome outcome = FOUND;

		if (stack->narrow)
			value = (uint32_t)value;
		if (saved->rule == SAVED_IN_STACK)
			outcome = perch__stack_read(stack, value, &value);
		/* the value is not needed if the register is not; it may be in the red zone */
		if (outcome == BELOW_STACK && innermost && saved->number != row->return_register)
			continue;
		if (outcome != FOUND)
			return outcome;
		perch__register_set(registers, saved->number, value);
		restored |= saved->number == row->return_register;
	}
	return return_to(row, architecture, restored, innermost, registers);
}

static enum outcome evaluate_rule(const struct row *row, const struct cfi_rule *rule,
				  const struct registers *registers,
				  const struct copied_stack *stack, const uint64_t *cfa,
				  uint64_t *value)
{
	const struct expression expression = { rule->expression, rule->size, row->rules->swapped };

	return perch__expression_evaluate(&expression, registers, stack, cfa, value);
}

/* Finds the CFA, or the value or place of a register, in words of the program. */
static enum outcome slow_value(const struct row *row, const struct cfi_rule *rule,
			       const struct registers *registers, const struct copied_stack *stack,
			       const uint64_t *cfa, uint64_t *value)
{
	if (rule->kind == CFI_EXPRESSION || rule->kind == CFI_VALUE)
		return evaluate_rule(row, rule, registers, stack, cfa, value);
	if (cfa && rule->kind != CFI_REGISTER) {
		*value = *cfa + (uint64_t)rule->offset;
	} else {
		if (rule->number >= MAX_REGISTERS ||
		    !perch__register_is_valid(registers, rule->number))
			return INVALID;
		*value = registers->value[rule->number] + (uint64_t)rule->offset;
	}
	*value = stack->narrow ? (uint32_t)*value : *value;
	return FOUND;
}

/* Applies the rule of one register. */
static enum outcome slow_register(const struct row *row, const struct architecture *architecture,
				  const struct copied_stack *stack, const struct registers *from,
				  uint64_t cfa, unsigned number, struct registers *to)
{
	const struct cfi_rule *rule = &row->rules->of[number];
	enum outcome outcome;
	uint64_t value;

	if (rule->kind == CFI_UNDEFINED || rule->kind == CFI_SAME) {
		if (number == architecture->sp)
			perch__register_set(to, number, cfa);
		else if (rule->kind == CFI_SAME && perch__register_is_valid(from, number))
			perch__register_set(to, number, from->value[number]);
		return FOUND;
	}
	outcome = slow_value(row, rule, from, stack, &cfa, &value);
	if (outcome == FOUND && (rule->kind == CFI_IN_STACK || rule->kind == CFI_EXPRESSION))
		outcome = perch__stack_read(stack, value, &value);
	if (outcome == FOUND)
		perch__register_set(to, number, value);
	return outcome;
}

static enum outcome slow_step(const struct row *row, const struct architecture *architecture,
			      const struct copied_stack *stack, bool innermost,
			      struct registers *registers)
{
	struct registers caller = { 0 };
	enum outcome outcome;
	uint64_t cfa;

	outcome = slow_value(row, &row->rules->cfa, registers, stack, NULL, &cfa);
	if (outcome != FOUND)
		return outcome;
	for (unsigned number = 0; number < architecture->columns; number++) {
		outcome = slow_register(row, architecture, stack, registers, cfa, number, &caller);
		/* a register that is not needed may be lost */
		if (outcome != FOUND &&
		    (number == row->return_register || number == architecture->sp))
			return outcome;
	}
	if (!perch__is_caller(row, registers->value[architecture->sp],
			      caller.value[architecture->sp], innermost))
		return LOOP;
	/* a leaf function has no place for the return address; it has the same value then */
	outcome = return_to(row, architecture,
			    architecture->link == NO_REGISTER || row->signal_frame ||
				    caller.value[row->return_register] !=
					    registers->value[row->return_register],
			    innermost, &caller);
	if (outcome == FOUND)
		*registers = caller;
	return outcome;
}

/*
 * Code without rules, for example of a JIT compiler: the frame pointer leads to the saved frame
 * pointer of the caller, and the return address follows. The caller checks that the return address
 * is one of code.
 */
static enum outcome frame_pointer_step(const struct architecture *architecture,
				       const struct copied_stack *stack, bool innermost,
				       struct registers *registers)
{
	uint64_t fp = registers->value[architecture->fp], word = architecture->word;
	uint64_t next, address;

	/* the first function of a program has frame pointer 0, as that of the dynamic linker */
	if (perch__register_is_valid(registers, architecture->fp) && !fp && !innermost)
		return OUTERMOST;
	if (!perch__register_is_valid(registers, architecture->fp) || fp % word ||
	    fp < registers->value[architecture->sp] ||
	    perch__stack_read(stack, fp, &next) != FOUND ||
	    perch__stack_read(stack, fp + word, &address) != FOUND)
		return NO_FRAME_POINTER;
	/* the outermost frame has no caller's frame pointer */
	if (next && next <= fp)
		return NO_FRAME_POINTER;
	registers->valid = 0;
	perch__register_set(registers, architecture->fp, next);
	perch__register_set(registers, architecture->sp, fp + 2 * word);
	perch__register_set(registers, architecture->pc, address & architecture->address_bits);
	return FOUND;
}

/* The stack pointer of a signal handler that has returned is that of the saved registers. */
static enum outcome signal_step(const struct architecture *architecture,
				const struct copied_stack *stack, struct registers *registers)
{
	uint64_t from = registers->value[architecture->sp] + architecture->signal_offset;

	for (unsigned number = 0; number < architecture->nr; number++) {
		uint64_t value, at = from + 8 * architecture->signal_word[number];
		enum outcome outcome = perch__stack_read(stack, at, &value);

		if (outcome != FOUND)
			return outcome;
		perch__register_set(registers, number, value);
	}
	return FOUND;
}

/* The system call has returned 0 to the new thread, whose stack has no caller. */
static enum outcome clone_step(const struct architecture *architecture,
			       const struct copied_stack *stack, struct registers *registers)
{
	enum { RAX = 0 };
	uint64_t sp = registers->value[architecture->sp], address;
	enum outcome outcome;

	if (!perch__register_is_valid(registers, RAX))
		return NO_FRAME_POINTER;
	if (!registers->value[RAX])
		return OUTERMOST;
	outcome = perch__stack_read(stack, sp, &address);
	if (outcome != FOUND)
		return outcome;
	registers->valid &= architecture->preserved;
	perch__register_set(registers, architecture->sp, sp + architecture->word);
	perch__register_set(registers, architecture->pc, address);
	return FOUND;
}

enum outcome perch__frame_step(const struct row *row, const struct architecture *architecture,
			       const struct copied_stack *stack, bool innermost,
			       struct registers *registers)
{
	switch ((enum row_kind)row->kind) {
	case ROW_FAST:
		return fast_step(row, architecture, stack, innermost, registers);
	case ROW_SLOW:
		return slow_step(row, architecture, stack, innermost, registers);
	case ROW_OUTERMOST:
		return OUTERMOST;
	case ROW_SIGNAL:
		return signal_step(architecture, stack, registers);
	case ROW_CLONE:
		return clone_step(architecture, stack, registers);
	case ROW_NO_RULE:
	case ROW_NO_FILE:
		return frame_pointer_step(architecture, stack, innermost, registers);
	case ROW_OTHER_STACK:
	case ROW_BAD:
		break;
	}
	return INVALID;
}
