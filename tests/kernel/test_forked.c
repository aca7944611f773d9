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
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include <perch/count.h>
#include <perch/ring.h>
#include <perch/sampler.h>

#include "needs.h"

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
		CHECK(perch_merge_out_of_order(merge) == 0 && perch_merge_discarded(merge) == 0);
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

static uint64_t read_counter(struct perch_counter *counter)
{
	struct perch_count count;
	struct perch_error err;

	if (perch_counter_read(counter, &count, &err))
		fail_msg("%s", err.message);
	assert_int_equal(count.state, PERCH_COUNT_STATE_EXACT);
	return count.value;
}

static void use_counter_in_child(struct perch_counter *counter)
{
	struct perch_count count = { .value = 77 };
	struct perch_counter *own;
	struct perch_error reason;
	uint64_t id;

	CHECK_STALE(perch_counter_read(counter, &count, &err));
	CHECK(count.value == 77);
	CHECK_STALE(perch_counter_id(counter, &id, &err));
	CHECK(perch_counter_enable(counter, NULL) == -ESTALE);
	CHECK(perch_counter_disable(counter, NULL) == -ESTALE);
	CHECK(perch_counter_reset(counter, NULL) == -ESTALE);
	CHECK(!perch_counter_self_monitoring(counter, &reason) && reason.kind == PERCH_ERROR_FORK);
	CHECK(!strcmp(perch_counter_name(counter), "page-faults:u"));
	CHECK(!perch_counter_open(&own, "page-faults:u", NULL,
				  &(struct perch_options){ .enabled = 1 }, &reason));
	touch_pages(20);
	CHECK(!perch_counter_read(own, &count, &reason) && count.value >= 20);
	CHECK_STALE(perch_counter_read(counter, &count, &err));
	perch_counter_close(own);
	perch_counter_close(counter);
}

/* Also with self_monitoring: page-faults has no counter that user space can read. */
static void counters_of_the_parent_are_refused_in_the_child(void **state)
{
	(void)state;
	for (unsigned self_monitoring = 0; self_monitoring < 2; self_monitoring++) {
		const struct perch_options options = { .enabled = 1,
						       .self_monitoring = self_monitoring };
		struct perch_counter *counter;
		uint64_t before;
		pid_t child;

		assert_int_equal(
			perch_counter_open(&counter, "page-faults:u", NULL, &options, NULL), 0);
		touch_pages(10);
		before = read_counter(counter);
		assert_true(before >= 10);
		child = fork();
		if (!child) {
			use_counter_in_child(counter);
			_exit(0);
		}
		wait_for(child);
		touch_pages(10);
		/* not disabled, not reset, not closed */
		assert_true(read_counter(counter) >= before + 10);
		perch_counter_close(counter);
	}
}

/*
 * With inherit the kernel counts the child into the counter of the parent. The child does nothing:
 * its counts are added also after it has closed its copy.
 */
static void inherited_counters_count_the_child_for_the_parent(void **state)
{
	const struct perch_options options = { .enabled = 1, .inherit = 1 };

	(void)state;
	for (int closes = 0; closes < 2; closes++) {
		struct perch_counter *counter;
		uint64_t before;
		pid_t child;

		assert_int_equal(
			perch_counter_open(&counter, "page-faults:u", NULL, &options, NULL), 0);
		before = read_counter(counter);
		child = fork();
		if (!child) {
			struct perch_count count;

			CHECK_STALE(perch_counter_read(counter, &count, &err));
			if (closes)
				perch_counter_close(counter);
			touch_pages(500);
			_exit(0);
		}
		wait_for(child);
		assert_true(read_counter(counter) >= before + 500);
		perch_counter_close(counter);
	}
}

static void groups_of_the_parent_are_refused_in_the_child(void **state)
{
	const struct perch_options options = { .enabled = 1 };
	struct perch_count counts[2], after[2];
	struct perch_group *group;
	uint64_t id;
	pid_t child;

	(void)state;
	assert_int_equal(
		perch_group_open(&group, "{page-faults:u,task-clock:u}", NULL, &options, NULL), 0);
	touch_pages(10);
	assert_int_equal(perch_group_read(group, counts, 2, NULL), 0);
	child = fork();
	if (!child) {
		CHECK_STALE(perch_group_read(group, counts, 2, &err));
		CHECK(perch_group_enable(group, NULL) == -ESTALE);
		CHECK(perch_group_disable(group, NULL) == -ESTALE);
		CHECK(perch_group_reset(group, NULL) == -ESTALE);
		CHECK_STALE(perch_group_id(group, 0, &id, &err));
		CHECK_STALE(perch_group_find(group, 77, &err));
		CHECK_STALE(perch_group_add(group, "context-switches", NULL, &err));
		CHECK(perch_group_size(group) == 2);
		perch_group_close(group);
		_exit(0);
	}
	wait_for(child);
	touch_pages(10);
	assert_int_equal(perch_group_read(group, after, 2, NULL), 0);
	assert_true(after[0].value >= counts[0].value + 10);
	assert_true(after[1].value > counts[1].value);
	perch_group_close(group);
}

static void sets_of_the_parent_are_refused_in_the_child(void **state)
{
	const struct perch_options options = { .enabled = 1 };
	struct perch_target self = { .cpu = -1 };
	const struct perch_targets targets = { .target = &self, .nr = 1 };
	struct perch_events events = { 0 };
	struct perch_count count, after;
	struct perch_set *set;
	pid_t child;

	(void)state;
	assert_int_equal(perch_events_parse(&events, "page-faults:u", NULL, NULL), 0);
	assert_int_equal(perch_set_open(&set, &events, &targets, &options, NULL), 0);
	touch_pages(10);
	assert_int_equal(perch_set_read(set, &count, 1, NULL), 0);
	child = fork();
	if (!child) {
		CHECK_STALE(perch_set_read(set, &count, 1, &err));
		CHECK_STALE(perch_set_enable(set, &err));
		CHECK_STALE(perch_set_disable(set, &err));
		CHECK_STALE(perch_set_reset(set, &err));
		CHECK(perch_set_events(set) == 1 && perch_set_targets(set) == 1);
		perch_set_close(set);
		_exit(0);
	}
	wait_for(child);
	touch_pages(10);
	assert_int_equal(perch_set_read(set, &after, 1, NULL), 0);
	assert_true(after.value >= count.value + 10);
	perch_set_close(set);
	perch_events_clear(&events);
}

static int take_piece(void *context, size_t ring, const struct iovec *pieces, int nr)
{
	(void)ring;
	for (int i = 0; i < nr; i++)
		*(size_t *)context += pieces[i].iov_len;
	return 0;
}

static void use_sampler_in_child(struct perch_sampler *sampler)
{
	struct perch_sampler_stats stats;
	struct perch_record record;
	enum perch_ring_state state;
	size_t bytes = 0;
	uint64_t lost;
	struct perch_sampler *own;

	CHECK_STALE(perch_sampler_next(sampler, &record, &err));
	CHECK_STALE(perch_sampler_next_ordered(sampler, true, &record, &err));
	CHECK_STALE((int)perch_sampler_drain(sampler, take_piece, &bytes, &err));
	CHECK_STALE((int)perch_sampler_snapshot(sampler, take_piece, &bytes, &err));
	CHECK_STALE(perch_sampler_wait(sampler, -1, &err));
	CHECK_STALE(perch_sampler_fd(sampler, &err));
	CHECK_STALE(perch_sampler_enable(sampler, &err));
	CHECK_STALE(perch_sampler_disable(sampler, &err));
	CHECK_STALE(perch_sampler_pause(sampler, &err));
	CHECK_STALE(perch_sampler_resume(sampler, &err));
	CHECK_STALE(perch_sampler_refresh(sampler, 1, &err));
	CHECK_STALE(perch_sampler_lost(sampler, 0, 0, &lost, &err));
	CHECK_STALE(perch_sampler_times(sampler, 0, &lost, &lost, &err));
	CHECK_STALE(perch_sampler_set_signal(sampler, 0, 0, &err));
	CHECK_STALE(perch_sampler_add_thread(sampler, 0, &err));
	CHECK_STALE(perch_sampler_remove_thread(sampler, 0, &err));
	CHECK(perch_sampler_ended(sampler));
	CHECK(perch_sampler_ring_state(sampler, 0, &state) == -ESTALE);
	CHECK(perch_sampler_rings(sampler) > 0);
	CHECK(!perch_ring_next(perch_sampler_ring(sampler, 0)));
	perch_sampler_snapshot_advance(sampler);
	perch_sampler_get_stats(sampler, &stats);
	CHECK(!bytes);
	CHECK(!perch_sampler_open(&own, "page-faults:u", NULL,
				  &(struct perch_sampler_options){ .event.period = 1 }, NULL));
	CHECK(!perch_sampler_enable(own, NULL));
	touch_pages(20);
	CHECK(!perch_sampler_disable(own, NULL));
	for (int i = 0; i < 20; i++)
		CHECK(perch_sampler_next(own, &record, NULL) == 1);
	CHECK_STALE(perch_sampler_next(sampler, &record, &err));
	perch_sampler_close(own);
	perch_sampler_close(sampler);
}

/* The descriptor of the sampler is an epoll, which the child shares: it must still report data. */
static void samplers_of_the_parent_are_refused_in_the_child(void **state)
{
	(void)state;
	for (int overwrite = 0; overwrite < 2; overwrite++) {
		const struct perch_sampler_options options = {
			.event = { .period = 1, .wakeup_events = 1 },
			.overwrite = overwrite,
		};
		struct perch_sampler *sampler;
		struct perch_error err;
		size_t bytes = 0;
		struct pollfd ready;
		pid_t child;

		if (perch_sampler_open(&sampler, "page-faults:u", NULL, &options, &err))
			fail_msg("%s", err.message);
		ready = (struct pollfd){ perch_sampler_fd(sampler, NULL), POLLIN, 0 };
		assert_true(ready.fd >= 0);
		assert_int_equal(perch_sampler_enable(sampler, NULL), 0);
		touch_pages(5);
		child = fork();
		if (!child) {
			use_sampler_in_child(sampler);
			_exit(0);
		}
		wait_for(child);
		touch_pages(100);
		if (overwrite) {
			assert_true(perch_sampler_snapshot(sampler, take_piece, &bytes, &err) > 0);
		} else {
			assert_int_equal(poll(&ready, 1, 30000), 1);
			assert_true(perch_sampler_drain(sampler, take_piece, &bytes, &err) > 0);
		}
		/* of 105 page faults at least, with 16 bytes each */
		assert_true(bytes > 105 * 16);
		perch_sampler_close(sampler);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rings_of_the_parent_are_refused_in_the_child),
		cmocka_unit_test(merges_of_the_parent_are_refused_in_the_child),
		cmocka_unit_test(counters_of_the_parent_are_refused_in_the_child),
		cmocka_unit_test(inherited_counters_count_the_child_for_the_parent),
		cmocka_unit_test(groups_of_the_parent_are_refused_in_the_child),
		cmocka_unit_test(sets_of_the_parent_are_refused_in_the_child),
		cmocka_unit_test(samplers_of_the_parent_are_refused_in_the_child),
	};

	if (every_event_is_refused())
		return 77;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
