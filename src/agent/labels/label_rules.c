/* SPDX-License-Identifier: MIT */
/* Rules of the user for labels: a regular expression over cgroup paths, and a label for a match. */
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "labels.h"

#define ARROW " => "

enum {
	GROUPS = 10,	  /* \0 to \9 */
	TEXT_MAX = 1024,  /* bytes of a rule */
	REPEATS_MAX = 64, /* of a{n}: the expression is compiled to as many states */
};

struct label_rule {
	char *key, *value; /* in one allocation, key */
	bool has_pattern;
	regex_t pattern;
};

struct agent_label_rules {
	struct label_rule rule[AGENT_RULES_MAX];
	size_t nr;
};

static int refuse_rule(struct perch_error *err, const char *text, const char *reason)
{
	perch_error_set(err, EINVAL, PERCH_ERROR_USAGE, "label '%s': %s", text, reason);
	return perch_error_remedy(err, "Write KEY=VALUE or REGEX => KEY=VALUE"), -EINVAL;
}

/* Keys of OpenTelemetry: letters, digits, '.', '_' and '-'. Other characters would need quotes. */
static bool is_key(const char *text, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if (!isalnum((unsigned char)text[i]) && (!strchr("._-", text[i]) || !i))
			return false;
	return length && length <= AGENT_LABEL_MAX && !isdigit((unsigned char)*text);
}

/* Numbers in braces multiply the size of the compiled expression, also one in another. */
static bool repeats_too_often(const char *pattern)
{
	unsigned long product = 1;

	for (const char *at = pattern; (at = strchr(at, '{')); at++) {
		const char *comma = at + strcspn(at, ",}");
		unsigned long least = strtoul(at + 1, NULL, 10);
		unsigned long most = *comma == ',' ? strtoul(comma + 1, NULL, 10) : least;

		most = most > least ? most : least;
		if (most > REPEATS_MAX)
			return true;
		product *= most ? most : 1;
		if (product > REPEATS_MAX)
			return true;
	}
	return false;
}

static int set_pattern(struct label_rule *rule, const char *text, const char *pattern,
		       struct perch_error *err)
{
	char reason[128];
	int error;

	if (repeats_too_often(pattern))
		return refuse_rule(err, text, "the expression repeats more than 64 times");
	error = regcomp(&rule->pattern, pattern, REG_EXTENDED);
	if (error == REG_ESPACE)
		return PERCH__NO_MEMORY(err, "for a label");
	if (error) {
		regerror(error, &rule->pattern, reason, sizeof(reason));
		return refuse_rule(err, text, reason);
	}
	rule->has_pattern = true;
	return 0;
}

static void clear_rule(struct label_rule *rule)
{
	if (rule->has_pattern)
		regfree(&rule->pattern);
	free(rule->key);
}

/* True if the value has the number of a group that the expression does not have. */
static bool has_other_group(const struct label_rule *rule)
{
	for (const char *at = rule->value; (at = strchr(at, '\\')); at += 1 + (at[1] != 0))
		if (isdigit((unsigned char)at[1]) && (size_t)(at[1] - '0') > rule->pattern.re_nsub)
			return true;
	return false;
}

static int parse_rule(struct label_rule *rule, const char *text, struct perch_error *err)
{
	const char *arrow = strstr(text, ARROW), *label = arrow ? arrow + strlen(ARROW) : text;
	const char *equal = strchr(label, '=');
	int rc = 0;

	if (strlen(text) > TEXT_MAX)
		return refuse_rule(err, "", "it has more than 1024 bytes");
	if (!arrow && strstr(text, "=>"))
		return refuse_rule(err, text, "blanks are missing around =>");
	if (!equal)
		return refuse_rule(err, text, "the label has no '='");
	if (!is_key(label, (size_t)(equal - label)))
		return refuse_rule(err, text,
				   "expected a key of letters, digits, '.', '_' and '-'");
	if (strlen(equal + 1) > AGENT_LABEL_MAX)
		return refuse_rule(err, text, "the value has more than 255 bytes");
	rule->key = strdup(label);
	if (!rule->key)
		return PERCH__NO_MEMORY(err, "for a label");
	rule->key[equal - label] = 0;
	rule->value = rule->key + (equal - label) + 1;
	if (arrow) {
		char *pattern = strndup(text, (size_t)(arrow - text));

		rc = pattern ? set_pattern(rule, text, pattern, err)
			     : PERCH__NO_MEMORY(err, "for a label");
		free(pattern);
		if (!rc && has_other_group(rule))
			rc = refuse_rule(err, text,
					 "the expression has fewer groups than the "
					 "value refers to");
	}
	return rc;
}

int agent_label_rules_add(struct agent_label_rules **rules, const char *text,
			  struct perch_error *err)
{
	struct label_rule rule = { .key = NULL };
	int rc;

	if (*rules && (*rules)->nr == AGENT_RULES_MAX)
		return refuse_rule(err, text, "there are 64 rules before it");
	rc = parse_rule(&rule, text, err);
	if (!rc && !*rules) {
		*rules = calloc(1, sizeof(**rules));
		if (!*rules)
			rc = PERCH__NO_MEMORY(err, "for a label");
	}
	if (rc)
		clear_rule(&rule);
	else
		(*rules)->rule[(*rules)->nr++] = rule;
	return rc;
}

void agent_label_rules_free(struct agent_label_rules *rules)
{
	for (size_t i = 0; rules && i < rules->nr; i++)
		clear_rule(&rules->rule[i]);
	free(rules);
}

/* Writes the value with what the groups matched. Returns false if it is too long. */
static bool fill_value(const char *template, const char *path, const regmatch_t groups[GROUPS],
		       char value[AGENT_LABEL_MAX + 1])
{
	size_t nr = 0;

	for (const char *at = template; *at; at++) {
		const char *from = at;
		size_t length = 1;

		if (*at == '\\' && isdigit((unsigned char)at[1])) {
			const regmatch_t *group = &groups[*++at - '0'];

			from = group->rm_so < 0 ? "" : path + group->rm_so;
			length = group->rm_so < 0 ? 0 : (size_t)(group->rm_eo - group->rm_so);
		} else if (*at == '\\' && at[1] == '\\') {
			at++;
		}
		if (nr + length > AGENT_LABEL_MAX)
			return false;
		memcpy(value + nr, from, length);
		nr += length;
	}
	value[nr] = 0;
	return true;
}

void agent_label_rules_apply(const struct agent_label_rules *rules, const char *path,
			     struct agent_labels *labels)
{
	char value[AGENT_LABEL_MAX + 1];

	/* the time of an expression grows with the text; the kernel has no longer paths */
	if (strlen(path) >= PATH_MAX)
		path = "";
	for (size_t i = 0; rules && i < rules->nr; i++) {
		const struct label_rule *rule = &rules->rule[i];
		regmatch_t groups[GROUPS];

		for (size_t k = 0; k < GROUPS; k++)
			groups[k] = (regmatch_t){ -1, -1 };
		if (rule->has_pattern && regexec(&rule->pattern, path, GROUPS, groups, 0))
			continue;
		if (fill_value(rule->value, path, groups, value))
			agent_labels_set(labels, rule->key, value);
		else
			labels->incomplete = true;
	}
}

void agent_labels_find(const struct agent_label_rules *rules, const char *path,
		       struct agent_labels *labels)
{
	*labels = (struct agent_labels){ .nr = 0 };
	agent_labels_add_path(labels, path);
	agent_label_rules_apply(rules, path, labels);
}
