/* SPDX-License-Identifier: MIT */
/* The hash table: lookup, growth, collisions, removal, and the hashes themselves. */
#include "base/hash_table.h"
#include "test_base.h"

#define KEYS 5000u

static uint64_t key_of[KEYS];

static bool same_key(const void *items, uint32_t index, const void *key)
{
	return ((const uint64_t *)items)[index] == *(const uint64_t *)key;
}

static uint32_t find(const struct perch__hash_table *table, uint64_t hash, uint64_t key)
{
	return perch__hash_find(table, hash, same_key, key_of, &key);
}

static void make_keys(void)
{
	for (uint32_t i = 0; i < KEYS; i++)
		key_of[i] = (uint64_t)i * i * 4096 + i;
}

static void finds_added_items(void **state)
{
	struct perch__hash_table table = { .seed = perch__hash_seed(&table) };
	(void)state;

	make_keys();
	assert_int_equal(find(&table, 1, 1), PERCH__HASH_NONE);
	for (uint32_t i = 0; i < KEYS; i++) {
		uint64_t hash = perch__hash_integer(table.seed, key_of[i]);

		assert_int_equal(find(&table, hash, key_of[i]), PERCH__HASH_NONE);
		assert_int_equal(perch__hash_add(&table, hash, i), 0);
		assert_true(2 * table.nr <= table.mask + 1);
	}
	assert_int_equal(table.nr, KEYS);
	for (uint32_t i = 0; i < KEYS; i++)
		assert_int_equal(
			find(&table, perch__hash_integer(table.seed, key_of[i]), key_of[i]), i);
	assert_int_equal(find(&table, perch__hash_integer(table.seed, 3), 3), PERCH__HASH_NONE);
	perch__hash_clear(&table);
	assert_int_equal(find(&table, perch__hash_integer(table.seed, key_of[0]), key_of[0]),
			 PERCH__HASH_NONE);
}

static void distinguishes_equal_hashes(void **state)
{
	struct perch__hash_table table = { 0 };
	(void)state;

	make_keys();
	for (uint32_t i = 0; i < 300; i++)
		assert_int_equal(perch__hash_add(&table, 0xffffffff, i), 0);
	for (uint32_t i = 0; i < 300; i++)
		assert_int_equal(find(&table, 0xffffffff, key_of[i]), i);
	assert_int_equal(find(&table, 0xffffffff, 3), PERCH__HASH_NONE);
	perch__hash_clear(&table);
}

static void keeps_other_items_after_a_removal(void **state)
{
	struct perch__hash_table table = { 0 };
	(void)state;

	make_keys();
	/* few distinct hashes at the end of the table make long clusters that wrap around */
	for (uint32_t i = 0; i < 1000; i++)
		assert_int_equal(perch__hash_add(&table, UINT64_MAX - i % 7, i), 0);
	for (uint32_t i = 0; i < 1000; i += 3)
		perch__hash_remove(&table, UINT64_MAX - i % 7, i);
	for (uint32_t i = 0; i < 1000; i++)
		assert_int_equal(find(&table, UINT64_MAX - i % 7, key_of[i]),
				 i % 3 ? i : PERCH__HASH_NONE);
	assert_int_equal(table.nr, 666);
	perch__hash_remove(&table, 5, 0);
	perch__hash_move(&table, UINT64_MAX - 1, 1, 3);
	assert_int_equal(find(&table, UINT64_MAX - 1, key_of[3]), 3);
	assert_int_equal(find(&table, UINT64_MAX - 1, key_of[1]), PERCH__HASH_NONE);
	perch__hash_clear(&table);
}

static void reserves_once(void **state)
{
	struct perch__hash_table table = { 0 };
	const struct perch__hash_slot *slot;
	(void)state;

	assert_int_equal(perch__hash_reserve(&table, KEYS), 0);
	slot = table.slot;
	for (uint32_t i = 0; i < KEYS; i++)
		assert_int_equal(perch__hash_add(&table, perch__hash_integer(0, i), i), 0);
	assert_ptr_equal(table.slot, slot);
	assert_int_equal(perch__hash_reserve(&table, (size_t)PERCH__HASH_MAX + 1), -ENOMEM);
	assert_int_equal(perch__hash_add(&table, 0, (size_t)PERCH__HASH_MAX + 1), -ENOMEM);
	assert_int_equal(table.nr, KEYS);
	perch__hash_clear(&table);
}

/* Sequential numbers must fill 256 slots evenly. */
static void check_distribution(uint64_t (*hash)(uint64_t seed, uint64_t number), unsigned int shift)
{
	unsigned int count[256] = { 0 };

	for (uint64_t i = 0; i < 256 * 64; i++)
		count[hash(0x1234567, i << shift) & 255]++;
	for (int i = 0; i < 256; i++) {
		assert_true(count[i] > 16);
		assert_true(count[i] < 160);
	}
}

static uint64_t hash_first(uint64_t seed, uint64_t number)
{
	return perch__hash_pair(seed, number, 5);
}

static uint64_t hash_second(uint64_t seed, uint64_t number)
{
	return perch__hash_pair(seed, 5, number);
}

static uint64_t hash_number(uint64_t seed, uint64_t number)
{
	return perch__hash_bytes(seed, &number, sizeof(number));
}

static void distributes_sequences_evenly(void **state)
{
	(void)state;
	for (unsigned int shift = 0; shift <= 48; shift += 4) {
		check_distribution(perch__hash_integer, shift);
		check_distribution(hash_first, shift);
		check_distribution(hash_second, shift);
		check_distribution(hash_number, shift);
	}
}

static void hashes_depend_on_every_byte_and_the_seed(void **state)
{
	char text[32] = "0123456789abcdefghijklmnopqrstu";
	uint64_t hash;
	(void)state;

	for (size_t size = 0; size < sizeof(text); size++) {
		hash = perch__hash_bytes(1, text, size);
		assert_true(hash == perch__hash_bytes(1, text, size));
		assert_true(hash != perch__hash_bytes(2, text, size));
		assert_true(hash != perch__hash_bytes(1, text, size + 1));
		for (size_t i = 0; i < size; i++) {
			text[i] ^= 1;
			assert_true(hash != perch__hash_bytes(1, text, size));
			text[i] ^= 1;
		}
	}
	assert_true(perch__hash_bytes(1, "\0", 1) != perch__hash_bytes(1, "\0\0", 2));
	assert_true(perch__hash_text(1, "ab") == perch__hash_bytes(1, "ab", 2));
	assert_true(perch__hash_pair(1, 2, 3) != perch__hash_pair(1, 3, 2));
	assert_true(perch__hash_pair(1, 2, 3) != perch__hash_pair(2, 2, 3));
}

int test_base_hash_table(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_added_items),
		cmocka_unit_test(distinguishes_equal_hashes),
		cmocka_unit_test(keeps_other_items_after_a_removal),
		cmocka_unit_test(reserves_once),
		cmocka_unit_test(distributes_sequences_evenly),
		cmocka_unit_test(hashes_depend_on_every_byte_and_the_seed),
	};

	return cmocka_run_group_tests_name("base/hash_table.h", tests, NULL, NULL);
}
