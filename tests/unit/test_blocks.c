/* SPDX-License-Identifier: MIT */
/* Basic blocks of branch stacks: those of this process, because its functions have names. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include <cmocka.h>
#include <perch/blocks.h>

#define ANY   PERCH_SAMPLE_BRANCH_ANY
#define CALLS PERCH_SAMPLE_BRANCH_ANY_CALL

/* Functions of more than 16 bytes, which differ, so that the compiler does not make one of them. */
#define FUNCTION(name, factor)                                                         \
	__attribute__((noinline, used)) static int name(int number)                    \
	{                                                                              \
		for (volatile int i = 0; i < number; i++)                              \
			number += number % (i + factor) + (i ^ number) / (number + 3); \
		return number;                                                         \
	}
FUNCTION(one, 1)
FUNCTION(other, 2)

static const uintptr_t first = (uintptr_t)one, second = (uintptr_t)other;

struct fixture {
	struct perch_processes *processes;
	struct perch_symbols *symbols;
	struct perch_blocks *blocks;
	const struct perch_block *rows;
	size_t nr;
};

static int set_up(void **state)
{
	const struct perch_symbols_options options = { .kallsyms = "/dev/null" };
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	assert_int_equal(perch_processes_new(&f->processes, NULL), 0);
	assert_int_equal(perch_symbols_new(&f->symbols, &options, NULL), 0);
	assert_int_equal(perch_processes_add_running(f->processes, 0, NULL, NULL), 0);
	assert_int_equal(perch_blocks_new(&f->blocks, f->processes, f->symbols, NULL), 0);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	perch_blocks_free(f->blocks);
	perch_symbols_free(f->symbols);
	perch_processes_free(f->processes);
	free(f);
	return 0;
}

/* The newest branch is first. */
static void add(struct fixture *f, uint16_t event, uint64_t branches,
		const struct perch_branch_entry *entries, size_t nr)
{
	const struct perch_parse_info info = { .sample_type = PERCH_SAMPLE_BRANCH_STACK,
					       .branch_sample_type = branches };
	struct perch_record record = {
		.type = PERCH_RECORD_SAMPLE,
		.misc = PERCH_MISC_USER,
		.event = event,
		.parse_info = &info,
		.sample = { .ip = first, .pid = (uint32_t)getpid(), .tid = (uint32_t)getpid() }
	};

	record.sample.branches.nr = nr;
	record.sample.branches.entry = entries;
	assert_int_equal(perch_blocks_add(f->blocks, &record, NULL), 0);
}

static size_t rows_of(struct fixture *f, unsigned event)
{
	assert_int_equal(perch_blocks_rows(f->blocks, event, &f->rows, &f->nr, NULL), 0);
	return f->nr;
}

static void counts_blocks(void **state)
{
	const struct perch_branch_entry entries[] = {
		{ .from = first + 12, .to = second, .cycles = 5 },
		{ .from = first + 12, .to = first + 4, .cycles = 7 },
		{ .from = first + 12,
		  .to = first + 8,
		  .cycles = 30 }, /* what is before is unknown */
	};
	struct fixture *f = *state;

	add(f, 1, ANY, entries, 3);
	assert_int_equal(rows_of(f, 0), 0);
	assert_int_equal(rows_of(f, 7), 0);
	assert_int_equal(rows_of(f, 1), 1);
	assert_int_equal(f->rows[0].count, 3);
	assert_int_equal(f->rows[0].cycles, 42);
	assert_string_equal(perch_symbols_name(f->symbols, f->rows[0].symbol), "one");
	/* the longest of those that end there */
	assert_int_equal(f->rows[0].end - f->rows[0].start, 8);
	assert_int_equal(perch_blocks_total(f->blocks), 42);
}

static void sorts_by_cycles(void **state)
{
	const struct perch_branch_entry entries[] = {
		{ .from = second + 12, .to = first, .cycles = 9 },
		{ .from = first + 8, .to = second + 4, .cycles = 2 },
		{ .from = first + 4, .to = second + 8, .cycles = 2 },
	};
	struct fixture *f = *state;

	add(f, 0, ANY, entries, 3);
	assert_int_equal(rows_of(f, 0), 3);
	assert_string_equal(perch_symbols_name(f->symbols, f->rows[0].symbol), "other");
	assert_int_equal(f->rows[0].end - f->rows[0].start, 8);
	/* of equal ones the one that was found first; the branch before is of another function */
	assert_int_equal(f->rows[2].end - f->rows[1].end, 4);
	assert_true(f->rows[1].start == PERCH_BLOCK_NO_START);
	assert_true(f->rows[2].start == PERCH_BLOCK_NO_START);
	assert_int_equal(f->rows[0].reserved[0], 0);
}

/* Between calls there may be other branches. */
static void needs_all_branches(void **state)
{
	const struct perch_branch_entry entries[] = {
		{ .from = first + 12, .to = second, .cycles = 5 },
		{ .from = first + 12, .to = first + 4, .cycles = 7 },
	};
	struct fixture *f = *state;

	add(f, 0, CALLS, entries, 2);
	assert_int_equal(rows_of(f, 0), 1);
	assert_int_equal(f->rows[0].count, 2);
	assert_true(f->rows[0].start == PERCH_BLOCK_NO_START);
}

static void ignores_branches_without_cycles_or_names(void **state)
{
	const struct perch_branch_entry without = { .from = first + 12, .to = first + 4 };
	const struct perch_branch_entry nameless = { .from = 16, .to = first, .cycles = 3 };
	struct fixture *f = *state;

	add(f, 0, ANY, &without, 1);
	add(f, 0, ANY, NULL, 0);
	assert_int_equal(perch_blocks_total(f->blocks), 0);
	add(f, 0, ANY, &nameless, 1);
	assert_int_equal(rows_of(f, 0), 0);
	assert_int_equal(perch_blocks_total(f->blocks), 3);
}

/* Memory grows with the blocks, not with the events times the addresses: that would be 2.4 GB. */
static void needs_memory_for_blocks_alone(void **state)
{
	enum { MANY = 10000 };
	const struct perch_branch_entry named = { .from = first + 12, .to = first, .cycles = 2 };
	struct perch_branch_entry *nameless = calloc(MANY, sizeof(*nameless));
	struct fixture *f = *state;
	struct rusage usage;

	assert_non_null(nameless);
	for (unsigned i = 0; i < MANY; i++)
		nameless[i] = (struct perch_branch_entry){ .from = 16 + i, .to = 16, .cycles = 1 };
	add(f, 0, ANY, nameless, MANY);
	free(nameless);
	for (unsigned event = 0; event < MANY; event++)
		add(f, (uint16_t)event, ANY, &named, 1);
	assert_int_equal(rows_of(f, MANY - 1), 1);
	assert_int_equal(f->rows[0].cycles, 2);
	assert_int_equal(getrusage(RUSAGE_SELF, &usage), 0);
	assert_true(usage.ru_maxrss < 1 << 20); /* KiB */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(counts_blocks, set_up, tear_down),
		cmocka_unit_test_setup_teardown(sorts_by_cycles, set_up, tear_down),
		cmocka_unit_test_setup_teardown(needs_all_branches, set_up, tear_down),
		cmocka_unit_test_setup_teardown(ignores_branches_without_cycles_or_names, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(needs_memory_for_blocks_alone, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
