/* SPDX-License-Identifier: MIT */
/* The statistics of a sampler: sums of its rings, and of its events. */
#include <errno.h>

#include "internal.h"

int perch_sampler_get_ring_stats(const struct perch_sampler *sampler, size_t ring,
				 struct perch_sampler_stats *stats)
{
	if (ring >= sampler->nr_rings)
		return -EINVAL;
	*stats = sampler->rings[ring].stats;
	if (sampler->rings[ring].ring)
		stats->damaged += perch__ring_damaged(sampler->rings[ring].ring);
	return 0;
}

int perch_sampler_get_event_stats(const struct perch_sampler *sampler, size_t index,
				  struct perch_sampler_stats *stats)
{
	if (index >= sampler->nr_events)
		return -EINVAL;
	*stats = sampler->events[index].stats;
	return 0;
}

void perch__stats_add(struct perch_sampler_stats *sum, const struct perch_sampler_stats *more)
{
	sum->records += more->records;
	sum->samples += more->samples;
	sum->lost += more->lost;
	sum->throttled += more->throttled;
	sum->unthrottled += more->unthrottled;
	sum->unknown += more->unknown;
	sum->damaged += more->damaged;
	sum->bytes += more->bytes;
}

void perch_sampler_get_stats(const struct perch_sampler *sampler, struct perch_sampler_stats *stats)
{
	*stats = sampler->freed_stats;
	for (size_t i = 0; i < sampler->nr_rings; i++) {
		struct perch_sampler_stats one = { 0 };

		perch_sampler_get_ring_stats(sampler, i, &one);
		perch__stats_add(stats, &one);
	}
}
