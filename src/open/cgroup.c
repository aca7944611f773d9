/* SPDX-License-Identifier: MIT */
/* A cgroup's folder, by the name that people give it. */
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

#define SHOWN 6 /* names that a remedy lists */

/* Whether ".." leads above the place that the path starts from. */
static bool leads_out(const char *path)
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

/* What is behind a place in a path; NULL: it does not begin with it. */
static const char *behind(const char *path, const char *place)
{
	size_t length = strlen(place);

	if (strncmp(path, place, length) || (path[length] && path[length] != '/'))
		return NULL;
	return path + length;
}

/* Of a path below the mount, seen with the machine's root or without it, the part that is the
 * cgroup's own. */
static const char *below(const char *path, const char *mount, const struct perch_machine *machine)
{
	const char *found = behind(path, mount);
	char root[PATH_MAX];
	int length;

	if (!found) {
		length = perch_machine_path(machine, root, sizeof(root), "");
		if (length > 0)
			found = behind(path, mount + length);
	}
	if (!found)
		found = path;
	return found + strspn(found, "/");
}

/* Writes "a, b, c" of the cgroups in a folder. Returns how many there are. */
static int list_children(const char *path, char *buffer, size_t size)
{
	const struct dirent *entry;
	DIR *folder = opendir(path);
	size_t used = 0;
	int nr = 0;

	buffer[0] = '\0';
	while (folder && (entry = readdir(folder))) {
		int length;

		if (entry->d_name[0] == '.' || entry->d_type != DT_DIR)
			continue;
		if (nr++ >= SHOWN)
			break;
		length = snprintf(buffer + used, size - used, "%s%s", used ? ", " : "",
				  entry->d_name);
		if (length < 0 || (size_t)length >= size - used) {
			buffer[used] = '\0';
			break;
		}
		used += length;
	}
	if (folder)
		closedir(folder);
	return nr;
}

/* The deepest folder of a path that is there; path is cut to it, but not to less than the mount. */
static void cut_to_existing(char *path, size_t least)
{
	struct stat status;
	char *slash;

	while (strlen(path) > least && (stat(path, &status) || !S_ISDIR(status.st_mode))) {
		slash = strrchr(path, '/');
		if (!slash || slash < path + least)
			break;
		*slash = '\0';
	}
}

static int not_there(char *whole, const char *mount, const char *own, int error,
		     struct perch_error *err)
{
	char names[256];
	int nr;

	if (error != ENOENT && error != ENOTDIR)
		return perch_error_set(err, error, PERCH_ERROR_FILE,
				       "cannot open the cgroup %s: %s", whole, strerror(error));
	perch_error_set(err, ENOENT, PERCH_ERROR_BAD_TARGET, "there is no cgroup '%s' below %s",
			own, mount);
	cut_to_existing(whole, strlen(mount));
	nr = list_children(whole, names, sizeof(names));
	if (nr)
		perch_error_remedy(err, "%s has %s%s", whole, names, nr > SHOWN ? " and more" : "");
	else
		perch_error_remedy(
			err,
			"%s has no cgroups: make one with mkdir, and write process ids to its cgroup.procs",
			whole);
	return -ENOENT;
}

/* The kernel wants a descriptor of a file, not of a path (O_PATH); and 0 is no cgroup's in struct
 * perch_target. */
static int open_folder(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), other;

	if (fd)
		return fd;
	other = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	close(fd);
	return other;
}

int perch__open_cgroup(const char *path, struct perch_machine *machine, struct perch_error *err)
{
	char mount[PATH_MAX], whole[2 * PATH_MAX];
	const char *own;
	int fd, rc;

	if (!path || !*path)
		return perch_error_set(err, EINVAL, PERCH_ERROR_USAGE, "a cgroup needs a name");
	rc = perch_machine_cgroups(machine, mount, sizeof(mount), err);
	if (rc)
		return rc;
	own = below(path, mount, machine);
	if (strlen(own) >= PATH_MAX)
		return perch_error_set(err, ENAMETOOLONG, PERCH_ERROR_USAGE,
				       "a cgroup's name of %zu bytes is too long", strlen(own));
	if (leads_out(own)) {
		perch_error_set(err, EINVAL, PERCH_ERROR_BAD_TARGET,
				"the cgroup '%s' leads out of %s", path, mount);
		perch_error_remedy(err, "give its path from %s on", mount);
		return -EINVAL;
	}
	snprintf(whole, sizeof(whole), "%s%s%s", mount, *own ? "/" : "", own);
	fd = open_folder(whole);
	return fd < 0 ? not_there(whole, mount, own, errno, err) : fd;
}
