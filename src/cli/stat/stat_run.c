/* SPDX-License-Identifier: MIT */
/* One run: opens the events, releases the program, waits and reads the counts. */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "event_options.h"
#include "stat.h"

#define MSEC 1000000ull

/* Raises the soft limit of descriptors to the hard limit. Returns false if it cannot be raised. */
static bool raise_descriptors(struct stat_job *stat)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur == limit.rlim_max)
		return false;
	stat->descriptors = limit.rlim_cur;
	limit.rlim_cur = limit.rlim_max;
	return setrlimit(RLIMIT_NOFILE, &limit) == 0;
}

/* Restores the soft limit, for the program of the next run. */
static void lower_descriptors(struct stat_job *stat)
{
	struct rlimit limit;

	if (!stat->descriptors || getrlimit(RLIMIT_NOFILE, &limit))
		return;
	limit.rlim_cur = stat->descriptors;
	setrlimit(RLIMIT_NOFILE, &limit);
}

static bool counts_program(const struct stat_job *stat)
{
	return stat->argv && !cli_target_has_tasks(&stat->options.target) &&
	       !cli_target_system_wide(&stat->options.target);
}

static int open_part(struct stat_job *stat, struct stat_part *part)
{
	const struct perch_options options = {
		.inherit = !stat->options.no_inherit && part->targets.target[0].tid >= 0 &&
			   !*part->cgroup,
		.enable_on_exec = counts_program(stat) && !stat->options.delay_ms,
		.exclude_kernel = stat->options.all_user,
		.exclude_hv = stat->options.all_user,
		.exclude_user = stat->options.all_kernel,
		.may = PERCH_MAY_SKIP_ALL | PERCH_MAY_EXCLUDE_KERNEL | PERCH_MAY_LOSE_TARGETS,
		.machine = stat->events.machine,
	};
	struct perch_error err;
	sigset_t before;
	int rc;

	if (counts_program(stat))
		part->targets.target[0].tid = stat->program.pid;
	/* a pending signal interrupts an open call for another process (EINTR) */
	stat_block_signals(&before);
	rc = perch_set_open(&part->set, &part->events, &part->targets, &options, &err);
	if (rc && err.errnum == EMFILE && raise_descriptors(stat))
		rc = perch_set_open(&part->set, &part->events, &part->targets, &options, &err);
	sigprocmask(SIG_SETMASK, &before, NULL);
	if (rc == -ESRCH && counts_program(stat) && stat_stop_signal())
		return 128 +
		       stat_stop_signal(); /* the signal has ended the program before its exec */
	return rc ? cli_open_error(STAT_COMMAND, &err) : 0;
}

static void close_parts(struct stat_job *stat)
{
	for (size_t i = 0; i < stat->nr_parts; i++) {
		perch_set_close(stat->part[i].set);
		stat->part[i].set = NULL;
	}
}

static double to_seconds(const struct timeval *time)
{
	return time->tv_sec + time->tv_usec / 1e6;
}

/*
 * Waits for the program. Reports a failed exec only now, because waiting for the exec earlier would
 * disturb the counts.
 */
static int reap_program(struct stat_job *stat)
{
	struct rusage usage = { 0 };
	struct perch_error err;
	int wait_status = 0;
	int lost, rc;

	lost = cli_program_wait(&stat->program, 0, &wait_status, &usage);
	stat_forward_signals_to(0);
	rc = perch_program_finish_release(&stat->program, &err);
	if (rc) {
		cli_error(STAT_COMMAND, &err);
		return cli_program_exit_status(-rc);
	}
	if (lost < 0) {
		cli_note(STAT_COMMAND, "cannot get the program's exit status: %s", strerror(-lost));
		return CLI_EXIT_FAILURE;
	}
	stat->status = cli_program_status(wait_status);
	if (stat->stopped_program && WIFSIGNALED(wait_status) && WTERMSIG(wait_status) == SIGTERM)
		stat->status = 0; /* perch sent the SIGTERM */
	else
		cli_program_note_signal(STAT_COMMAND, stat->argv[0], wait_status);
	stat->user_seconds = to_seconds(&usage.ru_utime);
	stat->sys_seconds = to_seconds(&usage.ru_stime);
	return 0;
}

static int start_program(struct stat_job *stat)
{
	struct perch_error err;
	bool to_pipe = stat->options.record && !strcmp(stat->options.recording_path, "-");
	int rc = cli_program_start(&stat->program, stat->argv,
				   to_pipe ? cli_program_leave_stdout : NULL, NULL, &err);

	if (rc)
		return cli_error(STAT_COMMAND, &err);
	stat_forward_signals_to(stat->program.pid);
	return 0;
}

static int read_counts(struct stat_job *stat, bool intervals)
{
	struct perch_error err;

	return stat_read_counts(stat, intervals, &err) ? cli_error(STAT_COMMAND, &err) : 0;
}

/* Prints the counts since the end of the last interval. */
static int print_interval_counts(struct stat_job *stat, uint64_t start_ns, uint64_t *last_ns)
{
	uint64_t now = stat_now_ns();
	int status;

	stat_clear_cells(stat);
	status = read_counts(stat, true);
	stat->interval_ns = now - start_ns;
	stat->wall_ns = now - *last_ns;
	*last_ns = now;
	if (!status && stat->recording)
		status = stat_record_round(stat, STAT_ROUND_INTERVAL, stat->interval_ns);
	return status ? status : stat_print(stat);
}

/* Returns the end of the next interval: the first multiple of the length that is in the future. */
static uint64_t next_end(uint64_t next_ns, uint64_t length_ns)
{
	uint64_t now = stat_now_ns();

	next_ns += length_ns;
	return next_ns > now ? next_ns : now + length_ns - (now - next_ns) % length_ns;
}

/* The start of counting, and the start of the current interval. */
struct interval {
	uint64_t start_ns, last_ns;
};

static int end_interval(struct stat_job *stat, void *context)
{
	struct interval *interval = context;

	return stat->options.interval_ms
		       ? print_interval_counts(stat, interval->start_ns, &interval->last_ns)
		       : 0;
}

/* Waits for the delay of -D. Returns false if counting ends before it has passed. */
static bool wait_delay(struct stat_job *stat, uint64_t until, int *status)
{
	while (!stat_wait(stat, until) && !stat_stop_signal() && !*status &&
	       !stat->stop_requested) {
		if (!stat_has_command())
			return true;
		*status = stat_read_control(stat, NULL, NULL);
	}
	return false;
}

/*
 * Waits for the end of the program, of all targets or of the time, or for a signal. Prints the
 * intervals.
 */
static int wait_for_end(struct stat_job *stat, uint64_t start_ns)
{
	struct interval interval = { start_ns, start_ns };
	uint64_t length_ns = stat->options.interval_ms * MSEC, shown = 0;
	uint64_t end = stat->options.timeout_ms ? start_ns + stat->options.timeout_ms * MSEC
						: UINT64_MAX;
	uint64_t next_ns = length_ns ? start_ns + length_ns : UINT64_MAX;
	bool ended, finished = false, stop = stat->stop_requested;
	int status = 0;

	while (!stop) {
		ended = stat_wait(stat, next_ns < end ? next_ns : end);
		stop = !ended && !stat_stop_signal() && stat_now_ns() >= end;
		if (ended || stat_stop_signal() || stat_wait_failed() || stop)
			break;
		if (stat_has_command()) {
			status = stat_read_control(stat, end_interval, &interval);
			stop = stat->stop_requested;
			if (status || stop)
				break;
			continue;
		}
		status = end_interval(stat, &interval);
		finished = stat->options.interval_count && ++shown >= stat->options.interval_count;
		if (status || finished)
			break;
		next_ns = next_end(next_ns, length_ns);
	}
	if (stat->argv && (stop || finished)) {
		stat->stopped_program = true;
		kill(stat->program.pid, SIGTERM);
	}
	if (stat->argv) {
		int reaped = reap_program(stat);

		status = status ? status : reaped;
	}
	if (length_ns && !finished && !status)
		status = end_interval(stat, &interval); /* the last, shorter one */
	return status;
}

static int add_time(struct stat_job *stat, uint64_t ns)
{
	size_t nr = stat->elapsed_ns.nr;

	perch__mean_add(&stat->elapsed_ns, ns);
	if (!stat->options.table)
		return 0;
	if (PERCH__ARRAY_RESERVE(stat->run_ns, stat->run_ns_capacity, nr + 1)) {
		cli_note(STAT_COMMAND, "no memory for the times of all runs");
		return CLI_EXIT_FAILURE;
	}
	stat->run_ns[nr] = ns;
	return 0;
}

static int wait_and_count(struct stat_job *stat, uint64_t start)
{
	int status = 0;

	if (stat->options.delay_ms > 0 &&
	    wait_delay(stat, start + stat->options.delay_ms * MSEC, &status)) {
		start = stat_now_ns();
		status = stat_for_each_set(stat, perch_set_enable);
	}
	if (!status && stat->argv && !stat->options.interval_ms && !stat->options.timeout_ms &&
	    !stat->options.control)
		status = reap_program(
			stat); /* one wait4: perch does not wake up while the program runs */
	else
		status = status ? status : wait_for_end(stat, start);
	return status ? status : add_time(stat, stat_now_ns() - start);
}

static int run_shell(const char *option, const char *command)
{
	int rc = command ? system(command) : 0;

	if (!rc)
		return 0;
	cli_note(STAT_COMMAND, "the command of %s failed: %s", option, command);
	return CLI_EXIT_FAILURE;
}

static int open_parts(struct stat_job *stat)
{
	int status = 0;

	for (size_t i = 0; !status && i < stat->nr_parts; i++)
		status = open_part(stat, &stat->part[i]);
	if (!status && !counts_program(stat) && !stat->options.delay_ms)
		status = stat_for_each_set(stat, perch_set_enable);
	return status;
}

static int prepare_counting(struct stat_job *stat)
{
	int status;

	/* stat_print_reasons() has read the sets of the last run, which were open until now */
	close_parts(stat);
	lower_descriptors(stat);
	if (stat->options.sync)
		sync();
	status = run_shell("--pre", stat->options.pre);
	if (!status && stat->argv)
		status = start_program(stat);
	return status;
}

int stat_run(struct stat_job *stat)
{
	uint64_t start;
	int status = prepare_counting(stat);

	if (status)
		return status;
	status = open_parts(stat);
	if (!status)
		/*
		 * done before the release: later, the explanation could be that the program has
		 * ended
		 */
		stat_describe_lines(stat);
	if (!status && stat->options.record)
		status = stat_record_open(stat);
	if (status && stat->argv) {
		stat_forward_signals_to(0);
		perch_program_cancel(&stat->program);
	}
	start = stat_now_ns();
	if (!status && stat->argv)
		perch_program_begin_release(&stat->program);
	if (!status)
		status = wait_and_count(stat, start);
	if (!status && !stat->options.interval_ms)
		status = read_counts(stat, false);
	stat->wall_ns = stat->elapsed_ns.mean;
	if (!status && !stat->options.interval_ms && stat->recording)
		status = stat_record_round(stat, STAT_ROUND_FINAL, (uint64_t)stat->wall_ns);
	if (!status && run_shell("--post", stat->options.post))
		stat->post_failed = true; /* the counts are valid */
	return status;
}
