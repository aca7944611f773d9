/* SPDX-License-Identifier: MIT */
/* What is counted beside the samples: by CPU, and by cgroup. */
#ifndef PERCH_AGENT_COUNTERS_H
#define PERCH_AGENT_COUNTERS_H

#include <perch/count.h>

#include "agent/metrics.h"
#include "agent/window/window.h"

/* ---- cpu_counters.c: events of CPUs, and how long tasks waited for them ---- */

struct agent_cpu_counters;

/* Opens what this user may count. Returns NULL if that is nothing, or out of memory. */
struct agent_cpu_counters *agent_cpu_counters_open(const struct perch_targets *cpus,
						   struct perch_machine *machine);
void agent_cpu_counters_close(struct agent_cpu_counters *counters);
void agent_cpu_counters_put(struct agent_cpu_counters *counters, struct agent_metrics *metrics);

/* Its events and their sums. */
struct agent_counter_set *agent_cpu_counters_set(struct agent_cpu_counters *counters);

/* ---- cgroup_counters.c: events of the busiest cgroups ---- */

#define AGENT_MOST_CGROUPS 50 /* with values of their own */

struct agent_cgroup_counters;

/* Counts the events that are counted of the CPUs, which must outlive it. Returns NULL if out of
 * memory. */
struct agent_cgroup_counters *agent_cgroup_counters_new(struct agent_cpu_counters *cpus,
							struct perch_machine *machine);
void agent_cgroup_counters_free(struct agent_cgroup_counters *counters);
/* Counts these cgroups and no others; the first ones, if there are too few descriptors. One that
 * cannot be counted has no values. */
void agent_cgroup_counters_choose(struct agent_cgroup_counters *counters, const char *const *paths,
				  size_t nr);
void agent_cgroup_counters_put(struct agent_cgroup_counters *counters,
			       struct agent_metrics *metrics);

/* ---- cgroups.c: sums of samples, and of what the kernel counts, of the busiest cgroups ---- */

struct agent_cgroups;

/* mount: where cgroups are, for what the kernel counts; NULL: unknown. */
struct agent_cgroups *agent_cgroups_new(const char *mount);
void agent_cgroups_free(struct agent_cgroups *cgroups);
/* Counts a sample. path NULL: unknown. off_cpu: ns is the time off the CPU, else that on it. */
void agent_cgroups_add(struct agent_cgroups *cgroups, const char *path, bool off_cpu, uint64_t ns);
/* To be called every few seconds: cgroups that are idle give way to busy ones. */
void agent_cgroups_choose(struct agent_cgroups *cgroups, uint64_t now);
/* The paths of the cgroups with values of their own, the busiest first. Returns their number. */
size_t agent_cgroups_paths(struct agent_cgroups *cgroups, const char *paths[AGENT_MOST_CGROUPS]);
/* cpu, off_cpu: samples have times on the CPU, and off it. faults: page faults of the kernel's own
 * count; false: they are counted as events. */
void agent_cgroups_put(struct agent_cgroups *cgroups, bool cpu, bool off_cpu, bool faults,
		       struct agent_metrics *metrics);

#endif
