/* SPDX-License-Identifier: MIT */
/* Makes open calls to find the cause if the rules have several, and to find the follow-ups. */
#include <errno.h>
#include <string.h>

#include "explain/engine.h"
#include "explain/facts.h"
#include "machine/sandbox.h"

#define DEFAULT_CALLS	     25
#define DEFAULT_MICROSECONDS 5000
#define MAX_DEPTH	     3

/* ---- Follow-ups ---- */

/*
 * Keeps follow-ups of the rules that the open calls could not test: a check failed before, or the
 * setting had been removed.
 */
static void keep_followups(const struct perch__case *fixed, bool succeeded,
			   const struct perch__followup *before, size_t nr,
			   struct perch__result *result)
{
	for (size_t i = 0; i < nr; i++) {
		const struct perch__rule *rule = before[i].candidate.rule;

		if (!succeeded || (rule && rule->match(fixed) != PERCH__YES))
			perch__add_next(result, &before[i].candidate, &before[i].at);
	}
}

static void probe_next(struct perch__prober *prober, const struct perch__progress *progress,
		       struct perch__result *result);

/* Tries the fixes of the rules, then removes parts. */
static void find_cause(struct perch__prober *prober, const struct perch__case *base,
		       struct perch__result *result)
{
	struct perch__progress progress = { .errnum = PERCH__NOT_TRIED };

	if (!perch__probe_fixes(prober, base, result, &progress))
		perch__probe_parts(prober, base, result, &progress);
	if (progress.errnum != PERCH__NOT_TRIED)
		probe_next(prober, &progress, result);
}

/* True if a field that selects the event is the cause. */
static bool is_event_cause(const struct perch__candidate *candidate)
{
	static const char *const fields[] = { "type",	 "config",  "config1", "config2",
					      "bp_addr", "bp_type", "bp_len" };

	for (size_t i = 0; candidate->rule && i < PERCH__NR(fields); i++)
		if (perch__names_field(candidate->rule->fields, fields[i]))
			return true;
	return false;
}

/*
 * Makes the fixed open call to find the next failure. If the rule is about the event and has no
 * fix, a dummy event replaces the event.
 */
static void probe_certain(struct perch__prober *prober, const struct perch__case *c,
			  struct perch__result *result)
{
	struct perch__progress progress = { .fixed = *c };

	if (!perch__fix(&result->candidate[0], &progress.fixed)) {
		if (!is_event_cause(&result->candidate[0]))
			return;
		perch__substitute(&progress.fixed);
	}
	if (perch__needs_substitute(&progress.fixed))
		perch__substitute(&progress.fixed);
	perch__drop_effects(&progress.fixed);
	progress.errnum = perch__try(prober, &progress.fixed);
	if (progress.errnum != PERCH__NOT_TRIED)
		probe_next(prober, &progress, result);
}

/* Finds why the fixed open call is refused, if it is. */
static void probe_next(struct perch__prober *prober, const struct perch__progress *progress,
		       struct perch__result *result)
{
	struct perch__followup before[PERCH_NEXT_MAX];
	size_t nr_before = result->nr_next;
	struct perch__case after = progress->fixed;
	struct perch__result followup;

	memcpy(before, result->next, nr_before * sizeof(*before));
	result->nr_next = 0;
	after.errnum = progress->errnum;
	if (after.errnum == E2BIG)
		after.kernel_size = prober->kernel_size;
	if (after.errnum > 0 && prober->depth < MAX_DEPTH) {
		prober->depth++;
		perch__evaluate(&after, &followup);
		if (followup.confidence == PERCH_CONFIDENCE_CERTAIN)
			probe_certain(prober, &after, &followup);
		else
			find_cause(prober, &after, &followup);
		if (followup.candidate[0].cause != PERCH_CAUSE_UNEXPLAINED ||
		    followup.candidate[0].nr_fields)
			perch__add_next(result, &followup.candidate[0], &after);
		for (size_t i = 0; i < followup.nr_next; i++)
			perch__add_next(result, &followup.next[i].candidate, &followup.next[i].at);
	}
	after.errnum = 0;
	keep_followups(&after, progress->errnum == 0, before, nr_before, result);
}

/* ---- The cause ---- */

static void set_certain(struct perch__result *result, const struct perch__candidate *candidate)
{
	result->candidate[0] = *candidate;
	result->nr = 1;
	result->confidence = PERCH_CONFIDENCE_CERTAIN;
}

/*
 * Returns a rule of the cause that matches; otherwise one whose message is true of any open call.
 */
static const struct perch__rule *rule_of(const struct perch__case *c, enum perch_cause cause)
{
	const struct perch__rule *found = NULL;
	/* a filter exists and has returned the errno: no further condition is needed */
	bool proven = cause == PERCH_CAUSE_SECCOMP && perch__seccomp_filters(c) == PERCH__YES;

	for (const struct perch__rule *rule = perch__rules; rule->errnum; rule++) {
		if (rule->cause != cause)
			continue;
		if (rule->errnum == c->errnum && (proven || rule->match(c) != PERCH__NO))
			return rule;
		/* the messages of ENOSYS rules are wrong for other errnos */
		if (!found || (found->errnum == ENOSYS && c->errnum != ENOSYS))
			found = rule;
	}
	return found;
}

/* perf returned the errno, so causes before perf are impossible. */
static void drop_causes_before_perf(struct perch__result *result)
{
	size_t nr = 0;

	for (size_t i = 0; i < result->nr; i++)
		if (!perch__is_before_perf(result->candidate[i].cause))
			result->candidate[nr++] = result->candidate[i];
	if (!nr)
		result->candidate[nr++] =
			(struct perch__candidate){ .cause = PERCH_CAUSE_UNEXPLAINED };
	result->nr = nr;
	if (nr == 1 && result->confidence == PERCH_CONFIDENCE_AMBIGUOUS)
		result->confidence = PERCH_CONFIDENCE_LIKELY;
}

/*
 * Returns true if open calls do not reach perf: the cause is then found. If they reach perf,
 * evaluates the rules again, because one may be certain now.
 */
static bool probe_before_perf(struct perch__prober *prober, struct perch__case *c,
			      struct perch__result *result)
{
	enum perch_cause cause = c->errnum == ENOSYS ? PERCH_CAUSE_NO_SYSCALL : PERCH_CAUSE_SECCOMP;
	struct perch__candidate candidate;
	int rc = perch__try_without_attr(prober);

	if (rc == EFAULT) {
		c->reached_perf = true;
		perch__evaluate(c, result);
		drop_causes_before_perf(result);
	}
	if (rc != c->errnum || rc == EFAULT)
		return false;
	if (perch__seccomp_filters(c) == PERCH__YES)
		cause = PERCH_CAUSE_SECCOMP;
	candidate = (struct perch__candidate){ .rule = rule_of(c, cause),
					       .cause = cause,
					       .match = PERCH__YES };
	set_certain(result, &candidate);
	result->nr_next = 0;
	return true;
}

static bool needs_probe_before_perf(const struct perch__case *c, const struct perch__result *result)
{
	if (perch__seccomp_filters(c) == PERCH__YES) /* a filter may return any errno */
		return c->errnum != EFAULT;
	for (size_t i = 0; i < result->nr; i++)
		if (perch__is_before_perf(result->candidate[i].cause) ||
		    result->candidate[i].cause == PERCH_CAUSE_UNEXPLAINED)
			return c->errnum != EFAULT;
	return c->errnum == EPERM || c->errnum == ENOSYS;
}

/* Errnos that no field causes: the open call is only repeated. */
static bool is_transient(int errnum)
{
	return errnum == EMFILE || errnum == ENFILE || errnum == ENOMEM || errnum == EINTR ||
	       errnum == EAGAIN;
}

static void set_transient(const struct perch__case *c, struct perch__result *result)
{
	const struct perch__candidate transient = { .cause = PERCH_CAUSE_TRANSIENT,
						    .match = PERCH__YES };

	if (!is_transient(c->errnum))
		set_certain(result, &transient);
	result->succeeds_now = true;
	result->nr_next = 0;
}

/*
 * Repeats the open call, first without settings that have side effects. If it returns the same
 * errno, these settings are not the cause, and base no longer has them.
 */
static int try_again(struct perch__prober *prober, struct perch__case *base)
{
	struct perch__case reduced = *base;
	int rc;

	perch__drop_effects(&reduced);
	if (perch__same_open_call(&reduced, base))
		return perch__try(prober, base);
	rc = perch__try(prober, &reduced);
	if (rc == base->errnum)
		*base = reduced;
	return rc == base->errnum ? rc : perch__try(prober, base);
}

/* Adds certain causes that do not match base, because their settings were removed. */
static void keep_certain(const struct perch__case *c, const struct perch__case *base,
			 const struct perch__result *before, struct perch__result *result)
{
	for (size_t i = 0; i < before->nr; i++) {
		const struct perch__candidate *candidate = &before->candidate[i];

		if (candidate->rule && candidate->match == PERCH__YES &&
		    candidate->rule->match(base) != PERCH__YES)
			perch__add_next(result, candidate, c);
	}
}

/*
 * A dummy event has replaced the event. The rules about AUX events come last in the kernel, so a
 * check of the event that no fact decides, such as the id of a tracepoint, may fail before them.
 */
static void limit_confidence(const struct perch__case *base, const struct perch__result *before,
			     struct perch__result *result)
{
	const struct perch__candidate *found = &result->candidate[0];

	if (found->cause != PERCH_CAUSE_GROUP_AUX || result->confidence != PERCH_CONFIDENCE_CERTAIN)
		return;
	for (size_t i = 0; i < before->nr; i++) {
		const struct perch__candidate *candidate = &before->candidate[i];

		if (candidate->rule && candidate->match == PERCH__UNKNOWN &&
		    candidate->rule < found->rule && is_event_cause(candidate) &&
		    candidate->rule->match(base) == PERCH__NO)
			result->confidence = PERCH_CONFIDENCE_LIKELY;
	}
}

static void probe_uncertain(struct perch__prober *prober, struct perch__case *c,
			    struct perch__result *result)
{
	bool substituted = perch__needs_substitute(c);
	struct perch__case base;
	int rc;

	if (needs_probe_before_perf(c, result) && probe_before_perf(prober, c, result))
		return;
	if (result->confidence == PERCH_CONFIDENCE_CERTAIN) {
		probe_certain(prober, c, result);
		return;
	}
	base = *c;
	if (substituted) {
		perch__substitute(&base);
		perch__drop_effects(&base);
	}
	rc = try_again(prober, &base);
	if (!rc && substituted)
		perch__set_event_cause(c, result);
	else if (!rc)
		set_transient(c, result);
	else if (rc == c->errnum && !is_transient(rc)) {
		struct perch__result before = *result;

		find_cause(prober, &base, result);
		keep_certain(c, &base, &before, result);
		if (substituted)
			limit_confidence(&base, &before, result);
	}
}

/* Probing needs the whole attr, and must not use debug registers. */
static bool may_probe(const struct perch__case *c)
{
	const struct perch_sandbox *sandbox;

	if (c->errnum == ENOSPC || c->errnum == EFAULT || !c->call->attr ||
	    c->call->attr_is_partial || c->unknown_at)
		return false;
	sandbox = perch__sandbox(c->machine, PERCH__SANDBOX_STATUS);
	return !sandbox || sandbox->seccomp != 1;
}

void perch__probe_case(const struct perch__case *c, const struct perch_probing *budget,
		       struct perch__result *result)
{
	unsigned microseconds = budget->microseconds ? budget->microseconds : DEFAULT_MICROSECONDS;
	struct perch__prober prober = {
		.syscalls = perch_machine_syscalls(c->machine),
		.limit = budget->open_calls ? budget->open_calls : DEFAULT_CALLS,
	};
	struct perch__case at = *c;

	if (!may_probe(c))
		return;
	prober.deadline = perch__now() + microseconds * 1000ull;
	perch__probe_features(&prober, c);
	if (prober.made)
		perch__evaluate(c, result);
	if (result->confidence == PERCH_CONFIDENCE_CERTAIN)
		probe_certain(&prober, c, result);
	else
		probe_uncertain(&prober, &at, result);
	result->open_calls = prober.made;
	result->out_of_budget = prober.out_of_budget;
}
