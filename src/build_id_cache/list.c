/* SPDX-License-Identifier: MIT */
/* Lists and removes what the build id cache has. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/no_memory.h"
#include "internal.h"

#define MAX_ENTRIES (1u << 20)

/* ---- listing ---- */

struct listing {
	struct perch_build_id_cache_entry *entry;
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
		struct perch_build_id_cache_entry *added, entry = { 0 };
		uint8_t bytes[20];

		if (strlen(item->d_name) > 38)
			continue;
		snprintf(entry.id.text, sizeof(entry.id.text), "%s%.38s", first, item->d_name);
		if (!perch_parse_build_id(entry.id.text, bytes))
			continue;
		entry.name = perch__build_id_cache_name(dirfd(dir), item->d_name, &entry.id);
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
	return strcmp(((const struct perch_build_id_cache_entry *)a)->id.text,
		      ((const struct perch_build_id_cache_entry *)b)->id.text);
}

int perch_build_id_cache_list(const struct perch_build_id_cache *cache,
			      struct perch_build_id_cache_entry **entries, size_t *nr,
			      struct perch_error *err)
{
	struct listing listing = { 0 };
	int links = cache->fd < 0
			    ? -1
			    : perch__build_id_cache_open_below(cache->fd, BUILD_ID_LINKS, false),
	    rc = 0;
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
		perch_build_id_cache_free_entries(listing.entry, listing.nr);
		return PERCH__NO_MEMORY(err, "to list the build id cache %s", cache->path);
	}
	if (listing.nr)
		qsort(listing.entry, listing.nr, sizeof(*listing.entry), compare_ids);
	*entries = listing.entry;
	*nr = listing.nr;
	return 0;
}

void perch_build_id_cache_free_entries(struct perch_build_id_cache_entry *entries, size_t nr)
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
		parent = perch__build_id_cache_open_below(cache, path, false);
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

int perch_build_id_cache_remove(const struct perch_build_id_cache *cache,
				const struct perch_build_id_text *id, struct perch_error *err)
{
	char link[64], path[PATH_MAX], *name;
	int dir, rc = 0;

	if (!perch__is_build_id(id))
		return perch_error_set(err, ENOENT, PERCH_ERROR_FILE,
				       "the build id cache has no such build id");
	perch__build_id_link_path(id, link);
	name = cache->fd < 0 ? NULL : perch__build_id_cache_name(cache->fd, link, id);
	if (name) {
		dir = perch__build_id_cache_open_entry(cache, name, id, false);
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
