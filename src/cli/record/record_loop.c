/* SPDX-License-Identifier: MIT */
/* Waits for data, signals and times while perch record runs. */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/kernel/recorded_process.h"
#include "record.h"

/* In the first second more often, so that the files of programs that end soon are found while they
 * run. */
#define FIRST_MS       1000
#define FIRST_FLUSH_MS 100

/* Called early, so that a SIGUSR2 before the loop does not end the recorder. */
void record_block_switch_signal(const struct record_options *options)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	if (options->switch_by)
		sigprocmask(SIG_BLOCK, &set, NULL);
	else
		/* as in perf: a script may send it to all recorders */
		signal(SIGUSR2, SIG_IGN);
}

int record_block_signals(struct record *record)
{
	struct sigaction hang_up;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGQUIT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGCHLD);
	if (record->options->switch_by)
		sigaddset(&set, SIGUSR2);
	/* after nohup(1) SIGHUP is ignored, and the recording continues */
	if (!sigaction(SIGHUP, NULL, &hang_up) && hang_up.sa_handler != SIG_IGN)
		sigaddset(&set, SIGHUP);
	signal(SIGCHLD, SIG_DFL);
	if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
		return perch_error_set(&record->err, errno, PERCH_ERROR_SYSTEM,
				       "cannot block signals, which would end the recorder before "
				       "the file is whole: %s",
				       strerror(errno));
	record->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (record->signals < 0)
		return perch_error_set(&record->err, errno, PERCH_ERROR_SYSTEM,
				       "cannot create a file descriptor for signals: %s",
				       strerror(errno));
	return 0;
}

/* The file gets what was recorded up to here. */
static void end_by_failed_wait(struct record *record, const char *what, int error)
{
	struct perch_error err;

	perch_error_set(&err, error, PERCH_ERROR_SYSTEM,
			"the recording ends: cannot wait for %s: %s", what, strerror(error));
	perch_error_remedy(&err, "a filter of system calls (seccomp) may refuse it: allow poll(2) "
				 "and wait4(2) where it is set");
	cli_error(record->options->command, &err);
	record->wait_failed = true;
}

/* Returns true if the program has ended, or if this can never be known. */
static bool take_end_of_program(struct record *record)
{
	int rc = cli_program_wait(&record->program, WNOHANG, &record->program_status,
				  &record->program_usage);

	if (rc < 0 && rc != -EINTR)
		end_by_failed_wait(record, "the program (wait4)", -rc);
	return !rc || record->wait_failed;
}

/* The terminal sends its signals to the program too. A signal that another process sent only to the
 * recorder is forwarded. */
static void take_signal(struct record *record, const struct signalfd_siginfo *info)
{
	bool runs = record->program.pid > 0 && !record->program_ended;

	if (info->ssi_signo == SIGCHLD) {
		if (runs)
			record->program_ended = take_end_of_program(record);
		return;
	}
	if (info->ssi_signo == SIGUSR2) {
		record->switch_requested = true;
		return;
	}
	if (!record->ended_by)
		record->ended_by = (int)info->ssi_signo;
	if (runs && info->ssi_code <= 0)
		kill(record->program.pid, (int)info->ssi_signo);
}

/* Returns true if the recording ends. */
static bool take_signals(struct record *record)
{
	struct signalfd_siginfo info;

	while (read(record->signals, &info, sizeof(info)) == sizeof(info))
		take_signal(record, &info);
	return record->ended_by || record->program_ended;
}

static int64_t ms_since_start(const struct record *record)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)(now.tv_sec - record->start.tv_sec) * 1000 +
	       (now.tv_nsec - record->start.tv_nsec) / 1000000;
}

/*
 * Enables and disables the events at the times of -D. Returns the milliseconds until the next of
 * these times, at most until the next round is due.
 */
static int switch_windows(struct record *record)
{
	const struct record_options *options = record->options;
	int flush = ms_since_start(record) < FIRST_MS ? FIRST_FLUSH_MS : PERCH_RECORDER_WRITE_MS;

	while (record->next_window_time < options->nr_window_times) {
		int64_t left =
			options->window_ms[record->next_window_time] - ms_since_start(record);

		if (left > 0)
			return left < flush ? (int)left : flush;
		if (record->next_window_time % 2)
			perch_recorder_disable(record->recorder, NULL);
		else
			perch_recorder_enable(record->recorder, NULL);
		record->next_window_time++;
	}
	return flush;
}

/* Returns true if the file has reached --max-size. */
static bool is_full(struct record *record)
{
	const struct record_options *options = record->options;

	if (!options->max_bytes || perch_recorder_file_size(record->recorder) < options->max_bytes)
		return false;
	if (!options->quiet)
		cli_note(record->options->command,
			 "the recording ends: the file has reached --max-size");
	record->full = true;
	return true;
}

/*
 * All events have ended. If their task runs, the kernel has removed them: it does so at the
 * execve(2) of a program that changes the user or that the user may not read.
 */
static void find_removed_events(struct record *record)
{
	const struct record_plan *plan = record->plan;

	if (record->program.pid > 0 && !record->program_ended && !record->without_events &&
	    plan->program_only && perch__task_runs((unsigned)record->program.pid))
		record->without_events = record->program.pid;
	for (size_t i = 0; i < plan->nr_threads && !record->without_events; i++)
		if (perch__task_runs((unsigned)plan->threads[i]))
			record->without_events = plan->threads[i];
}

static int ignore_records(void *context, size_t ring, const struct iovec *pieces, int nr)
{
	(void)context, (void)ring, (void)pieces, (void)nr;
	return 0;
}

/* True if an event of --switch-output-event has occurred: only samples wake its reader. */
static bool take_trigger(struct record *record)
{
	return perch_sampler_drain(record->trigger, ignore_records, NULL, NULL) > 0;
}

/* *sleep_ms becomes at most the time until it is time for another file. */
static bool switch_due(const struct record *record, int *sleep_ms)
{
	return perch_recorder_file_due(record->recorder, sleep_ms) || record->switch_requested;
}

/*
 * Waits for data or a signal. Returns false if the recording ends. SIGCHLD reports the exit of the
 * program, the sampler that of other targets.
 */
static bool wait_for_data(struct record *record)
{
	struct pollfd polls[] = { { record->signals, POLLIN, 0 },
				  { record->recorder_fd, POLLIN, 0 },
				  { record->off_cpu_fd, POLLIN, 0 },
				  { cli_control_fd(&record->control), POLLIN, 0 },
				  { record->trigger_fd, POLLIN, 0 } };
	bool no_events = perch_recorder_ended(record->recorder);
	bool ended = no_events && !record->options->program_argv;
	int sleep_ms, nr;

	if (no_events)
		find_removed_events(record);
	if (ended || is_full(record))
		return false;
	sleep_ms = switch_windows(record);
	if (switch_due(record, &sleep_ms))
		sleep_ms = 0;
	nr = poll(polls, CLI_NR(polls), sleep_ms);
	if (nr < 0 && errno != EINTR) {
		end_by_failed_wait(record, "samples and signals (poll)", errno);
		return false;
	}
	record->wakeups += nr > 0;
	record->has_commands = nr > 0 && polls[3].revents;
	if (nr > 0 && polls[4].revents)
		record->switch_requested |= take_trigger(record);
	return !(polls[0].revents && take_signals(record));
}

static void print_wakeups(struct record *record, const char *before, const char *after)
{
	if (!record->options->quiet)
		fprintf(stderr, "[ perch record: %s %" PRIu64 " %s ]\n", before, record->wakeups,
			after);
	record->wakeups = 0;
}

/* Prints the numbers of a file that has ended. */
static void report_samples(struct record *record)
{
	struct perch_recorder_stats stats;

	perch_recorder_get_stats(record->recorder, &stats);
	record->only_overwritten = !stats.samples && stats.overwritten;
	if (!record->options->quiet)
		record_print_samples(record);
}

/* Ends the file, or writes a snapshot. */
static int end_file(struct record *record)
{
	const struct record_options *options = record->options;
	int rc = perch_recorder_end_file(record->recorder, &record->err);

	if (rc < 0)
		return rc;
	if (options->switch_by && !options->quiet)
		record_print_dump(record);
	if (options->switch_by || options->overwrite)
		report_samples(record);
	return 0;
}

/*
 * If a snapshot cannot be written, the recording continues: the next one may succeed when the disk
 * has space again. A recording into several files ends, because records would be missing.
 */
static int switch_file(struct record *record)
{
	int rc;

	record->switch_requested = false;
	print_wakeups(record, "dump data: Woken up", "times");
	rc = end_file(record);
	if (rc >= 0) {
		if (!record->options->quiet)
			record_print_warnings(record);
		return perch_recorder_next_file(record->recorder, &record->err);
	}
	if (!record->options->overwrite)
		return rc;
	cli_error(record->options->command, &record->err);
	record->failed = true;
	return 0;
}

/* ---- --control ---- */

static int write_snapshot(struct record *record, struct perch_error *err)
{
	bool failed = record->failed;
	int rc;

	if (!record->options->switch_by)
		return perch_error_set(err, EINVAL, PERCH_ERROR_USAGE,
				       "snapshot needs --switch-output");
	rc = switch_file(record);
	if (rc >= 0 && record->failed && !failed)
		rc = -EIO;
	if (rc < 0)
		*err = record->err;
	record->snapshot_rc = record->options->overwrite ? 0 : rc;
	return rc;
}

static int carry_out(void *context, const struct perch_channel_request *request,
		     struct perch_error *err)
{
	struct record *record = context;
	const struct perch_file_event *events;
	size_t nr;

	switch (request->command) {
	case PERCH_CHANNEL_EVLIST:
		nr = perch_recorder_events(record->recorder, &events);
		cli_control_list(request, events, nr);
		return 0;
	case PERCH_CHANNEL_SNAPSHOT:
		return write_snapshot(record, err);
	case PERCH_CHANNEL_STOP:
		record->stopped = record->full = true;
		return 0;
	default:
		return perch_recorder_control(record->recorder, request, err);
	}
}

/* Returns 0, or a negative errno that ends the recording. */
static int take_commands(struct record *record)
{
	if (record->has_commands)
		cli_control_read(&record->control, carry_out, record);
	return record->snapshot_rc;
}

int record_loop(struct record *record)
{
	ssize_t rc = 0;

	while (rc >= 0 && !record->stopped && wait_for_data(record)) {
		int sleep_ms = PERCH_RECORDER_WRITE_MS;

		rc = perch_recorder_write(record->recorder, &record->err);
		if (rc >= 0 && switch_due(record, &sleep_ms))
			rc = switch_file(record);
		if (rc >= 0)
			rc = take_commands(record);
	}
	return rc < 0 ? (int)rc : perch_recorder_stop(record->recorder, &record->err);
}

int record_end(struct record *record)
{
	const struct record_options *options = record->options;
	struct perch_recorder_stats stats;
	int rc;

	perch_recorder_get_stats(record->recorder, &stats);
	if (!options->overwrite && !stats.open)
		return CLI_EXIT_FAILURE;
	print_wakeups(record, "Woken up", "times to write data");
	rc = end_file(record);
	if (rc < 0 && record->failed && !options->overwrite)
		cli_note(record->options->command,
			 "the machine, the command line and the build ids could not "
			 "be written either");
	else if (rc < 0)
		cli_error(record->options->command, &record->err);
	if (rc < 0 && options->overwrite)
		return CLI_EXIT_FAILURE; /* there is no file to report about */
	if (!options->quiet) {
		record_print_warnings(record);
		record_print_missing(record);
		record_print_file(record);
	}
	return rc < 0 || record->failed ? CLI_EXIT_FAILURE : 0;
}
