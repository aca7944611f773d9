/* SPDX-License-Identifier: MIT */
/* A set in use: what it is made of, its switches, its end. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <perch/explain.h>

#include "set.h"

size_t perch__leader_at(const struct perch_set *set, struct perch__group_range range, size_t target)
{
	size_t event = range.first;

	while (event < range.end && perch__fd_at(set, event, target) < 0)
		event++;
	return event;
}

struct perch__cold *perch__set_cold(struct perch_set *set, size_t event)
{
	if (!set->cold[event])
		set->cold[event] = calloc(1, sizeof(*set->cold[event]));
	return set->cold[event];
}

int perch__set_blame(const struct perch_set *set, size_t event, size_t target,
		     struct perch_error *err, int rc)
{
	const struct perch_target *at = &set->target[target];
	char where[64] = "";

	if (at->cgroup_fd > 0 && at->cpu >= 0)
		snprintf(where, sizeof(where), " for the cgroup on CPU %d", at->cpu);
	else if (at->cgroup_fd > 0)
		snprintf(where, sizeof(where), " for the cgroup");
	else if (at->pid > 0 && at->cpu >= 0)
		snprintf(where, sizeof(where), " for thread %d on CPU %d", (int)at->pid, at->cpu);
	else if (at->pid > 0)
		snprintf(where, sizeof(where), " for thread %d", (int)at->pid);
	else if (at->cpu >= 0)
		snprintf(where, sizeof(where), " on CPU %d", at->cpu);
	perch_error_prefix(err, "%s%s: ", set->event[event].event.name, where);
	return rc;
}

void perch_set_close(struct perch_set *set)
{
	if (!set)
		return;
	/* members before leaders: a group that is taken apart from its end is never left without
	 * its head */
	for (size_t i = set->fd ? set->nr_events * set->nr_targets : 0; i-- > 0;)
		if (set->fd[i] >= 0)
			set->calls->close(set->calls->context, set->fd[i]);
	perch_machine_free(set->own);
	for (size_t i = 0; set->cold && i < set->nr_events; i++)
		free(set->cold[i]);
	free(set->event);
	free(set->cold);
	free(set->range);
	free(set->target);
	free(set->gone);
	free(set->fd);
	free(set->base);
	free(set->words.word);
	free(set);
}

size_t perch_set_events(const struct perch_set *set)
{
	return set->nr_events;
}

size_t perch_set_targets(const struct perch_set *set)
{
	return set->nr_targets;
}

const struct perch_set_event *perch_set_get_event(const struct perch_set *set, size_t event)
{
	return event < set->nr_events ? &set->event[event] : NULL;
}

const struct perch_target *perch_set_target(const struct perch_set *set, size_t target)
{
	return target < set->nr_targets ? &set->target[target] : NULL;
}

int perch_set_fd(const struct perch_set *set, size_t event, size_t target)
{
	return event < set->nr_events && target < set->nr_targets ? perch__fd_at(set, event, target)
								  : -1;
}

void perch_set_explain(struct perch_set *set, struct perch_machine *machine)
{
	for (size_t i = 0; i < set->nr_events; i++) {
		struct perch__cold *cold = set->cold[i];
		struct perch_open_call call = { .attr = &set->event[i].attr,
						.flags = PERCH_FLAG_FD_CLOEXEC };
		struct perch_open_call_leader known;
		size_t leader = set->event[i].event.leader;

		if (!set->event[i].skipped || !cold->errnum)
			continue;
		call.pid = cold->target.pid;
		call.cpu = cold->target.cpu;
		call.group_fd = cold->group_fd;
		call.errnum = cold->errnum;
		if (cold->target.cgroup_fd > 0) {
			call.pid = cold->target.cgroup_fd;
			call.flags |= PERCH_FLAG_PID_CGROUP;
			call.pid_is_cgroup_fd = true;
		}
		if (call.group_fd >= 0 && leader < set->nr_events && leader != i &&
		    !set->event[leader].skipped) {
			perch__describe_leader(set, leader, &cold->target,
					       set->event[leader].event.members, &known);
			call.leader = &known;
		}
		perch_explain(&call, machine, &cold->reason);
		if (cold->cannot_exclude_kernel)
			perch__advise_privilege(&cold->reason);
	}
}

/* One ioctl(2) on whoever leads, on every target. */
static int control_leaders(struct perch_set *set, unsigned long request, unsigned long argument,
			   struct perch_error *err)
{
	for (const struct perch__group_range *range = set->range;
	     range < set->range + set->nr_ranges; range++)
		for (size_t i = 0; i < set->nr_targets; i++) {
			size_t leader = perch__leader_at(set, *range, i);
			int rc;

			if (leader == range->end)
				continue;
			rc = perch__control(set->calls, perch__fd_at(set, leader, i), request,
					    argument);
			if (!rc)
				continue;
			perch__control_error(-rc, request, NULL, err);
			return perch__set_blame(set, leader, i, err, rc);
		}
	return 0;
}

int perch_set_enable(struct perch_set *set, struct perch_error *err)
{
	return control_leaders(set, PERCH_IOC_ENABLE, 0, err);
}

int perch_set_disable(struct perch_set *set, struct perch_error *err)
{
	return control_leaders(set, PERCH_IOC_DISABLE, 0, err);
}

/* The times of the kernel go on: where they are now is what later reads begin from. */
static int rebase(struct perch_set *set, struct perch_count *counts, struct perch_error *err)
{
	size_t nr = set->nr_events * set->nr_targets;
	int rc = perch_set_read(set, counts, nr, err);

	for (size_t i = 0; !rc && i < nr; i++) {
		set->base[i].enabled_ns += counts[i].enabled_ns;
		set->base[i].running_ns += counts[i].running_ns;
	}
	return rc;
}

int perch_set_reset(struct perch_set *set, struct perch_error *err)
{
	size_t nr = set->nr_events * set->nr_targets;
	struct perch_count *counts = calloc(nr, sizeof(*counts));
	int rc;

	if (!set->base)
		set->base = calloc(nr, sizeof(*set->base));
	if (counts && set->base) {
		rc = control_leaders(set, PERCH_IOC_RESET, PERCH_IOC_FLAG_GROUP, err);
		if (!rc)
			rc = rebase(set, counts, err);
	} else {
		rc = perch_error_set(err, ENOMEM, PERCH_ERROR_NO_MEMORY,
				     "no memory to reset the events of a set");
	}
	free(counts);
	return rc;
}
