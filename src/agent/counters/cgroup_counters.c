/* SPDX-License-Identifier: MIT */
/*
 * The kernel counts the events of a cgroup with those of the cgroups below it. So what is left for
 * "other" is the count of all CPUs without those of cgroups that are below no other one here.
 * Each cgroup needs a descriptor for each event and CPU.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "counter_set.h"
#include "counters.h"

#define MOST_DESCRIPTORS 4096 /* and at most half of what this process may have */

struct counted_cgroup {
	char *path;
	struct agent_counter_set set;
	bool below; /* another one that is counted */
};

struct agent_cgroup_counters {
	struct agent_counter_set *cpus;
	struct perch_cpus numbers; /* of cpus: cgroups are counted on these, too */
	struct perch_machine *machine;
	struct counted_cgroup cgroup[AGENT_MOST_CGROUPS];
	size_t nr, most;
	uint64_t total[AGENT_NR_COUNTED]; /* of all CPUs, the last time */
	uint64_t rest[AGENT_NR_COUNTED];  /* of others */
};

static size_t most_cgroups(const struct agent_counter_set *cpus)
{
	struct rlimit limit;
	size_t most = MOST_DESCRIPTORS, each = 0;

	if (!getrlimit(RLIMIT_NOFILE, &limit) && limit.rlim_cur / 2 < most)
		most = (size_t)limit.rlim_cur / 2;
	for (size_t i = 0; i < AGENT_NR_COUNTED; i++)
		each += cpus->events >> i & 1 ? cpus->nr_targets : 0;
	most /= each ? each : 1;
	return most < AGENT_MOST_CGROUPS ? most : AGENT_MOST_CGROUPS;
}

struct agent_cgroup_counters *agent_cgroup_counters_new(struct agent_cpu_counters *cpus,
							struct perch_machine *machine)
{
	const struct agent_counter_set *set = agent_cpu_counters_set(cpus);
	struct agent_cgroup_counters *counters = calloc(1, sizeof(*counters));

	if (!counters)
		return NULL;
	counters->numbers.cpu = calloc(set->nr_targets, sizeof(*counters->numbers.cpu));
	if (!counters->numbers.cpu) {
		free(counters);
		return NULL;
	}
	for (size_t i = 0; i < set->nr_targets; i++)
		counters->numbers.cpu[counters->numbers.nr++] = perch_set_target(set->set, i)->cpu;
	counters->cpus = agent_cpu_counters_set(cpus);
	counters->machine = machine;
	counters->most = most_cgroups(counters->cpus);
	return counters;
}

static void close_at(struct agent_cgroup_counters *counters, size_t at)
{
	struct counted_cgroup *cgroup = &counters->cgroup[at];

	agent_counter_set_close(&cgroup->set);
	free(cgroup->path);
	*cgroup = counters->cgroup[--counters->nr];
}

void agent_cgroup_counters_free(struct agent_cgroup_counters *counters)
{
	while (counters && counters->nr)
		close_at(counters, counters->nr - 1);
	if (counters)
		perch_cpus_clear(&counters->numbers);
	free(counters);
}

/* ---- what is counted ---- */

/* Adds to the rest what has come since the last time, so that it never goes back. */
static void account(struct agent_cgroup_counters *counters)
{
	uint64_t before[AGENT_NR_COUNTED] = { 0 };

	if (!agent_counter_set_read(counters->cpus))
		return;
	for (size_t i = 0; i < counters->nr; i++) {
		struct agent_counter_set *set = &counters->cgroup[i].set;
		bool counts = !counters->cgroup[i].below;

		for (size_t event = 0; event < AGENT_NR_COUNTED && counts; event++)
			if (set->events >> event & 1)
				before[event] += agent_counter_set_sum(set, event);
		agent_counter_set_read(set);
		for (size_t event = 0; event < AGENT_NR_COUNTED && counts; event++)
			if (set->events >> event & 1)
				before[event] -= agent_counter_set_sum(set, event);
	}
	for (size_t event = 0; event < AGENT_NR_COUNTED; event++) {
		uint64_t now, others;

		if (!(counters->cpus->events >> event & 1))
			continue;
		now = agent_counter_set_sum(counters->cpus, event);
		/* before is what the cgroups have had, less than 0 */
		others = now - counters->total[event] + before[event];
		if ((int64_t)others > 0)
			counters->rest[event] += others;
		counters->total[event] = now;
	}
}

static bool has_path(const char *const *paths, size_t nr, const char *path)
{
	for (size_t i = 0; i < nr; i++)
		if (!strcmp(paths[i], path))
			return true;
	return false;
}

static bool is_counted(const struct agent_cgroup_counters *counters, const char *path)
{
	for (size_t i = 0; i < counters->nr; i++)
		if (!strcmp(counters->cgroup[i].path, path))
			return true;
	return false;
}

static void count_cgroup_at(struct agent_cgroup_counters *counters, const char *path)
{
	struct counted_cgroup *cgroup = &counters->cgroup[counters->nr];
	struct perch_targets targets = { .nr = 0 };
	int rc = -ENOMEM;

	*cgroup = (struct counted_cgroup){ .path = strdup(path) };
	if (cgroup->path)
		rc = perch_targets_add_cgroup(&targets, path, &counters->numbers, counters->machine,
					      NULL);
	if (rc >= 0)
		rc = agent_counter_set_open(&cgroup->set, counters->cpus->events, &targets,
					    counters->machine);
	perch_targets_clear(&targets);
	if (rc >= 0)
		counters->nr++;
	else
		free(cgroup->path);
}

static bool is_below(const char *path, const char *other)
{
	size_t length = strlen(other);

	return !strncmp(path, other, length) && path[length] == '/';
}

static void note_below(struct agent_cgroup_counters *counters)
{
	for (size_t i = 0; i < counters->nr; i++) {
		counters->cgroup[i].below = false;
		for (size_t k = 0; k < counters->nr; k++)
			counters->cgroup[i].below |=
				is_below(counters->cgroup[i].path, counters->cgroup[k].path);
	}
}

void agent_cgroup_counters_choose(struct agent_cgroup_counters *counters, const char *const *paths,
				  size_t nr)
{
	account(counters);
	for (size_t i = counters->nr; i-- > 0;)
		if (!has_path(paths, nr, counters->cgroup[i].path))
			close_at(counters, i);
	/* all is below the root: it would be the count of the CPUs */
	for (size_t i = 0; i < nr && counters->nr < counters->most; i++)
		if (paths[i][1] && !is_counted(counters, paths[i]))
			count_cgroup_at(counters, paths[i]);
	note_below(counters);
}

/* ---- metrics ---- */

static void put_ratios(const struct agent_cgroup_counters *counters, struct agent_metrics *metrics)
{
	agent_metric_gauge(metrics, "perch_cgroup_running_ratio",
			   "The part of the time in which a counter of cgroups ran; its value is "
			   "scaled by it.");
	for (size_t event = 0; event < AGENT_NR_COUNTED; event++) {
		uint64_t enabled = 0, running = 0;

		for (size_t i = 0; i < counters->nr; i++)
			if (counters->cgroup[i].set.events >> event & 1)
				agent_counter_set_add_times(&counters->cgroup[i].set, event,
							    &enabled, &running);
		if (enabled)
			agent_metric_value(metrics, "counter", agent_counted[event].event,
					   (double)running / (double)enabled);
	}
}

void agent_cgroup_counters_put(struct agent_cgroup_counters *counters,
			       struct agent_metrics *metrics)
{
	account(counters);
	for (size_t event = 0; event < AGENT_NR_COUNTED; event++) {
		if (!(counters->cpus->events >> event & 1))
			continue;
		agent_metric_counter(metrics, agent_counted[event].cgroup,
				     agent_counted[event].cgroup_help);
		for (size_t i = 0; i < counters->nr; i++)
			if (counters->cgroup[i].set.events >> event & 1)
				agent_metric_value(metrics, "cgroup", counters->cgroup[i].path,
						   (double)agent_counter_set_sum(
							   &counters->cgroup[i].set, event));
		agent_metric_value(metrics, "cgroup", "other", (double)counters->rest[event]);
	}
	put_ratios(counters, metrics);
}
