/* SPDX-License-Identifier: MIT */
/*
 * Writes JSON step by step, in constant memory. It is only for large output: jansson allocates each
 * value, and `perch dump -j` took 3.7 times as long with one jansson object per record. All other
 * JSON is written by jansson.
 */
#ifndef PERCH_BASE_JSON_WRITER_H
#define PERCH_BASE_JSON_WRITER_H

#include <perch/fields.h>

#include "base/output.h"

#define PERCH__JSON_MAX_DEPTH 16

/* .out is set by the caller, the rest is zero. */
struct perch__json_writer {
	struct perch__output *out;
	size_t depth;
	bool array[PERCH__JSON_MAX_DEPTH];     /* by depth: an array is open, not an object */
	bool not_empty[PERCH__JSON_MAX_DEPTH]; /* it has values */
};

/* Call this before each value. In an object, name is the key; in an array it is ignored. */
void perch__json_key(struct perch__json_writer *json, const char *name);
void perch__json_begin_object(struct perch__json_writer *json);
void perch__json_begin_array(struct perch__json_writer *json);
/* Ends the innermost array or object. */
void perch__json_end(struct perch__json_writer *json);

/*
 * Writes a number, but a string above 2^53, because readers that store numbers as doubles lose
 * digits.
 */
void perch__json_number(struct perch__json_writer *json, uint64_t number);
void perch__json_signed(struct perch__json_writer *json, int64_t number);
/* "0x1f" */
void perch__json_hex(struct perch__json_writer *json, uint64_t number);
/* "31" */
void perch__json_decimal(struct perch__json_writer *json, uint64_t number);
/* "00ff1f" */
void perch__json_hex_bytes(struct perch__json_writer *json, const void *bytes, size_t length);
/* Characters that are not printable are escaped. A byte that is not UTF-8 becomes U+FFFD. */
void perch__json_string(struct perch__json_writer *json, const char *text, size_t length);
/* For perch_tracepoint_visit(); context is the writer. Writes a field of a tracepoint as a member
 * of the open object, but not the common fields of all tracepoints. */
int perch__json_trace_field(void *context, const struct perch_field *field);

#endif
