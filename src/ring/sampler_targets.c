/* SPDX-License-Identifier: MIT */
/*
 * The targets of a sampler: the caller's lists, with one element for each CPU. A list without a
 * CPU is for all online CPUs; with .per_thread its threads are opened on any CPU.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/reserved.h"
#include "base/no_memory.h"
#include "internal.h"
#include "open/target.h"

static struct perch_target self = { .cpu = -1 };
static const struct perch_targets calling_thread = { .nr = 1, .target = &self };

/* Returns a free element, or a new one; NULL if out of memory. */
static struct perch__sampler_target *new_target(struct perch_sampler *sampler)
{
	for (size_t i = 0; i < sampler->nr_targets && sampler->has_free; i++)
		if (sampler->targets[i].free)
			return &sampler->targets[i];
	sampler->has_free = false;
	return PERCH__ARRAY_APPEND(sampler->targets, sampler->nr_targets,
				   sampler->targets_capacity);
}

static int add_target(struct perch_sampler *sampler, const struct perch_target *target, int cpu,
		      const void *list, bool tracking_only, struct perch_error *err)
{
	struct perch__sampler_target *added = new_target(sampler);

	if (!added)
		return PERCH__NO_MEMORY(err, "for a sampler");
	*added = (struct perch__sampler_target){
		.target = *target,
		.list = list,
		.tracking_only = tracking_only,
		.added = true,
		.ring = { PERCH__NO_INDEX, PERCH__NO_INDEX },
	};
	added->target.cpu = cpu;
	return 0;
}

static int add_on_cpus(struct perch_sampler *sampler, const struct perch_target *target,
		       const void *list, struct perch_error *err)
{
	const struct perch_cpus *online;
	int rc;

	if (target->cpu >= 0 || sampler->per_thread)
		return add_target(sampler, target, target->cpu, list, false, err);
	rc = perch_machine_cpus(sampler->machine, &online, err);
	for (size_t i = 0; rc >= 0 && i < online->nr; i++)
		rc = add_target(sampler, target, online->cpu[i], list, false, err);
	return rc;
}

static int check_target(const struct perch_sampler *sampler, const struct perch_target *target,
			struct perch_error *err)
{
	int rc = perch__check_listed_target(target, err);

	if (rc < 0)
		return rc;
	if (!sampler->per_thread || (target->tid >= 0 && target->cpu < 0 && !target->use_cgroup))
		return 0;
	perch_error_set(
		err, EINVAL, PERCH_ERROR_BAD_TARGET,
		".per_thread needs threads on any CPU as targets (tid >= 0, cpu -1), not %s",
		target->use_cgroup ? "a cgroup"
		: target->tid < 0  ? "all processes"
				   : "a thread on one CPU");
	perch_error_remedy(err, "set cpu to -1, or sample without .per_thread");
	return -EINVAL;
}

static int add_list(struct perch_sampler *sampler, const struct perch_targets *targets,
		    const void *list, struct perch_error *err)
{
	int rc = 0;

	if (PERCH__CHECK_RESERVED(targets, "perch_targets", err))
		return -EINVAL;
	if (!targets->nr) {
		perch_error_set(err, EINVAL, PERCH_ERROR_USAGE,
				"a list of targets of the sampler is empty");
		perch_error_remedy(err, "add targets, or pass NULL for the calling thread");
		return -EINVAL;
	}
	for (size_t i = 0; rc >= 0 && i < targets->nr; i++) {
		rc = check_target(sampler, &targets->target[i], err);
		if (rc >= 0)
			rc = add_on_cpus(sampler, &targets->target[i], list, err);
	}
	return rc;
}

/* Adds the lists of .event_targets, each once: events of one list are opened together. */
static int add_event_lists(struct perch_sampler *sampler, const struct perch_targets *const *lists,
			   size_t nr, struct perch_error *err)
{
	int rc = 0;

	for (size_t i = 0; rc >= 0 && i < nr; i++) {
		size_t same = 0;

		sampler->events[i].list = lists[i];
		while (lists[same] != lists[i])
			same++;
		if (lists[i] && same == i)
			rc = add_list(sampler, lists[i], lists[i], err);
	}
	return rc;
}

/* ---- The tracking event on all online CPUs ---- */

static int compare_task(const struct perch_target *a, const struct perch_target *b)
{
	if (a->tid != b->tid)
		return a->tid < b->tid ? -1 : 1;
	return (a->cgroup_fd > b->cgroup_fd) - (a->cgroup_fd < b->cgroup_fd);
}

static int by_task(const void *left, const void *right)
{
	const struct perch_target *a = left, *b = right;
	int task = compare_task(a, b);

	return task ? task : (a->cpu > b->cpu) - (a->cpu < b->cpu);
}

/* Adds the CPUs that are missing among the targets of one thread or cgroup. */
static int add_missing(struct perch_sampler *sampler, const struct perch_target *targets, size_t nr,
		       const struct perch_cpus *online, struct perch_error *err)
{
	int rc = 0;

	for (size_t i = 0; rc >= 0 && i < online->nr; i++) {
		size_t k = 0;

		while (k < nr && targets[k].cpu != online->cpu[i])
			k++;
		if (k == nr)
			rc = add_target(sampler, &targets[0], online->cpu[i], NULL, true, err);
	}
	return rc;
}

static int add_tracking_targets(struct perch_sampler *sampler, struct perch_error *err)
{
	struct perch_target *targets = calloc(sampler->nr_targets, sizeof(*targets));
	const struct perch_cpus *online;
	size_t nr = 0, end;
	int rc;

	if (!targets)
		return PERCH__NO_MEMORY(err, "for a sampler");
	rc = perch_machine_cpus(sampler->machine, &online, err);
	for (size_t i = 0; i < sampler->nr_targets; i++)
		if (!sampler->targets[i].list)
			targets[nr++] = sampler->targets[i].target;
	qsort(targets, nr, sizeof(*targets), by_task);
	for (size_t first = 0; rc >= 0 && first < nr; first = end) {
		for (end = first + 1; end < nr && !compare_task(&targets[first], &targets[end]);)
			end++;
		rc = add_missing(sampler, &targets[first], end - first, online, err);
	}
	free(targets);
	return rc;
}

/* ---- Order ---- */

struct position {
	struct perch__sampler_target target;
	size_t index;
};

static int by_cpu(const void *left, const void *right)
{
	const struct position *a = left, *b = right;

	if (a->target.target.cpu != b->target.target.cpu)
		return a->target.target.cpu < b->target.target.cpu ? -1 : 1;
	return a->index < b->index ? -1 : 1;
}

/* All targets of a CPU follow each other, in the order of the lists. */
static int sort_by_cpu(struct perch_sampler *sampler, struct perch_error *err)
{
	struct position *positions = calloc(sampler->nr_targets, sizeof(*positions));

	if (!positions)
		return PERCH__NO_MEMORY(err, "for a sampler");
	for (size_t i = 0; i < sampler->nr_targets; i++)
		positions[i] = (struct position){ sampler->targets[i], i };
	qsort(positions, sampler->nr_targets, sizeof(*positions), by_cpu);
	for (size_t i = 0; i < sampler->nr_targets; i++)
		sampler->targets[i] = positions[i].target;
	free(positions);
	return 0;
}

int perch__sampler_resolve_targets(struct perch_sampler *sampler,
				   const struct perch_targets *targets,
				   const struct perch_sampler_options *options, size_t nr_events,
				   struct perch_error *err)
{
	int rc = add_list(sampler, targets ? targets : &calling_thread, NULL, err);

	if (rc >= 0 && options->event_targets)
		rc = add_event_lists(sampler, options->event_targets, nr_events, err);
	if (rc >= 0 && options->tracking_event && options->event.sideband && !sampler->per_thread)
		rc = add_tracking_targets(sampler, err);
	return rc < 0 ? rc : sort_by_cpu(sampler, err);
}

/* ---- Added threads ---- */

/* A thread is added on the CPUs that the sampler's rings have. */
int perch__sampler_add_thread_targets(struct perch_sampler *sampler, pid_t tid,
				      struct perch_error *err)
{
	const struct perch_target thread = { .tid = tid, .cpu = -1 };
	int rc = 0;

	if (sampler->per_thread)
		return add_target(sampler, &thread, -1, NULL, false, err);
	for (size_t i = 0; rc >= 0 && i < sampler->nr_rings; i++) {
		const struct perch__sampler_ring *ring = &sampler->rings[i];
		size_t owner = ring->owner / sampler->nr_events, same = 0;

		/* with .overwrite a CPU may have two rings */
		while (sampler->rings[same].cpu != ring->cpu)
			same++;
		if (same == i)
			rc = add_target(sampler, &thread, ring->cpu, NULL,
					sampler->targets[owner].tracking_only, err);
	}
	return rc;
}
