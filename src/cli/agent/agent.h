/* SPDX-License-Identifier: MIT */
/*
 * perch agent. A file calls only files below its own:
 *
 *	agent.c		runs it
 *	agent_options.c	the command line, and the file of options
 *	agent_push.c	options about what it sends
 */
#ifndef PERCH_CLI_AGENT_H
#define PERCH_CLI_AGENT_H

#include "agent/agent.h"
#include "agent_push.h"
#include "config_file.h"
#include "event_options.h"
#include "options.h"
#include "output_file.h"
#include "program/target.h"

#define AGENT_COMMAND "agent"

/* Options that SIGHUP replaces, and the words that they point to. */
struct agent_sent {
	struct agent_push_command push;
	struct cli_config_arguments arguments;
};

struct agent_command {
	struct agent_options options;
	struct perch_targets targets;
	struct cli_target target;
	struct perch_machine *machine;
	const char *token_file;
	char *token;
	struct cli_output_file once_file;
	const char *config;		       /* file of options; NULL: none */
	struct cli_config_arguments arguments; /* of the file at the start */
	struct agent_push_command push;
	/* what is sent now, and was before SIGHUP: that is in use until the reload is done */
	struct agent_sent *sent, *sent_before;
	int argc;
	char **argv;
	uint64_t off_cpu_ns, once_ns, history_ns;
	uint64_t memory; /* MB */
};

/* Returns 0, or the exit status after it has printed an error. The command is empty before. */
int agent_parse(struct agent_command *command, int argc, char **argv);
/* The same with the words of a file in command->arguments. The command line comes after them:
 * single values are its own. */
int agent_parse_with_file(struct agent_command *command, int argc, char **argv);
void agent_clear_options(struct agent_command *command);

#endif
