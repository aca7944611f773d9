/* SPDX-License-Identifier: MIT */
/* The options of `perch agent`. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent.h"
#include "shared_options.h"

#define DEFAULT_HZ	19 /* no multiple of the rates of timers */
#define MOST_HZ		1000
#define DEFAULT_HISTORY 300 /* seconds */
#define MOST_HISTORY	3600
#define DEFAULT_MEMORY	16 /* MB */
#define NS		1000000000ull

static int set_off_cpu(const struct cli_given *given)
{
	struct agent_command *command = given->state;

	command->options.source.off_cpu = !given->negated;
	command->options.source.off_cpu_ns = 1000000;
	if (given->negated || !given->text ||
	    cli_parse_duration(given->text, &command->options.source.off_cpu_ns))
		return 0;
	cli_usage_error(given->command, "--off-cpu=%s: use a time such as 500us or 1ms",
			given->text);
	return -EINVAL;
}

#define AT(member)   offsetof(struct agent_command, member)
#define SETS(member) CLI_SETS(struct agent_command, member)

static const struct cli_option options[] = {
	CLI_ROW(.letter = 'e', .name = "event", .argument = "EVENTS", SETS(options.source.events),
		.help = "what is sampled (cpu-clock)"),
	CLI_ROW(.letter = 'F', .name = "freq", .argument = "HZ", SETS(options.source.frequency),
		.help = "samples per second and CPU (19)"),
	CLI_ROW(.table = cli_target_options, .at = AT(target)),
	CLI_ROW(.name = "off-cpu", .argument = "TIME", .optional = true, .attached = true,
		.set = set_off_cpu,
		.help = "also the time off the CPU, of waits of at least TIME (1ms)"),
	CLI_ROW(.name = "thread-ids", SETS(options.source.threads),
		.help = "samples have process and thread ids"),
	CLI_ROW(.name = "listen", .argument = "ADDRESS:PORT", SETS(options.listen),
		.help = "serve profiles, metrics and a page there"),
	CLI_ROW(.name = "token-file", .argument = "FILE", SETS(token_file),
		.help = "requests must have the secret in FILE"),
	CLI_ROW(.name = "no-counters", .inverted = true, SETS(options.counters),
		.help = "metrics without counts of CPUs and cgroups"),
	CLI_ROW(.name = "cgroup-events", SETS(options.cgroup_events),
		.help = "metrics with events of the 50 busiest cgroups"),
	CLI_ROW(.name = "history", .argument = "TIME", .at = AT(history_ns),
		.set = agent_set_duration, .help = "how long samples are kept (300s)"),
	CLI_ROW(.name = "memory", .argument = "MB", SETS(memory),
		.help = "most memory of samples that are kept (16)"),
	CLI_ROW(.name = "once", .argument = "TIME", .at = AT(once_ns), .set = agent_set_duration,
		.help = "write one profile of TIME to -o, and end"),
	CLI_ROW(.letter = 'o', .name = "output", .argument = "FILE", SETS(options.once),
		.help = "the file of --once (profile.pb.gz)"),
	CLI_ROW(.table = agent_push_options, .at = AT(push)),
	CLI_ROW(.name = "config", .argument = "FILE", SETS(config),
		.help = "lines NAME = VALUE with options; SIGHUP reads it again"),
	CLI_ROW(.letter = 'g', .name = "call-graph",
		.refusal = "no option -g: perch agent always takes call chains, by frame pointers",
		.hidden = true),
	CLI_ROW(.letter = 'G', .name = "cgroup",
		.refusal = "no option -G: perch agent samples all cgroups, and a sample has its "
			   "cgroup as a label; ?cgroup=PATH selects one",
		.hidden = true),
	{ 0 },
};

const struct cli_usage cli_agent_usage = {
	.name = AGENT_COMMAND,
	.operands = "[OPTIONS]",
	.summary = "Profiles a machine all the time, for engines that collect profiles.",
	.options = options,
};

/* ---- the token ---- */

/* Reads the first line of a file that nobody else can read. */
static int read_token(struct agent_command *command)
{
	int fd = open(command->token_file, O_RDONLY | O_CLOEXEC);
	struct stat stat;
	FILE *file;
	size_t capacity = 0;
	ssize_t length = -1;

	if (fd < 0 || fstat(fd, &stat))
		return cli_usage_error(
			AGENT_COMMAND,
			"--token-file %s: %s. Its first line is a secret of 16 to 1024 bytes, and only this user may read it (umask 077)",
			command->token_file, strerror(errno));
	if (S_ISREG(stat.st_mode) && stat.st_mode & 077) {
		close(fd);
		return cli_usage_error(
			AGENT_COMMAND,
			"--token-file %s: others can read or write it, and the token is secret: chmod 600",
			command->token_file);
	}
	file = fdopen(fd, "r");
	if (file)
		length = getline(&command->token, &capacity, file);
	if (file)
		fclose(file);
	while (length > 0 && strchr(" \t\r\n", command->token[length - 1]))
		command->token[--length] = '\0';
	if (length < 16 || length > 1024)
		return cli_usage_error(AGENT_COMMAND,
				       "--token-file %s: expected a line of 16 to 1024 bytes",
				       command->token_file);
	command->options.token = command->token;
	return 0;
}

/* ---- all of them ---- */

/* Of each option alone, so that the line of a file is known where it is wrong. */
static int check_numbers(const struct agent_command *command)
{
	const struct agent_options *agent = &command->options;

	if (!agent->source.frequency || agent->source.frequency > MOST_HZ)
		return cli_usage_error(AGENT_COMMAND, "-F %" PRIu64 ": expected 1 to %d Hz",
				       agent->source.frequency, MOST_HZ);
	if (command->history_ns < NS || command->history_ns / NS > MOST_HISTORY)
		return cli_usage_error(AGENT_COMMAND, "--history %gs: expected 1s to %ds",
				       (double)command->history_ns / 1e9, MOST_HISTORY);
	if (!command->memory || command->memory > 1024)
		return cli_usage_error(AGENT_COMMAND, "--memory %" PRIu64 ": expected 1 to 1024 MB",
				       command->memory);
	return agent_push_check_numbers(&command->push);
}

static int check_agent(struct agent_command *command)
{
	struct agent_options *agent = &command->options;

	if (agent->cgroup_events && !agent->counters)
		return cli_refuse_both(AGENT_COMMAND, "--cgroup-events", "--no-counters");
	if (agent->once && !command->once_ns)
		return cli_usage_error(
			AGENT_COMMAND,
			"-o is the file of --once: add --once TIME, such as --once 30s");
	if (command->once_ns && !agent->once)
		agent->once = "profile.pb.gz";
	if (!agent->once && !agent->listen && !command->push.nr)
		return cli_usage_error(AGENT_COMMAND, "who gets the profiles? Use --listen "
						      "127.0.0.1:7099, --push URL, or "
						      "--once 30s -o FILE");
	if (agent->once && command->push.nr)
		return cli_usage_error(
			AGENT_COMMAND,
			"--once (writes a file, and sends nothing) and --push exclude each other: choose one");
	agent->once_ns = command->once_ns;
	agent->seconds = command->history_ns / NS;
	agent->window_bytes = (size_t)command->memory << 20;
	if (agent->once_ns / NS >= agent->seconds)
		agent->seconds = agent->once_ns / NS + 2;
	if (command->token_file && read_token(command))
		return CLI_EXIT_USAGE;
	return agent_push_check(&command->push, agent);
}

static void set_defaults(struct agent_command *command)
{
	command->options.source.events = "cpu-clock";
	command->options.source.frequency = DEFAULT_HZ;
	command->history_ns = DEFAULT_HISTORY * NS;
	command->memory = DEFAULT_MEMORY;
	command->options.counters = true;
	agent_push_set_defaults(&command->push);
}

static int parse_words(struct agent_command *command, int argc, char **argv)
{
	int next = cli_options_parse(&cli_agent_usage, command, argc, argv);

	return next < argc
		       ? cli_usage_error(
				 AGENT_COMMAND,
				 "'%s' is not an option; it profiles the whole machine, not a program",
				 argv[next])
		       : check_numbers(command);
}

int agent_parse_with_file(struct agent_command *command, int argc, char **argv)
{
	const struct cli_config_arguments *arguments = &command->arguments;
	int status = 0;

	set_defaults(command);
	for (size_t i = 0; !status && i < arguments->nr; i++) {
		char *words[] = { argv[0], arguments->word[i].text, NULL };

		cli_set_position(arguments->path, arguments->word[i].line);
		status = parse_words(command, 2, words);
		cli_set_position(NULL, 0);
	}
	if (!status)
		status = parse_words(command, argc, argv);
	command->argc = argc;
	command->argv = argv;
	return status ? status : check_agent(command);
}

int agent_parse(struct agent_command *command, int argc, char **argv)
{
	struct agent_command first = { .token = NULL };
	int status;

	set_defaults(&first);
	status = parse_words(&first, argc, argv);
	if (!status && first.config)
		status =
			cli_config_arguments_read(&command->arguments, first.config, AGENT_COMMAND);
	agent_clear_options(&first);
	return status ? status : agent_parse_with_file(command, argc, argv);
}

void agent_clear_options(struct agent_command *command)
{
	perch_targets_clear(&command->targets);
	agent_push_clear(&command->push);
	cli_config_arguments_clear(&command->arguments);
	free(command->token);
}
