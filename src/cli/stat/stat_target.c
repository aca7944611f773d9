/* SPDX-License-Identifier: MIT */
/* Whom `perch stat` counts, and which of them are added up. */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "stat.h"

static int no_memory(void)
{
	struct perch_error err;

	perch_error_set(&err, ENOMEM, PERCH_ERROR_NO_MEMORY, "no memory for the list of targets");
	return cli_error(STAT_COMMAND, &err);
}

/* Every thread there is. One that ends while we look is no mistake. */
static int add_all_threads(struct stat_job *stat, struct perch_targets *targets)
{
	char path[PATH_MAX];
	struct perch_error err;
	struct dirent *entry;
	DIR *folder;
	int rc = 0;

	if (perch_machine_path(stat->machine, path, sizeof(path), "/proc") < 0)
		return CLI_EXIT_FAILURE;
	folder = opendir(path);
	while (folder && !rc && (entry = readdir(folder))) {
		long pid = strtol(entry->d_name, NULL, 10);

		if (pid > 0)
			rc = perch_targets_add_process(targets, pid, stat->machine, &err);
		if (rc == -ESRCH)
			rc = 0;
	}
	if (folder)
		closedir(folder);
	return rc ? cli_error(STAT_COMMAND, &err) : 0;
}

static int add_cgroup(struct stat_job *stat, struct stat_part *part)
{
	struct perch_cpus cpus;
	struct perch_error err;
	int status = cli_target_cpus(STAT_COMMAND, &stat->target, stat->machine, &cpus);

	if (!status && perch_targets_add_cgroup(&part->targets, part->cgroup,
						cpus.nr ? &cpus : NULL, stat->machine, &err))
		status = cli_error(STAT_COMMAND, &err);
	perch_cpus_clear(&cpus);
	return status;
}

static int choose(struct stat_job *stat, struct stat_part *part)
{
	struct cli_target target = stat->target;
	struct perch_error err;
	int status;

	if (*part->cgroup)
		return add_cgroup(stat, part);
	target.cgroups = NULL;
	if (stat->aggregation == STAT_THREAD && target.all_cpus)
		return add_all_threads(stat, &part->targets);
	status = cli_target_choose(STAT_COMMAND, &target, stat->machine, &part->targets);
	if (status || part->targets.nr)
		return status;
	/* the program: its pid comes with each run */
	return perch_targets_add(&part->targets, &perch_self, &err) ? cli_error(STAT_COMMAND, &err)
								    : 0;
}

static int positive(int number)
{
	return number < 0 ? 0 : number;
}

/* The group that a target belongs to: what the aggregation does not tell apart stays 0. */
static struct stat_group group_of(struct stat_job *stat, const struct perch_target *target)
{
	struct stat_group group = { 0 };
	struct perch_cpu_topology place = { .cpu = target->cpu };

	if (stat->aggregation == STAT_GLOBAL)
		return group;
	if (stat->aggregation == STAT_THREAD) {
		group.tid = target->pid;
		return group;
	}
	if (stat->aggregation == STAT_CPU) {
		group.place.cpu = target->cpu;
		return group;
	}
	perch_machine_cpu_topology(stat->machine, target->cpu, &place, NULL);
	if (stat->aggregation == STAT_NODE) {
		group.place.node = positive(place.node);
		return group;
	}
	group.place.socket = positive(place.socket);
	if (stat->aggregation != STAT_SOCKET)
		group.place.die = positive(place.die);
	if (stat->aggregation == STAT_CORE)
		group.place.core = positive(place.core);
	return group;
}

static int compare(int one, int other)
{
	return (one > other) - (one < other);
}

static int compare_groups(const void *a, const void *b)
{
	const struct stat_group *one = a, *other = b;
	int order = compare(one->tid, other->tid);

	/* -A shows CPUs in their own order, wherever they sit */
	if (!order)
		order = compare(one->place.cpu, other->place.cpu);
	if (!order)
		order = compare(one->place.node, other->place.node);
	if (!order)
		order = compare(one->place.socket, other->place.socket);
	if (!order)
		order = compare(one->place.die, other->place.die);
	return order ? order : compare(one->place.core, other->place.core);
}

static void read_comm(struct stat_job *stat, struct stat_group *group)
{
	char path[64], comm[sizeof(group->comm)];

	snprintf(path, sizeof(path), "/proc/%d/comm", group->tid);
	if (perch_machine_read(stat->machine, path, comm, sizeof(comm)) <= 0)
		strcpy(comm, "?");
	perch_clean_text(group->comm, sizeof(group->comm), comm);
}

/* All groups, sorted, each once; then the number of its group for each target. */
static int make_groups(struct stat_job *stat)
{
	size_t nr = 0, kept = 0;

	for (size_t i = 0; i < stat->nr_parts; i++)
		nr += stat->part[i].targets.nr;
	stat->group = calloc(nr + 1, sizeof(*stat->group));
	if (!stat->group)
		return no_memory();
	nr = 0;
	for (size_t i = 0; i < stat->nr_parts; i++)
		for (size_t k = 0; k < stat->part[i].targets.nr; k++)
			stat->group[nr++] = group_of(stat, &stat->part[i].targets.target[k]);
	qsort(stat->group, nr, sizeof(*stat->group), compare_groups);
	for (size_t i = 1; i < nr; i++)
		if (compare_groups(&stat->group[kept], &stat->group[i]))
			stat->group[++kept] = stat->group[i];
	stat->nr_groups = nr ? kept + 1 : 0;
	for (size_t i = 0; stat->aggregation == STAT_THREAD && i < stat->nr_groups; i++)
		read_comm(stat, &stat->group[i]);
	return 0;
}

/* Whether an event of the part counts a core (percore) or a socket (.per-pkg): then it matters
 * where CPUs sit. */
static bool counts_places(const struct stat_part *part)
{
	for (size_t i = 0; i < part->events.nr; i++)
		if (part->events.event[i].terms.percore || part->events.event[i].per_package)
			return part->targets.target[0].cpu >= 0;
	return false;
}

static int find_places(struct stat_job *stat, struct stat_part *part)
{
	if (!counts_places(part))
		return 0;
	part->place = calloc(part->targets.nr, sizeof(*part->place));
	if (!part->place)
		return no_memory();
	for (size_t i = 0; i < part->targets.nr; i++) {
		int cpu = part->targets.target[i].cpu;
		struct perch_cpu_topology place = { .cpu = cpu };

		perch_machine_cpu_topology(stat->machine, cpu, &place, NULL);
		part->place[i] =
			(struct perch_cpu_topology){ cpu, positive(place.core), positive(place.die),
						     positive(place.socket), positive(place.node) };
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
		return no_memory();
	for (size_t i = 0; i < part->targets.nr; i++) {
		struct stat_group key = group_of(stat, &part->targets.target[i]);
		struct stat_group *group =
			bsearch(&key, stat->group, stat->nr_groups, sizeof(key), compare_groups);

		part->group[i] = group - stat->group;
		group->nr += first;
	}
	return find_places(stat, part);
}

int stat_choose_targets(struct stat_job *stat)
{
	bool anyone = stat->target.pids || stat->target.tids ||
		      cli_target_system_wide(&stat->target);
	int status = 0;

	if (!anyone && !stat->argv)
		return cli_usage_error(STAT_COMMAND,
				       "no program to run, and none of -p, -t, -a and -C");
	/* what contradicts itself, even where nothing is counted */
	if (stat->target.cgroups || !stat->nr_parts) {
		struct perch_targets unused = { 0 };

		status = cli_target_choose(STAT_COMMAND, &stat->target, stat->machine, &unused);
		perch_targets_clear(&unused);
	}
	for (size_t i = 0; !status && i < stat->nr_parts; i++)
		status = choose(stat, &stat->part[i]);
	if (!status)
		status = make_groups(stat);
	for (size_t i = 0; !status && i < stat->nr_parts; i++)
		status = assign_groups(stat, &stat->part[i], i == 0);
	if (status)
		return status;
	stat->cells = calloc(stat->nr_lines * stat->nr_groups + 1, sizeof(*stat->cells));
	if (!stat->cells)
		return no_memory();
	for (size_t i = 0; i < stat->nr_lines; i++)
		stat->line[i].cell = stat->cells + i * stat->nr_groups;
	return 0;
}
