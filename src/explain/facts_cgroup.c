/* SPDX-License-Identifier: MIT */
/* What messages and remedies say about cgroups. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/kernel/cgroups.h"
#include "facts.h"
#include "machine/descriptor.h"

void perch__write_cgroup_mount(const struct perch__case *c, char *buffer, size_t size)
{
	char path[PATH_MAX];

	if (c->machine && !perch_machine_cgroups(c->machine, path, sizeof(path), NULL))
		snprintf(buffer, size, "%.200s", path);
	else
		snprintf(buffer, size, "/sys/fs/cgroup");
}

/*
 * "descriptor 3 (/sys/fs/cgroup/system.slice, cgroup2)". The descriptors of the process in a log
 * are unknown.
 */
void perch__write_descriptor(const struct perch__case *c, int fd, char *buffer, size_t size)
{
	char found[201], path[sizeof(found)], hierarchy[80];
	int rc;

	snprintf(buffer, size, "descriptor %d", fd);
	if (!c->machine || c->call->from_log || fd < 0)
		return;
	rc = perch__descriptor_path(c->machine, fd, found, sizeof(found));
	if (rc == -EBADF) {
		snprintf(buffer, size, "descriptor %d (not open)", fd);
		return;
	}
	if (rc)
		return;
	perch_clean_text(found, path, sizeof(path));
	if (perch__cgroup_hierarchy(c->machine, found, hierarchy, sizeof(hierarchy)))
		snprintf(buffer, size, "descriptor %d (%s, %s)", fd, path, hierarchy);
	else
		snprintf(buffer, size, "descriptor %d (%s)", fd, path);
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
