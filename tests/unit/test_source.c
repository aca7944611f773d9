/* SPDX-License-Identifier: MIT */
/* Lines of source files that debug information names. */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>
#include <perch/source.h>

#include "tree.h"

static const struct tree_file files[] = {
	{ "/src/a.c", "one\n\ntwo\r\nlast" },
	{ "/src/empty.c", "" },
	{ "/src/large.c", "" },
	{ "/moved/b.c", "moved\n" },
};

static char root[PATH_MAX];

static int set_up(void **state)
{
	char path[PATH_MAX + 32];

	(void)state;
	tree_make(root, files, sizeof(files) / sizeof(*files));
	snprintf(path, sizeof(path), "%s/src/large.c", root);
	assert_int_equal(truncate(path, (16 << 20) + 1), 0);
	snprintf(path, sizeof(path), "%s/src/fifo.c", root);
	assert_int_equal(mkfifo(path, 0600), 0);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	tree_remove(root);
	return 0;
}

static struct perch_sources *new_sources(const char *prefix, uint64_t strip)
{
	const struct perch_sources_options options = { .root = root,
						       .prefix = prefix,
						       .strip = strip };
	struct perch_sources *sources;

	assert_int_equal(perch_sources_new(&sources, &options, NULL), 0);
	return sources;
}

/* expected: NULL if there is no such line */
static void assert_line(struct perch_sources *sources, const char *path, uint32_t line,
			const char *expected)
{
	size_t length = 99;
	const char *text = perch_sources_line(sources, path, 0, line, &length);

	if (!expected) {
		assert_null(text);
		return;
	}
	assert_non_null(text);
	assert_int_equal(length, strlen(expected));
	assert_memory_equal(text, expected, length);
}

static void returns_lines(void **state)
{
	struct perch_sources *sources = new_sources(NULL, 0);
	struct perch_sources_stats stats;

	(void)state;
	assert_false(perch_sources_has(sources, "/src/a.c"));
	assert_line(sources, "/src/a.c", 1, "one");
	assert_line(sources, "/src/a.c", 2, "");
	assert_line(sources, "/src/a.c", 3, "two");
	assert_line(sources, "/src/a.c", 4, "last");
	assert_line(sources, "/src/a.c", 5, NULL);
	assert_line(sources, "/src/a.c", 0, NULL);
	assert_line(sources, "/src/empty.c", 1, NULL);
	assert_true(perch_sources_has(sources, "/src/a.c"));
	assert_true(perch_sources_has(sources, "/src/empty.c"));
	perch_sources_get_stats(sources, &stats);
	assert_int_equal(stats.missing + stats.newer + stats.too_large, 0);
	perch_sources_free(sources);
}

static void counts_what_cannot_be_shown(void **state)
{
	struct perch_sources *sources = new_sources(NULL, 0);
	struct perch_sources_stats stats;
	char path[PATH_MAX + 32];
	size_t length;

	(void)state;
	assert_line(sources, "/src/none\033.c", 1, NULL);
	assert_line(sources, "/src/none\033.c", 2, NULL);
	assert_line(sources, "/src/fifo.c", 1, NULL);
	assert_line(sources, "/src", 1, NULL);
	assert_line(sources, "/src/large.c", 1, NULL);
	assert_false(perch_sources_has(sources, "/src/large.c"));
	/* the binary was written in 1970 */
	assert_non_null(perch_sources_line(sources, "/src/a.c", 1, 1, &length));
	perch_sources_get_stats(sources, &stats);
	assert_int_equal(stats.missing, 3);
	assert_string_equal(stats.missing_path, "/src/none?.c");
	assert_int_equal(stats.too_large, 1);
	assert_string_equal(stats.large_path, "/src/large.c");
	assert_int_equal(stats.newer, 1);
	assert_string_equal(stats.newer_path, "/src/a.c");
	assert_false(stats.too_many);
	/* files are read once */
	snprintf(path, sizeof(path), "%s/src/a.c", root);
	assert_int_equal(truncate(path, 0), 0);
	assert_line(sources, "/src/a.c", 4, "last");
	perch_sources_free(sources);
}

static void replaces_directories(void **state)
{
	struct perch_sources *sources = new_sources("/moved", 2);

	(void)state;
	assert_line(sources, "/build/src/b.c", 1, "moved");
	assert_line(sources, "/x/y/none.c", 1, NULL);
	perch_sources_free(sources);
}

static void has_limits(void **state)
{
	struct perch_sources_options later = { .reserved = { 1 } };
	struct perch_sources *sources = new_sources(NULL, 0);
	struct perch_sources_stats stats;
	char path[32];

	(void)state;
	for (int i = 0; i <= PERCH_SOURCES_MAX; i++) {
		perch_sources_get_stats(sources, &stats);
		assert_false(stats.too_many);
		snprintf(path, sizeof(path), "/none/%d.c", i);
		assert_line(sources, path, 1, NULL);
	}
	perch_sources_get_stats(sources, &stats);
	assert_true(stats.too_many);
	assert_int_equal(stats.missing, PERCH_SOURCES_MAX);
	perch_sources_free(sources);

	assert_int_equal(perch_sources_new(&sources, &later, NULL), -EINVAL);
	assert_null(sources);
	assert_line(NULL, "/src/a.c", 1, NULL);
	assert_false(perch_sources_has(NULL, "/src/a.c"));
	perch_sources_get_stats(NULL, &stats);
	assert_int_equal(stats.missing, 0);
	perch_sources_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(returns_lines, set_up, tear_down),
		cmocka_unit_test_setup_teardown(counts_what_cannot_be_shown, set_up, tear_down),
		cmocka_unit_test_setup_teardown(replaces_directories, set_up, tear_down),
		cmocka_unit_test_setup_teardown(has_limits, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
