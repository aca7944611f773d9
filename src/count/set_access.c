/* SPDX-License-Identifier: MIT */
/* Reads, enables, disables and resets the events of a set. */
#include <errno.h>
#include <stdlib.h>

#include "base/no_memory.h"
#include "set.h"

static const struct perch__base never_reset;

/* In a child the requests would act on the events of the parent. */
static int check_fork(const struct perch_set *set, struct perch_error *err)
{
	return perch__is_forked(set->generation) ? PERCH__FORK_ERROR(err, "the set of events") : 0;
}

static const struct perch__base *base_at(const struct perch_set *set, size_t at)
{
	return set->base ? &set->base[at] : &never_reset;
}

/* A pinned event in error state is a state of the count and not a failure of the read. */
static int read_failed(const struct perch_set *set, size_t event, size_t target,
		       struct perch_count *count, int rc, const struct perch_error *read_err,
		       struct perch_error *err)
{
	if (rc == -ENODATA) {
		*count = (struct perch_count){ .state = PERCH_COUNT_STATE_ERROR };
		return 0;
	}
	if (err)
		*err = *read_err;
	return perch__set_prefix_error(set, event, target, err, rc);
}

static int read_single(struct perch_set *set, size_t event, size_t target,
		       struct perch_count *counts, struct perch_error *err)
{
	size_t at = event * set->nr_targets + target;
	uint64_t read_format = set->event[event].attr.read_format;
	uint64_t words[PERCH__SINGLE_WORDS];
	struct perch_error read_err;
	int rc;

	rc = perch__read(set->calls, set->fd[at], words, perch__read_words(read_format, 1),
			 set->event[event].event.name, &read_err);
	if (PERCH__UNLIKELY(rc))
		return read_failed(set, event, target, &counts[at], rc, &read_err, err);
	perch__parse_single(&counts[at], words, read_format, base_at(set, at));
	return 0;
}

/* The group has lost members: each member is read separately. */
static int read_orphans(struct perch_set *set, struct perch__group_range range, size_t target,
			struct perch_count *counts, struct perch_error *err)
{
	int rc = 0;

	for (size_t i = range.first; !rc && i < range.end; i++) {
		const struct perch_set_event *event = &set->event[i];
		size_t at = i * set->nr_targets + target;
		struct perch_error read_err;

		if (set->fd[at] < 0)
			continue;
		rc = perch__read_orphan(set->calls, set->fd[at], event->attr.read_format,
					&set->buffer, event->event.name, base_at(set, at),
					&counts[at], &read_err);
		if (rc)
			rc = read_failed(set, i, target, &counts[at], rc, &read_err, err);
	}
	return rc;
}

static int read_group(struct perch_set *set, const struct perch__group_range *range, size_t leader,
		      size_t members, size_t target, struct perch_count *counts,
		      struct perch_error *err)
{
	uint64_t read_format = set->event[leader].attr.read_format;
	const char *name = set->event[leader].event.name;
	struct perch_error read_err;
	const uint64_t *next;
	int nr_read;

	nr_read = perch__read_group(set->calls, perch__fd_at(set, leader, target), read_format,
				    members, &set->buffer, name, &read_err);
	if (PERCH__UNLIKELY(nr_read < 0 && nr_read != -ENODATA))
		return read_failed(set, leader, target, NULL, nr_read, &read_err, err);
	if (PERCH__UNLIKELY(nr_read >= 0 && (size_t)nr_read < members))
		return read_orphans(set, *range, target, counts, err);
	next = set->buffer.word + PERCH__FIRST_MEMBER;
	for (size_t at = leader * set->nr_targets + target; members; at += set->nr_targets) {
		if (PERCH__UNLIKELY(!range->whole) && set->fd[at] < 0)
			continue;
		if (PERCH__UNLIKELY(nr_read < 0))
			counts[at] = (struct perch_count){ .state = PERCH_COUNT_STATE_ERROR };
		else
			next = perch__parse_count(&counts[at], next,
						  set->buffer.word + PERCH__GROUP_TIMES,
						  read_format, base_at(set, at));
		members--;
	}
	return 0;
}

/* Sets the state of events that are not open on the target. Returns the number of open events. */
static size_t find_members(const struct perch_set *set, const struct perch__group_range *range,
			   size_t target, struct perch_count *counts, size_t *leader)
{
	size_t at = range->first * set->nr_targets + target, members = 0;

	for (size_t i = range->first; i < range->end; i++, at += set->nr_targets)
		if (set->fd[at] < 0)
			counts[at] = (struct perch_count){ .state = PERCH_COUNT_STATE_NOT_OPEN };
		else if (!members++)
			*leader = i;
	return members;
}

static int read_range(struct perch_set *set, const struct perch__group_range *range, size_t target,
		      struct perch_count *counts, struct perch_error *err)
{
	size_t leader = range->first, members = range->end - range->first;
	int rc = 0;

	if (PERCH__UNLIKELY(set->rdpmc_state) && perch__set_read_pages(set, range, target, counts))
		return 0;
	if (PERCH__UNLIKELY(!range->whole))
		members = find_members(set, range, target, counts, &leader);
	if (!members)
		return 0;
	if (set->event[leader].attr.read_format & PERCH_FORMAT_GROUP)
		return read_group(set, range, leader, members, target, counts, err);
	for (size_t i = leader; !rc && i < range->end; i++)
		if (perch__fd_at(set, i, target) >= 0)
			rc = read_single(set, i, target, counts, err);
	return rc;
}

int perch_set_read(struct perch_set *set, struct perch_count *counts, size_t nr,
		   struct perch_error *err)
{
	if (perch__is_forked(set->generation))
		return check_fork(set, err);
	if (nr != set->nr_events * set->nr_targets)
		return perch_error_set(
			err, EINVAL, PERCH_ERROR_USAGE,
			"the set has %zu events on %zu targets, and counts has space for %zu",
			set->nr_events, set->nr_targets, nr);
	for (const struct perch__group_range *range = set->range;
	     range < set->range + set->nr_ranges; range++)
		for (size_t i = 0; i < set->nr_targets; i++) {
			int rc = read_range(set, range, i, counts, err);

			if (rc)
				return rc;
		}
	return 0;
}

/* One ioctl(2) on each leader of each target. */
static int control_leaders(struct perch_set *set, unsigned long request, unsigned long argument,
			   struct perch_error *err)
{
	int forked = check_fork(set, err);

	if (forked)
		return forked;
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
			return perch__set_prefix_error(set, leader, i, err, rc);
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

int perch_set_control(struct perch_set *set, size_t event, bool enable, struct perch_error *err)
{
	unsigned long request = enable ? PERCH_IOC_ENABLE : PERCH_IOC_DISABLE;
	int rc = check_fork(set, err);

	if (!rc && event >= set->nr_events)
		rc = perch_error_set(err, EINVAL, PERCH_ERROR_USAGE, "no event has the index %zu",
				     event);
	for (size_t i = 0; !rc && i < set->nr_targets; i++) {
		int fd = perch__fd_at(set, event, i);

		rc = fd < 0 ? 0 : perch__control(set->calls, fd, request, 0);
		if (!rc)
			continue;
		perch__control_error(-rc, request, NULL, err);
		rc = perch__set_prefix_error(set, event, i, err, rc);
	}
	return rc;
}

/* The kernel does not reset the times: later reads subtract the current times. */
static int update_base(struct perch_set *set, struct perch_count *counts, struct perch_error *err)
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
			rc = update_base(set, counts, err);
	} else {
		rc = PERCH__NO_MEMORY(err, "to reset the events of a set");
	}
	free(counts);
	return rc;
}
