/* SPDX-License-Identifier: MIT */
/* The cgroups that are there when a recording begins, and the namespaces of processes. */
#define _GNU_SOURCE /* name_to_handle_at */
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "record.h"

#define DEPTH_MAX   32
#define CGROUPS_MAX 65536

struct walk {
	struct synthesizer *made;
	char path[PATH_MAX];
	size_t root; /* bytes of path that are the mount's */
	size_t nr;
};

/* The number that samples have for a cgroup is its folder's handle. */
static bool cgroup_id(const char *path, uint64_t *id)
{
	union {
		struct file_handle handle;
		unsigned char room[sizeof(struct file_handle) + MAX_HANDLE_SZ];
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
	DIR *folder;

	if (walk->nr++ >= CGROUPS_MAX || depth > DEPTH_MAX || !cgroup_id(walk->path, &id))
		return;
	synthesize_record(walk->made, PERCH_RECORD_CGROUP, 0, &id, sizeof(id),
			  length > walk->root ? walk->path + walk->root : "/");
	folder = opendir(walk->path);
	while (folder && (entry = readdir(folder))) {
		if (entry->d_type != DT_DIR || entry->d_name[0] == '.' ||
		    length + 1 + strlen(entry->d_name) >= sizeof(walk->path))
			continue;
		sprintf(walk->path + length, "/%s", entry->d_name);
		walk_cgroup(walk, depth + 1);
		walk->path[length] = '\0';
	}
	if (folder)
		closedir(folder);
}

void synthesize_cgroups(struct synthesizer *made)
{
	struct walk *walk = calloc(1, sizeof(*walk));

	if (!walk)
		return;
	walk->made = made;
	if (perch_machine_cgroups(made->record->machine, walk->path, sizeof(walk->path), NULL) >=
	    0) {
		walk->root = strlen(walk->path);
		walk_cgroup(walk, 0);
	}
	free(walk);
}

void synthesize_namespaces(struct synthesizer *made, pid_t pid)
{
	static const char *const names[PERCH_NR_NAMESPACES] = {
		[PERCH_NET_NS_INDEX] = "net",	    [PERCH_UTS_NS_INDEX] = "uts",
		[PERCH_IPC_NS_INDEX] = "ipc",	    [PERCH_PID_NS_INDEX] = "pid",
		[PERCH_USER_NS_INDEX] = "user",	    [PERCH_MNT_NS_INDEX] = "mnt",
		[PERCH_CGROUP_NS_INDEX] = "cgroup",
	};
	struct {
		uint32_t pid, tid;
		uint64_t nr;
		struct perch_ns_link_info link[PERCH_NR_NAMESPACES];
	} body = { pid, pid, PERCH_NR_NAMESPACES, { { 0, 0 } } };

	for (size_t i = 0; i < PERCH_NR_NAMESPACES; i++) {
		struct stat status;
		char path[64];

		snprintf(path, sizeof(path), "/proc/%d/ns/%s", pid, names[i]);
		if (stat(path, &status) < 0)
			continue;
		body.link[i].dev = status.st_dev;
		body.link[i].ino = status.st_ino;
	}
	synthesize_record(made, PERCH_RECORD_NAMESPACES, 0, &body, sizeof(body), NULL);
}
