/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/nr.h"
#include "counters.h"

#define MOST_CPUS 128 /* with values of their own; of more CPUs there are sums */

static const struct {
	const char *event, *metric, *help;
} counted[] = {
	{ "cycles", "perch_cpu_cycles", "Cycles of CPUs." },
	{ "instructions", "perch_instructions", "Instructions that CPUs have executed." },
	{ "cache-misses", "perch_cache_misses", "Misses of the last cache." },
	{ "context-switches", "perch_context_switches", "Switches from one thread to another." },
	{ "page-faults", "perch_page_faults", "Page faults." },
};

struct agent_cpu_counters {
	struct perch_set *set;
	struct perch_count *counts, *last; /* of this and of the last time */
	uint64_t *sums;			   /* of what was added, each scaled by its own time */
	size_t nr_cpus, nr;
};

struct agent_cpu_counters *agent_cpu_counters_open(const struct perch_targets *cpus,
						   struct perch_machine *machine)
{
	const struct perch_options options = { .enabled = 1,
					       .may = PERCH_MAY_SKIP | PERCH_MAY_EXCLUDE_KERNEL,
					       .machine = machine };
	struct agent_cpu_counters *counters = calloc(1, sizeof(*counters));
	struct perch_events events = { 0 };
	int rc = counters ? 0 : -1;

	for (size_t i = 0; i < PERCH__NR(counted) && rc >= 0; i++)
		rc = perch_events_add(&events, counted[i].event, machine, NULL);
	if (rc >= 0)
		rc = perch_set_open(&counters->set, &events, cpus, &options, NULL);
	perch_events_clear(&events);
	if (rc >= 0) {
		counters->nr_cpus = perch_set_targets(counters->set);
		counters->nr = perch_set_events(counters->set) * counters->nr_cpus;
		counters->counts = calloc(counters->nr + 1, sizeof(*counters->counts));
		counters->last = calloc(counters->nr + 1, sizeof(*counters->last));
		counters->sums = calloc(counters->nr + 1, sizeof(*counters->sums));
	}
	if (rc >= 0 && counters->counts && counters->last && counters->sums)
		return counters;
	agent_cpu_counters_close(counters);
	return NULL;
}

void agent_cpu_counters_close(struct agent_cpu_counters *counters)
{
	if (!counters)
		return;
	perch_set_close(counters->set);
	free(counters->counts);
	free(counters->last);
	free(counters->sums);
	free(counters);
}

/* A value of all the time, scaled by all the time, falls when fewer events come. */
static void add_counts(struct agent_cpu_counters *counters)
{
	for (size_t i = 0; i < counters->nr; i++) {
		const struct perch_count *now = &counters->counts[i];
		struct perch_count *last = &counters->last[i];

		if (now->running_ns <= last->running_ns || now->value < last->value)
			continue;
		counters->sums[i] += perch_scale(now->value - last->value,
						 now->enabled_ns - last->enabled_ns,
						 now->running_ns - last->running_ns);
		*last = *now;
	}
}

static void put_event(const struct agent_cpu_counters *counters, size_t event,
		      struct agent_metrics *metrics)
{
	const uint64_t *sums = counters->sums + event * counters->nr_cpus;
	uint64_t all = 0;
	char cpu[16];

	agent_metric_counter(metrics, counted[event].metric, counted[event].help);
	for (size_t i = 0; i < counters->nr_cpus; i++) {
		all += sums[i];
		if (counters->nr_cpus > MOST_CPUS)
			continue;
		snprintf(cpu, sizeof(cpu), "%d", perch_set_target(counters->set, i)->cpu);
		agent_metric_value(metrics, "cpu", cpu, (double)sums[i]);
	}
	if (counters->nr_cpus > MOST_CPUS)
		agent_metric_value(metrics, "cpu", "all", (double)all);
}

/* Counters that share the PMU run a part of the time, and are scaled. */
static void put_ratios(const struct agent_cpu_counters *counters, struct agent_metrics *metrics)
{
	struct perch_count sum;

	agent_metric_gauge(
		metrics, "perch_running_ratio",
		"The part of the time in which a counter ran; its value is scaled by it.");
	for (size_t i = 0; i < PERCH__NR(counted); i++) {
		perch_count_sum(&sum, counters->counts + i * counters->nr_cpus, counters->nr_cpus);
		if (sum.enabled_ns)
			agent_metric_value(metrics, "counter", counted[i].event,
					   (double)sum.running_ns / (double)sum.enabled_ns);
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
	if (perch_set_read(counters->set, counters->counts, counters->nr, NULL) < 0)
		return;
	add_counts(counters);
	for (size_t i = 0; i < PERCH__NR(counted); i++)
		if (!perch_set_get_event(counters->set, i)->skipped)
			put_event(counters, i, metrics);
	put_ratios(counters, metrics);
	put_delays(metrics);
}
