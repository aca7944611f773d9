/* SPDX-License-Identifier: MIT */
/* One ring, with this test in the kernel's place; and samplers over a table of calls that imitates it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

#include <perch/ring.h>

#define RING 256

struct fixture {
	struct perch_mmap_page control;
	uint64_t data[RING / 8];
	struct perch_ring *ring;
	uint32_t written, seen;		/* serial numbers of records */
};

static void begin(struct fixture *f, uint64_t position)
{
	memset(f, 0, sizeof(*f));
	f->control.data_head = f->control.data_tail = position;
	assert_int_equal(perch_ring_from_memory(&f->ring, &f->control, f->data, sizeof(f->data), NULL), 0);
}

static void put_bytes(struct fixture *f, const void *bytes, size_t size)
{
	const char *from = bytes;

	for (size_t i = 0; i < size; i++)
		((char *)f->data)[(f->control.data_head + i) % RING] = from[i];
	f->control.data_head += size;
}

/* As the kernel does: a record that does not fit is not written. Every byte of the body tells its serial number. */
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

			begin(&f, UINT64_MAX - RING + 1 + position);	/* positions overflow too */
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
	put(&f, 32);		/* after the batch was taken up */
	assert_non_null(perch_ring_next(f.ring));
	assert_int_equal(f.control.data_tail, 0);
	assert_non_null(perch_ring_next(f.ring));
	assert_int_equal(f.control.data_tail, 64);
	assert_null(perch_ring_next(f.ring));
	assert_int_equal(f.control.data_tail, 96);
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

/* A header that cannot be: what follows it in the batch is dropped, and the next batch is fine again. */
static void survives_nonsense(void **state)
{
	static const uint16_t sizes[] = { 0, 1, 4, 7, 9, 12, 30, 64, 256, 65528, 65535 };
	struct fixture f;
	struct iovec pieces[2];

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
		for (int peek = 0; peek < 2; peek++) {
			struct perch_record_header bad[3] = { { PERCH_RECORD_SAMPLE, 0, sizes[i] } };

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

			assert_true(bytes <= RING && bytes == pieces[0].iov_len + pieces[1].iov_len);
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
	assert_int_equal(perch_ring_from_memory(&ring, &control, data, 48, &err), -EINVAL);
	assert_int_equal(perch_ring_from_memory(&ring, &control, (char *)data + 4, 32, &err), -EINVAL);
	assert_int_equal(perch_ring_from_memory(&ring, &control, data, 0, &err), -EINVAL);
	control.data_tail = 4;
	assert_int_equal(perch_ring_from_memory(&ring, &control, data, 64, &err), -EINVAL);
	assert_int_equal(perch_ring_open(&ring, 0, 3, NULL, &err), -EINVAL);
	assert_null(ring);
	perch_ring_close(NULL);
}

/* ---- samplers ---- */

/* The kernel's side of a sampler: what was called, and what to refuse. */
struct kernel {
	struct { struct perch_attr attr; pid_t pid; int cpu, group, output; bool on, closed; } fd[64];
	int nr;
	size_t max_pages;		/* of a ring */
	unsigned max_precise;
	pid_t gone;
	int maps, unmaps;
	struct perch_mmap_page *ring;	/* the last one mapped */
};

static int fake_open(void *context, const struct perch_attr *attr, pid_t pid, int cpu, int group, unsigned long flags)
{
	struct kernel *k = context;

	(void)flags;
	if (pid == k->gone)
		return errno = ESRCH, -1;
	if (attr->precise_ip > k->max_precise)
		return errno = EOPNOTSUPP, -1;
	assert_true(k->nr < 64);
	k->fd[k->nr].attr = *attr;
	k->fd[k->nr].pid = pid;
	k->fd[k->nr].cpu = cpu;
	k->fd[k->nr].group = group;
	k->fd[k->nr].output = -1;
	return 1000 + k->nr++;
}

static int fake_control(void *context, int fd, unsigned long request, unsigned long argument)
{
	struct kernel *k = context;

	if (request == PERCH_IOC_ID)
		*(uint64_t *)argument = 7000 + fd;
	else if (request == PERCH_IOC_SET_OUTPUT)
		k->fd[fd - 1000].output = (int)argument;
	else if (request == PERCH_IOC_ENABLE)
		k->fd[fd - 1000].on = true;
	else if (request == PERCH_IOC_DISABLE)
		k->fd[fd - 1000].on = false;
	return 0;
}

static void *fake_map(void *context, size_t size, int protection, int flags, int fd, off_t offset)
{
	struct kernel *k = context;
	size_t page = sysconf(_SC_PAGESIZE);

	(void)fd;
	(void)flags;
	if (k->max_pages && size / page > k->max_pages + 1)
		return errno = EPERM, MAP_FAILED;
	k->maps++;
	k->ring = mmap(NULL, size, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, offset);
	return k->ring;
}

static int fake_unmap(void *context, void *address, size_t size)
{
	((struct kernel *)context)->unmaps++;
	return munmap(address, size);
}

static int fake_close(void *context, int fd)
{
	((struct kernel *)context)->fd[fd - 1000].closed = true;
	return 0;
}

static ssize_t fake_read(void *context, int fd, void *buffer, size_t size)
{
	(void)context;
	(void)fd;
	(void)buffer;
	return (ssize_t)size;
}

static const pid_t three_threads[] = { 11, 12, 13 };
static int two_cpus_list[] = { 0, 1 };
static const struct perch_cpus two_cpus = { 2, two_cpus_list };

static int open_fake(struct perch_sampler **sampler, struct perch_machine **machine, struct kernel *k, struct perch_calls *calls,
		     const char *events, struct perch_sampler_options *options, struct perch_error *err)
{
	static const struct perch_target nobody = { 11, -1, 0 };

	*calls = (struct perch_calls){ k, fake_open, fake_control, fake_read, fake_map, fake_unmap, fake_close };
	assert_int_equal(perch_machine_new(machine, NULL, calls, NULL), 0);
	options->event.machine = *machine;
	options->event.sample |= PERCH_SAMPLE_IP;
	options->cpus = &two_cpus;
	return perch_sampler_open(sampler, events, &nobody, options, err);
}

static void end_fake(struct perch_sampler *sampler, struct perch_machine *machine, const struct kernel *k)
{
	perch_sampler_close(sampler);
	perch_machine_free(machine);
	assert_int_equal(k->maps, k->unmaps);
	for (int i = 0; i < k->nr; i++)
		assert_true(k->fd[i].closed);
}

/* Two CPUs x three threads x a group of two: two rings, everything of a CPU directed into its ring. */
static void redirects_into_one_ring(void **state)
{
	struct perch_sampler_options options = {
		.event = { .period = 1000, .follow = PERCH_FOLLOW_MMAP }, .threads = three_threads, .nr_threads = 3,
	};
	struct kernel k = { .gone = -5 };
	struct perch_sampler *sampler;
	struct perch_machine *machine;
	struct perch_calls calls;
	const uint64_t *ids;
	const char *name;
	size_t nr;

	(void)state;
	assert_int_equal(open_fake(&sampler, &machine, &k, &calls, "{cpu-clock,page-faults}", &options, NULL), 0);
	assert_int_equal(k.nr, 12);
	assert_int_equal(perch_sampler_rings(sampler), 2);
	assert_int_equal(k.maps, 2);
	for (int i = 0; i < k.nr; i++) {
		assert_int_equal(k.fd[i].cpu, i / 6);
		assert_int_equal(k.fd[i].pid, three_threads[i / 2 % 3]);
		assert_int_equal(k.fd[i].group, i % 2 ? 1000 + i - 1 : -1);
		assert_int_equal(k.fd[i].output, i % 6 ? 1000 + i / 6 * 6 : -1);
		assert_int_equal(k.fd[i].attr.disabled, !(i % 2));
		assert_int_equal(k.fd[i].attr.mmap, !(i % 2));
		assert_true(k.fd[i].attr.sample_id_all);
		assert_int_equal(k.fd[i].attr.sample_type, PERCH_SAMPLE_IP | PERCH_SAMPLE_TID | PERCH_SAMPLE_TIME |
				 PERCH_SAMPLE_IDENTIFIER);
	}
	assert_int_equal(perch_sampler_event(sampler, 1, &name, &ids, &nr)->config, PERCH_COUNT_SW_PAGE_FAULTS);
	assert_string_equal(name, "page-faults");
	assert_int_equal(nr, 6);
	assert_int_equal(ids[5], 8011);
	perch_sampler_event(sampler, 2, &name, &ids, &nr);
	assert_int_equal(nr, 0);
	assert_int_equal(perch_sampler_enable(sampler), 0);
	for (int i = 0; i < k.nr; i++)
		assert_int_equal(k.fd[i].on, !(i % 2));
	end_fake(sampler, machine, &k);
}

static void leaves_out_threads_that_ended(void **state)
{
	struct perch_sampler_options options = { .event.period = 1, .threads = three_threads, .nr_threads = 3 };
	struct kernel k = { .gone = 11 };
	struct perch_sampler *sampler;
	struct perch_machine *machine;
	struct perch_calls calls;
	struct perch_error err;

	(void)state;
	assert_int_equal(open_fake(&sampler, &machine, &k, &calls, "cpu-clock", &options, NULL), 0);
	assert_int_equal(k.nr, 4);
	assert_int_equal(k.fd[0].pid, 12);
	end_fake(sampler, machine, &k);

	k = (struct kernel){ .gone = 11 };
	options.nr_threads = 1;
	assert_int_equal(open_fake(&sampler, &machine, &k, &calls, "cpu-clock", &options, &err), -ESRCH);
	assert_null(sampler);
	end_fake(sampler, machine, &k);
}

static void shrinks_rings_to_the_limit(void **state)
{
	struct perch_sampler_options options = { .event.period = 1 };
	struct kernel k = { .gone = -5, .max_pages = 16 };
	struct perch_sampler *sampler;
	struct perch_machine *machine;
	struct perch_calls calls;
	struct perch_error err;

	(void)state;
	assert_int_equal(open_fake(&sampler, &machine, &k, &calls, "cpu-clock", &options, &err), 0);
	end_fake(sampler, machine, &k);

	k = (struct kernel){ .gone = -5, .max_pages = 2 };
	assert_int_equal(open_fake(&sampler, &machine, &k, &calls, "cpu-clock", &options, &err), -EPERM);
	assert_int_equal(err.cause, PERCH_CAUSE_MLOCK);
	assert_non_null(strstr(err.message, "perf_event_mlock_kb"));
	assert_non_null(strstr(err.message, "RLIMIT_MEMLOCK"));
	assert_true(err.remedy[0]);
	end_fake(sampler, machine, &k);

	k = (struct kernel){ .gone = -5, .max_pages = 16 };
	options.ring_pages = 32;	/* asked for: not shrunk */
	assert_int_equal(open_fake(&sampler, &machine, &k, &calls, "cpu-clock", &options, &err), -EPERM);
	end_fake(sampler, machine, &k);
}

static void finds_the_precision_there_is(void **state)
{
	struct perch_sampler_options options = { .event.frequency = 99 };
	struct kernel k = { .gone = -5, .max_precise = 1 };
	struct perch_sampler *sampler;
	struct perch_machine *machine;
	struct perch_calls calls;
	const uint64_t *ids;
	const char *name;
	size_t nr;

	(void)state;
	assert_int_equal(open_fake(&sampler, &machine, &k, &calls, "cycles:P", &options, NULL), 0);
	assert_int_equal(perch_sampler_event(sampler, 0, &name, &ids, &nr)->precise_ip, 1);
	assert_int_equal(k.nr, 2);
	end_fake(sampler, machine, &k);
}

static void keeps_an_event_s_own_period(void **state)
{
	struct perch_sampler_options options = { .event.frequency = 99, .event.machine = NULL };
	struct perch_target target = { 11, 0, 0 };
	struct perch_events events = { 0 };
	struct kernel k = { .gone = -5 };
	struct perch_calls calls = { &k, fake_open, fake_control, fake_read, fake_map, fake_unmap, fake_close };
	struct perch_sampler *sampler;
	struct perch_machine *machine;

	(void)state;
	assert_int_equal(perch_machine_new(&machine, NULL, &calls, NULL), 0);
	assert_int_equal(perch_events_parse(&events, "cpu-clock,page-faults", machine, NULL), 0);
	events.event[1].attr.sample_period = 5;
	options.event.machine = machine;
	assert_int_equal(perch_sampler_open_events(&sampler, &events, &target, &options, NULL), 0);
	assert_int_equal(k.nr, 2);
	assert_true(k.fd[0].attr.freq);
	assert_int_equal(k.fd[0].attr.sample_freq, 99);
	assert_false(k.fd[1].attr.freq);
	assert_int_equal(k.fd[1].attr.sample_period, 5);
	perch_events_clear(&events);
	end_fake(sampler, machine, &k);
}

/* A record as the kernel would write it: the body's words, then pid, tid and time. */
static void inject(struct kernel *k, uint32_t type, const uint64_t *body, size_t words)
{
	char *data = (char *)k->ring + sysconf(_SC_PAGESIZE);
	struct perch_record_header header = { type, 0, (uint16_t)(8 + 8 * words) };

	memcpy(data + k->ring->data_head, &header, sizeof(header));
	memcpy(data + k->ring->data_head + 8, body, 8 * words);
	k->ring->data_head += header.size;
}

static void inject_some(struct kernel *k)
{
	static const uint64_t sample[] = { 0x401000, 11, 1000 };
	static const uint64_t lost[] = { 7, 30, 11, 1000 };
	static const uint64_t lost_samples[] = { 12, 11, 1000 };
	static const uint64_t throttle[] = { 1000, 7, 7, 11, 1000 };

	inject(k, PERCH_RECORD_SAMPLE, sample, 3);
	inject(k, PERCH_RECORD_SAMPLE, sample, 3);
	inject(k, PERCH_RECORD_LOST, lost, 4);
	inject(k, PERCH_RECORD_LOST_SAMPLES, lost_samples, 3);
	inject(k, PERCH_RECORD_THROTTLE, throttle, 5);
	inject(k, PERCH_RECORD_UNTHROTTLE, throttle, 5);
	inject(k, 4711, throttle, 5);		/* of a kernel to come */
}

static int take(void *context, size_t ring, const struct iovec *pieces, int nr)
{
	size_t *bytes = context;

	assert_int_equal(ring, 0);
	for (int i = 0; i < nr; i++)
		*bytes += pieces[i].iov_len;
	return 0;
}

static int refuse(void *context, size_t ring, const struct iovec *pieces, int nr)
{
	(void)context;
	(void)ring;
	(void)pieces;
	(void)nr;
	return -ENOSPC;
}

static void counts_what_it_drains(void **state)
{
	static const uint64_t short_sample[] = { 0x401000 };
	struct perch_sampler_options options = { .event.period = 1 };
	struct perch_target target = { 11, 0, 0 };
	struct kernel k = { .gone = -5 };
	struct perch_calls calls = { &k, fake_open, fake_control, fake_read, fake_map, fake_unmap, fake_close };
	struct perch_sampler_stats stats;
	struct perch_sampler *sampler;
	struct perch_machine *machine;
	struct perch_record record;
	size_t bytes = 0, records = 0;

	(void)state;
	assert_int_equal(perch_machine_new(&machine, NULL, &calls, NULL), 0);
	options.event.machine = machine;
	options.event.sample = PERCH_SAMPLE_IP;
	assert_int_equal(perch_sampler_open(&sampler, "cpu-clock", &target, &options, NULL), 0);
	assert_int_equal(perch_sampler_drain(sampler, take, &bytes), 0);
	inject_some(&k);
	assert_int_equal(perch_sampler_drain(sampler, take, &bytes), k.ring->data_head);
	assert_int_equal(bytes, k.ring->data_tail);
	inject_some(&k);
	inject(&k, PERCH_RECORD_SAMPLE, short_sample, 1);
	for (; perch_sampler_next(sampler, &record) > 0; records++)
		assert_int_equal(record.identity.pid, record.type == 4711 ? record.identity.pid : 11);
	assert_int_equal(records, 7);
	perch_sampler_stats(sampler, &stats);
	assert_int_equal(stats.records, 15);
	assert_int_equal(stats.samples, 5);
	assert_int_equal(stats.lost, 84);
	assert_int_equal(stats.throttled, 2);
	assert_int_equal(stats.unthrottled, 2);
	assert_int_equal(stats.unknown, 2);
	assert_int_equal(stats.damaged, 1);
	assert_int_equal(stats.bytes, k.ring->data_head);
	inject_some(&k);
	assert_int_equal(perch_sampler_drain(sampler, refuse, NULL), -ENOSPC);
	end_fake(sampler, machine, &k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(wraps_at_every_offset),
		cmocka_unit_test(runs_for_long),
		cmocka_unit_test(tail_moves_by_batch),
		cmocka_unit_test(peeks_in_pieces),
		cmocka_unit_test(survives_nonsense),
		cmocka_unit_test(survives_a_wild_head),
		cmocka_unit_test(refuses_impossible_memory),
		cmocka_unit_test(redirects_into_one_ring),
		cmocka_unit_test(leaves_out_threads_that_ended),
		cmocka_unit_test(shrinks_rings_to_the_limit),
		cmocka_unit_test(finds_the_precision_there_is),
		cmocka_unit_test(keeps_an_event_s_own_period),
		cmocka_unit_test(counts_what_it_drains),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
