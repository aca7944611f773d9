/* SPDX-License-Identifier: MIT */
/* Events from a file: joins its lines to one text; errors have the line and its column. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/no_memory.h"
#include "internal.h"

#define FILE_MAX   (1 << 20) /* bytes: more events than a process may open */
#define BLOCK_SIZE 4096

static int cannot_read(const char *path, int errnum, struct perch_error *err)
{
	return perch_error_set(err, errnum, PERCH_ERROR_FILE, "cannot read events from %s: %s",
			       path, strerror(errnum));
}

static int open_file(const char *path, struct perch_error *err)
{
	struct stat status;
	int fd, error = 0;

	if (!strcmp(path, "-"))
		return STDIN_FILENO;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0)
		return cannot_read(path, errno, err);
	if (fstat(fd, &status))
		error = errno;
	else if (S_ISDIR(status.st_mode))
		error = EISDIR;
	if (!error && S_ISREG(status.st_mode))
		return fd;
	close(fd);
	if (error)
		return cannot_read(path, error, err);
	perch_error_set(err, EINVAL, PERCH_ERROR_FILE, "%s is not a regular file", path);
	perch_error_remedy(err, "write - to read events from standard input");
	return -EINVAL;
}

/* Reads the whole file and ends it with a NUL. The caller frees *text, after an error too. */
static int read_all(int fd, const char *path, char **text, size_t *size, struct perch_error *err)
{
	size_t capacity = 0;

	*text = NULL;
	*size = 0;
	while (true) {
		ssize_t got;

		if (PERCH__ARRAY_RESERVE(*text, capacity, *size + BLOCK_SIZE))
			return PERCH__NO_MEMORY(err, "to read %s", path);
		got = read(fd, *text + *size, capacity - *size - 1);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return cannot_read(path, errno, err);
		if (!got)
			break;
		*size += got;
		if (*size > FILE_MAX)
			return perch_error_set(
				err, EFBIG, PERCH_ERROR_FILE,
				"a file of events has at most %d bytes: %s is larger", FILE_MAX,
				path);
	}
	(*text)[*size] = '\0';
	return 0;
}

/*
 * Replaces comments by spaces. A '#' in quotes is part of a filter or a name. Returns NULL, or the
 * quote that is not closed in its line: joined with the next line, it would end at another quote.
 */
static const char *blank_comments(char *text)
{
	const char *quote = NULL;

	for (; *text && (!quote || *text != '\n'); text++) {
		if (quote)
			quote = *text == *quote ? NULL : quote;
		else if (*text == '\'' || *text == '"')
			quote = text;
		else if (*text == '#')
			while (true) {
				*text = ' ';
				if (!text[1] || text[1] == '\n')
					break;
				text++;
			}
	}
	return quote;
}

/* Joins lines to one list: a newline between events becomes a comma, so offsets stay the same. */
static void join_lines(char *text)
{
	char before = ',';

	while (*text) {
		size_t blanks = strspn(text, " \t\r\n");
		char after = text[blanks], *newline = memchr(text, '\n', blanks);

		if (newline && after && !strchr(",{", before) && !strchr(",}", after))
			*newline = ',';
		for (size_t i = 0; i < blanks; i++)
			if (text[i] == '\r')
				text[i] = ' ';
		text += blanks;
		if (after) {
			before = after;
			text++;
		}
	}
}

/* Changes the column in the joined text to a line and the column in that line. */
static void set_line(const char *path, const size_t *ends, size_t lines, struct perch_error *err)
{
	size_t line = 0, start;

	if (!err)
		return;
	if (err->column < 0) {
		perch_error_prefix(err, "%s: ", path);
		return;
	}
	while (line + 1 < lines && ends[line] < (size_t)err->column)
		line++;
	start = line ? ends[line - 1] + 1 : 0;
	err->column -= start;
	perch_error_prefix(err, "%s:%zu: ", path, line + 1);
}

/* Returns the offsets of all newlines, before join_lines() replaces some. */
static size_t *line_ends(const char *text, size_t *lines)
{
	size_t *ends, nr = 1;

	for (const char *at = text; (at = strchr(at, '\n')); at++)
		nr++;
	ends = malloc(nr * sizeof(*ends));
	if (!ends)
		return NULL;
	*lines = 0;
	for (const char *at = text; (at = strchr(at, '\n')); at++)
		ends[(*lines)++] = at - text;
	ends[(*lines)++] = strlen(text);
	return ends;
}

static int add_text(struct perch_events *events, const char *path, char *text, size_t size,
		    struct perch_machine *machine, struct perch_error *err)
{
	size_t lines, *ends = line_ends(text, &lines);
	const char *quote = NULL;
	int rc;

	if (!ends)
		return PERCH__NO_MEMORY(err, "to read %s", path);
	if (strlen(text) != size) {
		rc = perch_error_set(err, EINVAL, PERCH_ERROR_SYNTAX,
				     "event strings must not contain a zero byte");
		if (err)
			err->column = strlen(text);
	} else if ((quote = blank_comments(text))) {
		rc = perch_error_set(err, EINVAL, PERCH_ERROR_SYNTAX,
				     "the quote that begins here is not closed in its line");
		if (err)
			err->column = quote - text;
	} else {
		join_lines(text);
		rc = text[strspn(text, " \t\n")] ? perch_events_add(events, text, machine, err)
						 : perch_error_set(err, EINVAL, PERCH_ERROR_SYNTAX,
								   "the file has no event");
	}
	if (rc)
		set_line(path, ends, lines, err);
	free(ends);
	return rc;
}

int perch_events_add_file(struct perch_events *events, const char *path,
			  struct perch_machine *machine, struct perch_error *err)
{
	bool input = !strcmp(path, "-");
	int rc, fd = open_file(path, err);
	char *text;
	size_t size;

	if (fd < 0)
		return fd;
	if (input)
		path = "standard input";
	rc = read_all(fd, path, &text, &size, err);
	if (!input)
		close(fd);
	if (!rc)
		rc = add_text(events, path, text, size, machine, err);
	free(text);
	return rc;
}
