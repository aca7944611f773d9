/* SPDX-License-Identifier: MIT */
/* What a descriptor of the process refers to, and the cgroup hierarchy that has a path. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "descriptor.h"
#include "internal.h"

static int full_process_path(const struct perch_machine *machine, const char *name, char *path,
			     size_t size)
{
	char of_process[64];

	perch__process_path(machine, of_process, sizeof(of_process), name);
	return perch_machine_path(machine, of_process, path, size) < 0 ? -ENAMETOOLONG : 0;
}

int perch__descriptor_path(const struct perch_machine *machine, int fd, char *path, size_t size)
{
	char name[32], link[PATH_MAX + 64];
	ssize_t length;

	snprintf(name, sizeof(name), "/fd/%d", fd);
	if (full_process_path(machine, name, link, sizeof(link)))
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

static bool is_below(const char *path, const char *directory)
{
	const size_t length = strlen(directory);

	return !strncmp(path, directory, length) && (!path[length] || path[length] == '/');
}

/* True for a name in the first column of /proc/cgroups. */
static bool is_controller(const char *controllers, const char *name)
{
	const size_t length = strlen(name);

	for (const char *at = controllers; at && (at = strstr(at, name)); at += length)
		if ((at == controllers || at[-1] == '\n') && at[length] == '\t')
			return true;
	return false;
}

/* Options of the mount itself, as "rw", are neither a controller nor a name. */
static void write_controllers(char *options, const char *controllers, char *name, size_t size)
{
	size_t used = (size_t)snprintf(name, size, "cgroup v1:");
	char *save = NULL;

	for (char *option = strtok_r(options, ",\n", &save); option && used < size;
	     option = strtok_r(NULL, ",\n", &save))
		if (!strncmp(option, "name=", 5) || is_controller(controllers, option))
			used += (size_t)snprintf(name + used, size - used, " %s", option);
}

/* Reads a line of mounts: source, mount point, type, options. Returns false for other lines. */
static bool describe(char *line, const char *path, const char *controllers, char *name, size_t size)
{
	char *save = NULL, *mount_point, *options;
	const char *kind;

	strtok_r(line, " ", &save);
	mount_point = strtok_r(NULL, " ", &save);
	kind = strtok_r(NULL, " ", &save);
	options = strtok_r(NULL, " ", &save);
	if (!options || !is_below(path, mount_point))
		return false;
	if (!strcmp(kind, "cgroup2"))
		snprintf(name, size, "cgroup2");
	else if (!strcmp(kind, "cgroup"))
		write_controllers(options, controllers, name, size);
	else
		return false;
	return true;
}

bool perch__cgroup_hierarchy(struct perch_machine *machine, const char *path, char *name,
			     size_t size)
{
	const char *controllers = NULL;
	char mounts_path[PATH_MAX + 64], *line = NULL;
	size_t capacity = 0;
	bool found = false;
	FILE *mounts;

	if (full_process_path(machine, "/mounts", mounts_path, sizeof(mounts_path)))
		return false;
	mounts = fopen(mounts_path, "re");
	if (!mounts)
		return false;
	if (perch_machine_read_cached(machine, "/proc/cgroups", &controllers) <= 0)
		controllers = NULL;
	while (!found && getline(&line, &capacity, mounts) > 0)
		found = describe(line, path, controllers, name, size);
	free(line);
	fclose(mounts);
	return found;
}
