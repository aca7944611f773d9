/* SPDX-License-Identifier: MIT */
/* The AUX area; the test writes as the hardware. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

#include "ring_kernel.h"

#define AREA 256

struct fixture {
	struct perch_mmap_page control;
	uint64_t data[64];
	uint8_t area[2 * AREA];
	struct perch_ring *ring;
};

static void begin(struct fixture *f, uint64_t position, enum perch_ring_mode mode)
{
	memset(f, 0, sizeof(*f));
	f->control.aux_head = f->control.aux_tail = position;
	memset(f->area + AREA, 0xee, AREA);
	assert_int_equal(perch_ring_from_memory(&f->ring, &f->control, f->data, sizeof(f->data),
						PERCH_RING_FORWARD, NULL),
			 0);
	assert_int_equal(perch_ring_aux_from_memory(f->ring, f->area, AREA, mode, NULL), 0);
}

static struct perch_record trace(struct fixture *f, uint64_t bytes, uint64_t flags)
{
	struct perch_record record = { .type = PERCH_RECORD_AUX };

	record.aux = (struct perch_aux_record){ f->control.aux_head, bytes, flags };
	for (uint64_t i = 0; i < bytes; i++, f->control.aux_head++)
		f->area[f->control.aux_head % AREA] = ring_kernel_trace(f->control.aux_head);
	if (flags & PERCH_AUX_FLAG_OVERWRITE)
		record.aux.offset = f->control.aux_head;
	return record;
}

/* The pieces are the trace from a position on. */
static void check_pieces(const struct fixture *f, const struct iovec pieces[2], uint64_t at,
			 uint64_t bytes)
{
	assert_int_equal(pieces[0].iov_len + pieces[1].iov_len, bytes);
	for (int piece = 0; piece < 2; piece++)
		for (size_t i = 0; i < pieces[piece].iov_len; i++) {
			const uint8_t *byte = (const uint8_t *)pieces[piece].iov_base + i;

			assert_true(byte >= f->area && byte < f->area + AREA);
			assert_int_equal(*byte, ring_kernel_trace(at++));
		}
}

/*
 * The kernel takes head - tail as the unread bytes: after any number of wraps the tail must equal
 * the unmasked head.
 */
static void tail_is_not_masked(void **state)
{
	static const uint64_t starts[] = { 0, 5, 4096, UINT64_MAX - 1000 };
	struct iovec pieces[2];
	struct fixture f;

	(void)state;
	for (size_t i = 0; i < sizeof(starts) / sizeof(*starts); i++) {
		uint64_t tail = starts[i];

		begin(&f, tail, PERCH_RING_FORWARD);
		for (unsigned n = 0; n < 5000; n++) {
			uint64_t bytes = n % (AREA - 1), some = bytes - n % 3 * (bytes / 3);

			trace(&f, bytes, 0);
			assert_int_equal(perch_ring_aux_peek(f.ring, pieces), bytes);
			check_pieces(&f, pieces, tail, bytes);
			perch_ring_aux_consume(f.ring, some);
			assert_int_equal(f.control.aux_tail, tail + some);
			perch_ring_aux_consume(f.ring, SIZE_MAX);
			tail += bytes;
			assert_int_equal(f.control.aux_tail, tail);
			assert_int_equal(f.control.aux_tail, f.control.aux_head);
		}
		perch_ring_close(f.ring);
	}
}

/* Heads and offsets of a 32-bit kernel restart at 0 after 4 GiB. */
static void heads_of_32_bit_kernels(void **state)
{
	struct perch_record record;
	struct perch_aux_stats stats;
	struct iovec pieces[2];
	struct fixture f;

	(void)state;
	for (uint64_t before = 1; before < 4 * AREA; before += 3) {
		uint64_t position = (1ull << 32) - before;

		begin(&f, position, PERCH_RING_FORWARD);
		for (unsigned n = 0; n < 50; n++) {
			uint64_t bytes = 1 + n % (AREA - 1);

			f.control.aux_head = position;
			record = trace(&f, bytes, 0);
			record.aux.offset = (uint32_t)position;
			f.control.aux_head = (uint32_t)f.control.aux_head;
			assert_int_equal(perch_ring_aux_data(f.ring, &record, pieces), bytes);
			check_pieces(&f, pieces, position, bytes);
			assert_int_equal(perch_ring_aux_peek(f.ring, pieces), bytes);
			check_pieces(&f, pieces, position, bytes);
			perch_ring_aux_consume(f.ring, SIZE_MAX);
			position += bytes;
			assert_int_equal((uint32_t)f.control.aux_tail, f.control.aux_head);
		}
		perch_ring_get_aux_stats(f.ring, &stats);
		assert_int_equal(stats.missing, 0);
		perch_ring_close(f.ring);
	}
}

static void finds_the_data_of_records(void **state)
{
	struct perch_record first, second, nothing;
	struct perch_aux_stats stats;
	struct iovec pieces[2];
	struct fixture f;

	(void)state;
	for (uint64_t position = 0; position < AREA; position += 3) {
		begin(&f, position, PERCH_RING_FORWARD);
		first = trace(&f, 100, PERCH_AUX_FLAG_PARTIAL);
		second = trace(&f, 90, PERCH_AUX_FLAG_TRUNCATED | PERCH_AUX_FLAG_COLLISION);
		nothing = trace(&f, 0, PERCH_AUX_FLAG_TRUNCATED);
		f.control.aux_head = position; /* records are written before it moves */
		assert_int_equal(perch_ring_aux_data(f.ring, &second, pieces), 90);
		check_pieces(&f, pieces, position + 100, 90);
		assert_int_equal(perch_ring_aux_data(f.ring, &first, pieces), 100);
		check_pieces(&f, pieces, position, 100);
		assert_int_equal(perch_ring_aux_data(f.ring, &nothing, pieces), 0);
		perch_ring_aux_consume(f.ring, 120);
		assert_int_equal(f.control.aux_tail, position + 120);
		/* the head has not moved yet */
		assert_int_equal(perch_ring_aux_peek(f.ring, pieces), 0);
		assert_int_equal(f.control.aux_tail, position + 120);
		f.control.aux_head = position + 190;
		assert_int_equal(perch_ring_aux_peek(f.ring, pieces), 70);
		check_pieces(&f, pieces, position + 120, 70);
		assert_int_equal(perch_ring_aux_data(f.ring, &first, pieces), -ENODATA);
		assert_int_equal(pieces[0].iov_len, 0);
		/* the end of them */
		assert_int_equal(perch_ring_aux_data(f.ring, &second, pieces), 70);
		check_pieces(&f, pieces, position + 120, 70);
		perch_ring_get_aux_stats(f.ring, &stats);
		assert_int_equal(stats.bytes, 380);
		assert_int_equal(stats.missing, 120);
		assert_int_equal(stats.partial, 2);
		assert_int_equal(stats.truncated, 3);
		assert_int_equal(stats.collision, 2);
		assert_int_equal(stats.overwrite, 0);
		perch_ring_close(f.ring);
	}
}

static void snapshots_of_counting_heads(void **state)
{
	struct perch_record record, before = { 0 };
	struct iovec pieces[2];
	struct fixture f;
	uint64_t written = 0;

	(void)state;
	begin(&f, 0, PERCH_RING_OVERWRITE);
	assert_int_equal(perch_ring_aux_snapshot(f.ring, pieces), 0);
	for (unsigned n = 1; n < 600; n++) {
		uint64_t bytes = n * 7 % 200 + 1, held;

		record = trace(&f, bytes, PERCH_AUX_FLAG_OVERWRITE);
		written += bytes;
		held = written < AREA ? written : AREA;
		assert_int_equal(perch_ring_aux_snapshot(f.ring, pieces), held);
		check_pieces(&f, pieces, written - held, held);
		assert_int_equal(perch_ring_aux_data(f.ring, &record, pieces), bytes);
		check_pieces(&f, pieces, written - bytes, bytes);
		if (before.type) {
			uint64_t intact = AREA - bytes < before.aux.size ? AREA - bytes
									 : before.aux.size;

			assert_int_equal(perch_ring_aux_data(f.ring, &before, pieces), intact);
			check_pieces(&f, pieces, before.aux.offset - intact, intact);
		}
		before = record;
		assert_int_equal(perch_ring_aux_peek(f.ring, pieces), 0);
		perch_ring_aux_consume(f.ring, SIZE_MAX);
		assert_int_equal(f.control.aux_tail, 0);
	}
	perch_ring_close(f.ring);
}

/*
 * The head of some PMUs is the offset in the area: the last bytes of the area show whether it has
 * wrapped.
 */
static void snapshots_of_masked_heads(void **state)
{
	struct perch_record record = { .type = PERCH_RECORD_AUX };
	struct iovec pieces[2];
	struct fixture f;

	(void)state;
	begin(&f, 0, PERCH_RING_OVERWRITE);
	trace(&f, 100, 0);
	assert_int_equal(perch_ring_aux_snapshot(f.ring, pieces), 100);
	trace(&f, 200, 0);
	f.control.aux_head = 300 % AREA;
	assert_int_equal(perch_ring_aux_snapshot(f.ring, pieces), AREA);
	check_pieces(&f, pieces, 300 - AREA, AREA);
	record.aux = (struct perch_aux_record){ 300 % AREA, AREA, PERCH_AUX_FLAG_OVERWRITE };
	assert_int_equal(perch_ring_aux_data(f.ring, &record, pieces), AREA);
	check_pieces(&f, pieces, 300 - AREA, AREA);
	/* 50 bytes ago */
	record.aux = (struct perch_aux_record){ 250, 150, PERCH_AUX_FLAG_OVERWRITE };
	assert_int_equal(perch_ring_aux_data(f.ring, &record, pieces), 150);
	check_pieces(&f, pieces, 100, 150);
	record.aux.size = 250;
	assert_int_equal(perch_ring_aux_data(f.ring, &record, pieces), 206);
	check_pieces(&f, pieces, 44, 206);
	memset(f.area + 44, 0, AREA - 44); /* once wrapped, always wrapped */
	assert_int_equal(perch_ring_aux_snapshot(f.ring, pieces), AREA);
	perch_ring_close(f.ring);
}

/* Offsets, sizes and heads of any value: pieces stay within the area. */
static void survives_any_values(void **state)
{
	static const uint64_t values[] = {
		0, 1, 255, 256, 257, 1u << 31, INT64_MAX, 1ull << 63, UINT64_MAX - 1, UINT64_MAX
	};
	const size_t nr = sizeof(values) / sizeof(*values);
	struct iovec pieces[2];
	struct fixture f;

	(void)state;
	for (size_t n = 0; n < nr * nr * nr * 4; n++) {
		struct perch_record record = { .type = PERCH_RECORD_AUX };
		ssize_t bytes;

		begin(&f, 0, n & 1 ? PERCH_RING_OVERWRITE : PERCH_RING_FORWARD);
		record.aux.offset = values[n / 4 % nr];
		record.aux.size = values[n / 4 / nr % nr];
		record.aux.flags = n & 2 ? PERCH_AUX_FLAG_OVERWRITE : 0;
		f.control.aux_head = values[n / 4 / nr / nr];
		for (int turn = 0; turn < 5; turn++) {
			bytes = turn == 1   ? (ssize_t)perch_ring_aux_peek(f.ring, pieces)
				: turn == 3 ? (ssize_t)perch_ring_aux_snapshot(f.ring, pieces)
					    : perch_ring_aux_data(f.ring, &record, pieces);
			assert_true(bytes <= AREA && (bytes >= 0 || bytes == -ENODATA));
			assert_int_equal(pieces[0].iov_len + pieces[1].iov_len,
					 bytes > 0 ? bytes : 0);
			for (int i = 0; i < 2; i++)
				if (pieces[i].iov_len)
					assert_true((uint8_t *)pieces[i].iov_base >= f.area &&
						    (uint8_t *)pieces[i].iov_base +
								    pieces[i].iov_len <=
							    f.area + AREA);
			perch_ring_aux_consume(f.ring, turn * 100);
		}
		perch_ring_close(f.ring);
	}
}

/* A descriptor whose mmap(2) checks the control page as the kernel does. */
struct descriptor {
	struct perch_mmap_page *control;
	int refuse, protection, unmaps;
	size_t unmapped;
	int64_t offset;
};

static void *map_memory(void *context, size_t size, int protection, int flags, int fd,
			int64_t offset)
{
	struct descriptor *d = context;
	void *mapped;

	assert_int_equal(fd, 5);
	assert_int_equal(flags, MAP_SHARED);
	if (offset) {
		assert_int_equal(d->control->aux_offset, offset);
		assert_int_equal(d->control->aux_size, size);
		d->protection = protection;
		d->offset = offset;
		if (d->refuse)
			return errno = d->refuse, MAP_FAILED;
	}
	mapped = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (!offset)
		d->control = mapped;
	return mapped;
}

static int unmap_memory(void *context, void *address, size_t size)
{
	struct descriptor *d = context;

	d->unmaps++;
	d->unmapped += size;
	return munmap(address, size);
}

static void maps_after_the_ring(void **state)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct perch_syscalls calls = perch_kernel_syscalls;
	struct descriptor d = { 0 };
	struct perch_machine *machine;
	struct perch_ring *ring;
	struct perch_error err;

	(void)state;
	calls.context = &d;
	calls.mmap = map_memory;
	calls.munmap = unmap_memory;
	assert_int_equal(perch_machine_new(&machine, "/proc/none", &calls, NULL), 0);
	assert_int_equal(perch_ring_open(&ring, 5, 4, PERCH_RING_FORWARD, machine, &err), 0);
	d.refuse = EOPNOTSUPP;
	assert_int_equal(perch_ring_open_aux(ring, 8, PERCH_RING_FORWARD, NULL, &err), -EOPNOTSUPP);
	assert_int_equal(err.cause, PERCH_CAUSE_MMAP_NO_AUX);
	assert_int_equal(d.control->aux_offset, 0);
	assert_int_equal(d.control->aux_size, 0);
	d.refuse = 0;
	assert_int_equal(perch_ring_open_aux(ring, 3, PERCH_RING_FORWARD, NULL, &err), -EINVAL);
	assert_int_equal(perch_ring_open_aux(ring, 0, PERCH_RING_FORWARD, NULL, &err), -EINVAL);
	assert_int_equal(perch_ring_open_aux(ring, 1, (enum perch_ring_mode)5, NULL, &err),
			 -EINVAL);
	assert_int_equal(perch_ring_open_aux(ring, 8, PERCH_RING_OVERWRITE, NULL, &err), 0);
	assert_int_equal(d.protection, PROT_READ);
	assert_int_equal(d.offset, 5 * page);
	assert_int_equal(perch_ring_open_aux(ring, 8, PERCH_RING_FORWARD, NULL, &err), -EBUSY);
	perch_ring_close(ring);
	assert_int_equal(d.unmaps, 2);
	assert_int_equal(d.unmapped, 13 * page);
	assert_int_equal(perch_ring_open(&ring, 5, 4, PERCH_RING_OVERWRITE, machine, &err), 0);
	assert_int_equal(perch_ring_open_aux(ring, 8, PERCH_RING_FORWARD, NULL, &err), -EINVAL);
	perch_ring_close(ring);
	assert_int_equal(perch_ring_open(&ring, 5, 1, PERCH_RING_FORWARD, machine, &err), 0);
	assert_int_equal(perch_ring_open_aux(ring, 1, PERCH_RING_FORWARD, machine, &err), 0);
	assert_int_equal(d.protection, PROT_READ | PROT_WRITE);
	perch_ring_close(ring);
	perch_machine_free(machine);
}

static void refuses_invalid_arguments(void **state)
{
	struct perch_record record = { .type = PERCH_RECORD_SAMPLE };
	struct perch_aux_stats stats;
	struct iovec pieces[2];
	struct perch_error err;
	struct fixture f;

	(void)state;
	memset(&f, 0, sizeof(f));
	assert_int_equal(perch_ring_from_memory(&f.ring, &f.control, f.data, sizeof(f.data),
						PERCH_RING_FORWARD, NULL),
			 0);
	assert_int_equal(perch_ring_aux_data(f.ring, &record, pieces), -EINVAL);
	record.type = PERCH_RECORD_AUX;
	assert_int_equal(perch_ring_aux_data(f.ring, &record, pieces), -EINVAL);
	assert_int_equal(perch_ring_aux_peek(f.ring, pieces), 0);
	assert_int_equal(perch_ring_aux_snapshot(f.ring, pieces), 0);
	perch_ring_aux_consume(f.ring, 100);
	assert_int_equal(perch_ring_open_aux(f.ring, 1, PERCH_RING_FORWARD, NULL, &err), -EINVAL);
	assert_int_equal(perch_ring_aux_from_memory(f.ring, f.area, 100, PERCH_RING_FORWARD, &err),
			 -EINVAL);
	assert_int_equal(perch_ring_aux_from_memory(f.ring, f.area, 0, PERCH_RING_FORWARD, &err),
			 -EINVAL);
	assert_int_equal(perch_ring_aux_from_memory(f.ring, NULL, 64, PERCH_RING_FORWARD, &err),
			 -EINVAL);
	assert_int_equal(perch_ring_aux_from_memory(f.ring, f.area, 64, PERCH_RING_FORWARD, &err),
			 0);
	assert_int_equal(perch_ring_aux_from_memory(f.ring, f.area, 64, PERCH_RING_FORWARD, &err),
			 -EBUSY);
	perch_ring_get_aux_stats(f.ring, &stats);
	assert_int_equal(stats.bytes + stats.missing, 0);
	perch_ring_close(f.ring);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tail_is_not_masked),
		cmocka_unit_test(heads_of_32_bit_kernels),
		cmocka_unit_test(finds_the_data_of_records),
		cmocka_unit_test(snapshots_of_counting_heads),
		cmocka_unit_test(snapshots_of_masked_heads),
		cmocka_unit_test(survives_any_values),
		cmocka_unit_test(maps_after_the_ring),
		cmocka_unit_test(refuses_invalid_arguments),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
