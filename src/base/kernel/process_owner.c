/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>

#include "process_owner.h"

int perch__process_users(unsigned pid, uid_t user[2])
{
	char path[64], line[256];
	bool found = false;
	FILE *status;

	snprintf(path, sizeof(path), "/proc/%u/status", pid);
	status = fopen(path, "re");
	if (!status)
		return -errno;
	while (!found && fgets(line, sizeof(line), status))
		found = sscanf(line, "Uid: %u %u", &user[0], &user[1]) == 2;
	fclose(status);
	return found ? 0 : -ESRCH;
}

bool perch__process_has_user(unsigned pid, uid_t user)
{
	uid_t of_process[2];

	return !perch__process_users(pid, of_process) &&
	       (of_process[0] == user || of_process[1] == user);
}
