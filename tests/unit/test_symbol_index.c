/* SPDX-License-Identifier: MIT */
/* The symbol index: what is stored is what is read, and damaged files are not used. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
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

#include "base/files/user_cache.h"
#include "symbol/index/index.h"

enum { NR = 500 };

static char home[] = "/tmp/perch-index-XXXXXX";

static int setup(void **state)
{
	(void)state;
	return !mkdtemp(home) || setenv("XDG_CACHE_HOME", home, 1) || unsetenv("PERCH_CACHE");
}

static int teardown(void **state)
{
	char command[100];

	(void)state;
	snprintf(command, sizeof(command), "rm -r %s", home);
	return system(command);
}

/* A key of a file that was not changed for a long time. */
static struct index_key key_of(const char *kind)
{
	struct elf_file file = { .elf.fd = open("/bin/sh", O_RDONLY | O_CLOEXEC) };
	struct index_key key = { 0 };

	strcpy(key.kind, kind);
	assert_true(perch__index_key_add(&key, &file));
	close(file.elf.fd);
	return key;
}

/* Returns the path of the only file in the cache. */
static void path_of_file(char path[PATH_MAX])
{
	char directory[PATH_MAX - 300];
	const struct dirent *each;
	size_t nr = 0;
	DIR *listing;

	snprintf(directory, sizeof(directory), "%s/perch/symbols", home);
	listing = opendir(directory);
	assert_non_null(listing);
	while ((each = readdir(listing)))
		if (each->d_name[0] != '.') {
			snprintf(path, PATH_MAX, "%s/%s", directory, each->d_name);
			nr++;
		}
	closedir(listing);
	assert_int_equal(nr, 1);
}

static void remove_file(void)
{
	char path[PATH_MAX];

	path_of_file(path);
	assert_int_equal(unlink(path), 0);
}

/* ---- tables ---- */

static void make_table(struct table *table)
{
	char *names = malloc(NR * 16);

	for (unsigned i = 0; i < NR; i++) {
		struct entry *entry = perch__table_add(table);

		snprintf(names + (size_t)16 * i, 16, "function_%u", i);
		/* every tenth one is inside of the one before */
		*entry = (struct entry){ .start = 100 * i,
					 .end = 100 * i + (i % 10 == 9 ? 150 : 90),
					 .name = 16 * i,
					 .symbol = NO_ENTRY,
					 .binding = i % 3,
					 .type = 2,
					 .plt = i % 7 == 0 };
	}
	assert_int_equal(perch__table_blob(table, names, NR * 16), 0);
	assert_int_equal(perch__table_finish(table), 0);
	table->of_go = true;
}

static void same_tables(const struct table *a, const struct table *b)
{
	assert_int_equal(a->nr, b->nr);
	assert_int_equal(a->of_go, b->of_go);
	for (size_t i = 0; i < a->nr; i++) {
		const struct entry *left = &a->entry[i], *right = &b->entry[i];

		assert_int_equal(left->start, right->start);
		assert_int_equal(left->end, right->end);
		assert_int_equal(left->parent, right->parent);
		assert_int_equal(left->binding, right->binding);
		assert_int_equal(left->type, right->type);
		assert_int_equal(left->plt, right->plt);
		assert_int_equal(right->symbol, NO_ENTRY);
		assert_string_equal(perch__table_name(a, left), perch__table_name(b, right));
	}
}

static void store_table(struct table *table)
{
	make_table(table);
	table->index = malloc(sizeof(*table->index));
	*table->index = key_of("table");
	perch__table_store(table);
}

static void a_table_is_read_as_it_was_stored(void **state)
{
	struct index_key key = key_of("table"), other = key_of("data");
	struct table table = { 0 }, read = { 0 };

	(void)state;
	assert_false(perch__table_read_index(&read, &key));
	store_table(&table);
	assert_true(perch__table_read_index(&read, &key));
	same_tables(&table, &read);
	perch__table_free(&read);
	assert_false(perch__table_read_index(&read, &other));
	other = key;
	other.file[0].changed++;
	assert_false(perch__table_read_index(&read, &other));
	perch__table_free(&table);
	remove_file();
}

static void a_damaged_table_is_not_used(void **state)
{
	struct index_key key = key_of("table");
	struct table table = { 0 }, read = { 0 };
	char path[PATH_MAX], byte;
	struct stat status;
	int fd;

	(void)state;
	store_table(&table);
	path_of_file(path);
	fd = open(path, O_RDWR | O_CLOEXEC);
	assert_int_equal(fstat(fd, &status), 0);
	for (off_t at = 0; at < status.st_size; at += 13) {
		assert_int_equal(pread(fd, &byte, 1, at), 1);
		byte ^= 0x40;
		assert_int_equal(pwrite(fd, &byte, 1, at), 1);
		assert_false(perch__table_read_index(&read, &key));
		byte ^= 0x40;
		assert_int_equal(pwrite(fd, &byte, 1, at), 1);
	}
	assert_true(perch__table_read_index(&read, &key));
	perch__table_free(&read);
	for (off_t size = status.st_size - 1; size > 0; size /= 2) {
		assert_int_equal(ftruncate(fd, size), 0);
		assert_false(perch__table_read_index(&read, &key));
	}
	close(fd);
	perch__table_free(&table);
	remove_file();
}

/* Their checksum is right: what a program with the rights of the user could write. */
static void impossible_entries_are_refused(void **state)
{
	const struct {
		size_t at; /* in the second entry */
		uint64_t value;
		size_t size;
	} changes[] = {
		{ 0, 0, 8 },	     /* start: before the first one */
		{ 8, 1, 8 },	     /* end: before start */
		{ 16, 0xffffff, 4 }, /* name */
		{ 20, 1, 4 },	     /* parent: itself */
		{ 26, 2, 1 },	     /* plt */
	};
	struct table table = { 0 }, read = { 0 };
	size_t size = 0;
	char *stored;

	(void)state;
	store_table(&table);
	stored = perch__index_read(table.index, &size);
	assert_non_null(stored);
	for (size_t i = 0; i < sizeof(changes) / sizeof(*changes); i++) {
		char *bytes = malloc(size + 1);

		memcpy(bytes, stored, size + 1);
		if (!i)
			bytes[16] = 1; /* the first one begins later */
		memcpy(bytes + 16 + 32 + changes[i].at, &changes[i].value, changes[i].size);
		assert_false(perch__table_take_index(&read, bytes, size));
		assert_int_equal(read.nr, 0);
	}
	for (size_t cut = 0; cut < 16 + 32 * NR; cut += 7) {
		char *bytes = malloc(cut + 1);

		memcpy(bytes, stored, cut);
		bytes[cut] = 0;
		assert_false(perch__table_take_index(&read, bytes, cut));
	}
	free(stored);
	perch__table_free(&table);
	remove_file();
}

/* ---- frames ---- */

/* The texts stay until the index is stored. */
static void add_frames(struct frame_index *index, unsigned from, unsigned step)
{
	static char function[NR][20], file[NR][20];

	for (unsigned i = from; i < NR; i += step) {
		const struct debug_frame frame[3] = {
			{ .function = "shared", .line = i },
			{ .file = i % 2 ? "" : "file.c" },
			{ .function = function[i], .file = file[i], .line = 7 * i },
		};

		snprintf(function[i], sizeof(function[i]), "function_%u", i);
		snprintf(file[i], sizeof(file[i]), "file_%u.c", i % 5);
		/* NR - i: not in the order of addresses */
		perch__frame_index_add(index, NR - i, frame, i % 4);
	}
}

static void check_frames(const struct frame_index *index)
{
	struct debug_frame frame[MAX_DEBUG_FRAMES];
	char text[20];

	for (unsigned i = 0; i < NR; i++) {
		int nr = perch__frame_index_find(index, NR - i, frame);

		assert_int_equal(nr, i % 4);
		if (nr > 0) {
			assert_string_equal(frame[0].function, "shared");
			assert_null(frame[0].file);
			assert_int_equal(frame[0].line, i);
		}
		if (nr > 1) {
			assert_null(frame[1].function);
			assert_string_equal(frame[1].file, i % 2 ? "" : "file.c");
		}
		if (nr > 2) {
			snprintf(text, sizeof(text), "function_%u", i);
			assert_string_equal(frame[2].function, text);
			assert_int_equal(frame[2].line, 7 * i);
		}
	}
	assert_int_equal(perch__frame_index_find(index, 0, frame), -ENOENT);
	assert_int_equal(perch__frame_index_find(index, NR + 1, frame), -ENOENT);
	assert_int_equal(perch__frame_index_find(index, UINT64_MAX, frame), -ENOENT);
}

static void frames_are_merged_with_those_of_the_file(void **state)
{
	struct index_key key = key_of("frames");
	struct frame_index *index = perch__frame_index_open(&key);

	(void)state;
	assert_false(perch__frame_index_is_stored(index));
	add_frames(index, 0, 2);
	perch__frame_index_store(index);
	perch__frame_index_free(index);
	index = perch__frame_index_open(&key);
	assert_true(perch__frame_index_is_stored(index));
	add_frames(index, 1, 2);
	add_frames(index, 1, 2); /* the same addresses again */
	perch__frame_index_store(index);
	perch__frame_index_free(index);
	index = perch__frame_index_open(&key);
	assert_true(perch__frame_index_is_stored(index));
	check_frames(index);
	perch__frame_index_free(index);
	remove_file();
}

static void cut_frames_are_refused(void **state)
{
	struct index_key key = key_of("frames");
	struct frame_index *index = perch__frame_index_open(&key);
	size_t size = 0;
	char *stored;

	(void)state;
	add_frames(index, 0, 1);
	perch__frame_index_store(index);
	perch__frame_index_free(index);
	stored = perch__index_read(&key, &size);
	assert_non_null(stored);
	for (size_t cut = 0; cut < size; cut += 11) {
		struct debug_frame frame[MAX_DEBUG_FRAMES];
		char *bytes = malloc(cut + 1);

		memcpy(bytes, stored, cut);
		bytes[cut] = 0;
		index = perch__frame_index_new(&key, bytes, cut);
		for (unsigned i = 0; i < NR; i++)
			perch__frame_index_find(index, i, frame);
		perch__frame_index_free(index);
	}
	free(stored);
	remove_file();
}

/* ---- files ---- */

static void a_file_that_changed_just_now_has_no_index(void **state)
{
	char path[] = "/tmp/perch-index-file-XXXXXX";
	struct elf_file file = { .elf.fd = mkstemp(path) }, image = { .elf.fd = -1 };
	struct index_key key = { 0 };

	(void)state;
	assert_false(perch__index_key_add(&key, &file));
	assert_false(perch__index_key_add(&key, &image));
	close(file.elf.fd);
	unlink(path);
}

static void the_files_used_longest_ago_are_removed(void **state)
{
	char bytes[1000] = "", name[20], path[PATH_MAX];
	const struct perch__cache_part part = { bytes, sizeof(bytes) };
	struct stat status;

	(void)state;
	for (unsigned i = 0; i < 10; i++) {
		struct timespec times[2] = { { .tv_sec = 1000 - i }, { .tv_sec = 1000 - i } };

		snprintf(name, sizeof(name), "some/%u", i);
		assert_int_equal(perch__user_cache_write(name, &part, 1), 0);
		snprintf(path, sizeof(path), "%s/perch/%s", home, name);
		assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
	}
	perch__user_cache_limit("some", 4500);
	for (unsigned i = 0; i < 10; i++) {
		snprintf(path, sizeof(path), "%s/perch/some/%u", home, i);
		assert_int_equal(!stat(path, &status), i < 4);
	}
	perch__user_cache_limit("none", 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_table_is_read_as_it_was_stored),
		cmocka_unit_test(a_damaged_table_is_not_used),
		cmocka_unit_test(impossible_entries_are_refused),
		cmocka_unit_test(frames_are_merged_with_those_of_the_file),
		cmocka_unit_test(cut_frames_are_refused),
		cmocka_unit_test(a_file_that_changed_just_now_has_no_index),
		cmocka_unit_test(the_files_used_longest_ago_are_removed),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
