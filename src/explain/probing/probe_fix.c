/* SPDX-License-Identifier: MIT */
/* Applies the fixes of the rules one by one. The cause is the rule whose fix succeeds. */
#include <errno.h>
#include <string.h>

#include "explain/engine.h"

#define MAX_TRIALS 24

/* A candidate, the open call after its fix, and its result. */
struct trial {
	struct perch__candidate candidate;
	struct perch__case fixed;
	int errnum;
	bool tried, succeeds;
	/* the fix changes target or event, and so it succeeds for many causes */
	bool indirect;
};

struct trials {
	size_t nr;
	struct trial trial[MAX_TRIALS];
};

static bool is_indirect(const struct perch__case *before, const struct perch__case *after)
{
	return before->pid != after->pid || before->cpu != after->cpu ||
	       before->group_fd != after->group_fd || before->attr.type != after->attr.type ||
	       before->attr.config != after->attr.config;
}

/*
 * True if the open call passed the check of the rule: no earlier rule is certain for the new errno.
 */
static bool passed_check(const struct trial *trial, int errnum)
{
	struct perch__candidate first[PERCH_FINDINGS_MAX];
	struct perch__case after = trial->fixed;

	if (trial->errnum == PERCH__NOT_TRIED || trial->errnum == errnum)
		return false;
	if (!trial->errnum || !trial->candidate.rule)
		return true;
	after.errnum = trial->errnum;
	if (!perch__candidates(&after, false, first, PERCH__NR(first)))
		return true;
	return !(first[0].rule && first[0].match == PERCH__YES &&
		 first[0].rule < trial->candidate.rule);
}

static void collect_trials(struct trials *trials, const struct perch__case *base)
{
	struct perch__candidate found[MAX_TRIALS];
	size_t nr = perch__candidates(base, true, found, MAX_TRIALS);

	trials->nr = 0;
	for (size_t i = 0; i < nr; i++) {
		struct trial *trial = &trials->trial[trials->nr];

		trial->candidate = found[i];
		trial->fixed = *base;
		trial->errnum = PERCH__NOT_TRIED;
		trial->tried = trial->succeeds = false;
		if (!perch__fix(&trial->candidate, &trial->fixed) ||
		    perch__same_open_call(&trial->fixed, base))
			continue;
		trial->indirect = is_indirect(base, &trial->fixed);
		trials->nr++;
	}
}

/* Two rules may have the same fix, which is tried once. */
static void try_one(struct perch__prober *prober, struct trials *trials, struct trial *trial,
		    int errnum)
{
	for (struct trial *before = trials->trial; before < trial; before++)
		if (before->tried && perch__same_open_call(&before->fixed, &trial->fixed))
			trial->errnum = before->errnum, trial->tried = true;
	if (!trial->tried) {
		trial->errnum = perch__try(prober, &trial->fixed);
		trial->tried = trial->errnum != PERCH__NOT_TRIED;
	}
	trial->succeeds = passed_check(trial, errnum);
}

static bool try_all(struct perch__prober *prober, struct trials *trials, bool indirect, int errnum)
{
	bool succeeded = false;

	for (size_t i = 0; i < trials->nr; i++) {
		struct trial *trial = &trials->trial[i];

		if (trial->indirect != indirect)
			continue;
		try_one(prober, trials, trial, errnum);
		succeeded |= trial->succeeds;
	}
	return succeeded;
}

static bool is_listed(const struct perch__result *result, const struct perch__candidate *candidate)
{
	for (size_t i = 0; i < result->nr; i++)
		if (result->candidate[i].cause == candidate->cause)
			return true;
	return false;
}

/* The result gets the causes of all successful trials. Returns the first successful trial. */
static const struct trial *use_successful(const struct trials *trials, struct perch__result *result)
{
	const struct trial *first = NULL;

	for (size_t i = 0; i < trials->nr; i++) {
		const struct trial *trial = &trials->trial[i];

		if (!trial->succeeds)
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

/* Applies the fixes of all marked trials, in the order of the rules. */
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
 * If several causes have the same errno, no single fix succeeds. Adds fixes until the errno
 * changes, then removes unnecessary ones. The first remaining cause is the answer; the others are
 * follow-ups.
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

/* After an indirect fix has succeeded, tries all direct ones together, because they name the causes
 * more exactly. Does nothing if the budget is too small. */
static bool try_direct_together(struct perch__prober *prober, const struct perch__case *base,
				const struct trials *trials, struct perch__result *result)
{
	struct trials direct = { 0 };

	for (size_t i = 0; i < trials->nr; i++)
		if (!trials->trial[i].indirect)
			direct.trial[direct.nr++] = trials->trial[i];
	return direct.nr > 1 && prober->made + 2 * direct.nr < prober->limit &&
	       try_together(prober, base, &direct, result);
}

bool perch__probe_fixes(struct perch__prober *prober, const struct perch__case *base,
			struct perch__result *result, struct perch__progress *progress)
{
	struct trials trials;
	const struct trial *successful;

	collect_trials(&trials, base);
	if (!try_all(prober, &trials, false, base->errnum) &&
	    try_all(prober, &trials, true, base->errnum) &&
	    try_direct_together(prober, base, &trials, result))
		return true;
	successful = use_successful(&trials, result);
	if (!successful)
		return trials.nr > 1 && try_together(prober, base, &trials, result);
	progress->fixed = successful->fixed;
	progress->errnum = successful->errnum;
	return true;
}
