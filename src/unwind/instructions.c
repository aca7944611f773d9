/* SPDX-License-Identifier: MIT */
/* Recognizes instructions, where rules are missing or incomplete. */
#include "internal.h"

bool perch__pops_and_returns(const uint8_t *code, size_t size, bool wide)
{
	enum { POP = 0x58, RET = 0xc3, RET_IMMEDIATE = 0xc2, REX_B = 0x41, BND = 0xf2, REP = 0xf3 };
	size_t at = 0;

	while (at + 1 < size) {
		size_t prefix = wide && code[at] == REX_B;

		if ((code[at + prefix] & 0xf8) != POP)
			break;
		at += prefix + 1;
	}
	if (at + 1 < size && (code[at] == BND || code[at] == REP))
		return code[at + 1] == RET;
	return at < size && (code[at] == RET || code[at] == RET_IMMEDIATE);
}
