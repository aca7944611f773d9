/* SPDX-License-Identifier: MIT */
/*
 * What perch agent reads from outside. The first byte of the input chooses the parser: an answer of
 * a server, its Retry-After, a file of the spool and its name, the path of a cgroup, the files of
 * /proc, a target, a rule, or a file of options.
 */
#define _GNU_SOURCE
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/labels/labels.h"
#include "agent/push/push.h"
#include "agent/push/push_answer.h"
#include "cli/config_file.h"
#include "cli/messages.h"
#include "text_input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* These replace messages.c, which prints to stderr. */
void cli_note(const char *command, const char *format, ...)
{
	(void)command, (void)format;
}

int cli_usage_error(const char *command, const char *format, ...)
{
	(void)command, (void)format;
	return CLI_EXIT_USAGE;
}

static void check(bool condition)
{
	if (!condition)
		abort();
}

/* No control character and no invalid UTF-8 is left. */
static void check_clean(const char *text, size_t size)
{
	char clean[4096];

	check(memchr(text, 0, size) != NULL);
	perch_clean_text(text, clean, sizeof(clean));
	check(!strcmp(text, clean));
}

static void try_retry_after(char *text, size_t size)
{
	int64_t seconds = agent_push_retry_after(text, 784111777);

	(void)size;
	check(seconds >= -1 && seconds <= 1000000000);
}

static void try_answer(char *bytes, size_t size)
{
	char reason[64];

	agent_push_rejected(bytes, size, reason, sizeof(reason));
	check_clean(reason, sizeof(reason));
	for (int is_protobuf = 0; is_protobuf < 2; is_protobuf++) {
		agent_push_reason(bytes, size, is_protobuf, reason, sizeof(reason));
		check_clean(reason, sizeof(reason));
	}
}

/* What is accepted is written as the same bytes, but for the reserved ones. */
static void try_spool_file(char *bytes, size_t size)
{
	struct agent_spool_entry entry = { .target = 1 };
	uint8_t head[AGENT_SPOOL_HEAD];
	const void *body = agent_spool_parse(bytes, size, &entry);

	if (!body)
		return;
	check(body == bytes + AGENT_SPOOL_HEAD && entry.size == size - AGENT_SPOOL_HEAD);
	agent_spool_make_head(&entry, body, head);
	check(!memcmp(head, bytes, 20));
}

static void try_spool_name(char *text, size_t size)
{
	struct agent_spool_entry entry;
	char name[AGENT_SPOOL_NAME];

	(void)size;
	if (!agent_spool_parse_name(text, &entry))
		return;
	agent_spool_name(&entry, name);
	check(!strcmp(name, text));
}

static void check_labels(const struct agent_labels *labels)
{
	check(labels->nr <= AGENT_LABELS_MAX && labels->used <= AGENT_LABELS_BYTES);
	for (size_t i = 0; i < labels->nr; i++) {
		check_clean(agent_label_key(labels, i), AGENT_LABEL_MAX + 1);
		check_clean(agent_label_value(labels, i), AGENT_LABEL_MAX + 1);
		check(*agent_label_value(labels, i));
	}
}

static void try_path(char *text, size_t size)
{
	static struct agent_label_rules *rules;
	struct agent_labels labels;

	(void)size;
	if (!rules) {
		check(!agent_label_rules_add(&rules, "^/([^/]*)/(.*)$ => a=\\1\\2\\0", NULL));
		check(!agent_label_rules_add(&rules, "docker => service.name=\\0", NULL));
		check(!agent_label_rules_add(&rules, "(kube|system)? => container.id=\\1", NULL));
	}
	agent_labels_find(rules, text, &labels);
	check_labels(&labels);
}

static void try_cgroup_file(char *text, size_t size)
{
	char path[PATH_MAX];

	(void)size;
	if (agent_cgroup_path(text, path))
		check(*path == '/');
}

static void try_environment(char *bytes, size_t size)
{
	char value[AGENT_LABEL_MAX + 1];

	if (agent_environment_value(bytes, size, "A", value))
		check_clean(value, sizeof(value));
}

static void try_target(char *text, size_t size)
{
	struct agent_push_target target;
	struct perch_error err;
	int rc = agent_push_target_parse(&target, text, &err);

	(void)size;
	check(rc ? !target.url : target.url && target.name);
	for (const char *at = target.url; at && *at; at++)
		check(*at > ' ' && *at <= '~');
	agent_push_target_clear(&target);
}

/* The expression is that of the user, whom regcomp(3) trusts: it is none here. */
static void try_rule(char *text, size_t size)
{
	struct agent_label_rules *rules = NULL;
	struct agent_labels labels;

	(void)size;
	if (strstr(text, " => "))
		return;
	if (!agent_label_rules_add(&rules, text, NULL)) {
		agent_labels_find(rules, "/a", &labels);
		check_labels(&labels);
	}
	agent_label_rules_free(rules);
}

static void try_options(char *text, size_t size)
{
	struct cli_config_arguments arguments = { .text = strdup(text) };

	(void)size;
	if (!cli_config_arguments_parse(&arguments, "FILE", "agent"))
		for (size_t i = 0; i < arguments.nr; i++)
			check(!strncmp(arguments.word[i].text, "--", 2) &&
			      !strchr(arguments.word[i].text, '\n'));
	cli_config_arguments_clear(&arguments);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static void (*const parsers[])(char *bytes, size_t size) = {
		try_retry_after, try_answer,	  try_spool_file, try_spool_name, try_path,
		try_cgroup_file, try_environment, try_target,	  try_rule,	  try_options,
	};
	char *copy;

	if (!size)
		return 0;
	copy = text_of_input(data, size);
	parsers[data[0] % (sizeof(parsers) / sizeof(*parsers))](copy, size - 1);
	free(copy);
	return 0;
}
