/* SPDX-License-Identifier: MIT */
#include <signal.h>
#include <string.h>

#include "options.h"

const char cli_version[] = PERCH_VERSION;

static int help(int argc, char **argv);

static const struct cli_command commands[] = {
	{ "stat", "[OPTIONS] -- PROGRAM [ARGUMENTS]", "Counts events while a program runs.",
	  perch_cmd_stat },
	{ "record", "[OPTIONS] -- PROGRAM [ARGUMENTS]", "Samples a program into a perf.data file.",
	  perch_cmd_record },
	{ "report", "[OPTIONS]", "Shows where the samples of a perf.data file fell.",
	  perch_cmd_report },
	{ "script", "[OPTIONS]", "Prints each sample of a perf.data file.", perch_cmd_script },
	{ "dump", "[OPTIONS] [FILE]", "Shows every record of a perf.data file with all its fields.",
	  perch_cmd_dump },
	{ "list", "[OPTIONS] [WORD...]", "Lists the events of this machine.", perch_cmd_list },
	{ "explain", "[OPTIONS] -- PROGRAM [ARGUMENTS]",
	  "Says why the kernel refused what a program asked of perf events.", perch_cmd_explain },
	{ "doctor", "[OPTIONS]",
	  "Says what this user can measure on this machine, and what would allow more.",
	  perch_cmd_doctor },
	{ "help", "[COMMAND]", "Shows the commands, or the options of one.", help },
};

const struct cli_command *cli_command(const char *name)
{
	for (size_t i = 0; i < CLI_NR(commands); i++)
		if (!strcmp(commands[i].name, name))
			return &commands[i];
	return NULL;
}

static void overview(FILE *stream)
{
	fputs("Usage: perch COMMAND [OPTIONS]\n\nCounts, samples and reports with Linux perf events.\n\n",
	      stream);
	for (size_t i = 0; i < CLI_NR(commands); i++)
		fprintf(stream, "  %-8s %s\n", commands[i].name, commands[i].summary);
	fputs("\n'perch help COMMAND' shows a command's options; 'perch --version' the version.\n",
	      stream);
}

/*
 * How many letters were put in, left out, changed or exchanged with their neighbour. Counted up to
 * the words' first slip, where each of the four is tried: for two slips at most that costs little.
 * Above max: max + 1.
 */
static int slips(const char *typed, const char *meant, int max)
{
	int least, tried;

	while (*typed && *typed == *meant) {
		typed++;
		meant++;
	}
	if (!*typed && !*meant)
		return 0;
	if (!max)
		return 1;
	least = max;
	for (int kind = 0; kind < 4; kind++) {
		const char *left = typed, *right = meant;

		if (kind == 3) {
			if (!typed[0] || !meant[0] || typed[0] != meant[1] || typed[1] != meant[0])
				continue;
			left += 2;
			right += 2;
		} else {
			left += kind != 1 && *typed;
			right += kind != 0 && *meant;
		}
		if (left == typed && right == meant)
			continue;
		tried = slips(left, right, max - 1);
		if (tried < least)
			least = tried;
	}
	return least + 1;
}

/* The command that was meant, with a slip, or two in a longer word, or by its beginning; NULL. */
static const struct cli_command *meant(const char *name)
{
	const struct cli_command *found = NULL;
	int least = strlen(name) < 5 ? 1 : 2;

	for (size_t i = 0; i < CLI_NR(commands); i++) {
		bool begins = strlen(name) >= 2 && !strncmp(commands[i].name, name, strlen(name));
		int nr = begins ? 0 : slips(name, commands[i].name, least);

		if (nr > least || (found && nr == least))
			continue;
		found = &commands[i];
		least = nr;
	}
	return found;
}

static int unknown(const char *name)
{
	const struct cli_command *near = meant(name);
	char clean[64];

	perch_clean_text(clean, sizeof(clean), name);
	fprintf(stderr, "perch: no command '%s'. ", clean);
	if (near)
		fprintf(stderr, "Did you mean %s? ", near->name);
	fputs("'perch help' lists them.\n", stderr);
	return CLI_EXIT_USAGE;
}

static int help(int argc, char **argv)
{
	const struct cli_command *command;
	char *arguments[] = { NULL, (char *)"--help", NULL };

	if (argc < 2) {
		overview(stdout);
		return 0;
	}
	command = cli_command(argv[1]);
	if (!command)
		return unknown(argv[1]);
	if (command->run == help) {
		printf("Usage: perch help [COMMAND]\n%s\n", command->summary);
		return 0;
	}
	arguments[0] = argv[1];
	return command->run(2, arguments);
}

int main(int argc, char **argv)
{
	const struct cli_command *command;

	if (argc < 2) {
		overview(stderr);
		return CLI_EXIT_USAGE;
	}
	if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-v") ||
	    !strcmp(argv[1], "version")) {
		printf("perch version %s\n", cli_version);
		return 0;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))
		return help(argc - 1, argv + 1);
	command = cli_command(argv[1]);
	if (!command)
		return unknown(argv[1]);
	return command->run(argc - 1, argv + 1);
}
