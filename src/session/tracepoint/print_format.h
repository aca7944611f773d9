/* SPDX-License-Identifier: MIT */
#ifndef PERCH_SESSION_PRINT_FORMAT_H
#define PERCH_SESSION_PRINT_FORMAT_H

#include <stdbool.h>
#include <perch/tracepoint.h>

/* Bytes that the raw data of a sample must be followed by zeros to, for a format of
 * perch__print_format_text(). */
#define PERCH__RAW_SPACE (4u << 20)

/*
 * Makes a text of a format for libtraceevent, which trusts it. Returns NULL if the format has
 * anything that is not known to be harmless, or if out of memory; *no_memory says which. To be
 * freed with free().
 */
char *perch__print_format_text(const struct perch_tracepoint_format *format, const char *system,
			       bool *no_memory);

/*
 * True if libtraceevent prints negative values of the field wrongly: it extends numbers of less
 * than 8 bytes with zeros, so that only a number of 4 bytes that is a whole argument for %d and the
 * like is right. The format is one of perch__print_format_text().
 */
bool perch__print_format_loses_sign(const struct perch_tracepoint_format *format,
				    const struct perch_tracepoint_field *field);

#endif
