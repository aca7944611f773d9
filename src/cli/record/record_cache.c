/* SPDX-License-Identifier: MIT */
/* Adds the files that have samples to the build id cache. */
#include <sys/stat.h>

#include "commands/build_id_cache.h"
#include "record.h"

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
	if (!record_fills_cache(options) || record->failed || !stats.samples || !stats.path ||
	    stat(stats.path, &status) || !S_ISREG(status.st_mode))
		return;
	/* services and users without a home directory have no cache, and need no message each time
	 */
	if (cli_open_cache(&cache, true, &err)) {
		if (options->verbose)
			cli_error(record->options->command, &err);
		return;
	}
	if (perch_recorder_fill_cache(record->recorder, cache, &missing, &err))
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
