/* SPDX-License-Identifier: MIT */
/*
 * Rings of the running kernel. A thread touches the pages of a region in order, again and again.
 * Each touch is a page fault with a known address, so the tests detect missing, damaged and
 * repeated records.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include <perch/open.h>
#include <perch/ring.h>

#define PAGES 512 /* size of the region */

struct toucher {
	char *region;
	size_t page;
	uint64_t touched; /* pages touched so far; atomic */
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

static void *touch_until_stopped(void *context)
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
	assert_int_equal(pthread_create(&toucher->thread, NULL, touch_until_stopped, toucher), 0);
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
	struct perch_target target = { .tid = tid, .cpu = -1 };
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
	if (recorder->fd == -EINVAL) { /* before Linux 6.0 */
		attr->read_format = 0;
		recorder->fd = perch_open(attr, &target, -1, PERCH_FLAG_FD_CLOEXEC, NULL, &err);
	}
	if (recorder->fd < 0) {
		print_message("skipped: cannot sample page faults: %s\n", err.message);
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

/* True for a page fault in the region. number is the index of the page. */
static bool is_in_region(const struct toucher *toucher, const struct perch_record *record,
			 uint64_t *number)
{
	*number = (record->sample.addr - (uintptr_t)toucher->region) / toucher->page;
	return record->type == PERCH_RECORD_SAMPLE && *number < PAGES;
}

struct check {
	uint64_t records, gaps, lost, sum;
	uint64_t time, page; /* of the previous record */
	bool any;
};

/*
 * Checks that a record can be decoded, is in order of time, and has the page next to that of the
 * previous record.
 */
static void check_record(struct check *check, const struct recorder *recorder,
			 const struct toucher *toucher, bool newest_first,
			 const struct perch_record_header *bytes)
{
	struct perch_record record;
	struct perch_error err;
	uint64_t page, time;

	if (perch_record_decode(&record, &recorder->parse_info, bytes, bytes->size, &err) < 0)
		fail_msg("%s", err.message);
	assert_int_equal(record.trailing_bytes, 0);
	for (size_t i = 0; i < bytes->size / 8u; i++)
		check->sum += ((const uint64_t *)bytes)[i] * (2 * i + 1);
	check->records++;
	if (record.type == PERCH_RECORD_LOST)
		check->lost += record.lost.lost;
	time = record.sample_id.time;
	if (check->records > 1)
		assert_true(newest_first ? time <= check->time : time >= check->time);
	check->time = time;
	if (!is_in_region(toucher, &record, &page))
		return;
	assert_int_equal(record.sample.tid, __atomic_load_n(&toucher->tid, __ATOMIC_RELAXED));
	assert_true(record.sample.callchain.nr > 0);
	if (check->any)
		check->gaps += page !=
			       (newest_first ? check->page + PAGES - 1 : check->page + 1) % PAGES;
	check->any = true;
	check->page = page;
}

static struct check check_snapshot(struct recorder *recorder, const struct toucher *toucher,
				   enum perch_snapshot_order order)
{
	const struct perch_record_header *bytes;
	struct check check = { 0 };
	struct perch_error err;
	ssize_t nr = perch_ring_snapshot(recorder->ring, order, &err);

	if (nr < 0)
		fail_msg("%s", err.message);
	while ((bytes = perch_ring_next(recorder->ring)))
		check_record(&check, recorder, toucher, order == PERCH_SNAPSHOT_NEWEST_FIRST,
			     bytes);
	assert_int_equal(check.records, nr);
	return check;
}

static void wait_until_touched(const struct toucher *toucher, uint64_t pages)
{
	uint64_t before = __atomic_load_n(&toucher->touched, __ATOMIC_RELAXED);

	for (int i = 0;
	     i < 50000 && __atomic_load_n(&toucher->touched, __ATOMIC_RELAXED) - before < pages;
	     i++)
		usleep(100);
	assert_true(__atomic_load_n(&toucher->touched, __ATOMIC_RELAXED) - before >= pages);
}

/* Takes snapshots while the event continues to write records. */
static void snapshots_have_all_records(void **state)
{
	static struct toucher toucher; /* static: the thread continues after a failure */
	struct perch_ring_stats stats;
	struct recorder recorder;
	uint64_t lost = 0;

	(void)state;
	start(&toucher);
	record_faults(&recorder, toucher.tid, true, PERCH_RING_OVERWRITE, 4);
	__atomic_store_n(&toucher.go, true, __ATOMIC_RELEASE);
	for (int round = 0; round < 200; round++) {
		struct check newest_first, oldest_first, again;

		if (round % 8 <= 1)
			wait_until_touched(&toucher, round % 8 ? 20 : 1000);
		/*
		 * A writer on a virtual CPU that does not run can finish late. After the thread
		 * touches another page, it has finished.
		 */
		assert_int_equal(perch_ring_pause(recorder.ring, NULL), 0);
		wait_until_touched(&toucher, 2);
		newest_first = check_snapshot(&recorder, &toucher, PERCH_SNAPSHOT_NEWEST_FIRST);
		/* the ring is paused and does not record these */
		if (round % 8 == 0)
			wait_until_touched(&toucher, 1000);
		oldest_first = check_snapshot(&recorder, &toucher, PERCH_SNAPSHOT_OLDEST_FIRST);
		again = check_snapshot(&recorder, &toucher, PERCH_SNAPSHOT_NEWEST_FIRST);
		assert_int_equal(newest_first.sum, again.sum);
		assert_int_equal(newest_first.sum, oldest_first.sum);
		assert_int_equal(newest_first.gaps, oldest_first.gaps);
		assert_true(round % 8 || newest_first.gaps <= 1);
		lost += newest_first.lost;
		assert_int_equal(perch_ring_resume(recorder.ring, NULL), 0);
	}
	perch_ring_get_stats(recorder.ring, &stats);
	assert_true(lost > 0 && stats.overwritten > 0 && stats.cut > 0);
	assert_int_equal(stats.damaged, 0);
	assert_false(stats.paused);
	finish(&toucher);
	close_recorder(&recorder);
}

/* The kernel counts each record of the time of a pause in a LOST record. */
static void pause_is_counted_as_lost(void **state)
{
	const struct perch_record_header *bytes;
	uint64_t lost = 0, in_region = 0, page;
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
		else if (is_in_region(&toucher, &record, &page))
			assert_int_equal(page, in_region < 10 ? in_region : in_region + 100),
				in_region++;
	}
	assert_int_equal(in_region, 20);
	assert_in_range(lost, 100, 120); /* including other faults of this thread */
	munmap(toucher.region, PAGES * toucher.page);
	close_recorder(&recorder);
}

/* The count of the event is the number of samples plus the number of lost samples. */
static void check_count(const struct recorder *recorder, uint64_t samples, uint64_t reported)
{
	uint64_t words[2] = { 0 };

	if (!recorder->attr.read_format) {
		print_message("this kernel does not count lost samples\n");
		return;
	}
	assert_int_equal(read(recorder->fd, words, sizeof(words)), sizeof(words));
	assert_int_equal(words[0], samples + words[1]);
	/* the kernel writes no LOST record for the last losses */
	assert_true(reported <= words[1]);
}

/*
 * The next reader of a buffer starts after the records that the previous one consumed. Another
 * mapping keeps the buffer.
 */
static void next_reader_continues_after_consumed_records(void **state)
{
	const struct perch_record_header *bytes;
	struct perch_ring_stats stats;
	struct recorder recorder;
	struct toucher toucher;
	const uint64_t first_page = 10;
	struct perch_record record;
	uint64_t nr = 0, page;
	int first = 0;
	void *other;

	(void)state;
	make_region(&toucher);
	record_faults(&recorder, 0, false, PERCH_RING_FORWARD, 16);
	other = mmap(NULL, 17 * toucher.page, PROT_READ | PROT_WRITE, MAP_SHARED, recorder.fd, 0);
	assert_ptr_not_equal(other, MAP_FAILED);
	touch(&toucher, 10);
	while (perch_ring_next(recorder.ring))
		first++;
	touch(&toucher, 7);
	perch_ring_close(recorder.ring);
	assert_int_equal(perch_ring_open(&recorder.ring, recorder.fd, 16, PERCH_RING_FORWARD, NULL,
					 NULL),
			 0);
	while ((bytes = perch_ring_next(recorder.ring))) {
		assert_int_equal(perch_record_decode(&record, &recorder.parse_info, bytes,
						     bytes->size, NULL),
				 0);
		if (is_in_region(&toucher, &record, &page))
			assert_int_equal(page, first_page + nr++);
	}
	perch_ring_get_stats(recorder.ring, &stats);
	assert_true(first >= 10);
	assert_int_equal(nr, 7);
	assert_int_equal(stats.damaged, 0);
	munmap(other, 17 * toucher.page);
	munmap(toucher.region, PAGES * toucher.page);
	close_recorder(&recorder);
}

static void expect_no_second_ring(int fd, enum perch_ring_mode mode)
{
	struct perch_ring *ring = (struct perch_ring *)1;
	struct perch_error err;
	char process[32];

	assert_int_equal(perch_ring_open(&ring, fd, 16, mode, NULL, &err), -EEXIST);
	assert_null(ring);
	assert_int_equal(err.kind, PERCH_ERROR_USAGE);
	snprintf(process, sizeof(process), "process %d", (int)getpid());
	assert_non_null(strstr(err.message, process));
}

/* Another mapping keeps the buffer, but a ring that was closed is no reader of it. */
static void a_closed_ring_can_be_opened_again(void **state)
{
	size_t bytes = 17 * sysconf(_SC_PAGESIZE);

	(void)state;
	for (enum perch_ring_mode mode = PERCH_RING_FORWARD; mode <= PERCH_RING_OVERWRITE; mode++) {
		int protection = mode == PERCH_RING_FORWARD ? PROT_READ | PROT_WRITE : PROT_READ;
		struct recorder recorder;
		void *other;

		record_faults(&recorder, 0, mode == PERCH_RING_OVERWRITE, mode, 16);
		other = mmap(NULL, bytes, protection, MAP_SHARED, recorder.fd, 0);
		assert_ptr_not_equal(other, MAP_FAILED);
		perch_ring_close(recorder.ring);
		assert_int_equal(perch_ring_open(&recorder.ring, recorder.fd, 16, mode, NULL, NULL),
				 0);
		munmap(other, bytes);
		close_recorder(&recorder);
	}
}

/* By the same descriptor, by a copy of it, by an event that writes into the ring, in a child. */
static void an_event_has_one_ring(void **state)
{
	for (enum perch_ring_mode mode = PERCH_RING_FORWARD; mode <= PERCH_RING_OVERWRITE; mode++) {
		const struct perch_target target = { .cpu = -1 };
		bool backward = mode == PERCH_RING_OVERWRITE;
		struct perch_ring *redirected;
		struct recorder recorder;
		int copy, other, status, rc;
		struct perch_attr attr;
		pid_t child, parent = getpid();

		(void)state;
		record_faults(&recorder, 0, backward, mode, 16);
		expect_no_second_ring(recorder.fd, mode);
		copy = dup(recorder.fd);
		expect_no_second_ring(copy, mode);
		attr = recorder.attr;
		other = perch_open(&attr, &target, -1, PERCH_FLAG_FD_CLOEXEC, NULL, NULL);
		assert_true(other >= 0);
		if (!perch_event_set_output(other, recorder.fd, NULL, NULL)) {
			/*
			 * New kernels refuse it themselves. Old ones end the redirection when perch
			 * removes its mapping, so this works once.
			 */
			rc = perch_ring_open(&redirected, other, 16, mode, NULL, NULL);
			assert_true(rc == -EBUSY || rc == -EEXIST);
		}
		child = fork();
		if (!child) {
			struct perch_ring *ring;
			struct perch_error err;
			char process[32];

			snprintf(process, sizeof(process), "process %d", (int)parent);
			_exit(perch_ring_open(&ring, recorder.fd, 16, mode, NULL, &err) ==
						      -EEXIST &&
					      strstr(err.message, process)
				      ? 0
				      : 1);
		}
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_int_equal(status, 0);
		perch_ring_close(recorder.ring);
		assert_int_equal(perch_ring_open(&recorder.ring, copy, 16, mode, NULL, NULL), 0);
		close(other);
		close(copy);
		close_recorder(&recorder);
	}
}

static void overwrite_mode_needs_write_backward(void **state)
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

/* A software event has no AUX data: the area is refused, and the ring still works. */
static void aux_area_of_software_event_is_refused(void **state)
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

/* Two threads at once: the merge delivers all their records that the kernel did not lose. */
static void merge_delivers_all_records(void **state)
{
	static struct toucher toucher[THREADS]; /* static: the threads continue after a failure */
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
		cmocka_unit_test(snapshots_have_all_records),
		cmocka_unit_test(pause_is_counted_as_lost),
		cmocka_unit_test(next_reader_continues_after_consumed_records),
		cmocka_unit_test(an_event_has_one_ring),
		cmocka_unit_test(a_closed_ring_can_be_opened_again),
		cmocka_unit_test(overwrite_mode_needs_write_backward),
		cmocka_unit_test(aux_area_of_software_event_is_refused),
		cmocka_unit_test(merge_delivers_all_records),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
