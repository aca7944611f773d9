/* SPDX-License-Identifier: MIT */
/*
 * Hashing of numbers that come from a file that anyone may have made. With a seed that nobody knows beforehand, and
 * every bit of the number stirred into all others, none can be chosen to fall into one place.
 */
#ifndef PERCH_RECORD_SEED_H
#define PERCH_RECORD_SEED_H

#include <stdint.h>

/* object: any address of the caller's, for systems that have no random numbers yet. */
uint64_t perch__seed(const void *object);

static inline uint64_t perch__hash(uint64_t seed, uint64_t number)
{
	number ^= seed;
	number = (number ^ number >> 33) * 0xff51afd7ed558ccdu;
	number = (number ^ number >> 33) * 0xc4ceb9fe1a85ec53u;
	return number ^ number >> 33;
}

#endif
