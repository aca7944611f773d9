/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* O_TMPFILE */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "new_file.h"
#include "rename_new.h"

const char *perch__new_file_remedy(int errnum)
{
	switch (errnum) {
	case ENOENT:
	case ENOTDIR:
		return "Make its directory, or name another file";
	case EISDIR:
		return "Name a file in it";
	case EACCES:
	case EPERM:
	case EROFS:
		return "Choose a directory that you can write to";
	case ENOSPC:
	case EDQUOT:
		return "Free some space, or write to another file system";
	case EFBIG:
		return "Raise the limit of file sizes (ulimit -f)";
	default:
		return NULL;
	}
}

void perch__new_file_temporary(char name[64])
{
	uint64_t random = 0;

	if (getrandom(&random, sizeof(random), GRND_NONBLOCK) != sizeof(random))
		random = (uint64_t)(uintptr_t)name;
	snprintf(name, 64, ".perch.%d.%016" PRIx64, (int)getpid(), random);
}

static int make_named(struct perch__new_file *file, mode_t mode)
{
	char name[64];
	int fd;

	perch__new_file_temporary(name);
	fd = openat(file->dir, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
	if (fd < 0)
		return -errno;
	file->fd = fd;
	snprintf(file->temporary, sizeof(file->temporary), "%s", name);
	return 0;
}

int perch__new_file_make(struct perch__new_file *file, int dir, mode_t mode)
{
	*file = (struct perch__new_file){ .fd = -1, .dir = dir };
	/* only /proc can give a file without a name one */
	if (!access("/proc/self/fd", X_OK))
		file->fd = openat(dir, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, mode);
	return file->fd < 0 ? make_named(file, mode) : 0;
}

/* Makes a name of a file that has none. */
static int make_link(int fd, int dir, const char *name)
{
	char own[64];

	snprintf(own, sizeof(own), "/proc/self/fd/%d", fd);
	return linkat(AT_FDCWD, own, dir, name, AT_SYMLINK_FOLLOW) ? -errno : 0;
}

/* Security modules refuse names for files without one: copies the file to one with a name. */
static int copy_to_named(struct perch__new_file *file)
{
	struct perch__new_file named = { .fd = -1, .dir = file->dir };
	off_t at = 0;
	struct stat status;
	int rc = fstat(file->fd, &status) ? -errno : make_named(&named, 0600);

	if (rc)
		return rc;
	while (at < status.st_size && !rc)
		if (sendfile(named.fd, file->fd, &at, (size_t)(status.st_size - at)) <= 0)
			rc = errno ? -errno : -EIO;
	if (!rc && fchmod(named.fd, status.st_mode & 07777))
		rc = -errno;
	if (rc) {
		perch__new_file_discard(&named);
		return rc;
	}
	close(file->fd);
	*file = named;
	return 0;
}

/* Gives a file without a name a temporary one. */
static int name_temporarily(struct perch__new_file *file)
{
	char name[64];
	int rc;

	perch__new_file_temporary(name);
	rc = make_link(file->fd, file->dir, name);
	if (rc)
		return copy_to_named(file);
	snprintf(file->temporary, sizeof(file->temporary), "%s", name);
	return 0;
}

/* rename(2), which may not replace: link(2) is for file systems without RENAME_NOREPLACE. */
static int rename_temporary(struct perch__new_file *file, const char *name, bool replace)
{
	const char *from = file->temporary;

	if (replace)
		return renameat(file->dir, from, file->dir, name) ? -errno : 0;
	if (!perch__rename_new(file->dir, from, file->dir, name))
		return 0;
	if (errno != EINVAL && errno != ENOSYS)
		return -errno;
	if (linkat(file->dir, from, file->dir, name, 0))
		return -errno;
	unlinkat(file->dir, from, 0);
	return 0;
}

static int give_name(struct perch__new_file *file, const char *name, bool replace)
{
	int rc;

	if (!file->temporary[0] && !replace) {
		rc = make_link(file->fd, file->dir, name);
		if (!rc || rc == -EEXIST)
			return rc;
	}
	rc = file->temporary[0] ? 0 : name_temporarily(file);
	if (!rc)
		rc = rename_temporary(file, name, replace);
	if (!rc)
		file->temporary[0] = 0;
	return rc;
}

int perch__new_file_name(struct perch__new_file *file, const char *name, bool replace)
{
	sigset_t all, before;
	int rc;

	/* a temporary name that exists only from here on must not stay */
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	rc = give_name(file, name, replace);
	perch__new_file_discard(file);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return rc;
}

void perch__new_file_discard(struct perch__new_file *file)
{
	if (file->fd >= 0 && file->temporary[0])
		unlinkat(file->dir, file->temporary, 0);
	if (file->fd >= 0)
		close(file->fd);
	*file = (struct perch__new_file){ .fd = -1, .dir = -1 };
}
