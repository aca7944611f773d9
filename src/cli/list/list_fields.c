/* SPDX-License-Identifier: MIT */
/* The fields of a tracepoint, from its format file: text of the kernel's, read as if it were
 * anybody's. */
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

/* The number behind a word of the line, as in "offset:8;"; -1: none. */
static long number_after(const char *line, const char *word)
{
	const char *at = strstr(line, word);

	return at ? strtol(at + strlen(word), NULL, 10) : -1;
}

/* Takes the "[16]" off a name. Returns how many elements that is; 0: none, or not said as a number.
 */
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
 * "	field:char prev_comm[16];	offset:8;	size:16;	signed:0;": the name is the
 * declaration's last word, sizes aside.
 */
static bool read_field(const char *line, struct list_part *part)
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
	snprintf(part->name, sizeof(part->name), "%.*s",
		 (int)(length - name < 127 ? length - name : 127), start + name);
	part->count = cut_size(part->name);
	while (name && start[name - 1] == ' ')
		name--;
	snprintf(part->text, sizeof(part->text), "%.*s", (int)(name < 255 ? name : 255), start);
	part->offset = (unsigned)offset;
	part->size = (unsigned)size;
	part->is_signed = number_after(line, "signed:") > 0;
	part->common = !strncmp(part->name, "common_", 7);
	return true;
}

int list_each_field(const struct list *list, const char *tracepoint, list_part_call *call,
		    void *context)
{
	char *text = read_format(list, tracepoint), *save = NULL;
	int rc = text ? 0 : -ENOENT;

	for (char *line = text ? strtok_r(text, "\n", &save) : NULL; line && !rc;
	     line = strtok_r(NULL, "\n", &save)) {
		struct list_part part;

		if (!strncmp(line, "print fmt:", 10))
			break;
		if (read_field(line, &part))
			rc = call(context, &part);
	}
	free(text);
	return rc;
}
