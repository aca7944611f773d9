/* SPDX-License-Identifier: MIT */
/*
 * Build ids of mapped files. The kernel could write them into MMAP2 records, but before Linux 7.3
 * that harms other recordings (open.c). So the recorder reads them, when it takes the record
 * of a mapping from a ring: the process often still runs then, and its files are there, also those
 * of containers, deleted files and memory files. If it has ended, the file may be at its path here,
 * or where an earlier process with files of the same device sees it.
 *
 * A file that a process has mapped is rarely written in place: an executable cannot be. It can be
 * later, between two processes. So when a file is mapped again in a later round, size and times
 * are compared.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <perch/symbol.h>

#include "base/array.h"
#include "scan.h"

#define MAX_FILES    (1u << 16) /* the recorded programs choose them */
#define MAX_ATTEMPTS 16

static struct recorder_file_version version_of(const struct stat *status)
{
	return (struct recorder_file_version){ status->st_dev, status->st_ino,
					       (uint64_t)status->st_size,
					       recorder_ns(status->st_mtim),
					       recorder_ns(status->st_ctim) };
}

static bool same_file(const void *items, uint32_t index, const void *wanted)
{
	const struct recorder_file_id *file = (const struct recorder_file_id *)items + index;
	const struct perch_mmap_record *mmap = wanted;

	/* records that were made from /proc have no generation */
	return file->inode == mmap->inode && file->major == mmap->major &&
	       file->minor == mmap->minor &&
	       (file->generation == mmap->inode_generation || !file->generation ||
		!mmap->inode_generation);
}

/* Returns NULL without memory, and for more files than MAX_FILES. */
static struct recorder_file_id *find_file(struct recorder_ids *ids,
					  const struct perch_mmap_record *mmap)
{
	struct recorder_file_id *added;
	uint64_t hash;
	uint32_t index;

	if (!ids->nr)
		ids->table.seed = perch__hash_seed(ids);
	hash = perch__hash_pair(ids->table.seed, (uint64_t)mmap->major << 32 | mmap->minor,
				mmap->inode);
	index = perch__hash_find(&ids->table, hash, same_file, ids->file, mmap);
	if (index != PERCH__HASH_NONE) {
		if (!ids->file[index].generation)
			ids->file[index].generation = mmap->inode_generation;
		return &ids->file[index];
	}
	if (perch__hash_reserve(&ids->table, ids->nr + 1))
		return NULL;
	added = PERCH__ARRAY_APPEND_MAX(ids->file, ids->nr, ids->capacity, MAX_FILES);
	if (!added)
		return NULL;
	*added = (struct recorder_file_id){ .major = mmap->major,
					    .minor = mmap->minor,
					    .inode = mmap->inode,
					    .generation = mmap->inode_generation };
	perch__hash_add(&ids->table, hash, ids->nr - 1);
	return added;
}

/* ---- witnesses ---- */

static struct recorder_witness *find_witness(struct recorder_ids *ids,
					     const struct perch_mmap_record *mmap)
{
	for (size_t i = 0; i < ids->nr_witnesses; i++)
		if (ids->witness[i].major == mmap->major && ids->witness[i].minor == mmap->minor)
			return &ids->witness[i];
	return NULL;
}

/* A later process takes the place of a witness that has ended. */
static void add_witness(struct recorder_ids *ids, const struct perch_mmap_record *mmap)
{
	struct recorder_witness *witness = find_witness(ids, mmap);

	if (!witness && ids->nr_witnesses < RECORDER_MAX_WITNESSES)
		witness = &ids->witness[ids->nr_witnesses++];
	else if (!witness)
		witness = &ids->witness[(mmap->major ^ mmap->minor) % RECORDER_MAX_WITNESSES];
	*witness = (struct recorder_witness){ mmap->major, mmap->minor, mmap->pid };
}

/* ---- one file ---- */

/* Returns a descriptor or a negative errno. */
static int open_as_seen_by(const struct recorder_ids *ids, const struct perch_mmap_record *mmap,
			   uint32_t pid)
{
	const struct perch_dso dso = { .kind = PERCH_DSO_FILE,
				       .path = mmap->filename.text,
				       .device_major = mmap->major,
				       .device_minor = mmap->minor,
				       .inode = mmap->inode,
				       .inode_generation = mmap->inode_generation,
				       .pid = pid,
				       .map_start = mmap->start,
				       .map_end = mmap->start + mmap->length };
	struct perch_error err;
	int fd;

	return perch_symbols_open_file(ids->symbols, &dso, &fd, &err) ? -err.errnum : fd;
}

static int open_file(struct recorder_ids *ids, const struct perch_mmap_record *mmap)
{
	const struct recorder_witness *witness = find_witness(ids, mmap);
	int fd = open_as_seen_by(ids, mmap, mmap->pid);

	if (fd < 0 && witness && witness->pid != mmap->pid)
		fd = open_as_seen_by(ids, mmap, witness->pid);
	if (fd < 0 || !witness)
		add_witness(ids, mmap);
	return fd;
}

/* A file of another format has no names at any time, and memory of compilers, also shared memory
 * without a name, is no file. */
static void note_missing(struct recorder_ids *ids, struct recorder_file_id *file,
			 const struct perch_mmap_record *mmap, int errnum)
{
	const char *path = mmap->filename.text;

	file->missing = errnum == ENOENT || errnum == ENOTDIR || errnum == ESTALE ||
			errnum == EACCES || errnum == EPERM;
	file->missing &= mmap->flags & MAP_PRIVATE || strncmp(path, "/memfd:", 7);
	file->missing &= strcmp(path, "/dev/zero (deleted)") != 0;
	if (file->missing)
		snprintf(ids->missing, sizeof(ids->missing), "%s", path);
}

static void read_file(struct recorder_ids *ids, struct recorder_file_id *file,
		      const struct perch_mmap_record *mmap)
{
	int fd = open_file(ids, mmap), size;
	struct stat status;
	char path[32];

	file->size = 0;
	file->missing = false;
	file->read = fd >= 0 && !fstat(fd, &status);
	if (fd < 0) {
		file->attempts++;
		note_missing(ids, file, mmap, -fd);
		return;
	}
	if (file->read) {
		file->version = version_of(&status);
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		size = perch_build_id_of_file(path, file->bytes, NULL);
		file->size = size > 0 ? (uint8_t)size : 0;
	}
	close(fd);
}

/* Returns whether the file at the path is the one that was read, and whether it was written since,
 * in *written. */
static bool is_same_file(const struct recorder_file_id *file, const char *path, bool *written)
{
	struct recorder_file_version version;
	struct stat status;

	if (stat(path, &status))
		return false;
	version = version_of(&status);
	*written = memcmp(&version, &file->version, sizeof(version)) != 0;
	return version.device == file->version.device && version.inode == file->version.inode;
}

/* The directory of a process is slow to find, and needed only for files of containers. */
static bool is_outdated(const struct recorder_file_id *file, const struct perch_mmap_record *mmap)
{
	char path[PATH_MAX + 32];
	bool written;
	int length;

	if (is_same_file(file, mmap->filename.text, &written))
		return written;
	length = snprintf(path, sizeof(path), "/proc/%" PRIu32 "/root%s", mmap->pid,
			  mmap->filename.text);
	return length < (int)sizeof(path) && is_same_file(file, path, &written) && written;
}

/* ---- all ---- */

int perch__recorder_ids_begin(struct recorder_ids *ids)
{
	/* the build id of another file would prove that one to be the mapped one */
	const struct perch_symbols_options options = { .verified_only = true };

	return perch_symbols_new(&ids->symbols, &options, NULL);
}

void perch__recorder_ids_next_round(struct recorder_ids *ids)
{
	ids->round++;
}

const struct recorder_file_id *perch__recorder_ids_find(struct recorder_ids *ids,
							const struct perch_mmap_record *mmap)
{
	struct recorder_file_id *file;
	const char *path = mmap->filename.text;

	if (!ids->symbols || !mmap->inode || path[0] != '/' || path[1] == '/')
		return NULL;
	file = find_file(ids, mmap);
	if (!file)
		return NULL;
	if (file->read && file->round != ids->round && is_outdated(file, mmap))
		file->read = false;
	file->round = ids->round;
	if (!file->read && file->attempts < MAX_ATTEMPTS)
		read_file(ids, file, mmap);
	return file->size ? file : NULL;
}

size_t perch__recorder_ids_missing(const struct recorder_ids *ids)
{
	size_t nr = 0;

	for (size_t i = 0; i < ids->nr; i++)
		nr += ids->file[i].missing;
	return nr;
}

void perch__recorder_ids_clear(struct recorder_ids *ids)
{
	perch_symbols_free(ids->symbols);
	perch__hash_clear(&ids->table);
	free(ids->file);
	*ids = (struct recorder_ids){ 0 };
}
