/* SPDX-License-Identifier: MIT */
/* Entry and exit of relevant system calls: reports them and resumes the thread. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <unistd.h>
#include <linux/seccomp.h>
#include <perch/abi.h>

#include "explain_ptrace.h"
#include "options.h"

#define FILTER_MAX 4098 /* bytes of a filter string; the kernel accepts a page */

/* Reads the link in /proc. If that is not permitted, uses the recorded descriptors. */
static bool is_event(struct tracer *tracer, const struct tracee *thread, int fd)
{
	static const char event[] = "anon_inode:[perf_event]";
	char path[48], target[sizeof(event)];
	ssize_t length;

	if (fd < 0)
		return false;
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", thread->tid, fd);
	length = readlink(path, target, sizeof(target));
	if (length < 0 && (errno == EACCES || errno == EPERM))
		return explain_is_event(tracer->job, thread->process->pid, fd);
	return length == sizeof(event) - 1 && !memcmp(target, event, length);
}

/* Removes a recorded descriptor that is closed now, or another file. */
static void check_descriptor(struct tracer *tracer, const struct tracee *thread, int fd)
{
	if (fd >= 0 && explain_is_event(tracer->job, thread->process->pid, fd) &&
	    !is_event(tracer, thread, fd))
		explain_handle_close(tracer->job, thread->process->pid, fd);
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

static bool installs_filter(const struct tracee_syscall *call)
{
	return (uint32_t)call->argument[0] ==
	       (call->number == call->abi->seccomp ? SECCOMP_SET_MODE_FILTER : PR_SET_SECCOMP);
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
		return fd >= 0 && (explain_is_event(tracer->job, thread->process->pid, fd) ||
				   is_event(tracer, thread, fd));
	case TRACEE_SYSCALL_SECCOMP:
		return installs_filter(call);
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

void tracer_handle_syscall_entry(struct tracer *tracer, struct tracee *thread)
{
	/* the seccomp stop follows the syscall-entry-stop of the same system call */
	if (thread->in_syscall && thread->syscall.kind != TRACEE_SYSCALL_OTHER) {
		tracer_resume(tracer, thread, 0);
		return;
	}
	thread->in_syscall = true;
	if (!tracee_read_syscall(tracer, thread) || !is_relevant(tracer, thread))
		thread->syscall.kind = TRACEE_SYSCALL_OTHER;
	if (must_wait(thread))
		return;
	if (thread->syscall.kind == TRACEE_SYSCALL_OPEN)
		tracee_read_attr(thread);
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

static void handle_open(struct tracer *tracer, struct tracee *thread, int64_t result)
{
	const uint64_t *argument = thread->syscall.argument;
	struct perch_open_call call = {
		.attr = attr_was_readable(thread) ? (const struct perch_attr *)thread->attr : NULL,
		.pid = (pid_t)argument[1],
		.cpu = (int)argument[2],
		.group_fd = (int)argument[3],
		.flags = thread->syscall.abi->narrow ? (uint32_t)argument[4] : argument[4],
		.errnum = result < 0 ? -result : 0,
		.tracer_filters = count_filters(tracer, thread),
	};

	check_descriptor(tracer, thread, call.group_fd);
	if (call.errnum == E2BIG)
		tracee_read_memory(thread->tid, argument[0] + 4, &call.kernel_size,
				   sizeof(call.kernel_size));
	if (result >= 0)
		tracer_add_descriptor(tracer, thread, (int)result);
	perch_machine_set_process(tracer->machine, thread->tid);
	tracer->target = call.errnum ? thread : NULL;
	explain_handle_open(tracer->job, thread->process->pid, thread->tid, &call,
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

static void handle_operation(struct tracer *tracer, struct tracee *thread, int64_t result)
{
	const struct tracee_syscall *call = &thread->syscall;
	struct perch_operation operation = { .other_fd = -1,
					     .errnum = result < 0 && result >= -4095 ? -result
										     : 0 };
	char filter[FILTER_MAX];
	int fd = get_descriptor(call);

	/* A descriptor number may be another file by now. Successful reads are not checked: there
	 * are too many. */
	if ((result <= 0 || call->kind == TRACEE_SYSCALL_MMAP ||
	     !explain_is_event(tracer->job, thread->process->pid, fd)) &&
	    !is_event(tracer, thread, fd)) {
		check_descriptor(tracer, thread, fd);
		return;
	}
	switch (call->kind) {
	case TRACEE_SYSCALL_IOCTL:
		read_ioctl(tracer, thread, &operation, filter);
		break;
	case TRACEE_SYSCALL_MMAP:
		operation.kind = PERCH_OPERATION_MMAP;
		operation.length = call->argument[1];
		operation.protection = call->argument[2];
		operation.map_flags = call->argument[3];
		operation.offset = call->argument[5] << call->abi->offset_shift;
		break;
	default:
		operation.kind = PERCH_OPERATION_READ;
		operation.size = call->argument[2];
	}
	perch_machine_set_process(tracer->machine, thread->tid);
	explain_handle_operation(tracer->job, thread->process->pid, thread->tid, fd, &operation,
				 result, tracer->machine);
}

void tracer_handle_syscall_exit(struct tracer *tracer, struct tracee *thread)
{
	int64_t result;
	bool has_result = thread->syscall.kind != TRACEE_SYSCALL_OTHER &&
			  tracee_read_result(tracer, thread, &result);

	thread->in_syscall = false;
	/* errnos from 512 on are internal to the kernel: the system call is restarted */
	if (has_result && (result >= 0 || result > -512 || result < -4095)) {
		if (thread->syscall.kind == TRACEE_SYSCALL_OPEN)
			handle_open(tracer, thread, result);
		else if (thread->syscall.kind == TRACEE_SYSCALL_SECCOMP && result >= 0)
			tracer_stop_every_syscall(
				tracer, thread->process,
				"its own seccomp filter may refuse perf_event_open before "
				"the filter of perch runs");
		else if (thread->syscall.kind != TRACEE_SYSCALL_SECCOMP)
			handle_operation(tracer, thread, result);
	}
	tracer_end_open(tracer, thread);
	thread->syscall.kind = TRACEE_SYSCALL_OTHER;
	if (!thread->has_status)
		tracer_resume(tracer, thread, 0);
}
