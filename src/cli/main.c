/* SPDX-License-Identifier: MIT */
/* The table of subcommands, perch help, and main(). No other file calls this one. */
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include <perch/symbol.h>

#include "base/edit_distance.h"
#include "commands/build_options.h"
#include "completion/completion.h"
#include "options.h"
#include "terminal/pager.h"
#include "perf/perf_names.h"

static int help(int argc, char **argv);

static const struct cli_usage help_usage = {
	.name = "help",
	.operands = "[COMMAND]",
	.summary = "Shows the commands, or the options of one.",
};

static const struct subcommand {
	const struct cli_usage *usage;
	int (*run)(int argc, char **argv);
} commands[] = {
	{ &cli_stat_usage, perch_cmd_stat },
	{ &cli_record_usage, perch_cmd_record },
	{ &cli_report_usage, perch_cmd_report },
	{ &cli_top_usage, perch_cmd_top },
	{ &cli_annotate_usage, perch_cmd_annotate },
	{ &cli_script_usage, perch_cmd_script },
	{ &cli_sched_usage, perch_cmd_sched },
	{ &cli_trace_usage, perch_cmd_trace },
	{ &cli_diff_usage, perch_cmd_diff },
	{ &cli_lock_usage, perch_cmd_lock },
	{ &cli_block_usage, perch_cmd_block },
	{ &cli_kwork_usage, perch_cmd_kwork },
	{ &cli_kmem_usage, perch_cmd_kmem },
	{ &cli_mem_usage, perch_cmd_mem },
	{ &cli_c2c_usage, perch_cmd_c2c },
	{ &cli_flamegraph_usage, perch_cmd_flamegraph },
	{ &cli_export_usage, perch_cmd_export },
	{ &cli_agent_usage, perch_cmd_agent },
	{ &cli_dump_usage, perch_cmd_dump },
	{ &cli_evlist_usage, perch_cmd_evlist },
	{ &cli_list_usage, perch_cmd_list },
	{ &cli_explain_usage, perch_cmd_explain },
	{ &cli_doctor_usage, perch_cmd_doctor },
	{ &cli_buildid_list_usage, perch_cmd_buildid_list },
	{ &cli_buildid_cache_usage, perch_cmd_buildid_cache },
	{ &cli_config_usage, perch_cmd_config },
	{ &cli_archive_usage, perch_cmd_archive },
	{ &help_usage, help },
};

static bool is_help_option(const char *word)
{
	return !strcmp(word, "--help") || !strcmp(word, "-h");
}

/* Returns NULL for an unknown name. */
static const struct subcommand *find_command(const char *name)
{
	for (size_t i = 0; i < CLI_NR(commands); i++)
		if (!strcmp(commands[i].usage->name, name))
			return &commands[i];
	return NULL;
}

static void overview(FILE *stream)
{
	fputs("Usage: perch COMMAND [OPTIONS]\n\nCounts, samples and reports with Linux perf events.\n\n",
	      stream);
	for (size_t i = 0; i < CLI_NR(commands); i++)
		fprintf(stream, "  %-13s %s\n", commands[i].usage->name,
			commands[i].usage->summary);
	fputs("\n'perch help COMMAND' shows a command's options; 'perch --version' the version.\n",
	      stream);
}

/*
 * Returns the most similar command; NULL when none is similar. A prefix of two characters is
 * similar.
 */
static const struct subcommand *suggest_command(const char *name)
{
	const struct subcommand *found = NULL;
	unsigned least = strlen(name) < 5 ? 1 : 2;

	for (size_t i = 0; i < CLI_NR(commands); i++) {
		const char *command = commands[i].usage->name;
		bool prefix = strlen(name) >= 2 && !strncmp(command, name, strlen(name));
		unsigned distance = prefix ? 0 : perch__edit_distance(name, command);

		if (distance > least || (found && distance == least))
			continue;
		found = &commands[i];
		least = distance;
	}
	return found;
}

static int refuse_command(const char *name)
{
	const struct subcommand *near = suggest_command(name);
	const char *hint = cli_perf_command(name);
	char clean[64];

	perch_clean_text(name, clean, sizeof(clean));
	if (name[0] == '-') {
		fprintf(stderr, "perch: unknown option '%s'. 'perch help' shows the usage.\n",
			clean);
		return CLI_EXIT_USAGE;
	}
	fprintf(stderr, "perch: unknown command '%s'", clean);
	if (hint)
		fprintf(stderr, ": %s", hint);
	fputs(". ", stderr);
	if (near && !hint)
		fprintf(stderr, "Did you mean %s? ", near->usage->name);
	fputs("'perch help' lists the commands.\n", stderr);
	return CLI_EXIT_USAGE;
}

/* The manual pages that are of no command, without "perch-". */
static const struct page {
	const char *name, *section, *about;
} pages[] = {
	{ "events", "7", "the events of -e" },
	{ "causes", "7", "why the kernel refuses events" },
	{ "options", "7", "the options of perf that perch has" },
	{ "records", "7", "the records of a perf.data file" },
};

/* Names the manual page. Returns false if there is none of the name. */
static bool name_page(const char *name)
{
	for (size_t i = 0; i < CLI_NR(pages); i++) {
		if (strcmp(pages[i].name, name))
			continue;
		printf("'man %s perch-%s' shows the manual page about %s.\n", pages[i].section,
		       name, pages[i].about);
		return true;
	}
	return false;
}

static bool is_subcommand(const struct cli_usage *usage, const char *word)
{
	for (const struct cli_subcommand *own = usage->subcommands; own && own->name; own++)
		if (!strcmp(own->name, word))
			return true;
	return false;
}

static int complete_words(int nr_words, char **words)
{
	const struct cli_usage *usages[CLI_NR(commands)];

	for (size_t i = 0; i < CLI_NR(commands); i++)
		usages[i] = commands[i].usage;
	return cli_complete(usages, CLI_NR(commands), nr_words, words);
}

static const char version_usage[] =
	"Usage: perch version [--build-options]\n"
	"Prints the version, as perch --version.\n\n"
	"      --build-options   what this build of perch has, and lacks";

static int print_version(int argc, char **argv)
{
	bool options = argc == 2 && !strcmp(argv[1], "--build-options");

	if (argc == 2 && is_help_option(argv[1])) {
		puts(version_usage);
		return cli_check_stdout("version", 0);
	}
	if (argc > 1 && !options)
		return cli_usage_error("version", "expected nothing but --build-options");
	printf("perch version %s\n", cli_version);
	if (options)
		cli_print_build_options();
	return cli_check_stdout("version", 0);
}

static int help(int argc, char **argv)
{
	static const char prefix[] = "perch-"; /* of the names of manual pages */
	const struct subcommand *command;
	char *arguments[4] = { NULL };
	const char *name;
	bool has_subcommand;
	int nr = 0;

	if (argc < 2) {
		overview(stdout);
		return 0;
	}
	if (!strcmp(argv[1], "--complete"))
		return complete_words(argc - 2, argv + 2);
	name = is_help_option(argv[1]) ? help_usage.name : argv[1];
	if (!strncmp(name, prefix, strlen(prefix)))
		name += strlen(prefix);
	if (!strcmp(name, "version")) {
		puts(version_usage);
		return 0;
	}
	command = find_command(name);
	has_subcommand = argc == 3 && command && is_subcommand(command->usage, argv[2]);
	if (argc == 3 && command && command->usage->subcommands && !has_subcommand)
		return cli_usage_error(name, "there is no 'perch %s %s'", name, argv[2]);
	if (argc > 2 && command && !has_subcommand)
		return cli_usage_error("help", "expected one command; '%s' is too much", argv[2]);
	if (!command)
		return name_page(name) ? 0 : refuse_command(argv[1]);
	if (command->run == help) {
		printf("Usage: perch help [COMMAND]\n%s\n", command->usage->summary);
		return 0;
	}
	arguments[nr++] = (char *)command->usage->name;
	if (has_subcommand)
		arguments[nr++] = argv[2];
	arguments[nr++] = (char *)"--help";
	return command->run(nr, arguments);
}

/* Returns how many arguments are an option of all commands, or -1 after it has printed an error. */
static int global_option(int argc, char **argv)
{
	static const char cache[] = "--buildid-dir";
	size_t length = strlen(cache);
	const char *directory;

	if (!strcmp(argv[1], "--no-pager")) {
		cli_no_pager = true;
		return 1;
	}
	if (strncmp(argv[1], cache, length) || (argv[1][length] && argv[1][length] != '='))
		return 0;
	directory = argv[1][length] ? argv[1] + length + 1 : argv[2];
	if (!directory || !*directory) {
		fputs("perch: --buildid-dir needs a directory. 'perch help' shows the usage.\n",
		      stderr);
		return -1;
	}
	setenv("PERF_BUILDID_DIR", directory, 1);
	return argv[1][length] || argc < 3 ? 1 : 2;
}

/*
 * glibc raises the size from which memory has a mapping of its own, up to 32 MB. Large arrays that
 * grow would then leave holes in the heap, a sixth of the memory of a report.
 */
static void set_mapped_size(void)
{
#ifdef __GLIBC__
	mallopt(M_MMAP_THRESHOLD, 1 << 20);
#endif
}

/* What has fewer names without memory: reading them goes on. */
static void print_failed_allocations(const char *command)
{
	uint64_t nr = perch_symbols_failed_allocations();

	if (nr)
		cli_note(
			command,
			"out of memory: %" PRIu64
			" %s failed; names of functions, inlined functions, lines or callers may be missing",
			nr, cli_word(nr, "allocation", "allocations"));
}

int main(int argc, char **argv)
{
	const struct subcommand *command;
	int status;

	set_mapped_size();
	while (argc > 1) {
		int used = global_option(argc, argv);

		if (used < 0)
			return CLI_EXIT_USAGE;
		if (!used)
			break;
		argc -= used, argv += used;
	}
	if (argc < 2) {
		overview(stderr);
		return CLI_EXIT_USAGE;
	}
	if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-v") || !strcmp(argv[1], "version"))
		return print_version(argc - 1, argv + 1);
	if (is_help_option(argv[1]))
		command = find_command("help");
	else
		command = find_command(argv[1]);
	if (!command)
		return refuse_command(argv[1]);
	status = command->run(argc - 1, argv + 1);
	if (cli_check_stdout(command->usage->name, 0) && !status)
		status = CLI_EXIT_FAILURE;
	print_failed_allocations(command->usage->name);
	cli_end_by_closed_pipe();
	return status;
}
