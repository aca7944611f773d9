/* SPDX-License-Identifier: MIT */
/* Events of perch stat, their cgroups, and the lines and parts made of both. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "event_options.h"
#include "stat.h"
#include "probes.h"

static int assign_cgroups(struct stat_job *stat, const char *names)
{
	return cli_assign_cgroups(STAT_COMMAND, &stat->cgroups, names, stat->events.list.nr);
}

int stat_add_cgroups(const struct cli_given *given)
{
	const char *names = given->text;
	struct stat_job *stat = given->state;

	stat->options.target.cgroups = names;
	if (stat->events.list.nr)
		return assign_cgroups(stat, names) ? -EINVAL : 0;
	stat->cgroups_first = names; /* for later events, or the default events */
	return 0;
}

/* perf's events of -d, -dd and -ddd. */
static const char *const detailed_events[] = {
	"L1-dcache-loads,L1-dcache-load-misses,LLC-loads,LLC-load-misses",
	"L1-icache-loads,L1-icache-load-misses,dTLB-loads,dTLB-load-misses,iTLB-loads,iTLB-load-misses",
	"L1-dcache-prefetches,L1-dcache-prefetch-misses",
};

static int add_defaults(struct stat_job *stat)
{
	int rc = 0;

	if (!stat->events.list.nr) {
		rc = cli_add_events(STAT_COMMAND, &stat->events,
				    cli_target_system_wide(&stat->options.target) ? "cpu-clock"
										  : "task-clock");
		if (!rc)
			rc = cli_add_events(
				STAT_COMMAND, &stat->events,
				"context-switches,cpu-migrations,page-faults,cycles,instructions,"
				"branches,branch-misses");
	}
	for (int i = 0; !rc && i < stat->options.detailed && i < (int)CLI_NR(detailed_events); i++)
		rc = cli_add_events(STAT_COMMAND, &stat->events, detailed_events[i]);
	return rc ? CLI_EXIT_USAGE : 0;
}

static struct stat_part *part_of(struct stat_job *stat, const char *cgroup)
{
	struct stat_part *part;

	for (size_t i = 0; i < stat->nr_parts; i++)
		if (!strcmp(stat->part[i].cgroup, cgroup))
			return &stat->part[i];
	part = PERCH__ARRAY_APPEND(stat->part, stat->nr_parts, stat->parts_capacity);
	if (!part)
		return NULL;
	part->cgroup = cgroup;
	part->events.event = calloc(stat->events.list.nr, sizeof(*part->events.event));
	return part->events.event ? part : NULL;
}

/* Adds the line of event `index` in a cgroup. base is the line of the first event there. */
static int add_line(struct stat_job *stat, size_t base, size_t index, const char *cgroup)
{
	const struct perch_event *event = &stat->events.list.event[index];
	struct stat_line *line = &stat->line[stat->nr_lines],
			 *leader = &stat->line[base + event->leader],
			 *first = &stat->line[base + event->first];
	struct stat_part *part = part_of(stat, cgroup);
	struct perch_event *copy;

	if (!part)
		return cli_no_memory(STAT_COMMAND);
	copy = &part->events.event[part->events.nr];
	*line = (struct stat_line){ .event = event,
				    .cgroup = cgroup,
				    .part = part - stat->part,
				    .index = part->events.nr++,
				    .merged_into = stat->nr_lines,
				    .clock = perch_metric_is_clock(&event->attr) };
	stat->nr_lines++;
	line->unit = line->clock ? "msec" : event->unit;
	line->scale = line->clock ? 1e-6 : event->scale;
	if (leader->part != line->part)
		return cli_usage_error(STAT_COMMAND, "the group of %s and %s must be in one cgroup",
				       leader->event->name, event->name);
	*copy = *event;
	copy->leader = leader->index;
	copy->first = line->index;
	if (first->part != line->part)
		return 0;
	copy->first = first->index;
	if (!stat->options.no_merge)
		line->merged_into = first - stat->line;
	return 0;
}

static int add_lines(struct stat_job *stat, const char *cgroup)
{
	size_t base = stat->nr_lines;
	int status = 0;

	for (size_t i = 0; !status && i < stat->events.list.nr; i++) {
		const char *own = i < stat->cgroups.nr ? stat->cgroups.name[i] : NULL;

		status = add_line(stat, base, i, cgroup ? cgroup : own ? own : "");
	}
	return status;
}

/* --metric-only without ratios prints blank lines, as perf does. A note explains it. */
static void warn_no_metrics(const struct stat_job *stat)
{
	for (size_t i = 0; i < stat->nr_lines; i++)
		if (perch_metric_unit(&stat->line[i].event->attr))
			return;
	if (stat->options.metric_only && !stat->options.quiet && stat->nr_lines)
		cli_note(
			STAT_COMMAND,
			"--metric-only has no columns: no event here has a ratio; cycles and instructions have one");
}

int stat_complete_events(struct stat_job *stat)
{
	const struct cli_probes wanted = { .inherit = !stat->options.no_inherit };
	int status = stat->options.null ? 0 : add_defaults(stat);

	if (!status && stat->cgroups_first && stat->events.list.nr)
		status = assign_cgroups(stat, stat->cgroups_first);
	if (!status)
		status = stat_choose_cgroups(stat);
	if (status)
		return status;
	status = cli_define_probes(STAT_COMMAND, wanted, &stat->options.target, &stat->events.list,
				   stat->events.machine);
	if (status)
		return status;
	stat->line = calloc(stat->events.list.nr * (stat->nr_for_each + !stat->nr_for_each) + 1,
			    sizeof(*stat->line));
	if (!stat->line)
		return cli_no_memory(STAT_COMMAND);
	if (!stat->nr_for_each)
		status = add_lines(stat, NULL);
	for (size_t i = 0; !status && i < stat->nr_for_each; i++)
		status = add_lines(stat, stat->for_each[i]);
	if (!status)
		warn_no_metrics(stat);
	return status;
}

static void free_strings(char **strings, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		free(strings[i]);
	free(strings);
}

void stat_free_events(struct stat_job *stat)
{
	for (size_t i = 0; i < stat->nr_parts; i++) {
		struct stat_part *part = &stat->part[i];

		perch_set_close(part->set);
		perch_targets_clear(&part->targets);
		free(part->events.event);
		free(part->group);
		free(part->topology);
		free(part->now);
		free(part->before);
	}
	free(stat->part);
	free(stat->line);
	free(stat->group);
	free(stat->cells);
	free(stat->run_ns);
	cli_clear_cgroups(&stat->cgroups);
	free_strings(stat->for_each, stat->nr_for_each);
	perch_events_clear(&stat->events.list);
}
