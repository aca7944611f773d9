/* SPDX-License-Identifier: MIT */
/* The options of `perch record`, with perf's names and meanings. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "event_options.h"
#include "record.h"

const struct cli_usage cli_record_usage = {
	.name = "record",
	.operands = "[OPTIONS] -- PROGRAM [ARGUMENTS]",
	.summary = "Samples a program into a perf.data file.",
};

static int add_events(void *value, const char *text, bool negated)
{
	struct record_options *options = value;

	(void)negated;
	return cli_add_events(options->command, &options->events, &options->last_events, text,
			      options->machine);
}

static int add_event_file(void *value, const char *path, bool negated)
{
	struct record_options *options = value;

	(void)negated;
	return cli_add_event_file(options->command, &options->events, &options->last_events, path,
				  options->machine);
}

static int set_filter(void *value, const char *text, bool negated)
{
	struct record_options *options = value;

	(void)negated;
	return cli_add_filter(options->command, &options->events, options->last_events, text,
			      options->machine);
}

/* --call-graph overrides -g. */
int record_set_default_call_graph(void *value, const char *text, bool negated)
{
	struct record_options *options = value;

	(void)text;
	if (negated) {
		options->call_graph = PERCH_CALL_GRAPH_UNSET;
		options->defer_chains = false;
	} else if (options->call_graph == PERCH_CALL_GRAPH_UNSET) {
		options->call_graph = options->default_mode;
		options->stack_bytes = options->default_stack_bytes;
	}
	return 0;
}

int record_set_no_inherit(void *value, const char *text, bool negated)
{
	struct record_options *options = value;

	(void)text;
	options->no_inherit = !negated;
	options->inherit_chosen = true;
	return 0;
}

/*
 * As in perf, threads of -t are recorded alone. Counts at the end of threads, and latencies, need
 * the threads that follow.
 */
void record_choose_inherit(struct record_options *options)
{
	if (!options->inherit_chosen)
		options->no_inherit = options->target.tids && !options->target.pids &&
				      !options->flag[RECORD_STAT] && !options->latency;
}

/* .option without .value, which is the member of struct record_options at .offset. */
struct row {
	struct cli_option option;
	size_t offset;
};

#define ROW(letter, name, what, help, kind, call, optional, hidden, member)              \
	{                                                                                \
		{ letter, name, what, help, kind, NULL, call, optional, hidden }, member \
	}
#define MEMBER(member) offsetof(struct record_options, member)
#define FLAG(letter, name, help, member) \
	ROW(letter, name, NULL, help, CLI_FLAG, NULL, false, false, MEMBER(member))
#define STRING(letter, name, what, help, member) \
	ROW(letter, name, what, help, CLI_STRING, NULL, false, false, MEMBER(member))
#define CALL(letter, name, what, help, call) \
	ROW(letter, name, what, help, CLI_CALL, call, false, false, 0)
#define ATTACHED(letter, name, what, help, call) \
	ROW(letter, name, what, help, CLI_CALL_ATTACHED, call, true, false, 0)
#define IGNORED(letter, name) \
	ROW(letter, name, NULL, "", CLI_FLAG, NULL, false, true, MEMBER(ignored))

static const struct row rows[] = {
	CALL('e', "event", "EVENTS", "events to sample (perch list)", add_events),
	CALL(0, "event-file", "FILE", "events from a file; - is standard input", add_event_file),
	CALL(0, "filter", "EXPR", "filter for the tracepoints of the last -e", set_filter),
	STRING('F', "freq", "HZ|max", "samples per second (4000)", frequency_text),
	FLAG(0, "strict-freq", "refuse a frequency above the limit", strict_frequency),
	CALL('c', "count", "N", "a sample every N events", record_set_period),
	FLAG('n', "no-samples", "no samples, only mappings, names and tasks",
	     flag[RECORD_NO_SAMPLES]),
	CALL('g', NULL, NULL, "record call chains by frame pointers",
	     record_set_default_call_graph),
	CALL(0, "call-graph", "MODE", "record call chains: fp[,defer], dwarf[,SIZE], lbr or no",
	     record_set_call_graph),
	FLAG(0, "user-callchains", "only the user part of call chains",
	     flag[RECORD_USER_CALLCHAINS]),
	FLAG(0, "kernel-callchains", "only the kernel part of call chains",
	     flag[RECORD_KERNEL_CALLCHAINS]),
	CALL('G', "cgroup", "NAME[,NAME]", "processes of these cgroups, on the CPUs of -a or -C",
	     record_set_cgroups),
	CALL('i', "no-inherit", NULL,
	     "do not record child processes and new threads (default with -t; --inherit: do)",
	     record_set_no_inherit),
	FLAG(0, "per-thread", "a ring for each thread, not for each CPU; implies -i", per_thread),
	FLAG(0, "all-user", "sample only user space", flag[RECORD_ALL_USER]),
	FLAG(0, "all-kernel", "sample only the kernel", flag[RECORD_ALL_KERNEL]),
	CALL('D', "delay", "MS",
	     "enable events MS after the start; -1: never; 10-20,30-40: in these windows",
	     record_set_delay),
	STRING('o', "output", "FILE", "output file (perf.data)", output),
	FLAG(0, "overwrite",
	     "flight recorder: keep the newest records in the rings, write on request or at the end",
	     overwrite),
	ATTACHED(0, "switch-output", "signal|SIZE|TIME",
		 "start another file FILE.TIME at SIGUSR2, every 10M, or every 30s",
		 record_set_switch),
	CALL(0, "switch-max-files", "N", "keep only the last N of these files",
	     record_set_max_files),
	CALL(0, "max-size", "SIZE", "end when the file has this size: 10M", record_set_max_size),
	CALL('m', "mmap-pages", "PAGES", "size of the ring of each CPU (512K)", record_set_pages),
	CALL('k', "clockid", "CLOCK",
	     "clock of times: monotonic, monotonic_raw, realtime, boottime or tai",
	     record_set_clock),
	FLAG('d', "data", "data addresses", flag[RECORD_DATA]),
	FLAG(0, "data-mmap", "mappings of data", flag[RECORD_DATA_MAPPINGS]),
	FLAG(0, "phys-data", "physical data addresses", flag[RECORD_PHYS_DATA]),
	FLAG(0, "data-page-size", "page sizes of data addresses", flag[RECORD_DATA_PAGE_SIZE]),
	FLAG(0, "code-page-size", "page sizes of code addresses", flag[RECORD_CODE_PAGE_SIZE]),
	FLAG('W', "weight", "weights (latencies)", flag[RECORD_WEIGHT]),
	FLAG(0, "transaction", "flags of hardware transactions", flag[RECORD_TRANSACTION]),
	CALL('b', "branch-any", NULL, "branches taken before the sample", record_set_any_branch),
	CALL('j', "branch-filter", "KINDS", "branches of these kinds: any_call,u",
	     record_set_branches),
	ATTACHED('I', "intr-regs", "REGS", "registers at the sample; -I? lists them",
		 record_set_intr_registers),
	ATTACHED(0, "user-regs", "REGS", "user registers at the sample; =? lists them",
		 record_set_user_registers),
	FLAG('R', "raw-samples", "raw data of all events", flag[RECORD_RAW]),
	FLAG(0, "sample-cpu", "the CPU in each sample", flag[RECORD_CPU]),
	FLAG(0, "sample-identifier", "the event id at the start of each sample",
	     flag[RECORD_IDENTIFIER]),
	FLAG('P', "period", "the period in each sample", flag[RECORD_PERIOD]),
	FLAG('s', "stat", "counts of each thread when it ends", flag[RECORD_STAT]),
	FLAG(0, "running-time", "enabled and running times in counts (modifier S)",
	     flag[RECORD_RUNNING_TIME]),
	FLAG(0, "switch-events", "context switches", flag[RECORD_SWITCHES]),
	FLAG(0, "latency", "context switches, for perch report --latency", latency),
	FLAG(0, "namespaces", "namespaces of processes", flag[RECORD_NAMESPACES]),
	FLAG(0, "all-cgroups", "cgroups, and the cgroup of each sample", flag[RECORD_CGROUPS]),
	FLAG(0, "no-bpf-event", "no records of BPF programs", flag[RECORD_NO_BPF]),
	CALL(0, "buildid-mmap", NULL,
	     "build ids of the kernel, which can harm recordings beside this one",
	     record_set_map_ids),
	FLAG('B', "no-buildid", "do not write build ids", no_build_ids),
	FLAG('N', "no-buildid-cache", "do not update the build id cache", no_cache),
	CALL('r', "realtime", "PRIO", "real-time priority of the recorder (SCHED_FIFO): 1 to 99",
	     record_set_priority),
	FLAG(0, "dry-run", "check the options, and record nothing", dry_run),
	FLAG('q', "quiet", "print only errors", quiet),
	ROW('v', "verbose", NULL, "print more; twice: each attr and perf_event_open call",
	    CLI_COUNT, NULL, false, false, MEMBER(verbose)),
	/* perch always does what these options request */
	IGNORED('T', "timestamp"),
	IGNORED(0, "buildid-all"),
	IGNORED(0, "timestamp-boundary"),
	IGNORED(0, "tail-synthesize"),
};

int record_parse(struct record_options *options, int argc, char **argv)
{
	const struct cli_option targets[] = { CLI_TARGET_OPTIONS_WITHOUT_CGROUPS(
		&options->target) };
	struct cli_option table[CLI_NR(rows) + CLI_NR(targets)];

	for (size_t i = 0; i < CLI_NR(rows); i++) {
		table[i] = rows[i].option;
		table[i].value = (char *)options + rows[i].offset;
	}
	memcpy(table + CLI_NR(rows), targets, sizeof(targets));
	return cli_parse(&cli_record_usage, table, CLI_NR(table), argc, argv);
}

static int check_pipe(const struct record_options *options)
{
	if (!record_to_pipe(options))
		return 0;
	if (options->switch_by || options->overwrite)
		return cli_usage_error(options->command,
				       "-o - (one recording, written while it is made) and %s "
				       "exclude each other: name a file with -o",
				       options->overwrite ? "--overwrite" : "--switch-output");
	/* another file would get its descriptor */
	if (fcntl(STDOUT_FILENO, F_GETFD) < 0)
		return cli_usage_error(options->command,
				       "-o -: standard output is closed: pipe it to a command, or "
				       "name a file");
	if (isatty(STDOUT_FILENO))
		return cli_usage_error(options->command,
				       "-o -: standard output is a terminal, which cannot show a "
				       "recording: pipe it to a command, or name a file");
	return 0;
}

static int check_files(const struct record_options *options)
{
	struct stat status;

	if (options->overwrite && options->switch_by == RECORD_BY_SIZE)
		return cli_usage_error(
			options->command,
			"--overwrite and --switch-output=SIZE exclude each other, as no file grows: "
			"use --switch-output=signal, or a time such as 30s");
	if (options->overwrite && options->max_bytes)
		return cli_usage_error(options->command,
				       "--overwrite and --max-size exclude each other: "
				       "the size of the rings (-m) limits the size of a snapshot");
	if (options->overwrite && options->flag[RECORD_SWITCHES])
		return cli_usage_error(
			options->command,
			"--overwrite and --switch-events exclude each other: record the event "
			"context-switches or sched:sched_switch instead");
	if (options->overwrite && options->defer_chains)
		return cli_usage_error(
			options->command,
			"--overwrite and --call-graph fp,defer exclude each other: the rings keep "
			"samples without their user call chains; use --call-graph fp");
	if (options->max_files && !options->switch_by)
		return cli_usage_error(options->command,
				       "--switch-max-files needs --switch-output");
	if (options->switch_by && !stat(options->output, &status) && S_ISCHR(status.st_mode))
		return cli_usage_error(
			options->command,
			"--switch-output writes several files, but -o %s is a device",
			options->output);
	return 0;
}

int record_check_samples(const struct record_options *options)
{
	if (options->frequency_text && options->period)
		return cli_usage_error(options->command,
				       "-F (samples per second) and -c (events per sample) "
				       "exclude each other: choose one");
	if (options->flag[RECORD_NO_SAMPLES] && (options->frequency_text || options->period))
		return cli_usage_error(options->command,
				       "-n (no samples) and %s exclude each other: choose one",
				       options->period ? "-c" : "-F");
	if (options->flag[RECORD_STAT] && (options->no_inherit || options->per_thread))
		return cli_usage_error(options->command,
				       "-s (counts of each thread) and %s (no new threads) "
				       "exclude each other: choose one",
				       options->no_inherit ? "-i" : "--per-thread");
	if (options->flag[RECORD_ALL_USER] && options->flag[RECORD_ALL_KERNEL])
		return cli_usage_error(
			options->command,
			"--all-user and --all-kernel exclude each other: choose one");
	if (options->defer_chains && options->flag[RECORD_KERNEL_CALLCHAINS])
		return cli_usage_error(options->command,
				       "--call-graph fp,defer (user call chains are written later) "
				       "and --kernel-callchains exclude each other: choose one");
	if (options->flag[RECORD_USER_CALLCHAINS] && options->flag[RECORD_KERNEL_CALLCHAINS])
		return cli_usage_error(options->command,
				       "--user-callchains and --kernel-callchains "
				       "exclude each other: choose one");
	return 0;
}

/* Latencies need all threads that run, whichever CPU they run on. */
static int check_latency(struct record_options *options)
{
	if (!options->latency)
		return 0;
	if (options->target.all_cpus || options->target.cpu_list)
		return cli_usage_error(options->command,
				       "%s and --latency exclude each other: the latency of a "
				       "program depends on its own threads, on all CPUs; name a "
				       "program, or add -p PID",
				       options->target.all_cpus ? "-a" : "-C");
	if (options->overwrite)
		return cli_usage_error(options->command,
				       "--overwrite and --latency exclude each other: the rings "
				       "lose the context switches that latencies need");
	if (options->no_inherit)
		return cli_usage_error(options->command,
				       "-i (no new threads) and --latency exclude each other: the "
				       "latency depends on all threads that run");
	options->flag[RECORD_SWITCHES] = true;
	return 0;
}

static int check_target(const struct record_options *options)
{
	const struct cli_target *target = &options->target;
	bool system_wide = cli_target_system_wide(target);

	if (options->cgroups.nr && !system_wide)
		return cli_usage_error(options->command, "-G needs CPUs: add -a or -C CPUS");
	if (options->per_thread && (system_wide || target->cpu_list))
		return cli_usage_error(options->command,
				       "--per-thread (rings of threads) and %s (rings of CPUs) "
				       "exclude each other: choose one",
				       target->cpu_list ? "-C" : "-a");
	if (options->per_thread && options->overwrite)
		return cli_usage_error(options->command,
				       "--per-thread and --overwrite exclude each "
				       "other: choose one");
	if (!target->pids && !target->tids && !system_wide && !options->program_argv)
		return cli_usage_error(options->command,
				       "nothing to record: name a program, or add -p PID or -a");
	return 0;
}

int record_check(struct record_options *options)
{
	record_choose_inherit(options);
	if (record_check_samples(options) || check_latency(options) || check_target(options))
		return CLI_EXIT_USAGE;
	if (!options->output)
		options->output = "perf.data";
	if (!*options->output)
		return cli_usage_error(options->command, "-o has an empty name: name a file");
	if (check_pipe(options) || check_files(options))
		return CLI_EXIT_USAGE;
	/* the kernel maps no ring of an inherited event on any CPU */
	options->no_inherit |= options->per_thread;
	if (options->no_build_ids)
		options->map_ids = PERCH_RECORDER_NO_IDS;
	if (options->rounded_pages && !options->quiet)
		cli_note(options->command, "-m is rounded up to %zu pages, a power of two",
			 options->ring_pages);
	if (options->rounded_stack && !options->quiet)
		cli_note(options->command,
			 "--call-graph dwarf,SIZE is rounded up to %u bytes, a multiple of 8",
			 (unsigned)options->stack_bytes);
	return 0;
}

void record_clear_options(struct record_options *options)
{
	perch_events_clear(&options->events);
	cli_clear_cgroups(&options->cgroups);
	if (options->command_line)
		free(options->command_line[0]);
	free(options->command_line);
}
