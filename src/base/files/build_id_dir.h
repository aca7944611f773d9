/* SPDX-License-Identifier: MIT */
/* The directory of the build id cache, which perf(1) and perch share. */
#ifndef PERCH_BASE_BUILD_ID_DIR_H
#define PERCH_BASE_BUILD_ID_DIR_H

#include <stddef.h>

/*
 * Finds the directory: $PERF_BUILDID_DIR, buildid.dir of perf-config(1), or ~/.debug. Returns 0,
 * -ENOENT: there is no home directory, or -ENAMETOOLONG.
 */
int perch__build_id_dir(char *path, size_t size);

#endif
