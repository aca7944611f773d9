/* SPDX-License-Identifier: MIT */
/* Checks of targets, which the modules to the right use too. */
#ifndef PERCH_OPEN_TARGET_H
#define PERCH_OPEN_TARGET_H

#include <perch/open.h>

/* Checks cgroup_fd before the system call. target may be NULL. */
int perch__check_target(const struct perch_target *target, struct perch_error *err);

#endif
