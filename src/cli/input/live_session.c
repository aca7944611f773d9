/* SPDX-License-Identifier: MIT */
/*
 * A session reads a file: its events, the formats of its tracepoints and the machine. So the events
 * are written to a file without records, which has no name once it is open.
 */
#define _GNU_SOURCE /* asprintf */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "live_session.h"
#include "messages.h"

/* Makes the file in a new directory, opens it, and removes both. */
static int open_file(struct cli_input *input, const struct perch_recorder *recorder,
		     const char *directory)
{
	struct perch_error err;
	char *path;
	int rc;

	if (asprintf(&path, "%s/events", directory) < 0)
		return cli_no_memory(input->command);
	/* files and maps of JIT compilers that are made later are those of the samples */
	input->options.symbols.recorded_at = INT64_MAX;
	rc = perch_recorder_write_events(recorder, path, &err);
	if (rc >= 0)
		rc = perch_session_open(&input->session, path, &input->options, &err);
	unlink(path);
	free(path);
	return rc < 0 ? cli_error(input->command, &err) : 0;
}

/* Returns a new directory, which the caller frees, or NULL with errno. */
static char *make_directory(void)
{
	const char *parents[] = { getenv("TMPDIR"), "/tmp", "/dev/shm" };

	for (size_t i = 0; i < CLI_NR(parents); i++) {
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

int cli_live_open(struct cli_input *input, const struct perch_recorder *recorder)
{
	struct perch_error err;
	char *directory;
	int status;

	directory = make_directory();
	if (directory) {
		status = open_file(input, recorder, directory);
		rmdir(directory);
	} else {
		perch_error_set(&err, errno, PERCH_ERROR_FILE,
				"perch %s needs a small file in $TMPDIR or /tmp: %s",
				input->command, strerror(errno));
		perch_error_remedy(&err, "set TMPDIR to a directory that you may write to");
		status = cli_error(input->command, &err);
	}
	free(directory);
	return status;
}
