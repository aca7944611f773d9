/* SPDX-License-Identifier: MIT */
/* The side-band cache: its size is bounded, and it keeps what all running processes need. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "recorder/internal.h"

struct body {
	struct perch_record_header header;
	uint32_t pid, ppid, tid, ptid;
	uint64_t time;
	char rest[64];
};

static void add(struct recorder_sideband *sideband, uint32_t type, uint32_t pid, uint32_t other)
{
	struct body body = { { type, 0, 96 }, pid, other, pid, other, 1, "" };

	assert_int_equal(sizeof(body), 96);
	assert_int_equal(perch__recorder_sideband_add(sideband, &body, sizeof(body)), 0);
}

static void run(struct recorder_sideband *sideband, uint32_t parent, uint32_t pid)
{
	add(sideband, PERCH_RECORD_FORK, pid, parent);
	add(sideband, PERCH_RECORD_COMM, pid, 0);
	add(sideband, PERCH_RECORD_MMAP2, pid, 0);
}

static void end(struct recorder_sideband *sideband, uint32_t pid)
{
	add(sideband, PERCH_RECORD_EXIT, pid, 1);
}

static size_t count(const struct recorder_sideband *sideband, uint32_t type, uint32_t pid)
{
	const struct body *body;
	size_t nr = 0;

	for (size_t at = 0; at < sideband->used; at += body->header.size) {
		body = (const void *)(sideband->bytes + at);
		assert_true(body->header.size >= 8 && body->header.size <= sideband->used - at);
		nr += body->header.type == type && body->pid == pid;
	}
	return nr;
}

static void begin(struct recorder_sideband *sideband, size_t limit)
{
	*sideband = (struct recorder_sideband){ 0 };
	add(sideband, PERCH_RECORD_MMAP, UINT32_MAX, 0); /* of the kernel */
	run(sideband, 1, 10);
	perch__recorder_sideband_end_synthesized(sideband);
	sideband->limit = limit;
}

/* Many short processes: records of ended ones are dropped, those of running ones are kept. */
static void drops_records_of_ended_processes(void **state)
{
	struct recorder_sideband sideband;
	uint32_t pid;

	(void)state;
	begin(&sideband, 64 << 10);
	run(&sideband, 10, 11);
	for (pid = 100; pid < 20000; pid++) {
		run(&sideband, 10, pid);
		end(&sideband, pid);
		assert_true(sideband.used <= sideband.limit);
	}
	assert_int_equal(count(&sideband, PERCH_RECORD_MMAP, UINT32_MAX), 1);
	assert_int_equal(count(&sideband, PERCH_RECORD_MMAP2, 10), 1);
	assert_int_equal(count(&sideband, PERCH_RECORD_MMAP2, 11), 1);
	assert_int_equal(count(&sideband, PERCH_RECORD_MMAP2, 100), 0);
	for (pid = 19990; pid < 20000; pid++)
		assert_int_equal(count(&sideband, PERCH_RECORD_MMAP2, pid), 1);
	assert_int_equal(sideband.dropped, 0);
	perch__recorder_sideband_clear(&sideband);
}

/* A running child inherited mappings from its parent, which has ended, as has that one's parent. */
static void keeps_parents_of_running_processes(void **state)
{
	struct recorder_sideband sideband;

	(void)state;
	begin(&sideband, 64 << 10);
	run(&sideband, 10, 20);
	add(&sideband, PERCH_RECORD_FORK, 21, 20);
	add(&sideband, PERCH_RECORD_FORK, 22, 21);
	end(&sideband, 20);
	end(&sideband, 21);
	for (uint32_t pid = 100; pid < 3000; pid++) {
		run(&sideband, 10, pid);
		end(&sideband, pid);
	}
	assert_int_equal(count(&sideband, PERCH_RECORD_MMAP2, 20), 1);
	assert_int_equal(count(&sideband, PERCH_RECORD_FORK, 21), 1);
	assert_int_equal(count(&sideband, PERCH_RECORD_FORK, 22), 1);
	assert_int_equal(count(&sideband, PERCH_RECORD_MMAP2, 100), 0);
	perch__recorder_sideband_clear(&sideband);
}

/* The second process with a pid is running. */
static void keeps_a_reused_pid(void **state)
{
	struct recorder_sideband sideband;

	(void)state;
	begin(&sideband, 64 << 10);
	run(&sideband, 10, 20);
	end(&sideband, 20);
	run(&sideband, 10, 20);
	add(&sideband, PERCH_RECORD_MMAP2, 20, 0);
	for (uint32_t pid = 100; pid < 3000; pid++) {
		run(&sideband, 10, pid);
		end(&sideband, pid);
	}
	assert_int_equal(count(&sideband, PERCH_RECORD_MMAP2, 20), 2);
	assert_int_equal(count(&sideband, PERCH_RECORD_FORK, 20), 1);
	assert_int_equal(count(&sideband, PERCH_RECORD_EXIT, 20), 0);
	perch__recorder_sideband_clear(&sideband);
}

/* A process that maps without end: its oldest records are dropped and counted; synthesized ones are
 * kept. */
static void drops_the_oldest_records_at_the_limit(void **state)
{
	struct recorder_sideband sideband;

	(void)state;
	begin(&sideband, 64 << 10);
	for (int i = 0; i < 10000; i++) {
		add(&sideband, PERCH_RECORD_MMAP2, 11, 0);
		assert_true(sideband.used <= sideband.limit);
	}
	assert_true(count(&sideband, PERCH_RECORD_MMAP2, 11) > 200);
	assert_int_equal(count(&sideband, PERCH_RECORD_MMAP2, 11) + sideband.dropped, 10000);
	assert_int_equal(count(&sideband, PERCH_RECORD_MMAP, UINT32_MAX), 1);
	assert_int_equal(count(&sideband, PERCH_RECORD_MMAP2, 10), 1);
	perch__recorder_sideband_clear(&sideband);
}

/* Many synthesized records leave space for as many bytes again. */
static void limit_grows_with_synthesized_records(void **state)
{
	struct recorder_sideband sideband = { 0 };

	(void)state;
	for (uint32_t i = 0; i < (RECORDER_SIDEBAND_BYTES / 96); i++)
		add(&sideband, PERCH_RECORD_MMAP2, i, 0);
	perch__recorder_sideband_end_synthesized(&sideband);
	assert_true(sideband.limit >= 2 * sideband.synthesized);
	assert_int_equal(sideband.dropped, 0);
	perch__recorder_sideband_clear(&sideband);
}

static void has_only_sideband_records(void **state)
{
	(void)state;
	assert_true(perch__recorder_sideband_has(PERCH_RECORD_MMAP2));
	assert_true(perch__recorder_sideband_has(PERCH_RECORD_FORK));
	assert_true(perch__recorder_sideband_has(PERCH_RECORD_KSYMBOL));
	assert_false(perch__recorder_sideband_has(PERCH_RECORD_SAMPLE));
	assert_false(perch__recorder_sideband_has(PERCH_RECORD_LOST));
	assert_false(perch__recorder_sideband_has(PERCH_RECORD_SWITCH));
	assert_false(perch__recorder_sideband_has(0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(drops_records_of_ended_processes),
		cmocka_unit_test(keeps_parents_of_running_processes),
		cmocka_unit_test(keeps_a_reused_pid),
		cmocka_unit_test(drops_the_oldest_records_at_the_limit),
		cmocka_unit_test(limit_grows_with_synthesized_records),
		cmocka_unit_test(has_only_sideband_records),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
