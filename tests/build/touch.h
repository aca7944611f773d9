/* SPDX-License-Identifier: MIT */
/*
 * Reads all that a decoded record tells, by every way there is: each byte that a view points to
 * lies in the record, or abort(). The sanitizers see the rest. For fuzzers and tests of damaged
 * records.
 */
#ifndef BUILD_TOUCH_H
#define BUILD_TOUCH_H

#include <perch/fields.h>

void touch_bytes(const void *data, uint64_t size);
void touch_record(const struct perch_record *record);
/* Field by field, with a visitor, and every word of explanation: part of touch_record(). */
void touch_fields(const struct perch_record *record);

/* What touch_field() knows of the lists and groups that are open; zeroed before a record, and at
 * depth 0 behind it. */
#define TOUCH_DEPTH 16
struct touch_walk {
	unsigned depth;
	struct {
		enum perch_field_kind kind;
		uint64_t nr, told; /* parts so far; how many a list said it has */
	} open[TOUCH_DEPTH];
};
/* A perch_field_function: its context is a struct touch_walk. */
int touch_field(void *context, const struct perch_field *field);

#endif
