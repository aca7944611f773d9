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

/* Its number is NO_NUMBER if out of memory. */
static struct address_id address_of(struct perch_profile *profile, const struct sample *sample,
				    uint64_t address)
{
	unsigned sampled = sample->record->misc & PERCH_MISC_CPUMODE_MASK;
	unsigned mode = perch__mode_of_address(sample->record, address);
	struct address_id number =
		perch__address_number(profile->addresses, sample->thread, mode, address);

	if (mode != sampled && sampled == PERCH_MISC_KERNEL && !(address >> 32) &&
	    number.nr != NO_NUMBER &&
	    !perch_dso_is(profile->addresses->address[number.nr].dso, PERCH_DSO_IS_MAPPED))
		number = perch__address_number(profile->addresses, sample->thread,
					       PERCH_MISC_KERNEL, address);
	return number;
}

static bool is_function(struct perch_profile *profile, struct address_id address)
{
	return perch_addresses_at(profile->addresses, address.nr)->symbol;
}

static int add_branch(struct perch_profile *profile, struct sample *sample,
		      const struct perch_branch_entry *branch)
{
	struct perch_profile_total *total = &profile->event[sample->record->event].total;
	struct context_id context;
	int rc;

	sample->branch = branch;
	sample->from = address_of(profile, sample, branch->from);
	sample->to = address_of(profile, sample, branch->to);
	if (sample->from.nr == NO_NUMBER || sample->to.nr == NO_NUMBER)
		return -ENOMEM;
	if (profile->resolved_branches &&
	    (!is_function(profile, sample->from) || !is_function(profile, sample->to)))
		return 0;
	rc = perch__context_of(sample, &context);
	if (rc)
		return rc;
	if (perch__flat_add(profile, sample->to, context, 1))
		return -ENOMEM;
	total->samples += profile->unit;
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
