/* SPDX-License-Identifier: MIT */
/* The cgroups of the hierarchy that events can be bound to. */
#define _GNU_SOURCE /* name_to_handle_at */
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/no_memory.h"
#include "internal.h"

#define DEPTH_MAX   32
#define CGROUPS_MAX 65536

struct cgroup_walk {
	struct perch__batch *batch;
	char path[PATH_MAX];
	size_t root; /* bytes of path that are the mount point */
	size_t nr;
};

/* The id of a cgroup in samples is the file handle of its directory. Returns 0 or an errno. */
static int read_id(const char *path, uint64_t *id)
{
	union {
		struct file_handle handle;
		unsigned char bytes[sizeof(struct file_handle) + MAX_HANDLE_SZ];
	} handle;
	int mount;

	memset(&handle, 0, sizeof(handle));
	handle.handle.handle_bytes = sizeof(*id);
	if (name_to_handle_at(AT_FDCWD, path, &handle.handle, &mount, 0) < 0)
		return errno;
	if (handle.handle.handle_bytes < sizeof(*id))
		return EOVERFLOW;
	memcpy(id, handle.handle.f_handle, sizeof(*id));
	return 0;
}

/* Counts a cgroup without a record. */
static void count_failure(struct perch__batch *batch, int errnum)
{
	if (errnum == ENOENT || errnum == ENODEV)
		batch->counts.ended++; /* it was removed */
	else
		batch->counts.denied++;
}

static void walk_cgroup(struct cgroup_walk *walk, unsigned depth);

static void walk_children(struct cgroup_walk *walk, unsigned depth)
{
	size_t length = strlen(walk->path);
	DIR *directory = opendir(walk->path);
	const struct dirent *entry;

	if (!directory)
		count_failure(walk->batch, errno);
	while (directory && !walk->batch->rc && (entry = readdir(directory))) {
		if (entry->d_type != DT_DIR || !strcmp(entry->d_name, ".") ||
		    !strcmp(entry->d_name, ".."))
			continue;
		if (length + 1 + strlen(entry->d_name) >= sizeof(walk->path)) {
			walk->batch->counts.skipped++;
			continue;
		}
		sprintf(walk->path + length, "/%s", entry->d_name);
		walk_cgroup(walk, depth + 1);
		walk->path[length] = '\0';
	}
	if (directory)
		closedir(directory);
}

static void walk_cgroup(struct cgroup_walk *walk, unsigned depth)
{
	const char *name = walk->path + walk->root;
	uint64_t id;
	int errnum;

	if (walk->nr++ >= CGROUPS_MAX || depth > DEPTH_MAX) {
		walk->batch->counts.skipped++;
		return;
	}
	errnum = read_id(walk->path, &id);
	if (errnum) {
		count_failure(walk->batch, errnum);
		return;
	}
	perch__batch_add(walk->batch, PERCH_RECORD_CGROUP, 0, &id, sizeof(id), *name ? name : "/");
	walk_children(walk, depth);
}

int perch__add_cgroups(struct perch__batch *batch)
{
	struct cgroup_walk *walk = calloc(1, sizeof(*walk));
	int rc;

	if (!walk)
		return PERCH__NO_MEMORY(batch->err, "to list cgroups");
	walk->batch = batch;
	rc = perch_machine_cgroups(batch->machine, walk->path, sizeof(walk->path), batch->err);
	if (!rc) {
		walk->root = strlen(walk->path);
		walk_cgroup(walk, 0);
	}
	free(walk);
	return rc;
}
