/* SPDX-License-Identifier: MIT */
/* perch explain --strace: a log, line by line. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "explain_strace.h"
#include "options.h"

/* Reads a line of any length and keeps what fits; false at the end of the file. */
static bool read_line(FILE *file, char *line, size_t *length)
{
	int c = getc(file);

	*length = 0;
	if (c == EOF)
		return false;
	for (; c != EOF && c != '\n'; c = getc(file))
		if (*length < STRACE_TEXT_MAX)
			line[(*length)++] = (char)c;
	if (*length && line[*length - 1] == '\r')
		(*length)--;
	return true;
}

static int read_lines(struct strace_log *log, FILE *file)
{
	char *line = malloc(STRACE_TEXT_MAX);
	size_t length;

	if (!line)
		return ENOMEM;
	errno = 0;
	while (read_line(file, line, &length))
		strace_line(log, line, length);
	free(line);
	return ferror(file) ? errno ? errno : EIO : 0;
}

int explain_strace(struct explain_job *job, const char *path)
{
	struct strace_log log = { .job = job };
	bool standard = !strcmp(path, "-");
	FILE *file = standard ? stdin : fopen(path, "re");
	int error = file ? read_lines(&log, file) : errno;
	struct perch_error err;

	if (file && !standard)
		fclose(file);
	strace_forget(&log);
	if (!error)
		return 0;
	perch_error_set(&err, error, PERCH_ERROR_FILE, "cannot read %s: %s", standard ? "stdin" : path,
			strerror(error));
	return cli_error(EXPLAIN_COMMAND, &err);
}
