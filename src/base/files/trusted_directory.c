/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trusted_directory.h"

enum { MOST_LINKS = 40 };

static int refuse_owner(struct perch__trusted_directory *directory, unsigned owner)
{
	directory->owner = owner;
	directory->refused = true;
	return -EPERM;
}

static bool trusted(unsigned owner)
{
	return !owner || owner == geteuid();
}

/* Where a path leads. */
struct path_walk {
	struct perch__trusted_directory *directory;
	int dir;
	char rest[PATH_MAX], part[NAME_MAX + 1];
	unsigned links;
};

static int open_again(struct path_walk *walk, const char *path)
{
	int dir = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int error = errno;

	if (walk->dir >= 0)
		close(walk->dir);
	walk->dir = dir;
	return dir < 0 ? -error : 0;
}

/* Takes the next component from the rest. Returns false after the last one. */
static int next_part(struct path_walk *walk)
{
	char *at = walk->rest + strspn(walk->rest, "/");
	size_t length = strcspn(at, "/");

	if (!length)
		return 0;
	if (length > NAME_MAX)
		return -ENAMETOOLONG;
	memcpy(walk->part, at, length);
	walk->part[length] = 0;
	memmove(walk->rest, at + length, strlen(at + length) + 1);
	return 1;
}

/*
 * With sudo, HOME may be that of the user: a directory that belongs to root would be of no use to
 * that user, so none is made.
 */
static int make_part(struct path_walk *walk)
{
	struct stat status;

	if (fstat(walk->dir, &status))
		return -errno;
	if (!trusted(status.st_uid))
		return refuse_owner(walk->directory, status.st_uid);
	if (!mkdirat(walk->dir, walk->part, walk->directory->mode) || errno == EEXIST)
		return 0;
	return -errno;
}

/* A symbolic link of another user would choose where root writes files. */
static int enter_link(struct path_walk *walk, int link, const struct stat *status)
{
	char target[PATH_MAX];
	ssize_t length;

	if (!trusted(status->st_uid))
		return refuse_owner(walk->directory, status->st_uid);
	length = readlinkat(link, "", target, sizeof(target) - 1);
	if (length < 0)
		return -errno;
	target[length] = 0;
	if (++walk->links > MOST_LINKS)
		return -ELOOP;
	if ((size_t)length + strlen(walk->rest) + 2 > sizeof(walk->rest))
		return -ENAMETOOLONG;
	memmove(walk->rest + length, walk->rest, strlen(walk->rest) + 1);
	memcpy(walk->rest, target, (size_t)length);
	return *target == '/' ? open_again(walk, "/") : 0;
}

static int enter_part(struct path_walk *walk)
{
	int flags = O_PATH | O_NOFOLLOW | O_CLOEXEC, next = openat(walk->dir, walk->part, flags);
	struct stat status;
	int rc = next < 0 ? -errno : 0;

	if (rc == -ENOENT && walk->directory->create) {
		rc = make_part(walk);
		if (!rc) {
			next = openat(walk->dir, walk->part, flags);
			rc = next < 0 ? -errno : 0;
		}
	}
	if (!rc && fstat(next, &status))
		rc = -errno;
	if (!rc && S_ISLNK(status.st_mode)) {
		rc = enter_link(walk, next, &status);
	} else if (!rc && !S_ISDIR(status.st_mode)) {
		rc = -ENOTDIR;
	} else if (!rc) {
		close(walk->dir);
		walk->dir = next;
		return 0;
	}
	if (next >= 0)
		close(next);
	return rc;
}

/* Returns a descriptor or a negative errno. */
static int open_path(struct perch__trusted_directory *directory)
{
	struct path_walk walk = { .directory = directory, .dir = -1 };
	int rc = open_again(&walk, *directory->path == '/' ? "/" : "."), fd = -1;

	snprintf(walk.rest, sizeof(walk.rest), "%s", directory->path);
	while (!rc) {
		int next = next_part(&walk);

		if (next <= 0) {
			rc = next;
			break;
		}
		rc = enter_part(&walk);
	}
	if (!rc && (fd = openat(walk.dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0)
		rc = -errno;
	if (walk.dir >= 0)
		close(walk.dir);
	return rc ? rc : fd;
}

int perch__trusted_directory_open(struct perch__trusted_directory *directory)
{
	int fd = open_path(directory), rc = fd < 0 ? fd : 0;
	struct stat status;

	if (!rc && fstat(fd, &status))
		rc = -errno;
	if (!rc && !trusted(status.st_uid))
		rc = refuse_owner(directory, status.st_uid);
	if (rc && fd >= 0)
		close(fd);
	return rc ? rc : fd;
}
