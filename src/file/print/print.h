/* SPDX-License-Identifier: MIT */
/* How features are printed. */
#ifndef PERCH_FILE_PRINT_H
#define PERCH_FILE_PRINT_H

#include "file/internal.h"

/* Prints a text of the file without control characters. */
static inline void print_text(FILE *stream, const char *text)
{
	char clean[1024];

	perch_clean_text(text, clean, sizeof(clean));
	fputs(clean, stream);
}

/* Copies a text without a NUL at the end, and without control characters. It may be cut. */
static inline void copy_clean(const char *text, size_t length, char *clean, size_t size)
{
	char copy[1024];

	if (length >= sizeof(copy))
		length = sizeof(copy) - 1;
	memcpy(copy, text, length);
	copy[length] = 0;
	perch_clean_text(copy, clean, size);
}

/* The same as print_text() for bytes without a NUL at the end. */
static inline void print_bytes(FILE *stream, const char *text, size_t length)
{
	char clean[1024];

	copy_clean(text, length, clean, sizeof(clean));
	fputs(clean, stream);
}

static inline bool print_string(FILE *stream, struct perch__view *view)
{
	const char *text;
	size_t length;

	if (!perch__take_text(view, &text, &length))
		return false;
	print_bytes(stream, text, length);
	return true;
}

/* ---- print_machine.c ---- */

typedef void print_feature(struct perch_reader *reader, FILE *stream, struct perch__view view);

print_feature perch__print_cpu_topology, perch__print_numa_nodes, perch__print_caches,
	perch__print_memory_nodes, perch__print_core_pmus;

#endif
