/* SPDX-License-Identifier: MIT */
/* Names of flags, names of registers, and the visitor. */
#include <strings.h>

#include "fields_fixture.h"

#define NR(array) (sizeof(array) / sizeof(*(array)))

/* ---- misc ---- */

static const struct {
	uint32_t type;
	uint16_t misc;
	const char *words;
} miscs[] = {
	{ PERCH_RECORD_SAMPLE, 0, "" },
	{ PERCH_RECORD_SAMPLE, PERCH_MISC_KERNEL, "KERNEL" },
	{ PERCH_RECORD_SAMPLE, PERCH_MISC_USER | PERCH_MISC_EXACT_IP, "USER|EXACT_IP" },
	{ PERCH_RECORD_SAMPLE, PERCH_MISC_HYPERVISOR, "HYPERVISOR" },
	{ PERCH_RECORD_SAMPLE, PERCH_MISC_GUEST_KERNEL, "GUEST_KERNEL" },
	{ PERCH_RECORD_SAMPLE, PERCH_MISC_GUEST_USER, "GUEST_USER" },
	{ PERCH_RECORD_SAMPLE, 6, "0x6" },
	{ PERCH_RECORD_SAMPLE, PERCH_MISC_USER | 0x2808, "USER|0x2808" },
	{ PERCH_RECORD_SAMPLE, PERCH_MISC_EXT_RESERVED, "EXT_RESERVED" },
	{ PERCH_RECORD_MMAP,
	  PERCH_MISC_USER | PERCH_MISC_MMAP_DATA | PERCH_MISC_PROC_MAP_PARSE_TIMEOUT,
	  "USER|PROC_MAP_PARSE_TIMEOUT|MMAP_DATA" },
	{ PERCH_RECORD_MMAP, PERCH_MISC_MMAP_BUILD_ID, "0x4000" },
	{ PERCH_RECORD_MMAP2,
	  PERCH_MISC_PROC_MAP_PARSE_TIMEOUT | PERCH_MISC_MMAP_DATA | PERCH_MISC_MMAP_BUILD_ID,
	  "PROC_MAP_PARSE_TIMEOUT|MMAP_DATA|MMAP_BUILD_ID" },
	{ PERCH_RECORD_COMM, PERCH_MISC_COMM_EXEC, "COMM_EXEC" },
	{ PERCH_RECORD_FORK, PERCH_MISC_FORK_EXEC, "FORK_EXEC" },
	{ PERCH_RECORD_SWITCH, PERCH_MISC_SWITCH_OUT | PERCH_MISC_SWITCH_OUT_PREEMPT,
	  "SWITCH_OUT|SWITCH_OUT_PREEMPT" },
	{ PERCH_RECORD_SWITCH_CPU_WIDE, PERCH_MISC_SWITCH_OUT | PERCH_MISC_SWITCH_OUT_PREEMPT,
	  "SWITCH_OUT|SWITCH_OUT_PREEMPT" },
	{ PERCH_RECORD_LOST_SAMPLES, 1 << 15, "LOST_SAMPLES_BPF" },
	{ 67, PERCH_MISC_USER | 1 << 15, "USER|BUILD_ID_SIZE" },
	{ 1000, 0xffff, "EXT_RESERVED|0x7fff" },
};

static void formats_misc(void **state)
{
	char text[128];

	(void)state;
	for (size_t i = 0; i < NR(miscs); i++) {
		size_t length = perch_format_misc(miscs[i].type, miscs[i].misc, text, sizeof(text));

		assert_string_equal(text, miscs[i].words);
		assert_int_equal(length, strlen(text));
	}
}

/* ---- flags of one number ---- */

typedef size_t words_function(uint64_t value, char *text, size_t size);

struct word {
	words_function *function;
	uint64_t value;
	const char *words;
};

#define SRC(field, value) \
	{                 \
		perch_format_data_src, PERCH_MEM_S(field, value)
#define RAW(shift, value) \
	{                 \
		perch_format_data_src, (uint64_t)(value) << (shift)
#define TXN(value) \
	{          \
		perch_format_transaction, value
#define AUX(value) \
	{          \
		perch_format_aux_flags, value

static const struct word words[] = { { perch_format_data_src, 0, "" }, SRC(OP, NA), "op N/A" },
			 SRC(OP, LOAD), "LOAD"
}
, SRC(OP, STORE), "STORE"
}
, SRC(OP, PFETCH), "PFETCH"
}
, SRC(OP, EXEC), "EXEC"
}
, SRC(LVL, NA), "hierarchy N/A"
}
, SRC(LVL, HIT), "hit"
}
, SRC(LVL, MISS), "miss"
}
, SRC(LVL, L1), "L1"
}
, SRC(LVL, LFB), "LFB"
}
, SRC(LVL, L2), "L2"
}
, SRC(LVL, L3), "L3"
}
, SRC(LVL, LOC_RAM), "Local RAM"
}
, SRC(LVL, REM_RAM1), "Remote RAM (1 hop)"
}
, SRC(LVL, REM_RAM2), "Remote RAM (2 hops)"
}
, SRC(LVL, REM_CCE1), "Remote Cache (1 hop)"
}
, SRC(LVL, REM_CCE2), "Remote Cache (2 hops)"
}
, SRC(LVL, IO), "I/O"
}
, SRC(LVL, UNC), "Uncached"
}
, SRC(SNOOP, NA), "snoop N/A"
}
, SRC(SNOOP, NONE), "snoop None"
}
, SRC(SNOOP, HIT), "snoop Hit"
}
, SRC(SNOOP, MISS), "snoop Miss"
}
, SRC(SNOOP, HITM), "snoop HitM"
}
, SRC(SNOOPX, FWD), "snoop Fwd"
}
, SRC(SNOOPX, PEER), "snoop Peer"
}
, SRC(LOCK, NA), "lock N/A"
}
, SRC(LOCK, LOCKED), "locked"
}
, SRC(TLB, NA), "TLB N/A"
}
, SRC(TLB, HIT), "TLB hit"
}
, SRC(TLB, MISS), "TLB miss"
}
, SRC(TLB, L1), "TLB L1"
}
, SRC(TLB, L2), "TLB L2"
}
, SRC(TLB, WK), "TLB Walker"
}
, SRC(TLB, OS), "TLB Fault"
}
, SRC(LVLNUM, L1), "level L1"
}
, SRC(LVLNUM, L2), "level L2"
}
, SRC(LVLNUM, L3), "level L3"
}
, SRC(LVLNUM, L4), "level L4"
}
, SRC(LVLNUM, L2_MHB), "level L2 MHB"
}
, SRC(LVLNUM, MSC), "level Memory-side Cache"
}
, SRC(LVLNUM, L0), "level L0"
}
, SRC(LVLNUM, UNC), "level Uncached"
}
, SRC(LVLNUM, CXL), "level CXL"
}
, SRC(LVLNUM, IO), "level I/O"
}
, SRC(LVLNUM, ANY_CACHE), "level Any cache"
}
, SRC(LVLNUM, LFB), "level LFB/MAB"
}
, SRC(LVLNUM, RAM), "level RAM"
}
, SRC(LVLNUM, PMEM), "level PMEM"
}
, SRC(LVLNUM, NA), "level N/A"
}
, SRC(REMOTE, REMOTE), "remote"
}
, SRC(REMOTE, REMOTE) | PERCH_MEM_S(LVLNUM, RAM), "level remote RAM"
}
, SRC(BLK, NA), "blocked N/A"
}
, SRC(BLK, DATA), "blocked by data"
}
, SRC(BLK, ADDR), "blocked by address"
}
, SRC(HOPS, 0), "other core, same node"
}
, SRC(HOPS, 1), "other node, same socket"
}
, SRC(HOPS, 2), "other socket, same board"
}
, SRC(HOPS, 3), "other board"
}
, RAW(43, 5), "hops 5"
}
, RAW(43, 7), "hops 7"
}
, SRC(REGION, RSVD), "reserved"
}
, SRC(REGION, L_SHARE), "local shared cache"
}
, SRC(REGION, L_NON_SHARE), "local private cache"
}
, SRC(REGION, O_IO), "other agent's I/O"
}
, SRC(REGION, O_SHARE), "other agent's shared cache"
}
, SRC(REGION, O_NON_SHARE), "other agent's private cache"
}
, SRC(REGION, MMIO), "MMIO"
}
, SRC(REGION, MEM0), "memory 0"
}
, SRC(REGION, MEM7), "memory 7"
}
, RAW(46, 31), "region 31"
}
, RAW(51, 1), "0x8000000000000"
}
, RAW(63, 1), "0x8000000000000000"
}
,
	/* loads as recorded by perf on an Intel and an AMD machine */
	{ perch_format_data_src, 0x68100142, "LOAD, L1 hit, snoop None, TLB L1 or L2 hit" },
	{ perch_format_data_src, 0x1e05080021,
	  "op N/A, hierarchy N/A, level N/A, snoop N/A, TLB N/A, lock N/A" },
	SRC(OP, LOAD) | PERCH_MEM_S(LVL, L3) | PERCH_MEM_S(LVL, MISS) |
		PERCH_MEM_S(LVLNUM, ANY_CACHE) | PERCH_MEM_S(REMOTE, REMOTE) |
		PERCH_MEM_S(HOPS, 2) | PERCH_MEM_S(SNOOP, HITM) | PERCH_MEM_S(LOCK, LOCKED),
	"LOAD, L3 miss, level remote Any cache, other socket, same board, snoop HitM, locked"
}
, TXN(0), ""
}
, TXN(PERCH_TXN_ELISION), "ELISION"
}
, TXN(PERCH_TXN_TRANSACTION), "TRANSACTION"
}
, TXN(PERCH_TXN_SYNC), "SYNC"
}
, TXN(PERCH_TXN_ASYNC), "ASYNC"
}
, TXN(PERCH_TXN_RETRY), "RETRY"
}
, TXN(PERCH_TXN_CONFLICT), "CONFLICT"
}
, TXN(PERCH_TXN_CAPACITY_WRITE), "CAPACITY_WRITE"
}
, TXN(PERCH_TXN_CAPACITY_READ), "CAPACITY_READ"
}
, TXN(1u << 31), "0x80000000"
}
, TXN(PERCH_TXN_ABORT_MASK), "abort code 0xffffffff"
}
, TXN(PERCH_TXN_TRANSACTION | PERCH_TXN_SYNC | 0xffull << 32), "TRANSACTION|SYNC, abort code 0xff"
}
, AUX(0), ""
}
, AUX(PERCH_AUX_FLAG_TRUNCATED), "TRUNCATED"
}
, AUX(PERCH_AUX_FLAG_OVERWRITE), "OVERWRITE"
}
, AUX(PERCH_AUX_FLAG_PARTIAL), "PARTIAL"
}
, AUX(PERCH_AUX_FLAG_COLLISION), "COLLISION"
}
, AUX(PERCH_AUX_FLAG_CORESIGHT_FORMAT_RAW), "FORMAT_1"
}
, AUX(0xff00), "FORMAT_255"
}
, AUX(1ull << 63), "0x8000000000000000"
}
,
}
;

static void formats_flags(void **state)
{
	char text[512], cut[16];

	(void)state;
	for (size_t i = 0; i < NR(words); i++) {
		size_t length = words[i].function(words[i].value, text, sizeof(text));

		assert_string_equal(text, words[i].words);
		assert_int_equal(length, strlen(text));
		for (size_t size = 0; size <= sizeof(cut); size++) {
			memset(cut, 'x', sizeof(cut));
			assert_int_equal(words[i].function(words[i].value, size ? cut : NULL, size),
					 length);
			if (!size)
				continue;
			assert_int_equal(strnlen(cut, size), length < size ? length : size - 1);
			assert_memory_equal(cut, text, strlen(cut));
		}
	}
}

/* Values that differ in one bit have different texts: no bit is dropped. */
static void no_bit_is_dropped(void **state)
{
	static words_function *const functions[] = {
		perch_format_data_src,
		perch_format_transaction,
		perch_format_aux_flags,
	};

	(void)state;
	for (size_t i = 0; i < NR(functions); i++)
		for (int one = 0; one < 64; one++)
			for (int other = -1; other < one; other++) {
				char a[512], b[512];
				uint64_t base = other < 0 ? 0 : 1ull << other;

				functions[i](base | 1ull << one, a, sizeof(a));
				functions[i](base, b, sizeof(b));
				if (!strcmp(a, b))
					fail_msg("bits %d and %d: %s", one, other, a);
			}
}

/* ---- branches ---- */

#define BRANCH(...)                 \
	(struct perch_branch_entry) \
	{                           \
		__VA_ARGS__         \
	}

static void expect_branch(struct perch_branch_entry entry, const char *expected)
{
	char text[256];

	assert_int_equal(perch_format_branch(&entry, text, sizeof(text)), strlen(expected));
	assert_string_equal(text, expected);
}

static void formats_branches(void **state)
{
	static const char *const types[] = {
		"",	  "COND",      "UNCOND",   "IND",  "CALL", "IND_CALL", "RET",	"SYSCALL",
		"SYSRET", "COND_CALL", "COND_RET", "ERET", "IRQ",  "SERROR",   "NO_TX",
	};
	static const char *const new_types[] = {
		"FAULT_ALGN", "FAULT_DATA", "FAULT_INST", "ARCH_1",	"ARCH_2",
		"ARCH_3",     "ARCH_4",	    "ARCH_5",	  "NEW_TYPE_8",
	};
	static const char *const speculations[] = { "", "SPEC_WRONG_PATH", "NON_SPEC_CORRECT_PATH",
						    "SPEC_CORRECT_PATH" };
	static const char *const privileges[] = { "", "USER", "KERNEL", "HYPERVISOR", "PRIV_4" };

	(void)state;
	expect_branch(BRANCH(.mispred = 1), "MISPRED");
	expect_branch(BRANCH(.predicted = 1), "PREDICTED");
	expect_branch(BRANCH(.in_tx = 1), "IN_TX");
	expect_branch(BRANCH(.abort = 1), "ABORT");
	expect_branch(BRANCH(.cycles = 99, .new_type = 2), "NEW_TYPE_2");
	expect_branch(BRANCH(.reserved = 1), "0x200000000");
	for (unsigned int i = 0; i < NR(types); i++)
		expect_branch(BRANCH(.type = i), types[i]);
	for (unsigned int i = 0; i < NR(new_types); i++)
		expect_branch(BRANCH(.type = PERCH_BR_EXTEND_ABI, .new_type = i), new_types[i]);
	for (unsigned int i = 0; i < NR(speculations); i++)
		expect_branch(BRANCH(.spec = i), speculations[i]);
	for (unsigned int i = 0; i < NR(privileges); i++)
		expect_branch(BRANCH(.priv = i), privileges[i]);
}

/* ---- registers ---- */

/* The value of an enumerator: its number, or one more than that of the previous one. */
static long enumerator(const char *after, long before)
{
	const char *number = after + strspn(after, " \t=");

	return strchr(after, '=') && *number >= '0' && *number <= '9' ? strtol(number, NULL, 0)
								      : before + 1;
}

/* Compares the names with those in a header; returns their number, or 0 if there is no header. */
static size_t compare_with_header(const char *path, const char *prefix, enum perch_arch arch)
{
	FILE *header = fopen(path, "r");
	char line[256];
	size_t nr = 0;
	long value = -1;

	while (header && fgets(line, sizeof(line), header)) {
		const char *name = line + strspn(line, " \t");
		size_t length;

		if (strncmp(name, prefix, strlen(prefix)))
			continue;
		name += strlen(prefix);
		length = strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
		if (length >= 3 && !strncmp(name + length - 3, "MAX", 3))
			continue;
		value = enumerator(name + length, value);
		if (!perch_register_name(arch, (unsigned int)value))
			fail_msg("%s: %.*s has no name", path, (int)length, name);
		assert_int_equal(strlen(perch_register_name(arch, (unsigned int)value)), length);
		assert_int_equal(strncasecmp(perch_register_name(arch, (unsigned int)value), name,
					     length),
				 0);
		nr++;
	}
	if (header)
		fclose(header);
	return nr;
}

static void register_names_equal_the_headers(void **state)
{
	/* of this architecture, of a cross compiler, and of all since Debian 13 */
	static const struct {
		const char *before, *after;
	} directories[] = {
		{ "/usr/include/", "" },
		{ "/usr/", "/include" },
		{ "/usr/lib/linux/uapi/", "" },
	};
	static const struct {
		const char *names[2]; /* of the first two directories, and of the third */
		const char *prefix;
		enum perch_arch arch;
		size_t least;
	} headers[] = {
		{ { "x86_64-linux-gnu", "x86" }, "PERF_REG_X86_", PERCH_ARCH_X86, 24 },
		{ { "aarch64-linux-gnu", "arm64" }, "PERF_REG_ARM64_", PERCH_ARCH_ARM64, 33 },
		{ { "arm-linux-gnueabihf", "arm" }, "PERF_REG_ARM_", PERCH_ARCH_ARM, 16 },
		{ { "riscv64-linux-gnu", "riscv" }, "PERF_REG_RISCV_", PERCH_ARCH_RISCV, 32 },
		{ { "s390x-linux-gnu", "s390" }, "PERF_REG_S390_", PERCH_ARCH_S390, 34 },
		{ { "powerpc64le-linux-gnu", "powerpc" },
		  "PERF_REG_POWERPC_",
		  PERCH_ARCH_POWERPC,
		  45 },
		{ { "loongarch64-linux-gnu", "loongarch" },
		  "PERF_REG_LOONGARCH_",
		  PERCH_ARCH_LOONGARCH,
		  32 },
		{ { "mips64el-linux-gnuabi64", "mips" }, "PERF_REG_MIPS_", PERCH_ARCH_MIPS, 32 },
		{ { "csky-linux-gnu", "csky" }, "PERF_REG_CSKY_", PERCH_ARCH_CSKY, 38 },
	};
	size_t compared = 0;

	(void)state;
	for (size_t i = 0; i < NR(headers) * NR(directories); i++) {
		size_t of = i / NR(directories), where = i % NR(directories);
		char path[128];
		size_t nr;

		snprintf(path, sizeof(path), "%s%s%s/asm/perf_regs.h", directories[where].before,
			 headers[of].names[where == 2], directories[where].after);
		nr = compare_with_header(path, headers[of].prefix, headers[of].arch);
		assert_true(!nr || nr >= headers[of].least);
		compared += !!nr;
	}
	if (!compared)
		skip();
}

static void registers_by_number(void **state)
{
	static const struct {
		enum perch_arch arch;
		unsigned int bit;
		const char *name;
	} cases[] = {
		{ PERCH_ARCH_X86, 0, "ax" },	     { PERCH_ARCH_X86, 12, "ds" },
		{ PERCH_ARCH_X86, 23, "r15" },	     { PERCH_ARCH_X86, 24, NULL },
		{ PERCH_ARCH_X86, 31, NULL },	     { PERCH_ARCH_X86, 32, "xmm0" },
		{ PERCH_ARCH_X86, 63, "xmm15h" },    { PERCH_ARCH_X86, 64, NULL },
		{ PERCH_ARCH_ARM, 15, "pc" },	     { PERCH_ARCH_ARM, 16, NULL },
		{ PERCH_ARCH_ARM64, 32, "pc" },	     { PERCH_ARCH_ARM64, 33, NULL },
		{ PERCH_ARCH_ARM64, 46, "vg" },	     { PERCH_ARCH_RISCV, 31, "t6" },
		{ PERCH_ARCH_S390, 33, "pc" },	     { PERCH_ARCH_S390, 34, NULL },
		{ PERCH_ARCH_POWERPC, 32, "nip" },   { PERCH_ARCH_POWERPC, 44, "mmcra" },
		{ PERCH_ARCH_POWERPC, 45, "mmcr0" }, { PERCH_ARCH_POWERPC, 51, "pmc1" },
		{ PERCH_ARCH_POWERPC, 56, "pmc6" },  { PERCH_ARCH_POWERPC, 57, "sdar" },
		{ PERCH_ARCH_POWERPC, 58, "siar" },  { PERCH_ARCH_POWERPC, 59, NULL },
		{ PERCH_ARCH_LOONGARCH, 31, "r31" }, { PERCH_ARCH_MIPS, 0, "pc" },
		{ PERCH_ARCH_MIPS, 31, "r31" },	     { PERCH_ARCH_CSKY, 0, "tls" },
		{ PERCH_ARCH_CSKY, 37, "dcsr" },     { PERCH_ARCH_CSKY, 38, NULL },
		{ PERCH_ARCH_UNKNOWN, 0, NULL },     { (enum perch_arch)99, 0, NULL },
	};

	(void)state;
	for (size_t i = 0; i < NR(cases); i++) {
		const char *name = perch_register_name(cases[i].arch, cases[i].bit);

		if (cases[i].name)
			assert_string_equal(name ? name : "(none)", cases[i].name);
		else
			assert_null(name);
	}
}

static void machines_by_name(void **state)
{
	static const struct {
		const char *name;
		enum perch_arch arch;
	} cases[] = {
		{ "x86_64", PERCH_ARCH_X86 },	   { "x86", PERCH_ARCH_X86 },
		{ "i386", PERCH_ARCH_X86 },	   { "i686", PERCH_ARCH_X86 },
		{ "i786", PERCH_ARCH_UNKNOWN },	   { "ia64", PERCH_ARCH_UNKNOWN },
		{ "aarch64", PERCH_ARCH_ARM64 },   { "aarch64_be", PERCH_ARCH_ARM64 },
		{ "arm64", PERCH_ARCH_ARM64 },	   { "armv7l", PERCH_ARCH_ARM },
		{ "riscv64", PERCH_ARCH_RISCV },   { "s390x", PERCH_ARCH_S390 },
		{ "ppc64le", PERCH_ARCH_POWERPC }, { "ppc64", PERCH_ARCH_POWERPC },
		{ "powerpc", PERCH_ARCH_POWERPC }, { "loongarch64", PERCH_ARCH_LOONGARCH },
		{ "mips64", PERCH_ARCH_MIPS },	   { "csky", PERCH_ARCH_CSKY },
		{ "", PERCH_ARCH_UNKNOWN },	   { "sparc64", PERCH_ARCH_UNKNOWN },
		{ NULL, PERCH_ARCH_UNKNOWN },
	};

	(void)state;
	for (size_t i = 0; i < NR(cases); i++)
		assert_int_equal(perch_arch_by_name(cases[i].name), cases[i].arch);
#if defined(__x86_64__)
	assert_int_equal(perch_arch_here(), PERCH_ARCH_X86);
#elif defined(__aarch64__)
	assert_int_equal(perch_arch_here(), PERCH_ARCH_ARM64);
#endif
}

/* ---- the visitor ---- */

static const struct perch_record *visited;
static unsigned int visited_by;

#define VISIT(number)                                                               \
	static int visit_##number(void *context, const struct perch_record *record) \
	{                                                                           \
		visited = record;                                                   \
		visited_by = number;                                                \
		return *(int *)context;                                             \
	}
/* clang-format off */
VISIT(1) VISIT(2) VISIT(3) VISIT(4) VISIT(5) VISIT(6) VISIT(7) VISIT(8)
VISIT(9) VISIT(10) VISIT(11) VISIT(12) VISIT(13) VISIT(14) VISIT(15) VISIT(16)
VISIT(17) VISIT(18) VISIT(19) VISIT(20) VISIT(21) VISIT(22)
	/* clang-format on */

	static const struct perch_visitor all = {
		.mmap = visit_1,
		.lost = visit_2,
		.comm = visit_3,
		.exit = visit_4,
		.throttle = visit_5,
		.fork = visit_6,
		.read = visit_7,
		.sample = visit_8,
		.aux = visit_9,
		.itrace_start = visit_10,
		.lost_samples = visit_11,
		.context_switch = visit_12,
		.namespaces = visit_13,
		.ksymbol = visit_14,
		.bpf_event = visit_15,
		.cgroup = visit_16,
		.text_poke = visit_17,
		.aux_output_hw_id = visit_18,
		.callchain_deferred = visit_19,
		.unknown = visit_20,
		.file = visit_21,
		.other = visit_22,
	};

static void each_type_has_its_function(void **state)
{
	static const struct {
		uint32_t type;
		unsigned int by;
	} types[] = {
		{ 0, 20 },
		{ PERCH_RECORD_MMAP, 1 },
		{ PERCH_RECORD_MMAP2, 1 },
		{ PERCH_RECORD_LOST, 2 },
		{ PERCH_RECORD_COMM, 3 },
		{ PERCH_RECORD_EXIT, 4 },
		{ PERCH_RECORD_THROTTLE, 5 },
		{ PERCH_RECORD_UNTHROTTLE, 5 },
		{ PERCH_RECORD_FORK, 6 },
		{ PERCH_RECORD_READ, 7 },
		{ PERCH_RECORD_SAMPLE, 8 },
		{ PERCH_RECORD_AUX, 9 },
		{ PERCH_RECORD_ITRACE_START, 10 },
		{ PERCH_RECORD_LOST_SAMPLES, 11 },
		{ PERCH_RECORD_SWITCH, 12 },
		{ PERCH_RECORD_SWITCH_CPU_WIDE, 12 },
		{ PERCH_RECORD_NAMESPACES, 13 },
		{ PERCH_RECORD_KSYMBOL, 14 },
		{ PERCH_RECORD_BPF_EVENT, 15 },
		{ PERCH_RECORD_CGROUP, 16 },
		{ PERCH_RECORD_TEXT_POKE, 17 },
		{ PERCH_RECORD_AUX_OUTPUT_HW_ID, 18 },
		{ PERCH_RECORD_CALLCHAIN_DEFERRED, 19 },
		{ PERCH_RECORD_MAX, 20 },
		{ 63, 20 },
		{ 64, 21 },
		{ UINT32_MAX, 21 },
	};
	const struct perch_visitor none = { 0 }, other = { .other = visit_22 };
	int answer = 0;

	(void)state;
	for (size_t i = 0; i < NR(types); i++) {
		struct perch_record record = { .type = types[i].type };

		answer = (int)i;
		assert_int_equal(perch_record_visit(&record, &all, &answer), answer);
		assert_ptr_equal(visited, &record);
		assert_int_equal(visited_by, types[i].by);
		assert_int_equal(perch_record_visit(&record, &other, &answer), answer);
		assert_int_equal(visited_by, 22);
		visited_by = 0;
		assert_int_equal(perch_record_visit(&record, &none, &answer), 0);
		assert_int_equal(visited_by, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(formats_misc),
		cmocka_unit_test(formats_flags),
		cmocka_unit_test(no_bit_is_dropped),
		cmocka_unit_test(formats_branches),
		cmocka_unit_test(register_names_equal_the_headers),
		cmocka_unit_test(registers_by_number),
		cmocka_unit_test(machines_by_name),
		cmocka_unit_test(each_type_has_its_function),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
