/* SPDX-License-Identifier: MIT */
/* Header, trailer, and who decodes what lies between them. */
#include "internal.h"

int perch__too_short(const struct perch_record *record, const void *at, const char *field,
		     struct perch_error *err)
{
	const char *name = perch_record_name(record->type);
	long offset = (const char *)at - (const char *)record->bytes;

	return perch_error_set(err, EBADMSG, PERCH_ERROR_FORMAT,
			       "%s record of %u bytes: %s, at byte %ld, does not fit in it",
			       name ? name : "unknown", record->size, field, offset);
}

PERCH__INLINE void decode_trailer(struct perch_identity *identity, uint64_t type, const char *at,
				  const bool swap)
{
	identity->has = type & PERCH__IDENTITY_BITS;
	if (type & PERCH_SAMPLE_TID) {
		identity->pid = perch__u32(at, swap);
		identity->tid = perch__u32(at + 4, swap);
		at += 8;
	}
	if (type & PERCH_SAMPLE_TIME) {
		identity->time = perch__u64(at, swap);
		at += 8;
	}
	if (type & PERCH_SAMPLE_ID) {
		identity->id = perch__u64(at, swap);
		at += 8;
	}
	if (type & PERCH_SAMPLE_STREAM_ID) {
		identity->stream_id = perch__u64(at, swap);
		at += 8;
	}
	if (type & PERCH_SAMPLE_CPU) {
		identity->cpu = perch__u32(at, swap);
		at += 8;
	}
	if (type & PERCH_SAMPLE_IDENTIFIER)
		identity->id = perch__u64(at, swap);
}

/* All views but a sample's, which is larger than they are. */
static void clear_views(struct perch_record *record)
{
	memset(&record->identity, 0, sizeof(record->identity));
	memset(&record->mmap, 0, sizeof(record->mmap));
}
_Static_assert(sizeof(struct perch_mmap_record) >= sizeof(struct perch_reading_record),
	       "largest of the views");

int perch__decode_other(struct perch_record *record, const struct perch_layout *layout,
			struct perch_error *err)
{
	const size_t extent = perch__extent(layout, record->type, record->bytes, record->size);
	struct perch__body body = {
		.at = (const char *)record->bytes + PERCH__HEADER_BYTES,
		.size = extent - PERCH__HEADER_BYTES,
		.swap = layout->swapped,
		.read_format = layout->read_format,
	};

	int rc;

	clear_views(record);
	if (perch__has_trailer(layout, record->type)) {
		if (body.size < layout->id_size)
			return perch__too_short(record, body.at, "sample_id", err);
		body.size -= layout->id_size;
		if (layout->swapped)
			decode_trailer(&record->identity, layout->sample_type, body.at + body.size,
				       true);
		else
			decode_trailer(&record->identity, layout->sample_type, body.at + body.size,
				       false);
	}
	rc = perch__decode_body(record, &body, err);
	record->left_over += record->size - extent;
	return rc;
}

/* Of a record that cannot be looked into, what its header says is told all the same. */
__attribute__((cold)) int perch__bad_header(struct perch_record *record,
					    const struct perch_layout *layout, const void *bytes,
					    size_t size, struct perch_error *err)
{
	struct perch_record_header header;

	memset(record, 0, sizeof(*record));
	record->layout = layout;
	if (size < PERCH__HEADER_BYTES)
		return perch_error_set(err, EBADMSG, PERCH_ERROR_FORMAT,
				       "%zu bytes are too few for a record's header of 8", size);
	header = perch__header(bytes, layout->swapped);
	record->type = header.type;
	record->misc = header.misc;
	record->size = header.size;
	record->bytes = bytes;
	if ((uintptr_t)bytes % sizeof(uint64_t))
		return perch_error_set(err, EINVAL, PERCH_ERROR_USAGE,
				       "a record must be 8-byte aligned");
	if (header.size < PERCH__HEADER_BYTES)
		return perch_error_set(
			err, EBADMSG, PERCH_ERROR_FORMAT,
			"a record's size, at byte 6, of %u is less than its header of 8",
			header.size);
	return perch_error_set(err, EBADMSG, PERCH_ERROR_TRUNCATED,
			       "a record of %u bytes, of which %zu are there", header.size, size);
}

int perch_record_decode(struct perch_record *record, const struct perch_layout *layout,
			const void *bytes, size_t size, struct perch_error *err)
{
	if (size < PERCH__HEADER_BYTES)
		return perch__bad_header(record, layout, bytes, size, err);
	return perch__decode(record, layout, perch__header(bytes, layout->swapped), 0, bytes, size,
			     err);
}
