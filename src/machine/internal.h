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

/* A NUMA node and the CPUs that belong to it. */
struct node {
	int number;
	struct perch_cpus cpus;
};

struct perch_machine {
	char root[PATH_MAX];		/* without a slash at its end; "" for this machine */
	const struct perch_calls *calls;
	struct kept sysctl[PERCH_SYSCTL_MAX];
	struct kept capabilities;
	bool release_known, cpus_known, pmus_known, nodes_known;
	struct perch_release release;
	struct perch_cpus cpus;
	struct perch_pmu *pmu;
	size_t nr_pmus;
	struct node *node;
	size_t nr_nodes;
};

/* Reads a list of CPUs from a file of the machine; the caller frees it. */
int perch__read_cpus(struct perch_machine *machine, const char *path, struct perch_cpus *cpus,
		     struct perch_error *err);
void perch__forget_nodes(struct perch_machine *machine);

#endif
