/* SPDX-License-Identifier: MIT */
/* Groups: several events that are scheduled and read together. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/reserved.h"
#include "internal.h"

struct member {
	int fd;
	struct perch__base base;
	bool has_missing_features;
	struct perch_attr missing_features;
	char name[sizeof(((struct perch_event *)0)->name)];
};

struct perch_group {
	const struct perch_syscalls *calls;
	uint32_t generation; /* of the process that opened it */
	/* without PERCH_FORMAT_GROUP each member is read separately */
	uint64_t read_format;
	struct perch__read_buffer buffer; /* read buffer */
	struct perch__group_constraints constraints;
	size_t nr;
	struct member member[];
};

/* The events must be one group in braces, or single events without braces. */
static int check_events(const struct perch_events *events, const char *text,
			struct perch_error *err)
{
	bool braces = events->nr && events->event[0].members > 1;

	if (PERCH__CHECK_RESERVED(events, "perch_events", err))
		return -EINVAL;
	for (size_t i = 0; i < events->nr; i++)
		if (events->event[i].leader != (braces ? 0 : (int)i))
			return perch_error_set(err, EINVAL, PERCH_ERROR_USAGE,
					       "'%s' is more than one group: open each separately",
					       text);
	if (!events->nr)
		return perch_error_set(err, EINVAL, PERCH_ERROR_USAGE, "a group needs an event");
	return 0;
}

static struct perch_group *make(size_t nr, const struct perch_options *options,
				struct perch_error *err)
{
	struct perch_group *group = calloc(1, sizeof(*group) + nr * sizeof(group->member[0]));

	if (!group) {
		perch_error_set(err, ENOMEM, PERCH_ERROR_NO_MEMORY, "no memory for the group");
		return NULL;
	}
	group->calls = perch_machine_syscalls(options->machine);
	group->generation = perch__fork_generation();
	group->read_format = (options->read & ~(uint64_t)PERCH_FORMAT_GROUP) | PERCH__TIMES;
	return group;
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
		       const struct perch_target *target, const struct perch_options *options,
		       struct perch_error *err)
{
	struct member *member = &group->member[group->nr];
	int leader = group->nr ? group->member[0].fd : -1;
	struct perch_attr attr;
	int rc;

	rc = perch_attr_build(&attr, event, options, err);
	if (rc)
		return rc;
	set_member_attr(group, &attr);
	rc = perch__open_counting(&attr, options->optional, &member->missing_features, target,
				  leader, options->machine, err);
	if (rc == -EINVAL && leader >= 0)
		perch__explain_group_member(&group->constraints, &attr, target, options->machine,
					    err);
	if (rc < 0) {
		perch_error_prefix(err, "%s: ", event->name);
		return rc;
	}
	/* members use the same read_format as the leader */
	group->read_format = attr.read_format;
	perch__group_constraints_add(&group->constraints, &attr);
	member->fd = rc;
	member->has_missing_features = perch__any_feature(&member->missing_features);
	memcpy(member->name, event->name, sizeof(member->name));
	member->name[sizeof(member->name) - 1] = '\0';
	group->nr++;
	return event->filter ? perch_event_set_filter(member->fd, event->filter, &attr,
						      options->machine, err)
			     : 0;
}

/* Enables the group after all members are open: a member that joins an enabled group does not count
 * at first, though its times advance. */
static int start(struct perch_group *group, struct perch_error *err)
{
	int rc = perch_group_enable(group);

	if (rc)
		perch__control_error(-rc, PERCH_IOC_ENABLE, group->member[0].name, err);
	return rc;
}

int perch_group_open(struct perch_group **group, const char *text,
		     const struct perch_target *target, const struct perch_options *options,
		     struct perch_error *err)
{
	struct perch_options wanted = options ? *options : (struct perch_options){ 0 };
	struct perch_events events = { 0 };
	struct perch_group *new_group = NULL;
	int rc;

	*group = NULL;
	wanted.self_monitoring =
		0; /* for counters only; some PMUs refuse the bit that requests it */
	options = &wanted;
	rc = perch_events_parse(&events, text, options->machine, err);
	if (rc)
		return rc;
	rc = check_events(&events, text, err);
	if (!rc) {
		new_group = make(events.nr, options, err);
		rc = new_group ? 0 : -ENOMEM;
	}
	for (size_t i = 0; !rc && i < events.nr; i++)
		rc = open_member(new_group, &events.event[i], target, options, err);
	if (!rc && options->enabled)
		rc = start(new_group, err);
	perch_events_clear(&events);
	if (rc)
		perch_group_close(new_group);
	else
		*group = new_group;
	return rc;
}

void perch_group_close(struct perch_group *group)
{
	if (!group)
		return;
	while (group->nr--)
		group->calls->close(group->calls->context, group->member[group->nr].fd);
	free(group->buffer.word);
	free(group);
}

size_t perch_group_size(const struct perch_group *group)
{
	return group->nr;
}

int perch_group_fd(const struct perch_group *group, size_t member)
{
	return member < group->nr ? group->member[member].fd : -EINVAL;
}

const char *perch_group_name(const struct perch_group *group, size_t member)
{
	return member < group->nr ? group->member[member].name : NULL;
}

const struct perch_attr *perch_group_missing_features(const struct perch_group *group,
						      size_t member)
{
	return member < group->nr && group->member[member].has_missing_features
		       ? &group->member[member].missing_features
		       : NULL;
}

int perch_group_enable(struct perch_group *group)
{
	if (perch__is_forked(group->generation))
		return -ESTALE;
	return perch__control(group->calls, group->member[0].fd, PERCH_IOC_ENABLE, 0);
}

int perch_group_disable(struct perch_group *group)
{
	if (perch__is_forked(group->generation))
		return -ESTALE;
	return perch__control(group->calls, group->member[0].fd, PERCH_IOC_DISABLE, 0);
}

static int read_each(struct perch_group *group, struct perch_count *counts, struct perch_error *err)
{
	uint64_t words[PERCH__SINGLE_WORDS];
	size_t nr = perch__read_words(group->read_format, 1);
	int rc = 0;

	for (size_t i = 0; !rc && i < group->nr; i++) {
		const struct member *member = &group->member[i];

		rc = perch__read(group->calls, member->fd, words, nr, member->name, err);
		if (!rc)
			perch__parse_single(&counts[i], words, group->read_format, &member->base);
	}
	return rc;
}

static int read_orphans(struct perch_group *group, struct perch_count *counts,
			struct perch_error *err)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < group->nr; i++)
		rc = perch__read_orphan(group->calls, group->member[i].fd, group->read_format,
					&group->buffer, group->member[i].name,
					&group->member[i].base, &counts[i], err);
	return rc;
}

static int read_together(struct perch_group *group, struct perch_count *counts,
			 struct perch_error *err)
{
	const struct member *leader = &group->member[0];
	const uint64_t *next;
	int nr_read;

	nr_read = perch__read_group(group->calls, leader->fd, group->read_format, group->nr,
				    &group->buffer, leader->name, err);
	if (nr_read < 0)
		return nr_read;
	if ((size_t)nr_read < group->nr)
		return read_orphans(group, counts, err);
	next = group->buffer.word + PERCH__FIRST_MEMBER;
	for (size_t i = 0; i < group->nr; i++)
		next = perch__parse_count(&counts[i], next, group->buffer.word + PERCH__GROUP_TIMES,
					  group->read_format, &group->member[i].base);
	return 0;
}

int perch_group_reset(struct perch_group *group)
{
	struct perch_count *counts;
	int rc;

	if (perch__is_forked(group->generation))
		return -ESTALE;
	rc = perch__control(group->calls, group->member[0].fd, PERCH_IOC_RESET,
			    PERCH_IOC_FLAG_GROUP);
	if (rc)
		return rc;
	counts = calloc(group->nr, sizeof(*counts));
	if (!counts)
		return -ENOMEM;
	rc = perch_group_read(group, counts, group->nr, NULL);
	for (size_t i = 0; !rc && i < group->nr; i++) {
		struct perch__base *base = &group->member[i].base;

		base->enabled_ns += counts[i].enabled_ns;
		base->running_ns += counts[i].running_ns;
	}
	free(counts);
	return rc;
}

int perch_group_read(struct perch_group *group, struct perch_count *counts, size_t nr,
		     struct perch_error *err)
{
	if (perch__is_forked(group->generation))
		return PERCH__FORK_ERROR(err, "the group of '%s'", group->member[0].name);
	if (nr != group->nr)
		return perch_error_set(err, EINVAL, PERCH_ERROR_USAGE,
				       "the group has %zu members, and counts has space for %zu",
				       group->nr, nr);
	return group->read_format & PERCH_FORMAT_GROUP ? read_together(group, counts, err)
						       : read_each(group, counts, err);
}
