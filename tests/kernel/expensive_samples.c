/* SPDX-License-Identifier: MIT */
/*
 * Pretends a machine on which each sample costs 45 us more, or $SAMPLE_NS ns, for programs that are
 * started with this library in LD_PRELOAD: a virtual machine with a slow timer. perch finds the
 * cost by steps of the clock CLOCK_MONOTONIC_RAW, so the library makes each step longer in which
 * something interrupted the thread. With $SLOW_CLOCK the clock takes long in the kernel instead.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define INTERRUPTED_NS 800 /* a step without an interrupt takes less */

typedef int get_time(clockid_t clock, struct timespec *time);

__attribute__((visibility("default"))) int clock_gettime(clockid_t clock, struct timespec *time)
{
	static get_time *found;
	static long long last, added;
	long long now;
	int rc;

	if (!found)
		found = (get_time *)dlsym(RTLD_NEXT, "clock_gettime");
	rc = found(clock, time);
	if (rc || clock != CLOCK_MONOTONIC_RAW)
		return rc;
	if (getenv("SLOW_CLOCK")) {
		char bytes[16384];

		return getrandom(bytes, sizeof(bytes), 0) < 0
			       ? -1
			       : (int)syscall(SYS_clock_gettime, clock, time);
	}
	now = time->tv_sec * 1000000000LL + time->tv_nsec;
	if (last && now - last > INTERRUPTED_NS)
		added += getenv("SAMPLE_NS") ? atoll(getenv("SAMPLE_NS")) : 45000;
	last = now;
	now += added;
	time->tv_sec = now / 1000000000;
	time->tv_nsec = now % 1000000000;
	return 0;
}
