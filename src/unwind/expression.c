/* SPDX-License-Identifier: MIT */
/* Evaluates DWARF expressions of unwinding rules. The number of operations is limited. */
#include <dwarf.h>

#include "internal.h"

enum { MAX_DEPTH = 64, MAX_OPERATIONS = 1000 };

struct machine {
	const Dwarf_Op *ops;
	size_t nr, at; /* at: the next operation */
	uint64_t word[MAX_DEPTH];
	size_t depth;
	const struct registers *registers;
	const struct stack *stack;
	const uint64_t *cfa;
	bool is_value;
};

static enum outcome push(struct machine *machine, uint64_t word)
{
	if (machine->depth == MAX_DEPTH)
		return INVALID;
	machine->word[machine->depth++] = word;
	return FOUND;
}

static enum outcome push_register(struct machine *machine, uint64_t number, uint64_t offset)
{
	if (number >= MAX_REGISTERS || !(machine->registers->valid >> number & 1))
		return INVALID;
	return push(machine, machine->registers->value[number] + offset);
}

/* Continues at an offset of the expression, from the end of the branch operation on. */
static enum outcome branch(struct machine *machine, const Dwarf_Op *op)
{
	uint64_t target = op->offset + 3 + op->number;

	size_t low = 0, high = machine->nr;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (machine->ops[middle].offset < target)
			low = middle + 1;
		else
			high = middle;
	}
	/* libdw adds an operation before the first one, at the same offset */
	low += low < machine->nr && machine->ops[low].atom == DW_OP_call_frame_cfa;
	if (low < machine->nr && machine->ops[low].offset == target) {
		machine->at = low;
		return FOUND;
	}
	/* the end of the expression is a valid target */
	machine->at = machine->nr;
	return target <= INT64_MAX && target > machine->ops[machine->nr - 1].offset ? FOUND
										    : INVALID;
}

/* What a register of the program has of a word. */
static uint64_t to_word(const struct machine *machine, uint64_t word)
{
	return machine->stack->narrow ? (uint32_t)word : word;
}

static enum outcome dereference(struct machine *machine, uint64_t size)
{
	uint64_t *top;

	if (!machine->depth || (size != 1 && size != 2 && size != 4 && size != 8))
		return INVALID;
	top = &machine->word[machine->depth - 1];
	return perch__stack_read_bytes(machine->stack, to_word(machine, *top), size, top);
}

static enum outcome unary(struct machine *machine, const Dwarf_Op *op)
{
	uint64_t *top = machine->depth ? &machine->word[machine->depth - 1] : NULL;

	if (!top)
		return INVALID;
	switch (op->atom) {
	case DW_OP_abs:
		*top = (int64_t)*top < 0 ? 0 - *top : *top;
		return FOUND;
	case DW_OP_neg:
		*top = 0 - *top;
		return FOUND;
	case DW_OP_not:
		*top = ~*top;
		return FOUND;
	case DW_OP_plus_uconst:
		*top += op->number;
		return FOUND;
	default:
		return INVALID;
	}
}

/* Divides as signed numbers. The smallest number divided by -1 wraps. */
static uint64_t divide(uint64_t left, uint64_t right)
{
	return right == UINT64_MAX ? 0 - left : (uint64_t)((int64_t)left / (int64_t)right);
}

static uint64_t shift_signed(uint64_t left, uint64_t bits)
{
	return (uint64_t)((int64_t)left >> (bits < 63 ? bits : 63));
}

static enum outcome binary(struct machine *machine, const Dwarf_Op *op)
{
	uint64_t left, right, value;

	if (machine->depth < 2)
		return INVALID;
	right = machine->word[machine->depth - 1];
	left = machine->word[machine->depth - 2];
	if ((op->atom == DW_OP_div || op->atom == DW_OP_mod) && !right)
		return INVALID;
	/* clang-format off */
	switch (op->atom) {
	case DW_OP_and:   value = left & right; break;
	case DW_OP_or:    value = left | right; break;
	case DW_OP_xor:   value = left ^ right; break;
	case DW_OP_plus:  value = left + right; break;
	case DW_OP_minus: value = left - right; break;
	case DW_OP_mul:   value = left * right; break;
	case DW_OP_div:   value = divide(left, right); break;
	case DW_OP_mod:   value = left % right; break;
	case DW_OP_shl:   value = right < 64 ? left << right : 0; break;
	case DW_OP_shr:   value = right < 64 ? left >> right : 0; break;
	case DW_OP_shra:  value = shift_signed(left, right); break;
	case DW_OP_eq:    value = left == right; break;
	case DW_OP_ne:    value = left != right; break;
	case DW_OP_ge:    value = (int64_t)left >= (int64_t)right; break;
	case DW_OP_gt:    value = (int64_t)left > (int64_t)right; break;
	case DW_OP_le:    value = (int64_t)left <= (int64_t)right; break;
	case DW_OP_lt:    value = (int64_t)left < (int64_t)right; break;
	default:          return INVALID;
	}
	/* clang-format on */
	machine->word[--machine->depth - 1] = value;
	return FOUND;
}

static enum outcome pick(struct machine *machine, uint64_t from_top)
{
	if (from_top >= machine->depth)
		return INVALID;
	return push(machine, machine->word[machine->depth - 1 - from_top]);
}

/* Rotates the top `nr` words: the top one becomes the last of them. */
static enum outcome rotate(struct machine *machine, size_t nr)
{
	uint64_t *from, top;

	if (machine->depth < nr)
		return INVALID;
	from = &machine->word[machine->depth - nr];
	top = from[nr - 1];
	memmove(from + 1, from, (nr - 1) * sizeof(*from));
	from[0] = top;
	return FOUND;
}

/* Operations that push a word, or that move words of the stack. */
static enum outcome stack_operation(struct machine *machine, const Dwarf_Op *op)
{
	switch (op->atom) {
	case DW_OP_lit0 ... DW_OP_lit31:
		return push(machine, op->atom - DW_OP_lit0);
	case DW_OP_addr:
	case DW_OP_const1u:
	case DW_OP_const1s:
	case DW_OP_const2u:
	case DW_OP_const2s:
	case DW_OP_const4u:
	case DW_OP_const4s:
	case DW_OP_const8u:
	case DW_OP_const8s:
	case DW_OP_constu:
	case DW_OP_consts:
		return push(machine, op->number);
	case DW_OP_breg0 ... DW_OP_breg31:
		return push_register(machine, op->atom - DW_OP_breg0, op->number);
	case DW_OP_bregx:
		return push_register(machine, op->number, op->number2);
	case DW_OP_call_frame_cfa:
		return machine->cfa ? push(machine, *machine->cfa) : INVALID;
	case DW_OP_dup:
		return pick(machine, 0);
	case DW_OP_over:
		return pick(machine, 1);
	case DW_OP_pick:
		return pick(machine, op->number);
	case DW_OP_swap:
		return rotate(machine, 2);
	case DW_OP_rot:
		return rotate(machine, 3);
	case DW_OP_drop:
		if (!machine->depth)
			return INVALID;
		machine->depth--;
		return FOUND;
	default:
		return INVALID;
	}
}

static enum outcome run(struct machine *machine, const Dwarf_Op *op)
{
	switch (op->atom) {
	case DW_OP_nop:
		return FOUND;
	case DW_OP_deref:
		return dereference(machine, perch__stack_word_size(machine->stack));
	case DW_OP_deref_size:
		return dereference(machine, op->number);
	case DW_OP_skip:
		return branch(machine, op);
	case DW_OP_bra:
		if (!machine->depth)
			return INVALID;
		return machine->word[--machine->depth] ? branch(machine, op) : FOUND;
	case DW_OP_stack_value:
		machine->is_value = true;
		return FOUND;
	case DW_OP_abs:
	case DW_OP_neg:
	case DW_OP_not:
	case DW_OP_plus_uconst:
		return unary(machine, op);
	case DW_OP_and:
	case DW_OP_div ... DW_OP_mul:
	case DW_OP_or:
	case DW_OP_plus:
	case DW_OP_shl ... DW_OP_xor:
	case DW_OP_eq ... DW_OP_ne:
		return binary(machine, op);
	default:
		return stack_operation(machine, op);
	}
}

/* The value of a register is in another register: DW_OP_regx, alone. */
static bool is_register(const Dwarf_Op *op, uint64_t *number)
{
	*number = op->atom == DW_OP_regx ? op->number : (uint64_t)op->atom - DW_OP_reg0;
	return op->atom == DW_OP_regx || (op->atom >= DW_OP_reg0 && op->atom <= DW_OP_reg31);
}

enum outcome perch__expression_evaluate(const Dwarf_Op *ops, size_t nr,
					const struct registers *registers,
					const struct stack *stack, const uint64_t *cfa,
					uint64_t *result, bool *is_value)
{
	struct machine machine = {
		.ops = ops, .nr = nr, .registers = registers, .stack = stack, .cfa = cfa
	};
	unsigned most = MAX_OPERATIONS, *left = stack->operations ? stack->operations : &most;
	uint64_t number;

	if (nr == 1 && is_register(ops, &number)) {
		machine.is_value = true;
		push_register(&machine, number, 0);
		machine.at = 1;
	}
	for (unsigned done = 0; machine.at < nr; done++) {
		enum outcome outcome;

		if (done >= MAX_OPERATIONS || !*left)
			return INVALID;
		--*left;
		outcome = run(&machine, &ops[machine.at++]);
		if (outcome != FOUND)
			return outcome;
	}
	if (!machine.depth)
		return INVALID;
	*result = to_word(&machine, machine.word[machine.depth - 1]);
	*is_value = machine.is_value;
	return FOUND;
}
