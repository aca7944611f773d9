/* SPDX-License-Identifier: MIT */
/* Products that are divided, on machines with and without integers of 128 bits. */
#include "base/wide.h"
#include "test_base.h"

#define MOST UINT64_MAX

static void divides_products(void **state)
{
	static const struct {
		uint64_t left, right, add, divisor, result;
	} rows[] = {
		{ 0, 0, 0, 1, 0 },
		{ 7, 3, 2, 4, 5 },
		{ MOST, 1, 0, 1, MOST },
		{ MOST, MOST, 0, MOST, MOST },
		{ MOST, MOST, MOST - 1, MOST, MOST },
		{ MOST, MOST, MOST, MOST, MOST }, /* 2^64 */
		{ MOST, 2, 0, 1, MOST },
		{ MOST, MOST, MOST, 1, MOST },
		{ MOST, 3, 0, 4, 13835058055282163711ull },
		{ 1ull << 63, 1ull << 63, 0, (1ull << 63) + 1, (1ull << 63) - 1 },
		{ 1ull << 63, 1ull << 63, 0, 1ull << 62, MOST },
		{ 12345678901234567890ull, 9876543210987654321ull, 5, 11111111111111111111ull,
		  10973936802331961570ull },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(perch__divide_product(rows[i].left, rows[i].right, rows[i].add,
						       rows[i].divisor),
				 rows[i].result);
		assert_int_equal(perch__divide_product_by_words(rows[i].left, rows[i].right,
								rows[i].add, rows[i].divisor),
				 rows[i].result);
	}
}

/* Both ways are equal for numbers of all lengths. */
static void words_equal_wide_integers(void **state)
{
	uint64_t seed = 1, number[4];

	(void)state;
	for (int i = 0; i < 100000; i++) {
		for (int j = 0; j < 4; j++) {
			seed = seed * 6364136223846793005ull + 1442695040888963407ull;
			number[j] = (seed ^ seed >> 29) >> (seed >> 58);
		}
		number[3] += !number[3];
		assert_int_equal(perch__divide_product(number[0], number[1], number[2], number[3]),
				 perch__divide_product_by_words(number[0], number[1], number[2],
								number[3]));
	}
}

int test_base_wide(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(divides_products),
		cmocka_unit_test(words_equal_wide_integers),
	};

	return cmocka_run_group_tests_name("base/wide.h", tests, NULL, NULL);
}
