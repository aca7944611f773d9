/* SPDX-License-Identifier: MIT */
/**
 * @file
 * The build id cache, which perf(1) and perch share: copies of the files that recordings name, by
 * build id, so that symbols are found after a program was built again or removed.
 *
 *     DIRECTORY/usr/bin/true/BUILDID/elf
 *     DIRECTORY/.build-id/XX/YYYY -> ../../usr/bin/true/BUILDID
 *
 * The symbols of recordings (perch/symbol.h) are read from it. perch_session_fill_cache() adds what
 * a recording names.
 *
 * In all functions err may be NULL.
 *
 * Threads: one thread per cache at a time. Several caches, and several processes, may change the
 * same directory: a file is whole or missing at any time.
 *
 * Signals: no function is async-signal-safe. They allocate memory, read and write files.
 */
#ifndef PERCH_BUILD_ID_CACHE_H
#define PERCH_BUILD_ID_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <perch/error.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A build id of 2 to 20 bytes in hexadecimal, or "". */
struct perch_build_id_text {
	char text[2 * 20 + 1]; /**< lower case */
};

/** Sets the text of a build id of at most 20 bytes. */
PERCH_API void perch_format_build_id(struct perch_build_id_text *id, const uint8_t *bytes,
				     size_t size);
/**
 * Reads a build id.
 *
 * @param text        hexadecimal, lower case
 * @param[out] bytes  the build id
 * @return its size, or 0 if the text is not a build id of 2 to 20 bytes
 */
PERCH_API size_t perch_parse_build_id(const char *text, uint8_t bytes[20]);

/** What a file in the cache is. */
enum perch_cached_file {
	PERCH_CACHED_ELF,      /**< a program or shared object */
	PERCH_CACHED_DEBUG,    /**< its separate debug file */
	PERCH_CACHED_KALLSYMS, /**< names of a kernel, in the format of /proc/kallsyms */
	PERCH_CACHED_VDSO,     /**< the vdso of a kernel */
	PERCH_CACHED_VMLINUX,  /**< a kernel that perf(1) has added, with its symbols */
};

/** A build id in the cache. */
struct perch_build_id_cache_entry {
	struct perch_build_id_text id; /**< the build id */
	char *name;		       /**< "/usr/bin/true", "[vdso]"; not trusted */
	uint64_t reserved[2];	       /**< for members of later versions */
};

/** A build id cache. */
struct perch_build_id_cache;

/**
 * Makes a handle for reading. Nothing is opened yet.
 *
 * @param[out] cache  the cache; NULL after an error
 * @param directory   its directory, below root. NULL is /.debug, or without root $PERF_BUILDID_DIR,
 *                    buildid.dir of perf-config(1), or ~/.debug
 * @param root        NULL, or a directory that symbolic links in the cache do not leave: files are
 *                    only read then, by perch_build_id_cache_open_file()
 * @param[out] err    the reason of a failure
 * @return 0, -ENOENT without directory and home directory, -ENAMETOOLONG or -ENOMEM
 */
PERCH_API int perch_build_id_cache_new(struct perch_build_id_cache **cache, const char *directory,
				       const char *root, struct perch_error *err);

/** Frees the handle. NULL is allowed. */
PERCH_API void perch_build_id_cache_free(struct perch_build_id_cache *cache);

/** Returns the directory; valid until the cache is freed. */
PERCH_API const char *perch_build_id_cache_path(const struct perch_build_id_cache *cache);

/**
 * Opens a file for reading. The build id of its content is not checked.
 *
 * @param cache  the cache
 * @param id     the build id
 * @param kind   what the file is
 * @return a descriptor, which the caller closes, or a negative errno; -ENOENT: it is not there
 */
PERCH_API int perch_build_id_cache_open_file(const struct perch_build_id_cache *cache,
					     const struct perch_build_id_text *id,
					     enum perch_cached_file kind);

/**
 * Opens the directory, for the functions below. It, and symbolic links on the way to it, must
 * belong to the current user or root, so that nobody else chooses where files are written.
 *
 * @param cache     the cache
 * @param create    makes the directory; without it, a missing one is an empty cache, to which
 *                  nothing can be added
 * @param[out] err  the reason of a failure
 * @return 0 or a negative errno; -EPERM: a directory or link belongs to another user; -EINVAL:
 *         it is below a root directory, and create is true
 */
PERCH_API int perch_build_id_cache_open(struct perch_build_id_cache *cache, bool create,
					struct perch_error *err);

/** Returns true if the cache has the file. */
PERCH_API bool perch_build_id_cache_has(const struct perch_build_id_cache *cache,
					const struct perch_build_id_text *id,
					enum perch_cached_file kind);
/** Returns true if the file in the cache is the one of the descriptor. */
PERCH_API bool perch_build_id_cache_is(const struct perch_build_id_cache *cache,
				       const struct perch_build_id_text *id,
				       enum perch_cached_file kind, int fd);
/**
 * Adds the content of a descriptor, unless the cache has the file. It takes no disk space where
 * the file system shares blocks, or the file is one that packages replace (/usr). If the cache has
 * another file of the build id, both have the name of that one, because a build id has one link.
 *
 * @param cache     the cache, which is open
 * @param name      the path of the file when it was recorded, or "[vdso]"
 * @param id        the build id
 * @param kind      what the file is
 * @param fd        a descriptor for reading of at most 4 GiB; its position changes
 * @param[out] err  the reason of a failure
 * @return 0 or a negative errno; -EINVAL: the name has a part ".." or is that of the links
 */
PERCH_API int perch_build_id_cache_add(const struct perch_build_id_cache *cache, const char *name,
				       const struct perch_build_id_text *id,
				       enum perch_cached_file kind, int fd,
				       struct perch_error *err);
/** Adds /proc/kallsyms, unless the kernel hides its addresses from this user; then returns 0. */
PERCH_API int perch_build_id_cache_add_kallsyms(const struct perch_build_id_cache *cache,
						const struct perch_build_id_text *id,
						struct perch_error *err);
/** Removes all files of a build id. Returns 0 or a negative errno; -ENOENT if there are none. */
PERCH_API int perch_build_id_cache_remove(const struct perch_build_id_cache *cache,
					  const struct perch_build_id_text *id,
					  struct perch_error *err);
/**
 * Lists what the cache has.
 *
 * @param cache         the cache, which is open
 * @param[out] entries  in the order of build ids; free them by perch_build_id_cache_free_entries()
 * @param[out] nr       the number of entries
 * @param[out] err      the reason of a failure
 * @return 0 or -ENOMEM
 */
PERCH_API int perch_build_id_cache_list(const struct perch_build_id_cache *cache,
					struct perch_build_id_cache_entry **entries, size_t *nr,
					struct perch_error *err);
/** Frees a list. */
PERCH_API void perch_build_id_cache_free_entries(struct perch_build_id_cache_entry *entries,
						 size_t nr);

#ifdef __cplusplus
}
#endif
#endif
