/* SPDX-License-Identifier: MIT */
/* The user of a process. */
#ifndef PERCH_BASE_PROCESS_OWNER_H
#define PERCH_BASE_PROCESS_OWNER_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * Reads the real and the effective user of a process. A process that changes its user has one of
 * them in the files that it makes. Returns 0, or a negative errno: the process has ended.
 */
int perch__process_users(unsigned pid, uid_t user[2]);
/* True if the process runs with the user as the real or the effective one. */
bool perch__process_has_user(unsigned pid, uid_t user);

#endif
