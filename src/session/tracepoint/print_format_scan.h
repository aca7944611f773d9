/* SPDX-License-Identifier: MIT */
/* The tokens of a print fmt. */
#ifndef PERCH_SESSION_PRINT_FORMAT_SCAN_H
#define PERCH_SESSION_PRINT_FORMAT_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <perch/tracepoint.h>

#define MAX_CONVERSIONS 128 /* in the format string */

enum kind { END, NAME, NUMBER, STRING, OPERATOR };

struct token {
	enum kind kind;
	const char *at;
	size_t length;
	unsigned long number;
};

struct scanner {
	const char *at;
	struct token token;
	const struct perch_tracepoint_format *format;
	unsigned operators, arrays, conversions;
};

bool perch__fmt_is(const struct scanner *scanner, const char *text);
/* Removes a token from the text. Returns false if it is a string without an end. */
bool perch__fmt_next(struct scanner *scanner);
bool perch__fmt_check_string(struct scanner *scanner);
/* Removes "->field" after "REC". Returns the field, or NULL if there is none. */
const struct perch_tracepoint_field *perch__fmt_take_field(struct scanner *scanner);
/* Removes "(field)" after "__get_str" and similar words. */
bool perch__fmt_take_dynamic_field(struct scanner *scanner);
bool perch__fmt_begins(const struct scanner *scanner, const char *text);
/* Checks "(ARRAY, LENGTH)" or "(ARRAY, LENGTH, SIZE)", of which ARRAY is a field. */
bool perch__fmt_check_array(struct scanner *scanner);

/* ---- print_format_grammar.c ---- */

/* True if what the print fmt makes libtraceevent do is harmless. */
bool perch__fmt_is_harmless(const struct perch_tracepoint_format *format);

#endif
