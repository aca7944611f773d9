/* SPDX-License-Identifier: MIT */
/* Makes findings from table rows, and expands {placeholders}. */
#ifndef PERCH_EXPLAIN_FINDING_H
#define PERCH_EXPLAIN_FINDING_H

#include "internal.h"

/* Writes the value of a placeholder into buffer (size bytes with the NUL). Returns false if there
 * is no such placeholder. */
typedef bool perch__write_placeholder(const void *context, const char *name, size_t length,
				      char *buffer, size_t size);

/* Copies text and replaces {placeholders} by their values, cleaned for terminals. Unknown ones
 * stay. */
void perch__expand(const char *text, perch__write_placeholder *word, const void *context,
		   char *buffer, size_t size);

/* field has at most 4 elements, NULL after the last one. since may be NULL. */
void perch__finding_init(struct perch_finding *finding, enum perch_cause cause,
			 const char *const *field, const char *since);
void perch__finding_set_text(struct perch_finding *finding, const char *message,
			     const char *remedy);

#endif
