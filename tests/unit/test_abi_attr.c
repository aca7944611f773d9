/* SPDX-License-Identifier: MIT */
/* Attrs as data: tables of fields and bits, parts, and the bytes of both byte orders and other
 * sizes. */
#include <errno.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include <perch/abi.h>

static void field_table_is_complete(void **state)
{
	const struct perch_attr_field *field;
	uint64_t covered = 0;
	size_t nr, end = 0;

	(void)state;
	field = perch_attr_fields(&nr);
	for (size_t i = 0; i < nr; i++) {
		struct perch_attr attr = { 0 };

		assert_ptr_equal(perch_attr_get_field(field[i].name), &field[i]);
		assert_true(i == 0 || field[i].offset >= field[i - 1].offset);
		assert_true(field[i].offset <= end);
		if (field[i].offset + field[i].size > end)
			end = field[i].offset + field[i].size;
		if (field[i].offset == offsetof(struct perch_attr, flags))
			covered += field[i].bits;
		perch_attr_set(&attr, &field[i], UINT64_MAX);
		assert_int_equal(__builtin_popcountll(perch_attr_get(&attr, &field[i])),
				 field[i].bits);
		perch_attr_set(&attr, &field[i], 0);
		assert_int_equal(perch_attr_get(&attr, &field[i]), 0);
		perch_attr_set(&attr, &field[i], 1);
		assert_int_equal(perch_attr_get(&attr, &field[i]), 1);
	}
	assert_int_equal(covered, 64);
	assert_int_equal(end, sizeof(struct perch_attr));
	assert_null(perch_attr_get_field("frobnicate"));
}

/*
 * One attr in both byte orders: type 1, config 2, freq 1000, sample_type
 * IP|TID|TIME, read_format ID, bits disabled, mmap, freq, precise_ip 1, mmap2, cgroup,
 * defer_output; wakeup 7, bp_type 3, addr 0x1122334455667788, len 8, stack 4096, clockid -1,
 * max_stack 127, aux_start_paused and aux_resume, config4 9.
 */
static const unsigned char little[PERCH_ATTR_SIZE_VER9] = {
	[0] = 1,     [4] = 144,	   [8] = 2,	[16] = 0xe8, 0x03, [24] = 7, [32] = 4,
	[40] = 0x01, 0x85,	   0x80,	0x00,	     0x81, [48] = 7, [52] = 3,
	[56] = 0x88, 0x77,	   0x66,	0x55,	     0x44, 0x33,     0x22,
	0x11,	     [64] = 8,	   [89] = 0x10, [92] = 0xff, 0xff, 0xff,     0xff,
	[108] = 127, [116] = 0x05, [136] = 9,
};
static const unsigned char big[PERCH_ATTR_SIZE_VER9] = {
	[3] = 1,     [7] = 144,	   [15] = 2,	[22] = 0x03, 0xe8, [31] = 7, [39] = 4,
	[40] = 0x80, 0xa0,	   0x81,	0x00,	     0x81, [51] = 7, [55] = 3,
	[56] = 0x11, 0x22,	   0x33,	0x44,	     0x55, 0x66,     0x77,
	0x88,	     [71] = 8,	   [90] = 0x10, [92] = 0xff, 0xff, 0xff,     0xff,
	[109] = 127, [116] = 0xa0, [143] = 9,
};

/* The table has every bit of a field once, in the order of printing. */
static void check_bits(const char *field, uint64_t all)
{
	const struct perch_attr_bit *bits;
	uint64_t seen = 0;
	size_t nr;

	bits = perch_attr_bits(&nr);
	for (size_t i = 0; i < nr; i++) {
		if (strcmp(bits[i].field, field))
			continue;
		if (!bits[i].bit || bits[i].bit & (bits[i].bit - 1) || bits[i].bit & seen ||
		    !bits[i].name[0])
			fail_msg("%s %s", field, bits[i].name);
		seen |= bits[i].bit;
	}
	if (seen != all)
		fail_msg("%s: %#llx", field, (unsigned long long)(seen ^ all));
}

static void bit_tables_are_complete(void **state)
{
	const struct perch_attr_bit *bits;
	size_t nr, found = 0;

	(void)state;
	check_bits("sample_type", PERCH_SAMPLE_MAX - 1);
	check_bits("read_format", PERCH_FORMAT_MAX - 1);
	check_bits("branch_sample_type", PERCH_SAMPLE_BRANCH_MAX - 1);
	bits = perch_attr_bits(&nr);
	for (size_t i = 0; i < nr; i++) {
		assert_non_null(perch_attr_get_field(bits[i].field));
		found += !strcmp(bits[i].name, "CGROUP") && bits[i].bit == PERCH_SAMPLE_CGROUP &&
			 !strcmp(bits[i].since, "5.7");
		found += !strcmp(bits[i].name, "LOST") && bits[i].bit == PERCH_FORMAT_LOST &&
			 !strcmp(bits[i].since, "6.0");
		found += !strcmp(bits[i].name, "COUNTERS") &&
			 bits[i].bit == PERCH_SAMPLE_BRANCH_COUNTERS;
	}
	assert_int_equal(found, 3);
}

/* Fields that are not 0, with perf's names for words of several fields; bits by their names. */
static void attr_is_formatted(void **state)
{
	static const struct perch_attr attr = {
		.config = 0x1c2,
		.sample_freq = 99,
		.freq = 1,
		.sample_type = PERCH_SAMPLE_IP | PERCH_SAMPLE_CGROUP | UINT64_C(1) << 60,
		.bp_addr = 16,
		.clockid = -2,
	};
	static const char *const expected[][2] = {
		{ "config", "0x1c2" },
		{ "{ sample_period, sample_freq }", "99" },
		{ "sample_type", "IP|CGROUP|0x1000000000000000" },
		{ "freq", "1" },
		{ "{ bp_addr, config1 }", "0x10" },
		{ "clockid", "-2" },
	};
	struct perch_attr_text text;
	char bits[8] = "x";
	size_t index = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(expected) / sizeof(*expected); i++) {
		assert_true(perch_attr_next_text(&attr, &index, &text));
		assert_string_equal(text.label, expected[i][0]);
		assert_string_equal(text.value, expected[i][1]);
	}
	assert_false(perch_attr_next_text(&attr, &index, &text));
	assert_true(perch_attr_bits_text("sample_type", attr.sample_type, bits, sizeof(bits)));
	assert_string_equal(bits, "IP|CGRO");
	assert_false(perch_attr_bits_text("config", 1, bits, sizeof(bits)));
	assert_string_equal(bits, "");
}

static void attr_splits_into_parts(void **state)
{
	const struct perch_attr attr = {
		.type = 1,
		.size = 144,
		.config = 5,
		.sample_period = 3,
		.wakeup_events = 1,
		.ksymbol = 1,
		.sample_type = PERCH_SAMPLE_IP | PERCH_SAMPLE_CGROUP | UINT64_C(3) << 60,
	};
	static const struct {
		const char *field, *bit;
		unsigned rank;
	} expected[] = {
		{ "sample_period", NULL, 0 },	      { "sample_type", "IP", 0 },
		{ "sample_type", "CGROUP", 5007000 }, { "sample_type", NULL, UINT_MAX },
		{ "ksymbol", NULL, 5001000 },	      { "wakeup_events", NULL, 0 },
	};
	struct perch_attr_part part[PERCH_ATTR_PARTS_MAX];
	struct perch_attr all;

	(void)state;
	assert_int_equal(perch_attr_split(&attr, NULL, 0), 6);
	assert_int_equal(perch_attr_split(&attr, part, 128), 6);
	for (size_t i = 0; i < 6; i++) {
		assert_string_equal(part[i].field->name, expected[i].field);
		assert_int_equal(!part[i].bit, !expected[i].bit);
		if (part[i].bit)
			assert_string_equal(part[i].bit->name, expected[i].bit);
		assert_int_equal(part[i].rank, expected[i].rank);
	}
	assert_true(part[3].mask == UINT64_C(3) << 60);
	part[1].mask = 0;
	assert_int_equal(perch_attr_split(&attr, part, 1), 6);
	assert_true(part[1].mask == 0);
	memset(&all, 0xff, sizeof(all));
	assert_in_range(perch_attr_split(&all, part, PERCH_ATTR_PARTS_MAX), 100,
			PERCH_ATTR_PARTS_MAX);
}

static void releases_have_an_order(void **state)
{
	(void)state;
	assert_int_equal(perch_release_rank(""), 0);
	assert_int_equal(perch_release_rank("2.6.39"), 2006039);
	assert_int_equal(perch_release_rank("6.13"), 6013000);
	assert_int_equal(perch_release_rank("6.1.0-18-amd64"), 6001000);
	assert_int_equal(perch_release_rank("6.19-rc1"), 6019000);
	assert_int_equal(perch_release_rank("next"), 0);
	assert_true(perch_release_rank("4.9.337") < perch_release_rank("4.10"));
}

static void check_attr(const struct perch_attr *attr)
{
	assert_int_equal(attr->type, 1);
	assert_int_equal(attr->size, 144);
	assert_int_equal(attr->config, 2);
	assert_int_equal(attr->sample_freq, 1000);
	assert_int_equal(attr->sample_type, 7);
	assert_int_equal(attr->read_format, PERCH_FORMAT_ID);
	assert_int_equal(attr->disabled, 1);
	assert_int_equal(attr->inherit, 0);
	assert_int_equal(attr->mmap, 1);
	assert_int_equal(attr->freq, 1);
	assert_int_equal(attr->watermark, 0);
	assert_int_equal(attr->precise_ip, 1);
	assert_int_equal(attr->mmap2, 1);
	assert_int_equal(attr->cgroup, 1);
	assert_int_equal(attr->defer_callchain, 0);
	assert_int_equal(attr->defer_output, 1);
	assert_int_equal(attr->reserved_1, 0);
	assert_int_equal(attr->wakeup_events, 7);
	assert_int_equal(attr->bp_type, 3);
	assert_true(attr->bp_addr == UINT64_C(0x1122334455667788));
	assert_int_equal(attr->bp_len, 8);
	assert_int_equal(attr->sample_stack_user, 4096);
	assert_int_equal(attr->clockid, -1);
	assert_int_equal(attr->sample_max_stack, 127);
	assert_int_equal(attr->aux_start_paused, 1);
	assert_int_equal(attr->aux_pause, 0);
	assert_int_equal(attr->aux_resume, 1);
	assert_int_equal(attr->config4, 9);
}

static void reads_both_byte_orders(void **state)
{
	bool here_big = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
	struct perch_attr attr;

	(void)state;
	assert_int_equal(perch_attr_from_bytes(&attr, little, sizeof(little), PERCH_BYTES_LITTLE),
			 0);
	check_attr(&attr);
	assert_int_equal(perch_attr_from_bytes(&attr, big, sizeof(big), PERCH_BYTES_BIG), 0);
	check_attr(&attr);
	/* the bit-fields have the layout of the compiler */
	assert_int_equal(perch_attr_from_bytes(&attr, here_big ? big : little, sizeof(attr),
					       PERCH_BYTES_NATIVE),
			 0);
	assert_memory_equal(&attr, here_big ? big : little, sizeof(attr));
}

static void reads_other_attr_sizes(void **state)
{
	unsigned char longer[PERCH_ATTR_SIZE_VER9 + 24] = { 0 };
	struct perch_attr attr;

	(void)state;
	for (size_t size = 0; size < PERCH_ATTR_SIZE_VER0; size++)
		assert_int_equal(perch_attr_from_bytes(&attr, little, size, PERCH_BYTES_NATIVE),
				 -EINVAL);
	for (size_t size = PERCH_ATTR_SIZE_VER0; size <= sizeof(little); size += 8) {
		memset(&attr, 0xee, sizeof(attr));
		assert_int_equal(perch_attr_from_bytes(&attr, little, size, PERCH_BYTES_NATIVE), 0);
		assert_memory_equal(&attr, little, size);
		for (size_t i = size; i < sizeof(attr); i++)
			assert_int_equal(((unsigned char *)&attr)[i], 0);
	}
	memcpy(longer, little, sizeof(little));
	assert_int_equal(perch_attr_from_bytes(&attr, longer, sizeof(longer), PERCH_BYTES_NATIVE),
			 0);
	longer[sizeof(longer) - 1] = 1;
	assert_int_equal(perch_attr_from_bytes(&attr, longer, sizeof(longer), PERCH_BYTES_NATIVE),
			 1);
	assert_memory_equal(&attr, little, sizeof(little));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bit_tables_are_complete), cmocka_unit_test(attr_is_formatted),
		cmocka_unit_test(attr_splits_into_parts),  cmocka_unit_test(releases_have_an_order),
		cmocka_unit_test(field_table_is_complete), cmocka_unit_test(reads_both_byte_orders),
		cmocka_unit_test(reads_other_attr_sizes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
