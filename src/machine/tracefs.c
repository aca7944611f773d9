/* SPDX-License-Identifier: MIT */
/* The mount point of tracefs and its permissions. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "internal.h"

/*
 * Finds the number of the process's group in the parent of its user namespace. Returns false if the
 * group has none. In the initial namespace, the whole range is mapped to itself.
 */
static bool group_outside(const struct perch_machine *machine, unsigned *group, bool *inside)
{
	char text[4096], *save = NULL;

	*group = getgid();
	*inside = false;
	if (perch_machine_read(machine, "/proc/self/gid_map", text, sizeof(text)) < 0)
		return true;
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		unsigned first, outside, nr;

		if (sscanf(line, "%u %u %u", &first, &outside, &nr) != 3)
			continue;
		*inside |= first || outside || nr != UINT_MAX;
		if (*group >= first && *group - first < nr) {
			*group = outside + (*group - first);
			return true;
		}
	}
	*inside = true;
	return false;
}

static void advise_remount(const struct perch_machine *machine, const char *path,
			   struct perch_error *err)
{
	unsigned group;
	bool in_namespace;

	if (!group_outside(machine, &group, &in_namespace))
		perch_error_remedy(err,
				   "as root outside the user namespace, give a group of this user "
				   "there access: mount -o remount,gid=GROUP,mode=750 %.160s",
				   path);
	else if (in_namespace)
		perch_error_remedy(err,
				   "as root outside the user namespace, give the group that this "
				   "user has there access: mount -o remount,gid=%u,mode=750 %.160s",
				   group, path);
	else
		perch_error_remedy(err,
				   "as root, give the group of this user access: mount -o "
				   "remount,gid=%u,mode=750 %.160s",
				   group, path);
}

/* A mount option sets the group of tracefs, so a remount is the smallest change. */
int perch_machine_tracefs_error(const struct perch_machine *machine, struct perch_error *err)
{
	static const char *const paths[] = { "/sys/kernel/tracing", "/sys/kernel/debug/tracing",
					     "/sys/kernel/debug" };
	struct stat status;
	char path[PATH_MAX];

	for (size_t i = 0; err && i < sizeof(paths) / sizeof(*paths); i++) {
		if (perch_machine_path(machine, paths[i], path, sizeof(path)) < 0 ||
		    stat(path, &status))
			continue;
		perch_error_set(
			err, EACCES, PERCH_ERROR_FILE,
			"this user may not read tracefs %.160s (owner %u, group %u, mode %04o)",
			path, (unsigned)status.st_uid, (unsigned)status.st_gid,
			(unsigned)status.st_mode & 07777);
		advise_remount(machine, path, err);
		return -EACCES;
	}
	return perch_error_set(err, EACCES, PERCH_ERROR_FILE, "this user may not read tracefs");
}

/* The root of a user namespace cannot mount tracefs. */
static void advise_mount(const struct perch_machine *machine, struct perch_error *err)
{
	unsigned group;
	bool in_namespace;

	group_outside(machine, &group, &in_namespace);
	perch_error_remedy(err, "as root%s: mount -t tracefs nodev /sys/kernel/tracing",
			   in_namespace ? " outside the user namespace" : "");
}

static int find_tracefs(struct perch_machine *machine, char *buffer, size_t size,
			struct perch_error *err)
{
	static const char *const paths[] = { "/sys/kernel/tracing", "/sys/kernel/debug/tracing" };
	bool closed = false;

	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++) {
		char probe[PATH_MAX + 16];

		if (perch_machine_path(machine, paths[i], buffer, size) < 0)
			return perch_error_set(err, ENAMETOOLONG, PERCH_ERROR_USAGE,
					       "the buffer is too small for the path of tracefs");
		snprintf(probe, sizeof(probe), "%s/events", buffer);
		if (access(probe, R_OK | X_OK) == 0) {
			if (machine)
				machine->tracefs = paths[i];
			return 0;
		}
		closed = closed || errno == EACCES;
	}
	if (closed)
		return perch_machine_tracefs_error(machine, err);
	perch_error_set(err, ENOENT, PERCH_ERROR_FILE, "tracefs is not mounted");
	advise_mount(machine, err);
	return -ENOENT;
}

int perch_machine_tracefs(struct perch_machine *machine, char *buffer, size_t size,
			  struct perch_error *err)
{
	int rc;

	if (machine && machine->tracefs &&
	    perch_machine_path(machine, machine->tracefs, buffer, size) > 0)
		return 0;
	/* only the errno is cached */
	if (machine && !err && perch__coarse_ms() < machine->tracefs_error_until_ms)
		return machine->tracefs_error;
	rc = find_tracefs(machine, buffer, size, err);
	if (machine && (rc == -EACCES || rc == -ENOENT)) {
		machine->tracefs_error = rc;
		machine->tracefs_error_until_ms = perch__coarse_ms() + PERCH__LIFETIME_MS;
	}
	return rc;
}
