/* SPDX-License-Identifier: MIT */
/*
 * The writer. The file is readable at every moment: header and attrs are written first. Records are
 * appended after the end of the data section, and then the data size in the header is raised by one
 * write of 8 aligned bytes. The feature bits are set last.
 *
 *	writer.c	  header, attrs, features
 *	writer_records.c  records
 */
#ifndef PERCH_FILE_WRITER_H
#define PERCH_FILE_WRITER_H

#include "internal.h"

struct perch_writer {
	int fd;
	char *path;
	char *old;    /* the new name of the previous file, or NULL */
	bool created; /* a new file, not a device */
	struct perch__file_header header;
	struct perch_file_event *events;
	size_t nr_events;
	bool failed; /* a write failed: the file may have bytes after the data */
	struct perch__bytes feature[PERCH_FEATURE_MAX];
};

/* ---- writer.c ---- */

/* Sets the error of a failed write. Returns -errnum. */
int perch__writer_failed(struct perch_writer *writer, int errnum, struct perch_error *err);
/* Repeats pwrite(2) until all is written. Adds the bytes to *written, also before a failure; NULL
 * is allowed. */
int perch__writer_write(struct perch_writer *writer, const void *data, size_t size, uint64_t offset,
			size_t *written, struct perch_error *err);

#endif
