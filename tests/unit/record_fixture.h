/* SPDX-License-Identifier: MIT */
/* Decodes built records, whole and cut to every length. */
#ifndef RECORD_FIXTURE_H
#define RECORD_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <errno.h>
#include <cmocka.h>

#include <perch/record.h>
#include "build_record.h"

#define TRAILER                                                                            \
	(PERCH_SAMPLE_TID | PERCH_SAMPLE_TIME | PERCH_SAMPLE_ID | PERCH_SAMPLE_STREAM_ID | \
	 PERCH_SAMPLE_CPU | PERCH_SAMPLE_IDENTIFIER)

/* The byte order of built records. */
static inline enum perch_byte_order built_order(void)
{
	const bool here_big = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;

	return here_big != built_swapped ? PERCH_BYTES_BIG : PERCH_BYTES_LITTLE;
}

static inline struct perch_parse_info layout_of(uint64_t sample_type)
{
	struct perch_attr attr = { .sample_type = sample_type, .sample_id_all = 1, .build_id = 1 };
	struct perch_parse_info parse_info;

	perch_parse_info_init(&parse_info, &attr, built_order());
	return parse_info;
}

/*
 * Decodes the record from memory of its exact size, so the sanitizers find any access beyond it.
 * Then decodes it with every smaller size: the result must be an error or a decoded record.
 */
static inline int decode(struct perch_record *record, const struct perch_parse_info *parse_info,
			 struct built *built)
{
	static struct built copy;
	struct perch_error err = { 0 };
	int rc;

	end_record(built);
	for (size_t size = 0; size < built->size; size++) {
		uint8_t *exact = aligned_alloc(8, (size + 7) / 8 * 8 + 8);
		struct perch_record part;

		memset(&part, 0xa5, sizeof(part));
		memcpy(exact, built->bytes, size);
		assert_true(perch_record_decode(&part, parse_info, exact, size, &err) < 0);
		if (size >= 8) {
			set_record_size(exact, size);
			rc = perch_record_decode(&part, parse_info, exact, size, &err);
			assert_true(rc == 0 || rc == -EBADMSG);
			assert_int_equal(part.size, size);
		}
		free(exact);
	}
	copy = *built;
	memset(record, 0xa5, sizeof(*record)); /* every field must be set */
	return perch_record_decode(record, parse_info, copy.bytes, copy.size, &err);
}

static inline void check_trailer(const struct perch_sample_id *sample_id)
{
	assert_int_equal(sample_id->has, TRAILER);
	assert_int_equal(sample_id->pid, BUILT_PID);
	assert_int_equal(sample_id->tid, BUILT_TID);
	assert_int_equal(sample_id->time, BUILT_TIME);
	assert_int_equal(sample_id->id, BUILT_ID);
	assert_int_equal(sample_id->stream_id, BUILT_STREAM);
	assert_int_equal(sample_id->cpu, BUILT_CPU);
}

#endif
