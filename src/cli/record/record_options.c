/* SPDX-License-Identifier: MIT */
/* The options of `perch record`, with perf's names and meanings. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "event_options.h"
#include "record.h"
#include "shared_options.h"

/* --call-graph overrides -g, which counts after --call-graph no. */
int record_set_default_call_graph(const struct cli_given *given)
{
	struct record_options *options = given->state;

	if (given->negated) {
		options->call_graph = PERCH_CALL_GRAPH_NONE;
		options->defer_chains = false;
	} else if (!record_has_mode(options)) {
		options->call_graph = options->default_mode;
		options->stack_bytes = options->default_stack_bytes;
	}
	return 0;
}

/* As in perf, one more filter. */
static int exclude_recorder(const struct cli_given *given)
{
	struct record_options *options = given->state;
	char filter[40];

	if (!options->events.list.nr)
		return cli_usage_error(options->command,
				       "--exclude-perf applies to the tracepoints of the preceding "
				       "-e: put an -e before it");
	snprintf(filter, sizeof(filter), "common_pid != %d", (int)getpid());
	return cli_add_filter(options->command, &options->events, filter);
}

static int set_no_inherit(const struct cli_given *given)
{
	struct record_options *options = given->state;

	options->no_inherit = !given->negated;
	options->inherit_chosen = true;
	return 0;
}

static int set_descendants(const struct cli_given *given)
{
	struct record_options *options = given->state;

	options->descendants = !given->negated;
	options->descendants_chosen = true;
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
				      !options->target.user && !options->flag[RECORD_STAT] &&
				      !options->latency;
}

#define AT(member)   offsetof(struct record_options, member)
#define SETS(member) CLI_SETS(struct record_options, member)

const struct cli_option record_event_options[] = {
	CLI_ROW(.table = cli_event_list_options, .at = AT(events)),
	CLI_ROW(.letter = 'F', .name = "freq", .argument = "HZ|max", .set = record_set_frequency,
		.help = "samples per second (4000)"),
	CLI_ROW(.letter = 'c', .name = "count", .argument = "N", .set = record_set_period,
		.help = "a sample every N events"),
	CLI_ROW(.letter = 'g', .set = record_set_default_call_graph,
		.help = "record call chains by frame pointers"),
	CLI_ROW(.letter = 'G', .name = "cgroup", .argument = "NAME[,NAME]",
		.set = record_set_cgroups, .not_negated = true,
		.help = "processes of these cgroups, on the CPUs of -a or -C"),
	CLI_ROW(.letter = 'i', .name = "no-inherit", .set = set_no_inherit,
		.help = "do not record child processes and new threads (default with -t; --inherit: do)"),
	CLI_ROW(.table = cli_all_user_option, .at = AT(flag[RECORD_ALL_USER])),
	CLI_ROW(.table = cli_all_kernel_option, .at = AT(flag[RECORD_ALL_KERNEL])),
	CLI_ROW(.letter = 'm', .name = "mmap-pages", .argument = "PAGES", .set = record_set_pages,
		.help = "size of the ring of each CPU (512K)"),
	CLI_ROW(.name = "force", SETS(any_cost),
		.help = "sample also if that takes more than half of the CPU time"),
	CLI_ROW(.name = "no-bpf-event", SETS(flag[RECORD_NO_BPF]),
		.help = "no records of BPF programs"),
	CLI_ROW(.name = "control", .argument = "fd:CTL[,ACK]", SETS(control),
		.help = "take commands from a descriptor: enable, disable, stop...; fifo:CTL[,ACK]: from a named pipe"),
	CLI_ROW(.letter = 'v', .name = "verbose", SETS(verbose),
		.help = "print more; twice: each attr and perf_event_open call"),
	CLI_ROW(.table = cli_target_options, .at = AT(target)),
	/* /proc is read without a limit of time */
	CLI_ROW(.name = "proc-map-timeout", .argument = "MS", .kind = CLI_IGNORED, .hidden = true,
		.not_negated = true),
	{ 0 },
};

static const struct cli_option table[] = {
	CLI_ROW(.table = record_event_options),
	CLI_ROW(.table = cli_event_file_option, .at = AT(events)),
	CLI_ROW(.name = "exclude-perf", .set = exclude_recorder, .not_negated = true,
		.help = "no samples of the tracepoints of the last -e in the recorder itself"),
	CLI_ROW(.name = "strict-freq", SETS(strict_frequency),
		.help = "refuse a frequency above the limit"),
	CLI_ROW(.letter = 'n', .name = "no-samples", SETS(flag[RECORD_NO_SAMPLES]),
		.help = "no samples, only mappings, names and tasks"),
	CLI_ROW(.name = "call-graph", .argument = "MODE", .set = record_set_call_graph,
		.words = record_call_graphs, .open = true,
		.help = "record call chains: fp[,defer], dwarf[,SIZE], lbr or no"),
	CLI_ROW(.name = "user-callchains", SETS(flag[RECORD_USER_CALLCHAINS]),
		.help = "only the user part of call chains"),
	CLI_ROW(.name = "kernel-callchains", SETS(flag[RECORD_KERNEL_CALLCHAINS]),
		.help = "only the kernel part of call chains"),
	CLI_ROW(.name = "descendants", .set = set_descendants,
		.help = "sample by CPU, but only the program (or -p) and its child processes: right for short ones"),
	CLI_ROW(.name = "per-thread", SETS(per_thread),
		.help = "a ring for each thread, not for each CPU; implies -i"),
	CLI_ROW(.letter = 'D', .name = "delay", .argument = "MS", .set = record_set_delay,
		.help = "enable events MS after the start; -1: by --control; 10-20,30-40: in these windows"),
	CLI_ROW(.letter = 'o', .name = "output", .argument = "FILE", SETS(output),
		.help = "output file (perf.data)"),
	CLI_ROW(.name = "overwrite", SETS(overwrite),
		.help = "flight recorder: keep the newest records in the rings, write on request or at the end"),
	CLI_ROW(.name = "threads", .argument = "WHICH", .set = record_set_threads,
		.words = record_thread_kinds, .open = true, .attached = true, .optional = true,
		.help = "a thread for each cpu (default), core, package or numa, or lists: record to a directory"),
	CLI_ROW(.letter = 'z', .name = "compression-level", .argument = "LEVEL",
		.set = record_set_compression, .attached = true, .optional = true,
		.help = "compress the records: 1 (default, fast) to 22 (small)"),
	CLI_ROW(.name = "switch-output", .argument = "signal|SIZE|TIME", .set = record_set_switch,
		.attached = true, .optional = true,
		.help = "start another file FILE.TIME at SIGUSR2, every 10M, or every 30s"),
	CLI_ROW(.name = "switch-output-event", .argument = "EVENTS", .set = record_set_switch_event,
		.not_negated = true, .help = "start another file at each of these events"),
	CLI_ROW(.name = "timestamp-filename", SETS(timestamp_filename),
		.help = "the name of the file has the time of its end: FILE.TIME"),
	CLI_ROW(.name = "switch-max-files", .argument = "N", .set = record_set_max_files,
		.help = "keep only the last N of these files"),
	CLI_ROW(.name = "durable", SETS(durable),
		.help = "a failure of the machine loses at most the last second"),
	CLI_ROW(.name = "max-size", .argument = "SIZE", .set = record_set_max_size,
		.help = "end when the file has this size: 10M"),
	CLI_ROW(.letter = 'k', .name = "clockid", .argument = "CLOCK", .set = record_set_clock,
		.words = record_clocks, .open = true,
		.help = "clock of times: monotonic, monotonic_raw, realtime, boottime or tai"),
	CLI_ROW(.letter = 'd', .name = "data", SETS(flag[RECORD_DATA]), .help = "data addresses"),
	CLI_ROW(.name = "data-mmap", SETS(flag[RECORD_DATA_MAPPINGS]), .help = "mappings of data"),
	CLI_ROW(.name = "phys-data", SETS(flag[RECORD_PHYS_DATA]),
		.help = "physical data addresses"),
	CLI_ROW(.name = "data-page-size", SETS(flag[RECORD_DATA_PAGE_SIZE]),
		.help = "page sizes of data addresses"),
	CLI_ROW(.name = "code-page-size", SETS(flag[RECORD_CODE_PAGE_SIZE]),
		.help = "page sizes of code addresses"),
	CLI_ROW(.letter = 'W', .name = "weight", SETS(flag[RECORD_WEIGHT]),
		.help = "weights (latencies)"),
	CLI_ROW(.name = "transaction", SETS(flag[RECORD_TRANSACTION]),
		.help = "flags of hardware transactions"),
	CLI_ROW(.letter = 'b', .name = "branch-any", .set = record_set_any_branch,
		.help = "branches taken before the sample"),
	CLI_ROW(.letter = 'j', .name = "branch-filter", .argument = "KINDS", .kind = CLI_BITS,
		.words = record_branch_kinds, .set = record_set_branches,
		.help = "branches of these kinds"),
	CLI_ROW(.letter = 'I', .name = "intr-regs", .argument = "REGS", .kind = CLI_BITS,
		.get_words = record_registers, .open = true, .set = record_set_intr_registers,
		.attached = true, .optional = true,
		.help = "registers at the sample; -I? lists them"),
	CLI_ROW(.name = "user-regs", .argument = "REGS", .kind = CLI_BITS,
		.get_words = record_registers, .open = true, .set = record_set_user_registers,
		.attached = true, .optional = true,
		.help = "user registers at the sample; =? lists them"),
	CLI_ROW(.letter = 'R', .name = "raw-samples", SETS(flag[RECORD_RAW]),
		.help = "raw data of all events"),
	CLI_ROW(.name = "sample-cpu", SETS(flag[RECORD_CPU]), .help = "the CPU in each sample"),
	CLI_ROW(.name = "sample-identifier", SETS(flag[RECORD_IDENTIFIER]),
		.help = "the event id at the start of each sample"),
	CLI_ROW(.letter = 'P', .name = "period", SETS(flag[RECORD_PERIOD]),
		.help = "the period in each sample"),
	CLI_ROW(.letter = 's', .name = "stat", SETS(flag[RECORD_STAT]),
		.help = "counts of each thread when it ends"),
	CLI_ROW(.name = "running-time", SETS(flag[RECORD_RUNNING_TIME]),
		.help = "enabled and running times in counts (modifier S)"),
	CLI_ROW(.name = "switch-events", SETS(flag[RECORD_SWITCHES]), .help = "context switches"),
	CLI_ROW(.name = "off-cpu", .argument = "TIME", .set = record_set_off_cpu, .attached = true,
		.optional = true,
		.help = "time off the CPU, by call chain; shorter than TIME (1ms): in sums; "
			"TIME,waker: with who woke it"),
	CLI_ROW(.name = "off-cpu-thresh", .argument = "MS", .set = record_set_off_cpu_ms,
		.hidden = true),
	CLI_ROW(.name = "latency", SETS(latency),
		.help = "context switches, for perch report --latency"),
	CLI_ROW(.name = "namespaces", SETS(flag[RECORD_NAMESPACES]),
		.help = "namespaces of processes"),
	CLI_ROW(.name = "all-cgroups", SETS(flag[RECORD_CGROUPS]),
		.help = "cgroups, and the cgroup of each sample"),
	CLI_ROW(.name = "buildid-mmap", .set = record_set_map_ids,
		.help = "build ids of the kernel, which can harm recordings beside this one"),
	CLI_ROW(.name = "synth", .argument = "WHAT", .kind = CLI_BITS, .words = record_synthesized,
		.set = record_set_synthesized, .not_negated = true,
		.help = "records of what already runs: all, no, or task, mmap and cgroup"),
	CLI_ROW(.name = "affinity", .argument = "sys|node|cpu", .words = record_affinities,
		.set = record_set_affinity, .hidden = true, .not_negated = true),
	CLI_ROW(.letter = 'B', .name = "no-buildid", SETS(no_build_ids),
		.help = "do not write build ids"),
	CLI_ROW(.letter = 'N', .name = "no-buildid-cache", SETS(no_cache),
		.help = "do not update the build id cache"),
	CLI_ROW(.letter = 'r', .name = "realtime", .argument = "PRIO", .set = record_set_priority,
		.help = "real-time priority of the recorder (SCHED_FIFO): 1 to 99"),
	CLI_ROW(.name = "dry-run", SETS(dry_run), .help = "check the options, and record nothing"),
	CLI_ROW(.letter = 'q', .name = "quiet", SETS(quiet), .help = "print only errors"),
	/* perch always does what these options request */
	CLI_ROW(.letter = 'T', .name = "timestamp", .kind = CLI_IGNORED, .hidden = true,
		.not_negated = true),
	CLI_ROW(.name = "buildid-all", .kind = CLI_IGNORED, .hidden = true, .not_negated = true),
	CLI_ROW(.name = "timestamp-boundary", .kind = CLI_IGNORED, .hidden = true,
		.not_negated = true),
	CLI_ROW(.name = "tail-synthesize", .kind = CLI_IGNORED, .hidden = true,
		.not_negated = true),
	{ 0 },
};

const struct cli_usage cli_record_usage = {
	.name = "record",
	.operands = "[OPTIONS] -- PROGRAM [ARGUMENTS]",
	.summary = "Samples a program into a perf.data file.",
	.options = table,
};

int record_parse(struct record_options *options, int argc, char **argv)
{
	struct cli_usage usage = cli_record_usage;

	usage.name = options->command; /* of messages */
	return cli_options_parse(&usage, options, argc, argv);
}

static int check_pipe(const struct record_options *options)
{
	if (!record_to_pipe(options))
		return 0;
	if (options->switch_by || options->overwrite || options->durable ||
	    options->timestamp_filename)
		return cli_usage_error(options->command,
				       "-o - (one recording, written while it is made) and %s "
				       "exclude each other: name a file with -o",
				       options->overwrite   ? "--overwrite"
				       : options->switch_by ? "--switch-output"
				       : options->durable   ? "--durable"
							    : "--timestamp-filename");
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

/* Threads write to a directory, each file of which has the records of the whole time. */
static int check_threads(const struct record_options *options)
{
	const char *other = record_to_pipe(options) ? "-o -"
			    : options->switch_by    ? "--switch-output"
			    : options->overwrite    ? "--overwrite"
			    : options->per_thread   ? "--per-thread"
			    : options->durable	    ? "--durable"
			    : options->off_cpu	    ? "--off-cpu"
						    : NULL;

	if (!options->threads || !other)
		return 0;
	return cli_usage_error(options->command,
			       "--threads (threads that each write a file of one directory) and %s "
			       "exclude each other: choose one",
			       other);
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
	if ((options->switch_by || options->durable || options->timestamp_filename) &&
	    !stat(options->output, &status) && S_ISCHR(status.st_mode))
		return cli_usage_error(options->command, "%s, but -o %s is a device",
				       options->switch_by ? "--switch-output writes several files"
				       : options->durable ? "--durable writes a file to its disk"
							  : "--timestamp-filename renames a file",
				       options->output);
	return 0;
}

bool record_has_chains(const struct record_options *options)
{
	bool chains = record_has_mode(options);

	for (size_t i = 0; i < options->events.list.nr; i++) {
		enum perch_call_graph_mode mode = options->events.list.event[i].terms.call_graph;

		chains |= mode != PERCH_CALL_GRAPH_UNSET && mode != PERCH_CALL_GRAPH_NONE;
	}
	return chains;
}

/* True if samples or records have counts. */
static bool has_counts(const struct record_options *options)
{
	bool counts = options->flag[RECORD_STAT];

	for (size_t i = 0; i < options->events.list.nr; i++) {
		const struct perch_event *event = &options->events.list.event[i];

		counts |= event->leader_sampling || event->attr.sample_type & PERCH_SAMPLE_READ;
	}
	return counts;
}

/* Refuses options that have no effect without others. */
static int check_needs(const struct record_options *options)
{
	bool user = options->flag[RECORD_USER_CALLCHAINS];

	if ((user || options->flag[RECORD_KERNEL_CALLCHAINS]) && !record_has_chains(options))
		return cli_usage_error(options->command,
				       "--%s-callchains needs call chains: add -g or --call-graph",
				       user ? "user" : "kernel");
	if (options->strict_frequency && (options->period || options->flag[RECORD_NO_SAMPLES]))
		return cli_usage_error(options->command,
				       "--strict-freq needs a frequency (-F), and %s has none: "
				       "leave out one",
				       options->period ? "-c" : "-n");
	if (options->flag[RECORD_RUNNING_TIME] && !has_counts(options))
		return cli_usage_error(options->command,
				       "--running-time needs counts: add -s, or the modifier S to "
				       "a group of events");
	if (options->no_build_ids && options->map_ids == PERCH_RECORDER_IDS_OF_KERNEL)
		return cli_usage_error(options->command,
				       "--buildid-mmap and -B (no build ids) exclude each other: "
				       "choose one");
	if (options->per_thread && options->inherit_chosen && !options->no_inherit)
		return cli_usage_error(options->command,
				       "--per-thread (no new threads) and --inherit exclude each "
				       "other: choose one");
	if (options->flag[RECORD_STAT] && cli_target_system_wide(&options->target))
		return cli_usage_error(options->command,
				       "-s (counts of each thread) has no effect with %s, whose "
				       "counts are of CPUs: leave it out",
				       options->target.cpu_list ? "-C" : "-a");
	if (options->inherit_chosen)
		return cli_target_check_inherit(options->command, &options->target,
						options->no_inherit ? "-i" : "--inherit");
	return 0;
}

int record_check_samples(const struct record_options *options)
{
	if (options->frequency && options->period)
		return cli_usage_error(options->command,
				       "-F (samples per second) and -c (events per sample) "
				       "exclude each other: choose one");
	if (options->flag[RECORD_NO_SAMPLES] && (options->frequency || options->period))
		return cli_usage_error(options->command,
				       "-n (no samples) and %s exclude each other: choose one",
				       options->period ? "-c" : "-F");
	if (options->flag[RECORD_STAT] && (options->no_inherit || options->per_thread))
		return cli_usage_error(options->command,
				       "-s (counts of each thread) and %s (no new threads) "
				       "exclude each other: choose one",
				       options->no_inherit ? "-i" : "--per-thread");
	if (options->flag[RECORD_ALL_USER] && options->flag[RECORD_ALL_KERNEL])
		return cli_refuse_both(options->command, "--all-user", "--all-kernel");
	if (options->defer_chains && options->flag[RECORD_KERNEL_CALLCHAINS])
		return cli_usage_error(options->command,
				       "--call-graph fp,defer (user call chains are written later) "
				       "and --kernel-callchains exclude each other: choose one");
	if (options->flag[RECORD_USER_CALLCHAINS] && options->flag[RECORD_KERNEL_CALLCHAINS])
		return cli_refuse_both(options->command, "--user-callchains",
				       "--kernel-callchains");
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

/* Off-CPU time is of little use without call chains, and samples on the CPU are to have the same.
 */
static int check_off_cpu(struct record_options *options)
{
	if (!options->off_cpu)
		return 0;
	if (options->overwrite)
		return cli_usage_error(options->command,
				       "--overwrite and --off-cpu exclude each other: the rings "
				       "lose the context switches that times are made of");
	if (options->flag[RECORD_NO_SAMPLES])
		return cli_usage_error(
			options->command,
			"-n (no samples) and --off-cpu exclude each other: intervals "
			"off the CPU are samples");
	if (options->cgroups.nr)
		return cli_usage_error(options->command,
				       "-G and --off-cpu exclude each other: record the processes "
				       "of the cgroup with -p");
	if (options->target.cpu_list)
		return cli_usage_error(options->command,
				       "-C and --off-cpu exclude each other: a thread that "
				       "continues on another CPU would count as off the CPU; use "
				       "-a");
	if (options->branches)
		return cli_usage_error(options->command,
				       "-b, -j and --off-cpu exclude each other: context switches "
				       "have no branches");
	if (options->call_graph == PERCH_CALL_GRAPH_UNSET) {
		options->call_graph = options->default_mode;
		options->stack_bytes = options->default_stack_bytes;
	}
	if (options->call_graph == PERCH_CALL_GRAPH_DWARF &&
	    options->stack_bytes > PERCH_OFF_CPU_MAX_STACK && !options->quiet)
		cli_note(
			options->command,
			"--call-graph dwarf,%u with --off-cpu: samples of off-CPU time have at most %u bytes of the "
			"stack, because the rest of a record of 65535 bytes is needed",
			(unsigned)options->stack_bytes, PERCH_OFF_CPU_MAX_STACK);
	return 0;
}

/* The events are those of CPUs. */
static int check_descendants(const struct record_options *options)
{
	const char *other = record_excludes_descendants(options);

	if (!options->descendants || !other)
		return 0;
	return cli_usage_error(options->command,
			       "%s and --descendants (a program or -p, sampled by CPU) exclude "
			       "each other: choose one",
			       other);
}

static int check_target(const struct record_options *options)
{
	const struct cli_target *target = &options->target;
	bool system_wide = cli_target_system_wide(target);

	if (check_descendants(options))
		return CLI_EXIT_USAGE;
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
	if (!cli_target_has_tasks(target) && (!system_wide || options->descendants) &&
	    !options->program_argv)
		return cli_usage_error(options->command,
				       "nothing to record: name a program, or add -p PID or -a");
	return 0;
}

int record_check(struct record_options *options)
{
	record_choose_inherit(options);
	if (options->switch_events.list.nr && !options->switch_by)
		options->switch_by = RECORD_BY_SIGNAL;
	if (record_check_samples(options) || check_latency(options) || check_off_cpu(options) ||
	    check_needs(options) || check_target(options))
		return CLI_EXIT_USAGE;
	if (!options->output)
		options->output = "perf.data";
	if (!*options->output)
		return cli_usage_error(options->command, "-o has an empty name: name a file");
	if (check_threads(options) || check_pipe(options) || check_files(options))
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
	perch_events_clear(&options->events.list);
	perch_events_clear(&options->switch_events.list);
	cli_clear_cgroups(&options->cgroups);
	cli_command_line_free(options->command_line);
}
