/* SPDX-License-Identifier: MIT */
/*
 * Injects system calls into a thread in a syscall-exit-stop: they run with its capabilities,
 * filters, namespaces and descriptors. The thread executes its system call instruction again, with
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

#include "ptrace.h"

#define GROWTH 4 /* of near ranges of descriptors: ten filters cover 350,000 */

/* Saves the memory of the attr after the program's own system call, with what the kernel wrote. */
static void save_attr(struct tracer *tracer, const struct tracee *thread)
{
	tracer->saved_attr_size = 0;
	if (!thread->attr)
		return;
	if (!tracer->saved_attr)
		tracer->saved_attr = malloc(4096);
	if (tracer->saved_attr)
		tracer->saved_attr_size = tracee_read_memory(thread->tid,
							     thread->syscall.argument[0],
							     tracer->saved_attr, thread->attr_size);
}

/*
 * False if the thread has ended, or another thread of its process has executed a program and now
 * has this tid.
 */
static bool is_same_thread(const struct tracee *thread)
{
	siginfo_t info;

	return !thread->has_status && !ptrace(PTRACE_GETSIGINFO, thread->tid, NULL, &info) &&
	       info.si_code == TRACEE_SYSCALL_STOP;
}

static bool begin_injection(struct tracer *tracer, struct tracee *thread)
{
	uint64_t all = ~0ull;

	if (tracer->saved_registers.valid)
		return true;
	if (!tracee_get_registers(thread->tid, &tracer->saved_registers) ||
	    !is_same_thread(thread)) {
		tracer->saved_registers.valid = false;
		return false;
	}
	if (ptrace(PTRACE_GETSIGMASK, thread->tid, (void *)sizeof(tracer->saved_mask),
		   &tracer->saved_mask) ||
	    ptrace(PTRACE_SETSIGMASK, thread->tid, (void *)sizeof(all), &all)) {
		tracer->saved_registers.valid = false;
		return false;
	}
	tracer->target = thread;
	save_attr(tracer, thread);
	return true;
}

void tracer_end_injection(struct tracer *tracer)
{
	struct tracee *thread = tracer->target;

	if (!tracer->saved_registers.valid)
		return;
	if (is_same_thread(thread)) {
		if (tracer->saved_attr_size)
			tracee_write_memory(thread->tid, thread->syscall.argument[0],
					    tracer->saved_attr, tracer->saved_attr_size);
		tracee_set_registers(thread->tid, &tracer->saved_registers);
		ptrace(PTRACE_SETSIGMASK, thread->tid, (void *)sizeof(tracer->saved_mask),
		       &tracer->saved_mask);
		if (tracer->interrupt_pending)
			ptrace(PTRACE_INTERRUPT, thread->tid, NULL, NULL);
		if (tracer->pending_signal)
			syscall(SYS_tgkill, thread->process->pid, thread->tid,
				tracer->pending_signal);
	}
	tracer->saved_registers.valid = false;
	tracer->interrupt_pending = false;
	tracer->pending_signal = 0;
}

/* Handles a stop of the target. Returns true at the exit of the injected system call. */
static bool handle_stop(struct tracer *tracer, const struct tracee *thread, int status,
			bool *in_syscall)
{
	const int event = status >> 16, signal = WSTOPSIG(status);
	int end;

	if (event == PTRACE_EVENT_STOP) {
		/* group-stop by a SIGSTOP to another thread: the target takes part afterwards */
		tracer->interrupt_pending = true;
	} else if (!event && signal == TRACEE_SYSCALL_STOP) {
		end = tracee_at_syscall_exit(tracer, thread->tid, NULL);
		if (end > 0 || (end < 0 && *in_syscall))
			return true;
		*in_syscall = true;
	} else if (!event) {
		tracer->pending_signal = signal; /* SIGSTOP: others are blocked */
	}
	return false;
}

static int64_t inject(struct tracer *tracer, struct tracee *thread, uint64_t number,
		      const uint64_t argument[6])
{
	struct tracee_registers registers = tracer->saved_registers;
	bool in_syscall = false;
	int status;

	tracee_set_syscall(&registers, thread->syscall.abi, number, argument);
	if (!is_same_thread(thread) || !tracee_set_registers(thread->tid, &registers))
		return -ESRCH;
	do {
		if (ptrace(PTRACE_SYSCALL, thread->tid, NULL, NULL))
			return -ESRCH; /* killed: the main loop gets its status */
		if (tracer_wait_for(tracer, thread->tid, &status) < 0)
			return -ESRCH;
		if (!WIFSTOPPED(status) || status >> 16 == PTRACE_EVENT_EXEC) {
			/* it ended, or another thread of the process executed a program */
			thread->has_status = true;
			thread->status = status;
			return -ESRCH;
		}
	} while (!handle_stop(tracer, thread, status, &in_syscall));
	if (!tracee_get_registers(thread->tid, &registers))
		return -ESRCH;
	return tracee_return_value(&registers, thread->syscall.abi);
}

static int return_result(int64_t result)
{
	if (result >= 0)
		return result;
	errno = -result;
	return -1;
}

/* Returns the number of bytes of an attr that the kernel reads. */
static size_t attr_bytes(const struct perch_attr *attr)
{
	if (!attr->size)
		return PERCH_ATTR_SIZE_VER0;
	/* it refuses these sizes after it has read the size */
	return attr->size < PERCH_ATTR_SIZE_VER0 || attr->size > 4096 ? 8 : attr->size;
}

/* After E2BIG, the kernel has written its size into the attr, unless that memory is read-only. */
static int64_t read_kernel_size(const struct tracee *thread, struct perch_attr *attr)
{
	const bool is_query = attr_bytes(attr) == 8;
	const uint32_t before = attr->size;

	tracee_read_memory(thread->tid, thread->syscall.argument[0] + 4, &attr->size,
			   sizeof(attr->size));
	return is_query && attr->size == before ? -ENOSYS : -E2BIG;
}

static int inject_open(void *context, const struct perch_attr *attr, pid_t pid, int cpu,
		       int group_fd, unsigned long flags)
{
	struct tracer *tracer = context;
	struct tracee *thread = tracer->target;
	uint64_t argument[6] = { 0, (int64_t)pid, (int64_t)cpu, (int64_t)group_fd, flags, 0 };
	int64_t result;

	if (!thread || !begin_injection(tracer, thread))
		return return_result(-ENOSYS);
	if (attr) {
		if (attr_bytes(attr) > tracer->saved_attr_size)
			return return_result(-ENOSYS); /* it would overwrite other memory */
		argument[0] = thread->syscall.argument[0];
		if (!tracee_write_memory(thread->tid, argument[0], attr, attr_bytes(attr)))
			return return_result(-ENOSYS);
	}
	result = inject(tracer, thread, thread->syscall.abi->perf_event_open, argument);
	return return_result(attr && result == -E2BIG
				     ? read_kernel_size(thread, (struct perch_attr *)attr)
				     : result);
}

static int inject_close(void *context, int fd)
{
	struct tracer *tracer = context;
	const uint64_t argument[6] = { (int64_t)fd };

	if (!tracer->saved_registers.valid)
		return return_result(-EBADF);
	return return_result(
		inject(tracer, tracer->target, tracer->target->syscall.abi->close, argument));
}

static int refuse_ioctl(void *context, int fd, unsigned long request, unsigned long argument)
{
	(void)context, (void)fd, (void)request, (void)argument;
	return return_result(-ENOSYS);
}

static ssize_t refuse_read(void *context, int fd, void *buffer, size_t size)
{
	(void)context, (void)fd, (void)buffer, (void)size;
	return return_result(-ENOSYS);
}

static void *refuse_mmap(void *context, size_t size, int protection, int flags, int fd,
			 int64_t offset)
{
	(void)context, (void)size, (void)protection, (void)flags, (void)fd, (void)offset;
	errno = ENOSYS;
	return MAP_FAILED;
}

static int refuse_munmap(void *context, void *address, size_t size)
{
	(void)context, (void)address, (void)size;
	return return_result(-ENOSYS);
}

static int refuse_prctl(void *context, bool enable)
{
	(void)context, (void)enable;
	return return_result(-ENOSYS);
}

int tracer_init_injection(struct tracer *tracer, struct perch_error *err)
{
	int rc;

	tracer->syscalls = (struct perch_syscalls){ tracer,	  inject_open, refuse_ioctl,
						    refuse_read,  refuse_mmap, refuse_munmap,
						    inject_close, refuse_prctl };
	rc = perch_machine_new(&tracer->machine, NULL, &tracer->syscalls, err);
	if (!rc)
		perch_machine_set_probing(tracer->machine, tracer->job->probe && TRACER_CAN_INJECT);
	return rc;
}

/* Writes the filter and its struct sock_fprog into a page of the program. */
static bool write_filter(const struct tracee *thread, uint64_t address,
			 const struct tracer_filter *filter)
{
	const size_t pointer = thread->syscall.abi->narrow ? 4 : 8;
	const uint64_t code = address + 16;
	const uint32_t narrow = code;
	unsigned char head[16] = { 0 };

	memcpy(head, &filter->length, sizeof(filter->length));
	memcpy(head + pointer, pointer == 4 ? (const void *)&narrow : (const void *)&code, pointer);
	return tracee_write_memory(thread->tid, address, head, sizeof(head)) &&
	       tracee_write_memory(thread->tid, code, filter->code,
				   filter->length * sizeof(filter->code[0]));
}

/* Installs the filter in all threads of the process. Returns 0, the tid of a thread with other
 * filters, or a negative errno. */
static int64_t install(struct tracer *tracer, struct tracee *thread,
		       const struct tracer_filter *filter)
{
	const struct tracee_abi *abi = thread->syscall.abi;
	const uint64_t mmap_arguments[6] = {
		0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0
	};
	uint64_t seccomp_arguments[6] = {
		SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC | SECCOMP_FILTER_FLAG_SPEC_ALLOW
	};
	uint64_t munmap_arguments[6] = { 0, 4096 };
	int64_t address, result;

	address = inject(tracer, thread, abi->mmap, mmap_arguments);
	if (address < 0 && address >= -4095)
		return address;
	if (abi->narrow)
		address = (uint32_t)address;
	seccomp_arguments[2] = munmap_arguments[0] = address;
	result = write_filter(thread, address, filter)
			 ? inject(tracer, thread, abi->seccomp, seccomp_arguments)
			 : -EFAULT;
	inject(tracer, thread, abi->munmap, munmap_arguments);
	return result;
}

/*
 * Computes the range of a filter with the descriptor. Ranges that are near each other grow, so that
 * few filters are needed; others have one descriptor, so that other files do not stop. Returns
 * false if a filter has the descriptor.
 */
static bool find_range(const struct tracee_process *process, uint32_t fd,
		       struct tracee_range *new_range)
{
	uint64_t width = 1;
	uint32_t lowest = fd;

	for (unsigned i = 0; i < process->filters; i++) {
		const struct tracee_range *range = &process->range[i];
		const uint64_t own = (uint64_t)range->high - range->low + 1;

		if (fd >= range->low && fd <= range->high)
			return false;
		if (fd > range->high && fd - range->high <= 2 * own && own * GROWTH > width)
			width = own * GROWTH;
		lowest = range->low < lowest ? range->low : lowest;
	}
	new_range->low = fd;
	new_range->high = fd + width - 1 > INT32_MAX ? INT32_MAX : fd + width - 1;
	if (fd > INT32_MAX) {
		new_range->high = new_range->low = fd;
	} else if (process->filters >= TRACEE_FILTERS_MAX - 2) {
		/* the last one, and one is left for -1 */
		*new_range = (struct tracee_range){ lowest, INT32_MAX };
	}
	return process->filters < TRACEE_FILTERS_MAX;
}

void tracer_add_descriptor(struct tracer *tracer, struct tracee *thread, int fd)
{
	struct tracee_process *process = thread->process;
	struct tracer_filter filter;
	struct tracee_range range;
	int64_t rc = TRACER_CAN_INJECT ? -ESRCH : -ENOSYS;
	bool gone = false;

	if (tracer->every_syscall || process->every_syscall || !find_range(process, fd, &range))
		return;
	tracer_filter_descriptors(&filter, &range);
	tracer->target = thread;
	if (begin_injection(tracer, thread)) {
		rc = install(tracer, thread, &filter);
		/* it was killed: its memory is gone before waitpid() reports its end */
		gone = !is_same_thread(thread);
		tracer_end_injection(tracer);
	}
	if (gone || rc == -ESRCH)
		return; /* or its process executed a program, which starts without events */
	if (rc && fd < 0)
		return; /* it reads no event so far: not worth a stop at every system call */
	if (rc) {
		tracer_stop_every_syscall(
			tracer, process,
			rc == -EACCES
				? "it dropped the capability to install a second filter"
				: "the second filter, for mmap and read, cannot be installed");
		return;
	}
	process->range[process->filters++] = range;
}
