/* SPDX-License-Identifier: MIT */
/* A call of interest begins, and ends: what is told of it, and how the thread goes on. */
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

#define FILTER_MAX \
	4098 /* bytes of a filter's text: the kernel takes a page, and more is to be seen */

/* What the descriptor is now, whatever was known of it; where the program may not be asked, that.
 */
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
		return explain_is_event(tracer->job, thread->group->pid, fd);
	return length == sizeof(event) - 1 && !memcmp(target, event, length);
}

/* What is known of a descriptor is forgotten when it is another file's, or nobody's, by now. */
static void check_descriptor(struct tracer *tracer, const struct tracee *thread, int fd)
{
	if (fd >= 0 && explain_is_event(tracer->job, thread->group->pid, fd) &&
	    !is_event(tracer, thread, fd))
		explain_handle_close(tracer->job, thread->group->pid, fd);
}

/* Whether the attr, as far as its size says, was there for the kernel to read. */
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

static int descriptor_of(const struct tracee_syscall *call)
{
	return (int)call->argument[call->kind == TRACEE_SYSCALL_MMAP ? 4 : 0];
}

static bool confines(const struct tracee_syscall *call)
{
	return (uint32_t)call->argument[0] ==
	       (call->number == call->abi->confine ? SECCOMP_SET_MODE_FILTER : PR_SET_SECCOMP);
}

/* Whether the end of the call matters. */
static bool of_interest(struct tracer *tracer, const struct tracee *thread)
{
	const struct tracee_syscall *call = &thread->call;
	int fd = descriptor_of(call);

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
		return fd >= 0 && (explain_is_event(tracer->job, thread->group->pid, fd) ||
				   is_event(tracer, thread, fd));
	case TRACEE_SYSCALL_SECCOMP:
		return confines(call);
	case TRACEE_SYSCALL_OTHER:
		break;
	}
	return false;
}

/*
 * Threads may share an attr, and what is made of it while one thread's call is looked into must not
 * reach another's call: so at most one thread of a process is in perf_event_open.
 */
static bool must_wait(struct tracee *thread)
{
	struct tracee_process *group = thread->group;

	if (thread->call.kind != TRACEE_SYSCALL_OPEN)
		return false;
	thread->waiting = group->opening && group->opening != thread;
	if (!thread->waiting)
		group->opening = thread;
	return thread->waiting;
}

void tracer_handle_syscall_entry(struct tracer *tracer, struct tracee *thread)
{
	/* the stop at the filter follows the one at the start of the call */
	if (thread->entered && thread->call.kind != TRACEE_SYSCALL_OTHER) {
		tracer_resume(tracer, thread, 0);
		return;
	}
	thread->entered = true;
	if (!tracee_read_syscall(tracer, thread) || !of_interest(tracer, thread))
		thread->call.kind = TRACEE_SYSCALL_OTHER;
	if (must_wait(thread))
		return;
	if (thread->call.kind == TRACEE_SYSCALL_OPEN)
		tracee_read_attr(thread);
	/* that of a call that is not waited for is not seen, unless every call stops */
	if (thread->call.kind == TRACEE_SYSCALL_OTHER && !tracer->every && !thread->group->every)
		thread->entered = false;
	tracer_resume(tracer, thread, 0);
}

/* The machine is the thread's from now on; filters of ours are not to be blamed. */
static void look_at(struct tracer *tracer, const struct tracee *thread)
{
	const bool first = tracer->setup && !tracer->every && !tracer->setup->error;

	perch_machine_set_process(tracer->machine, thread->tid);
	perch_machine_set_own_filters(tracer->machine, first + thread->group->filters);
}

static void opened(struct tracer *tracer, struct tracee *thread, int64_t result)
{
	const uint64_t *argument = thread->call.argument;
	struct perch_open_call call = {
		.attr = attr_was_readable(thread) ? (const struct perch_attr *)thread->attr : NULL,
		.pid = (pid_t)argument[1],
		.cpu = (int)argument[2],
		.group_fd = (int)argument[3],
		.flags = thread->call.abi->narrow ? (uint32_t)argument[4] : argument[4],
		.errnum = result < 0 ? -result : 0,
	};

	check_descriptor(tracer, thread, call.group_fd);
	if (call.errnum == E2BIG)
		tracee_read_memory(thread->tid, argument[0] + 4, &call.kernel_size,
				   sizeof(call.kernel_size));
	if (result >= 0)
		tracer_add_descriptor(tracer, thread, (int)result);
	look_at(tracer, thread);
	tracer->probed = call.errnum ? thread : NULL;
	explain_handle_open(tracer->job, thread->group->pid, thread->tid, &call,
			    call.errnum ? -1 : (int)result, tracer->machine);
	tracer_end_injection(tracer);
	tracer->probed = NULL;
}

/* 32-bit programs have another size of pointers in their requests; the kernel makes them its own.
 */
static unsigned long request_of(const struct tracee_syscall *call)
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

static void controlled(struct tracer *tracer, struct tracee *thread,
		       struct perch_operation *operation, char *filter)
{
	const struct tracee_syscall *call = &thread->call;

	operation->kind = PERCH_OPERATION_IOCTL;
	operation->request = request_of(call);
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

static void operated(struct tracer *tracer, struct tracee *thread, int64_t result)
{
	const struct tracee_syscall *call = &thread->call;
	struct perch_operation operation = { .other_fd = -1,
					     .errnum = result < 0 && result >= -4095 ? -result
										     : 0 };
	char filter[FILTER_MAX];
	int fd = descriptor_of(call);

	/* numbers of descriptors are used again for other files; those that succeed are too many to
	 * look each time */
	if ((result <= 0 || call->kind == TRACEE_SYSCALL_MMAP ||
	     !explain_is_event(tracer->job, thread->group->pid, fd)) &&
	    !is_event(tracer, thread, fd)) {
		check_descriptor(tracer, thread, fd);
		return;
	}
	switch (call->kind) {
	case TRACEE_SYSCALL_IOCTL:
		controlled(tracer, thread, &operation, filter);
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
	look_at(tracer, thread);
	explain_handle_operation(tracer->job, thread->group->pid, thread->tid, fd, &operation,
				 result, tracer->machine);
}

void tracer_handle_syscall_exit(struct tracer *tracer, struct tracee *thread)
{
	int64_t result;
	bool known = thread->call.kind != TRACEE_SYSCALL_OTHER &&
		     tracee_read_result(tracer, thread, &result);

	thread->entered = false;
	/* the numbers from 512 on are the kernel's own: the call is made again after a signal */
	if (known && (result >= 0 || result > -512 || result < -4095)) {
		if (thread->call.kind == TRACEE_SYSCALL_OPEN)
			opened(tracer, thread, result);
		else if (thread->call.kind == TRACEE_SYSCALL_SECCOMP && result >= 0)
			tracer_stop_every_syscall(
				tracer, thread->group,
				"it has a seccomp filter of its own, which answers calls "
				"before that of perch sees them");
		else if (thread->call.kind != TRACEE_SYSCALL_SECCOMP)
			operated(tracer, thread, result);
	}
	tracer_end_open(tracer, thread);
	thread->call.kind = TRACEE_SYSCALL_OTHER;
	if (!thread->has_status)
		tracer_resume(tracer, thread, 0);
}
