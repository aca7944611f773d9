/* SPDX-License-Identifier: MIT */
#include "build_id_cache.h"

#include <limits.h>

#include "messages.h"

int cli_open_cache(struct perch_build_id_cache **cache, bool create, struct perch_error *err)
{
	int rc = perch_build_id_cache_new(cache, NULL, NULL, err);

	if (rc) {
		perch_error_remedy(err, "name a directory with perch --buildid-dir DIR");
		return rc;
	}
	rc = perch_build_id_cache_open(*cache, create, err);
	if (rc) {
		perch_build_id_cache_free(*cache);
		*cache = NULL;
	}
	return rc;
}

void cli_print_missing_files(const char *command, const struct perch_missing_files *missing,
			     const char *remedy)
{
	char path[PATH_MAX];

	if (!missing->files)
		return;
	perch_clean_text(missing->path, path, sizeof(path));
	cli_note(command,
		 "%zu sampled %s not in the build id cache, names may be missing: %s%s: %s. %s",
		 missing->files, cli_word(missing->files, "file is", "files are"),
		 missing->files > 1 ? "such as " : "", path, missing->reason, remedy);
}
