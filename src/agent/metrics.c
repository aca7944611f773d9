/* SPDX-License-Identifier: MIT */
/* What /metrics says. No label has a process id, a command line or a name of a thread. */
#include "metrics.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <perch/version.h>

#include "base/kernel/dummy_event.h"
#include "memory.h"
#include "recording/held_files.h"
#include "state.h"

static void put_samples(struct agent_metrics *metrics, const struct agent *agent)
{
	const struct perch_file_event *events;
	size_t nr = agent_source_events(agent->source, &events);

	agent_metric_counter(metrics, "perch_samples", "Samples that were taken, by event.");
	for (size_t i = 0; i < nr; i++)
		if (!perch__is_dummy(&events[i].attr))
			agent_metric_value(metrics, "event", events[i].name,
					   (double)agent_source_samples(agent->source, i));
}

static void put_source(struct agent_metrics *metrics, const struct agent *agent)
{
	struct agent_source_stats stats;

	agent_source_get_stats(agent->source, &stats);
	agent_metric_counter(metrics, "perch_lost_records",
			     "Records that the kernel dropped because a ring was full.");
	agent_metric_value(metrics, NULL, NULL, (double)stats.lost);
	agent_metric_counter(metrics, "perch_throttled",
			     "How often the kernel paused sampling because of its rate.");
	agent_metric_value(metrics, NULL, NULL, (double)stats.throttled);
	agent_metric_counter(metrics, "perch_damaged_records", "Records that cannot be decoded.");
	agent_metric_value(metrics, NULL, NULL, (double)stats.damaged);
	agent_metric_counter(metrics, "perch_recording_starts",
			     "How often the recording began, with the first time.");
	agent_metric_value(metrics, NULL, NULL, (double)stats.starts);
	agent_metric_gauge(metrics, "perch_recording_outdated",
			   "1 if CPUs came or went, and may have no samples until it begins anew.");
	agent_metric_value(metrics, NULL, NULL, agent->cpus_changed || agent->ended_rings);
	agent_metric_gauge(metrics, "perch_ring_bytes", "Memory of the rings.");
	agent_metric_value(metrics, NULL, NULL, (double)stats.ring_bytes);
	agent_metric_gauge(metrics, "perch_missing",
			   "1 if some of this cannot be read, so that names are missing.");
	for (size_t i = 0; i < AGENT_NR_PARTS; i++)
		agent_metric_value(metrics, "part", agent_parts[i].name,
				   agent_source_lacks(agent->source, agent_parts[i].part) != NULL);
}

static void put_held(struct agent_metrics *metrics, const struct agent *agent)
{
	static const char *const reasons[AGENT_NR_UNHELD] = { AGENT_UNHELD_NAMES };
	const struct agent_held_files *files = agent_source_held_files(agent->source);

	agent_metric_gauge(metrics, "perch_held_files",
			   "Files of programs with samples, open in case they are removed.");
	agent_metric_value(metrics, NULL, NULL, (double)files->nr);
	agent_metric_counter(metrics, "perch_unheld_files",
			     "Files that are not open for their samples, by reason.");
	for (size_t i = 0; i < AGENT_NR_UNHELD; i++)
		agent_metric_value(metrics, "reason", reasons[i], (double)files->unheld[i]);
}

static void put_unnamed(struct agent_metrics *metrics, const struct agent *agent)
{
	static const char *const reasons[AGENT_NR_UNNAMED] = { AGENT_UNNAMED_NAMES };

	agent_metric_gauge(metrics, "perch_unnamed_files",
			   "Files of the last profile that gave it no names, or few, by reason.");
	for (size_t i = 0; i < AGENT_NR_UNNAMED; i++)
		agent_metric_value(metrics, "reason", reasons[i], agent->unnamed.files[i]);
}

static void put_window(struct agent_metrics *metrics, const struct agent *agent)
{
	struct agent_window_stats stats;

	agent_window_get_stats(agent->window, &stats);
	agent_metric_counter(metrics, "perch_degraded_samples",
			     "Samples that are kept with less than they had, or not, by reason.");
	agent_metric_value(metrics, "reason", "dropped", (double)stats.dropped_samples);
	agent_metric_value(metrics, "reason", "truncated", (double)stats.truncated_samples);
	agent_metric_value(metrics, "reason", "unlabeled", (double)stats.unlabeled_samples);
	agent_metric_gauge(metrics, "perch_window_bytes", "Memory of the samples that are kept.");
	agent_metric_value(metrics, NULL, NULL, (double)stats.bytes);
	agent_metric_gauge(metrics, "perch_window_stacks", "Distinct frames with their callers.");
	agent_metric_value(metrics, NULL, NULL, (double)stats.stacks);
	agent_metric_gauge(metrics, "perch_window_addresses", "Distinct addresses.");
	agent_metric_value(metrics, NULL, NULL, (double)stats.addresses);
}

static double seconds_of(const struct timeval *time)
{
	return (double)time->tv_sec + (double)time->tv_usec / 1e6;
}

uint64_t agent_names_memory(const struct agent *agent)
{
	struct agent_window_stats stats;
	uint64_t used = agent_allocated_memory(), other = agent_send_memory(agent);

	agent_window_get_stats(agent->window, &stats);
	other += stats.allocated;
	return used > other ? used - other : 0;
}

static void put_agent(struct agent_metrics *metrics, const struct agent *agent)
{
	static const char *const kinds[AGENT_NR_KINDS] = { "cpu",  "off_cpu",	"page",
							   "otlp", "pyroscope", "once" };
	struct rusage usage;

	agent_metric_gauge(metrics, "perch_build_info", "The version, as a label.");
	agent_metric_value(metrics, "version", PERCH_VERSION_STRING, 1);
	agent_metric_gauge(metrics, "perch_uptime_seconds", "Time since the start.");
	agent_metric_value(metrics, NULL, NULL, (double)(agent_now() - agent->started) / 1e9);
	getrusage(RUSAGE_SELF, &usage);
	agent_metric_counter(metrics, "perch_agent_cpu_seconds",
			     "CPU time of the agent, and of the processes that make profiles.");
	agent_metric_value(metrics, "part", "agent",
			   seconds_of(&usage.ru_utime) + seconds_of(&usage.ru_stime));
	agent_metric_value(metrics, "part", "profiles", (double)agent->child_cpu_us / 1e6);
	agent_metric_gauge(metrics, "perch_agent_resident_bytes", "Memory of the agent.");
	agent_metric_value(metrics, NULL, NULL, (double)agent_resident_memory());
	agent_metric_gauge(metrics, "perch_names_bytes",
			   "Allocated memory without samples and windows: names of what runs.");
	agent_metric_value(metrics, NULL, NULL, (double)agent_names_memory(agent));
	agent_metric_counter(metrics, "perch_profiles", "Profiles that were made, by kind.");
	for (size_t i = 0; i < AGENT_NR_KINDS; i++)
		agent_metric_value(metrics, "kind", kinds[i], (double)agent->profiles[i]);
	agent_metric_counter(metrics, "perch_failed_profiles",
			     "Profiles that could not be made, by kind.");
	for (size_t i = 0; i < AGENT_NR_KINDS; i++)
		agent_metric_value(metrics, "kind", kinds[i], (double)agent->failed[i]);
}

/* As Prometheus says it of its own file. */
static void put_reload(struct agent_metrics *metrics, const struct agent *agent)
{
	if (!agent->options->reload)
		return;
	agent_metric_gauge(metrics, "perch_config_last_reload_successful",
			   "1 if the file of options was taken the last time that it was read.");
	agent_metric_value(metrics, NULL, NULL, !agent->reload_failed);
	agent_metric_gauge(metrics, "perch_config_last_reload_success_timestamp_seconds",
			   "When the file of options was taken the last time.");
	agent_metric_value(metrics, NULL, NULL, (double)agent->reloaded / 1e9);
}

char *agent_metrics(const struct agent *agent, bool open_metrics, size_t *size)
{
	struct agent_metrics metrics = { .open = open_metrics };
	char *text = NULL;

	metrics.out = open_memstream(&text, size);
	if (!metrics.out)
		return NULL;
	put_agent(&metrics, agent);
	put_reload(&metrics, agent);
	put_samples(&metrics, agent);
	put_source(&metrics, agent);
	put_held(&metrics, agent);
	put_unnamed(&metrics, agent);
	put_window(&metrics, agent);
	agent_send_put(agent, &metrics);
	if (agent->cgroups)
		agent_cgroups_put(agent->cgroups, agent_source_sample_ns(agent->source) != 0,
				  agent->options->source.off_cpu, !agent->cgroup_counters,
				  &metrics);
	if (agent->counters)
		agent_cpu_counters_put(agent->counters, &metrics);
	if (agent->cgroup_counters)
		agent_cgroup_counters_put(agent->cgroup_counters, &metrics);
	agent_metric_gauge(&metrics, "perch_omitted_series",
			   "Values that are left out here, because there are too many.");
	agent_metric_value(&metrics, NULL, NULL, (double)metrics.dropped);
	if (open_metrics)
		fputs("# EOF\n", metrics.out);
	if (fclose(metrics.out)) {
		free(text);
		return NULL;
	}
	return text;
}
