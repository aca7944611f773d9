/* SPDX-License-Identifier: MIT */
/* A call as a line: time and duration as perf trace prints them, the call as strace does. */
#include <string.h>

#include "calls.h"

enum {
	RESULT_COLUMN = 70, /* of "= 3", counted from the name of the call */
	CHAIN_COLUMN = 39,  /* of functions */
	TEXT_BYTES = 2048,
	MOST_LINE = 8 * TEXT_BYTES,
};

/* "%10.3f" of ns in ms, rounded. */
static void put_ms(struct perch__output *out, uint64_t ns, size_t width)
{
	uint64_t us = (ns + 500) / 1000, ms = us / 1000;
	size_t digits = 1;

	for (uint64_t rest = ms; rest >= 10; rest /= 10)
		digits++;
	if (digits + 4 < width)
		perch__output_spaces(out, width - digits - 4);
	perch__output_number(out, ms);
	perch__output_char(out, '.');
	perch__output_padded(out, us % 1000, 3);
}

void calls_put_start(struct calls *calls, uint64_t start, uint64_t end, const char *comm,
		     uint32_t tid)
{
	struct perch__output *out = &calls->out;

	if (start) {
		put_ms(out, calls->absolute ? start : start - calls->first_time, 10);
	} else {
		perch__output_text(out, "         ?");
	}
	perch__output_text(out, " (");
	if (start && end) {
		put_ms(out, end - start, 6);
		perch__output_text(out, " ms): ");
	} else {
		perch__output_text(out, "         ): ");
	}
	if (calls->no_comm)
		return;
	perch__output_clean(out, comm, strlen(comm));
	perch__output_char(out, '/');
	perch__output_number(out, tid);
	perch__output_char(out, ' ');
}

static void put_name(struct calls *calls, const struct calls_call *call)
{
	if (call->call.syscall) {
		perch__output_text(&calls->out, perch_syscall_name(call->call.syscall));
		return;
	}
	perch__output_text(&calls->out, "syscall_");
	perch__output_signed(&calls->out, call->number);
}

void calls_put_call(struct calls *calls, const struct calls_call *call)
{
	const struct perch_syscall_process *process = calls_process_of(calls, call);
	char text[TEXT_BYTES];
	bool any = false;

	put_name(calls, call);
	perch__output_char(&calls->out, '(');
	for (unsigned i = 0; i < PERCH_SYSCALL_ARGUMENTS; i++) {
		size_t length =
			perch_syscall_argument_text(&call->call, i, process, text, sizeof(text));

		if (!length)
			continue;
		if (any)
			perch__output_bytes(&calls->out, ", ", 2);
		perch__output_bytes(&calls->out, text, length);
		any = true;
	}
}

static void put_result(struct calls *calls, const struct calls_call *call, size_t start)
{
	struct perch__output *out = &calls->out;
	char text[256];
	/* the buffer may have been flushed since the start of the line */
	size_t length = out->used > start ? out->used - start : 0;

	if (length < RESULT_COLUMN)
		perch__output_spaces(out, RESULT_COLUMN - length);
	perch__output_bytes(out, " = ", 3);
	if (!call->has_result) {
		perch__output_char(out, '?');
		if (call->why) {
			perch__output_text(out, " (");
			perch__output_text(out, call->why);
			perch__output_char(out, ')');
		}
		perch__output_char(out, '\n');
		return;
	}
	perch__output_bytes(out, text,
			    perch_syscall_result_text(&call->call, call->result, text,
						      sizeof(text)));
	perch__output_char(out, '\n');
}

/* The functions of user space, one in a line, as perf trace prints them. */
static void put_chain(struct calls *calls, const struct perch_record *record)
{
	struct perch_session *session = calls->input.session;
	struct perch__output *out = &calls->out;
	struct perch_session_sample sample;

	if (!record || !record->sample.callchain.nr ||
	    perch_session_resolve(session, record, &sample, NULL))
		return;
	for (size_t i = 1; i < sample.nr; i++) {
		const struct perch_address *address =
			perch_session_address(session, sample.chain[i]);
		const char *name = address->symbol ? address->symbol->name : "[unknown]";

		if (address->cpumode_char != '.')
			continue;
		perch__output_spaces(out, CHAIN_COLUMN);
		perch__output_clean(out, name, strlen(name));
		perch__output_bytes(out, " (", 2);
		perch__output_clean(out, address->dso->path, strlen(address->dso->path));
		perch__output_bytes(out, ")\n", 2);
	}
}

void calls_put_interrupted(struct calls *calls, const struct calls_call *call)
{
	perch__output_reserve(&calls->out, MOST_LINE);
	calls_put_start(calls, call->open->time, 0, call->comm, call->tid);
	calls_put_call(calls, call);
	perch__output_text(&calls->out, ") ...\n");
}

void calls_put_line(struct calls *calls, const struct calls_call *call)
{
	struct perch__output *out = &calls->out;
	const struct perch_syscall_open *open = call->open;
	bool joined = call->what == PERCH_SYSCALL_JOINED;
	bool interrupted = open && open->user[CALLS_ABI] & CALLS_INTERRUPTED;
	size_t start;

	/* the halves may be of different calls: each has a line */
	if (open && !joined && !interrupted)
		calls_put_interrupted(calls, call);
	perch__output_reserve(out, MOST_LINE);
	calls_put_start(calls, open && joined ? open->time : 0,
			open && joined && call->has_result ? call->time : 0, call->comm, call->tid);
	start = out->used;
	if (open && joined && !interrupted) {
		calls_put_call(calls, call);
		perch__output_char(out, ')');
	} else {
		perch__output_text(out, " ... [continued]: ");
		put_name(calls, call);
		perch__output_text(out, "())");
	}
	if (call->what == PERCH_SYSCALL_ENTRY_LOST)
		perch__output_text(out, " [its entry was lost]");
	if (call->what == PERCH_SYSCALL_UNCERTAIN)
		perch__output_text(out, " [of that or of a later call: events were lost]");
	put_result(calls, call, start);
	put_chain(calls, call->record);
}
