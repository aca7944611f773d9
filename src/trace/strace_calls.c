/* SPDX-License-Identifier: MIT */
/* The system calls of a log that open, use, copy or close events. */
#define _GNU_SOURCE /* memmem */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <linux/ioctl.h>

#include <perch/syscall.h>

#include "names.h"
#include "strace.h"

struct result {
	long long value;
	int errnum;   /* 0 unless value is -1 */
	bool unknown; /* "?": it did not return, or is restarted */
};

struct caller {
	struct strace_log *log;
	pid_t process, thread;
};

/* Returns false if the system call is relevant and could not be parsed. */
typedef bool handler(const struct caller *caller, struct strace_text text);

/* "ENOENT (No such file or directory)", "(errno 600)", "ENOTSUPP (Unknown error 524)" */
static int read_errno(struct strace_text *text)
{
	static const char *const before[] = { "errno ", "error " };
	struct strace_token name;
	uint64_t value;
	int errnum;

	strace_skip_spaces(text);
	name = strace_read_identifier(text);
	errnum = perch_errno_find(name.at, name.length);
	for (size_t i = 0; i < TRACE_NR(before) && !errnum; i++) {
		const char *found =
			memmem(text->at, text->end - text->at, before[i], strlen(before[i]));
		struct strace_text number = { found ? found + strlen(before[i]) : NULL, text->end };

		if (found && strace_read_number(&number, &value) && value && value < 4096)
			errnum = (int)value;
	}
	return errnum;
}

/* ") = -1 EINVAL (Invalid argument) <0.000011>" */
static bool read_result(struct strace_text *text, struct result *result)
{
	uint64_t value;

	*result = (struct result){ 0 };
	strace_skip_spaces(text);
	if (!strace_accept(text, ")"))
		return false;
	strace_skip_spaces(text);
	if (!strace_accept(text, "="))
		return false;
	strace_skip_spaces(text);
	result->unknown = strace_accept(text, "?");
	if (result->unknown)
		return true;
	if (!strace_read_number(text, &value))
		return false;
	result->value = (long long)value;
	if (result->value == -1)
		result->errnum = read_errno(text);
	return result->value >= 0 || result->errnum;
}

/* Skips the remaining arguments and reads the result. */
static bool skip_to_result(struct strace_text *text, struct result *result)
{
	do {
		strace_skip_value(text);
	} while (strace_accept_comma(text));
	return read_result(text, result);
}

static bool next_value(struct strace_text *text, uint64_t *value)
{
	return strace_accept_comma(text) && strace_read_value(text, value, NULL);
}

/* Reads a descriptor. is_other is set if its name, which strace -y writes, is not that of an event.
 */
static bool read_descriptor(struct strace_text *text, int *fd, bool *is_other)
{
	struct strace_token note;
	uint64_t value;

	if (!strace_read_value(text, &value, &note))
		return false;
	*fd = (int)value;
	*is_other = note.length &&
		    !memmem(note.at, note.length, "perf_event", strlen("perf_event"));
	return true;
}

struct open {
	struct perch_open_call call; /* attr points to the member */
	union strace_attr attr;
	struct result result;
};

static bool read_open(struct strace_text *text, struct open *open)
{
	uint64_t pointer, pid, cpu, group, flags;

	open->call = (struct perch_open_call){ .from_log = true };
	strace_skip_spaces(text);
	if (text->at < text->end && *text->at == '{') {
		if (!strace_read_attr(text, &open->attr, &open->call))
			return false;
	} else if (!strace_read_value(text, &pointer, NULL)) {
		return false;
	} else {
		open->call.attr_is_partial = pointer != 0;
	}
	if (!next_value(text, &pid) || !next_value(text, &cpu) || !next_value(text, &group) ||
	    !next_value(text, &flags) || !read_result(text, &open->result))
		return false;
	open->call.pid = (pid_t)pid;
	open->call.cpu = (int)cpu;
	open->call.group_fd = (int)group;
	open->call.flags = flags;
	open->call.errnum = open->result.errnum;
	if (open->call.errnum == EFAULT)
		/* strace could not read the attr either: the pointer is wrong */
		open->call.attr_is_partial &= open->call.attr != NULL;
	return true;
}

/*
 * True if a seccomp filter may have answered the call with SIGSYS. After SECCOMP_RET_TRAP, strace
 * shows what the register of the result had before: the number of the system call (x86, s390), or
 * the pointer to the attr. After SECCOMP_RET_KILL it shows that too, or "?".
 */
static bool may_be_filtered(const struct result *result)
{
	return result->unknown || result->value > INT32_MAX || result->value == 298 ||
	       result->value == 331 || result->value == 336 || result->value == 0x4000012a;
}

static bool handle_open(const struct caller *caller, const struct open *open)
{
	struct trace_job *job = caller->log->job;

	if (open->result.unknown)
		return true;
	if (open->result.value > INT32_MAX)
		return false;
	trace_handle_open(job, caller->process, caller->thread, &open->call,
			  open->result.errnum ? -1 : (int)open->result.value, job->machine);
	return true;
}

static bool on_open(const struct caller *caller, struct strace_text text)
{
	const struct strace_text whole = text;
	struct open open;

	if (!read_open(&text, &open))
		return false;
	if (may_be_filtered(&open.result))
		return strace_hold_open(caller->log, caller->thread, whole.at,
					whole.end - whole.at);
	return handle_open(caller, &open);
}

void strace_end_open(struct strace_log *log, pid_t thread, enum strace_open_end end)
{
	const struct caller caller = { log, strace_thread_process(log, thread), thread };
	char *held = strace_take_open(log, thread);
	struct strace_text text = { held, held ? held + strlen(held) : NULL };
	struct open open;

	if (!held)
		return;
	if (!read_open(&text, &open))
		log->job->unreadable++;
	else if (end != STRACE_OPEN_RETURNED)
		trace_handle_filtered_open(log->job, caller.process, thread, &open.call,
					   end == STRACE_OPEN_KILLED ? TRACE_FILTER_KILLS
								     : TRACE_FILTER_TRAPS);
	else if (!handle_open(&caller, &open))
		log->job->unreadable++;
	free(held);
}

void strace_end_opens(struct strace_log *log)
{
	for (size_t i = 0; i < log->nr_threads; i++)
		strace_end_open(log, log->thread[i].tid, STRACE_OPEN_RETURNED);
}

static void handle_operation(const struct caller *caller, int fd, struct perch_operation *operation,
			     const struct result *result)
{
	struct trace_job *job = caller->log->job;

	if (result->unknown)
		return;
	operation->errnum = result->errnum;
	trace_handle_operation(job, caller->process, caller->thread, fd, operation, result->value,
			       job->machine);
}

/* PERF_EVENT_IOC_PERIOD, _IOC(_IOC_NONE, 0x24, 0x37, 0), 0x2437. Returns false for requests of
 * other devices. */
static bool read_request(struct strace_text *text, unsigned long *request)
{
	uint64_t part[4];

	if (!strace_accept(text, "_IOC(")) {
		if (!strace_read_value(text, part, NULL))
			return false;
		*request = part[0];
		return true;
	}
	for (size_t i = 0; i < TRACE_NR(part); i++)
		if (i ? !next_value(text, &part[i]) : !strace_read_value(text, &part[i], NULL))
			return false;
	*request = _IOC(part[0] & 3, part[1] & 0xff, part[2] & 0xff, part[3] & 0x3fff);
	return strace_accept(text, ")");
}

static void read_argument(struct strace_text *text, struct perch_operation *operation, char *buffer,
			  size_t size)
{
	uint64_t value;

	if (strace_accept(text, "[")) {
		if (strace_read_value(text, &value, NULL) &&
		    operation->request == PERCH_IOC_PERIOD) {
			operation->period = value;
			operation->period_known = true;
		}
		strace_skip_value(text);
		strace_accept(text, "]");
	} else if (text->at < text->end && *text->at == '"') {
		struct strace_text ahead = *text;

		if (strace_read_string(&ahead, buffer, size))
			operation->filter = buffer;
	} else if (strace_read_value(text, &value, NULL)) {
		operation->argument = value;
		operation->other_fd = operation->request == PERCH_IOC_SET_OUTPUT ? (int)value : -1;
	}
	strace_skip_value(text);
}

static bool on_ioctl(const struct caller *caller, struct strace_text text)
{
	struct perch_operation operation = { .kind = PERCH_OPERATION_IOCTL, .other_fd = -1 };
	struct trace_job *job = caller->log->job;
	struct result result;
	char filter[4096];
	bool is_other;
	int fd;

	if (!read_descriptor(&text, &fd, &is_other) || !strace_accept_comma(&text))
		return false;
	if (!read_request(&text, &operation.request) ||
	    (_IOC_TYPE(operation.request) != '$' && is_other) ||
	    (_IOC_TYPE(operation.request) != '$' && !trace_is_event(job, caller->process, fd)))
		return true;
	strace_skip_value(&text);
	if (strace_accept_comma(&text))
		read_argument(&text, &operation, filter, sizeof(filter));
	if (!read_result(&text, &result))
		return false;
	handle_operation(caller, fd, &operation, &result);
	return true;
}

/* After EBADF, also a descriptor that was an event, and -1 after a refused open call. */
static bool concerns_events(const struct caller *caller, int fd, const struct result *result)
{
	const struct trace_job *job = caller->log->job;

	return trace_is_event(job, caller->process, fd) ||
	       (result->errnum == EBADF && trace_concerns_events(job, caller->process, fd));
}

static bool on_read(const struct caller *caller, struct strace_text text)
{
	struct perch_operation operation = { .kind = PERCH_OPERATION_READ, .other_fd = -1 };
	struct result result;
	bool is_other;
	uint64_t size;
	int fd;

	if (!read_descriptor(&text, &fd, &is_other) || is_other ||
	    !trace_concerns_events(caller->log->job, caller->process, fd))
		return true;
	if (!strace_accept_comma(&text))
		return false;
	strace_skip_value(&text);
	if (!next_value(&text, &size) || !read_result(&text, &result))
		return false;
	operation.size = size;
	if (concerns_events(caller, fd, &result))
		handle_operation(caller, fd, &operation, &result);
	return true;
}

/* readv(3, [{iov_base="...", iov_len=8}], 1) = 8 */
static bool on_readv(const struct caller *caller, struct strace_text text)
{
	static const char word[] = "iov_len=";
	struct perch_operation operation = { .kind = PERCH_OPERATION_READV, .other_fd = -1 };
	struct strace_text length;
	struct result result;
	const char *found;
	bool is_other;
	uint64_t size = 0;
	int fd;

	if (!read_descriptor(&text, &fd, &is_other) || is_other ||
	    !trace_concerns_events(caller->log->job, caller->process, fd))
		return true;
	if (!strace_accept_comma(&text))
		return false;
	length = text;
	if (!skip_to_result(&text, &result))
		return false;
	while (!size &&
	       (found = memmem(length.at, length.end - length.at, word, sizeof(word) - 1))) {
		length.at = found + sizeof(word) - 1;
		if (!strace_read_number(&length, &size))
			break;
	}
	operation.size = size;
	if (concerns_events(caller, fd, &result))
		handle_operation(caller, fd, &operation, &result);
	return true;
}

static bool on_map(const struct caller *caller, struct strace_text text)
{
	struct perch_operation operation = { .kind = PERCH_OPERATION_MMAP, .other_fd = -1 };
	uint64_t length, protection, flags;
	struct result result;
	bool is_other;
	int fd;

	if (strace_accept(&text, "NULL"))
		operation.address_known = true;
	else
		operation.address_known = strace_read_value(&text, &operation.address, NULL);
	strace_skip_value(&text);
	if (!next_value(&text, &length) || !strace_accept_comma(&text))
		return false;
	strace_read_value(&text, &protection, NULL); /* unknown names are ignored */
	strace_skip_value(&text);
	if (!strace_accept_comma(&text))
		return false;
	strace_read_value(&text, &flags, NULL);
	strace_skip_value(&text);
	if (!strace_accept_comma(&text) || !read_descriptor(&text, &fd, &is_other))
		return false;
	if (is_other || flags & MAP_ANONYMOUS ||
	    !trace_concerns_events(caller->log->job, caller->process, fd))
		return true;
	if (!next_value(&text, &operation.offset) || !read_result(&text, &result))
		return false;
	if (!concerns_events(caller, fd, &result))
		return true;
	operation.length = length;
	operation.protection = (int)protection;
	operation.map_flags = (int)flags;
	handle_operation(caller, fd, &operation, &result);
	return true;
}

static bool on_close(const struct caller *caller, struct strace_text text)
{
	struct result result;
	bool is_other;
	int fd;

	if (!read_descriptor(&text, &fd, &is_other) || !read_result(&text, &result))
		return false;
	if (!result.errnum)
		trace_handle_close(caller->log->job, caller->process, fd);
	return true;
}

static bool on_clone(const struct caller *caller, struct strace_text text)
{
	struct strace_text arguments = text;
	struct result result;
	pid_t child;

	if (!skip_to_result(&text, &result))
		return false;
	child = (pid_t)result.value;
	if (result.unknown || child <= 0)
		return true;
	if (memmem(arguments.at, text.at - arguments.at, "CLONE_THREAD", strlen("CLONE_THREAD"))) {
		strace_add_thread(caller->log, child, caller->process);
		return true;
	}
	if (strace_was_adopted(caller->log, child))
		return true; /* and it may have closed descriptors since */
	strace_add_thread(caller->log, child, child);
	trace_handle_fork(caller->log->job, caller->process, child);
	return true;
}

static bool on_exec(const struct caller *caller, struct strace_text text)
{
	struct result result;

	if (!skip_to_result(&text, &result))
		return false;
	if (!result.unknown && !result.errnum)
		trace_handle_exec(caller->log->job, caller->process);
	return true;
}

/* Handles a new descriptor: an older event with this number was closed, but the log does not
 * contain the close.
 */
static bool on_descriptor(const struct caller *caller, struct strace_text text)
{
	struct result result;

	if (skip_to_result(&text, &result) && !result.unknown && !result.errnum &&
	    result.value <= INT32_MAX)
		trace_handle_reuse(caller->log->job, caller->process, (int)result.value);
	return true;
}

static const struct {
	const char *name;
	handler *handler;
} handlers[] = {
	{ "perf_event_open", on_open },
	{ "ioctl", on_ioctl },
	{ "read", on_read },
	{ "readv", on_readv },
	{ "mmap", on_map },
	{ "mmap2", on_map },
	{ "close", on_close },
	{ "clone", on_clone },
	{ "clone3", on_clone },
	{ "fork", on_clone },
	{ "vfork", on_clone },
	{ "execve", on_exec },
	{ "execveat", on_exec },
	{ "open", on_descriptor },
	{ "openat", on_descriptor },
	{ "openat2", on_descriptor },
	{ "creat", on_descriptor },
	{ "dup", on_descriptor },
	{ "dup2", on_descriptor },
	{ "dup3", on_descriptor },
	{ "socket", on_descriptor },
	{ "accept", on_descriptor },
	{ "accept4", on_descriptor },
	{ "epoll_create1", on_descriptor },
	{ "eventfd2", on_descriptor },
	{ "memfd_create", on_descriptor },
	{ "timerfd_create", on_descriptor },
	{ "signalfd4", on_descriptor },
};

bool strace_is_relevant(const struct strace_token *name)
{
	for (size_t i = 0; i < TRACE_NR(handlers); i++)
		if (strace_token_is(name, handlers[i].name))
			return true;
	return false;
}

bool strace_parse_syscall(struct strace_log *log, pid_t thread, const struct strace_token *name,
			  struct strace_text text)
{
	struct caller caller = { log, strace_thread_process(log, thread), thread };

	for (size_t i = 0; i < TRACE_NR(handlers); i++)
		if (strace_token_is(name, handlers[i].name))
			return handlers[i].handler(&caller, text);
	return true;
}
