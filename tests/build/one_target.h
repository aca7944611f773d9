/* SPDX-License-Identifier: MIT */
/* Lists of targets. */
#ifndef TESTS_BUILD_ONE_TARGET_H
#define TESTS_BUILD_ONE_TARGET_H

#include <stdlib.h>

#include <perch/open.h>

/* A list of one target, for the current block. */
#define ONE_TARGET(target_) \
	(&(const struct perch_targets){ .nr = 1, .target = (struct perch_target *)(target_) })

/* Each thread on each CPU; NULL is any. The CPUs need not be online. */
static inline struct perch_targets make_targets(const pid_t *tids, size_t nr,
						const struct perch_cpus *cpus)
{
	size_t each = cpus ? cpus->nr : 1;
	struct perch_targets targets = { .target = calloc(nr * each, sizeof(*targets.target)) };

	for (size_t i = 0; i < nr; i++)
		for (size_t k = 0; k < each; k++)
			targets.target[targets.nr++] =
				(struct perch_target){ .tid = tids[i],
						       .cpu = cpus ? cpus->cpu[k] : -1 };
	return targets;
}

#endif
