/* SPDX-License-Identifier: MIT */
/* A sampler: enabling and disabling, and properties of its events and rings. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

int perch__sampler_fork_error(struct perch_error *err)
{
	return PERCH__FORK_ERROR(err, "the sampler");
}

/* An event on all targets. */
static int control_event(struct perch_sampler *sampler, size_t index, bool enable,
			 struct perch_error *err)
{
	for (size_t i = index; i < sampler->nr_fds; i += sampler->nr_events) {
		int rc;

		if (sampler->fds[i] < 0 || sampler->targets[i / sampler->nr_events].removed)
			continue;
		rc = enable ? perch_event_enable(sampler->fds[i], false, sampler->machine, err)
			    : perch_event_disable(sampler->fds[i], false, sampler->machine, err);
		if (rc < 0) {
			perch_error_prefix(err, "event '%s': ", sampler->events[index].name);
			return rc;
		}
	}
	return 0;
}

/* Only leaders: their members follow them. */
static int control_some(struct perch_sampler *sampler, bool tracking, bool enable,
			struct perch_error *err)
{
	int rc = 0;

	for (size_t i = 0; rc >= 0 && i < sampler->nr_events; i++)
		if (sampler->events[i].leader == (int)i &&
		    perch__is_tracking_event(sampler, i) == tracking)
			rc = control_event(sampler, i, enable, err);
	return rc;
}

/* The tracking event is enabled on all CPUs as long as another event is on any. */
static int control_all(struct perch_sampler *sampler, bool enable, struct perch_error *err)
{
	int rc = perch__sampler_check_fork(sampler, err);

	if (rc >= 0)
		rc = control_some(sampler, enable, enable, err);
	if (rc >= 0)
		rc = control_some(sampler, !enable, enable, err);
	return rc;
}

int perch_sampler_enable(struct perch_sampler *sampler, struct perch_error *err)
{
	int rc = control_all(sampler, true, err);

	if (rc >= 0)
		sampler->enabled = sampler->tracking = true;
	return rc;
}

int perch_sampler_disable(struct perch_sampler *sampler, struct perch_error *err)
{
	int rc = control_all(sampler, false, err);

	if (rc >= 0)
		sampler->enabled = sampler->tracking = false;
	perch__sampler_begin_round(sampler);
	return rc;
}

int perch_sampler_control(struct perch_sampler *sampler, size_t event, bool enable,
			  struct perch_error *err)
{
	int rc = perch__sampler_check_fork(sampler, err);

	if (rc >= 0 && event >= sampler->nr_events)
		rc = perch_error_set(err, EINVAL, PERCH_ERROR_USAGE, "no event has the index %zu",
				     event);
	if (rc >= 0 && enable && !sampler->tracking)
		rc = control_some(sampler, true, true, err);
	if (rc < 0)
		return rc;
	sampler->tracking |= enable;
	return control_event(sampler, event, enable, err);
}

size_t perch_sampler_rings(const struct perch_sampler *sampler)
{
	return sampler->nr_rings;
}

int perch_sampler_ring_fd(const struct perch_sampler *sampler, size_t ring)
{
	if (ring >= sampler->nr_rings || !sampler->rings[ring].ring)
		return -EINVAL;
	return sampler->fds[sampler->rings[ring].owner];
}

struct perch_ring *perch_sampler_ring(struct perch_sampler *sampler, size_t ring)
{
	return ring < sampler->nr_rings ? sampler->rings[ring].ring : NULL;
}

const struct perch_attr *perch_sampler_event(const struct perch_sampler *sampler, size_t index,
					     const char **name, const uint64_t **ids, size_t *nr)
{
	const struct perch__sampler_event *event;

	*nr = 0;
	if (index >= sampler->nr_events)
		return NULL;
	event = &sampler->events[index];
	*name = event->name;
	*ids = event->ids;
	*nr = event->nr_ids;
	return &event->attr;
}

int perch_sampler_id_info(const struct perch_sampler *sampler, size_t index, size_t id, int *cpu,
			  pid_t *tid, size_t *ring)
{
	const struct perch__id_info *info;

	if (index >= sampler->nr_events || id >= sampler->events[index].nr_ids)
		return -EINVAL;
	info = &sampler->events[index].id_info[id];
	*cpu = info->cpu;
	*tid = info->tid;
	*ring = info->ring;
	return 0;
}

size_t perch_sampler_leader(const struct perch_sampler *sampler, size_t index)
{
	return index < sampler->nr_events ? (size_t)sampler->events[index].leader : index;
}

const struct perch_attr *perch_sampler_missing_features(const struct perch_sampler *sampler,
							size_t index)
{
	static const struct perch_attr none;
	const struct perch_attr *missing_features =
		index < sampler->nr_events ? &sampler->events[index].missing_features : &none;

	return memcmp(missing_features, &none, sizeof(none)) ? missing_features : NULL;
}

bool perch_sampler_user_only(const struct perch_sampler *sampler, size_t index)
{
	return index < sampler->nr_events && sampler->events[index].user_only;
}

const struct perch_error *perch_sampler_skipped(const struct perch_sampler *sampler, size_t index)
{
	return index < sampler->nr_events ? sampler->events[index].skipped : NULL;
}
