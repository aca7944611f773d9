/* SPDX-License-Identifier: MIT */
/* Branch stack entries, whose flags the kernel declares as bit-fields in one order on every
 * machine. */
#include "internal.h"

/*
 * A compiler for a big-endian machine puts the first bit-field into the upper bits, any other into
 * the lower ones. So the flags of the other order's machine are taken apart by where their producer
 * has put each.
 */
struct bits {
	uint64_t word;
	unsigned int taken;
	bool from_top;
};

static uint64_t take(struct bits *bits, unsigned int width)
{
	unsigned int shift = bits->from_top ? 64 - bits->taken - width : bits->taken;

	bits->taken += width;
	return bits->word >> shift & ((1ull << width) - 1);
}

static void take_flags(struct perch_branch_entry *entry, struct bits bits)
{
	entry->flags = 0;
	entry->mispred = take(&bits, 1);
	entry->predicted = take(&bits, 1);
	entry->in_tx = take(&bits, 1);
	entry->abort = take(&bits, 1);
	entry->cycles = take(&bits, 16);
	entry->type = take(&bits, 4);
	entry->spec = take(&bits, 2);
	entry->new_type = take(&bits, 4);
	entry->priv = take(&bits, 3);
	entry->reserved = take(&bits, 31);
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
	take_flags(entry, (struct bits){ .word = perch__u64(&from->flags, true),
					 .from_top = record->parse_info->big_endian });
}
