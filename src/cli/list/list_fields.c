/* SPDX-License-Identifier: MIT */
/* The fields of a tracepoint, from its format file. Its text is not trusted. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "list.h"

#define FORMAT_MAX (64u << 10)

static char *read_format(const struct list *list, const char *tracepoint)
{
	char tracefs[PATH_MAX / 2], path[PATH_MAX];
	const char *colon = strchr(tracepoint, ':');
	char *text = NULL;
	size_t used = 0;
	ssize_t got;
	int fd;

	if (!colon || perch_machine_tracefs(list->machine, tracefs, sizeof(tracefs), NULL) < 0 ||
	    snprintf(path, sizeof(path), "%s/events/%.*s/%s/format", tracefs,
		     (int)(colon - tracepoint), tracepoint, colon + 1) >= (int)sizeof(path))
		return NULL;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	text = malloc(FORMAT_MAX);
	while (text && used < FORMAT_MAX - 1 &&
	       (got = read(fd, text + used, FORMAT_MAX - 1 - used)) > 0)
		used += got;
	close(fd);
	if (text)
		text[used] = '\0';
	return text;
}

/*
 * Returns the number that follows a word of the line, as in "offset:8;"; -1 if the word is missing.
 */
static long number_after(const char *line, const char *word)
{
	const char *at = strstr(line, word);

	return at ? strtol(at + strlen(word), NULL, 10) : -1;
}

/* Removes "[16]" from a name. Returns the number of elements; 0 when there is none. */
static unsigned cut_size(char *name)
{
	char *open = strchr(name, '['), *end;
	unsigned long count;

	if (!open)
		return 0;
	*open = '\0';
	count = strtoul(open + 1, &end, 10);
	return end > open + 1 && *end == ']' && count <= UINT_MAX ? (unsigned)count : 0;
}

/*
 * Parses "	field:char prev_comm[16];	offset:8;	size:16;	signed:0;". The
 * name is the last word of the declaration, without "[16]".
 */
static bool read_field(const char *line, struct list_field *field)
{
	const char *start = strstr(line, "field:");
	size_t length = start ? strcspn(start + 6, ";") : 0;
	long offset = number_after(line, "offset:"), size = number_after(line, "size:");
	size_t name = length;

	if (!length || offset < 0 || size < 0)
		return false;
	start += 6;
	while (name && start[name - 1] != ' ' && start[name - 1] != '*')
		name--;
	snprintf(field->name, sizeof(field->name), "%.*s",
		 (int)(length - name < 127 ? length - name : 127), start + name);
	field->count = cut_size(field->name);
	while (name && start[name - 1] == ' ')
		name--;
	snprintf(field->text, sizeof(field->text), "%.*s", (int)(name < 255 ? name : 255), start);
	field->offset = (unsigned)offset;
	field->size = (unsigned)size;
	field->is_signed = number_after(line, "signed:") > 0;
	field->common = !strncmp(field->name, "common_", 7);
	return true;
}

int list_visit_fields(const struct list *list, const char *tracepoint, list_visit *visit,
		      void *context)
{
	char *text = read_format(list, tracepoint), *save = NULL;
	int rc = text ? 0 : -ENOENT;

	for (char *line = text ? strtok_r(text, "\n", &save) : NULL; line && !rc;
	     line = strtok_r(NULL, "\n", &save)) {
		struct list_field field;

		if (!strncmp(line, "print fmt:", 10))
			break;
		if (read_field(line, &field))
			rc = visit(context, &field);
	}
	free(text);
	return rc;
}
