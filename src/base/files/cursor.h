/* SPDX-License-Identifier: MIT */
/* Reads numbers and texts of a format with a byte order: DWARF and call frame information. */
#ifndef PERCH_BASE_CURSOR_H
#define PERCH_BASE_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* A position in bytes. at > end never holds; a failed read sets failed and returns 0. */
struct cursor {
	const uint8_t *at, *end;
	bool swapped, failed;
};

static inline uint64_t perch__read_failed(struct cursor *cursor)
{
	cursor->failed = true;
	cursor->at = cursor->end;
	return 0;
}

/* size: 1 to 8 */
static inline uint64_t perch__read(struct cursor *cursor, unsigned size)
{
	uint64_t value = 0, eight;
	uint32_t four;
	uint16_t two;

	if ((size_t)(cursor->end - cursor->at) < size)
		return perch__read_failed(cursor);
	if (size == 1) {
		value = *cursor->at;
	} else if (size == 2) {
		memcpy(&two, cursor->at, sizeof(two));
		value = cursor->swapped ? __builtin_bswap16(two) : two;
	} else if (size == 4) {
		memcpy(&four, cursor->at, sizeof(four));
		value = cursor->swapped ? __builtin_bswap32(four) : four;
	} else if (size == 8) {
		memcpy(&eight, cursor->at, sizeof(eight));
		value = cursor->swapped ? __builtin_bswap64(eight) : eight;
	} else if (cursor->swapped == (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__)) {
		for (unsigned i = 0; i < size; i++)
			value = value << 8 | cursor->at[i];
	} else {
		for (unsigned i = size; i--;)
			value = value << 8 | cursor->at[i];
	}
	cursor->at += size;
	return value;
}

uint64_t perch__read_long_uleb(struct cursor *cursor);
int64_t perch__read_sleb(struct cursor *cursor);

static inline uint64_t perch__read_uleb(struct cursor *cursor)
{
	if (cursor->at < cursor->end && *cursor->at < 0x80)
		return *cursor->at++;
	return perch__read_long_uleb(cursor);
}

static inline void perch__skip(struct cursor *cursor, uint64_t size)
{
	if (size > (size_t)(cursor->end - cursor->at))
		perch__read_failed(cursor);
	else
		cursor->at += size;
}

/* Returns the text at the cursor, or NULL. */
static inline const char *perch__read_text(struct cursor *cursor)
{
	const char *text = (const char *)cursor->at;
	const uint8_t *nul = cursor->at == cursor->end
				     ? NULL
				     : memchr(text, 0, (size_t)(cursor->end - cursor->at));

	if (!nul) {
		perch__read_failed(cursor);
		return NULL;
	}
	cursor->at = nul + 1;
	return text;
}

#endif
