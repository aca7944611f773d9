/* SPDX-License-Identifier: MIT */
/* -j: a call as a JSON object on a line. */
#include "calls.h"

void calls_put_json_call(struct calls *calls, const struct calls_call *call)
{
	const struct perch_syscall_process *process = calls_process_of(calls, call);
	struct perch__json_writer *json = &calls->writer;
	char text[2048];

	if (call->call.syscall)
		perch__json_put_text(json, "syscall", perch_syscall_name(call->call.syscall));
	perch__json_put_signed(json, "number", call->number);
	if (call->call.abi == PERCH_SYSCALL_I386)
		perch__json_put_flag(json, "compat", true);
	if (!call->open)
		return;
	perch__json_put_array(json, "arguments");
	for (unsigned i = 0; i < PERCH_SYSCALL_ARGUMENTS; i++)
		if (perch_syscall_argument_text(&call->call, i, process, text, sizeof(text)))
			perch__json_put_text(json, NULL, text);
	perch__json_end(json);
}

void calls_put_json(struct calls *calls, const struct calls_call *call)
{
	struct perch__json_writer *json = &calls->writer;
	const struct perch_syscall_open *open = call->open;
	bool joined = call->what == PERCH_SYSCALL_JOINED;

	json->depth = 0;
	json->not_empty[0] = false;
	perch__json_begin_object(json);
	if (open && joined)
		perch__json_put_integer(json, "time", open->time);
	if (call->has_result)
		perch__json_put_integer(json, "end", call->time);
	if (open && joined && call->has_result)
		perch__json_put_integer(json, "duration", call->time - open->time);
	perch__json_put_number(json, "pid", call->pid);
	perch__json_put_number(json, "tid", call->tid);
	perch__json_put_text(json, "comm", call->comm);
	calls_put_json_call(calls, call);
	if (call->has_result) {
		perch__json_put_signed(json, "result", call->result);
		if (call->result < 0 && call->result >= -4095 &&
		    perch_errno_name((int)-call->result))
			perch__json_put_text(json, "errno", perch_errno_name((int)-call->result));
	} else if (call->why) {
		perch__json_put_text(json, "unfinished", call->why);
	}
	if (call->what == PERCH_SYSCALL_ENTRY_LOST)
		perch__json_put_flag(json, "entry_lost", true);
	if (call->what == PERCH_SYSCALL_BEGAN_BEFORE)
		perch__json_put_flag(json, "began_before", true);
	if (call->what == PERCH_SYSCALL_UNCERTAIN)
		perch__json_put_flag(json, "uncertain", true);
	perch__json_end(json);
	perch__output_char(&calls->out, '\n');
}
