/* SPDX-License-Identifier: MIT */
/* The remedies of the rules, tried: the one that helps tells the cause. */
#include <errno.h>
#include <string.h>

#include "engine.h"

#define MOST_TRIALS 24
#define MOST_DEPTH  3

/* A rule that may be the cause, the call as its remedy makes it, and what became of that. */
struct trial {
	struct perch__candidate candidate;
	struct perch__case mended;
	int result;
	bool asked, helps;
	/* another target or event: it helps against much, and tells little */
	bool heavy;
};

struct trials {
	size_t nr;
	struct trial trial[MOST_TRIALS];
};

static bool is_heavy(const struct perch__case *before, const struct perch__case *after)
{
	return before->pid != after->pid || before->cpu != after->cpu ||
	       before->group_fd != after->group_fd || before->attr.type != after->attr.type ||
	       before->attr.config != after->attr.config;
}

/* Whether the kernel got further with it: the new errno is not one of a check in front of the
 * rule's. */
static bool got_further(const struct trial *trial, int errnum)
{
	struct perch__candidate first[PERCH_FINDINGS_MAX];
	struct perch__case after = trial->mended;

	if (trial->result == PERCH__NOT_ASKED || trial->result == errnum)
		return false;
	if (!trial->result || !trial->candidate.rule)
		return true;
	after.errnum = trial->result;
	if (!perch__candidates(&after, false, first, PERCH__NR(first)))
		return true;
	return !(first[0].rule && first[0].fit == PERCH__YES &&
		 first[0].rule < trial->candidate.rule);
}

static void gather(struct trials *trials, const struct perch__case *base)
{
	struct perch__candidate found[MOST_TRIALS];
	size_t nr = perch__candidates(base, true, found, MOST_TRIALS);

	trials->nr = 0;
	for (size_t i = 0; i < nr; i++) {
		struct trial *trial = &trials->trial[trials->nr];

		trial->candidate = found[i];
		trial->mended = *base;
		trial->result = PERCH__NOT_ASKED;
		trial->asked = trial->helps = false;
		if (!perch__mend(&trial->candidate, &trial->mended) ||
		    perch__same_call(&trial->mended, base))
			continue;
		trial->heavy = is_heavy(base, &trial->mended);
		trials->nr++;
	}
}

/* Two rules may have one remedy: it is tried once. */
static void try_one(struct perch__prober *prober, struct trials *trials, struct trial *trial,
		    int errnum)
{
	for (struct trial *before = trials->trial; before < trial; before++)
		if (before->asked && perch__same_call(&before->mended, &trial->mended))
			trial->result = before->result, trial->asked = true;
	if (!trial->asked) {
		trial->result = perch__ask(prober, &trial->mended);
		trial->asked = trial->result != PERCH__NOT_ASKED;
	}
	trial->helps = got_further(trial, errnum);
}

/* The heavy ones are for where no light one helps. */
static bool try_all(struct perch__prober *prober, struct trials *trials, bool heavy, int errnum)
{
	bool helped = false;

	for (size_t i = 0; i < trials->nr; i++) {
		struct trial *trial = &trials->trial[i];

		if (trial->heavy != heavy)
			continue;
		try_one(prober, trials, trial, errnum);
		helped |= trial->helps;
	}
	return helped;
}

static bool is_told(const struct perch__verdict *verdict, const struct perch__candidate *candidate)
{
	for (size_t i = 0; i < verdict->nr; i++)
		if (verdict->candidate[i].cause == candidate->cause)
			return true;
	return false;
}

/* The cause of each trial that helps. The first is returned. */
static const struct trial *take_helpful(const struct trials *trials, struct perch__verdict *verdict)
{
	const struct trial *first = NULL;

	for (size_t i = 0; i < trials->nr; i++) {
		const struct trial *trial = &trials->trial[i];

		if (!trial->helps)
			continue;
		if (!first) {
			first = trial;
			verdict->nr = 0;
		}
		if (verdict->nr < PERCH_FINDINGS_MAX && !is_told(verdict, &trial->candidate))
			verdict->candidate[verdict->nr++] = trial->candidate;
	}
	if (first)
		verdict->confidence = verdict->nr == 1 ? PERCH_CONFIDENCE_CERTAIN
						       : PERCH_CONFIDENCE_AMBIGUOUS;
	return first;
}

/* The base with the remedies of all trials that are marked, in the order of the rules. */
static struct perch__case mend_all(const struct perch__case *base, const struct trials *trials,
				   const bool *used)
{
	struct perch__case mended = *base;

	for (size_t i = 0; i < trials->nr; i++)
		if (used[i])
			perch__mend(&trials->trial[i].candidate, &mended);
	return mended;
}

/*
 * None helps alone: there may be several faults of one errno. Remedies are added until the kernel
 * gets further, and those that were not needed are taken back. Helpful then are several: the first
 * is the answer, and the others come next.
 */
static bool try_together(struct perch__prober *prober, const struct perch__case *base,
			 const struct trials *trials, struct perch__verdict *verdict)
{
	bool used[MOST_TRIALS] = { false };
	struct perch__case mended;
	int rc = base->errnum;
	size_t last;

	for (last = 0; last < trials->nr; last++) {
		used[last] = true;
		if (!last)
			continue;
		mended = mend_all(base, trials, used);
		rc = perch__ask(prober, &mended);
		if (rc != base->errnum)
			break;
	}
	if (rc == base->errnum || rc == PERCH__NOT_ASKED)
		return false;
	for (size_t i = 0; i < last; i++) {
		used[i] = false;
		mended = mend_all(base, trials, used);
		used[i] = perch__ask(prober, &mended) != rc;
	}
	verdict->nr = verdict->nr_next = 0;
	for (size_t i = 0; i <= last; i++) {
		if (!used[i])
			continue;
		if (verdict->nr)
			perch__add_next(verdict, &trials->trial[i].candidate, base);
		else
			verdict->candidate[verdict->nr++] = trials->trial[i].candidate;
	}
	verdict->confidence = PERCH_CONFIDENCE_CERTAIN;
	verdict->mended_succeeds = rc == 0;
	return true;
}

/* Another target or no group helps against several small faults too: these are told where budget
 * allows to look. */
static bool try_light_together(struct perch__prober *prober, const struct perch__case *base,
			       const struct trials *trials, struct perch__verdict *verdict)
{
	struct trials light = { 0 };

	for (size_t i = 0; i < trials->nr; i++)
		if (!trials->trial[i].heavy)
			light.trial[light.nr++] = trials->trial[i];
	return light.nr > 1 && prober->made + 2 * light.nr < prober->limit &&
	       try_together(prober, base, &light, verdict);
}

bool perch__probe_mends(struct perch__prober *prober, const struct perch__case *base,
			struct perch__verdict *verdict)
{
	struct trials trials;
	const struct trial *helpful;

	gather(&trials, base);
	if (!try_all(prober, &trials, false, base->errnum) &&
	    try_all(prober, &trials, true, base->errnum) &&
	    try_light_together(prober, base, &trials, verdict))
		return true;
	helpful = take_helpful(&trials, verdict);
	if (!helpful)
		return trials.nr > 1 && try_together(prober, base, &trials, verdict);
	perch__probe_next(prober, &helpful->mended, helpful->result, verdict);
	return true;
}

/* What the rules took for certain stays where the calls were made without it, or did not come so
 * far. */
static void keep_rules(const struct perch__case *mended, bool came_through,
		       const struct perch__sequel *before, size_t nr,
		       struct perch__verdict *verdict)
{
	for (size_t i = 0; i < nr; i++) {
		const struct perch__rule *rule = before[i].candidate.rule;

		if (!came_through || (rule && rule->fit(mended) != PERCH__YES))
			perch__add_next(verdict, &before[i].candidate, &before[i].at);
	}
}

void perch__probe_next(struct perch__prober *prober, const struct perch__case *mended, int errnum,
		       struct perch__verdict *verdict)
{
	struct perch__sequel before[PERCH_NEXT_MAX];
	size_t nr_before = verdict->nr_next;
	struct perch__case after = *mended;
	struct perch__verdict sequel;

	memcpy(before, verdict->next, nr_before * sizeof(*before));
	verdict->nr_next = 0;
	verdict->mended_succeeds = errnum == 0;
	after.errnum = errnum;
	if (errnum > 0 && prober->depth < MOST_DEPTH) {
		prober->depth++;
		perch__judge(&after, &sequel);
		if (sequel.confidence == PERCH_CONFIDENCE_CERTAIN)
			perch__probe_certain(prober, &after, &sequel);
		else if (!perch__probe_mends(prober, &after, &sequel))
			perch__probe_parts(prober, &after, &sequel);
		if (sequel.candidate[0].cause != PERCH_CAUSE_UNEXPLAINED ||
		    sequel.candidate[0].nr_fields)
			perch__add_next(verdict, &sequel.candidate[0], &after);
		for (size_t i = 0; i < sequel.nr_next; i++)
			perch__add_next(verdict, &sequel.next[i].candidate, &sequel.next[i].at);
	}
	after.errnum = 0;
	keep_rules(&after, errnum == 0, before, nr_before, verdict);
}
