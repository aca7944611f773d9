/* SPDX-License-Identifier: MIT */
/* The mount point of cgroups. */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* Rates a line of mounts: 2 for the v1 hierarchy with the controller, 1 for cgroup2, 0 for others.
 */
static int offers(char *line, char **mount_point)
{
	char *save = NULL;
	const char *kind, *options;

	if (!strtok_r(line, " ", &save))
		return 0;
	*mount_point = strtok_r(NULL, " ", &save);
	kind = strtok_r(NULL, " ", &save);
	options = strtok_r(NULL, " ", &save);
	if (!options || (*mount_point)[0] != '/')
		return 0;
	if (!strcmp(kind, "cgroup") && has_option(options, "perf_event"))
		return 2;
	return !strcmp(kind, "cgroup2");
}

/* Finds the mount point of the best line; "" if there is none. The first of equal lines wins. */
static void find_mount(FILE *mounts, char best[PATH_MAX])
{
	char *line = NULL, *mount_point = NULL;
	size_t capacity = 0;
	int found = 0;

	best[0] = '\0';
	while (found < 2 && getline(&line, &capacity, mounts) > 0) {
		int offered = offers(line, &mount_point);

		if (offered <= found || strlen(mount_point) >= PATH_MAX)
			continue;
		found = offered;
		strcpy(best, mount_point);
	}
	free(line);
	undo_escapes(best);
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
