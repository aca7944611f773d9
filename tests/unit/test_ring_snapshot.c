/* SPDX-License-Identifier: MIT */
/* Rings of mode OVERWRITE: snapshots, pausing, and the system calls that map and pause. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <errno.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "ring_kernel.h"

#define RING 256

static struct perch_ring *over(struct ring_kernel *k)
{
	struct perch_ring *ring;

	assert_int_equal(perch_ring_from_memory(&ring, k->control, k->data, k->size,
						PERCH_RING_OVERWRITE, NULL),
			 0);
	return ring;
}

/* The serial numbers of a snapshot. Checks each record, and their number. */
static size_t read_serials(struct perch_ring *ring, enum perch_snapshot_order order,
			   uint64_t serials[RING / 8])
{
	ssize_t announced = perch_ring_snapshot(ring, order, NULL);
	const struct perch_record_header *record;
	size_t nr = 0;

	assert_true(announced >= 0);
	while ((record = perch_ring_next(ring))) {
		assert_true(nr < RING / 8);
		assert_true(ring_kernel_sound(record));
		serials[nr++] = ((const uint64_t *)record)[1];
	}
	assert_int_equal(nr, announced);
	return nr;
}

/* The bytes of the last complete records of these sizes. */
static size_t expected(const uint16_t *sizes, size_t written, uint64_t *bytes)
{
	size_t nr = 0;

	for (*bytes = 0; nr < written && *bytes + sizes[written - 1 - nr] <= RING; nr++)
		*bytes += sizes[written - 1 - nr];
	return nr;
}

static void holds_the_newest(void **state)
{
	(void)state;
	for (uint32_t seed = 1; seed < 200; seed++) {
		struct ring_kernel *k = ring_kernel_new(RING, 0, true, 0, seed);
		struct perch_ring *ring = over(k);
		uint64_t serials[RING / 8], bytes;
		uint16_t sizes[100];

		for (size_t written = 0; written < 100; written++) {
			size_t nr = read_serials(ring, PERCH_SNAPSHOT_NEWEST_FIRST, serials);

			assert_int_equal(nr, expected(sizes, written, &bytes));
			for (size_t i = 0; i < nr; i++)
				assert_int_equal(serials[i], written - 1 - i);
			assert_int_equal(read_serials(ring, PERCH_SNAPSHOT_OLDEST_FIRST, serials),
					 nr);
			for (size_t i = 0; i < nr; i++)
				assert_int_equal(serials[i], written - nr + i);
			sizes[written] = 24 + 8 * (ring_kernel_random(&k->random) % 20);
			ring_kernel_sample(k, sizes[written]);
		}
		perch_ring_close(ring);
		ring_kernel_free(k);
	}
}

static void counts_overwritten_records(void **state)
{
	struct ring_kernel *k = ring_kernel_new(RING, 0, true, 0, 1);
	struct perch_ring *ring = over(k);
	struct perch_ring_stats stats;
	uint64_t serials[RING / 8];

	(void)state;
	for (int i = 0; i < 5; i++)
		ring_kernel_sample(k, 48);
	assert_int_equal(read_serials(ring, PERCH_SNAPSHOT_OLDEST_FIRST, serials), 5);
	perch_ring_get_stats(ring, &stats);
	assert_true(stats.paused);
	assert_int_equal(stats.bytes, 240);
	assert_int_equal(stats.overwritten, 0);
	assert_int_equal(stats.cut, 0);
	/* 384 bytes: 240 of complete records; the oldest record is cut */
	for (int i = 0; i < 8; i++)
		ring_kernel_sample(k, 48);
	for (int again = 0; again < 3; again++) {
		assert_int_equal(read_serials(ring, PERCH_SNAPSHOT_NEWEST_FIRST, serials), 5);
		perch_ring_get_stats(ring, &stats);
		assert_int_equal(stats.overwritten, 384 - 240);
		assert_int_equal(stats.cut, 1);
		assert_int_equal(stats.damaged, 0);
		assert_int_equal(stats.bytes, 240 * (2 + again));
	}
	/* one more record: the overwritten ones were in the previous snapshot */
	ring_kernel_sample(k, 48);
	assert_int_equal(read_serials(ring, PERCH_SNAPSHOT_NEWEST_FIRST, serials), 5);
	perch_ring_get_stats(ring, &stats);
	assert_int_equal(stats.overwritten, 384 - 240);
	assert_int_equal(stats.cut, 2);
	perch_ring_close(ring);
	ring_kernel_free(k);
}

/* The writer was in the middle of a record at the pause, and moves the head after the snapshot. */
static void notices_a_late_writer(void **state)
{
	(void)state;
	for (int order = 0; order < 2; order++)
		for (int late = 0; late < 6; late++) {
			struct ring_kernel *k = ring_kernel_new(RING, 0, true, 0, 1);
			struct perch_ring *ring = over(k);
			const struct perch_record_header *record;
			struct perch_ring_stats stats;
			int nr = 0;

			for (int i = 0; i < 12; i++)
				ring_kernel_sample(k, 64);
			assert_int_equal(perch_ring_snapshot(ring, order, NULL), 4);
			for (int i = 0; i < late; i++)
				ring_kernel_sample(k, 64);
			for (; (record = perch_ring_next(ring)); nr++) {
				assert_true(ring_kernel_sound(record));
				assert_true(((const uint64_t *)record)[1] < 12);
			}
			perch_ring_get_stats(ring, &stats);
			assert_int_equal(nr, late < 4 ? 4 - late : 0);
			assert_int_equal(stats.cut, late < 4 ? late : 4);
			perch_ring_close(ring);
			ring_kernel_free(k);
		}
}

static void ends_with_resuming(void **state)
{
	struct ring_kernel *k = ring_kernel_new(RING, 0, true, 0, 1);
	struct perch_ring *ring = over(k);
	struct perch_ring_stats stats;
	struct iovec pieces[2];

	(void)state;
	ring_kernel_sample(k, 64);
	ring_kernel_sample(k, 64);
	assert_null(perch_ring_next(ring));
	assert_int_equal(perch_ring_peek(ring, pieces), 0);
	perch_ring_consume(ring, 64);
	assert_int_equal(k->control->data_tail, 0);
	assert_int_equal(perch_ring_snapshot(ring, PERCH_SNAPSHOT_OLDEST_FIRST, NULL), 2);
	assert_non_null(perch_ring_next(ring));
	assert_int_equal(perch_ring_resume(ring, NULL), 0);
	assert_null(perch_ring_next(ring));
	perch_ring_get_stats(ring, &stats);
	assert_false(stats.paused);
	assert_int_equal(k->control->data_tail, 0);
	perch_ring_close(ring);
	ring_kernel_free(k);
}

/* Without the records of the last snapshot, in either order, with and without a wrap. */
static void advances_past_read_records(void **state)
{
	(void)state;
	for (uint32_t seed = 1; seed < 100; seed++) {
		struct ring_kernel *k = ring_kernel_new(RING, 0, true, 0, seed);
		enum perch_snapshot_order order = seed & 1 ? PERCH_SNAPSHOT_OLDEST_FIRST
							   : PERCH_SNAPSHOT_NEWEST_FIRST;
		uint64_t serials[RING / 8], advanced = 0, overwritten = 0, bytes, came;
		struct perch_ring *ring = over(k);
		struct perch_ring_stats stats;
		size_t written = 0;
		uint16_t sizes[400];

		perch_ring_snapshot_advance(ring); /* nothing so far */
		for (int round = 0; round < 40; round++) {
			size_t nr, held, whole, more = ring_kernel_random(&k->random) % 10;

			for (came = 0; more--; came += sizes[written++])
				ring_kernel_sample(
					k, sizes[written] =
						   24 + 8 * (ring_kernel_random(&k->random) % 10));
			whole = expected(sizes, written, &bytes);
			held = whole < written - advanced ? whole : written - advanced;
			nr = read_serials(ring, order, serials);
			assert_int_equal(nr, held);
			for (size_t i = 0; i < nr; i++)
				assert_int_equal(serials[i], order == PERCH_SNAPSHOT_OLDEST_FIRST
								     ? written - nr + i
								     : written - 1 - i);
			overwritten += came > bytes ? came - bytes : 0;
			if (ring_kernel_random(&k->random) % 4) {
				perch_ring_snapshot_advance(ring);
				advanced = written;
				assert_int_equal(read_serials(ring, order, serials), 0);
			}
		}
		perch_ring_get_stats(ring, &stats);
		assert_int_equal(stats.overwritten, overwritten);
		assert_int_equal(stats.damaged, 0);
		perch_ring_close(ring);
		ring_kernel_free(k);
	}
}

/* Invalid headers end the snapshot; increasing heads count as damage. */
static void survives_invalid_headers(void **state)
{
	static const uint16_t sizes[] = { 0, 1, 7, 9, 30, 63, 65535 };
	struct perch_ring_stats stats;
	struct perch_error err;

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		struct ring_kernel *k = ring_kernel_new(RING, 0, true, 0, 1);
		struct perch_ring *ring = over(k);

		for (int n = 0; n < 9; n++)
			ring_kernel_sample(k, 64);
		memcpy(k->data + ((k->head + 64) & (RING - 1)) + 6, &sizes[i], 2);
		assert_int_equal(perch_ring_snapshot(ring, PERCH_SNAPSHOT_NEWEST_FIRST, NULL), 1);
		assert_non_null(perch_ring_next(ring));
		assert_null(perch_ring_next(ring));
		perch_ring_get_stats(ring, &stats);
		assert_int_equal(stats.damaged, 1);
		k->control->data_head += 64;
		assert_true(perch_ring_snapshot(ring, PERCH_SNAPSHOT_OLDEST_FIRST, &err) >= 0);
		perch_ring_get_stats(ring, &stats);
		assert_true(stats.damaged >= 2);
#if SIZE_MAX > UINT32_MAX /* else it may be the head of a 32-bit kernel that writes downwards */
		k->control->data_head = 4096;
		assert_int_equal(perch_ring_snapshot(ring, PERCH_SNAPSHOT_OLDEST_FIRST, &err),
				 -EINVAL);
		assert_non_null(strstr(err.message, "write_backward"));
		assert_null(perch_ring_next(ring));
#endif
		perch_ring_close(ring);
		ring_kernel_free(k);
	}
}

/* A simulated descriptor: its mappings and ioctls. */
struct descriptor {
	int protection, refuse_map, refuse_control;
	int64_t offset;
	size_t size;
	int maps, unmaps, pauses, resumes;
};

static void *map_memory(void *context, size_t size, int protection, int flags, int fd,
			int64_t offset)
{
	struct descriptor *d = context;

	assert_int_equal(fd, 5);
	assert_int_equal(flags, MAP_SHARED);
	d->protection = protection;
	d->size = size;
	d->offset = offset;
	if (d->refuse_map)
		return errno = d->refuse_map, MAP_FAILED;
	d->maps++;
	return mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static int unmap_memory(void *context, void *address, size_t size)
{
	((struct descriptor *)context)->unmaps++;
	return munmap(address, size);
}

static int control(void *context, int fd, unsigned long request, unsigned long argument)
{
	struct descriptor *d = context;

	assert_int_equal(fd, 5);
	assert_int_equal(request, PERCH_IOC_PAUSE_OUTPUT);
	if (d->refuse_control)
		return errno = d->refuse_control, -1;
	d->pauses += argument == 1;
	d->resumes += argument == 0;
	return 0;
}

static struct perch_machine *machine_with(struct descriptor *d, struct perch_syscalls *calls)
{
	struct perch_machine *machine;

	*calls = perch_kernel_syscalls;
	calls->context = d;
	calls->mmap = map_memory;
	calls->munmap = unmap_memory;
	calls->ioctl = control;
	assert_int_equal(perch_machine_new(&machine, "/proc/none", calls, NULL), 0);
	return machine;
}

static void maps_and_pauses(void **state)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct descriptor d = { 0 };
	struct perch_syscalls calls;
	struct perch_machine *machine = machine_with(&d, &calls);
	struct perch_ring_stats stats;
	struct perch_ring *ring;
	struct perch_error err;

	(void)state;
	assert_int_equal(perch_ring_open(&ring, 5, 4, PERCH_RING_OVERWRITE, machine, &err), 0);
	assert_int_equal(d.protection, PROT_READ);
	assert_int_equal(d.size, 5 * page);
	assert_int_equal(perch_ring_snapshot(ring, PERCH_SNAPSHOT_NEWEST_FIRST, &err), 0);
	assert_int_equal(perch_ring_snapshot(ring, PERCH_SNAPSHOT_OLDEST_FIRST, &err), 0);
	assert_int_equal(d.pauses, 1); /* it was paused before the second one */
	assert_int_equal(perch_ring_resume(ring, &err), 0);
	assert_int_equal(d.resumes, 1);
	d.refuse_control = EINVAL;
	assert_int_equal(perch_ring_snapshot(ring, PERCH_SNAPSHOT_NEWEST_FIRST, &err), -EINVAL);
	assert_int_equal(perch_ring_pause(ring, &err), -EINVAL);
	assert_true(err.message[0]);
	perch_ring_get_stats(ring, &stats);
	assert_false(stats.paused);
	d.refuse_control = 0;
	assert_int_equal(perch_ring_pause(ring, &err), 0);
	d.refuse_control = ENOTTY;
	assert_int_equal(perch_ring_resume(ring, &err), -ENOTTY);
	perch_ring_get_stats(ring, &stats);
	assert_true(stats.paused);
	perch_ring_close(ring);
	assert_int_equal(perch_ring_open(&ring, 5, 1, PERCH_RING_FORWARD, machine, &err), 0);
	assert_int_equal(d.protection, PROT_READ | PROT_WRITE);
	assert_int_equal(perch_ring_snapshot(ring, PERCH_SNAPSHOT_NEWEST_FIRST, &err), -EINVAL);
	perch_ring_close(ring);
	d.refuse_map = EINVAL;
	assert_int_equal(perch_ring_open(&ring, 5, 1, PERCH_RING_OVERWRITE, machine, &err),
			 -EINVAL);
	assert_null(ring);
	assert_int_equal(d.maps, 2);
	assert_int_equal(d.unmaps, 2);
	perch_machine_free(machine);
}

static int sleeps, interrupted;

int __wrap_nanosleep(const struct timespec *wanted, struct timespec *left);

/* The first sleep is interrupted after a third of its time. */
int __wrap_nanosleep(const struct timespec *wanted, struct timespec *left)
{
	sleeps++;
	assert_int_equal(wanted->tv_sec, 0);
	if (sleeps > interrupted)
		return 0;
	assert_non_null(left);
	left->tv_nsec = wanted->tv_nsec / 3 * 2;
	errno = EINTR;
	return -1;
}

/* A signal does not shorten the wait for writers. */
static void waits_for_writers_after_a_signal(void **state)
{
	struct descriptor d = { 0 };
	struct perch_syscalls calls;
	struct perch_machine *machine = machine_with(&d, &calls);
	struct perch_ring *ring;

	(void)state;
	assert_int_equal(perch_ring_open(&ring, 5, 4, PERCH_RING_OVERWRITE, machine, NULL), 0);
	for (interrupted = 0; interrupted < 3; interrupted++) {
		/* no sleep if the test itself was delayed after the pause: try again */
		for (sleeps = 0; !sleeps;) {
			assert_int_equal(
				perch_ring_snapshot(ring, PERCH_SNAPSHOT_NEWEST_FIRST, NULL), 0);
			assert_int_equal(perch_ring_resume(ring, NULL), 0);
		}
		assert_int_equal(sleeps, interrupted + 1);
	}
	interrupted = 0;
	perch_ring_close(ring);
	perch_machine_free(machine);
}

static void refuses_invalid_arguments(void **state)
{
	struct perch_mmap_page control_page = { 0 };
	struct perch_ring *ring;
	struct perch_error err;
	uint64_t data[8] = { 0 };

	(void)state;
	assert_int_equal(perch_ring_from_memory(&ring, &control_page, data, 64,
						(enum perch_ring_mode)7, &err),
			 -EINVAL);
#if SIZE_MAX > UINT32_MAX
	assert_int_equal(perch_ring_from_memory(&ring, &control_page, data, 1ull << 40,
						PERCH_RING_OVERWRITE, &err),
			 -EINVAL);
#endif
	assert_null(ring);
	control_page.data_tail = 4; /* no reader ever moved it */
	assert_int_equal(perch_ring_from_memory(&ring, &control_page, data, 64,
						PERCH_RING_OVERWRITE, &err),
			 0);
	assert_int_equal(perch_ring_snapshot(ring, (enum perch_snapshot_order)9, &err), -EINVAL);
	assert_int_equal(perch_ring_snapshot(ring, PERCH_SNAPSHOT_OLDEST_FIRST, &err), 0);
	perch_ring_close(ring);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(holds_the_newest),
		cmocka_unit_test(counts_overwritten_records),
		cmocka_unit_test(notices_a_late_writer),
		cmocka_unit_test(ends_with_resuming),
		cmocka_unit_test(advances_past_read_records),
		cmocka_unit_test(survives_invalid_headers),
		cmocka_unit_test(maps_and_pauses),
		cmocka_unit_test(waits_for_writers_after_a_signal),
		cmocka_unit_test(refuses_invalid_arguments),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
