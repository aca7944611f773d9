/* SPDX-License-Identifier: MIT */
/*
 * Builds random records of every type, for random attrs, in both byte orders, and compares the
 * decoded record with its description. Case n has the seed PERCH_SEED + n: that seed with
 * PERCH_CASES=1 repeats the case.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <perch/record.h>

#include "build/build.h"

#define CASES 4000

static struct build_record wanted;
static struct build_bytes bytes;

static enum perch_byte_order order_of(const struct build_shape *shape)
{
	return shape->big_endian ? PERCH_BYTES_BIG : PERCH_BYTES_LITTLE;
}

/* NULL, or the difference. The record is at the end of a memory block of its own. */
static const char *round_trip(struct perch_record *record, struct perch_parse_info *parse_info)
{
	const char *difference;
	struct perch_error err = { 0 };
	struct perch_attr attr;
	void *copy;

	build_write(&bytes, &wanted);
	build_attr(&attr, &wanted.shape);
	perch_parse_info_init(parse_info, &attr, order_of(&wanted.shape));
	copy = malloc(bytes.size);
	assert_non_null(copy);
	memcpy(copy, bytes.byte, bytes.size);
	memset(record, 0xee, sizeof(*record)); /* nothing of the previous record may remain */
	if (perch_record_decode(record, parse_info, copy, bytes.size, &err)) {
		static char refused[600];

		snprintf(refused, sizeof(refused), "refused: %s", err.message);
		difference = refused;
	} else {
		difference = build_difference(record, &wanted);
	}
	free(copy);
	return difference;
}

static void try_types(uint32_t type)
{
	uint64_t seed = build_number_from("PERCH_SEED", 1),
		 cases = build_number_from("PERCH_CASES", CASES);
	struct perch_record record;
	struct perch_parse_info parse_info;

	printf("type %u: seeds %llu and %llu more\n", type, (unsigned long long)seed,
	       (unsigned long long)cases - 1);
	for (uint64_t i = 0; i < cases; i++) {
		struct build_rng rng = { .state = seed + i };
		const char *difference;

		build_fill_shape(&wanted.shape, &rng);
		build_fill(&wanted, type, &rng);
		difference = round_trip(&record, &parse_info);
		if (difference)
			fail_msg(
				"PERCH_SEED=%llu PERCH_CASES=1: type %u, %s endian, sample_type 0x%llx: %s",
				(unsigned long long)(seed + i), wanted.type,
				wanted.shape.big_endian ? "big" : "little",
				(unsigned long long)wanted.shape.sample_type, difference);
	}
}

static void every_sample_equals_its_description(void **state)
{
	(void)state;
	try_types(PERCH_RECORD_SAMPLE);
}

static void every_other_record_equals_its_description(void **state)
{
	(void)state;
	for (uint32_t type = PERCH_RECORD_MMAP; type < PERCH_RECORD_MAX; type++)
		if (type != PERCH_RECORD_SAMPLE)
			try_types(type);
}

static void records_of_unknown_types_have_a_sample_id(void **state)
{
	(void)state;
	try_types(PERCH_RECORD_MAX);
	try_types(63);
}

/* Samples with a single field, and with all fields but one, with each read format. */
static void decodes_each_field_by_itself_and_left_out(void **state)
{
	uint64_t seed = build_number_from("PERCH_SEED", 1);
	struct perch_record record;
	struct perch_parse_info parse_info;

	(void)state;
	for (unsigned i = 0; i < 25 * 32 * 4; i++) {
		struct build_rng rng = { .state = seed + i };
		uint64_t bit = UINT64_C(1) << i / 128, both = PERCH_SAMPLE_WEIGHT_TYPE;
		const char *difference;

		build_fill_shape(&wanted.shape, &rng);
		wanted.shape.big_endian = i & 2;
		wanted.shape.read_format = i / 4 % 32;
		wanted.shape.sample_type = bit;
		if (i & 1)
			wanted.shape.sample_type = (PERCH_SAMPLE_MAX - 1) &
						   ~(bit & both ? bit : bit | PERCH_SAMPLE_WEIGHT);
		build_fill(&wanted, PERCH_RECORD_SAMPLE, &rng);
		difference = round_trip(&record, &parse_info);
		if (difference)
			fail_msg("sample_type 0x%llx, read_format 0x%llx: %s",
				 (unsigned long long)wanted.shape.sample_type,
				 (unsigned long long)wanted.shape.read_format, difference);
	}
}

/* The largest record: a sample of 65528 bytes, mostly stack. */
static void decodes_largest_sample(void **state)
{
	struct perch_parse_info parse_info;
	struct perch_record record;
	struct perch_error err;
	struct perch_attr attr;
	size_t stack = BUILD_RECORD_MAX - 8 - 16;

	(void)state;
	for (int big = 0; big < 2; big++) {
		wanted.shape = (struct build_shape){ .big_endian = big,
						     .sample_type = PERCH_SAMPLE_STACK_USER };
		bytes.big_endian = big;
		bytes.size = 0;
		build_put_number(&bytes, PERCH_RECORD_SAMPLE, 4);
		build_put_number(&bytes, PERCH_MISC_USER, 2);
		build_put_number(&bytes, BUILD_RECORD_MAX, 2);
		build_put_number(&bytes, stack, 8);
		build_put_zeros(&bytes, stack);
		build_put_number(&bytes, stack - 24, 8);
		build_attr(&attr, &wanted.shape);
		perch_parse_info_init(&parse_info, &attr, order_of(&wanted.shape));
		assert_int_equal(
			perch_record_decode(&record, &parse_info, bytes.byte, bytes.size, &err), 0);
		assert_int_equal(record.size, BUILD_RECORD_MAX);
		assert_int_equal(record.sample.stack_user.size, stack);
		assert_int_equal(record.sample.stack_user.dynamic_size, stack - 24);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_sample_equals_its_description),
		cmocka_unit_test(every_other_record_equals_its_description),
		cmocka_unit_test(records_of_unknown_types_have_a_sample_id),
		cmocka_unit_test(decodes_each_field_by_itself_and_left_out),
		cmocka_unit_test(decodes_largest_sample),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
