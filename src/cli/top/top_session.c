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

#include "top.h"

/* Makes the file in a new directory, opens it, and removes both. */
static int open_file(struct top *top, const char *directory)
{
	struct cli_input *input = &top->report.input;
	struct perch_error err;
	char *path;
	int rc;

	if (asprintf(&path, "%s/events", directory) < 0)
		return cli_no_memory(TOP_COMMAND);
	/* files and maps of JIT compilers that are made later are those of the samples */
	input->options.symbols.recorded_at = INT64_MAX;
	rc = perch_recorder_write_events(top->recorder, path, &err);
	if (rc >= 0)
		rc = perch_session_open(&input->session, path, &input->options, &err);
	unlink(path);
	free(path);
	return rc < 0 ? cli_error(TOP_COMMAND, &err) : 0;
}

/* Returns a new directory, which the caller frees, or NULL with errno. */
static char *make_directory(void)
{
	const char *parents[] = { getenv("TMPDIR"), "/tmp", "/dev/shm" };

	for (size_t i = 0; i < CLI_NR(parents); i++) {
		char *path;

		if (!parents[i] || !*parents[i])
			continue;
		if (asprintf(&path, "%s/perch-top-XXXXXX", parents[i]) < 0)
			return NULL;
		if (mkdtemp(path))
			return path;
		free(path);
	}
	return NULL;
}

int top_open_session(struct top *top)
{
	struct perch_error err;
	char *directory;
	int status;

	directory = make_directory();
	if (directory) {
		status = open_file(top, directory);
		rmdir(directory);
	} else {
		perch_error_set(&err, errno, PERCH_ERROR_FILE,
				"perch top needs a small file in $TMPDIR or /tmp: %s",
				strerror(errno));
		perch_error_remedy(&err, "set TMPDIR to a directory that you may write to");
		status = cli_error(TOP_COMMAND, &err);
	}
	free(directory);
	return status;
}
