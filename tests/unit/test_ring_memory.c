/* SPDX-License-Identifier: MIT */
/*
 * No allocation per record: counts allocations while records are read from rings, the merge,
 * snapshots and a sampler, by each function. Memory for all records, as the index of a snapshot, is
 * allocated once.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>

#include "build/one_target.h"
#include "count_allocations.h"
#include "ring_kernel.h"
#include "sampler_fixture.h"

#define ROUNDS 200
#define EACH   20 /* records per round */
#define RING   4096
#define PAGES  4 /* of a sampler's ring */

static bool counted(void)
{
	size_t before = allocations;
	void *volatile one;

	if (!count_allocations())
		return false;
	one = malloc(1);
	free(one);
	assert_true(allocations > before);
	return true;
}

/* ---- rings ---- */

static size_t read_one_by_one(struct perch_ring *ring)
{
	size_t nr = 0;

	while (perch_ring_next(ring))
		nr++;
	return nr;
}

static size_t read_pieces(struct perch_ring *ring, size_t each)
{
	struct iovec pieces[2];
	size_t bytes = perch_ring_peek(ring, pieces);

	perch_ring_consume(ring, bytes);
	return bytes / each;
}

static void reading_a_ring(void **state)
{
	struct ring_kernel *k = ring_kernel_new(RING, 0, false, 0, 1);
	struct perch_ring *ring;
	size_t nr = 0, before;

	(void)state;
	if (!counted())
		skip(); /* the allocator of this C library cannot be replaced */
	assert_int_equal(perch_ring_from_memory(&ring, k->control, k->data, RING,
						PERCH_RING_FORWARD, NULL),
			 0);
	before = allocations;
	for (int round = 0; round < ROUNDS; round++) {
		for (int i = 0; i < EACH; i++)
			assert_true(ring_kernel_sample(k, 56)); /* they wrap anywhere */
		nr += round % 2 ? read_one_by_one(ring) : read_pieces(ring, 56);
	}
	assert_int_equal(allocations, before);
	assert_int_equal(nr, ROUNDS * EACH);
	perch_ring_close(ring);
	ring_kernel_free(k);
}

static void snapshots(void **state)
{
	struct ring_kernel *k = ring_kernel_new(RING, 0, true, 0, 1);
	struct perch_ring *ring;
	size_t nr = 0, before = 0;

	(void)state;
	if (!counted())
		skip(); /* the allocator of this C library cannot be replaced */
	assert_int_equal(perch_ring_from_memory(&ring, k->control, k->data, RING,
						PERCH_RING_OVERWRITE, NULL),
			 0);
	for (int round = 0; round < ROUNDS; round++) {
		for (int i = 0; i < 2 * RING / 56; i++)
			ring_kernel_sample(k, 56);
		assert_true(perch_ring_snapshot(ring,
						round % 2 ? PERCH_SNAPSHOT_NEWEST_FIRST
							  : PERCH_SNAPSHOT_OLDEST_FIRST,
						NULL) > 0);
		nr += read_one_by_one(ring);
		assert_int_equal(perch_ring_resume(ring, NULL), 0);
		before = round ? before : allocations; /* the first snapshot allocates the index */
	}
	assert_int_equal(allocations, before);
	assert_int_equal(nr, ROUNDS * (RING / 56));
	perch_ring_close(ring);
	ring_kernel_free(k);
}

/* ---- a sampler ---- */

struct fixture {
	struct kernel k;
	struct perch_syscalls calls;
	struct perch_machine *machine;
	struct perch_sampler *sampler;
	uint64_t time;
};

static void open_fixture(struct fixture *fixture)
{
	static int list[] = { 0, 1 };
	static const struct perch_cpus cpus = { 2, list };
	const pid_t tid = 11;
	struct perch_targets targets = make_targets(&tid, 1, &cpus);
	struct perch_sampler_options options = {
		.event = { .period = 1000, .sample = PERCH_SAMPLE_IP }, .ring_pages = PAGES
	};
	struct perch_error err = { 0 };

	*fixture = (struct fixture){ .k.gone = -5, .time = 1000 };
	fixture->calls = fake_calls(&fixture->k);
	assert_int_equal(perch_machine_new(&fixture->machine, "", &fixture->calls, NULL), 0);
	options.event.machine = fixture->machine;
	if (perch_sampler_open(&fixture->sampler, "cpu-clock,page-faults", &targets, &options,
			       &err) < 0)
		fail_msg("%s", err.message);
	perch_targets_clear(&targets);
	assert_int_equal(perch_sampler_rings(fixture->sampler), 2);
}

static void close_fixture(struct fixture *fixture)
{
	perch_sampler_close(fixture->sampler);
	perch_machine_free(fixture->machine);
}

/* Samples of both events, with some LOST records, alternate between the two rings. */
static void put_round(struct fixture *fixture)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), size = PAGES * page;

	for (uint64_t i = 0; i < EACH; i++, fixture->time++) {
		struct perch_mmap_page *control = fixture->k.rings[i % 2];
		uint64_t id = 8000 + i % 4, task = 11ull << 32 | 11;
		uint64_t sample[] = { 0, id, 0x401000, task, fixture->time },
			 lost[] = { 0, id, 3, task, fixture->time, id };
		uint64_t *words = i == 7 ? lost : sample, nr = i == 7 ? 6 : 5;
		struct perch_record_header header = { i == 7 ? PERCH_RECORD_LOST
							     : PERCH_RECORD_SAMPLE,
						      0, (uint16_t)(8 * nr) };

		memcpy(words, &header, sizeof(header));
		for (uint64_t n = 0; n < nr; n++, control->data_head += 8)
			memcpy((char *)control + page + control->data_head % size, &words[n], 8);
	}
}

static int take(void *context, size_t ring, const struct iovec *pieces, int nr)
{
	(void)ring;
	for (int i = 0; i < nr; i++)
		*(size_t *)context += pieces[i].iov_len;
	return 0;
}

static size_t read_sampler(struct fixture *fixture, int way, size_t *bytes)
{
	struct perch_record record;
	size_t nr = 0;

	if (way == 0)
		while (perch_sampler_next(fixture->sampler, &record, NULL) == 1)
			nr++;
	if (way == 1)
		while (perch_sampler_next_ordered(fixture->sampler, true, &record, NULL) == 1)
			nr++;
	if (way == 2)
		assert_true(perch_sampler_drain(fixture->sampler, take, bytes, NULL) > 0);
	return nr;
}

/* perch_sampler_next(), _next_ordered() and _drain(). */
static void reading_a_sampler(void **state)
{
	size_t nr[3] = { 0 }, bytes = 0, before = 0;
	struct perch_sampler_stats stats;
	struct perch_record record;
	struct fixture fixture;

	(void)state;
	if (!counted())
		skip(); /* the allocator of this C library cannot be replaced */
	open_fixture(&fixture);
	/* allocates the merge */
	assert_int_equal(perch_sampler_next_ordered(fixture.sampler, true, &record, NULL), 0);
	before = allocations;
	for (int round = 0; round < 3 * ROUNDS; round++) {
		put_round(&fixture);
		nr[round % 3] += read_sampler(&fixture, round % 3, &bytes);
	}
	assert_int_equal(allocations, before);
	assert_int_equal(nr[0], ROUNDS * EACH);
	assert_int_equal(nr[1], ROUNDS * EACH);
	assert_int_equal(bytes, ROUNDS * (8 * (5 * EACH + 1)));
	perch_sampler_get_stats(fixture.sampler, &stats);
	assert_int_equal(stats.records, 3 * ROUNDS * EACH);
	assert_int_equal(stats.lost, 3 * ROUNDS * 3);
	assert_int_equal(stats.damaged, 0);
	close_fixture(&fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reading_a_ring),
		cmocka_unit_test(snapshots),
		cmocka_unit_test(reading_a_sampler),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
