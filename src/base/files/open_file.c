/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "open_file.h"

enum { OPEN_FLAGS = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK };

/*
 * Opens one component of the path after the other, and follows no symbolic links. For kernels
 * without openat2(2) (before 5.6) and sandboxes that forbid it.
 */
static int walk_below(int at, const char *path, int flags)
{
	char part[NAME_MAX + 1];
	int dir = fcntl(at, F_DUPFD_CLOEXEC, 0);

	while (dir >= 0) {
		size_t length = strcspn(path += strspn(path, "/"), "/");
		bool last = !path[length + strspn(path + length, "/")];
		int next;

		if (!length || length > NAME_MAX)
			next = -1, errno = length ? ENAMETOOLONG : ENOENT;
		else {
			memcpy(part, path, length);
			part[length] = 0;
			next = strcmp(part, "..") ? openat(dir, part,
							   last ? flags | O_NOFOLLOW
								: O_PATH | O_CLOEXEC | O_NOFOLLOW)
						  : (errno = EXDEV, -1);
		}
		int error = errno;

		close(dir);
		errno = error;
		if (last || next < 0)
			return next < 0 ? -errno : next;
		dir = next;
		path += length;
	}
	return -errno;
}

static int open_below(const char *root, const char *path, int flags)
{
	struct open_how how = { .flags = (uint64_t)flags,
				.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS };
	int at = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int fd;

	if (at < 0)
		return -errno;
	fd = (int)syscall(SYS_openat2, at, path, &how, sizeof(how));
	if (fd < 0)
		fd = errno == ENOSYS || errno == EPERM ? walk_below(at, path, flags) : -errno;
	close(at);
	return fd;
}

static int open_path(const char *root, const char *path, int flags)
{
	int fd;

	if (root)
		return open_below(root, path, flags);
	fd = open(path, flags);
	return fd < 0 ? -errno : fd;
}

static int check_regular(int fd)
{
	struct stat status;

	if (fstat(fd, &status))
		return -errno;
	if (S_ISDIR(status.st_mode))
		return -EISDIR;
	return S_ISREG(status.st_mode) ? 0 : -ENXIO;
}

int perch__open_regular(const char *root, const char *path)
{
	/* O_PATH first: opening a device or a FIFO can have side effects */
	int path_fd = open_path(root, path, O_PATH | O_CLOEXEC);
	int rc, fd;

	if (path_fd < 0)
		return path_fd;
	rc = check_regular(path_fd);
	close(path_fd);
	if (rc)
		return rc;
	fd = open_path(root, path, OPEN_FLAGS);
	if (fd < 0)
		return fd;
	rc = check_regular(fd);
	if (rc) {
		close(fd);
		return rc;
	}
	return fd;
}
