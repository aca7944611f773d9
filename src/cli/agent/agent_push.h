/* SPDX-License-Identifier: MIT */
/* Options of perch agent about what it sends, and labels. SIGHUP reads them again. */
#ifndef PERCH_CLI_AGENT_PUSH_H
#define PERCH_CLI_AGENT_PUSH_H

#include "agent/agent.h"
#include "agent/push/push.h"
#include "options.h"

struct agent_push_command {
	struct agent_push_target target[AGENT_TARGETS_MAX];
	size_t nr;
	struct agent_label_rules *rules;
	bool environment;
	const char *spool;
	uint64_t spool_mb, spool_age, interval; /* ns */
};

/* A table for a row of the options of the command. */
extern const struct cli_option agent_push_options[];

void agent_push_set_defaults(struct agent_push_command *command);
/* Sets a time in ns, at given->state. */
int agent_set_duration(const struct cli_given *given);
/* Checks each number alone. Returns 0, or the exit status. */
int agent_push_check_numbers(const struct agent_push_command *command);
/* True if an option is one of these, by its name of this length. */
bool agent_push_has(const char *name, size_t length);
/* Checks the options, and sets those of the agent. Returns 0, or the exit status. */
int agent_push_check(const struct agent_push_command *command, struct agent_options *options);
void agent_push_clear(struct agent_push_command *command);

#endif
