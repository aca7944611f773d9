/* SPDX-License-Identifier: MIT */
/*
 * Calls made in a thread that is stopped at the end of one of its own: with its capabilities,
 * filters, namespaces and descriptors. The instruction that made its call is executed again, with
 * other registers and all signals blocked.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "explain_ptrace.h"
#include "options.h"

#define FILTERS_MAX 8 /* stacked on a process; each is asked at every read and mmap */
#define GROWTH	    8 /* of the range of descriptors, so that these are enough for 2 million */

/* The attr's place is as it was at the end of the program's own call: what the kernel wrote back
 * stays there. */
static void keep_room(struct tracer *tracer, const struct tracee *thread)
{
	tracer->room_size = 0;
	if (!thread->attr)
		return;
	if (!tracer->room)
		tracer->room = malloc(4096);
	if (tracer->room)
		tracer->room_size = tracee_read_memory(thread->tid, thread->call.argument[0],
						       tracer->room, thread->attr_size);
}

/*
 * Not when another thread of its process has executed in the meantime and stops under the leader's
 * number, which is this thread's: that one is a new program, with registers of its own.
 */
static bool still_there(const struct tracee *thread)
{
	siginfo_t info;

	return !thread->has_status && !ptrace(PTRACE_GETSIGINFO, thread->tid, NULL, &info) &&
	       info.si_code == TRACEE_SYSCALL_STOP;
}

static bool begin(struct tracer *tracer, struct tracee *thread)
{
	uint64_t all = ~0ull;

	if (tracer->before.valid)
		return true;
	if (!tracee_get_registers(thread->tid, &tracer->before) || !still_there(thread)) {
		tracer->before.valid = false;
		return false;
	}
	if (ptrace(PTRACE_GETSIGMASK, thread->tid, (void *)sizeof(tracer->mask), &tracer->mask) ||
	    ptrace(PTRACE_SETSIGMASK, thread->tid, (void *)sizeof(all), &all)) {
		tracer->before.valid = false;
		return false;
	}
	tracer->probed = thread;
	keep_room(tracer, thread);
	return true;
}

void tracer_end_injection(struct tracer *tracer)
{
	struct tracee *thread = tracer->probed;

	if (!tracer->before.valid)
		return;
	if (still_there(thread)) {
		if (tracer->room_size)
			tracee_write_memory(thread->tid, thread->call.argument[0], tracer->room,
					    tracer->room_size);
		tracee_set_registers(thread->tid, &tracer->before);
		ptrace(PTRACE_SETSIGMASK, thread->tid, (void *)sizeof(tracer->mask), &tracer->mask);
		if (tracer->interrupt)
			ptrace(PTRACE_INTERRUPT, thread->tid, NULL, NULL);
		if (tracer->late_signal)
			syscall(SYS_tgkill, thread->group->pid, thread->tid, tracer->late_signal);
	}
	tracer->before.valid = false;
	tracer->interrupt = false;
	tracer->late_signal = 0;
}

/* A stop on the way to the end of the injected call. Returns whether that has been reached. */
static bool step(struct tracer *tracer, const struct tracee *thread, int status, bool *entered)
{
	const int event = status >> 16, signal = WSTOPSIG(status);
	int end;

	if (event == PTRACE_EVENT_STOP) {
		/* SIGSTOP to another thread: this one takes part afterwards */
		tracer->interrupt = true;
	} else if (!event && signal == TRACEE_SYSCALL_STOP) {
		end = tracee_at_syscall_exit(tracer, thread->tid);
		if (end > 0 || (end < 0 && *entered))
			return true;
		*entered = true;
	} else if (!event) {
		tracer->late_signal = signal; /* SIGSTOP: all others are blocked */
	}
	return false;
}

static int64_t run(struct tracer *tracer, struct tracee *thread, uint64_t number,
		   const uint64_t argument[6])
{
	struct tracee_registers registers = tracer->before;
	bool entered = false;
	int status;

	tracee_set_syscall(&registers, thread->call.abi, number, argument);
	if (!still_there(thread) || !tracee_set_registers(thread->tid, &registers))
		return -ESRCH;
	do {
		if (ptrace(PTRACE_SYSCALL, thread->tid, NULL, NULL))
			return -ESRCH; /* killed: its end is reported to the loop */
		if (tracer_wait_for(tracer, thread->tid, &status) < 0)
			return -ESRCH;
		if (!WIFSTOPPED(status) || status >> 16 == PTRACE_EVENT_EXEC) {
			/* ended, or taken over by a thread that executes */
			thread->has_status = true;
			thread->status = status;
			return -ESRCH;
		}
	} while (!step(tracer, thread, status, &entered));
	if (!tracee_get_registers(thread->tid, &registers))
		return -ESRCH;
	return tracee_return_value(&registers, thread->call.abi);
}

static int answer(int64_t result)
{
	if (result >= 0)
		return result;
	errno = -result;
	return -1;
}

/* Bytes that the kernel reads of an attr. */
static size_t bytes_of(const struct perch_attr *attr)
{
	if (!attr->size)
		return PERCH_ATTR_SIZE_VER0;
	/* sizes that it refuses: no further than the size itself */
	return attr->size < PERCH_ATTR_SIZE_VER0 || attr->size > 4096 ? 8 : attr->size;
}

/* The kernel tells its own size in the caller's memory; it cannot where that is read-only. */
static int64_t told_size(const struct tracee *thread, struct perch_attr *attr)
{
	const bool asked = bytes_of(attr) == 8;
	const uint32_t before = attr->size;

	tracee_read_memory(thread->tid, thread->call.argument[0] + 4, &attr->size,
			   sizeof(attr->size));
	return asked && attr->size == before ? -ENOSYS : -E2BIG;
}

static int open_there(void *context, const struct perch_attr *attr, pid_t pid, int cpu,
		      int group_fd, unsigned long flags)
{
	struct tracer *tracer = context;
	struct tracee *thread = tracer->probed;
	uint64_t argument[6] = { 0, (int64_t)pid, (int64_t)cpu, (int64_t)group_fd, flags, 0 };
	int64_t result;

	if (!thread || !begin(tracer, thread))
		return answer(-ENOSYS);
	if (attr) {
		if (bytes_of(attr) > tracer->room_size)
			return answer(-ENOSYS); /* beyond is other data of the program's */
		argument[0] = thread->call.argument[0];
		if (!tracee_write_memory(thread->tid, argument[0], attr, bytes_of(attr)))
			return answer(-ENOSYS);
	}
	result = run(tracer, thread, thread->call.abi->open, argument);
	return answer(attr && result == -E2BIG ? told_size(thread, (struct perch_attr *)attr)
					       : result);
}

static int close_there(void *context, int fd)
{
	struct tracer *tracer = context;
	const uint64_t argument[6] = { (int64_t)fd };

	if (!tracer->before.valid)
		return answer(-EBADF);
	return answer(run(tracer, tracer->probed, tracer->probed->call.abi->close, argument));
}

static int control_there(void *context, int fd, unsigned long request, unsigned long argument)
{
	(void)context, (void)fd, (void)request, (void)argument;
	return answer(-ENOSYS);
}

static ssize_t read_there(void *context, int fd, void *buffer, size_t size)
{
	(void)context, (void)fd, (void)buffer, (void)size;
	return answer(-ENOSYS);
}

static void *map_there(void *context, size_t size, int protection, int flags, int fd, off_t offset)
{
	(void)context, (void)size, (void)protection, (void)flags, (void)fd, (void)offset;
	errno = ENOSYS;
	return MAP_FAILED;
}

static int unmap_there(void *context, void *address, size_t size)
{
	(void)context, (void)address, (void)size;
	return answer(-ENOSYS);
}

static int tasks_there(void *context, bool enable)
{
	(void)context, (void)enable;
	return answer(-ENOSYS);
}

int tracer_init_injection(struct tracer *tracer, struct perch_error *err)
{
	int rc;

	tracer->calls =
		(struct perch_syscalls){ tracer,    open_there,	 control_there, read_there,
					 map_there, unmap_there, close_there,	tasks_there };
	rc = perch_machine_new(&tracer->machine, NULL, &tracer->calls, err);
	if (!rc)
		perch_machine_set_probing(tracer->machine, tracer->job->probe && TRACER_CAN_INJECT);
	return rc;
}

/* Writes the filter and the structure that points to it into a page of the program's. */
static bool put_filter(const struct tracee *thread, uint64_t address,
		       const struct tracer_filter *filter)
{
	const size_t pointer = thread->call.abi->narrow ? 4 : 8;
	const uint64_t code = address + 16;
	const uint32_t narrow = code;
	unsigned char head[16] = { 0 };

	memcpy(head, &filter->length, sizeof(filter->length));
	memcpy(head + pointer, pointer == 4 ? (const void *)&narrow : (const void *)&code, pointer);
	return tracee_write_memory(thread->tid, address, head, sizeof(head)) &&
	       tracee_write_memory(thread->tid, code, filter->code,
				   filter->length * sizeof(filter->code[0]));
}

/* For all threads of the process at once. Returns 0, the number of a thread with other filters, or
 * a negative errno. */
static int64_t install(struct tracer *tracer, struct tracee *thread,
		       const struct tracer_filter *filter)
{
	const struct tracee_abi *abi = thread->call.abi;
	const uint64_t map[6] = { 0,  4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
				  -1, 0 };
	uint64_t confine[6] = { SECCOMP_SET_MODE_FILTER,
				SECCOMP_FILTER_FLAG_TSYNC | SECCOMP_FILTER_FLAG_SPEC_ALLOW };
	uint64_t unmap[6] = { 0, 4096 };
	int64_t address, result;

	address = run(tracer, thread, abi->map, map);
	if (address < 0 && address >= -4095)
		return address;
	if (abi->narrow)
		address = (uint32_t)address;
	confine[2] = unmap[0] = address;
	result = put_filter(thread, address, filter) ? run(tracer, thread, abi->confine, confine)
						     : -EFAULT;
	run(tracer, thread, abi->unmap, unmap);
	return result;
}

/* The range that is to stop, so wide that few filters are needed; false: the descriptor is in it
 * already. */
static bool widen(const struct tracee_process *group, uint32_t fd, uint32_t *low, uint32_t *high)
{
	uint64_t width;

	if (!group->filters) {
		*low = *high = fd;
		return true;
	}
	if (fd >= group->low && fd <= group->high)
		return false;
	*low = fd < group->low ? 0 : group->low;
	width = ((uint64_t)group->high - group->low + 1) * GROWTH;
	*high = fd <= group->high ? group->high : group->low + width - 1;
	if (*high < fd || group->filters == FILTERS_MAX - 1)
		*high = INT32_MAX;
	return true;
}

void tracer_add_descriptor(struct tracer *tracer, struct tracee *thread, int fd)
{
	struct tracee_process *group = thread->group;
	struct tracer_filter filter;
	uint32_t low, high;
	int64_t rc = TRACER_CAN_INJECT ? -ESRCH : -ENOSYS;
	bool gone = false;

	if (tracer->every || group->every || !widen(group, fd, &low, &high))
		return;
	tracer_filter_descriptors(&filter, low, high);
	tracer->probed = thread;
	if (begin(tracer, thread)) {
		rc = install(tracer, thread, &filter);
		/* killed between two calls: its memory is gone before its end is told */
		gone = !still_there(thread);
		tracer_end_injection(tracer);
	}
	if (gone || rc == -ESRCH)
		return; /* or its process became another program, which is met again */
	if (rc) {
		tracer_stop_every_syscall(
			tracer, group,
			rc == -EACCES ? "it gave up the right to a second filter"
				      : "it takes no second filter, for mmap and read of events");
		return;
	}
	group->low = low;
	group->high = high;
	group->filters++;
}
