/* SPDX-License-Identifier: MIT */
/* The build id cache: adding, reading, listing and removing files, and what it refuses. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>
#include <perch/build_id_cache.h>

struct fixture {
	char directory[64], path[PATH_MAX];
	struct perch_build_id_text first, second;
};

static int set_up(void **state)
{
	static const uint8_t first[20] = { 0xfe, 0xdc, 1, 2 }, second[4] = { 0x01, 0x23, 0x45 };
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	strcpy(fixture->directory, "/tmp/perch-build-id-XXXXXX");
	if (!mkdtemp(fixture->directory))
		return -1;
	snprintf(fixture->path, sizeof(fixture->path), "%s/cache", fixture->directory);
	perch_format_build_id(&fixture->first, first, sizeof(first));
	perch_format_build_id(&fixture->second, second, sizeof(second));
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;
	char command[128];

	snprintf(command, sizeof(command), "rm -rf %s", fixture->directory);
	if (system(command))
		return -1;
	free(fixture);
	return 0;
}

static struct perch_build_id_cache *open_cache(const struct fixture *fixture, bool create)
{
	struct perch_build_id_cache *cache;

	assert_int_equal(perch_build_id_cache_new(&cache, fixture->path, NULL, NULL), 0);
	assert_string_equal(perch_build_id_cache_path(cache), fixture->path);
	assert_int_equal(perch_build_id_cache_open(cache, create, NULL), 0);
	return cache;
}

static int add(const struct perch_build_id_cache *cache, const char *name,
	       const struct perch_build_id_text *id, enum perch_cached_file kind,
	       const char *content)
{
	int fd = memfd_create("file", MFD_CLOEXEC), rc;

	assert_int_equal(write(fd, content, strlen(content)), strlen(content));
	rc = perch_build_id_cache_add(cache, name, id, kind, fd, NULL);
	close(fd);
	return rc;
}

/* Returns the content of a file, or "" without it. */
static const char *content_of(const struct perch_build_id_cache *cache,
			      const struct perch_build_id_text *id, enum perch_cached_file kind)
{
	static char content[64];
	int fd = perch_build_id_cache_open_file(cache, id, kind);
	ssize_t size = fd < 0 ? 0 : read(fd, content, sizeof(content) - 1);

	assert_true(size >= 0);
	content[size] = 0;
	if (fd >= 0)
		close(fd);
	return content;
}

static void converts_build_ids(void **state)
{
	const struct fixture *fixture = *state;
	uint8_t bytes[20];

	assert_string_equal(fixture->second.text, "01234500");
	assert_int_equal(perch_parse_build_id("01234500", bytes), 4);
	assert_memory_equal(bytes, "\x01\x23\x45\x00", 4);
	assert_int_equal(perch_parse_build_id(fixture->first.text, bytes), 20);
	assert_int_equal(perch_parse_build_id("01", bytes), 0);
	assert_int_equal(perch_parse_build_id("01234", bytes), 0);
	assert_int_equal(perch_parse_build_id("0123456G", bytes), 0);
	assert_int_equal(perch_parse_build_id("../../..", bytes), 0);
}

static void reads_what_was_added(void **state)
{
	const struct fixture *fixture = *state;
	struct perch_build_id_cache *cache = open_cache(fixture, true), *reader;

	assert_false(perch_build_id_cache_has(cache, &fixture->first, PERCH_CACHED_ELF));
	assert_int_equal(add(cache, "/usr/bin/a", &fixture->first, PERCH_CACHED_ELF, "one"), 0);
	assert_true(perch_build_id_cache_has(cache, &fixture->first, PERCH_CACHED_ELF));
	assert_false(perch_build_id_cache_has(cache, &fixture->first, PERCH_CACHED_DEBUG));
	assert_string_equal(content_of(cache, &fixture->first, PERCH_CACHED_ELF), "one");
	/* what is there stays */
	assert_int_equal(add(cache, "/usr/bin/a", &fixture->first, PERCH_CACHED_ELF, "two"), 0);
	assert_string_equal(content_of(cache, &fixture->first, PERCH_CACHED_ELF), "one");
	/* a handle that is not opened reads, too */
	assert_int_equal(perch_build_id_cache_new(&reader, fixture->path, NULL, NULL), 0);
	assert_string_equal(content_of(reader, &fixture->first, PERCH_CACHED_ELF), "one");
	assert_int_equal(perch_build_id_cache_open_file(reader, &fixture->second, PERCH_CACHED_ELF),
			 -ENOENT);
	perch_build_id_cache_free(reader);
	perch_build_id_cache_free(cache);
	perch_build_id_cache_free(NULL);
}

static void lists_and_removes_entries(void **state)
{
	const struct fixture *fixture = *state;
	struct perch_build_id_cache *cache = open_cache(fixture, true);
	struct perch_build_id_cache_entry *entry;
	char path[PATH_MAX + 16];
	size_t nr;

	add(cache, "/usr/bin/a", &fixture->first, PERCH_CACHED_ELF, "a");
	add(cache, "/other/name", &fixture->first, PERCH_CACHED_DEBUG, "of a");
	add(cache, "[vdso]", &fixture->second, PERCH_CACHED_VDSO, "b");
	assert_int_equal(perch_build_id_cache_list(cache, &entry, &nr, NULL), 0);
	assert_int_equal(nr, 2);
	assert_string_equal(entry[0].name, "[vdso]");
	assert_string_equal(entry[0].id.text, fixture->second.text);
	assert_string_equal(entry[1].name, "/usr/bin/a"); /* a build id has one name */
	perch_build_id_cache_free_entries(entry, nr);
	assert_int_equal(perch_build_id_cache_remove(cache, &fixture->first, NULL), 0);
	assert_int_equal(perch_build_id_cache_remove(cache, &fixture->first, NULL), -ENOENT);
	assert_string_equal(content_of(cache, &fixture->first, PERCH_CACHED_DEBUG), "");
	assert_string_equal(content_of(cache, &fixture->second, PERCH_CACHED_VDSO), "b");
	snprintf(path, sizeof(path), "%s/usr", fixture->path);
	assert_int_equal(access(path, F_OK), -1); /* nor empty directories */
	perch_build_id_cache_free(cache);
}

static void a_missing_directory_is_an_empty_cache(void **state)
{
	const struct fixture *fixture = *state;
	struct perch_build_id_cache *cache = open_cache(fixture, false);
	struct perch_build_id_cache_entry *entry;
	size_t nr = 1;

	assert_int_equal(perch_build_id_cache_list(cache, &entry, &nr, NULL), 0);
	assert_int_equal(nr, 0);
	perch_build_id_cache_free_entries(entry, nr);
	assert_int_equal(perch_build_id_cache_remove(cache, &fixture->first, NULL), -ENOENT);
	assert_true(add(cache, "/a", &fixture->first, PERCH_CACHED_ELF, "a") < 0);
	perch_build_id_cache_free(cache);
}

static void writes_nowhere_else(void **state)
{
	const struct fixture *fixture = *state;
	struct perch_build_id_cache *cache = open_cache(fixture, true);
	char link[PATH_MAX + 16], outside[PATH_MAX];

	assert_int_equal(add(cache, "/../a", &fixture->first, PERCH_CACHED_ELF, "a"), -EINVAL);
	assert_int_equal(add(cache, "/.build-id/a", &fixture->first, PERCH_CACHED_ELF, "a"),
			 -EINVAL);
	snprintf(outside, sizeof(outside), "%s/outside", fixture->directory);
	assert_int_equal(mkdir(outside, 0700), 0);
	snprintf(link, sizeof(link), "%s/usr", fixture->path);
	assert_int_equal(symlink(outside, link), 0);
	assert_true(add(cache, "/usr/a", &fixture->first, PERCH_CACHED_ELF, "a") < 0);
	assert_int_equal(rmdir(outside), 0); /* it is still empty */
	perch_build_id_cache_free(cache);
}

/* The links of a cache below a root lead to files below that root. */
static void does_not_leave_its_root(void **state)
{
	const struct fixture *fixture = *state;
	struct perch_build_id_cache *cache = open_cache(fixture, true), *rooted;
	char file[PATH_MAX + 128], secret[PATH_MAX];
	int fd;

	add(cache, "/a", &fixture->first, PERCH_CACHED_ELF, "a");
	snprintf(secret, sizeof(secret), "%s/secret", fixture->directory);
	fd = open(secret, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_int_equal(write(fd, "secret", 6), 6);
	close(fd);
	snprintf(file, sizeof(file), "%s/a/%s/debug", fixture->path, fixture->first.text);
	assert_int_equal(symlink(secret, file), 0);
	assert_string_equal(content_of(cache, &fixture->first, PERCH_CACHED_DEBUG), "secret");
	assert_int_equal(perch_build_id_cache_new(&rooted, "/", fixture->path, NULL), 0);
	assert_string_equal(content_of(rooted, &fixture->first, PERCH_CACHED_ELF), "a");
	assert_string_equal(content_of(rooted, &fixture->first, PERCH_CACHED_DEBUG), "");
	perch_build_id_cache_free(rooted);
	perch_build_id_cache_free(cache);
}

static void finds_the_default_directory(void **state)
{
	const struct fixture *fixture = *state;
	struct perch_build_id_cache *cache;
	struct perch_error err;
	char expected[PATH_MAX];

	setenv("PERF_BUILDID_DIR", fixture->path, 1);
	assert_int_equal(perch_build_id_cache_new(&cache, NULL, NULL, NULL), 0);
	assert_string_equal(perch_build_id_cache_path(cache), fixture->path);
	perch_build_id_cache_free(cache);
	unsetenv("PERF_BUILDID_DIR");
	setenv("PERF_CONFIG", "/dev/null", 1);
	setenv("HOME", fixture->directory, 1);
	snprintf(expected, sizeof(expected), "%s/.debug", fixture->directory);
	assert_int_equal(perch_build_id_cache_new(&cache, NULL, NULL, NULL), 0);
	assert_string_equal(perch_build_id_cache_path(cache), expected);
	perch_build_id_cache_free(cache);
	unsetenv("HOME");
	assert_int_equal(perch_build_id_cache_new(&cache, NULL, NULL, &err), -ENOENT);
	assert_null(cache);
	assert_string_equal(err.message, "there is no build id cache: HOME is not set");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(converts_build_ids),	   TEST(reads_what_was_added),
		TEST(lists_and_removes_entries),   TEST(a_missing_directory_is_an_empty_cache),
		TEST(writes_nowhere_else),	   TEST(does_not_leave_its_root),
		TEST(finds_the_default_directory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
