/* SPDX-License-Identifier: MIT */
/*
 * The writer. The file is readable at every moment: header and attrs are written first. Records are
 * appended after the end of the data section, and then the data size in the header is raised by one
 * write of 8 aligned bytes. The feature bits are set last.
 *
 *	writer.c	  files: header, attrs, features
 *	writer_records.c  records
 *	compress.c	  compressed records
 *	pieces.c	  records in pieces
 *	writer_directory.c  directories, whose files are appended to by several threads
 *	writer_pipe.c	  pipe format, which has another order and nothing to raise or set later
 *	writer_base.c	  what files and pipes share
 */
#ifndef PERCH_FILE_WRITER_H
#define PERCH_FILE_WRITER_H

#include <sys/uio.h>

#include "internal.h"

struct perch__compressor;

struct perch_writer {
	int fd;
	char *path;
	char *old;    /* the new name of the previous file, or NULL */
	bool created; /* a new file, not a device */
	bool directory;
	/* of a file of a directory: the one with the header, which has what all of them have */
	struct perch_writer *whole;
	size_t nr_parts;
	uint64_t parts_input, parts_output; /* compressed records of closed files */
	struct perch__file_header header;
	struct perch_file_event *events;
	size_t nr_events;
	bool failed;		   /* a write failed: the file may have bytes after the data */
	bool pipe;		   /* of perch_writer_open_fd() */
	uint64_t written_features; /* of a pipe: mask */
	struct perch__bytes feature[PERCH__FEATURE_BITS];
	struct perch__compressor *compressor; /* NULL: records are appended as they are */
	int compression_level;
	uint64_t plain; /* bytes of records that are not compressed, beside compressed ones */
};

/* ---- pieces.c ---- */

/* A position in pieces. */
struct perch__position {
	const struct iovec *iov;
	size_t offset; /* in *iov */
};
/* Returns the size of the records that lie within the next bytes. */
size_t perch__whole_records(struct perch__position position, size_t bytes);

/* ---- compress.c ---- */

int perch__compressor_new(struct perch__compressor **compressor, int level, uint32_t type,
			  struct perch_error *err);
void perch__compressor_free(struct perch__compressor *compressor);
/* False if the file lacks a part of the stream, so that it cannot go on, or without compressor. */
bool perch__compressor_works(const struct perch__compressor *compressor);
/*
 * Compresses the first of *size bytes at *from, and moves both behind them. *records gets the
 * compressed records, which are valid until the next call. Returns 0 or a negative errno; then
 * *records has none.
 */
int perch__compress(struct perch__compressor *compressor, struct perch__position *from,
		    size_t *size, struct iovec *records, struct perch_error *err);
/* The file has got these bytes of the records of the last call. */
void perch__compress_written(struct perch__compressor *compressor, uint64_t bytes);
/* Returns the bytes of records that the compressed records of the file have. */
uint64_t perch__compressor_input(const struct perch__compressor *compressor);

/* ---- writer.c ---- */

/* Repeats pwrite(2) until all is written. Adds the bytes to *written, also before a failure; NULL
 * is allowed. */
int perch__writer_write(struct perch_writer *writer, const void *data, size_t size, uint64_t offset,
			size_t *written, struct perch_error *err);

/* Sets the feature COMPRESSED, with the ratio up to here. */
int perch__writer_set_compression(struct perch_writer *writer, struct perch_error *err);

/* ---- writer_directory.c ---- */

/* True for a directory that has files of a recording and no others. */
bool perch__is_recording_directory(const char *path);
void perch__remove_recording_directory(const char *path);
/* Makes a directory and its file "data". Returns the descriptor of that, or -1 and errno. */
int perch__create_directory(const char *path);

/* ---- writer_pipe.c ---- */

int perch__pipe_append(struct perch_writer *writer, const struct iovec *iov, int nr, size_t size,
		       struct perch_error *err);
/* Writes the features that are not written yet. */
int perch__pipe_finish(struct perch_writer *writer, struct perch_error *err);

/* ---- writer_base.c ---- */

/* Makes a writer with its events, without a descriptor. */
int perch__writer_new(struct perch_writer **result, const char *path,
		      const struct perch_file_event *events, size_t nr, struct perch_error *err);
/* Closes its descriptor, too. */
void perch__writer_free(struct perch_writer *writer);
/* Writes a moment by the wall clock and by the clock of the samples before the records of a file.
 * Returns 0 or a negative errno. */
int perch__writer_set_start(struct perch_writer *writer, uint32_t clock, uint64_t wall,
			    uint64_t time, struct perch_error *err);
/* Sets the error of a failed write. Returns -errnum. */
int perch__writer_failed(struct perch_writer *writer, int errnum, struct perch_error *err);
/* Returns -ENOMEM. */

#endif
