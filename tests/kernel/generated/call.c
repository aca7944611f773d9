/* SPDX-License-Identifier: MIT */
/* Open calls: made, described, printed and closed. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "generated.h"

int generated_open(const struct generated_call *call, uint32_t *kernel_size)
{
	unsigned char bytes[GENERATED_BYTES];
	const void *pointer = call->pointer;
	struct perch_attr *attr = (struct perch_attr *)bytes;
	int fd;

	/* After E2BIG the kernel has written its size into the attr. */
	memcpy(bytes, call->bytes, sizeof(bytes));
	if (pointer == call->bytes)
		pointer = bytes;
	fd = syscall(SYS_perf_event_open, pointer, call->pid, call->cpu, call->group_fd,
		     call->flags);
	if (fd < 0)
		fd = -errno;
	if (kernel_size)
		*kernel_size = fd == -E2BIG ? attr->size : 0;
	return fd;
}

int generated_refused(const struct generated_call *call, uint32_t *kernel_size)
{
	int fd = generated_open(call, kernel_size);

	if (fd < 0)
		return -fd;
	close(fd);
	return 0;
}

void generated_keep(struct generated_call *call, int fd)
{
	if (call->nr_fds < COUNT_OF(call->fd))
		call->fd[call->nr_fds++] = fd;
	else
		close(fd);
}

void generated_end(struct generated_call *call)
{
	struct rlimit limit;

	if (call->few_descriptors) {
		getrlimit(RLIMIT_NOFILE, &limit);
		limit.rlim_cur = limit.rlim_max < 4096 ? limit.rlim_max : 4096;
		setrlimit(RLIMIT_NOFILE, &limit);
		call->few_descriptors = false;
	}
	if (call->ring)
		munmap(call->ring, 2 * sysconf(_SC_PAGESIZE));
	call->ring = NULL;
	while (call->nr_fds)
		close(call->fd[--call->nr_fds]);
}

void generated_describe(struct generated_call *call, int errnum, uint32_t kernel_size,
			struct perch_open_call *open_call)
{
	*open_call = (struct perch_open_call){
		.attr = call->pointer == call->bytes ? &call->attr : NULL,
		.pid = call->pid,
		.cpu = call->cpu,
		.group_fd = call->group_fd,
		.flags = call->flags,
		.errnum = errnum,
		.kernel_size = kernel_size,
		.leader = call->has_leader && call->leader_given ? &call->leader : NULL,
	};
	call->leader.attr = &call->leader_attr;
}

void generated_print(const struct generated_call *call, int errnum)
{
	size_t nr;
	const struct perch_attr_field *fields = perch_attr_fields(&nr);

	printf("    errno %d, pid %d cpu %d group_fd %d flags %#lx%s:", errnum, call->pid,
	       call->cpu, call->group_fd, call->flags,
	       !call->has_leader    ? ""
	       : call->leader_given ? " (leader given)"
				    : " (leader not given)");
	for (size_t i = 0; i < nr; i++) {
		uint64_t value = perch_attr_get(&call->attr, &fields[i]);

		if (value && strcmp(fields[i].name, "flags"))
			printf(" %s=%#llx", fields[i].name, (unsigned long long)value);
	}
	printf("\n");
}
