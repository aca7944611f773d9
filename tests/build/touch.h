/* SPDX-License-Identifier: MIT */
/*
 * Reads all that a decoded record tells, by every way there is: each byte that a view points to lies in the record, or
 * abort(). The sanitizers see the rest. For fuzzers and tests of damaged records.
 */
#ifndef BUILD_TOUCH_H
#define BUILD_TOUCH_H

#include <perch/record.h>

void touch_bytes(const void *data, uint64_t size);
void touch_record(const struct perch_record *record);
/* Field by field, with a visitor, and every word of explanation: part of touch_record(). */
void touch_fields(const struct perch_record *record);

#endif
