/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* name_to_handle_at */
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "synthesize.h"

#define DEPTH_MAX   32
#define CGROUPS_MAX 65536

struct walk {
	struct synthesizer *synthesizer;
	char path[PATH_MAX];
	size_t root; /* bytes of path that are the mount point */
	size_t nr;
};

/* The id of a cgroup in samples is the file handle of its directory. */
static bool cgroup_id(const char *path, uint64_t *id)
{
	union {
		struct file_handle handle;
		unsigned char bytes[sizeof(struct file_handle) + MAX_HANDLE_SZ];
	} handle;
	int mount;

	memset(&handle, 0, sizeof(handle));
	handle.handle.handle_bytes = sizeof(*id);
	if (name_to_handle_at(AT_FDCWD, path, &handle.handle, &mount, 0) < 0 ||
	    handle.handle.handle_bytes < sizeof(*id))
		return false;
	memcpy(id, handle.handle.f_handle, sizeof(*id));
	return true;
}

static void walk_cgroup(struct walk *walk, unsigned depth)
{
	size_t length = strlen(walk->path);
	struct dirent *entry;
	uint64_t id;
	DIR *directory;

	if (walk->nr++ >= CGROUPS_MAX || depth > DEPTH_MAX || !cgroup_id(walk->path, &id))
		return;
	synthesize_record(walk->synthesizer, PERCH_RECORD_CGROUP, 0, &id, sizeof(id),
			  length > walk->root ? walk->path + walk->root : "/");
	directory = opendir(walk->path);
	while (directory && (entry = readdir(directory))) {
		if (entry->d_type != DT_DIR || entry->d_name[0] == '.' ||
		    length + 1 + strlen(entry->d_name) >= sizeof(walk->path))
			continue;
		sprintf(walk->path + length, "/%s", entry->d_name);
		walk_cgroup(walk, depth + 1);
		walk->path[length] = '\0';
	}
	if (directory)
		closedir(directory);
}

void synthesize_cgroups(struct synthesizer *synthesizer)
{
	struct walk *walk = calloc(1, sizeof(*walk));

	if (!walk)
		return;
	walk->synthesizer = synthesizer;
	if (perch_machine_cgroups(synthesizer->machine, walk->path, sizeof(walk->path), NULL) >=
	    0) {
		walk->root = strlen(walk->path);
		walk_cgroup(walk, 0);
	}
	free(walk);
}
