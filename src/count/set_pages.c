/* SPDX-License-Identifier: MIT */
/* Reads of sets without a system call: groups on targets that are the calling thread. */
#include <errno.h>
#include <stdlib.h>

#include "base/no_memory.h"
#include "set.h"

static void set_states(struct perch_set *set, const struct perch__group_range *range, size_t target,
		       enum perch__rdpmc_state state)
{
	for (size_t i = range->first; i < range->end; i++)
		set->rdpmc_state[i * set->nr_targets + target] = state;
}

/* Returns PERCH__RDPMC_USED if each event of the range may be read without a system call. */
static enum perch__rdpmc_state check_range(const struct perch_set *set,
					   const struct perch__group_range *range, size_t target)
{
	enum perch__rdpmc_state state = PERCH__RDPMC_USED;

	for (size_t i = range->first; state == PERCH__RDPMC_USED && i < range->end; i++)
		state = perch__fd_at(set, i, target) < 0
				? PERCH__RDPMC_NOT_REQUESTED
				: perch__rdpmc_check(&set->event[i].attr, &set->target[target]);
	return state;
}

static void map_range(struct perch_set *set, const struct perch__group_range *range, size_t target)
{
	size_t first = range->first * set->nr_targets + target;
	enum perch__rdpmc_state state = check_range(set, range, target);

	if (state != PERCH__RDPMC_USED) {
		set_states(set, range, target, state);
		return;
	}
	state = PERCH__RDPMC_NOT_READ_YET;
	for (size_t i = range->first, at = first;
	     state == PERCH__RDPMC_NOT_READ_YET && i < range->end; i++, at += set->nr_targets) {
		state = perch__user_pages_map(&set->pages, at, set->fd[at], set->calls);
		if (set->id && perch__control(set->calls, set->fd[at], PERCH_IOC_ID,
					      (unsigned long)&set->id[at]))
			set->id[at] = 0;
	}
	if (state != PERCH__RDPMC_NOT_READ_YET)
		perch__user_pages_unmap(&set->pages, first, set->nr_targets,
					range->end - range->first, set->calls);
	set_states(set, range, target, state);
}

int perch__set_map_pages(struct perch_set *set, struct perch_error *err)
{
	size_t nr = set->nr_events * set->nr_targets;
	bool with_id = false;

	for (size_t i = 0; i < set->nr_events; i++)
		with_id |= !!(set->event[i].attr.read_format & PERCH_FORMAT_ID);
	set->rdpmc_state = calloc(nr, sizeof(*set->rdpmc_state));
	if (with_id)
		set->id = calloc(nr, sizeof(*set->id));
	if (!set->rdpmc_state || (with_id && !set->id))
		return PERCH__NO_MEMORY(err, "for a set of events");
	for (size_t i = 0; i < set->nr_ranges; i++)
		for (size_t target = 0; target < set->nr_targets; target++)
			map_range(set, &set->range[i], target);
	return 0;
}

bool perch__set_read_pages(struct perch_set *set, const struct perch__group_range *range,
			   size_t target, struct perch_count *counts)
{
	static const struct perch__base never_reset;
	size_t at = range->first * set->nr_targets + target, nr = range->end - range->first;
	enum perch__rdpmc_state state = PERCH__RDPMC_OTHER_THREAD;
	uint64_t times[2] = { 0 };

	if (at >= set->pages.nr || !set->pages.page[at])
		return false;
	if (set->pages.thread == perch__this_thread())
		state = perch__user_pages_read(set->pages.page + at, set->nr_targets, nr,
					       counts + at, times, perch__read_register,
					       perch__read_clock);
	set_states(set, range, target, state);
	if (state != PERCH__RDPMC_USED)
		return false;
	for (; nr--; at += set->nr_targets)
		perch__user_pages_count(&counts[at], times, set->id ? set->id[at] : 0,
					set->base ? &set->base[at] : &never_reset);
	return true;
}

bool perch_set_self_monitoring(const struct perch_set *set, size_t event, size_t target,
			       struct perch_error *err)
{
	size_t at = event * set->nr_targets + target;
	enum perch__rdpmc_state state = PERCH__RDPMC_NOT_REQUESTED;

	if (perch__is_forked(set->generation)) {
		(void)PERCH__FORK_ERROR(err, "the set of events");
		return false;
	}
	if (event >= set->nr_events || target >= set->nr_targets || set->fd[at] < 0) {
		perch_error_set(err, ENODEV, PERCH_ERROR_USAGE,
				"event %zu is not open on target %zu", event, target);
		return false;
	}
	if (set->rdpmc_state)
		state = set->rdpmc_state[at];
	if (err)
		state = perch__rdpmc_cause(state, set->event[event].attr.type, set->machine);
	return perch__rdpmc_report(state, state == PERCH__RDPMC_NO_PAGE ? set->pages.map_errno : 0,
				   set->event[event].event.name, err);
}
