/* SPDX-License-Identifier: MIT */
/* The command: its subcommands. */
#include "names.h"
#include "sched.h"
#include "shared_options.h"

static const struct cli_option options[] = {
	CLI_ROW(.table = cli_input_options),
	CLI_ROW(.letter = 'v', .name = "verbose", CLI_SETS(struct cli_input, verbose),
		.help = "print also what is missing in the recording"),
	CLI_ROW(.table = cli_refused_dump_option),
	CLI_ROW(.table = cli_no_pager_option),
	{ 0 },
};

static const struct cli_subcommand first_words[] = {
	{ "record", &cli_record_usage },       { "latency", &sched_latency_usage },
	{ "timehist", &sched_timehist_usage }, { "map", &sched_map_usage },
	{ "script", &cli_script_usage },       { 0 },
};

const struct cli_usage cli_sched_usage = {
	.name = SCHED_COMMAND,
	.operands = "[OPTIONS] record|latency|timehist|map|script [ARGUMENTS]",
	.summary = "Shows when threads ran, and how long they waited for a CPU.",
	.options = options,
	.subcommands = first_words,
};

static int run_record(const struct cli_input *input, int argc, char **argv)
{
	(void)input;
	return sched_record(argc, argv);
}

/* Subcommands of perf that are refused. */
static int refuse_replay(const struct cli_input *input, int argc, char **argv)
{
	(void)input, (void)argc, (void)argv;
	return cli_usage_error(SCHED_COMMAND,
			       "replay: recorded work is not run again; 'perch sched latency' and "
			       "'perch sched timehist -s' show how it was scheduled");
}

static int refuse_stats(const struct cli_input *input, int argc, char **argv)
{
	(void)input, (void)argc, (void)argv;
	return cli_usage_error(
		SCHED_COMMAND,
		"stats: the kernel's counters are in /proc/schedstat; 'perch sched "
		"latency' and 'perch sched timehist -s' count the same in a recording");
}

static const struct subcommand {
	const char *name;
	int (*run)(const struct cli_input *input, int argc, char **argv);
} subcommands[] = {
	{ "record", run_record },  { "latency", sched_latency }, { "timehist", sched_timehist },
	{ "map", sched_map },	   { "script", sched_script },	 { "replay", refuse_replay },
	{ "stats", refuse_stats },
};

int perch_cmd_sched(int argc, char **argv)
{
	struct cli_input input = { .command = SCHED_COMMAND, .records = true };
	int first = cli_options_parse(&cli_sched_usage, &input, argc, argv);

	if (first == argc)
		return cli_usage_error(SCHED_COMMAND,
				       "expected record, latency, timehist, map or script");
	for (size_t i = 0; i < CLI_NR(subcommands); i++)
		if (cli_is_word(argv[first], subcommands[i].name))
			return subcommands[i].run(&input, argc - first, argv + first);
	return cli_usage_error(SCHED_COMMAND,
			       "'%s' is none of record, latency, timehist, map and script",
			       argv[first]);
}
