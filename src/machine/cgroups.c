/* SPDX-License-Identifier: MIT */
/* Mounted cgroup hierarchies: the one with perf events, and the one that has a path. */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "descriptor.h"
#include "internal.h"

/* /proc/self/mounts writes special characters as a backslash and three octal digits. */
static void undo_escapes(char *text)
{
	char *to = text;

	for (const char *from = text; *from; to++) {
		if (from[0] == '\\' && from[1] >= '0' && from[1] <= '3' && from[2] >= '0' &&
		    from[2] <= '7' && from[3] >= '0' && from[3] <= '7') {
			*to = (from[1] - '0') << 6 | (from[2] - '0') << 3 | (from[3] - '0');
			from += 4;
		} else {
			*to = *from++;
		}
	}
	*to = '\0';
}

static bool has_option(const char *options, const char *wanted)
{
	size_t length = strlen(wanted);

	for (const char *at = options; (at = strstr(at, wanted)); at += length)
		if ((at == options || at[-1] == ',') && (!at[length] || at[length] == ','))
			return true;
	return false;
}

struct mount {
	char *point;
	const char *kind, *options;
};

/* Splits a line of mounts: source, mount point, type, options. Returns false for other lines. */
static bool split_mount(char *line, struct mount *mount)
{
	char *save = NULL;

	if (!strtok_r(line, " ", &save))
		return false;
	mount->point = strtok_r(NULL, " ", &save);
	mount->kind = strtok_r(NULL, " ", &save);
	mount->options = strtok_r(NULL, " \n", &save);
	if (!mount->options || mount->point[0] != '/')
		return false;
	undo_escapes(mount->point);
	return true;
}

/* Rates a mount: 2 for the v1 hierarchy with the controller, 1 for cgroup2, 0 for others. */
static int rate(const struct mount *mount)
{
	if (!strcmp(mount->kind, "cgroup") && has_option(mount->options, "perf_event"))
		return 2;
	return !strcmp(mount->kind, "cgroup2");
}

/* Finds the mount point of the best line; "" if there is none. The first of equal lines wins. */
static void find_mount(FILE *mounts, char best[PATH_MAX])
{
	struct mount mount;
	char *line = NULL;
	size_t capacity = 0;
	int found = 0;

	best[0] = '\0';
	while (found < 2 && getline(&line, &capacity, mounts) > 0) {
		if (!split_mount(line, &mount) || rate(&mount) <= found ||
		    strlen(mount.point) >= PATH_MAX)
			continue;
		found = rate(&mount);
		strcpy(best, mount.point);
	}
	free(line);
}

static int copy_path(const struct perch_machine *machine, const char *mount_point, char *buffer,
		     size_t size, struct perch_error *err)
{
	if (perch_machine_path(machine, mount_point, buffer, size) < 0)
		return perch_error_set(err, ENAMETOOLONG, PERCH_ERROR_USAGE,
				       "the buffer is too small for the path of cgroups");
	return 0;
}

int perch_machine_cgroups(struct perch_machine *machine, char *buffer, size_t size,
			  struct perch_error *err)
{
	char path[PATH_MAX], best[PATH_MAX];
	FILE *mounts;

	if (machine && machine->cgroups)
		return copy_path(machine, machine->cgroups, buffer, size, err);
	if (perch_machine_path(machine, "/proc/self/mounts", path, sizeof(path)) < 0)
		return perch_error_set(err, ENAMETOOLONG, PERCH_ERROR_USAGE,
				       "the root of the machine is too long");
	mounts = fopen(path, "re");
	if (!mounts)
		return perch_error_set(err, errno, PERCH_ERROR_FILE, "cannot read %s: %s", path,
				       strerror(errno));
	find_mount(mounts, best);
	fclose(mounts);
	if (!best[0]) {
		perch_error_set(err, ENOENT, PERCH_ERROR_FILE,
				"no cgroup hierarchy for perf events is mounted");
		perch_error_remedy(err, "as root: mount -t cgroup2 none /sys/fs/cgroup");
		return -ENOENT;
	}
	if (machine)
		machine->cgroups =
			strdup(best); /* NULL if out of memory: the next call searches it again */
	return copy_path(machine, best, buffer, size, err);
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
static void write_controllers(const char *options, const char *controllers, char *name, size_t size)
{
	size_t used = (size_t)snprintf(name, size, "cgroup v1:");
	char option[64];

	for (size_t length; *options && used < size; options += length + (options[length] == ',')) {
		length = strcspn(options, ",");
		snprintf(option, sizeof(option), "%.*s", (int)length, options);
		if (!strncmp(option, "name=", 5) || is_controller(controllers, option))
			used += (size_t)snprintf(name + used, size - used, " %s", option);
	}
}

/* Writes the name of the hierarchy; "" for a mount of another type. */
static void describe_mount(const struct mount *mount, const char *controllers, char *name,
			   size_t size)
{
	name[0] = '\0';
	if (!strcmp(mount->kind, "cgroup2"))
		snprintf(name, size, "cgroup2");
	else if (!strcmp(mount->kind, "cgroup"))
		write_controllers(mount->options, controllers, name, size);
}

static bool find_hierarchy(struct perch_machine *machine, const char *path, char *name, size_t size)
{
	char of_process[64], whole[PATH_MAX], *line = NULL;
	const char *controllers = NULL;
	size_t capacity = 0, longest = 0;
	struct mount mount;
	FILE *mounts;

	name[0] = '\0';
	perch__process_path(machine, of_process, sizeof(of_process), "/mounts");
	if (perch_machine_path(machine, of_process, whole, sizeof(whole)) < 0)
		return false;
	mounts = fopen(whole, "re");
	if (!mounts)
		return false;
	if (perch_machine_read_cached(machine, "/proc/cgroups", &controllers) <= 0)
		controllers = NULL;
	/* the innermost mount has the path; of equal ones, the last */
	while (getline(&line, &capacity, mounts) > 0)
		if (split_mount(line, &mount) && is_below(path, mount.point) &&
		    strlen(mount.point) >= longest) {
			longest = strlen(mount.point);
			describe_mount(&mount, controllers, name, size);
		}
	free(line);
	fclose(mounts);
	return name[0];
}

bool perch__cgroup_hierarchy(struct perch_machine *machine, const char *path, char *name,
			     size_t size)
{
	uint64_t now = perch__coarse_ms();
	struct hierarchy *cached;

	for (size_t i = 0; i < NR_HIERARCHIES; i++) {
		cached = &machine->hierarchy[i];
		if (cached->path && now < cached->until_ms && !strcmp(cached->path, path)) {
			snprintf(name, size, "%s", cached->name);
			return name[0];
		}
	}
	cached = &machine->hierarchy[machine->next_hierarchy++ % NR_HIERARCHIES];
	free(cached->path);
	cached->path = strdup(path);
	cached->until_ms = now + PERCH__LIFETIME_MS;
	find_hierarchy(machine, path, cached->name, sizeof(cached->name));
	snprintf(name, size, "%s", cached->name);
	return name[0];
}
