/* SPDX-License-Identifier: MIT */
/* What messages and remedies say about cgroups. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cgroups.h"
#include "facts.h"

void perch__write_cgroup_mount(const struct perch__case *c, char *buffer, size_t size)
{
	char path[PATH_MAX];

	if (c->machine && !perch_machine_cgroups(c->machine, path, sizeof(path), NULL))
		snprintf(buffer, size, "%.200s", path);
	else
		snprintf(buffer, size, "/sys/fs/cgroup");
}

/* The path of a cgroup that the caller passed as descriptor, which its number does not show. */
void perch__write_cgroup_path(const struct perch__case *c, char *buffer, size_t size)
{
	char link[64], path[PATH_MAX], found[201];
	ssize_t length;

	buffer[0] = '\0';
	snprintf(link, sizeof(link), "/proc/self/fd/%d", (int)c->pid);
	if (!c->call->pid_is_cgroup_fd || !c->machine ||
	    perch_machine_path(c->machine, link, path, sizeof(path)) < 0)
		return;
	length = readlink(path, found, sizeof(found) - 1);
	if (length <= 0)
		return;
	found[length] = '\0';
	perch_clean_text(found, path, sizeof(path));
	snprintf(buffer, size, " (%.200s)", path);
}

/*
 * In cgroup2, children of the root cgroup have no perf_event until a controller is written into
 * cgroup.subtree_control, as systemd does at boot, or a hierarchy of cgroup v1 is mounted. Returns
 * false if that is not the state, or unknown. The root cgroup alone has no file cgroup.type.
 */
static bool find_empty_control(const struct perch__case *c, char *path, size_t size)
{
	char text[8];
	size_t length;

	/* the path begins with the root of the machine: it is read without the machine */
	if (!c->machine || perch_machine_cgroups(c->machine, path, size - 32, NULL) < 0 ||
	    perch__has_v1_hierarchy(perch__file_text(c, "/proc/cgroups")))
		return false;
	length = strlen(path);
	strcpy(path + length, "/cgroup.type");
	if (perch_machine_read(NULL, path, text, sizeof(text)) != -ENOENT)
		return false;
	strcpy(path + length, "/cgroup.subtree_control");
	return !perch_machine_read(NULL, path, text, sizeof(text));
}

void perch__write_use_cgroup(const struct perch__case *c, char *buffer, size_t size)
{
	char path[PATH_MAX];

	if (find_empty_control(c, path, sizeof(path)))
		snprintf(buffer, size,
			 "as root, enable any controller of cgroup.controllers there: echo +pids > "
			 "%.200s",
			 path);
	else if (c->machine && !perch_machine_cgroups(c->machine, path, sizeof(path), NULL))
		snprintf(buffer, size, "use a directory below %.200s", path);
	else
		snprintf(buffer, size, "use a directory below /sys/fs/cgroup");
}

/* A controller that a v1 hierarchy owns has no effect in cgroup2. */
void perch__write_cgroup_owner(const struct perch__case *c, char *buffer, size_t size)
{
	const char *line = perch__file_text(c, "/proc/cgroups");
	char path[PATH_MAX];
	long hierarchy;

	buffer[0] = '\0';
	if (find_empty_control(c, path, sizeof(path))) {
		snprintf(buffer, size,
			 ": %.200s is empty, and until a controller is written into it, only the "
			 "root cgroup has perf_event",
			 path);
		return;
	}
	line = line ? strstr(line, "perf_event") : NULL;
	hierarchy = line ? strtol(line + strlen("perf_event"), NULL, 10) : 0;
	if (!hierarchy)
		return;
	if (c->machine && !perch_machine_cgroups(c->machine, path, sizeof(path), NULL) &&
	    strstr(path, "perf_event"))
		snprintf(buffer, size, ": the cgroup v1 hierarchy at %.200s owns it", path);
	else
		snprintf(
			buffer, size,
			": cgroup v1 hierarchy %ld of /proc/cgroups owns it (mount -t cgroup -o perf_event)",
			hierarchy);
}
