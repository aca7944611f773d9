/* SPDX-License-Identifier: MIT */
/* perch agent: profiles of a machine, all the time. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent.h"
#include "record/record.h"

#define PARSED 42 /* the exit status of a process that has parsed the options: no other has it */

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

/* Takes what is sent from parsed options, which may be those of command: its words are those of
 * the start, and stay. Returns 0 or a status. */
static int take_sent(struct agent_command *command, struct agent_command *parsed)
{
	struct agent_sent *sent = malloc(sizeof(*sent));
	struct agent_options options = command->options;
	int status;

	if (!sent)
		return cli_no_memory(AGENT_COMMAND);
	*sent = (struct agent_sent){ .push = parsed->push };
	parsed->push = (struct agent_push_command){ .nr = 0 };
	if (parsed != command) {
		sent->arguments = parsed->arguments;
		parsed->arguments = (struct cli_config_arguments){ .nr = 0 };
	}
	/* --history of the start stays, so these may be right with that of the file only */
	status = agent_push_check(&sent->push, &options);
	if (status) {
		free_sent(sent);
		return status;
	}
	free_sent(command->sent_before);
	command->sent_before = command->sent;
	command->sent = sent;
	command->options = options;
	return 0;
}

/* The parser of options ends the process if one is wrong, or is --help, so another process tries
 * the words of the file first. */
static bool can_parse(const struct agent_command *command, struct agent_command *parsed)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		/* exit(3) of the parser runs what libraries have registered, and another thread may
		 * have had a lock of them */
		alarm(10);
		status = agent_parse_with_file(parsed, command->argc, command->argv);
		_exit(status ? status : PARSED);
	}
	return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) &&
	       WEXITSTATUS(status) == PARSED;
}

/* Notes the options of one file that are others in another one, and that need a start. */
static void note_others(const struct cli_config_arguments *of,
			const struct cli_config_arguments *other, bool removed)
{
	for (size_t i = 0; i < of->nr; i++) {
		const char *name = of->word[i].text + strlen("--");
		size_t length = strcspn(name, "=");
		const struct cli_config_word *found =
			cli_config_arguments_find(other, name, length);
		bool is_last = cli_config_arguments_find(of, name, length) == &of->word[i];

		if (agent_push_has(name, length) || !is_last ||
		    (found && (removed || !strcmp(found->text, of->word[i].text))))
			continue;
		if (removed)
			cli_note(AGENT_COMMAND, "%s: %.*s needs a restart; it stays '%s'",
				 other->path, (int)length, name, name);
		else
			cli_note(AGENT_COMMAND, "%s:%u: %.*s needs a restart; it stays %s%s%s",
				 of->path, of->word[i].line, (int)length, name,
				 found ? "'" : "as at the start",
				 found ? found->text + strlen("--") : "", found ? "'" : "");
	}
}

static bool reload_options(void *context)
{
	struct agent_command *command = context, parsed = { .token = NULL };
	int status = cli_config_arguments_read(&parsed.arguments, command->config, AGENT_COMMAND);
	if (!status && !can_parse(command, &parsed))
		status = CLI_EXIT_USAGE;
	if (!status)
		status = agent_parse_with_file(&parsed, command->argc, command->argv);
	if (!status) {
		note_others(&parsed.arguments, &command->arguments, false);
		note_others(&command->arguments, &parsed.arguments, true);
		status = take_sent(command, &parsed);
	}
	agent_clear_options(&parsed);
	cli_note(AGENT_COMMAND, status ? "%s is not used: the options stay" : "%s is read again",
		 command->config);
	return !status;
}

static void restore_options(void *context)
{
	struct agent_command *command = context;
	struct agent_sent *failed = command->sent;

	command->sent = command->sent_before;
	command->sent_before = failed;
	agent_push_check(&command->sent->push, &command->options);
}

/* ---- the command ---- */

/* By its descriptor, so that ">>" appends. */
static int open_standard_output(struct cli_output_file *file)
{
	int fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);

	if (fd < 0)
		return cli_usage_error(AGENT_COMMAND, "-o -: standard output: %s", strerror(errno));
	*file = (struct cli_output_file){
		.stream = fdopen(fd, "w"),
		.path = strdup("the standard output"),
		.new = { .fd = -1, .dir = -1 },
		.dir = -1,
	};
	if (file->stream && file->path)
		return 0;
	if (!file->stream)
		close(fd);
	return cli_no_memory(AGENT_COMMAND);
}

/* A file that cannot be written is said before the samples are taken. */
static int open_once(struct agent_command *command)
{
	const char *path = command->options.once;
	struct perch_error err;

	if (!path)
		return 0;
	if (!strcmp(path, "-"))
		return open_standard_output(&command->once_file);
	return cli_output_open(&command->once_file, path, 0, &err) ? cli_error(AGENT_COMMAND, &err)
								   : 0;
}

static int write_once(void *context, int fd)
{
	struct agent_command *command = context;
	struct cli_output_file *file = &command->once_file;
	struct perch_error err;
	char bytes[16384];
	off_t at = 0;
	ssize_t size = 0;
	int error = 0, rc;

	while (!error && (size = pread(fd, bytes, sizeof(bytes), at)) > 0) {
		if (fwrite(bytes, (size_t)size, 1, file->stream) != 1)
			error = errno;
		at += size;
	}
	if (size < 0)
		error = errno;
	rc = cli_output_close(file, error, &err);
	if (rc)
		cli_error(AGENT_COMMAND, &err);
	return rc;
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
	options->source.all_cpus = cli_target_system_wide(&command->target) &&
				   !command->target.cpu_list;
	options->source.machine = command->machine;
	options->note = print_note;
	options->reload = command->config ? reload_options : NULL;
	options->restore = restore_options;
	options->write_once = write_once;
	options->context = command;
	status = take_sent(command, command);
	if (!status)
		status = open_once(command);
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
	cli_output_discard(&command.once_file);
	agent_clear_options(&command);
	free_sent(command.sent);
	free_sent(command.sent_before);
	perch_machine_free(command.machine);
	return status;
}
