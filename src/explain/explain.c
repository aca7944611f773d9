/* SPDX-License-Identifier: MIT */
/* Walking the rules, and filling their sentences in. */
#include <errno.h>
#include <string.h>

#include "rules.h"

/* Copies a sentence, with each {name} replaced by the fact of that name. */
static void fill(const struct perch__case *c, const char *sentence, char *buffer, size_t size)
{
	size_t used = 0;

	while (*sentence && used + 1 < size) {
		const char *end = *sentence == '{' ? strchr(sentence, '}') : NULL;
		char fact[128];

		if (!end || !perch__fact_text(c, sentence + 1, end - sentence - 1, fact, sizeof(fact))) {
			buffer[used++] = *sentence++;
			continue;
		}
		for (const char *at = fact; *at && used + 1 < size; at++)
			buffer[used++] = *at;
		sentence = end + 1;
	}
	buffer[used] = '\0';
}

static const struct perch__rule *find(const struct perch__case *c)
{
	for (const struct perch__rule *rule = perch__rules; rule->errnum; rule++)
		if (rule->errnum == c->call->errnum && rule->applies(c))
			return rule;
	return NULL;
}

/*
 * What the kernel is too old for. E2BIG says so itself: it wrote the size it knows, and a field beyond it is set. An
 * EINVAL that no rule of certainty knows is most of the time of the same cause.
 */
static bool too_new(const struct perch__case *c, const struct perch__rule *rule, struct perch__feature *feature)
{
	const struct perch_attr *attr = c->call->attr;

	if (c->call->errnum == E2BIG && attr)
		return perch__field_beyond(attr, attr->size, feature);
	return c->call->errnum == EINVAL && !rule && perch__unknown_to_running(c, feature);
}

static void copy_attr(struct perch__case *c)
{
	const struct perch_attr *attr = c->call->attr;
	size_t size;

	if (!attr)
		return;
	size = attr->size ? attr->size : PERCH_ATTR_SIZE_VER0;
	if (size < PERCH_ATTR_SIZE_VER0)
		size = PERCH_ATTR_SIZE_VER0;
	memcpy(&c->attr, attr, size < sizeof(c->attr) ? size : sizeof(c->attr));
}

int perch_explain(const struct perch_call *call, struct perch_machine *machine, struct perch_error *err)
{
	struct perch__case c = { .call = call, .machine = machine };
	struct perch__feature feature;
	const struct perch__rule *rule;
	char sentence[512];

	if (!err)
		return -call->errnum;
	copy_attr(&c);
	rule = find(&c);
	if (too_new(&c, rule, &feature)) {
		perch_error_set(err, call->errnum, PERCH_CAUSE_TOO_NEW, "%s needs Linux %s, and this kernel is older",
				feature.name, feature.since);
		perch_error_remedy(err, "leave it out, or use a newer kernel");
		perch_error_field(err, feature.name, feature.since);
	} else if (rule) {
		fill(&c, rule->sentence, sentence, sizeof(sentence));
		perch_error_set(err, call->errnum, rule->cause, "%s", sentence);
		perch_error_remedy(err, "%s", rule->remedy);
		perch_error_field(err, rule->field, rule->since);
	} else {
		perch_error_set(err, call->errnum, PERCH_CAUSE_SYSTEM, "the kernel refused the event: %s",
				strerror(call->errnum));
	}
	return -call->errnum;
}
