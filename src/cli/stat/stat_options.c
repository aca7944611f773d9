/* SPDX-License-Identifier: MIT */
/* The options of perch stat, and the checks of their combinations. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "shared_options.h"
#include "stat.h"

static int set_big_num(const struct cli_given *given)
{
	*(int *)given->state = !given->negated;
	return 0;
}

/* Sets the aggregation of the options, if one has it. */
static int choose_aggregation(struct stat_job *stat)
{
	const struct {
		bool given;
		enum stat_aggregation aggregation;
	} choices[] = {
		{ stat->options.no_aggregation, STAT_CPU },
		{ stat->options.per_socket, STAT_SOCKET },
		{ stat->options.per_die, STAT_DIE },
		{ stat->options.per_core, STAT_CORE },
		{ stat->options.per_node, STAT_NODE },
		{ stat->options.per_thread, STAT_THREAD },
	};

	for (size_t i = 0; i < CLI_NR(choices); i++) {
		if (!choices[i].given)
			continue;
		if (stat->aggregation != STAT_GLOBAL)
			return cli_refuse_both(STAT_COMMAND,
					       stat_aggregation_option(stat->aggregation),
					       stat_aggregation_option(choices[i].aggregation));
		stat->aggregation = choices[i].aggregation;
	}
	return 0;
}

static int check_aggregation(struct stat_job *stat)
{
	bool wide = cli_target_system_wide(&stat->options.target);
	int status = choose_aggregation(stat);

	if (status || stat->aggregation == STAT_GLOBAL)
		return status;
	if (stat->aggregation != STAT_THREAD && !wide)
		return cli_usage_error(STAT_COMMAND, "%s needs CPUs: add -a or -C CPUS",
				       stat_aggregation_option(stat->aggregation));
	if (stat->aggregation == STAT_THREAD && !wide &&
	    !cli_target_has_tasks(&stat->options.target))
		return cli_usage_error(
			STAT_COMMAND,
			"--per-thread needs threads that run: add -p PID, -t TID, -u USER or -a");
	if (stat->aggregation == STAT_THREAD &&
	    (stat->options.target.cpu_list || stat->options.target.cgroups ||
	     stat->options.for_each_cgroup))
		return cli_usage_error(
			STAT_COMMAND,
			"--per-thread counts threads on all CPUs: it cannot be used with -C "
			"or cgroups");
	return 0;
}

/* A file has the counts of one run, without cgroups; -o is its name. */
static int check_record(struct stat_job *stat)
{
	const struct stat_options *options = &stat->options;
	const struct {
		bool given;
		const char *option;
	} refused[] = {
		{ options->repeat != 1, "-r" },
		{ options->null, "-n" },
		{ options->target.cgroups, "-G" },
		{ options->for_each_cgroup, "--for-each-cgroup" },
		{ options->append, "--append" },
	};

	if (!options->record)
		return 0;
	for (size_t i = 0; i < CLI_NR(refused); i++)
		if (refused[i].given)
			return cli_usage_error("stat record",
					       "%s has no place in a file of counts: omit record "
					       "to print them",
					       refused[i].option);
	stat->options.recording_path = options->output_path ? options->output_path : "perf.data";
	stat->options.output_path = NULL;
	return 0;
}

static int check_times(struct stat_job *stat)
{
	uint64_t delay;

	if (stat->options.repeat > 1000000)
		return cli_usage_error(STAT_COMMAND,
				       "-r %" PRIu64
				       ": expected 1 to 1000000 runs, or 0 to run until Ctrl-C",
				       stat->options.repeat);
	if (stat->options.repeat != 1 && !stat->argv)
		return cli_usage_error(STAT_COMMAND, "-r repeats a program: name one");
	if (stat->options.repeat != 1 && stat->options.interval_ms)
		return cli_refuse_both(STAT_COMMAND, "-r", "-I");
	if (stat->options.interval_ms > 1000000000)
		return cli_usage_error(STAT_COMMAND,
				       "-I %" PRIu64 ": expected 1 to 1000000000 milliseconds",
				       stat->options.interval_ms);
	if ((stat->options.interval_count || stat->options.interval_clear ||
	     stat->options.summary) &&
	    !stat->options.interval_ms)
		return cli_usage_error(STAT_COMMAND, "--%s is about the counts of -I: add -I MSEC",
				       stat->options.interval_count   ? "interval-count"
				       : stat->options.interval_clear ? "interval-clear"
								      : "summary");
	if (stat->options.timeout_ms &&
	    (stat->options.timeout_ms < 10 || stat->options.timeout_ms > 1000000000))
		return cli_usage_error(STAT_COMMAND,
				       "--timeout %" PRIu64
				       ": expected 10 to 1000000000 milliseconds",
				       stat->options.timeout_ms);
	if (!stat->options.delay)
		return 0;
	stat->options.delay_ms = -1;
	if (!strcmp(stat->options.delay, "-1"))
		return 0;
	if (!cli_parse_number(stat->options.delay, &delay) || delay > 1000000000)
		return cli_usage_error(
			STAT_COMMAND,
			"-D %s: expected milliseconds, or -1 to leave the events disabled",
			stat->options.delay);
	stat->options.delay_ms = (long)delay;
	return 0;
}

static int check_output(struct stat_job *stat)
{
	if (stat->options.separator && stat->options.json)
		return cli_refuse_both(STAT_COMMAND, "-x", "-j");
	if ((stat->options.separator || stat->options.json) && stat->options.big_num == 1)
		return cli_usage_error(STAT_COMMAND,
				       "-B is about the table, which %s replaces: leave out one",
				       stat->options.json ? "-j" : "-x");
	if (stat->options.output_path && stat->options.log_fd)
		return cli_refuse_both(STAT_COMMAND, "-o", "--log-fd");
	if (stat->options.append && !stat->options.output_path && !stat->options.log_fd)
		return cli_usage_error(STAT_COMMAND,
				       "--append is about a file: add -o FILE or --log-fd FD");
	if (stat->options.table && stat->options.repeat <= 1)
		return cli_usage_error(STAT_COMMAND, "--table compares runs: add -r N, with N > 1");
	if (stat->options.table && (stat->options.separator || stat->options.json))
		return cli_refuse_both(STAT_COMMAND, "--table", stat->options.json ? "-j" : "-x");
	if (stat->options.metric_only && (stat->options.repeat != 1 || stat->options.json))
		return cli_refuse_both(STAT_COMMAND, "--metric-only",
				       stat->options.json ? "-j" : "-r");
	if (stat->options.log_fd > INT32_MAX)
		return cli_usage_error(STAT_COMMAND,
				       "--log-fd %" PRIu64
				       ": expected the number of an open descriptor",
				       stat->options.log_fd);
	if (stat->options.separator && !strcmp(stat->options.separator, "\\t"))
		stat->options.separator = "\t";
	return 0;
}

static int check_options(struct stat_job *stat)
{
	int status = check_record(stat);

	if (!status)
		status = check_times(stat);
	if (!status)
		status = check_output(stat);
	if (!status)
		status = check_aggregation(stat);
	if (status)
		return status;
	if (stat->options.target.cgroups && stat->options.for_each_cgroup)
		return cli_refuse_both(STAT_COMMAND, "-G", "--for-each-cgroup");
	if (stat->options.for_each_cgroup && !cli_target_system_wide(&stat->options.target))
		return cli_usage_error(STAT_COMMAND,
				       "--for-each-cgroup needs CPUs: add -a or -C CPUS");
	if (stat->options.no_inherit &&
	    cli_target_check_inherit(STAT_COMMAND, &stat->options.target, "-i"))
		return CLI_EXIT_USAGE;
	if (!stat->options.csv_summary && !(stat->options.summary && stat->options.separator))
		return cli_usage_error(STAT_COMMAND,
				       "--no-csv-summary is about the sums in the output of -x: "
				       "add -I MSEC --summary -x SEP");
	if (stat->options.all_user && stat->options.all_kernel)
		return cli_refuse_both(STAT_COMMAND, "--all-user", "--all-kernel");
	if (stat->options.null && !stat->argv && cli_target_has_tasks(&stat->options.target))
		return cli_usage_error(STAT_COMMAND, "-n measures the time of a program: name one");
	if (stat->options.null && (stat->events.list.nr || stat->options.detailed))
		return cli_usage_error(STAT_COMMAND,
				       "-n counts no events: leave it out, or -e and -d");
	return 0;
}

#define AT(member)   offsetof(struct stat_job, member)
#define SETS(member) CLI_SETS(struct stat_job, member)

static const struct cli_option aggregation_table[] = {
	CLI_ROW(.letter = 'A', .name = "no-aggr", SETS(options.no_aggregation),
		.help = "print one line per CPU"),
	CLI_ROW(.name = "per-socket", SETS(options.per_socket), .help = "add up by socket"),
	CLI_ROW(.name = "per-die", SETS(options.per_die), .help = "add up by die"),
	CLI_ROW(.name = "per-core", SETS(options.per_core), .help = "add up by core"),
	CLI_ROW(.name = "per-node", SETS(options.per_node), .help = "add up by NUMA node"),
	CLI_ROW(.name = "per-thread", SETS(options.per_thread),
		.help = "add up by thread of -p, -t or -a"),
	{ 0 },
};

static const struct cli_option format_table[] = {
	CLI_ROW(.name = "metric-only", SETS(options.metric_only),
		.help = "print only ratios, without counts"),
	CLI_ROW(.letter = 'x', .name = "field-separator", .argument = "SEP",
		SETS(options.separator), .help = "print fields with this separator"),
	CLI_ROW(.letter = 'j', .name = "json-output", SETS(options.json),
		.help = "print JSON, one object per line"),
	CLI_ROW(.letter = 'B', .name = "big-num", .at = AT(options.big_num), .set = set_big_num,
		.help = "group digits as the locale defines (default)"),
	{ 0 },
};

static const struct cli_option table[] = {
	CLI_ROW(.table = cli_event_list_options, .at = AT(events)),
	CLI_ROW(.table = cli_event_file_option, .at = AT(events)),
	CLI_ROW(.letter = 'd', .name = "detailed", SETS(options.detailed),
		.help = "add cache events; -dd and -ddd add more"),
	CLI_ROW(.letter = 'n', .name = "null", SETS(options.null),
		.help = "count no events, print the time"),
	CLI_ROW(.table = cli_all_user_option, .at = AT(options.all_user)),
	CLI_ROW(.table = cli_all_kernel_option, .at = AT(options.all_kernel)),
	CLI_ROW(.table = cli_target_options, .at = AT(options.target)),
	CLI_ROW(.letter = 'G', .name = "cgroup", .argument = "NAME[,NAME]", .set = stat_add_cgroups,
		.not_negated = true,
		.help = "count the preceding events in these cgroups, in order"),
	CLI_ROW(.name = "for-each-cgroup", .argument = "NAME[,NAME]", SETS(options.for_each_cgroup),
		.help = "count all events in each of these cgroups; a name may be a regular expression"),
	CLI_ROW(.letter = 'i', .name = "no-inherit", SETS(options.no_inherit),
		.help = "do not count children and new threads"),
	CLI_ROW(.letter = 'r', .name = "repeat", .argument = "N", SETS(options.repeat),
		.help = "run the program N times, print means and standard errors; 0: until Ctrl-C"),
	CLI_ROW(.name = "table", SETS(options.table),
		.help = "with -r: also print the time of each run"),
	CLI_ROW(.letter = 'I', .name = "interval-print", .argument = "MSEC",
		SETS(options.interval_ms), .help = "print counts every MSEC milliseconds"),
	CLI_ROW(.name = "interval-count", .argument = "N", SETS(options.interval_count),
		.help = "stop after N intervals"),
	CLI_ROW(.name = "interval-clear", SETS(options.interval_clear),
		.help = "clear the terminal before each interval"),
	CLI_ROW(.name = "summary", SETS(options.summary),
		.help = "print the sums after the intervals"),
	CLI_ROW(.name = "csv-summary", SETS(options.csv_summary),
		.help = "mark the sums with 'summary' in the output of -x (default)"),
	CLI_ROW(.name = "timeout", .argument = "MSEC", SETS(options.timeout_ms),
		.help = "stop after MSEC milliseconds"),
	CLI_ROW(.letter = 'D', .name = "delay", .argument = "MSEC", SETS(options.delay),
		.help = "start counting MSEC milliseconds after the start; -1: leave events disabled"),
	CLI_ROW(.name = "control", .argument = "fd:CTL[,ACK]", SETS(options.control),
		.help = "take commands from a descriptor: enable, disable, stop...; fifo:CTL[,ACK]: from a named pipe"),
	CLI_ROW(.letter = 'S', .name = "sync", SETS(options.sync),
		.help = "call sync(2) before each run"),
	CLI_ROW(.name = "pre", .argument = "COMMAND", SETS(options.pre),
		.help = "shell command before each run"),
	CLI_ROW(.name = "post", .argument = "COMMAND", SETS(options.post),
		.help = "shell command after each run"),
	CLI_ROW(.table = aggregation_table),
	CLI_ROW(.name = "no-merge", SETS(options.no_merge),
		.help = "print one line per PMU if several have the event"),
	CLI_ROW(.letter = 'c', .name = "scale", SETS(options.scale),
		.help = "scale counts for multiplexing (default)"),
	CLI_ROW(.letter = 'M', .name = "metrics", .argument = "NAMES",
		.refusal =
			"-M is not supported: metrics are formulas that only perf has built in; count the events of the metric with -e",
		.help = "not supported"),
	CLI_ROW(.table = format_table),
	CLI_ROW(.letter = 'o', .name = "output", .argument = "FILE", SETS(options.output_path),
		.help = "write the result to FILE"),
	CLI_ROW(.name = "append", SETS(options.append), .help = "append to FILE"),
	CLI_ROW(.name = "log-fd", .argument = "FD", SETS(options.log_fd),
		.help = "write the result to an open descriptor"),
	CLI_ROW(.name = "quiet", SETS(options.quiet), .help = "print no result"),
	CLI_ROW(.letter = 'v', .name = "verbose", SETS(options.verbose),
		.help = "print raw counts; -vv: also each perf_event_open call"),
	{ 0 },
};

static const struct cli_usage record_usage = {
	.name = "stat record",
	.operands = "[OPTIONS] -- PROGRAM [ARGUMENTS]",
	.summary =
		"Counts events while a program runs, and writes the counts to a perf.data file (-o FILE).",
	.options = table,
};

static const struct cli_option report_table[] = {
	CLI_ROW(.table = cli_input_options, .at = AT(input)),
	CLI_ROW(.table = aggregation_table),
	CLI_ROW(.table = format_table),
	CLI_ROW(.table = cli_no_pager_option),
	{ 0 },
};

static const struct cli_usage report_usage = {
	.name = "stat report",
	.operands = "[OPTIONS]",
	.summary = "Prints the counts of a file of perch stat record.",
	.options = report_table,
};

static const struct cli_subcommand first_words[] = {
	{ "record", &record_usage },
	{ "report", &report_usage },
	{ 0 },
};

const struct cli_usage cli_stat_usage = {
	.name = "stat",
	.operands = "[record|report] [OPTIONS] -- PROGRAM [ARGUMENTS]",
	.summary = "Counts events while a program runs.",
	.options = table,
	.subcommands = first_words,
};

static int parse_report(struct stat_job *stat, int argc, char **argv)
{
	int next = cli_options_parse(&report_usage, stat, argc, argv);

	stat->options.report = true;
	if (next < argc)
		return cli_usage_error("stat report", "'%s' is not an option; name a file with -i",
				       argv[next]);
	return check_output(stat) || choose_aggregation(stat) ? CLI_EXIT_USAGE : 0;
}

/* True if the first operand is this word, but no program after "--". */
static bool is_subcommand(int first, int argc, char **argv, const char *name)
{
	return first < argc && !strcmp(argv[first], name) && strcmp(argv[first - 1], "--") != 0;
}

int stat_parse(struct stat_job *stat, int argc, char **argv)
{
	int first = cli_options_parse(&cli_stat_usage, stat, argc, argv);

	if (is_subcommand(first, argc, argv, "report"))
		return parse_report(stat, argc - first, argv + first);
	if (is_subcommand(first, argc, argv, "record")) {
		stat->options.record = true;
		first += cli_options_parse(&record_usage, stat, argc - first, argv + first);
	}
	if (first < argc)
		stat->argv = argv + first;
	return check_options(stat);
}
