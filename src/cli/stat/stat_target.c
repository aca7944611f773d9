/* SPDX-License-Identifier: MIT */
/* Targets of each part, and the groups over which their counts are added up. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "stat.h"
#include "stat_file.h"

static int add_cgroup(struct stat_job *stat, struct stat_part *part)
{
	struct perch_cpus cpus;
	struct perch_error err;
	int status =
		cli_target_cpus(STAT_COMMAND, &stat->options.target, stat->events.machine, &cpus);

	if (!status && perch_targets_add_cgroup(&part->targets, part->cgroup,
						cpus.nr ? &cpus : NULL, stat->events.machine, &err))
		status = cli_error(STAT_COMMAND, &err);
	perch_cpus_clear(&cpus);
	return status;
}

static int choose_targets(struct stat_job *stat, struct stat_part *part)
{
	struct cli_target target = stat->options.target;
	struct perch_error err;
	int status;

	if (*part->cgroup)
		return add_cgroup(stat, part);
	target.cgroups = NULL;
	if (stat->aggregation == STAT_THREAD && target.all_cpus)
		return cli_target_add_processes(STAT_COMMAND, NULL, stat->events.machine,
						&part->targets);
	status = cli_target_choose(STAT_COMMAND, &target, stat->events.machine, &part->targets);
	if (status || part->targets.nr)
		return status;
	/* the program: each run sets its pid */
	return perch_targets_add(&part->targets, &perch_self, &err) ? cli_error(STAT_COMMAND, &err)
								    : 0;
}

static int positive(int number)
{
	return number < 0 ? 0 : number;
}

/* The position of a CPU of this machine, or of the recorded one. */
static void find_topology(struct stat_job *stat, int cpu, struct perch_cpu_topology *topology)
{
	*topology = (struct perch_cpu_topology){ .cpu = cpu };
	if (!stat->options.report)
		perch_machine_cpu_topology(stat->events.machine, cpu, topology, NULL);
	else if ((size_t)cpu < stat->nr_topology)
		*topology = stat->topology[cpu];
}

/* The group of a target. Members that the aggregation does not use stay 0. */
static struct stat_group group_of(struct stat_job *stat, const struct perch_target *target)
{
	struct stat_group group = { 0 };
	struct perch_cpu_topology topology;

	if (stat->aggregation == STAT_GLOBAL)
		return group;
	if (stat->aggregation == STAT_THREAD) {
		group.tid = target->tid;
		return group;
	}
	if (stat->aggregation == STAT_CPU) {
		group.topology.cpu = target->cpu;
		return group;
	}
	find_topology(stat, target->cpu, &topology);
	if (stat->aggregation == STAT_NODE) {
		group.topology.node = positive(topology.node);
		return group;
	}
	group.topology.socket = positive(topology.socket);
	if (stat->aggregation != STAT_SOCKET)
		group.topology.die = positive(topology.die);
	if (stat->aggregation == STAT_CORE)
		group.topology.core = positive(topology.core);
	return group;
}

static int compare_numbers(int one, int other)
{
	return (one > other) - (one < other);
}

static int compare_groups(const void *a, const void *b)
{
	const struct stat_group *one = a, *other = b;
	int order = compare_numbers(one->tid, other->tid);

	/* -A sorts by CPU number, not by topology */
	if (!order)
		order = compare_numbers(one->topology.cpu, other->topology.cpu);
	if (!order)
		order = compare_numbers(one->topology.node, other->topology.node);
	if (!order)
		order = compare_numbers(one->topology.socket, other->topology.socket);
	if (!order)
		order = compare_numbers(one->topology.die, other->topology.die);
	return order ? order : compare_numbers(one->topology.core, other->topology.core);
}

static void read_comm(struct stat_job *stat, struct stat_group *group)
{
	char path[64], comm[sizeof(group->comm)] = "";

	for (size_t i = 0; i < stat->nr_threads; i++)
		if ((pid_t)stat->thread[i].tid == group->tid)
			snprintf(comm, sizeof(comm), "%.*s", (int)sizeof(stat->thread[i].comm),
				 stat->thread[i].comm);
	snprintf(path, sizeof(path), "/proc/%d/comm", group->tid);
	if (!stat->options.report &&
	    perch_machine_read(stat->events.machine, path, comm, sizeof(comm)) <= 0)
		strcpy(comm, "?");
	perch_clean_text(comm, group->comm, sizeof(group->comm));
}

/* Makes the sorted list of groups. */
static int make_groups(struct stat_job *stat)
{
	size_t nr = 0, last = 0;

	for (size_t i = 0; i < stat->nr_parts; i++)
		nr += stat->part[i].targets.nr;
	stat->group = calloc(nr + 1, sizeof(*stat->group));
	if (!stat->group)
		return cli_no_memory(STAT_COMMAND);
	nr = 0;
	for (size_t i = 0; i < stat->nr_parts; i++)
		for (size_t k = 0; k < stat->part[i].targets.nr; k++)
			stat->group[nr++] = group_of(stat, &stat->part[i].targets.target[k]);
	qsort(stat->group, nr, sizeof(*stat->group), compare_groups);
	for (size_t i = 1; i < nr; i++)
		if (compare_groups(&stat->group[last], &stat->group[i]))
			stat->group[++last] = stat->group[i];
	stat->nr_groups = nr ? last + 1 : 0;
	for (size_t i = 0; stat->aggregation == STAT_THREAD && i < stat->nr_groups; i++)
		read_comm(stat, &stat->group[i]);
	return 0;
}

/* True if an event of the part counts cores (percore) or sockets (.per-pkg) on CPUs. */
static bool needs_topology(const struct stat_part *part)
{
	for (size_t i = 0; i < part->events.nr; i++)
		if (part->events.event[i].terms.percore || part->events.event[i].per_package)
			return part->targets.target[0].cpu >= 0;
	return false;
}

static int read_topologies(struct stat_job *stat, struct stat_part *part)
{
	if (!needs_topology(part))
		return 0;
	part->topology = calloc(part->targets.nr, sizeof(*part->topology));
	if (!part->topology)
		return cli_no_memory(STAT_COMMAND);
	for (size_t i = 0; i < part->targets.nr; i++) {
		int cpu = part->targets.target[i].cpu;
		struct perch_cpu_topology topology;

		find_topology(stat, cpu, &topology);
		part->topology[i] = (struct perch_cpu_topology){ cpu, positive(topology.core),
								 positive(topology.die),
								 positive(topology.socket),
								 positive(topology.node) };
	}
	return 0;
}

static int assign_groups(struct stat_job *stat, struct stat_part *part, bool first)
{
	size_t counts = part->events.nr * part->targets.nr;

	part->group = calloc(part->targets.nr, sizeof(*part->group));
	part->now = calloc(counts, sizeof(*part->now));
	part->before = calloc(counts, sizeof(*part->before));
	if (!part->group || !part->now || !part->before)
		return cli_no_memory(STAT_COMMAND);
	for (size_t i = 0; i < part->targets.nr; i++) {
		struct stat_group key = group_of(stat, &part->targets.target[i]);
		struct stat_group *group =
			bsearch(&key, stat->group, stat->nr_groups, sizeof(key), compare_groups);

		part->group[i] = group - stat->group;
		group->nr += first;
	}
	return read_topologies(stat, part);
}

int stat_group_targets(struct stat_job *stat)
{
	int status = make_groups(stat);

	for (size_t i = 0; !status && i < stat->nr_parts; i++)
		status = assign_groups(stat, &stat->part[i], i == 0);
	if (status)
		return status;
	stat->cells = calloc(stat->nr_lines * stat->nr_groups + 1, sizeof(*stat->cells));
	if (!stat->cells)
		return cli_no_memory(STAT_COMMAND);
	for (size_t i = 0; i < stat->nr_lines; i++)
		stat->line[i].cell = stat->cells + i * stat->nr_groups;
	return 0;
}

int stat_choose_targets(struct stat_job *stat)
{
	bool has_target = cli_target_has_tasks(&stat->options.target) ||
			  cli_target_system_wide(&stat->options.target);
	int status = 0;

	if (!has_target && !stat->argv)
		return cli_usage_error(
			STAT_COMMAND,
			"nothing to count: name a program, or add -p PID, -t TID, -u USER, -a or -C CPUS");
	/* reports options that exclude each other, also if there is nothing to count */
	if (stat->options.target.cgroups || !stat->nr_parts) {
		struct perch_targets unused = { 0 };

		status = cli_target_choose(STAT_COMMAND, &stat->options.target,
					   stat->events.machine, &unused);
		perch_targets_clear(&unused);
	}
	for (size_t i = 0; !status && i < stat->nr_parts; i++)
		status = choose_targets(stat, &stat->part[i]);
	return status ? status : stat_group_targets(stat);
}
