/* SPDX-License-Identifier: MIT */
/* Appends records. If only a part can be written, the whole records of that part are kept. */
#define _GNU_SOURCE /* pwritev */
#include <sys/uio.h>
#include <unistd.h>

#include "writer.h"

#define MAX_IOV	   1024 /* of one pwritev(2) */
#define MOST_LEVEL 22

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

/* Covers the bytes that were appended by the data size in the header. */
static int set_data_size(struct perch_writer *writer, uint64_t size, struct perch_error *err)
{
	/* a file of a directory has no header */
	int rc = writer->whole ? 0
			       : perch__writer_write(writer, &size, sizeof(size),
						     offsetof(struct perch__file_header, data.size),
						     NULL, err);

	if (!rc)
		writer->header.data.size = size;
	return rc;
}

/* After a failure. The rest is cut off first: some file systems need space to change the header. */
static void keep_whole_records(struct perch_writer *writer, const struct iovec *iov, size_t written)
{
	uint64_t size = writer->header.data.size +
			perch__whole_records((struct perch__position){ iov, 0 }, written);

	if (ftruncate(writer->fd, (off_t)(writer->header.data.offset + size)) < 0 &&
	    errno != EINVAL) /* a device */
		return;
	if (size > writer->header.data.size)
		set_data_size(writer, size, NULL);
}

static int append(struct perch_writer *writer, const struct iovec *iov, int nr, size_t size,
		  struct perch_error *err)
{
	uint64_t end = writer->header.data.offset + writer->header.data.size;
	size_t written;
	int rc;

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

static int append_compressed(struct perch_writer *writer, const struct iovec *iov, size_t size,
			     struct perch_error *err)
{
	struct perch__position from = { iov, 0 };
	int rc = 0;

	while (!rc && size) {
		uint64_t before = writer->header.data.size;
		struct iovec records;

		rc = perch__compress(writer->compressor, &from, &size, &records, err);
		if (rc)
			break;
		rc = append(writer, &records, 1, records.iov_len, err);
		perch__compress_written(writer->compressor, writer->header.data.size - before);
	}
	return rc;
}

static int append_plain(struct perch_writer *writer, const struct iovec *iov, int nr, size_t size,
			struct perch_error *err)
{
	uint64_t before = writer->header.data.size;
	int rc = append(writer, iov, nr, size, err);

	writer->plain += writer->header.data.size - before;
	return rc;
}

int perch_writer_append(struct perch_writer *writer, const struct iovec *iov, int nr,
			struct perch_error *err)
{
	size_t size = iov_size(iov, nr);

	if (!size)
		return 0;
	return perch__compressor_works(writer->compressor)
		       ? append_compressed(writer, iov, size, err)
		       : append_plain(writer, iov, nr, size, err);
}

/* A file that is not complete has no features, but perf needs this one. */
static int append_compression(struct perch_writer *writer, struct perch_error *err)
{
	const struct perch__bytes *feature = &writer->feature[PERCH_FEATURE_COMPRESSED];
	const uint64_t number = PERCH_FEATURE_COMPRESSED, zero = 0;
	struct perch_record_header header = { .type = PERCH_RECORD_HEADER_FEATURE };
	const size_t size = sizeof(header) + sizeof(number) + feature->size;
	const size_t padding = (8 - size % 8) % 8;
	const struct iovec iov[] = { { &header, sizeof(header) },
				     { (void *)&number, sizeof(number) },
				     { feature->data, feature->size },
				     { (void *)&zero, padding } };

	header.size = (uint16_t)(size + padding);
	return append_plain(writer, iov, 4, header.size, err);
}

int perch_writer_compress(struct perch_writer *writer, int level, enum perch_file_record type,
			  struct perch_error *err)
{
	struct perch__compressor *compressor;
	int rc;

	if (level < 1 || level > MOST_LEVEL)
		return perch_error_set(err, EINVAL, PERCH_ERROR_USAGE,
				       "a level of compression is 1 to %d, not %d", MOST_LEVEL,
				       level);
	if (!perch__is_compressed(type) ||
	    (writer && (writer->header.data.size || writer->compressor)))
		return perch_error_set(err, EINVAL, PERCH_ERROR_USAGE,
				       "compressed records are COMPRESSED or COMPRESSED2, from "
				       "the first record on");
	rc = perch__compressor_new(&compressor, level, type, err);
	if (rc || !writer) {
		perch__compressor_free(compressor);
		return rc;
	}
	writer->compressor = compressor;
	writer->compression_level = level;
	rc = perch__writer_set_compression(writer, err);
	/* a pipe has the feature before its records anyway */
	return rc || writer->pipe || writer->whole ? rc : append_compression(writer, err);
}

uint64_t perch_writer_record_bytes(const struct perch_writer *writer)
{
	return writer->plain +
	       (writer->compressor ? perch__compressor_input(writer->compressor) : 0);
}

uint64_t perch_writer_size(const struct perch_writer *writer)
{
	return writer->header.data.size;
}
