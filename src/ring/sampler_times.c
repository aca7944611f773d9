/* SPDX-License-Identifier: MIT */
/* The times of an event, from the control page of its ring. */
#include <errno.h>

#include "buffer.h"
#include "count/self_monitoring.h"

/* All events of a ring share its control page, in which the kernel writes the times of each. */
static int check_writers(const struct perch__sampler_ring *ring, size_t index,
			 struct perch_error *err)
{
	if (ring->nr_writers == 1)
		return 0;
	if (!ring->nr_writers)
		return perch_error_set(err, EINVAL, PERCH_ERROR_USAGE,
				       "the threads of ring %zu were removed from the sampler",
				       index);
	perch_error_set(err, EINVAL, PERCH_ERROR_CONFLICT,
			"ring %zu has %zu events, which share its control page: times without a "
			"system call need one event per ring",
			index, ring->nr_writers);
	perch_error_remedy(err, "sample one event with .per_thread, or read(2) the event with "
				"PERCH_FORMAT_TOTAL_TIME_ENABLED and _RUNNING");
	return -EINVAL;
}

int perch_sampler_times(const struct perch_sampler *sampler, size_t ring, uint64_t *enabled_ns,
			uint64_t *running_ns, struct perch_error *err)
{
	const struct perch__sampler_ring *at = ring < sampler->nr_rings ? &sampler->rings[ring]
									: NULL;
	int rc = perch__sampler_check_fork(sampler, err);

	if (rc < 0)
		return rc;
	if (!at || !at->ring)
		return perch_error_set(err, EINVAL, PERCH_ERROR_USAGE,
				       "the sampler has no ring %zu", ring);
	rc = check_writers(at, ring, err);
	if (rc < 0)
		return rc;
	if (perch__page_times(at->ring->control, enabled_ns, running_ns, perch__read_clock) ==
	    PERCH__RDPMC_USED)
		return 0;
	return perch_error_set(
		err, EAGAIN, PERCH_ERROR_SCHEDULE,
		"the kernel changed the control page of ring %zu during each attempt", ring);
}
