/* SPDX-License-Identifier: MIT */
/*
 * Files in the user's cache directory: $XDG_CACHE_HOME/perch, or ~/.cache/perch. Removing them
 * changes only the time that something takes. There are none with PERCH_CACHE=0 or PERCH_CACHE=off
 * in the environment, in programs that change privileges, and without a home directory of this
 * user.
 */
#ifndef PERCH_BASE_USER_CACHE_H
#define PERCH_BASE_USER_CACHE_H

#include <stddef.h>
#include <stdint.h>

/* Bytes that are written one after the other. */
struct perch__cache_part {
	const void *bytes;
	size_t size;
};

/* Returns whether there can be a cache. */
int perch__user_cache_is_used(void);
/*
 * Opens a file, by its name or by "directory/name", if it is a regular file of this user that
 * nobody else can read or write, and if it has more than `least` and at most `most` bytes. Returns
 * a descriptor, or -1.
 */
int perch__user_cache_open(const char *name, uint64_t least, uint64_t most, uint64_t *size);
/*
 * Writes a file, and the directories above it if they are missing. Other processes see the whole
 * file or the one before. A failure has no effect. Returns 0 or a negative errno.
 */
int perch__user_cache_write(const char *name, const struct perch__cache_part *parts, size_t nr);
/*
 * Removes the files of a directory that were not used for the longest time, until all together have
 * at most that many bytes. Others that begin with a dot stay.
 */
void perch__user_cache_limit(const char *directory, uint64_t most);

#endif
