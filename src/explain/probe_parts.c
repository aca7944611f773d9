/* SPDX-License-Identifier: MIT */
/* Parts of the call taken away until it is not refused so any more: what is left to blame is few
 * fields. */
#include <errno.h>
#include <string.h>

#include "engine.h"

struct search {
	struct perch__prober *prober;
	const struct perch__case *base;
	struct perch__atoms atoms;
	int last; /* what the last call came to */
};

/* Whether the call without what is marked is refused for something else, or not at all. */
static bool passes(struct search *search, const bool *gone)
{
	struct perch__case without = *search->base;

	perch__without(&without, &search->atoms, gone);
	search->last = perch__ask(search->prober, &without);
	return search->last != PERCH__NOT_ASKED && search->last != search->base->errnum;
}

static void mark_first(bool *gone, const bool *always, size_t first, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		gone[i] = i < first || always[i];
}

/* The shortest beginning of the atoms without which (and the guilty ones) the call passes: its last
 * atom is guilty. */
static size_t shortest(struct search *search, const bool *guilty, size_t upper)
{
	bool gone[PERCH_MOST_ATTR_PARTS];
	size_t lower = 0;

	while (upper - lower > 1 && !search->prober->out_of_budget) {
		size_t middle = lower + (upper - lower) / 2;

		mark_first(gone, guilty, middle, search->atoms.nr);
		if (passes(search, gone))
			upper = middle;
		else
			lower = middle;
	}
	return upper;
}

#define MOST_GUILTY 3

/* Fills in the atoms without which the call passes, and with any of which it does not. Returns how
 * many. */
static size_t find_guilty(struct search *search, size_t *found)
{
	bool guilty[PERCH_MOST_ATTR_PARTS] = { false };
	size_t nr = 0, upper = search->atoms.nr;

	while (nr < MOST_GUILTY && upper) {
		upper = shortest(search, guilty, upper) - 1;
		if (search->prober->out_of_budget)
			return 0;
		guilty[upper] = true;
		found[nr++] = upper;
		if (passes(search, guilty))
			return nr;
	}
	return 0;
}

/* Of an atom that is at fault beside another one alone: which that is. atoms.nr: it is at fault by
 * itself, or unknown. */
static size_t find_partner(struct search *search, size_t guilty)
{
	bool gone[PERCH_MOST_ATTR_PARTS], kept[PERCH_MOST_ATTR_PARTS] = { false };
	size_t lower = 0, upper = search->atoms.nr;

	kept[guilty] = true;
	for (size_t i = 0; i < search->atoms.nr; i++)
		gone[i] = !kept[i];
	if (!passes(search, gone))
		return search->atoms.nr;
	lower = 1;
	while (lower < upper && !search->prober->out_of_budget) {
		size_t middle = lower + (upper - lower) / 2;

		for (size_t i = 0; i < search->atoms.nr; i++)
			gone[i] = !(i < middle || kept[i]);
		if (passes(search, gone))
			lower = middle + 1;
		else
			upper = middle;
	}
	return search->prober->out_of_budget ? search->atoms.nr : lower - 1;
}

/* Whether one atom is gone as soon as another one is: a size without the bit that asks for
 * something of that size. */
static bool goes_with(const struct search *search, size_t one, size_t other)
{
	const struct perch_attr_part *atom = &search->atoms.atom[one];
	struct perch__case without = *search->base;
	bool gone[PERCH_MOST_ATTR_PARTS] = { false };

	gone[other] = true;
	perch__without(&without, &search->atoms, gone);
	return !(perch_attr_get(&without.attr, atom->field) & atom->mask);
}

static void add_field(struct perch__candidate *candidate, const char *name)
{
	for (size_t i = 0; i < candidate->nr_fields; i++)
		if (!strcmp(candidate->field[i], name))
			return;
	if (candidate->nr_fields < PERCH__MOST_FIELDS)
		candidate->field[candidate->nr_fields++] = name;
}

static bool names_any(const struct perch__candidate *rule, const struct perch__candidate *fields)
{
	for (size_t i = 0; i < fields->nr_fields; i++)
		if (perch__names_field(rule->rule ? rule->rule->fields : rule->feature.name,
				       fields->field[i]))
			return true;
	return false;
}

/* The rules that fit and name one of the fields; where none does, the fields by themselves. */
static void blame(const struct perch__case *c, const struct perch__candidate *fields,
		  struct perch__verdict *verdict)
{
	struct perch__candidate found[2 * PERCH_FINDINGS_MAX];
	size_t nr = perch__candidates(c, true, found, PERCH__NR(found));

	verdict->nr = 0;
	for (size_t i = 0; i < nr && verdict->nr < PERCH_FINDINGS_MAX; i++)
		if (names_any(&found[i], fields))
			verdict->candidate[verdict->nr++] = found[i];
	if (!verdict->nr) {
		verdict->candidate[verdict->nr++] = *fields;
		verdict->confidence = PERCH_CONFIDENCE_LIKELY;
		return;
	}
	verdict->confidence = verdict->nr == 1 ? PERCH_CONFIDENCE_CERTAIN
					       : PERCH_CONFIDENCE_AMBIGUOUS;
}

static bool probe_atoms(struct search *search, struct perch__verdict *verdict)
{
	struct perch__candidate fields = { .cause = PERCH_CAUSE_UNEXPLAINED };
	struct perch__case mended = *search->base;
	bool guilty[PERCH_MOST_ATTR_PARTS] = { false };
	size_t found[MOST_GUILTY], partner, nr = find_guilty(search, found);
	int result = search->last;

	for (size_t i = 0; i < nr; i++) {
		add_field(&fields, search->atoms.atom[found[i]].field->name);
		guilty[found[i]] = true;
	}
	partner = nr == 1 ? find_partner(search, found[0]) : search->atoms.nr;
	if (partner < search->atoms.nr && !goes_with(search, found[0], partner))
		add_field(&fields, search->atoms.atom[partner].field->name);
	if (!nr)
		return false;
	blame(search->base, &fields, verdict);
	perch__without(&mended, &search->atoms, guilty);
	perch__probe_next(search->prober, &mended, result, verdict);
	return true;
}

/* ---- What is not of the attr ---- */

static void leave_output(struct perch__case *c)
{
	c->flags &= ~(PERCH_FLAG_FD_OUTPUT | PERCH_FLAG_FD_NO_GROUP);
}

static void leave_group(struct perch__case *c)
{
	leave_output(c);
	c->group_fd = -1;
}

/* Nobody else's thread is asked about: this one's stands in for it. */
static void be_self(struct perch__case *c)
{
	c->flags &= ~PERCH_FLAG_PID_CGROUP;
	c->pid = 0;
}

static void be_elsewhere(struct perch__case *c)
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
	void (*leave)(struct perch__case *c);
} axes[] = {
	{ { "flags" }, leave_output },
	{ { "group_fd" }, leave_group },
	{ { "cpu" }, be_elsewhere },
	{ { "pid" }, be_self },
	{ { "type", "config" }, perch__stand_in },
};

static bool probe_axes(struct perch__prober *prober, const struct perch__case *base,
		       struct perch__verdict *verdict)
{
	for (size_t i = 0; i < PERCH__NR(axes); i++) {
		struct perch__candidate fields = { .cause = PERCH_CAUSE_UNEXPLAINED };
		struct perch__case without = *base;
		int rc;

		axes[i].leave(&without);
		if (perch__same_call(&without, base))
			continue;
		rc = perch__ask(prober, &without);
		if (rc == PERCH__NOT_ASKED)
			return false;
		if (rc == base->errnum)
			continue;
		for (size_t k = 0; k < PERCH__NR(axes[i].fields) && axes[i].fields[k]; k++)
			add_field(&fields, axes[i].fields[k]);
		blame(base, &fields, verdict);
		perch__probe_next(prober, &without, rc, verdict);
		return true;
	}
	return false;
}

void perch__blame_stand_in(const struct perch__case *c, struct perch__verdict *verdict)
{
	struct perch__candidate kept[PERCH_FINDINGS_MAX];
	struct perch__case harmless = *c;
	size_t nr = 0;

	perch__stand_in(&harmless);
	for (size_t i = 0; i < verdict->nr; i++) {
		const struct perch__rule *rule = verdict->candidate[i].rule;

		if (rule && rule->fit(&harmless) == PERCH__NO)
			kept[nr++] = verdict->candidate[i];
	}
	if (!nr) {
		kept[nr++] = (struct perch__candidate){ .cause = PERCH_CAUSE_UNEXPLAINED };
		add_field(&kept[0], "type");
		add_field(&kept[0], "config");
		if (c->attr.config1)
			add_field(&kept[0], "config1");
	}
	memcpy(verdict->candidate, kept, nr * sizeof(*kept));
	verdict->nr = nr;
	verdict->confidence = nr == 1 ? PERCH_CONFIDENCE_LIKELY : PERCH_CONFIDENCE_AMBIGUOUS;
}

bool perch__probe_parts(struct perch__prober *prober, const struct perch__case *base,
			struct perch__verdict *verdict)
{
	struct search search = { .prober = prober, .base = base };
	bool all[PERCH_MOST_ATTR_PARTS];

	perch__atoms_of(&search.atoms, base);
	memset(all, true, sizeof(all));
	if (search.atoms.nr && passes(&search, all))
		return probe_atoms(&search, verdict);
	return probe_axes(prober, base, verdict);
}
