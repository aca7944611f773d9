/* SPDX-License-Identifier: MIT */
/* Tests the columns of accesses to memory. */
#include <perch/fields.h>
#include "profile_fixture.h"

static const struct perch_parse_info info = { .sample_type = PERCH_SAMPLE_ADDR |
							     PERCH_SAMPLE_DATA_SRC };

static struct perch_record access_to(uint64_t address, union perch_mem_data_src source)
{
	struct perch_record record = sample_record(PID, PID, 10, CODE + 1);

	record.parse_info = &info;
	record.sample.addr = address;
	record.sample.data_src = source.val;
	return record;
}

static const union perch_mem_data_src l1_hit = {
	.mem_op = PERCH_MEM_OP_LOAD,
	.mem_lvl = PERCH_MEM_LVL_L1 | PERCH_MEM_LVL_HIT,
	.mem_snoop = PERCH_MEM_SNOOP_NONE,
	.mem_lock = PERCH_MEM_LOCK_LOCKED,
	.mem_dtlb = PERCH_MEM_TLB_L1 | PERCH_MEM_TLB_L2 | PERCH_MEM_TLB_HIT,
	.mem_blk = PERCH_MEM_BLK_DATA | PERCH_MEM_BLK_ADDR,
};

static void formats_parts_of_sources(void **state)
{
	static const struct {
		union perch_mem_data_src source;
		enum perch_mem_part part;
		const char *text;
	} cases[] = {
		{ { .mem_op = PERCH_MEM_OP_STORE }, PERCH_MEM_PART_OPERATION, "STORE" },
		{ { .val = 0 }, PERCH_MEM_PART_OPERATION, "No" },
		{ { .val = 0 }, PERCH_MEM_PART_LEVEL, "N/A" },
		{ { .mem_lvl = PERCH_MEM_LVL_L2 | PERCH_MEM_LVL_MISS },
		  PERCH_MEM_PART_LEVEL,
		  "L2 miss" },
		{ { .mem_lvl_num = 3, .mem_remote = 1, .mem_hops = 2 },
		  PERCH_MEM_PART_LEVEL,
		  "Remote node, same socket L3" },
		{ { .mem_snoop = PERCH_MEM_SNOOP_HITM, .mem_snoopx = PERCH_MEM_SNOOPX_PEER },
		  PERCH_MEM_PART_SNOOP,
		  "HitM or Peer" },
		{ { .mem_dtlb = PERCH_MEM_TLB_WK | PERCH_MEM_TLB_MISS },
		  PERCH_MEM_PART_TLB,
		  "Walker miss" },
		{ { .mem_lock = PERCH_MEM_LOCK_NA }, PERCH_MEM_PART_LOCK, "N/A" },
		{ { .val = 0 }, PERCH_MEM_PART_LOCK, "No" },
		{ { .mem_blk = PERCH_MEM_BLK_NA }, PERCH_MEM_PART_BLOCKED, " N/A" },
	};
	char text[64], small[4];

	(void)state;
	for (size_t i = 0; i < NR(cases); i++) {
		size_t length = perch_format_mem_part(cases[i].source.val, cases[i].part, text,
						      sizeof(text));

		assert_string_equal(text, cases[i].text);
		assert_int_equal(length, strlen(text));
		assert_int_equal(perch_format_mem_part(cases[i].source.val, cases[i].part, NULL, 0),
				 length);
		perch_format_mem_part(cases[i].source.val, cases[i].part, small, sizeof(small));
		assert_memory_equal(small, text, strlen(small));
		assert_true(strlen(small) == (length < 3 ? length : 3));
	}
}

static void shows_sources(void **state)
{
	static const char *const cases[][3] = {
		{ "mem", "L1 hit", "N/A" },
		{ "snoop", "None", "N/A" },
		{ "locked", "Yes", "N/A" },
		{ "tlb", "L1 or L2 hit", "N/A" },
		{ "dso_daddr", "first", "[unknown]" },
		{ "blocked", " Data Addr", " N/A" },
	};
	static const struct perch_parse_info none = { .sample_type = PERCH_SAMPLE_ADDR };
	struct fixture *f = *state;

	for (size_t i = 0; i < NR(cases); i++) {
		struct perch_record recorded = access_to(CODE + 0x100, l1_hit);
		struct perch_record without = access_to(0x500, l1_hit);

		without.parse_info = &none;
		start(f, cases[i][0]);
		add(f, &recorded);
		add(f, &recorded);
		add(f, &without);
		finish(f);
		assert_int_equal(rows_of(f, 0, false), 2);
		check_cell(f, 0, cases[i][0], cases[i][1]);
		check_cell(f, 1, cases[i][0], cases[i][2]);
	}
}

/* The data is in the kernel, whatever the mode of the instruction is. */
static void shows_addresses_of_data(void **state)
{
	const uint64_t address[] = { CODE + 0x108, CODE + 0x108, CODE + 0x110, 0xffffffff81000010 };
	struct fixture *f = *state;

	start(f, "symbol_daddr");
	for (size_t i = 0; i < NR(address); i++) {
		struct perch_record record = access_to(address[i], l1_hit);

		add(f, &record);
	}
	finish(f);
	assert_int_equal(rows_of(f, 0, false), 3);
	check_cell(f, 0, "symbol_daddr", "[.] 0x0000000000010108");
	check_cell(f, 1, "symbol_daddr", "[.] 0x0000000000010110");
	check_cell(f, 2, "symbol_daddr", "[k] 0xffffffff81000010");
}

static void merges_accesses_of_a_line(void **state)
{
	const uint64_t address[] = { CODE + 0x108, CODE + 0x13f, CODE + 0x110, CODE + 0x140,
				     0x530 };
	struct fixture *f = *state;

	start(f, "dcacheline");
	for (size_t i = 0; i < NR(address); i++) {
		struct perch_record record = access_to(address[i], l1_hit);

		add(f, &record);
	}
	finish(f);
	assert_int_equal(rows_of(f, 0, false), 3);
	assert_int_equal(f->rows[0].samples, 3);
	check_cell(f, 0, "dcacheline", "[.] 0x0000000000010100");
	check_cell(f, 1, "dcacheline", "[X] 0x0000000000000500");
	check_cell(f, 2, "dcacheline", "[.] 0x0000000000010140");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(formats_parts_of_sources),
		TEST(shows_sources),
		TEST(shows_addresses_of_data),
		TEST(merges_accesses_of_a_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
