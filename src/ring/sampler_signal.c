/* SPDX-License-Identifier: MIT */
/* Signals of a sampler's events, and the event of a descriptor. */
#include <errno.h>

#include "internal.h"

/* The tracking event and members of a group with modifier S take no samples. */
static bool takes_samples(const struct perch_sampler *sampler, size_t index)
{
	return !perch__is_tracking_event(sampler, index) &&
	       sampler->events[index].attr.sample_period;
}

int perch__sampler_signal_target(struct perch_sampler *sampler, size_t target,
				 struct perch_error *err)
{
	const int *fds = &sampler->fds[target * sampler->nr_events];
	int rc = 0;

	for (size_t i = 0; rc >= 0 && sampler->signal && i < sampler->nr_events; i++) {
		if (fds[i] < 0 || !takes_samples(sampler, i))
			continue;
		rc = perch_event_set_signal(fds[i], sampler->signal, sampler->signal_tid, err);
		if (rc < 0)
			perch_error_prefix(err, "event '%s': ", sampler->events[i].name);
	}
	return rc;
}

int perch_sampler_set_signal(struct perch_sampler *sampler, int signal, pid_t tid,
			     struct perch_error *err)
{
	int rc = perch__sampler_check_fork(sampler, err);

	for (size_t i = 0; rc >= 0 && i < sampler->nr_fds; i++) {
		size_t index = i % sampler->nr_events;

		if (sampler->fds[i] < 0 || !takes_samples(sampler, index))
			continue;
		rc = perch_event_set_signal(sampler->fds[i], signal, tid, err);
		if (rc < 0)
			perch_error_prefix(err, "event '%s': ", sampler->events[index].name);
	}
	if (rc < 0)
		return rc;
	sampler->signal = signal;
	sampler->signal_tid = tid;
	return 0;
}

int perch_sampler_event_of_fd(const struct perch_sampler *sampler, int fd, size_t *index,
			      size_t *id)
{
	for (size_t i = 0; fd >= 0 && i < sampler->nr_events; i++)
		for (size_t k = 0; k < sampler->events[i].nr_ids; k++)
			if (sampler->events[i].id_info[k].fd == fd) {
				*index = i;
				*id = k;
				return 0;
			}
	return -EINVAL;
}
