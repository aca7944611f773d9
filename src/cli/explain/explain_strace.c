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
		strace_parse_line(log, line, length);
	free(line);
	return ferror(file) ? errno ? errno : EIO : 0;
}

/* 0 when it was a log; what it was otherwise is said. */
static int check_log(const struct strace_log *log, const char *name, int error)
{
	struct perch_error err;

	if (error) {
		perch_error_set(&err, error, PERCH_ERROR_FILE, "cannot read %s: %s", name,
				strerror(error));
	} else if (log->any) {
		return 0;
	} else {
		perch_error_set(&err, EINVAL, PERCH_ERROR_FILE, "%s is no log of strace: %s", name,
				log->job->unreadable ? "none of its lines is a call"
						     : "it has no line");
		perch_error_remedy(
			&err,
			"make one by strace -f -v -e trace=perf_event_open,ioctl,mmap,read,close,clone,"
			"clone3,fork,vfork,execve -o log PROGRAM");
	}
	return cli_error(EXPLAIN_COMMAND, &err);
}

int explain_strace(struct explain_job *job, const char *path)
{
	struct strace_log log = { .job = job };
	bool standard = !strcmp(path, "-");
	FILE *file = standard ? stdin : fopen(path, "re");
	int error = file ? read_lines(&log, file) : errno;

	if (file && !standard)
		fclose(file);
	strace_log_clear(&log);
	return check_log(&log, standard ? "stdin" : path, error);
}
