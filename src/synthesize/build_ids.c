/* SPDX-License-Identifier: MIT */
/*
 * Build ids of mapped files. Many processes map the same files, so each file is read once per
 * batch. The process may map another file meanwhile, and its paths are those of its own root
 * directory, so an opened file must have the inode of the mapping.
 */
#define _GNU_SOURCE /* O_PATH */
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/array.h"
#include "base/files/elf.h"
#include "internal.h"

#define FILES_MAX 65536

/* A device or a FIFO is not opened, because that can have side effects. Returns a descriptor or a
 * negative errno. */
static int open_regular(const struct perch__batch *batch, const char *path, struct stat *status)
{
	char whole[PATH_MAX], again[32];
	int rc = perch_machine_path(batch->machine, path, whole, sizeof(whole));
	int found = rc < 0 ? rc : open(whole, O_PATH | O_CLOEXEC), fd = -ENXIO;

	if (found < 0)
		return rc < 0 ? rc : -errno;
	if (!fstat(found, status) && S_ISREG(status->st_mode)) {
		snprintf(again, sizeof(again), "/proc/self/fd/%d", found);
		fd = open(again, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
		fd = fd < 0 ? -errno : fd;
	}
	close(found);
	return fd;
}

static bool same_device(const struct stat *status, const struct perch__mapping *mapping)
{
	return major(status->st_dev) == mapping->major && minor(status->st_dev) == mapping->minor;
}

/*
 * Opens the file of a mapping. In map_files it is the mapped one, but only root may open it there.
 * Files of btrfs and overlayfs have another device in stat(2) than in the mapping, so there the
 * device is compared only for the path.
 */
static int open_mapped(const struct perch__batch *batch, const struct perch__mapping *mapping,
		       const char *name)
{
	char path[PATH_MAX + 64];
	struct stat status;
	int fd;

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/map_files/%" PRIx64 "-%" PRIx64,
		 mapping->pid, mapping->start, mapping->start + mapping->length);
	fd = open_regular(batch, path, &status);
	if (fd >= 0 && (status.st_ino == mapping->inode || !same_device(&status, mapping)))
		return fd;
	if (fd >= 0)
		close(fd);
	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/root%s", mapping->pid, name);
	fd = open_regular(batch, path, &status);
	if (fd < 0 || (status.st_ino == mapping->inode && same_device(&status, mapping)))
		return fd;
	close(fd);
	return -ESTALE;
}

static void read_build_id(const struct perch__batch *batch, struct perch__file_build_id *file,
			  const struct perch__mapping *mapping, const char *name)
{
	int fd = open_mapped(batch, mapping, name), size;
	struct perch__elf elf;

	if (fd < 0)
		return;
	if (!perch__elf_init_file(&elf, fd)) {
		size = perch__elf_build_id(&elf, file->bytes);
		file->size = size > 0 ? (uint8_t)size : 0;
		perch__elf_clear(&elf);
	}
	close(fd);
}

static bool same_file(const void *items, uint32_t index, const void *wanted)
{
	const struct perch__file_build_id *file =
		(const struct perch__file_build_id *)items + index;
	const struct perch__mapping *mapping = wanted;

	return file->inode == mapping->inode && file->major == mapping->major &&
	       file->minor == mapping->minor;
}

const struct perch__file_build_id *perch__find_build_id(struct perch__batch *batch,
							const struct perch__mapping *mapping,
							const char *name)
{
	struct perch__file_build_ids *files = &batch->build_ids;
	struct perch__file_build_id *file;
	uint64_t hash;
	uint32_t index;

	if (!mapping->inode || *name != '/')
		return NULL;
	if (!files->nr)
		files->table.seed = perch__hash_seed(files);
	hash = perch__hash_pair(files->table.seed, (uint64_t)mapping->major << 32 | mapping->minor,
				mapping->inode);
	index = perch__hash_find(&files->table, hash, same_file, files->file, mapping);
	if (index == PERCH__HASH_NONE) {
		index = (uint32_t)files->nr;
		if (perch__hash_reserve(&files->table, files->nr + 1))
			return NULL;
		file = PERCH__ARRAY_APPEND_MAX(files->file, files->nr, files->capacity, FILES_MAX);
		if (!file)
			return NULL;
		perch__hash_add(&files->table, hash, index);
		*file = (struct perch__file_build_id){ .major = mapping->major,
						       .minor = mapping->minor,
						       .inode = mapping->inode };
		read_build_id(batch, file, mapping, name);
	}
	return files->file[index].size ? &files->file[index] : NULL;
}

void perch__free_build_ids(struct perch__batch *batch)
{
	perch__hash_clear(&batch->build_ids.table);
	free(batch->build_ids.file);
}
