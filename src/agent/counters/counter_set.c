/* SPDX-License-Identifier: MIT */
#include "counter_set.h"

#include <errno.h>
#include <stdlib.h>

const struct agent_counted agent_counted[AGENT_NR_COUNTED] = {
	{ "cycles", "perch_cpu_cycles", "perch_cgroup_cycles", "Cycles of CPUs.",
	  "Cycles of CPUs in a cgroup." },
	{ "instructions", "perch_instructions", "perch_cgroup_instructions",
	  "Instructions that CPUs have executed.", "Instructions of a cgroup." },
	{ "cache-misses", "perch_cache_misses", "perch_cgroup_cache_misses",
	  "Misses of the last cache.", "Misses of the last cache in a cgroup." },
	{ "context-switches", "perch_context_switches", "perch_cgroup_context_switches",
	  "Switches from one thread to another.", "Switches from threads of a cgroup." },
	{ "page-faults", "perch_page_faults", "perch_cgroup_page_faults", "Page faults.",
	  "Page faults of a cgroup." },
};

static int open_set(struct agent_counter_set *set, unsigned wanted,
		    const struct perch_targets *targets, struct perch_machine *machine)
{
	const struct perch_options options = { .enabled = 1,
					       .may = PERCH_MAY_SKIP | PERCH_MAY_EXCLUDE_KERNEL,
					       .machine = machine };
	struct perch_events events = { 0 };
	int rc = 0;

	for (size_t i = 0; i < AGENT_NR_COUNTED && rc >= 0; i++) {
		if (!(wanted >> i & 1))
			continue;
		set->index[i] = events.nr;
		rc = perch_events_add(&events, agent_counted[i].event, machine, NULL);
		set->width[i] = events.nr - set->index[i];
	}
	if (rc >= 0)
		rc = perch_set_open(&set->set, &events, targets, &options, NULL);
	perch_events_clear(&events);
	return rc;
}

static bool is_counted(const struct agent_counter_set *set, size_t event)
{
	for (size_t i = 0; i < set->width[event]; i++)
		if (!perch_set_get_event(set->set, set->index[event] + i)->skipped)
			return true;
	return false;
}

int agent_counter_set_open(struct agent_counter_set *set, unsigned events,
			   const struct perch_targets *targets, struct perch_machine *machine)
{
	int rc;

	*set = (struct agent_counter_set){ .nr = 0 };
	rc = open_set(set, events, targets, machine);
	if (rc >= 0) {
		set->nr_targets = perch_set_targets(set->set);
		set->nr = perch_set_events(set->set) * set->nr_targets;
		set->counts = calloc(set->nr + 1, sizeof(*set->counts));
		set->last = calloc(set->nr + 1, sizeof(*set->last));
		set->sums = calloc(set->nr + 1, sizeof(*set->sums));
		rc = set->counts && set->last && set->sums ? 0 : -ENOMEM;
	}
	for (size_t i = 0; i < AGENT_NR_COUNTED && rc >= 0; i++)
		if (events >> i & 1 && is_counted(set, i))
			set->events |= 1u << i;
	if (rc >= 0 && !set->events)
		rc = -ENOENT;
	if (rc < 0)
		agent_counter_set_close(set);
	return rc;
}

void agent_counter_set_close(struct agent_counter_set *set)
{
	perch_set_close(set->set);
	free(set->counts);
	free(set->last);
	free(set->sums);
	*set = (struct agent_counter_set){ .nr = 0 };
}

/* A value of all the time, scaled by all the time, falls when fewer events come: each difference is
 * scaled by its own time. */
bool agent_counter_set_read(struct agent_counter_set *set)
{
	if (perch_set_read(set->set, set->counts, set->nr, NULL) < 0)
		return false;
	for (size_t i = 0; i < set->nr; i++) {
		const struct perch_count *now = &set->counts[i];
		struct perch_count *last = &set->last[i];

		if (now->running_ns <= last->running_ns || now->value < last->value)
			continue;
		set->sums[i] += perch_scale(now->value - last->value,
					    now->enabled_ns - last->enabled_ns,
					    now->running_ns - last->running_ns);
		*last = *now;
	}
	return true;
}

uint64_t agent_counter_set_sum_at(const struct agent_counter_set *set, size_t event, size_t target)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < set->width[event]; i++)
		sum += set->sums[(set->index[event] + i) * set->nr_targets + target];
	return sum;
}

uint64_t agent_counter_set_sum(const struct agent_counter_set *set, size_t event)
{
	uint64_t all = 0;

	for (size_t i = 0; i < set->nr_targets; i++)
		all += agent_counter_set_sum_at(set, event, i);
	return all;
}

void agent_counter_set_add_times(const struct agent_counter_set *set, size_t event,
				 uint64_t *enabled_ns, uint64_t *running_ns)
{
	struct perch_count sum;

	perch_count_sum(&sum, set->counts + set->index[event] * set->nr_targets,
			set->width[event] * set->nr_targets);
	*enabled_ns += sum.enabled_ns;
	*running_ns += sum.running_ns;
}
