/* SPDX-License-Identifier: MIT */
/* Splits an attr into subsets, and removes some of them. */
#include <string.h>

#include "explain/engine.h"

/* Harmless fields and the addresses of a breakpoint are not removed. */
static bool is_removable(const struct perch_attr_field *field, const struct perch_attr *attr)
{
	if (!strcmp(field->name, "bp_type") || !strcmp(field->name, "disabled"))
		return false;
	return attr->type != PERCH_TYPE_BREAKPOINT ||
	       (strcmp(field->name, "config1") && strcmp(field->name, "config2"));
}

/*
 * When the first event with one of these is opened, the kernel waits for all CPUs. They are removed
 * first.
 */
static bool is_costly(const struct perch_attr_part *subset)
{
	const char *name = subset->field->name;

	return !strcmp(name, "context_switch") || !strcmp(name, "cgroup") ||
	       (!strcmp(name, "sample_type") &&
		subset->mask & (PERCH_SAMPLE_BRANCH_STACK | PERCH_SAMPLE_CGROUP));
}

/*
 * After the costly subsets, newer ones come first. In one release, later fields come first, because
 * they often need earlier ones.
 */
static bool comes_before(const struct perch_attr_part *one, const struct perch_attr_part *other)
{
	if (is_costly(one) != is_costly(other))
		return is_costly(one);
	return one->rank >= other->rank;
}

static void add_subset(struct perch__attr_subsets *subsets, const struct perch_attr_part *subset)
{
	size_t at = subsets->nr++;

	for (; at && comes_before(subset, &subsets->subset[at - 1]); at--)
		subsets->subset[at] = subsets->subset[at - 1];
	subsets->subset[at] = *subset;
}

static bool needs_more_privilege(const struct perch__case *c, const char *name)
{
	return (!strcmp(name, "exclude_kernel") || !strcmp(name, "exclude_hv") ||
		!strcmp(name, "exclude_callchain_kernel")) &&
	       !perch_machine_privileged(c->machine);
}

void perch__split_attr(struct perch__attr_subsets *subsets, const struct perch__case *c)
{
	struct perch_attr_part part[PERCH_ATTR_PARTS_MAX];
	size_t nr;

	subsets->nr = 0;
	nr = perch_attr_split(&c->attr, part, PERCH__NR(part));
	for (size_t i = 0; i < nr; i++)
		if (is_removable(part[i].field, &c->attr) &&
		    !needs_more_privilege(c, part[i].field->name))
			add_subset(subsets, &part[i]);
}

static void drop_samples(struct perch_attr *attr, uint64_t what)
{
	attr->sample_type &= ~what;
}

/* Clears settings that are refused without the removed ones. */
static void clear_dependent_fields(struct perch_attr *attr)
{
	if (!attr->inherit)
		attr->inherit_thread = attr->inherit_stat = 0;
	if (!attr->remove_on_exec)
		attr->sigtrap = attr->sig_data = 0;
	if (!attr->use_clockid)
		attr->clockid = 0;
	if (!attr->mmap2)
		attr->build_id = 0;
	if (!attr->sample_period)
		attr->freq = attr->precise_ip = 0;
	if (!(attr->branch_sample_type & ~(uint64_t)PERCH_SAMPLE_BRANCH_PLM_ALL))
		drop_samples(attr, PERCH_SAMPLE_BRANCH_STACK);
	if (!(attr->sample_type & PERCH_SAMPLE_BRANCH_STACK))
		attr->branch_sample_type = 0;
	if (!attr->sample_regs_user)
		drop_samples(attr, PERCH_SAMPLE_REGS_USER);
	if (!attr->sample_regs_intr)
		drop_samples(attr, PERCH_SAMPLE_REGS_INTR);
	if (!(attr->sample_type & PERCH_SAMPLE_REGS_USER))
		attr->sample_regs_user = 0;
	if (!(attr->sample_type & PERCH_SAMPLE_REGS_INTR))
		attr->sample_regs_intr = 0;
	if (!(attr->sample_type & PERCH_SAMPLE_STACK_USER))
		attr->sample_stack_user = 0;
	if (!(attr->sample_type & PERCH_SAMPLE_TID) && attr->inherit)
		drop_samples(attr, PERCH_SAMPLE_READ);
}

/*
 * The period that replaces a frequency. It is long enough to cause no load, and not too long for a
 * PMU.
 */
#define SOME_PERIOD 1000003

void perch__remove_subsets(struct perch__case *c, const struct perch__attr_subsets *subsets,
			   const bool *removed)
{
	struct perch_attr *attr = &c->attr;
	bool had_clock = attr->use_clockid;

	for (size_t i = 0; i < subsets->nr; i++) {
		const struct perch_attr_part *subset = &subsets->subset[i];
		uint64_t value = perch_attr_get(attr, subset->field);

		if (!removed[i])
			continue;
		perch_attr_set(attr, subset->field, value & ~subset->mask);
		if (!strcmp(subset->field->name, "freq") && attr->sample_period)
			attr->sample_period = SOME_PERIOD;
		if (!strcmp(subset->field->name, "clockid") && had_clock)
			attr->use_clockid = 0;
	}
	clear_dependent_fields(attr);
}
