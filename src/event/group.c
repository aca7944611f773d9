/* SPDX-License-Identifier: MIT */
/* Constraints of a group, after its events are parsed: inheritance and PMUs. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"

/*
 * Probes are never inherited. At each fork the kernel opens the event again for the child and reads
 * the probe's path again from the address in config1, now in the memory of the process that forks.
 * There is no path there, and the fork fails with EFAULT (seen on Linux 6.18). A group is inherited
 * as a whole, because events of a group must have the same inherit bit.
 */
static int report_inherited_probe(struct perch__parser *parser, size_t at)
{
	perch__parse_error(
		parser, at, EINVAL, PERCH_ERROR_CONFLICT,
		"a probe cannot be inherited: each fork of the measured process would fail");
	perch_error_field(parser->err, "inherit", NULL);
	perch_error_remedy(parser->err,
			   "omit 'inherit'; to count child processes too, count on all CPUs");
	return -EINVAL;
}

static int report_mixed_inherit(struct perch__parser *parser, size_t at)
{
	perch__parse_error(
		parser, at, EINVAL, PERCH_ERROR_CONFLICT,
		"a group has both 'inherit' and 'no-inherit': all its events must have the same");
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
		return report_inherited_probe(parser, at);
	if (yes && no)
		return report_mixed_inherit(parser, at);
	for (size_t i = first; i < events->nr; i++)
		events->event[i].terms.inherit = probe || no ? PERCH_TRISTATE_NO
						 : yes	     ? PERCH_TRISTATE_YES
							     : PERCH_TRISTATE_UNSET;
	return 0;
}

/*
 * A group cannot have events of two PMUs. So {cycles,instructions} on a hybrid machine becomes two
 * groups, and a group of events of an uncore PMU becomes one group for each unit. Events that exist
 * once, such as software events, join the first group.
 */
struct split {
	struct perch_event *event; /* events of the group, in the old order */
	size_t nr, leader;
	size_t *group; /* by event: the number of its new group */
	uint32_t *pmu; /* by new group */
	size_t groups;
};

static size_t find_group(const struct split *split, uint32_t pmu)
{
	size_t group = 0;

	while (group < split->groups && split->pmu[group] != pmu)
		group++;
	return group;
}

/* True if both events have one name and two PMUs. The sites of a USDT probe are on one PMU. */
static bool are_copies(const struct perch_event *one, const struct perch_event *other)
{
	return one->first == other->first &&
	       perch__pmu_type(&one->attr) != perch__pmu_type(&other->attr);
}

/* Copies are next to each other. */
static bool has_copies(const struct perch_event *event, size_t i, size_t nr)
{
	return (i && are_copies(&event[i], &event[i - 1])) ||
	       (i + 1 < nr && are_copies(&event[i], &event[i + 1]));
}

/* Each PMU of the copies gets a group. Other events join the group of their PMU, such as
 * cpu_core/cycles/ together with instructions. */
static void assign_groups(struct split *split)
{
	for (size_t i = 0; i < split->nr; i++)
		if (has_copies(split->event, i, split->nr)) {
			uint32_t pmu = perch__pmu_type(&split->event[i].attr);

			if (find_group(split, pmu) == split->groups)
				split->pmu[split->groups++] = pmu;
		}
	for (size_t i = 0; i < split->nr; i++) {
		split->group[i] = find_group(split, perch__pmu_type(&split->event[i].attr));
		if (split->group[i] == split->groups)
			split->group[i] = 0;
	}
}

/* Writes the events to the list, group by group. */
static void reorder(struct split *split, struct perch_event *list)
{
	size_t next = split->leader;

	for (size_t group = 0; group < split->groups; group++) {
		size_t leader = next;

		for (size_t i = 0; i < split->nr; i++) {
			if (split->group[i] != group)
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

/* .first still has old indices. It becomes the lowest new index of the events that share it. */
static void update_first(struct split *split, struct perch_event *list)
{
	size_t *least = split->group; /* by old index; the groups are no longer needed */

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
	split.group = malloc(split.nr * sizeof(*split.group));
	split.pmu = malloc(split.nr * sizeof(*split.pmu));
	if (split.event && split.group && split.pmu) {
		memcpy(split.event, list + leader, split.nr * sizeof(*list));
		assign_groups(&split);
		reorder(&split, list);
		update_first(&split, list);
	}
	free(split.event);
	free(split.group);
	free(split.pmu);
	if (split.groups)
		return 0;
	return perch__parse_error(parser, parser->token.at, ENOMEM, PERCH_ERROR_NO_MEMORY,
				  "no memory to split a group");
}
