/* SPDX-License-Identifier: MIT */
/* The user of a process. */
#ifndef PERCH_BASE_PROCESS_OWNER_H
#define PERCH_BASE_PROCESS_OWNER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <perch/abi.h>

/*
 * Reads the real and the effective user of a process. A process that changes its user has one of
 * them in the files that it makes. Returns 0, or a negative errno: the process has ended.
 */
int perch__process_users(unsigned pid, uid_t user[2]);
/*
 * A user of a process, in recordings: a record of the type HEADER_EVENT_TYPE, which perf has left
 * out since 3.11. A section with a number of perch's own makes perf inject read outside of a table.
 */
struct perch__user_record {
	struct perch_record_header header;
	uint32_t pid, user;
	char name[64]; /* PERCH__USER_RECORD_NAME */
};
#define PERCH__USER_RECORD_NAME "perch: user of a process"

static inline bool perch__is_one_of_users(const uint32_t *users, uint32_t nr, uid_t user)
{
	for (uint32_t i = 0; i < nr; i++)
		if (users[i] == user)
			return true;
	return false;
}

/* True if the process runs with the user as the real or the effective one. */
bool perch__process_has_user(unsigned pid, uid_t user);

#endif
