/* SPDX-License-Identifier: MIT */
/* The real system calls. */
#define _GNU_SOURCE
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <perch/machine.h>

static int open_event(void *context, const struct perch_attr *attr, pid_t pid, int cpu,
		      int group_fd, unsigned long flags)
{
	(void)context;
	return syscall(SYS_perf_event_open, attr, pid, cpu, group_fd, flags);
}

static int call_ioctl(void *context, int fd, unsigned long request, unsigned long argument)
{
	(void)context;
	return ioctl(fd, request, argument);
}

static ssize_t read_bytes(void *context, int fd, void *buffer, size_t size)
{
	(void)context;
	return read(fd, buffer, size);
}

static void *map_memory(void *context, size_t size, int protection, int flags, int fd,
			int64_t offset)
{
	(void)context;
	return mmap(NULL, size, protection, flags, fd, (off_t)offset);
}

static int unmap_memory(void *context, void *address, size_t size)
{
	(void)context;
	return munmap(address, size);
}

static int close_descriptor(void *context, int fd)
{
	(void)context;
	return close(fd);
}

static int control_tasks(void *context, bool enable)
{
	(void)context;
	return prctl(enable ? PR_TASK_PERF_EVENTS_ENABLE : PR_TASK_PERF_EVENTS_DISABLE, 0, 0, 0, 0);
}

static int bpf(void *context, int command, void *attr, size_t size)
{
	(void)context;
	return syscall(SYS_bpf, command, attr, size);
}

const struct perch_syscalls perch_kernel_syscalls = {
	.perf_event_open = open_event,
	.ioctl = call_ioctl,
	.read = read_bytes,
	.mmap = map_memory,
	.munmap = unmap_memory,
	.close = close_descriptor,
	.prctl_tasks = control_tasks,
	.bpf = bpf,
};
