/* SPDX-License-Identifier: MIT */
/* Directory trees that describe machines for tests. */
#ifndef PERCH_TEST_TREE_H
#define PERCH_TEST_TREE_H

#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct tree_file {
	const char *path; /* relative to the root of the tree, begins with a slash */
	const char *text;
};

/* Writes a file anew. Exits after an error. */
static inline void tree_write(const char *path, const char *text)
{
	FILE *stream = fopen(path, "w");

	if (!stream || fputs(text, stream) < 0 || fclose(stream)) {
		perror(path);
		exit(1);
	}
}

/* Makes a temporary directory with the files. root receives its path and has PATH_MAX bytes. Exits
 * after an error. */
static inline void tree_make(char *root, const struct tree_file *files, size_t nr)
{
	char path[PATH_MAX + 256];

	snprintf(root, PATH_MAX, "%s/perch-test-XXXXXX",
		 getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
	if (!mkdtemp(root)) {
		perror(root);
		exit(1);
	}
	for (size_t i = 0; i < nr; i++) {
		snprintf(path, sizeof(path), "%s%s", root, files[i].path);
		for (char *slash = path + strlen(root) + 1; (slash = strchr(slash, '/')); slash++) {
			*slash = '\0';
			mkdir(path, 0755);
			*slash = '/';
		}
		tree_write(path, files[i].text);
	}
}

static inline int tree_remove_one(const char *path, const struct stat *status, int type,
				  struct FTW *level)
{
	(void)status, (void)type, (void)level;
	return remove(path);
}

static inline void tree_remove(const char *root)
{
	nftw(root, tree_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

#endif
