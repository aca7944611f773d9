/* SPDX-License-Identifier: MIT */
/* Reading a set, and arithmetic with counts. */
#include <errno.h>
#include <string.h>

#include "set.h"

static const struct perch__base never_reset;

static const struct perch__base *base_at(const struct perch_set *set, size_t at)
{
	return set->base ? &set->base[at] : &never_reset;
}

/* A pinned event that lost its counter is what happened, not a failure. */
static int read_failed(const struct perch_set *set, size_t event, size_t target,
		       struct perch_count *count, int rc, const struct perch_error *said,
		       struct perch_error *err)
{
	if (rc == -ENODATA) {
		*count = (struct perch_count){ .state = PERCH_COUNT_STATE_ERROR };
		return 0;
	}
	if (err)
		*err = *said;
	return perch__set_blame(set, event, target, err, rc);
}

static int read_single(struct perch_set *set, size_t event, size_t target,
		       struct perch_count *counts, struct perch_error *err)
{
	size_t at = event * set->nr_targets + target;
	uint64_t read_format = set->event[event].attr.read_format;
	uint64_t words[PERCH__SINGLE_WORDS];
	struct perch_error said;
	int rc;

	rc = perch__read(set->calls, set->fd[at], words, perch__read_words(read_format, 1),
			 set->event[event].event.name, &said);
	if (PERCH__UNLIKELY(rc))
		return read_failed(set, event, target, &counts[at], rc, &said, err);
	perch__parse_single(&counts[at], words, read_format, base_at(set, at));
	return 0;
}

/* Members have left the group: each for itself. */
static int read_orphans(struct perch_set *set, struct perch__group_range range, size_t target,
			struct perch_count *counts, struct perch_error *err)
{
	int rc = 0;

	for (size_t i = range.first; !rc && i < range.end; i++) {
		const struct perch_set_event *event = &set->event[i];
		size_t at = i * set->nr_targets + target;
		struct perch_error said;

		if (set->fd[at] < 0)
			continue;
		rc = perch__read_orphan(set->calls, set->fd[at], event->attr.read_format,
					&set->words, event->event.name, base_at(set, at),
					&counts[at], &said);
		if (rc)
			rc = read_failed(set, i, target, &counts[at], rc, &said, err);
	}
	return rc;
}

static int read_group(struct perch_set *set, const struct perch__group_range *range, size_t leader,
		      size_t members, size_t target, struct perch_count *counts,
		      struct perch_error *err)
{
	uint64_t read_format = set->event[leader].attr.read_format;
	const char *name = set->event[leader].event.name;
	struct perch_error said;
	const uint64_t *next;
	int given;

	given = perch__read_group(set->calls, perch__fd_at(set, leader, target), read_format,
				  members, &set->words, name, &said);
	if (PERCH__UNLIKELY(given < 0 && given != -ENODATA))
		return read_failed(set, leader, target, NULL, given, &said, err);
	if (PERCH__UNLIKELY(given >= 0 && (size_t)given < members))
		return read_orphans(set, *range, target, counts, err);
	next = set->words.word + PERCH__FIRST_MEMBER;
	for (size_t at = leader * set->nr_targets + target; members; at += set->nr_targets) {
		if (PERCH__UNLIKELY(!range->whole) && set->fd[at] < 0)
			continue;
		if (PERCH__UNLIKELY(given < 0))
			counts[at] = (struct perch_count){ .state = PERCH_COUNT_STATE_ERROR };
		else
			next = perch__parse_count(&counts[at], next,
						  set->words.word + PERCH__GROUP_TIMES, read_format,
						  base_at(set, at));
		members--;
	}
	return 0;
}

/* Tells those that are not open there. Returns how many are. */
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
	if (nr != set->nr_events * set->nr_targets)
		return perch_error_set(
			err, EINVAL, PERCH_ERROR_USAGE,
			"the set has %zu events on %zu targets, and room is for %zu counts",
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

static uint64_t add(uint64_t left, uint64_t right)
{
	uint64_t sum;

	return __builtin_add_overflow(left, right, &sum) ? UINT64_MAX : sum;
}

/* From harmless to bad. A thread that slept is idle, which takes nothing from what the others
 * counted. */
static int badness(enum perch_count_state state)
{
	static const int ranks[] = {
		[PERCH_COUNT_STATE_NOT_OPEN] = 0,  [PERCH_COUNT_STATE_NOT_ENABLED] = 1,
		[PERCH_COUNT_STATE_EXACT] = 2,	   [PERCH_COUNT_STATE_SCALED] = 3,
		[PERCH_COUNT_STATE_NEVER_RAN] = 4, [PERCH_COUNT_STATE_ERROR] = 5,
	};

	return (size_t)state < sizeof(ranks) / sizeof(ranks[0]) ? ranks[state]
								: ranks[PERCH_COUNT_STATE_ERROR];
}

void perch_count_sum(struct perch_count *sum, const struct perch_count *counts, size_t nr)
{
	struct perch_count total = { .state = PERCH_COUNT_STATE_NOT_OPEN };

	for (size_t i = 0; i < nr; i++) {
		const struct perch_count *count = &counts[i];

		if (badness(count->state) > badness(total.state))
			total.state = count->state;
		if (count->state == PERCH_COUNT_STATE_NOT_OPEN ||
		    count->state == PERCH_COUNT_STATE_ERROR)
			continue;
		total.value = add(total.value, count->value);
		total.scaled = add(total.scaled, count->scaled);
		total.enabled_ns = add(total.enabled_ns, count->enabled_ns);
		total.running_ns = add(total.running_ns, count->running_ns);
		total.lost = add(total.lost, count->lost);
	}
	if (nr == 1)
		total.id = counts[0].id;
	*sum = total;
}

static bool counted(const struct perch_count *count)
{
	return count->state != PERCH_COUNT_STATE_NOT_OPEN &&
	       count->state != PERCH_COUNT_STATE_ERROR;
}

static uint64_t beyond(uint64_t now, uint64_t earlier)
{
	return now > earlier ? now - earlier : 0;
}

void perch_count_delta(struct perch_count *delta, const struct perch_count *now,
		       const struct perch_count *earlier)
{
	struct perch_count between = *now;
	struct perch__base base = { 0 };

	/* from where it counts is not known, and all since the open would be too much */
	if (counted(now) && earlier && !counted(earlier)) {
		*delta = (struct perch_count){ .id = now->id, .state = earlier->state };
		return;
	}
	/* less time than before: there was a reset between, and all of it is new */
	if (counted(now) && earlier && now->enabled_ns >= earlier->enabled_ns) {
		base = (struct perch__base){ earlier->enabled_ns, earlier->running_ns };
		between.value = beyond(now->value, earlier->value);
		between.lost = beyond(now->lost, earlier->lost);
	}
	if (counted(now))
		perch__evaluate(&between, now->enabled_ns, now->running_ns, &base);
	*delta = between;
}
