/* SPDX-License-Identifier: MIT */
/* The options of `perch record`, spelled as perf's are and meaning the same. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "record.h"

const struct cli_usage cli_record_usage = {
	.name = "record",
	.operands = "[OPTIONS] -- PROGRAM [ARGUMENTS]",
	.summary = "Samples a program into a perf.data file.",
};

#define COMMAND "record"

static int add_events(void *value, const char *text, bool negated)
{
	struct record *record = value;

	(void)negated;
	return cli_add_events(COMMAND, &record->events, &record->last_events, text,
			      record->machine);
}

static int add_event_file(void *value, const char *path, bool negated)
{
	struct record *record = value;

	(void)negated;
	return cli_add_event_file(COMMAND, &record->events, &record->last_events, path,
				  record->machine);
}

static int set_filter(void *value, const char *text, bool negated)
{
	struct record *record = value;

	(void)negated;
	return cli_add_filter(COMMAND, &record->events, record->last_events, text, record->machine);
}

/* fp, dwarf with the bytes of stack to copy, lbr, or no. */
static int set_call_graph(void *value, const char *text, bool negated)
{
	static const struct {
		const char *name;
		enum perch_call_graph_mode kind;
	} kinds[] = {
		{ "fp", PERCH_CALL_GRAPH_FP },
		{ "dwarf", PERCH_CALL_GRAPH_DWARF },
		{ "lbr", PERCH_CALL_GRAPH_LBR },
		{ "no", PERCH_CALL_GRAPH_UNSET },
	};
	struct record *record = value;
	const char *comma = text ? strchr(text, ',') : NULL;
	size_t length = comma ? (size_t)(comma - text) : text ? strlen(text) : 0;
	uint64_t bytes = 0;
	bool unit;

	record->call_graph = negated ? PERCH_CALL_GRAPH_UNSET : PERCH_CALL_GRAPH_FP;
	record->stack_bytes = 0;
	for (size_t i = 0; text && !negated; i++) {
		if (i == CLI_NR(kinds)) {
			cli_usage_error(COMMAND, "--call-graph %s: say fp, dwarf[,SIZE], lbr or no",
					text);
			return -EINVAL;
		}
		if (strlen(kinds[i].name) != length || strncmp(kinds[i].name, text, length))
			continue;
		record->call_graph = kinds[i].kind;
		break;
	}
	if (!comma)
		return 0;
	if (record->call_graph != PERCH_CALL_GRAPH_DWARF ||
	    record_parse_size(comma + 1, &bytes, &unit) < 0 || !bytes || bytes > 65528) {
		cli_usage_error(
			COMMAND,
			"--call-graph %s: a size is that of dwarf's copies of the stack, 8 to 65528 bytes",
			text);
		return -EINVAL;
	}
	record->stack_bytes = (bytes + 7) & ~7u;
	return 0;
}

static int set_frame_pointers(void *value, const char *text, bool negated)
{
	struct record *record = value;

	(void)text;
	/* beside --call-graph dwarf, -g says nothing new */
	if (negated)
		record->call_graph = PERCH_CALL_GRAPH_UNSET;
	else if (record->call_graph == PERCH_CALL_GRAPH_UNSET)
		record->call_graph = PERCH_CALL_GRAPH_FP;
	return 0;
}

static int set_period(void *value, const char *text, bool negated)
{
	struct record *record = value;
	char *end;

	record->period = 0;
	if (negated)
		return 0;
	errno = 0;
	record->period = strtoull(text, &end, 0);
	if (!errno && end != text && !*end && text[0] != '-' && record->period &&
	    !(record->period >> 63))
		return 0;
	cli_usage_error(COMMAND, "-c %s: %s", text,
			!errno && end != text && !*end && !record->period
				? "a sample every 0 events is none; -n takes no samples"
				: "not a number of events from 1 to 2^63-1");
	return -EINVAL;
}

/* Pages, or bytes with a unit. Rounded up to a power of two, as the kernel wants it. */
static int set_pages(void *value, const char *text, bool negated)
{
	struct record *record = value;
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), number, pages = 1;
	bool unit;

	record->ring_pages = 0;
	if (negated)
		return 0;
	if (record_parse_size(text, &number, &unit) < 0 || !number || number > 1ull << 40) {
		cli_usage_error(COMMAND,
				"-m %s: not a number of pages, nor a size such as 512K or 4M",
				text);
		return -EINVAL;
	}
	if (unit)
		number = (number + page - 1) / page;
	while (pages < number)
		pages *= 2;
	record->ring_pages = pages;
	record->rounded_pages = pages != number;
	return 0;
}

/* A row of the table: .option's value is at this offset of struct record. */
struct row {
	struct cli_option option;
	size_t offset;
};

/* clang-format off */
#define FLAG(letter, name, help, member) \
	{ { letter, name, NULL, help, CLI_FLAG, NULL, NULL, false, false }, offsetof(struct record, member) }
#define STRING(letter, name, what, help, member) \
	{ { letter, name, what, help, CLI_STRING, NULL, NULL, false, false }, offsetof(struct record, member) }
#define CALL(letter, name, what, help, call) \
	{ { letter, name, what, help, CLI_CALL, NULL, call, false, false }, 0 }
#define ATTACHED(letter, name, what, help, call) \
	{ { letter, name, what, help, CLI_CALL_ATTACHED, NULL, call, true, false }, 0 }
#define IGNORED(letter, name) \
	{ { letter, name, NULL, "", CLI_FLAG, NULL, NULL, false, true }, offsetof(struct record, ignored) }
/* clang-format on */

static const struct row rows[] = {
	CALL('e', "event", "EVENTS", "what to sample by (perch list)", add_events),
	CALL(0, "event-file", "FILE", "the same from a file; -: standard input", add_event_file),
	CALL(0, "filter", "EXPR", "for the tracepoints of the -e before it", set_filter),
	STRING('F', "freq", "HZ|max", "samples a second (4000)", frequency_text),
	FLAG(0, "strict-freq", "refuse a frequency above the limit", strict_frequency),
	CALL('c', "count", "N", "a sample every N events", set_period),
	FLAG('n', "no-samples", "no samples: mappings, names and tasks alone",
	     flag[RECORD_NO_SAMPLES]),
	CALL('g', NULL, NULL, "record call stacks", set_frame_pointers),
	CALL(0, "call-graph", "HOW", "fp, dwarf[,SIZE], lbr or no", set_call_graph),
	FLAG(0, "user-callchains", "stacks of user space alone", flag[RECORD_USER_CHAINS]),
	FLAG(0, "kernel-callchains", "stacks of the kernel alone", flag[RECORD_KERNEL_CHAINS]),
	CALL('G', "cgroup", "NAME[,NAME]", "processes of these cgroups, on the CPUs of -a or -C",
	     record_set_cgroups),
	FLAG('i', "no-inherit", "leave out children and new threads", no_inherit),
	FLAG(0, "all-user", "user space alone", flag[RECORD_ALL_USER]),
	FLAG(0, "all-kernel", "the kernel alone", flag[RECORD_ALL_KERNEL]),
	CALL('D', "delay", "MS", "start so many ms after the program; -1: never; 10-20,30-40: then",
	     record_set_delay),
	STRING('o', "output", "FILE", "where to (perf.data)", output),
	FLAG(0, "overwrite",
	     "a flight recorder: the newest that the rings hold, written when asked or at the end",
	     overwrite),
	ATTACHED(0, "switch-output", "signal|SIZE|TIME",
		 "another file FILE.TIME at SIGUSR2, or each 10M, or 30s", record_set_switch),
	CALL(0, "switch-max-files", "N", "keep the last N of them", record_set_max_files),
	CALL(0, "max-size", "SIZE", "end when the file is that large: 10M", record_set_max_size),
	CALL('m', "mmap-pages", "PAGES", "size of each CPU's ring (512K)", set_pages),
	CALL('k', "clockid", "CLOCK",
	     "times by monotonic, monotonic_raw, realtime, boottime or tai", record_set_clock),
	FLAG('d', "data", "addresses of data", flag[RECORD_DATA]),
	FLAG(0, "phys-data", "physical addresses of data", flag[RECORD_PHYS_DATA]),
	FLAG(0, "data-page-size", "page sizes of data", flag[RECORD_DATA_PAGE_SIZE]),
	FLAG(0, "code-page-size", "page sizes of code", flag[RECORD_CODE_PAGE_SIZE]),
	FLAG('W', "weight", "weights (latencies)", flag[RECORD_WEIGHT]),
	FLAG(0, "transaction", "how transactions ended", flag[RECORD_TRANSACTION]),
	CALL('b', "branch-any", NULL, "branches taken before the sample", record_set_any_branch),
	CALL('j', "branch-filter", "KINDS", "such branches: any_call,u", record_set_branches),
	ATTACHED('I', "intr-regs", "REGS", "registers at the sample; -I? lists them",
		 record_set_intr_registers),
	ATTACHED(0, "user-regs", "REGS", "registers of user space; =? lists them",
		 record_set_user_registers),
	FLAG('R', "raw-samples", "raw data of every event", flag[RECORD_RAW]),
	FLAG(0, "sample-cpu", "the CPU in each sample", flag[RECORD_CPU]),
	FLAG(0, "sample-identifier", "the event's id first in each sample",
	     flag[RECORD_IDENTIFIER]),
	FLAG('P', "period", "the period in each sample", flag[RECORD_PERIOD]),
	FLAG('s', "stat", "counts of each thread as it ends", flag[RECORD_STAT]),
	FLAG(0, "running-time", "times enabled and running in counts (modifier S)",
	     flag[RECORD_RUNNING_TIME]),
	FLAG(0, "switch-events", "context switches", flag[RECORD_SWITCHES]),
	FLAG(0, "namespaces", "namespaces of processes", flag[RECORD_NAMESPACES]),
	FLAG(0, "all-cgroups", "cgroups of samples", flag[RECORD_CGROUPS]),
	FLAG(0, "no-bpf-event", "leave BPF programs out", flag[RECORD_NO_BPF]),
	FLAG(0, "buildid-mmap", "build ids in the records of mappings", flag[RECORD_BUILD_ID_MMAP]),
	FLAG('B', "no-buildid", "do not look up build ids", no_build_ids),
	FLAG('q', "quiet", "say nothing but errors", quiet),
	{ { 'v', "verbose", NULL, "say more; twice: each attr and call", CLI_COUNT, NULL, NULL,
	    false, false },
	  offsetof(struct record, verbose) },
	/* always so */
	IGNORED('N', "no-buildid-cache"),
	IGNORED('T', "timestamp"),
	IGNORED(0, "buildid-all"),
	IGNORED(0, "timestamp-boundary"),
	IGNORED(0, "tail-synthesize"),
};

int record_parse(struct record *record, int argc, char **argv)
{
	const struct cli_option targets[] = { CLI_TARGET_OPTIONS_WITHOUT_CGROUPS(&record->target) };
	struct cli_option options[CLI_NR(rows) + CLI_NR(targets)];

	for (size_t i = 0; i < CLI_NR(rows); i++) {
		options[i] = rows[i].option;
		options[i].value = (char *)record + rows[i].offset;
	}
	memcpy(options + CLI_NR(rows), targets, sizeof(targets));
	return cli_parse(&cli_record_usage, options, CLI_NR(options), argc, argv);
}

/* A flight recorder has no file that grows, nor room for what comes at each switch of a task. */
static int check_files(const struct record *record)
{
	struct stat status;

	if (record->overwrite && record->switch_by == RECORD_BY_SIZE)
		return cli_usage_error(
			COMMAND,
			"--overwrite writes nothing until it is asked, so no file reaches a size: "
			"--switch-output=signal, or a time such as 30s");
	if (record->overwrite && record->max_bytes)
		return cli_usage_error(
			COMMAND,
			"--overwrite writes snapshots, which are as large as the rings (-m): --max-size is "
			"for files that grow");
	if (record->overwrite && record->flag[RECORD_SWITCHES])
		return cli_usage_error(
			COMMAND,
			"--overwrite and --switch-events exclude each other: record the event "
			"context-switches or sched:sched_switch instead");
	if (record->max_files && !record->switch_by)
		return cli_usage_error(COMMAND,
				       "--switch-max-files is about the files of --switch-output");
	if (record->switch_by && !stat(record->output, &status) && S_ISCHR(status.st_mode))
		return cli_usage_error(COMMAND,
				       "--switch-output writes several files: -o %s is a device",
				       record->output);
	return 0;
}

int record_check(struct record *record)
{
	const struct cli_target *target = &record->target;

	if (record->frequency_text && record->period)
		return cli_usage_error(
			COMMAND,
			"-F (samples a second) and -c (events a sample) exclude each other");
	if (record->flag[RECORD_NO_SAMPLES] && (record->frequency_text || record->period))
		return cli_usage_error(COMMAND,
				       "-n takes no samples, %s says how often: choose one",
				       record->period ? "-c" : "-F");
	if (record->flag[RECORD_STAT] && record->no_inherit)
		return cli_usage_error(
			COMMAND,
			"-s (counts of threads as they end) and -i (without them) exclude each other");
	if (record->flag[RECORD_ALL_USER] && record->flag[RECORD_ALL_KERNEL])
		return cli_usage_error(
			COMMAND, "--all-user and --all-kernel exclude each other: choose one");
	if (record->flag[RECORD_USER_CHAINS] && record->flag[RECORD_KERNEL_CHAINS])
		return cli_usage_error(
			COMMAND,
			"--user-callchains and --kernel-callchains exclude each other: choose one");
	record->system_wide = cli_target_system_wide(target);
	if (record->cgroups.nr && !record->system_wide)
		return cli_usage_error(COMMAND,
				       "-G needs CPUs: add -a or -C CPUS");
	if (!target->pids && !target->tids && !record->system_wide && !record->program_argv)
		return cli_usage_error(COMMAND,
				       "nothing to record: name a program, or -p PID, or -a");
	if (!record->output)
		record->output = "perf.data";
	if (!*record->output)
		return cli_usage_error(COMMAND, "-o has no name: name a file");
	if (!strcmp(record->output, "-"))
		return cli_usage_error(
			COMMAND,
			"-o -: a recording is not written to a pipe: name a file, and read that");
	if (check_files(record))
		return CLI_EXIT_USAGE;
	if (record->rounded_pages && !record->quiet)
		cli_note(COMMAND, "-m rounded up to %zu pages, a power of two", record->ring_pages);
	return 0;
}
