/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "agent.h"
#include "agent/labels/labels.h"
#include "agent_push.h"

#define NS		 1000000000ull
#define DEFAULT_INTERVAL (15 * NS)
#define MOST_INTERVAL	 (300 * NS)
#define DEFAULT_SPOOL_MB 64
#define MOST_SPOOL_MB	 1048576
#define DEFAULT_AGE	 (3600 * NS)

static int set_push(const struct cli_given *given)
{
	struct agent_push_command *command = given->state;
	struct perch_error err;

	if (command->nr == AGENT_TARGETS_MAX)
		return cli_usage_error(
			given->command,
			"--push: more than %d targets: run a second agent for the others",
			AGENT_TARGETS_MAX);
	if (!agent_push_target_parse(&command->target[command->nr], given->text, &err)) {
		command->nr++;
		if (!agent_push_target_number(command->target, command->nr, &err))
			return 0;
	}
	cli_error(given->command, &err);
	return -EINVAL;
}

static int set_label(const struct cli_given *given)
{
	struct agent_push_command *command = given->state;
	struct perch_error err;

	if (!agent_label_rules_add(&command->rules, given->text, &err))
		return 0;
	cli_error(given->command, &err);
	return -EINVAL;
}

int agent_set_duration(const struct cli_given *given)
{
	uint64_t *ns = given->state;

	*ns = 0;
	/* cli_parse_duration() takes a number alone as ms, which nobody means here */
	if (given->negated ||
	    (strchr(given->text, 's') && cli_parse_duration(given->text, ns) && *ns))
		return 0;
	cli_usage_error(
		given->command,
		"--%s %s: expected a whole number from 1 on with its unit (ns, us, ms or s), as 500ms or 30s",
		given->option->name, given->text);
	return -EINVAL;
}

#define SETS(member) CLI_SETS(struct agent_push_command, member)
#define AT(member)   offsetof(struct agent_push_command, member)

const struct cli_option agent_push_options[] = {
	CLI_ROW(.name = "push", .argument = "URL", .set = set_push, .not_negated = true,
		.help = "send windows there: [otlp+|pyroscope+]URL[,OPTION=VALUE]"),
	CLI_ROW(.name = "push-interval", .argument = "TIME", .at = AT(interval),
		.set = agent_set_duration, .not_negated = true,
		.help = "the time of a window that is sent, +-20 % (15s)"),
	CLI_ROW(.name = "spool", .argument = "DIR", SETS(spool),
		.help = "windows wait in DIR while a server does not answer"),
	CLI_ROW(.name = "spool-size", .argument = "MB", SETS(spool_mb),
		.help = "most bytes that wait there (64)"),
	CLI_ROW(.name = "spool-age", .argument = "TIME", .at = AT(spool_age),
		.set = agent_set_duration, .not_negated = true,
		.help = "how long windows wait (3600s)"),
	CLI_ROW(.name = "label", .argument = "RULE", .set = set_label, .not_negated = true,
		.help = "a label: KEY=VALUE, or REGEX => KEY=VALUE of cgroup paths"),
	CLI_ROW(.name = "service-environment", SETS(environment),
		.help = "OTEL_SERVICE_NAME of the processes of a cgroup is their service"),
	{ 0 },
};

void agent_push_set_defaults(struct agent_push_command *command)
{
	command->interval = DEFAULT_INTERVAL;
	command->spool_mb = DEFAULT_SPOOL_MB;
	command->spool_age = DEFAULT_AGE;
}

int agent_push_check_numbers(const struct agent_push_command *command)
{
	if (command->interval < NS || command->interval > MOST_INTERVAL)
		return cli_usage_error(AGENT_COMMAND, "--push-interval %gs: expected 1s to 300s",
				       (double)command->interval / 1e9);
	if (!command->spool_mb || command->spool_mb > MOST_SPOOL_MB)
		return cli_usage_error(AGENT_COMMAND,
				       "--spool-size %" PRIu64 ": expected 1 to %d MB",
				       command->spool_mb, MOST_SPOOL_MB);
	return 0;
}

bool agent_push_has(const char *name, size_t length)
{
	for (const struct cli_option *option = agent_push_options; option->name; option++)
		if (strlen(option->name) == length && !memcmp(option->name, name, length))
			return true;
	return false;
}

int agent_push_check(const struct agent_push_command *command, struct agent_options *options)
{
	/* the longest window, see agent_push_jitter() */
	if (command->interval / 5 * 6 > options->seconds * NS && command->nr)
		return cli_usage_error(AGENT_COMMAND, "--push-interval: a window, which takes up "
						      "to 20 %% longer, is longer than --history");
	if (command->spool && !command->nr)
		return cli_usage_error(AGENT_COMMAND,
				       "--spool keeps windows of --push: add --push URL");
	options->rules = command->rules;
	options->environment = command->environment;
	options->send = (struct agent_send_options){
		.target = command->target,
		.nr = command->nr,
		.spool = command->spool,
		/* in memory it is less: agent_spool_options */
		.spool_bytes = command->spool ? command->spool_mb << 20 : 0,
		.spool_age = command->spool_age,
		.interval = command->interval,
	};
	return 0;
}

void agent_push_clear(struct agent_push_command *command)
{
	for (size_t i = 0; i < command->nr; i++)
		agent_push_target_clear(&command->target[i]);
	agent_label_rules_free(command->rules);
	*command = (struct agent_push_command){ .nr = 0 };
}
