/* SPDX-License-Identifier: MIT */
/* Targets on certain CPUs: all processes, a cgroup, or a thread. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/no_memory.h"
#include "internal.h"

/* The CPUs to use. */
struct choice {
	struct perch_machine *own; /* made here if the caller passes no machine */
	const struct perch_cpus *cpus;
};

static int choose(struct choice *choice, const struct perch_cpus *cpus,
		  struct perch_machine *machine, struct perch_error *err)
{
	const struct perch_cpus *online;
	int rc = 0;

	*choice = (struct choice){ NULL, NULL };
	if (cpus && !cpus->nr)
		return perch_error_set(err, EINVAL, PERCH_ERROR_NO_CPU,
				       "the list of CPUs is empty");
	if (!machine) {
		rc = perch_machine_new(&choice->own, NULL, NULL, err);
		machine = choice->own;
	}
	if (!rc)
		rc = perch_machine_cpus(machine, &online, err);
	for (size_t i = 0; !rc && cpus && i < cpus->nr; i++) {
		if (perch_cpus_contains(online, cpus->cpu[i]))
			continue;
		rc = perch_error_set(err, ENODEV, PERCH_ERROR_NO_CPU,
				     "CPU %d is offline or does not exist", cpus->cpu[i]);
		perch_error_field(err, "cpu", NULL);
		perch_error_remedy(err, "/sys/devices/system/cpu/online lists the online CPUs");
	}
	if (rc) {
		perch_machine_free(choice->own);
		return rc;
	}
	choice->cpus = cpus ? cpus : online;
	return 0;
}

/* Adds the target on each of the CPUs. */
static int add_on_each(struct perch_targets *targets, const struct perch_target *target,
		       const struct perch_cpus *cpus, struct perch_machine *machine,
		       struct perch_error *err)
{
	struct choice choice;
	int rc = choose(&choice, cpus, machine, err);

	if (rc)
		return rc;
	rc = perch__targets_reserve(targets, choice.cpus->nr, err);
	for (size_t i = 0; !rc && i < choice.cpus->nr; i++) {
		targets->target[targets->nr] = *target;
		targets->target[targets->nr++].cpu = choice.cpus->cpu[i];
	}
	perch_machine_free(choice.own);
	return rc;
}

int perch_targets_add_cpus(struct perch_targets *targets, const struct perch_cpus *cpus,
			   struct perch_machine *machine, struct perch_error *err)
{
	const struct perch_target all_processes = { .tid = -1, .cpu = -1 };

	return add_on_each(targets, &all_processes, cpus, machine, err);
}

static int add_cgroup_fd(struct perch_targets *targets, int fd, struct perch_error *err)
{
	if (PERCH__ARRAY_RESERVE_BY_NR(targets->cgroup, targets->nr_cgroups, 1))
		return PERCH__NO_MEMORY(err, "for a list of targets");
	targets->cgroup[targets->nr_cgroups++] = fd;
	return 0;
}

int perch_targets_add_cgroup(struct perch_targets *targets, const char *path,
			     const struct perch_cpus *cpus, struct perch_machine *machine,
			     struct perch_error *err)
{
	struct perch_target cgroup = { .tid = -1, .cpu = -1 };
	size_t nr = targets->nr;
	int fd = perch__open_cgroup(path, machine, err), rc;

	if (fd < 0)
		return fd;
	cgroup.cgroup_fd = fd;
	cgroup.use_cgroup = 1;
	rc = add_on_each(targets, &cgroup, cpus, machine, err);
	if (!rc)
		rc = add_cgroup_fd(targets, fd, err);
	if (rc) {
		targets->nr = nr;
		close(fd);
	}
	return rc;
}

int perch_targets_split(struct perch_targets *targets, const struct perch_cpus *cpus,
			struct perch_machine *machine, struct perch_error *err)
{
	struct perch_targets split = { 0 };
	struct choice choice;
	int rc = choose(&choice, cpus, machine, err);

	if (rc)
		return rc;
	for (size_t i = 0; !rc && i < targets->nr; i++) {
		size_t more = targets->target[i].cpu < 0 ? choice.cpus->nr : 1;

		rc = perch__targets_reserve(&split, more, err);
		for (size_t k = 0; !rc && k < more; k++) {
			split.target[split.nr] = targets->target[i];
			if (targets->target[i].cpu < 0)
				split.target[split.nr].cpu = choice.cpus->cpu[k];
			split.nr++;
		}
	}
	perch_machine_free(choice.own);
	if (rc) {
		free(split.target);
		return rc;
	}
	free(targets->target);
	targets->target = split.target;
	targets->nr = split.nr;
	return 0;
}

void perch_targets_clear(struct perch_targets *targets)
{
	if (!targets)
		return;
	for (size_t i = 0; i < targets->nr_cgroups; i++)
		close(targets->cgroup[i]);
	free(targets->cgroup);
	free(targets->target);
	memset(targets, 0, sizeof(*targets));
}
