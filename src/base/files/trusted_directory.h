/* SPDX-License-Identifier: MIT */
/*
 * Opens a directory in which files are written. Its path may lead through directories of other
 * users, who may replace them at any time. So each component is opened by the directory before, and
 * its owner checked on the descriptor: the directory, symbolic links to it, and directories in
 * which others are made, belong to the current user or root.
 */
#ifndef PERCH_BASE_TRUSTED_DIRECTORY_H
#define PERCH_BASE_TRUSTED_DIRECTORY_H

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/types.h>
#include <perch/error.h>

struct perch__trusted_directory {
	const char *path;
	const char *what, *remedy; /* of error messages: "the build id cache" */
	bool create;		   /* missing directories are made */
	mode_t mode;		   /* of those */
	unsigned owner;		   /* of what is refused, set with -EPERM */
	bool refused;
};

/* Returns a descriptor, or a negative errno; -ENOENT: it is missing. */
int perch__trusted_directory_open(struct perch__trusted_directory *directory);

/* Sets the error of the result of the function above. Returns rc. */
static inline int perch__trusted_directory_error(const struct perch__trusted_directory *directory,
						 int rc, struct perch_error *err)
{
	if (directory->refused) {
		perch_error_set(err, EPERM, PERCH_ERROR_FILE,
				"%s %s belongs to uid %u, not to the current user or root",
				directory->what, directory->path, directory->owner);
		perch_error_remedy(err, "%s", directory->remedy);
		return rc;
	}
	return perch_error_set(err, -rc, PERCH_ERROR_FILE,
			       directory->create ? "%s %s cannot be made: %s" : "%s %s: %s",
			       directory->what, directory->path, strerror(-rc));
}

#endif
