/* SPDX-License-Identifier: MIT */
/*
 * Records of another machine as text: its kernel's bytes, and what perch made of them there.
 * Decoding the bytes anywhere else has to give the same. One line each, in hexadecimal where it is
 * bytes:
 *
 *	arch NAME				of uname(2)
 *	attr BYTES				whose records follow
 *	record BYTES
 *	fields NAME=VALUE ...			of the record before, as perch_record_fields() told
 * them
 */
#ifndef PERCH_TESTS_RECORDING_H
#define PERCH_TESTS_RECORDING_H

#include <stdio.h>

#include <perch/record.h>

void recording_put_attr(FILE *file, const struct perch_attr *attr);
void recording_put_record(FILE *file, const struct perch_record *record);

struct recording_count {
	size_t records, samples;
	uint32_t types; /* bit n: a record of type n */
};
/*
 * Decodes what stands in the lines of a file that begin with `before`, as records of a machine of
 * that byte order, and compares. The first difference ends it: -EBADMSG, and err tells.
 */
int recording_check(FILE *file, const char *before, enum perch_byte_order order,
		    struct recording_count *count, struct perch_error *err);

#endif
