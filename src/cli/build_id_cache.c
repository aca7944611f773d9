/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "build_id_cache.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/build_id_dir.h"
#include "base/open_file.h"

#define LINKS	    ".build-id"
#define MAX_ENTRIES (1u << 20)
#define MAX_BYTES   (4ull << 30) /* of one file */

static const char *const kind_names[] = { [CLI_CACHE_ELF] = "elf",
					  [CLI_CACHE_DEBUG] = "debug",
					  [CLI_CACHE_KALLSYMS] = "kallsyms",
					  [CLI_CACHE_VDSO] = "vdso" };

/* ---- the directory ---- */

static int refuse_owner(const char *path, unsigned owner, struct perch_error *err)
{
	perch_error_set(err, EPERM, PERCH_ERROR_FILE,
			"the build id cache %s belongs to uid %u, not to the current user or root",
			path, owner);
	perch_error_remedy(err, "name another directory with perch --buildid-dir DIR");
	return -EPERM;
}

static bool trusted(unsigned owner)
{
	return !owner || owner == geteuid();
}

/* A symbolic link of another user would choose where root writes files. */
static int check_links(const char *path, struct perch_error *err)
{
	char part[PATH_MAX];
	struct stat status;

	for (size_t at = 1; at <= strlen(path); at++) {
		if (path[at] && path[at] != '/')
			continue;
		memcpy(part, path, at);
		part[at] = 0;
		if (!lstat(part, &status) && S_ISLNK(status.st_mode) && !trusted(status.st_uid))
			return refuse_owner(part, status.st_uid, err);
	}
	return 0;
}

/*
 * Makes the directory and those above it. With sudo, HOME may be that of the user: a directory that
 * belongs to root would be of no use to that user, so none is made.
 */
static int make_directory(const char *path, struct perch_error *err)
{
	char part[PATH_MAX];
	struct stat status;

	for (size_t at = 1; at <= strlen(path); at++) {
		if (path[at] && path[at] != '/')
			continue;
		memcpy(part, path, at);
		part[at] = 0;
		if (!stat(part, &status)) {
			/* the nearest directory that exists */
			if (!trusted(status.st_uid) && path[at]) {
				char next[PATH_MAX];
				size_t end = at + 1 + strcspn(path + at + 1, "/");

				memcpy(next, path, end);
				next[end] = 0;
				if (access(next, F_OK))
					return refuse_owner(part, status.st_uid, err);
			}
			continue;
		}
		if (mkdir(part, 0755) && errno != EEXIST)
			return perch_error_set(err, errno, PERCH_ERROR_FILE,
					       "the build id cache %s cannot be made: %s", path,
					       strerror(errno));
	}
	return 0;
}

int cli_cache_open(struct cli_cache *cache, bool create, struct perch_error *err)
{
	struct stat status;
	int rc = perch__build_id_dir(cache->path, sizeof(cache->path));

	cache->fd = -1;
	if (rc) {
		perch_error_set(err, -rc, PERCH_ERROR_FILE, "there is no build id cache: %s",
				rc == -ENOENT ? "HOME is not set" : strerror(-rc));
		perch_error_remedy(err, "name a directory with perch --buildid-dir DIR");
		return rc;
	}
	rc = check_links(cache->path, err);
	if (!rc && create)
		rc = make_directory(cache->path, err);
	if (rc)
		return rc;
	cache->fd = open(cache->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (cache->fd < 0 && errno == ENOENT && !create)
		return 0;
	if (cache->fd < 0 || fstat(cache->fd, &status))
		return perch_error_set(err, errno, PERCH_ERROR_FILE, "the build id cache %s: %s",
				       cache->path, strerror(errno));
	if (trusted(status.st_uid))
		return 0;
	cli_cache_close(cache);
	return refuse_owner(cache->path, status.st_uid, err);
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

/* ".build-id/xx/yyyy" */
static void link_path(const struct cli_cache_id *id, char path[64])
{
	snprintf(path, 64, LINKS "/%.2s/%s", id->text, id->text + 2);
}

static bool stat_file(const struct cli_cache *cache, const struct cli_cache_id *id,
		      enum cli_cache_kind kind, struct stat *status)
{
	char link[64], path[80];

	link_path(id, link);
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

/*
 * Opens a directory below another one, and makes it if `create`. Follows no symbolic links, so that
 * nothing is written elsewhere. Returns a descriptor or a negative errno.
 */
static int open_below(int at, const char *path, bool create)
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

/* The directory of a name and a build id. */
static int open_entry(const struct cli_cache *cache, const char *name,
		      const struct cli_cache_id *id, bool create)
{
	char path[PATH_MAX];

	name += strspn(name, "/");
	if (!*name || !strncmp(name, LINKS "/", sizeof(LINKS)) ||
	    snprintf(path, sizeof(path), "%s/%s", name, id->text) >= (int)sizeof(path))
		return -EINVAL;
	return open_below(cache->fd, path, create);
}

/* ---- adding ---- */

static void temporary_name(const char *kind, char name[64])
{
	uint64_t random = 0;

	if (getrandom(&random, sizeof(random), GRND_NONBLOCK) != sizeof(random))
		random = (uint64_t)(uintptr_t)name;
	snprintf(name, 64, ".%s.%d.%016" PRIx64, kind, (int)getpid(), random);
}

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

static int write_all(int out, const char *bytes, size_t size)
{
	while (size) {
		ssize_t written = write(out, bytes, size);

		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0)
			return written ? -errno : -EIO;
		bytes += written;
		size -= (size_t)written;
	}
	return 0;
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
		rc = total > MAX_BYTES ? -EFBIG : write_all(out, buffer, (size_t)got);
	}
	if (!rc && got < 0)
		rc = -errno;
	free(buffer);
	return rc;
}

/* Writes a file under a temporary name. mode: of which bits it may have. Returns 0 or a negative
 * errno. */
static int store(int fd, int dir, const char *name, mode_t mode)
{
	struct stat status;
	int out, rc = 0;

	if (fstat(fd, &status))
		return -errno;
	if ((uint64_t)status.st_size > MAX_BYTES)
		return -EFBIG;
	out = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (out < 0)
		return -errno;
	if (ioctl(out, FICLONE, fd)) {
		if (may_link(fd, &status) && !unlinkat(dir, name, 0) &&
		    !linkat(fd, "", dir, name, AT_EMPTY_PATH)) {
			close(out);
			return 0;
		}
		if (faccessat(dir, name, F_OK, AT_SYMLINK_NOFOLLOW)) {
			close(out);
			out = openat(dir, name,
				     O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
			if (out < 0)
				return -errno;
		}
		rc = copy(fd, out);
	}
	/* other users may read what they could read before */
	if (!rc && fchmod(out, (status.st_mode & mode) | 0600))
		rc = -errno;
	if (close(out) && !rc)
		rc = -errno;
	if (rc)
		unlinkat(dir, name, 0);
	return rc;
}

static int add_file(int dir, enum cli_cache_kind kind, int fd)
{
	/* the kernel shows other users no addresses */
	mode_t mode = kind == CLI_CACHE_KALLSYMS ? 0 : 0555;
	char temporary[64];
	int rc;

	temporary_name(kind_names[kind], temporary);
	rc = store(fd, dir, temporary, mode);
	if (!rc && renameat(dir, temporary, dir, kind_names[kind])) {
		rc = -errno;
		unlinkat(dir, temporary, 0);
	}
	return rc;
}

/* Makes the symbolic link of a build id. One that leads elsewhere is replaced. */
static int add_link(const struct cli_cache *cache, const char *name, const struct cli_cache_id *id)
{
	char target[PATH_MAX], old[PATH_MAX], temporary[64], path[16];
	int dir, rc = 0;
	ssize_t length;

	snprintf(path, sizeof(path), LINKS "/%.2s", id->text);
	if (snprintf(target, sizeof(target), "../../%s/%s", name + strspn(name, "/"), id->text) >=
	    (int)sizeof(target))
		return -ENAMETOOLONG;
	dir = open_below(cache->fd, path, true);
	if (dir < 0)
		return dir;
	length = readlinkat(dir, id->text + 2, old, sizeof(old));
	if (length != (ssize_t)strlen(target) || memcmp(old, target, strlen(target))) {
		temporary_name("link", temporary);
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
	char clean[PATH_MAX];
	int dir, rc;

	if (cli_cache_has(cache, id, kind))
		return 0;
	dir = open_entry(cache, name, id, true);
	rc = dir < 0 ? dir : add_file(dir, kind, fd);
	if (dir >= 0)
		close(dir);
	if (!rc)
		rc = add_link(cache, name, id);
	if (!rc)
		return 0;
	perch_clean_text(name, clean, sizeof(clean));
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

/* ---- listing ---- */

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

static char *name_of_link(int dir, const char *link, const struct cli_cache_id *id)
{
	char target[PATH_MAX];
	ssize_t length = readlinkat(dir, link, target, sizeof(target) - 1);

	if (length < 0)
		return NULL;
	target[length] = 0;
	return name_of_target(target, id);
}

struct listing {
	struct cli_cache_entry *entry;
	size_t nr, capacity;
};

/* Lists the links of one directory, whose name is the first byte. */
static int list_links(struct listing *listing, int links, const char *first)
{
	int fd = openat(links, first, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *item;
	int rc = 0;

	if (!dir) {
		if (fd >= 0)
			close(fd);
		return 0;
	}
	while (!rc && (item = readdir(dir))) {
		struct cli_cache_entry *added, entry;
		uint8_t bytes[20];

		if (strlen(item->d_name) > 38)
			continue;
		snprintf(entry.id.text, sizeof(entry.id.text), "%s%.38s", first, item->d_name);
		if (!cli_cache_id_bytes(entry.id.text, bytes))
			continue;
		entry.name = name_of_link(dirfd(dir), item->d_name, &entry.id);
		if (!entry.name)
			continue;
		added = PERCH__ARRAY_APPEND_MAX(listing->entry, listing->nr, listing->capacity,
						MAX_ENTRIES);
		if (added)
			*added = entry;
		else
			rc = -ENOMEM;
		if (rc)
			free(entry.name);
	}
	closedir(dir);
	return rc;
}

static int compare_ids(const void *a, const void *b)
{
	return strcmp(((const struct cli_cache_entry *)a)->id.text,
		      ((const struct cli_cache_entry *)b)->id.text);
}

int cli_cache_list(const struct cli_cache *cache, struct cli_cache_entry **entries, size_t *nr,
		   struct perch_error *err)
{
	struct listing listing = { 0 };
	int links = cache->fd < 0 ? -1 : open_below(cache->fd, LINKS, false), rc = 0;
	char first[3];

	for (unsigned i = 0; links >= 0 && i < 256 && !rc; i++) {
		snprintf(first, sizeof(first), "%02x", i);
		rc = list_links(&listing, links, first);
	}
	if (links >= 0)
		close(links);
	*entries = NULL;
	*nr = 0;
	if (rc) {
		cli_cache_free_entries(listing.entry, listing.nr);
		return perch_error_set(err, ENOMEM, PERCH_ERROR_NO_MEMORY,
				       "no memory to list the build id cache %s", cache->path);
	}
	if (listing.nr)
		qsort(listing.entry, listing.nr, sizeof(*listing.entry), compare_ids);
	*entries = listing.entry;
	*nr = listing.nr;
	return 0;
}

void cli_cache_free_entries(struct cli_cache_entry *entries, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		free(entries[i].name);
	free(entries);
}

/* ---- removing ---- */

/* Removes the files of a directory that belongs to one build id. Takes fd. */
static void remove_files(int fd)
{
	DIR *dir = fdopendir(fd);
	const struct dirent *item;

	if (!dir) {
		close(fd);
		return;
	}
	while ((item = readdir(dir)))
		if (strcmp(item->d_name, ".") && strcmp(item->d_name, ".."))
			unlinkat(dirfd(dir), item->d_name, 0);
	closedir(dir);
}

/* Removes a directory and those above it that are empty. */
static void remove_directories(int cache, char *path)
{
	for (char *slash; (slash = strrchr(path, '/')); *slash = 0) {
		int parent;

		*slash = 0;
		parent = open_below(cache, path, false);
		*slash = '/';
		if (parent < 0)
			return;
		if (unlinkat(parent, slash + 1, AT_REMOVEDIR)) {
			close(parent);
			return;
		}
		close(parent);
	}
	unlinkat(cache, path, AT_REMOVEDIR);
}

int cli_cache_remove(const struct cli_cache *cache, const struct cli_cache_id *id,
		     struct perch_error *err)
{
	char link[64], path[PATH_MAX], *name;
	int dir, rc = 0;

	link_path(id, link);
	name = cache->fd < 0 ? NULL : name_of_link(cache->fd, link, id);
	if (name) {
		dir = open_entry(cache, name, id, false);
		if (dir >= 0)
			remove_files(dir);
		if (dir >= 0 && snprintf(path, sizeof(path), "%s/%s", name + strspn(name, "/"),
					 id->text) < (int)sizeof(path))
			remove_directories(cache->fd, path);
		free(name);
	}
	if (cache->fd < 0 || unlinkat(cache->fd, link, 0))
		rc = cache->fd < 0 ? -ENOENT : -errno;
	if (!rc) {
		*strrchr(link, '/') = 0;
		unlinkat(cache->fd, link, AT_REMOVEDIR);
		return 0;
	}
	return perch_error_set(err, -rc, PERCH_ERROR_FILE,
			       "%s cannot be removed from the build id cache %s: %s", id->text,
			       cache->path, strerror(-rc));
}
