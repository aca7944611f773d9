/* SPDX-License-Identifier: MIT */
/*
 * Adds the files that have samples to the build id cache. It reads the recording that was written:
 * while the recording runs, this would take time from what is measured.
 */
#include <stdio.h>
#include <sys/stat.h>
#include <perch/session.h>
#include <perch/symbol.h>

#include "build_id_cache.h"
#include "record.h"

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

static int fill(const struct cli_cache *cache, const char *path, struct cli_cache_missing *missing,
		const struct recorder_scan *scan, struct perch_error *err)
{
	struct perch_symbols *root[RECORDER_MAX_ROOTS];
	struct cli_cache_opener opener = { .open = open_pinned, .context = scan, .root = root };
	const struct perch_session_options options = { .symbols.verified_only = true };
	struct perch_session *session;
	int rc = perch_session_open(&session, path, &options, err);

	if (rc)
		return rc;
	opener.nr_roots = open_roots(&scan->pinned, root);
	rc = cli_cache_fill(cache, session, true, missing, &opener, err);
	for (size_t i = 0; i < opener.nr_roots; i++)
		perch_symbols_free(root[i]);
	perch_session_close(session);
	return rc;
}

bool record_fills_cache(const struct record_options *options)
{
	return !options->no_build_ids && !options->no_cache && !options->switch_by &&
	       !options->overwrite && !record_to_pipe(options);
}

void record_fill_cache(const struct record *record)
{
	const struct record_options *options = record->options;
	struct cli_cache_missing missing = { 0 };
	struct perch_error err;
	struct cli_cache cache;
	struct stat status;

	if (!record_fills_cache(options) || record->files.failed || !record->scan.samples ||
	    stat(options->output, &status) || !S_ISREG(status.st_mode))
		return;
	/* services and users without a home directory have no cache, and need no message each time
	 */
	if (cli_cache_open(&cache, true, &err)) {
		if (options->verbose)
			cli_error(RECORD_COMMAND, &err);
		return;
	}
	if (fill(&cache, options->output, &missing, &record->scan, &err))
		cli_note(
			RECORD_COMMAND,
			"%s. The recording is complete, but names of programs that are built again "
			"will be missing",
			err.message);
	if (!options->quiet)
		cli_cache_print_missing(RECORD_COMMAND, &missing,
					"Do not delete such files, and keep containers running, "
					"until perch record ends; or report with --symfs and a "
					"copy of the files");
	cli_cache_close(&cache);
}
