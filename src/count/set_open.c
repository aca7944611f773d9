/* SPDX-License-Identifier: MIT */
/*
 * Opens the events of a set one by one, each on all targets. They stay disabled until all are open:
 * when an event joins enabled ones, the kernel schedules all of them again, so the cost of
 * thousands of events would be quadratic.
 */
#include <errno.h>
#include <string.h>

#include "base/no_memory.h"
#include "open/target.h"
#include "set.h"

/* Result of opening an event, in addition to negative errnos. */
enum { OPENED, SKIPPED, TOO_LARGE };

struct opening {
	struct perch_set *set;
	struct perch_options options;
	struct perch_error *err;
	/* of the current event */
	size_t event;
	struct perch__group_range range; /* its group */
	struct perch_attr attr;		 /* for a leader */
	struct perch_attr last_attr;	 /* the attr of the last open call */
	struct perch__user_only user_only;
	const struct perch_cpus *cpus; /* CPUs of its PMU; NULL is all CPUs */
};

static struct perch_set_event *event_of(const struct opening *o)
{
	return &o->set->event[o->event];
}

/* The kernel counts these types itself, on every CPU. */
static bool has_pmu(const struct perch_attr *attr)
{
	return attr->type != PERCH_TYPE_SOFTWARE && attr->type != PERCH_TYPE_TRACEPOINT &&
	       attr->type != PERCH_TYPE_BREAKPOINT;
}

static int find_cpus(struct opening *o)
{
	struct perch_machine *machine;
	bool wanted = false;
	int rc;

	o->cpus = NULL;
	for (size_t i = 0; !wanted && i < o->set->nr_targets; i++)
		wanted = o->set->target[i].cpu >= 0;
	if (!wanted || !has_pmu(&o->attr))
		return 0;
	rc = perch__set_machine(o->set, &machine, o->err);
	if (!rc)
		o->cpus = perch_attr_cpus(&o->attr, machine);
	return rc;
}

/* Initializes all but the attr. */
static void init_event(struct perch_set_event *set_event, const struct perch_event *event)
{
	set_event->event = *event;
	set_event->skipped = set_event->user_only = set_event->broken = false;
	set_event->missing_features = NULL;
	set_event->reason = NULL;
}

/* Builds the attr of an event. prepare_set() adds what depends on its group. */
static int build_event(struct opening *o, size_t number)
{
	struct perch_set_event *event = &o->set->event[number];
	int rc = perch_attr_build(&event->attr, &event->event, &o->options, o->err);

	if (rc)
		perch_error_prefix(o->err, "%s: ", event->event.name);
	return rc;
}

static int prepare_set(struct opening *o)
{
	bool group = o->range.end - o->range.first > 1 && !o->set->single_reads;

	o->attr = event_of(o)->attr;
	o->attr.read_format = (o->options.read & ~(uint64_t)PERCH_FORMAT_GROUP) | PERCH__TIMES;
	if (group)
		o->attr.read_format |= perch__group_format(&o->attr);
	o->attr.disabled = 1;
	o->last_attr = o->attr;
	return find_cpus(o);
}

/* The leader is enabled and disabled for the whole group. Only leaders can be pinned or
 * exclusive. */
static void set_member_attr(struct perch_attr *attr)
{
	attr->disabled = attr->enable_on_exec = attr->pinned = attr->exclusive = 0;
}

/* Records the features that were omitted here. They are not requested on the other targets. */
static int record_missing_features(struct opening *o, const struct perch_attr *missing_features)
{
	struct perch__cold *cold = perch__set_cold(o->set, o->event);
	struct perch_attr before = o->attr;

	if (!cold)
		return PERCH__NO_MEMORY(o->err, "for a set of events");
	perch__add_features(&cold->missing_features, missing_features);
	event_of(o)->missing_features = &cold->missing_features;
	o->attr = o->last_attr;
	o->attr.disabled = before.disabled;
	o->attr.enable_on_exec = before.enable_on_exec && !missing_features->enable_on_exec;
	o->attr.pinned = before.pinned && !missing_features->pinned;
	o->attr.exclusive = before.exclusive && !missing_features->exclusive;
	return 0;
}

static int try_open(struct opening *o, size_t target, int leader)
{
	struct perch_attr missing_features;
	int fd, rc;

	if (o->options.optional)
		memset(&missing_features, 0, sizeof(missing_features));
	o->last_attr = o->attr;
	if (leader >= 0)
		set_member_attr(&o->last_attr);
	fd = perch__open_counting(&o->last_attr, o->options.optional, &missing_features,
				  &o->set->target[target], leader, o->set->machine, NULL);
	if (PERCH__UNLIKELY(fd >= 0 && (o->attr.read_format & ~o->last_attr.read_format) &
					       PERCH_FORMAT_GROUP)) {
		o->set->single_reads = true;
		o->attr.read_format = o->last_attr.read_format;
	}
	if (fd < 0 || !o->options.optional || !perch__any_feature(&missing_features))
		return fd;
	rc = record_missing_features(o, &missing_features);
	if (rc)
		o->set->calls->close(o->set->calls->context, fd);
	return rc ? rc : fd;
}

static bool may_skip(const struct opening *o)
{
	return o->options.may & (PERCH_MAY_SKIP | PERCH_MAY_SKIP_ALL);
}

/* Errors that mean that the machine does not support the event, as in perf. */
static bool means_unsupported(int rc)
{
	return rc == -EINVAL || rc == -ENOSYS || rc == -ENOENT || rc == -EOPNOTSUPP || rc == -ENXIO;
}

/* True if a weak group may be too large. Kernels before 3.3 returned ENOSPC for that. */
static bool may_be_too_large(const struct opening *o, int leader, int rc)
{
	bool weak = false;

	for (size_t i = o->range.first; i < o->range.end; i++)
		weak |= o->set->event[i].event.weak;
	return weak && leader >= 0 && (rc == -EINVAL || rc == -ENOSPC);
}

/* Opens the event with exclude_kernel, if that is allowed. */
static int try_user_only(struct opening *o, size_t target, int leader, int refused)
{
	int fd;

	if (!perch__user_only_begin(&o->user_only, o->options.may, refused, &o->attr,
				    event_of(o)->event.name, o->set->machine))
		return refused;
	fd = try_open(o, target, leader);
	event_of(o)->user_only = true;
	if (fd < 0 && may_be_too_large(o, leader, fd))
		return fd;
	fd = perch__user_only_end(&o->user_only, &o->attr, fd);
	if (o->user_only.state == PERCH__USER_ONLY_CANNOT_EXCLUDE) {
		event_of(o)->user_only = false;
		o->last_attr = o->attr;
	}
	return fd;
}

/* Opens the event without the bit that requests user-space access, on this target and the next
 * ones, if it has the bit. */
static int try_without_access(struct opening *o, size_t target, int leader, int refused)
{
	const struct perch_event *event = &event_of(o)->event;
	struct perch_options plain = o->options;
	struct perch_attr without;

	if (!perch__requests_user_access(event, &o->options))
		return refused;
	plain.self_monitoring = 0;
	if (perch_attr_build(&without, event, &plain, NULL))
		return refused;
	o->attr.config1 = without.config1;
	return try_open(o, target, leader);
}

static int open_on_target(struct opening *o, size_t target, int leader)
{
	int fd = try_open(o, target, leader);

	o->user_only.state = PERCH__USER_ONLY_UNUSED;
	if (PERCH__LIKELY(fd >= 0))
		return fd;
	if (o->options.self_monitoring && (fd == -EINVAL || fd == -EOPNOTSUPP))
		fd = try_without_access(o, target, leader, fd);
	if (fd >= 0)
		return fd;
	while ((fd == -EINVAL || fd == -EOPNOTSUPP) && event_of(o)->event.precise_max &&
	       o->attr.precise_ip) {
		o->attr.precise_ip--;
		fd = try_open(o, target, leader);
	}
	return fd >= 0 ? fd : try_user_only(o, target, leader, fd);
}

static void close_event(struct perch_set *set, size_t event)
{
	for (size_t i = 0; i < set->nr_targets; i++) {
		int *fd = &set->fd[event * set->nr_targets + i];

		if (*fd >= 0)
			set->calls->close(set->calls->context, *fd);
		*fd = -1;
	}
}

/* Skips the current event. If it was the leader, the next event becomes the leader. */
static int skip(struct opening *o, const struct perch__cold *cold)
{
	struct perch_set_event *event = event_of(o);

	close_event(o->set, o->event);
	event->skipped = true;
	event->reason = &cold->reason;
	if (o->event != o->range.first) {
		o->set->event[o->range.first].event.members--;
		return SKIPPED;
	}
	o->range.first++;
	for (size_t i = o->range.first; i < o->range.end; i++)
		o->set->event[i].event.leader = o->range.first;
	if (o->range.first < o->range.end)
		o->set->event[o->range.first].event.members = o->range.end - o->range.first;
	event->event.members = 1;
	return SKIPPED;
}

/* For a group member the kernel returns only EINVAL. */
static bool explain_member(const struct opening *o, size_t target, int leader, int rc,
			   struct perch_error *err)
{
	struct perch__group_constraints constraints = { 0 };

	if (leader < 0 || rc != -EINVAL)
		return false;
	for (size_t i = o->range.first; i < o->event; i++)
		if (perch__fd_at(o->set, i, target) >= 0)
			perch__group_constraints_add(&constraints, &o->set->event[i].attr);
	return perch__explain_group_member(&constraints, &o->last_attr, &o->set->target[target],
					   o->set->machine, err);
}

/* Adds the leader on the target to the open call. */
static void add_leader(const struct opening *o, size_t target, struct perch_open_call *call,
		       struct perch_open_call_leader *leader)
{
	struct perch__group_range before = { .first = o->range.first, .end = o->event };
	size_t first = perch__leader_at(o->set, before, target), members = 0;

	if (call->group_fd < 0 || first == before.end)
		return;
	for (size_t i = first; i < before.end; i++)
		members += perch__fd_at(o->set, i, target) >= 0;
	perch__describe_leader(o->set, first, &o->set->target[target], members, leader);
	call->leader = leader;
}

static int report_refusal(struct opening *o, const struct perch_open_call *call, size_t target)
{
	struct perch_machine *machine = NULL;
	int fd, rc = -call->errnum;

	/* the open has failed, so reading facts of the machine does not slow down a success */
	perch__set_machine(o->set, &machine, NULL);
	if (call->errnum == E2BIG) {
		/* only perch_open() sees the attr size that the kernel returned */
		fd = perch_open(&o->last_attr, &o->set->target[target], call->group_fd, 0,
				o->set->machine, o->err);
		if (fd >= 0)
			o->set->calls->close(o->set->calls->context, fd);
	} else if (!explain_member(o, target, call->group_fd, rc, o->err)) {
		perch_explain(call, machine, o->err);
		perch__user_only_explain(o->user_only.state, o->err);
	}
	return perch__set_prefix_error(o->set, o->event, target, o->err, rc);
}

static int refused(struct opening *o, size_t target, int leader, int rc)
{
	const struct perch_target *at = &o->set->target[target];
	struct perch_open_call call = perch__describe_call(&o->last_attr, at, leader, -rc);
	struct perch_open_call_leader described;
	struct perch_machine *machine = NULL;
	struct perch__cold *cold;

	if (rc == -ESRCH && at->tid > 0 && !at->use_cgroup &&
	    o->options.may & PERCH_MAY_LOSE_TARGETS) {
		o->set->ended[target] = true;
		return OPENED;
	}
	if (may_be_too_large(o, leader, rc))
		return TOO_LARGE;
	add_leader(o, target, &call, &described);
	if (!(means_unsupported(rc) || perch__user_only_impossible(o->user_only.state)) ||
	    !may_skip(o))
		return report_refusal(o, &call, target);
	cold = perch__set_cold(o->set, o->event);
	if (!cold)
		return PERCH__NO_MEMORY(o->err, "for a set of events");
	event_of(o)->attr = o->last_attr;
	cold->target = *at;
	cold->group_fd = leader;
	if (!explain_member(o, target, leader, rc, &cold->reason)) {
		cold->errnum = -rc;
		cold->user_only = o->user_only.state;
		perch__set_machine(o->set, &machine, NULL);
		perch_explain(&call, machine, &cold->reason);
		perch__user_only_explain(cold->user_only, &cold->reason);
	}
	return skip(o, cold);
}

static int set_filter(struct opening *o, size_t target, int fd)
{
	const char *filter = event_of(o)->event.filter;
	int rc = filter ? perch_event_set_filter(fd, filter, &o->last_attr, o->set->machine, o->err)
			: 0;

	return rc ? perch__set_prefix_error(o->set, o->event, target, o->err, rc) : 0;
}

/* The PMU of the event counts on none of the target CPUs. */
static int report_no_cpu(struct opening *o)
{
	struct perch__cold *cold = NULL;
	struct perch_error *err = o->err;

	if (may_skip(o)) {
		cold = perch__set_cold(o->set, o->event);
		if (!cold)
			return PERCH__NO_MEMORY(o->err, "for a set of events");
		err = &cold->reason;
	}
	perch_error_set(err, ENODEV, PERCH_ERROR_NO_CPU,
			"the PMU of the event counts on none of the target CPUs");
	perch_error_field(err, "cpu", NULL);
	if (o->cpus->nr)
		perch_error_remedy(err, "measure on CPU %d, where the PMU counts", o->cpus->cpu[0]);
	event_of(o)->attr = o->attr;
	if (cold)
		return skip(o, cold);
	perch_error_prefix(err, "%s: ", event_of(o)->event.name);
	return -ENODEV;
}

static int open_event(struct opening *o)
{
	struct perch_set *set = o->set;
	size_t nr_tried = 0;
	int rc = prepare_set(o);

	for (size_t i = 0; !rc && i < set->nr_targets; i++) {
		struct perch__group_range before = { .first = o->range.first, .end = o->event };
		size_t leader = perch__leader_at(set, before, i);
		int leader_fd = leader < o->event ? perch__fd_at(set, leader, i) : -1;
		int fd;

		if (set->target[i].cpu >= 0 && !perch_cpus_contains(o->cpus, set->target[i].cpu))
			continue;
		nr_tried++;
		if (set->ended[i])
			continue;
		fd = open_on_target(o, i, leader_fd);
		if (fd < 0) {
			rc = refused(o, i, leader_fd, fd);
			continue;
		}
		set->fd[o->event * set->nr_targets + i] = fd;
		rc = set_filter(o, i, fd);
		perch__apply_cloexec(fd, &o->options);
	}
	if (!rc && !nr_tried)
		return report_no_cpu(o);
	if (!rc)
		event_of(o)->attr = o->last_attr;
	return rc;
}

static int open_separately(struct opening *o, struct perch__group_range group)
{
	int rc = 0;

	for (size_t i = group.first; i < group.end; i++) {
		struct perch_set_event *event = &o->set->event[i];

		close_event(o->set, i);
		event->event.leader = i;
		event->event.members = 1;
		event->broken = !event->skipped;
		event->user_only = false;
	}
	for (size_t i = group.first; rc >= 0 && i < group.end; i++) {
		if (o->set->event[i].skipped)
			continue;
		o->event = i;
		o->range = (struct perch__group_range){ .first = i, .end = i + 1 };
		rc = build_event(o, i);
		if (!rc)
			rc = open_event(o);
	}
	return rc < 0 ? rc : 0;
}

static int open_group(struct opening *o, struct perch__group_range group)
{
	int rc;

	o->range = group;
	for (size_t i = group.first; i < group.end; i++) {
		o->event = i;
		rc = open_event(o);
		if (rc < 0)
			return rc;
		if (rc == TOO_LARGE)
			return open_separately(o, o->range);
	}
	return 0;
}

/* Adds the ranges of an opened group: one, or one for each event if a weak group was broken up.
 * Skipped events are ranges too, so reads set their state. */
static void add_ranges(struct perch_set *set, struct perch__group_range group)
{
	struct perch__group_range range;

	for (size_t first = group.first; first < group.end; first = range.end) {
		range = (struct perch__group_range){ .first = first,
						     .end = first + 1,
						     .whole = true };
		while (range.end < group.end && set->event[range.end].event.leader == (int)first)
			range.end++;
		for (size_t at = first * set->nr_targets; at < range.end * set->nr_targets; at++)
			range.whole &= set->fd[at] >= 0;
		set->range[set->nr_ranges++] = range;
	}
}

/* Reports why the first event was skipped, with facts of the machine. */
static int report_first_skipped(struct perch_set *set, struct perch_error *err)
{
	const struct perch_error *reason;
	struct perch_machine *machine = NULL;

	perch__set_machine(set, &machine, NULL);
	perch_set_explain(set, machine);
	reason = set->event[0].reason;
	if (err)
		*err = *reason;
	perch_error_prefix(err, "%s: ", set->event[0].event.name);
	return -reason->errnum;
}

static int check_left(struct perch_set *set, unsigned may, struct perch_error *err)
{
	bool any_event = may & PERCH_MAY_SKIP_ALL;

	for (size_t i = 0; !any_event && i < set->nr_events; i++)
		any_event = !set->event[i].skipped;
	if (!any_event)
		return report_first_skipped(set, err);
	for (size_t i = 0; i < set->nr_targets; i++)
		if (!set->ended[i])
			return 0;
	perch_error_set(err, ESRCH, PERCH_ERROR_NO_PROCESS, "all target threads have ended");
	perch_error_field(err, "pid", NULL);
	return -ESRCH;
}

int perch_set_open(struct perch_set **set, const struct perch_events *events,
		   const struct perch_targets *targets, const struct perch_options *options,
		   struct perch_error *err)
{
	struct opening o = { .options = options ? *options : (struct perch_options){ 0 },
			     .err = err };
	struct perch__group_range group;
	int rc;

	*set = NULL;
	rc = perch__set_make(&o.set, events, targets, o.options.machine, err);
	if (rc)
		return rc;
	/* all attrs are built first: between system calls, which fill the caches, it takes three
	 * times as long */
	for (size_t i = 0; !rc && i < events->nr; i++) {
		init_event(&o.set->event[i], &events->event[i]);
		rc = build_event(&o, i);
	}
	for (size_t i = o.set->first_group; !rc && i < events->nr; i++) {
		group = o.set->range[i];
		rc = open_group(&o, group);
		add_ranges(o.set, group);
	}
	if (!rc)
		rc = check_left(o.set, o.options.may, err);
	if (!rc && o.options.self_monitoring)
		rc = perch__set_map_pages(o.set, err);
	if (!rc && o.options.enabled)
		rc = perch_set_enable(o.set, err);
	if (rc)
		perch_set_close(o.set);
	else
		*set = o.set;
	return rc;
}
