/* SPDX-License-Identifier: MIT */
/* Rings that are added to a merge and removed from it while it runs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <errno.h>
#include <cmocka.h>

#include "merge_fixture.h"

static void add(struct fixture *f, size_t i, size_t size, size_t wanted)
{
	size_t index = SIZE_MAX;

	f->k[i] = ring_kernel_new(size, 0, false, UINT64_MAX - 8 * size + 1, 1 + i);
	assert_int_equal(perch_ring_from_memory(&f->rings[i], f->k[i]->control, f->k[i]->data, size,
						PERCH_RING_FORWARD, NULL),
			 0);
	assert_int_equal(perch_merge_add(f->merge, f->rings[i], &index, NULL), 0);
	assert_int_equal(index, wanted);
	f->seen[i] = 0;
}

static void close_ring(struct fixture *f, size_t i)
{
	perch_ring_close(f->rings[i]);
	ring_kernel_free(f->k[i]);
	f->rings[i] = NULL;
}

static void added_rings_take_part_from_the_next_round(void **state)
{
	struct perch_error err;
	struct fixture f;
	size_t index;

	(void)state;
	begin(&f, 0, 0);
	f.nr = 2;
	add(&f, 0, 4096, 0);
	put(f.k[0], PERCH_RECORD_SAMPLE, 10, 24);
	put(f.k[0], PERCH_RECORD_SAMPLE, 20, 24);
	expect_end(&f, false);
	expect(&f, false, 0, 10);
	add(&f, 1, 4096, 1); /* in the middle of a round */
	put(f.k[1], PERCH_RECORD_SAMPLE, 15, 24);
	put(f.k[1], PERCH_RECORD_SAMPLE, 25, 24);
	expect(&f, false, 0, 20);
	expect_end(&f, false);
	expect(&f, false, 1, 15); /* it was written after the round of its time had begun */
	expect_end(&f, false);
	assert_int_equal(perch_merge_out_of_order(f.merge), 1);
	expect(&f, true, 1, 25);
	expect_end(&f, true);
	assert_int_equal(perch_merge_add(f.merge, f.rings[1], &index, &err), -EEXIST);
	assert_int_equal(err.kind, PERCH_ERROR_USAGE);
	check_all_delivered(&f);
	end(&f);
}

static void a_removed_ring_delivers_its_records_first(void **state)
{
	struct perch_error err;
	struct fixture f;

	(void)state;
	begin(&f, 2, 4096);
	put(f.k[0], PERCH_RECORD_SAMPLE, 10, 24);
	put(f.k[1], PERCH_RECORD_SAMPLE, 11, 24);
	put(f.k[1], PERCH_RECORD_SAMPLE, 13, 24);
	expect_end(&f, false);
	put(f.k[0], PERCH_RECORD_SAMPLE, 12, 24);
	put(f.k[1], PERCH_RECORD_SAMPLE, 14, 24);
	assert_int_equal(perch_merge_remove(f.merge, 1, false, &err), 1);
	put(f.k[1], PERCH_RECORD_SAMPLE, 15, 24); /* stays in the ring */
	expect(&f, false, 0, 10);
	expect(&f, false, 1, 11);
	assert_int_equal(perch_merge_remove(f.merge, 1, false, &err), 1);
	expect(&f, false, 0, 12);
	expect(&f, false, 1, 13);
	expect_end(&f, false);
	put(f.k[0], PERCH_RECORD_SAMPLE, 20, 24);
	expect(&f, false, 1, 14);
	/* the last record of the ring is with the caller, and the call ends its time */
	assert_int_equal(perch_merge_remove(f.merge, 1, false, &err), 0);
	assert_int_equal(f.k[1]->control->data_head - f.k[1]->control->data_tail, 24);
	assert_int_equal(perch_merge_remove(f.merge, 1, false, &err), -EINVAL);
	assert_int_equal(perch_merge_remove(f.merge, 7, false, &err), -EINVAL);
	close_ring(&f, 1);
	add(&f, 1, 1024, 1); /* gets the free index */
	put(f.k[1], PERCH_RECORD_SAMPLE, 19, 24);
	expect_end(&f, false);
	expect(&f, false, 1, 19);
	expect(&f, false, 0, 20);
	expect_end(&f, false);
	assert_int_equal(perch_merge_out_of_order(f.merge), 0);
	assert_int_equal(perch_merge_discarded(f.merge), 0);
	check_all_delivered(&f);
	end(&f);
}

static void counts_discarded_records(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f, 3, 4096);
	for (uint64_t time = 10; time < 16; time++)
		put(f.k[time % 3], PERCH_RECORD_SAMPLE, time, 24);
	put(f.k[0], PERCH_RECORD_SAMPLE, 16, 24);
	expect_end(&f, false);
	expect(&f, false, 1, 10);
	expect(&f, false, 2, 11);
	assert_int_equal(perch_merge_remove(f.merge, 0, true, NULL), 0);
	assert_int_equal(perch_merge_discarded(f.merge), 3);
	assert_int_equal(f.k[0]->control->data_head, f.k[0]->control->data_tail);
	close_ring(&f, 0);
	expect(&f, false, 1, 13);
	assert_int_equal(perch_merge_remove(f.merge, 1, true, NULL), 0);
	assert_int_equal(perch_merge_discarded(f.merge), 3); /* 13 was delivered */
	close_ring(&f, 1);
	expect(&f, false, 2, 14);
	expect_end(&f, false);
	assert_int_equal(perch_merge_remove(f.merge, 2, false, NULL), 0);
	expect_end(&f, true);
	perch_merge_free(f.merge);
	close_ring(&f, 2);
	perch_decoder_free(f.decoder);
}

/* Each record of any ring is delivered once and in order, however rings come and go. */
static void delivers_each_record_once_while_rings_change(void **state)
{
	uint64_t clock = 0, last = 0, time, delivered = 0, written = 0;
	bool ending[MOST] = { false };
	uint32_t random = 5;
	struct fixture f;
	size_t ring;

	(void)state;
	begin(&f, MOST, 16384);
	for (int round = 0; round < 20000; round++) {
		size_t i = ring_kernel_random(&random) % MOST;

		if (f.rings[i] && ring_kernel_random(&random) % 4 == 0) {
			ending[i] = true;
			if (!perch_merge_remove(f.merge, i, false, NULL)) {
				assert_int_equal(f.seen[i], f.k[i]->serial);
				close_ring(&f, i);
				ending[i] = false;
			}
		} else if (!f.rings[i]) {
			for (i = 0; f.rings[i];)
				i++; /* the lowest free index */
			add(&f, i, 16384, i);
		}
		for (int n = ring_kernel_random(&random) % 40; n; n--) {
			i = ring_kernel_random(&random) % MOST;
			clock += ring_kernel_random(&random) % 3;
			if (f.rings[i] && !ending[i])
				written += put(f.k[i], PERCH_RECORD_SAMPLE, clock, 24);
		}
		for (; next(&f, false, &ring, &time) == 1; delivered++) {
			assert_true(time >= last);
			last = time;
		}
	}
	for (; next(&f, true, &ring, &time) == 1; delivered++)
		assert_true(time >= last);
	assert_int_equal(delivered, written);
	assert_true(delivered > 100000);
	assert_int_equal(perch_merge_out_of_order(f.merge), 0);
	perch_merge_free(f.merge);
	for (size_t i = 0; i < MOST; i++)
		if (f.rings[i])
			close_ring(&f, i);
	perch_decoder_free(f.decoder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(added_rings_take_part_from_the_next_round),
		cmocka_unit_test(a_removed_ring_delivers_its_records_first),
		cmocka_unit_test(counts_discarded_records),
		cmocka_unit_test(delivers_each_record_once_while_rings_change),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
