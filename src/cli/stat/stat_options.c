/* SPDX-License-Identifier: MIT */
/* What the command line of `perch stat` may say, and what of it excludes each other. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "stat.h"

const struct cli_usage cli_stat_usage = {
	.name = "stat",
	.operands = "[OPTIONS] -- PROGRAM [ARGUMENTS]",
	.summary = "Counts events while a program runs.",
};

static int set_big_num(void *value, const char *argument, bool negated)
{
	(void)argument;
	*(int *)value = !negated;
	return 0;
}

static int refuse_metrics(void *value, const char *names, bool negated)
{
	(void)value;
	(void)names;
	(void)negated;
	cli_usage_error(STAT_COMMAND, "-M is not there: perch has no tables of a CPU's metrics; "
				      "count the events of a metric with -e");
	return -EINVAL;
}

static int check_aggregation(struct stat_job *stat)
{
	const struct {
		bool given;
		enum stat_aggregation aggregation;
		const char *option;
	} choices[] = {
		{ stat->options.no_aggregation, STAT_CPU, "-A" },
		{ stat->options.per_socket, STAT_SOCKET, "--per-socket" },
		{ stat->options.per_die, STAT_DIE, "--per-die" },
		{ stat->options.per_core, STAT_CORE, "--per-core" },
		{ stat->options.per_node, STAT_NODE, "--per-node" },
		{ stat->options.per_thread, STAT_THREAD, "--per-thread" },
	};
	const char *chosen = NULL;
	bool wide = cli_target_system_wide(&stat->options.target);

	for (size_t i = 0; i < CLI_NR(choices); i++) {
		if (!choices[i].given)
			continue;
		if (chosen)
			return cli_usage_error(STAT_COMMAND, "%s and %s exclude each other", chosen,
					       choices[i].option);
		chosen = choices[i].option;
		stat->aggregation = choices[i].aggregation;
	}
	if (!chosen)
		return 0;
	if (stat->aggregation != STAT_THREAD && !wide)
		return cli_usage_error(STAT_COMMAND, "%s needs CPUs: -a, or -C CPUS", chosen);
	if (stat->aggregation == STAT_THREAD && !wide && !stat->options.target.pids &&
	    !stat->options.target.tids)
		return cli_usage_error(STAT_COMMAND,
				       "--per-thread needs threads that run already: -p, -t or -a");
	if (stat->aggregation == STAT_THREAD &&
	    (stat->options.target.cpu_list || stat->options.target.cgroups ||
	     stat->options.for_each_cgroup))
		return cli_usage_error(STAT_COMMAND,
				       "--per-thread follows threads to any CPU: not with -C and "
				       "cgroups");
	return 0;
}

static int check_times(struct stat_job *stat)
{
	char *end;

	if (stat->options.repeat > 1000000)
		return cli_usage_error(STAT_COMMAND,
				       "-r takes 1 to 1000000 runs, or 0: until Ctrl-C");
	if (stat->options.repeat != 1 && !stat->argv)
		return cli_usage_error(STAT_COMMAND, "-r needs a program to run again");
	if (stat->options.repeat != 1 && stat->options.interval_ms)
		return cli_usage_error(STAT_COMMAND, "-r and -I exclude each other");
	if (stat->options.interval_ms > 1000000000)
		return cli_usage_error(STAT_COMMAND, "-I takes 1 to 1000000000 milliseconds");
	if ((stat->options.interval_count || stat->options.interval_clear ||
	     stat->options.summary) &&
	    !stat->options.interval_ms)
		return cli_usage_error(STAT_COMMAND, "--%s needs intervals: -I MSEC",
				       stat->options.interval_count   ? "interval-count"
				       : stat->options.interval_clear ? "interval-clear"
								      : "summary");
	if (stat->options.timeout_ms &&
	    (stat->options.timeout_ms < 10 || stat->options.timeout_ms > 1000000000))
		return cli_usage_error(STAT_COMMAND,
				       "--timeout takes 10 to 1000000000 milliseconds");
	if (!stat->options.delay)
		return 0;
	errno = 0;
	stat->options.delay_ms = strtol(stat->options.delay, &end, 10);
	if (errno || end == stat->options.delay || *end || stat->options.delay_ms < -1 ||
	    stat->options.delay_ms > 1000000000)
		return cli_usage_error(STAT_COMMAND, "-D takes milliseconds, or -1: never enabled");
	return 0;
}

static int check_output(struct stat_job *stat)
{
	if (stat->options.separator && stat->options.json)
		return cli_usage_error(STAT_COMMAND, "-x and -j exclude each other");
	if ((stat->options.separator || stat->options.json) && stat->options.big_num == 1)
		return cli_usage_error(STAT_COMMAND, "-B is for the table: not with %s",
				       stat->options.json ? "-j" : "-x");
	if (stat->options.output_path && stat->options.log_fd)
		return cli_usage_error(STAT_COMMAND, "-o and --log-fd exclude each other");
	if (stat->options.append && !stat->options.output_path && !stat->options.log_fd)
		return cli_usage_error(STAT_COMMAND, "--append needs -o FILE");
	if (stat->options.table && stat->options.repeat <= 1)
		return cli_usage_error(STAT_COMMAND, "--table needs several runs: -r N");
	if (stat->options.table && (stat->options.separator || stat->options.json))
		return cli_usage_error(STAT_COMMAND, "--table is for the table: not with %s",
				       stat->options.json ? "-j" : "-x");
	if (stat->options.metric_only && (stat->options.repeat != 1 || stat->options.json))
		return cli_usage_error(STAT_COMMAND, "--metric-only and %s exclude each other",
				       stat->options.json ? "-j" : "-r");
	if (stat->options.log_fd > INT32_MAX)
		return cli_usage_error(STAT_COMMAND,
				       "--log-fd takes the number of an open descriptor");
	if (stat->options.separator && !strcmp(stat->options.separator, "\\t"))
		stat->options.separator = "\t";
	return 0;
}

static int check(struct stat_job *stat)
{
	int status = check_times(stat);

	if (!status)
		status = check_output(stat);
	if (!status)
		status = check_aggregation(stat);
	if (status)
		return status;
	if (stat->options.target.cgroups && stat->options.for_each_cgroup)
		return cli_usage_error(STAT_COMMAND, "-G and --for-each-cgroup exclude each other");
	if (stat->options.for_each_cgroup && !cli_target_system_wide(&stat->options.target))
		return cli_usage_error(
			STAT_COMMAND,
			"--for-each-cgroup needs the CPUs to watch on: -a, or -C CPUS");
	if (stat->options.all_user && stat->options.all_kernel)
		return cli_usage_error(STAT_COMMAND,
				       "--all-user and --all-kernel exclude each other");
	if (stat->options.null && !stat->argv &&
	    (stat->options.target.pids || stat->options.target.tids))
		return cli_usage_error(STAT_COMMAND, "-n needs a program to tell the time of");
	if (stat->options.null && (stat->events.nr || stat->options.detailed))
		return cli_usage_error(STAT_COMMAND, "-n counts nothing: not with -e and -d");
	return 0;
}

/* clang-format off */
#define FLAG(letter, name, help, value) { letter, name, NULL, help, CLI_FLAG, value, NULL, false, false }
#define COUNT(letter, name, help, value) { letter, name, NULL, help, CLI_COUNT, value, NULL, false, false }
#define STRING(letter, name, what, help, value) { letter, name, what, help, CLI_STRING, value, NULL, false, false }
#define NUMBER(letter, name, what, help, value) { letter, name, what, help, CLI_NUMBER, value, NULL, false, false }
#define CALL(letter, name, what, help, value, call) { letter, name, what, help, CLI_CALL, value, call, false, false }
/* clang-format on */

int stat_parse(struct stat_job *stat, int argc, char **argv)
{
	const struct cli_option options[] = {
		CALL('e', "event", "EVENTS", "what to count; see 'perch list'", stat,
		     stat_add_events),
		CALL(0, "event-file", "FILE", "what to count, from a file", stat,
		     stat_add_event_file),
		CALL(0, "filter", "EXPR", "only these hits of the tracepoints before it", stat,
		     stat_add_filter),
		COUNT('d', "detailed", "add cache events; twice and thrice: more of them",
		      &stat->options.detailed),
		FLAG('n', "null", "count nothing, tell the time", &stat->options.null),
		FLAG(0, "all-user", "user space alone", &stat->options.all_user),
		FLAG(0, "all-kernel", "the kernel alone", &stat->options.all_kernel),
		CLI_TARGET_OPTIONS_WITHOUT_CGROUPS(&stat->options.target),
		CALL('G', "cgroup", "NAME[,NAME]",
		     "the events before it in these cgroups, one by one", stat, stat_add_cgroups),
		STRING(0, "for-each-cgroup", "NAME[,NAME]", "all events in each of these cgroups",
		       &stat->options.for_each_cgroup),
		FLAG('i', "no-inherit", "leave children and new threads out",
		     &stat->options.no_inherit),
		NUMBER('r', "repeat", "N",
		       "run the program N times, show means and spread; 0: until Ctrl-C",
		       &stat->options.repeat),
		FLAG(0, "table", "with -r: the time of each run, too", &stat->options.table),
		NUMBER('I', "interval-print", "MSEC",
		       "print what was counted every MSEC milliseconds",
		       &stat->options.interval_ms),
		NUMBER(0, "interval-count", "N", "stop after N intervals",
		       &stat->options.interval_count),
		FLAG(0, "interval-clear", "clear the terminal before each interval",
		     &stat->options.interval_clear),
		FLAG(0, "summary", "after intervals, print the sums", &stat->options.summary),
		FLAG(0, "csv-summary", "call them 'summary' in the fields of -x (default)",
		     &stat->options.csv_summary),
		NUMBER(0, "timeout", "MSEC", "stop after MSEC milliseconds",
		       &stat->options.timeout_ms),
		STRING('D', "delay", "MSEC", "count from MSEC after the start; -1: start disabled",
		       &stat->options.delay),
		STRING(0, "control", "fd:CTL[,ACK]",
		       "take commands from a descriptor; fifo:CTL[,ACK]: from a file",
		       &stat->options.control),
		FLAG('S', "sync", "call sync(2) before each run", &stat->options.sync),
		STRING(0, "pre", "COMMAND", "run by the shell before each run", &stat->options.pre),
		STRING(0, "post", "COMMAND", "run by the shell after each run",
		       &stat->options.post),
		FLAG('A', "no-aggr", "each CPU for itself", &stat->options.no_aggregation),
		FLAG(0, "per-socket", "sums for each socket", &stat->options.per_socket),
		FLAG(0, "per-die", "sums for each die", &stat->options.per_die),
		FLAG(0, "per-core", "sums for each core", &stat->options.per_core),
		FLAG(0, "per-node", "sums for each NUMA node", &stat->options.per_node),
		FLAG(0, "per-thread", "sums for each thread of -p, -t or -a",
		     &stat->options.per_thread),
		FLAG(0, "no-merge", "one line for each PMU that an event's name stands for",
		     &stat->options.no_merge),
		FLAG('c', "scale", "scale up for the time off the PMU (default)",
		     &stat->options.scale),
		FLAG(0, "metric-only", "what is worked out of counts, without the counts",
		     &stat->options.metric_only),
		CALL('M', "metrics", "NAMES", "not there", stat, refuse_metrics),
		STRING('x', "field-separator", "SEP",
		       "print fields between separators, for programs", &stat->options.separator),
		FLAG('j', "json-output", "print JSON, one object a line", &stat->options.json),
		CALL('B', "big-num", NULL, "group digits as the locale does (default)",
		     &stat->options.big_num, set_big_num),
		STRING('o', "output", "FILE", "write the result to FILE",
		       &stat->options.output_path),
		FLAG(0, "append", "add to FILE", &stat->options.append),
		NUMBER(0, "log-fd", "FD", "write the result to an open descriptor",
		       &stat->options.log_fd),
		FLAG(0, "quiet", "print no result", &stat->options.quiet),
		COUNT('v', "verbose", "show raw counts; twice: each event as opened",
		      &stat->options.verbose),
	};
	int first = cli_parse(&cli_stat_usage, options, CLI_NR(options), argc, argv);

	if (first < argc)
		stat->argv = argv + first;
	return check(stat);
}
