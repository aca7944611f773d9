/* SPDX-License-Identifier: MIT */
/* Paths of descriptors, and the cgroup hierarchies that have them. Not cached. */
#ifndef PERCH_MACHINE_DESCRIPTOR_H
#define PERCH_MACHINE_DESCRIPTOR_H

#include <perch/machine.h>

/*
 * Writes the path of an open descriptor of the process. Returns 0, -EBADF if it is not open, or
 * another negative errno. A path that does not fit is an error.
 */
int perch__descriptor_path(const struct perch_machine *machine, int fd, char *path, size_t size);
/*
 * Finds the mounted cgroup hierarchy that has the path: "cgroup2", or "cgroup v1: " and its
 * controllers. Returns false if no hierarchy has it, or if the mounts are unknown.
 */
bool perch__cgroup_hierarchy(struct perch_machine *machine, const char *path, char *name,
			     size_t size);

#endif
