/* SPDX-License-Identifier: MIT */
/* Names of tracepoints by their ids, in a described tracefs. */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <setjmp.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "tree_machine.h"

#define EVENTS "/sys/kernel/tracing/events/"

/* "late:moved" was registered last and took an id that was free: the list is not in order of ids.
 */
static const struct tree_file files[] = {
	{ "/sys/kernel/tracing/available_events",
	  "sched:sched_switch\nsched:sched_wakeup\nirq:entry\nirq:exit\nlate:added\nlate:moved\n" },
	{ EVENTS "sched/sched_switch/id", "21\n" },
	{ EVENTS "sched/sched_wakeup/id", "22\n" },
	{ EVENTS "irq/entry/id", "30\n" },
	{ EVENTS "irq/exit/id", "31\n" },
	{ EVENTS "late/added/id", "40\n" },
	{ EVENTS "late/moved/id", "25\n" },
	{ EVENTS "ftrace/function/id", "1\n" }, /* not in the list */
};

static int setup(void **state)
{
	(void)state;
	return tree_machine_make(files, sizeof(files) / sizeof(*files));
}

static void expect_name(struct perch_machine *of, uint64_t id, const char *name)
{
	char found[64] = "";

	assert_int_equal(perch_machine_tracepoint(of, id, found, sizeof(found), NULL), 0);
	assert_string_equal(found, name);
}

static void finds_names_in_and_out_of_order(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		expect_name(machine, 21, "sched:sched_switch");
		expect_name(machine, 22, "sched:sched_wakeup");
		expect_name(machine, 30, "irq:entry");
		expect_name(machine, 31, "irq:exit");
		expect_name(machine, 40, "late:added");
		expect_name(machine, 25, "late:moved");
		expect_name(machine, 1, "ftrace:function");
	}
}

static void reports_absent_ids(void **state)
{
	static const uint64_t absent[] = { 0, 2, 23, 41, UINT32_MAX, (1ull << 32) + 21 };
	struct perch_error err;
	char name[64];

	(void)state;
	for (size_t i = 0; i < sizeof(absent) / sizeof(*absent); i++)
		for (unsigned again = 0; again < 2; again++)
			assert_int_equal(perch_machine_tracepoint(machine, absent[i], name,
								  sizeof(name), &err),
					 -ENOENT);
	assert_int_equal(err.kind, PERCH_ERROR_UNKNOWN_EVENT);
	expect_name(machine, 21, "sched:sched_switch");
}

static void change(const char *path, const char *text)
{
	char whole[PATH_MAX];
	FILE *file;

	assert_true(perch_machine_path(machine, path, whole, sizeof(whole)) > 0);
	file = fopen(whole, "w");
	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

/* A probe that is defined again may have another id. */
static void finds_ids_that_changed(void **state)
{
	const struct timespec longer_than_cached = { 0, 30000000 };
	char name[64];

	(void)state;
	expect_name(machine, 31, "irq:exit");
	assert_int_equal(perch_machine_tracepoint(machine, 32, name, sizeof(name), NULL), -ENOENT);
	change(EVENTS "irq/exit/id", "32\n");
	nanosleep(&longer_than_cached, NULL);
	expect_name(machine, 32, "irq:exit");
	assert_int_equal(perch_machine_tracepoint(machine, 31, name, sizeof(name), NULL), -ENOENT);
}

/* Lines that are no names and ids that are no numbers end the search in the list. */
static void searches_files_if_the_list_is_damaged(void **state)
{
	(void)state;
	change("/sys/kernel/tracing/available_events", "\n\n:\nnothing\nno:such\n\n");
	expect_name(machine, 30, "irq:entry");
	change("/sys/kernel/tracing/available_events", "");
	expect_name(machine, 40, "late:added");
	change(EVENTS "sched/sched_switch/id", "none\n");
	expect_name(machine, 25, "late:moved");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, tree_machine_remove)

int main(void)
{
	const struct CMUnitTest tests[] = { TEST(finds_names_in_and_out_of_order),
					    TEST(reports_absent_ids), TEST(finds_ids_that_changed),
					    TEST(searches_files_if_the_list_is_damaged) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
