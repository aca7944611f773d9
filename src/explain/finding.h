/* SPDX-License-Identifier: MIT */
/* What tables of sentences have in common: {words}, and how a row becomes a finding. */
#ifndef PERCH_EXPLAIN_FINDING_H
#define PERCH_EXPLAIN_FINDING_H

#include "internal.h"

/* Writes the value of a placeholder into buffer (size bytes, with the final NUL). False: no such
 * placeholder. */
typedef bool perch__write_placeholder(const void *context, const char *name, size_t length,
				      char *buffer, size_t size);

/* Copies a sentence with values, cleaned for terminals, in the place of {words}; what is no
 * placeholder stays as it is. */
void perch__expand(const char *sentence, perch__write_placeholder *word, const void *context,
		   char *buffer, size_t size);

/* What a table says, cleaned for terminals. field: at most 4, NULL behind the last one. since may
 * be NULL. */
void perch__finding_init(struct perch_finding *finding, enum perch_cause cause,
			 const char *const *field, const char *since);
void perch__finding_set_text(struct perch_finding *finding, const char *message,
			     const char *remedy);

#endif
