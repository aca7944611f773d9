/* SPDX-License-Identifier: MIT */
/* The sums of an event. */
#include "internal.h"

void perch_profile_get_total(const struct perch_profile *profile, unsigned event,
			     struct perch_profile_total *total)
{
	*total = (struct perch_profile_total){ 0 };
	if (event >= profile->nr_events)
		return;
	*total = profile->event[event].total;
	total->all_samples =
		(total->samples + profile->event[event].skipped_samples) / profile->unit;
	total->samples /= profile->unit;
	total->all_period = total->period + profile->event[event].skipped_period;
	total->all_latency = total->latency + perch__latency_skipped(profile, event);
}
