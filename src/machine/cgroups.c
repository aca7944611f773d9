/* SPDX-License-Identifier: MIT */
/* Where cgroups are mounted. */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

/* Spaces and the like stand in /proc/self/mounts as three octal digits behind a backslash. */
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

/* What a line of mounts offers: 2 for the v1 hierarchy with the controller, 1 for cgroup2, 0 for
 * nothing. */
static int offers(char *line, char **place)
{
	char *save = NULL;
	const char *kind, *options;

	if (!strtok_r(line, " ", &save))
		return 0;
	*place = strtok_r(NULL, " ", &save);
	kind = strtok_r(NULL, " ", &save);
	options = strtok_r(NULL, " ", &save);
	if (!options || (*place)[0] != '/')
		return 0;
	if (!strcmp(kind, "cgroup") && has_option(options, "perf_event"))
		return 2;
	return !strcmp(kind, "cgroup2");
}

/* The best line's place; "" when none has cgroups. Of several mounts of one kind the first counts.
 */
static void find_mount(FILE *mounts, char best[PATH_MAX])
{
	char *line = NULL, *place = NULL;
	size_t room = 0;
	int found = 0;

	best[0] = '\0';
	while (found < 2 && getline(&line, &room, mounts) > 0) {
		int offered = offers(line, &place);

		if (offered <= found || strlen(place) >= PATH_MAX)
			continue;
		found = offered;
		strcpy(best, place);
	}
	free(line);
	undo_escapes(best);
}

static int copy_place(const struct perch_machine *machine, const char *place, char *buffer,
		      size_t size, struct perch_error *err)
{
	if (perch_machine_path(machine, buffer, size, place) < 0)
		return perch_error_set(err, ENAMETOOLONG, PERCH_ERROR_USAGE,
				       "no room for the path of cgroups");
	return 0;
}

int perch_machine_cgroups(struct perch_machine *machine, char *buffer, size_t size,
			  struct perch_error *err)
{
	char path[PATH_MAX], best[PATH_MAX];
	FILE *mounts;

	if (machine && machine->cgroups)
		return copy_place(machine, machine->cgroups, buffer, size, err);
	if (perch_machine_path(machine, path, sizeof(path), "/proc/self/mounts") < 0)
		return perch_error_set(err, ENAMETOOLONG, PERCH_ERROR_USAGE,
				       "no room for the path of the mounts");
	mounts = fopen(path, "re");
	if (!mounts)
		return perch_error_set(err, errno, PERCH_ERROR_FILE, "cannot read %s: %s", path,
				       strerror(errno));
	find_mount(mounts, best);
	fclose(mounts);
	if (!best[0]) {
		perch_error_set(err, ENOENT, PERCH_ERROR_FILE,
				"no cgroups are mounted that events can be bound to");
		perch_error_remedy(err, "as root: mount -t cgroup2 none /sys/fs/cgroup");
		return -ENOENT;
	}
	if (machine)
		machine->cgroups = strdup(best); /* without memory it is looked for anew */
	return copy_place(machine, best, buffer, size, err);
}
