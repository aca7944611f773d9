/* SPDX-License-Identifier: MIT */
/* The handle of the cache: opens and adds files. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/files/io.h"
#include "base/files/new_file.h"
#include "base/files/open_file.h"
#include "base/files/trusted_directory.h"
#include "base/memory.h"
#include "base/no_memory.h"
#include "internal.h"

#define MAX_BYTES (4ull << 30) /* of one file */

static const char *const kind_names[] = { [PERCH_CACHED_ELF] = "elf",
					  [PERCH_CACHED_DEBUG] = "debug",
					  [PERCH_CACHED_KALLSYMS] = "kallsyms",
					  [PERCH_CACHED_VDSO] = "vdso",
					  [PERCH_CACHED_VMLINUX] = "vmlinux" };

/* ---- the cache ---- */

/* Sets path and root. */
static int set_paths(struct perch_build_id_cache *cache, const char *directory, const char *root)
{
	char path[PATH_MAX];
	int rc;

	if (root) {
		cache->root = perch__strdup(root);
		if (!cache->root)
			return -ENOMEM;
		directory = directory ? directory : "/.debug";
	} else if (!directory) {
		rc = perch__build_id_dir(path, sizeof(path));
		if (rc)
			return rc;
		directory = path;
	}
	cache->path = perch__strdup(directory);
	return cache->path ? 0 : -ENOMEM;
}

int perch_build_id_cache_new(struct perch_build_id_cache **out, const char *directory,
			     const char *root, struct perch_error *err)
{
	struct perch_build_id_cache *cache = perch__calloc(1, sizeof(*cache));
	int rc = cache ? 0 : -ENOMEM;

	*out = NULL;
	if (cache) {
		cache->fd = -1;
		rc = set_paths(cache, directory, root);
	}
	if (!rc) {
		*out = cache;
		return 0;
	}
	perch_build_id_cache_free(cache);
	if (rc == -ENOMEM)
		return PERCH__NO_MEMORY(err, "for the build id cache");
	return perch_error_set(err, -rc, PERCH_ERROR_FILE, "there is no build id cache: %s",
			       rc == -ENOENT ? "HOME is not set" : strerror(-rc));
}

void perch_build_id_cache_free(struct perch_build_id_cache *cache)
{
	if (!cache)
		return;
	if (cache->fd >= 0)
		close(cache->fd);
	free(cache->path);
	free(cache->root);
	free(cache);
}

const char *perch_build_id_cache_path(const struct perch_build_id_cache *cache)
{
	return cache->path;
}

int perch_build_id_cache_open_file(const struct perch_build_id_cache *cache,
				   const struct perch_build_id_text *id,
				   enum perch_cached_file kind)
{
	char link[64], path[PATH_MAX];

	if (!perch__is_build_id(id))
		return -ENOENT;
	perch__build_id_link_path(id, link);
	if (snprintf(path, sizeof(path), "%s/%s/%s", cache->path, link, kind_names[kind]) >=
	    (int)sizeof(path))
		return -ENAMETOOLONG;
	/* symbolic links of a cache below a root do not leave that */
	return perch__open_regular(cache->root, path);
}

int perch_build_id_cache_open(struct perch_build_id_cache *cache, bool create,
			      struct perch_error *err)
{
	char path[PATH_MAX];
	struct perch__trusted_directory directory = {
		.path = path,
		.what = "the build id cache",
		.remedy = "name another directory with perch --buildid-dir DIR",
		.create = create,
		.mode = 0755,
	};
	int rc;

	if (cache->root && create)
		return perch_error_set(err, EINVAL, PERCH_ERROR_USAGE,
				       "a build id cache below a root directory is only read");
	if (snprintf(path, sizeof(path), "%s%s", cache->root ? cache->root : "", cache->path) >=
	    (int)sizeof(path))
		return perch_error_set(err, ENAMETOOLONG, PERCH_ERROR_FILE,
				       "the path of the build id cache is too long");
	rc = perch__trusted_directory_open(&directory);
	if (rc == -ENOENT && !create)
		return 0;
	if (rc < 0)
		return perch__trusted_directory_error(&directory, rc, err);
	if (cache->fd >= 0)
		close(cache->fd);
	cache->fd = rc;
	return 0;
}

/* ---- build ids ---- */

void perch_format_build_id(struct perch_build_id_text *id, const uint8_t *bytes, size_t size)
{
	id->text[0] = 0;
	for (size_t i = 0; i < size && i < 20; i++)
		sprintf(id->text + 2 * i, "%02x", bytes[i]);
}

size_t perch_parse_build_id(const char *text, uint8_t bytes[20])
{
	size_t length = strlen(text);
	unsigned byte;

	if (length < 4 || length > 40 || length % 2 || strspn(text, "0123456789abcdef") != length)
		return 0;
	for (size_t i = 0; i < length / 2; i++) {
		sscanf(text + 2 * i, "%2x", &byte);
		bytes[i] = (uint8_t)byte;
	}
	return length / 2;
}

bool perch__is_build_id(const struct perch_build_id_text *id)
{
	uint8_t bytes[20];

	return perch_parse_build_id(id->text, bytes) > 0;
}

void perch__build_id_link_path(const struct perch_build_id_text *id, char path[64])
{
	snprintf(path, 64, BUILD_ID_LINKS "/%.2s/%s", id->text, id->text + 2);
}

static bool stat_file(const struct perch_build_id_cache *cache,
		      const struct perch_build_id_text *id, enum perch_cached_file kind,
		      struct stat *status)
{
	char link[64], path[80];

	if (!perch__is_build_id(id))
		return false;
	perch__build_id_link_path(id, link);
	snprintf(path, sizeof(path), "%s/%s", link, kind_names[kind]);
	return cache->fd >= 0 && !fstatat(cache->fd, path, status, 0) && S_ISREG(status->st_mode);
}

bool perch_build_id_cache_has(const struct perch_build_id_cache *cache,
			      const struct perch_build_id_text *id, enum perch_cached_file kind)
{
	struct stat status;

	return stat_file(cache, id, kind, &status);
}

bool perch_build_id_cache_is(const struct perch_build_id_cache *cache,
			     const struct perch_build_id_text *id, enum perch_cached_file kind,
			     int fd)
{
	struct stat cached, status;

	return stat_file(cache, id, kind, &cached) && !fstat(fd, &status) &&
	       cached.st_dev == status.st_dev && cached.st_ino == status.st_ino;
}

/* ---- directories below the cache ---- */

int perch__build_id_cache_open_below(int at, const char *path, bool create)
{
	int dir = fcntl(at, F_DUPFD_CLOEXEC, 0);
	char part[NAME_MAX + 1];

	for (path += strspn(path, "/"); dir >= 0 && *path; path += strspn(path, "/")) {
		size_t length = strcspn(path, "/");
		int next = -1;

		memcpy(part, path, length <= NAME_MAX ? length : 0);
		part[length <= NAME_MAX ? length : 0] = 0;
		if (!*part)
			errno = ENAMETOOLONG;
		else if (!strcmp(part, ".") || !strcmp(part, ".."))
			errno = EINVAL;
		else if (!create || !mkdirat(dir, part, 0755) || errno == EEXIST)
			next = openat(dir, part, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		int error = errno;

		close(dir);
		errno = error;
		dir = next;
		path += length;
	}
	return dir < 0 ? -errno : dir;
}

int perch__build_id_cache_open_entry(const struct perch_build_id_cache *cache, const char *name,
				     const struct perch_build_id_text *id, bool create)
{
	char path[PATH_MAX];

	name += strspn(name, "/");
	if (!*name ||
	    (strcspn(name, "/") == strlen(BUILD_ID_LINKS) &&
	     !strncmp(name, BUILD_ID_LINKS, strlen(BUILD_ID_LINKS))) ||
	    snprintf(path, sizeof(path), "%s/%s", name, id->text) >= (int)sizeof(path))
		return -EINVAL;
	return perch__build_id_cache_open_below(cache->fd, path, create);
}

/* ---- names ---- */

/* The name in the target of a symbolic link, "../../NAME/BUILDID". The caller frees it. NULL if the
 * link is of another form, or out of memory. */
static char *name_of_target(char *target, const struct perch_build_id_text *id)
{
	size_t length = strlen(target), id_length = strlen(id->text);
	char *name = target + 6, *result;

	if (strncmp(target, "../../", 6) || length < 6 + 1 + 1 + id_length ||
	    strcmp(target + length - id_length, id->text) || target[length - id_length - 1] != '/')
		return NULL;
	target[length - id_length - 1] = 0;
	for (const char *part = name; *part; part += strspn(part, "/")) {
		size_t size = strcspn(part, "/");

		if (size == 2 && !strncmp(part, "..", 2))
			return NULL;
		part += size;
	}
	if (asprintf(&result, "%s%s", *name == '[' ? "" : "/", name) < 0)
		return NULL;
	return result;
}

char *perch__build_id_cache_name(int dir, const char *link, const struct perch_build_id_text *id)
{
	char target[PATH_MAX];
	ssize_t length = readlinkat(dir, link, target, sizeof(target) - 1);

	if (length < 0)
		return NULL;
	target[length] = 0;
	return name_of_target(target, id);
}

/* Returns the name to which the link of a build id leads, or NULL. */
static char *name_of_id(const struct perch_build_id_cache *cache,
			const struct perch_build_id_text *id)
{
	char link[64];

	perch__build_id_link_path(id, link);
	return cache->fd < 0 ? NULL : perch__build_id_cache_name(cache->fd, link, id);
}

/* ---- adding ---- */

/*
 * A hard link takes no disk space. But a program that is written again in place, as cp(1) does,
 * would change in the cache too. Packages replace their files, so these are linked.
 */
static bool may_link(int fd, const struct stat *status)
{
	char own[64], path[PATH_MAX];
	ssize_t length;

	snprintf(own, sizeof(own), "/proc/self/fd/%d", fd);
	length = readlink(own, path, sizeof(path) - 1);
	path[length > 0 ? length : 0] = 0;
	return !status->st_uid && !(status->st_mode & (S_ISUID | S_ISGID | S_IWGRP | S_IWOTH)) &&
	       !strncmp(path, "/usr/", 5) && strncmp(path, "/usr/local/", 11);
}

static int copy_file(int in, int out)
{
	size_t size = 1 << 18;
	char *buffer = malloc(size);
	uint64_t total = 0;
	ssize_t got = 0;
	int rc = buffer ? 0 : -ENOMEM;

	if (!rc && lseek(in, 0, SEEK_SET) < 0)
		rc = -errno;
	while (!rc) {
		got = read(in, buffer, size);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		total += (uint64_t)got;
		rc = total > MAX_BYTES ? -EFBIG : perch__write_all(out, buffer, (size_t)got);
	}
	if (!rc && got < 0)
		rc = -errno;
	free(buffer);
	return rc;
}

/* Makes a link to the file itself. Returns 0 or a negative errno. */
static int add_hard_link(int fd, int dir, const char *name)
{
	char temporary[64];
	int rc;

	perch__new_file_temporary(temporary);
	if (linkat(fd, "", dir, temporary, AT_EMPTY_PATH))
		return -errno;
	rc = renameat(dir, temporary, dir, name) ? -errno : 0;
	if (rc)
		unlinkat(dir, temporary, 0);
	return rc;
}

static int add_file(int dir, enum perch_cached_file kind, int fd)
{
	/* the kernel shows other users no addresses */
	mode_t mode = kind == PERCH_CACHED_KALLSYMS ? 0 : 0555;
	struct perch__new_file file;
	struct stat status;
	int rc;

	if (fstat(fd, &status))
		return -errno;
	if ((uint64_t)status.st_size > MAX_BYTES)
		return -EFBIG;
	rc = perch__new_file_make(&file, dir, 0600);
	if (rc)
		return rc;
	if (ioctl(file.fd, FICLONE, fd)) {
		if (may_link(fd, &status) && !add_hard_link(fd, dir, kind_names[kind])) {
			perch__new_file_discard(&file);
			return 0;
		}
		rc = copy_file(fd, file.fd);
	}
	/* other users may read what they could read before */
	if (!rc && fchmod(file.fd, (status.st_mode & mode) | 0600))
		rc = -errno;
	if (!rc)
		return perch__new_file_name(&file, kind_names[kind], true);
	perch__new_file_discard(&file);
	return rc;
}

/* Makes the symbolic link of a build id. One that leads elsewhere is replaced. */
static int add_link(const struct perch_build_id_cache *cache, const char *name,
		    const struct perch_build_id_text *id)
{
	char target[PATH_MAX], old[PATH_MAX], temporary[64], path[16];
	int dir, rc = 0;
	ssize_t length;

	snprintf(path, sizeof(path), BUILD_ID_LINKS "/%.2s", id->text);
	if (snprintf(target, sizeof(target), "../../%s/%s", name + strspn(name, "/"), id->text) >=
	    (int)sizeof(target))
		return -ENAMETOOLONG;
	dir = perch__build_id_cache_open_below(cache->fd, path, true);
	if (dir < 0)
		return dir;
	length = readlinkat(dir, id->text + 2, old, sizeof(old));
	if (length != (ssize_t)strlen(target) || memcmp(old, target, strlen(target))) {
		perch__new_file_temporary(temporary);
		if (symlinkat(target, dir, temporary)) {
			rc = -errno;
		} else if (renameat(dir, temporary, dir, id->text + 2)) {
			rc = -errno;
			unlinkat(dir, temporary, 0);
		}
	}
	close(dir);
	return rc;
}

int perch_build_id_cache_add(const struct perch_build_id_cache *cache, const char *name,
			     const struct perch_build_id_text *id, enum perch_cached_file kind,
			     int fd, struct perch_error *err)
{
	char clean[PATH_MAX], *present;
	int dir, rc;

	if (!perch__is_build_id(id))
		return perch_error_set(err, EINVAL, PERCH_ERROR_USAGE,
				       "the build id has not 2 to 20 bytes in lower case");
	if (cache->fd < 0)
		return perch_error_set(err, EBADF, PERCH_ERROR_USAGE,
				       "the build id cache is not open");
	if (perch_build_id_cache_has(cache, id, kind))
		return 0;
	present = name_of_id(cache, id);
	dir = present ? perch__build_id_cache_open_entry(cache, present, id, false) : -ENOENT;
	if (dir >= 0)
		name = present;
	else
		dir = perch__build_id_cache_open_entry(cache, name, id, true);
	rc = dir < 0 ? dir : add_file(dir, kind, fd);
	if (dir >= 0)
		close(dir);
	if (!rc)
		rc = add_link(cache, name, id);
	perch_clean_text(name, clean, sizeof(clean));
	free(present);
	if (!rc)
		return 0;
	return perch_error_set(err, -rc, PERCH_ERROR_FILE,
			       "%s cannot be added to the build id cache %s: %s", clean,
			       cache->path, strerror(-rc));
}

/* With kernel.kptr_restrict all addresses are 0. */
static bool has_addresses(int fd)
{
	char start[4096];
	ssize_t size = pread(fd, start, sizeof(start) - 1, 0);

	start[size > 0 ? size : 0] = 0;
	for (char *line = start; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strtoull(line, NULL, 16))
			return true;
	}
	return false;
}

int perch_build_id_cache_add_kallsyms(const struct perch_build_id_cache *cache,
				      const struct perch_build_id_text *id, struct perch_error *err)
{
	int fd, rc = 0;

	if (perch_build_id_cache_has(cache, id, PERCH_CACHED_KALLSYMS))
		return 0;
	fd = open("/proc/kallsyms", O_RDONLY | O_CLOEXEC);
	if (fd >= 0 && has_addresses(fd))
		rc = perch_build_id_cache_add(cache, "[kernel.kallsyms]", id, PERCH_CACHED_KALLSYMS,
					      fd, err);
	if (fd >= 0)
		close(fd);
	return rc;
}
