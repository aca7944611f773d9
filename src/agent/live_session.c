/* SPDX-License-Identifier: MIT */
/*
 * A session reads a file: its events, the formats of its tracepoints and the machine. So the events
 * are written to a file without records, which has no name once it is open.
 */
#define _GNU_SOURCE /* asprintf */
#include "live_session.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/no_memory.h"
#include "base/nr.h"

/* Returns a new directory, which the caller frees, or NULL with errno. */
static char *make_directory(void)
{
	const char *parents[] = { getenv("TMPDIR"), "/tmp", "/dev/shm" };

	for (size_t i = 0; i < PERCH__NR(parents); i++) {
		char *path;

		if (!parents[i] || !*parents[i])
			continue;
		if (asprintf(&path, "%s/perch-live-XXXXXX", parents[i]) < 0)
			return NULL;
		if (mkdtemp(path))
			return path;
		free(path);
	}
	return NULL;
}

/* Makes the file in a new directory, opens it, and removes both. */
int agent_live_session(struct perch_session **session, const struct perch_recorder *recorder,
		       const struct perch_session_options *options, struct perch_error *err)
{
	struct perch_session_options to = *options;
	char *directory = make_directory(), *path;
	int rc;

	*session = NULL;
	if (!directory) {
		rc = perch_error_set(err, errno, PERCH_ERROR_FILE,
				     "a small file in $TMPDIR or /tmp is needed: %s",
				     strerror(errno));
		perch_error_remedy(err, "Set TMPDIR to a directory that you may write to");
		return rc;
	}
	/* files and maps of JIT compilers that are made later are those of the samples */
	to.symbols.recorded_at = INT64_MAX;
	if (asprintf(&path, "%s/events", directory) < 0) {
		path = NULL;
		rc = PERCH__NO_MEMORY(err, "for a path");
	} else {
		rc = perch_recorder_write_events(recorder, path, err);
	}
	if (rc >= 0)
		rc = perch_session_open(session, path, &to, err);
	if (path)
		unlink(path);
	rmdir(directory);
	free(path);
	free(directory);
	return rc < 0 ? rc : 0;
}
