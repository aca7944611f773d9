/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "build_id_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/files/build_id_dir.h"
#include "base/files/io.h"
#include "base/files/new_file.h"
#include "trusted_directory.h"

#define MAX_BYTES (4ull << 30) /* of one file */

static const char *const kind_names[] = { [CLI_CACHE_ELF] = "elf",
					  [CLI_CACHE_DEBUG] = "debug",
					  [CLI_CACHE_KALLSYMS] = "kallsyms",
					  [CLI_CACHE_VDSO] = "vdso" };

/* ---- the cache ---- */

int cli_cache_open(struct cli_cache *cache, bool create, struct perch_error *err)
{
	const struct cli_directory directory = {
		.path = cache->path,
		.what = "the build id cache",
		.remedy = "name another directory with perch --buildid-dir DIR",
		.create = create,
		.mode = 0755,
	};
	int rc = perch__build_id_dir(cache->path, sizeof(cache->path));

	cache->fd = -1;
	if (rc) {
		perch_error_set(err, -rc, PERCH_ERROR_FILE, "there is no build id cache: %s",
				rc == -ENOENT ? "HOME is not set" : strerror(-rc));
		perch_error_remedy(err, "name a directory with perch --buildid-dir DIR");
		return rc;
	}
	rc = cli_directory_open(&directory, err);
	if (rc == -ENOENT && !create)
		return 0;
	cache->fd = rc < 0 ? -1 : rc;
	return rc < 0 ? rc : 0;
}

void cli_cache_close(struct cli_cache *cache)
{
	if (cache->fd >= 0)
		close(cache->fd);
	cache->fd = -1;
}

/* ---- build ids ---- */

void cli_cache_set_id(struct cli_cache_id *id, const uint8_t *bytes, size_t size)
{
	id->text[0] = 0;
	for (size_t i = 0; i < size && i < 20; i++)
		sprintf(id->text + 2 * i, "%02x", bytes[i]);
}

size_t cli_cache_id_bytes(const char *text, uint8_t bytes[20])
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

void cli_cache_link_path(const struct cli_cache_id *id, char path[64])
{
	snprintf(path, 64, CLI_CACHE_LINKS "/%.2s/%s", id->text, id->text + 2);
}

static bool stat_file(const struct cli_cache *cache, const struct cli_cache_id *id,
		      enum cli_cache_kind kind, struct stat *status)
{
	char link[64], path[80];

	cli_cache_link_path(id, link);
	snprintf(path, sizeof(path), "%s/%s", link, kind_names[kind]);
	return cache->fd >= 0 && !fstatat(cache->fd, path, status, 0) && S_ISREG(status->st_mode);
}

bool cli_cache_has(const struct cli_cache *cache, const struct cli_cache_id *id,
		   enum cli_cache_kind kind)
{
	struct stat status;

	return stat_file(cache, id, kind, &status);
}

bool cli_cache_is(const struct cli_cache *cache, const struct cli_cache_id *id,
		  enum cli_cache_kind kind, int fd)
{
	struct stat cached, status;

	return stat_file(cache, id, kind, &cached) && !fstat(fd, &status) &&
	       cached.st_dev == status.st_dev && cached.st_ino == status.st_ino;
}

/* ---- directories below the cache ---- */

int cli_cache_open_below(int at, const char *path, bool create)
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

int cli_cache_open_entry(const struct cli_cache *cache, const char *name,
			 const struct cli_cache_id *id, bool create)
{
	char path[PATH_MAX];

	name += strspn(name, "/");
	if (!*name || !strncmp(name, CLI_CACHE_LINKS "/", sizeof(CLI_CACHE_LINKS)) ||
	    snprintf(path, sizeof(path), "%s/%s", name, id->text) >= (int)sizeof(path))
		return -EINVAL;
	return cli_cache_open_below(cache->fd, path, create);
}

/* ---- names ---- */

/* The name in the target of a symbolic link, "../../NAME/BUILDID". The caller frees it. NULL if the
 * link is of another form, or out of memory. */
static char *name_of_target(char *target, const struct cli_cache_id *id)
{
	size_t length = strlen(target), id_length = strlen(id->text);
	char *name = target + 6, *result;

	if (strncmp(target, "../../", 6) || length < 6 + 1 + 1 + id_length ||
	    strcmp(target + length - id_length, id->text) || target[length - id_length - 1] != '/')
		return NULL;
	target[length - id_length - 1] = 0;
	if (strstr(name, "/../") || !strncmp(name, "../", 3) || strstr(name, "/..") ||
	    !strcmp(name, ".."))
		return NULL;
	if (asprintf(&result, "%s%s", *name == '[' ? "" : "/", name) < 0)
		return NULL;
	return result;
}

char *cli_cache_name_of_link(int dir, const char *link, const struct cli_cache_id *id)
{
	char target[PATH_MAX];
	ssize_t length = readlinkat(dir, link, target, sizeof(target) - 1);

	if (length < 0)
		return NULL;
	target[length] = 0;
	return name_of_target(target, id);
}

/* Returns the name to which the link of a build id leads, or NULL. */
static char *name_of_id(const struct cli_cache *cache, const struct cli_cache_id *id)
{
	char link[64];

	cli_cache_link_path(id, link);
	return cache->fd < 0 ? NULL : cli_cache_name_of_link(cache->fd, link, id);
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

static int copy(int in, int out)
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

static int add_file(int dir, enum cli_cache_kind kind, int fd)
{
	/* the kernel shows other users no addresses */
	mode_t mode = kind == CLI_CACHE_KALLSYMS ? 0 : 0555;
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
		rc = copy(fd, file.fd);
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
static int add_link(const struct cli_cache *cache, const char *name, const struct cli_cache_id *id)
{
	char target[PATH_MAX], old[PATH_MAX], temporary[64], path[16];
	int dir, rc = 0;
	ssize_t length;

	snprintf(path, sizeof(path), CLI_CACHE_LINKS "/%.2s", id->text);
	if (snprintf(target, sizeof(target), "../../%s/%s", name + strspn(name, "/"), id->text) >=
	    (int)sizeof(target))
		return -ENAMETOOLONG;
	dir = cli_cache_open_below(cache->fd, path, true);
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

int cli_cache_add(const struct cli_cache *cache, const char *name, const struct cli_cache_id *id,
		  enum cli_cache_kind kind, int fd, struct perch_error *err)
{
	char clean[PATH_MAX], *present;
	int dir, rc;

	if (cli_cache_has(cache, id, kind))
		return 0;
	present = name_of_id(cache, id);
	dir = present ? cli_cache_open_entry(cache, present, id, false) : -ENOENT;
	if (dir >= 0)
		name = present;
	else
		dir = cli_cache_open_entry(cache, name, id, true);
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

int cli_cache_add_kallsyms(const struct cli_cache *cache, const struct cli_cache_id *id,
			   struct perch_error *err)
{
	int fd, rc = 0;

	if (cli_cache_has(cache, id, CLI_CACHE_KALLSYMS))
		return 0;
	fd = open("/proc/kallsyms", O_RDONLY | O_CLOEXEC);
	if (fd >= 0 && has_addresses(fd))
		rc = cli_cache_add(cache, "[kernel.kallsyms]", id, CLI_CACHE_KALLSYMS, fd, err);
	if (fd >= 0)
		close(fd);
	return rc;
}
