/* SPDX-License-Identifier: MIT */
/* Cached facts: texts of files, names in directories, and for a short time the state of a process.
 */
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

static const struct tree_file files[] = {
	{ "/proc/cgroups", "#subsys_name\nperf_event\t0\t1\t1\n" },
	{ "/sys/events/tsc", "event=0x00\n" },
	{ "/sys/events/aperf", "event=0x01\n" },
	{ "/proc/77/status", "Name:\tother\nState:\tS (sleeping)\nUid:\t5\t6\t6\t6\n" },
};

static int setup(void **state)
{
	(void)state;
	return tree_machine_make(files, sizeof(files) / sizeof(*files));
}

static void delete_file(const char *path)
{
	char whole[PATH_MAX];

	assert_true(perch_machine_path(machine, path, whole, sizeof(whole)) > 0);
	assert_int_equal(unlink(whole), 0);
}

static void caches_file_texts(void **state)
{
	const char *text, *again;

	(void)state;
	assert_int_equal(perch_machine_read_cached(machine, "/proc/cgroups", &text),
			 strlen("#subsys_name\nperf_event\t0\t1\t1"));
	assert_non_null(strstr(text, "perf_event"));
	delete_file("/proc/cgroups");
	assert_true(perch_machine_read_cached(machine, "/proc/cgroups", &again) > 0);
	assert_ptr_equal(text, again);
}

static void caches_directory_names(void **state)
{
	const char *names;

	(void)state;
	assert_int_equal(perch_machine_read_cached(machine, "/sys/events", &names),
			 strlen("tsc\naperf\n"));
	assert_non_null(strstr(names, "tsc\n"));
	assert_non_null(strstr(names, "aperf\n"));
}

/* A missing file is cached too. */
static void caches_missing_files(void **state)
{
	const char *text = NULL;

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(perch_machine_read_cached(machine, "/proc/none", &text), -ENOENT);
		assert_string_equal(text, "");
	}
}

static void caches_process_state_for_short_time(void **state)
{
	const struct timespec longer_than_cached = { 0, 30000000 };
	struct perch_process_state state_of = { 0 };
	struct perch_error err;

	(void)state;
	assert_int_equal(perch_machine_process_cached(machine, 77, &state_of, NULL), 0);
	assert_int_equal(state_of.uid, 6);
	assert_int_equal(perch_machine_process_cached(machine, 78, &state_of, &err), -ESRCH);
	assert_int_equal(err.kind, PERCH_ERROR_NO_PROCESS);
	assert_int_equal(perch_machine_process_cached(machine, 77, &state_of, NULL), 0);
	delete_file("/proc/77/status");
	nanosleep(&longer_than_cached, NULL);
	assert_int_equal(perch_machine_process_cached(machine, 77, &state_of, NULL), -ESRCH);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, tree_machine_remove)

int main(void)
{
	const struct CMUnitTest tests[] = { TEST(caches_file_texts), TEST(caches_directory_names),
					    TEST(caches_missing_files),
					    TEST(caches_process_state_for_short_time) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
