/* SPDX-License-Identifier: MIT */
/* Growing arrays: capacity, limits, overflow. */
#include "base/array.h"
#include "test_base.h"

struct item {
	uint64_t number;
	char text[24];
};

struct list {
	struct item *item;
	size_t nr, capacity;
};

static void appends_zeroed_items(void **state)
{
	struct list list = { 0 };
	(void)state;

	for (size_t i = 0; i < 1000; i++) {
		struct item *item = PERCH__ARRAY_APPEND(list.item, list.nr, list.capacity);

		assert_non_null(item);
		assert_int_equal(item->number, 0);
		assert_int_equal(item->text[0], 0);
		assert_int_equal(list.nr, i + 1);
		assert_true(list.capacity >= list.nr);
		memset(item, 0xff, sizeof(*item));
		item->number = i;
	}
	for (size_t i = 0; i < list.nr; i++)
		assert_int_equal(list.item[i].number, i);
	free(list.item);
}

static void grows_in_few_steps(void **state)
{
	uint32_t *items = NULL;
	size_t capacity = 0, steps = 0;
	(void)state;

	for (size_t nr = 0; nr < 100000; nr++) {
		size_t before = capacity;

		assert_int_equal(PERCH__ARRAY_RESERVE(items, capacity, nr + 1), 0);
		steps += capacity != before;
		items[nr] = nr;
	}
	assert_true(steps < 20);
	assert_int_equal(items[99999], 99999);
	free(items);
}

static void keeps_a_sufficient_capacity(void **state)
{
	char *bytes = NULL;
	unsigned int capacity = 0;
	(void)state;

	assert_int_equal(PERCH__ARRAY_RESERVE(bytes, capacity, 0), 0);
	assert_null(bytes);
	assert_int_equal(PERCH__ARRAY_RESERVE(bytes, capacity, 5000), 0);
	assert_int_equal(capacity, 5000);
	assert_int_equal(PERCH__ARRAY_RESERVE(bytes, capacity, 10), 0);
	assert_int_equal(capacity, 5000);
	assert_int_equal(PERCH__ARRAY_RESERVE(bytes, capacity, 5001), 0);
	assert_int_equal(capacity, 10000);
	free(bytes);
}

static void stops_at_the_maximum(void **state)
{
	struct list list = { 0 };
	(void)state;

	for (int i = 0; i < 100; i++)
		assert_non_null(PERCH__ARRAY_APPEND_MAX(list.item, list.nr, list.capacity, 100));
	assert_int_equal(list.capacity, 100);
	assert_null(PERCH__ARRAY_APPEND_MAX(list.item, list.nr, list.capacity, 100));
	assert_int_equal(list.nr, 100);
	assert_int_equal(PERCH__ARRAY_RESERVE_MAX(list.item, list.capacity, 101, 100), -ENOMEM);
	assert_int_equal(list.capacity, 100);
	free(list.item);
}

static void refuses_sizes_that_overflow(void **state)
{
	struct item *items = NULL;
	size_t capacity = 0;
	(void)state;

	assert_int_equal(PERCH__ARRAY_RESERVE(items, capacity, SIZE_MAX), -ENOMEM);
	assert_int_equal(PERCH__ARRAY_RESERVE(items, capacity, SIZE_MAX / sizeof(*items) + 2),
			 -ENOMEM);
	assert_null(items);
	assert_int_equal(capacity, 0);
	assert_int_equal(PERCH__ARRAY_RESERVE_BY_NR(items, 0, SIZE_MAX), -ENOMEM);
	assert_int_equal(PERCH__ARRAY_RESERVE_BY_NR(items, 3, SIZE_MAX), -ENOMEM);
	assert_null(items);
}

static void zeroes_new_items_only(void **state)
{
	uint16_t *items = NULL;
	size_t nr = 0;
	(void)state;

	assert_int_equal(PERCH__ARRAY_RESERVE_ZEROED(items, nr, 3), 0);
	for (size_t i = 0; i < nr; i++) {
		assert_int_equal(items[i], 0);
		items[i] = 7;
	}
	for (size_t i = nr, old = nr; old == nr; i++)
		assert_int_equal(PERCH__ARRAY_RESERVE_ZEROED(items, nr, i + 1), 0);
	assert_int_equal(items[0], 7);
	assert_int_equal(items[nr - 1], 0);
	assert_int_equal(PERCH__ARRAY_RESERVE_ZEROED(items, nr, SIZE_MAX), -ENOMEM);
	free(items);
}

static void grows_without_a_capacity(void **state)
{
	int *items = NULL;
	size_t nr = 0;
	(void)state;

	assert_int_equal(PERCH__ARRAY_RESERVE_BY_NR(items, nr, 0), 0);
	assert_null(items);
	while (nr < 1000) {
		assert_int_equal(PERCH__ARRAY_RESERVE_BY_NR(items, nr, 1), 0);
		items[nr] = (int)nr;
		nr++;
	}
	assert_int_equal(PERCH__ARRAY_RESERVE_BY_NR(items, nr, 5000), 0);
	for (int i = 0; i < 5000; i++)
		items[nr++] = 0;
	for (int i = 0; i < 1000; i++)
		assert_int_equal(items[i], i);
	free(items);
}

/* Large arrays begin with a large page, can grow, and keep their content. */
static void allocates_large_pages(void **state)
{
	const size_t page = PERCH__LARGE_PAGES_FROM,
		     sizes[] = { 1, page - 1, page, page + 1, 3 * page };

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		unsigned char *memory = perch__large_alloc(sizes[i]), *larger;

		assert_non_null(memory);
		if (sizes[i] >= page)
			assert_int_equal((uintptr_t)memory % page, 0);
		memset(memory, 0x5a, sizes[i]);
		larger = realloc(memory, 2 * sizes[i]);
		assert_non_null(larger);
		for (size_t at = 0; at < sizes[i]; at++)
			assert_true(larger[at] == 0x5a);
		free(larger);
	}
	assert_null(perch__large_alloc(PTRDIFF_MAX));
	assert_null(perch__large_alloc(SIZE_MAX - 1));
}

int test_base_array(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(appends_zeroed_items),
		cmocka_unit_test(grows_in_few_steps),
		cmocka_unit_test(keeps_a_sufficient_capacity),
		cmocka_unit_test(stops_at_the_maximum),
		cmocka_unit_test(refuses_sizes_that_overflow),
		cmocka_unit_test(zeroes_new_items_only),
		cmocka_unit_test(grows_without_a_capacity),
		cmocka_unit_test(allocates_large_pages),
	};

	return cmocka_run_group_tests_name("base/array.h", tests, NULL, NULL);
}
