/* SPDX-License-Identifier: MIT */
/* Removes parts of the open call until the errno changes: the parts removed last are the cause. */
#include <errno.h>
#include <string.h>

#include "explain/engine.h"

struct attr_part_search {
	struct perch__prober *prober;
	const struct perch__case *base;
	struct perch__attr_subsets subsets;
	int last; /* the result of the last open call */
};

/* True if the open call without the marked subsets returns another result. */
static bool passes(struct attr_part_search *search, const bool *removed)
{
	struct perch__case without = *search->base;

	perch__remove_subsets(&without, &search->subsets, removed);
	search->last = perch__try(search->prober, &without);
	return search->last != PERCH__NOT_TRIED && search->last != search->base->errnum;
}

static void mark_parts(bool *removed, const bool *always, size_t first, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		removed[i] = i < first || always[i];
}

/*
 * Returns the smallest n for which the open call passes without the first n subsets and those at
 * fault. Subset n - 1 is then at fault.
 */
static size_t shortest_prefix(struct attr_part_search *search, const bool *at_fault, size_t upper)
{
	bool removed[PERCH_ATTR_PARTS_MAX];
	size_t lower = 0;

	while (upper - lower > 1 && !search->prober->out_of_budget) {
		size_t middle = lower + (upper - lower) / 2;

		mark_parts(removed, at_fault, middle, search->subsets.nr);
		if (passes(search, removed))
			upper = middle;
		else
			lower = middle;
	}
	return upper;
}

#define MAX_CAUSE_SUBSETS 3

/*
 * Finds the subsets at fault: the open call passes without them, and fails with any one of them.
 * Returns their number, or 0 if there are too many.
 */
static size_t find_at_fault(struct attr_part_search *search, size_t *found)
{
	bool at_fault[PERCH_ATTR_PARTS_MAX] = { false };
	size_t nr = 0, upper = search->subsets.nr;

	while (nr < MAX_CAUSE_SUBSETS && upper) {
		upper = shortest_prefix(search, at_fault, upper) - 1;
		if (search->prober->out_of_budget)
			return 0;
		at_fault[upper] = true;
		found[nr++] = upper;
		if (passes(search, at_fault))
			return nr;
	}
	return 0;
}

/*
 * Finds another subset without which the subset at fault is accepted. Returns subsets.nr if there
 * is none or it is unknown.
 */
static size_t find_dependency(struct attr_part_search *search, size_t at_fault)
{
	bool removed[PERCH_ATTR_PARTS_MAX];
	size_t lower = 0, upper = search->subsets.nr;

	for (size_t i = 0; i < search->subsets.nr; i++)
		removed[i] = i != at_fault;
	if (!passes(search, removed))
		return search->subsets.nr;
	lower = 1;
	while (lower < upper && !search->prober->out_of_budget) {
		size_t middle = lower + (upper - lower) / 2;

		for (size_t i = 0; i < search->subsets.nr; i++)
			removed[i] = i >= middle && i != at_fault;
		if (passes(search, removed))
			lower = middle + 1;
		else
			upper = middle;
	}
	return search->prober->out_of_budget ? search->subsets.nr : lower - 1;
}

/*
 * True if the removal of `other` also removes `one`, as with a sample_type bit and its size field.
 */
static bool is_removed_with(const struct attr_part_search *search, size_t one, size_t other)
{
	const struct perch_attr_part *subset = &search->subsets.subset[one];
	struct perch__case without = *search->base;
	bool removed[PERCH_ATTR_PARTS_MAX] = { false };

	removed[other] = true;
	perch__remove_subsets(&without, &search->subsets, removed);
	return !(perch_attr_get(&without.attr, subset->field) & subset->mask);
}

static void add_field(struct perch__candidate *candidate, const char *name)
{
	for (size_t i = 0; i < candidate->nr_fields; i++)
		if (!strcmp(candidate->field[i], name))
			return;
	if (candidate->nr_fields < PERCH__MAX_FIELDS)
		candidate->field[candidate->nr_fields++] = name;
}

static bool names_field(const struct perch__candidate *candidate, const struct perch__case *c,
			const char *name)
{
	struct perch__newer_list newer;

	if (candidate->rule)
		return perch__names_field(candidate->rule->fields, name);
	perch__candidate_features(candidate, c, &newer);
	for (size_t i = 0; i < newer.nr; i++)
		if (!strcmp(newer.feature[i].field ? newer.feature[i].field->name : "flags", name))
			return true;
	return false;
}

static bool names_any(const struct perch__candidate *candidate, const struct perch__case *c,
		      const struct perch__candidate *fields)
{
	for (size_t i = 0; i < fields->nr_fields; i++)
		if (names_field(candidate, c, fields->field[i]))
			return true;
	return false;
}

/*
 * The result gets the candidates that name one of the fields, or only the fields if there are none.
 */
static void set_causes_of_fields(const struct perch__case *c, const struct perch__candidate *fields,
				 struct perch__result *result)
{
	struct perch__candidate found[2 * PERCH_FINDINGS_MAX];
	size_t nr = perch__candidates(c, true, found, PERCH__NR(found));

	result->nr = 0;
	for (size_t i = 0; i < nr && result->nr < PERCH_FINDINGS_MAX; i++)
		if (names_any(&found[i], c, fields))
			result->candidate[result->nr++] = found[i];
	if (!result->nr) {
		result->candidate[result->nr++] = *fields;
		result->confidence = PERCH_CONFIDENCE_LIKELY;
		return;
	}
	result->confidence = result->nr == 1 ? PERCH_CONFIDENCE_CERTAIN
					     : PERCH_CONFIDENCE_AMBIGUOUS;
}

static bool probe_subsets(struct attr_part_search *search, struct perch__result *result,
			  struct perch__progress *progress)
{
	struct perch__candidate fields = { .cause = PERCH_CAUSE_UNEXPLAINED };
	bool at_fault[PERCH_ATTR_PARTS_MAX] = { false };
	size_t found[MAX_CAUSE_SUBSETS], dependency, nr = find_at_fault(search, found);
	int errnum = search->last;

	for (size_t i = 0; i < nr; i++) {
		add_field(&fields, search->subsets.subset[found[i]].field->name);
		at_fault[found[i]] = true;
	}
	dependency = nr == 1 ? find_dependency(search, found[0]) : search->subsets.nr;
	if (dependency < search->subsets.nr && !is_removed_with(search, found[0], dependency))
		add_field(&fields, search->subsets.subset[dependency].field->name);
	if (!nr)
		return false;
	set_causes_of_fields(search->base, &fields, result);
	progress->fixed = *search->base;
	perch__remove_subsets(&progress->fixed, &search->subsets, at_fault);
	progress->errnum = errnum;
	return true;
}

/* ---- Arguments besides the attr ---- */

static void remove_output(struct perch__case *c)
{
	c->flags &= ~(PERCH_FLAG_FD_OUTPUT | PERCH_FLAG_FD_NO_GROUP);
}

static void remove_group(struct perch__case *c)
{
	remove_output(c);
	c->group_fd = -1;
}

/* The calling thread replaces the target, because probing must not open other threads. */
static void target_self(struct perch__case *c)
{
	c->flags &= ~PERCH_FLAG_PID_CGROUP;
	c->pid = 0;
}

static void target_other_cpu(struct perch__case *c)
{
	const struct perch_cpus *cpus;

	if (c->cpu < 0)
		return;
	if (c->pid != -1 && !(c->flags & PERCH_FLAG_PID_CGROUP)) {
		c->cpu = -1;
	} else if (!perch_machine_cpus(c->machine, &cpus, NULL)) {
		for (size_t i = 0; i < cpus->nr; i++)
			if (cpus->cpu[i] != c->cpu) {
				c->cpu = cpus->cpu[i];
				return;
			}
	}
}

static const struct {
	const char *fields[2];
	void (*remove)(struct perch__case *c);
} arguments[] = {
	{ { "flags" }, remove_output },
	{ { "group_fd" }, remove_group },
	{ { "cpu" }, target_other_cpu },
	{ { "pid" }, target_self },
	{ { "type", "config" }, perch__substitute },
};

static bool probe_arguments(struct perch__prober *prober, const struct perch__case *base,
			    struct perch__result *result, struct perch__progress *progress)
{
	for (size_t i = 0; i < PERCH__NR(arguments); i++) {
		struct perch__candidate fields = { .cause = PERCH_CAUSE_UNEXPLAINED };
		struct perch__case without = *base;
		int rc;

		arguments[i].remove(&without);
		if (perch__same_open_call(&without, base))
			continue;
		rc = perch__try(prober, &without);
		if (rc == PERCH__NOT_TRIED)
			return false;
		if (rc == base->errnum)
			continue;
		for (size_t k = 0; k < PERCH__NR(arguments[i].fields) && arguments[i].fields[k];
		     k++)
			add_field(&fields, arguments[i].fields[k]);
		set_causes_of_fields(base, &fields, result);
		progress->fixed = without;
		progress->errnum = rc;
		return true;
	}
	return false;
}

void perch__set_event_cause(const struct perch__case *c, struct perch__result *result)
{
	struct perch__candidate rest[PERCH_FINDINGS_MAX];
	struct perch__case harmless = *c;
	size_t nr = 0;

	perch__substitute(&harmless);
	for (size_t i = 0; i < result->nr; i++) {
		const struct perch__rule *rule = result->candidate[i].rule;

		if (rule && rule->match(&harmless) == PERCH__NO)
			rest[nr++] = result->candidate[i];
	}
	if (!nr) {
		rest[nr++] = (struct perch__candidate){ .cause = PERCH_CAUSE_UNEXPLAINED };
		add_field(&rest[0], "type");
		add_field(&rest[0], "config");
		if (c->attr.config1)
			add_field(&rest[0], "config1");
	}
	memcpy(result->candidate, rest, nr * sizeof(*rest));
	result->nr = nr;
	result->confidence = nr == 1 ? PERCH_CONFIDENCE_LIKELY : PERCH_CONFIDENCE_AMBIGUOUS;
}

bool perch__probe_parts(struct perch__prober *prober, const struct perch__case *base,
			struct perch__result *result, struct perch__progress *progress)
{
	struct attr_part_search search = { .prober = prober, .base = base };
	bool all[PERCH_ATTR_PARTS_MAX];

	perch__split_attr(&search.subsets, base);
	memset(all, true, sizeof(all));
	if (search.subsets.nr && passes(&search, all))
		return probe_subsets(&search, result, progress);
	return probe_arguments(prober, base, result, progress);
}
