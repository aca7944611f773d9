/* SPDX-License-Identifier: MIT */
/* The path of a descriptor of the process. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "descriptor.h"
#include "internal.h"

int perch__descriptor_path(const struct perch_machine *machine, int fd, char *path, size_t size)
{
	char name[32], of_process[64], link[PATH_MAX];
	ssize_t length;

	snprintf(name, sizeof(name), "/fd/%d", fd);
	perch__process_path(machine, of_process, sizeof(of_process), name);
	if (perch_machine_path(machine, of_process, link, sizeof(link)) < 0)
		return -ENAMETOOLONG;
	length = readlink(link, path, size);
	if (length < 0 && errno == ENOENT) {
		*strrchr(link, '/') = '\0';
		return access(link, F_OK) ? -ENOENT : -EBADF;
	}
	if (length < 0)
		return -errno;
	if ((size_t)length >= size)
		return -ENAMETOOLONG;
	path[length] = '\0';
	return 0;
}
