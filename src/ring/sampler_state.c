/* SPDX-License-Identifier: MIT */
/* The state of a sampler's rings; pausing and refreshing. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>

#include "internal.h"

/* Reads the current list of CPUs, because the machine caches its own. If the list cannot be read,
 * no CPU counts as offline. */
static bool is_offline(const struct perch_sampler *sampler, int cpu)
{
	struct perch_cpus online = { 0 };
	char text[4096];
	bool online_cpu = true;

	if (perch_machine_read(sampler->machine, "/sys/devices/system/cpu/online", text,
			       sizeof(text)) > 0 &&
	    perch_cpus_parse(&online, text, NULL) >= 0)
		online_cpu = perch_cpus_contains(&online, cpu);
	perch_cpus_clear(&online);
	return !online_cpu;
}

int perch_sampler_ring_state(const struct perch_sampler *sampler, size_t ring,
			     enum perch_ring_state *state)
{
	const struct perch__sampler_ring *cpu_ring =
		ring < sampler->nr_rings ? &sampler->rings[ring] : NULL;

	if (perch__is_forked(sampler->generation))
		return -ESTALE;
	if (!cpu_ring || !cpu_ring->ring)
		return -EINVAL;
	if (cpu_ring->cpu >= 0 && is_offline(sampler, cpu_ring->cpu))
		*state = PERCH_RING_STATE_OFFLINE;
	else if (sampler->polls[ring].fd < 0)
		*state = PERCH_RING_STATE_ENDED;
	else if (cpu_ring->failed)
		*state = PERCH_RING_STATE_FAILED;
	else
		*state = sampler->paused ? PERCH_RING_STATE_PAUSED : PERCH_RING_STATE_RUNNING;
	return 0;
}

/* If a ring cannot be paused, the rings paused before it are resumed. */
int perch_sampler_pause(struct perch_sampler *sampler, struct perch_error *err)
{
	int forked = perch__sampler_check_fork(sampler, err);

	if (forked)
		return forked;
	for (size_t i = 0; i < sampler->nr_rings; i++) {
		int rc = sampler->rings[i].ring ? perch_ring_pause(sampler->rings[i].ring, err) : 0;

		if (rc >= 0)
			continue;
		while (!sampler->paused && i--)
			if (sampler->rings[i].ring)
				perch_ring_resume(sampler->rings[i].ring, NULL);
		return rc;
	}
	sampler->paused = true;
	return 0;
}

int perch_sampler_resume(struct perch_sampler *sampler, struct perch_error *err)
{
	int rc = perch__sampler_check_fork(sampler, err);

	if (rc)
		return rc;
	for (size_t i = 0; i < sampler->nr_rings; i++) {
		int one;

		if (!sampler->rings[i].ring)
			continue;
		one = perch_ring_resume(sampler->rings[i].ring, rc < 0 ? NULL : err);
		rc = rc < 0 ? rc : one;
	}
	sampler->paused = rc < 0;
	return rc;
}

int perch_sampler_refresh(struct perch_sampler *sampler, unsigned samples, struct perch_error *err)
{
	int forked = perch__sampler_check_fork(sampler, err);
	size_t refreshed = 0;

	if (forked)
		return forked;
	if (samples < 1 || samples > INT_MAX)
		return perch_error_set(err, EINVAL, PERCH_ERROR_USAGE,
				       "a refresh takes 1 to 2^31-1 samples, not %u", samples);
	for (size_t i = 0; i < sampler->nr_fds; i++) {
		size_t index = i % sampler->nr_events;
		const struct perch__sampler_event *event = &sampler->events[index];
		int rc;

		/* the tracking event and members of a group with modifier S take no samples */
		if (sampler->fds[i] < 0 || sampler->targets[i / sampler->nr_events].removed ||
		    perch__is_tracking_event(sampler, index) || !event->attr.sample_period)
			continue;
		rc = perch_event_refresh(sampler->fds[i], samples, sampler->machine, err);
		if (rc < 0) {
			perch_error_prefix(err, "event '%s': ", event->name);
			return rc;
		}
		refreshed++;
	}
	return refreshed ? 0
			 : perch_error_set(err, EINVAL, PERCH_ERROR_USAGE,
					   "a refresh needs an event that takes samples");
}
