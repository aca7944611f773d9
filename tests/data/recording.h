/* SPDX-License-Identifier: MIT */
/*
 * Records of another machine as text: the bytes of its kernel, and the fields that perch decoded
 * there. Decoding the bytes on any machine must give the same fields. Bytes are in hexadecimal:
 *
 *	arch NAME				of uname(2)
 *	attr BYTES				its records follow
 *	record BYTES
 *	fields NAME=VALUE ...			of this record, by perch_record_fields()
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
 * Decodes the records in the lines of a file that start with `before`, in a byte order, and
 * compares their fields. The first difference ends the check with -EBADMSG and a text in err.
 */
int recording_check(FILE *file, const char *before, enum perch_byte_order order,
		    struct recording_count *count, struct perch_error *err);

#endif
