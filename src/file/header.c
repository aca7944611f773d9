/* SPDX-License-Identifier: MIT */
/*
 * Reads the header and the attrs of a file. Each offset and size is checked against the size of the
 * file.
 */
#include "base/no_memory.h"
#include "internal.h"

#define MAX_EVENTS 65535u

static int truncated(struct perch_error *err, const char *what)
{
	perch_error_set(err, EBADMSG, PERCH_ERROR_TRUNCATED,
			"the file is truncated: its %s is not complete", what);
	perch_error_remedy(err, "Copy the whole file, or record again");
	return -EBADMSG;
}

static int malformed(struct perch_error *err, const char *what)
{
	perch_error_set(err, EBADMSG, PERCH_ERROR_FORMAT, "corrupt perf.data file: %s", what);
	perch_error_remedy(err, "Copy the file again, or record again");
	return -EBADMSG;
}

static bool inside(const struct perch_reader *reader, const struct perch__section *section)
{
	return section->offset <= reader->size && section->size <= reader->size - section->offset;
}

/* ---- attrs ---- */

static bool is_attr_size(uint64_t size)
{
	return size >= PERCH__ATTR_MIN + sizeof(struct perch__section) &&
	       size <= PERCH__ATTR_MAX + sizeof(struct perch__section);
}

/* Copies the fields that the size of the attr covers. The others are 0. */
static void copy_attr(const struct perch_reader *reader, struct perch_attr *attr,
		      const uint8_t *bytes, size_t size)
{
	uint32_t own = perch__file_u32(reader, bytes + offsetof(struct perch_attr, size));

	if (own < PERCH__ATTR_MIN)
		own = PERCH__ATTR_MIN;
	perch_attr_from_bytes(attr, bytes, size < own ? size : own,
			      perch__byte_order(reader->swapped));
}

int perch__add_attr(struct perch_reader *reader, const uint8_t *attr, size_t attr_bytes,
		    const uint8_t *ids, uint64_t nr_ids, struct perch_error *err)
{
	struct perch_file_event *event = &reader->events[reader->nr_events];
	uint64_t *copy = NULL;

	if (reader->nr_events == reader->events_capacity)
		return 0;
	copy_attr(reader, &event->attr, attr, attr_bytes);
	if (nr_ids) {
		copy = perch__reader_alloc(reader, nr_ids * sizeof(*copy));
		if (!copy)
			return PERCH__NO_MEMORY(err, "for %llu event ids",
						(unsigned long long)nr_ids);
		for (uint64_t i = 0; i < nr_ids; i++)
			copy[i] = perch__file_u64(reader, ids + i * sizeof(*copy));
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
	struct perch__section ids = perch__file_section(reader, entry + attr_bytes);

	if (!inside(reader, &ids))
		return truncated(err, "list of event ids");
	/* Ids must not overlap: otherwise a small file could need any amount of memory. */
	if (ids.size > *ids_left)
		return malformed(err, "the event ids are larger than the file");
	*ids_left -= ids.size;
	return perch__add_attr(reader, entry, attr_bytes, reader->file + ids.offset,
			       ids.size / sizeof(uint64_t), err);
}

static int read_attrs(struct perch_reader *reader, struct perch_error *err)
{
	const struct perch__file_header *header = &reader->header;
	uint64_t nr, ids_left = reader->size;

	if (!is_attr_size(header->attr_size))
		return malformed(err, "the size of an attr is invalid");
	nr = header->attrs.size / header->attr_size;
	if (!nr)
		return malformed(err, "no events");
	if (nr > MAX_EVENTS)
		return malformed(err, "more than 65535 events");
	if (!inside(reader, &header->attrs))
		return truncated(err, "list of events");
	reader->events_capacity = nr;
	reader->events = perch__reader_alloc(reader, nr * sizeof(*reader->events));
	if (!reader->events)
		return PERCH__NO_MEMORY(err, "for %llu events", (unsigned long long)nr);
	for (uint64_t i = 0; i < nr; i++) {
		const uint8_t *entry = reader->file + header->attrs.offset + i * header->attr_size;
		int rc = read_attr(reader, entry, &ids_left, err);

		if (rc)
			return rc;
	}
	return 0;
}

/* ---- the range of the records ---- */

static unsigned int nr_features(const struct perch__file_header *header)
{
	unsigned int nr = 0;

	for (size_t i = 0; i < PERCH__FEATURE_BITS / 64; i++)
		nr += __builtin_popcountll(header->features[i]);
	return nr;
}

/* True if the feature table follows the attrs: the recorder ended without writing a record. */
static bool has_table_at(const struct perch_reader *reader, uint64_t offset)
{
	uint64_t table = nr_features(&reader->header) * sizeof(struct perch__section);

	return table && reader->size - offset >= table &&
	       perch__file_u64(reader, reader->file + offset) == offset + table;
}

static void find_records(struct perch_reader *reader)
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
	reader->missing_bytes = data->size - (reader->data_end - start);
	if (!nr_features(&reader->header) && reader->header.size == PERCH__HEADER_SIZE)
		reader->unfinished = true;
}

/* ---- the header ---- */

static bool is_header_size(uint64_t size)
{
	return size == PERCH__HEADER_SIZE || size == PERCH__HEADER_SIZE_BARE ||
	       size == PERCH__HEADER_SIZE_PIPE;
}

/*
 * Detects the byte order of the file. The magic number of version 1 is the same in both: there the
 * size of the header must be valid.
 */
static int find_byte_order(struct perch_reader *reader, struct perch_error *err)
{
	uint64_t magic = perch__u64(reader->file);

	if (!perch__is_magic(magic))
		return perch__refuse_foreign(reader, err);
	if (magic == PERCH__MAGIC_V1 || magic == __builtin_bswap64(PERCH__MAGIC_V1))
		reader->swapped = reader->size >= PERCH__HEADER_SIZE_PIPE &&
				  !is_header_size(perch__u64(reader->file + sizeof(magic)));
	else
		reader->swapped = magic != PERCH__MAGIC;
	return 0;
}

/*
 * The bitmap is an array of longs: 32-bit big-endian machines write the halves of each 64-bit word
 * in the other order. Every file with features has HOSTNAME, so the position of its bit shows the
 * order.
 */
static void swap_feature_halves(const struct perch_reader *reader, uint64_t *features)
{
	bool little_here = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
	bool big_endian = reader->swapped == little_here;
	uint64_t half = features[0] >> 32 | features[0] << 32;

	if (!big_endian || features[0] >> PERCH_FEATURE_HOSTNAME & 1 ||
	    !(half >> PERCH_FEATURE_HOSTNAME & 1))
		return;
	for (size_t i = 0; i < PERCH__FEATURE_BITS / 64; i++)
		features[i] = features[i] >> 32 | features[i] << 32;
}

static void copy_header(struct perch_reader *reader, size_t size)
{
	uint64_t *words = (uint64_t *)&reader->header;

	_Static_assert(sizeof(reader->header) % sizeof(*words) == 0,
		       "the header consists of words");
	for (size_t i = 0; i < size / sizeof(*words); i++)
		words[i] = perch__file_u64(reader, reader->file + i * sizeof(*words));
	swap_feature_halves(reader, reader->header.features);
}

static int empty_input(const struct perch_reader *reader, struct perch_error *err)
{
	perch_error_set(err, EBADMSG, PERCH_ERROR_TRUNCATED, "%s",
			reader->path ? "the file is empty" : "no input from the pipe");
	perch_error_remedy(
		err, "%s",
		reader->path
			? "Record again: its recorder wrote nothing"
			: "Check that the program that writes into the pipe has recorded something");
	return -EBADMSG;
}

int perch__read_header(struct perch_reader *reader, struct perch_error *err)
{
	struct perch__file_header *header = &reader->header;
	size_t size = reader->size < sizeof(*header) ? reader->size : sizeof(*header);
	int rc;

	if (!reader->size)
		return empty_input(reader, err);
	rc = size >= sizeof(header->magic) ? find_byte_order(reader, err) : 0;
	if (rc)
		return rc;
	if (size < PERCH__HEADER_SIZE_PIPE) {
		perch_error_set(err, EBADMSG, PERCH_ERROR_FORMAT,
				"not a perf.data file: only %zu bytes", size);
		return perch__ask_for_recording(-EBADMSG, err);
	}
	copy_header(reader, size);
	reader->pipe = header->size == PERCH__HEADER_SIZE_PIPE;
	if (reader->pipe)
		return 0;
	if (header->size != PERCH__HEADER_SIZE && header->size != PERCH__HEADER_SIZE_BARE)
		return malformed(err, "the size of the header is invalid");
	if (size < header->size)
		return truncated(err, "header");
	if (header->size == PERCH__HEADER_SIZE_BARE)
		memset(header->features, 0, sizeof(header->features));
	rc = read_attrs(reader, err);
	if (rc)
		return rc;
	find_records(reader);
	return perch__read_features(reader, err);
}
