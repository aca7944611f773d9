/* SPDX-License-Identifier: MIT */
/*
 * The check of cgroups. In the hierarchy of cgroup2, the kernel gives the controller perf_event to
 * the children of the root cgroup only when another controller is written into its
 * cgroup.subtree_control, as systemd does at boot, or when a hierarchy of cgroup v1 is mounted. It
 * then stays, and children of children have it too. So the root cgroup and a child are tried.
 */
#define _GNU_SOURCE /* DT_DIR */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/kernel/cgroups.h"
#include "internal.h"

#define CONTROL "cgroup.subtree_control"

/* Opens an event of the directory. Returns 0 or a negative errno if it cannot be opened. */
static int try_directory(struct perch_checks *checks, const char *path,
			 struct perch_open_call *call, struct perch_check *result)
{
	static const struct perch__privilege privilege = { 0, "perfmon" };
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	call->pid = fd;
	if (perch__check_open_and_close(checks, call))
		perch__check_explain_refusal(checks, result, call, &privilege);
	else
		result->status = PERCH_CHECK_OK;
	close(fd);
	return 0;
}

/* Finds a child of the cgroup. Returns false if it has none. */
static bool find_child(const char *parent, char *child, size_t size)
{
	DIR *directory = opendir(parent);
	const struct dirent *entry;
	bool found = false;

	while (directory && !found && (entry = readdir(directory)))
		found = entry->d_type == DT_DIR && entry->d_name[0] != '.' &&
			(size_t)snprintf(child, size, "%s/%s", parent, entry->d_name) < size &&
			!access(child, R_OK | X_OK);
	if (directory)
		closedir(directory);
	return found;
}

static bool has_file(const char *cgroup, const char *name)
{
	char path[PATH_MAX + 32];

	snprintf(path, sizeof(path), "%s/%s", cgroup, name);
	return !access(path, F_OK);
}

/* True if no controller is enabled for the children of a cgroup. */
static bool enables_nothing(const char *cgroup)
{
	char path[PATH_MAX + 32], text[8];

	snprintf(path, sizeof(path), "%s/" CONTROL, cgroup);
	/* without the machine, because the path begins with its root already */
	return !perch_machine_read(NULL, path, text, sizeof(text));
}

static bool has_v1_hierarchy(const struct perch_checks *checks)
{
	char text[4096];

	return perch_machine_read(checks->machine, "/proc/cgroups", text, sizeof(text)) > 0 &&
	       perch__has_v1_hierarchy(text);
}

/* The root cgroup has no cgroup.type. Another one, as of a container, gives its children what it
 * has. */
static void check_children(struct perch_checks *checks, const char *path,
			   struct perch_open_call *call, struct perch_check *result)
{
	char child[PATH_MAX];

	if (has_file(path, "cgroup.type") || !has_file(path, CONTROL))
		return;
	if (find_child(path, child, sizeof(child))) {
		if (!try_directory(checks, child, call, result))
			perch__check_value(result, "tried on %s and %s", path, child);
		if (result->status == PERCH_CHECK_NO)
			result->status = PERCH_CHECK_LIMITED;
	} else if (enables_nothing(path) && !has_v1_hierarchy(checks)) {
		perch__check_reason(result, PERCH_CHECK_LIMITED,
				    "%s/" CONTROL
				    " is empty: until a controller is written into it, "
				    "new cgroups have no perf_event controller",
				    path);
		perch__check_change(result,
				    "as root, enable any controller of cgroup.controllers there: "
				    "echo +pids > %s/" CONTROL,
				    path);
	}
}

void perch__check_cgroups(struct perch_checks *checks, struct perch_check *result)
{
	static const struct perch_attr attr = { .size = sizeof(struct perch_attr),
						.type = PERCH_TYPE_SOFTWARE,
						.config = PERCH_COUNT_SW_CPU_CLOCK,
						.disabled = 1,
						.exclude_kernel = 1,
						.exclude_hv = 1 };
	struct perch_open_call call = { .attr = &attr,
					.cpu = perch__check_first_cpu(checks),
					.group_fd = -1,
					.flags = PERCH_FLAG_PID_CGROUP,
					.pid_is_cgroup_fd = true };
	char path[PATH_MAX];
	struct perch_error err;
	int rc;

	if (perch_machine_cgroups(checks->machine, path, sizeof(path), &err)) {
		perch__check_reason(result, PERCH_CHECK_NO, "%s", err.message);
		perch__check_change(result, "%s", err.remedy);
		return;
	}
	rc = try_directory(checks, path, &call, result);
	if (rc) {
		perch__check_reason(result, PERCH_CHECK_NO, "cannot open %s: %s", path,
				    strerror(-rc));
		return;
	}
	perch__check_value(result, "tried on %s", path);
	if (result->status == PERCH_CHECK_OK)
		check_children(checks, path, &call, result);
}
