/* SPDX-License-Identifier: MIT */
/* Numbers and bytes of a data block. */
#include <string.h>

#include "base/array.h"
#include "page.h"

#define MAX_PLAIN_NUMBER 127

void perch__page_put_number(struct page_block *block, uint64_t number)
{
	if (PERCH__ARRAY_RESERVE(block->byte, block->capacity, block->nr + 10)) {
		block->failed = true;
		return;
	}
	for (; number > MAX_PLAIN_NUMBER; number >>= 7)
		block->byte[block->nr++] = (unsigned char)(number | (MAX_PLAIN_NUMBER + 1));
	block->byte[block->nr++] = (unsigned char)number;
}

void perch__page_put_bytes(struct page_block *block, const char *bytes, size_t nr)
{
	if (PERCH__ARRAY_RESERVE(block->byte, block->capacity, block->nr + nr)) {
		block->failed = true;
		return;
	}
	memcpy(block->byte + block->nr, bytes, nr);
	block->nr += nr;
}
