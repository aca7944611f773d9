/* SPDX-License-Identifier: MIT */
/* Evaluates the rules for a case: which match, and which would match after the first one is fixed.
 */
#include <errno.h>
#include <string.h>

#include "engine.h"
#include "facts.h"

bool perch__same_open_call(const struct perch__case *one, const struct perch__case *other)
{
	return one->pid == other->pid && one->cpu == other->cpu &&
	       one->group_fd == other->group_fd && one->flags == other->flags &&
	       one->size == other->size && !memcmp(&one->attr, &other->attr, sizeof(one->attr));
}

static struct perch__candidate by_rule(const struct perch__rule *rule, enum perch__match match)
{
	return (struct perch__candidate){ .rule = rule, .cause = rule->cause, .match = match };
}

void perch__candidate_features(const struct perch__candidate *candidate,
			       const struct perch__case *c, struct perch__newer_list *list)
{
	if (candidate->stage != PERCH__STAGE_SIZE || !perch__exceeds_kernel_size(c, list))
		perch__newer_of_stage(c, candidate->stage, list);
}

/* The stages of newer features, at their positions among the rules. */
static bool is_stage_before(enum perch__stage stage, const struct perch__rule *rule)
{
	/* the cause of the first rule after the stage */
	static const enum perch_cause next[PERCH__STAGES] = {
		[PERCH__STAGE_FLAGS] = PERCH_CAUSE_OPEN_FLAGS,
		[PERCH__STAGE_SIZE] = PERCH_CAUSE_PROBE_NAME,
		[PERCH__STAGE_RESERVED] = PERCH_CAUSE_RESERVED_BITS,
		[PERCH__STAGE_SAMPLE_TYPE] = PERCH_CAUSE_SAMPLE_TYPE_BITS,
		[PERCH__STAGE_READ_FORMAT] = PERCH_CAUSE_READ_FORMAT_BITS,
		[PERCH__STAGE_BRANCHES] = PERCH_CAUSE_BRANCH_BITS,
	};

	return stage < PERCH__STAGES && rule->cause == next[stage];
}

static int errnum_of_stage(enum perch__stage stage)
{
	return stage == PERCH__STAGE_SIZE ? E2BIG : EINVAL;
}

/*
 * Whether the kernel lacks a feature of the stage. By the release alone this is only possible,
 * because distributions backport features.
 */
static enum perch__match lacks_feature_of(const struct perch__newer_list *list,
					  enum perch__stage stage)
{
	enum perch__match match = PERCH__NO;

	for (size_t i = 0; i < list->nr; i++)
		if (list->feature[i].stage == stage && list->feature[i].lacking > match)
			match = list->feature[i].lacking;
	return match;
}

/* The features that may have caused the errno. EINVAL proves that the kernel accepted the size. */
static void find_suspects(const struct perch__case *c, struct perch__newer_list *list)
{
	size_t nr = 0;

	list->nr = 0;
	if (c->errnum == E2BIG)
		perch__exceeds_kernel_size(c, list);
	if (c->errnum != EINVAL)
		return;
	perch__find_newer(c, list);
	for (size_t i = 0; i < list->nr; i++)
		if (list->feature[i].stage != PERCH__STAGE_SIZE)
			list->feature[nr++] = list->feature[i];
	list->nr = nr;
}

static struct perch__candidate by_stage(enum perch__stage stage, enum perch__match match)
{
	return (struct perch__candidate){
		.cause = PERCH_CAUSE_TOO_NEW, .match = match, .too_new = true, .stage = stage
	};
}

/*
 * A certain cause becomes the first one, because it must be fixed before any other. Features that
 * the kernel may lack stay before it: the kernel checks them first. If the release is unknown, they
 * are a guess, and are removed. Returns the number of candidates.
 */
static size_t move_certain(const struct perch__case *c, struct perch__candidate *found, size_t nr)
{
	struct perch__candidate certain = found[nr - 1];
	size_t features = 0;

	while (features < nr - 1 && found[features].too_new)
		features++;
	if (features && !perch__running_rank(c)) {
		memmove(found, &found[features], (nr - features) * sizeof(*found));
		nr -= features;
		features = 0;
	}
	if (!certain.rule->fix)
		return nr;
	memmove(&found[features + 1], &found[features], (nr - 1 - features) * sizeof(*found));
	found[features] = certain;
	return nr;
}

/* A possible cause is listed only once if rules differ only in the fix. */
static bool is_listed(const struct perch__candidate *found, size_t nr,
		      const struct perch__rule *rule)
{
	for (size_t i = 0; i < nr; i++)
		if (found[i].rule && found[i].cause == rule->cause &&
		    !strcmp(found[i].rule->fields, rule->fields))
			return true;
	return false;
}

bool perch__is_before_perf(enum perch_cause cause)
{
	return cause == PERCH_CAUSE_SECCOMP || cause == PERCH_CAUSE_NO_SYSCALL;
}

/* The errnos that seccomp filters return besides ENOSYS. */
static bool is_filter_errno(int errnum)
{
	return errnum == EPERM || errnum == EACCES || errnum == EOPNOTSUPP;
}

/* The library itself has returned the errno, after the kernel had accepted the call. */
static bool is_after_perf(enum perch_cause cause)
{
	return cause == PERCH_CAUSE_BREAKPOINT_NEVER_FIRES;
}

/* If a seccomp filter is active, an errno that filters return makes no cause certain. */
static enum perch__match match_of(const struct perch__case *c, const struct perch__rule *rule)
{
	enum perch__match match = rule->errnum == c->errnum ? rule->match(c) : PERCH__NO;

	if (match == PERCH__YES && is_filter_errno(c->errnum) && !c->reached_perf &&
	    !perch__is_before_perf(rule->cause) && !is_after_perf(rule->cause) &&
	    perch__seccomp_filters(c) == PERCH__YES)
		return PERCH__UNKNOWN;
	return match;
}

size_t perch__candidates(const struct perch__case *c, bool all, struct perch__candidate *found,
			 size_t max)
{
	enum perch__stage stage = PERCH__STAGE_FLAGS;
	struct perch__newer_list newer;
	bool certain = false;
	size_t nr = 0;

	find_suspects(c, &newer);
	for (const struct perch__rule *rule = perch__rules;
	     rule->errnum && nr < max && (all || !certain); rule++) {
		enum perch__match match = PERCH__NO;

		if (is_stage_before(stage, rule)) {
			match = lacks_feature_of(&newer, stage);
			/* further features that may be missing are follow-ups */
			if (match == PERCH__YES || (match == PERCH__UNKNOWN && (all || !nr)))
				found[nr++] = by_stage(stage, match);
			certain |= match == PERCH__YES;
			stage++;
			if (nr == max || (certain && !all))
				break;
		}
		match = match_of(c, rule);
		if (match == PERCH__NO ||
		    (!all && is_listed(found, nr, rule) && match == PERCH__UNKNOWN))
			continue;
		found[nr++] = by_rule(rule, match);
		if (match == PERCH__YES && !certain) {
			certain = true;
			nr = move_certain(c, found, nr);
		}
	}
	return nr;
}

bool perch__fix(const struct perch__candidate *candidate, struct perch__case *c)
{
	struct perch__case before = *c;
	struct perch__newer_list newer;

	if (candidate->rule && candidate->rule->fix) {
		candidate->rule->fix(c);
	} else if (candidate->too_new) {
		perch__candidate_features(candidate, c, &newer);
		perch__drop_newer(c, &newer);
	}
	return !perch__same_open_call(&before, c) || before.unknown_at != c->unknown_at;
}

static bool share_a_field(const char *one, const char *other)
{
	char name[32];

	if (!*one || !*other)
		return true;
	for (; *one; one += strcspn(one, ","), one += *one == ',') {
		size_t length = strcspn(one, ",");

		if (length >= sizeof(name))
			continue;
		memcpy(name, one, length);
		name[length] = '\0';
		if (perch__names_field(other, name))
			return true;
	}
	return false;
}

/*
 * Two candidates of one cause are the same if they share a field. TOO_NEW may be added once per
 * stage, and UNEXPLAINED with fields several times.
 */
static bool is_same_cause(const struct perch__candidate *one, const struct perch__candidate *other)
{
	if (one->too_new && other->too_new)
		return one->stage == other->stage;
	if (one->too_new || other->too_new)
		return false;
	if (one->rule && other->rule && !share_a_field(one->rule->fields, other->rule->fields))
		return false;
	return one->cause == other->cause &&
	       !(other->cause == PERCH_CAUSE_UNEXPLAINED && other->nr_fields);
}

void perch__add_next(struct perch__result *result, const struct perch__candidate *candidate,
		     const struct perch__case *at)
{
	for (size_t i = 0; i < result->nr; i++)
		if (is_same_cause(&result->candidate[i], candidate) &&
		    (i == 0 || candidate->too_new || result->candidate[i].match == PERCH__YES))
			return;
	for (size_t i = 0; i < result->nr_next; i++)
		if (is_same_cause(&result->next[i].candidate, candidate))
			return;
	if (result->nr_next == PERCH_NEXT_MAX)
		return;
	result->next[result->nr_next].candidate = *candidate;
	result->next[result->nr_next++].at = *at;
}

/*
 * True for rules that match every open call, even a correct one. These rules cannot find the next
 * failure.
 */
static bool always_matches(const struct perch__rule *rule)
{
	const struct perch__case harmless = {
		.attr = { .type = PERCH_TYPE_SOFTWARE,
			  .size = sizeof(harmless.attr),
			  .config = PERCH_COUNT_SW_DUMMY,
			  .disabled = 1,
			  .exclude_kernel = 1,
			  .exclude_hv = 1 },
		.size = sizeof(harmless.attr),
		.cpu = -1,
		.group_fd = -1,
	};
	const struct perch_open_call call = { .attr = &harmless.attr, .cpu = -1, .group_fd = -1 };
	struct perch__case c = harmless;

	c.call = &call;
	return rule->match(&c) == PERCH__YES;
}

static bool is_privilege_errno(const struct perch__rule *rule)
{
	return rule->errnum == EACCES || rule->errnum == EPERM;
}

/* An open call as it is after some fixes, and its newer features when they are needed. */
struct fixed_call {
	struct perch__case at;
	struct perch__newer_list newer;
	bool is_searched; /* .newer is that of .at */
};

static void add_and_fix(struct perch__result *result, struct fixed_call *call,
			const struct perch__candidate *next, int errnum)
{
	call->at.errnum = errnum;
	perch__add_next(result, next, &call->at);
	call->at.errnum = 0;
	if (perch__fix(next, &call->at))
		call->is_searched = false;
}

/* Adds the features of the stage that the kernel lacks, as shown or by its release. */
static void add_newer(struct perch__result *result, struct fixed_call *call,
		      enum perch__stage stage)
{
	struct perch__candidate next;
	enum perch__match match;

	if (!call->is_searched)
		perch__find_newer(&call->at, &call->newer);
	call->is_searched = true;
	match = lacks_feature_of(&call->newer, stage);
	if (match == PERCH__NO || (match == PERCH__UNKNOWN && !perch__running_rank(&call->at)))
		return;
	next = by_stage(stage, PERCH__YES);
	add_and_fix(result, call, &next, errnum_of_stage(stage));
}

static void add_rule(struct perch__result *result, struct fixed_call *call,
		     const struct perch__rule *rule)
{
	struct perch__candidate next;

	if (perch__is_before_perf(rule->cause) || rule->match(&call->at) != PERCH__YES ||
	    always_matches(rule))
		return;
	next = by_rule(rule, PERCH__YES);
	add_and_fix(result, call, &next, rule->errnum);
}

/*
 * Finds follow-ups: rules that match the fixed open call and features that the kernel lacks, after
 * the answer in the order of the kernel. Rules about privilege are also searched before the answer,
 * because the caller may have more privilege than the machine describes. errnum is 0, so the rules
 * use only the open call and the facts.
 */
static void evaluate_next(const struct perch__case *c, struct perch__result *result)
{
	const struct perch__candidate *answer = &result->candidate[0];
	struct fixed_call call;
	bool after_answer = !answer->rule && !answer->too_new;
	enum perch__stage stage = PERCH__STAGE_FLAGS;

	if (!c->call->attr)
		return;
	call.at = *c;
	call.at.errnum = 0;
	call.is_searched = false; /* and .newer is not initialized, which saves time */
	for (const struct perch__rule *rule = perch__rules;
	     rule->errnum && result->nr_next < PERCH_NEXT_MAX; rule++) {
		if (is_stage_before(stage, rule)) {
			if (after_answer)
				add_newer(result, &call, stage);
			after_answer |= answer->too_new && answer->stage == stage;
			stage++;
		}
		if (rule == answer->rule)
			after_answer = true;
		else if (after_answer || is_privilege_errno(rule))
			add_rule(result, &call, rule);
	}
}

static enum perch_confidence confidence_of(const struct perch__result *result)
{
	if (result->nr > 1)
		return PERCH_CONFIDENCE_AMBIGUOUS;
	return result->candidate[0].match == PERCH__YES ? PERCH_CONFIDENCE_CERTAIN
							: PERCH_CONFIDENCE_LIKELY;
}

/* True if the errno may be caused by a field of an attr that a log does not have. */
static bool may_be_in_absent_attr(const struct perch__case *c, const struct perch__result *result)
{
	if (c->call->attr || !c->call->attr_is_partial)
		return false;
	for (size_t i = 0; i < result->nr; i++)
		if (result->candidate[i].match == PERCH__YES ||
		    (c->errnum == ENOSYS && perch__is_before_perf(result->candidate[i].cause)))
			return false;
	for (const struct perch__rule *rule = perch__rules; rule->errnum; rule++)
		if (rule->errnum == c->errnum && perch__needs_attr(rule->fields))
			return true;
	return false;
}

/* The causes that do not depend on the attr follow. */
static void add_absent_attr(struct perch__result *result)
{
	if (result->nr == PERCH_FINDINGS_MAX)
		result->nr--;
	memmove(&result->candidate[1], &result->candidate[0],
		result->nr * sizeof(result->candidate[0]));
	result->candidate[0] = (struct perch__candidate){ .cause = PERCH_CAUSE_UNEXPLAINED };
	result->nr++;
}

void perch__evaluate(const struct perch__case *c, struct perch__result *result)
{
	struct perch__case fixed = *c;

	result->nr_next = 0;
	result->open_calls = 0;
	result->out_of_budget = result->succeeds_now = false;
	result->nr = perch__candidates(c, false, result->candidate, PERCH_FINDINGS_MAX);
	if (may_be_in_absent_attr(c, result)) {
		add_absent_attr(result);
	} else if (!result->nr) {
		result->candidate[0] =
			(struct perch__candidate){ .cause = PERCH_CAUSE_UNEXPLAINED };
		result->nr = 1;
	}
	result->confidence = confidence_of(result);
	/* without the attr no cause is certain */
	if (!c->call->attr && c->call->attr_is_partial &&
	    result->confidence == PERCH_CONFIDENCE_CERTAIN)
		result->confidence = PERCH_CONFIDENCE_LIKELY;
	perch__fix(&result->candidate[0], &fixed);
	evaluate_next(&fixed, result);
}
