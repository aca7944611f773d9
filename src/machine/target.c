/* SPDX-License-Identifier: MIT */
/* A target's state, kept for a moment: events fail in bursts, one for each event and CPU of the
 * same thread. */
#define _GNU_SOURCE
#include <time.h>

#include "internal.h"

#define MOMENT_MS 10

static uint64_t now_ms(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &time);
	return time.tv_sec * 1000ull + time.tv_nsec / 1000000;
}

int perch_machine_process_cached(struct perch_machine *machine, pid_t pid,
				 struct perch_process_state *state)
{
	struct target *target = &machine->target;
	uint64_t now = now_ms();

	if (!target->known || target->pid != pid || now >= target->until_ms) {
		target->error = perch_machine_process(machine, pid, &target->state, NULL);
		target->pid = pid;
		target->until_ms = now + MOMENT_MS;
		target->known = perch__lasts(target->error);
	}
	if (!target->error)
		*state = target->state;
	return target->error;
}
