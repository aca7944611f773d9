/* SPDX-License-Identifier: MIT */
/*
 * Call stacks that the CPU keeps in its branch records (LBR): an entry is a call that has not
 * returned. The kernel's part of a call chain is that of the recorded chain, because such branch
 * stacks have no kernel branches.
 */
#include "internal.h"

static uint64_t swap_if(uint64_t word, bool swapped)
{
	return swapped ? __builtin_bswap64(word) : word;
}

/* Returns the number of words before the user part, with its marker, or 0 if there is none. */
static size_t kernel_part(const struct perch_record *record)
{
	const struct perch_sample *sample = &record->sample;
	bool swapped = record->parse_info->swapped;

	for (size_t i = 0; i < sample->callchain.nr; i++)
		if (swap_if(sample->callchain.ip[i], swapped) == PERCH_CONTEXT_USER)
			return i + 1;
	return 0;
}

/* True if the words before the user part are more than markers. */
static bool has_kernel_address(const struct perch_record *record, size_t user)
{
	for (size_t i = 0; i < user; i++)
		if (swap_if(record->sample.callchain.ip[i], record->parse_info->swapped) <
		    PERCH_CONTEXT_MAX)
			return true;
	return false;
}

/*
 * Returns the user address that was executed: the sampled one, or, below a kernel part, the first
 * user address of the recorded chain, which is that of the user registers. The newest branch has
 * the start of that function. Returns 0 if nothing has it, and if it is the sampled address of a
 * chain with a kernel part: the CPU may sample an instruction of user space precisely, and the
 * kernel run before it takes the sample. Readers put the sampled address before that chain.
 */
static uint64_t innermost(const struct perch_record *record, size_t user)
{
	const struct perch_sample *sample = &record->sample;
	bool in_user = (record->misc & PERCH_MISC_CPUMODE_MASK) == PERCH_MISC_USER && sample->ip;
	struct perch_branch_entry newest;
	uint64_t word = 0;

	if (in_user && !has_kernel_address(record, user))
		return sample->ip;
	if (user < sample->callchain.nr)
		word = swap_if(sample->callchain.ip[user], record->parse_info->swapped);
	if (in_user && word == sample->ip)
		return 0;
	if (word && word < PERCH_CONTEXT_MAX)
		return word;
	perch_branch_at(record, 0, &newest);
	return newest.to;
}

size_t perch__branch_chain(const struct perch_record *record, uint64_t *words, size_t capacity)
{
	const struct perch_sample *sample = &record->sample;
	bool swapped = record->parse_info->swapped;
	size_t nr = kernel_part(record);
	uint64_t address;

	if (!nr || nr >= capacity)
		return 0;
	for (size_t i = 0; i < nr; i++)
		words[i] = sample->callchain.ip[i];
	address = innermost(record, nr);
	if (address && address < PERCH_CONTEXT_MAX)
		words[nr++] = swap_if(address, swapped);
	for (uint64_t i = 0; i < sample->branches.nr && nr < capacity; i++) {
		struct perch_branch_entry entry;

		perch_branch_at(record, i, &entry);
		/* the stack ends at a branch without a source, and at one that is no address */
		if (!entry.from || entry.from >= PERCH_CONTEXT_MAX)
			break;
		words[nr++] = swap_if(entry.from, swapped);
	}
	return nr;
}
