/* SPDX-License-Identifier: MIT */
/* Parts of files that a thread decompresses. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <zlib.h>

#include "symbol/decompress_thread.h"

enum { PARTS = 40, LARGE = 1 << 19, SMALL = 1 << 12 };

/* A file with parts of different sizes. */
struct fixture {
	int fd;
	size_t nr;
	struct compressed_part part[PARTS];
	uint8_t *original[PARTS];
	struct decompress_thread *thread;
};

static void add_part(struct fixture *f, size_t size)
{
	size_t i = f->nr++;
	uLongf compressed_size = compressBound(size);
	uint8_t *compressed = malloc(compressed_size);
	off_t offset = lseek(f->fd, 0, SEEK_END);

	f->original[i] = malloc(size);
	for (size_t j = 0; j < size; j++)
		f->original[i][j] = (uint8_t)(j * (i + 1) >> j % 4);
	assert_int_equal(compress2(compressed, &compressed_size, f->original[i], size, 1), Z_OK);
	assert_int_equal(pwrite(f->fd, compressed, compressed_size, offset), compressed_size);
	f->part[i] = (struct compressed_part){ .compression = COMPRESSION_ZLIB,
					       .fd = f->fd,
					       .offset = (uint64_t)offset,
					       .size = compressed_size,
					       .to = calloc(1, size),
					       .to_size = size };
	free(compressed);
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	f->fd = memfd_create("parts", MFD_CLOEXEC);
	add_part(f, LARGE);
	while (f->nr < PARTS)
		add_part(f, f->nr % 8 ? SMALL : LARGE);
	f->thread = perch__decompress_thread_new();
	assert_non_null(f->thread);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	perch__decompress_thread_free(f->thread);
	for (size_t i = 0; i < f->nr; i++) {
		free(f->original[i]);
		free(f->part[i].to);
	}
	close(f->fd);
	free(f);
	return 0;
}

static void check_part(const struct fixture *f, size_t i)
{
	assert_memory_equal(f->part[i].to, f->original[i], f->part[i].to_size);
}

static void start_all(struct fixture *f, struct decompress_job *job[PARTS])
{
	for (size_t i = 0; i < f->nr; i++) {
		job[i] = perch__decompress_start(f->thread, &f->part[i]);
		assert_non_null(job[i]);
	}
}

/* step: has no divisor in common with PARTS */
static void finish_in_steps(struct fixture *f, size_t step)
{
	struct decompress_job *job[PARTS];

	start_all(f, job);
	for (size_t n = 0, i = 0; n < f->nr; n++, i = (i + step) % f->nr) {
		assert_int_equal(perch__decompress_finish(job[i]), 0);
		check_part(f, i);
	}
}

static void finishes_parts_in_any_order(void **state)
{
	finish_in_steps(*state, 1);
	finish_in_steps(*state, PARTS - 1);
	finish_in_steps(*state, 7);
}

static void drops_parts(void **state)
{
	struct fixture *f = *state;
	struct decompress_job *job[PARTS];

	start_all(f, job);
	for (size_t i = f->nr; i--;)
		if (i % 3)
			perch__decompress_drop(job[i]);
	for (size_t i = 0; i < f->nr; i += 3) {
		assert_int_equal(perch__decompress_finish(job[i]), 0);
		check_part(f, i);
	}
	start_all(f, job);
	for (size_t i = 0; i < f->nr; i++)
		perch__decompress_drop(job[i]);
	finish_in_steps(f, 1); /* the queue is as at first */
}

static void reports_damage(void **state)
{
	struct fixture *f = *state;
	struct decompress_job *job[PARTS];

	f->part[3].to_size--;
	f->part[5].size /= 2;
	f->part[9].offset = LARGE * PARTS; /* behind the end */
	f->part[11].compression = COMPRESSION_XZ;
	start_all(f, job);
	for (size_t i = 0; i < f->nr; i++) {
		int rc = perch__decompress_finish(job[i]);

		assert_int_equal(!!rc, i == 3 || i == 5 || i == 9 || i == 11);
		if (i == 11)
			assert_int_equal(rc, -ENOTSUP);
		if (!rc)
			check_part(f, i);
	}
}

static void a_small_part_starts_no_thread(void **state)
{
	struct fixture *f = *state;

	assert_null(perch__decompress_start(f->thread, &f->part[1]));
}

/* The thread of the parent is not in the child. */
static void finishes_in_a_child(void **state)
{
	struct fixture *f = *state;
	struct decompress_job *job[PARTS];
	int status;
	pid_t child;

	start_all(f, job);
	child = fork();
	if (!child) {
		bool same = !perch__decompress_start(f->thread, &f->part[0]);

		for (size_t i = 0; i < f->nr; i++) {
			if (i % 2) {
				perch__decompress_drop(job[i]);
				continue;
			}
			same = same && !perch__decompress_finish(job[i]) &&
			       !memcmp(f->part[i].to, f->original[i], f->part[i].to_size);
		}
		perch__decompress_thread_free(f->thread);
		_exit(!same);
	}
	for (size_t i = 0; i < f->nr; i++)
		assert_int_equal(perch__decompress_finish(job[i]), 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

/* Root may have any number of threads, so this is another user. */
static void a_thread_that_cannot_start(void **state)
{
	struct fixture *f = *state;
	pid_t child = fork();
	int status;

	if (!child) {
		struct rlimit none = { 0, 0 };
		struct decompress_thread *thread;

		if (geteuid() == 0 && (setgid(65534) || setuid(65534)))
			_exit(2);
		setrlimit(RLIMIT_NPROC, &none);
		thread = perch__decompress_thread_new();
		_exit(!thread || perch__decompress_start(thread, &f->part[0]));
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(finishes_parts_in_any_order),
		TEST(drops_parts),
		TEST(reports_damage),
		TEST(a_small_part_starts_no_thread),
		TEST(finishes_in_a_child),
		TEST(a_thread_that_cannot_start),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
