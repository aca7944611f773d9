/* SPDX-License-Identifier: MIT */
/* Caches the state of a target for a short time. */
#define _GNU_SOURCE
#include <time.h>

#include "internal.h"

uint64_t perch__coarse_ms(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &time);
	return time.tv_sec * 1000ull + time.tv_nsec / 1000000;
}

int perch_machine_process_cached(struct perch_machine *machine, pid_t pid,
				 struct perch_process_state *state, struct perch_error *err)
{
	struct process_cache *process_cache = &machine->process_cache;
	uint64_t now = perch__coarse_ms();

	if (!process_cache->valid || process_cache->pid != pid || now >= process_cache->until_ms) {
		process_cache->error =
			perch_machine_process(machine, pid, &process_cache->state, NULL);
		process_cache->pid = pid;
		process_cache->until_ms = now + PERCH__LIFETIME_MS;
		process_cache->valid = perch__is_permanent(process_cache->error);
	}
	if (!process_cache->error)
		*state = process_cache->state;
	else if (err) /* only the errno is cached */
		return perch_machine_process(machine, pid, state, err);
	return process_cache->error;
}
