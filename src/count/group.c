/* SPDX-License-Identifier: MIT */
/* Opens groups: several events that are scheduled and read together. group_access.c reads them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/reserved.h"
#include "base/no_memory.h"
#include "group.h"

/* The events must be one group in braces, or single events without braces. */
static int check_events(const struct perch_events *events, struct perch_error *err)
{
	bool braces = events && events->nr && events->event[0].members > 1;

	if (!events || !events->nr)
		return perch_error_set(err, EINVAL, PERCH_ERROR_USAGE, "a group needs an event");
	if (PERCH__CHECK_RESERVED(events, "perch_events", err))
		return -EINVAL;
	for (size_t i = 0; i < events->nr; i++)
		if (events->event[i].leader != (braces ? 0 : (int)i))
			return perch_error_set(
				err, EINVAL, PERCH_ERROR_USAGE,
				"the events, from '%s' on, are more than one group: open each separately",
				events->event[i].name);
	return 0;
}

static struct perch_group *make_group(const struct perch_target *target,
				      struct perch_machine *machine, struct perch_error *err)
{
	struct perch_group *group = calloc(1, sizeof(*group));

	if (!group) {
		PERCH__NO_MEMORY(err, "for the group");
		return NULL;
	}
	group->calls = perch_machine_syscalls(machine);
	group->generation = perch__fork_generation();
	group->target = target ? *target : perch_self;
	group->machine = machine;
	group->rdpmc_state = PERCH__RDPMC_NOT_REQUESTED;
	return group;
}

/* Makes space for one more member, which is not counted yet. */
static struct perch__opened *make_member(struct perch_group *group, struct perch_error *err)
{
	struct perch__opened *member = NULL;

	if (!PERCH__ARRAY_RESERVE_BY_NR(group->member, group->nr, 1) &&
	    !PERCH__ARRAY_RESERVE_BY_NR(group->base, group->nr, 1))
		member = calloc(1, sizeof(*member));
	if (!member) {
		PERCH__NO_MEMORY(err, "for the group");
		return NULL;
	}
	group->member[group->nr] = member;
	group->base[group->nr] = (struct perch__base){ 0 };
	return member;
}

/* The leader is enabled, disabled and read for the whole group. Only leaders can be pinned or
 * exclusive. */
static void set_member_attr(const struct perch_group *group, struct perch_attr *attr)
{
	attr->read_format = group->read_format;
	if (group->nr) {
		attr->disabled = attr->enable_on_exec = attr->pinned = attr->exclusive = 0;
	} else {
		attr->disabled = 1;
		attr->read_format |= perch__group_format(attr);
	}
}

static int open_member(struct perch_group *group, const struct perch_event *event,
		       const struct perch_options *options, struct perch_error *err)
{
	struct perch__opened *member = make_member(group, err);
	int leader = group->nr ? group->member[0]->fd : -1, rc;

	if (!member)
		return -ENOMEM;
	rc = perch_attr_build(&member->attr, event, options, err);
	if (!rc) {
		set_member_attr(group, &member->attr);
		rc = perch__open_event(member, event, &group->target, leader, options, err);
		if (rc == -EINVAL && leader >= 0)
			perch__explain_group_member(&group->constraints, &member->attr,
						    &group->target, options->machine, err);
		if (rc)
			perch_error_prefix(err, "%s: ", event->name);
	}
	if (rc) {
		free(member);
		return rc;
	}
	/* members use the same read_format as the leader */
	group->read_format = member->attr.read_format;
	perch__group_constraints_add(&group->constraints, &member->attr);
	group->nr++;
	return 0;
}

static void close_last(struct perch_group *group)
{
	struct perch__opened *member = group->member[--group->nr];

	group->calls->close(group->calls->context, member->fd);
	free(member);
}

/* After a failure no member is open. */
static int open_members(struct perch_group *group, const struct perch_events *events,
			const struct perch_options *options, struct perch_error *err)
{
	int rc = 0;

	group->read_format = (options->read & ~(uint64_t)PERCH_FORMAT_GROUP) | PERCH__TIMES;
	group->constraints = (struct perch__group_constraints){ 0 };
	for (size_t i = 0; !rc && i < events->nr; i++)
		rc = open_member(group, &events->event[i], options, err);
	while (rc && group->nr)
		close_last(group);
	return rc;
}

/* Returns PERCH__RDPMC_USED if the event may be read without a system call. */
static enum perch__rdpmc_state check_user_access(const struct perch_group *group,
						 const struct perch_event *event,
						 const struct perch_options *options)
{
	struct perch_attr attr = event->attr;

	if (!options->self_monitoring)
		return PERCH__RDPMC_NOT_REQUESTED;
	attr.read_format = options->read;
	return perch__rdpmc_check(&attr, &group->target);
}

static bool any_requests_access(const struct perch_events *events,
				const struct perch_options *options)
{
	for (size_t i = 0; i < events->nr; i++)
		if (perch__requests_user_access(&events->event[i], options))
			return true;
	return false;
}

/* Opens the members, and maps their pages if all of them can be read without a system call. */
static int open_with_pages(struct perch_group *group, const struct perch_events *events,
			   struct perch_options *wanted, struct perch_error *err)
{
	enum perch__rdpmc_state state = PERCH__RDPMC_USED;
	struct perch_options plain = *wanted;
	int rc;

	for (size_t i = 0; state == PERCH__RDPMC_USED && i < events->nr; i++) {
		state = check_user_access(group, &events->event[i], wanted);
		group->rdpmc_member = i;
	}
	plain.self_monitoring = 0; /* some PMUs refuse the bit that requests it */
	if (state != PERCH__RDPMC_USED) {
		group->rdpmc_state = state;
		return open_members(group, events, &plain, err);
	}
	rc = open_members(group, events, wanted, err);
	if (rc && any_requests_access(events, wanted)) {
		rc = open_members(group, events, &plain, err);
		group->rdpmc_state = PERCH__RDPMC_REFUSED;
		group->rdpmc_member = 0;
		return rc;
	}
	if (rc)
		return rc;
	group->rdpmc_state = PERCH__RDPMC_NOT_READ_YET;
	group->rdpmc_member = 0;
	for (size_t i = 0; i < group->nr; i++)
		perch__group_map_page(group, i);
	return 0;
}

int perch_group_open_events(struct perch_group **group, const struct perch_events *events,
			    const struct perch_target *target, const struct perch_options *options,
			    struct perch_error *err)
{
	struct perch_options wanted = options ? *options : (struct perch_options){ 0 };
	struct perch_group *new_group;
	int rc;

	*group = NULL;
	rc = perch__check_may(&wanted, err);
	if (!rc)
		rc = check_events(events, err);
	if (rc)
		return rc;
	new_group = make_group(target, wanted.machine, err);
	if (!new_group)
		return -ENOMEM;
	rc = open_with_pages(new_group, events, &wanted, err);
	/* after all members are open, so that all count from the same time on */
	if (!rc && wanted.enabled)
		rc = perch_group_enable(new_group, err);
	if (rc)
		perch_group_close(new_group);
	else
		*group = new_group;
	return rc;
}

int perch_group_open(struct perch_group **group, const char *text,
		     const struct perch_target *target, const struct perch_options *options,
		     struct perch_error *err)
{
	struct perch_events events = { 0 };
	int rc;

	*group = NULL;
	rc = perch_events_parse(&events, text, options ? options->machine : NULL, err);
	if (rc)
		return rc;
	rc = perch_group_open_events(group, &events, target, options, err);
	perch_events_clear(&events);
	return rc;
}

/* Options of a member that only the leader can have. */
static int check_member(const struct perch_options *options, struct perch_error *err)
{
	const char *field = options->enabled	      ? "disabled"
			    : options->enable_on_exec ? "enable_on_exec"
			    : options->pinned	      ? "pinned"
			    : options->exclusive      ? "exclusive"
						      : NULL;

	if (!field)
		return perch__check_may(options, err);
	perch_error_set(
		err, EINVAL, PERCH_ERROR_USAGE,
		"enabled, enable_on_exec, pinned and exclusive are options of the leader: a member that joins has those of its group");
	perch_error_field(err, field, NULL);
	return -EINVAL;
}

/* Reads of the group return the times of the leader. Those of the new member begin now. */
static int start_times(struct perch_group *group, struct perch_error *err)
{
	struct perch_count *counts;
	int rc;

	if (!(group->read_format & PERCH_FORMAT_GROUP))
		return 0; /* it has times of its own */
	counts = calloc(group->nr, sizeof(*counts));
	if (!counts)
		return PERCH__NO_MEMORY(err, "for the group");
	rc = perch_group_read(group, counts, group->nr, err);
	if (rc == -ENODATA)
		rc = 0; /* a pinned group in error state */
	else if (!rc)
		group->base[group->nr - 1] =
			(struct perch__base){ counts[group->nr - 1].enabled_ns,
					      counts[group->nr - 1].running_ns };
	free(counts);
	return rc;
}

/* Opens the last member. *state: whether it can have a page, if the group has pages. */
static int add_member(struct perch_group *group, const struct perch_event *event,
		      struct perch_options *wanted, enum perch__rdpmc_state *state,
		      struct perch_error *err)
{
	int rc;

	wanted->self_monitoring = !!group->pages.thread;
	*state = check_user_access(group, event, wanted);
	wanted->self_monitoring = *state == PERCH__RDPMC_USED;
	rc = open_member(group, event, wanted, err);
	if (rc && perch__requests_user_access(event, wanted)) {
		wanted->self_monitoring = 0;
		*state = PERCH__RDPMC_REFUSED;
		rc = open_member(group, event, wanted, err);
	}
	return rc;
}

int perch_group_add_event(struct perch_group *group, const struct perch_event *event,
			  const struct perch_options *options, struct perch_error *err)
{
	struct perch_options wanted = options ? *options : (struct perch_options){ 0 };
	enum perch__rdpmc_state state;
	uintptr_t thread;
	int rc = perch__group_check_fork(group, err);

	if (!rc && group->adopted)
		rc = perch_error_set(
			err, EINVAL, PERCH_ERROR_USAGE,
			"the target of a group of perch_group_from_fds() is unknown: open the member with perch_open()");
	if (rc)
		return rc;
	wanted.machine = group->machine;
	wanted.inherit = group->member[0]->attr.inherit;
	rc = check_member(&wanted, err);
	if (!rc)
		rc = add_member(group, event, &wanted, &state, err);
	if (rc)
		return rc;
	/* the new member has no page yet; the others keep theirs if it cannot join */
	thread = group->pages.thread;
	group->pages.thread = 0;
	rc = start_times(group, err);
	group->pages.thread = thread;
	if (rc)
		close_last(group);
	else if (thread && state == PERCH__RDPMC_USED)
		perch__group_map_page(group, group->nr - 1);
	else if (thread)
		perch__group_drop_pages(group, group->nr - 1, state);
	return rc;
}

int perch_group_add(struct perch_group *group, const char *text,
		    const struct perch_options *options, struct perch_error *err)
{
	struct perch_events events = { 0 };
	int rc = perch_events_parse(&events, text, group->machine, err);

	if (rc)
		return rc;
	if (events.nr == 1)
		rc = perch_group_add_event(group, &events.event[0], options, err);
	else
		rc = perch_error_set(err, EINVAL, PERCH_ERROR_USAGE,
				     "'%s' is %zu events: add them one by one", text, events.nr);
	perch_events_clear(&events);
	return rc;
}

/* The kernel returns members in the order in which they joined. */
static int check_order(struct perch_group *group, struct perch_error *err)
{
	struct perch_count *counts;
	uint64_t id;
	int rc;

	if (!(group->read_format & PERCH_FORMAT_GROUP))
		return 0;
	counts = calloc(group->nr, sizeof(*counts));
	if (!counts)
		return PERCH__NO_MEMORY(err, "for the group");
	rc = perch_group_read(group, counts, group->nr, err);
	for (size_t i = 0; !rc && group->read_format & PERCH_FORMAT_ID && i < group->nr; i++)
		if (!perch_group_id(group, i, &id, NULL) && id != counts[i].id)
			rc = perch_error_set(
				err, EINVAL, PERCH_ERROR_USAGE,
				"descriptor %d is not member %zu of the group: pass the descriptors in the order in which they were opened",
				group->member[i]->fd, i);
	free(counts);
	return rc == -ENODATA ? 0 : rc;
}

/* Closes nothing: the descriptors belong to the caller until perch_group_from_fds() succeeds. */
static void free_group(struct perch_group *group)
{
	for (size_t i = 0; i < group->nr; i++)
		free(group->member[i]);
	free(group->member);
	free(group->base);
	free(group->buffer.word);
	free(group);
}

int perch_group_from_fds(struct perch_group **group, const int *fds, const struct perch_attr *attrs,
			 size_t nr, struct perch_machine *machine, struct perch_error *err)
{
	struct perch_group *new_group;
	int rc = 0;

	*group = NULL;
	if (!nr)
		return perch_error_set(err, EINVAL, PERCH_ERROR_USAGE, "a group needs an event");
	new_group = make_group(NULL, machine, err);
	if (!new_group)
		return -ENOMEM;
	new_group->adopted = true;
	new_group->read_format = attrs[0].read_format;
	for (size_t i = 0; !rc && i < nr; i++) {
		struct perch__opened *member = make_member(new_group, err);

		if (!member) {
			rc = -ENOMEM;
			break;
		}
		perch__adopt(member, fds[i], &attrs[i], NULL);
		perch__group_constraints_add(&new_group->constraints, &attrs[i]);
		new_group->nr++;
		rc = perch__check_descriptor(fds[i], &attrs[i], machine, err);
	}
	if (!rc)
		rc = check_order(new_group, err);
	if (rc)
		free_group(new_group);
	else
		*group = new_group;
	return rc;
}

void perch_group_close(struct perch_group *group)
{
	if (!group)
		return;
	perch__user_pages_clear(&group->pages, group->calls, perch__is_forked(group->generation));
	/* members are closed before their leader, so the kernel need not split the group */
	for (size_t i = group->nr; i-- > 0;)
		group->calls->close(group->calls->context, group->member[i]->fd);
	free_group(group);
}
