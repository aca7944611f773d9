/* SPDX-License-Identifier: MIT */
/*
 * pprof's format: a Profile message (profile.proto), compressed by gzip.
 *
 *	pprof.c			events, addresses of files, and the file
 *	pprof_samples.c		locations and samples
 *	pprof_parts.c		messages, texts, functions, mappings
 *
 * Messages that follow each other are one message with the elements of all of them. So each sample,
 * location, function, mapping and text is written as a Profile of its own when it is first needed,
 * and the whole message is never in memory.
 */
#ifndef PERCH_EXPORT_PPROF_H
#define PERCH_EXPORT_PPROF_H

#include "export/internal.h"
#include "profile.pb-c.h"

/* The addresses of a DSO that samples have, and how they are written. */
struct mapping {
	uint64_t first, last; /* offsets; first > last if there are none */
	uint64_t base;	      /* is added to offsets */
	bool at_base;	      /* base is that of the file */
	bool written;
};

struct pprof {
	struct perch_export *export;
	struct gzip *gzip;
	uint8_t *message; /* one packed message */
	size_t capacity;

	struct export_texts texts;

	struct {
		uint64_t key; /* see add_function() */
	} * function;
	size_t nr_functions;
	struct perch__hash_table functions;

	uint32_t *position; /* of perch__export_event_positions() */
	size_t nr_written;

	struct mapping *mapping; /* by DSO */
	size_t nr_mappings;
};

/* Returns the first negative number, or 0. */
static inline int perch__pprof_first_error(int64_t a, int64_t b, int64_t c)
{
	return (int)(a < 0 ? a : b < 0 ? b : c < 0 ? c : 0);
}

#define PPROF_PAGE 0x1000ull

/* ---- pprof_parts.c ---- */

/* Packs, compresses and writes a part of the profile. Returns 0 or a negative errno. */
int perch__pprof_put(struct pprof *pprof, const Perch__Pprof__Profile *profile);

/* Returns the number of a text, which is written when it is new; or a negative errno. */
int64_t perch__pprof_text(struct pprof *pprof, const char *text);

/* The same of an untrusted text. */
int64_t perch__pprof_clean_text(struct pprof *pprof, const char *text);

/* Returns the id of a function, or of the code of a DSO that no function covers; or a negative
 * errno. */
int64_t perch__pprof_function(struct pprof *pprof, const struct perch_address *address,
			      const struct perch_symbol_frame *frame);

bool perch__pprof_has_mapping(const struct perch_dso *dso);
/* True if offsets in the DSO are addresses. */
bool perch__pprof_is_loaded_at_start(const struct perch_dso *dso);

/* Returns the id of the mapping of a DSO, 0 for a DSO without one, or a negative errno. */
int64_t perch__pprof_mapping(struct pprof *pprof, const struct perch_dso *dso);

/* ---- pprof_samples.c ---- */

/* Writes all samples with their locations. Returns 0 or a negative errno. */
int perch__pprof_samples(struct pprof *pprof);

#endif
