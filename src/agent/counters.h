/* SPDX-License-Identifier: MIT */
/* What is counted beside the samples: by CPU, and by cgroup. */
#ifndef PERCH_AGENT_COUNTERS_H
#define PERCH_AGENT_COUNTERS_H

#include <perch/count.h>

#include "metrics.h"
#include "window/window.h"

/* ---- cpu_counters.c: events of CPUs, and how long tasks waited for them ---- */

struct agent_cpu_counters;

/* Opens what this user may count. Returns NULL if that is nothing, or out of memory. */
struct agent_cpu_counters *agent_cpu_counters_open(const struct perch_targets *cpus,
						   struct perch_machine *machine);
void agent_cpu_counters_close(struct agent_cpu_counters *counters);
void agent_cpu_counters_put(struct agent_cpu_counters *counters, struct agent_metrics *metrics);

/* ---- cgroups.c: sums of samples, and of what the kernel counts, of the busiest cgroups ---- */

struct agent_cgroups;

struct agent_cgroups *agent_cgroups_new(void);
void agent_cgroups_free(struct agent_cgroups *cgroups);
/* Counts a sample. path NULL: unknown. off_cpu: ns is the time off the CPU, else that on it. */
void agent_cgroups_add(struct agent_cgroups *cgroups, const char *path, bool off_cpu, uint64_t ns);
/* To be called every few seconds: cgroups that are idle give way to busy ones. */
void agent_cgroups_choose(struct agent_cgroups *cgroups, uint64_t now);
/* cpu, off_cpu: samples have times on the CPU, and off it. */
void agent_cgroups_put(struct agent_cgroups *cgroups, bool cpu, bool off_cpu,
		       struct agent_metrics *metrics);

#endif
