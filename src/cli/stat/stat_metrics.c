/* SPDX-License-Identifier: MIT */
/* Metrics of the lines of a group. */
#include "stat.h"

struct metric_group {
	const struct stat_job *stat;
	size_t index;
};

static bool count_at(const void *context, size_t index, struct perch_metric_count *count)
{
	const struct metric_group *group = context;
	const struct stat_line *line = &group->stat->line[index];

	if (!stat_is_counted(line, group->index))
		return false;
	*count = (struct perch_metric_count){ .attr = &line->event->attr,
					      .value = line->cell[group->index].value.mean,
					      .part = line->part,
					      .user_only = line->user_only,
					      .merged = line->merged_into != index };
	return true;
}

size_t stat_metrics(const struct stat_job *stat, const struct stat_line *line, size_t group,
		    struct perch_metric metrics[PERCH_METRICS_MAX])
{
	const struct metric_group context = { .stat = stat, .index = group };
	const struct perch_metric_counts counts = {
		.nr = stat->nr_lines, .at = count_at, .context = &context, .wall_ns = stat->wall_ns
	};

	return perch_metrics(&counts, (size_t)(line - stat->line), metrics);
}
