/* SPDX-License-Identifier: MIT */
/* perch record: samples a program, processes or CPUs into a perf.data file. */
#include <errno.h>
#include <libgen.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <perch/symbol.h>

#include "attr_print.h"
#include "output_file.h"
#include "record.h"
#include "seccomp_kill.h"

#define EXIT_POLLS   100 /* of a program that got a signal */
#define EXIT_POLL_NS 20000000

/*
 * The file is created only after the program was started, so that a program that cannot be started
 * does not replace an old file. Whether the file can be created is checked before.
 */
static int check_output(const char *output)
{
	struct perch_error err;
	struct stat status;
	bool exists = !stat(output, &status);
	char *copy;
	int rc;

	if (exists && S_ISCHR(status.st_mode))
		return 0; /* /dev/null, for benchmarks */
	if (exists && !S_ISREG(status.st_mode)) {
		perch_error_set(
			&err, EINVAL, PERCH_ERROR_FILE, "'%s' is %s, not a regular file", output,
			S_ISDIR(status.st_mode) ? "a directory" : "a block device, pipe or socket");
		perch_error_remedy(&err, "name another file with -o");
		return cli_error(RECORD_COMMAND, &err);
	}
	copy = strdup(output);
	if (!copy)
		return cli_no_memory(RECORD_COMMAND);
	rc = access(dirname(copy), W_OK | X_OK) < 0 ? errno : 0;
	free(copy);
	if (!rc)
		return 0;
	perch_error_set(&err, rc, PERCH_ERROR_FILE, "'%s' cannot be written: %s", output,
			strerror(rc));
	perch_error_remedy(&err, "with -o, name a file in a directory that you may write to");
	return cli_error(RECORD_COMMAND, &err);
}

/* As in perf, -g takes no mode: the word after it is the program. */
static bool is_call_graph_mode(const char *word)
{
	return !strcmp(word, "fp") || !strcmp(word, "fp,defer") || !strcmp(word, "lbr") ||
	       !strcmp(word, "no") || !strncmp(word, "dwarf", strlen("dwarf"));
}

/* Starts the program. The exit status after a failure is that of a shell. */
static int release_program(struct record *record)
{
	struct perch_error err;
	int rc = cli_program_release(&record->program, &err);

	if (!rc)
		return 0;
	record->program_ended = true;
	if (rc == -ENOENT && record->options->call_graph != PERCH_CALL_GRAPH_UNSET &&
	    is_call_graph_mode(record->options->program_argv[0]))
		perch_error_remedy(&err, "-g takes no mode: use --call-graph %s",
				   record->options->program_argv[0]);
	cli_error(RECORD_COMMAND, &err);
	return cli_program_exit_status(-rc);
}

static int prepare_loop(struct record *record)
{
	const struct record_options *options = record->options;
	size_t backward_events = options->overwrite ? record->plan->events.nr : 0;

	if (perch__recorder_rings_init(&record->rings, record->sampler, backward_events) < 0)
		return perch_error_set(&record->err, ENOMEM, PERCH_ERROR_NO_MEMORY,
				       "no memory to record with");
	record->sampler_fd = perch_sampler_fd(record->sampler, &record->err);
	return record->sampler_fd < 0 ? record->sampler_fd : record_block_signals(record);
}

/* -r: the program has been forked, so it keeps its priority. */
static int set_priority(const struct record_options *options)
{
	const struct sched_param param = { .sched_priority = options->realtime };
	struct rlimit limit = { 0 };
	char current[24] = "unlimited";
	struct perch_error err;
	int error;

	if (!options->realtime || !sched_setscheduler(0, SCHED_FIFO, &param))
		return 0;
	error = errno;
	getrlimit(RLIMIT_RTPRIO, &limit);
	if (limit.rlim_cur != RLIM_INFINITY)
		snprintf(current, sizeof(current), "%llu", (unsigned long long)limit.rlim_cur);
	perch_error_set(&err, error, PERCH_ERROR_USAGE,
			"-r %d: the kernel refuses this priority: %s", options->realtime,
			strerror(error));
	if (error == EPERM)
		perch_error_remedy(&err,
				   "it needs CAP_SYS_NICE, or RLIMIT_RTPRIO >= %d (currently %s), "
				   "and a cgroup with real-time bandwidth",
				   options->realtime, current);
	return cli_error(RECORD_COMMAND, &err);
}

/* In the program: standard output is the recording, so the program writes to stderr, as in perf. */
static void leave_stdout(void *context)
{
	(void)context;
	dup2(STDERR_FILENO, STDOUT_FILENO);
}

/* Opens the events, starts the program, and opens the file. --overwrite opens no file before a
 * snapshot. */
static int begin(struct record *record, struct record_plan *plan)
{
	const struct record_options *options = record->options;
	struct perch_error err;
	int status;

	if (options->program_argv &&
	    cli_program_start_prepared(&record->program, options->program_argv,
				       record_to_pipe(options) ? leave_stdout : NULL, NULL,
				       &err) < 0) {
		record->program_ended = true;
		return cli_error(RECORD_COMMAND, &err);
	}
	if (record_to_pipe(options))
		cli_survive_closed_pipe(); /* after the fork: the program gets SIGPIPE */
	cli_ignore_file_limit(); /* the file then has the records that fit, as on a full disk */
	record_block_switch_signal(options);
	record_raise_descriptor_limit();
	status = record_open_sampler(&record->sampler, plan, options, record->program.pid);
	if (status)
		return status;
	if (prepare_loop(record) < 0 || record_prepare_files(record) < 0)
		return cli_error(RECORD_COMMAND, &record->err);
	status = set_priority(options);
	if (status)
		return status;
	/* without memory, records have device and inode */
	if (plan->map_ids == RECORD_IDS_OF_RECORDER)
		perch__recorder_ids_begin(&record->scan.ids);
	record_synthesize_early(record);
	if ((plan->system_wide || plan->threads) && !options->delayed &&
	    perch_sampler_enable(record->sampler, &err) < 0)
		return cli_error(RECORD_COMMAND, &err);
	clock_gettime(CLOCK_MONOTONIC, &record->start);
	if (record_fills_cache(options))
		perch__recorder_pinned_begin(&record->scan.pinned, !plan->system_wide);
	status = options->program_argv ? release_program(record) : 0;
	if (status)
		return status;
	if (!options->quiet)
		record_print_plan(plan, options);
	if (!options->overwrite && record_open_file(record, options->output) < 0)
		return cli_error(RECORD_COMMAND, &record->err);
	return 0;
}

/*
 * A program that still runs after a signal has ended the recording has got that signal too, from
 * the terminal or from the loop. It has two seconds to end; then, or when it ignores the signal, it
 * gets SIGTERM, as perf does. If writing the file failed, the program gets no signal.
 */
static void end_program(struct record *record)
{
	struct timespec poll_time = { 0, EXIT_POLL_NS };
	bool ignored;
	sigset_t none;

	if (record->program.pid <= 0 || record->program_ended)
		return;
	if (record->program.go >= 0) {
		cli_program_cancel(&record->program);
		return;
	}
	sigemptyset(&none);
	/* the file is complete, so a signal may end the recorder from here on */
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (!record->ended_by && !record->full) {
		cli_note(RECORD_COMMAND, "the program continues without being recorded");
		cli_program_wait(&record->program, 0, &record->program_status,
				 &record->program_usage);
		return;
	}
	ignored = record->ended_by && cli_program_ignores(&record->program, record->ended_by);
	if (record->full && !record->ended_by)
		kill(record->program.pid, SIGTERM);
	for (int i = 0; i < (ignored ? 0 : EXIT_POLLS); i++) {
		if (!cli_program_wait(&record->program, WNOHANG, &record->program_status,
				      &record->program_usage))
			return;
		nanosleep(&poll_time, NULL);
	}
	kill(record->program.pid, SIGTERM);
	cli_program_wait(&record->program, 0, &record->program_status, &record->program_usage);
}

static int exit_status(const struct record *record, int status)
{
	if (status)
		return status;
	if (record->ended_by)
		return 128 + record->ended_by;
	return record->options->program_argv ? cli_program_status(record->program_status) : 0;
}

static int run(struct record *record, struct record_plan *plan)
{
	int status = begin(record, plan);

	if (status) {
		/* writing may have failed after the program was started */
		if (record->program.pid > 0 && !record->program_ended && record->program.go < 0) {
			kill(record->program.pid, SIGTERM);
			record->ended_by = SIGTERM;
		}
		end_program(record);
		return status;
	}
	if (record_synthesize(record) < 0 || record_loop(record) < 0) {
		status = cli_error(RECORD_COMMAND, &record->err);
		record->files.failed = true;
		perch_sampler_disable(record->sampler, NULL);
		perch__recorder_discard_round(&record->rings, &record->scan);
	}
	if (record_end_files(record) || record->wait_failed)
		status = CLI_EXIT_FAILURE;
	end_program(record);
	if (record->options->program_argv && !record->options->quiet && !record->ended_by &&
	    !record->full)
		cli_program_note_signal(RECORD_COMMAND, record->options->program_argv[0],
					record->program_status);
	if (!status)
		record_fill_cache(record);
	return exit_status(record, status);
}

static void clear(struct record *record)
{
	perch_sampler_close(record->sampler);
	if (record->signals >= 0)
		close(record->signals);
	perch__recorder_rings_clear(&record->rings);
	perch__recorder_scan_clear(&record->scan);
	perch__recorder_sideband_clear(&record->sideband);
	free(record->early.bytes);
	perch__recorder_lost_clear(&record->lost);
	record_clear_files(&record->files, record->options);
}

static int run_command(struct record_options *options)
{
	struct record *record = calloc(1, sizeof(*record));
	struct record_plan plan = { 0 };
	int status;

	if (!record)
		return cli_no_memory(RECORD_COMMAND);
	record->options = options;
	record->plan = &plan;
	record->signals = record->program.go = -1;
	status = record_to_pipe(options) ? 0 : check_output(options->output);
	if (!status)
		status = record_make_plan(&plan, options);
	if (!status)
		status = run(record, &plan);
	clear(record);
	record_clear_plan(&plan);
	free(record);
	return status;
}

int perch_cmd_record(int argc, char **argv)
{
	struct record_options options = { .argc = argc, .argv = argv };
	struct cli_shown_calls shown;
	struct perch_error err;
	int first, status;

	status = record_set_defaults(&options);
	if (status)
		return status;
	cli_show_calls(&shown, &options.verbose);
	if (perch_machine_new(&options.machine, NULL, &shown.calls, &err) < 0)
		return cli_error(RECORD_COMMAND, &err);
	/* the user waits for one complete answer */
	perch_machine_set_probing(options.machine, true);
	perch_machine_set_demangle(options.machine, perch_demangle);
	first = record_parse(&options, argc, argv);
	if (first < argc)
		options.program_argv = argv + first;
	status = record_check(&options);
	if (!status)
		status = cli_check_filter(RECORD_COMMAND, options.machine);
	if (!status && !options.dry_run)
		status = run_command(&options);
	record_clear_options(&options);
	perch_machine_free(options.machine);
	return status;
}
