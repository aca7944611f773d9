/* SPDX-License-Identifier: MIT */
/*
 * Attrs of other machines: perch_attr_from_bytes() returns the fields that were written, for every
 * size and both byte orders. PERCH_SEED and PERCH_CASES choose the cases.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "build/build.h"

#define CASES 500

static struct build_bytes bytes;
static struct build_attr_values values;

static enum perch_byte_order order(void)
{
	return bytes.big_endian ? PERCH_BYTES_BIG : PERCH_BYTES_LITTLE;
}

/* From a memory block of exactly this size. */
static int from_bytes(struct perch_attr *attr, size_t size)
{
	void *block = malloc(size ? size : 1);
	int rc;

	assert_non_null(block);
	memcpy(block, bytes.byte, size);
	rc = perch_attr_from_bytes(attr, block, size, order());
	free(block);
	return rc;
}

/*
 * Fields after the end of the bytes are zero. A field may be cut in half, because sizes are
 * multiples of 8.
 */
static void check_fields(const struct perch_attr *attr, size_t size)
{
	size_t nr, at = 0;
	unsigned bit = 0;
	const struct build_attr_field *field = build_attr_fields(&nr);

	for (size_t i = 0; i < nr; i++) {
		const struct perch_attr_field *here = perch_attr_get_field(field[i].name);
		uint64_t wanted = at + field[i].bytes <= size ? values.value[i] : 0;

		assert_int_equal(values.nr, nr);
		if (here && perch_attr_get(attr, here) != wanted)
			fail_msg("%s endian, %zu bytes: %s is 0x%llx, not 0x%llx",
				 bytes.big_endian ? "big" : "little", size, field[i].name,
				 (unsigned long long)perch_attr_get(attr, here),
				 (unsigned long long)wanted);
		if (!here && strncmp(field[i].name, "reserved", 8))
			fail_msg("perch has no field %s", field[i].name);
		bit += field[i].bits;
		if (!field[i].bits || bit == 8 * field[i].bytes) {
			at += field[i].bytes;
			bit = 0;
		}
	}
	assert_int_equal(at, BUILD_ATTR_BYTES);
}

static void every_size_in_both_orders(void **state)
{
	uint64_t seed = build_number_from("PERCH_SEED", 1),
		 cases = build_number_from("PERCH_CASES", CASES);
	struct perch_attr attr;

	(void)state;
	printf("seeds %llu and %llu more\n", (unsigned long long)seed,
	       (unsigned long long)cases - 1);
	for (uint64_t i = 0; i < 2 * cases; i++) {
		struct build_rng rng = { .state = seed + i / 2 };

		build_fill_attr(&values, &rng);
		bytes.big_endian = i & 1;
		build_write_attr(&bytes, &values);
		assert_int_equal(bytes.size, BUILD_ATTR_BYTES);
		for (size_t size = PERCH_ATTR_SIZE_VER0; size <= BUILD_ATTR_BYTES; size += 8) {
			memset(&attr, 0xee, sizeof(attr));
			assert_int_equal(from_bytes(&attr, size), 0);
			check_fields(&attr, size);
		}
		for (size_t size = 0; size < PERCH_ATTR_SIZE_VER0; size++)
			assert_int_equal(from_bytes(&attr, size), -EINVAL);
	}
}

/* Fields of a newer kernel are left out, and reported if they are not zero. */
static void newer_fields_are_reported(void **state)
{
	struct build_rng rng = { .state = 1 };
	struct perch_attr attr;

	(void)state;
	for (int big = 0; big < 2; big++) {
		build_fill_attr(&values, &rng);
		bytes.big_endian = big;
		build_write_attr(&bytes, &values);
		build_put_zeros(&bytes, 64);
		assert_int_equal(from_bytes(&attr, bytes.size), 0);
		check_fields(&attr, bytes.size);
		for (size_t at = BUILD_ATTR_BYTES; at < bytes.size; at++) {
			bytes.byte[at] = 0x10;
			assert_int_equal(from_bytes(&attr, bytes.size), 1);
			check_fields(&attr, bytes.size);
			bytes.byte[at] = 0;
		}
	}
}

/* Sizes of no version: nothing beyond them is read, and complete fields are right. */
static void incomplete_fields_are_cut(void **state)
{
	struct build_rng rng = { .state = 2 };
	struct perch_attr attr;

	(void)state;
	for (int big = 0; big < 2; big++) {
		build_fill_attr(&values, &rng);
		bytes.big_endian = big;
		build_write_attr(&bytes, &values);
		for (size_t size = PERCH_ATTR_SIZE_VER0; size < BUILD_ATTR_BYTES; size++) {
			assert_int_equal(from_bytes(&attr, size), 0);
			assert_int_equal(attr.type, values.value[0]);
			assert_int_equal(attr.config, values.value[2]);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_size_in_both_orders),
		cmocka_unit_test(newer_fields_are_reported),
		cmocka_unit_test(incomplete_fields_are_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
