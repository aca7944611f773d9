/* SPDX-License-Identifier: MIT */
/* Evaluates the rules for a case: which match, and which would match after the first one is fixed.
 */
#include <errno.h>
#include <string.h>

#include "engine.h"
#include "facts.h"

bool perch__names_field(const char *fields, const char *name)
{
	size_t length = strlen(name);

	while (*fields) {
		size_t part = strcspn(fields, ",");

		if (part == length && !memcmp(fields, name, length))
			return true;
		fields += part + (fields[part] == ',');
	}
	return false;
}

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

/* True after E2BIG if a field is set beyond the size that the kernel wrote. */
static bool exceeds_kernel_size(const struct perch__case *c, struct perch__feature *feature)
{
	uint32_t kernel = c->kernel_size ? c->kernel_size : c->size;

	if (c->errnum != E2BIG || kernel < PERCH_ATTR_SIZE_VER0)
		return false;
	if (kernel < sizeof(c->attr) && perch__field_beyond(&c->attr, kernel, feature))
		return true;
	if (!c->unknown_at || c->size <= sizeof(c->attr))
		return false;
	*feature = (struct perch__feature){ .name = "size" };
	return true;
}

/*
 * True if the open call uses a feature newer than the running kernel. If the release is unknown,
 * only features after 5.12 are compared, because older kernels are rare. The result is a possible
 * cause only, because distributions backport features.
 */
static bool uses_newer_feature(const struct perch__case *c, struct perch__feature *feature)
{
	unsigned running;

	if (c->errnum != EINVAL)
		return false;
	running = perch__running_rank(c);
	return perch__newest_feature(c, running ? running : perch_release_rank("5.12"), feature);
}

/* A certain cause becomes the first one, because it must be fixed before any other. */
static void move_to_front(struct perch__candidate *found, size_t nr)
{
	struct perch__candidate certain = found[nr - 1];

	memmove(&found[1], &found[0], (nr - 1) * sizeof(*found));
	found[0] = certain;
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

/*
 * Adds a possible TOO_NEW after a certain cause and before all others. It is not added if the
 * release is unknown and a cause is certain.
 */
static size_t add_possible_too_new(const struct perch__case *c, bool certain,
				   struct perch__candidate *found, size_t nr, size_t max)
{
	struct perch__candidate too_new_cause = { .cause = PERCH_CAUSE_TOO_NEW,
						  .match = PERCH__UNKNOWN,
						  .too_new = true };
	size_t at = certain && found[0].match == PERCH__YES;

	if ((certain && !perch__running_rank(c)) || !uses_newer_feature(c, &too_new_cause.feature))
		return nr;
	nr -= nr == max;
	memmove(&found[at + 1], &found[at], (nr - at) * sizeof(*found));
	found[at] = too_new_cause;
	return nr + 1;
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

/* If a seccomp filter is active, an errno that filters return makes no cause certain. */
static enum perch__match match_of(const struct perch__case *c, const struct perch__rule *rule)
{
	enum perch__match match = rule->errnum == c->errnum ? rule->match(c) : PERCH__NO;

	if (match == PERCH__YES && is_filter_errno(c->errnum) && !c->reached_perf &&
	    !perch__is_before_perf(rule->cause) && perch__seccomp_filters(c) == PERCH__YES)
		return PERCH__UNKNOWN;
	return match;
}

size_t perch__candidates(const struct perch__case *c, bool all, struct perch__candidate *found,
			 size_t max)
{
	bool certain = false;
	size_t nr = 0;

	found[0] = (struct perch__candidate){ .cause = PERCH_CAUSE_TOO_NEW,
					      .match = PERCH__YES,
					      .too_new = true };
	if (exceeds_kernel_size(c, &found[0].feature)) {
		nr = 1;
		certain = true;
	}
	for (const struct perch__rule *rule = perch__rules;
	     rule->errnum && nr < max && (all || !certain); rule++) {
		enum perch__match match = match_of(c, rule);

		if (match == PERCH__NO ||
		    (!all && is_listed(found, nr, rule) && match == PERCH__UNKNOWN))
			continue;
		found[nr++] = by_rule(rule, match);
		if (match == PERCH__YES && !certain) {
			certain = true;
			if (rule->fix)
				move_to_front(found, nr);
		}
	}
	return add_possible_too_new(c, certain, found, nr, max);
}

bool perch__fix(const struct perch__candidate *candidate, struct perch__case *c)
{
	struct perch__case before = *c;
	const struct perch_attr_field *field;

	if (candidate->rule && candidate->rule->fix) {
		candidate->rule->fix(c);
	} else if (candidate->too_new) {
		field = perch_attr_get_field(candidate->feature.name);
		if (!strcmp(candidate->feature.name, "flags"))
			c->flags &= PERCH_FLAG_FD_NO_GROUP | PERCH_FLAG_FD_OUTPUT;
		else if (!strcmp(candidate->feature.name, "size"))
			c->size = sizeof(c->attr), c->unknown_at = 0;
		else if (field)
			perch__drop_feature(&c->attr, &candidate->feature);
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
 * feature, and UNEXPLAINED with fields several times.
 */
static bool is_same_cause(const struct perch__candidate *one, const struct perch__candidate *other)
{
	if (one->too_new && other->too_new)
		return !strcmp(one->feature.name, other->feature.name);
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
		    (i == 0 || result->candidate[i].match == PERCH__YES))
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

/*
 * Finds follow-ups: rules that match the fixed open call, after the answer in the order of the
 * kernel. Rules about privilege are also searched before the answer, because the caller may have
 * more privilege than the machine describes. errnum is 0, so the rules use only the open call and
 * the facts.
 */
static void evaluate_next(const struct perch__case *c, struct perch__result *result)
{
	const struct perch__rule *answer = result->candidate[0].rule;
	struct perch__case at = *c;
	bool after_answer = !answer;

	if (!c->call->attr)
		return;
	at.errnum = 0;
	for (const struct perch__rule *rule = perch__rules;
	     rule->errnum && result->nr_next < PERCH_NEXT_MAX; rule++) {
		struct perch__candidate next;

		if (rule == answer) {
			after_answer = true;
			continue;
		}
		if ((!after_answer && !is_privilege_errno(rule)) ||
		    perch__is_before_perf(rule->cause) || rule->match(&at) != PERCH__YES ||
		    always_matches(rule))
			continue;
		next = by_rule(rule, PERCH__YES);
		at.errnum = rule->errnum;
		perch__add_next(result, &next, &at);
		at.errnum = 0;
		perch__fix(&next, &at);
	}
}

static enum perch_confidence confidence_of(const struct perch__result *result)
{
	if (result->nr > 1)
		return PERCH_CONFIDENCE_AMBIGUOUS;
	return result->candidate[0].match == PERCH__YES ? PERCH_CONFIDENCE_CERTAIN
							: PERCH_CONFIDENCE_LIKELY;
}

void perch__evaluate(const struct perch__case *c, struct perch__result *result)
{
	struct perch__case fixed = *c;

	result->nr_next = 0;
	result->open_calls = 0;
	result->out_of_budget = result->succeeds_now = false;
	result->nr = perch__candidates(c, false, result->candidate, PERCH_FINDINGS_MAX);
	if (!result->nr) {
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
