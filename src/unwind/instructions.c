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

unsigned perch__stub_words(const uint8_t *code)
{
	static const uint8_t endbr64[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	enum { BND = 0xf2, INDIRECT = 0xff, JMP_MEMORY = 0x25, PUSH_MEMORY = 0x35 };
	enum { PUSH = 0x68, JMP = 0xe9, PUSH_SIZE = 5 };
	const uint8_t *at = code + STUB_BEFORE, *before = at;

	if (!memcmp(at, endbr64, sizeof(endbr64)) || *at == PUSH)
		return 1;
	at += *at == BND;
	/* the stub has pushed the number of its function, and jumps to the first stub */
	if (*at == JMP)
		return before[-PUSH_SIZE] == PUSH ? 2 : 0;
	if (*at != INDIRECT)
		return 0;
	/* the first stub pushes a word, and jumps to the dynamic linker */
	if (at[1] == PUSH_MEMORY)
		return 2;
	if (at[1] != JMP_MEMORY)
		return 0;
	return code[0] == INDIRECT && code[1] == PUSH_MEMORY ? 3 : 1;
}
