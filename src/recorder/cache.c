/* SPDX-License-Identifier: MIT */
/*
 * Adds the files that have samples to the build id cache. It reads the recording that was written:
 * while the recording runs, this would take time from what is measured.
 */
#include <stdio.h>
#include <perch/session.h>
#include <perch/symbol.h>

#include "internal.h"

/* Opens a file that is pinned since it was mapped. */
static int open_pinned(const void *context, const struct perch_dso *dso)
{
	const struct recorder_scan *scan = context;

	return perch__recorder_open_pinned(&scan->pinned, &scan->dsos, dso->path, dso->build_id,
					   dso->build_id_size);
}

/* Makes the symbols of the root directories of processes. Returns their number. */
static size_t open_roots(const struct recorder_pinned *pinned,
			 struct perch_symbols *root[RECORDER_MAX_ROOTS])
{
	struct perch_symbols_options options = { 0 };
	char path[32];
	size_t nr = 0;

	options.root = path;
	for (size_t i = 0; i < pinned->nr_roots; i++) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", pinned->root[i].fd);
		nr += !perch_symbols_new(&root[nr], &options, NULL);
	}
	return nr;
}

int perch_recorder_fill_cache(const struct perch_recorder *recorder,
			      const struct perch_build_id_cache *cache,
			      struct perch_missing_files *missing, struct perch_error *err)
{
	struct perch_symbols *root[RECORDER_MAX_ROOTS];
	struct perch_fill_cache_options fill_options = {
		.kernel = true, .open = open_pinned, .context = &recorder->scan, .root = root
	};
	const struct perch_session_options options = { .symbols.verified_only = true };
	struct perch_session *session;
	int rc;

	if (!recorder->last)
		return perch_error_set(err, EINVAL, PERCH_ERROR_USAGE, "no file has ended");
	rc = perch_session_open(&session, recorder->last, &options, err);
	if (rc)
		return rc;
	fill_options.nr_roots = open_roots(&recorder->scan.pinned, root);
	rc = perch_session_fill_cache(session, cache, &fill_options, missing, err);
	for (size_t i = 0; i < fill_options.nr_roots; i++)
		perch_symbols_free(root[i]);
	perch_session_close(session);
	return rc;
}
