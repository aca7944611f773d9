/* SPDX-License-Identifier: MIT */
/* perch stat: counts events while a program runs. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "stat.h"

static int add_events(void *value, const char *text, bool negated)
{
	struct stat *stat = value;
	struct perch_error err;

	(void)negated;
	if (text && !perch_events_add(&stat->events, text, stat->machine, &err))
		return 0;
	if (text)
		cli_event_error(STAT_COMMAND, text, &err);
	else
		cli_usage_error(STAT_COMMAND, "--event cannot be negated");
	return -EINVAL;
}

/* perf's default set, and what -d, -dd and -ddd add to any set. */
static const char *const detailed_events[] = {
	"L1-dcache-loads,L1-dcache-load-misses,LLC-loads,LLC-load-misses",
	"L1-icache-loads,L1-icache-load-misses,dTLB-loads,dTLB-load-misses,iTLB-loads,iTLB-load-misses",
	"L1-dcache-prefetches,L1-dcache-prefetch-misses",
};

static int complete_events(struct stat *stat)
{
	bool cpus = stat->all_cpus || stat->cpu_list;
	int rc = 0;

	if (!stat->events.nr) {
		rc = add_events(stat, cpus ? "cpu-clock" : "task-clock", false);
		if (!rc)
			rc = add_events(stat, "context-switches,cpu-migrations,page-faults,cycles,instructions,branches,"
					      "branch-misses", false);
	}
	for (int i = 0; !rc && i < stat->detailed && i < (int)CLI_NR(detailed_events); i++)
		rc = add_events(stat, detailed_events[i], false);
	return rc ? CLI_EXIT_USAGE : 0;
}

static bool is_clock(const struct perch_attr *attr)
{
	return attr->type == PERCH_TYPE_SOFTWARE &&
	       (attr->config == PERCH_COUNT_SW_CPU_CLOCK || attr->config == PERCH_COUNT_SW_TASK_CLOCK);
}

static int make_events(struct stat *stat)
{
	int *fds = calloc(stat->events.nr * stat->nr_targets, sizeof(*fds));

	stat->event = calloc(stat->events.nr, sizeof(*stat->event));
	if (!stat->event || !fds) {
		struct perch_error err;

		free(fds);
		perch_error_set(&err, ENOMEM, PERCH_CAUSE_NO_MEMORY, "no memory for %zu events", stat->events.nr);
		return cli_error(STAT_COMMAND, &err);
	}
	for (size_t i = 0; i < stat->events.nr; i++) {
		struct stat_event *event = &stat->event[i];

		event->event = &stat->events.event[i];
		event->clock = is_clock(&event->event->attr);
		event->unit = event->clock ? "msec" : event->event->unit;
		event->scale = event->clock ? 1e-6 : event->event->scale;
		event->fd = fds + i * stat->nr_targets;
		snprintf(event->name, sizeof(event->name), "%s", event->event->name);
	}
	return 0;
}

/* Where the result goes: stderr, as the program has stdout, or a file that begins with the date. */
static int open_output(struct stat *stat)
{
	struct perch_error err;
	time_t now = time(NULL);

	stat->output = stderr;
	if (!stat->output_path)
		return 0;
	stat->output = fopen(stat->output_path, stat->append ? "ae" : "we");
	if (!stat->output) {
		perch_error_set(&err, errno, PERCH_CAUSE_FILE, "cannot write '%s': %s", stat->output_path,
				strerror(errno));
		return cli_error(STAT_COMMAND, &err);
	}
	fprintf(stat->output, "# started on %s\n", ctime(&now));
	return 0;
}

/* In one piece, so that what the program still writes to the same terminal does not fall between the lines. */
static int print_result(const struct stat *stat)
{
	void (*print)(const struct stat *, FILE *) = stat->json	     ? stat_print_json :
						     stat->separator ? stat_print_csv :
								       stat_print_table;
	char *text = NULL;
	size_t length = 0;
	FILE *memory = open_memstream(&text, &length);
	struct perch_error err;
	bool written;

	if (memory) {
		print(stat, memory);
		written = !fclose(memory) && fwrite(text, 1, length, stat->output) == length;
		free(text);
	} else {
		print(stat, stat->output);
		written = true;
	}
	if (written && !ferror(stat->output) && (stat->output == stderr || !fclose(stat->output)))
		return 0;
	if (stat->output == stderr)
		return CLI_EXIT_FAILURE;
	perch_error_set(&err, errno ? errno : EIO, PERCH_CAUSE_FILE, "cannot write '%s': %s", stat->output_path,
			strerror(errno ? errno : EIO));
	return cli_error(STAT_COMMAND, &err);
}

static int check_options(struct stat *stat)
{
	if (stat->separator && stat->json)
		return cli_usage_error(STAT_COMMAND, "-x and -j exclude each other");
	if (stat->append && !stat->output_path)
		return cli_usage_error(STAT_COMMAND, "--append needs -o FILE");
	if (stat->repeat < 1 || stat->repeat > 1000000)
		return cli_usage_error(STAT_COMMAND, "-r takes 1 to 1000000 runs");
	if (stat->separator && !strcmp(stat->separator, "\\t"))
		stat->separator = "\t";
	return 0;
}

static int measure(struct stat *stat)
{
	int status = check_options(stat);

	if (!status)
		status = complete_events(stat);
	if (!status)
		status = stat_choose_targets(stat);
	if (!status)
		status = make_events(stat);
	if (!status)
		status = open_output(stat);
	if (status)
		return status;
	stat_catch_signals();
	while (!status && stat->elapsed_ns.nr < stat->repeat && !(stat_stopped() && stat->elapsed_ns.nr))
		status = stat_run(stat);
	if (status)
		return status;
	stat->repeat = stat->elapsed_ns.nr;	/* fewer when it was stopped */
	status = print_result(stat);
	return stat->status ? stat->status : status;
}

int perch_cmd_stat(int argc, char **argv)
{
	struct stat stat = { .repeat = 1 };
	const struct cli_option options[] = {
		{ 'e', "event", "EVENTS", "what to count; see 'perch list'", CLI_CALL, &stat, add_events, false, false },
		{ 'r', "repeat", "N", "run the program N times, show means and their spread", CLI_NUMBER, &stat.repeat,
		  NULL, false, false },
		{ 'x', "field-separator", "SEP", "print fields between separators, for programs", CLI_STRING,
		  &stat.separator, NULL, false, false },
		{ 'j', "json-output", NULL, "print JSON, one object a line", CLI_FLAG, &stat.json, NULL, false, false },
		{ 'o', "output", "FILE", "write the result to FILE", CLI_STRING, &stat.output_path, NULL, false, false },
		{ 0, "append", NULL, "add to FILE", CLI_FLAG, &stat.append, NULL, false, false },
		{ 'p', "pid", "PIDS", "count running processes", CLI_STRING, &stat.pids, NULL, false, false },
		{ 't', "tid", "TIDS", "count running threads", CLI_STRING, &stat.tids, NULL, false, false },
		{ 'a', "all-cpus", NULL, "count everything on all CPUs", CLI_FLAG, &stat.all_cpus, NULL, false, false },
		{ 'C', "cpu", "CPUS", "count everything on these CPUs: 0-2,5", CLI_STRING, &stat.cpu_list, NULL, false,
		  false },
		{ 'i', "no-inherit", NULL, "leave children and new threads out", CLI_FLAG, &stat.no_inherit, NULL, false,
		  false },
		{ 'd', "detailed", NULL, "add cache events; twice and thrice: more of them", CLI_COUNT, &stat.detailed,
		  NULL, false, false },
		{ 'v', "verbose", NULL, "show the raw counts and times of each run", CLI_COUNT, &stat.verbose, NULL,
		  false, false },
	};
	struct perch_error err;
	int first, status;

	if (perch_machine_new(&stat.machine, NULL, NULL, &err))
		return cli_error(STAT_COMMAND, &err);
	first = cli_parse(STAT_COMMAND, options, CLI_NR(options), argc, argv);
	if (first < argc)
		stat.argv = argv + first;
	status = measure(&stat);
	if (stat.event)
		free(stat.event[0].fd);
	free(stat.event);
	free(stat.target);
	perch_events_clear(&stat.events);
	perch_machine_free(stat.machine);
	return status;
}
