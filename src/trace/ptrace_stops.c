/* SPDX-License-Identifier: MIT */
/* Entry and exit of relevant system calls: reports them and resumes the thread. */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <unistd.h>
#include <linux/ioctl.h>
#include <linux/seccomp.h>
#include <perch/abi.h>

#include "ptrace.h"

#define READS_CHECKED 16 /* one of so many successful reads is checked to be of an event */
#define FILE_NAME_MAX 128
#define FILTER_MAX    4098 /* bytes of a filter string; the kernel accepts a page */

/* Returns the length, or -1 with errno. */
static ssize_t read_link(const struct tracee *thread, int fd, char target[FILE_NAME_MAX])
{
	char path[48];
	ssize_t length;

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", thread->tid, fd);
	length = readlink(path, target, FILE_NAME_MAX - 1);
	target[length < 0 ? 0 : length] = 0;
	return length;
}

enum file { FILE_EVENT, FILE_CLOSED, FILE_OTHER, FILE_UNKNOWN };

/* Reads the link in /proc. If that is not permitted, uses the recorded descriptors. */
static enum file get_file(struct tracer *tracer, const struct tracee *thread, int fd)
{
	char target[FILE_NAME_MAX];
	ssize_t length;

	if (fd < 0)
		return FILE_CLOSED;
	length = read_link(thread, fd, target);
	if (!strcmp(target, "anon_inode:[perf_event]"))
		return FILE_EVENT;
	if (length < 0 && (errno == EACCES || errno == EPERM))
		return trace_is_event(tracer->job, thread->process->pid, fd) ? FILE_EVENT
									     : FILE_UNKNOWN;
	return length < 0 && errno == ENOENT ? FILE_CLOSED : FILE_OTHER;
}

/* Corrects the record of a descriptor that is closed now, or another file. */
static enum file check_descriptor(struct tracer *tracer, const struct tracee *thread, int fd)
{
	const enum file file = get_file(tracer, thread, fd);

	if (file == FILE_CLOSED)
		trace_handle_close(tracer->job, thread->process->pid, fd);
	else if (file == FILE_OTHER)
		trace_handle_reuse(tracer->job, thread->process->pid, fd);
	return file;
}

/* True if the kernel could read all bytes of the attr that its size covers. */
static bool attr_was_readable(const struct tracee *thread)
{
	uint32_t size;

	if (!thread->attr)
		return false;
	memcpy(&size, thread->attr + 4, sizeof(size));
	if (!size)
		size = PERCH_ATTR_SIZE_VER0;
	return size < PERCH_ATTR_SIZE_VER0 || size > TRACEE_ATTR_MAX || thread->attr_size >= size;
}

static int get_descriptor(const struct tracee_syscall *call)
{
	return (int)call->argument[call->kind == TRACEE_SYSCALL_MMAP ? 4 : 0];
}

static bool sets_mode(const struct tracee_syscall *call)
{
	return call->number == call->abi->seccomp
		       ? (uint32_t)call->argument[0] <= SECCOMP_SET_MODE_FILTER
		       : (uint32_t)call->argument[0] == PR_SET_SECCOMP;
}

static bool sets_strict_mode(const struct tracee_syscall *call)
{
	return call->number == call->abi->seccomp
		       ? (uint32_t)call->argument[0] == SECCOMP_SET_MODE_STRICT
		       : call->argument[1] == SECCOMP_MODE_STRICT;
}

/*
 * True if the filter that the system call installs may refuse a call that perch traces. Only calls
 * of the ABI that the program uses now are checked.
 */
static bool filter_may_refuse(const struct tracee *thread)
{
	const struct tracee_syscall *call = &thread->syscall;
	const uint64_t address = call->argument[2]; /* of seccomp and of prctl */
	const size_t pointer = call->abi->narrow ? 4 : 8;
	struct tracer_filter_program program = { 0 };
	unsigned char head[16];
	struct sock_filter *code;
	uint64_t where = 0;
	uint16_t length;
	bool result = true;

	if (call->number == call->abi->prctl && call->argument[1] != SECCOMP_MODE_FILTER)
		return true;
	if (tracee_read_memory(thread->tid, address, head, 2 * pointer) != 2 * pointer)
		return true;
	memcpy(&length, head, sizeof(length));
	memcpy(&where, head + pointer, pointer); /* narrow ABIs are little-endian */
	if (length > BPF_MAXINSNS)
		return true;
	code = malloc(length * sizeof(*code) + 1);
	program.code = code;
	program.length = length;
	if (code && tracee_read_memory(thread->tid, where, code, length * sizeof(*code)) ==
			    length * sizeof(*code))
		result = tracer_filter_may_refuse(&program, call->abi);
	free(code);
	return result;
}

/* True if the result of the system call is needed. */
static bool is_relevant(struct tracer *tracer, const struct tracee *thread)
{
	const struct tracee_syscall *call = &thread->syscall;
	int fd = get_descriptor(call);

	switch (call->kind) {
	case TRACEE_SYSCALL_OPEN:
		return true;
	case TRACEE_SYSCALL_IOCTL:
		return ((call->argument[1] >> 8) & 0xff) == '$';
	case TRACEE_SYSCALL_MMAP:
		if (call->argument[3] & MAP_ANONYMOUS)
			return false;
		/* fall through */
	case TRACEE_SYSCALL_READ:
	case TRACEE_SYSCALL_READV:
		return trace_concerns_events(tracer->job, thread->process->pid, fd) ||
		       get_file(tracer, thread, fd) == FILE_EVENT;
	case TRACEE_SYSCALL_SECCOMP:
		return sets_mode(call);
	case TRACEE_SYSCALL_PTRACE:
		return call->argument[0] == PTRACE_TRACEME || call->argument[0] == PTRACE_ATTACH ||
		       call->argument[0] == PTRACE_SEIZE;
	case TRACEE_SYSCALL_OTHER:
		break;
	}
	return false;
}

/*
 * Threads may share an attr, and probes of one open call modify it. So at most one thread of a
 * process is in perf_event_open at a time.
 */
static bool must_wait(struct tracee *thread)
{
	struct tracee_process *process = thread->process;

	if (thread->syscall.kind != TRACEE_SYSCALL_OPEN)
		return false;
	thread->waiting = process->opener && process->opener != thread;
	if (!thread->waiting)
		process->opener = thread;
	return thread->waiting;
}

/*
 * A filter of the program may want a tracer (SECCOMP_RET_TRACE). Its system calls fail with ENOSYS
 * if there is none, and must do so here. If filters of perch and of the program stop a system call,
 * the data is that of the last one installed.
 */
static void skip_unless_own_stop(struct tracer *tracer, struct tracee *thread, bool seen)
{
	unsigned long data = thread->syscall.filter_data;

	if (seen || tracer->no_syscall_info)
		ptrace(PTRACE_GETEVENTMSG, thread->tid, NULL, &data);
	if (data == TRACER_FILTER_DATA && !tracer->every_syscall)
		return;
	thread->skipped = tracee_skip_syscall(thread->tid);
	if (!thread->skipped && !tracer->trace_noted)
		trace_note(
			tracer->job,
			"a seccomp filter of process %d wants a tracer (SECCOMP_RET_TRACE): its system "
			"calls fail with ENOSYS without perch explain, and are made with it",
			thread->process->pid);
	tracer->trace_noted |= !thread->skipped;
}

void tracer_handle_syscall_entry(struct tracer *tracer, struct tracee *thread, bool by_filter)
{
	/* the seccomp stop follows the syscall-entry-stop of the same system call */
	const bool seen = thread->in_syscall && thread->syscall.kind != TRACEE_SYSCALL_OTHER;

	if (by_filter)
		tracer->entry_tid = 0;
	thread->in_syscall = true;
	thread->allowed = by_filter;
	thread->skipped = false;
	if (!seen && (!tracee_read_syscall(tracer, thread) || !is_relevant(tracer, thread)))
		thread->syscall.kind = TRACEE_SYSCALL_OTHER;
	if (by_filter)
		skip_unless_own_stop(tracer, thread, seen);
	if (seen) {
		tracer_resume(tracer, thread, 0);
		return;
	}
	if (must_wait(thread))
		return;
	if (thread->syscall.kind == TRACEE_SYSCALL_OPEN)
		tracee_read_attr(thread);
	else if (thread->syscall.kind == TRACEE_SYSCALL_SECCOMP)
		thread->filter_may_refuse = filter_may_refuse(thread);
	/* the exit does not stop, unless every system call stops */
	if (thread->syscall.kind == TRACEE_SYSCALL_OTHER && !tracer->every_syscall &&
	    !thread->process->every_syscall)
		thread->in_syscall = false;
	tracer_resume(tracer, thread, 0);
}

/* The filters that perch installed in the thread. */
static unsigned count_filters(const struct tracer *tracer, const struct tracee *thread)
{
	const bool first = tracer->setup && !tracer->every_syscall && !tracer->setup->error;

	return first + thread->process->filters;
}

static struct perch_open_call get_open_call(const struct tracer *tracer,
					    const struct tracee *thread, int64_t result)
{
	const uint64_t *argument = thread->syscall.argument;

	return (struct perch_open_call){
		.attr = attr_was_readable(thread) ? (const struct perch_attr *)thread->attr : NULL,
		.pid = (pid_t)argument[1],
		.cpu = (int)argument[2],
		.group_fd = (int)argument[3],
		.flags = thread->syscall.abi->narrow ? (uint32_t)argument[4] : argument[4],
		.errnum = result < 0 ? -result : 0,
		.tracer_filters = count_filters(tracer, thread),
		.own_filters = thread->process->own_filters,
	};
}

void tracer_handle_killed_open(struct tracer *tracer, struct tracee *thread, bool ended)
{
	const struct perch_open_call call = get_open_call(tracer, thread, 0);

	thread->trapped = false;
	trace_handle_filtered_open(tracer->job, thread->process->pid, thread->tid, &call,
				   ended ? TRACE_FILTER_KILLS : TRACE_FILTER_TRAPS);
	tracer_end_open(tracer, thread);
}

static void handle_open(struct tracer *tracer, struct tracee *thread, int64_t result)
{
	struct perch_open_call call = get_open_call(tracer, thread, result);

	if (result >= 0 && tracee_has_seccomp_signal(thread->tid)) {
		thread->trapped = true; /* the result is not one of the kernel */
		return;
	}
	if (thread->skipped && call.errnum == ENOSYS) {
		trace_handle_filtered_open(tracer->job, thread->process->pid, thread->tid, &call,
					   TRACE_FILTER_TRACES);
		return;
	}
	check_descriptor(tracer, thread, call.group_fd);
	if (call.errnum == E2BIG)
		tracee_read_memory(thread->tid, thread->syscall.argument[0] + 4, &call.kernel_size,
				   sizeof(call.kernel_size));
	/* a failed read of -1 concerns events if an open call failed before */
	if (result >= 0 || TRACER_CAN_INJECT)
		tracer_add_descriptor(tracer, thread, result >= 0 ? (int)result : -1);
	perch_machine_set_process(tracer->machine, thread->tid);
	tracer->target = call.errnum ? thread : NULL;
	trace_handle_open(tracer->job, thread->process->pid, thread->tid, &call,
			  call.errnum ? -1 : (int)result, tracer->machine);
	tracer_end_injection(tracer);
	tracer->target = NULL;
}

/* The size of a pointer is part of the request; that of a 32-bit program is converted. */
static unsigned long get_request(const struct tracee_syscall *call)
{
	const unsigned long request = (uint32_t)call->argument[1];

	if (!call->abi->narrow || _IOC_SIZE(request) != 4)
		return request;
	switch (_IOC_NR(request)) {
	case _IOC_NR(PERCH_IOC_SET_FILTER):
	case _IOC_NR(PERCH_IOC_ID):
	case _IOC_NR(PERCH_IOC_QUERY_BPF):
	case _IOC_NR(PERCH_IOC_MODIFY_ATTRIBUTES):
		return _IOC(_IOC_DIR(request), '$', _IOC_NR(request), sizeof(uint64_t));
	}
	return request;
}

static void read_ioctl(struct tracer *tracer, struct tracee *thread,
		       struct perch_operation *operation, char *filter)
{
	const struct tracee_syscall *call = &thread->syscall;

	operation->kind = PERCH_OPERATION_IOCTL;
	operation->request = get_request(call);
	operation->argument = call->argument[2];
	if (operation->request == PERCH_IOC_SET_OUTPUT) {
		operation->other_fd = (int)call->argument[2];
		check_descriptor(tracer, thread, operation->other_fd);
	} else if (operation->request == PERCH_IOC_PERIOD) {
		operation->period_known =
			tracee_read_memory(thread->tid, call->argument[2], &operation->period,
					   sizeof(operation->period)) == sizeof(operation->period);
	} else if (operation->request == PERCH_IOC_SET_FILTER) {
		size_t got =
			tracee_read_memory(thread->tid, call->argument[2], filter, FILTER_MAX - 1);

		filter[got] = 0;
		operation->filter = got ? filter : NULL;
	}
}

/* The size of the first buffer of readv(2) that is not empty, which is that of the read. */
static size_t read_vector(const struct tracee *thread)
{
	const size_t width = thread->syscall.abi->narrow ? 4 : 8;
	uint64_t size = 0;
	unsigned char element[16];

	for (uint64_t i = 0; i < thread->syscall.argument[2] && i < IOV_MAX && !size; i++) {
		const uint64_t address = thread->syscall.argument[1] + i * 2 * width;

		if (tracee_read_memory(thread->tid, address, element, 2 * width) != 2 * width)
			return 0;
		memcpy(&size, element + width, width);
	}
	return size;
}

/*
 * True if the operation is one of an event, or of a number that was to be one. A number may be
 * another file by now: then only an ioctl of events concerns them, and a mapping that is no
 * descriptor of a device, or a read that no event refuses so.
 */
static bool concerns_events(struct tracer *tracer, const struct tracee *thread, int fd,
			    int64_t result, bool *is_other)
{
	const struct tracee_syscall *call = &thread->syscall;
	const bool recorded = trace_concerns_events(tracer->job, thread->process->pid, fd);

	/* a read of another file may succeed too: then its number must not be checked any more */
	if (result > 0 && call->kind != TRACEE_SYSCALL_MMAP && recorded &&
	    ++thread->process->reads % READS_CHECKED)
		return true;
	switch (check_descriptor(tracer, thread, fd)) {
	case FILE_EVENT:
		return true;
	case FILE_CLOSED:
		return result == -EBADF && (call->kind == TRACEE_SYSCALL_IOCTL || recorded);
	case FILE_UNKNOWN:
		return result < 0 && call->kind == TRACEE_SYSCALL_IOCTL;
	case FILE_OTHER:
		break;
	}
	*is_other = true;
	if (call->kind == TRACEE_SYSCALL_IOCTL)
		return result < 0;
	if (call->kind == TRACEE_SYSCALL_MMAP)
		return recorded && (result == -ENODEV || result == -EACCES || result == -EINVAL);
	return recorded && (result == -EINVAL || result == -EISDIR);
}

static void handle_operation(struct tracer *tracer, struct tracee *thread, int64_t result)
{
	const struct tracee_syscall *call = &thread->syscall;
	struct perch_operation operation = { .other_fd = -1,
					     .errnum = result < 0 && result >= -4095 ? -result
										     : 0 };
	char filter[FILTER_MAX], file[FILE_NAME_MAX];
	int fd = get_descriptor(call);
	bool is_other = false;

	if (!concerns_events(tracer, thread, fd, result, &is_other))
		return;
	switch (call->kind) {
	case TRACEE_SYSCALL_IOCTL:
		read_ioctl(tracer, thread, &operation, filter);
		break;
	case TRACEE_SYSCALL_MMAP:
		operation.kind = PERCH_OPERATION_MMAP;
		operation.address = call->argument[0];
		operation.address_known = true;
		operation.length = call->argument[1];
		operation.protection = call->argument[2];
		operation.map_flags = call->argument[3];
		operation.offset = call->argument[5] << call->abi->offset_shift;
		break;
	case TRACEE_SYSCALL_READV:
		operation.kind = PERCH_OPERATION_READV;
		operation.size = result > 0 ? 0 : read_vector(thread);
		break;
	default:
		operation.kind = PERCH_OPERATION_READ;
		operation.size = call->argument[2];
	}
	if (is_other) {
		read_link(thread, fd, file);
		trace_handle_other_file(tracer->job, thread->process->pid, thread->tid, fd,
					&operation, file);
		return;
	}
	perch_machine_set_process(tracer->machine, thread->tid);
	trace_handle_operation(tracer->job, thread->process->pid, thread->tid, fd, &operation,
			       result, tracer->machine);
}

/* A process with a filter cannot enter the strict mode. */
static void note_strict_mode(struct tracer *tracer, const struct tracee *thread)
{
	if (tracer->strict_noted || !count_filters(tracer, thread))
		return;
	trace_note(
		tracer->job,
		"seccomp strict mode (SECCOMP_MODE_STRICT) fails with EINVAL in process %d, because "
		"perch explain has installed a filter: attach to the running process with -p instead",
		thread->process->pid);
	tracer->strict_noted = true;
}

static void handle_result(struct tracer *tracer, struct tracee *thread, int64_t result)
{
	switch (thread->syscall.kind) {
	case TRACEE_SYSCALL_OPEN:
		handle_open(tracer, thread, result);
		break;
	case TRACEE_SYSCALL_SECCOMP:
		if (result == -EINVAL && sets_strict_mode(&thread->syscall))
			note_strict_mode(tracer, thread);
		if (result < 0 || !thread->filter_may_refuse)
			break;
		thread->process->own_filters++;
		tracer_stop_every_syscall(
			tracer, thread->process,
			"its own seccomp filter may refuse system calls of events before "
			"the filter of perch runs");
		break;
	case TRACEE_SYSCALL_PTRACE:
		tracer_check_ptrace(tracer, thread, result);
		break;
	default:
		handle_operation(tracer, thread, result);
	}
}

void tracer_handle_syscall_exit(struct tracer *tracer, struct tracee *thread, const int64_t *result)
{
	thread->in_syscall = false;
	/* errnos from 512 on are internal to the kernel: the system call is restarted */
	if (thread->syscall.kind != TRACEE_SYSCALL_OTHER && result &&
	    (*result >= 0 || *result > -512 || *result < -4095))
		handle_result(tracer, thread, *result);
	if (!thread->trapped) /* else the next stop, or its end, shows what the filter does */
		tracer_end_open(tracer, thread);
	thread->syscall.kind = TRACEE_SYSCALL_OTHER;
	if (!thread->has_status)
		tracer_resume(tracer, thread, 0);
}
