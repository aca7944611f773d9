/* SPDX-License-Identifier: MIT */
/* Merges several rings by time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <errno.h>
#include <cmocka.h>

#include "merge_fixture.h"

static void delivers_records_after_the_next_round(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f, 2, 4096);
	expect_end(&f, false);
	put(f.k[0], PERCH_RECORD_SAMPLE, 10, 24);
	put(f.k[0], PERCH_RECORD_SAMPLE, 20, 24);
	expect_end(&f, false);
	put(f.k[1], PERCH_RECORD_SAMPLE, 5, 24);
	put(f.k[1], PERCH_RECORD_SAMPLE, 15, 24);
	put(f.k[1], PERCH_RECORD_SAMPLE, 25, 24);
	expect(&f, false, 1, 5);
	expect(&f, false, 0, 10);
	put(f.k[1], PERCH_RECORD_SAMPLE, 30, 24); /* after this round began */
	expect(&f, false, 1, 15);
	expect(&f, false, 0, 20);
	expect_end(&f, false);
	expect(&f, false, 1, 25);
	expect_end(&f, false);
	expect(&f, false, 1, 30);
	expect_end(&f, false);
	assert_int_equal(perch_merge_out_of_order(f.merge), 0);
	check_all_delivered(&f);
	end(&f);
}

static void flush_delivers_all_written_records(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f, 2, 4096);
	put(f.k[0], PERCH_RECORD_SAMPLE, 10, 24);
	expect_end(&f, false);
	put(f.k[0], PERCH_RECORD_SAMPLE, 20, 24);
	expect(&f, false, 0, 10);
	put(f.k[1], PERCH_RECORD_SAMPLE, 12,
	    24); /* a flush includes records written after its start */
	expect(&f, true, 1, 12);
	put(f.k[1], PERCH_RECORD_SAMPLE, 13, 24); /* but ends */
	expect(&f, true, 0, 20);
	expect_end(&f, true);
	expect(&f, true, 1, 13);
	expect_end(&f, true);
	assert_int_equal(perch_merge_out_of_order(f.merge), 1);
	check_all_delivered(&f);
	end(&f);
}

/* They are delivered with the next record of the ring; without one, with the previous record. */
static void delivers_records_without_time_with_the_next_one(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f, 2, 4096);
	for (uint64_t i = 0; i < 3; i++)
		put(f.k[0], PERCH_RECORD_ITRACE_START, i, 32);
	put(f.k[0], PERCH_RECORD_SAMPLE, 50, 24);
	put(f.k[0], PERCH_RECORD_ITRACE_START, 3, 32);
	put(f.k[1], PERCH_RECORD_SAMPLE, 40, 24);
	put(f.k[1], PERCH_RECORD_SAMPLE, 60, 24);
	expect_end(&f, false);
	expect(&f, false, 1, 40);
	for (uint64_t i = 0; i < 3; i++)
		expect(&f, false, 0, i);
	expect(&f, false, 0, 50);
	expect(&f, false, 0, 3);
	expect(&f, false, 1, 60);
	expect_end(&f, false);
	put(f.k[0], PERCH_RECORD_ITRACE_START, 4, 32);
	put(f.k[1], PERCH_RECORD_SAMPLE, 70, 24);
	expect(&f, false, 0, 4);
	expect_end(&f, false);
	expect(&f, false, 1, 70);
	expect_end(&f, false);
	check_all_delivered(&f);
	end(&f);
}

/*
 * If a ring is more than half full, its records are delivered at once until it is half full. The
 * other rings deliver up to the same time.
 */
static void empties_rings_that_are_half_full(void **state)
{
	struct fixture f;
	size_t ring;
	uint64_t time, last = 0;

	(void)state;
	begin(&f, 2, 1024);
	for (uint64_t i = 0; i < 30; i++)
		put(f.k[0], PERCH_RECORD_SAMPLE, 100 + 2 * i, 32); /* 960 bytes */
	for (uint64_t i = 0; i < 12; i++)
		put(f.k[1], PERCH_RECORD_SAMPLE, 101 + 2 * i, 32); /* 384 */
	while (next(&f, false, &ring, &time) == 1) {
		assert_true(time > last);
		last = time;
	}
	assert_int_equal(f.seen[0], 14);
	assert_int_equal(last, 126);
	assert_int_equal(f.seen[1], 12);
	assert_int_equal(f.k[0]->control->data_head - f.k[0]->control->data_tail, 512);
	while (next(&f, false, &ring, &time) == 1) {
		assert_true(time > last);
		last = time;
	}
	check_all_delivered(&f);
	assert_int_equal(perch_merge_out_of_order(f.merge), 0);
	end(&f);
}

/*
 * Each writer is delayed once, and completes its record just before the second following round
 * starts. This is the latest time that the merge guarantees: no record is out of order.
 */
static void delivers_late_records_in_order(void **state)
{
	static struct {
		uint64_t time;
		size_t size;
	} late[MOST][64];
	struct fixture f;
	uint64_t clock = 0, last = 0, time, delivered = 0;
	uint32_t random = 1;
	size_t ring, nr_late[MOST] = { 0 };

	(void)state;
	begin(&f, MOST, 16384);
	for (int round = 0; round < 20000; round++) {
		bool stalled[MOST] = { false };

		for (size_t i = 0; i < MOST; i++) {
			for (size_t n = 0; n < nr_late[i]; n++)
				assert_true(put(f.k[i], PERCH_RECORD_SAMPLE, late[i][n].time,
						late[i][n].size));
			nr_late[i] = 0;
		}
		for (int n = ring_kernel_random(&random) % 60; n; n--) {
			size_t i = ring_kernel_random(&random) % MOST,
			       size = 24 + 8 * (ring_kernel_random(&random) % 9);

			clock += ring_kernel_random(&random) % 3;
			if (ring_kernel_random(&random) % 20 == 0)
				stalled[i] = true;
			if (!stalled[i]) {
				assert_true(put(f.k[i], PERCH_RECORD_SAMPLE, clock, size));
				continue;
			}
			late[i][nr_late[i]].time = clock;
			late[i][nr_late[i]++].size = size;
		}
		for (; next(&f, false, &ring, &time) == 1; delivered++) {
			assert_true(time >= last);
			last = time;
		}
	}
	while (next(&f, true, &ring, &time) == 1)
		;
	for (size_t i = 0; i < MOST; i++)
		assert_int_equal(f.seen[i], f.k[i]->serial);
	assert_int_equal(perch_merge_out_of_order(f.merge), 0);
	assert_true(delivered > 100000);
	end(&f);
}

/* ---- against a sort ---- */

#define SORTED 400

struct put_record {
	uint64_t time, serial;
	size_t ring;
};

/* Sorts by time. Records of equal time are sorted by ring, then by the order of writing. */
static int by_time(const void *one, const void *other)
{
	const struct put_record *a = one, *b = other;

	if (a->time != b->time)
		return a->time < b->time ? -1 : 1;
	if (a->ring != b->ring)
		return a->ring < b->ring ? -1 : 1;
	return a->serial < b->serial ? -1 : a->serial > b->serial;
}

/* Rings with any number of records, many with equal times: one round equals a stable sort. */
static void one_round_equals_a_stable_sort(void **state)
{
	static struct put_record wanted[MOST * SORTED];

	(void)state;
	for (uint32_t seed = 1; seed < 400; seed++) {
		uint32_t random = seed;
		uint64_t clock[MOST] = { 0 };
		struct fixture f;
		size_t nr = 0;

		begin(&f, MOST, 32768);
		for (size_t n = ring_kernel_random(&random) % (MOST * SORTED); nr < n; nr++) {
			size_t i = ring_kernel_random(&random) % (1 + seed % MOST);

			clock[i] += ring_kernel_random(&random) % 8 / 6;
			wanted[nr] = (struct put_record){ 1 + clock[i], f.k[i]->serial, i };
			if (!put(f.k[i], PERCH_RECORD_SAMPLE, 1 + clock[i],
				 24 + 8 * (ring_kernel_random(&random) % 3)))
				break;
		}
		qsort(wanted, nr, sizeof(*wanted), by_time);
		for (size_t n = 0; n < nr; n++)
			expect(&f, true, wanted[n].ring, wanted[n].time);
		expect_end(&f, true);
		assert_int_equal(perch_merge_out_of_order(f.merge), 0);
		check_all_delivered(&f);
		end(&f);
	}
}

/* Rings without new records do not delay the others. */
static void rings_without_records_delay_no_others(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f, 3, 4096);
	put(f.k[1], PERCH_RECORD_SAMPLE, 1, 24);
	for (uint64_t time = 10; time < 2000; time++) {
		put(f.k[0], PERCH_RECORD_SAMPLE, time, 24);
		if (time == 11)
			expect(&f, false, 1, 1);
		if (time > 10)
			expect(&f, false, 0, time - 1);
		expect_end(&f, false);
	}
	expect(&f, true, 0, 1999);
	expect_end(&f, true);
	check_all_delivered(&f);
	end(&f);
}

/*
 * With times of any value, each record is delivered once, in the order of its ring. Records out of
 * order are counted.
 */
static void delivers_each_record_once_for_any_times(void **state)
{
	struct fixture f;
	uint64_t latest = 0, out_of_order = 0, time;
	uint32_t random = 9;
	size_t ring;

	(void)state;
	begin(&f, 3, 512);
	for (int round = 0; round < 20000; round++) {
		uint64_t before = out_of_order;

		for (int n = ring_kernel_random(&random) % 12; n; n--) {
			uint64_t wild = (uint64_t)ring_kernel_random(&random) << 32 |
					ring_kernel_random(&random);

			put(f.k[ring_kernel_random(&random) % 3], PERCH_RECORD_SAMPLE,
			    wild >> ring_kernel_random(&random) % 64,
			    24 + 8 * (ring_kernel_random(&random) % 20));
		}
		for (int n = 0; next(&f, ring_kernel_random(&random) % 50 == 0, &ring, &time) == 1;
		     n++) {
			assert_true(n < 200);
			out_of_order += time < latest;
			latest = time > latest ? time : latest;
		}
		assert_true(out_of_order >= before);
	}
	while (next(&f, true, &ring, &time) == 1)
		out_of_order += time < latest;
	check_all_delivered(&f);
	assert_int_equal(perch_merge_out_of_order(f.merge), out_of_order);
	end(&f);
}

static void continues_after_damaged_records(void **state)
{
	struct perch_ring_stats stats;
	struct perch_record record;
	struct perch_error err;
	struct fixture f;
	size_t ring;

	(void)state;
	begin(&f, 2, 4096);
	put(f.k[0], PERCH_RECORD_SAMPLE, 10, 24);
	put(f.k[0], PERCH_RECORD_SAMPLE, 0, 16); /* too short for its time */
	put(f.k[0], PERCH_RECORD_SAMPLE, 30, 24);
	put(f.k[1], PERCH_RECORD_SAMPLE, 20, 24);
	put(f.k[1], PERCH_RECORD_SAMPLE, 21, 4); /* not a record */
	f.k[1]->control->data_head += 20;
	expect(&f, true, 0, 10);
	expect(&f, true, 1, 20);
	assert_int_equal(perch_merge_next(f.merge, true, &record, &ring, &err), -EBADMSG);
	assert_int_equal(ring, 0);
	f.seen[0]++;
	expect(&f, true, 0, 30);
	expect_end(&f, true);
	perch_ring_get_stats(f.rings[1], &stats);
	assert_int_equal(stats.damaged, 1);
	f.k[1]->head = f.k[1]->control->data_head += 1 << 30;
	expect_end(&f, true);
	perch_ring_get_stats(f.rings[1], &stats);
	assert_int_equal(stats.damaged, 2);
	f.seen[1] = f.k[1]->serial;
	put(f.k[1], PERCH_RECORD_SAMPLE, 40, 24);
	expect(&f, true, 1, 40);
	expect_end(&f, true);
	check_all_delivered(&f);
	end(&f);
}

static void accepts_an_empty_list_of_rings(void **state)
{
	struct ring_kernel *k = ring_kernel_new(256, 0, true, 0, 1);
	struct perch_merge *merge;
	struct perch_ring *ring;
	struct perch_error err;
	struct fixture f;

	(void)state;
	begin(&f, 0, 0);
	expect_end(&f, false);
	expect_end(&f, true);
	assert_int_equal(perch_ring_from_memory(&ring, k->control, k->data, k->size,
						PERCH_RING_OVERWRITE, NULL),
			 0);
	assert_int_equal(perch_merge_new(&merge, &ring, 1, f.decoder, &err), -EINVAL);
	assert_null(merge);
	assert_int_equal(perch_merge_new(&merge, NULL, 0, NULL, &err), -EINVAL);
	assert_null(merge);
	perch_merge_free(merge);
	perch_ring_close(ring);
	ring_kernel_free(k);
	end(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(delivers_records_after_the_next_round),
		cmocka_unit_test(flush_delivers_all_written_records),
		cmocka_unit_test(delivers_records_without_time_with_the_next_one),
		cmocka_unit_test(empties_rings_that_are_half_full),
		cmocka_unit_test(delivers_late_records_in_order),
		cmocka_unit_test(one_round_equals_a_stable_sort),
		cmocka_unit_test(rings_without_records_delay_no_others),
		cmocka_unit_test(delivers_each_record_once_for_any_times),
		cmocka_unit_test(continues_after_damaged_records),
		cmocka_unit_test(accepts_an_empty_list_of_rings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
