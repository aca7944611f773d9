/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/files/io.h"
#include "base/files/new_file.h"
#include "base/files/user_cache.h"

/*
 * With sudo, HOME may be that of another user: nothing is written there. A missing directory is
 * made in the one above it.
 */
static bool is_own_directory(const char *path)
{
	const char *slash = strrchr(path, '/');
	char above[PATH_MAX];
	struct stat status;

	if (!stat(path, &status))
		return status.st_uid == geteuid();
	return errno == ENOENT &&
	       snprintf(above, sizeof(above), "%.*s/", (int)(slash - path), path) <
		       (int)sizeof(above) &&
	       !stat(above, &status) && status.st_uid == geteuid();
}

/* Makes the path of a file, or of the directory of all. Returns false if there is to be no cache.
 */
static bool make_path(char path[PATH_MAX], const char *name)
{
	const char *use = secure_getenv("PERCH_CACHE"), *home = secure_getenv("XDG_CACHE_HOME");
	const char *below = "/perch/";

	if (use && (!strcmp(use, "0") || !strcmp(use, "off")))
		return false;
	if (!home || *home != '/') {
		home = secure_getenv("HOME");
		below = "/.cache/perch/";
	}
	return home && *home == '/' && is_own_directory(home) &&
	       snprintf(path, PATH_MAX, "%s%s%s", home, below, name) < PATH_MAX;
}

int perch__user_cache_is_used(void)
{
	char path[PATH_MAX];

	return make_path(path, "");
}

int perch__user_cache_open(const char *name, uint64_t least, uint64_t most, uint64_t *size)
{
	char path[PATH_MAX];
	struct stat status;
	int fd;

	if (!make_path(path, name))
		return -1;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return -1;
	if (!fstat(fd, &status) && S_ISREG(status.st_mode) && status.st_uid == geteuid() &&
	    !(status.st_mode & 077) && (uint64_t)status.st_size > least &&
	    (uint64_t)status.st_size <= most) {
		*size = (uint64_t)status.st_size;
		return fd;
	}
	close(fd);
	return -1;
}

/* Makes the directory of a file and at most three above it. Returns a descriptor or an errno. */
static int make_directories(char *path)
{
	char *end[4];
	size_t missing = 0;
	int dir;

	for (;;) {
		char *slash = strrchr(path, '/');

		if (missing == 4 || slash == path)
			return -ENOENT;
		*slash = 0;
		end[missing++] = slash;
		dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (dir >= 0 || errno != ENOENT)
			break;
	}
	while (dir >= 0 && --missing) {
		close(dir);
		*end[missing] = '/';
		/* another process may make it at the same time */
		dir = mkdir(path, 0700) && errno != EEXIST
			      ? -1
			      : open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	}
	return dir >= 0 ? dir : -errno;
}

int perch__user_cache_write(const char *name, const struct perch__cache_part *parts, size_t nr)
{
	struct perch__new_file file = { .fd = -1 };
	const char *slash = strrchr(name, '/');
	char path[PATH_MAX];
	int dir, rc;

	if (!make_path(path, name))
		return -ENOENT;
	dir = make_directories(path);
	if (dir < 0)
		return dir;
	rc = perch__new_file_make(&file, dir, 0600);
	for (size_t i = 0; i < nr && !rc; i++)
		rc = perch__write_all(file.fd, parts[i].bytes, parts[i].size);
	if (!rc)
		rc = perch__new_file_name(&file, slash ? slash + 1 : name, true);
	perch__new_file_discard(&file);
	close(dir);
	return rc;
}

/* ---- the limit ---- */

struct cached_file {
	char *name;
	uint64_t size;
	struct timespec used;
};

struct cached_files {
	struct cached_file *file;
	size_t nr, capacity;
	uint64_t size; /* of all */
};

static int older_first(const void *left, const void *right)
{
	const struct timespec *a = &((const struct cached_file *)left)->used;
	const struct timespec *b = &((const struct cached_file *)right)->used;

	if (a->tv_sec != b->tv_sec)
		return a->tv_sec < b->tv_sec ? -1 : 1;
	return (a->tv_nsec > b->tv_nsec) - (a->tv_nsec < b->tv_nsec);
}

/* Without memory, the others are listed. */
static void add_file(struct cached_files *files, const char *name, const struct stat *status)
{
	struct cached_file *file = PERCH__ARRAY_APPEND(files->file, files->nr, files->capacity);

	if (!file)
		return;
	*file = (struct cached_file){ strdup(name), (uint64_t)status->st_size, status->st_mtim };
	files->size += file->size;
	if (!file->name)
		files->nr--;
}

void perch__user_cache_limit(const char *directory, uint64_t most)
{
	struct cached_files files = { 0 };
	char path[PATH_MAX];
	DIR *listing = make_path(path, directory) ? opendir(path) : NULL;
	const struct dirent *each;
	struct stat status;

	if (!listing)
		return;
	while ((each = readdir(listing)))
		if (each->d_name[0] != '.' &&
		    !fstatat(dirfd(listing), each->d_name, &status, AT_SYMLINK_NOFOLLOW) &&
		    S_ISREG(status.st_mode))
			add_file(&files, each->d_name, &status);
	if (files.size > most)
		qsort(files.file, files.nr, sizeof(*files.file), older_first);
	for (size_t i = 0; i < files.nr; i++) {
		if (files.size > most && !unlinkat(dirfd(listing), files.file[i].name, 0))
			files.size -= files.file[i].size;
		free(files.file[i].name);
	}
	free(files.file);
	closedir(listing);
}
