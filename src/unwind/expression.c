/* SPDX-License-Identifier: MIT */
/* Evaluates DWARF expressions of unwinding rules. The number of operations is limited. */
#include <dwarf.h>

#include "internal.h"

enum { MAX_DEPTH = 64, MAX_OPERATIONS = 1000 };

struct expression_machine {
	const uint8_t *start;
	struct cursor cursor; /* at the next operation */
	uint64_t word[MAX_DEPTH];
	size_t depth;
	const struct registers *registers;
	const struct copied_stack *stack;
	const uint64_t *cfa;
};

static enum outcome push_word(struct expression_machine *machine, uint64_t word)
{
	if (machine->depth == MAX_DEPTH)
		return INVALID;
	machine->word[machine->depth++] = word;
	return FOUND;
}

static enum outcome push_register(struct expression_machine *machine, uint64_t number,
				  uint64_t offset)
{
	if (number >= MAX_REGISTERS || !(machine->registers->valid >> number & 1))
		return INVALID;
	return push_word(machine, machine->registers->value[number] + offset);
}

static uint64_t read_signed(struct expression_machine *machine, unsigned size)
{
	unsigned unused = 64 - 8 * size;

	return (uint64_t)((int64_t)(perch__read(&machine->cursor, size) << unused) >> unused);
}

/* Continues at a distance. The end of the expression is a valid target. */
static enum outcome branch(struct expression_machine *machine, bool jump)
{
	struct cursor *cursor = &machine->cursor;
	int64_t distance = (int64_t)read_signed(machine, 2);

	if (!jump)
		return FOUND;
	if (distance < machine->start - cursor->at || distance > cursor->end - cursor->at)
		return INVALID;
	cursor->at += distance;
	return FOUND;
}

/* What a register of the program has of a word. */
static uint64_t to_word(const struct expression_machine *machine, uint64_t word)
{
	return machine->stack->narrow ? (uint32_t)word : word;
}

static enum outcome dereference(struct expression_machine *machine, uint64_t size)
{
	uint64_t *top;

	if (!machine->depth || (size != 1 && size != 2 && size != 4 && size != 8))
		return INVALID;
	top = &machine->word[machine->depth - 1];
	return perch__stack_read_bytes(machine->stack, to_word(machine, *top), size, top);
}

static enum outcome unary(struct expression_machine *machine, uint8_t op)
{
	uint64_t *top = machine->depth ? &machine->word[machine->depth - 1] : NULL;

	if (!top)
		return INVALID;
	switch (op) {
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
		*top += perch__read_uleb(&machine->cursor);
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

static enum outcome binary(struct expression_machine *machine, uint8_t op)
{
	uint64_t left, right, value;

	if (machine->depth < 2)
		return INVALID;
	right = machine->word[machine->depth - 1];
	left = machine->word[machine->depth - 2];
	if ((op == DW_OP_div || op == DW_OP_mod) && !right)
		return INVALID;
	/* clang-format off */
	switch (op) {
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

static enum outcome pick(struct expression_machine *machine, uint64_t from_top)
{
	if (from_top >= machine->depth)
		return INVALID;
	return push_word(machine, machine->word[machine->depth - 1 - from_top]);
}

/* Rotates the top `nr` words: the top one becomes the last of them. */
static enum outcome rotate(struct expression_machine *machine, size_t nr)
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
static enum outcome stack_operation(struct expression_machine *machine, uint8_t op)
{
	struct cursor *cursor = &machine->cursor;
	uint64_t number;

	switch (op) {
	case DW_OP_lit0 ... DW_OP_lit31:
		return push_word(machine, op - DW_OP_lit0);
	case DW_OP_addr:
		return push_word(machine, perch__read(cursor, (unsigned)perch__stack_word_size(
								      machine->stack)));
	case DW_OP_const1u:
	case DW_OP_const2u:
	case DW_OP_const4u:
	case DW_OP_const8u:
		return push_word(machine, perch__read(cursor, 1u << (op - DW_OP_const1u) / 2));
	case DW_OP_const1s:
	case DW_OP_const2s:
	case DW_OP_const4s:
	case DW_OP_const8s:
		return push_word(machine, read_signed(machine, 1u << (op - DW_OP_const1s) / 2));
	case DW_OP_constu:
		return push_word(machine, perch__read_uleb(cursor));
	case DW_OP_consts:
		return push_word(machine, (uint64_t)perch__read_sleb(cursor));
	case DW_OP_breg0 ... DW_OP_breg31:
		return push_register(machine, op - DW_OP_breg0, (uint64_t)perch__read_sleb(cursor));
	case DW_OP_bregx:
		number = perch__read_uleb(cursor);
		return push_register(machine, number, (uint64_t)perch__read_sleb(cursor));
	case DW_OP_call_frame_cfa:
		return machine->cfa ? push_word(machine, *machine->cfa) : INVALID;
	case DW_OP_dup:
		return pick(machine, 0);
	case DW_OP_over:
		return pick(machine, 1);
	case DW_OP_pick:
		return pick(machine, perch__read(cursor, 1));
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

static enum outcome run_operation(struct expression_machine *machine, uint8_t op)
{
	switch (op) {
	case DW_OP_nop:
		return FOUND;
	case DW_OP_deref:
		return dereference(machine, perch__stack_word_size(machine->stack));
	case DW_OP_deref_size:
		return dereference(machine, perch__read(&machine->cursor, 1));
	case DW_OP_skip:
		return branch(machine, true);
	case DW_OP_bra:
		if (!machine->depth)
			return INVALID;
		return branch(machine, machine->word[--machine->depth]);
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

enum outcome perch__expression_evaluate(const struct expression *expression,
					const struct registers *registers,
					const struct copied_stack *stack, const uint64_t *cfa,
					uint64_t *result)
{
	const uint8_t *end = expression->bytes + expression->size;
	struct expression_machine machine = {
		.start = expression->bytes,
		.cursor = { expression->bytes, end, expression->swapped, false },
		.registers = registers,
		.stack = stack,
		.cfa = cfa,
	};
	unsigned most = MAX_OPERATIONS, *left = stack->operations ? stack->operations : &most;

	if (cfa)
		push_word(&machine, *cfa);
	for (unsigned done = 0; machine.cursor.at < end; done++) {
		enum outcome outcome;

		if (done >= MAX_OPERATIONS || !*left)
			return INVALID;
		--*left;
		outcome = run_operation(&machine, *machine.cursor.at++);
		if (outcome != FOUND || machine.cursor.failed)
			return outcome == FOUND ? INVALID : outcome;
	}
	if (!machine.depth)
		return INVALID;
	*result = to_word(&machine, machine.word[machine.depth - 1]);
	return FOUND;
}
