/* SPDX-License-Identifier: MIT */
/* perch stat: counts events while a program runs. This file repeats runs and prints results. */
#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <perch/symbol.h>

#include "event_options.h"
#include "program/seccomp_kill.h"
#include "program/signals.h"
#include "stat.h"

static int output_error(const char *what, const char *path)
{
	struct perch_error err;
	int error = errno;

	perch_error_set(&err, error, PERCH_ERROR_FILE, "cannot write %s'%s': %s", what, path,
			strerror(error));
	return cli_error(STAT_COMMAND, &err);
}

/* True if others read the file while it grows, or if it has more than this output. */
static bool is_log(const struct stat_job *stat)
{
	return stat->options.interval_ms || stat->options.append || !stat->options.repeat;
}

/* Opens the output: a file, a descriptor, or stderr, because stdout belongs to the program. */
static int open_output(struct stat_job *stat)
{
	time_t now = time(NULL);
	struct perch_error err;
	char number[24];

	stat->output = stderr;
	if (stat->options.log_fd) {
		snprintf(number, sizeof(number), "%d", (int)stat->options.log_fd);
		stat->output = fdopen((int)stat->options.log_fd, stat->options.append ? "a" : "w");
		if (!stat->output)
			return output_error("to descriptor ", number);
	} else if (stat->options.output_path) {
		if (!is_log(stat) &&
		    cli_output_open(&stat->file, stat->options.output_path, 0, &err))
			return cli_error(STAT_COMMAND, &err);
		stat->output = is_log(stat) ? fopen(stat->options.output_path,
						    stat->options.append ? "ae" : "we")
					    : stat->file.stream;
		if (!stat->output)
			return output_error("", stat->options.output_path);
		if (!stat->options.json && !stat->options.quiet)
			fprintf(stat->output, "# started on %s\n", ctime(&now));
	}
	stat->terminal = stat->options.interval_ms && isatty(fileno(stat->output));
	return 0;
}

static bool more_runs(const struct stat_job *stat)
{
	if (stat_stop_signal() || stat_wait_failed() || stat->stop_requested || stat->post_failed)
		return !stat->elapsed_ns.nr; /* at least one run; the signal ends it too */
	return stat->elapsed_ns.nr < stat->options.repeat;
}

/* -r 0: prints each run, until Ctrl-C. */
static int repeat_forever(struct stat_job *stat)
{
	int status;

	do {
		stat_clear_cells(stat);
		stat->elapsed_ns = (struct perch__mean){ 0 };
		status = stat_run(stat);
		if (!status)
			status = stat_print(stat);
	} while (!status && !stat_stop_signal() && !stat_wait_failed() && !stat->stop_requested &&
		 !stat->post_failed);
	return status;
}

static int repeat(struct stat_job *stat)
{
	int status = 0;

	while (!status && more_runs(stat))
		status = stat_run(stat);
	if (status && !(stat_stop_signal() && stat->elapsed_ns.nr))
		return status;
	stat->status = status ? status : stat->status;
	return stat_print(stat);
}

static int count_in_intervals(struct stat_job *stat)
{
	struct perch_error err;
	int status = stat_run(stat);

	if (!status && !stat->options.summary && !stat->options.separator && !stat->options.json &&
	    !stat->options.quiet)
		stat_print_reasons(stat, stat->output);
	if (status || !stat->options.summary)
		return status;
	stat->interval_ns = 0;
	stat->wall_ns = stat->elapsed_ns.mean;
	stat_clear_cells(stat);
	/* the counts at the end of the last interval: the intervals then add up to the summary */
	if (stat_add_counts(stat, false, &err))
		return cli_error(STAT_COMMAND, &err);
	return stat_print(stat);
}

/* Not between the lines that a program parses. */
static void note_ignored(const struct stat_job *stat)
{
	if (stat->options.quiet || stat->options.separator || stat->options.json)
		return;
	for (size_t i = 0; i < stat->nr_parts; i++)
		for (size_t j = 0; j < stat->part[i].events.nr; j++) {
			const struct perch_event *event = &stat->part[i].events.event[j];

			cli_note_ignored(STAT_COMMAND, event->name, &event->attr,
					 stat->events.machine);
			cli_note_filter(STAT_COMMAND, event, stat->events.machine);
		}
}

static int close_output(struct stat_job *stat)
{
	struct perch_error err;

	if (stat->file.path)
		return cli_output_close(&stat->file, 0, &err) ? cli_error(STAT_COMMAND, &err) : 0;
	if (stat->output == stderr || !fclose(stat->output))
		return 0;
	return output_error("", stat->options.output_path ? stat->options.output_path : "--log-fd");
}

static int measure(struct stat_job *stat)
{
	int status = cli_check_filter(STAT_COMMAND, stat->events.machine);

	if (!status)
		status = stat_complete_events(stat);

	if (!status)
		note_ignored(stat);
	if (!status)
		status = stat_choose_targets(stat);
	if (!status)
		status = open_output(stat);
	if (status)
		return status;
	status = cli_control_open(&stat->control, STAT_COMMAND, stat->options.control);
	if (status)
		return status;
	if (stat->options.record && !strcmp(stat->options.recording_path, "-"))
		cli_survive_closed_pipe();
	stat_catch_signals();
	cli_release_signals();
	if (stat->options.interval_ms)
		status = count_in_intervals(stat);
	else
		status = stat->options.repeat ? repeat(stat) : repeat_forever(stat);
	if (status)
		return status;
	status = close_output(stat);
	if (!status && stat->recording)
		status = stat_record_close(stat);
	if (!status)
		status = stat_report_wait();
	if (status || stat->status)
		return status ? status : stat->status;
	return stat->post_failed ? CLI_EXIT_FAILURE : 0;
}

int perch_cmd_stat(int argc, char **argv)
{
	struct stat_job stat = STAT_DEFAULTS;
	struct perch_error err;
	int status;

	stat.command_line_size = argc + 1;
	stat.command_line = cli_command_line(argc, argv);
	if (!stat.command_line)
		return cli_no_memory(STAT_COMMAND);
	cli_show_calls(&stat.calls, &stat.options.verbose);
	if (perch_machine_new(&stat.events.machine, NULL, &stat.calls.calls, &err))
		return cli_error(STAT_COMMAND, &err);
	/* further system calls may find the reason of a refusal: a command can take the time */
	perch_machine_set_probing(stat.events.machine, true);
	cli_use_debug_info(stat.events.machine);
	status = stat_parse(&stat, argc, argv);
	if (!status)
		status = stat.options.report ? stat_report(&stat) : measure(&stat);
	perch_writer_close(stat.recording, NULL);
	cli_output_discard(&stat.file);
	cli_control_close(&stat.control);
	stat_free_events(&stat);
	cli_command_line_free(stat.command_line);
	perch_machine_free(stat.events.machine);
	return status;
}
