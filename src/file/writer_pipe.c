/* SPDX-License-Identifier: MIT */
/*
 * Writes pipe format. Its header is 16 bytes, and the rest are records, in this order: HEADER_ATTR
 * of each event, EVENT_UPDATE with its name, the features that are set before the first record, the
 * records, the other features. The tool that reads the pipe may use each of them at once. A feature
 * is the body of a HEADER_FEATURE record, but tracing data follow their record, and build ids are
 * records of their own.
 */
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/uio.h>
#include <unistd.h>
#include "base/no_memory.h"
#include "writer.h"

#define FEATURE_HEAD (sizeof(struct perch_record_header) + sizeof(uint64_t))
/* Records have a multiple of 8 bytes. */
#define MOST_RECORD (PERCH__MOST_RECORD - 8)
#define MAX_IOV	    1024 /* of one writev(2) */

/* ---- writing ---- */

/* Waits until a descriptor with O_NONBLOCK takes bytes. False if the write is not to be repeated.
 */
static bool wait_writable(const struct perch_writer *writer, int errnum)
{
	struct pollfd poll_fd = { writer->fd, POLLOUT, 0 };

	if (errnum == EAGAIN)
		return poll(&poll_fd, 1, -1) >= 0 || errno == EINTR;
	return errnum == EINTR;
}

static int write_bytes(struct perch_writer *writer, const void *bytes, size_t size,
		       struct perch_error *err)
{
	const char *at = bytes;

	while (size) {
		ssize_t wrote = write(writer->fd, at, size);

		if (wrote < 0 && wait_writable(writer, errno))
			continue;
		if (wrote <= 0)
			return perch__writer_failed(writer, wrote ? errno : EIO, err);
		at += wrote;
		size -= (size_t)wrote;
	}
	return 0;
}

/* Writes the buffer and frees it. */
static int write_buffer(struct perch_writer *writer, struct perch__bytes *bytes,
			struct perch_error *err)
{
	int rc = bytes->failed ? PERCH__NO_MEMORY(err, "to write a perf.data file")
			       : write_bytes(writer, bytes->data, bytes->size, err);

	perch__bytes_free(bytes);
	return rc;
}

static void put_header(struct perch__bytes *bytes, uint32_t type, size_t size)
{
	const struct perch_record_header header = { .type = type, .size = (uint16_t)size };

	perch__bytes_put(bytes, &header, sizeof(header));
}

static size_t aligned(size_t size)
{
	return (size + 7) / 8 * 8;
}

static void put_padded(struct perch__bytes *bytes, const void *data, size_t size)
{
	perch__bytes_put(bytes, data, size);
	perch__bytes_put_zeros(bytes, aligned(size) - size);
}

/* ---- the start ---- */

static int check_ids(const struct perch_writer *writer, struct perch_error *err)
{
	const size_t most = (MOST_RECORD - sizeof(struct perch_record_header) -
			     perch__writer_attr_size(writer)) /
			    sizeof(uint64_t);

	for (size_t i = 0; i < writer->nr_events; i++) {
		if (writer->events[i].nr_ids <= most)
			continue;
		perch_error_set(err, E2BIG, PERCH_ERROR_USAGE,
				"an event of pipe format has at most %zu ids (one for each CPU "
				"and thread), not %zu",
				most, writer->events[i].nr_ids);
		perch_error_remedy(err, "Write to a file, which has no such limit");
		return -E2BIG;
	}
	return 0;
}

static void put_attr(struct perch__bytes *bytes, const struct perch_writer *writer,
		     const struct perch_file_event *event)
{
	const uint32_t attr_size = perch__writer_attr_size(writer);
	const size_t ids_size = event->nr_ids * sizeof(uint64_t);
	struct perch_attr attr = event->attr;

	attr.size = attr_size;
	put_header(bytes, PERCH_RECORD_HEADER_ATTR,
		   sizeof(struct perch_record_header) + attr_size + ids_size);
	perch__bytes_put(bytes, &attr, attr_size);
	perch__bytes_put(bytes, event->ids, ids_size);
}

/* A reader finds the event by its first id. */
static void put_name(struct perch__bytes *bytes, const struct perch_file_event *event)
{
	const size_t length = strlen(event->name) + 1;
	const size_t size = PERCH__UPDATE_HEAD + aligned(length);

	if (!event->nr_ids || length == 1 || size > MOST_RECORD)
		return;
	put_header(bytes, PERCH_RECORD_EVENT_UPDATE, size);
	perch__bytes_put_u64(bytes, PERCH__UPDATE_NAME);
	perch__bytes_put_u64(bytes, event->ids[0]);
	put_padded(bytes, event->name, length);
}

static int write_start(struct perch_writer *writer, struct perch_error *err)
{
	struct perch__bytes bytes = { 0 };
	int rc = check_ids(writer, err);

	if (rc)
		return rc;
	perch__bytes_put_u64(&bytes, PERCH__MAGIC);
	perch__bytes_put_u64(&bytes, PERCH__HEADER_SIZE_PIPE);
	for (size_t i = 0; i < writer->nr_events; i++)
		put_attr(&bytes, writer, &writer->events[i]);
	for (size_t i = 0; i < writer->nr_events; i++)
		put_name(&bytes, &writer->events[i]);
	return write_buffer(writer, &bytes, err);
}

/* ---- features ---- */

static void put_tracing_data(struct perch__bytes *bytes, const struct perch__bytes *feature)
{
	const struct {
		uint32_t size, padding;
	} body = { (uint32_t)aligned(feature->size), 0 };

	if (feature->size > UINT32_MAX - 8)
		return;
	put_header(bytes, PERCH_RECORD_HEADER_TRACING_DATA,
		   sizeof(struct perch_record_header) + sizeof(body));
	perch__bytes_put(bytes, &body, sizeof(body));
	put_padded(bytes, feature->data, feature->size);
}

/* The records of a file have no multiple of 8 bytes, but perf refuses such records in a pipe. */
static void put_build_ids(struct perch__bytes *bytes, const struct perch__bytes *feature)
{
	for (size_t at = 0, size; at < feature->size; at += size) {
		const uint8_t *from = feature->data + at;
		struct perch__build_id_record record;

		memcpy(&record, from, sizeof(record));
		size = record.size;
		record.size = (uint16_t)aligned(size);
		perch__bytes_put(bytes, &record, sizeof(record));
		perch__bytes_put(bytes, from + sizeof(record), size - sizeof(record));
		perch__bytes_put_zeros(bytes, record.size - size);
	}
}

static void put_feature(struct perch__bytes *bytes, enum perch_feature number,
			const struct perch__bytes *feature)
{
	const size_t size = FEATURE_HEAD + aligned(feature->size);

	if (number == PERCH_FEATURE_TRACING_DATA) {
		put_tracing_data(bytes, feature);
	} else if (number == PERCH_FEATURE_BUILD_ID) {
		put_build_ids(bytes, feature);
	} else if (feature->size <= MOST_RECORD - FEATURE_HEAD) {
		put_header(bytes, PERCH_RECORD_HEADER_FEATURE, size);
		perch__bytes_put_u64(bytes, number);
		put_padded(bytes, feature->data, feature->size);
	}
}

/* The lists to which a writer adds elements, up to its end. */
#define GROWING_FEATURES                                                        \
	(1ull << PERCH_FEATURE_BUILD_ID | 1ull << PERCH_FEATURE_BPF_PROG_INFO | \
	 1ull << PERCH_FEATURE_BPF_BTF)

/* Writes those of these features that are not written yet. */
static int write_features(struct perch_writer *writer, uint64_t features, struct perch_error *err)
{
	struct perch__bytes bytes = { 0 };

	features &= writer->header.features[0] & ~writer->written_features;
	for (int i = 0; i < PERCH_FEATURE_MAX; i++)
		if (features >> i & 1)
			put_feature(&bytes, (enum perch_feature)i, &writer->feature[i]);
	writer->written_features |= features;
	return write_buffer(writer, &bytes, err);
}

/* ---- records and the end ---- */

int perch__pipe_append(struct perch_writer *writer, const struct iovec *iov, int nr, size_t size,
		       struct perch_error *err)
{
	int rc = 0;

	/* the reader would take the records for the rest of the record that is not complete */
	if (writer->failed)
		return perch__writer_failed(writer, EIO, err);
	if (!writer->header.data.size)
		rc = write_features(writer, ~GROWING_FEATURES, err);
	for (int i = 0; i < nr && !rc; i += MAX_IOV) {
		const int part = nr - i < MAX_IOV ? nr - i : MAX_IOV;
		size_t skipped;
		ssize_t wrote;

		do
			wrote = writev(writer->fd, iov + i, part);
		while (wrote < 0 && wait_writable(writer, errno));
		if (wrote < 0)
			return perch__writer_failed(writer, errno, err);
		skipped = (size_t)wrote;
		for (int k = i; k < i + part && !rc; k++) {
			const size_t done = skipped < iov[k].iov_len ? skipped : iov[k].iov_len;

			skipped -= done;
			rc = write_bytes(writer, (const char *)iov[k].iov_base + done,
					 iov[k].iov_len - done, err);
		}
	}
	if (!rc)
		writer->header.data.size += size;
	return rc;
}

int perch__pipe_finish(struct perch_writer *writer, struct perch_error *err)
{
	return writer->failed ? 0 : write_features(writer, ~0ull, err);
}

int perch_writer_open_fd(struct perch_writer **result, int fd,
			 const struct perch_file_event *events, size_t nr, struct perch_error *err)
{
	char name[32] = "standard output";
	struct perch_writer *writer;
	int rc;

	if (fd != STDOUT_FILENO)
		snprintf(name, sizeof(name), "descriptor %d", fd);
	rc = perch__writer_new(result, name, events, nr, err);
	if (rc)
		return rc;
	writer = *result;
	writer->pipe = true;
	writer->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	rc = writer->fd < 0 ? perch__writer_failed(writer, errno, err) : write_start(writer, err);
	if (rc) {
		perch__writer_free(writer);
		*result = NULL;
	}
	return rc;
}
