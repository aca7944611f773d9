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

#include <perch/explain.h>

#include "record.h"

#define COMMAND "record"

/*
 * The output file is made when the program runs: one that cannot be started must leave the old file
 * alone. That it can be made is found out before.
 */
static int check_output(struct record *record)
{
	struct perch_error err;
	struct stat status;
	char *copy;
	int rc;

	if (!stat(record->output, &status) && S_ISCHR(status.st_mode))
		return 0; /* /dev/null, for those who time the recorder */
	if (!stat(record->output, &status) && !S_ISREG(status.st_mode)) {
		perch_error_set(&err, EINVAL, PERCH_ERROR_FILE,
				"'%s' is %s, not a file to write to", record->output,
				S_ISDIR(status.st_mode) ? "a folder"
							: "a block device, pipe or socket");
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
	perch_error_set(&err, rc, PERCH_ERROR_FILE, "'%s' cannot be written: %s", record->output,
			strerror(rc));
	perch_error_remedy(&err, "name a file in a folder of yours with -o");
	return cli_error(COMMAND, &err);
}

/* Events on many threads and CPUs take many descriptors. The program has its own limits: it was
 * forked before. */
static void raise_descriptor_limit(void)
{
	struct rlimit limit;

	if (!getrlimit(RLIMIT_NOFILE, &limit) && limit.rlim_cur < limit.rlim_max) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
}

static int open_files(struct record *record)
{
	if (record_prepare_files(record) < 0)
		return cli_error(COMMAND, &record->err);
	/* a flight recorder writes when it is asked */
	if (!record->overwrite && record_open_file(record, record->output) < 0)
		return cli_error(COMMAND, &record->err);
	return 0;
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

static int cannot_start(struct record *record, int errnum)
{
	struct perch_operation operation = { .kind = PERCH_OPERATION_IOCTL,
					     .errnum = errnum,
					     .cpu = -1,
					     .request = PERCH_IOC_ENABLE,
					     .other_fd = -1 };
	struct perch_explanation told;
	struct perch_error err;

	if (perch_explain_operation(&operation, record->machine, &told))
		perch_error_set(&err, errnum, PERCH_ERROR_SYSTEM, "%s", strerror(errnum));
	else
		perch_explanation_error(&told, &err);
	perch_error_prefix(&err, "the events cannot be started: ");
	return cli_error(COMMAND, &err);
}

static int begin(struct record *record)
{
	struct perch_error err;
	int status;

	if (record->program_argv &&
	    cli_program_start(&record->program, record->program_argv, &err) < 0) {
		record->program_ended = true;
		return cli_error(COMMAND, &err);
	}
	record_block_asking(record);
	raise_descriptor_limit();
	status = record_open_sampler(record);
	if (status)
		return status;
	if (record_prepare_loop(record) < 0 || record_block_signals(record) < 0)
		return cli_error(COMMAND, &record->err);
	if ((record->system_wide || record->threads) && !record->delayed) {
		int rc = perch_sampler_enable(record->sampler);

		if (rc < 0)
			return cannot_start(record, -rc);
	}
	clock_gettime(CLOCK_MONOTONIC, &record->start);
	if (record->program_argv) {
		status = release(record);
		if (status)
			return status;
	}
	if (!record->quiet)
		record_print_choices(record);
	return open_files(record);
}

/*
 * A program still running when a signal has ended the recording was sent that signal too, by the
 * terminal or by us. It has a moment to end by itself, unless it ignores it; then it is told to, as
 * perf does. When it was the file that failed, the program is let be.
 */
static void end_program(struct record *record)
{
	struct timespec moment = { 0, 20000000 };
	bool ignored;
	sigset_t none;

	if (record->program.pid <= 0 || record->program_ended)
		return;
	if (record->program.go >= 0) {
		cli_program_cancel(&record->program);
		return;
	}
	sigemptyset(&none);
	/* the file is whole: from here on a signal may end us at once */
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (!record->ended_by && !record->full) {
		cli_note(COMMAND, "the program goes on, unrecorded");
		cli_program_wait(&record->program, 0, &record->program_status, NULL);
		return;
	}
	ignored = record->ended_by && cli_program_ignores(&record->program, record->ended_by);
	if (record->full && !record->ended_by)
		kill(record->program.pid, SIGTERM);
	for (int i = 0; i < (ignored ? 0 : 100); i++) {
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
	if (status) {
		/* the program may run already, when the file could not be made after all */
		if (record->program.pid > 0 && !record->program_ended && record->program.go < 0) {
			kill(record->program.pid, SIGTERM);
			record->ended_by = SIGTERM;
		}
		end_program(record);
		return status;
	}
	if (record_synthesize(record) < 0 || record_loop(record) < 0) {
		status = cli_error(COMMAND, &record->err);
		record->failed = true;
	}
	if (record_end_files(record))
		status = CLI_EXIT_FAILURE;
	end_program(record);
	return exit_status(record, status);
}

static void clear(struct record *record)
{
	perch_sampler_close(record->sampler);
	record_clear_cgroups(record);
	perch_events_clear(&record->events);
	perch_cpus_clear(&record->cpus);
	perch_machine_free(record->machine);
	record_clear_names(&record->dsos);
	if (record->signals >= 0)
		close(record->signals);
	free(record->threads);
	free(record->pieces);
	free(record->bytes);
	free(record->polls);
	free(record->backward);
	record_clear_files(record);
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
	cli_show_calls(&record->shown, &record->verbose);
	if (perch_machine_new(&record->machine, NULL, &record->shown.calls, &err) < 0) {
		free(record);
		return cli_error(COMMAND, &err);
	}
	/* a user waits for the one answer */
	perch_machine_set_probing(record->machine, true);
	first = record_parse(record, argc, argv);
	if (first < argc)
		record->program_argv = argv + first;
	status = record_check(record);
	if (!status)
		status = run(record);
	clear(record);
	return status;
}
