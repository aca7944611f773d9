/* SPDX-License-Identifier: MIT */
#include "base/files/cursor.h"

uint64_t perch__read_long_uleb(struct cursor *cursor)
{
	uint64_t value = 0;

	for (unsigned shift = 0; cursor->at < cursor->end; shift += 7) {
		uint8_t byte = *cursor->at++;

		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80)
			return value;
	}
	return perch__read_failed(cursor);
}

int64_t perch__read_sleb(struct cursor *cursor)
{
	uint64_t value = 0;

	for (unsigned shift = 0; cursor->at < cursor->end;) {
		uint8_t byte = *cursor->at++;

		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
		if (byte >= 0x80)
			continue;
		if (shift < 64 && (byte & 0x40))
			value |= -1ull << shift;
		return (int64_t)value;
	}
	return (int64_t)perch__read_failed(cursor);
}
