/* SPDX-License-Identifier: MIT */
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "push.h"

/* Bytes without a pattern among machines, also where there is no entropy yet. */
static void get_random(void *bytes, size_t size)
{
	struct timespec now;
	uint64_t state;

	if (getrandom(bytes, size, GRND_NONBLOCK) == (ssize_t)size)
		return;
	clock_gettime(CLOCK_MONOTONIC, &now);
	state = (uint64_t)now.tv_nsec ^ (uint64_t)getpid() << 32 ^ (uint64_t)gethostid() << 16;
	for (size_t i = 0; i < size; i++) {
		state = state * 6364136223846793005u + 1442695040888963407u;
		((uint8_t *)bytes)[i] = (uint8_t)(state >> 56);
	}
}

/* Returns a number from least to most. */
static uint64_t random_between(uint64_t least, uint64_t most)
{
	uint32_t random;

	get_random(&random, sizeof(random));
	return least + (uint64_t)((double)(most - least) * random / UINT32_MAX);
}

uint64_t agent_push_jitter(uint64_t ns)
{
	return random_between(ns - ns / 5, ns + ns / 5);
}

uint64_t agent_push_first(uint64_t ns)
{
	return random_between(ns / 5, ns + ns / 5);
}

void agent_push_profile_id(uint8_t profile_id[AGENT_PROFILE_ID])
{
	get_random(profile_id, AGENT_PROFILE_ID);
}
