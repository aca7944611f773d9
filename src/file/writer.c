/* SPDX-License-Identifier: MIT */
/* The start and the end of a file that is written: header and attrs, features. writer.h describes
 * the order. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/files/new_file.h"
#include "base/files/rename_new.h"
#include "base/no_memory.h"
#include "writer.h"

#define COMPRESSION_MEMORY (128u << 10)
#define DIRECTORY_VERSION  1

/* ---- writing ---- */

int perch__writer_write(struct perch_writer *writer, const void *data, size_t size, uint64_t offset,
			size_t *written, struct perch_error *err)
{
	const char *at = data;

	while (size) {
		ssize_t wrote = pwrite(writer->fd, at, size, (off_t)offset);

		if (wrote < 0 && errno == EINTR)
			continue;
		if (wrote <= 0)
			return perch__writer_failed(writer, wrote ? errno : EIO, err);
		at += wrote;
		offset += (size_t)wrote;
		size -= (size_t)wrote;
		if (written)
			*written += (size_t)wrote;
	}
	return 0;
}

static int write_all(struct perch_writer *writer, const void *data, size_t size, uint64_t offset,
		     struct perch_error *err)
{
	return perch__writer_write(writer, data, size, offset, NULL, err);
}

/* ---- opening ---- */

static int cannot_create(const char *path, int errnum, struct perch_error *err)
{
	perch_error_set(err, errnum, PERCH_ERROR_FILE, "cannot create %s: %s", path,
			strerror(errnum));
	if (perch__new_file_remedy(errnum))
		perch_error_remedy(err, "%s", perch__new_file_remedy(errnum));
	return -errnum;
}

/* A file cannot take the place of a directory, nor a directory that of a file. */
static void make_space(const char *old, bool for_directory)
{
	struct stat status;

	perch__remove_recording_directory(old);
	if (for_directory && !lstat(old, &status) && S_ISREG(status.st_mode))
		unlink(old);
}

/*
 * Handles a file that is there already: a regular file is renamed to path.old, a device is written
 * to, others are refused.
 */
static int rename_old(const char *path, bool *device, char *old, struct perch_error *err)
{
	struct stat status;
	const char *remedy;
	int length = snprintf(old, PATH_MAX, "%s.old", path), rc;

	*device = false;
	if (length < 0 || length >= PATH_MAX)
		return cannot_create(path, ENAMETOOLONG, err);
	if (stat(path, &status) < 0 && lstat(path, &status) < 0) {
		old[0] = 0;
		return errno == ENOENT ? 0 : cannot_create(path, errno, err);
	}
	if (S_ISDIR(status.st_mode) && !perch__is_recording_directory(path)) {
		perch_error_set(err, EISDIR, PERCH_ERROR_FILE, "%s is a directory", path);
		perch_error_remedy(err, "Name a file in it: %s/perf.data", path);
		return -EISDIR;
	}
	if (S_ISCHR(status.st_mode)) {
		old[0] = 0;
		*device = true;
		return 0;
	}
	if (!S_ISREG(status.st_mode) && !S_ISLNK(status.st_mode) && !S_ISDIR(status.st_mode))
		return perch_error_set(err, EINVAL, PERCH_ERROR_FILE, "%s is not a regular file",
				       path);
	make_space(old, S_ISDIR(status.st_mode));
	if (!rename(path, old))
		return 0;
	rc = perch_error_set(err, errno, PERCH_ERROR_FILE, "cannot rename the old %s to %s: %s",
			     path, old, strerror(errno));
	remedy = rc == -EISDIR ? NULL : perch__new_file_remedy(-rc); /* the new name is one */
	perch_error_remedy(err, "%s", remedy ? remedy : "Name another file");
	return rc;
}

/* Moves a file to a name, unless another program has created a file of that name meanwhile. */
static void move_back(const char *from, const char *to)
{
	if (!perch__rename_new(AT_FDCWD, from, AT_FDCWD, to) || errno == EEXIST)
		return;
	/* for file systems without RENAME_NOREPLACE */
	if (!link(from, to))
		unlink(from);
}

/* Removes the new file and restores the name of the old one. */
static void undo_create(struct perch_writer *writer)
{
	struct stat own, existing;

	if (writer->created && writer->directory)
		perch__remove_recording_directory(writer->path);
	else if (writer->created && !fstat(writer->fd, &own) && !lstat(writer->path, &existing) &&
		 own.st_dev == existing.st_dev && own.st_ino == existing.st_ino)
		unlink(writer->path);
	if (writer->old)
		move_back(writer->old, writer->path);
}

/* The name may be a link, which may lead to another file since it was looked at. */
static int open_device(const char *path)
{
	int fd = open(path, O_RDWR | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat status;
	int error = 0;

	if (fd < 0)
		return fd;
	if (fstat(fd, &status))
		error = errno;
	else if (!S_ISCHR(status.st_mode))
		error = EEXIST;
	if (!error && !fcntl(fd, F_SETFL, 0))
		return fd;
	error = error ? error : errno;
	close(fd);
	errno = error;
	return -1;
}

static int create_file(struct perch_writer *writer, const char *path, struct perch_error *err)
{
	char old[PATH_MAX];
	bool device;
	int rc = rename_old(path, &device, old, err);

	if (rc)
		return rc;
	if (device && writer->directory)
		return perch_error_set(err, EINVAL, PERCH_ERROR_FILE, "%s is a device", path);
	writer->fd = device		 ? open_device(path)
		     : writer->directory ? perch__create_directory(path)
					 : open(path, O_RDWR | O_CLOEXEC | O_CREAT | O_EXCL, 0600);
	if (writer->fd < 0) {
		rc = cannot_create(path, errno, err);
		if (old[0])
			move_back(old, path);
		return rc;
	}
	writer->created = !device;
	if (!old[0])
		return 0;
	writer->old = strdup(old);
	if (writer->old)
		return 0;
	undo_create(writer);
	move_back(old, path);
	return PERCH__NO_MEMORY(err, "to write a perf.data file");
}

int perch__writer_set_start(struct perch_writer *writer, uint32_t clock, uint64_t wall,
			    uint64_t time, struct perch_error *err)
{
	const struct perch__file_start start = { PERCH__START_MAGIC, clock, wall, time };

	return write_all(writer, &start, sizeof(start), writer->header.data.offset - sizeof(start),
			 err);
}

/* Writes header, ids and attrs, and space for the start. */
static int write_start(struct perch_writer *writer, struct perch_error *err)
{
	uint32_t attr_size = perch__writer_attr_size(writer);
	struct perch__bytes bytes = { 0 };
	uint64_t ids_at = sizeof(writer->header);
	int rc;

	perch__bytes_put(&bytes, &writer->header, sizeof(writer->header));
	for (size_t i = 0; i < writer->nr_events; i++)
		perch__bytes_put(&bytes, writer->events[i].ids,
				 writer->events[i].nr_ids * sizeof(uint64_t));
	writer->header.attrs.offset = bytes.size;
	writer->header.attrs.size = writer->nr_events * writer->header.attr_size;
	for (size_t i = 0; i < writer->nr_events; i++) {
		struct perch_attr attr = writer->events[i].attr;
		uint64_t ids_size = writer->events[i].nr_ids * sizeof(uint64_t);

		attr.size = attr_size;
		perch__bytes_put(&bytes, &attr, attr_size);
		perch__bytes_put_u64(&bytes, ids_at);
		perch__bytes_put_u64(&bytes, ids_size);
		ids_at += ids_size;
	}
	perch__bytes_put_zeros(&bytes, sizeof(struct perch__file_start));
	writer->header.data.offset = bytes.size;
	if (bytes.failed) {
		perch__bytes_free(&bytes);
		return PERCH__NO_MEMORY(err, "to write a perf.data file");
	}
	memcpy(bytes.data, &writer->header, sizeof(writer->header));
	rc = write_all(writer, bytes.data, bytes.size, 0, err);
	perch__bytes_free(&bytes);
	return rc;
}

static int open_writer(struct perch_writer **result, const char *path, bool directory,
		       const struct perch_file_event *events, size_t nr, struct perch_error *err)
{
	struct perch_writer *writer;
	int rc = perch__writer_new(result, path, events, nr, err);

	if (rc)
		return rc;
	writer = *result;
	writer->directory = directory;
	rc = create_file(writer, path, err);
	if (!rc) {
		rc = write_start(writer, err);
		if (rc)
			undo_create(writer);
	}
	if (rc) {
		perch__writer_free(writer);
		*result = NULL;
	}
	return rc;
}

int perch_writer_open(struct perch_writer **writer, const char *path,
		      const struct perch_file_event *events, size_t nr, struct perch_error *err)
{
	return open_writer(writer, path, false, events, nr, err);
}

int perch_writer_open_directory(struct perch_writer **writer, const char *path,
				const struct perch_file_event *events, size_t nr,
				struct perch_error *err)
{
	const uint64_t version = DIRECTORY_VERSION;
	int rc = open_writer(writer, path, true, events, nr, err);

	if (!rc)
		rc = perch_writer_set_feature(*writer, PERCH_FEATURE_DIR_FORMAT, &version,
					      sizeof(version), err);
	return rc;
}

/* ---- features and the end ---- */

int perch__writer_set_feature(struct perch_writer *writer, enum perch_feature feature,
			      struct perch__bytes *bytes, struct perch_error *err)
{
	if (bytes->failed) {
		perch__bytes_free(bytes);
		return PERCH__NO_MEMORY(err, "to write a perf.data file");
	}
	perch__bytes_free(&writer->feature[feature]);
	writer->feature[feature] = *bytes;
	*bytes = (struct perch__bytes){ 0 };
	writer->header.features[feature / 64] |= 1ull << feature % 64;
	if (feature < PERCH_FEATURE_MAX)
		writer->written_features &= ~(1ull << feature);
	return 0;
}

int perch_writer_set_feature(struct perch_writer *writer, enum perch_feature feature,
			     const void *data, size_t size, struct perch_error *err)
{
	struct perch__bytes bytes = { 0 };

	if (feature < PERCH_FEATURE_TRACING_DATA || !perch__is_feature((uint64_t)feature))
		return perch_error_set(err, EINVAL, PERCH_ERROR_USAGE, "invalid feature number %d",
				       (int)feature);
	perch__bytes_put(&bytes, data, size);
	return perch__writer_set_feature(writer, feature, &bytes, err);
}

int perch_writer_set_sample_time(struct perch_writer *writer, uint64_t first, uint64_t last,
				 struct perch_error *err)
{
	uint64_t times[2] = { first, last };

	return perch_writer_set_feature(writer, PERCH_FEATURE_SAMPLE_TIME, times, sizeof(times),
					err);
}

int perch_writer_add_build_id(struct perch_writer *writer, uint16_t misc, const uint8_t *build_id,
			      size_t size, const char *path, struct perch_error *err)
{
	struct perch__bytes *bytes = &writer->feature[PERCH_FEATURE_BUILD_ID];
	size_t length = strlen(path) + 1;
	size_t padded = (length + PERCH__NAME_ALIGN - 1) / PERCH__NAME_ALIGN * PERCH__NAME_ALIGN;
	struct perch__build_id_record record = {
		.type = PERCH_RECORD_HEADER_BUILD_ID,
		.misc = misc | PERCH__BUILD_ID_SIZE_KNOWN,
		.size = sizeof(record) + padded,
		.pid = -1,
		.id_size = size,
	};

	if (!size || size > sizeof(record.id) || length > PATH_MAX)
		return perch_error_set(err, EINVAL, PERCH_ERROR_USAGE,
				       "a build id has 1 to 20 bytes, and its path at most %d",
				       PATH_MAX);
	memcpy(record.id, build_id, size);
	perch__bytes_put(bytes, &record, sizeof(record));
	perch__bytes_put(bytes, path, length);
	perch__bytes_put_zeros(bytes, padded - length);
	if (bytes->failed) {
		perch__bytes_free(bytes);
		writer->header.features[0] &= ~(1ull << PERCH_FEATURE_BUILD_ID);
		return PERCH__NO_MEMORY(err, "to write a perf.data file");
	}
	writer->header.features[0] |= 1ull << PERCH_FEATURE_BUILD_ID;
	return 0;
}

static bool has_feature(const struct perch_writer *writer, int feature)
{
	return writer->header.features[feature / 64] >> feature % 64 & 1;
}

/* Writes the feature table and the sections after the records. */
static int write_features(struct perch_writer *writer, uint64_t at, uint64_t *end,
			  struct perch_error *err)
{
	struct perch__bytes bytes = { 0 };
	uint64_t section_at;
	size_t nr = 0;
	int rc;

	for (int i = 0; i < PERCH__FEATURE_BITS; i++)
		nr += has_feature(writer, i);
	section_at = at + nr * sizeof(struct perch__section);
	for (int i = 0; i < PERCH__FEATURE_BITS; i++) {
		if (!has_feature(writer, i))
			continue;
		perch__bytes_put_u64(&bytes, section_at);
		perch__bytes_put_u64(&bytes, writer->feature[i].size);
		section_at += writer->feature[i].size;
	}
	for (int i = 0; i < PERCH__FEATURE_BITS; i++) {
		if (has_feature(writer, i))
			perch__bytes_put(&bytes, writer->feature[i].data, writer->feature[i].size);
	}
	rc = bytes.failed ? PERCH__NO_MEMORY(err, "to write a perf.data file")
			  : write_all(writer, bytes.data, bytes.size, at, err);
	*end = at + bytes.size;
	perch__bytes_free(&bytes);
	return rc;
}

/* Writes the features of a file, and then the header, which says that it is complete. */
static int finish_file(struct perch_writer *writer, struct perch_error *err)
{
	uint64_t end = writer->header.data.offset + writer->header.data.size;
	int rc;

	/* BUILD_ID is always present, also if empty: a file without features is an unfinished one
	 */
	writer->header.features[0] |= 1ull << PERCH_FEATURE_BUILD_ID;
	rc = write_features(writer, end, &end, err);
	/* a failed write may have left bytes after the end of the features */
	if (!rc && writer->failed && ftruncate(writer->fd, end) < 0 && errno != EINVAL)
		rc = perch__writer_failed(writer, errno, err);
	return rc ? rc : write_all(writer, &writer->header, sizeof(writer->header), 0, err);
}

/*
 * u32 version, type (zstd), level, ratio, memory for the output of a record. perf fails if the
 * output of one record uses all of that memory.
 */
int perch__writer_set_compression(struct perch_writer *writer, struct perch_error *err)
{
	uint64_t input = perch__compressor_input(writer->compressor) + writer->parts_input;
	uint64_t output = writer->header.data.size - writer->plain + writer->parts_output;
	uint64_t ratio = output ? (input + output / 2) / output : 0;
	const uint32_t values[] = { 1, 1, (uint32_t)writer->compression_level, (uint32_t)ratio,
				    COMPRESSION_MEMORY };

	return perch_writer_set_feature(writer, PERCH_FEATURE_COMPRESSED, values, sizeof(values),
					err);
}

static void finish_part(struct perch_writer *part)
{
	if (!part->compressor)
		return;
	part->whole->parts_input += perch__compressor_input(part->compressor);
	part->whole->parts_output += part->header.data.size - part->plain;
}

int perch_writer_close(struct perch_writer *writer, struct perch_error *err)
{
	int rc = 0, finished;

	if (!writer)
		return 0;
	if (writer->whole) {
		finish_part(writer);
	} else {
		if (writer->compressor)
			rc = perch__writer_set_compression(writer, err);
		finished = writer->pipe ? perch__pipe_finish(writer, rc ? NULL : err)
					: finish_file(writer, rc ? NULL : err);
		rc = rc ? rc : finished;
	}
	if (close(writer->fd) < 0 && !rc && errno != EINTR)
		rc = perch__writer_failed(writer, errno, err);
	writer->fd = -1;
	perch__writer_free(writer);
	return rc;
}
