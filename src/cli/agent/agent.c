/* SPDX-License-Identifier: MIT */
/* perch agent: profiles of a machine, all the time. */
#include <errno.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent.h"
#include "record/record.h"

static void print_note(void *context, const char *text)
{
	(void)context;
	cli_note(AGENT_COMMAND, "%s", text);
}

/* ---- options that SIGHUP replaces ---- */

static void free_sent(struct agent_sent *sent)
{
	if (!sent)
		return;
	agent_push_clear(&sent->push);
	cli_config_arguments_clear(&sent->arguments);
	free(sent);
}

/* Takes what is sent from parsed options, which may be those of command. Returns 0 or a status. */
static int take_sent(struct agent_command *command, struct agent_command *parsed)
{
	struct agent_sent *sent = malloc(sizeof(*sent));

	if (!sent)
		return cli_no_memory(AGENT_COMMAND);
	*sent = (struct agent_sent){ parsed->push, parsed->arguments };
	parsed->push = (struct agent_push_command){ .nr = 0 };
	parsed->arguments = (struct cli_config_arguments){ .nr = 0 };
	free_sent(command->sent_before);
	command->sent_before = command->sent;
	command->sent = sent;
	return agent_push_check(&sent->push, &command->options);
}

/* The parser of options ends the process if one is wrong, so another process tries first. */
static bool can_parse(const struct agent_command *command)
{
	struct agent_command parsed = { .token = NULL };
	int status;
	pid_t pid = fork();

	if (!pid) {
		/* exit(3) of the parser runs what libraries have registered, and another thread may
		 * have had a lock of them */
		alarm(10);
		_exit(agent_parse(&parsed, command->argc, command->argv));
	}
	return pid > 0 && waitpid(pid, &status, 0) == pid && !status;
}

static bool reload_options(void *context)
{
	struct agent_command *command = context, parsed = { .token = NULL };
	int status;

	if (!command->config) {
		cli_note(AGENT_COMMAND, "SIGHUP reads the file of --config, and there is none");
		return false;
	}
	if (!can_parse(command)) {
		cli_note(AGENT_COMMAND, "%s is not used: the options stay", command->config);
		return false;
	}
	status = agent_parse(&parsed, command->argc, command->argv);
	if (!status)
		status = take_sent(command, &parsed);
	agent_clear_options(&parsed);
	if (!status)
		cli_note(AGENT_COMMAND, "%s is read again", command->config);
	return !status;
}

/* ---- the command ---- */

static int choose_targets(struct agent_command *command)
{
	struct cli_target *target = &command->target;

	if (!cli_target_has_tasks(target) && !target->cpu_list)
		target->all_cpus = true;
	command->options.source.inherit = cli_target_has_tasks(target);
	return cli_target_choose(AGENT_COMMAND, target, command->machine, &command->targets);
}

static int run_agent(struct agent_command *command)
{
	struct agent_options *options = &command->options;
	struct perch_error err = { 0 };
	int status = choose_targets(command);

	if (status)
		return status;
	record_raise_descriptor_limit();
	options->source.targets = &command->targets;
	options->source.machine = command->machine;
	options->note = print_note;
	options->reload = reload_options;
	options->context = command;
	status = take_sent(command, command);
	if (status)
		return status;
	if (agent_run(options, &err) >= 0)
		return 0;
	if (!err.message[0])
		return CLI_EXIT_FAILURE; /* it was noted */
	status = cli_open_error(AGENT_COMMAND, &err);
	return err.kind == PERCH_ERROR_USAGE ? CLI_EXIT_USAGE : status;
}

int perch_cmd_agent(int argc, char **argv)
{
	struct agent_command command = { .token = NULL };
	struct perch_error err;
	int status = agent_parse(&command, argc, argv);

	if (!status && perch_machine_new(&command.machine, NULL, NULL, &err) < 0)
		status = cli_error(AGENT_COMMAND, &err);
	if (!status) {
		perch_machine_set_probing(command.machine, true);
		status = run_agent(&command);
	}
	agent_clear_options(&command);
	free_sent(command.sent);
	free_sent(command.sent_before);
	perch_machine_free(command.machine);
	return status;
}
