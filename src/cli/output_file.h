/* SPDX-License-Identifier: MIT */
/*
 * The files that commands write: whole, or not at all. A regular file has no name or a temporary
 * one until it is whole, and then replaces the old one (base/files/new_file.h). It gets mode and
 * owner of the file that it replaces. A symbolic link stays, and its target is replaced. Written in
 * place: devices, pipes, standard output and other open descriptors (/dev/stdout, /dev/fd/N), mount
 * points, and files in a directory in which the user cannot create any.
 */
#ifndef PERCH_CLI_OUTPUT_FILE_H
#define PERCH_CLI_OUTPUT_FILE_H

#include <stdio.h>
#include <sys/types.h>
#include <perch/error.h>

#include "base/files/new_file.h"

/* Flags of cli_output_open(). */
enum {
	/* Only the user may read the file. */
	CLI_OUTPUT_PRIVATE = 1,
	/* A link to a regular file is refused, and a FIFO that nobody reads: the name may be in a
	 * directory of other users. */
	CLI_OUTPUT_NO_LINK = 2,
	/* The command makes the name: what exists there must be a regular file, not a link. */
	CLI_OUTPUT_OWN_NAME = 4,
	/* What exists there is not replaced. */
	CLI_OUTPUT_NEW = 8,
};

struct cli_output_file {
	FILE *stream;		    /* to write to */
	struct perch__new_file new; /* its descriptor is -1: written in place */
	int dir;		    /* of the name; -1: none */
	bool replaces;
	bool made;		      /* the target of a link, which did not exist */
	char *path, *name;	      /* as given; the last part, of the target of a link */
	struct cli_output_file *next; /* with a temporary name */
};

/* Opens a file. Returns 0 or a negative errno. */
int cli_output_open(struct cli_output_file *file, const char *path, unsigned flags,
		    struct perch_error *err);
/* The same, for a path that begins at a directory. */
int cli_output_open_at(struct cli_output_file *file, int at, const char *path, unsigned flags,
		       struct perch_error *err);
/*
 * Ends the file: what was written gets its name. `error` is the errno of a write that failed
 * before, or 0. Returns 0, or a negative errno: then the file that was there is unchanged, unless
 * it is written in place.
 */
int cli_output_close(struct cli_output_file *file, int error, struct perch_error *err);
/* Removes what was written. A file that is not open (zeroed) is ignored. */
void cli_output_discard(struct cli_output_file *file);

/* A limit of file sizes (ulimit -f) then is an error of write(2), which gets a message. Programs
 * that the command starts have the limit's signal as before. */
void cli_ignore_file_limit(void);
void cli_restore_file_limit(void);

#endif
