/* SPDX-License-Identifier: MIT */
/* Fields of SAMPLE whose form is not that of one value. */
#include <stdio.h>

#include "fields.h"

/* The first word of the body; the view has one id, and a record that somebody made up may have two.
 */
void perch__emit_sample_identifier(struct perch__walk *walk, const char *name)
{
	const char *body = (const char *)walk->record->bytes + PERCH__HEADER_BYTES;

	if (walk->record->size >= PERCH__HEADER_BYTES + sizeof(uint64_t))
		perch__emit_field(walk, name, PERCH_FIELD_NUMBER,
				  perch__u64(body, walk->record->parse_info->swapped));
}

void perch__emit_sample_read(struct perch__walk *walk, const char *name)
{
	perch__emit_read_values(walk, name, &walk->record->sample.read);
}

void perch__emit_sample_callchain(struct perch__walk *walk, const char *name)
{
	perch__emit_chain(walk, name, walk->record->sample.callchain.ip,
			  walk->record->sample.callchain.nr);
}

void perch__emit_sample_raw(struct perch__walk *walk, const char *name)
{
	perch__emit_bytes(walk, name, walk->record->sample.raw.data, walk->record->sample.raw.size);
}

static void emit_branch(struct perch__walk *walk, uint64_t index)
{
	const uint64_t *counters = walk->record->sample.branches.counters;
	struct perch_branch_entry entry;

	perch_branch_at(walk->record, index, &entry);
	perch__emit_field(walk, NULL, PERCH_FIELD_GROUP, 0);
	perch__emit_field(walk, "from", PERCH_FIELD_ADDRESS, entry.from);
	perch__emit_field(walk, "to", PERCH_FIELD_ADDRESS, entry.to);
	perch__emit_flags(walk, "flags", perch__branch_flags(&entry), perch__format_branch);
	perch__emit_field(walk, "cycles", PERCH_FIELD_NUMBER, entry.cycles);
	if (counters)
		perch__emit_field(walk, "counters", PERCH_FIELD_HEX,
				  perch_word(walk->record, counters + index));
	perch__emit_field(walk, NULL, PERCH_FIELD_END, 0);
}

/* The kernel leaves the index out of the empty stack of an event that has none. */
void perch__emit_sample_branches(struct perch__walk *walk, const char *name)
{
	const struct perch_sample *sample = &walk->record->sample;

	perch__emit_field(walk, name, PERCH_FIELD_GROUP, 0);
	if (walk->record->parse_info->branch_sample_type & PERCH_SAMPLE_BRANCH_HW_INDEX &&
	    (sample->branches.nr || sample->branches.hw_index))
		perch__emit_field(walk, "hw_idx", PERCH_FIELD_HEX, sample->branches.hw_index);
	perch__emit_field(walk, "entries", PERCH_FIELD_LIST, sample->branches.nr);
	for (uint64_t i = 0; i < sample->branches.nr && !walk->rc; i++)
		emit_branch(walk, i);
	perch__emit_field(walk, NULL, PERCH_FIELD_END, 0);
	perch__emit_field(walk, NULL, PERCH_FIELD_END, 0);
}

static void emit_registers(struct perch__walk *walk, const char *name,
			   const struct perch_registers *registers)
{
	uint64_t mask = registers->mask;

	perch__emit_field(walk, name, PERCH_FIELD_GROUP, 0);
	perch__emit_flags(walk, "abi", registers->abi, perch__format_abi);
	for (uint32_t i = 0; i < registers->nr && mask && !walk->rc; i++, mask &= mask - 1) {
		unsigned int bit = __builtin_ctzll(mask);
		const char *known = perch_register_name(walk->arch, bit);
		char number[16];

		snprintf(number, sizeof(number), "reg%u", bit);
		perch__emit_field(walk, known ? known : number, PERCH_FIELD_HEX,
				  perch_word(walk->record, registers->value + i));
	}
	perch__emit_field(walk, NULL, PERCH_FIELD_END, 0);
}

void perch__emit_sample_regs_user(struct perch__walk *walk, const char *name)
{
	emit_registers(walk, name, &walk->record->sample.regs_user);
}

void perch__emit_sample_regs_intr(struct perch__walk *walk, const char *name)
{
	emit_registers(walk, name, &walk->record->sample.regs_intr);
}

/* Bytes that the kernel reserved and could not fill are what was in the ring before: they are not
 * shown. */
void perch__emit_sample_stack(struct perch__walk *walk, const char *name)
{
	const struct perch_sample *sample = &walk->record->sample;

	perch__emit_field(walk, name, PERCH_FIELD_GROUP, 0);
	perch__emit_field(walk, "size", PERCH_FIELD_NUMBER, sample->stack_user.size);
	if (sample->stack_user.size) {
		perch__emit_bytes(walk, "data", sample->stack_user.data,
				  sample->stack_user.dynamic_size);
		perch__emit_field(walk, "dyn_size", PERCH_FIELD_NUMBER,
				  sample->stack_user.dynamic_size);
	}
	perch__emit_field(walk, NULL, PERCH_FIELD_END, 0);
}

void perch__emit_sample_weight(struct perch__walk *walk, const char *name)
{
	union perch_sample_weight weight = { .full = walk->record->sample.weight };

	if (!(walk->record->parse_info->sample_type & PERCH_SAMPLE_WEIGHT_STRUCT)) {
		perch__emit_field(walk, name, PERCH_FIELD_NUMBER, weight.full);
		return;
	}
	perch__emit_field(walk, name, PERCH_FIELD_GROUP, 0);
	perch__emit_field(walk, "var1_dw", PERCH_FIELD_NUMBER, weight.var1_dw);
	perch__emit_field(walk, "var2_w", PERCH_FIELD_NUMBER, weight.var2_w);
	perch__emit_field(walk, "var3_w", PERCH_FIELD_NUMBER, weight.var3_w);
	perch__emit_field(walk, NULL, PERCH_FIELD_END, 0);
}

void perch__emit_sample_aux(struct perch__walk *walk, const char *name)
{
	perch__emit_bytes(walk, name, walk->record->sample.aux.data, walk->record->sample.aux.size);
}
