/* SPDX-License-Identifier: MIT */
/* What each of several files begins with: kept within a bound, and right for all that still run. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "record/record.h"

struct body {
	struct perch_record_header header;
	uint32_t pid, ppid, tid, ptid;
	uint64_t time;
	char rest[64];
};

static void add(struct record_sideband *side, uint32_t type, uint32_t pid, uint32_t other)
{
	struct body body = { { type, 0, 96 }, pid, other, pid, other, 1, "" };

	assert_int_equal(sizeof(body), 96);
	assert_int_equal(record_sideband_add(side, &body, sizeof(body)), 0);
}

static void run(struct record_sideband *side, uint32_t parent, uint32_t pid)
{
	add(side, PERCH_RECORD_FORK, pid, parent);
	add(side, PERCH_RECORD_COMM, pid, 0);
	add(side, PERCH_RECORD_MMAP2, pid, 0);
}

static void end(struct record_sideband *side, uint32_t pid)
{
	add(side, PERCH_RECORD_EXIT, pid, 1);
}

static size_t count(const struct record_sideband *side, uint32_t type, uint32_t pid)
{
	const struct body *body;
	size_t nr = 0;

	for (size_t at = 0; at < side->used; at += body->header.size) {
		body = (const void *)(side->bytes + at);
		assert_true(body->header.size >= 8 && body->header.size <= side->used - at);
		nr += body->header.type == type && body->pid == pid;
	}
	return nr;
}

static void begin(struct record_sideband *side, size_t most)
{
	*side = (struct record_sideband){ 0 };
	add(side, PERCH_RECORD_MMAP, UINT32_MAX, 0); /* the kernel's */
	run(side, 1, 10);
	record_sideband_end_synthesized(side);
	side->most = most;
}

/* Many short processes: the ended ones go, those that run stay, and the memory is bounded. */
static void forgets_what_ended(void **state)
{
	struct record_sideband side;
	uint32_t pid;

	(void)state;
	begin(&side, 64 << 10);
	run(&side, 10, 11);
	for (pid = 100; pid < 20000; pid++) {
		run(&side, 10, pid);
		end(&side, pid);
		assert_true(side.used <= side.most);
	}
	assert_int_equal(count(&side, PERCH_RECORD_MMAP, UINT32_MAX), 1);
	assert_int_equal(count(&side, PERCH_RECORD_MMAP2, 10), 1);
	assert_int_equal(count(&side, PERCH_RECORD_MMAP2, 11), 1);
	assert_int_equal(count(&side, PERCH_RECORD_MMAP2, 100), 0);
	for (pid = 19990; pid < 20000; pid++)
		assert_int_equal(count(&side, PERCH_RECORD_MMAP2, pid), 1);
	assert_int_equal(side.forgotten, 0);
	free(side.bytes);
}

/* A child that runs on has its mappings from its parent, which ended, and that one from its own. */
static void keeps_parents_of_what_runs(void **state)
{
	struct record_sideband side;

	(void)state;
	begin(&side, 64 << 10);
	run(&side, 10, 20);
	add(&side, PERCH_RECORD_FORK, 21, 20);
	add(&side, PERCH_RECORD_FORK, 22, 21);
	end(&side, 20);
	end(&side, 21);
	for (uint32_t pid = 100; pid < 3000; pid++) {
		run(&side, 10, pid);
		end(&side, pid);
	}
	assert_int_equal(count(&side, PERCH_RECORD_MMAP2, 20), 1);
	assert_int_equal(count(&side, PERCH_RECORD_FORK, 21), 1);
	assert_int_equal(count(&side, PERCH_RECORD_FORK, 22), 1);
	assert_int_equal(count(&side, PERCH_RECORD_MMAP2, 100), 0);
	free(side.bytes);
}

/* A number that is used again is another process. */
static void a_number_used_again_stays(void **state)
{
	struct record_sideband side;

	(void)state;
	begin(&side, 64 << 10);
	run(&side, 10, 20);
	end(&side, 20);
	run(&side, 10, 20);
	add(&side, PERCH_RECORD_MMAP2, 20, 0);
	for (uint32_t pid = 100; pid < 3000; pid++) {
		run(&side, 10, pid);
		end(&side, pid);
	}
	assert_int_equal(count(&side, PERCH_RECORD_MMAP2, 20), 2);
	assert_int_equal(count(&side, PERCH_RECORD_FORK, 20), 1);
	assert_int_equal(count(&side, PERCH_RECORD_EXIT, 20), 0);
	free(side.bytes);
}

/* One that maps for ever: the oldest of it goes, and is counted; what was made in front stays. */
static void one_that_maps_for_ever_is_bounded(void **state)
{
	struct record_sideband side;

	(void)state;
	begin(&side, 64 << 10);
	for (int i = 0; i < 10000; i++) {
		add(&side, PERCH_RECORD_MMAP2, 11, 0);
		assert_true(side.used <= side.most);
	}
	assert_true(count(&side, PERCH_RECORD_MMAP2, 11) > 200);
	assert_int_equal(count(&side, PERCH_RECORD_MMAP2, 11) + side.forgotten, 10000);
	assert_int_equal(count(&side, PERCH_RECORD_MMAP, UINT32_MAX), 1);
	assert_int_equal(count(&side, PERCH_RECORD_MMAP2, 10), 1);
	free(side.bytes);
}

/* Many processes in front leave room behind them. */
static void what_was_made_may_be_large(void **state)
{
	struct record_sideband side = { 0 };

	(void)state;
	for (uint32_t i = 0; i < (RECORD_SIDEBAND_BYTES / 96); i++)
		add(&side, PERCH_RECORD_MMAP2, i, 0);
	record_sideband_end_synthesized(&side);
	assert_true(side.most >= 2 * side.made);
	assert_int_equal(side.forgotten, 0);
	free(side.bytes);
}

static void knows_what_belongs_there(void **state)
{
	(void)state;
	assert_true(record_sideband_has(PERCH_RECORD_MMAP2));
	assert_true(record_sideband_has(PERCH_RECORD_FORK));
	assert_true(record_sideband_has(PERCH_RECORD_KSYMBOL));
	assert_false(record_sideband_has(PERCH_RECORD_SAMPLE));
	assert_false(record_sideband_has(PERCH_RECORD_LOST));
	assert_false(record_sideband_has(PERCH_RECORD_SWITCH));
	assert_false(record_sideband_has(0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(forgets_what_ended),
		cmocka_unit_test(keeps_parents_of_what_runs),
		cmocka_unit_test(a_number_used_again_stays),
		cmocka_unit_test(one_that_maps_for_ever_is_bounded),
		cmocka_unit_test(what_was_made_may_be_large),
		cmocka_unit_test(knows_what_belongs_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
