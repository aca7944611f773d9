/* SPDX-License-Identifier: MIT */
/* Writes the files of the corpus. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "corpus.h"

static const char *corpus_directory;

static void make_directory(const char *path)
{
	if (!mkdir(path, 0755) || errno == EEXIST)
		return;
	perror(path);
	exit(1);
}

void corpus_open(const char *directory)
{
	corpus_directory = directory;
	make_directory(directory);
}

void corpus_write(const char *kind, const char *name, const void *bytes, size_t size)
{
	char path[512];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", corpus_directory, kind);
	make_directory(path);
	snprintf(path, sizeof(path), "%s/%s/%s", corpus_directory, kind, name);
	file = fopen(path, "w");
	if (!file || fwrite(bytes, 1, size, file) != size || fclose(file)) {
		perror(path);
		exit(1);
	}
}
