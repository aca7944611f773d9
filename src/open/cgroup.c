/* SPDX-License-Identifier: MIT */
/* Opens the directory of a cgroup by its path. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "internal.h"

#define MAX_LISTED 6 /* names in a remedy */

/* True if ".." components leave the directory that the path starts in. */
static bool leaves_root(const char *path)
{
	long depth = 0;

	while (*path) {
		size_t length = strcspn(path, "/");

		if (length == 2 && !memcmp(path, "..", 2))
			depth--;
		else if (length && !(length == 1 && path[0] == '.'))
			depth++;
		if (depth < 0)
			return true;
		path += length;
		path += strspn(path, "/");
	}
	return false;
}

/* Returns the part of the path after the prefix; NULL if the path does not start with it. */
static const char *without_prefix(const char *path, const char *prefix)
{
	size_t length = strlen(prefix);

	if (strncmp(path, prefix, length) || (path[length] && path[length] != '/'))
		return NULL;
	return path + length;
}

/*
 * Returns the path of the cgroup relative to the mount point. The path may contain the mount point,
 * with or without the machine's root.
 */
static const char *relative_path(const char *path, const char *mount,
				 const struct perch_machine *machine)
{
	const char *found = without_prefix(path, mount);
	char root[PATH_MAX];
	int length;

	if (!found) {
		length = perch_machine_path(machine, "", root, sizeof(root));
		if (length > 0)
			found = without_prefix(path, mount + length);
	}
	if (!found)
		found = path;
	return found + strspn(found, "/");
}

/* Writes the cgroups in a directory as "a, b, c". Returns their number, at most MAX_LISTED + 1. */
static int list_children(const char *path, char *buffer, size_t size)
{
	const struct dirent *entry;
	DIR *directory = opendir(path);
	size_t used = 0;
	int nr = 0;

	buffer[0] = '\0';
	while (directory && (entry = readdir(directory))) {
		int length;

		if (entry->d_name[0] == '.' || entry->d_type != DT_DIR)
			continue;
		if (nr++ >= MAX_LISTED)
			break;
		length = snprintf(buffer + used, size - used, "%s%s", used ? ", " : "",
				  entry->d_name);
		if (length < 0 || (size_t)length >= size - used) {
			buffer[used] = '\0';
			break;
		}
		used += length;
	}
	if (directory)
		closedir(directory);
	return nr;
}

/* Truncates the path to the deepest directory that exists, but keeps the mount point. */
static void truncate_to_existing(char *path, size_t mount_length)
{
	struct stat status;
	char *slash;

	while (strlen(path) > mount_length && (stat(path, &status) || !S_ISDIR(status.st_mode))) {
		slash = strrchr(path, '/');
		if (!slash || slash < path + mount_length)
			break;
		*slash = '\0';
	}
}

/* A full path of another place, such as a cgroup of the v1 hierarchy of the memory controller. */
static bool is_other_directory(const char *path, const struct perch_machine *machine)
{
	char full[PATH_MAX];
	struct stat status;

	return path[0] == '/' && perch_machine_path(machine, path, full, sizeof(full)) >= 0 &&
	       !stat(full, &status) && S_ISDIR(status.st_mode);
}

/* path is what the caller passed, full the path below the mount point. */
static int open_error(const char *path, char *full, const char *mount, int error,
		      const struct perch_machine *machine, struct perch_error *err)
{
	const char *name = full + strlen(mount);
	char names[256];
	int nr;

	if (error != ENOENT && error != ENOTDIR)
		return perch_error_set(err, error, PERCH_ERROR_FILE,
				       "cannot open the cgroup %s: %s", full, strerror(error));
	if (is_other_directory(path, machine))
		perch_error_set(err, ENOENT, PERCH_ERROR_BAD_TARGET,
				"%s is not in the hierarchy of perf events, which is %s", path,
				mount);
	else
		perch_error_set(err, ENOENT, PERCH_ERROR_BAD_TARGET,
				"there is no cgroup '%s' in %s", name + strspn(name, "/"), mount);
	truncate_to_existing(full, strlen(mount));
	nr = list_children(full, names, sizeof(names));
	if (nr)
		perch_error_remedy(err, "%s has %s%s", full, names,
				   nr > MAX_LISTED ? " and more" : "");
	else
		perch_error_remedy(
			err,
			"%s has no cgroups: create one with mkdir, and write process ids to its cgroup.procs",
			full);
	return -ENOENT;
}

int perch__open_cgroup(const char *path, struct perch_machine *machine, struct perch_error *err)
{
	char mount[PATH_MAX], full[2 * PATH_MAX];
	const char *name;
	int fd, rc;

	if (!path || !*path)
		return perch_error_set(err, EINVAL, PERCH_ERROR_USAGE,
				       "the cgroup has an empty path");
	rc = perch_machine_cgroups(machine, mount, sizeof(mount), err);
	if (rc)
		return rc;
	name = relative_path(path, mount, machine);
	if (strlen(name) >= PATH_MAX)
		return perch_error_set(err, ENAMETOOLONG, PERCH_ERROR_USAGE,
				       "the cgroup path of %zu bytes is too long", strlen(name));
	if (leaves_root(name)) {
		perch_error_set(err, EINVAL, PERCH_ERROR_BAD_TARGET,
				"the cgroup path '%s' leads out of %s", path, mount);
		perch_error_remedy(err, "pass the path below %s", mount);
		return -EINVAL;
	}
	snprintf(full, sizeof(full), "%s%s%s", mount, *name ? "/" : "", name);
	fd = open(full, O_RDONLY | O_DIRECTORY | O_CLOEXEC); /* the kernel refuses O_PATH */
	return fd < 0 ? open_error(path, full, mount, errno, machine, err) : fd;
}
