/* SPDX-License-Identifier: MIT */
/* The options of perch stat, and the checks of their combinations. */
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
	cli_usage_error(STAT_COMMAND, "-M is not supported: perch has no tables of CPU "
				      "metrics; count the events of the metric with -e");
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
		return cli_usage_error(STAT_COMMAND, "%s needs -a or -C CPUS", chosen);
	if (stat->aggregation == STAT_THREAD && !wide && !stat->options.target.pids &&
	    !stat->options.target.tids)
		return cli_usage_error(STAT_COMMAND,
				       "--per-thread needs running threads: -p, -t or -a");
	if (stat->aggregation == STAT_THREAD &&
	    (stat->options.target.cpu_list || stat->options.target.cgroups ||
	     stat->options.for_each_cgroup))
		return cli_usage_error(
			STAT_COMMAND,
			"--per-thread counts threads on all CPUs: it cannot be used with -C "
			"or cgroups");
	return 0;
}

static int check_times(struct stat_job *stat)
{
	char *end;

	if (stat->options.repeat > 1000000)
		return cli_usage_error(STAT_COMMAND,
				       "-r must be 1 to 1000000 runs, or 0 to run until Ctrl-C");
	if (stat->options.repeat != 1 && !stat->argv)
		return cli_usage_error(STAT_COMMAND, "-r needs a program to run");
	if (stat->options.repeat != 1 && stat->options.interval_ms)
		return cli_usage_error(STAT_COMMAND, "-r and -I exclude each other");
	if (stat->options.interval_ms > 1000000000)
		return cli_usage_error(STAT_COMMAND, "-I must be 1 to 1000000000 milliseconds");
	if ((stat->options.interval_count || stat->options.interval_clear ||
	     stat->options.summary) &&
	    !stat->options.interval_ms)
		return cli_usage_error(STAT_COMMAND, "--%s needs -I MSEC",
				       stat->options.interval_count   ? "interval-count"
				       : stat->options.interval_clear ? "interval-clear"
								      : "summary");
	if (stat->options.timeout_ms &&
	    (stat->options.timeout_ms < 10 || stat->options.timeout_ms > 1000000000))
		return cli_usage_error(STAT_COMMAND,
				       "--timeout must be 10 to 1000000000 milliseconds");
	if (!stat->options.delay)
		return 0;
	errno = 0;
	stat->options.delay_ms = strtol(stat->options.delay, &end, 10);
	if (errno || end == stat->options.delay || *end || stat->options.delay_ms < -1 ||
	    stat->options.delay_ms > 1000000000)
		return cli_usage_error(
			STAT_COMMAND,
			"-D must be a number of milliseconds, or -1 to leave the events disabled");
	return 0;
}

static int check_output(struct stat_job *stat)
{
	if (stat->options.separator && stat->options.json)
		return cli_usage_error(STAT_COMMAND, "-x and -j exclude each other");
	if ((stat->options.separator || stat->options.json) && stat->options.big_num == 1)
		return cli_usage_error(STAT_COMMAND,
				       "-B applies to the table: it cannot be used with %s",
				       stat->options.json ? "-j" : "-x");
	if (stat->options.output_path && stat->options.log_fd)
		return cli_usage_error(STAT_COMMAND, "-o and --log-fd exclude each other");
	if (stat->options.append && !stat->options.output_path && !stat->options.log_fd)
		return cli_usage_error(STAT_COMMAND, "--append needs -o FILE or --log-fd FD");
	if (stat->options.table && stat->options.repeat <= 1)
		return cli_usage_error(STAT_COMMAND, "--table needs -r N with N > 1");
	if (stat->options.table && (stat->options.separator || stat->options.json))
		return cli_usage_error(STAT_COMMAND, "--table cannot be used with %s",
				       stat->options.json ? "-j" : "-x");
	if (stat->options.metric_only && (stat->options.repeat != 1 || stat->options.json))
		return cli_usage_error(STAT_COMMAND, "--metric-only and %s exclude each other",
				       stat->options.json ? "-j" : "-r");
	if (stat->options.log_fd > INT32_MAX)
		return cli_usage_error(STAT_COMMAND,
				       "--log-fd must be the number of an open descriptor");
	if (stat->options.separator && !strcmp(stat->options.separator, "\\t"))
		stat->options.separator = "\t";
	return 0;
}

static int check_options(struct stat_job *stat)
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
		return cli_usage_error(STAT_COMMAND, "--for-each-cgroup needs -a or -C CPUS");
	if (stat->options.all_user && stat->options.all_kernel)
		return cli_usage_error(STAT_COMMAND,
				       "--all-user and --all-kernel exclude each other");
	if (stat->options.null && !stat->argv &&
	    (stat->options.target.pids || stat->options.target.tids))
		return cli_usage_error(STAT_COMMAND, "-n needs a program");
	if (stat->options.null && (stat->events.nr || stat->options.detailed))
		return cli_usage_error(STAT_COMMAND,
				       "-n counts no events: it cannot be used with -e or -d");
	return 0;
}

#define ROW(letter, name, what, help, kind, value, call)                  \
	{                                                                 \
		letter, name, what, help, kind, value, call, false, false \
	}
#define FLAG(letter, name, help, value)	 ROW(letter, name, NULL, help, CLI_FLAG, value, NULL)
#define COUNT(letter, name, help, value) ROW(letter, name, NULL, help, CLI_COUNT, value, NULL)
#define STRING(letter, name, what, help, value) \
	ROW(letter, name, what, help, CLI_STRING, value, NULL)
#define NUMBER(letter, name, what, help, value) \
	ROW(letter, name, what, help, CLI_NUMBER, value, NULL)
#define CALL(letter, name, what, help, value, call) \
	ROW(letter, name, what, help, CLI_CALL, value, call)

int stat_parse(struct stat_job *stat, int argc, char **argv)
{
	const struct cli_option options[] = {
		CALL('e', "event", "EVENTS", "events to count; see 'perch list'", stat,
		     stat_add_events),
		CALL(0, "event-file", "FILE", "events to count, from a file", stat,
		     stat_add_event_file),
		CALL(0, "filter", "EXPR", "filter for the tracepoints of the last -e", stat,
		     stat_add_filter),
		COUNT('d', "detailed", "add cache events; -dd and -ddd add more",
		      &stat->options.detailed),
		FLAG('n', "null", "count no events, print the time", &stat->options.null),
		FLAG(0, "all-user", "count only user space", &stat->options.all_user),
		FLAG(0, "all-kernel", "count only the kernel", &stat->options.all_kernel),
		CLI_TARGET_OPTIONS_WITHOUT_CGROUPS(&stat->options.target),
		CALL('G', "cgroup", "NAME[,NAME]",
		     "count the preceding events in these cgroups, in order", stat,
		     stat_add_cgroups),
		STRING(0, "for-each-cgroup", "NAME[,NAME]",
		       "count all events in each of these cgroups; a name may be a regular expression",
		       &stat->options.for_each_cgroup),
		FLAG('i', "no-inherit", "do not count children and new threads",
		     &stat->options.no_inherit),
		NUMBER('r', "repeat", "N",
		       "run the program N times, print means and standard errors; 0: until Ctrl-C",
		       &stat->options.repeat),
		FLAG(0, "table", "with -r: also print the time of each run", &stat->options.table),
		NUMBER('I', "interval-print", "MSEC", "print counts every MSEC milliseconds",
		       &stat->options.interval_ms),
		NUMBER(0, "interval-count", "N", "stop after N intervals",
		       &stat->options.interval_count),
		FLAG(0, "interval-clear", "clear the terminal before each interval",
		     &stat->options.interval_clear),
		FLAG(0, "summary", "print the sums after the intervals", &stat->options.summary),
		FLAG(0, "csv-summary", "mark the sums with 'summary' in the output of -x (default)",
		     &stat->options.csv_summary),
		NUMBER(0, "timeout", "MSEC", "stop after MSEC milliseconds",
		       &stat->options.timeout_ms),
		STRING('D', "delay", "MSEC",
		       "start counting MSEC milliseconds after the start; -1: leave events disabled",
		       &stat->options.delay),
		STRING(0, "control", "fd:CTL[,ACK]",
		       "read commands from a descriptor; fifo:CTL[,ACK]: from a named pipe",
		       &stat->options.control),
		FLAG('S', "sync", "call sync(2) before each run", &stat->options.sync),
		STRING(0, "pre", "COMMAND", "shell command before each run", &stat->options.pre),
		STRING(0, "post", "COMMAND", "shell command after each run", &stat->options.post),
		FLAG('A', "no-aggr", "print one line per CPU", &stat->options.no_aggregation),
		FLAG(0, "per-socket", "add up by socket", &stat->options.per_socket),
		FLAG(0, "per-die", "add up by die", &stat->options.per_die),
		FLAG(0, "per-core", "add up by core", &stat->options.per_core),
		FLAG(0, "per-node", "add up by NUMA node", &stat->options.per_node),
		FLAG(0, "per-thread", "add up by thread of -p, -t or -a",
		     &stat->options.per_thread),
		FLAG(0, "no-merge", "print one line per PMU if several have the event",
		     &stat->options.no_merge),
		FLAG('c', "scale", "scale counts for multiplexing (default)", &stat->options.scale),
		FLAG(0, "metric-only", "print only ratios, without counts",
		     &stat->options.metric_only),
		CALL('M', "metrics", "NAMES", "not supported", stat, refuse_metrics),
		STRING('x', "field-separator", "SEP", "print fields with this separator",
		       &stat->options.separator),
		FLAG('j', "json-output", "print JSON, one object per line", &stat->options.json),
		CALL('B', "big-num", NULL, "group digits as the locale defines (default)",
		     &stat->options.big_num, set_big_num),
		STRING('o', "output", "FILE", "write the result to FILE",
		       &stat->options.output_path),
		FLAG(0, "append", "append to FILE", &stat->options.append),
		NUMBER(0, "log-fd", "FD", "write the result to an open descriptor",
		       &stat->options.log_fd),
		FLAG(0, "quiet", "print no result", &stat->options.quiet),
		COUNT('v', "verbose", "print raw counts; -vv: also each perf_event_open call",
		      &stat->options.verbose),
	};
	int first = cli_parse(&cli_stat_usage, options, CLI_NR(options), argc, argv);

	if (first < argc)
		stat->argv = argv + first;
	return check_options(stat);
}
