/* SPDX-License-Identifier: MIT */
/*
 * Reads every byte of a decoded record, by all functions of the library, for fuzzers and tests of
 * damaged records. Calls abort() if a view points outside the record; the sanitizers find the rest.
 */
#ifndef BUILD_TOUCH_H
#define BUILD_TOUCH_H

#include <perch/fields.h>

void touch_bytes(const void *data, uint64_t size);
void touch_record(const struct perch_record *record);
/* Reads the fields, the names of flags, and visits the record. Part of touch_record(). */
void touch_fields(const struct perch_record *record);

/*
 * The lists and groups that are open in touch_field(). Zero it before a record; depth is 0 after
 * it.
 */
#define TOUCH_DEPTH 16
struct touch_walk {
	unsigned depth;
	struct {
		enum perch_field_kind kind;
		uint64_t nr, announced; /* parts so far, and the number in the list's field */
	} open[TOUCH_DEPTH];
};
/* A perch_field_function: its context is a struct touch_walk. */
int touch_field(void *context, const struct perch_field *field);

#endif
