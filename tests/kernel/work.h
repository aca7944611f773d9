/* SPDX-License-Identifier: MIT */
/* Work for tests of samplers: CPU time and page faults. */
#ifndef KERNEL_WORK_H
#define KERNEL_WORK_H

#include <stdint.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static volatile uint64_t sink;

static inline double clock_seconds(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return now.tv_sec + now.tv_nsec / 1e9;
}

static inline double seconds(void)
{
	return clock_seconds(CLOCK_MONOTONIC);
}

/*
 * Uses this many seconds of CPU time. Elapsed time is not enough, because other tests run at the
 * same time.
 */
static inline void burn(double duration)
{
	double end = clock_seconds(CLOCK_THREAD_CPUTIME_ID) + duration;

	while (clock_seconds(CLOCK_THREAD_CPUTIME_ID) < end)
		for (int i = 0; i < 1000; i++)
			sink += i;
}

/*
 * Runs until the clock of events has advanced. In a virtual machine it can stand still for some
 * milliseconds, and an event that is enabled for a moment then has a time of 0. A first call before
 * the event is enabled has the faults of this code.
 */
static inline void pass_time(void)
{
	burn(0.001);
}

/* Causes one page fault per page. */
static inline void fault(size_t pages)
{
	size_t page = sysconf(_SC_PAGESIZE);

	for (size_t done = 0; done < pages; done += 512) {
		size_t now = pages - done < 512 ? pages - done : 512;
		char *memory = mmap(NULL, now * page, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		assert_true(memory != MAP_FAILED);
		madvise(memory, now * page, MADV_NOHUGEPAGE);
		for (size_t i = 0; i < now; i++)
			((volatile char *)memory)[i * page] = 1;
		munmap(memory, now * page);
	}
}

#endif
