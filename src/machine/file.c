/* SPDX-License-Identifier: MIT */
/* Reads small files below the root directory of a machine. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/files/io.h"
#include "internal.h"

int perch_machine_path(const struct perch_machine *machine, const char *path, char *buffer,
		       size_t size)
{
	int length = snprintf(buffer, size, "%s%s", machine ? machine->root : "", path);

	return length < 0 || (size_t)length >= size ? -ENAMETOOLONG : length;
}

ssize_t perch__read_at(int directory, const char *path, char *buffer, size_t size)
{
	ssize_t used;
	int fd;

	if (!size)
		return -EINVAL;
	fd = openat(directory, path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0)
		return -errno;
	used = perch__read_upto(fd, buffer, size - 1);
	close(fd);
	if (used < 0)
		return used;
	while (used && buffer[used - 1] == '\n')
		used--;
	buffer[used] = 0;
	return used;
}

ssize_t perch_machine_read(const struct perch_machine *machine, const char *path, char *buffer,
			   size_t size)
{
	char whole[PATH_MAX];
	int rc = perch_machine_path(machine, path, whole, sizeof(whole));

	return rc < 0 ? rc : perch__read_at(AT_FDCWD, whole, buffer, size);
}

int perch__read_number(const struct perch_machine *machine, const char *path, long *value)
{
	char text[64], *end;
	ssize_t got = perch_machine_read(machine, path, text, sizeof(text));

	if (got < 0)
		return got;
	errno = 0;
	*value = strtol(text, &end, 10);
	return errno || end == text ? -EBADMSG : 0;
}
