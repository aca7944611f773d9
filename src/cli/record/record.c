/* SPDX-License-Identifier: MIT */
/* perch record: samples a program, processes or CPUs into a perf.data file. */
#include <errno.h>
#include <libgen.h>
#include <limits.h>
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
#include "program/seccomp_kill.h"
#include "program/signals.h"

#define EXIT_POLLS   100 /* of a program that got a signal */
#define EXIT_POLL_NS 20000000

/*
 * The file is created only after the program was started, so that a program that cannot be started
 * does not replace an old file. Whether the file can be created is checked before.
 */
static int check_output(const struct record_options *options)
{
	const char *output = options->output;
	struct perch_error err;
	struct stat status;
	bool exists = !stat(output, &status);
	char *copy;
	int rc;

	if (exists && S_ISCHR(status.st_mode))
		return 0; /* /dev/null, for benchmarks */
	if (exists && !S_ISREG(status.st_mode) &&
	    !(S_ISDIR(status.st_mode) && perch_is_recording(output))) {
		perch_error_set(
			&err, EINVAL, PERCH_ERROR_FILE, "'%s' is %s, not a regular file", output,
			S_ISDIR(status.st_mode) ? "a directory" : "a block device, pipe or socket");
		perch_error_remedy(&err, "name another file with -o");
		return cli_error(options->command, &err);
	}
	copy = strdup(output);
	if (!copy)
		return cli_no_memory(options->command);
	rc = access(dirname(copy), W_OK | X_OK) < 0 ? errno : 0;
	free(copy);
	if (!rc)
		return 0;
	perch_error_set(&err, rc, PERCH_ERROR_FILE, "'%s' cannot be written: %s", output,
			strerror(rc));
	perch_error_remedy(&err, "with -o, name a file in a directory that you may write to");
	return cli_error(options->command, &err);
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
	int rc = perch_program_release(&record->program, &err);

	if (!rc)
		return 0;
	record->program_ended = true;
	if (rc == -ENOENT && record_has_mode(record->options) &&
	    is_call_graph_mode(record->options->program_argv[0]))
		perch_error_remedy(&err, "-g takes no mode: use --call-graph %s",
				   record->options->program_argv[0]);
	cli_error(record->options->command, &err);
	return cli_program_exit_status(-rc);
}

static int prepare_loop(struct record *record)
{
	struct perch_sampler *off_cpu = perch_recorder_off_cpu_sampler(record->recorder);

	record->sampler = perch_recorder_sampler(record->recorder);
	record->recorder_fd = perch_recorder_fd(record->recorder, &record->err);
	record->off_cpu_fd = off_cpu ? perch_sampler_fd(off_cpu, &record->err) : -1;
	record->trigger_fd = record->trigger ? perch_sampler_fd(record->trigger, &record->err) : -1;
	if (record->trigger && record->trigger_fd < 0)
		return record->trigger_fd;
	if (record->recorder_fd < 0 || (off_cpu && record->off_cpu_fd < 0))
		return record->recorder_fd < 0 ? record->recorder_fd : record->off_cpu_fd;
	return record_block_signals(record);
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
	return cli_error(options->command, &err);
}

/* Opens the file and writes what runs. If it is open, a failure is one of the recording. */
static int start(struct record *record)
{
	struct perch_recorder_stats stats;
	int rc = perch_recorder_start(record->recorder, &record->err);

	perch_recorder_get_stats(record->recorder, &stats);
	if (rc < 0 && !stats.open && !record->options->overwrite)
		return cli_error(record->options->command, &record->err);
	record_print_lacking(record->recorder, record->options);
	record_print_off_cpu_rights(record);
	record->failed = rc < 0;
	return 0;
}

/* Opens the events, starts the program, and opens the file. --overwrite opens no file before a
 * snapshot. */
static int begin(struct record *record, struct record_plan *plan)
{
	const struct record_options *options = record->options;
	struct perch_error err;
	int status;

	if (options->program_argv &&
	    cli_program_start(&record->program, options->program_argv,
			      record_to_pipe(options) ? cli_program_leave_stdout : NULL, NULL,
			      &err) < 0) {
		record->program_ended = true;
		return cli_error(record->options->command, &err);
	}
	if (record_to_pipe(options))
		cli_survive_closed_pipe(); /* after the fork: the program gets SIGPIPE */
	cli_ignore_file_limit(); /* the file then has the records that fit, as on a full disk */
	record_block_switch_signal(options);
	record_raise_descriptor_limit();
	status = record_open(&record->recorder, plan, options, record->program.pid);
	if (!status)
		status = record_open_trigger(&record->trigger, plan, options, record->program.pid);
	if (status)
		return status;
	if (prepare_loop(record) < 0)
		return cli_error(record->options->command, &record->err);
	status = set_priority(options);
	if (status)
		return status;
	if (perch_recorder_prepare(record->recorder, &err) < 0)
		return cli_error(record->options->command, &err);
	clock_gettime(CLOCK_MONOTONIC, &record->start);
	status = options->program_argv ? release_program(record) : 0;
	if (status)
		return status;
	if (!options->quiet)
		record_print_plan(plan, options);
	return start(record);
}

/* Waits until the program ends. If probes are to be removed, signals do not end the recorder, but
 * this. */
static void wait_for_program(struct record *record)
{
	int number = cli_program_wait_or_signal(&record->program,
						cli_signals_are_held() ? record->signals : -1,
						&record->program_status, &record->program_usage);

	if (number > 0 && !record->ended_by)
		record->ended_by = number;
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
	if (record->program.waits) {
		perch_program_cancel(&record->program);
		return;
	}
	sigemptyset(&none);
	/* the file is complete, so a signal may end the recorder from here on */
	if (!cli_signals_are_held())
		sigprocmask(SIG_SETMASK, &none, NULL);
	if (!record->ended_by && !record->full) {
		cli_note(record->options->command, "the program continues without being recorded");
		wait_for_program(record);
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
	wait_for_program(record);
}

static int exit_status(const struct record *record, int status)
{
	if (status)
		return status;
	if (record->ended_by)
		return 128 + record->ended_by;
	/* perch has sent it */
	if (record->stopped && WIFSIGNALED(record->program_status) &&
	    WTERMSIG(record->program_status) == SIGTERM)
		return 0;
	return record->options->program_argv ? cli_program_status(record->program_status) : 0;
}

static int run_record(struct record *record, struct record_plan *plan)
{
	int status = begin(record, plan);

	if (status) {
		/* writing may have failed after the program was started */
		if (record->program.pid > 0 && !record->program_ended && !record->program.waits) {
			kill(record->program.pid, SIGTERM);
			record->ended_by = SIGTERM;
		}
		end_program(record);
		return status;
	}
	if (record->failed || record_loop(record) < 0) {
		status = cli_error(record->options->command, &record->err);
		record->failed = true;
		perch_recorder_stop(record->recorder, NULL);
	}
	if (record_end(record) || record->wait_failed)
		status = CLI_EXIT_FAILURE;
	end_program(record);
	if (record->options->program_argv && !record->options->quiet && !record->ended_by &&
	    !record->full)
		cli_program_note_signal(record->options->command, record->options->program_argv[0],
					record->program_status);
	if (!status)
		record_fill_cache(record);
	return exit_status(record, status);
}

static void clear_record(struct record *record)
{
	perch_recorder_close(record->recorder);
	perch_sampler_close(record->trigger);
	cli_control_close(&record->control);
	if (record->signals >= 0)
		close(record->signals);
}

static int run_command(struct record_options *options)
{
	struct record *record = calloc(1, sizeof(*record));
	struct record_plan plan = { 0 };
	int status;

	if (!record)
		return cli_no_memory(options->command);
	record->options = options;
	record->plan = &plan;
	record->signals = -1;
	status = record_to_pipe(options) ? 0 : check_output(options);
	if (!status && !(options->command_line = cli_command_line(options->argc, options->argv)))
		status = cli_no_memory(options->command);
	if (!status)
		status = record_make_plan(&plan, options);
	if (!status)
		status = cli_control_open(&record->control, options->command, options->control);
	if (!status)
		status = run_record(record, &plan);
	clear_record(record);
	record_clear_plan(&plan);
	free(record);
	return status;
}

/* The plan, and what its samples would cost. The events are opened for this thread alone. */
static int check_plan(struct record_options *options)
{
	struct perch_recorder *recorder = NULL;
	struct record_plan plan = { 0 };
	int status = record_make_plan(&plan, options);

	if (!status)
		status = record_check_cost(&recorder, &plan, options);
	perch_recorder_close(recorder);
	record_clear_plan(&plan);
	return status;
}

/* The word before the command line becomes its first one, and -a the second one. */
static void choose_all_cpus(struct record_options *options)
{
	static char option[] = "-a";

	if (options->target.all_cpus)
		return;
	options->target.all_cpus = true;
	options->argv[0] = option;
	options->argv--;
	options->argc++;
}

/* Returns 0, or the exit status after an error. record_clear_options() frees the options. */
static int parse_arguments(struct record_options *options, struct cli_shown_calls *shown)
{
	struct perch_error err;
	int first, status = record_set_defaults(options);

	if (status)
		return status;
	cli_show_calls(shown, &options->verbose);
	if (perch_machine_new(&options->events.machine, NULL, &shown->calls, &err) < 0)
		return cli_error(options->command, &err);
	/* the user waits for one complete answer */
	perch_machine_set_probing(options->events.machine, true);
	cli_use_debug_info(options->events.machine);
	first = record_parse(options, options->argc, options->argv);
	if (first < options->argc)
		options->program_argv = options->argv + first;
	return 0;
}

static void clear_arguments(struct record_options *options)
{
	record_clear_options(options);
	perch_machine_free(options->events.machine);
}

static int parse_and_run(int argc, char **argv, bool all_cpus, record_more *more, void *context)
{
	struct record_options options = { .command = argv[0], .argc = argc, .argv = argv };
	struct cli_shown_calls shown;
	int status = parse_arguments(&options, &shown);

	if (status)
		return status;
	/* the default of some commands */
	if (all_cpus && !cli_target_has_tasks(&options.target) && !options.target.cpu_list)
		choose_all_cpus(&options);
	status = record_check(&options);
	if (!status)
		status = cli_check_filter(options.command, options.events.machine);
	if (!status && more && !options.dry_run)
		status = more(&options, context);
	if (!status)
		status = options.dry_run ? check_plan(&options) : run_command(&options);
	clear_arguments(&options);
	return status;
}

int record_run(int argc, char **argv, record_more *more, void *context)
{
	return parse_and_run(argc, argv, false, more, context);
}

int perch_cmd_record(int argc, char **argv)
{
	return record_run(argc, argv, NULL, NULL);
}

int perch_cmd_record_all_cpus(int argc, char **argv)
{
	argv[1] = argv[0];
	return parse_and_run(argc - 1, argv + 1, true, NULL, NULL);
}

int perch_cmd_record_events(int argc, char **argv, size_t *nr)
{
	struct record_options options = { .command = argv[0], .argc = argc, .argv = argv };
	struct cli_shown_calls shown;
	int status = parse_arguments(&options, &shown);

	*nr = options.events.list.nr;
	if (!status)
		clear_arguments(&options);
	return status;
}
