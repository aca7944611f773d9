/* SPDX-License-Identifier: MIT */
/* Walks the rules and puts the answer into words. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "rules.h"

/* Puts facts in the place of {words}. */
void perch__fill_in(const struct perch__case *c, const char *sentence, char *buffer, size_t size)
{
	size_t used = 0;

	while (*sentence && used + 1 < size) {
		const char *end = *sentence == '{' ? strchr(sentence, '}') : NULL;

		if (end && perch__fact_text(c, sentence + 1, end - sentence - 1, buffer + used, size - used)) {
			used += strnlen(buffer + used, size - used - 1);
			sentence = end + 1;
		} else {
			buffer[used++] = *sentence++;
		}
	}
	buffer[used] = '\0';
}

/* The fields that no proof was found against share the errno with a CPU that is not there. */
static void add_cpu(const struct perch__case *c, char *text, size_t size)
{
	size_t used = strlen(text);

	if (c->call->errnum == EINVAL && !c->machine && c->call->cpu >= 0)
		snprintf(text + used, size - used, "; or CPU %d may not exist", c->call->cpu);
}

/* What the call has as pid is another field of the caller's. */
static const char *field_of(const struct perch__case *c, const char *field)
{
	return c->call->pid_is_cgroup_fd && !strcmp(field, "pid") ? "cgroup_fd" : field;
}

static bool rule_is_likely(const struct perch__case *c, const struct perch__rule *rule)
{
	return rule->fit(c) == PERCH__MAYBE;
}

static int tell(const struct perch__case *c, const struct perch__rule *rule, struct perch_error *err)
{
	char text[sizeof(err->message)];

	perch__fill_in(c, rule->sentence, text, sizeof(text));
	perch_error_set(err, c->call->errnum, perch_cause_kind(rule->cause), "%s", text);
	perch_error_cause(err, rule->cause);
	perch_error_field(err, field_of(c, rule->fields), rule->since);
	perch__fill_in(c, rule->remedy, text, sizeof(text));
	if (rule_is_likely(c, rule))
		add_cpu(c, text, sizeof(text));
	perch_error_remedy(err, "%s", text);
	return -c->call->errnum;
}

static int tell_too_new(const struct perch__case *c, const struct perch__feature *feature, struct perch_error *err)
{
	struct perch_release release;

	if (c->machine && !perch_machine_release(c->machine, &release, NULL))
		perch_error_set(err, c->call->errnum, PERCH_ERROR_TOO_NEW, "%s as asked needs Linux %s, and this is %s",
				feature->name, feature->since, release.text);
	else
		perch_error_set(err, c->call->errnum, PERCH_ERROR_TOO_NEW,
				"%s as asked needs Linux %s, and this kernel seems to be older", feature->name,
				feature->since);
	perch_error_field(err, feature->name, feature->since);
	perch_error_remedy(err, "leave it out, or use a newer kernel");
	return -c->call->errnum;
}

/*
 * Whether the call asks for something younger than the running kernel. With the release unknown it is a guess, made
 * for what came after 5.12 alone: kernels older than that are rare.
 */
static bool unknown_to_kernel(const struct perch__case *c, struct perch__feature *feature)
{
	unsigned running = perch__running_rank(c);

	return c->call->errnum == EINVAL &&
	       perch__newest_feature(c, running ? running : perch__release_rank("5.12"), feature);
}

/* After E2BIG the kernel has written its own size into the attr: what lies beyond is what it does not know. */
static bool beyond_kernel(const struct perch__case *c, struct perch__feature *feature)
{
	const struct perch_attr *attr = c->call->attr;

	return c->call->errnum == E2BIG && attr && attr->size >= PERCH_ATTR_SIZE_VER0 &&
	       perch__field_beyond(attr, attr->size, feature);
}

/* The kernel reads attr.size bytes, of which 0 means the first version's. */
static void make_case(struct perch__case *c, const struct perch_call *call, struct perch_machine *machine)
{
	size_t size = sizeof(c->attr);

	*c = (struct perch__case){
		.call = call, .size = call->attr ? call->attr->size : 0, .pid = call->pid, .cpu = call->cpu,
		.group_fd = call->group_fd, .flags = call->flags, .errnum = call->errnum, .machine = machine,
	};
	if (!call->attr)
		return;
	if (!call->attr->size)
		size = PERCH_ATTR_SIZE_VER0;
	else if (call->errnum != E2BIG && call->attr->size < size)
		size = call->attr->size;
	memcpy(&c->attr, call->attr, size);
}

static int tell_nothing_known(const struct perch__case *c, struct perch_error *err)
{
	char text[sizeof(err->remedy)] = "some field of the attr, or the target, does not fit the event";

	add_cpu(c, text, sizeof(text));
	perch_error_remedy(err, "%s", text);
	return -EINVAL;
}

static const struct perch__rule *first_that_applies(const struct perch__case *c)
{
	for (const struct perch__rule *rule = perch__rules; rule->errnum; rule++)
		if (rule->errnum == c->call->errnum && rule->fit(c) != PERCH__NO)
			return rule;
	return NULL;
}

int perch_explain(const struct perch_call *call, struct perch_machine *machine, struct perch_error *err)
{
	struct perch__feature feature;
	const struct perch__rule *rule;
	struct perch__case c;

	if (!call || call->errnum <= 0)
		return perch_error_set(err, EINVAL, PERCH_ERROR_USAGE, "there is no failed call to explain");
	if (!err)
		return -call->errnum;
	make_case(&c, call, machine);
	if (beyond_kernel(&c, &feature))
		return tell_too_new(&c, &feature, err);
	rule = first_that_applies(&c);
	if ((!rule || rule_is_likely(&c, rule)) && unknown_to_kernel(&c, &feature))
		return tell_too_new(&c, &feature, err);
	if (rule)
		return tell(&c, rule, err);
	perch_error_set(err, call->errnum, PERCH_ERROR_SYSTEM, "the kernel refused the event: %s",
			strerror(call->errnum));
	return call->errnum == EINVAL ? tell_nothing_known(&c, err) : -call->errnum;
}
