/* SPDX-License-Identifier: MIT */
/*
 * Directories: "data" is a file with the header and the features, and each thread of a recorder
 * appends records to a file of its own, "data.N", which has nothing else.
 */
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/no_memory.h"
#include "writer.h"

static bool is_file_of_recording(const char *name)
{
	return !strncmp(name, "data", 4) &&
	       (!name[4] ||
		(name[4] == '.' && name[5] && !name[5 + strspn(name + 5, "0123456789")]));
}

/* Calls a function for each file, which may be NULL. Returns false if there is another file, or
 * none. */
static bool each_file(const char *path, void (*call)(int directory, const char *name))
{
	DIR *directory = opendir(path);
	const struct dirent *entry;
	bool any = false, other = false;

	if (!directory)
		return false;
	while ((entry = readdir(directory))) {
		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		if (!is_file_of_recording(entry->d_name))
			other = true;
		else if (call)
			call(dirfd(directory), entry->d_name);
		any = true;
	}
	closedir(directory);
	return any && !other;
}

/* Files of other programs may have these names. Of a recording that could not begin, "data" is
 * empty. */
static bool has_recording(const char *path)
{
	int directory = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	int fd = directory < 0 ? -1
			       : openat(directory, "data",
					O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat status;
	uint64_t magic;
	bool found = fd >= 0 && !fstat(fd, &status) && S_ISREG(status.st_mode) &&
		     (!status.st_size ||
		      (pread(fd, &magic, sizeof(magic), 0) == (ssize_t)sizeof(magic) &&
		       perch__is_magic(magic)));

	if (fd >= 0)
		close(fd);
	if (directory >= 0)
		close(directory);
	return found;
}

bool perch__is_recording_directory(const char *path)
{
	struct stat status;

	return !lstat(path, &status) && S_ISDIR(status.st_mode) && each_file(path, NULL) &&
	       has_recording(path);
}

static void remove_file(int directory, const char *name)
{
	unlinkat(directory, name, 0);
}

void perch__remove_recording_directory(const char *path)
{
	if (perch__is_recording_directory(path) && each_file(path, remove_file))
		rmdir(path);
}

int perch__create_directory(const char *path)
{
	int directory, fd, error;

	if (mkdir(path, 0700) < 0)
		return -1;
	directory = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	fd = directory < 0 ? -1
			   : openat(directory, "data", O_RDWR | O_CLOEXEC | O_CREAT | O_EXCL, 0600);
	error = errno;
	if (directory >= 0)
		close(directory);
	if (fd < 0)
		rmdir(path);
	errno = error;
	return fd;
}

int perch_writer_open_part(struct perch_writer **result, struct perch_writer *whole,
			   struct perch_error *err)
{
	struct perch_writer *part;
	size_t size = strlen(whole->path) + 32;

	*result = NULL;
	if (!whole->directory)
		return perch_error_set(err, EINVAL, PERCH_ERROR_USAGE, "%s is not a directory",
				       whole->path);
	part = calloc(1, sizeof(*part));
	if (part)
		part->path = malloc(size);
	if (!part || !part->path) {
		free(part);
		return PERCH__NO_MEMORY(err, "to write a perf.data file");
	}
	part->whole = whole;
	snprintf(part->path, size, "%s/data.%zu", whole->path, whole->nr_parts);
	part->fd = open(part->path, O_RDWR | O_CLOEXEC | O_CREAT | O_EXCL, 0600);
	if (part->fd < 0) {
		int rc = perch__writer_failed(part, errno, err);

		perch__writer_free(part);
		return rc;
	}
	whole->nr_parts++;
	*result = part;
	return 0;
}
