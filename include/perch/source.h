/* SPDX-License-Identifier: MIT */
/**
 * @file
 * Lines of source files that debug information names (struct perch_symbol_frame), for programs that
 * show them beside addresses.
 *
 * The names are not trusted: only regular files of at most 16 MiB are read, and at most 256 MiB and
 * PERCH_SOURCES_MAX files in all. Each file is read once.
 *
 * Threads: one thread per object at a time.
 *
 * Fork: the texts are plain memory. A child can use and free its copy.
 *
 * Signals: no function is async-signal-safe. They allocate memory and read files.
 */
#ifndef PERCH_SOURCE_H
#define PERCH_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <perch/error.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The most files. */
#define PERCH_SOURCES_MAX 4096

/** Where source files are. Zeros are the defaults. The strings must outlive the object. */
struct perch_sources_options {
	const char *root;     /**< directory below which paths are looked up; NULL is / */
	const char *prefix;   /**< put before each path; NULL is none */
	uint64_t strip;	      /**< with prefix: first directories that are removed from each path */
	uint64_t reserved[4]; /**< must be 0 */
};

/** Source files that were asked for. */
struct perch_sources;

/**
 * Creates an object without files.
 *
 * @param[out] sources  the new object; NULL after a failure
 * @param options       NULL is the defaults
 * @param[out] err      the reason of a failure; NULL is allowed
 * @return 0, -ENOMEM, or -EINVAL for members of a later version
 */
PERCH_API int perch_sources_new(struct perch_sources **sources,
				const struct perch_sources_options *options,
				struct perch_error *err);

/** Frees the files. NULL is allowed. */
PERCH_API void perch_sources_free(struct perch_sources *sources);

/**
 * Returns a line of a file. Why there is none is counted (perch_sources_get_stats()).
 *
 * @param sources      the files; NULL has none
 * @param path         the file, as debug information names it
 * @param modified_at  when the binary was written, in ns since 1970, see perch_code.modified_at: a
 *                     source file that is newer is counted; 0 is unknown
 * @param line         its number, from 1
 * @param[out] length  bytes of the line, without its newline
 * @return the text, not cleaned for a terminal and without a NUL; valid until perch_sources_free();
 *         NULL if there is none
 */
PERCH_API const char *perch_sources_line(struct perch_sources *sources, const char *path,
					 uint64_t modified_at, uint32_t line, size_t *length);

/** Returns true if a file was read by perch_sources_line(). NULL has none. */
PERCH_API bool perch_sources_has(const struct perch_sources *sources, const char *path);

/** What cannot be shown. Paths are clean for a terminal, the first one of each, and valid until
 * perch_sources_free(). */
struct perch_sources_stats {
	size_t missing;		  /**< files that cannot be read */
	const char *missing_path; /**< as debug information names it */
	size_t newer;		  /**< files that are newer than their binary */
	const char *newer_path;	  /**< where the file is */
	size_t too_large;	  /**< files that are too large, or for which no memory is left */
	const char *large_path;	  /**< where the file is */
	bool too_many;		  /**< there are more than PERCH_SOURCES_MAX files */
	uint64_t reserved[2];	  /**< for members of later versions */
};

/** Returns what cannot be shown, in *stats. NULL has no files. */
PERCH_API void perch_sources_get_stats(const struct perch_sources *sources,
				       struct perch_sources_stats *stats);

#ifdef __cplusplus
}
#endif
#endif
