/* SPDX-License-Identifier: MIT */
/* Decodes the header and the trailer, and calls the decoder of the body. */
#include "internal.h"

PERCH__INLINE void decode_trailer(struct perch_sample_id *sample_id, uint64_t type, const char *at,
				  const bool swap)
{
	sample_id->has = type & PERCH__SAMPLE_ID_BITS;
	if (type & PERCH_SAMPLE_TID) {
		sample_id->pid = perch__u32(at, swap);
		sample_id->tid = perch__u32(at + 4, swap);
		at += 8;
	}
	if (type & PERCH_SAMPLE_TIME) {
		sample_id->time = perch__u64(at, swap);
		at += 8;
	}
	if (type & PERCH_SAMPLE_ID) {
		sample_id->id = perch__u64(at, swap);
		at += 8;
	}
	if (type & PERCH_SAMPLE_STREAM_ID) {
		sample_id->stream_id = perch__u64(at, swap);
		at += 8;
	}
	if (type & PERCH_SAMPLE_CPU) {
		sample_id->cpu = perch__u32(at, swap);
		at += 8;
	}
	if (type & PERCH_SAMPLE_IDENTIFIER)
		sample_id->id = perch__u64(at, swap);
}

/* Clears all views except that of a sample, which is larger. */
static void clear_views(struct perch_record *record)
{
	memset(&record->sample_id, 0, sizeof(record->sample_id));
	memset(&record->mmap, 0, sizeof(record->mmap));
}
_Static_assert(sizeof(struct perch_mmap_record) >= sizeof(struct perch_read_record),
	       "perch_mmap_record is the largest view except perch_sample");

int perch__decode_other(struct perch_record *record, const struct perch_parse_info *parse_info,
			struct perch_error *err)
{
	const size_t extent = perch__extent(parse_info, record->type, record->bytes, record->size);
	struct perch__body body = {
		.at = (const char *)record->bytes + PERCH__HEADER_BYTES,
		.size = extent - PERCH__HEADER_BYTES,
		.swap = parse_info->swapped,
		.build_id = parse_info->build_id,
		.read_format = parse_info->read_format,
	};

	int rc;

	clear_views(record);
	if (perch__has_trailer(parse_info, record->type)) {
		if (body.size < parse_info->id_size)
			return perch__truncated(record, body.at, "sample_id", err);
		body.size -= parse_info->id_size;
		if (parse_info->swapped)
			decode_trailer(&record->sample_id, parse_info->sample_type,
				       body.at + body.size, true);
		else
			decode_trailer(&record->sample_id, parse_info->sample_type,
				       body.at + body.size, false);
	}
	rc = perch__decode_body(record, &body, err);
	record->trailing_bytes += record->size - extent;
	return rc;
}

/* The record cannot be decoded, but the members of its header are set as far as possible. */
__attribute__((cold)) int perch__bad_header(struct perch_record *record,
					    const struct perch_parse_info *parse_info,
					    const void *bytes, size_t size, struct perch_error *err)
{
	struct perch_record_header header;

	memset(record, 0, sizeof(*record));
	record->parse_info = parse_info;
	if (size < PERCH__HEADER_BYTES) {
		perch_error_set(err, EBADMSG, PERCH_ERROR_TRUNCATED,
				"a record header has 8 bytes, but only %zu are available", size);
		return perch__bad_field(err, "", size);
	}
	header = perch__header(bytes, parse_info->swapped);
	record->type = header.type;
	record->misc = header.misc;
	record->size = header.size;
	record->bytes = bytes;
	if ((uintptr_t)bytes % sizeof(uint64_t))
		return perch_error_set(err, EINVAL, PERCH_ERROR_USAGE,
				       "a record must be 8-byte aligned");
	if (header.size < PERCH__HEADER_BYTES)
		perch_error_set(err, EBADMSG, PERCH_ERROR_FORMAT,
				"the record size of %u at byte 6 is less than the header's 8 bytes",
				header.size);
	else
		perch_error_set(err, EBADMSG, PERCH_ERROR_TRUNCATED,
				"a record of %u bytes is cut after %zu", header.size, size);
	return perch__bad_field(err, "size", offsetof(struct perch_record_header, size));
}

int perch_record_decode(struct perch_record *record, const struct perch_parse_info *parse_info,
			const void *bytes, size_t size, struct perch_error *err)
{
	if (size < PERCH__HEADER_BYTES)
		return perch__bad_header(record, parse_info, bytes, size, err);
	return perch__decode(record, parse_info, perch__header(bytes, parse_info->swapped), 0,
			     bytes, size, err);
}
