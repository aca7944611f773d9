/* SPDX-License-Identifier: MIT */
/*
 * The samples of a session as a profile of perch/encoder.h.
 *
 *	encode.c		events, threads, call chains and samples
 *	encode_mappings.c	where the addresses of a DSO are in the profile
 */
#ifndef PERCH_EXPORT_ENCODE_H
#define PERCH_EXPORT_ENCODE_H

#include <perch/encoder.h>

#include "export/internal.h"

/* The addresses of a DSO that samples have, and where they are in the profile. */
struct encode_mapping {
	uint64_t first, last; /* offsets; first > last if there are none */
	uint64_t base;	      /* is added to offsets */
	uint32_t number;      /* of the encoder; 0: not added yet */
	bool at_base;	      /* base is that of the file */
};

struct encode {
	struct perch_export *export;
	struct perch_encoder *encoder;
	enum perch_encoder_format format;
	struct encode_mapping *mapping; /* by DSO */
	size_t nr_mappings;
	uint32_t *position; /* by event: its index in the profile */
	/* numbers of the encoder; 0: not added yet */
	uint32_t *location[2]; /* by number of an address: as sampled, as a return address */
	uint32_t *callers;     /* by stack: as the callers of others */
	uint32_t *labels;      /* by thread */
	struct perch_error *err;
};

/* Gives each DSO the range of addresses that its samples have, and adds the mapping of the file
 * with most samples as the first one: pprof takes it for the program. Returns 0 or a negative
 * errno. */
int perch__encode_ranges(struct encode *encode);

/* Adds the mapping of a DSO once. *number is 0 for a DSO without one. Returns 0 or a negative
 * errno.
 */
int perch__encode_mapping(struct encode *encode, const struct perch_dso *dso, uint32_t *number);

#endif
