/* SPDX-License-Identifier: MIT */
/* Branch stack entries, whose flags the kernel declares as bit-fields in one order on every
 * machine. */
#include "internal.h"

/*
 * A compiler for a big-endian machine puts the first bit-field into the upper bits, any other into
 * the lower ones. So the flags of the other order's machine are taken apart by where their producer
 * has put each.
 */
struct bit_fields {
	uint64_t word;
	unsigned int taken;
	bool from_top;
};

static uint64_t take_bits(struct bit_fields *fields, unsigned int width)
{
	unsigned int shift = fields->from_top ? 64 - fields->taken - width : fields->taken;

	fields->taken += width;
	return fields->word >> shift & ((1ull << width) - 1);
}

static void unpack_flags(struct perch_branch_entry *entry, struct bit_fields fields)
{
	entry->flags = 0;
	entry->mispred = take_bits(&fields, 1);
	entry->predicted = take_bits(&fields, 1);
	entry->in_tx = take_bits(&fields, 1);
	entry->abort = take_bits(&fields, 1);
	entry->cycles = take_bits(&fields, 16);
	entry->type = take_bits(&fields, 4);
	entry->spec = take_bits(&fields, 2);
	entry->new_type = take_bits(&fields, 4);
	entry->priv = take_bits(&fields, 3);
	entry->reserved = take_bits(&fields, 31);
}

void perch_branch_at(const struct perch_record *record, uint64_t index,
		     struct perch_branch_entry *entry)
{
	const struct perch_branch_entry *from;

	*entry = (struct perch_branch_entry){ 0 };
	if (record->type != PERCH_RECORD_SAMPLE || index >= record->sample.branches.nr)
		return;
	from = &record->sample.branches.entry[index];
	if (!record->parse_info->swapped) {
		*entry = *from;
		return;
	}
	entry->from = perch__u64(&from->from, true);
	entry->to = perch__u64(&from->to, true);
	unpack_flags(entry, (struct bit_fields){ .word = perch__u64(&from->flags, true),
						 .from_top = record->parse_info->big_endian });
}
