/* SPDX-License-Identifier: MIT */
/* Profiles of branches: each branch of a sample's branch stack counts 1. */
#include <errno.h>
#include "internal.h"

uint64_t perch__branches_of(const struct perch_record *record)
{
	/* a stack of calls that have not returned has no branches between functions */
	return record->parse_info->branch_sample_type & PERCH_SAMPLE_BRANCH_CALL_STACK
		       ? 0
		       : record->sample.branches.nr;
}

/*
 * The kernel of 64-bit machines is in the upper half of the addresses, so the address shows the
 * mode. Guests have no such rule. An address of a 32-bit kernel is in no mapping of the process.
 * Returns NO_NUMBER if out of memory.
 */
static uint32_t address_of(struct perch_profile *profile, const struct sample *sample,
			   uint64_t address)
{
	unsigned mode = sample->record->misc & PERCH_MISC_CPUMODE_MASK;
	bool in_host = mode == PERCH_MISC_USER || mode == PERCH_MISC_KERNEL;
	uint32_t number;

	if (!in_host || address >> 63)
		return perch__address_number(profile->addresses, sample->thread,
					     in_host ? PERCH_MISC_KERNEL : mode, address);
	number =
		perch__address_number(profile->addresses, sample->thread, PERCH_MISC_USER, address);
	if (mode == PERCH_MISC_KERNEL && !(address >> 32) && number != NO_NUMBER &&
	    profile->addresses->address[number].dso->kind == PERCH_DSO_UNKNOWN)
		number = perch__address_number(profile->addresses, sample->thread,
					       PERCH_MISC_KERNEL, address);
	return number;
}

static bool is_function(struct perch_profile *profile, uint32_t address)
{
	return perch_addresses_at(profile->addresses, address)->symbol;
}

static int add_branch(struct perch_profile *profile, struct sample *sample,
		      const struct perch_branch_entry *branch)
{
	struct perch_profile_total *total = &profile->event[sample->record->event].total;
	int64_t context;

	sample->branch = branch;
	sample->from = address_of(profile, sample, branch->from);
	sample->to = address_of(profile, sample, branch->to);
	if (sample->from == NO_NUMBER || sample->to == NO_NUMBER)
		return -ENOMEM;
	if (profile->resolved_branches &&
	    (!is_function(profile, sample->from) || !is_function(profile, sample->to)))
		return 0;
	context = perch__context_of(sample);
	if (context < 0)
		return (int)context;
	if (perch__flat_add(profile, sample->to, (uint32_t)context, 1))
		return -ENOMEM;
	total->samples++;
	total->period++;
	return 0;
}

int perch__branches_add(struct perch_profile *profile, struct sample *sample)
{
	uint64_t nr = perch__branches_of(sample->record);
	struct perch_branch_entry branch;
	int rc = 0;

	for (uint64_t i = 0; i < nr && !rc; i++) {
		perch_branch_at(sample->record, i, &branch);
		rc = add_branch(profile, sample, &branch);
	}
	return rc;
}
