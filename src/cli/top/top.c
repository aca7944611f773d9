/* SPDX-License-Identifier: MIT */
/* perch top: a live profile. */
#include <stdio_ext.h>
#include <stdlib.h>

#include "attr_print.h"
#include "program/seccomp_kill.h"
#include "top.h"

static int run_top(struct top *top)
{
	struct perch_error err;
	int status = record_make_plan(&top->plan, &top->record);

	record_raise_descriptor_limit();
	if (!status)
		status = cli_control_open(&top->control, TOP_COMMAND, top->record.control);
	if (!status)
		status = record_open(&top->recorder, &top->plan, &top->record, 0);
	if (status)
		return status;
	top->sampler = perch_recorder_sampler(top->recorder);
	record_print_plan(&top->plan, &top->record);
	status = top_start(top);
	/* with -D -1, the tracking event is enabled already */
	if (!status && !top->record.delayed && perch_sampler_enable(top->sampler, &err) < 0)
		status = cli_error(TOP_COMMAND, &err);
	if (!status)
		status = top_loop(top);
	top_stop(top);
	return status;
}

int perch_cmd_top(int argc, char **argv)
{
	struct top *top = calloc(1, sizeof(*top));
	struct cli_shown_calls shown;
	struct perch_error err;
	int status;

	if (!top)
		return cli_no_memory(TOP_COMMAND);
	top->record.argc = argc;
	top->record.argv = argv;
	top->record.command = TOP_COMMAND;
	status = record_set_defaults(&top->record);
	cli_show_calls(&shown, &top->record.verbose);
	if (!status && perch_machine_new(&top->record.events.machine, NULL, &shown.calls, &err) < 0)
		status = cli_error(TOP_COMMAND, &err);
	if (!status) {
		perch_machine_set_probing(top->record.events.machine, true);
		cli_use_debug_info(top->record.events.machine);
		status = top_parse(top, argc, argv);
	}
	if (!status)
		status = cli_check_filter(TOP_COMMAND, top->record.events.machine);
	__fsetlocking(stdout, FSETLOCKING_BYCALLER); /* there is one thread */
	if (!status)
		status = run_top(top);
	perch_recorder_close(top->recorder);
	cli_control_close(&top->control);
	record_clear_plan(&top->plan);
	top_clear_options(top);
	perch_machine_free(top->record.events.machine);
	free(top);
	return status;
}
