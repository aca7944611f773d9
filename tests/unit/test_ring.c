/* SPDX-License-Identifier: MIT */
/* One ring; the test writes as the kernel. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <perch/ring.h>

#define RING 256

struct fixture {
	struct perch_mmap_page control;
	uint64_t data[RING / 8];
	struct perch_ring *ring;
	uint32_t written, seen; /* serial numbers of records */
};

static void begin(struct fixture *f, uint64_t position)
{
	memset(f, 0, sizeof(*f));
	f->control.data_head = f->control.data_tail = position;
	assert_int_equal(perch_ring_from_memory(&f->ring, &f->control, f->data, sizeof(f->data),
						PERCH_RING_FORWARD, NULL),
			 0);
}

static void put_bytes(struct fixture *f, const void *bytes, size_t size)
{
	const char *from = bytes;

	for (size_t i = 0; i < size; i++)
		((char *)f->data)[(f->control.data_head + i) % RING] = from[i];
	f->control.data_head += size;
}

/*
 * Writes as the kernel: a record that does not fit is not written. Every byte of the body is the
 * serial number.
 */
static bool put(struct fixture *f, uint16_t size)
{
	struct perch_record_header header = { PERCH_RECORD_SAMPLE, 0, size };
	char bytes[RING];

	if (f->control.data_head - f->control.data_tail + size > RING)
		return false;
	memset(bytes, (int)f->written++, sizeof(bytes));
	memcpy(bytes, &header, sizeof(header));
	put_bytes(f, bytes, size);
	return true;
}

static void check(struct fixture *f, const void *record)
{
	const struct perch_record_header *header = record;
	const unsigned char *bytes = record;

	assert_int_equal(header->type, PERCH_RECORD_SAMPLE);
	for (size_t i = 8; i < header->size; i++)
		assert_int_equal(bytes[i], f->seen & 0xff);
	f->seen++;
}

static void wraps_at_every_offset(void **state)
{
	struct fixture f;

	(void)state;
	for (uint64_t position = 0; position < RING; position += 8)
		for (uint16_t size = 8; size <= RING; size += 8) {
			const struct perch_record_header *record;

			begin(&f, UINT64_MAX - RING + 1 + position); /* positions overflow too */
			assert_null(perch_ring_next(f.ring));
			assert_true(put(&f, size));
			while (put(&f, 24))
				;
			while ((record = perch_ring_next(f.ring)))
				check(&f, record);
			assert_int_equal(f.seen, f.written);
			assert_int_equal(f.control.data_tail, f.control.data_head);
			perch_ring_close(f.ring);
		}
}

static void runs_for_long(void **state)
{
	const struct perch_record_header *record;
	struct fixture f;

	(void)state;
	begin(&f, 0);
	srand(7);
	for (int round = 0; round < 20000; round++) {
		for (int n = rand() % 8; n; n--)
			put(&f, 8 + 8 * (rand() % 12));
		for (int n = rand() % 8; n && (record = perch_ring_next(f.ring)); n--)
			check(&f, record);
	}
	/* the rest of the round, and the next one */
	for (int round = 0; round < 2; round++)
		while ((record = perch_ring_next(f.ring)))
			check(&f, record);
	assert_int_equal(f.seen, f.written);
	assert_true(f.seen > 10000);
	perch_ring_close(f.ring);
}

static void tail_moves_by_batch(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f, 0);
	put(&f, 32);
	put(&f, 32);
	assert_non_null(perch_ring_next(f.ring));
	put(&f, 32); /* after the head was read */
	assert_non_null(perch_ring_next(f.ring));
	assert_int_equal(f.control.data_tail, 0);
	assert_null(perch_ring_next(f.ring));
	assert_int_equal(f.control.data_tail, 64);
	assert_non_null(perch_ring_next(f.ring));
	assert_null(perch_ring_next(f.ring));
	assert_int_equal(f.control.data_tail, 96);
	perch_ring_close(f.ring);
}

/* A round ends with the records that were there at its beginning, although each is replaced. */
static void a_round_ends_although_the_ring_fills(void **state)
{
	const struct perch_record_header *record;
	struct fixture f;

	(void)state;
	begin(&f, 0);
	put(&f, 32);
	for (int round = 1; round <= 5; round++) {
		unsigned before = f.seen, there = f.written - f.seen;

		while ((record = perch_ring_next(f.ring))) {
			check(&f, record);
			put(&f, 32);
			assert_true(f.seen <= before + there);
		}
		assert_int_equal(f.seen, before + there);
		assert_true(f.written > f.seen);
	}
	perch_ring_close(f.ring);
}

static void peeks_in_pieces(void **state)
{
	struct fixture f;
	struct iovec pieces[2];
	char bytes[RING];

	(void)state;
	for (uint64_t position = 0; position < RING; position += 8) {
		size_t at = 0;

		begin(&f, position);
		assert_int_equal(perch_ring_peek(f.ring, pieces), 0);
		while (put(&f, 40))
			;
		assert_int_equal(perch_ring_peek(f.ring, pieces), 240);
		assert_int_equal(pieces[0].iov_len + pieces[1].iov_len, 240);
		memcpy(bytes, pieces[0].iov_base, pieces[0].iov_len);
		if (pieces[1].iov_len)
			memcpy(bytes + pieces[0].iov_len, pieces[1].iov_base, pieces[1].iov_len);
		for (; at < 240; at += 40)
			check(&f, bytes + at);
		assert_int_equal(f.control.data_tail, position);
		perch_ring_consume(f.ring, 80);
		assert_int_equal(f.control.data_tail, position + 80);
		assert_int_equal(perch_ring_peek(f.ring, pieces), 160);
		perch_ring_consume(f.ring, 100000);
		assert_int_equal(f.control.data_tail, f.control.data_head);
		perch_ring_close(f.ring);
	}
}

/*
 * A caller consumes a part of a record: the next header is read at a multiple of 8, never beyond
 * the end.
 */
static void consumes_multiples_of_8(void **state)
{
	struct iovec pieces[2];
	struct fixture f;

	(void)state;
	for (size_t odd = 1; odd < 8; odd++) {
		begin(&f, RING - 32);
		put(&f, 32);
		put(&f, 32);
		assert_int_equal(perch_ring_peek(f.ring, pieces), 64);
		perch_ring_consume(f.ring, 24 + odd);
		assert_int_equal(f.control.data_tail, RING - 8);
		perch_ring_consume(f.ring, odd);
		assert_int_equal(f.control.data_tail, RING - 8);
		assert_true(perch_ring_peek(f.ring, pieces) <= 40);
		perch_ring_close(f.ring);
	}
}

/* A 32-bit kernel stores 32-bit heads: after 4 GiB no record is lost or repeated. */
static void heads_of_32_bit_kernels(void **state)
{
	const struct perch_record_header *record;
	struct perch_ring_stats stats;
	struct iovec pieces[2];
	struct fixture f;

	(void)state;
	for (uint64_t before = 8; before <= 4 * RING; before += 8) {
		begin(&f, (1ull << 32) - before);
		for (int turn = 0; turn < 50; turn++) {
			while (put(&f, 40))
				;
			f.control.data_head = (uint32_t)f.control.data_head;
			if (turn % 2) {
				assert_int_equal(perch_ring_peek(f.ring, pieces), 240);
				perch_ring_consume(f.ring, 240);
				f.seen += 6;
			} else {
				while ((record = perch_ring_next(f.ring)))
					check(&f, record);
			}
			assert_int_equal(f.seen, f.written);
			/* the part that it sees */
			f.control.data_tail = (uint32_t)f.control.data_tail;
			assert_int_equal(f.control.data_tail, f.control.data_head);
		}
		perch_ring_get_stats(f.ring, &stats);
		assert_int_equal(stats.damaged, 0);
		perch_ring_close(f.ring);
	}
}

/* An invalid header: the rest of the batch is dropped, and the next batch is read. */
static void survives_invalid_headers(void **state)
{
	static const uint16_t sizes[] = { 0, 1, 4, 7, 9, 12, 30, 64, 256, 65528, 65535 };
	struct fixture f;
	struct iovec pieces[2];

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
		for (int peek = 0; peek < 2; peek++) {
			struct perch_record_header bad[3] = { { PERCH_RECORD_SAMPLE, 0,
								sizes[i] } };

			begin(&f, 240);
			put(&f, 32);
			put_bytes(&f, bad, sizeof(bad));
			if (peek) {
				assert_int_equal(perch_ring_peek(f.ring, pieces), 32);
				perch_ring_consume(f.ring, 32);
				assert_int_equal(perch_ring_peek(f.ring, pieces), 0);
			} else {
				check(&f, perch_ring_next(f.ring));
				assert_null(perch_ring_next(f.ring));
			}
			assert_int_equal(f.control.data_tail, f.control.data_head);
			f.seen = f.written;
			put(&f, 32);
			check(&f, perch_ring_next(f.ring));
			perch_ring_close(f.ring);
		}
}

static void survives_a_wild_head(void **state)
{
	struct fixture f;
	struct iovec pieces[2];

	(void)state;
	srand(11);
	begin(&f, 0);
	for (int i = 0; i < 200000; i++) {
		if (rand() % 4)
			f.control.data_head += 8 * (rand() % 64);
		else
			f.control.data_head = ((uint64_t)rand() << 33) ^ rand();
		f.data[rand() % (RING / 8)] = ((uint64_t)(rand() % 96) << 48) | (uint64_t)rand();
		if (rand() % 2) {
			for (int n = 0; n < 100 && perch_ring_next(f.ring); n++)
				;
		} else {
			size_t bytes = perch_ring_peek(f.ring, pieces);

			assert_true(bytes <= RING &&
				    bytes == pieces[0].iov_len + pieces[1].iov_len);
			perch_ring_consume(f.ring, rand() % 2 ? bytes : 8);
		}
	}
	perch_ring_close(f.ring);
}

static void refuses_impossible_memory(void **state)
{
	struct perch_mmap_page control = { 0 };
	struct perch_ring *ring;
	struct perch_error err;
	uint64_t data[8];

	(void)state;
	assert_int_equal(perch_ring_from_memory(&ring, &control, data, 48, PERCH_RING_FORWARD,
						&err),
			 -EINVAL);
	assert_int_equal(perch_ring_from_memory(&ring, &control, (char *)data + 4, 32,
						PERCH_RING_FORWARD, &err),
			 -EINVAL);
	assert_int_equal(perch_ring_from_memory(&ring, &control, data, 0, PERCH_RING_FORWARD, &err),
			 -EINVAL);
	control.data_tail = 4;
	assert_int_equal(perch_ring_from_memory(&ring, &control, data, 64, PERCH_RING_FORWARD,
						&err),
			 -EINVAL);
	assert_int_equal(perch_ring_open(&ring, 0, 3, PERCH_RING_FORWARD, NULL, &err), -EINVAL);
	assert_null(ring);
	perch_ring_close(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(wraps_at_every_offset),
		cmocka_unit_test(runs_for_long),
		cmocka_unit_test(tail_moves_by_batch),
		cmocka_unit_test(a_round_ends_although_the_ring_fills),
		cmocka_unit_test(peeks_in_pieces),
		cmocka_unit_test(consumes_multiples_of_8),
		cmocka_unit_test(heads_of_32_bit_kernels),
		cmocka_unit_test(survives_invalid_headers),
		cmocka_unit_test(survives_a_wild_head),
		cmocka_unit_test(refuses_impossible_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
