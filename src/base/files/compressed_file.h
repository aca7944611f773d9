/* SPDX-License-Identifier: MIT */
/*
 * Compressed files, which are read from a temporary file. It has no name, so nothing remains after
 * the program ends. A small file can expand to any size, so the size of the temporary one is
 * limited, and so is the space that it takes from other programs.
 */
#ifndef PERCH_BASE_COMPRESSED_FILE_H
#define PERCH_BASE_COMPRESSED_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "decompress.h"

#define PERCH__COMPRESSION_BYTES 6	     /* are enough to recognize a format */
#define PERCH__MIN_FREE		 (64u << 20) /* bytes of a disk that are left to other programs */

/* True for the first bytes of a file of a format that perch__decompress_file() may read. */
bool perch__find_compression(const void *bytes, size_t size, enum compression *compression);
/* The directory of temporary files: TMPDIR, or /var/tmp, because /tmp may be in memory. */
const char *perch__temporary_directory(void);
/* Returns the descriptor of a file without a name, or a negative errno. */
int perch__open_temporary(void);
/*
 * Decompresses a regular file into a temporary one. Returns its descriptor; -EFBIG: it would be
 * larger than *most bytes, which is set; or what perch__decompress_range() and
 * perch__open_temporary() return.
 */
int perch__decompress_file(int fd, enum compression compression, uint64_t *most);
/* Reads the first bytes of what a file decompresses to. Returns their number, or a negative errno.
 */
int perch__decompress_first(int fd, enum compression compression, void *bytes, size_t size);
/* What an errno of these functions means, and the remedy. */
const char *perch__decompress_message(int error, const char **remedy);

#endif
