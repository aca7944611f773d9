/* SPDX-License-Identifier: MIT */
/*
 * Products of two 64-bit numbers that are divided: the product does not overflow. Compilers for
 * 32-bit machines have no integer of 128 bits.
 */
#ifndef PERCH_BASE_WIDE_H
#define PERCH_BASE_WIDE_H

#include <stdbool.h>
#include <stdint.h>

/* For those, and for the test. */
static inline uint64_t perch__divide_product_by_words(uint64_t left, uint64_t right, uint64_t add,
						      uint64_t divisor)
{
	uint64_t low = (left & UINT32_MAX) * (right & UINT32_MAX);
	uint64_t middle = (left >> 32) * (right & UINT32_MAX) + (low >> 32);
	uint64_t other = (left & UINT32_MAX) * (right >> 32) + (middle & UINT32_MAX);
	uint64_t high = (left >> 32) * (right >> 32) + (middle >> 32) + (other >> 32);
	uint64_t quotient = 0;

	low = other << 32 | (low & UINT32_MAX);
	high += __builtin_add_overflow(low, add, &low);
	if (!high)
		return low / divisor;
	if (high >= divisor)
		return UINT64_MAX;
	for (int bit = 0; bit < 64; bit++) {
		bool carry = high >> 63;

		high = high << 1 | low >> 63;
		low <<= 1;
		quotient <<= 1;
		if (carry || high >= divisor) {
			high -= divisor;
			quotient |= 1;
		}
	}
	return quotient;
}

/* Returns (left * right + add) / divisor, at most UINT64_MAX. The divisor is not 0. */
static inline uint64_t perch__divide_product(uint64_t left, uint64_t right, uint64_t add,
					     uint64_t divisor)
{
#ifdef __SIZEOF_INT128__
	/* (2^64 - 1)^2 + 2^64 - 1 is below 2^128 */
	__extension__ unsigned __int128 result = ((unsigned __int128)left * right + add) / divisor;

	return result > UINT64_MAX ? UINT64_MAX : (uint64_t)result;
#else
	return perch__divide_product_by_words(left, right, add, divisor);
#endif
}

#endif
