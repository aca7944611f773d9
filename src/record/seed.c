/* SPDX-License-Identifier: MIT */
#include <sys/random.h>
#include <time.h>
#include "seed.h"

uint64_t perch__seed(const void *object)
{
	struct timespec now = { 0 };
	uint64_t seed;

	if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) == sizeof(seed))
		return seed;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uintptr_t)object ^ (uint64_t)now.tv_nsec << 32 ^ now.tv_sec;
}
