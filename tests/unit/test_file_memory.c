/* SPDX-License-Identifier: MIT */
/* The reader allocates memory per file, not per record. */
#include "file_fixture.h"
#include "count_allocations.h"

#define FEW  300
#define MANY (100 * FEW)

/* Samples that are slightly out of order, as those of several rings are. */
static void make_long_file(unsigned nr)
{
	struct perch_writer *writer = open_writer();

	for (unsigned i = 0; i < nr; i++)
		put_sample(writer, ids[i % 3], 1000 + 10 * (i ^ 5));
	close_writer(writer);
}

static size_t allocations_of(unsigned nr, enum perch_order order)
{
	size_t before;
	struct perch_reader *reader;

	make_long_file(nr);
	before = allocations;
	reader = open_reader(order);
	assert_true(allocations > before); /* counting works */
	assert_int_equal(read_all(reader), nr);
	perch_reader_close(reader);
	return allocations - before;
}

static void reading_allocates_nothing_per_record(void **state)
{
	(void)state;
	if (!count_allocations())
		skip(); /* the allocator of this C library cannot be replaced */
	assert_int_equal(allocations_of(MANY, PERCH_ORDER_FILE),
			 allocations_of(FEW, PERCH_ORDER_FILE));
	/* PERCH_ORDER_TIME has an index, whose capacity doubles */
	assert_in_range(allocations_of(MANY, PERCH_ORDER_TIME), 1,
			allocations_of(FEW, PERCH_ORDER_TIME) + 40);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(
		reading_allocates_nothing_per_record) };

	return cmocka_run_group_tests(tests, make_test_directory, remove_test_directory);
}
