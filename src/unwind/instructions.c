/* SPDX-License-Identifier: MIT */
/* Recognizes instructions, where rules are missing or incomplete. */
#include "internal.h"

/* A jump to another function is direct, or has the address in a register or in memory. */
static bool is_jump(const uint8_t *code, size_t size, bool wide)
{
	enum { JMP = 0xe9, SHORT_JMP = 0xeb, INDIRECT = 0xff, NOTRACK = 0x3e, BND = 0xf2 };
	size_t at = 0;

	if (at < size && (code[at] == NOTRACK || code[at] == BND))
		at++;
	if (wide && at < size && (code[at] & 0xf0) == 0x40)
		at++;
	if (at + 1 >= size)
		return false;
	return code[at] == JMP || code[at] == SHORT_JMP ||
	       (code[at] == INDIRECT && (code[at + 1] >> 3 & 7) == 4);
}

bool perch__restores_and_leaves(const uint8_t *code, size_t size, bool wide, unsigned words)
{
	enum { POP = 0x58, RET = 0xc3, RET_IMMEDIATE = 0xc2, REX_B = 0x41, BND = 0xf2, REP = 0xf3 };
	const uint8_t *before = code;
	size_t at = EPILOGUE_BEFORE;
	unsigned pops = 0;

	for (; at + 1 < size; pops++) {
		size_t prefix = wide && code[at] == REX_B;

		if ((code[at + prefix] & 0xf8) != POP)
			break;
		at += prefix + 1;
	}
	/* without a pop, the jump may be one inside of the function */
	if (words == pops + 1 && (pops || (*before & 0xf8) == POP) &&
	    is_jump(code + at, size - at, wide))
		return true;
	if (at + 1 < size && (code[at] == BND || code[at] == REP))
		return code[at + 1] == RET;
	return at < size && (code[at] == RET || code[at] == RET_IMMEDIATE);
}

/* The instructions of the system call, and the size of the first one. */
struct sigreturn {
	uint16_t machine;
	uint8_t first, size;
	uint8_t code[SIGRETURN_BEFORE];
};

static const struct sigreturn sigreturns[] = {
	/* mov $15, %rax; syscall: of musl and Go */
	{ EM_X86_64, 7, 9, { 0x48, 0xc7, 0xc0, 0x0f, 0x00, 0x00, 0x00, 0x0f, 0x05 } },
	/* mov $15, %eax; syscall */
	{ EM_X86_64, 5, 7, { 0xb8, 0x0f, 0x00, 0x00, 0x00, 0x0f, 0x05 } },
	/* mov x8, #139; svc #0: of the vdso, which has had no rules since Linux 5.8 */
	{ EM_AARCH64, 4, 8, { 0x68, 0x11, 0x80, 0xd2, 0x01, 0x00, 0x00, 0xd4 } },
};

bool perch__is_sigreturn(const struct architecture *architecture, const uint8_t *code)
{
	const uint8_t *at = code + SIGRETURN_BEFORE;

	for (size_t i = 0; i < PERCH__NR(sigreturns); i++) {
		const struct sigreturn *call = &sigreturns[i];

		/* a sample may be at each instruction, and in the system call */
		if (call->machine == architecture->machine &&
		    (!memcmp(at + 1, call->code, call->size) ||
		     !memcmp(at, call->code, call->size) ||
		     !memcmp(at - call->first, call->code, call->size) ||
		     !memcmp(at - call->size, call->code, call->size)))
			return true;
	}
	return false;
}

bool perch__may_be_call(const uint8_t *code)
{
	enum { CALL = 0xe8, CALL_SIZE = 5, INDIRECT = 0xff };
	/* with a register or memory; a byte, or four, of displacement; one more byte of scale */
	static const uint8_t sizes[] = { 2, 3, 4, 6, 7 };
	const uint8_t *end = code + MAX_CALL;

	for (size_t i = 0; i < sizeof(sizes); i++)
		if (end[-sizes[i]] == INDIRECT && (end[1 - sizes[i]] >> 3 & 7) == 2)
			return true;
	return end[-CALL_SIZE] == CALL;
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

/* Returns the size of the prefixes of an instruction of x86-64. */
static size_t prefixes(const uint8_t *code, size_t size)
{
	/* operand and address size, segments and hints, bnd or rep */
	static const uint8_t legacy[] = {
		0x66, 0x67, 0x26, 0x2e, 0x36, 0x3e, 0x64, 0x65, 0xf2, 0xf3
	};
	size_t nr = 0;

	while (nr < size && memchr(legacy, code[nr], sizeof(legacy)))
		nr++;
	return nr + (nr < size && (code[nr] & 0xf0) == 0x40);
}

size_t perch__call_size(const uint8_t *code, size_t size)
{
	enum { CALL = 0xe8, INDIRECT = 0xff, SIB = 4, NO_BASE = 5 };
	size_t at = prefixes(code, size), sib;
	uint8_t mode, base;

	if (at + 1 >= size)
		return 0;
	if (code[at] == CALL)
		return at + 5;
	if (code[at] != INDIRECT || (code[at + 1] >> 3 & 7) != 2)
		return 0;
	mode = code[at + 1] >> 6;
	base = code[at + 1] & 7;
	sib = mode != 3 && base == SIB;
	if (sib && at + 2 < size)
		base = code[at + 2] & 7;
	at += 2 + sib;
	if (mode == 1)
		return at + 1;
	return at + (mode == 2 || (!mode && base == NO_BASE) ? 4 : 0);
}

bool perch__is_return(const uint8_t *code, size_t size)
{
	enum { RET = 0xc3, RET_IMMEDIATE = 0xc2 };
	size_t at = prefixes(code, size);

	return at < size && (code[at] == RET || code[at] == RET_IMMEDIATE);
}

/* Code around a system call, and the instructions after it of which a sample may be. */
struct clone {
	uint8_t before, size; /* bytes of the code: up to the end of the system call, and all */
	uint8_t code[11];
	uint8_t instruction[4];
};

bool perch__is_after_clone(const uint8_t *code)
{
	static const struct clone clones[] = {
		/* both of glibc: mov $number, %eax; syscall; test %rax, %rax; jl; je; ret */
		{ 7,
		  11,
		  { 0xb8, 0x38, 0, 0, 0, 0x0f, 0x05, 0x48, 0x85, 0xc0, 0x7c },
		  { 0, 3, 5, 7 } },
		{ 7,
		  11,
		  { 0xb8, 0xb3, 1, 0, 0, 0x0f, 0x05, 0x48, 0x85, 0xc0, 0x7c },
		  { 0, 3, 5, 7 } },
		/* musl: syscall; test %eax, %eax; jne; xor %ebp, %ebp */
		{ 2, 8, { 0x0f, 0x05, 0x85, 0xc0, 0x75, 0x0f, 0x31, 0xed }, { 0, 2, 2, 2 } },
	};

	for (size_t i = 0; i < PERCH__NR(clones); i++)
		for (size_t at = 0; at < sizeof(clones->instruction); at++) {
			const struct clone *clone = &clones[i];
			size_t before = (size_t)clone->before + clone->instruction[at];

			if (!memcmp(code + CLONE_BEFORE - before, clone->code, clone->size))
				return true;
		}
	return false;
}
