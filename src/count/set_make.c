/* SPDX-License-Identifier: MIT */
/* Events and targets into a set with nothing open yet. */
#include <errno.h>
#include <stdlib.h>

#include "set_open.h"

/* More descriptors than any machine gives out: beyond it is a mistake, or an attempt at an
 * overflow. */
#define MOST_DESCRIPTORS (1 << 26)

int perch__set_no_memory(struct perch_error *err)
{
	return perch_error_set(err, ENOMEM, PERCH_ERROR_NO_MEMORY, "no memory for a set of events");
}

/* Facts are read from this machine where the caller gave none. */
int perch__set_machine(struct perch_set *set, struct perch_machine **machine,
		       struct perch_error *err)
{
	int rc = 0;

	if (!set->machine && !set->own)
		rc = perch_machine_new(&set->own, NULL, NULL, err);
	*machine = set->machine ? set->machine : set->own;
	return rc;
}

void perch__describe_leader(const struct perch_set *set, size_t event,
			    const struct perch_target *at, size_t members,
			    struct perch_open_call_leader *leader)
{
	bool cgroup = at->cgroup_fd > 0;

	*leader = (struct perch_open_call_leader){
		.attr = &set->event[event].attr,
		.pid = cgroup ? at->cgroup_fd : at->pid,
		.cpu = at->cpu,
		.flags = PERCH_FLAG_FD_CLOEXEC | (cgroup ? PERCH_FLAG_PID_CGROUP : 0),
		.members = members,
	};
}

/* Members stand behind their leader, one group after the other. */
static int check_events(const struct perch_events *events, struct perch_error *err)
{
	if (!events || !events->nr)
		return perch_error_set(err, EINVAL, PERCH_ERROR_USAGE, "a set needs an event");
	for (size_t i = 0; i < events->nr; i++) {
		int leader = events->event[i].leader;

		if (leader == (int)i || (i && leader == events->event[i - 1].leader))
			continue;
		return perch_error_set(
			err, EINVAL, PERCH_ERROR_USAGE,
			"'%s' is led by event %d, and does not stand in one row with it",
			events->event[i].name, leader);
	}
	return 0;
}

static bool everywhere(const struct perch_target *target)
{
	return target->pid == -1 && target->cpu == -1 && target->cgroup_fd <= 0;
}

/* The kernel knows no event on all CPUs: one on each of them. */
static int copy_targets(struct perch_set *set, const struct perch_targets *targets,
			struct perch_error *err)
{
	const struct perch_cpus *cpus = NULL;
	struct perch_machine *machine;
	size_t nr = targets->nr;
	int rc = 0;

	for (size_t i = 0; !rc && i < targets->nr; i++) {
		if (!everywhere(&targets->target[i]))
			continue;
		if (!cpus)
			rc = perch__set_machine(set, &machine, err);
		if (!rc && !cpus)
			rc = perch_machine_cpus(machine, &cpus, err);
		nr += rc ? 0 : cpus->nr - 1;
	}
	if (rc)
		return rc;
	set->target = calloc(nr, sizeof(*set->target));
	if (!set->target)
		return perch__set_no_memory(err);
	for (size_t i = 0; i < targets->nr; i++)
		if (!everywhere(&targets->target[i]))
			set->target[set->nr_targets++] = targets->target[i];
		else
			for (size_t k = 0; k < cpus->nr; k++)
				set->target[set->nr_targets++] =
					(struct perch_target){ -1, cpus->cpu[k], 0 };
	return 0;
}

/*
 * The groups, at the end of the array: what they become is written from its start as they are
 * opened, and never reaches those that are left, of which each has an event or more.
 */
static void find_groups(struct perch_set *set, const struct perch_events *events)
{
	struct perch__group_range group = { .end = set->nr_events };

	set->first_group = set->nr_events;
	for (size_t i = set->nr_events; i-- > 0;) {
		if (events->event[i].leader != (int)i)
			continue;
		group.first = i;
		set->range[--set->first_group] = group;
		group.end = i;
	}
}

static int make_arrays(struct perch_set *set, const struct perch_events *events,
		       struct perch_error *err)
{
	size_t nr;

	if (__builtin_mul_overflow(events->nr, set->nr_targets, &nr) || nr > MOST_DESCRIPTORS)
		return perch_error_set(
			err, EMFILE, PERCH_ERROR_DESCRIPTORS,
			"%zu events on %zu targets are more than a process can have open",
			events->nr, set->nr_targets);
	set->event = malloc(events->nr * sizeof(*set->event));
	set->cold = calloc(events->nr, sizeof(*set->cold));
	set->range = malloc(events->nr * sizeof(*set->range));
	set->gone = calloc(set->nr_targets, sizeof(*set->gone));
	set->fd = malloc(nr * sizeof(*set->fd));
	if (!set->event || !set->cold || !set->range || !set->gone || !set->fd)
		return perch__set_no_memory(err);
	set->nr_events = events->nr;
	for (size_t i = 0; i < nr; i++)
		set->fd[i] = -1;
	find_groups(set, events);
	return 0;
}

int perch__set_make(struct perch_set **set, const struct perch_events *events,
		    const struct perch_targets *targets, struct perch_machine *machine,
		    struct perch_error *err)
{
	struct perch_set *made;
	int rc;

	rc = check_events(events, err);
	if (!rc && (!targets || !targets->nr))
		rc = perch_error_set(err, EINVAL, PERCH_ERROR_USAGE, "a set needs a target");
	if (rc)
		return rc;
	made = calloc(1, sizeof(*made));
	if (!made)
		return perch__set_no_memory(err);
	made->machine = machine;
	made->calls = perch_machine_syscalls(machine);
	rc = copy_targets(made, targets, err);
	if (!rc)
		rc = make_arrays(made, events, err);
	if (rc)
		perch_set_close(made);
	else
		*set = made;
	return rc;
}
