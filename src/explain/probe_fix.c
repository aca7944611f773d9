/* SPDX-License-Identifier: MIT */
/* The remedies of the rules, tried: the one that helps tells the cause. */
#include <errno.h>
#include <string.h>

#include "engine.h"

#define MAX_TRIALS 24
#define MAX_DEPTH  3

/* A rule that may be the cause, the call as its remedy makes it, and what became of that. */
struct trial {
	struct perch__candidate candidate;
	struct perch__case fixed;
	int result;
	bool tried, helps;
	/* another target or event: it helps against much, and tells little */
	bool coarse;
};

struct trials {
	size_t nr;
	struct trial trial[MAX_TRIALS];
};

static bool is_coarse(const struct perch__case *before, const struct perch__case *after)
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
	struct perch__case after = trial->fixed;

	if (trial->result == PERCH__NOT_TRIED || trial->result == errnum)
		return false;
	if (!trial->result || !trial->candidate.rule)
		return true;
	after.errnum = trial->result;
	if (!perch__candidates(&after, false, first, PERCH__NR(first)))
		return true;
	return !(first[0].rule && first[0].match == PERCH__YES &&
		 first[0].rule < trial->candidate.rule);
}

static void gather(struct trials *trials, const struct perch__case *base)
{
	struct perch__candidate found[MAX_TRIALS];
	size_t nr = perch__candidates(base, true, found, MAX_TRIALS);

	trials->nr = 0;
	for (size_t i = 0; i < nr; i++) {
		struct trial *trial = &trials->trial[trials->nr];

		trial->candidate = found[i];
		trial->fixed = *base;
		trial->result = PERCH__NOT_TRIED;
		trial->tried = trial->helps = false;
		if (!perch__fix(&trial->candidate, &trial->fixed) ||
		    perch__same_open_call(&trial->fixed, base))
			continue;
		trial->coarse = is_coarse(base, &trial->fixed);
		trials->nr++;
	}
}

/* Two rules may have one remedy: it is tried once. */
static void try_one(struct perch__prober *prober, struct trials *trials, struct trial *trial,
		    int errnum)
{
	for (struct trial *before = trials->trial; before < trial; before++)
		if (before->tried && perch__same_open_call(&before->fixed, &trial->fixed))
			trial->result = before->result, trial->tried = true;
	if (!trial->tried) {
		trial->result = perch__try(prober, &trial->fixed);
		trial->tried = trial->result != PERCH__NOT_TRIED;
	}
	trial->helps = got_further(trial, errnum);
}

/* The heavy ones are for where no light one helps. */
static bool try_all(struct perch__prober *prober, struct trials *trials, bool coarse, int errnum)
{
	bool helped = false;

	for (size_t i = 0; i < trials->nr; i++) {
		struct trial *trial = &trials->trial[i];

		if (trial->coarse != coarse)
			continue;
		try_one(prober, trials, trial, errnum);
		helped |= trial->helps;
	}
	return helped;
}

static bool is_listed(const struct perch__result *result, const struct perch__candidate *candidate)
{
	for (size_t i = 0; i < result->nr; i++)
		if (result->candidate[i].cause == candidate->cause)
			return true;
	return false;
}

/* The cause of each trial that helps. The first is returned. */
static const struct trial *use_helpful(const struct trials *trials, struct perch__result *result)
{
	const struct trial *first = NULL;

	for (size_t i = 0; i < trials->nr; i++) {
		const struct trial *trial = &trials->trial[i];

		if (!trial->helps)
			continue;
		if (!first) {
			first = trial;
			result->nr = 0;
		}
		if (result->nr < PERCH_FINDINGS_MAX && !is_listed(result, &trial->candidate))
			result->candidate[result->nr++] = trial->candidate;
	}
	if (first)
		result->confidence = result->nr == 1 ? PERCH_CONFIDENCE_CERTAIN
						     : PERCH_CONFIDENCE_AMBIGUOUS;
	return first;
}

/* The base with the remedies of all trials that are marked, in the order of the rules. */
static struct perch__case fix_all(const struct perch__case *base, const struct trials *trials,
				  const bool *used)
{
	struct perch__case fixed = *base;

	for (size_t i = 0; i < trials->nr; i++)
		if (used[i])
			perch__fix(&trials->trial[i].candidate, &fixed);
	return fixed;
}

/*
 * None helps alone: there may be several faults of one errno. Remedies are added until the kernel
 * gets further, and those that were not needed are taken back. Helpful then are several: the first
 * is the answer, and the others come next.
 */
static bool try_together(struct perch__prober *prober, const struct perch__case *base,
			 const struct trials *trials, struct perch__result *result)
{
	bool used[MAX_TRIALS] = { false };
	struct perch__case fixed;
	int rc = base->errnum;
	size_t last;

	for (last = 0; last < trials->nr; last++) {
		used[last] = true;
		if (!last)
			continue;
		fixed = fix_all(base, trials, used);
		rc = perch__try(prober, &fixed);
		if (rc != base->errnum)
			break;
	}
	if (rc == base->errnum || rc == PERCH__NOT_TRIED)
		return false;
	for (size_t i = 0; i < last; i++) {
		used[i] = false;
		fixed = fix_all(base, trials, used);
		used[i] = perch__try(prober, &fixed) != rc;
	}
	result->nr = result->nr_next = 0;
	for (size_t i = 0; i <= last; i++) {
		if (!used[i])
			continue;
		if (result->nr)
			perch__add_next(result, &trials->trial[i].candidate, base);
		else
			result->candidate[result->nr++] = trials->trial[i].candidate;
	}
	result->confidence = PERCH_CONFIDENCE_CERTAIN;
	return true;
}

/* Another target or no group helps against several small faults too: these are told where budget
 * allows to look. */
static bool try_fine_together(struct perch__prober *prober, const struct perch__case *base,
			      const struct trials *trials, struct perch__result *result)
{
	struct trials light = { 0 };

	for (size_t i = 0; i < trials->nr; i++)
		if (!trials->trial[i].coarse)
			light.trial[light.nr++] = trials->trial[i];
	return light.nr > 1 && prober->made + 2 * light.nr < prober->limit &&
	       try_together(prober, base, &light, result);
}

bool perch__probe_fixes(struct perch__prober *prober, const struct perch__case *base,
			struct perch__result *result)
{
	struct trials trials;
	const struct trial *helpful;

	gather(&trials, base);
	if (!try_all(prober, &trials, false, base->errnum) &&
	    try_all(prober, &trials, true, base->errnum) &&
	    try_fine_together(prober, base, &trials, result))
		return true;
	helpful = use_helpful(&trials, result);
	if (!helpful)
		return trials.nr > 1 && try_together(prober, base, &trials, result);
	perch__probe_next(prober, &helpful->fixed, helpful->result, result);
	return true;
}

/* What the rules took for certain stays where the calls were made without it, or did not come so
 * far. */
static void keep_followups(const struct perch__case *fixed, bool came_through,
			   const struct perch__followup *before, size_t nr,
			   struct perch__result *result)
{
	for (size_t i = 0; i < nr; i++) {
		const struct perch__rule *rule = before[i].candidate.rule;

		if (!came_through || (rule && rule->match(fixed) != PERCH__YES))
			perch__add_next(result, &before[i].candidate, &before[i].at);
	}
}

void perch__probe_next(struct perch__prober *prober, const struct perch__case *fixed, int errnum,
		       struct perch__result *result)
{
	struct perch__followup before[PERCH_NEXT_MAX];
	size_t nr_before = result->nr_next;
	struct perch__case after = *fixed;
	struct perch__result followup;

	memcpy(before, result->next, nr_before * sizeof(*before));
	result->nr_next = 0;
	after.errnum = errnum;
	if (errnum > 0 && prober->depth < MAX_DEPTH) {
		prober->depth++;
		perch__evaluate(&after, &followup);
		if (followup.confidence == PERCH_CONFIDENCE_CERTAIN)
			perch__probe_certain(prober, &after, &followup);
		else if (!perch__probe_fixes(prober, &after, &followup))
			perch__probe_parts(prober, &after, &followup);
		if (followup.candidate[0].cause != PERCH_CAUSE_UNEXPLAINED ||
		    followup.candidate[0].nr_fields)
			perch__add_next(result, &followup.candidate[0], &after);
		for (size_t i = 0; i < followup.nr_next; i++)
			perch__add_next(result, &followup.next[i].candidate, &followup.next[i].at);
	}
	after.errnum = 0;
	keep_followups(&after, errnum == 0, before, nr_before, result);
}
