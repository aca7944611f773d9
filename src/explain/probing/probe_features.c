/* SPDX-License-Identifier: MIT */
/* Finds which of the newer features of an open call the kernel has. */
#include <errno.h>

#include "explain/engine.h"
#include "explain/facts.h"

/* An attr that every kernel accepts from every user. */
static struct perch_attr plain_attr(void)
{
	return (struct perch_attr){ .type = PERCH_TYPE_SOFTWARE,
				    .size = sizeof(struct perch_attr),
				    .config = PERCH_COUNT_SW_CPU_CLOCK,
				    .disabled = 1,
				    .exclude_kernel = 1,
				    .exclude_hv = 1 };
}

/* Sets what the kernel requires beside the features, which are in the attr. */
static void add_requirements(struct perch_attr *attr)
{
	if (attr->inherit_thread)
		attr->inherit = 1;
	if (attr->sigtrap)
		attr->remove_on_exec = 1;
	if (attr->branch_sample_type)
		attr->sample_type |= PERCH_SAMPLE_BRANCH_STACK;
	if (attr->sample_type & PERCH_SAMPLE_BRANCH_STACK)
		attr->branch_sample_type |= PERCH_SAMPLE_BRANCH_USER | PERCH_SAMPLE_BRANCH_ANY;
	if (attr->sample_type & PERCH_SAMPLE_REGS_USER)
		attr->sample_regs_user = 1;
	if (attr->sample_type & PERCH_SAMPLE_REGS_INTR)
		attr->sample_regs_intr = 1;
}

static void add_feature(struct perch_attr *attr, const struct perch__newer *feature)
{
	perch_attr_set(attr, feature->field,
		       feature->is_bit ? perch_attr_get(attr, feature->field) | feature->mask : 1);
}

/* The features are those of the attr of one open call, which has only them. */
static int try_features(struct perch__prober *prober, const struct perch__case *c,
			const struct perch__newer *feature, size_t nr)
{
	struct perch_attr attr = plain_attr();

	for (size_t i = 0; i < nr; i++)
		if (feature[i].field)
			add_feature(&attr, &feature[i]);
	add_requirements(&attr);
	return perch__try_attr(prober, c, &attr);
}

static void keep_feature(struct perch_attr *attr, const struct perch__newer *feature)
{
	perch_attr_set(attr, feature->field, perch_attr_get(attr, feature->field) | feature->mask);
}

/* EBADF is the refusal of the descriptor, which comes after the checks of the attr. */
static void keep_result(const struct perch__case *c, const struct perch__newer *feature, size_t nr,
			int errnum)
{
	for (size_t i = 0; i < nr; i++) {
		if (!feature[i].field)
			continue;
		if (errnum == EBADF)
			keep_feature(&c->shared->present, &feature[i]);
		else if (nr == 1 && (errnum == EINVAL || errnum == E2BIG))
			keep_feature(&c->shared->missing, &feature[i]);
	}
}

/* A kernel of any release may be built without cgroup events. */
static void probe_cgroup_samples(struct perch__prober *prober, const struct perch__case *c)
{
	const struct perch__newer cgroup = { .field = perch_attr_get_field("sample_type"),
					     .mask = PERCH_SAMPLE_CGROUP,
					     .is_bit = true };

	if (c->attr.sample_type & PERCH_SAMPLE_CGROUP &&
	    perch__no_cgroup_events(c) == PERCH__UNKNOWN)
		keep_result(c, &cgroup, 1, try_features(prober, c, &cgroup, 1));
}

/* Fewer are tried one by one at once, because the kernel probably lacks one of them. */
#define MANY 4

static void probe_newer(struct perch__prober *prober, const struct perch__case *c)
{
	struct perch__newer_list newer;
	int errnum;

	perch__find_newer(c, &newer);
	if (newer.nr >= MANY) {
		errnum = try_features(prober, c, newer.feature, newer.nr);
		keep_result(c, newer.feature, newer.nr, errnum);
		if (errnum != EINVAL && errnum != E2BIG)
			return;
	}
	for (size_t i = 0; i < newer.nr; i++)
		if (newer.feature[i].field)
			keep_result(c, &newer.feature[i], 1,
				    try_features(prober, c, &newer.feature[i], 1));
}

void perch__probe_features(struct perch__prober *prober, const struct perch__case *c)
{
	if (!c->shared || (c->errnum != EINVAL && c->errnum != E2BIG))
		return;
	probe_newer(prober, c);
	probe_cgroup_samples(prober, c);
}
