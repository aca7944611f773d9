/* SPDX-License-Identifier: MIT */
/* An input whose first byte chooses, and whose others are a text. */
#ifndef PERCH_FUZZ_TEXT_INPUT_H
#define PERCH_FUZZ_TEXT_INPUT_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Returns the bytes behind the first one and a NUL, of the exact size: the address sanitizer
 * detects reads beyond it. size: of the input, at least 1. The caller frees it. */
static inline char *text_of_input(const uint8_t *data, size_t size)
{
	char *text = malloc(size);

	if (!text)
		abort();
	memcpy(text, data + 1, size - 1);
	text[size - 1] = 0;
	return text;
}

#endif
