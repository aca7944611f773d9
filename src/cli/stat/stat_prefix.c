/* SPDX-License-Identifier: MIT */
/* What stands in front of a line: the interval's time, and whose sum it is; perf's columns. */
#include <string.h>

#include "stat.h"

/* An event with the term percore is shown by core where the others are shown by CPU. */
static const struct perch_cpu_topology *core_of(const struct stat_job *stat,
						const struct stat_line *line, size_t group)
{
	const struct stat_part *part;

	if (!line || stat->aggregation != STAT_CPU || !line->event->terms.percore)
		return NULL;
	part = &stat->part[line->part];
	for (size_t i = 0; part->place && i < part->targets.nr; i++)
		if (part->group[i] == group)
			return &part->place[i];
	return NULL;
}

static void name_core(const struct perch_cpu_topology *place, char *buffer, size_t size)
{
	snprintf(buffer, size, "S%d-D%d-C%d", place->socket, place->die, place->core);
}

/* The group's name, and the width that perf gives it in a table. */
static int name_group(const struct stat_job *stat, const struct stat_line *line, size_t group,
		      char *buffer, size_t size)
{
	const struct perch_cpu_topology *place = &stat->group[group].place,
					*core = core_of(stat, line, group);

	switch (stat->aggregation) {
	case STAT_CPU:
		if (core)
			name_core(core, buffer, size);
		else
			snprintf(buffer, size, "CPU%d", place->cpu);
		return 10;
	case STAT_SOCKET:
		snprintf(buffer, size, "S%d", place->socket);
		return 6;
	case STAT_DIE:
		snprintf(buffer, size, "S%d-D%d", place->socket, place->die);
		return 12;
	case STAT_CORE:
		name_core(place, buffer, size);
		return 15;
	case STAT_NODE:
		snprintf(buffer, size, "N%d", place->node);
		return 6;
	default:
		buffer[0] = '\0';
		return 0;
	}
}

static bool adds_up(const struct stat_job *stat)
{
	return stat->aggregation >= STAT_SOCKET && stat->aggregation <= STAT_NODE;
}

/* On how many CPUs it was counted; where it could not be, on how many it should have been. */
static unsigned width_of(const struct stat_job *stat, const struct stat_line *line, size_t group)
{
	unsigned nr = line ? line->cell[group].nr : 0;

	return nr ? nr : stat->group[group].nr;
}

static void print_time(const struct stat_job *stat, FILE *out)
{
	fprintf(out, "%6llu.%09llu%s", (unsigned long long)(stat->interval_ns / 1000000000),
		(unsigned long long)(stat->interval_ns % 1000000000),
		stat->separator ? stat->separator : " ");
}

static void print_thread(const struct stat_job *stat, const struct stat_group *group, FILE *out)
{
	char name[sizeof(group->comm) + 16];

	if (!stat->separator) {
		fprintf(out, "%16s-%-8d ", group->comm, (int)group->tid);
		return;
	}
	snprintf(name, sizeof(name), "%s-%d", group->comm, (int)group->tid);
	stat_put_field(stat, name, out);
	fputs(stat->separator, out);
}

void stat_print_prefix(const struct stat_job *stat, const struct stat_line *line, size_t group,
		       FILE *out)
{
	const char *sep = stat->separator ? stat->separator : " ";
	char name[64];
	int width;

	if (stat->interval_ns)
		print_time(stat, out);
	else if (stat->summary && stat->separator && stat->name_summary)
		fprintf(out, "%16s%s", "summary", sep);
	if (stat->aggregation == STAT_GLOBAL)
		return;
	if (stat->aggregation == STAT_THREAD) {
		print_thread(stat, &stat->group[group], out);
		return;
	}
	width = name_group(stat, line, group, name, sizeof(name));
	if (stat->separator)
		stat_put_field(stat, name, out);
	else
		fprintf(out, "%*s", -width, name);
	fputs(sep, out);
	if (adds_up(stat))
		fprintf(out, "%*u%s", stat->separator ? 0 : 4, width_of(stat, line, group), sep);
}

/* As perf names them, but for the core of a percore event the same as with --per-core. */
static const char *const keys[] = {
	[STAT_CPU] = "cpu",   [STAT_SOCKET] = "socket", [STAT_DIE] = "die",
	[STAT_CORE] = "core", [STAT_NODE] = "node",	[STAT_THREAD] = "thread",
};

void stat_print_json_prefix(const struct stat_job *stat, const struct stat_line *line, size_t group,
			    FILE *out)
{
	const struct stat_group *own = &stat->group[group];
	char name[96];

	if (stat->interval_ns)
		fprintf(out, "\"interval\" : %llu.%09llu, ",
			(unsigned long long)(stat->interval_ns / 1000000000),
			(unsigned long long)(stat->interval_ns % 1000000000));
	if (stat->aggregation == STAT_GLOBAL)
		return;
	name_group(stat, line, group, name, sizeof(name));
	if (stat->aggregation == STAT_THREAD)
		snprintf(name, sizeof(name), "%s-%d", own->comm, (int)own->tid);
	if (core_of(stat, line, group))
		fprintf(out, "\"core\" : ");
	else
		fprintf(out, "\"%s\" : ", keys[stat->aggregation]);
	/* perf gives a CPU's number as a string without the letters */
	stat_put_json_string(
		out, !strncmp(name, "CPU", 3) && stat->aggregation == STAT_CPU ? name + 3 : name);
	fputs(", ", out);
	if (adds_up(stat))
		fprintf(out, "\"aggregate-number\" : %u, ", width_of(stat, line, group));
}
