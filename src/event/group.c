/* SPDX-License-Identifier: MIT */
/* Groups, when all their events are parsed: whether they are inherited, and on which PMUs they are.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

/*
 * Whether children are followed, where an event or its group leaves no choice.
 *
 * Not those of a probe: at each fork the kernel makes the event again for the child, and reads the
 * probe's path again from the address in config1, which now is one of the program that forks. It
 * finds no path there, and the program's fork or thread fails with EFAULT (seen on 6.18). And a
 * group is inherited as a whole: members that differ cannot join it.
 */
static int refuse_probe(struct perch__parser *parser, size_t at)
{
	perch__parse_error(
		parser, at, EINVAL, PERCH_ERROR_CONFLICT,
		"a probe cannot be inherited: the kernel would make each fork of the program fail");
	perch_error_field(parser->err, "inherit", NULL);
	perch_error_remedy(parser->err,
			   "leave 'inherit' out; to follow children, count on all CPUs");
	return -EINVAL;
}

static int refuse_both(struct perch__parser *parser, size_t at)
{
	perch__parse_error(
		parser, at, EINVAL, PERCH_ERROR_CONFLICT,
		"one event of the group says 'inherit' and another 'no-inherit': a group does one of them");
	perch_error_field(parser->err, "inherit", NULL);
	return -EINVAL;
}

int perch__resolve_inherit(struct perch__parser *parser, size_t first, size_t at)
{
	const struct perch_events *events = parser->events;
	bool yes = false, no = false, probe = false;

	for (size_t i = first; i < events->nr; i++) {
		const struct perch_event *event = &events->event[i];

		probe |= event->path != NULL;
		yes |= event->terms.inherit == PERCH_TRISTATE_YES;
		no |= event->terms.inherit == PERCH_TRISTATE_NO;
	}
	if (probe && yes)
		return refuse_probe(parser, at);
	if (yes && no)
		return refuse_both(parser, at);
	for (size_t i = first; i < events->nr; i++)
		events->event[i].terms.inherit = probe || no ? PERCH_TRISTATE_NO
						 : yes	     ? PERCH_TRISTATE_YES
							     : PERCH_TRISTATE_UNSET;
	return 0;
}

/*
 * {cycles,instructions} on a machine with two kinds of cores is two groups, for no group spans two
 * PMUs. So it is with the units of an uncore PMU. What is there once, as software events are, joins
 * the first group.
 */
struct split {
	struct perch_event *event; /* of the group, in the old order */
	size_t nr, leader;
	/* the new index of each; before that, the number of its new group */
	size_t *place;
	uint32_t *pmu; /* of each new group */
	size_t groups;
};

static size_t find_group(const struct split *split, uint32_t pmu)
{
	size_t group = 0;

	while (group < split->groups && split->pmu[group] != pmu)
		group++;
	return group;
}

/* Two events stand for one name, each on a PMU of its own. The places of a USDT probe are all of
 * one PMU. */
static bool are_copies(const struct perch_event *one, const struct perch_event *other)
{
	return one->first == other->first &&
	       perch__pmu_type(&one->attr) != perch__pmu_type(&other->attr);
}

/* Copies of one name lie together. */
static bool has_copies(const struct perch_event *event, size_t i, size_t nr)
{
	return (i && are_copies(&event[i], &event[i - 1])) ||
	       (i + 1 < nr && are_copies(&event[i], &event[i + 1]));
}

/* What is there once, on a PMU that has a group, as cpu_core/cycles/ beside instructions, belongs
 * to that group. */
static void choose_groups(struct split *split)
{
	for (size_t i = 0; i < split->nr; i++)
		if (has_copies(split->event, i, split->nr)) {
			uint32_t pmu = perch__pmu_type(&split->event[i].attr);

			if (find_group(split, pmu) == split->groups)
				split->pmu[split->groups++] = pmu;
		}
	for (size_t i = 0; i < split->nr; i++) {
		split->place[i] = find_group(split, perch__pmu_type(&split->event[i].attr));
		if (split->place[i] == split->groups)
			split->place[i] = 0;
	}
}

/* Puts the events into the list, group by group. */
static void move(struct split *split, struct perch_event *list)
{
	size_t next = split->leader;

	for (size_t group = 0; group < split->groups; group++) {
		size_t leader = next;

		for (size_t i = 0; i < split->nr; i++) {
			if (split->place[i] != group)
				continue;
			list[next] = split->event[i];
			list[next].leader = leader;
			list[next].members = 0;
			next++;
		}
		list[leader].members = next - leader;
		list[leader].attr.pinned |= split->event[0].attr.pinned;
		list[leader].attr.exclusive |= split->event[0].attr.exclusive;
	}
}

/* .first still has the old indices: the least new one of those that share it takes its place. */
static void mend_first(struct split *split, struct perch_event *list)
{
	size_t *least = split->place; /* no longer needed for the groups */

	for (size_t i = 0; i < split->nr; i++)
		least[i] = SIZE_MAX;
	for (size_t i = split->leader; i < split->leader + split->nr; i++) {
		size_t old = list[i].first - split->leader;

		if (least[old] == SIZE_MAX)
			least[old] = i;
		list[i].first = least[old];
	}
}

int perch__split_group(struct perch__parser *parser, size_t leader)
{
	struct perch_event *list = parser->events->event;
	struct split split = { .nr = parser->events->nr - leader, .leader = leader };
	bool copies = false;

	for (size_t i = 0; i < split.nr; i++)
		copies |= has_copies(list + leader, i, split.nr);
	if (!copies)
		return 0;
	split.event = malloc(split.nr * sizeof(*split.event));
	split.place = malloc(split.nr * sizeof(*split.place));
	split.pmu = malloc(split.nr * sizeof(*split.pmu));
	if (split.event && split.place && split.pmu) {
		memcpy(split.event, list + leader, split.nr * sizeof(*list));
		choose_groups(&split);
		move(&split, list);
		mend_first(&split, list);
	}
	free(split.event);
	free(split.place);
	free(split.pmu);
	if (split.groups)
		return 0;
	return perch__parse_error(parser, parser->token.at, ENOMEM, PERCH_ERROR_NO_MEMORY,
				  "no memory to split a group");
}
