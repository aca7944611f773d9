/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "counter_set.h"
#include "counters.h"

#define MOST_CPUS 128 /* with values of their own; of more CPUs there are sums */

struct agent_cpu_counters {
	struct agent_counter_set set;
};

struct agent_cpu_counters *agent_cpu_counters_open(const struct perch_targets *cpus,
						   struct perch_machine *machine)
{
	struct agent_cpu_counters *counters = calloc(1, sizeof(*counters));

	if (counters && !agent_counter_set_open(&counters->set, ~0u, cpus, machine))
		return counters;
	free(counters);
	return NULL;
}

void agent_cpu_counters_close(struct agent_cpu_counters *counters)
{
	if (!counters)
		return;
	agent_counter_set_close(&counters->set);
	free(counters);
}

struct agent_counter_set *agent_cpu_counters_set(struct agent_cpu_counters *counters)
{
	return &counters->set;
}

static void put_event(const struct agent_counter_set *set, size_t event,
		      struct agent_metrics *metrics)
{
	char cpu[16];

	agent_metric_counter(metrics, agent_counted[event].cpu, agent_counted[event].help);
	for (size_t i = 0; i < set->nr_targets && set->nr_targets <= MOST_CPUS; i++) {
		snprintf(cpu, sizeof(cpu), "%d", perch_set_target(set->set, i)->cpu);
		agent_metric_value(metrics, "cpu", cpu,
				   (double)agent_counter_set_sum_at(set, event, i));
	}
	if (set->nr_targets > MOST_CPUS)
		agent_metric_value(metrics, "cpu", "all",
				   (double)agent_counter_set_sum(set, event));
}

/* Counters that share the PMU run a part of the time, and are scaled. */
static void put_ratios(const struct agent_counter_set *set, struct agent_metrics *metrics)
{
	agent_metric_gauge(
		metrics, "perch_running_ratio",
		"The part of the time in which a counter ran; its value is scaled by it.");
	for (size_t i = 0; i < AGENT_NR_COUNTED; i++) {
		uint64_t enabled = 0, running = 0;

		if (set->events >> i & 1)
			agent_counter_set_add_times(set, i, &enabled, &running);
		if (enabled)
			agent_metric_value(metrics, "counter", agent_counted[i].event,
					   (double)running / (double)enabled);
	}
}

/* The fields of a CPU: the 8th is the time in ns that tasks have waited for it. */
static void put_delays(struct agent_metrics *metrics)
{
	FILE *file = fopen("/proc/schedstat", "re");
	struct {
		char cpu[16];
		unsigned long long delay;
	} of[MOST_CPUS];
	unsigned long long delay, sum = 0;
	char line[4096], cpu[16];
	size_t nr = 0;

	if (!file)
		return;
	agent_metric_counter(metrics, "perch_run_queue_delay_seconds",
			     "Time that runnable threads have waited for a CPU.");
	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, "cpu%15[0-9] %*u %*u %*u %*u %*u %*u %*u %llu", cpu, &delay) != 2)
			continue;
		sum += delay;
		if (nr < MOST_CPUS) {
			memcpy(of[nr].cpu, cpu, sizeof(cpu));
			of[nr].delay = delay;
		}
		nr++;
	}
	fclose(file);
	for (size_t i = 0; i < nr && nr <= MOST_CPUS; i++)
		agent_metric_value(metrics, "cpu", of[i].cpu, (double)of[i].delay / 1e9);
	if (nr > MOST_CPUS)
		agent_metric_value(metrics, "cpu", "all", (double)sum / 1e9);
}

void agent_cpu_counters_put(struct agent_cpu_counters *counters, struct agent_metrics *metrics)
{
	struct agent_counter_set *set = &counters->set;

	if (!agent_counter_set_read(set))
		return;
	for (size_t i = 0; i < AGENT_NR_COUNTED; i++)
		if (set->events >> i & 1)
			put_event(set, i, metrics);
	put_ratios(set, metrics);
	put_delays(metrics);
}
