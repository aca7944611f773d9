/* SPDX-License-Identifier: MIT */
/* Makes, describes and closes sets. set_open.c opens their events, set_access.c reads them. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <perch/explain.h>

#include "base/reserved.h"
#include "base/no_memory.h"
#include "open/target.h"
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

/* Writes " PATH". A path that is too long is left out: its end is what matters. */
static const char *cgroup_path(int fd, char *buffer, size_t size)
{
	char link[64];
	ssize_t length;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	length = readlink(link, buffer + 1, size - 1);
	if (length <= 0 || (size_t)length >= size - 1)
		return "";
	buffer[0] = ' ';
	buffer[length + 1] = '\0';
	return buffer;
}

int perch__set_prefix_error(const struct perch_set *set, size_t event, size_t target,
			    struct perch_error *err, int rc)
{
	const struct perch_target *at = &set->target[target];
	char where[256] = "", cgroup[192];

	if (at->use_cgroup && at->cpu >= 0)
		snprintf(where, sizeof(where), " for the cgroup%s on CPU %d",
			 cgroup_path(at->cgroup_fd, cgroup, sizeof(cgroup)), at->cpu);
	else if (at->use_cgroup)
		snprintf(where, sizeof(where), " for the cgroup%s",
			 cgroup_path(at->cgroup_fd, cgroup, sizeof(cgroup)));
	else if (at->tid > 0 && at->cpu >= 0)
		snprintf(where, sizeof(where), " for thread %d on CPU %d", (int)at->tid, at->cpu);
	else if (at->tid > 0)
		snprintf(where, sizeof(where), " for thread %d", (int)at->tid);
	else if (at->cpu >= 0)
		snprintf(where, sizeof(where), " on CPU %d", at->cpu);
	perch_error_prefix(err, "%s%s: ", set->event[event].event.name, where);
	return rc;
}

void perch_set_close(struct perch_set *set)
{
	if (!set)
		return;
	perch__user_pages_clear(&set->pages, set->calls, perch__is_forked(set->generation));
	free(set->rdpmc_state);
	free(set->id);
	/* members are closed before their leader, so the kernel need not split the group */
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
	free(set->ended);
	free(set->fd);
	free(set->base);
	free(set->buffer.word);
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

struct perch_open_call perch__describe_call(const struct perch_attr *attr,
					    const struct perch_target *at, int group_fd, int errnum)
{
	bool cgroup = at->use_cgroup;

	return (struct perch_open_call){
		.attr = attr,
		.pid = cgroup ? at->cgroup_fd : at->tid,
		.cpu = at->cpu,
		.group_fd = group_fd,
		.flags = PERCH_FLAG_FD_CLOEXEC | (cgroup ? PERCH_FLAG_PID_CGROUP : 0),
		.errnum = errnum,
		.pid_is_cgroup_fd = cgroup,
	};
}

void perch_set_explain(struct perch_set *set, struct perch_machine *machine)
{
	for (size_t i = 0; i < set->nr_events; i++) {
		struct perch__cold *cold = set->cold[i];
		struct perch_open_call_leader described;
		struct perch_open_call call;
		size_t leader = set->event[i].event.leader;

		if (!set->event[i].skipped || !cold->errnum)
			continue;
		call = perch__describe_call(&set->event[i].attr, &cold->target, cold->group_fd,
					    cold->errnum);
		if (call.group_fd >= 0 && leader < set->nr_events && leader != i &&
		    !set->event[leader].skipped) {
			perch__describe_leader(set, leader, &cold->target,
					       set->event[leader].event.members, &described);
			call.leader = &described;
		}
		perch_explain(&call, machine, &cold->reason);
		perch__user_only_explain(cold->user_only, &cold->reason);
	}
}

/* More descriptors than any system allows. The limit also prevents overflows. */
#define MAX_DESCRIPTORS (1 << 26)

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
	bool cgroup = at->use_cgroup;

	*leader = (struct perch_open_call_leader){
		.attr = &set->event[event].attr,
		.pid = cgroup ? at->cgroup_fd : at->tid,
		.cpu = at->cpu,
		.flags = PERCH_FLAG_FD_CLOEXEC | (cgroup ? PERCH_FLAG_PID_CGROUP : 0),
		.members = members,
	};
}

/* The members of a group must follow their leader. */
static int check_events(const struct perch_events *events, struct perch_error *err)
{
	if (!events || !events->nr)
		return perch_error_set(err, EINVAL, PERCH_ERROR_USAGE, "a set needs an event");
	if (PERCH__CHECK_RESERVED(events, "perch_events", err))
		return -EINVAL;
	for (size_t i = 0; i < events->nr; i++) {
		int leader = events->event[i].leader;

		if (leader == (int)i || (i && leader == events->event[i - 1].leader))
			continue;
		return perch_error_set(
			err, EINVAL, PERCH_ERROR_USAGE,
			"the leader of '%s' is event %d, which it must follow in the list",
			events->event[i].name, leader);
	}
	return 0;
}

static bool is_system_wide(const struct perch_target *target)
{
	return target->tid == -1 && target->cpu == -1 && !target->use_cgroup;
}

/* The kernel cannot count all processes on all CPUs with one event: that target becomes one
 * target for each CPU. */
static int copy_targets(struct perch_set *set, const struct perch_targets *targets,
			struct perch_error *err)
{
	const struct perch_cpus *cpus = NULL;
	struct perch_machine *machine;
	size_t nr = targets->nr;
	int rc = 0;

	for (size_t i = 0; !rc && i < targets->nr; i++) {
		rc = perch__check_listed_target(&targets->target[i], err);
		if (rc || !is_system_wide(&targets->target[i]))
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
		return PERCH__NO_MEMORY(err, "for a set of events");
	for (size_t i = 0; i < targets->nr; i++)
		if (!is_system_wide(&targets->target[i]))
			set->target[set->nr_targets++] = targets->target[i];
		else
			for (size_t k = 0; k < cpus->nr; k++)
				set->target[set->nr_targets++] =
					(struct perch_target){ .tid = -1, .cpu = cpus->cpu[k] };
	return 0;
}

/*
 * Writes the groups to open to the end of the array. As they are opened, the resulting ranges are
 * written to its start. Each group has at least one event, so the two never overlap.
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

	if (__builtin_mul_overflow(events->nr, set->nr_targets, &nr) || nr > MAX_DESCRIPTORS)
		return perch_error_set(
			err, EMFILE, PERCH_ERROR_DESCRIPTORS,
			"%zu events on %zu targets need more descriptors than a process can have",
			events->nr, set->nr_targets);
	set->event = malloc(events->nr * sizeof(*set->event));
	set->cold = calloc(events->nr, sizeof(*set->cold));
	set->range = malloc(events->nr * sizeof(*set->range));
	set->ended = calloc(set->nr_targets, sizeof(*set->ended));
	set->fd = malloc(nr * sizeof(*set->fd));
	if (!set->event || !set->cold || !set->range || !set->ended || !set->fd)
		return PERCH__NO_MEMORY(err, "for a set of events");
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
	struct perch_target self = { .cpu = -1 };
	const struct perch_targets calling_thread = { .nr = 1, .target = &self };
	struct perch_set *new_set;
	int rc;

	targets = targets ? targets : &calling_thread;
	rc = check_events(events, err);
	if (!rc)
		rc = PERCH__CHECK_RESERVED(targets, "perch_targets", err);
	if (!rc && !targets->nr)
		rc = perch_error_set(err, EINVAL, PERCH_ERROR_USAGE, "a set needs a target");
	if (rc)
		return rc;
	new_set = calloc(1, sizeof(*new_set));
	if (!new_set)
		return PERCH__NO_MEMORY(err, "for a set of events");
	new_set->machine = machine;
	new_set->calls = perch_machine_syscalls(machine);
	new_set->generation = perch__fork_generation();
	rc = copy_targets(new_set, targets, err);
	if (!rc)
		rc = make_arrays(new_set, events, err);
	if (rc)
		perch_set_close(new_set);
	else
		*set = new_set;
	return rc;
}
