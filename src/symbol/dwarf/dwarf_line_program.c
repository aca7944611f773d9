/* SPDX-License-Identifier: MIT */
/* Runs the programs of line tables. */
#include <stdlib.h>

#include <dwarf.h>

#include "dwarf_lines.h"

enum {
	ROWS_PER_MARK = 16,
	LONGEST_FREQUENT = 16, /* bytes of an opcode */
	MAX_MARKS = 1 << 26,
};

static void reset_machine(struct machine *machine)
{
	machine->address = machine->before = 0;
	machine->file = machine->line = machine->rows = 1;
}

static enum step run_extended(struct machine *machine)
{
	struct cursor *cursor = &machine->cursor;
	uint64_t size = perch__read_uleb(cursor);
	const uint8_t *end;

	if (!size || size > (size_t)(cursor->end - cursor->at))
		return STEP_ERROR;
	end = cursor->at + size;
	switch (perch__read(cursor, 1)) {
	case DW_LNE_end_sequence:
		cursor->at = end;
		return STEP_END;
	case DW_LNE_set_address:
		/* an address of another size is not understood */
		if (size - 1 != 4 && size - 1 != 8)
			return STEP_ERROR;
		machine->address = perch__read(cursor, (unsigned)size - 1);
		break;
	default:
		break;
	}
	cursor->at = end;
	return STEP_NONE;
}

static inline enum step run_standard(struct machine *machine, uint8_t opcode)
{
	const struct dwarf_lines *lines = machine->lines;
	struct cursor *cursor = &machine->cursor;

	switch (opcode) {
	case DW_LNS_copy:
		return STEP_ROW;
	case DW_LNS_advance_pc:
		machine->address += perch__read_uleb(cursor) * lines->smallest_instruction;
		break;
	case DW_LNS_advance_line:
		machine->line += (uint32_t)perch__read_sleb(cursor);
		break;
	case DW_LNS_set_file:
		machine->file = (uint32_t)perch__read_uleb(cursor);
		break;
	case DW_LNS_const_add_pc:
		machine->address += lines->special[255].address;
		break;
	case DW_LNS_fixed_advance_pc:
		machine->address += perch__read(cursor, 2);
		break;
	default:
		for (unsigned i = lines->operands[opcode - 1]; i; i--)
			perch__read_uleb(cursor);
		break;
	}
	return STEP_NONE;
}

/* Runs one opcode of any kind. */
static enum step run_opcode(struct machine *machine)
{
	const struct dwarf_lines *lines = machine->lines;
	uint8_t opcode = *machine->cursor.at++;

	if (opcode >= lines->first_special) {
		machine->address += lines->special[opcode].address;
		machine->line += (uint32_t)lines->special[opcode].line;
		return STEP_ROW;
	}
	return opcode ? run_standard(machine, opcode) : run_extended(machine);
}

/*
 * Runs the frequent opcodes, which have an operand of one byte, or two for a line, up to the row
 * that ends the run. Returns STEP_NONE before another opcode.
 */
static enum step run_frequent(struct machine *machine)
{
	const uint8_t *at = machine->cursor.at, *const end = machine->cursor.end;
	const struct dwarf_lines *lines = machine->lines;
	const unsigned first_special = lines->first_special;
	uint64_t address = machine->address, before = machine->before;
	uint32_t line = machine->line, rows = machine->rows;
	enum step step = STEP_NONE;

	while (end - at > LONGEST_FREQUENT) {
		unsigned opcode = *at, operand = at[1];
		int number;

		if (opcode >= first_special) {
			address += lines->special[opcode].address;
			line += (uint32_t)lines->special[opcode].line;
			opcode = DW_LNS_copy;
		}
		switch (opcode) {
		case DW_LNS_copy:
			at++;
			if (address >= before && --rows) {
				before = address;
				continue;
			}
			step = address < before ? STEP_BACK : STEP_ROW;
			goto out;
		case DW_LNS_negate_stmt:
			at++;
			continue;
		case DW_LNS_advance_line:
			if (operand < 0x80) {
				line += (uint32_t)((int)(operand ^ 0x40) - 0x40);
				at += 2;
				continue;
			}
			if (at[2] >= 0x80)
				goto out;
			number = (int)(operand & 0x7f) | at[2] << 7;
			line += (uint32_t)((number ^ 0x2000) - 0x2000);
			at += 3;
			continue;
		default:
			break;
		}
		if (operand >= 0x80)
			break;
		if (opcode == DW_LNS_set_column) {
			at += 2;
		} else if (opcode == DW_LNS_set_file) {
			machine->file = operand;
			at += 2;
		} else if (opcode == DW_LNS_advance_pc) {
			address += (uint64_t)operand * lines->smallest_instruction;
			at += 2;
		} else if (!opcode && operand && operand <= LONGEST_FREQUENT - 2 &&
			   at[2] == DW_LNE_set_discriminator) {
			at += 2 + operand;
		} else {
			break;
		}
	}
out:
	machine->cursor.at = at;
	machine->address = address;
	machine->before = step == STEP_ROW ? address : before;
	machine->line = line;
	machine->rows = rows;
	return step;
}

enum step perch__line_run(struct machine *machine)
{
	enum step step = machine->lines->usual_operands ? run_frequent(machine) : STEP_NONE;

	if (step)
		return step;
	step = run_opcode(machine);
	if (step != STEP_ROW && step != STEP_END)
		return step;
	/* the end may be below, where the linker has set the address of a function to -1 */
	if (step == STEP_ROW && machine->address < machine->before)
		return STEP_BACK;
	machine->before = machine->address;
	machine->rows--;
	return step;
}

static int add_mark(struct dwarf_lines *lines, const struct machine *machine)
{
	struct mark *mark = PERCH__ARRAY_APPEND_MAX(lines->mark, lines->nr_marks,
						    lines->marks_capacity, MAX_MARKS);

	if (!mark)
		return DWARF_APPEND_ERROR(lines->nr_marks, MAX_MARKS);
	mark->address = machine->address;
	mark->file = machine->file;
	mark->line = machine->line;
	mark->next = (uint32_t)(machine->cursor.at - lines->program);
	return 0;
}

/* Adds the sequence of the marks from `first` on. */
static int add_sequence(struct dwarf_lines *lines, size_t first, uint64_t end)
{
	struct sequence *sequence;

	if (first == lines->nr_marks)
		return 0;
	if (lines->mark[first].address >= end) {
		lines->nr_marks = first;
		return 0;
	}
	sequence = PERCH__ARRAY_APPEND_MAX(lines->sequence, lines->nr_sequences,
					   lines->sequences_capacity, MAX_MARKS);
	if (!sequence)
		return DWARF_APPEND_ERROR(lines->nr_sequences, MAX_MARKS);
	*sequence = (struct sequence){ lines->mark[first].address, end, (uint32_t)first,
				       (uint32_t)(lines->nr_marks - first) };
	return 0;
}

static int by_start(const void *left, const void *right)
{
	const struct sequence *a = left, *b = right;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return (a->mark > b->mark) - (a->mark < b->mark);
}

int perch__line_program(struct dwarf_lines *lines)
{
	struct machine machine = { .cursor = { lines->program, lines->end, lines->swapped, false },
				   .lines = lines };
	size_t first = 0;
	int rc = 0;

	reset_machine(&machine);
	while (machine.cursor.at < machine.cursor.end && !rc) {
		enum step step = perch__line_run(&machine);

		if (step == STEP_NONE)
			continue;
		if (step == STEP_ERROR || machine.cursor.failed)
			return -ENOTSUP;
		if (step == STEP_BACK) { /* the rows from here on are a sequence of their own */
			rc = add_sequence(lines, first, machine.before);
			first = lines->nr_marks;
			machine.before = machine.address;
			machine.rows = 0;
			step = STEP_ROW;
		}
		if (step == STEP_ROW) {
			if (!machine.rows && !rc) {
				rc = add_mark(lines, &machine);
				machine.rows = ROWS_PER_MARK;
			}
			continue;
		}
		rc = add_sequence(lines, first, machine.address);
		first = lines->nr_marks;
		reset_machine(&machine);
	}
	if (!rc) /* the last one may have no end */
		rc = add_sequence(lines, first, machine.before);
	if (machine.cursor.failed)
		return -ENOTSUP;
	if (!rc && lines->nr_sequences)
		qsort(lines->sequence, lines->nr_sequences, sizeof(*lines->sequence), by_start);
	return rc;
}
