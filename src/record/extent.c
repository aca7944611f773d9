/* SPDX-License-Identifier: MIT */
/*
 * Where a record really ends. The kernel makes KSYMBOL, BPF_EVENT and TEXT_POKE records once and
 * writes them for one event after the other, each time with the bytes of that event's trailer added
 * to the size, which it does not take back (5.1 to 6.18 at least): of two recordings at the same
 * time, the second one's records are too large. Their trailer stands where it should, right behind
 * the body, and what follows it is whatever the ring held there before.
 */
#include "internal.h"

#define KSYMBOL_NAME   24u
#define BPF_EVENT_BODY 24u
#define POKE_LENGTHS   16u
#define POKE_BYTES     20u

size_t perch__body_end(uint32_t type, const char *bytes, size_t size, bool swap)
{
	const char *nul;

	switch (type) {
	case PERCH_RECORD_KSYMBOL:
		nul = size > KSYMBOL_NAME ? memchr(bytes + KSYMBOL_NAME, '\0', size - KSYMBOL_NAME)
					  : NULL;
		return nul ? perch__padded(nul + 1 - bytes) : 0;
	case PERCH_RECORD_BPF_EVENT:
		return BPF_EVENT_BODY;
	case PERCH_RECORD_TEXT_POKE:
		if (size < POKE_BYTES)
			return 0;
		return perch__padded(POKE_BYTES + (size_t)perch__u16(bytes + POKE_LENGTHS, swap) +
				     perch__u16(bytes + POKE_LENGTHS + 2, swap));
	default:
		return 0;
	}
}

size_t perch__extent_oversized(const struct perch_parse_info *parse_info, uint32_t type,
			       const void *bytes, size_t size)
{
	size_t end = perch__body_end(type, bytes, size, parse_info->swapped);

	return end && end + parse_info->id_size < size ? end + parse_info->id_size : size;
}
