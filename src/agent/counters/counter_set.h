/* SPDX-License-Identifier: MIT */
/* The events that are counted of CPUs and cgroups, and their sums. */
#ifndef PERCH_AGENT_COUNTER_SET_H
#define PERCH_AGENT_COUNTER_SET_H

#include <perch/count.h>

enum { AGENT_NR_COUNTED = 5 };

/* An event, and its metrics. */
struct agent_counted {
	const char *event;
	const char *cpu, *cgroup; /* names of metrics */
	const char *help, *cgroup_help;
};

extern const struct agent_counted agent_counted[AGENT_NR_COUNTED];

struct agent_counter_set {
	struct perch_set *set;
	struct perch_count *counts, *last; /* of this and of the last time */
	uint64_t *sums;			   /* of what was added, each scaled by its own time */
	size_t nr_targets, nr;
	unsigned events; /* bits of the counted events */
	/* of an event in the set: a hybrid machine has one for each core PMU */
	size_t index[AGENT_NR_COUNTED], width[AGENT_NR_COUNTED];
};

/* Opens the events of a mask, but for what this user may not count. Returns 0, or a negative errno;
 * it is closed then. */
int agent_counter_set_open(struct agent_counter_set *set, unsigned events,
			   const struct perch_targets *targets, struct perch_machine *machine);
void agent_counter_set_close(struct agent_counter_set *set);
/* Reads the counts, and adds them to the sums. Returns false after a failure. */
bool agent_counter_set_read(struct agent_counter_set *set);
/* The sum of an event on a target. */
uint64_t agent_counter_set_sum_at(const struct agent_counter_set *set, size_t event, size_t target);
/* The sum of all targets. */
uint64_t agent_counter_set_sum(const struct agent_counter_set *set, size_t event);
/* Adds the times of an event on all targets. */
void agent_counter_set_add_times(const struct agent_counter_set *set, size_t event,
				 uint64_t *enabled_ns, uint64_t *running_ns);

#endif
