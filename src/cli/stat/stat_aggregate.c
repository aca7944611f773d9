/* SPDX-License-Identifier: MIT */
/* Adds up the counts of each event on each target by line and group. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "event_options.h"
#include "stat.h"

void stat_clear_cells(struct stat_job *stat)
{
	memset(stat->cells, 0, stat->nr_lines * stat->nr_groups * sizeof(*stat->cells));
}

struct sums {
	double value, enabled, running;
	unsigned nr;
};

static bool same_package(const struct perch_cpu_topology *one,
			 const struct perch_cpu_topology *other)
{
	return one->socket == other->socket && one->die == other->die;
}

/* Several CPUs of a socket may report its count: only the first one that ran is added. */
static bool counted_before(const struct stat_part *part, const struct perch_count *counts,
			   size_t upto)
{
	for (size_t i = 0; i < upto; i++)
		if (counts[i].running_ns && same_package(&part->topology[i], &part->topology[upto]))
			return true;
	return false;
}

/* -A shows an event with the term percore by core: under the first CPU of the core. */
static size_t group_for(const struct stat_job *stat, const struct stat_line *line, size_t target)
{
	const struct stat_part *part = &stat->part[line->part];

	if (stat->aggregation != STAT_CPU || !line->event->terms.percore)
		return part->group[target];
	for (size_t i = 0; i < target; i++)
		if (part->topology[i].core == part->topology[target].core &&
		    same_package(&part->topology[i], &part->topology[target]))
			return part->group[i];
	return part->group[target];
}

static void add_count(const struct stat_job *stat, struct sums *sums,
		      const struct perch_count *count)
{
	sums->nr++;
	if (count->state == PERCH_COUNT_STATE_ERROR)
		return; /* a pinned event that lost its counter has no valid value */
	sums->value += stat->options.scale ? count->scaled : count->value;
	sums->enabled += count->enabled_ns;
	sums->running += count->running_ns;
}

/* Adds the counts of one line to the sums of its groups. */
static void add_line(struct stat_job *stat, const struct stat_line *line, struct sums *sums,
		     bool intervals)
{
	struct stat_part *part = &stat->part[line->part];
	size_t at = line->index * part->targets.nr;
	const struct perch_count *now = part->now + at, *before = part->before + at;
	bool per_package = line->event->per_package && part->topology;

	for (size_t i = 0; i < part->targets.nr; i++) {
		struct perch_count count = now[i];

		if (count.state == PERCH_COUNT_STATE_NOT_OPEN)
			continue;
		if (per_package && count.running_ns && counted_before(part, now, i))
			continue;
		if (intervals) {
			perch_count_delta(&count, &now[i], &before[i]);
			/* .snapshot: the event has a current value, not a sum */
			if (line->event->snapshot) {
				count.value = now[i].value;
				count.scaled = now[i].scaled;
			}
		}
		add_count(stat, &sums[group_for(stat, line, i)], &count);
	}
}

static void print_raw(const struct stat_job *stat, const struct stat_line *line,
		      const struct sums *sums)
{
	struct sums total = { 0 };

	for (size_t i = 0; i < stat->nr_groups; i++) {
		total.value += sums[i].value;
		total.enabled += sums[i].enabled;
		total.running += sums[i].running;
	}
	if (line->supported)
		fprintf(stat->output, "%s: %.0f %.0f %.0f\n", line->name, total.value,
			total.enabled, total.running);
}

/* Adds the counts of a line, and of the lines merged into it, to its cells. */
static void fill_line(struct stat_job *stat, struct stat_line *line, struct sums *sums,
		      bool intervals)
{
	size_t own = line - stat->line;

	memset(sums, 0, stat->nr_groups * sizeof(*sums));
	for (size_t i = own; i < stat->nr_lines; i++)
		if (stat->line[i].merged_into == own)
			add_line(stat, &stat->line[i], sums, intervals);
	for (size_t i = 0; i < stat->nr_groups; i++) {
		struct stat_cell *cell = &line->cell[i];

		perch__mean_add(&cell->value, sums[i].value);
		perch__mean_add(&cell->enabled, sums[i].enabled);
		perch__mean_add(&cell->running, sums[i].running);
		cell->nr = sums[i].nr;
		line->present |= sums[i].nr > 0;
	}
	if (stat->options.verbose && !stat->options.quiet)
		print_raw(stat, line, sums);
}

int stat_add_counts(struct stat_job *stat, bool intervals, struct perch_error *err)
{
	struct sums *sums = malloc((stat->nr_groups + 1) * sizeof(*sums));

	if (!sums)
		return PERCH__NO_MEMORY(err, "for the sums");
	for (size_t i = 0; i < stat->nr_lines; i++)
		if (stat->line[i].merged_into == i)
			fill_line(stat, &stat->line[i], sums, intervals);
	free(sums);
	return 0;
}

int stat_read_counts(struct stat_job *stat, bool intervals, struct perch_error *err)
{
	for (size_t i = 0; i < stat->nr_parts; i++) {
		struct stat_part *part = &stat->part[i];
		struct perch_count *swap = part->before;
		int rc;

		if (intervals) {
			part->before = part->now;
			part->now = swap;
		}
		rc = perch_set_read(part->set, part->now, part->events.nr * part->targets.nr, err);
		if (rc)
			return rc;
	}
	return stat_add_counts(stat, intervals, err);
}

/* "cycles:u"; "cache-misses [cpu_atom]" if each PMU has a line of the same name. */
static void format_name(struct stat_job *stat, struct stat_line *line)
{
	const struct perch_event *event = line->event;
	char name[sizeof(event->name) + 2], whole[sizeof(name)];
	const struct perch_pmu *pmu = NULL;
	uint32_t type = event->attr.type;
	bool several = false;

	for (size_t i = 0; stat->options.no_merge && i < stat->nr_lines && !several; i++)
		several = stat->line[i].event != event &&
			  stat->line[i].event->first == event->first &&
			  stat->line[i].part == line->part;
	if (several && type <= PERCH_TYPE_HW_CACHE && event->attr.config >> 32)
		/* the extended type selects one of several core PMUs */
		type = event->attr.config >> 32;
	if (several)
		pmu = perch_machine_pmu_of_type(stat->events.machine, type);
	if (line->user_only)
		cli_user_space_name(event, whole, sizeof(whole));
	else
		snprintf(whole, sizeof(whole), "%s", event->name);
	perch_clean_text(whole, name, sizeof(name));
	if (pmu)
		snprintf(line->name, sizeof(line->name), "%s [%s]", name, pmu->name);
	else
		snprintf(line->name, sizeof(line->name), "%s", name);
}

void stat_describe_lines(struct stat_job *stat)
{
	for (size_t i = 0; i < stat->nr_lines; i++) {
		struct stat_line *line = &stat->line[i];
		const struct perch_set_event *event =
			perch_set_get_event(stat->part[line->part].set, line->index);

		line->user_only = event->user_only;
		line->supported = !event->skipped;
		format_name(stat, line);
		if (line->merged_into != i && line->supported)
			stat->line[line->merged_into].supported = true;
	}
}

bool stat_is_shown(const struct stat_job *stat, const struct stat_line *line, size_t group)
{
	if (line->merged_into != (size_t)(line - stat->line))
		return false;
	if (stat->aggregation == STAT_GLOBAL)
		return true;
	if (line->present)
		return line->cell[group].nr > 0;
	return true;
}

bool stat_is_counted(const struct stat_line *line, size_t group)
{
	const struct stat_cell *cell = &line->cell[group];

	return line->supported && cell->enabled.mean > 0 && cell->running.mean > 0;
}

double stat_percent_running(const struct stat_cell *cell)
{
	return cell->enabled.mean > 0 ? 100.0 * cell->running.mean / cell->enabled.mean : 100.0;
}
