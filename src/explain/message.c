/* SPDX-License-Identifier: MIT */
/* Writes the messages and remedies of a result, and turns an explanation into an error. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "engine.h"
#include "finding.h"

static bool fact_text(const void *context, const char *name, size_t length, char *buffer,
		      size_t size)
{
	return perch__placeholder(context, name, length, buffer, size);
}

/* Returns the static string of a field's name, NULL if there is no such field. */
static const char *field_name(const char *name, size_t length)
{
	static const char *const arguments[] = { "pid", "cpu", "group_fd", "flags", "attr" };
	const struct perch_attr_field *fields;
	size_t nr;

	for (size_t i = 0; i < PERCH__NR(arguments); i++)
		if (arguments[i][0] == name[0] && !strncmp(arguments[i], name, length) &&
		    !arguments[i][length])
			return arguments[i];
	fields = perch_attr_fields(&nr);
	for (size_t i = 0; i < nr; i++)
		if (fields[i].name[0] == name[0] && !strncmp(fields[i].name, name, length) &&
		    !fields[i].name[length])
			return fields[i].name;
	return NULL;
}

/* The caller may have passed pid as another field. */
static void add_field(const struct perch__case *c, struct perch_finding *finding, const char *name)
{
	if (!name || finding->nr_fields == PERCH__NR(finding->field))
		return;
	if (c->call->pid_is_cgroup_fd && !strcmp(name, "pid"))
		name = "cgroup_fd";
	finding->field[finding->nr_fields++] = name;
}

/* As add_field(), unless the finding has the field. */
static void add_new_field(const struct perch__case *c, struct perch_finding *finding,
			  const char *name)
{
	for (size_t i = 0; i < finding->nr_fields; i++)
		if (!strcmp(finding->field[i], name))
			return;
	add_field(c, finding, name);
}

static void add_fields(const struct perch__case *c, struct perch_finding *finding,
		       const char *fields)
{
	while (*fields) {
		size_t length = strcspn(fields, ",");

		add_field(c, finding, field_name(fields, length));
		fields += length + (fields[length] == ',');
	}
}

/* True if the field is 0 because a log does not show it. A log shows flags that are set. */
static bool is_omitted(const struct perch__case *c, const char *name)
{
	const struct perch_attr_field *field = perch_attr_get_field(name);

	return c->call->attr && field && field->bit < 0 &&
	       !perch__shows_up_to(c->call, field->offset + 1u) &&
	       field->offset > offsetof(struct perch_attr, flags) && field->offset < c->size &&
	       !perch_attr_get(&c->attr, field);
}

/* With -v, strace also shows the fields after the flags that its version has. */
static const char *better_log(const struct perch__case *c)
{
	return c->call->attr_shown_size > offsetof(struct perch_attr, wakeup_events)
		       ? "a newer strace"
		       : "strace -v";
}

static void advise_full_log(const struct perch__case *c, struct perch_finding *finding)
{
	const size_t used = strlen(finding->remedy);

	if (perch__shows_up_to(c->call, sizeof(c->attr)))
		return;
	for (size_t i = 0; i < finding->nr_fields; i++)
		if (is_omitted(c, finding->field[i])) {
			snprintf(finding->remedy + used, sizeof(finding->remedy) - used,
				 "; %s shows the value of %s", better_log(c), finding->field[i]);
			return;
		}
}

static void compose_rule(const struct perch__case *c, const struct perch__rule *rule,
			 struct perch_finding *finding)
{
	perch__expand(rule->message, fact_text, c, finding->message, sizeof(finding->message));
	perch__expand(rule->remedy, fact_text, c, finding->remedy, sizeof(finding->remedy));
	if (rule->since)
		/* rules/rules.c checks that it fits */
		memcpy(finding->since, rule->since, strlen(rule->since) + 1);
}

static void compose_unknown_size(const struct perch__case *c, struct perch_finding *finding)
{
	uint32_t kernel = c->kernel_size;

	if (kernel)
		snprintf(finding->message, sizeof(finding->message),
			 "byte %u of the attr is not zero, and this kernel "
			 "supports only its first %u bytes",
			 c->unknown_at, kernel);
	else
		snprintf(finding->message, sizeof(finding->message),
			 "byte %u of the attr is not zero, and this kernel "
			 "does not support an attr of that size",
			 c->unknown_at);
	snprintf(finding->remedy, sizeof(finding->remedy),
		 "clear the bytes after the fields in use, or use a newer kernel");
}

static size_t append_text(char *buffer, size_t size, size_t used, const char *format,
			  const char *one, const char *other)
{
	int length = used < size ? snprintf(buffer + used, size - used, format, one, other) : 0;

	return used + (length < 0 ? 0 : (size_t)length);
}

/* "WEIGHT_STRUCT of sample_type needs Linux 5.12, DATA_PAGE_SIZE of sample_type needs Linux 5.11"
 */
static void list_features(const struct perch__newer_list *newer, char *buffer, size_t size)
{
	size_t used = 0;

	for (size_t i = 0; i < newer->nr; i++) {
		const struct perch__newer *feature = &newer->feature[i];

		used = append_text(buffer, size, used, "%s%s", i ? ", " : "", feature->name);
		if (feature->is_bit)
			used = append_text(buffer, size, used, " of %s%s", feature->field->name,
					   "");
		used = append_text(buffer, size, used, " needs Linux %s%s", feature->since, "");
	}
}

/* The features of the stage that the kernel lacks; those of which nothing is shown, if there are no
 * others. */
static void keep_lacking(struct perch__newer_list *newer)
{
	enum perch__match most = PERCH__NO;
	size_t nr = 0;

	for (size_t i = 0; i < newer->nr; i++)
		if (newer->feature[i].lacking > most)
			most = newer->feature[i].lacking;
	for (size_t i = 0; i < newer->nr; i++)
		if (newer->feature[i].lacking == most)
			newer->feature[nr++] = newer->feature[i];
	newer->nr = nr;
}

static void compose_too_new(const struct perch__case *c, const struct perch__candidate *candidate,
			    struct perch_finding *finding)
{
	struct perch__newer_list newer;
	struct perch_release release;
	char features[320] = "";

	perch__candidate_features(candidate, c, &newer);
	keep_lacking(&newer);
	if (!newer.nr || !newer.feature[0].since[0]) {
		compose_unknown_size(c, finding);
		add_field(c, finding, "size");
		return;
	}
	list_features(&newer, features, sizeof(features));
	if (c->machine && !perch_machine_release(c->machine, &release, NULL)) {
		perch_clean_text(release.text, release.text, sizeof(release.text));
		snprintf(finding->message, sizeof(finding->message), "%s (this is %s)", features,
			 release.text);
	} else {
		snprintf(finding->message, sizeof(finding->message),
			 "%s, and this kernel may be older", features);
	}
	snprintf(finding->remedy, sizeof(finding->remedy), "do not use %s, or use a newer kernel",
		 newer.nr > 1 ? "them" : "it");
	memcpy(finding->since, newer.feature[0].since, strlen(newer.feature[0].since) + 1);
	for (size_t i = 0; i < newer.nr; i++)
		add_new_field(c, finding,
			      newer.feature[i].field ? newer.feature[i].field->name : "flags");
}

static void compose_transient(const struct perch__case *c, struct perch_finding *finding)
{
	snprintf(finding->message, sizeof(finding->message),
		 "the kernel refused the event (%s), but accepts the same open call now",
		 strerror(c->errnum));
	snprintf(finding->remedy, sizeof(finding->remedy),
		 "open the event again: the cause was temporary");
}

static void list_fields(const struct perch__candidate *candidate, char *buffer, size_t size)
{
	size_t used = 0;

	for (size_t i = 0; i < candidate->nr_fields && used < size; i++)
		used += snprintf(buffer + used, size - used, "%s%s", i ? " and " : "",
				 candidate->field[i]);
}

static void compose_absent_attr(const struct perch__case *c, struct perch_finding *finding)
{
	snprintf(finding->message, sizeof(finding->message),
		 "the kernel refused the event: %s. The attr is not in the log, and the cause may "
		 "be in one of its fields",
		 strerror(c->errnum));
	snprintf(finding->remedy, sizeof(finding->remedy),
		 "record the log with the attr (strace -v, without -e raw)");
}

/* No rule matches: names the fields that probing has found, or the event. */
static void compose_unexplained(const struct perch__case *c,
				const struct perch__candidate *candidate,
				struct perch_finding *finding)
{
	char fields[128];

	if (candidate->nr_fields) {
		list_fields(candidate, fields, sizeof(fields));
		snprintf(finding->message, sizeof(finding->message),
			 "the kernel refuses the event because of %s: %s", fields,
			 strerror(c->errnum));
		snprintf(finding->remedy, sizeof(finding->remedy), "change or clear %s", fields);
		return;
	}
	if (!c->call->attr && c->call->attr_is_partial) {
		compose_absent_attr(c, finding);
		return;
	}
	snprintf(finding->message, sizeof(finding->message),
		 "the kernel refused the event: %s (type %u, config 0x%llx)", strerror(c->errnum),
		 c->attr.type, (unsigned long long)c->attr.config);
	if (c->call->attr_is_partial)
		snprintf(finding->remedy, sizeof(finding->remedy),
			 "record the log with every field of the attr (%s): the cause may "
			 "be in a field that this log does not show",
			 better_log(c));
	else if (c->errnum == EINVAL)
		snprintf(finding->remedy, sizeof(finding->remedy),
			 "check the target and the fields of the attr: one of them is wrong");
	else
		snprintf(finding->remedy, sizeof(finding->remedy),
			 "perf events do not return this errno: check what else may "
			 "return it (a sandbox, a security module, an emulator, a driver), "
			 "and read the kernel log");
}

static void compose_finding(const struct perch__case *c, const struct perch__candidate *candidate,
			    struct perch_finding *finding)
{
	finding->cause = candidate->cause;
	finding->kind = perch_cause_kind(candidate->cause);
	finding->nr_fields = 0;
	finding->since[0] = finding->message[0] = finding->remedy[0] = '\0';
	for (size_t i = 0; i < candidate->nr_fields; i++)
		add_field(c, finding, candidate->field[i]);
	if (candidate->rule)
		compose_rule(c, candidate->rule, finding);
	else if (candidate->too_new)
		compose_too_new(c, candidate, finding);
	else if (candidate->cause == PERCH_CAUSE_TRANSIENT)
		compose_transient(c, finding);
	else
		compose_unexplained(c, candidate, finding);
	if (!candidate->nr_fields && candidate->rule)
		add_fields(c, finding, candidate->rule->fields);
	advise_full_log(c, finding);
}

/*
 * Missing privilege has two remedies: request less, or get the privilege. Follow-ups are found in
 * the open call that requests less. Returns the condition of the follow-up if it is true only of
 * that open call, otherwise NULL.
 */
static const char *only_if_fixed(const struct perch__case *c, const struct perch__result *result,
				 const struct perch__followup *next)
{
	const struct perch__rule *answer = result->candidate[0].rule, *rule = next->candidate.rule;
	struct perch__case fixed = *c, other = next->at;
	const unsigned char *before = (const unsigned char *)&c->attr,
			    *after = (const unsigned char *)&fixed.attr;
	unsigned char *bytes = (unsigned char *)&other.attr;

	if (!answer || !rule || !answer->fix ||
	    (answer->errnum != EACCES && answer->errnum != EPERM))
		return NULL;
	answer->fix(&fixed);
	for (size_t i = 0; i < sizeof(c->attr); i++) /* undo only the fix of the answer */
		bytes[i] = (bytes[i] & ~(before[i] ^ after[i])) |
			   (before[i] & (before[i] ^ after[i]));
	if (rule->match(&next->at) == PERCH__NO || rule->match(&other) != PERCH__NO)
		return NULL;
	return fixed.attr.exclude_kernel != c->attr.exclude_kernel ? "exclude_kernel set"
								   : "that changed";
}

static void compose_next(const struct perch__case *c, const struct perch__result *result,
			 const struct perch__followup *next, struct perch_finding *finding)
{
	const char *fixed = only_if_fixed(c, result, next);
	char message[sizeof(finding->message)];

	compose_finding(&next->at, &next->candidate, finding);
	if (!fixed)
		return;
	memcpy(message, finding->message, sizeof(message));
	if (snprintf(finding->message, sizeof(finding->message), "with %s: %s", fixed, message) >=
	    (int)sizeof(finding->message))
		memcpy(finding->message, message, sizeof(message));
}

void perch__compose(const struct perch__case *c, const struct perch__result *result,
		    struct perch_explanation *explanation)
{
	explanation->errnum = c->errnum;
	explanation->confidence = result->confidence;
	explanation->open_calls = result->open_calls;
	explanation->out_of_budget = result->out_of_budget;
	explanation->succeeds_now = result->succeeds_now;
	explanation->nr_findings = result->nr;
	for (size_t i = 0; i < result->nr; i++)
		compose_finding(c, &result->candidate[i], &explanation->finding[i]);
	explanation->nr_next = result->nr_next;
	for (size_t i = 0; i < result->nr_next; i++)
		compose_next(c, result, &result->next[i], &explanation->next[i]);
}

const char *perch_confidence_name(enum perch_confidence confidence)
{
	static const char *const names[] = {
		[PERCH_CONFIDENCE_CERTAIN] = "certain",
		[PERCH_CONFIDENCE_LIKELY] = "likely",
		[PERCH_CONFIDENCE_AMBIGUOUS] = "ambiguous",
	};

	return (unsigned)confidence < PERCH__NR(names) ? names[confidence] : "unknown";
}

/* Skips a start such as "cannot map the ring: " that the first message has too. */
static const char *without_beginning(const struct perch_finding *first,
				     const struct perch_finding *finding)
{
	const char *end = strstr(finding->message, ": ");

	if (finding == first || !end ||
	    strncmp(first->message, finding->message, end + 2 - finding->message))
		return finding->message;
	return end + 2;
}

/* Joins complete messages as long as they fit. The first one is always included. */
static void join_fields(char *buffer, size_t size, const struct perch_finding *findings, size_t nr,
			const char *between)
{
	size_t used = 0;

	for (size_t i = 0; i < nr; i++) {
		int length = snprintf(buffer + used, size - used, "%s%s", i ? between : "",
				      without_beginning(findings, &findings[i]));

		if (length < 0 || (size_t)length >= size - used) {
			if (i)
				buffer[used] = '\0';
			break;
		}
		used += length;
	}
}

int perch_explanation_error(const struct perch_explanation *explanation, struct perch_error *err)
{
	const struct perch_finding *first = &explanation->finding[0];
	char text[sizeof(err->message)];

	if (!err)
		return -explanation->errnum;
	if (explanation->nr_findings > 1)
		join_fields(text, sizeof(text), explanation->finding, explanation->nr_findings,
			    "; or ");
	perch_error_set(err, explanation->errnum, first->kind, "%s",
			explanation->nr_findings > 1 ? text : first->message);
	perch_error_cause(err, first->cause);
	if (first->nr_fields)
		perch_error_field(err, first->field[0], first->since);
	else
		perch_error_field(err, "", first->since);
	perch_error_remedy(err, "%s", first->remedy);
	if (explanation->nr_next) {
		join_fields(text, sizeof(err->next), explanation->next, explanation->nr_next,
			    "; then ");
		perch_error_next(err, "%s", text);
	}
	return -explanation->errnum;
}
