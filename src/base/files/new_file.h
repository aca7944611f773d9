/* SPDX-License-Identifier: MIT */
/*
 * A file that gets its name when it is whole: other processes see the old file or the new one, also
 * after a signal or a full disk. Until then it has no name (O_TMPFILE), so SIGKILL leaves nothing
 * behind. File systems without such files give it a temporary name in the same directory.
 */
#ifndef PERCH_BASE_NEW_FILE_H
#define PERCH_BASE_NEW_FILE_H

#include <stdbool.h>
#include <sys/types.h>

struct perch__new_file {
	int fd;		    /* to write to; -1: none */
	int dir;	    /* of the name */
	char temporary[64]; /* the name in the directory until then; "": none */
};

/* Makes a file in a directory, whose descriptor must stay open. Returns 0 or a negative errno. */
int perch__new_file_make(struct perch__new_file *file, int dir, mode_t mode);
/*
 * Gives the file its name, and closes it. replace: a file of that name is replaced; else it is
 * -EEXIST. Returns 0, or a negative errno; the file is discarded then.
 */
int perch__new_file_name(struct perch__new_file *file, const char *name, bool replace);
/* Closes and removes a file without a name. */
void perch__new_file_discard(struct perch__new_file *file);
/* Makes a temporary name in a directory, which begins with a dot. */
void perch__new_file_temporary(char name[64]);
/* What a user can do if a file cannot be created or written, or NULL. */
const char *perch__new_file_remedy(int errnum);

#endif
