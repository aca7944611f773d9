/* SPDX-License-Identifier: MIT */
/*
 * What the files of this room share: unaligned-safe loads, and the bounds every decoder checks
 * against.
 */
#ifndef PERCH_RECORD_INTERNAL_H
#define PERCH_RECORD_INTERNAL_H

#include <errno.h>
#include <string.h>
#include <perch/record.h>

#define PERCH__HEADER_BYTES    8u
#define PERCH__FIRST_USER_TYPE 64u /* perf.data's own types: no trailer */

#define PERCH__IDENTITY_BITS                                                               \
	(PERCH_SAMPLE_TID | PERCH_SAMPLE_TIME | PERCH_SAMPLE_ID | PERCH_SAMPLE_STREAM_ID | \
	 PERCH_SAMPLE_CPU | PERCH_SAMPLE_IDENTIFIER)

static inline uint64_t perch__u64(const void *at)
{
	uint64_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

static inline uint32_t perch__u32(const void *at)
{
	uint32_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

/* Whether records of this type end in a trailer with the attr's identity fields. */
static inline bool perch__has_trailer(const struct perch_layout *layout, uint32_t type)
{
	return layout->id_size && type != PERCH_RECORD_SAMPLE && type < PERCH__FIRST_USER_TYPE;
}

int perch__decode_sample(struct perch_record *record, const struct perch_layout *layout,
			 struct perch_error *err);

/*
 * Values of a read format that start at *at and must end before `end`. Returns the first word after
 * them, or NULL when they do not fit.
 */
const uint64_t *perch__decode_read(struct perch_read_values *read, uint64_t format,
				   const uint64_t *at, const uint64_t *end);

/* -EBADMSG: the field at `at` needs more bytes than the record has. */
int perch__too_short(const struct perch_record *record, const void *at, const char *field,
		     struct perch_error *err);

#endif
