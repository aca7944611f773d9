/* SPDX-License-Identifier: MIT */
/*
 * Of the records of two rings, those of a process and its descendants are kept. The process is this
 * one; its descendants have ids that no process of the machine can have.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "recorder/descendants/descendants.h"

#define CHILD	   5000001u /* more than the largest pid_max */
#define GRANDCHILD 5000002u
#define STRANGER   5000003u
#define START	   1000000000000ull
#define SECOND	   1000000000ull

struct trailer {
	uint32_t pid, tid;
	uint64_t time, cpu, id;
};

struct sample {
	struct perch_record_header header;
	uint64_t id, ip;
	uint32_t pid, tid;
	uint64_t time, cpu;
};

struct task {
	struct perch_record_header header;
	uint32_t pid, ppid, tid, ptid;
	uint64_t time;
	struct trailer trailer;
};

struct named { /* COMM; MMAP has more before the name */
	struct perch_record_header header;
	uint32_t pid, tid;
	uint64_t words[4];
	struct trailer trailer;
};

struct lost {
	struct perch_record_header header;
	uint64_t id, lost;
	struct trailer trailer;
};

struct ring {
	_Alignas(8) char bytes[4096];
	size_t used, written, ahead;
};

static struct recorder_descendants all;
static struct ring rings[2];
static uint32_t self;

static void put(int ring, const void *record, size_t size)
{
	assert_true(rings[ring].used + size <= sizeof(rings[ring].bytes));
	memcpy(rings[ring].bytes + rings[ring].used, record, size);
	rings[ring].used += size;
}

static void put_sample(int ring, uint32_t pid, uint32_t tid, uint64_t time)
{
	const struct sample sample = { .header = { PERCH_RECORD_SAMPLE, PERCH_MISC_USER,
						   sizeof(sample) },
				       .pid = pid,
				       .tid = tid,
				       .time = START + time };

	put(ring, &sample, sizeof(sample));
}

static void put_task(int ring, uint32_t type, uint32_t pid, uint32_t ppid, uint32_t tid,
		     uint64_t time)
{
	/* as the kernel does: it reads the time at the end of the record first */
	const struct task task = {
		.header = { type, 0, sizeof(task) },
		.pid = pid,
		.ppid = ppid,
		.tid = tid,
		.ptid = ppid,
		.time = START + time,
		.trailer = { .pid = ppid, .tid = ppid, .time = START + time - SECOND / 100 },
	};

	put(ring, &task, sizeof(task));
}

static void put_named(int ring, uint32_t type, uint16_t misc, uint32_t pid, uint64_t time)
{
	const struct named record = { .header = { type, misc, sizeof(record) },
				      .pid = pid,
				      .tid = pid,
				      .trailer = { pid, pid, START + time, 0, 0 } };

	put(ring, &record, sizeof(record));
}

/* The first look ends here; what follows is of the second one. */
static void look(void)
{
	rings[0].written = rings[0].used;
	rings[1].written = rings[1].used;
}

static void split(const struct ring *ring, size_t bytes, size_t at, struct iovec pieces[2])
{
	at = at < bytes ? at : bytes;
	pieces[0] = (struct iovec){ (void *)ring->bytes, at };
	pieces[1] = (struct iovec){ (char *)ring->bytes + at, bytes - at };
}

/* Does a round. at: where the rings wrap around. Returns the number of bytes that are kept. */
static size_t keep_split(size_t at)
{
	struct iovec pieces[2];

	perch__recorder_descendants_next_round(&all);
	for (int i = 0; i < 2; i++) {
		split(&rings[i], rings[i].used, at, pieces);
		assert_int_equal(perch__recorder_descendants_look(&all, pieces, rings[i].written,
								  rings[i].ahead),
				 0);
	}
	assert_int_equal(perch__recorder_descendants_apply(&all), 0);
	for (int i = 0; i < 2; i++) {
		struct ring *ring = &rings[i];

		split(ring, ring->written, at, pieces);
		assert_true(perch__recorder_descendants_keep(&all, pieces) >= 0);
		ring->ahead = ring->used - ring->written;
		memmove(ring->bytes, ring->bytes + ring->written, ring->ahead);
		ring->used = ring->ahead;
		ring->written = 0;
	}
	return all.used;
}

static size_t keep(void)
{
	return keep_split(SIZE_MAX);
}

static int begin(void **state)
{
	const struct perch_file_event event = {
		.attr = { .type = PERCH_TYPE_SOFTWARE,
			  .sample_type = PERCH_SAMPLE_IDENTIFIER | PERCH_SAMPLE_IP |
					 PERCH_SAMPLE_TID | PERCH_SAMPLE_TIME | PERCH_SAMPLE_CPU,
			  .sample_id_all = 1 },
	};
	struct recorder_scan *scan = calloc(1, sizeof(*scan));
	const pid_t root = getpid();

	(void)state;
	self = (uint32_t)root;
	memset(rings, 0, sizeof(rings));
	perch_parse_info_init(&scan->parse_info, &event.attr, PERCH_BYTES_NATIVE);
	scan->mmap_parse_info = scan->parse_info;
	scan->same_time_word = true;
	assert_int_equal(perch__recorder_descendants_init(&all, &event, 1, scan), 0);
	assert_int_equal(perch__recorder_descendants_begin(&all, &root, 1, NULL, NULL), 0);
	free(scan);
	return 0;
}

static int end(void **state)
{
	(void)state;
	perch__recorder_descendants_clear(&all);
	return 0;
}

static void test_others(void **state)
{
	const struct lost lost = {
		{ PERCH_RECORD_LOST, 0, sizeof(lost) }, 0, 7, { STRANGER, STRANGER, START, 0, 0 }
	};

	(void)state;
	put_sample(0, 0, 0, 1);			  /* idle */
	put_sample(0, UINT32_MAX, UINT32_MAX, 2); /* its process is gone */
	put_sample(0, STRANGER, STRANGER, 3);
	put_named(1, PERCH_RECORD_COMM, 0, STRANGER, 4);
	put_named(1, PERCH_RECORD_MMAP, PERCH_MISC_USER, STRANGER, 4);
	put_task(1, PERCH_RECORD_FORK, STRANGER + 1, STRANGER, STRANGER + 1, 5);
	put_task(1, PERCH_RECORD_EXIT, STRANGER, 1, STRANGER, 6);
	look();
	assert_int_equal(keep(), 0);
	assert_int_equal(all.other_samples, 3);
	/* those of events and of the kernel, whoever ran */
	put(0, &lost, sizeof(lost));
	put_named(1, PERCH_RECORD_MMAP, PERCH_MISC_KERNEL, UINT32_MAX, 7);
	put_named(1, PERCH_RECORD_KSYMBOL, 0, STRANGER, 8);
	look();
	assert_int_equal(keep(), sizeof(lost) + 2 * sizeof(struct named));
	assert_memory_equal(all.bytes, &lost, sizeof(lost));
}

static void test_fork_in_another_ring(void **state)
{
	(void)state;
	put_sample(1, CHILD, CHILD, 200);
	look(); /* the ring of the FORK record was looked at before it was written */
	put_task(0, PERCH_RECORD_FORK, CHILD, self, CHILD, 100);
	assert_int_equal(keep(), sizeof(struct sample));
	look();
	assert_int_equal(keep(), sizeof(struct task));
	/* it was applied once */
	put_sample(0, CHILD, CHILD, 300);
	look();
	assert_int_equal(keep(), sizeof(struct sample));
	assert_int_equal(all.nr, 2);
}

static void test_grandchild(void **state)
{
	(void)state;
	/* the first ring had nothing yet at the second look */
	put_sample(1, self, self, 50);
	look();
	put_task(1, PERCH_RECORD_FORK, GRANDCHILD, CHILD, GRANDCHILD, 200);
	assert_int_equal(keep(), sizeof(struct sample));
	put_task(0, PERCH_RECORD_FORK, CHILD, self, CHILD, 100);
	put_sample(0, GRANDCHILD, GRANDCHILD, 300);
	look();
	assert_int_equal(keep(), 2 * sizeof(struct task) + sizeof(struct sample));
	/* also when its parent has ended */
	put_task(1, PERCH_RECORD_EXIT, CHILD, self, CHILD, 400);
	put_sample(0, GRANDCHILD, GRANDCHILD, 500);
	look();
	assert_int_equal(keep(), sizeof(struct task) + sizeof(struct sample));
}

static void test_threads_and_exec(void **state)
{
	(void)state;
	put_task(0, PERCH_RECORD_FORK, CHILD, self, CHILD, 100);
	put_task(0, PERCH_RECORD_FORK, CHILD, CHILD, CHILD + 100, 200);
	put_sample(1, CHILD, CHILD + 100, 300);
	put_task(0, PERCH_RECORD_EXIT, CHILD, CHILD, CHILD + 100, 400);
	put_named(0, PERCH_RECORD_COMM, PERCH_MISC_COMM_EXEC, CHILD, 500);
	put_named(0, PERCH_RECORD_MMAP, PERCH_MISC_USER, CHILD, 600);
	put_sample(1, CHILD, CHILD, 700);
	look();
	assert_int_equal(keep(), 3 * sizeof(struct task) + 2 * sizeof(struct named) +
					 2 * sizeof(struct sample));
	assert_int_equal(all.nr, 2); /* a thread is no process */
}

static void test_reuse(void **state)
{
	(void)state;
	put_task(0, PERCH_RECORD_FORK, CHILD, self, CHILD, 1000000);
	put_sample(0, CHILD, CHILD, 2000000);
	put_task(0, PERCH_RECORD_EXIT, CHILD, self, CHILD, 3000000);
	put_task(1, PERCH_RECORD_FORK, CHILD, STRANGER, CHILD, 4000000);
	put_sample(1, CHILD, CHILD, 5000000);
	put_task(1, PERCH_RECORD_EXIT, CHILD, STRANGER, CHILD, 6000000);
	put_task(0, PERCH_RECORD_FORK, CHILD, self, CHILD, 7000000);
	put_sample(1, CHILD, CHILD, 8000000);
	look();
	/* two processes of three */
	assert_int_equal(keep(), 3 * sizeof(struct task) + 2 * sizeof(struct sample));
	assert_int_equal(all.other_samples, 1);
}

/* The FORK record of the next process with the id is lost. */
static void test_lost_fork(void **state)
{
	(void)state;
	put_task(0, PERCH_RECORD_FORK, CHILD, self, CHILD, SECOND);
	put_task(0, PERCH_RECORD_EXIT, CHILD, self, CHILD, 2 * SECOND);
	look();
	assert_int_equal(keep(), 2 * sizeof(struct task));
	put_sample(0, self, self, 4 * SECOND);
	put_sample(0, CHILD, CHILD, 6 * SECOND);
	look();
	assert_int_equal(keep(), sizeof(struct sample));
	put_sample(0, self, self, 10 * SECOND);
	look();
	assert_int_equal(keep(), sizeof(struct sample));
	assert_int_equal(all.nr, 1);
}

static void test_wrap(void **state)
{
	(void)state;
	for (size_t at = 0; at < 3 * sizeof(struct sample); at += 8) {
		put_sample(0, self, self, 100 + at);
		put_sample(0, STRANGER, STRANGER, 101 + at);
		put_sample(0, self, self + 1, 102 + at);
		look();
		assert_int_equal(keep_split(at), 2 * sizeof(struct sample));
		for (size_t i = 0; i < 2; i++) {
			const struct sample *sample = (const void *)all.bytes;

			assert_int_equal(sample[i].pid, self);
			assert_int_equal(sample[i].tid, self + i);
			assert_int_equal(sample[i].time, START + 100 + at + 2 * i);
		}
	}
}

static void test_ended(void **state)
{
	pid_t gone = CHILD;
	struct perch_error err;

	(void)state;
	assert_false(perch__recorder_descendants_ended(&all));
	perch__recorder_descendants_clear(&all);
	assert_int_equal(perch__recorder_descendants_begin(&all, &gone, 1, NULL, &err), -ESRCH);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_others, begin, end),
		cmocka_unit_test_setup_teardown(test_fork_in_another_ring, begin, end),
		cmocka_unit_test_setup_teardown(test_grandchild, begin, end),
		cmocka_unit_test_setup_teardown(test_threads_and_exec, begin, end),
		cmocka_unit_test_setup_teardown(test_reuse, begin, end),
		cmocka_unit_test_setup_teardown(test_lost_fork, begin, end),
		cmocka_unit_test_setup_teardown(test_wrap, begin, end),
		cmocka_unit_test_setup_teardown(test_ended, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
