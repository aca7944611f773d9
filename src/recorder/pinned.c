/* SPDX-License-Identifier: MIT */
/*
 * Pins mapped files (keeps them open, O_PATH) until the recording ends, so that the build id cache
 * gets also files that are deleted or replaced, or whose process ends in another root directory. A
 * mount with an open file cannot be unmounted: root opens it in a copy of the mount, which is
 * mounted nowhere. Other users pin only files of mounts that are older than the recording. In
 * another mount namespace, files of the root of the process are pinned, which is not unmounted
 * while it runs. So the recorded program can unmount what it mounts. Network file systems are left
 * out too: they rename open files that are deleted, and wait for servers. The root directories of
 * such processes are pinned, too, because debug files are below them.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/mount.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>
#include <perch/symbol.h>

#include "base/array.h"
#include "base/kernel/recorded_process.h"
#include "scan.h"

#define MAX_MOUNTS 65536
#ifndef STATX_MNT_ID
#define STATX_MNT_ID 0x1000u
#endif

static bool is_local(const char *type)
{
	static const char *const others[] = { "nfs", "cifs", "smb", "fuse", "9p", "afs", "ceph" };

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (!strncmp(type, others[i], strlen(others[i])))
			return false;
	return true;
}

static void read_mounts(struct recorder_pinned *pinned)
{
	FILE *mounts = fopen("/proc/self/mountinfo", "re");
	size_t capacity = 0, size = 0;
	char *line = NULL;

	while (mounts && getline(&line, &size, mounts) > 0) {
		const char *type = strstr(line, " - ");
		uint64_t id = strtoull(line, NULL, 10), *added;

		if (!type || !is_local(type + 3))
			continue;
		added = PERCH__ARRAY_APPEND_MAX(pinned->mount, pinned->nr_mounts, capacity,
						MAX_MOUNTS);
		if (!added)
			break;
		*added = id;
	}
	free(line);
	if (mounts)
		fclose(mounts);
}

void perch__recorder_pinned_begin(struct recorder_pinned *pinned, bool own_namespace)
{
	struct rlimit descriptors;
	struct stat status;

	if (own_namespace)
		read_mounts(pinned);
	if (!stat("/proc/self/ns/mnt", &status))
		pinned->mount_namespace = status.st_ino;
	pinned->map_files = !geteuid();
	/* events of new threads need descriptors too */
	if (!getrlimit(RLIMIT_NOFILE, &descriptors))
		pinned->limit = descriptors.rlim_cur / 16 < RECORDER_MAX_PINNED
					? descriptors.rlim_cur / 16
					: RECORDER_MAX_PINNED;
}

/* The types of statfs(2), from linux/magic.h and the file systems. For files of the recorder's own
 * mounts, their types in mountinfo are tested: statfs(2) may wait for a server. */
static bool is_on_network(int fd)
{
	static const uint32_t types[] = { 0x6969 /* nfs */,
					  0xff534d42 /* cifs */,
					  0xfe534d42 /* smb2 */,
					  0x517b /* smb */,
					  0x65735546 /* fuse */,
					  0x01021997 /* 9p */,
					  0x5346414f /* afs */,
					  0x6b414653,
					  0x00c36400 /* ceph */ };
	struct statfs status;

	if (fstatfs(fd, &status))
		return true;
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if ((uint32_t)status.f_type == types[i])
			return true;
	return false;
}

/* Its position is that of the kernel: musl's struct has no member for it. */
static uint64_t mount_of(const struct statx *status)
{
	uint64_t mount;

	memcpy(&mount, (const uint8_t *)status + 0x90, sizeof(mount));
	return mount;
}

/* True if the process has another mount namespace, and the mount is that of its root directory. */
static bool is_foreign_root(const struct recorder_pinned *pinned, uint32_t pid, int fd,
			    uint64_t mount)
{
	struct stat namespace;
	struct statx root;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/ns/mnt", pid);
	if (!pinned->mount_namespace || stat(path, &namespace) ||
	    namespace.st_ino == pinned->mount_namespace)
		return false;
	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/root", pid);
	return !statx(AT_FDCWD, path, 0, STATX_MNT_ID, &root) && root.stx_mask & STATX_MNT_ID &&
	       mount_of(&root) == mount && !is_on_network(fd);
}

/* type: S_IFREG or S_IFDIR */
static bool may_pin(const struct recorder_pinned *pinned, uint32_t pid, int fd, mode_t type)
{
	struct statx status;

	if (statx(fd, "", AT_EMPTY_PATH, STATX_TYPE | STATX_MNT_ID, &status) ||
	    !(status.stx_mask & STATX_MNT_ID) || (status.stx_mode & S_IFMT) != type)
		return false;
	for (size_t i = 0; i < pinned->nr_mounts; i++)
		if (pinned->mount[i] == mount_of(&status))
			return true;
	return is_foreign_root(pinned, pid, fd, mount_of(&status));
}

/*
 * Opens the file in a copy of its mount (Linux 5.2). This needs CAP_SYS_ADMIN and a mount of the
 * recorder's namespace. Without them the descriptor stays as it is.
 */
static int leave_mount(int fd)
{
	int copy = (int)syscall(SYS_open_tree, fd, "",
				AT_EMPTY_PATH | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);

	if (copy < 0)
		return fd;
	close(fd);
	return copy;
}

static bool has_root(const struct recorder_pinned *pinned, const struct stat *status)
{
	struct stat own;

	if (stat("/", &own) || (own.st_dev == status->st_dev && own.st_ino == status->st_ino))
		return true;
	for (size_t i = 0; i < pinned->nr_roots; i++)
		if (pinned->root[i].device == status->st_dev &&
		    pinned->root[i].inode == status->st_ino)
			return true;
	return false;
}

/* Debug files are searched below the root directory when the process has ended. */
static void pin_root(struct recorder_pinned *pinned, uint32_t pid)
{
	struct stat status;
	char path[64];
	int fd;

	if (pinned->nr_roots == RECORDER_MAX_ROOTS)
		return;
	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/root", pid);
	fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return;
	if (fstat(fd, &status) || has_root(pinned, &status) || !may_pin(pinned, pid, fd, S_IFDIR)) {
		close(fd);
		return;
	}
	pinned->root[pinned->nr_roots++] =
		(struct recorder_pinned_root){ leave_mount(fd), status.st_dev, status.st_ino };
}

static bool is_in_memory(const struct recorder_dso *dso)
{
	return !strncmp(dso->path, "/memfd:", 7);
}

/* Opens the file that the process has mapped. */
static int open_mapped(const struct recorder_pinned *pinned, const struct recorder_dso *dso)
{
	char path[PATH_MAX + 64];
	int fd = -1;

	/* this needs root; it finds a file that was deleted, and walks along no path */
	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/map_files/%" PRIx64 "-%" PRIx64, dso->pid,
		 dso->start, dso->end);
	if (pinned->map_files)
		fd = open(path, O_PATH | O_CLOEXEC);
	if (fd < 0 && !is_in_memory(dso) &&
	    snprintf(path, sizeof(path), "/proc/%" PRIu32 "/root%s", dso->pid, dso->path) <
		    (int)sizeof(path))
		fd = open(path, O_PATH | O_CLOEXEC);
	/* the program itself, for other users than root; it is used only if it has the build id */
	if (fd < 0 && is_in_memory(dso)) {
		snprintf(path, sizeof(path), "/proc/%" PRIu32 "/exe", dso->pid);
		fd = open(path, O_PATH | O_CLOEXEC);
	}
	return fd;
}

/* A file in memory is on no mount that could be unmounted. */
static bool may_pin_file(const struct recorder_pinned *pinned, const struct recorder_dso *dso,
			 int fd)
{
	struct stat status;

	if (is_in_memory(dso))
		return !fstat(fd, &status) && S_ISREG(status.st_mode);
	return may_pin(pinned, dso->pid, fd, S_IFREG);
}

void perch__recorder_pin(struct recorder_pinned *pinned, struct recorder_dsos *dsos, uint32_t index)
{
	struct recorder_dso *dso = &dsos->dso[index];
	int fd;

	if (dso->path[0] != '/' || dso->pinned || dso->attempts == UINT8_MAX ||
	    pinned->nr >= pinned->limit)
		return;
	/* memory of compilers stays in use while it is open, and is no ELF file */
	if (is_in_memory(dso) && !dso->build_id_size)
		return;
	dso->attempts++;
	fd = open_mapped(pinned, dso);
	if (fd >= 0 && !may_pin_file(pinned, dso, fd)) {
		close(fd);
		dso->attempts = UINT8_MAX;
		return;
	}
	dso->pinned = fd >= 0;
	if (fd < 0)
		return;
	pinned->file[pinned->nr++] = (struct recorder_pinned_file){ leave_mount(fd), index };
	pin_root(pinned, dso->pid);
}

static int open_again(int fd)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return open(path, O_RDONLY | O_CLOEXEC);
}

static bool has_build_id(int fd, const uint8_t *build_id, size_t size)
{
	uint8_t found[20];
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return perch_build_id_of_file(path, found, NULL) == (int)size &&
	       !memcmp(found, build_id, size);
}

int perch__recorder_open_pinned(const struct recorder_pinned *pinned,
				const struct recorder_dsos *dsos, const char *path,
				const uint8_t *build_id, size_t size)
{
	for (size_t i = 0; i < pinned->nr; i++) {
		int fd;

		if (strcmp(dsos->dso[pinned->file[i].dso].path, path))
			continue;
		fd = open_again(pinned->file[i].fd);
		if (fd >= 0 && has_build_id(fd, build_id, size))
			return fd;
		if (fd >= 0)
			close(fd);
	}
	return -1;
}

int perch__recorder_open_pinned_inode(const struct recorder_pinned *pinned,
				      const struct recorder_dsos *dsos,
				      const struct recorder_dso *dso)
{
	for (size_t i = 0; i < pinned->nr; i++) {
		int fd;

		if (&dsos->dso[pinned->file[i].dso] != dso)
			continue;
		fd = open_again(pinned->file[i].fd);
		if (fd < 0 || perch__is_file(fd, dso->major, dso->minor, dso->inode))
			return fd;
		close(fd);
		return -1;
	}
	return -1;
}

void perch__recorder_pinned_move(struct recorder_pinned *to, struct recorder_dsos *dsos,
				 struct recorder_pinned *from, const uint32_t *index)
{
	for (size_t i = 0; i < from->nr; i++) {
		uint32_t dso = index[from->file[i].dso];

		if (dso == UINT32_MAX || dsos->dso[dso].pinned || to->nr == RECORDER_MAX_PINNED) {
			close(from->file[i].fd);
			continue;
		}
		dsos->dso[dso].pinned = true;
		to->file[to->nr++] = (struct recorder_pinned_file){ from->file[i].fd, dso };
	}
	for (size_t i = 0; i < from->nr_roots; i++) {
		struct stat status = { .st_dev = from->root[i].device,
				       .st_ino = from->root[i].inode };

		if (to->nr_roots == RECORDER_MAX_ROOTS || has_root(to, &status))
			close(from->root[i].fd);
		else
			to->root[to->nr_roots++] = from->root[i];
	}
	from->nr = from->nr_roots = 0;
}

void perch__recorder_pinned_clear(struct recorder_pinned *pinned)
{
	for (size_t i = 0; i < pinned->nr; i++)
		close(pinned->file[i].fd);
	for (size_t i = 0; i < pinned->nr_roots; i++)
		close(pinned->root[i].fd);
	free(pinned->mount);
	*pinned = (struct recorder_pinned){ 0 };
}
