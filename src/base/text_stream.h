/* SPDX-License-Identifier: MIT */
/* Texts that are made by stdio, as by open_memstream(3), which reports a lack of memory in three
 * ways. */
#ifndef PERCH_BASE_TEXT_STREAM_H
#define PERCH_BASE_TEXT_STREAM_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "memory.h"

/* Returns NULL if out of memory, and counts that. */
static inline FILE *perch__open_text(char **text, size_t *size)
{
	*text = NULL;
	return perch__counted(open_memstream(text, size));
}

/* Returns true if *text has all that was written. If not, that is counted, and *text is NULL. */
static inline bool perch__close_text(FILE *stream, char **text)
{
	bool whole = !ferror(stream);

	/* glibc returns success if it could not make the text as short as its content: it is NULL
	 */
	if (!fclose(stream) && *text && whole)
		return true;
	free(*text);
	*text = perch__allocation_failed();
	return false;
}

#endif
