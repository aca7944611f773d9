/* SPDX-License-Identifier: MIT */
/* The address space of the process of a machine: its limits, and what is mapped. Not cached. */
#ifndef PERCH_MACHINE_ADDRESS_SPACE_H
#define PERCH_MACHINE_ADDRESS_SPACE_H

#include <perch/machine.h>

struct perch__address_space {
	uint64_t limit;	     /* RLIMIT_AS in bytes; UINT64_MAX is unlimited */
	uint64_t data_limit; /* RLIMIT_DATA in bytes; UINT64_MAX is unlimited */
	uint64_t mapped;     /* bytes that RLIMIT_AS limits */
	uint64_t data;	     /* bytes that RLIMIT_DATA limits */
};
/* Returns 0 or a negative errno. */
int perch__address_space(const struct perch_machine *machine, struct perch__address_space *space);

/* The mappings that a range of addresses touches. */
struct perch__range {
	uint64_t start, end; /* inputs */
	uint64_t used;	     /* bytes of the range that are mapped */
	bool cuts_ring;	     /* it has a part of the mapping of an event, but not the whole */
	bool is_sealed;	     /* a mapping is sealed, see mseal(2); only if flags were read */
};
/*
 * Counts the mappings of the process, and finds what touches the range. with_flags also reads
 * the flags of each mapping, which takes the kernel longer. range and nr may be NULL. Returns 0 or
 * a negative errno.
 */
int perch__mappings(const struct perch_machine *machine, bool with_flags,
		    struct perch__range *range, uint64_t *nr);

#endif
