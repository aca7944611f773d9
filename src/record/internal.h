/* SPDX-License-Identifier: MIT */
/*
 * Decodes records into typed views: all types, in both byte orders. Decoding copies and allocates
 * nothing, and checks each field against the end of the record. An error has the field's path in
 * perch-records(7) and its byte offset. Views of the other byte order have converted numbers;
 * arrays stay as recorded, and perch_word() reads them. fields.def is every record and field as
 * data: perch/fields.h visits fields with it, and perch-records(7) is generated from it. A file
 * calls only files below its own:
 *
 *	decoder.c		finds the attr of a record by its id
 *	deferred.c		merges deferred call chains
 *	pieces.c		records that are not aligned or in several pieces
 *	fields.c		visits the fields of a record
 *	record.c		header and trailer
 *	  record_body.c		  all bodies but samples, by fields.def
 *	  sample.c		  samples
 *	record_copy.c		an owned copy, whose pointers it moves
 *	record_type.c		the tables of fields.def: names and functions of a type
 *	tracepoint_value.c	values of a tracepoint's fields
 *	fields_emit.c		single values, lists and groups
 *	  branch.c		  entries of lists: branches, namespaces
 *	format_data_src.c	PERF_SAMPLE_DATA_SRC as text
 *	format_mem.c		its parts, as perf prints them
 *	format_flags.c		flags and types as text
 *	callchain.c		walks call chains
 *	parse_info.c		positions of fields, computed once per attr
 *	off_cpu.c		samples of off-CPU time
 *	read_values.c		counter values in records
 *	registers.c		names of architectures and registers
 *	tracepoint_tracefs.c	finds formats of tracepoints in tracefs
 *	  tracepoint_format.c	  parses a format, with one allocation
 */
#ifndef PERCH_RECORD_INTERNAL_H
#define PERCH_RECORD_INTERNAL_H

#include <errno.h>
#include <string.h>
#include <perch/record.h>

#include "base/nr.h"

#define PERCH__HEADER_BYTES    8u
#define PERCH__FIRST_USER_TYPE 64u /* types of perf.data; these records have no trailer */

#define PERCH__SAMPLE_ID_BITS                                                              \
	(PERCH_SAMPLE_TID | PERCH_SAMPLE_TIME | PERCH_SAMPLE_ID | PERCH_SAMPLE_STREAM_ID | \
	 PERCH_SAMPLE_CPU | PERCH_SAMPLE_IDENTIFIER)

/*
 * Decoders are inlined twice, with a constant `swap`. So records in this machine's byte order are
 * decoded without a test of the byte order.
 */
#define PERCH__INLINE static inline __attribute__((always_inline))

PERCH__INLINE uint64_t perch__u64(const void *at, bool swap)
{
	uint64_t value;

	memcpy(&value, at, sizeof(value));
	return swap ? __builtin_bswap64(value) : value;
}

PERCH__INLINE uint32_t perch__u32(const void *at, bool swap)
{
	uint32_t value;

	memcpy(&value, at, sizeof(value));
	return swap ? __builtin_bswap32(value) : value;
}

PERCH__INLINE uint16_t perch__u16(const void *at, bool swap)
{
	uint16_t value;

	memcpy(&value, at, sizeof(value));
	return swap ? __builtin_bswap16(value) : value;
}

/* Loads the header as one word: finding the next record needs the size as early as possible. */
PERCH__INLINE struct perch_record_header perch__header(const void *bytes, bool swap)
{
	const bool big = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
	uint64_t word = perch__u64(bytes, swap);

	if (big != swap)
		return (struct perch_record_header){ word >> 32, word >> 16, word };
	return (struct perch_record_header){ word, word >> 32, word >> 48 };
}

/*
 * Returns the size with padding: names and bytes of code are padded with zeros to a multiple of 8.
 */
static inline size_t perch__padded(size_t bytes)
{
	return (bytes + 7) & ~(size_t)7;
}

/* True if records of this type end in a trailer. */
static inline bool perch__has_trailer(const struct perch_parse_info *parse_info, uint32_t type)
{
	return parse_info->id_size && type != PERCH_RECORD_SAMPLE && type < PERCH__FIRST_USER_TYPE;
}

/* Returns the size of header, body and trailer: less than `size` if the record is oversized. */
size_t perch__extent_oversized(const struct perch_parse_info *parse_info, uint32_t type,
			       const void *bytes, size_t size);
/*
 * Returns the size of header and body of a record that may be oversized; 0 if it cannot be found.
 */
size_t perch__body_end(uint32_t type, const char *bytes, size_t size, bool swap);
#define PERCH__MAX_TRAILER 48u
/* A bit for each type of which some kernels write too large records, see record_body.c. */
enum {
	PERCH__OVERSIZED_TYPES = 0
#define OVERSIZED			    1u
#define EXACT				    0u
#define RECORD(record, function, size, ...) | (size) << PERCH_RECORD_##record
#define PERCH_RECORD_TRAILER		    0
#define BIT(...)
#define FIELD(...)
#define PART(...)
#include "fields.def"
};
static inline bool perch__may_be_oversized(uint32_t type)
{
	return __builtin_expect(type < PERCH_RECORD_MAX && PERCH__OVERSIZED_TYPES >> type & 1, 0);
}
/* As perch__extent_oversized(), for any record. */
static inline size_t perch__extent(const struct perch_parse_info *parse_info, uint32_t type,
				   const void *bytes, size_t size)
{
	return perch__may_be_oversized(type)
		       ? perch__extent_oversized(parse_info, type, bytes, size)
		       : size;
}

/* The part of a record between its header and its trailer. */
struct perch__body {
	const char *at;
	size_t size;
	bool swap;
	bool build_id; /* of the attr */
	uint64_t read_format;
};

int perch__decode_body(struct perch_record *record, const struct perch__body *body,
		       struct perch_error *err);

/*
 * Decode a record whose header is valid and already in *record. All other members are uninitialized
 * and are set, also after a failure.
 */
int perch__decode_sample(struct perch_record *record, const struct perch_parse_info *parse_info,
			 struct perch_error *err);
int perch__decode_other(struct perch_record *record, const struct perch_parse_info *parse_info,
			struct perch_error *err);
int perch__bad_header(struct perch_record *record, const struct perch_parse_info *parse_info,
		      const void *bytes, size_t size, struct perch_error *err);

/*
 * Finds the bytes of a record in pieces: in the first piece, or copied to the scratch if they are
 * not contiguous or not aligned. *size is the number of bytes available. Returns NULL and sets err
 * if the scratch is too small.
 */
const void *perch__gather(const struct iovec *pieces, size_t nr, bool swap,
			  const struct iovec *scratch, size_t *size, struct perch_error *err);

/* Decodes a record. `header` is the header at `bytes`, already in this machine's byte order. */
PERCH__INLINE int perch__decode(struct perch_record *record,
				const struct perch_parse_info *parse_info,
				struct perch_record_header header, uint16_t event,
				const void *bytes, size_t size, struct perch_error *err)
{
	if (__builtin_expect((uintptr_t)bytes % sizeof(uint64_t) ||
				     header.size < PERCH__HEADER_BYTES || header.size > size,
			     0))
		return perch__bad_header(record, parse_info, bytes, size, err);
	record->type = header.type;
	record->misc = header.misc;
	record->size = header.size;
	record->event = event;
	record->trailing_bytes = 0;
	record->bytes = bytes;
	record->offset = 0;
	record->parse_info = parse_info;
	if (__builtin_expect(header.type == PERCH_RECORD_SAMPLE, 1))
		return perch__decode_sample(record, parse_info, err);
	return perch__decode_other(record, parse_info, err);
}

/* The first field that exceeds the record. */
struct perch__truncated_field {
	const void *at;
	const char *field;
};
/*
 * Decodes the values of a read format between `at` and `end`. Returns the first word after them, or
 * NULL with *truncated.
 */
const uint64_t *perch__decode_read(struct perch_read_values *read, uint64_t format,
				   const uint64_t *at, const uint64_t *end, bool swap,
				   struct perch__truncated_field *truncated);

/* Sets field and column of an error that is already set. Returns -EBADMSG. */
int perch__bad_field(struct perch_error *err, const char *field, size_t offset);
/* Sets the error and returns -EBADMSG: the field at `at` exceeds the record. */
int perch__truncated(const struct perch_record *record, const void *at, const char *field,
		     struct perch_error *err);

#endif
