/* SPDX-License-Identifier: MIT */
/* What commands share that use the build id cache. */
#ifndef PERCH_CLI_BUILD_ID_CACHE_H
#define PERCH_CLI_BUILD_ID_CACHE_H

#include <perch/build_id_cache.h>
#include <perch/session.h>

/* Opens the cache that perf uses. The caller frees it. Returns 0 or a negative errno. */
int cli_open_cache(struct perch_build_id_cache **cache, bool create, struct perch_error *err);
/* Prints a message if files are missing. remedy: its last sentence. */
void cli_print_missing_files(const char *command, const struct perch_missing_files *missing,
			     const char *remedy);

#endif
