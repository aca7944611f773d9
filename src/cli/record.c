/* SPDX-License-Identifier: MIT */
/* perch record: samples a program, processes or CPUs into a perf.data file. */
#include <errno.h>
#include <libgen.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "record.h"

#define COMMAND "record"

static int add_events(void *value, const char *text, bool negated)
{
	struct record *record = value;
	struct perch_error err;
	int rc;

	(void)negated;
	rc = perch_events_add(&record->events, text, record->machine, &err);
	if (rc < 0)
		cli_event_error(COMMAND, text, &err);
	return rc;
}

static int set_call_graph(void *value, const char *text, bool negated)
{
	struct record *record = value;

	record->callchain = !negated;
	if (negated || !text || !strcmp(text, "fp"))
		return 0;
	cli_usage_error(COMMAND, "--call-graph %s: this version walks stacks by frame pointers only: say fp", text);
	return -EINVAL;
}

/* Pages, or bytes with a unit. Rounded up to a power of two, as the kernel wants it. */
static int set_pages(void *value, const char *text, bool negated)
{
	static const char units[] = "BKMG";
	struct record *record = value;
	long page = sysconf(_SC_PAGESIZE);
	unsigned long long number;
	const char *unit;
	char *end;

	record->ring_pages = 0;
	if (negated)
		return 0;
	errno = 0;
	number = strtoull(text, &end, 10);
	unit = *end ? strchr(units, *end >= 'a' ? *end - 'a' + 'A' : *end) : NULL;
	if (errno || end == text || text[0] == '-' || !number || number > 1u << 30 || (*end && (!unit || end[1]))) {
		cli_usage_error(COMMAND, "-m %s: not a number of pages, nor a size such as 512K or 4M", text);
		return -EINVAL;
	}
	if (unit)
		number = ((number << (10 * (unit - units))) + page - 1) / page;
	for (record->ring_pages = 1; record->ring_pages < number;)
		record->ring_pages *= 2;
	return 0;
}

static int parse(struct record *record, int argc, char **argv)
{
	bool ignored;
	const struct cli_option options[] = {
		{ 'e', "event", "EVENTS", "what to sample by (perch list)", CLI_CALL, record, add_events, false, false },
		{ 'F', "freq", "HZ|max", "samples a second (4000)", CLI_STRING, &record->frequency_text, NULL, false, false },
		{ 'c', "count", "N", "a sample every N events", CLI_NUMBER, &record->period, NULL, false, false },
		{ 'g', NULL, NULL, "record call stacks", CLI_FLAG, &record->callchain, NULL, false, false },
		{ 0, "call-graph", "fp", "the same, by frame pointers", CLI_CALL, record, set_call_graph, true, false },
		{ 'p', "pid", "PID[,PID]", "running processes", CLI_STRING, &record->pids, NULL, false, false },
		{ 't', "tid", "TID[,TID]", "running threads", CLI_STRING, &record->tids, NULL, false, false },
		{ 'a', "all-cpus", NULL, "everything on all CPUs", CLI_FLAG, &record->all_cpus, NULL, false, false },
		{ 'C', "cpu", "CPUS", "everything on these CPUs (0-2,5)", CLI_STRING, &record->cpu_list, NULL, false, false },
		{ 'o', "output", "FILE", "where to (perf.data)", CLI_STRING, &record->output, NULL, false, false },
		{ 'm', "mmap-pages", "PAGES", "size of each CPU's ring (512K)", CLI_CALL, record, set_pages, false, false },
		{ 'i', "no-inherit", NULL, "leave out children and new threads", CLI_FLAG, &record->no_inherit, NULL, false,
		  false },
		{ 'B', "no-buildid", NULL, "do not look up build ids", CLI_FLAG, &record->no_build_ids, NULL, false, false },
		{ 'q', "quiet", NULL, "say nothing but errors", CLI_FLAG, &record->quiet, NULL, false, false },
		{ 'v', "verbose", NULL, "say more", CLI_COUNT, &record->verbose, NULL, false, false },
		{ 'N', "no-buildid-cache", NULL, "", CLI_FLAG, &ignored, NULL, false, true },
		{ 'P', "period", NULL, "", CLI_FLAG, &ignored, NULL, false, true },
		{ 'T', "timestamp", NULL, "", CLI_FLAG, &ignored, NULL, false, true },
	};

	return cli_parse(COMMAND, options, CLI_NR(options), argc, argv);
}

/* Contradictions among the options. */
static int check(struct record *record)
{
	bool attached = record->pids || record->tids;

	if (record->frequency_text && record->period)
		return cli_usage_error(COMMAND, "-F (samples a second) and -c (events a sample) exclude each other");
	if (attached && (record->all_cpus || record->cpu_list))
		return cli_usage_error(COMMAND, "-p and -t name processes, -a and -C take everything: choose one");
	record->system_wide = record->all_cpus || record->cpu_list;
	if (!attached && !record->system_wide && !record->program_argv)
		return cli_usage_error(COMMAND, "nothing to record: name a program, or -p PID, or -a");
	if (!record->output)
		record->output = "perf.data";
	if (!strcmp(record->output, "-"))
		return cli_usage_error(COMMAND, "a recording is not written to a pipe: name a file with -o");
	return 0;
}

/*
 * The output file is made when the program runs: one that cannot be started must leave the old file alone. That it can be
 * made is found out before.
 */
static int check_output(struct record *record)
{
	struct perch_error err;
	struct stat status;
	char *copy;
	int rc;

	if (!stat(record->output, &status) && S_ISCHR(status.st_mode))
		return 0;	/* /dev/null, for those who time the recorder */
	if (!stat(record->output, &status) && !S_ISREG(status.st_mode)) {
		perch_error_set(&err, EINVAL, PERCH_CAUSE_FILE, "'%s' is %s, not a file to write to", record->output,
				S_ISDIR(status.st_mode) ? "a folder" : "a block device, pipe or socket");
		perch_error_remedy(&err, "name another one with -o");
		return cli_error(COMMAND, &err);
	}
	copy = strdup(record->output);
	if (!copy)
		return CLI_EXIT_FAILURE;
	rc = access(dirname(copy), W_OK | X_OK) < 0 ? errno : 0;
	free(copy);
	if (!rc)
		return 0;
	perch_error_set(&err, rc, PERCH_CAUSE_FILE, "'%s' cannot be written: %s", record->output, strerror(rc));
	perch_error_remedy(&err, "name a file in a folder of yours with -o");
	return cli_error(COMMAND, &err);
}

/* Events on many threads and CPUs take many descriptors. The program has its own limits: it was forked before. */
static void raise_descriptor_limit(void)
{
	struct rlimit limit;

	if (!getrlimit(RLIMIT_NOFILE, &limit) && limit.rlim_cur < limit.rlim_max) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
}

static int open_writer(struct record *record)
{
	struct perch_file_event *events = calloc(record->events.nr, sizeof(*events));
	struct perch_error err;
	int rc;

	if (!events)
		return CLI_EXIT_FAILURE;
	for (size_t i = 0; i < record->events.nr; i++) {
		const struct perch_attr *attr;

		attr = perch_sampler_event(record->sampler, i, &events[i].name, &events[i].ids, &events[i].nr_ids);
		events[i].attr = *attr;
	}
	perch_layout_init(&record->layout, &events[0].attr);
	rc = perch_writer_open(&record->writer, record->output, events, record->events.nr, &err);
	free(events);
	return rc < 0 ? cli_error(COMMAND, &err) : 0;
}

/* Lets the program go. What fails here is told with the exit status a shell would give. */
static int release(struct record *record)
{
	struct perch_error err;
	int rc = cli_program_release(&record->program, &err);

	if (!rc)
		return 0;
	record->program_ended = true;
	cli_error(COMMAND, &err);
	return cli_program_exit_status(-rc);
}

static int begin(struct record *record)
{
	struct perch_error err;
	int status;

	if (record->program_argv && cli_program_start(&record->program, record->program_argv, &err) < 0) {
		record->program_ended = true;
		return cli_error(COMMAND, &err);
	}
	raise_descriptor_limit();
	status = record_open_sampler(record);
	if (status)
		return status;
	if (record_prepare_loop(record) < 0 || record_block_signals(record) < 0)
		return cli_error(COMMAND, &record->err);
	if (record->system_wide || record->threads) {
		int rc = perch_sampler_enable(record->sampler);

		if (rc < 0) {
			perch_error_set(&err, -rc, PERCH_CAUSE_SYSTEM, "cannot start the events: %s", strerror(-rc));
			return cli_error(COMMAND, &err);
		}
	}
	if (record->program_argv) {
		status = release(record);
		if (status)
			return status;
	}
	if (!record->quiet)
		record_tell_choices(record);
	return open_writer(record);
}

/*
 * A program still running when a signal has ended the recording was sent that signal too, by the terminal or by us. It has
 * a moment to end by itself; then it is told to, as perf does. When it was the file that failed, the program is let be.
 */
static void end_program(struct record *record)
{
	struct timespec moment = { 0, 20000000 };
	sigset_t none;

	if (record->program.pid <= 0 || record->program_ended)
		return;
	if (record->program.go >= 0) {
		cli_program_cancel(&record->program);
		return;
	}
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);	/* the file is whole: from here on a signal may end us at once */
	if (!record->ended_by) {
		cli_note(COMMAND, "the program goes on, unrecorded");
		cli_program_wait(&record->program, 0, &record->program_status, NULL);
		return;
	}
	for (int i = 0; i < 100; i++) {
		if (!cli_program_wait(&record->program, WNOHANG, &record->program_status, NULL))
			return;
		nanosleep(&moment, NULL);
	}
	kill(record->program.pid, SIGTERM);
	cli_program_wait(&record->program, 0, &record->program_status, NULL);
}

static int exit_status(const struct record *record, int status)
{
	if (status)
		return status;
	if (record->ended_by)
		return 128 + record->ended_by;
	return record->program_argv ? cli_program_status(record->program_status) : 0;
}

static int run(struct record *record)
{
	int status;

	status = check_output(record);
	if (!status)
		status = record_choose_target(record);
	if (!status)
		status = record_choose_rate(record);
	if (!status)
		status = record_choose_events(record);
	if (!status)
		status = begin(record);
	if (!record->writer) {
		/* the program may run already, when the file could not be made after all */
		if (record->program.pid > 0 && !record->program_ended && record->program.go < 0) {
			kill(record->program.pid, SIGTERM);
			record->ended_by = SIGTERM;
		}
		end_program(record);
		return status;
	}
	if (record_synthesize(record) < 0 || record_loop(record) < 0)
		status = cli_error(COMMAND, &record->err);
	if (record_finish(record))
		status = CLI_EXIT_FAILURE;
	end_program(record);
	return exit_status(record, status);
}

static void clear(struct record *record)
{
	perch_sampler_close(record->sampler);
	perch_events_clear(&record->events);
	perch_cpus_clear(&record->cpus);
	perch_machine_free(record->machine);
	record_clear_names(&record->binaries);
	if (record->signals >= 0)
		close(record->signals);
	free(record->threads);
	free(record->pieces);
	free(record->bytes);
	free(record->polls);
	free(record);
}

int perch_cmd_record(int argc, char **argv)
{
	struct record *record = calloc(1, sizeof(*record));
	struct perch_error err;
	int first, status;

	if (!record)
		return CLI_EXIT_FAILURE;
	record->signals = record->program.go = -1;
	record->argc = argc;
	record->argv = argv;
	if (perch_machine_new(&record->machine, NULL, NULL, &err) < 0) {
		free(record);
		return cli_error(COMMAND, &err);
	}
	first = parse(record, argc, argv);
	if (first < argc)
		record->program_argv = argv + first;
	status = check(record);
	if (!status)
		status = run(record);
	clear(record);
	return status;
}
