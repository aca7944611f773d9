/* SPDX-License-Identifier: MIT */
/* Opens files whose paths come from recordings and from other processes. */
#ifndef PERCH_BASE_OPEN_FILE_H
#define PERCH_BASE_OPEN_FILE_H

/*
 * Opens a regular file for reading. Does not block, and does not open devices. root: NULL, or a
 * directory that path cannot leave, also not by symbolic links. Returns a descriptor or a negative
 * errno.
 */
int perch__open_regular(const char *root, const char *path);

#endif
