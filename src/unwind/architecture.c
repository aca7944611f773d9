/* SPDX-License-Identifier: MIT */
/* The registers of each architecture, with their numbers in DWARF and in samples. */
#include "internal.h"

/* Samples of 32-bit programs have the bits of x86-64; DWARF has ax, cx, dx, bx, sp, bp, si, di. */
static const struct architecture i386 = {
	.arch = PERCH_ARCH_X86,
	.machine = EM_386,
	.word = 4,
	.nr = 9,
	.columns = 9,
	.sp = 4,
	.fp = 5,
	.pc = 8,
	.link = NO_REGISTER,
	.preserved = 1 << 3 | 7 << 5,
	.address_bits = UINT32_MAX,
	.bit = { 0, 2, 3, 1, 7, 6, 4, 5, 8 },
};

/* The numbers of general registers differ: DWARF has ax, dx, cx, bx, si, di, bp, sp. */
static const struct architecture x86_64 = {
	.arch = PERCH_ARCH_X86,
	.narrow = &i386,
	.machine = EM_X86_64,
	.word = 8,
	.nr = 17,
	.columns = 17,
	.sp = 7,
	.fp = 6,
	.pc = 16,
	.link = NO_REGISTER,
	.preserved = 1 << 3 | 1 << 6 | 0xf << 12,
	.address_bits = UINT64_MAX,
	.bit = { 0, 3, 2, 1, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23, 8 },
	/* struct ucontext, of which uc_mcontext has r8 to r15, di, si, bp, bx, dx, ax, cx, sp, ip
	 */
	.signal_offset = 40,
	.signal_word = { 13, 12, 14, 11, 9, 8, 10, 15, 0, 1, 2, 3, 4, 5, 6, 7, 16 },
};

static const struct architecture arm64 = {
	.arch = PERCH_ARCH_ARM64,
	.machine = EM_AARCH64,
	.word = 8,
	.nr = 33,
	.columns = 32,
	.sp = 31,
	.fp = 29,
	.pc = 32,
	.link = 30,
	.preserved = 0xfffull << 19,
	.address_bits = (1ull << 48) - 1,
	.bit = { 0,  1,	 2,  3,	 4,  5,	 6,  7,	 8,  9,	 10, 11, 12, 13, 14, 15, 16,
		 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32 },
	/* siginfo_t (128 bytes), then struct ucontext, which has x0 to x30, sp and pc at byte 184
	 */
	.signal_offset = 128 + 184,
	.signal_word = { 0,  1,	 2,  3,	 4,  5,	 6,  7,	 8,  9,	 10, 11, 12, 13, 14, 15, 16,
			 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32 },
};

uint64_t perch_unwind_registers(enum perch_arch arch)
{
	const struct architecture *architecture = perch__architecture(arch);
	uint64_t mask = 0;

	for (unsigned i = 0; architecture && i < architecture->nr; i++)
		mask |= 1ull << architecture->bit[i];
	return mask;
}

const struct architecture *perch__architecture(enum perch_arch arch)
{
	switch (arch) {
	case PERCH_ARCH_X86:
		return &x86_64;
	case PERCH_ARCH_ARM64:
		return &arm64;
	default:
		return NULL;
	}
}
