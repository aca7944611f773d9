/* SPDX-License-Identifier: MIT */
/*
 * Opens a directory in which files are written. Its path may lead through directories of other
 * users, who may replace them at any time. So each component is opened by the directory before, and
 * its owner checked on the descriptor: the directory, symbolic links to it, and directories in
 * which others are made, belong to the current user or root.
 */
#ifndef PERCH_CLI_TRUSTED_DIRECTORY_H
#define PERCH_CLI_TRUSTED_DIRECTORY_H

#include <stdbool.h>
#include <sys/types.h>
#include <perch/error.h>

struct cli_directory {
	const char *path;
	const char *what, *remedy; /* of error messages: "the build id cache" */
	bool create;		   /* missing directories are made */
	mode_t mode;		   /* of those */
};

/* Returns a descriptor, or a negative errno; -ENOENT: it is missing. */
int cli_directory_open(const struct cli_directory *directory, struct perch_error *err);

#endif
