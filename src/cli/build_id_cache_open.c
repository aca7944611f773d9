/* SPDX-License-Identifier: MIT */
/*
 * Opens the build id cache. Its path may lead through directories of other users, who may replace
 * them at any time. So each component is opened by the directory before, and its owner checked on
 * the descriptor.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/build_id_dir.h"
#include "build_id_cache.h"

enum { MOST_LINKS = 40 };

static int refuse_owner(const char *path, unsigned owner, struct perch_error *err)
{
	perch_error_set(err, EPERM, PERCH_ERROR_FILE,
			"the build id cache %s belongs to uid %u, not to the current user or root",
			path, owner);
	perch_error_remedy(err, "name another directory with perch --buildid-dir DIR");
	return -EPERM;
}

static bool trusted(unsigned owner)
{
	return !owner || owner == geteuid();
}

/* Where a path leads. */
struct walk {
	const char *path; /* the whole */
	int dir;
	char rest[PATH_MAX], part[NAME_MAX + 1];
	unsigned links;
	bool create;
	struct perch_error *err;
};

static int open_again(struct walk *walk, const char *path)
{
	int dir = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int error = errno;

	if (walk->dir >= 0)
		close(walk->dir);
	walk->dir = dir;
	return dir < 0 ? -error : 0;
}

/* Takes the next component from the rest. Returns false after the last one. */
static int next_part(struct walk *walk)
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
static int make_part(struct walk *walk)
{
	struct stat status;

	if (fstat(walk->dir, &status))
		return -errno;
	if (!trusted(status.st_uid))
		return refuse_owner(walk->path, status.st_uid, walk->err);
	return mkdirat(walk->dir, walk->part, 0755) && errno != EEXIST ? -errno : 0;
}

/* A symbolic link of another user would choose where root writes files. */
static int enter_link(struct walk *walk, int link, const struct stat *status)
{
	char target[PATH_MAX];
	ssize_t length;

	if (!trusted(status->st_uid))
		return refuse_owner(walk->path, status->st_uid, walk->err);
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

static int enter_part(struct walk *walk)
{
	int flags = O_PATH | O_NOFOLLOW | O_CLOEXEC, next = openat(walk->dir, walk->part, flags);
	struct stat status;
	int rc = next < 0 ? -errno : 0;

	if (rc == -ENOENT && walk->create) {
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

/* Returns a descriptor or a negative errno; -EPERM has set *err. */
static int open_path(const char *path, bool create, struct perch_error *err)
{
	struct walk walk = { .path = path, .dir = -1, .create = create, .err = err };
	int rc = open_again(&walk, *path == '/' ? "/" : "."), fd = -1;

	snprintf(walk.rest, sizeof(walk.rest), "%s", path);
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

int cli_cache_open(struct cli_cache *cache, bool create, struct perch_error *err)
{
	struct perch_error refused = { 0 };
	struct stat status;
	int rc = perch__build_id_dir(cache->path, sizeof(cache->path));

	cache->fd = -1;
	if (rc) {
		perch_error_set(err, -rc, PERCH_ERROR_FILE, "there is no build id cache: %s",
				rc == -ENOENT ? "HOME is not set" : strerror(-rc));
		perch_error_remedy(err, "name a directory with perch --buildid-dir DIR");
		return rc;
	}
	rc = open_path(cache->path, create, &refused);
	if (rc == -ENOENT && !create)
		return 0;
	if (rc < 0 && refused.errnum) {
		if (err)
			*err = refused;
		return rc;
	}
	if (rc >= 0) {
		cache->fd = rc;
		rc = fstat(cache->fd, &status) ? -errno : 0;
	}
	if (rc < 0) {
		cli_cache_close(cache);
		return perch_error_set(err, -rc, PERCH_ERROR_FILE,
				       create ? "the build id cache %s cannot be made: %s"
					      : "the build id cache %s: %s",
				       cache->path, strerror(-rc));
	}
	if (trusted(status.st_uid))
		return 0;
	cli_cache_close(cache);
	return refuse_owner(cache->path, status.st_uid, err);
}

void cli_cache_close(struct cli_cache *cache)
{
	if (cache->fd >= 0)
		close(cache->fd);
	cache->fd = -1;
}
