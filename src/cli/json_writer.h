/* SPDX-License-Identifier: MIT */
/*
 * Writes JSON step by step, in constant memory. It is only for large output: jansson allocates each
 * value, and `perch dump -j` took 3.7 times as long with one jansson object per record. All other
 * JSON is written by jansson.
 */
#ifndef PERCH_CLI_JSON_WRITER_H
#define PERCH_CLI_JSON_WRITER_H

#include "output.h"

#define CLI_JSON_MAX_DEPTH 16

/* .out is set by the caller, the rest is zero. */
struct cli_json_writer {
	struct cli_output *out;
	size_t depth;
	bool array[CLI_JSON_MAX_DEPTH];	    /* by depth: an array is open, not an object */
	bool not_empty[CLI_JSON_MAX_DEPTH]; /* it has values */
};

/* Call this before each value. In an object, name is the key; in an array it is ignored. */
void cli_json_key(struct cli_json_writer *json, const char *name);
void cli_json_begin_object(struct cli_json_writer *json);
void cli_json_begin_array(struct cli_json_writer *json);
/* Ends the innermost array or object. */
void cli_json_end(struct cli_json_writer *json);

/*
 * Writes a number, but a string above 2^53, because readers that store numbers as doubles lose
 * digits.
 */
void cli_json_number(struct cli_json_writer *json, uint64_t number);
void cli_json_signed(struct cli_json_writer *json, int64_t number);
/* "0x1f" */
void cli_json_hex(struct cli_json_writer *json, uint64_t number);
/* "31" */
void cli_json_decimal(struct cli_json_writer *json, uint64_t number);
/* "00ff1f" */
void cli_json_hex_bytes(struct cli_json_writer *json, const void *bytes, size_t length);
/* Characters that are not printable are escaped. A byte that is not UTF-8 becomes U+FFFD. */
void cli_json_string(struct cli_json_writer *json, const char *text, size_t length);

#endif
