/* SPDX-License-Identifier: MIT */
/*
 * Objects of a parent in a child of fork(2), with events of the running kernel: functions of the
 * child fail, closing is safe, and the events of the parent continue.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include <perch/count.h>
#include <perch/ring.h>
#include <perch/sampler.h>

#define PAGES 8

/* In a child: a failed check prints its line and ends the child. */
#define CHECK(condition)                                                        \
	do {                                                                    \
		if (condition)                                                  \
			break;                                                  \
		fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
		_exit(1);                                                       \
	} while (0)

#define CHECK_STALE(call)                                              \
	do {                                                           \
		struct perch_error err = { .kind = PERCH_ERROR_NONE }; \
                                                                       \
		CHECK((call) == -ESTALE);                              \
		CHECK(err.kind == PERCH_ERROR_FORK);                   \
		CHECK(err.errnum == ESTALE && *err.message);           \
	} while (0)

static void wait_for(pid_t child)
{
	int status;

	assert_true(child > 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

/* Causes page faults of the process: at least one for each page. */
static void touch_pages(size_t nr)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *region =
		mmap(NULL, nr * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	for (size_t i = 0; i < nr; i++)
		((volatile char *)region)[i * page] = 1;
	munmap(region, nr * page);
}

static int open_faults(bool backward, struct perch_parse_info *parse_info)
{
	const struct perch_target target = { .cpu = -1 };
	struct perch_attr attr = { .size = sizeof(attr),
				   .type = PERCH_TYPE_SOFTWARE,
				   .config = PERCH_COUNT_SW_PAGE_FAULTS,
				   .sample_period = 1,
				   .sample_type = PERCH_SAMPLE_IP | PERCH_SAMPLE_TIME,
				   .exclude_kernel = 1,
				   .write_backward = backward };
	struct perch_error err;
	int fd = perch_open(&attr, &target, -1, PERCH_FLAG_FD_CLOEXEC, NULL, &err);

	if (fd < 0)
		fail_msg("%s", err.message);
	perch_parse_info_init(parse_info, &attr, PERCH_BYTES_NATIVE);
	return fd;
}

static size_t count_records(struct perch_ring *ring)
{
	size_t nr = 0;

	while (perch_ring_next(ring))
		nr++;
	return nr;
}

/* The addresses of the parent's mapping are given to other memory, which must stay. */
static void use_ring_in_child(struct perch_ring *ring, int fd, void *mapped)
{
	size_t size = (PAGES + 1) * (size_t)sysconf(_SC_PAGESIZE);
	unsigned char *other = mmap(mapped, size, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS | (mapped ? MAP_FIXED : 0), -1, 0);
	struct perch_record record = { .type = PERCH_RECORD_AUX };
	struct perch_ring_stats stats;
	struct iovec pieces[2];
	uint64_t memory[8] = { 0 };

	CHECK(other != MAP_FAILED);
	memset(other, 0x5a, size);
	CHECK(!perch_ring_next(ring));
	CHECK(perch_ring_peek(ring, pieces) == 0 && !pieces[0].iov_len && !pieces[1].iov_len);
	perch_ring_consume(ring, 8);
	CHECK_STALE(perch_ring_pause(ring, &err));
	CHECK_STALE(perch_ring_resume(ring, &err));
	CHECK_STALE(perch_ring_snapshot(ring, PERCH_SNAPSHOT_NEWEST_FIRST, &err));
	perch_ring_snapshot_advance(ring);
	CHECK_STALE(perch_ring_open_aux(ring, 1, PERCH_RING_FORWARD, NULL, &err));
	CHECK_STALE(perch_ring_aux_from_memory(ring, memory, 64, PERCH_RING_FORWARD, &err));
	CHECK(perch_ring_aux_peek(ring, pieces) == 0);
	CHECK(perch_ring_aux_snapshot(ring, pieces) == 0);
	perch_ring_aux_consume(ring, SIZE_MAX);
	CHECK(perch_ring_aux_data(ring, &record, pieces) == -ESTALE);
	perch_ring_get_stats(ring, &stats);
	CHECK(stats.bytes > 0);
	perch_ring_close(ring);
	close(fd);
	for (size_t i = 0; i < size; i++)
		CHECK(other[i] == 0x5a);
}

/* A child opens its own events and rings, also after it has met those of the parent. */
static void use_own_ring(void)
{
	struct perch_parse_info parse_info;
	int fd = open_faults(false, &parse_info);
	struct perch_ring *ring;

	CHECK(!perch_ring_open(&ring, fd, PAGES, PERCH_RING_FORWARD, NULL, NULL));
	touch_pages(5);
	CHECK(count_records(ring) >= 5);
	perch_ring_close(ring);
	close(fd);
}

static void rings_of_the_parent_are_refused_in_the_child(void **state)
{
	(void)state;
	for (enum perch_ring_mode mode = PERCH_RING_FORWARD; mode <= PERCH_RING_OVERWRITE; mode++) {
		struct perch_parse_info parse_info;
		int fd = open_faults(mode == PERCH_RING_OVERWRITE, &parse_info);
		struct perch_ring *ring;
		void *mapped = NULL;
		pid_t child, grandchild;
		int status;
		struct iovec pieces[2];

		assert_int_equal(perch_ring_open(&ring, fd, PAGES, mode, NULL, NULL), 0);
		touch_pages(10);
		if (mode == PERCH_RING_OVERWRITE)
			assert_true(perch_ring_snapshot(ring, PERCH_SNAPSHOT_OLDEST_FIRST, NULL) >=
				    10);
		if (mode == PERCH_RING_FORWARD) {
			assert_true(perch_ring_peek(ring, pieces) > 0);
			/* the control page is in front of the first record */
			mapped = (char *)pieces[0].iov_base - sysconf(_SC_PAGESIZE);
			assert_true(count_records(ring) >= 10);
		} else {
			assert_true(count_records(ring) >= 10);
			assert_int_equal(perch_ring_resume(ring, NULL), 0);
		}
		child = fork();
		if (!child) {
			grandchild = fork();
			if (!grandchild) {
				use_own_ring();
				CHECK(!perch_ring_next(ring));
				_exit(0);
			}
			CHECK(waitpid(grandchild, &status, 0) == grandchild && !status);
			use_own_ring();
			use_ring_in_child(ring, fd, mapped);
			use_own_ring();
			_exit(0);
		}
		wait_for(child);
		/* neither paused nor consumed nor unmapped */
		touch_pages(10);
		if (mode == PERCH_RING_OVERWRITE)
			assert_true(perch_ring_snapshot(ring, PERCH_SNAPSHOT_OLDEST_FIRST, NULL) >=
				    20);
		assert_true(count_records(ring) >= 10);
		perch_ring_close(ring);
		close(fd);
	}
}

static void merges_of_the_parent_are_refused_in_the_child(void **state)
{
	struct perch_parse_info parse_info;
	struct perch_decoder *decoder;
	struct perch_attr attr = { .size = sizeof(attr),
				   .sample_type = PERCH_SAMPLE_IP | PERCH_SAMPLE_TIME };
	const struct perch_decoder_event event = { .attr = &attr };
	int fd[2] = { open_faults(false, &parse_info), open_faults(false, &parse_info) };
	struct perch_ring *ring[2];
	struct perch_merge *merge;
	struct perch_record record;
	size_t index, nr = 0;
	pid_t child;

	(void)state;
	assert_int_equal(perch_decoder_new(&decoder, &event, 1, PERCH_BYTES_NATIVE, NULL), 0);
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(
			perch_ring_open(&ring[i], fd[i], PAGES, PERCH_RING_FORWARD, NULL, NULL), 0);
	assert_int_equal(perch_merge_new(&merge, ring, 1, decoder, NULL), 0);
	touch_pages(10);
	child = fork();
	if (!child) {
		struct perch_merge *own;

		CHECK_STALE(perch_merge_next(merge, true, &record, &index, &err));
		CHECK_STALE(perch_merge_add(merge, ring[1], &index, &err));
		CHECK_STALE(perch_merge_remove(merge, 0, true, &err));
		CHECK(perch_merge_out_of_order(merge) == 0 && perch_merge_dropped(merge) == 0);
		perch_merge_free(merge);
		CHECK_STALE(perch_merge_new(&own, ring, 2, decoder, &err));
		CHECK(!own);
		CHECK(!perch_merge_new(&own, NULL, 0, decoder, NULL));
		CHECK_STALE(perch_merge_add(own, ring[0], &index, &err));
		perch_merge_free(own);
		_exit(0);
	}
	wait_for(child);
	while (perch_merge_next(merge, true, &record, &index, NULL) == 1)
		nr++;
	assert_true(nr >= 10);
	perch_merge_free(merge);
	for (size_t i = 0; i < 2; i++) {
		perch_ring_close(ring[i]);
		close(fd[i]);
	}
	perch_decoder_free(decoder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rings_of_the_parent_are_refused_in_the_child),
		cmocka_unit_test(merges_of_the_parent_are_refused_in_the_child),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
