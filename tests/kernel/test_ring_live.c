/* SPDX-License-Identifier: MIT */
/*
 * Rings with the real kernel. Page faults of a thread that touches the pages of a region one after
 * the other, over and over, are events whose addresses are known beforehand: none may be missing
 * between two others, torn, or there twice.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <cmocka.h>

#include <perch/ring.h>

#define PAGES 512 /* of the region */

struct toucher {
	char *region;
	size_t page;
	uint64_t touched; /* atomic: pages so far */
	pid_t tid;	  /* atomic */
	bool go, stop;	  /* atomic */
	pthread_t thread;
};

struct recorder {
	struct perch_attr attr;
	struct perch_parse_info parse_info;
	struct perch_ring *ring;
	int fd;
};

static void touch(struct toucher *toucher, size_t pages)
{
	for (size_t i = 0; i < pages; i++) {
		size_t at = toucher->touched % PAGES;

		if (!at)
			madvise(toucher->region, PAGES * toucher->page, MADV_DONTNEED);
		((volatile char *)toucher->region)[at * toucher->page] = 1;
		__atomic_store_n(&toucher->touched, toucher->touched + 1, __ATOMIC_RELAXED);
	}
}

static void make_region(struct toucher *toucher)
{
	memset(toucher, 0, sizeof(*toucher));
	toucher->page = (size_t)sysconf(_SC_PAGESIZE);
	toucher->region = mmap(NULL, PAGES * toucher->page, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(toucher->region != MAP_FAILED);
	madvise(toucher->region, PAGES * toucher->page, MADV_NOHUGEPAGE);
}

static void *touch_on(void *context)
{
	struct toucher *toucher = context;

	__atomic_store_n(&toucher->tid, (pid_t)syscall(SYS_gettid), __ATOMIC_RELEASE);
	while (!__atomic_load_n(&toucher->go, __ATOMIC_ACQUIRE))
		usleep(100);
	while (!__atomic_load_n(&toucher->stop, __ATOMIC_ACQUIRE))
		touch(toucher, 16);
	return NULL;
}

static void start(struct toucher *toucher)
{
	make_region(toucher);
	assert_int_equal(pthread_create(&toucher->thread, NULL, touch_on, toucher), 0);
	while (!__atomic_load_n(&toucher->tid, __ATOMIC_ACQUIRE))
		usleep(100);
}

static void finish(struct toucher *toucher)
{
	__atomic_store_n(&toucher->go, true, __ATOMIC_RELEASE);
	__atomic_store_n(&toucher->stop, true, __ATOMIC_RELEASE);
	pthread_join(toucher->thread, NULL);
	munmap(toucher->region, PAGES * toucher->page);
}

static void record_faults(struct recorder *recorder, pid_t tid, bool backward,
			  enum perch_ring_mode mode, size_t pages)
{
	struct perch_target target = { tid, -1, 0 };
	struct perch_attr *attr = &recorder->attr;
	struct perch_error err;

	memset(recorder, 0, sizeof(*recorder));
	attr->size = sizeof(*attr);
	attr->type = PERCH_TYPE_SOFTWARE;
	attr->config = PERCH_COUNT_SW_PAGE_FAULTS;
	attr->sample_period = 1;
	attr->sample_type = PERCH_SAMPLE_IP | PERCH_SAMPLE_TID | PERCH_SAMPLE_TIME |
			    PERCH_SAMPLE_ADDR | PERCH_SAMPLE_CALLCHAIN;
	attr->exclude_kernel = attr->exclude_callchain_kernel = 1;
	attr->sample_id_all = 1;
	attr->write_backward = backward;
	perch_parse_info_init(&recorder->parse_info, attr, PERCH_BYTES_NATIVE);
	attr->read_format = PERCH_FORMAT_LOST;
	recorder->fd = perch_open(attr, &target, -1, PERCH_FLAG_FD_CLOEXEC, NULL, &err);
	if (recorder->fd == -EINVAL) { /* before 6.0 */
		attr->read_format = 0;
		recorder->fd = perch_open(attr, &target, -1, PERCH_FLAG_FD_CLOEXEC, NULL, &err);
	}
	if (recorder->fd < 0) {
		print_message("skipped: no page faults to sample here: %s\n", err.message);
		skip();
	}
	if (perch_ring_open(&recorder->ring, recorder->fd, pages, mode, NULL, &err) < 0)
		fail_msg("%s", err.message);
}

static void close_recorder(struct recorder *recorder)
{
	perch_ring_close(recorder->ring);
	close(recorder->fd);
}

/* The number of the page in the region, for a fault in there. */
static bool is_ours(const struct toucher *toucher, const struct perch_record *record,
		    uint64_t *number)
{
	*number = (record->sample.addr - (uintptr_t)toucher->region) / toucher->page;
	return record->type == PERCH_RECORD_SAMPLE && *number < PAGES;
}

struct walk {
	uint64_t records, gaps, lost, sum;
	uint64_t time, page; /* of the record before */
	bool any;
};

/* Each record is whole, in order of time, and the page is the neighbour of the one before. */
static void walk_on(struct walk *walk, const struct recorder *recorder,
		    const struct toucher *toucher, bool falling,
		    const struct perch_record_header *bytes)
{
	struct perch_record record;
	struct perch_error err;
	uint64_t page, time;

	if (perch_record_decode(&record, &recorder->parse_info, bytes, bytes->size, &err) < 0)
		fail_msg("%s", err.message);
	assert_int_equal(record.trailing_bytes, 0);
	for (size_t i = 0; i < bytes->size / 8u; i++)
		walk->sum += ((const uint64_t *)bytes)[i] * (2 * i + 1);
	walk->records++;
	if (record.type == PERCH_RECORD_LOST)
		walk->lost += record.lost.lost;
	time = record.sample_id.time;
	if (walk->records > 1)
		assert_true(falling ? time <= walk->time : time >= walk->time);
	walk->time = time;
	if (!is_ours(toucher, &record, &page))
		return;
	assert_int_equal(record.sample.tid, __atomic_load_n(&toucher->tid, __ATOMIC_RELAXED));
	assert_true(record.sample.callchain.nr > 0);
	if (walk->any)
		walk->gaps += page != (falling ? walk->page + PAGES - 1 : walk->page + 1) % PAGES;
	walk->any = true;
	walk->page = page;
}

static struct walk walk_snapshot(struct recorder *recorder, const struct toucher *toucher,
				 enum perch_snapshot_order order)
{
	const struct perch_record_header *bytes;
	struct walk walk = { 0 };
	struct perch_error err;
	ssize_t nr = perch_ring_snapshot(recorder->ring, order, &err);

	if (nr < 0)
		fail_msg("%s", err.message);
	while ((bytes = perch_ring_next(recorder->ring)))
		walk_on(&walk, recorder, toucher, order == PERCH_SNAPSHOT_NEWEST_FIRST, bytes);
	assert_int_equal(walk.records, nr);
	return walk;
}

static void wait_for(const struct toucher *toucher, uint64_t pages)
{
	uint64_t before = __atomic_load_n(&toucher->touched, __ATOMIC_RELAXED);

	for (int i = 0;
	     i < 50000 && __atomic_load_n(&toucher->touched, __ATOMIC_RELAXED) - before < pages;
	     i++)
		usleep(100);
	assert_true(__atomic_load_n(&toucher->touched, __ATOMIC_RELAXED) - before >= pages);
}

/* The event keeps firing all the time. A ring holds what came since it was resumed, and perhaps
 * older ones. */
static void flight_recorder(void **state)
{
	static struct toucher toucher; /* its thread outlives a failure */
	struct perch_ring_stats stats;
	struct recorder recorder;
	uint64_t lost = 0;

	(void)state;
	start(&toucher);
	record_faults(&recorder, toucher.tid, true, PERCH_RING_OVERWRITE, 4);
	__atomic_store_n(&toucher.go, true, __ATOMIC_RELEASE);
	for (int round = 0; round < 200; round++) {
		struct walk falling, rising, again;

		if (round % 8 <= 1)
			wait_for(&toucher, round % 8 ? 20 : 1000);
		falling = walk_snapshot(&recorder, &toucher, PERCH_SNAPSHOT_NEWEST_FIRST);
		if (round % 8 == 0)
			wait_for(&toucher, 1000); /* which are not recorded */
		rising = walk_snapshot(&recorder, &toucher, PERCH_SNAPSHOT_OLDEST_FIRST);
		again = walk_snapshot(&recorder, &toucher, PERCH_SNAPSHOT_NEWEST_FIRST);
		assert_int_equal(falling.sum, again.sum);
		assert_int_equal(falling.sum, rising.sum);
		assert_int_equal(falling.gaps, rising.gaps);
		assert_true(round % 8 || falling.gaps <= 1);
		lost += falling.lost;
		assert_int_equal(perch_ring_resume(recorder.ring, NULL), 0);
	}
	perch_ring_get_stats(recorder.ring, &stats);
	assert_true(lost > 0 && stats.overwritten > 0 && stats.cut > 0);
	assert_int_equal(stats.damaged, 0);
	assert_false(stats.paused);
	finish(&toucher);
	close_recorder(&recorder);
}

/* What comes while a forward ring is paused is told by LOST, to the last one. */
static void pausing_is_counted(void **state)
{
	const struct perch_record_header *bytes;
	uint64_t lost = 0, ours = 0, page;
	struct perch_record record;
	struct recorder recorder;
	struct toucher toucher;

	(void)state;
	make_region(&toucher);
	toucher.tid = (pid_t)syscall(SYS_gettid);
	record_faults(&recorder, 0, false, PERCH_RING_FORWARD, 16);
	touch(&toucher, 10);
	assert_int_equal(perch_ring_pause(recorder.ring, NULL), 0);
	touch(&toucher, 100);
	assert_int_equal(perch_ring_resume(recorder.ring, NULL), 0);
	touch(&toucher, 10);
	while ((bytes = perch_ring_next(recorder.ring))) {
		assert_int_equal(perch_record_decode(&record, &recorder.parse_info, bytes,
						     bytes->size, NULL),
				 0);
		if (record.type == PERCH_RECORD_LOST)
			lost += record.lost.lost;
		else if (is_ours(&toucher, &record, &page))
			assert_int_equal(page, ours < 10 ? ours : ours + 100), ours++;
	}
	assert_int_equal(ours, 20);
	assert_in_range(lost, 100, 120); /* other faults of this thread among them */
	munmap(toucher.region, PAGES * toucher.page);
	close_recorder(&recorder);
}

/* What the kernel counted is what was seen, and what it says that it lost. */
static void check_count(const struct recorder *recorder, uint64_t samples, uint64_t told)
{
	uint64_t words[2] = { 0 };

	if (!recorder->attr.read_format) {
		print_message("this kernel does not count what it loses\n");
		return;
	}
	assert_int_equal(read(recorder->fd, words, sizeof(words)), sizeof(words));
	assert_int_equal(words[0], samples + words[1]);
	assert_true(told <= words[1]); /* what was lost last, nothing came behind */
}

/* A second reader of the same ring begins behind what the first one gave back. */
static void goes_on_where_another_left_off(void **state)
{
	const struct perch_record_header *bytes;
	struct perch_ring_stats stats;
	struct recorder recorder;
	struct toucher toucher;
	const uint64_t first_page = 10;
	struct perch_record record;
	struct perch_ring *second;
	uint64_t nr = 0, page;
	int first = 0;

	(void)state;
	make_region(&toucher);
	record_faults(&recorder, 0, false, PERCH_RING_FORWARD, 16);
	touch(&toucher, 10);
	while (perch_ring_next(recorder.ring))
		first++;
	touch(&toucher, 7);
	assert_int_equal(perch_ring_open(&second, recorder.fd, 16, PERCH_RING_FORWARD, NULL, NULL),
			 0);
	while ((bytes = perch_ring_next(second))) {
		assert_int_equal(perch_record_decode(&record, &recorder.parse_info, bytes,
						     bytes->size, NULL),
				 0);
		if (is_ours(&toucher, &record, &page))
			assert_int_equal(page, first_page + nr++);
	}
	perch_ring_get_stats(second, &stats);
	assert_true(first >= 10);
	assert_int_equal(nr, 7);
	assert_int_equal(stats.damaged, 0);
	perch_ring_close(second);
	munmap(toucher.region, PAGES * toucher.page);
	close_recorder(&recorder);
}

static void overwriting_wants_backward(void **state)
{
	struct recorder recorder;
	struct toucher toucher;
	struct perch_error err;

	(void)state;
	make_region(&toucher);
	record_faults(&recorder, 0, false, PERCH_RING_OVERWRITE, 1);
	touch(&toucher, 10);
	assert_int_equal(perch_ring_snapshot(recorder.ring, PERCH_SNAPSHOT_NEWEST_FIRST, &err),
			 -EINVAL);
	assert_non_null(strstr(err.message, "write_backward"));
	munmap(toucher.region, PAGES * toucher.page);
	close_recorder(&recorder);
}

/* A software event writes no trace: that is told, and the ring works on. */
static void aux_refusal(void **state)
{
	const struct perch_record_header *bytes;
	struct perch_error err = { 0 };
	struct recorder recorder;
	struct toucher toucher;
	struct iovec pieces[2];
	int nr = 0;

	(void)state;
	make_region(&toucher);
	record_faults(&recorder, 0, false, PERCH_RING_FORWARD, 16);
	for (int mode = PERCH_RING_FORWARD; mode <= PERCH_RING_OVERWRITE; mode++) {
		assert_int_equal(perch_ring_open_aux(recorder.ring, 8, mode, NULL, &err),
				 -EOPNOTSUPP);
		assert_int_equal(err.cause, PERCH_CAUSE_MMAP_NO_AUX);
		assert_true(err.remedy[0]);
	}
	assert_int_equal(perch_ring_aux_peek(recorder.ring, pieces), 0);
	touch(&toucher, 10);
	while ((bytes = perch_ring_next(recorder.ring)))
		nr++;
	assert_true(nr >= 10);
	munmap(toucher.region, PAGES * toucher.page);
	close_recorder(&recorder);
}

#define THREADS 2

/* Two threads at once: all that they did and the kernel did not lose comes. */
static void merged_by_time(void **state)
{
	static struct toucher toucher[THREADS]; /* their threads outlive a failure */
	struct recorder recorder[THREADS];
	struct perch_ring *rings[THREADS];
	struct perch_decoder_event event = { 0 };
	struct perch_decoder *decoder;
	struct perch_merge *merge;
	struct perch_record record;
	uint64_t seen[THREADS] = { 0 }, lost[THREADS] = { 0 }, latest = 0, out_of_order = 0;
	size_t ring;

	(void)state;
	for (size_t i = 0; i < THREADS; i++) {
		start(&toucher[i]);
		record_faults(&recorder[i], toucher[i].tid, false, PERCH_RING_FORWARD, 64);
		rings[i] = recorder[i].ring;
	}
	event.attr = &recorder[0].attr;
	assert_int_equal(perch_decoder_new(&decoder, &event, 1, PERCH_BYTES_NATIVE, NULL), 0);
	assert_int_equal(perch_merge_new(&merge, rings, THREADS, decoder, NULL), 0);
	for (size_t i = 0; i < THREADS; i++)
		__atomic_store_n(&toucher[i].go, true, __ATOMIC_RELEASE);
	for (int round = 0; round <= 300; round++) {
		if (round == 300)
			for (size_t i = 0; i < THREADS; i++)
				finish(&toucher[i]);
		while (perch_merge_next(merge, round == 300, &record, &ring, NULL) == 1) {
			out_of_order += record.sample_id.time < latest;
			latest = record.sample_id.time > latest ? record.sample_id.time : latest;
			if (record.type == PERCH_RECORD_LOST)
				lost[ring] += record.lost.lost;
			seen[ring] += record.type == PERCH_RECORD_SAMPLE;
		}
		usleep(500);
	}
	for (size_t i = 0; i < THREADS; i++) {
		assert_true(seen[i] > 100);
		check_count(&recorder[i], seen[i], lost[i]);
		close_recorder(&recorder[i]);
	}
	assert_int_equal(perch_merge_out_of_order(merge), out_of_order);
	print_message("%lu and %lu samples, %lu and %lu lost, %lu out of order\n",
		      (unsigned long)seen[0], (unsigned long)seen[1], (unsigned long)lost[0],
		      (unsigned long)lost[1], (unsigned long)out_of_order);
	perch_merge_free(merge);
	perch_decoder_free(decoder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(flight_recorder),
		cmocka_unit_test(pausing_is_counted),
		cmocka_unit_test(goes_on_where_another_left_off),
		cmocka_unit_test(overwriting_wants_backward),
		cmocka_unit_test(aux_refusal),
		cmocka_unit_test(merged_by_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
