/* SPDX-License-Identifier: MIT */
/* Writes numbers in the byte order of the simulated machine. */
#include <stdlib.h>
#include <string.h>

#include "build.h"

void build_put(struct build_bytes *bytes, const void *data, size_t size)
{
	if (size > sizeof(bytes->byte) - bytes->size)
		abort();
	memcpy(bytes->byte + bytes->size, data, size);
	bytes->size += size;
}

void build_put_number(struct build_bytes *bytes, uint64_t value, unsigned size)
{
	uint8_t byte[8];

	for (unsigned i = 0; i < size; i++)
		byte[bytes->big_endian ? size - 1 - i : i] = value >> 8 * i;
	build_put(bytes, byte, size);
}

void build_put_zeros(struct build_bytes *bytes, size_t size)
{
	static const uint8_t zero[8];

	for (; size > sizeof(zero); size -= sizeof(zero))
		build_put(bytes, zero, sizeof(zero));
	build_put(bytes, zero, size);
}

/*
 * Bit-fields start at the lowest bit on little-endian machines, at the highest on big-endian ones.
 */
uint64_t build_bits(bool big_endian, unsigned width, unsigned first, unsigned bits, uint64_t value)
{
	uint64_t mask = bits < 64 ? (UINT64_C(1) << bits) - 1 : UINT64_MAX;

	return (value & mask) << (big_endian ? width - first - bits : first);
}
