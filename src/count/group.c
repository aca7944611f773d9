/* SPDX-License-Identifier: MIT */
/* Several events on the PMU together, read together. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

#define STACK_WORDS 64			/* a group read of up to 20 members in every format */

struct member {
	int fd;
	struct perch__base base;
	char name[sizeof(((struct perch_event *)0)->name)];
};

struct perch_group {
	const struct perch_calls *calls;
	uint64_t read_format;
	bool one_by_one;		/* inherited: each member has its own read */
	size_t words;			/* of one read */
	uint64_t *buffer;		/* when STACK_WORDS do not do */
	size_t nr;
	struct member member[];
};

/* One group, with or without braces: all led by the first, or each alone. */
static int check_events(const struct perch_events *events, const char *text, struct perch_error *err)
{
	bool braces = events->nr && events->event[0].members > 1;

	for (size_t i = 0; i < events->nr; i++)
		if (events->event[i].leader != (braces ? 0 : (int)i))
			return perch_error_set(err, EINVAL, PERCH_CAUSE_USAGE,
					       "'%s' is more than one group: open each by itself", text);
	if (!events->nr)
		return perch_error_set(err, EINVAL, PERCH_CAUSE_USAGE, "a group needs an event");
	return 0;
}

static struct perch_group *make(size_t nr, const struct perch_options *options, struct perch_error *err)
{
	uint64_t read_format = (options ? options->read : 0) | PERCH__TIMES;
	bool one_by_one = options && options->inherit;
	struct perch_group *group = calloc(1, sizeof(*group) + nr * sizeof(group->member[0]));

	if (!group)
		goto no_memory;
	group->calls = perch_machine_calls(options ? options->machine : NULL);
	group->one_by_one = one_by_one;
	group->read_format = one_by_one ? read_format & ~(uint64_t)PERCH_FORMAT_GROUP : read_format | PERCH_FORMAT_GROUP;
	group->words = perch__read_words(group->read_format, nr);
	if (group->words > STACK_WORDS) {
		group->buffer = malloc(group->words * sizeof(*group->buffer));
		if (!group->buffer)
			goto no_memory;
	}
	return group;
no_memory:
	free(group);
	perch_error_set(err, ENOMEM, PERCH_CAUSE_NO_MEMORY, "no memory for the group");
	return NULL;
}

/* Members follow their leader, which alone waits, is pinned or exclusive. */
static int open_member(struct perch_group *group, const struct perch_event *event, const struct perch_target *target,
		       const struct perch_options *options, struct perch_error *err)
{
	struct member *member = &group->member[group->nr];
	int leader = group->nr ? group->member[0].fd : -1;
	struct perch_attr attr;
	int rc;

	rc = perch_attr_build(&attr, event, options, err);
	if (rc)
		return rc;
	attr.read_format = group->read_format;
	if (group->nr)
		attr.disabled = attr.enable_on_exec = attr.pinned = attr.exclusive = 0;
	else
		attr.disabled = 1;
	rc = perch_open(&attr, target, leader, 0, options ? options->machine : NULL, err);
	if (rc < 0) {
		perch_error_prefix(err, "%s: ", event->name);
		return rc;
	}
	member->fd = rc;
	memcpy(member->name, event->name, sizeof(member->name));
	member->name[sizeof(member->name) - 1] = '\0';
	group->nr++;
	return 0;
}

/* Not before all are there: a member that joins a running group stands still, with times as if it counted. */
static int start(struct perch_group *group, struct perch_error *err)
{
	int rc = perch_group_enable(group);

	if (rc)
		perch_error_set(err, -rc, PERCH_CAUSE_SYSTEM, "cannot enable the group: %s", strerror(-rc));
	return rc;
}

int perch_group_open(struct perch_group **group, const char *text, const struct perch_target *target,
		     const struct perch_options *options, struct perch_error *err)
{
	struct perch_events events = { 0 };
	struct perch_group *made = NULL;
	int rc;

	*group = NULL;
	rc = perch_events_parse(&events, text, options ? options->machine : NULL, err);
	if (rc)
		return rc;
	rc = check_events(&events, text, err);
	if (!rc) {
		made = make(events.nr, options, err);
		rc = made ? 0 : -ENOMEM;
	}
	for (size_t i = 0; !rc && i < events.nr; i++)
		rc = open_member(made, &events.event[i], target, options, err);
	if (!rc && options && options->enabled)
		rc = start(made, err);
	perch_events_clear(&events);
	if (rc)
		perch_group_close(made);
	else
		*group = made;
	return rc;
}

void perch_group_close(struct perch_group *group)
{
	if (!group)
		return;
	while (group->nr--)
		group->calls->close(group->calls->context, group->member[group->nr].fd);
	free(group->buffer);
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

/* The leader's switch is the group's. */
int perch_group_enable(struct perch_group *group)
{
	return perch__control(group->calls, group->member[0].fd, PERCH_IOC_ENABLE, 0);
}

int perch_group_disable(struct perch_group *group)
{
	return perch__control(group->calls, group->member[0].fd, PERCH_IOC_DISABLE, 0);
}

static int read_one_by_one(struct perch_group *group, struct perch_count *counts, struct perch_error *err)
{
	uint64_t words[STACK_WORDS];
	int rc = 0;

	for (size_t i = 0; !rc && i < group->nr; i++) {
		const struct member *member = &group->member[i];

		rc = perch__read(group->calls, member->fd, words, group->words, member->name, err);
		if (!rc)
			perch__take_counts(&counts[i], words, group->read_format, &member->base);
	}
	return rc;
}

static int read_together(struct perch_group *group, struct perch_count *counts, struct perch_error *err)
{
	uint64_t stack[STACK_WORDS];
	uint64_t *words = group->buffer ? group->buffer : stack;
	const struct member *leader = &group->member[0];
	const uint64_t *next;
	int rc;

	rc = perch__read(group->calls, leader->fd, words, group->words, leader->name, err);
	if (rc)
		return rc;
	if (words[0] != group->nr)
		return perch_error_set(err, EIO, PERCH_CAUSE_SHORT_READ, "the group has %zu members and read gave %llu",
				       group->nr, (unsigned long long)words[0]);
	next = words + 3;
	for (size_t i = 0; i < group->nr; i++) {
		counts[i].value = *next++;
		counts[i].id = group->read_format & PERCH_FORMAT_ID ? *next++ : 0;
		counts[i].lost = group->read_format & PERCH_FORMAT_LOST ? *next++ : 0;
		perch__judge(&counts[i], words[1], words[2], &leader->base);
	}
	return 0;
}

int perch_group_reset(struct perch_group *group)
{
	struct perch_count *counts;
	int rc;

	rc = perch__control(group->calls, group->member[0].fd, PERCH_IOC_RESET, PERCH_IOC_FLAG_GROUP);
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

int perch_group_read(struct perch_group *group, struct perch_count *counts, size_t nr, struct perch_error *err)
{
	if (nr != group->nr)
		return perch_error_set(err, EINVAL, PERCH_CAUSE_USAGE, "the group has %zu members, and room is for %zu",
				       group->nr, nr);
	return group->one_by_one ? read_one_by_one(group, counts, err) : read_together(group, counts, err);
}
