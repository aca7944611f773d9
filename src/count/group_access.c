/* SPDX-License-Identifier: MIT */
/* Describes, reads, enables, disables and resets groups. */
#include <errno.h>
#include <stdlib.h>

#include "base/no_memory.h"
#include "group.h"

int perch__group_check_fork(const struct perch_group *group, struct perch_error *err)
{
	return perch__is_forked(group->generation)
		       ? PERCH__FORK_ERROR(err, "the group of '%s'", group->member[0]->name)
		       : 0;
}

size_t perch_group_size(const struct perch_group *group)
{
	return group->nr;
}

int perch_group_fd(const struct perch_group *group, size_t member)
{
	return member < group->nr ? group->member[member]->fd : -EINVAL;
}

const char *perch_group_name(const struct perch_group *group, size_t member)
{
	return member < group->nr ? group->member[member]->name : NULL;
}

const struct perch_attr *perch_group_attr(const struct perch_group *group, size_t member)
{
	return member < group->nr ? &group->member[member]->attr : NULL;
}

bool perch_group_user_only(const struct perch_group *group, size_t member)
{
	return member < group->nr && group->member[member]->user_only;
}

const struct perch_attr *perch_group_missing_features(const struct perch_group *group,
						      size_t member)
{
	return member < group->nr && group->member[member]->has_missing_features
		       ? &group->member[member]->missing_features
		       : NULL;
}

static int no_member(const struct perch_group *group, size_t member, struct perch_error *err)
{
	return perch_error_set(err, EINVAL, PERCH_ERROR_USAGE,
			       "the group has %zu members, and no member %zu", group->nr, member);
}

int perch_group_id(struct perch_group *group, size_t member, uint64_t *id, struct perch_error *err)
{
	int rc = perch__group_check_fork(group, err);

	if (rc)
		return rc;
	if (member >= group->nr)
		return no_member(group, member, err);
	rc = perch__control(group->calls, group->member[member]->fd, PERCH_IOC_ID,
			    (unsigned long)id);
	return rc ? perch__control_error(-rc, PERCH_IOC_ID, group->member[member]->name, err) : 0;
}

int perch_group_find(struct perch_group *group, uint64_t id, struct perch_error *err)
{
	for (size_t i = 0; i < group->nr; i++) {
		struct perch__opened *member = group->member[i];
		int rc = member->id ? 0 : perch_group_id(group, i, &member->id, err);

		if (rc)
			return rc;
		if (member->id == id)
			return i;
	}
	return perch_error_set(err, ENOENT, PERCH_ERROR_USAGE,
			       "the group has no event with id %llu", (unsigned long long)id);
}

static int control_group(struct perch_group *group, unsigned long request, unsigned long argument,
			 struct perch_error *err)
{
	int rc = perch__group_check_fork(group, err);

	if (rc)
		return rc;
	rc = perch__control(group->calls, group->member[0]->fd, request, argument);
	return rc ? perch__control_error(-rc, request, group->member[0]->name, err) : 0;
}

int perch_group_enable(struct perch_group *group, struct perch_error *err)
{
	return control_group(group, PERCH_IOC_ENABLE, 0, err);
}

int perch_group_disable(struct perch_group *group, struct perch_error *err)
{
	return control_group(group, PERCH_IOC_DISABLE, 0, err);
}

static int read_each(struct perch_group *group, struct perch_count *counts, struct perch_error *err)
{
	uint64_t words[PERCH__SINGLE_WORDS];
	size_t nr = perch__read_words(group->read_format, 1);
	int rc = 0;

	for (size_t i = 0; !rc && i < group->nr; i++) {
		const struct perch__opened *member = group->member[i];

		rc = perch__read(group->calls, member->fd, words, nr, member->name, err);
		if (!rc)
			perch__parse_single(&counts[i], words, group->read_format, &group->base[i]);
	}
	return rc;
}

static int read_orphans(struct perch_group *group, struct perch_count *counts,
			struct perch_error *err)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < group->nr; i++)
		rc = perch__read_orphan(group->calls, group->member[i]->fd, group->read_format,
					&group->buffer, group->member[i]->name, &group->base[i],
					&counts[i], err);
	return rc;
}

static int read_together(struct perch_group *group, struct perch_count *counts,
			 struct perch_error *err)
{
	const struct perch__opened *leader = group->member[0];
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
					  group->read_format, &group->base[i]);
	return 0;
}

void perch__group_drop_pages(struct perch_group *group, size_t member,
			     enum perch__rdpmc_state reason)
{
	perch__user_pages_clear(&group->pages, group->calls, false);
	group->rdpmc_state = reason;
	group->rdpmc_member = member;
}

void perch__group_map_page(struct perch_group *group, size_t member)
{
	enum perch__rdpmc_state state;

	if (group->rdpmc_state == PERCH__RDPMC_NO_PAGE)
		return; /* of a member before this one */
	state = perch__user_pages_map(&group->pages, member, group->member[member]->fd,
				      group->calls);
	if (state != PERCH__RDPMC_NOT_READ_YET)
		perch__group_drop_pages(group, member, state);
	else if (group->read_format & PERCH_FORMAT_ID)
		perch_group_id(group, member, &group->member[member]->id, NULL);
}

/* Returns false if the group must be read by read(2). */
static bool read_pages(struct perch_group *group, struct perch_count *counts)
{
	bool with_id = group->read_format & PERCH_FORMAT_ID;
	uint64_t times[2] = { 0 };

	group->rdpmc_state = PERCH__RDPMC_OTHER_THREAD;
	if (group->pages.thread == perch__this_thread())
		group->rdpmc_state = perch__user_pages_read(group->pages.page, 1, group->nr, counts,
							    times, perch__read_register,
							    perch__read_clock);
	if (group->rdpmc_state != PERCH__RDPMC_USED)
		return false;
	for (size_t i = 0; i < group->nr; i++)
		perch__user_pages_count(&counts[i], times, with_id ? group->member[i]->id : 0,
					&group->base[i]);
	return true;
}

bool perch_group_self_monitoring(const struct perch_group *group, struct perch_error *err)
{
	enum perch__rdpmc_state state = group->rdpmc_state;
	const struct perch__opened *member = group->member[group->rdpmc_member];

	if (perch__is_forked(group->generation)) {
		perch__group_check_fork(group, err);
		return false;
	}
	if (err)
		state = perch__rdpmc_cause(state, member->attr.type, group->machine);
	return perch__rdpmc_report(state, group->pages.map_errno, member->name, err);
}

int perch_group_read(struct perch_group *group, struct perch_count *counts, size_t nr,
		     struct perch_error *err)
{
	if (perch__is_forked(group->generation))
		return perch__group_check_fork(group, err);
	if (nr != group->nr)
		return perch_error_set(err, EINVAL, PERCH_ERROR_USAGE,
				       "the group has %zu members, and counts has space for %zu",
				       group->nr, nr);
	if (PERCH__UNLIKELY(group->pages.thread) && read_pages(group, counts))
		return 0;
	return group->read_format & PERCH_FORMAT_GROUP ? read_together(group, counts, err)
						       : read_each(group, counts, err);
}

int perch_group_reset(struct perch_group *group, struct perch_error *err)
{
	struct perch_count *counts;
	int rc = control_group(group, PERCH_IOC_RESET, PERCH_IOC_FLAG_GROUP, err);

	if (rc)
		return rc;
	counts = calloc(group->nr, sizeof(*counts));
	if (!counts)
		return PERCH__NO_MEMORY(err, "to reset a group");
	rc = perch_group_read(group, counts, group->nr, err);
	for (size_t i = 0; !rc && i < group->nr; i++) {
		group->base[i].enabled_ns += counts[i].enabled_ns;
		group->base[i].running_ns += counts[i].running_ns;
	}
	free(counts);
	return rc;
}
