/* SPDX-License-Identifier: MIT */
/* Names of architectures, and of their registers by the bits of asm/perf_regs.h. */
#include <perch/fields.h>
#include "internal.h"

/*
 * Only 32-bit kernels have ds to gs, and only 64-bit kernels r8 to r15. From bit 32 on, an XMM
 * register has two bits, for its lower and its upper half, because each value has 64 bits.
 */
/* clang-format off */
static const char *const x86[] = {
	"ax", "bx", "cx", "dx", "si", "di", "bp", "sp", "ip", "flags", "cs", "ss", "ds", "es", "fs",
	"gs", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15",
	[32] = "xmm0", "xmm0h", "xmm1", "xmm1h", "xmm2", "xmm2h", "xmm3", "xmm3h",
	"xmm4", "xmm4h", "xmm5", "xmm5h", "xmm6", "xmm6h", "xmm7", "xmm7h",
	"xmm8", "xmm8h", "xmm9", "xmm9h", "xmm10", "xmm10h", "xmm11", "xmm11h",
	"xmm12", "xmm12h", "xmm13", "xmm13h", "xmm14", "xmm14h", "xmm15", "xmm15h",
};
/* clang-format on */
static const char *const arm[] = {
	"r0", "r1", "r2",  "r3", "r4", "r5", "r6", "r7",
	"r8", "r9", "r10", "fp", "ip", "sp", "lr", "pc",
};
static const char *const arm64[] = {
	"x0",  "x1",  "x2",  "x3",  "x4",  "x5",  "x6",	 "x7",	"x8",  "x9",	    "x10", "x11",
	"x12", "x13", "x14", "x15", "x16", "x17", "x18", "x19", "x20", "x21",	    "x22", "x23",
	"x24", "x25", "x26", "x27", "x28", "x29", "lr",	 "sp",	"pc",  [46] = "vg",
};
static const char *const riscv[] = {
	"pc", "ra", "sp", "gp", "tp",  "t0",  "t1", "t2", "s0", "s1", "a0",
	"a1", "a2", "a3", "a4", "a5",  "a6",  "a7", "s2", "s3", "s4", "s5",
	"s6", "s7", "s8", "s9", "s10", "s11", "t3", "t4", "t5", "t6",
};
static const char *const s390[] = {
	"r0",  "r1",  "r2",   "r3",   "r4",   "r5",   "r6",   "r7",   "r8",   "r9",  "r10", "r11",
	"r12", "r13", "r14",  "r15",  "fp0",  "fp1",  "fp2",  "fp3",  "fp4",  "fp5", "fp6", "fp7",
	"fp8", "fp9", "fp10", "fp11", "fp12", "fp13", "fp14", "fp15", "mask", "pc",
};
static const char *const powerpc[] = {
	"r0",	 "r1",	 "r2",	  "r3",	  "r4",	     "r5",    "r6",    "r7",	"r8",	 "r9",
	"r10",	 "r11",	 "r12",	  "r13",  "r14",     "r15",   "r16",   "r17",	"r18",	 "r19",
	"r20",	 "r21",	 "r22",	  "r23",  "r24",     "r25",   "r26",   "r27",	"r28",	 "r29",
	"r30",	 "r31",	 "nip",	  "msr",  "orig_r3", "ctr",   "link",  "xer",	"ccr",	 "softe",
	"trap",	 "dar",	 "dsisr", "sier", "mmcra",   "mmcr0", "mmcr1", "mmcr2", "mmcr3", "sier2",
	"sier3", "pmc1", "pmc2",  "pmc3", "pmc4",    "pmc5",  "pmc6",  "sdar",	"siar",
};
/* Also for MIPS. */
static const char *const loongarch[] = {
	"pc",  "r1",  "r2",  "r3",  "r4",  "r5",  "r6",	 "r7",	"r8",  "r9",  "r10",
	"r11", "r12", "r13", "r14", "r15", "r16", "r17", "r18", "r19", "r20", "r21",
	"r22", "r23", "r24", "r25", "r26", "r27", "r28", "r29", "r30", "r31",
};
static const char *const csky[] = {
	"tls",	    "lr",	"pc",	    "sr",      "sp",	  "orig_a0", "a0",	 "a1",
	"a2",	    "a3",	"regs0",    "regs1",   "regs2",	  "regs3",   "regs4",	 "regs5",
	"regs6",    "regs7",	"regs8",    "regs9",   "exregs0", "exregs1", "exregs2",	 "exregs3",
	"exregs4",  "exregs5",	"exregs6",  "exregs7", "exregs8", "exregs9", "exregs10", "exregs11",
	"exregs12", "exregs13", "exregs14", "hi",      "lo",	  "dcsr",
};

static const struct {
	const char *const *names;
	size_t nr;
} registers[] = {
	[PERCH_ARCH_X86] = { x86, PERCH__NR(x86) },
	[PERCH_ARCH_ARM] = { arm, PERCH__NR(arm) },
	[PERCH_ARCH_ARM64] = { arm64, PERCH__NR(arm64) },
	[PERCH_ARCH_RISCV] = { riscv, PERCH__NR(riscv) },
	[PERCH_ARCH_S390] = { s390, PERCH__NR(s390) },
	[PERCH_ARCH_POWERPC] = { powerpc, PERCH__NR(powerpc) },
	[PERCH_ARCH_LOONGARCH] = { loongarch, PERCH__NR(loongarch) },
	[PERCH_ARCH_MIPS] = { loongarch, PERCH__NR(loongarch) },
	[PERCH_ARCH_CSKY] = { csky, PERCH__NR(csky) },
};

const char *perch_register_name(enum perch_arch arch, unsigned int bit)
{
	if ((unsigned int)arch >= PERCH__NR(registers) || bit >= registers[arch].nr)
		return NULL;
	return registers[arch].names[bit];
}

/* Prefixes of machine names; the first match counts. */
static const struct {
	const char *prefix;
	enum perch_arch arch;
} prefixes[] = {
	{ "x86", PERCH_ARCH_X86 },	   { "amd64", PERCH_ARCH_X86 },
	{ "aarch64", PERCH_ARCH_ARM64 },   { "arm64", PERCH_ARCH_ARM64 },
	{ "arm", PERCH_ARCH_ARM },	   { "riscv", PERCH_ARCH_RISCV },
	{ "s390", PERCH_ARCH_S390 },	   { "ppc", PERCH_ARCH_POWERPC },
	{ "powerpc", PERCH_ARCH_POWERPC }, { "loongarch", PERCH_ARCH_LOONGARCH },
	{ "mips", PERCH_ARCH_MIPS },	   { "csky", PERCH_ARCH_CSKY },
};

enum perch_arch perch_arch_by_name(const char *name)
{
	if (!name)
		return PERCH_ARCH_UNKNOWN;
	if (name[0] == 'i' && name[1] >= '3' && name[1] <= '6' && !strcmp(name + 2, "86"))
		return PERCH_ARCH_X86;
	for (size_t i = 0; i < PERCH__NR(prefixes); i++)
		if (!strncmp(name, prefixes[i].prefix, strlen(prefixes[i].prefix)))
			return prefixes[i].arch;
	return PERCH_ARCH_UNKNOWN;
}

enum perch_arch perch_arch_here(void)
{
#if defined(__x86_64__) || defined(__i386__)
	return PERCH_ARCH_X86;
#elif defined(__aarch64__)
	return PERCH_ARCH_ARM64;
#elif defined(__arm__)
	return PERCH_ARCH_ARM;
#elif defined(__riscv)
	return PERCH_ARCH_RISCV;
#elif defined(__s390__)
	return PERCH_ARCH_S390;
#elif defined(__powerpc__)
	return PERCH_ARCH_POWERPC;
#elif defined(__loongarch__)
	return PERCH_ARCH_LOONGARCH;
#elif defined(__mips__)
	return PERCH_ARCH_MIPS;
#elif defined(__csky__)
	return PERCH_ARCH_CSKY;
#else
	return PERCH_ARCH_UNKNOWN;
#endif
}
