/* SPDX-License-Identifier: MIT */
/* Functions on targets and descriptors that the modules to the right use too. */
#ifndef PERCH_OPEN_TARGET_H
#define PERCH_OPEN_TARGET_H

#include <perch/open.h>

/* Checks cgroup_fd before the system call. target may be NULL. */
int perch__check_target(const struct perch_target *target, struct perch_error *err);
/*
 * Checks a target of a list: tid and cpu too. perch_open() leaves these to the kernel, whose
 * refusal is explained.
 */
int perch__check_listed_target(const struct perch_target *target, struct perch_error *err);
/* Clears FD_CLOEXEC of an open event if the options have no_cloexec. */
void perch__apply_cloexec(int fd, const struct perch_options *options);

#endif
