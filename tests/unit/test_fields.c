/* SPDX-License-Identifier: MIT */
/* The fields of every record in both byte orders; each row of the table must be emitted. */
#include <errno.h>

#include "fields_fixture.h"

#define NR(array) (sizeof(array) / sizeof(*(array)))

/* ---- the table of fields ---- */

struct row {
	const char *record;
	const char *name;
	enum perch_field_kind kind;
	unsigned int seen;
};

static struct row rows[] = {
#define RECORD(...)
#define BIT(...)
/* clang-format off */
#define FIELD(record, name, kind, ...) { #record, #name, PERCH_FIELD_##kind, 0 },
#define PART(record, name, kind, ...) { #record, #name, PERCH_FIELD_##kind, 0 },
/* clang-format on */
#include "record/fields.def"
};

static const char *seen_record; /* the record type whose fields are emitted */

/*
 * Exceptions: registers share one row, chains have markers and cookies, and the two weights differ
 * in kind.
 */
static bool kind_matches(const char *path, enum perch_field_kind kind, enum perch_field_kind row)
{
	if (!strcmp(path, "callchain[]") || !strcmp(path, "ips[]"))
		return kind == PERCH_FIELD_ADDRESS || kind == PERCH_FIELD_FLAGS ||
		       kind == PERCH_FIELD_HEX;
	if (!strcmp(path, "weight"))
		return kind == PERCH_FIELD_NUMBER || kind == PERCH_FIELD_GROUP;
	return kind == row;
}

static void mark(const char *path, enum perch_field_kind kind)
{
	const char *record = seen_record;
	char name[128];

	if (!strcmp(path, "sample_id") || !strcmp(path, "trailing_bytes"))
		return;
	snprintf(name, sizeof(name), "%s", path);
	if (!strncmp(path, "sample_id.", 10)) {
		record = "TRAILER";
		snprintf(name, sizeof(name), "%s", path + 10);
	} else if (strstr(path, "_regs.") && !strstr(path, ".abi")) {
		snprintf(strchr(name, '.') + 1, 16, "REGISTER");
	}
	for (size_t i = 0; i < NR(rows); i++) {
		if (strcmp(rows[i].record, record) || strcmp(rows[i].name, name))
			continue;
		if (!kind_matches(name, kind, rows[i].kind))
			fail_msg("%s %s is of another kind than the table says", record, name);
		rows[i].seen++;
		return;
	}
	fail_msg("%s %s is not in the table", record, name);
}

/* ---- records ---- */

static int touch(void *context, const struct perch_field *field)
{
	for (size_t i = 0; field->text && i < field->length; i++)
		*(unsigned int *)context += (uint8_t)field->text[i];
	return 0;
}

/*
 * Cut to every length, in memory of that size, for the sanitizers: fields of decodable records are
 * emitted, and of others those in the view.
 */
static void walk_prefixes(const struct bytes *bytes, const struct perch_parse_info *parse_info)
{
	for (size_t size = 8; size < bytes->size; size++) {
		uint8_t *exact = aligned_alloc(8, (size + 7) / 8 * 8);
		uint16_t short_size = bytes->swap ? __builtin_bswap16((uint16_t)size)
						  : (uint16_t)size;
		struct perch_record record;
		unsigned int sum = 0;
		int rc;

		assert_non_null(exact);
		memcpy(exact, bytes->at, size);
		memcpy(exact + 6, &short_size, sizeof(short_size));
		/* members that the view does not have must not be read */
		memset(&record, 0xff, sizeof(record));
		rc = perch_record_decode(&record, parse_info, exact, size, NULL);
		assert_true(rc == 0 || rc == -EBADMSG);
		assert_int_equal(perch_record_fields(&record, PERCH_ARCH_X86, touch, &sum), 0);
		free(exact);
	}
}

/* The fields of a built record, as text, valid until the next call. */
static const char *fields_of(struct bytes *bytes, const struct perch_attr *attr,
			     enum perch_arch arch)
{
	static struct printed printed;
	static struct perch_parse_info parse_info;
	static struct bytes copy;
	bool big = (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__) != bytes->swap;
	struct perch_record record;
	struct perch_error err;

	finish(bytes);
	copy = *bytes;
	perch_parse_info_init(&parse_info, attr, big ? PERCH_BYTES_BIG : PERCH_BYTES_LITTLE);
	if (perch_record_decode(&record, &parse_info, copy.at, copy.size, &err))
		fail_msg("%s", err.message);
	walk_prefixes(&copy, &parse_info);
	memset(&printed, 0, sizeof(printed));
	printed.seen = mark;
	seen_record = perch_record_name(record.type);
	seen_record = seen_record ? seen_record : "unknown";
	if (!record.type || record.type >= PERCH_RECORD_MAX)
		printed.seen = NULL;
	assert_int_equal(perch_record_fields(&record, arch, print_field, &printed), 0);
	assert_int_equal(printed.depth, 0);
	return printed.text;
}

static const struct perch_attr with_sample_id = { .sample_type = SAMPLE_ID_BITS,
						  .sample_id_all = 1 };

/*
 * A body of numbers, whose sizes in bytes are the digits of `sizes`, then a name, then the trailer.
 */
struct simple {
	uint32_t type;
	uint16_t misc;
	const char *sizes;
	uint64_t values[10];
	const char *name; /* NULL: none */
	const char *expected;
};

static const struct simple simples[] = {
	{ PERCH_RECORD_MMAP,
	  0,
	  "44888",
	  { 7, 8, 0x1000, 0x2000, 0x3000 },
	  "/bin/cat",
	  "pid=7 tid=8 addr=0x1000 len=0x2000 pgoff=0x3000 filename=\"/bin/cat\"" },
	{ PERCH_RECORD_MMAP,
	  0,
	  "44888",
	  { UINT32_MAX, 0, 1, 2, 3 },
	  "[kernel.kallsyms]_text",
	  "pid=-1 tid=0 addr=0x1 len=0x2 pgoff=0x3 filename=\"[kernel.kallsyms]_text\"" },
	{ PERCH_RECORD_LOST, 0, "88", { 5, 6 }, NULL, "id=5 lost=6" },
	{ PERCH_RECORD_COMM, 0, "44", { 7, 8 }, "make", "pid=7 tid=8 comm=\"make\"" },
	{ PERCH_RECORD_EXIT,
	  0,
	  "44448",
	  { 1, 2, 3, 4, 5 },
	  NULL,
	  "pid=1 ppid=2 tid=3 ptid=4 time=5ns" },
	{ PERCH_RECORD_FORK,
	  0,
	  "44448",
	  { 1, 2, 3, 4, 5 },
	  NULL,
	  "pid=1 ppid=2 tid=3 ptid=4 time=5ns" },
	{ PERCH_RECORD_THROTTLE, 0, "888", { 1, 2, 3 }, NULL, "time=1ns id=2 stream_id=3" },
	{ PERCH_RECORD_UNTHROTTLE, 0, "888", { 1, 2, 3 }, NULL, "time=1ns id=2 stream_id=3" },
	{ PERCH_RECORD_AUX,
	  0,
	  "888",
	  { 0x10, 0x20, 0x109 },
	  NULL,
	  "aux_offset=0x10 aux_size=0x20 flags=<FORMAT_1|TRUNCATED|COLLISION>" },
	{ PERCH_RECORD_ITRACE_START, 0, "44", { 7, 8 }, NULL, "pid=7 tid=8" },
	{ PERCH_RECORD_LOST_SAMPLES, 0, "8", { 9 }, NULL, "lost=9" },
	{ PERCH_RECORD_SWITCH, PERCH_MISC_SWITCH_OUT, "", { 0 }, NULL, "" },
	{ PERCH_RECORD_SWITCH_CPU_WIDE,
	  0,
	  "44",
	  { UINT32_MAX, 8 },
	  NULL,
	  "next_prev_pid=-1 next_prev_tid=8" },
	{ PERCH_RECORD_NAMESPACES,
	  0,
	  "448"
	  "8888",
	  { 7, 8, 2, 3, 0xf0000075, 4, 5 },
	  NULL,
	  "pid=7 tid=8 namespaces=2[{ns=<net> dev=0x3 inode=4026531957} {ns=<uts> dev=0x4 inode=5}]" },
	{ PERCH_RECORD_KSYMBOL,
	  0,
	  "8422",
	  { 0x1000, 64, 2, 1 },
	  "kprobe_insn",
	  "addr=0x1000 len=64 ksym_type=<OOL> flags=<UNREGISTER> name=\"kprobe_insn\"" },
	{ PERCH_RECORD_CGROUP, 0, "8", { 4711 }, "/user.slice", "id=4711 path=\"/user.slice\"" },
	{ PERCH_RECORD_AUX_OUTPUT_HW_ID, 0, "8", { 0x77 }, NULL, "hw_id=0x77" },
	{ PERCH_RECORD_CALLCHAIN_DEFERRED,
	  0,
	  "888888",
	  { 0xc0, 4, (uint64_t)-512, 0x1000, (uint64_t)-4000, 0x2000 },
	  NULL,
	  "cookie=0xc0 ips=4[<USER> 0x1000 <CONTEXT-4000> 0x2000]" },
};

static void add_sized(struct bytes *bytes, char size, uint64_t value)
{
	if (size == '2')
		add_16(bytes, (uint16_t)value);
	else if (size == '4')
		add_32(bytes, (uint32_t)value);
	else
		add_64(bytes, value);
}

static void expect(struct bytes *bytes, const struct perch_attr *attr, const char *expected)
{
	assert_string_equal(fields_of(bytes, attr, PERCH_ARCH_X86), expected);
}

static void simple_records(void **state)
{
	struct bytes bytes;
	char expected[512];

	(void)state;
	for (size_t i = 0; i < 2 * NR(simples); i++) {
		const struct simple *simple = &simples[i / 2];

		bytes.swap = i % 2;
		begin(&bytes, simple->type, simple->misc);
		for (size_t k = 0; simple->sizes[k]; k++)
			add_sized(&bytes, simple->sizes[k], simple->values[k]);
		if (simple->name)
			add_name(&bytes, simple->name);
		add_sample_id(&bytes);
		snprintf(expected, sizeof(expected), "%s%s" SAMPLE_ID_TEXT, simple->expected,
			 simple->expected[0] ? " " : "");
		expect(&bytes, &with_sample_id, expected);
	}
}

static void start_mmap2(struct bytes *bytes, uint16_t misc)
{
	begin(bytes, PERCH_RECORD_MMAP2, misc);
	add_32(bytes, 7);
	add_32(bytes, 8);
	for (uint64_t value = 1; value <= 3; value++)
		add_64(bytes, value);
}

static void end_mmap2(struct bytes *bytes, uint32_t prot, uint32_t flags)
{
	add_32(bytes, prot);
	add_32(bytes, flags);
	add_name(bytes, "/lib/x");
}

static void mmap2_by_inode_or_build_id(void **state)
{
	static const struct perch_attr bare = { 0 };
	static const uint8_t build_id[24] = { 3, 0, 0, 0, 0xab, 0xcd, 0xef };
	struct bytes bytes;

	(void)state;
	for (int swap = 0; swap < 2; swap++) {
		bytes.swap = swap;
		start_mmap2(&bytes, PERCH_MISC_USER);
		add_32(&bytes, 253);
		add_32(&bytes, 2);
		add_64(&bytes, 99);
		add_64(&bytes, 4);
		end_mmap2(&bytes, 5, 2);
		expect(&bytes, &bare,
		       "pid=7 tid=8 addr=0x1 len=0x2 pgoff=0x3 maj=253 min=2 ino=99 ino_generation=4 "
		       "prot=<READ|EXEC> flags=<PRIVATE> filename=\"/lib/x\"");
		start_mmap2(&bytes, PERCH_MISC_USER | PERCH_MISC_MMAP_BUILD_ID);
		add(&bytes, build_id, sizeof(build_id));
		end_mmap2(&bytes, 0, 0x40001);
		expect(&bytes, &bare,
		       "pid=7 tid=8 addr=0x1 len=0x2 pgoff=0x3 build_id=abcdef prot=<NONE> "
		       "flags=<SHARED|HUGETLB> filename=\"/lib/x\"");
	}
}

static void bpf_event_and_text_poke(void **state)
{
	struct bytes bytes;

	(void)state;
	for (int swap = 0; swap < 2; swap++) {
		bytes.swap = swap;
		begin(&bytes, PERCH_RECORD_BPF_EVENT, 0);
		add_16(&bytes, 2);
		add_16(&bytes, 0);
		add_32(&bytes, 42);
		add(&bytes, "\1\2\3\4\5\6\7\xff", 8);
		add_sample_id(&bytes);
		expect(&bytes, &with_sample_id,
		       "type=<PROG_UNLOAD> flags=0x0 id=42 tag=01020304050607ff " SAMPLE_ID_TEXT);
		begin(&bytes, PERCH_RECORD_TEXT_POKE, PERCH_MISC_KERNEL);
		add_64(&bytes, 0xffffffff81000000);
		add_16(&bytes, 5);
		add_16(&bytes, 2);
		add(&bytes,
		    "\x0f\x1f\x44\x00\x00"
		    "\xeb\x10\0\0\0\0\0",
		    12);
		add_sample_id(&bytes);
		expect(&bytes, &with_sample_id,
		       "addr=0xffffffff81000000 old_len=5 new_len=2 old_bytes=0f1f440000 "
		       "new_bytes=eb10 " SAMPLE_ID_TEXT);
	}
}

/* ---- values of counters ---- */

#define TIMES (PERCH_FORMAT_TOTAL_TIME_ENABLED | PERCH_FORMAT_TOTAL_TIME_RUNNING)
#define EACH  (PERCH_FORMAT_ID | PERCH_FORMAT_LOST)

static void read_records(void **state)
{
	struct perch_attr attr = { 0 };
	struct bytes bytes;

	(void)state;
	for (int swap = 0; swap < 2; swap++) {
		bytes.swap = swap;
		attr.read_format = TIMES | EACH;
		begin(&bytes, PERCH_RECORD_READ, 0);
		add_32(&bytes, 7);
		add_32(&bytes, 8);
		for (uint64_t value = 1; value <= 5; value++)
			add_64(&bytes, value);
		expect(&bytes, &attr,
		       "pid=7 tid=8 read={value=1 time_enabled=2 time_running=3 id=4 lost=5}");
		attr.read_format = TIMES | EACH | PERCH_FORMAT_GROUP;
		begin(&bytes, PERCH_RECORD_READ, 0);
		add_32(&bytes, 7);
		add_32(&bytes, 8);
		add_64(&bytes, 2);
		for (uint64_t value = 1; value <= 8; value++)
			add_64(&bytes, value);
		expect(&bytes, &attr,
		       "pid=7 tid=8 read={time_enabled=1 time_running=2 values=2[{value=3 id=4 lost=5} "
		       "{value=6 id=7 lost=8}]}");
	}
}

/* ---- samples ---- */

/* The flags of a branch as on the machine that writes the bytes. */
static uint64_t branch_flags(const struct bytes *bytes, const unsigned int parts[10])
{
	static const unsigned int widths[10] = { 1, 1, 1, 1, 16, 4, 2, 4, 3, 31 };
	bool big = (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__) != bytes->swap;
	unsigned int at = 0;
	uint64_t flags = 0;

	for (size_t i = 0; i < NR(widths); at += widths[i++])
		flags |= (uint64_t)parts[i] << (big ? 64 - at - widths[i] : at);
	return flags;
}

static void trailer_fields(void **state)
{
	const struct perch_attr attr = { .sample_type = SAMPLE_ID_BITS | PERCH_SAMPLE_IP |
							PERCH_SAMPLE_ADDR | PERCH_SAMPLE_PERIOD };
	const struct perch_attr less = { .sample_type = PERCH_SAMPLE_IP, .sample_period = 1000 };
	struct bytes bytes;

	(void)state;
	for (int swap = 0; swap < 2; swap++) {
		bytes.swap = swap;
		begin(&bytes, PERCH_RECORD_SAMPLE, PERCH_MISC_USER);
		add_64(&bytes, 1);
		add_64(&bytes, 2);
		add_32(&bytes, 3);
		add_32(&bytes, UINT32_MAX);
		for (uint64_t value = 4; value <= 7; value++)
			add_64(&bytes, value);
		add_32(&bytes, 8);
		add_32(&bytes, 0);
		add_64(&bytes, 9);
		expect(&bytes, &attr,
		       "identifier=1 ip=0x2 pid=3 tid=-1 time=4ns addr=0x5 id=6 stream_id=7 cpu=8 period=9");
		begin(&bytes, PERCH_RECORD_SAMPLE, PERCH_MISC_USER);
		add_64(&bytes, 1);
		expect(&bytes, &less, "ip=0x1");
	}
}

static void values_chain_and_raw(void **state)
{
	const struct perch_attr attr = {
		.sample_type = PERCH_SAMPLE_READ | PERCH_SAMPLE_CALLCHAIN | PERCH_SAMPLE_RAW,
		.read_format = TIMES | EACH | PERCH_FORMAT_GROUP,
	};
	static const uint64_t chain[] = {
		PERCH_CONTEXT_KERNEL,
		0xffffffff81000000,
		PERCH_CONTEXT_HV,
		PERCH_CONTEXT_GUEST,
		PERCH_CONTEXT_GUEST_KERNEL,
		PERCH_CONTEXT_GUEST_USER,
		PERCH_CONTEXT_USER,
		0x4000,
		PERCH_CONTEXT_USER_DEFERRED,
		PERCH_CONTEXT_USER,
	};
	struct bytes bytes;

	(void)state;
	for (int swap = 0; swap < 2; swap++) {
		bytes.swap = swap;
		begin(&bytes, PERCH_RECORD_SAMPLE, 0);
		add_64(&bytes, 1);
		for (uint64_t value = 2; value <= 6; value++)
			add_64(&bytes, value);
		add_64(&bytes, NR(chain));
		for (size_t i = 0; i < NR(chain); i++)
			add_64(&bytes, chain[i]);
		add_32(&bytes, 4);
		add(&bytes, "\xde\xad\xbe\xef", 4);
		expect(&bytes, &attr,
		       "read={time_enabled=2 time_running=3 values=1[{value=4 id=5 lost=6}]} callchain=10[<KERNEL> "
		       "0xffffffff81000000 <HYPERVISOR> <GUEST> <GUEST_KERNEL> <GUEST_USER> <USER> 0x4000 "
		       "<USER_DEFERRED> 0xfffffffffffffe00] raw=deadbeef");
	}
}

static void single_values(void **state)
{
	const struct perch_attr attr = { .sample_type = PERCH_SAMPLE_READ,
					 .read_format = TIMES | EACH };
	struct bytes bytes = { .swap = false };

	(void)state;
	begin(&bytes, PERCH_RECORD_SAMPLE, 0);
	for (uint64_t value = 1; value <= 5; value++)
		add_64(&bytes, value);
	expect(&bytes, &attr, "read={value=1 time_enabled=2 time_running=3 id=4 lost=5}");
}

static void branches(void **state)
{
	static const unsigned int first[10] = { 1, 0, 1, 1, 12, PERCH_BR_COND, 1, 0, 1, 0 };
	static const unsigned int second[10] = {
		0, 1, 0, 0, 65535, PERCH_BR_EXTEND_ABI, 3, 3, 2, 0
	};
	struct perch_attr attr = { .sample_type = PERCH_SAMPLE_BRANCH_STACK };
	struct bytes bytes;

	(void)state;
	attr.branch_sample_type = PERCH_SAMPLE_BRANCH_HW_INDEX | PERCH_SAMPLE_BRANCH_COUNTERS;
	for (int swap = 0; swap < 2; swap++) {
		bytes.swap = swap;
		begin(&bytes, PERCH_RECORD_SAMPLE, 0);
		add_64(&bytes, 2);
		add_64(&bytes, 17);
		for (uint64_t i = 0; i < 2; i++) {
			add_64(&bytes, 0x1000 + i);
			add_64(&bytes, 0x2000 + i);
			add_64(&bytes, branch_flags(&bytes, i ? second : first));
		}
		add_64(&bytes, 0x21);
		add_64(&bytes, 0x43);
		assert_string_equal(
			fields_of(&bytes, &attr, PERCH_ARCH_ARM64),
			"branch_stack={hw_idx=0x11 entries=2[{from=0x1000 to=0x2000 "
			"flags=<MISPRED|IN_TX|ABORT|COND|SPEC_WRONG_PATH|USER> cycles=12 counters=0x21} "
			"{from=0x1001 to=0x2001 flags=<PREDICTED|FIQ|SPEC_CORRECT_PATH|KERNEL> cycles=65535 "
			"counters=0x43}]}");
		begin(&bytes, PERCH_RECORD_SAMPLE, 0);
		add_64(&bytes, 0);
		expect(&bytes, &attr, "branch_stack={entries=0[]}");
		add_64(&bytes, UINT64_MAX);
		expect(&bytes, &attr, "branch_stack={hw_idx=0xffffffffffffffff entries=0[]}");
	}
}

static void registers_and_stack(void **state)
{
	const struct perch_attr attr = {
		.sample_type = PERCH_SAMPLE_REGS_USER | PERCH_SAMPLE_STACK_USER |
			       PERCH_SAMPLE_REGS_INTR,
		.sample_regs_user = 0x101,
		.sample_regs_intr = 1ull << 33 | 1ull << 31 | 1,
	};
	struct bytes bytes;

	(void)state;
	for (int swap = 0; swap < 2; swap++) {
		bytes.swap = swap;
		begin(&bytes, PERCH_RECORD_SAMPLE, 0);
		add_64(&bytes, PERCH_SAMPLE_REGS_ABI_64);
		add_64(&bytes, 1);
		add_64(&bytes, 2);
		add_64(&bytes, 8);
		add(&bytes, "\1\2\3\4\5\6\7\x8", 8);
		add_64(&bytes, 3);
		add_64(&bytes, PERCH_SAMPLE_REGS_ABI_32);
		for (uint64_t value = 4; value <= 6; value++)
			add_64(&bytes, value);
		expect(&bytes, &attr,
		       "user_regs={abi=<64-bit> ax=0x1 ip=0x2} user_stack={size=8 data=010203 dyn_size=3} "
		       "intr_regs={abi=<32-bit> ax=0x4 reg31=0x5 xmm0h=0x6}");
		begin(&bytes, PERCH_RECORD_SAMPLE, 0);
		for (int i = 0; i < 3; i++)
			add_64(&bytes, 0);
		expect(&bytes, &attr,
		       "user_regs={abi=<NONE>} user_stack={size=0} intr_regs={abi=<NONE>}");
	}
}

static void memory_and_other_fields(void **state)
{
	struct perch_attr attr = {
		.sample_type = PERCH_SAMPLE_WEIGHT_STRUCT | PERCH_SAMPLE_DATA_SRC |
			       PERCH_SAMPLE_TRANSACTION | PERCH_SAMPLE_PHYS_ADDR |
			       PERCH_SAMPLE_CGROUP | PERCH_SAMPLE_DATA_PAGE_SIZE |
			       PERCH_SAMPLE_CODE_PAGE_SIZE | PERCH_SAMPLE_AUX,
	};
	struct bytes bytes;

	(void)state;
	for (int swap = 0; swap < 2; swap++) {
		bytes.swap = swap;
		begin(&bytes, PERCH_RECORD_SAMPLE, 0);
		add_64(&bytes, 0x0003000200000001);
		add_64(&bytes,
		       PERCH_MEM_S(OP, LOAD) | PERCH_MEM_S(LVL, L1) | PERCH_MEM_S(LVL, HIT));
		add_64(&bytes, 0x12ull << 32 | PERCH_TXN_ELISION | PERCH_TXN_SYNC);
		for (uint64_t value = 1; value <= 4; value++)
			add_64(&bytes, value);
		add_64(&bytes, 3);
		add(&bytes, "abc\0\0\0\0\0", 8);
		expect(&bytes, &attr,
		       "weight={var1_dw=1 var2_w=2 var3_w=3} data_src=<LOAD, L1 hit> "
		       "transaction=<ELISION|SYNC, abort code 0x12> phys_addr=0x1 cgroup=2 data_page_size=3 "
		       "code_page_size=4 aux=616263");
		attr.sample_type ^= PERCH_SAMPLE_WEIGHT | PERCH_SAMPLE_WEIGHT_STRUCT;
		expect(&bytes, &attr,
		       "weight=844433520066561 data_src=<LOAD, L1 hit> "
		       "transaction=<ELISION|SYNC, abort code 0x12> phys_addr=0x1 cgroup=2 data_page_size=3 "
		       "code_page_size=4 aux=616263");
		attr.sample_type ^= PERCH_SAMPLE_WEIGHT | PERCH_SAMPLE_WEIGHT_STRUCT;
	}
}

/* ---- unknown types and bytes ---- */

static void unknown_types(void **state)
{
	struct bytes bytes;

	(void)state;
	for (int swap = 0; swap < 2; swap++) {
		bytes.swap = swap;
		begin(&bytes, PERCH_RECORD_MAX, 0);
		add(&bytes, "\xaa\xbb\xcc\xdd\0\0\0\1", 8);
		add_sample_id(&bytes);
		expect(&bytes, &with_sample_id, "bytes=aabbccdd00000001 " SAMPLE_ID_TEXT);
		begin(&bytes, 200, 0);
		add(&bytes, "\xaa\xbb\xcc\xdd\0\0\0\1", 8);
		expect(&bytes, &with_sample_id, "bytes=aabbccdd00000001");
	}
}

static void trailing_bytes(void **state)
{
	const struct perch_attr attr = { .sample_type = PERCH_SAMPLE_IP };
	struct bytes bytes;

	(void)state;
	for (int swap = 0; swap < 2; swap++) {
		bytes.swap = swap;
		begin(&bytes, PERCH_RECORD_LOST, 0);
		add_64(&bytes, 1);
		add_64(&bytes, 2);
		add(&bytes, "newfield", 8);
		add_sample_id(&bytes);
		expect(&bytes, &with_sample_id,
		       "id=1 lost=2 trailing_bytes=6e65776669656c64 " SAMPLE_ID_TEXT);
		begin(&bytes, PERCH_RECORD_SAMPLE, 0);
		add_64(&bytes, 1);
		add(&bytes, "newfield", 8);
		expect(&bytes, &attr, "ip=0x1 trailing_bytes=6e65776669656c64");
	}
}

static int stop_after(void *context, const struct perch_field *field)
{
	(void)field;
	return --*(int *)context ? 0 : -123;
}

static void function_ends_the_visit(void **state)
{
	struct perch_parse_info parse_info;
	struct perch_record record;
	struct bytes bytes = { .swap = false };

	(void)state;
	perch_parse_info_init(&parse_info, &with_sample_id, PERCH_BYTES_NATIVE);
	begin(&bytes, PERCH_RECORD_LOST, 0);
	add_64(&bytes, 1);
	add_64(&bytes, 2);
	add_sample_id(&bytes);
	finish(&bytes);
	assert_int_equal(perch_record_decode(&record, &parse_info, bytes.at, bytes.size, NULL), 0);
	for (int most = 1; most <= 11; most++) {
		int left = most;

		assert_int_equal(perch_record_fields(&record, PERCH_ARCH_X86, stop_after, &left),
				 -123);
		assert_int_equal(left, 0);
	}
	assert_int_equal(perch_record_fields(&record, PERCH_ARCH_X86, stop_after, &(int){ 12 }), 0);
}

/* Must run last: checks what the tests above have seen. */
static void every_row_was_emitted(void **state)
{
	(void)state;
	for (size_t i = 0; i < NR(rows); i++)
		if (!rows[i].seen)
			fail_msg("no test has seen %s %s", rows[i].record, rows[i].name);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(simple_records),
		cmocka_unit_test(mmap2_by_inode_or_build_id),
		cmocka_unit_test(bpf_event_and_text_poke),
		cmocka_unit_test(read_records),
		cmocka_unit_test(trailer_fields),
		cmocka_unit_test(values_chain_and_raw),
		cmocka_unit_test(single_values),
		cmocka_unit_test(branches),
		cmocka_unit_test(registers_and_stack),
		cmocka_unit_test(memory_and_other_fields),
		cmocka_unit_test(unknown_types),
		cmocka_unit_test(trailing_bytes),
		cmocka_unit_test(function_ends_the_visit),
		cmocka_unit_test(every_row_was_emitted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
