/* SPDX-License-Identifier: MIT */
/*
 * A file's header and attrs. Every number in them is a claim to be checked against the size of the
 * file.
 */
#include <stdlib.h>
#include "internal.h"

#define MOST_EVENTS 65535u

static int truncated(struct perch_error *err, const char *what)
{
	return perch_error_set(err, EBADMSG, PERCH_ERROR_TRUNCATED,
			       "the file ends before its %s does: nothing can be read", what);
}

static int malformed(struct perch_error *err, const char *what)
{
	return perch_error_set(err, EBADMSG, PERCH_ERROR_FORMAT, "not a sound perf.data file: %s",
			       what);
}

static bool inside(const struct perch_reader *reader, const struct perch__section *section)
{
	return section->offset <= reader->size && section->size <= reader->size - section->offset;
}

/* ---- attrs ---- */

/* The fields as far as the attr says it goes, the rest zero. */
static void copy_attr(struct perch_attr *attr, const uint8_t *bytes, size_t size)
{
	uint32_t own = perch__u32(bytes + offsetof(struct perch_attr, size));

	if (own < PERCH__ATTR_LEAST)
		own = PERCH__ATTR_LEAST;
	perch_attr_from_bytes(attr, bytes, size < own ? size : own, false);
}

int perch__add_attr(struct perch_reader *reader, const uint8_t *attr, size_t attr_bytes,
		    const uint8_t *ids, uint64_t nr_ids, struct perch_error *err)
{
	struct perch_file_event *event = &reader->events[reader->nr_events];
	uint64_t *copy = NULL;

	if (reader->nr_events == reader->room_events)
		return 0;
	copy_attr(&event->attr, attr, attr_bytes);
	if (nr_ids) {
		copy = perch__reader_keep(reader, nr_ids * sizeof(*copy));
		if (!copy)
			return perch_error_set(err, ENOMEM, PERCH_ERROR_NO_MEMORY,
					       "no memory for %llu event ids",
					       (unsigned long long)nr_ids);
		memcpy(copy, ids, nr_ids * sizeof(*copy));
	}
	event->ids = copy;
	event->nr_ids = nr_ids;
	reader->nr_events++;
	return 0;
}

static int read_attr(struct perch_reader *reader, const uint8_t *entry, uint64_t *ids_left,
		     struct perch_error *err)
{
	size_t attr_bytes = reader->header.attr_size - sizeof(struct perch__section);
	struct perch__section ids;

	memcpy(&ids, entry + attr_bytes, sizeof(ids));
	if (!inside(reader, &ids))
		return truncated(err, "event ids");
	/* Sections that overlap could ask for any amount of memory. */
	if (ids.size > *ids_left)
		return malformed(err, "its event ids take more bytes than it has");
	*ids_left -= ids.size;
	return perch__add_attr(reader, entry, attr_bytes, reader->file + ids.offset,
			       ids.size / sizeof(uint64_t), err);
}

static int read_attrs(struct perch_reader *reader, struct perch_error *err)
{
	const struct perch__file_header *header = &reader->header;
	uint64_t nr, ids_left = reader->size;

	if (header->attr_size < PERCH__ATTR_LEAST + sizeof(struct perch__section) ||
	    header->attr_size > PERCH__ATTR_MOST + sizeof(struct perch__section))
		return malformed(err, "the size of an attr is out of range");
	nr = header->attrs.size / header->attr_size;
	if (!nr)
		return malformed(err, "it has no events");
	if (nr > MOST_EVENTS)
		return malformed(err, "it has more than 65535 events");
	if (!inside(reader, &header->attrs))
		return truncated(err, "list of events");
	reader->room_events = nr;
	reader->events = perch__reader_keep(reader, nr * sizeof(*reader->events));
	if (!reader->events)
		return perch_error_set(err, ENOMEM, PERCH_ERROR_NO_MEMORY,
				       "no memory for %llu events", (unsigned long long)nr);
	for (uint64_t i = 0; i < nr; i++) {
		const uint8_t *entry = reader->file + header->attrs.offset + i * header->attr_size;
		int rc = read_attr(reader, entry, &ids_left, err);

		if (rc)
			return rc;
	}
	return 0;
}

/* ---- the records' place ---- */

static unsigned int nr_features(const struct perch__file_header *header)
{
	unsigned int nr = 0;

	for (size_t i = 0; i < PERCH__FEATURE_BITS / 64; i++)
		nr += __builtin_popcountll(header->features[i]);
	return nr;
}

/* A recorder that ended without a single record: the feature table follows at once. */
static bool has_table_at(const struct perch_reader *reader, uint64_t offset)
{
	uint64_t table = nr_features(&reader->header) * sizeof(struct perch__section);

	return table && reader->size - offset >= table &&
	       perch__u64(reader->file + offset) == offset + table;
}

static void find_data(struct perch_reader *reader)
{
	const struct perch__section *data = &reader->header.data;
	uint64_t start = data->offset < reader->size ? data->offset : reader->size;
	uint64_t have = reader->size - start;

	reader->data_offset = start;
	if (!data->size && !has_table_at(reader, start)) {
		reader->unfinished = true;
		reader->data_end = reader->size;
		memset(reader->header.features, 0, sizeof(reader->header.features));
		return;
	}
	reader->data_end = start + (data->size < have ? data->size : have);
	reader->missing = data->size - (reader->data_end - start);
	if (!nr_features(&reader->header) && reader->header.size == PERCH__HEADER_SIZE)
		reader->unfinished = true;
}

/* ---- the header ---- */

/* Tells other kinds of files apart from those that are nothing of the sort. */
static int wrong_magic(uint64_t magic, struct perch_error *err)
{
	if (magic == __builtin_bswap64(PERCH__MAGIC))
		return perch_error_set(
			err, ENOTSUP, PERCH_ERROR_UNSUPPORTED_FILE,
			"recorded on a machine of the other byte order, which is not "
			"read yet");
	if (magic == PERCH__MAGIC_V1 || magic == __builtin_bswap64(PERCH__MAGIC_V1))
		return perch_error_set(err, ENOTSUP, PERCH_ERROR_UNSUPPORTED_FILE,
				       "a perf.data file of the first version (before Linux 3.2), "
				       "which is not read");
	return perch_error_set(err, EBADMSG, PERCH_ERROR_FORMAT, "not a perf.data file");
}

int perch__read_header(struct perch_reader *reader, struct perch_error *err)
{
	struct perch__file_header *header = &reader->header;
	size_t size = reader->size < sizeof(*header) ? reader->size : sizeof(*header);
	int rc;

	if (!reader->size)
		return perch_error_set(err, EBADMSG, PERCH_ERROR_TRUNCATED, "the file is empty");
	if (size >= sizeof(header->magic) && perch__u64(reader->file) != PERCH__MAGIC)
		return wrong_magic(perch__u64(reader->file), err);
	if (size < PERCH__HEADER_SIZE_PIPE)
		return perch_error_set(err, EBADMSG, PERCH_ERROR_FORMAT,
				       "not a perf.data file: it has %zu bytes", size);
	memcpy(header, reader->file, size);
	if (header->size == PERCH__HEADER_SIZE_PIPE)
		return perch__read_pipe(reader, err);
	if (header->size != PERCH__HEADER_SIZE && header->size != PERCH__HEADER_SIZE_BARE)
		return malformed(err, "the size of its header is wrong");
	if (size < header->size)
		return truncated(err, "header");
	if (header->size == PERCH__HEADER_SIZE_BARE)
		memset(header->features, 0, sizeof(header->features));
	rc = read_attrs(reader, err);
	if (rc)
		return rc;
	find_data(reader);
	return perch__read_features(reader, err);
}
