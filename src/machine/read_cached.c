/* SPDX-License-Identifier: MIT */
/* Reads files that do not change once and caches them. */
#define _GNU_SOURCE
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

#define MAX_BYTES 8192

/* A cached file. The content follows the path in memory. */
struct text {
	struct text *next;
	ssize_t length; /* or a negative errno */
	char *content;
	char path[];
};

/* Writes the names in a directory, one per line, up to the size of the buffer. */
static ssize_t list_directory(const struct perch_machine *machine, const char *path, char *buffer,
			      size_t size)
{
	const struct dirent *entry;
	char full_path[PATH_MAX];
	size_t used = 0;
	DIR *directory;
	int rc = perch_machine_path(machine, path, full_path, sizeof(full_path));

	if (rc < 0)
		return rc;
	directory = opendir(full_path);
	if (!directory)
		return -errno;
	while ((entry = readdir(directory)) && used + strlen(entry->d_name) + 1 < size)
		if (entry->d_name[0] != '.')
			used += sprintf(buffer + used, "%s\n", entry->d_name);
	closedir(directory);
	buffer[used] = '\0';
	return used;
}

static struct text *read_text(const struct perch_machine *machine, const char *path)
{
	char buffer[MAX_BYTES];
	ssize_t got = perch_machine_read(machine, path, buffer, sizeof(buffer));
	size_t length = strlen(path) + 1;
	struct text *text;

	if (got == -EISDIR)
		got = list_directory(machine, path, buffer, sizeof(buffer));
	text = malloc(sizeof(*text) + length + (got > 0 ? got : 0) + 1);
	if (!text)
		return NULL;
	memcpy(text->path, path, length);
	text->length = got;
	text->content = text->path + length;
	memcpy(text->content, buffer, got > 0 ? got : 0);
	text->content[got > 0 ? got : 0] = '\0';
	return text;
}

ssize_t perch_machine_read_cached(struct perch_machine *machine, const char *path,
				  const char **content)
{
	struct text *text = machine->texts;
	ssize_t length;

	*content = "";
	while (text && strcmp(text->path, path))
		text = text->next;
	if (!text) {
		text = read_text(machine, path);
		if (!text)
			return -ENOMEM;
		length = text->length;
		if (length < 0 && !perch__is_permanent(length)) {
			free(text);
			return length;
		}
		text->next = machine->texts;
		machine->texts = text;
	}
	*content = text->content;
	return text->length;
}

void perch__clear_texts(struct perch_machine *machine)
{
	while (machine->texts) {
		struct text *next = machine->texts->next;

		free(machine->texts);
		machine->texts = next;
	}
}
