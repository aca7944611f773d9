/* SPDX-License-Identifier: MIT */
/*
 * Samplers with .overwrite on the running kernel: the contents of snapshots, and the rings of the
 * tracking event.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include <perch/sampler.h>

#include "build/one_target.h"
#include "work.h"

#define PAGES  4
#define RINGS  1024 /* at most: one for each CPU */
#define RECORD 40   /* bytes of a sample: header IP TID TIME CPU */

/* These tests exclude the kernel, so that ordinary users can run them. */
static struct perch_sampler_options overwrite_options(void)
{
	return (struct perch_sampler_options){
		.event = { .period = 1,
			   .sample = PERCH_SAMPLE_IP | PERCH_SAMPLE_CPU,
			   .exclude_kernel = 1 },
		.overwrite = true,
		.ring_pages = PAGES,
	};
}

static struct perch_sampler *open_sampler(const char *events, pid_t pid,
					  struct perch_sampler_options *options)
{
	struct perch_target target = { .tid = pid, .cpu = -1 };
	struct perch_sampler *sampler;
	struct perch_error err;

	if (perch_sampler_open(&sampler, events, ONE_TARGET(&target), options, &err) < 0)
		print_message("perch_sampler_open: %s\n", err.message);
	assert_non_null(sampler);
	return sampler;
}

/* Counts of the records of a snapshot, which are decoded with the attr of the first event. */
struct contents {
	struct perch_parse_info parse_info;
	size_t rings, samples, lost_records, other;
	uint64_t lost, last[RINGS], newest, oldest;
	size_t ring;
	int result;
};

static void start_snapshot(struct contents *contents, struct perch_sampler *sampler)
{
	const uint64_t *ids;
	const char *name;
	size_t nr;

	*contents = (struct contents){ .ring = SIZE_MAX };
	perch_parse_info_init(&contents->parse_info,
			      perch_sampler_event(sampler, 0, &name, &ids, &nr),
			      PERCH_BYTES_NATIVE);
}

static void add_record(struct contents *contents, size_t ring, const struct perch_record *record)
{
	uint64_t time = record->sample_id.time;

	assert_true(time >= contents->last[ring]);
	contents->last[ring] = time;
	contents->samples += record->type == PERCH_RECORD_SAMPLE;
	contents->lost_records += record->type == PERCH_RECORD_LOST;
	contents->lost += record->type == PERCH_RECORD_LOST ? record->lost.lost : 0;
	contents->other += record->type != PERCH_RECORD_SAMPLE && record->type != PERCH_RECORD_LOST;
	if (!contents->oldest || time < contents->oldest)
		contents->oldest = time;
	if (time > contents->newest)
		contents->newest = time;
}

static int read_records(void *context, size_t ring, const struct iovec *pieces, int nr)
{
	struct contents *contents = context;

	assert_true(ring < RINGS);
	contents->rings += ring != contents->ring;
	contents->ring = ring;
	for (int i = 0; i < nr; i++)
		for (size_t at = 0; at < pieces[i].iov_len;) {
			const char *bytes = (const char *)pieces[i].iov_base + at;
			struct perch_record record;

			assert_int_equal(perch_record_decode(&record, &contents->parse_info, bytes,
							     pieces[i].iov_len - at, NULL),
					 0);
			add_record(contents, ring, &record);
			at += record.size;
		}
	return contents->result;
}

static void pin_to(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

static cpu_set_t all_cpus;

static int save_affinity(void **state)
{
	(void)state;
	sched_getaffinity(0, sizeof(all_cpus), &all_cpus);
	return 0;
}

static int restore_affinity(void **state)
{
	(void)state;
	sched_setaffinity(0, sizeof(all_cpus), &all_cpus);
	return 0;
}

static int first_cpu(void)
{
	int cpu = 0;

	while (cpu < CPU_SETSIZE - 1 && !CPU_ISSET(cpu, &all_cpus))
		cpu++;
	return cpu;
}

/*
 * Writes many times the capacity of the ring. The snapshot has the newest records and fills the
 * ring.
 */
static void snapshot_has_newest_records(void **state)
{
	struct perch_sampler_options options = overwrite_options();
	size_t capacity = PAGES * sysconf(_SC_PAGESIZE) / RECORD;
	struct perch_ring_stats ring = { 0 };
	struct perch_sampler *sampler;
	uint64_t overwritten = 0, before;
	struct perch_error err;
	struct contents contents;
	ssize_t bytes;

	(void)state;
	pin_to(first_cpu());
	sampler = open_sampler("page-faults:u", 0, &options);
	assert_int_equal(perch_sampler_enable(sampler, NULL), 0);
	fault(20 * capacity);
	start_snapshot(&contents, sampler);
	bytes = perch_sampler_snapshot(sampler, read_records, &contents, &err);
	assert_int_equal(bytes, contents.samples * RECORD);
	assert_in_range(contents.samples, capacity - 1, capacity);
	for (size_t i = 0; i < perch_sampler_rings(sampler); i++) {
		perch_ring_get_stats(perch_sampler_ring(sampler, i), &ring);
		overwritten += ring.overwritten;
	}
	print_message("%zu samples, %llu bytes overwritten\n", contents.samples,
		      (unsigned long long)overwritten);
	assert_true(overwritten >= 18 * capacity * RECORD);

	/* the ring is resumed: the next snapshot has newer records */
	before = contents.newest;
	fault(2 * capacity);
	start_snapshot(&contents, sampler);
	assert_true(perch_sampler_snapshot(sampler, read_records, &contents, &err) > 0);
	assert_true(contents.oldest > before);
	perch_sampler_close(sampler);
}

/*
 * The next snapshot has the same records again, until perch_sampler_snapshot_advance() is called.
 */
static void advance_leaves_out_old_records(void **state)
{
	struct perch_sampler_options options = overwrite_options();
	struct perch_sampler *sampler;
	struct perch_error err;
	struct contents contents;
	uint64_t newest, oldest;

	(void)state;
	pin_to(first_cpu());
	sampler = open_sampler("page-faults:u", 0, &options);
	assert_int_equal(perch_sampler_enable(sampler, NULL), 0);
	fault(40);
	start_snapshot(&contents, sampler);
	assert_true(perch_sampler_snapshot(sampler, read_records, &contents, &err) > 0);
	oldest = contents.oldest;
	fault(40);
	start_snapshot(&contents, sampler);
	assert_true(perch_sampler_snapshot(sampler, read_records, &contents, &err) > 0);
	assert_int_equal(contents.oldest, oldest);
	assert_true(contents.samples >= 80);
	newest = contents.newest;
	perch_sampler_snapshot_advance(sampler);
	fault(40);
	start_snapshot(&contents, sampler);
	assert_true(perch_sampler_snapshot(sampler, read_records, &contents, &err) > 0);
	assert_true(contents.oldest > newest);
	assert_in_range(contents.samples, 40, 79);
	perch_sampler_close(sampler);
}

/*
 * Rings of mode OVERWRITE have no records to read without a snapshot, and poll(2) does not report
 * them.
 */
static void wait_times_out_without_forward_rings(void **state)
{
	struct perch_sampler_options options = overwrite_options();
	struct perch_sampler *sampler = open_sampler("page-faults:u", 0, &options);
	struct perch_record record;

	(void)state;
	assert_int_equal(perch_sampler_enable(sampler, NULL), 0);
	fault(4096);
	assert_int_equal(perch_sampler_wait(sampler, 20, NULL), 0);
	assert_int_equal(perch_sampler_next(sampler, &record, NULL), 0);
	perch_sampler_close(sampler);
}

/*
 * While the ring is paused nothing is written. The kernel counts these records in a LOST record
 * before the first record after the pause.
 */
static void pause_is_counted_as_lost(void **state)
{
	struct perch_sampler_options options = overwrite_options();
	struct perch_sampler_stats stats;
	struct perch_sampler *sampler;
	struct perch_error err;
	struct contents contents;

	(void)state;
	pin_to(first_cpu());
	options.event.read = PERCH_FORMAT_ID | PERCH_FORMAT_LOST;
	sampler = open_sampler("page-faults:u", 0, &options);
	assert_int_equal(perch_sampler_enable(sampler, NULL), 0);
	assert_int_equal(perch_sampler_pause(sampler, &err), 0);
	fault(100);
	start_snapshot(&contents, sampler);
	assert_true(perch_sampler_snapshot(sampler, read_records, &contents, &err) >= 0);
	assert_true(contents.samples < 20);
	assert_int_equal(perch_sampler_resume(sampler, &err), 0);
	fault(50);
	start_snapshot(&contents, sampler);
	assert_true(perch_sampler_snapshot(sampler, read_records, &contents, &err) > 0);
	print_message("%llu lost by the pause, %zu samples after it\n",
		      (unsigned long long)contents.lost, contents.samples);
	assert_true(contents.lost >= 100);
	assert_true(contents.samples >= 50);
	perch_sampler_get_stats(sampler, &stats);
	assert_int_equal(stats.lost, contents.lost);
	perch_sampler_get_event_stats(sampler, 0, &stats);
	assert_int_equal(stats.lost, contents.lost);
	perch_sampler_close(sampler);
}

/* Records of tasks are in forward rings of the tracking event. Samples do not overwrite them. */
static void tracking_event_has_forward_rings(void **state)
{
	struct perch_sampler_options options = overwrite_options();
	struct perch_sampler *sampler;
	struct perch_record record;
	size_t forks = 0, exits = 0, samples = 0;
	struct perch_error err;
	struct contents contents;

	(void)state;
	options.event.sideband = PERCH_SIDEBAND_TASK | PERCH_SIDEBAND_COMM;
	options.event.inherit = 1;
	sampler = open_sampler("page-faults:u", 0, &options);
	assert_int_equal(perch_sampler_enable(sampler, NULL), 0);
	for (int i = 0; i < 20; i++) {
		pid_t pid = fork();

		if (!pid) {
			fault(1000);
			_exit(0);
		}
		assert_int_equal(waitpid(pid, NULL, 0), pid);
	}
	assert_int_equal(perch_sampler_wait(sampler, 1000, NULL), 1);
	while (perch_sampler_next(sampler, &record, NULL) > 0) {
		forks += record.type == PERCH_RECORD_FORK;
		exits += record.type == PERCH_RECORD_EXIT;
		samples += record.type == PERCH_RECORD_SAMPLE;
	}
	assert_int_equal(forks, 20);
	assert_int_equal(exits, 20);
	assert_int_equal(samples, 0);
	start_snapshot(&contents, sampler);
	assert_true(perch_sampler_snapshot(sampler, read_records, &contents, &err) > 0);
	assert_true(contents.samples > 0);
	assert_int_equal(contents.other, 0);
	perch_sampler_close(sampler);
}

/* The records of a task that has ended can still be read. */
static void snapshot_has_records_of_ended_task(void **state)
{
	struct perch_sampler_options options = overwrite_options();
	struct perch_sampler *sampler;
	struct perch_error err;
	struct contents contents;
	int go[2];
	pid_t pid;
	char byte;

	(void)state;
	assert_int_equal(pipe(go), 0);
	pid = fork();
	if (!pid) {
		(void)!read(go[0], &byte, 1);
		fault(300);
		_exit(0);
	}
	sampler = open_sampler("page-faults:u", pid, &options);
	assert_int_equal(perch_sampler_enable(sampler, NULL), 0);
	assert_int_equal(write(go[1], "", 1), 1);
	assert_int_equal(perch_sampler_wait(sampler, 5000, NULL), -ENODATA);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	for (size_t i = 0; i < perch_sampler_rings(sampler); i++) {
		enum perch_ring_state ring;

		assert_int_equal(perch_sampler_ring_state(sampler, i, &ring), 0);
		assert_int_equal(ring, PERCH_RING_STATE_ENDED);
	}
	start_snapshot(&contents, sampler);
	assert_true(perch_sampler_snapshot(sampler, read_records, &contents, &err) > 0);
	assert_true(contents.samples >= 300);
	perch_sampler_close(sampler);
	close(go[0]);
	close(go[1]);
}

/*
 * Several events in one ring. An error of the callback ends the snapshot, and the rings are
 * resumed.
 */
static void events_share_a_ring(void **state)
{
	struct perch_sampler_options options = overwrite_options();
	struct perch_sampler *sampler = open_sampler("page-faults:u,minor-faults:u", 0, &options);
	struct perch_error err;
	struct contents contents;

	(void)state;
	assert_int_equal(perch_sampler_enable(sampler, NULL), 0);
	fault(100);
	start_snapshot(&contents, sampler);
	contents.result = -ENOSPC;
	assert_int_equal(perch_sampler_snapshot(sampler, read_records, &contents, &err), -ENOSPC);
	assert_int_equal(contents.rings, 1);
	fault(100);
	start_snapshot(&contents, sampler);
	assert_true(perch_sampler_snapshot(sampler, read_records, &contents, &err) > 0);
	assert_true(contents.samples >= 300);
	perch_sampler_close(sampler);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(snapshot_has_newest_records, restore_affinity),
		cmocka_unit_test_teardown(advance_leaves_out_old_records, restore_affinity),
		cmocka_unit_test(wait_times_out_without_forward_rings),
		cmocka_unit_test_teardown(pause_is_counted_as_lost, restore_affinity),
		cmocka_unit_test(tracking_event_has_forward_rings),
		cmocka_unit_test(snapshot_has_records_of_ended_task),
		cmocka_unit_test(events_share_a_ring),
	};

	return cmocka_run_group_tests(tests, save_affinity, NULL);
}
