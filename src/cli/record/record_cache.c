/* SPDX-License-Identifier: MIT */
/*
 * Adds the files that have samples to the build id cache. It reads the recording that was written:
 * while the recording runs, this would take time from what is measured.
 */
#include <sys/stat.h>
#include <perch/session.h>

#include "build_id_cache.h"
#include "record.h"

static int fill(const struct cli_cache *cache, const char *path, struct perch_error *err)
{
	struct perch_session *session;
	int rc = perch_session_open(&session, path, NULL, err);

	if (rc)
		return rc;
	rc = cli_cache_fill(cache, session, true, err);
	perch_session_close(session);
	return rc;
}

void record_fill_cache(const struct record *record)
{
	const struct record_options *options = record->options;
	struct perch_error err;
	struct cli_cache cache;
	struct stat status;

	if (options->no_build_ids || options->no_cache || options->switch_by ||
	    options->overwrite || record->files.failed || !record->scan.samples ||
	    stat(options->output, &status) || !S_ISREG(status.st_mode))
		return;
	/* services and users without a home directory have no cache, and need no message each time
	 */
	if (cli_cache_open(&cache, true, &err)) {
		if (options->verbose)
			cli_error(RECORD_COMMAND, &err);
		return;
	}
	if (fill(&cache, options->output, &err))
		cli_note(
			RECORD_COMMAND,
			"%s. The recording is complete, but names of programs that are built again "
			"will be missing",
			err.message);
	cli_cache_close(&cache);
}
