/* SPDX-License-Identifier: MIT */
/* Appends records. If only a part can be written, the whole records of that part are kept. */
#define _GNU_SOURCE /* pwritev */
#include <sys/uio.h>
#include <unistd.h>

#include "writer.h"

#define MAX_IOV 1024 /* of one pwritev(2) */

static size_t iov_size(const struct iovec *iov, int nr)
{
	size_t size = 0;

	for (int i = 0; i < nr; i++)
		size += iov[i].iov_len;
	return size;
}

/* Writes the bytes that pwritev(2) did not write. */
static int write_rest(struct perch_writer *writer, const struct iovec *iov, int nr, uint64_t end,
		      size_t *written, struct perch_error *err)
{
	size_t skipped = *written;

	for (int i = 0; i < nr; i++) {
		size_t size = iov[i].iov_len;
		int rc;

		if (skipped >= size) {
			skipped -= size;
			continue;
		}
		rc = perch__writer_write(writer, (const char *)iov[i].iov_base + skipped,
					 size - skipped, end + *written, written, err);
		if (rc)
			return rc;
		skipped = 0;
	}
	return 0;
}

/* Writes pieces of one pwritev(2). *written grows by the number of bytes, also after a failure. */
static int write_part(struct perch_writer *writer, const struct iovec *iov, int nr, uint64_t end,
		      size_t *written, struct perch_error *err)
{
	size_t part;
	ssize_t wrote;
	int rc;

	do {
		wrote = pwritev(writer->fd, iov, nr, (off_t)(end + *written));
	} while (wrote < 0 && errno == EINTR);
	if (wrote < 0)
		return perch__writer_failed(writer, errno, err);
	part = (size_t)wrote;
	rc = write_rest(writer, iov, nr, end + *written, &part, err);
	*written += part;
	return rc;
}

/* Writes all pieces. *written is the number of bytes, also after a failure. */
static int write_pieces(struct perch_writer *writer, const struct iovec *iov, int nr, uint64_t end,
			size_t *written, struct perch_error *err)
{
	int rc = 0;

	*written = 0;
	for (int i = 0; i < nr && !rc; i += MAX_IOV)
		rc = write_part(writer, iov + i, nr - i < MAX_IOV ? nr - i : MAX_IOV, end, written,
				err);
	return rc;
}

/* A position in pieces. */
struct write_position {
	const struct iovec *iov;
	size_t offset; /* in *iov */
};

static void advance(struct write_position *position, uint64_t size)
{
	while (size >= position->iov->iov_len - position->offset) {
		size -= position->iov->iov_len - position->offset;
		position->iov++;
		position->offset = 0;
		if (!size)
			return;
	}
	position->offset += size;
}

/* Copies bytes that the pieces have. */
static void copy_from(struct write_position position, void *to, size_t size)
{
	char *at = to;

	while (size) {
		size_t part = position.iov->iov_len - position.offset;

		part = part < size ? part : size;
		if (part) /* an empty piece may be NULL */
			memcpy(at, (const char *)position.iov->iov_base + position.offset, part);
		at += part;
		size -= part;
		position.iov++;
		position.offset = 0;
	}
}

/* Returns the size of the records that lie within the first bytes of the pieces. */
static size_t whole_records(const struct iovec *iov, size_t bytes)
{
	struct write_position position = { iov, 0 };
	size_t whole = 0;

	while (bytes - whole >= sizeof(struct perch_record_header)) {
		struct {
			struct perch_record_header header;
			uint64_t following;
		} start = { .following = 0 };
		size_t left = bytes - whole;

		copy_from(position, &start, left < sizeof(start) ? left : sizeof(start));
		/* the bytes of an AUX area are no part of the size of their record */
		if (start.header.type != PERCH_RECORD_AUXTRACE)
			start.following = 0;
		if (start.header.size < sizeof(start.header) || start.header.size > left ||
		    start.following > left - start.header.size)
			break;
		whole += start.header.size + start.following;
		if (whole < bytes)
			advance(&position, start.header.size + start.following);
	}
	return whole;
}

/* Covers the bytes that were appended by the data size in the header. */
static int set_data_size(struct perch_writer *writer, uint64_t size, struct perch_error *err)
{
	int rc = perch__writer_write(writer, &size, sizeof(size),
				     offsetof(struct perch__file_header, data.size), NULL, err);

	if (!rc)
		writer->header.data.size = size;
	return rc;
}

/* After a failure. The rest is cut off first: some file systems need space to change the header. */
static void keep_whole_records(struct perch_writer *writer, const struct iovec *iov, size_t written)
{
	uint64_t size = writer->header.data.size + whole_records(iov, written);

	if (ftruncate(writer->fd, (off_t)(writer->header.data.offset + size)) < 0 &&
	    errno != EINVAL) /* a device */
		return;
	if (size > writer->header.data.size)
		set_data_size(writer, size, NULL);
}

int perch_writer_append(struct perch_writer *writer, const struct iovec *iov, int nr,
			struct perch_error *err)
{
	uint64_t end = writer->header.data.offset + writer->header.data.size;
	size_t size = iov_size(iov, nr), written;
	int rc;

	if (!size)
		return 0;
	if (writer->pipe)
		return perch__pipe_append(writer, iov, nr, size, err);
	rc = write_pieces(writer, iov, nr, end, &written, err);
	if (!rc)
		return set_data_size(writer, writer->header.data.size + size, err);
	keep_whole_records(writer, iov, written);
	if (rc == -ENOSPC || rc == -EDQUOT)
		perch_error_remedy(err, "Write to another file system, or sample at a lower rate");
	return rc;
}

uint64_t perch_writer_size(const struct perch_writer *writer)
{
	return writer->header.data.size;
}
