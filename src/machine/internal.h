/* SPDX-License-Identifier: MIT */
#ifndef PERCH_MACHINE_INTERNAL_H
#define PERCH_MACHINE_INTERNAL_H

#include <limits.h>
#include <perch/machine.h>

/* A fact that is read when first asked for. */
struct kept {
	bool known;
	int error;			/* 0 or a negative errno */
	uint64_t value;
};

struct perch_machine {
	char root[PATH_MAX];		/* without a slash at its end; "" for this machine */
	const struct perch_calls *calls;
	struct kept sysctl[PERCH_SYSCTL_MAX];
	struct kept capabilities;
	bool release_known, cpus_known, pmus_known;
	struct perch_release release;
	struct perch_cpus cpus;
	struct perch_pmu *pmu;
	size_t nr_pmus;
};

#endif
