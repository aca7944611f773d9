/* SPDX-License-Identifier: MIT */
/* perch trace: the command. */
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <perch/symbol.h>

#include "attr_print.h"
#include "calls.h"
#include "functions/functions.h"
#include "program/seccomp_kill.h"

static int add_paths(struct record_options *options, void *context)
{
	char names[CALLS_PATHS_BYTES];
	const char *cgroup = options->cgroups.nr ? options->cgroups.name[0] : NULL;
	size_t before = options->events.list.nr;
	int status;

	(void)context;
	calls_paths_define(options->events.machine, names, sizeof(names));
	if (!names[0])
		return 0;
	status = cli_add_events(options->command, &options->events, names) ? CLI_EXIT_FAILURE : 0;
	/* each call is for the next event without a cgroup */
	for (; !status && cgroup && before < options->events.list.nr; before++)
		status = cli_assign_cgroups(options->command, &options->cgroups, cgroup,
					    options->events.list.nr);
	return status;
}

/* perch trace record is perch record of the events, and of the paths of calls. */
static int record_calls(int argc, char **argv)
{
	static char name[] = "record", event[] = "-e", count[] = "-c", one[] = "1",
		    events[] = "raw_syscalls:sys_enter,raw_syscalls:sys_exit";
	char *const first[] = { name, event, events, count, one };
	char **all = calloc((size_t)argc + CLI_NR(first), sizeof(*all));
	int status;

	if (!all)
		return cli_no_memory(CALLS_COMMAND);
	memcpy(all, first, sizeof(first));
	memcpy(all + CLI_NR(first), argv + 2, (size_t)(argc - 2) * sizeof(*argv));
	status = record_run(argc - 2 + (int)CLI_NR(first), all, add_paths, NULL);
	free(all);
	return status;
}

static int run_file(struct calls *calls)
{
	struct perch_record record;
	int status = cli_input_open(&calls->input), rc = 0;
	bool any = false;

	if (!status)
		status = calls_begin(calls);
	while (!status && !calls->truncated && !calls->out.error &&
	       (rc = cli_input_next(&calls->input, &record)) > 0) {
		status = calls_take(calls, &record);
	}
	if (rc < 0)
		status = CLI_EXIT_FAILURE;
	for (size_t i = 0; i < calls->nr_events; i++)
		any |= calls->event[i].kind != CALLS_OTHER;
	if (!status)
		status = calls_end(calls);
	if (calls->input.session) {
		cli_input_print_notes(&calls->input);
		calls_print_notes(calls);
	}
	if (!status && !any) {
		cli_note(CALLS_COMMAND,
			 "%s has no system calls: record them with 'perch trace record PROGRAM'",
			 calls->input.path);
		status = CLI_EXIT_FAILURE;
	}
	return status;
}

int perch_cmd_trace(int argc, char **argv)
{
	struct calls *calls;
	struct cli_shown_calls shown;
	struct perch_error err;
	struct utsname here;
	int status;

	if (argc > 1 && !strcmp(argv[1], "record"))
		return record_calls(argc, argv);
	if (functions_wanted(argc, argv))
		return functions_run(argc, argv);
	calls = calloc(1, sizeof(*calls));
	if (!calls)
		return cli_no_memory(CALLS_COMMAND);
	calls->record.command = calls->input.command = CALLS_COMMAND;
	calls->input.records = true;
	calls->record.argc = argc;
	calls->record.argv = argv;
	if (!uname(&here)) {
		calls->abi[0] = perch_syscall_abi_of(here.machine, false);
		calls->abi[1] = perch_syscall_abi_of(here.machine, true);
	}
	cli_show_calls(&shown, &calls->record.verbose);
	status = perch_machine_new(&calls->record.events.machine, NULL, &shown.calls, &err) < 0
			 ? cli_error(CALLS_COMMAND, &err)
			 : 0;
	if (!status) {
		perch_machine_set_probing(calls->record.events.machine, true);
		status = calls_parse(calls, argc, argv);
	}
	if (!status && !calls->from_file && !calls->waits)
		status = cli_check_filter(CALLS_COMMAND, calls->record.events.machine);
	if (!status)
		status = calls->waits	    ? calls_waits_run(calls)
			 : calls->from_file ? run_file(calls)
					    : calls_run_live(calls);
	calls_clear(calls);
	cli_input_close(&calls->input);
	record_clear_options(&calls->record);
	perch_machine_free(calls->record.events.machine);
	free(calls);
	return status;
}
