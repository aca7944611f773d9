/* SPDX-License-Identifier: MIT */
/* perch agent: profiles of a machine, all the time. */
#include <errno.h>
#include <stdlib.h>

#include "agent.h"
#include "record/record.h"

static void print_note(void *context, const char *text)
{
	(void)context;
	cli_note(AGENT_COMMAND, "%s", text);
}

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
	perch_machine_free(command.machine);
	return status;
}
