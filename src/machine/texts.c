/* SPDX-License-Identifier: MIT */
/* Files that stay as they are while a machine runs: read once, and kept. */
#define _GNU_SOURCE
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

#define MOST_BYTES 8192

/* What was read of a path; its text stands behind it. */
struct text {
	struct text *next;
	ssize_t length; /* or a negative errno */
	char *content;
	char path[];
};

/* The names in a folder, a line each, as many as there is room for. */
static ssize_t list_folder(const struct perch_machine *machine, const char *path, char *buffer,
			   size_t size)
{
	const struct dirent *entry;
	char whole[PATH_MAX];
	size_t used = 0;
	DIR *folder;
	int rc = perch_machine_path(machine, whole, sizeof(whole), path);

	if (rc < 0)
		return rc;
	folder = opendir(whole);
	if (!folder)
		return -errno;
	while ((entry = readdir(folder)) && used + strlen(entry->d_name) + 1 < size)
		if (entry->d_name[0] != '.')
			used += sprintf(buffer + used, "%s\n", entry->d_name);
	closedir(folder);
	buffer[used] = '\0';
	return used;
}

static struct text *read_text(const struct perch_machine *machine, const char *path)
{
	char buffer[MOST_BYTES];
	ssize_t got = perch_machine_read(machine, path, buffer, sizeof(buffer));
	size_t length = strlen(path) + 1;
	struct text *text;

	if (got == -EISDIR)
		got = list_folder(machine, path, buffer, sizeof(buffer));
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
		if (length < 0 && !perch__lasts(length)) {
			free(text);
			return length;
		}
		text->next = machine->texts;
		machine->texts = text;
	}
	*content = text->content;
	return text->length;
}

void perch__forget_texts(struct perch_machine *machine)
{
	while (machine->texts) {
		struct text *next = machine->texts->next;

		free(machine->texts);
		machine->texts = next;
	}
}
