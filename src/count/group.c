/* SPDX-License-Identifier: MIT */
/* Events that are scheduled together and read together. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

struct member {
	int fd;
	struct reset_times reset;
	char name[128];
};

struct perch_group {
	const struct perch_calls *calls;
	uint64_t format;		/* without PERCH_FORMAT_GROUP the members are read one by one */
	size_t nr;
	uint64_t *words;		/* what read(2) fills */
	struct raw_count *raw;
	struct member member[];
};

static int open_member(struct perch_group *group, const struct perch_event *event, const struct perch_target *target,
		       const struct perch_options *options, struct perch_error *err)
{
	struct perch_options wanted = *options;
	struct member *member = &group->member[group->nr];
	struct perch_attr attr;
	int rc;

	if (group->nr) {
		/* members run when their leader does */
		wanted.enabled = 1;
		wanted.enable_on_exec = 0;
		wanted.pinned = wanted.exclusive = 0;
	}
	rc = perch_attr_build(&attr, event, &wanted, err);
	if (rc == 0)
		rc = perch_open(&attr, target, group->nr ? group->member[0].fd : -1, 0, wanted.machine, err);
	if (rc < 0) {
		perch_error_prefix(err, "event '%s': ", event->name);
		return rc;
	}
	member->fd = rc;
	snprintf(member->name, sizeof(member->name), "%s", event->name);
	group->nr++;
	return 0;
}

static int open_all(struct perch_group **result, const struct perch_events *events, const struct perch_target *target,
		    const struct perch_options *options, struct perch_error *err)
{
	struct perch_options wanted = options ? *options : (struct perch_options){ 0 };
	struct perch_group *group = calloc(1, sizeof(*group) + events->nr * sizeof(*group->member));
	int rc = 0;

	wanted.read |= PERCH_FORMAT_TOTAL_TIME_ENABLED | PERCH_FORMAT_TOTAL_TIME_RUNNING;
	if (!wanted.inherit)
		wanted.read |= PERCH_FORMAT_GROUP;
	if (group) {
		group->calls = perch_machine_calls(wanted.machine);
		group->format = wanted.read;
		group->words = malloc(perch__read_size(wanted.read, events->nr));
		group->raw = calloc(events->nr, sizeof(*group->raw));
	}
	if (!group || !group->words || !group->raw) {
		perch_group_close(group);
		return perch_error_set(err, ENOMEM, PERCH_CAUSE_NO_MEMORY, "no memory for a group of events");
	}
	for (size_t i = 0; i < events->nr && rc == 0; i++)
		rc = open_member(group, &events->event[i], target, &wanted, err);
	if (rc < 0) {
		perch_group_close(group);
		return rc;
	}
	*result = group;
	return 0;
}

int perch_group_open(struct perch_group **group, const char *text, const struct perch_target *target,
		     const struct perch_options *options, struct perch_error *err)
{
	struct perch_events events = { 0, NULL };
	int rc = perch_events_parse(&events, text, options ? options->machine : NULL, err);

	if (rc < 0)
		return rc;
	rc = open_all(group, &events, target, options, err);
	perch_events_clear(&events);
	return rc;
}

void perch_group_close(struct perch_group *group)
{
	if (!group)
		return;
	for (size_t i = group->nr; i-- > 0;)
		group->calls->close(group->calls->context, group->member[i].fd);
	free(group->words);
	free(group->raw);
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

static int control(const struct perch_group *group, unsigned long request)
{
	int rc = group->calls->control(group->calls->context, group->member[0].fd, request, PERCH_IOC_FLAG_GROUP);

	return rc < 0 ? -errno : 0;
}

int perch_group_enable(struct perch_group *group)
{
	return control(group, PERCH_IOC_ENABLE);
}

int perch_group_disable(struct perch_group *group)
{
	return control(group, PERCH_IOC_DISABLE);
}

static int read_raw(struct perch_group *group, struct perch_error *err)
{
	int rc = 0;

	if (group->format & PERCH_FORMAT_GROUP)
		return perch__read_counts(group->calls, group->member[0].fd, group->member[0].name, group->format,
					  group->words, group->raw, group->nr, err);
	for (size_t i = 0; i < group->nr && rc == 0; i++)
		rc = perch__read_counts(group->calls, group->member[i].fd, group->member[i].name, group->format,
					group->words, &group->raw[i], 1, err);
	return rc;
}

int perch_group_reset(struct perch_group *group)
{
	int rc = control(group, PERCH_IOC_RESET);

	if (rc == 0)
		rc = read_raw(group, NULL);
	for (size_t i = 0; i < group->nr && rc == 0; i++)
		group->member[i].reset = (struct reset_times){ group->raw[i].enabled, group->raw[i].running };
	return rc;
}

int perch_group_read(struct perch_group *group, struct perch_count *counts, size_t nr, struct perch_error *err)
{
	int rc;

	if (nr != group->nr)
		return perch_error_set(err, EINVAL, PERCH_CAUSE_USAGE, "room for %zu counts of a group of %zu", nr,
				       group->nr);
	rc = read_raw(group, err);
	for (size_t i = 0; i < nr && rc == 0; i++)
		perch__make_count(&counts[i], &group->raw[i], &group->member[i].reset);
	return rc;
}
