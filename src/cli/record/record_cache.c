/* SPDX-License-Identifier: MIT */
/*
 * Adds the files that have samples to the build id cache. It reads the recording that was written:
 * while the recording runs, this would take time from what is measured.
 */
#include <stdio.h>
#include <sys/stat.h>
#include <perch/session.h>
#include <perch/symbol.h>

#include "commands/build_id_cache.h"
#include "record.h"

#define MAX_ROOTS 32

/* Opens a file that is pinned since it was mapped. */
static int open_pinned(const void *context, const struct perch_dso *dso)
{
	return perch_recorder_open_mapped(context, dso);
}

/* Makes the symbols of the root directories of processes. Returns their number. */
static size_t open_roots(const struct perch_recorder *recorder,
			 struct perch_symbols *root[MAX_ROOTS])
{
	struct perch_symbols_options options = { 0 };
	char path[32];
	size_t nr = 0;
	int fd;

	options.root = path;
	for (size_t i = 0; nr < MAX_ROOTS && (fd = perch_recorder_root(recorder, i)) >= 0; i++) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		nr += !perch_symbols_new(&root[nr], &options, NULL);
	}
	return nr;
}

static int fill(const struct perch_build_id_cache *cache, const char *path,
		struct perch_missing_files *missing, const struct perch_recorder *recorder,
		struct perch_error *err)
{
	struct perch_symbols *root[MAX_ROOTS];
	struct perch_fill_cache_options fill_options = {
		.kernel = true, .open = open_pinned, .context = recorder, .root = root
	};
	const struct perch_session_options options = { .symbols.verified_only = true };
	struct perch_session *session;
	int rc = perch_session_open(&session, path, &options, err);

	if (rc)
		return rc;
	fill_options.nr_roots = open_roots(recorder, root);
	rc = perch_session_fill_cache(session, cache, &fill_options, missing, err);
	for (size_t i = 0; i < fill_options.nr_roots; i++)
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
	struct perch_missing_files missing = { 0 };
	struct perch_error err;
	struct perch_recorder_stats stats;
	struct perch_build_id_cache *cache;
	struct stat status;

	perch_recorder_get_stats(record->recorder, &stats);
	if (!record_fills_cache(options) || record->failed || !stats.samples ||
	    stat(options->output, &status) || !S_ISREG(status.st_mode))
		return;
	/* services and users without a home directory have no cache, and need no message each time
	 */
	if (cli_open_cache(&cache, true, &err)) {
		if (options->verbose)
			cli_error(record->options->command, &err);
		return;
	}
	if (fill(cache, options->output, &missing, record->recorder, &err))
		cli_note(
			record->options->command,
			"%s. The recording is complete, but names of programs that are built again "
			"will be missing",
			err.message);
	if (!options->quiet)
		cli_print_missing_files(record->options->command, &missing,
					"Keep such files and their containers until the end of "
					"the recording, or report with --symfs DIR");
	perch_build_id_cache_free(cache);
}
