/* SPDX-License-Identifier: MIT */
/* A table of system calls that simulates the kernel for samplers. Include it after cmocka. */
#ifndef PERCH_SAMPLER_FIXTURE_H
#define PERCH_SAMPLER_FIXTURE_H

#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include <perch/sampler.h>

/* The simulated kernel: which system calls were made, and which to refuse. */
struct kernel {
	struct {
		struct perch_attr attr;
		pid_t pid;
		int cpu, group, output;
		unsigned long flags;
		char filter[64];
		bool on, closed, paused;
		unsigned long refreshed;
		uint64_t lost;
	} fd[64];
	/* an errno; 0 succeeds */
	int (*refuse)(const struct perch_attr *attr, int cpu, int group);
	int nr;
	size_t max_pages;	   /* of a ring */
	size_t max_locked, locked; /* pages of all rings; 0 is no limit */
	unsigned max_precise;
	int refuse_filters; /* an errno; 0 if all succeed */
	pid_t gone;
	int ended_times; /* how often it has ended; 0 is always */
	int maps, unmaps;
	struct perch_mmap_page *ring; /* the last mapped one */
	struct perch_mmap_page *rings[64];
	struct {
		int fd, protection;
		size_t pages;
	} mapped[64];
	int refuse_pause; /* a descriptor; 0 if none */
};

static inline int fake_open(void *context, const struct perch_attr *attr, pid_t pid, int cpu,
			    int group, unsigned long flags)
{
	struct kernel *k = context;

	if (pid == k->gone) {
		if (k->ended_times && !--k->ended_times)
			k->gone = -5;
		return errno = ESRCH, -1;
	}
	if (attr->precise_ip > k->max_precise)
		return errno = EOPNOTSUPP, -1;
	if (k->refuse && (errno = k->refuse(attr, cpu, group)))
		return -1;
	assert_true(k->nr < 64);
	k->fd[k->nr].attr = *attr;
	k->fd[k->nr].pid = pid;
	k->fd[k->nr].cpu = cpu;
	k->fd[k->nr].group = group;
	k->fd[k->nr].output = -1;
	k->fd[k->nr].flags = flags;
	return 1000 + k->nr++;
}

static inline int fake_control(void *context, int fd, unsigned long request, unsigned long argument)
{
	struct kernel *k = context;

	if (request == PERCH_IOC_ID)
		*(uint64_t *)argument = 7000 + fd;
	else if (request == PERCH_IOC_SET_OUTPUT)
		k->fd[fd - 1000].output = (int)argument;
	else if (request == PERCH_IOC_ENABLE)
		k->fd[fd - 1000].on = true;
	else if (request == PERCH_IOC_DISABLE)
		k->fd[fd - 1000].on = false;
	else if (request == PERCH_IOC_PAUSE_OUTPUT && fd == k->refuse_pause)
		return errno = EINVAL, -1;
	else if (request == PERCH_IOC_PAUSE_OUTPUT)
		k->fd[fd - 1000].paused = argument;
	else if (request == PERCH_IOC_REFRESH)
		k->fd[fd - 1000].refreshed += argument;
	else if (request == PERCH_IOC_SET_FILTER && k->refuse_filters)
		return errno = k->refuse_filters, -1;
	else if (request == PERCH_IOC_SET_FILTER)
		snprintf(k->fd[fd - 1000].filter, sizeof(k->fd[0].filter), "%s",
			 (const char *)argument);
	return 0;
}

static inline void *fake_map(void *context, size_t size, int protection, int flags, int fd,
			     int64_t offset)
{
	struct kernel *k = context;
	size_t page = sysconf(_SC_PAGESIZE);

	(void)flags;
	if (k->max_pages && size / page > k->max_pages + 1)
		return errno = EPERM, MAP_FAILED;
	if (k->max_locked && k->locked + size / page > k->max_locked)
		return errno = EPERM, MAP_FAILED;
	k->locked += size / page;
	k->mapped[k->maps % 64].fd = fd;
	k->mapped[k->maps % 64].protection = protection;
	k->mapped[k->maps % 64].pages = size / page - 1;
	/* the simulated kernel writes to read-only rings too */
	k->ring = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, offset);
	k->rings[k->maps++ % 64] = k->ring;
	return k->ring;
}

static inline int fake_unmap(void *context, void *address, size_t size)
{
	struct kernel *k = context;

	k->unmaps++;
	k->locked -= size / sysconf(_SC_PAGESIZE);
	return munmap(address, size);
}

static inline int fake_close(void *context, int fd)
{
	((struct kernel *)context)->fd[fd - 1000].closed = true;
	return 0;
}

static inline ssize_t fake_read(void *context, int fd, void *buffer, size_t size)
{
	const struct kernel *k = context;
	const struct perch_attr *attr = &k->fd[fd - 1000].attr;
	bool group = attr->read_format & PERCH_FORMAT_GROUP;
	uint64_t *to = buffer;

	assert_true(size >= 16 << 10);
	if (attr->pinned)
		return 0;
	/* the leader and the member that was opened next, in the read of either */
	if (group) {
		fd = k->fd[fd - 1000].group >= 0 ? k->fd[fd - 1000].group : fd;
		*to++ = 2;
	}
	for (int i = 0; i <= group; i++) {
		*to++ = 5;
		if (attr->read_format & PERCH_FORMAT_ID)
			*to++ = 7000 + fd + i;
		if (attr->read_format & PERCH_FORMAT_LOST)
			*to++ = k->fd[fd - 1000 + i].lost;
	}
	return (char *)to - (char *)buffer;
}

static inline struct perch_syscalls fake_calls(struct kernel *k)
{
	return (struct perch_syscalls){
		.context = k,
		.perf_event_open = fake_open,
		.ioctl = fake_control,
		.read = fake_read,
		.mmap = fake_map,
		.munmap = fake_unmap,
		.close = fake_close,
	};
}

#endif
