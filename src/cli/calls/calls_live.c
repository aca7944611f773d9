/* SPDX-License-Identifier: MIT */
/*
 * Live: the rings are read at intervals. The kernel wakes nobody for an event, which would cost the
 * program more than the event itself.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>
#include <perch/synthesize.h>

#include "calls.h"
#include "input/live_session.h"
#include "program/signals.h"
#include "program/target.h"

/* With a period of their own, samples do not have it: 4 % less for each call. */
#define EVENTS "raw_syscalls:sys_enter/period=1/,raw_syscalls:sys_exit/period=1/"

enum {
	LEAST_MS = 1,
	MOST_MS = 20,
	LARGE_RING = 8 << 20,
	FILTER_BYTES = 3000, /* the kernel takes a page */
};

/* What a running command needs beside struct calls. */
struct live {
	struct calls *calls;
	struct record_plan plan;
	struct perch_recorder *recorder;
	struct perch_sampler *sampler;
	struct perch_program program;
	int signals;
	int ended_by; /* a signal; 0: none */
	bool program_ended;
	int program_status;
	int ms;
};

/* ---- events ---- */

/* The calls of perch itself would never end. */
static int add_conditions(struct calls *calls, const char *filter)
{
	struct record_options *record = &calls->record;
	char conditions[FILTER_BYTES + 64] = "";

	if (cli_target_system_wide(&record->target))
		snprintf(conditions, sizeof(conditions), "common_pid != %d%s%s%s", (int)getpid(),
			 filter[0] ? " && (" : "", filter, filter[0] ? ")" : "");
	else
		snprintf(conditions, sizeof(conditions), "%s", filter);
	return conditions[0] ? cli_add_filter(CALLS_COMMAND, &record->events, conditions) : 0;
}

static int add_path_probes(struct calls *calls)
{
	struct cli_event_list *events = &calls->record.events;
	char names[CALLS_PATHS_BYTES];

	calls_paths_define(events->machine, names, sizeof(names));
	if (!names[0])
		return 0;
	return cli_add_events(CALLS_COMMAND, events, names) || add_conditions(calls, "")
		       ? CLI_EXIT_FAILURE
		       : 0;
}

static int add_events(struct calls *calls)
{
	static const char *const faults[] = {
		[CALLS_ALL_FAULTS] = "major-faults,minor-faults",
		[CALLS_MAJOR] = "major-faults",
		[CALLS_MINOR] = "minor-faults",
	};
	struct cli_event_list *events = &calls->record.events;
	char filter[FILTER_BYTES];

	calls_select_filter(calls, filter, sizeof(filter));
	if (cli_add_events(CALLS_COMMAND, events, EVENTS) || add_conditions(calls, filter))
		return CLI_EXIT_USAGE;
	if (!calls->faults)
		return 0;
	calls->record.flag[RECORD_DATA] = true;
	return cli_add_events(CALLS_COMMAND, events, faults[calls->faults]) ? CLI_EXIT_USAGE : 0;
}

static int choose_events(struct calls *calls)
{
	struct record_options *record = &calls->record;
	int status = calls_select_parse(calls);

	if (!status)
		status = add_events(calls);
	if (!status && !calls->summary_only && calls_selects_paths(calls))
		status = add_path_probes(calls);
	if (!status && calls->cgroup)
		status = cli_assign_cgroups(CALLS_COMMAND, &record->cgroups, calls->cgroup,
					    record->events.list.nr);
	record->period = 1;
	record->flag[RECORD_USER_CALLCHAINS] = true; /* the kernel's are those of the tracepoint */
	record->flag[RECORD_NO_BPF] = true;
	record->use_clock = true; /* that of calls_process.c */
	record->clock = CLOCK_MONOTONIC;
	/* a ring of users is locked memory, of which they have little */
	if (!record->ring_pages && perch_machine_privileged(record->events.machine))
		record->ring_pages = LARGE_RING / (size_t)sysconf(_SC_PAGESIZE);
	return status;
}

/* ---- what runs already ---- */

static int take_running(void *context, const void *records, size_t size, struct perch_error *err)
{
	struct calls *calls = context;
	struct perch_parse_info info;
	const struct perch_attr attr = { .size = PERCH_ATTR_SIZE_VER0 };
	int rc = perch_processes_apply_synthesized(calls->processes, records, size, err);
	const char *at = records;

	perch_parse_info_init(&info, &attr, PERCH_BYTES_NATIVE);
	while (!rc && size >= sizeof(struct perch_record_header)) {
		const struct perch_record_header *header = (const void *)at;
		struct perch_record record;

		if (header->size < sizeof(*header) || header->size > size)
			break;
		if (!perch_record_decode(&record, &info, at, header->size, NULL))
			rc = calls_process_take(calls, &record);
		at += header->size;
		size -= header->size;
	}
	return rc;
}

/* ---- reading ---- */

static int take_record(struct live *live, const struct perch_record *record)
{
	struct perch_session *session = live->calls->input.session;
	struct perch_record next;
	struct perch_error err;
	int rc;

	perch_session_put(session, record);
	while ((rc = perch_session_next(session, &next, &err)) > 0)
		if (calls_take(live->calls, &next))
			return CLI_EXIT_FAILURE;
	return rc < 0 ? cli_error(CALLS_COMMAND, &err) : 0;
}

static int read_rings(struct live *live, bool flush)
{
	struct perch_record record;
	struct perch_error err;
	size_t nr = 0;
	int rc;

	while ((rc = perch_sampler_next_ordered(live->sampler, flush, &record, &err)) > 0) {
		nr++;
		if (take_record(live, &record))
			return CLI_EXIT_FAILURE;
		if (live->calls->truncated || live->calls->out.error)
			break;
	}
	if (rc < 0)
		return cli_error(CALLS_COMMAND, &err);
	if (nr)
		live->ms = LEAST_MS;
	else if (live->ms < MOST_MS)
		live->ms++;
	calls_process_verify(live->calls);
	perch__output_flush(&live->calls->out);
	fflush(live->calls->out.stream);
	return 0;
}

static void take_signal(struct live *live)
{
	struct signalfd_siginfo info;

	if (read(live->signals, &info, sizeof(info)) != sizeof(info))
		return;
	live->ended_by = (int)info.ssi_signo;
	/* the terminal sends its signals to the program, too */
	if (live->program.pid > 0 && !live->program_ended && info.ssi_code <= 0)
		kill(live->program.pid, live->ended_by);
}

static bool has_ended(struct live *live)
{
	if (live->ended_by || live->calls->truncated || live->calls->out.error)
		return true;
	if (live->program.pid > 0 && !live->program_ended)
		live->program_ended =
			!cli_program_wait(&live->program, WNOHANG, &live->program_status, NULL);
	/* children of the program may outlive it; others than the program never end */
	return perch_sampler_ended(live->sampler) ||
	       (live->program_ended &&
		(live->calls->record.no_inherit || !live->plan.program_only));
}

static int loop(struct live *live)
{
	struct pollfd polls[] = { { live->signals, POLLIN, 0 } };
	int status = 0;

	live->ms = LEAST_MS;
	while (!status) {
		int nr = poll(polls, 1, live->ms);

		if (nr < 0 && errno != EINTR) {
			cli_note(CALLS_COMMAND, "cannot wait by poll(2): %s", strerror(errno));
			return CLI_EXIT_FAILURE;
		}
		if (nr > 0)
			take_signal(live);
		if (has_ended(live))
			break;
		status = read_rings(live, false);
	}
	if (!status && !live->calls->truncated) {
		perch_sampler_disable(live->sampler, NULL);
		status = read_rings(live, true);
	}
	return status;
}

/* ---- begin and end ---- */

static int open_events(struct live *live)
{
	struct calls *calls = live->calls;
	struct record_options *record = &calls->record;
	int status = record_make_plan(&live->plan, record);

	record_raise_descriptor_limit();
	if (!status)
		status = record_open(&live->recorder, &live->plan, record,
				     live->program.pid > 0 ? live->program.pid : 0);
	if (status)
		return status;
	live->sampler = perch_recorder_sampler(live->recorder);
	record_print_plan(&live->plan, record);
	return cli_live_open(&calls->input, live->recorder);
}

static int release_program(struct live *live)
{
	struct perch_error err;
	int rc = live->program.pid > 0 ? perch_program_release(&live->program, &err) : 0;

	if (!rc)
		return 0;
	live->program_ended = true;
	cli_error(CALLS_COMMAND, &err);
	return cli_program_exit_status(-rc);
}

static int run(struct live *live)
{
	struct calls *calls = live->calls;
	struct perch_error err;
	int status = open_events(live);

	if (!status)
		status = calls_begin(calls);
	if (status)
		return status;
	perch_session_put(calls->input.session, NULL);
	live->signals = cli_open_ending_signals();
	if (live->signals < 0) {
		cli_note(CALLS_COMMAND, "cannot wait for signals: %s", strerror(errno));
		return CLI_EXIT_FAILURE;
	}
	if (perch_recorder_synthesize(live->recorder, take_running, calls, &err) < 0)
		return cli_error(CALLS_COMMAND, &err);
	if (!live->plan.program_only && perch_sampler_enable(live->sampler, &err) < 0)
		return cli_error(CALLS_COMMAND, &err);
	status = release_program(live);
	if (!status)
		status = loop(live);
	if (!status)
		status = calls_end(calls);
	calls_print_notes(calls);
	return status;
}

/* Ends a program that runs after perch has ended for another reason. Returns the exit status. */
static int end_program(struct live *live, int status)
{
	if (live->program.pid <= 0)
		return live->ended_by && !status ? 128 + live->ended_by : status;
	if (!live->program_ended && live->program.waits) {
		perch_program_cancel(&live->program);
		return status;
	}
	if (!live->program_ended) {
		kill(live->program.pid, SIGTERM);
		/* one that ignores SIGTERM runs on after another signal */
		cli_program_wait_or_signal(&live->program, live->signals, &live->program_status,
					   NULL);
	} else if (!status && !live->ended_by) {
		cli_program_note_signal(CALLS_COMMAND, live->calls->record.program_argv[0],
					live->program_status);
	}
	if (status)
		return status;
	return live->ended_by ? 128 + live->ended_by : cli_program_status(live->program_status);
}

int calls_run_live(struct calls *calls)
{
	struct live live = { .calls = calls, .signals = -1 };
	struct perch_error err;
	int status;

	calls->live = true;
	calls->input.path = "the live trace"; /* in messages */
	status = choose_events(calls);
	if (!status && calls->record.program_argv &&
	    cli_program_start(&live.program, calls->record.program_argv, NULL, NULL, &err) < 0) {
		live.program_ended = true;
		status = cli_error(CALLS_COMMAND, &err);
	}
	if (!status)
		status = run(&live);
	status = end_program(&live, status);
	if (live.signals >= 0)
		close(live.signals);
	perch_recorder_close(live.recorder);
	record_clear_plan(&live.plan);
	return status;
}
