/* SPDX-License-Identifier: MIT */
/* Runs the programs of call frame information up to an address: the rules that hold there. */
#include <dwarf.h>
#include <errno.h>

#include "cfi.h"

enum {
	MAX_REMEMBERED = 16,
	MAX_PROGRAM = 1 << 20, /* bytes: it runs for each address */
	MAX_EXPRESSION = 1 << 12,
};

struct cfi_machine {
	const struct cfi *cfi;
	const struct cfi_common *common;
	struct cursor cursor;
	uint64_t address, at; /* that is searched, and that the rules hold from */
	struct cfi_rules *rules;
	struct cfi_rules initial, remembered[MAX_REMEMBERED];
	unsigned nr_remembered;
};

static uint8_t read_column(struct cfi_machine *machine)
{
	uint64_t number = perch__read_uleb(&machine->cursor);

	return (uint8_t)(number <= CFI_MAX_COLUMN ? number : perch__read_failed(&machine->cursor));
}

/* The rule of a register that an instruction names. Other registers are not needed. */
static struct cfi_rule *rule_of(struct cfi_rules *rules, unsigned number, struct cfi_rule *unused)
{
	return number < MAX_REGISTERS ? &rules->of[number] : unused;
}

static struct cfi_rule expression(struct cfi_machine *machine, enum cfi_rule_kind kind)
{
	uint64_t size = perch__read_uleb(&machine->cursor);
	struct cfi_rule rule = { .kind = (uint8_t)kind, .expression = machine->cursor.at };

	perch__skip(&machine->cursor, size <= MAX_EXPRESSION ? size : UINT64_MAX);
	rule.size = machine->cursor.failed ? 0 : (uint32_t)size;
	return rule;
}

/* An offset in units. */
static int64_t read_offset(struct cfi_machine *machine, bool is_signed)
{
	uint64_t number = is_signed ? (uint64_t)perch__read_sleb(&machine->cursor)
				    : perch__read_uleb(&machine->cursor);

	return (int64_t)(number * (uint64_t)machine->common->data_factor);
}

/* Only a signed offset of the CFA has units. */
static int64_t read_cfa_offset(struct cfi_machine *machine, bool is_signed)
{
	return is_signed ? read_offset(machine, true) : (int64_t)perch__read_uleb(&machine->cursor);
}

/* The instructions that set the rule of a register. */
static void set_rule(struct cfi_machine *machine, uint8_t opcode)
{
	uint8_t number = read_column(machine);
	struct cfi_rule unused = { 0 }, *rule = rule_of(machine->rules, number, &unused);

	switch (opcode) {
	case DW_CFA_restore_extended:
		*rule = *rule_of(&machine->initial, number, &unused);
		break;
	case DW_CFA_undefined:
		*rule = (struct cfi_rule){ .kind = CFI_UNDEFINED };
		break;
	case DW_CFA_same_value:
		*rule = (struct cfi_rule){ .kind = CFI_SAME };
		break;
	case DW_CFA_offset_extended:
	case DW_CFA_offset_extended_sf:
		*rule = (struct cfi_rule){ .kind = CFI_IN_STACK,
					   .offset = read_offset(
						   machine, opcode == DW_CFA_offset_extended_sf) };
		break;
	case DW_CFA_GNU_negative_offset_extended:
		*rule = (struct cfi_rule){ .kind = CFI_IN_STACK,
					   .offset = (int64_t)(0 - (uint64_t)read_offset(machine,
											 false)) };
		break;
	case DW_CFA_val_offset:
	case DW_CFA_val_offset_sf:
		*rule = (struct cfi_rule){ .kind = CFI_SUM,
					   .offset = read_offset(machine,
								 opcode == DW_CFA_val_offset_sf) };
		break;
	case DW_CFA_register:
		*rule = (struct cfi_rule){ .kind = CFI_REGISTER, .number = read_column(machine) };
		break;
	case DW_CFA_expression:
		*rule = expression(machine, CFI_EXPRESSION);
		break;
	case DW_CFA_val_expression:
		*rule = expression(machine, CFI_VALUE);
		break;
	default:
		perch__read_failed(&machine->cursor);
	}
}

static void remember(struct cfi_machine *machine, bool restore)
{
	if (restore && machine->nr_remembered)
		*machine->rules = machine->remembered[--machine->nr_remembered];
	else if (!restore && machine->nr_remembered < MAX_REMEMBERED)
		machine->remembered[machine->nr_remembered++] = *machine->rules;
	else
		perch__read_failed(&machine->cursor);
}

/* The instructions without a number in their opcode, but for those of addresses. */
static void run_extended(struct cfi_machine *machine, uint8_t opcode)
{
	struct cursor *cursor = &machine->cursor;
	struct cfi_rule *cfa = &machine->rules->cfa, rule;

	switch (opcode) {
	case DW_CFA_nop:
	case DW_CFA_GNU_window_save: /* on arm64 DW_CFA_AARCH64_negate_ra_state */
	case 0x2c:		     /* DW_CFA_AARCH64_negate_ra_state_with_pc */
		break;
	case DW_CFA_GNU_args_size:
		perch__read_uleb(cursor);
		break;
	case DW_CFA_remember_state:
	case DW_CFA_restore_state:
		remember(machine, opcode == DW_CFA_restore_state);
		break;
	case DW_CFA_def_cfa:
	case DW_CFA_def_cfa_sf:
		cfa->number = read_column(machine);
		cfa->offset = read_cfa_offset(machine, opcode == DW_CFA_def_cfa_sf);
		cfa->kind = CFI_SUM;
		break;
	/* after an expression, the other one of register and offset is that before it */
	case DW_CFA_def_cfa_register:
		cfa->number = read_column(machine);
		cfa->kind = CFI_SUM;
		break;
	case DW_CFA_def_cfa_offset:
	case DW_CFA_def_cfa_offset_sf:
		cfa->offset = read_cfa_offset(machine, opcode == DW_CFA_def_cfa_offset_sf);
		cfa->kind = CFI_SUM;
		break;
	case DW_CFA_def_cfa_expression:
		rule = expression(machine, CFI_VALUE);
		cfa->kind = rule.kind;
		cfa->size = rule.size;
		cfa->expression = rule.expression;
		break;
	default:
		set_rule(machine, opcode);
	}
}

/* Returns the address that an instruction moves to; if it is none, the address does not change. */
static uint64_t next_address(struct cfi_machine *machine, uint8_t opcode)
{
	struct cursor *cursor = &machine->cursor;
	uint64_t steps;

	switch (opcode) {
	case DW_CFA_set_loc:
		return perch__cfi_read_pointer(machine->cfi, machine->common, cursor,
					       machine->common->encoding);
	case DW_CFA_advance_loc1:
	case DW_CFA_advance_loc2:
	case DW_CFA_advance_loc4:
		steps = perch__read(cursor, 1u << (opcode - DW_CFA_advance_loc1));
		break;
	case DW_CFA_MIPS_advance_loc8:
		steps = perch__read(cursor, 8);
		break;
	default:
		steps = (opcode & 0xc0) == DW_CFA_advance_loc ? opcode & 0x3f : 0;
	}
	return machine->at + steps * machine->common->code_factor;
}

/* True if an instruction is one of next_address(). */
static bool moves(uint8_t opcode)
{
	return (opcode & 0xc0) == DW_CFA_advance_loc || opcode == DW_CFA_MIPS_advance_loc8 ||
	       (opcode >= DW_CFA_set_loc && opcode <= DW_CFA_advance_loc4);
}

/* Runs a program up to the address. Returns false if it is damaged. */
static bool run_program(struct cfi_machine *machine, const struct cursor *program)
{
	struct cursor *cursor = &machine->cursor;
	struct cfi_rule unused = { 0 };

	*cursor = *program;
	if (cursor->end - cursor->at > MAX_PROGRAM)
		return false;
	while (cursor->at < cursor->end) {
		uint8_t opcode = (uint8_t)perch__read(cursor, 1);
		unsigned number = opcode & 0x3f;

		if (moves(opcode)) {
			uint64_t next = next_address(machine, opcode);

			if (next > machine->address && !cursor->failed) {
				machine->rules->end = next;
				return true;
			}
			machine->at = next;
		} else if ((opcode & 0xc0) == DW_CFA_offset) {
			*rule_of(machine->rules, number, &unused) =
				(struct cfi_rule){ .kind = CFI_IN_STACK,
						   .offset = read_offset(machine, false) };
		} else if ((opcode & 0xc0) == DW_CFA_restore) {
			*rule_of(machine->rules, number, &unused) =
				*rule_of(&machine->initial, number, &unused);
		} else {
			run_extended(machine, opcode);
		}
	}
	return !cursor->failed;
}

/* What holds for registers that no instruction names. */
static void set_default(struct cfi_rules *rules, const struct architecture *architecture)
{
	*rules = (struct cfi_rules){ .cfa.kind = CFI_UNDEFINED };
	for (unsigned number = 0; number < MAX_REGISTERS; number++)
		rules->of[number].kind = number == architecture->sp		 ? CFI_SUM
					 : architecture->preserved >> number & 1 ? CFI_SAME
										 : CFI_UNDEFINED;
}

int perch__cfi_find(const struct cfi *cfi, const struct architecture *architecture,
		    uint64_t address, struct cfi_rules *rules)
{
	struct cfi_machine machine; /* too large to be cleared for each address */
	struct cfi_program program;
	int rc = perch__cfi_find_function(cfi, address, &program);

	if (rc <= 0)
		return rc;
	set_default(rules, architecture);
	machine.cfi = cfi;
	machine.common = &program.common;
	machine.rules = rules;
	machine.initial = *rules;
	machine.nr_remembered = 0;
	machine.at = program.start;
	machine.address = UINT64_MAX;
	if (!run_program(&machine, &program.common.program))
		return -EBADMSG;
	machine.initial = *rules;
	machine.nr_remembered = 0;
	machine.at = program.start;
	machine.address = address;
	rules->end = program.end;
	if (!run_program(&machine, &program.entry))
		return -EBADMSG;
	rules->end = rules->end < program.end ? rules->end : program.end;
	rules->return_register = (uint8_t)program.common.return_register;
	rules->signal_frame = program.common.signal_frame;
	rules->swapped = cfi->swapped;
	return 1;
}
