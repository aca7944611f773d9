/* SPDX-License-Identifier: MIT */
/*
 * --waits: what threads wait for at this moment. It reads /proc, opens no events and stops nothing:
 * the call of a thread, what its arguments point to, and since when it has not run.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "calls.h"
#include "program/target.h"

enum { MOST_TRIES = 3, MOST_FRAMES = 64 };

/* A thread that is shown. */
struct waiter {
	uint32_t pid, tid;
	struct calls_state state;
	struct calls_location location;
	uint64_t waited; /* ns; 0: unknown, or it runs */
	int rc;		 /* of its location */
};

struct waits {
	struct calls *calls;
	struct calls_queues queues;
	bool everything; /* all threads of the machine */
	uint64_t shown, hidden;
};

/* ---- one thread ---- */

static uint32_t process_of(uint32_t tid)
{
	char path[40], line[128];
	uint32_t pid = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%u/status", tid);
	file = fopen(path, "re");
	while (file && !pid && fgets(line, sizeof(line), file))
		sscanf(line, "Tgid: %" SCNu32, &pid);
	if (file)
		fclose(file);
	return pid;
}

/* Reads where a thread is, and the memory of its call, until both are of one moment. */
static void read_location(struct waits *waits, struct waiter *waiter,
			  struct perch_syscall_open *open)
{
	struct calls *calls = waits->calls;

	for (int i = 0; i < MOST_TRIES; i++) {
		*open = (struct perch_syscall_open){ .pid = waiter->pid, .tid = waiter->tid };
		waiter->rc = calls_thread_location(waiter->tid, &waiter->location);
		if (waiter->rc || !waiter->location.in_call)
			return;
		open->number = waiter->location.number;
		open->user[CALLS_ABI] = calls_process_abi(calls, waiter->pid);
		memcpy(open->argument, waiter->location.argument, sizeof(open->argument));
		if (calls_process_hold(calls, open))
			return;
	}
}

static bool is_shown(const struct waits *waits, const struct waiter *waiter)
{
	const struct calls *calls = waits->calls;
	bool in_call = !waiter->rc && waiter->location.in_call;

	if (waits->everything && waiter->state.is_kernel && !calls->record.verbose &&
	    waiter->state.letter != 'D')
		return false;
	if (calls->select.given &&
	    (!in_call ||
	     !calls_selects(calls, calls_process_abi(calls, waiter->pid), waiter->location.number)))
		return false;
	return calls_shows_thread(calls, waiter->state.comm);
}

/* True if it has waited long enough. Its CPU is only asked for a thread that may be shown. */
static bool waits_long(struct waits *waits, struct waiter *waiter)
{
	if (waiter->state.letter && !strchr("RZX", waiter->state.letter))
		waiter->waited =
			calls_thread_waited(&waits->queues, waiter->tid, waiter->state.cpu);
	return (double)waiter->waited >= waits->calls->least_ms * 1e6;
}

/* ---- output ---- */

/* Functions of the kernel, innermost first, for CAP_SYS_ADMIN. */
static void visit_stack(struct calls *calls, uint32_t tid,
			void (*put)(struct calls *calls, const char *name))
{
	char path[40], line[256];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%u/stack", tid);
	file = fopen(path, "re");
	for (int i = 0; file && i < MOST_FRAMES && fgets(line, sizeof(line), file); i++) {
		const char *name = strstr(line, "] ");

		line[strcspn(line, "\n")] = '\0';
		if (!name)
			continue;
		put(calls, name + 2);
	}
	if (file)
		fclose(file);
}

static void put_frame(struct calls *calls, const char *name)
{
	perch__output_spaces(&calls->out, 53);
	perch__output_clean(&calls->out, name, strlen(name));
	perch__output_char(&calls->out, '\n');
}

static void put_element(struct calls *calls, const char *name)
{
	perch__json_put_text(&calls->writer, NULL, name);
}

static void put_location(struct waits *waits, const struct waiter *waiter,
			 const struct calls_call *call)
{
	struct perch__output *out = &waits->calls->out;

	if (waiter->state.is_kernel) {
		perch__output_text(out, "thread of the kernel");
	} else if (waiter->state.letter == 'Z' || waiter->state.letter == 'X') {
		perch__output_text(out, "has ended");
	} else if (waiter->rc) {
		perch__output_text(out, "?");
	} else if (waiter->location.in_call) {
		calls_put_call(waits->calls, call);
		perch__output_char(out, ')');
	} else if (waiter->location.runs) {
		perch__output_text(out, "runs, or waits for CPU ");
		perch__output_signed(out, waiter->state.cpu);
	} else {
		perch__output_text(out, "no system call");
	}
	if (waiter->state.function[0]) {
		perch__output_text(out, "  [");
		perch__output_clean(out, waiter->state.function, strlen(waiter->state.function));
		perch__output_char(out, ']');
	}
}

static void put_line(struct waits *waits, const struct waiter *waiter,
		     const struct calls_call *call)
{
	struct calls *calls = waits->calls;
	char line[96], comm[16], time[24] = "";

	if (!waits->shown)
		perch__output_text(&calls->out, "    PID     TID  THREAD           STATE   "
						"FOR (ms)  WAITS IN  [FUNCTION OF THE KERNEL]\n");
	perch_clean_text(waiter->state.comm, comm, sizeof(comm));
	if (waiter->waited)
		snprintf(time, sizeof(time), "%.3f", (double)waiter->waited / 1e6);
	snprintf(line, sizeof(line), "%7" PRIu32 " %7" PRIu32 "  %-15s    %c   %11s  ", waiter->pid,
		 waiter->tid, comm, waiter->state.letter, time);
	perch__output_text(&calls->out, line);
	put_location(waits, waiter, call);
	perch__output_char(&calls->out, '\n');
	if (calls->record.verbose)
		visit_stack(calls, waiter->tid, put_frame);
}

static void put_object(struct waits *waits, const struct waiter *waiter,
		       const struct calls_call *call)
{
	struct perch__json_writer *json = &waits->calls->writer;
	const char state[2] = { waiter->state.letter, '\0' };

	json->depth = 0;
	json->not_empty[0] = false;
	perch__json_begin_object(json);
	perch__json_put_number(json, "pid", waiter->pid);
	perch__json_put_number(json, "tid", waiter->tid);
	perch__json_put_text(json, "comm", waiter->state.comm);
	perch__json_put_text(json, "state", state);
	perch__json_put_signed(json, "cpu", waiter->state.cpu);
	if (waiter->waited)
		perch__json_put_integer(json, "waited", waiter->waited);
	if (waiter->state.is_kernel)
		perch__json_put_flag(json, "kernel_thread", true);
	else if (waiter->rc)
		perch__json_put_flag(json, "call_hidden", true);
	else if (waiter->location.in_call)
		calls_put_json_call(waits->calls, call);
	if (waiter->state.function[0])
		perch__json_put_text(json, "wchan", waiter->state.function);
	if (waits->calls->record.verbose) {
		perch__json_put_array(json, "stack");
		visit_stack(waits->calls, waiter->tid, put_element);
		perch__json_end(json);
	}
	perch__json_end(json);
	perch__output_char(&waits->calls->out, '\n');
}

/* ---- all of them ---- */

/* A thread that has ended meanwhile is left out. Returns 0 or -ENOMEM. */
static int show_thread(struct waits *waits, uint32_t tid)
{
	struct calls *calls = waits->calls;
	struct waiter waiter = { .tid = tid, .pid = process_of(tid) };
	struct perch_syscall_open open = { 0 };
	struct calls_call call;

	if (!waiter.pid || calls_thread_state(tid, &waiter.state))
		return 0;
	if (!waiter.state.is_kernel && calls_process_look_up(calls, waiter.pid))
		return -ENOMEM;
	if (!waiter.state.is_kernel)
		read_location(waits, &waiter, &open);
	/* its state may be another one since */
	if (waiter.location.in_call && waiter.state.letter == 'R')
		calls_thread_state(tid, &waiter.state);
	call = (struct calls_call){
		.open = &open,
		.pid = waiter.pid,
		.tid = tid,
		.number = open.number,
		.time = UINT64_MAX,
		.comm = waiter.state.comm,
	};
	calls_describe(calls, &call);
	if (is_shown(waits, &waiter) && waits_long(waits, &waiter)) {
		if (calls->json)
			put_object(waits, &waiter, &call);
		else
			put_line(waits, &waiter, &call);
		waits->shown++;
		waits->hidden += waiter.rc && !waiter.state.is_kernel;
	}
	calls_process_note(calls, &call);
	return 0;
}

static int choose_threads(const struct waits *waits, struct perch_targets *targets)
{
	struct record_options *record = &waits->calls->record;

	return waits->everything ? cli_target_add_processes(CALLS_COMMAND, NULL,
							    record->events.machine, targets)
				 : cli_target_choose(CALLS_COMMAND, &record->target,
						     record->events.machine, targets);
}

/* Prints how many calls this user may not read. */
static void print_hidden(const struct waits *waits)
{
	uint64_t effective = 0;

	if (!waits->hidden)
		return;
	perch_machine_capabilities(waits->calls->record.events.machine, &effective, NULL);
	cli_note(CALLS_COMMAND, "the calls of %" PRIu64 " threads are hidden: %s", waits->hidden,
		 effective >> PERCH_CAP_SYS_PTRACE & 1
			 ? "a security module or another user namespace may refuse "
			   "/proc/TID/syscall"
			 : "/proc/TID/syscall is for root, and for the own processes of a user "
			   "(with the Yama module: if kernel.yama.ptrace_scope is 0)");
}

int calls_waits_run(struct calls *calls)
{
	struct waits waits = {
		.calls = calls,
		.everything = cli_target_system_wide(&calls->record.target),
	};
	struct perch_targets targets = { 0 };
	int status = choose_threads(&waits, &targets), rc = 0;

	if (!status && calls_process_open(calls))
		rc = -ENOMEM;
	if (!status)
		status = calls_select_parse(calls);
	if (!status)
		status = calls_open_output(calls);
	for (size_t i = 0; !status && !rc && i < targets.nr; i++)
		rc = show_thread(&waits, (uint32_t)targets.target[i].tid);
	perch_targets_clear(&targets);
	if (rc)
		return cli_no_memory(CALLS_COMMAND);
	if (!status)
		status = calls_close_output(calls);
	print_hidden(&waits);
	if (!status && !waits.shown)
		cli_note(CALLS_COMMAND, "no thread is shown");
	return status;
}
