/* SPDX-License-Identifier: MIT */
/* Records become calls, and these lines, objects or sums. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "calls.h"

#define EXIT_LOST "its exit was lost"

static int no_memory(void)
{
	return cli_no_memory(CALLS_COMMAND);
}

/* ---- calls ---- */

static const struct perch_syscall *find_syscall(struct calls *calls, enum perch_syscall_abi abi,
						int64_t number)
{
	if (number < 0 || number >= CALLS_NUMBERS)
		return perch_syscall_find(abi, number);
	if (!calls->cached[abi][number]) {
		calls->cache[abi][number] = perch_syscall_find(abi, number);
		calls->cached[abi][number] = true;
	}
	return calls->cache[abi][number];
}

static const char *comm_of(const struct calls *calls, uint32_t pid, uint32_t tid)
{
	const struct perch_thread *thread = perch_processes_thread(calls->processes, pid, tid);

	return thread ? perch_thread_comm(thread) : "?";
}

void calls_describe(struct calls *calls, struct calls_call *call)
{
	call->call.abi = call->open ? calls_abi_of(call->open)
				    : calls_process_abi(calls, call->pid);
	call->call.syscall = find_syscall(calls, call->call.abi, call->number);
	if (call->open)
		memcpy(call->call.argument, call->open->argument, sizeof(call->call.argument));
	if (!call->comm)
		call->comm = comm_of(calls, call->pid, call->tid);
}

bool calls_shows_thread(const struct calls *calls, const char *comm)
{
	return !calls->comms || cli_list_has(calls->comms, comm);
}

static bool is_shown(const struct calls *calls, const struct calls_call *call)
{
	bool joined = call->what == PERCH_SYSCALL_JOINED && call->open && call->has_result;

	if (!calls_shows_thread(calls, call->comm))
		return false;
	if (calls->failures && (!call->has_result || call->result >= 0))
		return false;
	return !calls->least_ms ||
	       (joined && (double)(call->time - call->open->time) >= calls->least_ms * 1e6);
}

/* Shows a call that has ended, or a half. Returns 0 or -ENOMEM. */
static int show_call(struct calls *calls, struct calls_call *call)
{
	int rc = 0;

	calls_describe(calls, call);
	calls->entries_lost += call->what == PERCH_SYSCALL_ENTRY_LOST;
	calls->uncertain += call->what == PERCH_SYSCALL_UNCERTAIN;
	if ((calls->summary_only || calls->with_summary) && calls_shows_thread(calls, call->comm))
		rc = calls_summary_add(calls, call);
	if (!calls->summary_only && !calls->truncated && is_shown(calls, call)) {
		if (calls->json)
			calls_put_json(calls, call);
		else
			calls_put_line(calls, call);
		calls->shown++;
		calls->truncated = calls->most && calls->shown >= calls->most;
	}
	calls_process_note(calls, call);
	return rc;
}

/* Shows a call whose exit has not come. */
static int show_open(struct calls *calls, const struct perch_syscall_open *open, uint64_t time,
		     const char *why)
{
	struct calls_call call = {
		.open = open,
		.pid = open->pid,
		.tid = open->tid,
		.number = open->number,
		.time = time,
		.what = PERCH_SYSCALL_JOINED,
		.why = why,
	};

	return show_call(calls, &call);
}

/* Another thread has the next line: the call of the one before is shown as it goes on. */
static void interrupt(struct calls *calls, uint32_t tid)
{
	struct perch_syscall_open *open;
	struct calls_call call = { 0 };

	if (!calls->current || calls->current == tid)
		return;
	open = perch_syscall_open_call(calls->joiner, calls->current);
	calls->current = 0;
	if (!open || calls->summary_only || calls->json || calls->failures || calls->least_ms)
		return;
	call = (struct calls_call){
		.open = open,
		.pid = open->pid,
		.tid = open->tid,
		.number = open->number,
		.time = open->time,
	};
	calls_describe(calls, &call);
	if (!calls_shows_thread(calls, call.comm))
		return;
	calls_put_interrupted(calls, &call);
	open->user[CALLS_ABI] |= CALLS_INTERRUPTED;
}

static int take_enter(struct calls *calls, const struct calls_event *event,
		      const struct perch_record *record)
{
	const struct perch_sample *sample = &record->sample;
	struct perch_syscall_open call = {
		.pid = sample->pid,
		.tid = sample->tid,
		.time = sample->time,
	};
	struct perch_syscall_open *open, lost;
	enum perch_syscall_abi abi = calls_process_abi(calls, sample->pid);
	int rc;

	if (!calls_event_read(event, record, &call.number, call.argument, NULL)) {
		calls->damaged++;
		return 0;
	}
	if (!calls_selects(calls, abi, call.number))
		return 0;
	interrupt(calls, call.tid);
	rc = perch_syscall_add_entry(calls->joiner, &call, &open, &lost);
	if (rc)
		return rc;
	open->user[CALLS_ABI] = abi;
	calls_process_texts(calls, event, record, open);
	calls->current = call.tid;
	if (!lost.tid)
		return 0;
	calls->exits_lost++;
	return show_open(calls, &lost, lost.time, EXIT_LOST);
}

static int take_exit(struct calls *calls, const struct calls_event *event,
		     const struct perch_record *record)
{
	struct calls_call call = {
		.pid = record->sample.pid,
		.tid = record->sample.tid,
		.time = record->sample.time,
		.has_result = true,
		.record = record,
	};
	struct perch_syscall_open open, *begun;
	int rc;

	if (!calls_event_read(event, record, &call.number, NULL, &call.result)) {
		calls->damaged++;
		return 0;
	}
	/* the call may be that of the program before an execve(2) */
	begun = perch_syscall_open_call(calls->joiner, call.tid);
	if (begun && call.number == -1)
		call.number = begun->number;
	if (calls->select.given && !begun &&
	    (call.number == -1 ||
	     !calls_selects(calls, calls_process_abi(calls, call.pid), call.number)))
		return 0;
	if (begun && begun->number != call.number &&
	    !calls_selects(calls, calls_process_abi(calls, call.pid), call.number))
		return 0;
	rc = perch_syscall_add_exit(calls->joiner, call.pid, call.tid, call.number, &open,
				    &call.what);
	if (rc || call.what == PERCH_SYSCALL_IN_CHILD)
		return rc;
	interrupt(calls, call.tid);
	calls->current = 0;
	if (open.tid && call.what == PERCH_SYSCALL_ENTRY_LOST) {
		calls->exits_lost++;
		rc = show_open(calls, &open, open.time, EXIT_LOST);
	} else if (open.tid) {
		call.open = &open;
	}
	return rc ? rc : show_call(calls, &call);
}

static void put_fault(struct calls *calls, const struct perch_record *record, bool major)
{
	const struct perch_sample *sample = &record->sample;
	const char *comm = comm_of(calls, sample->pid, sample->tid);
	struct perch_location location;
	struct perch_thread *thread;

	if (calls->summary_only || calls->json || !calls_shows_thread(calls, comm))
		return;
	interrupt(calls, 0);
	thread = perch_processes_thread(calls->processes, sample->pid, sample->tid);
	calls_put_start(calls, sample->time, sample->time, comm, sample->tid);
	perch__output_text(&calls->out, major ? "majfault [" : "minfault [");
	perch__output_hex(&calls->out, sample->ip);
	perch__output_text(&calls->out, "] => ");
	perch__output_hex(&calls->out, sample->addr);
	if (thread) {
		perch_processes_resolve(calls->processes, thread, PERCH_MISC_USER, sample->addr,
					&location);
		perch__output_text(&calls->out, " (");
		perch__output_clean(&calls->out, location.dso->path, strlen(location.dso->path));
		perch__output_text(&calls->out, ")");
	}
	perch__output_text(&calls->out, "\n");
}

static void take_path(struct calls *calls, const struct calls_event *event,
		      const struct perch_record *record)
{
	struct perch_syscall_open *open =
		perch_syscall_open_call(calls->joiner, record->sample.tid);

	if (open && !open->uncertain)
		calls_process_path(calls, event, record, open);
}

static int take_sample(struct calls *calls, const struct perch_record *record)
{
	struct calls_event *event;

	if (record->event >= calls->nr_events)
		return 0;
	event = &calls->event[record->event];
	if (!event->looked_up)
		calls_event_find(event, calls->input.session,
				 perch_session_record_event(calls->input.session, record));
	if (!calls->has_time) {
		calls->has_time = true;
		calls->first_time = record->sample.time;
	}
	switch (event->kind) {
	case CALLS_ENTER:
		return take_enter(calls, event, record);
	case CALLS_EXIT:
		return take_exit(calls, event, record);
	case CALLS_PATH:
		take_path(calls, event, record);
		return 0;
	case CALLS_MAJOR_FAULT:
	case CALLS_MINOR_FAULT:
		put_fault(calls, record, event->kind == CALLS_MAJOR_FAULT);
		return 0;
	default:
		calls->other++;
		return 0;
	}
}

/* ---- records ---- */

static void take_lost(struct calls *calls, uint64_t nr)
{
	calls->lost += nr;
	perch_syscall_lost(calls->joiner);
	calls_process_lost(calls);
	if (calls->summary_only || calls->json)
		return;
	interrupt(calls, 0);
	perch__output_text(&calls->out, "LOST ");
	perch__output_number(&calls->out, nr);
	perch__output_text(&calls->out, " events!\n");
}

static int take_end_of_thread(struct calls *calls, const struct perch_record *record)
{
	struct perch_syscall_open open;

	perch_syscall_end(calls->joiner, record->task.tid, &open);
	if (!open.tid)
		return 0;
	interrupt(calls, open.tid);
	calls->current = 0;
	return show_open(calls, &open, open.time, NULL);
}

int calls_take(struct calls *calls, const struct perch_record *record)
{
	int rc = 0;

	switch (record->type) {
	case PERCH_RECORD_SAMPLE:
		rc = take_sample(calls, record);
		break;
	case PERCH_RECORD_LOST:
		take_lost(calls, record->lost.lost);
		break;
	case PERCH_RECORD_LOST_SAMPLES: /* at the end: they include what LOST records report */
		calls->lost_samples += record->lost.lost;
		perch_syscall_lost(calls->joiner);
		calls_process_lost(calls);
		break;
	case PERCH_RECORD_FORK:
		rc = perch_syscall_fork(calls->joiner, record->task.pid, record->task.tid);
		break;
	case PERCH_RECORD_EXIT:
		rc = take_end_of_thread(calls, record);
		break;
	default:
		break;
	}
	if (!rc && record->type != PERCH_RECORD_SAMPLE)
		rc = calls_process_take(calls, record);
	return rc ? no_memory() : 0;
}

/* ---- begin and end ---- */

int calls_open_output(struct calls *calls)
{
	struct perch_error err;
	FILE *stream = calls->from_file || calls->waits ? stdout : stderr; /* as in perf */

	calls->writer.out = &calls->out;

	if (calls->output) {
		if (cli_output_open(&calls->file, calls->output, 0, &err))
			return cli_error(CALLS_COMMAND, &err);
		stream = calls->file.stream;
	}
	return perch__output_open(&calls->out, stream) ? no_memory() : 0;
}

/* Threads that are not traced close descriptors of their processes, too. */
static bool sees_closes(const struct calls *calls)
{
	const struct record_options *record = &calls->record;
	bool any = !calls->from_file && !record->target.tids && !record->target.cpu_list &&
		   !record->no_inherit;
	const struct perch_file_event *events;
	size_t nr = perch_reader_events(perch_session_reader(calls->input.session), &events);

	for (size_t i = 0; i < nr && calls->from_file; i++)
		any |= !strcmp(events[i].name, "raw_syscalls:sys_exit");
	return any && calls_selects_closes(calls);
}

int calls_begin(struct calls *calls)
{
	struct perch_reader *reader = perch_session_reader(calls->input.session);
	const char *machine = perch_reader_text(reader, PERCH_FEATURE_ARCH);
	const struct perch_file_event *events;
	struct perch_error err;
	struct utsname here;

	if (!machine && !uname(&here))
		machine = here.machine;
	calls->abi[0] = perch_syscall_abi_of(machine ? machine : "", false);
	calls->abi[1] = perch_syscall_abi_of(machine ? machine : "", true);
	calls->nr_events = perch_reader_events(reader, &events);
	calls->event = calloc(calls->nr_events + 1, sizeof(*calls->event));
	calls->processes = perch_session_processes(calls->input.session);
	if (!calls->event || calls_process_open(calls))
		return no_memory();
	if (perch_syscall_joiner_new(&calls->joiner, &err))
		return cli_error(CALLS_COMMAND, &err);
	if (calls->from_file && calls_select_parse(calls))
		return CLI_EXIT_USAGE;
	calls->sees_closes = sees_closes(calls);
	return calls_open_output(calls);
}

int calls_close_output(struct calls *calls)
{
	struct perch_error err;

	perch__output_flush(&calls->out);
	if (calls->file.stream)
		return cli_output_close(&calls->file, calls->out.error, &err)
			       ? cli_error(CALLS_COMMAND, &err)
			       : 0;
	if (calls->from_file || calls->waits)
		return cli_check_stdout(CALLS_COMMAND, calls->out.error) ? CLI_EXIT_FAILURE : 0;
	return 0;
}

int calls_end(struct calls *calls)
{
	struct perch_syscall_open *open;
	size_t at = 0;
	int rc = 0, status;

	while (!rc && (open = perch_syscall_next_open(calls->joiner, &at)))
		rc = show_open(calls, open, UINT64_MAX, "goes on");
	if (!rc && (calls->summary_only || calls->with_summary))
		rc = calls_summary_print(calls);
	status = calls_close_output(calls);
	return rc ? no_memory() : status;
}

void calls_print_notes(const struct calls *calls)
{
	const uint64_t lost = calls->lost > calls->lost_samples ? calls->lost : calls->lost_samples;

	if (lost || calls->exits_lost || calls->entries_lost || calls->uncertain)
		cli_note(CALLS_COMMAND,
			 "%" PRIu64 " records were lost: of %" PRIu64
			 " calls the exit is missing, of %" PRIu64 " the entry, and of %" PRIu64
			 " entry and exit may be of different calls%s",
			 lost, calls->exits_lost, calls->entries_lost, calls->uncertain,
			 lost ? "; a larger -m loses less" : "");
	if (calls->unread)
		cli_note(CALLS_COMMAND,
			 "%" PRIu64
			 " arguments in memory are shown as addresses, because the call had ended "
			 "when they were read: probes read texts in the call, as 'perch record -e "
			 "\"uprobe:libc:open64(%%di:string)\"', see perch-events(7)",
			 calls->unread);
	if (calls->damaged)
		cli_note(CALLS_COMMAND, "%" PRIu64 " samples are damaged", calls->damaged);
	if (calls->other)
		cli_note(CALLS_COMMAND,
			 "%" PRIu64
			 " samples are of other events than system calls: 'perch script' "
			 "prints them",
			 calls->other);
}

void calls_clear(struct calls *calls)
{
	perch__output_close(&calls->out);
	cli_output_discard(&calls->file);
	calls_process_close(calls);
	calls_summary_clear(&calls->summary);
	perch_syscall_joiner_free(calls->joiner);
	free(calls->event);
}
