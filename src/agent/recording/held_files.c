/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* F_DUPFD_CLOEXEC */
#include "held_files.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <perch/symbol.h>

#include "base/files/open_file.h"
#include "base/kernel/recorded_process.h"

/* A mapping has a build id, whose last bytes may be zeros that the file does not have, or device
 * and inode. */
static bool is_mapped(int fd, const struct perch_dso *dso)
{
	uint8_t build_id[sizeof(dso->build_id)] = { 0 };
	char path[32];

	if (!dso->build_id_size)
		return perch__is_file(fd, dso->device_major, dso->device_minor, dso->inode);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return perch_build_id_of_file(path, build_id, NULL) > 0 &&
	       !memcmp(build_id, dso->build_id, sizeof(build_id));
}

/* Opens a file if it is the one that was mapped. Returns a descriptor or a negative errno. */
static int open_if_same(const char *root, const char *path, const struct perch_dso *dso)
{
	int fd = perch__open_regular(root, path);

	if (fd < 0 || is_mapped(fd, dso))
		return fd;
	close(fd);
	return -ENOENT;
}

static bool is_refused(int rc)
{
	return rc == -EACCES || rc == -EPERM;
}

/* At its path, as its process sees it, or what that process runs. */
static int open_file(const struct perch_dso *dso)
{
	char of_process[64];
	int fd = open_if_same(NULL, dso->path, dso), first = fd;

	if (fd >= 0 || fd == -EMFILE || fd == -ENFILE)
		return fd;
	snprintf(of_process, sizeof(of_process), "/proc/%" PRIu32 "/root", dso->pid);
	fd = open_if_same(of_process, dso->path, dso);
	if (fd >= 0)
		return fd;
	snprintf(of_process, sizeof(of_process), "/proc/%" PRIu32 "/exe", dso->pid);
	fd = open_if_same(NULL, of_process, dso);
	return fd < 0 && is_refused(first) ? first : fd;
}

static void close_at(struct agent_held_files *files, size_t at)
{
	close(files->file[at].fd);
	files->nr--;
	memmove(&files->file[at], &files->file[at + 1], (files->nr - at) * sizeof(*files->file));
}

static void count_unheld(struct agent_held_files *files, int rc)
{
	enum agent_unheld_reason reason = AGENT_UNHELD_OTHER;

	if (rc == -ENOENT || rc == -ENOTDIR || rc == -ESRCH)
		reason = AGENT_UNHELD_GONE;
	else if (is_refused(rc))
		reason = AGENT_UNHELD_PERMISSION;
	files->unheld[reason]++;
}

/* Without memory, the file is opened again with the next sample. */
static bool set_seen(struct agent_held_files *files, uint32_t index)
{
	size_t nr = files->nr_seen ? files->nr_seen : 64;
	bool *seen;

	while (nr <= index)
		nr *= 2;
	seen = nr > files->nr_seen ? realloc(files->seen, nr * sizeof(*seen)) : files->seen;
	if (!seen)
		return false;
	memset(seen + files->nr_seen, 0, (nr - files->nr_seen) * sizeof(*seen));
	files->seen = seen;
	files->nr_seen = nr;
	files->seen[index] = true;
	return true;
}

void agent_held_files_add(struct agent_held_files *files, const struct perch_dso *dso)
{
	int fd;

	if (!set_seen(files, dso->index) || !perch_dso_is(dso, PERCH_DSO_IS_FILE) ||
	    (!dso->inode && !dso->build_id_size) || dso->path[0] != '/')
		return;
	fd = open_file(dso);
	if (fd >= 0 && fd < AGENT_FIRST_HELD) {
		int low = fd;

		fd = fcntl(low, F_DUPFD_CLOEXEC, AGENT_FIRST_HELD);
		close(low);
	}
	if (fd < 0) {
		count_unheld(files, fd);
		return;
	}
	if (files->nr == AGENT_MOST_HELD) {
		close_at(files, 0);
		files->unheld[AGENT_UNHELD_LIMIT]++;
	}
	files->file[files->nr++] = (struct agent_held_file){ .dso = dso, .fd = fd };
}

void agent_held_files_close_others(struct agent_held_files *files, const bool *sampled)
{
	for (size_t i = files->nr; i-- > 0;) {
		uint32_t index = files->file[i].dso->index;

		if (sampled[index])
			continue;
		close_at(files, i);
		files->seen[index] = false; /* with the next sample it is opened again */
	}
}

void agent_held_files_renumber(struct agent_held_files *files, const bool *left, size_t nr)
{
	size_t index = 0;

	for (size_t i = 0; i < nr && i < files->nr_seen; i++)
		if (left[i])
			files->seen[index++] = files->seen[i];
	for (; index < files->nr_seen; index++)
		files->seen[index] = false;
}

void agent_held_files_clear(struct agent_held_files *files)
{
	while (files->nr)
		close_at(files, files->nr - 1);
	free(files->seen);
	files->seen = NULL;
	files->nr_seen = 0;
}

int agent_held_files_find(const struct agent_held_files *files, const struct perch_dso *dso)
{
	for (size_t i = 0; i < files->nr; i++)
		if (files->file[i].dso == dso)
			return files->file[i].fd;
	return -1;
}
