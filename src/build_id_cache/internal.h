/* SPDX-License-Identifier: MIT */
/*
 * The build id cache. A file calls only files below its own:
 *
 *	list.c		lists and removes entries
 *	cache.c		the handle; opens and adds files
 *	directory.c	where the cache is
 */
#ifndef PERCH_BUILD_ID_CACHE_INTERNAL_H
#define PERCH_BUILD_ID_CACHE_INTERNAL_H

#include <perch/build_id_cache.h>

struct perch_build_id_cache {
	char *path, *root; /* root: NULL, or where path begins */
	int fd;		   /* the directory; -1 if there is none, or it is not opened */
};

/* ---- directory.c ---- */

/*
 * Finds the directory: $PERF_BUILDID_DIR, buildid.dir of perf-config(1), or ~/.debug. Returns 0,
 * -ENOENT: there is no home directory, or -ENAMETOOLONG.
 */
int perch__build_id_dir(char *path, size_t size);

/* ---- cache.c ---- */

#define BUILD_ID_LINKS ".build-id"

/* Writes the path of the symbolic link of a build id: ".build-id/xx/yyyy". */
/* Parts of paths are made from it. */
bool perch__is_build_id(const struct perch_build_id_text *id);
void perch__build_id_link_path(const struct perch_build_id_text *id, char path[64]);
/*
 * Opens a directory below another one, and makes it if `create`. Follows no symbolic links, so that
 * nothing is written elsewhere. Returns a descriptor or a negative errno.
 */
int perch__build_id_cache_open_below(int at, const char *path, bool create);
/* The same for the directory of a name and a build id. */
int perch__build_id_cache_open_entry(const struct perch_build_id_cache *cache, const char *name,
				     const struct perch_build_id_text *id, bool create);
/* Returns the name to which the link of a build id leads, for free(); NULL if it is no link to an
 * entry, or out of memory. */
char *perch__build_id_cache_name(int dir, const char *link, const struct perch_build_id_text *id);

#endif
