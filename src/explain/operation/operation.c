/* SPDX-License-Identifier: MIT */
/* Explains a failed mmap, ioctl, read or munmap of an event. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/reserved.h"
#include "explain/finding.h"
#include "operation.h"

static const struct perch__operation_rule *table_of(enum perch_operation_kind kind)
{
	switch (kind) {
	case PERCH_OPERATION_MMAP:
	case PERCH_OPERATION_MUNMAP:
		return perch__mmap_rules;
	case PERCH_OPERATION_IOCTL:
		return perch__ioctl_rules;
	case PERCH_OPERATION_READ:
	case PERCH_OPERATION_READV:
		return perch__read_rules;
	}
	return NULL;
}

/* The start of each message. */
static void what_failed(const struct perch__operation_case *o, char *buffer, size_t size)
{
	static const char *const what[] = {
		[PERCH_OPERATION_MMAP] = "map the ring",
		[PERCH_OPERATION_READ] = "read the event",
		[PERCH_OPERATION_MUNMAP] = "unmap a part of the ring",
		[PERCH_OPERATION_READV] = "read the event",
	};

	if (o->op->kind == PERCH_OPERATION_IOCTL)
		snprintf(buffer, size, "cannot %s: ", perch__find_request(o->op->request)->what);
	else if (o->op->kind == PERCH_OPERATION_MMAP && o->op->offset)
		snprintf(buffer, size, "cannot map the AUX area: ");
	else
		snprintf(buffer, size, "cannot %s: ", what[o->op->kind]);
}

static void compose_explanation(const struct perch__operation_case *o,
				const struct perch__operation_rule *rule,
				struct perch_finding *finding)
{
	const char *since = rule->since && *rule->since == '*'
				    ? perch__find_request(o->op->request)->since
				    : rule->since;
	char message[sizeof(finding->message)], remedy[sizeof(finding->remedy)];
	size_t used;

	perch__finding_init(finding, rule->cause, rule->field, since);
	what_failed(o, message, sizeof(message));
	used = strlen(message);
	perch__expand(rule->message, perch__operation_placeholder, o, message + used,
		      sizeof(message) - used);
	perch__expand(rule->remedy, perch__operation_placeholder, o, remedy, sizeof(remedy));
	perch__finding_set_text(finding, message, remedy);
}

/* The kernel ignores the descriptor, so the rules of events do not apply. */
static void compose_anonymous(const struct perch__operation_case *o, struct perch_finding *finding)
{
	static const char *const fields[] = { "flags", NULL };
	char message[sizeof(finding->message)];

	perch__finding_init(finding, PERCH_CAUSE_NOT_AN_EVENT, fields, NULL);
	what_failed(o, message, sizeof(message));
	snprintf(message + strlen(message), sizeof(message) - strlen(message),
		 "with MAP_ANONYMOUS the kernel ignores the descriptor and maps other memory");
	perch__finding_set_text(finding, message, "pass MAP_SHARED without MAP_ANONYMOUS");
}

static void compose_unexplained(const struct perch__operation_case *o,
				struct perch_finding *finding)
{
	static const char *const nothing[] = { NULL };
	char message[sizeof(finding->message)];
	size_t used;

	perch__finding_init(finding, PERCH_CAUSE_UNEXPLAINED, nothing, NULL);
	what_failed(o, message, sizeof(message));
	used = strlen(message);
	if (o->op->errnum)
		snprintf(message + used, sizeof(message) - used, "%s, which events do not return",
			 strerror(o->op->errnum));
	else
		snprintf(message + used, sizeof(message) - used, "nothing failed");
	perch__finding_set_text(
		finding, message,
		"check that the descriptor is that of an event, and as root the audit log");
}

/* The rules that match: a certain one, or several if a missing fact makes them uncertain. */
struct found {
	size_t nr;
	const struct perch__operation_rule *rule[PERCH_FINDINGS_MAX];
	bool certain;
	bool has_alternatives; /* possible rules come before the certain one */
};

static void find_rule(const struct perch__operation_case *o, bool fallback, struct found *found)
{
	for (const struct perch__operation_rule *rule = table_of(o->op->kind); rule->name; rule++) {
		enum perch__match match;

		if (rule->errnum != o->op->errnum || rule->fallback != fallback)
			continue;
		match = rule->match(o);
		if (match == PERCH__YES) {
			found->has_alternatives = found->nr;
			found->rule[0] = rule;
			found->nr = 1;
			found->certain = true;
			return;
		}
		if (match == PERCH__UNKNOWN && found->nr < PERCH_FINDINGS_MAX)
			found->rule[found->nr++] = rule;
		if (fallback && found->nr)
			return;
	}
}

static bool shares_field(const struct perch__operation_rule *rule,
			 const struct perch_finding *finding)
{
	for (size_t i = 0; i < 4 && rule->field[i]; i++)
		for (size_t j = 0; j < finding->nr_fields; j++)
			if (!strcmp(rule->field[i], finding->field[j]))
				return true;
	return false;
}

/* The remedy of an earlier finding already changes one of the rule's fields. */
static bool is_fixed(const struct perch__operation_rule *rule,
		     const struct perch_explanation *explanation)
{
	for (size_t i = 0; i < explanation->nr_next; i++)
		if (shares_field(rule, &explanation->next[i]))
			return true;
	return shares_field(rule, &explanation->finding[0]);
}

/* Adds the rules after the answer that match without an errno. */
static void find_next(const struct perch__operation_case *o,
		      const struct perch__operation_rule *answer,
		      struct perch_explanation *explanation)
{
	struct perch_operation without_errno = *o->op;
	struct perch__operation_case later = *o;

	without_errno.errnum = 0;
	later.op = &without_errno;
	for (const struct perch__operation_rule *rule = answer + 1; rule->name; rule++) {
		if (explanation->nr_next == PERCH_NEXT_MAX)
			return;
		if (rule->fallback || !rule->errnum || is_fixed(rule, explanation))
			continue;
		if (rule->match(&later) == PERCH__YES)
			compose_explanation(o, rule, &explanation->next[explanation->nr_next++]);
	}
}

static void copy_attr(struct perch_attr *copy, const struct perch_attr *attr)
{
	size_t size = attr->size ? attr->size : PERCH_ATTR_SIZE_VER0;

	memcpy(copy, attr, size < sizeof(*copy) ? size : sizeof(*copy));
}

static void init_case(struct perch__operation_case *o, const struct perch_operation *op,
		      struct perch_machine *machine)
{
	*o = (struct perch__operation_case){
		.op = op,
		.has_attr = op->attr,
		.has_other = op->other && op->other->attr,
		.call = { .attr = op->attr,
			  .pid = op->pid,
			  .cpu = op->cpu,
			  .group_fd = -1,
			  .flags = op->flags },
		.c = { .pid = op->pid,
		       .cpu = op->cpu,
		       .group_fd = -1,
		       .flags = op->flags,
		       .machine = machine },
		.page_bytes = sysconf(_SC_PAGESIZE),
	};
	o->c.call = &o->call;
	if (o->has_attr)
		copy_attr(&o->c.attr, op->attr);
	if (o->has_other)
		copy_attr(&o->other, op->other->attr);
	o->pages = op->length / o->page_bytes + !!(op->length % o->page_bytes);
}

static void explain(const struct perch__operation_case *o, struct perch_explanation *explanation)
{
	struct found found = { 0 };

	if (perch__is_anonymous(o->op)) {
		explanation->confidence = PERCH_CONFIDENCE_CERTAIN;
		explanation->nr_findings = 1;
		compose_anonymous(o, &explanation->finding[0]);
		return;
	}
	find_rule(o, false, &found);
	if (!found.nr)
		find_rule(o, true, &found);
	explanation->nr_findings = found.nr;
	for (size_t i = 0; i < found.nr; i++)
		compose_explanation(o, found.rule[i], &explanation->finding[i]);
	if (found.certain && !found.has_alternatives)
		explanation->confidence = PERCH_CONFIDENCE_CERTAIN;
	else if (found.nr == 1)
		explanation->confidence = PERCH_CONFIDENCE_LIKELY;
	else
		explanation->confidence = PERCH_CONFIDENCE_AMBIGUOUS;
	if (found.nr) {
		find_next(o, found.rule[0], explanation);
		return;
	}
	compose_unexplained(o, &explanation->finding[0]);
	explanation->nr_findings = 1;
}

int perch_explain_operation(const struct perch_operation *operation, struct perch_machine *machine,
			    struct perch_explanation *explanation)
{
	struct perch__operation_case o;
	struct perch_machine *own;

	if (!operation || operation->errnum < 0 || !table_of(operation->kind) ||
	    (!operation->errnum && table_of(operation->kind) != perch__read_rules) ||
	    !explanation || PERCH__CHECK_RESERVED(operation, "perch_operation", NULL) ||
	    PERCH__CHECK_RESERVED(operation->other, "perch_open_call_leader", NULL))
		return -EINVAL;
	init_case(&o, operation, perch__machine_of(machine, operation->from_log, &own));
	*explanation = (struct perch_explanation){ .errnum = operation->errnum };
	explain(&o, explanation);
	perch_machine_free(own);
	return 0;
}
