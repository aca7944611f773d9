/* SPDX-License-Identifier: MIT */
/*
 * Reading perf.data, whoever wrote it. The file is mapped and trusted in nothing but the size it
 * had when it was opened.
 */
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "internal.h"

#define RELEASE_EVERY (8u << 20)

/* ---- memory ---- */

struct perch__kept {
	struct perch__kept *next;
	_Alignas(16) uint8_t bytes[];
};

void *perch__reader_keep(struct perch_reader *reader, size_t size)
{
	struct perch__kept *kept = calloc(1, sizeof(*kept) + size);

	if (!kept)
		return NULL;
	kept->next = reader->kept;
	reader->kept = kept;
	return kept->bytes;
}

const char *perch__reader_keep_text(struct perch_reader *reader, const char *text, size_t length)
{
	char *copy = perch__reader_keep(reader, length + 1);

	if (copy)
		memcpy(copy, text, length);
	return copy;
}

/* ---- the file's bytes ---- */

static int cannot_read(int errnum, struct perch_error *err)
{
	perch_error_set(err, errnum, PERCH_ERROR_FILE, "%s", strerror(errnum));
	if (errnum == ENOENT)
		perch_error_remedy(err, "Record one first: perch record PROGRAM");
	else if (errnum == EACCES)
		perch_error_remedy(err, "Read it as the user who recorded it");
	return -errnum;
}

static int not_regular(const char *path, mode_t mode, struct perch_error *err)
{
	char data[PATH_MAX];
	int length;

	if (!S_ISDIR(mode))
		return perch_error_set(
			err, ENOTSUP, PERCH_ERROR_UNSUPPORTED_FILE,
			"not a regular file; a recorded pipe must be saved to one first");
	length = snprintf(data, sizeof(data), "%s/data", path);
	if (length > 0 && (size_t)length < sizeof(data) && access(data, F_OK) == 0)
		return perch_error_set(
			err, ENOTSUP, PERCH_ERROR_UNSUPPORTED_FILE,
			"a recording in directory format (perf record --threads), which "
			"is not read yet");
	return perch_error_set(err, EISDIR, PERCH_ERROR_FILE, "a directory, not a perf.data file");
}

/* Where a file system cannot map, the file is read as a whole. */
static int read_whole(struct perch_reader *reader, int fd, struct perch_error *err)
{
	uint8_t *bytes = malloc(reader->size);
	uint64_t have = 0;

	if (!bytes)
		return perch_error_set(err, ENOMEM, PERCH_ERROR_NO_MEMORY,
				       "no memory for its %llu bytes",
				       (unsigned long long)reader->size);
	while (have < reader->size) {
		ssize_t got = read(fd, bytes + have, reader->size - have);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0) {
			free(bytes);
			return cannot_read(errno, err);
		}
		if (!got)
			break;
		have += got;
	}
	reader->file = bytes;
	reader->size = have;
	return 0;
}

static int load(struct perch_reader *reader, int fd, struct perch_error *err)
{
	struct stat status;
	void *map;

	if (fstat(fd, &status) < 0)
		return cannot_read(errno, err);
	if (!S_ISREG(status.st_mode))
		return not_regular(reader->path, status.st_mode, err);
	reader->size = status.st_size;
	reader->changed = status.st_ctime;
	if (!reader->size)
		return 0;
	map = mmap(NULL, reader->size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (map == MAP_FAILED)
		return read_whole(reader, fd, err);
	reader->file = map;
	reader->mapped = true;
	return 0;
}

/* ---- opening and closing ---- */

static int make_decoder(struct perch_reader *reader, struct perch_error *err)
{
	struct perch_decoder_event *events = calloc(reader->nr_events, sizeof(*events));
	int rc;

	if (!events)
		return perch_error_set(err, ENOMEM, PERCH_ERROR_NO_MEMORY,
				       "no memory for its events");
	for (size_t i = 0; i < reader->nr_events; i++) {
		events[i].attr = &reader->events[i].attr;
		events[i].ids = reader->events[i].ids;
		events[i].nr_ids = reader->events[i].nr_ids;
	}
	rc = perch_decoder_new(&reader->decoder, events, reader->nr_events,
			       PERCH_BYTES_NATIVE, err);
	free(events);
	return rc;
}

static int open_file(struct perch_reader *reader, struct perch_error *err)
{
	int fd = open(reader->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	int rc;

	if (fd < 0)
		return cannot_read(errno, err);
	rc = load(reader, fd, err);
	close(fd);
	if (!rc)
		rc = perch__read_header(reader, err);
	if (!rc)
		rc = make_decoder(reader, err);
	if (!rc)
		perch_reader_rewind(reader);
	return rc;
}

int perch_reader_open(struct perch_reader **result, const char *path, enum perch_order order,
		      struct perch_error *err)
{
	struct perch_reader *reader = calloc(1, sizeof(*reader));
	int rc;

	*result = NULL;
	if (!reader)
		return perch_error_set(err, ENOMEM, PERCH_ERROR_NO_MEMORY, "no memory to read %s",
				       path);
	reader->order = order;
	reader->path = strdup(path);
	rc = reader->path ? open_file(reader, err)
			  : perch_error_set(err, ENOMEM, PERCH_ERROR_NO_MEMORY, "no memory");
	if (rc) {
		size_t length = strlen(path);

		/* of a very long path the end, so that there is room to say what is wrong */
		perch_error_prefix(err, "%s: ", length > 200 ? path + length - 200 : path);
		perch_reader_close(reader);
		return rc;
	}
	*result = reader;
	return 0;
}

void perch_reader_close(struct perch_reader *reader)
{
	if (!reader)
		return;
	while (reader->kept) {
		struct perch__kept *next = reader->kept->next;

		free(reader->kept);
		reader->kept = next;
	}
	if (reader->mapped)
		munmap((void *)reader->file, reader->size);
	else
		free((void *)reader->file);
	perch__unpack_free(reader);
	perch_decoder_free(reader->decoder);
	free(reader->build_ids);
	free(reader->index);
	free(reader->needed_from);
	free(reader->unpacked);
	free(reader->scratch);
	free(reader->path);
	free(reader);
}

size_t perch_reader_events(const struct perch_reader *reader,
			   const struct perch_file_event **events)
{
	*events = reader->events;
	return reader->nr_events;
}

/* ---- records ---- */

void perch_reader_rewind(struct perch_reader *reader)
{
	reader->undecoded = 0;
	reader->unknown = 0;
	reader->released = 0;
	reader->next_index = 0;
	if (!reader->indexed)
		perch__walk_start(reader, &reader->walk);
}

static int next_by_time(struct perch_reader *reader, uint64_t *offset, struct perch_error *err)
{
	size_t at;

	if (!reader->indexed) {
		int rc = perch__index_build(reader, err);

		if (rc)
			return rc;
	}
	at = reader->next_index;
	if (at == reader->nr_index)
		return 0;
	if (at % PERCH__INDEX_BLOCK == 0)
		perch__release(reader, reader->needed_from[at / PERCH__INDEX_BLOCK]);
	*offset = reader->index[at].offset;
	reader->next_index++;
	return 1;
}

static int next_in_order(struct perch_reader *reader, uint64_t *offset, struct perch_error *err)
{
	int rc;

	if (reader->order == PERCH_ORDER_TIME)
		return next_by_time(reader, offset, err);
	rc = perch__walk_next(reader, &reader->walk, offset, err);
	/* The pages of the last record stay until the next call. */
	if (rc > 0 && *offset < reader->size && *offset > reader->released + RELEASE_EVERY)
		perch__release(reader, *offset);
	return rc;
}

/*
 * Records start at multiples of 8 in every file that a recorder wrote; elsewhere they are copied to
 * such a place.
 */
static const void *aligned(struct perch_reader *reader, const uint8_t *bytes, uint64_t room)
{
	uint16_t size;

	if (__builtin_expect((uintptr_t)bytes % sizeof(uint64_t) == 0, 1))
		return bytes;
	if (!reader->scratch)
		reader->scratch = malloc(PERCH__MOST_RECORD);
	if (!reader->scratch)
		return NULL;
	size = perch__u16(bytes + 6);
	memcpy(reader->scratch, bytes, size < room ? size : room);
	return reader->scratch;
}

int perch_reader_next(struct perch_reader *reader, struct perch_record *record,
		      struct perch_error *err)
{
	uint64_t offset;
	int rc;

	while ((rc = next_in_order(reader, &offset, err)) > 0) {
		uint64_t room = perch__record_room(reader, offset);
		const void *bytes = aligned(reader, perch__record_at(reader, offset), room);

		if (!bytes)
			return perch_error_set(err, ENOMEM, PERCH_ERROR_NO_MEMORY,
					       "no memory for a record");
		if (room > PERCH__MOST_RECORD)
			room = PERCH__MOST_RECORD;
		if (__builtin_expect(
			    perch_decoder_decode(reader->decoder, record, bytes, room, NULL) < 0,
			    0)) {
			reader->undecoded++;
			continue;
		}
		record->offset = offset < reader->size ? offset : 0;
		if (__builtin_expect(record->type > PERCH_RECORD_SAMPLE, 0) &&
		    !perch_record_name(record->type))
			reader->unknown++;
		return 1;
	}
	return rc;
}

void perch_reader_damage(const struct perch_reader *reader, struct perch_reader_damage *damage)
{
	*damage = (struct perch_reader_damage){
		.missing_bytes = reader->missing,
		.garbled_bytes = reader->walk.garbled,
		.undecoded_records = reader->undecoded,
		.unknown_records = reader->unknown,
		.unfinished = reader->unfinished,
		.too_large = reader->walk.too_large,
	};
}

void perch_reader_progress(const struct perch_reader *reader, uint64_t *done, uint64_t *total)
{
	*total = reader->data_end - reader->data_offset;
	if (reader->order == PERCH_ORDER_FILE)
		*done = reader->walk.at - reader->data_offset;
	else if (reader->nr_index)
		*done = (double)reader->next_index / reader->nr_index * *total;
	else
		*done = 0;
}
