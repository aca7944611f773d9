/* SPDX-License-Identifier: MIT */
/* The options of `perch trace`, with perf's names and meanings. */
#include <stdlib.h>
#include <string.h>

#include "calls.h"
#include "shared_options.h"

static const struct cli_word fault_words[] = {
	{ "all", CALLS_ALL_FAULTS },
	{ "maj", CALLS_MAJOR },
	{ "min", CALLS_MINOR },
	{ NULL, 0 },
};

static const struct cli_word mode_words[] = {
	{ "thread", CALLS_BY_THREAD },
	{ "total", CALLS_TOTAL },
	{ NULL, 0 },
};

static int set_duration(const struct cli_given *given)
{
	struct calls *calls = given->state;
	char *end;

	calls->least_ms = given->text ? strtod(given->text, &end) : 0;
	if (given->text && (*end || end == given->text || !(calls->least_ms >= 0)))
		return cli_usage_error(CALLS_COMMAND,
				       "--duration %s: expected milliseconds, as 1.5", given->text);
	return 0;
}

static int set_pages(const struct cli_given *given)
{
	struct cli_given record = *given;

	record.state = &((struct calls *)given->state)->record;
	return record_set_pages(&record);
}

/* functions.h takes a probe before the options are parsed. */
static int refuse_probe(const struct cli_given *given)
{
	return cli_usage_error(
		CALLS_COMMAND,
		"--uprobe %s: expected FILE:FUNCTION, as libc:malloc, before PROGRAM",
		given->text ? given->text : "");
}

static int set_call_graph(const struct cli_given *given)
{
	struct cli_given record = *given;

	record.state = &((struct calls *)given->state)->record;
	if (given->text && !strncmp(given->text, "fp,defer", 8))
		return cli_usage_error(CALLS_COMMAND,
				       "--call-graph fp,defer: perch trace reads call chains at "
				       "each call: use --call-graph fp");
	return record_set_call_graph(&record);
}

static int set_input(const struct cli_given *given)
{
	struct calls *calls = given->state;

	calls->input.path = given->text;
	calls->from_file = !given->negated;
	return 0;
}

static int set_no_inherit(const struct cli_given *given)
{
	struct calls *calls = given->state;

	calls->record.no_inherit = !given->negated;
	calls->record.inherit_chosen = true;
	return 0;
}

#define AT(member)   offsetof(struct calls, member)
#define SETS(member) CLI_SETS(struct calls, member)

static const struct cli_option options[] = {
	CLI_ROW(.letter = 'i', .name = "input", .argument = "FILE", .set = set_input,
		.help = "read a recording of perch trace record, perf trace record, or of the same events"),
	CLI_ROW(.letter = 'f', .name = "force", SETS(input.force),
		.help = "read a file of another user"),
	CLI_ROW(.letter = 'e', .name = "event", .argument = "CALLS", SETS(set),
		.help = "only these system calls: names, groups (file, desc, network, process, memory, signal, ipc, creds, clock) or /REGEX; '!' before all: not these"),
	CLI_ROW(.letter = 'o', .name = "output", .argument = "FILE", SETS(output),
		.help = "write to a file, not to standard error (with -i: standard output)"),
	CLI_ROW(.letter = 'T', .name = "time", SETS(absolute),
		.help = "times as the clock has them, not since the first event"),
	CLI_ROW(.name = "no-comm", SETS(no_comm), .help = "print no names and ids of threads"),
	CLI_ROW(.name = "comms", .argument = "NAME[,NAME]", SETS(comms),
		.help = "only threads with these names"),
	CLI_ROW(.name = "duration", .argument = "MS", .set = set_duration,
		.help = "only calls that take at least this time"),
	CLI_ROW(.name = "failure", SETS(failures), .help = "only calls that fail"),
	CLI_ROW(.name = "failure-only", SETS(failures), .hidden = true, .help = "the same"),
	CLI_ROW(.letter = 's', .name = "summary", SETS(summary_only),
		.help = "only sums: calls, errors and times of each system call"),
	CLI_ROW(.letter = 'S', .name = "with-summary", SETS(with_summary),
		.help = "calls and sums"),
	CLI_ROW(.name = "summary-mode", .argument = "MODE", SETS(mode), .words = mode_words,
		.help = "sums of each thread, or of all: thread or total"),
	CLI_ROW(.name = "errno-summary", SETS(errnos),
		.help = "sums have the numbers of each errno; implies -s without -S"),
	CLI_ROW(.letter = 'j', .name = "json", SETS(json),
		.help = "print JSON, one object per call"),
	CLI_ROW(.name = "max-events", .argument = "N", SETS(most), .positive = true,
		.help = "end after N calls"),
	CLI_ROW(.name = "no-paths", SETS(no_paths), .help = "print no paths of descriptors"),
	CLI_ROW(.name = "waits", SETS(waits),
		.help = "print what threads wait for at this moment, by /proc; no event is opened"),
	CLI_ROW(.letter = 'F', .name = "pf", .argument = "KIND", SETS(faults), .words = fault_words,
		.help = "page faults, too: all, maj or min"),
	CLI_ROW(.name = "call-graph", .argument = "MODE", .set = set_call_graph,
		.words = record_call_graphs, .open = true,
		.help = "print who made each call: fp, dwarf[,SIZE] or lbr"),
	CLI_ROW(.letter = 'm', .name = "mmap-pages", .argument = "PAGES", .set = set_pages,
		.help = "size of the ring of each CPU (8M as root, else 512K)"),
	CLI_ROW(.name = "no-inherit", .set = set_no_inherit,
		.help = "no child processes and new threads"),
	CLI_ROW(.name = "uprobe", .argument = "PROBE", .set = refuse_probe,
		.help = "how long calls of functions take: -u FILE:FUNCTION; -v prints each call"),
	CLI_ROW(.letter = 'G', .name = "cgroup", .argument = "NAME", SETS(cgroup),
		.help = "processes of this cgroup, on all CPUs or those of -C"),
	CLI_ROW(.letter = 'v', .name = "verbose", SETS(record.verbose),
		.help = "print more; twice: each attr and perf_event_open call"),
	CLI_ROW(.table = cli_target_options, .at = AT(record.target)),
	{ 0 },
};

static const struct cli_subcommand first_words[] = {
	{ "record", &cli_record_usage },
	{ 0 },
};

const struct cli_usage cli_trace_usage = {
	.name = CALLS_COMMAND,
	.operands = "[OPTIONS] [record] [--] [PROGRAM [ARGUMENTS]]",
	.summary = "Prints system calls, as strace does, at a fraction of its cost.",
	.options = options,
	.subcommands = first_words,
};

int calls_parse(struct calls *calls, int argc, char **argv)
{
	struct record_options *record = &calls->record;
	int next = cli_options_parse(&cli_trace_usage, calls, argc, argv);

	if (next < argc)
		record->program_argv = argv + next;
	calls->summary_only |= calls->errnos && !calls->with_summary;
	if (calls->summary_only && calls->with_summary)
		calls->summary_only = false;
	if (calls->from_file && (record->program_argv || cli_target_has_tasks(&record->target) ||
				 cli_target_system_wide(&record->target)))
		return cli_usage_error(CALLS_COMMAND,
				       "-i reads a recording: it excludes PROGRAM, -p, -t, -u, -a "
				       "and -C");
	if (calls->waits && (calls->from_file || record->program_argv || record->target.cpu_list))
		return cli_usage_error(CALLS_COMMAND,
				       "--waits looks at threads that run: it excludes -i, -C and "
				       "PROGRAM");
	if (calls->cgroup && (calls->from_file || calls->waits ||
			      cli_target_has_tasks(&record->target) || strchr(calls->cgroup, ',')))
		return cli_usage_error(
			CALLS_COMMAND,
			"-G %s: one cgroup is traced, by CPU: it excludes -i, -p, -t, "
			"-u and --waits",
			calls->cgroup);
	if (calls->from_file)
		return 0;
	record->target.all_cpus |= calls->cgroup && !record->target.cpu_list;
	if (!record->program_argv && !cli_target_has_tasks(&record->target) &&
	    !cli_target_system_wide(&record->target))
		record->target.all_cpus = true; /* as in perf */
	record_choose_inherit(record);
	return 0;
}
