/* SPDX-License-Identifier: MIT */
/* A flight recorder with the real kernel: what a snapshot holds, what it leaves out, and who is
 * told of beside it. */
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

#include <perch/ring.h>

#include "work.h"

#define PAGES  4
#define RECORD 40 /* bytes of a sample: header IP TID TIME CPU */

/* Tests run beside others: user space is enough. */
static struct perch_sampler_options overwriting(void)
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
	struct perch_target target = { pid, -1, 0 };
	struct perch_sampler *sampler;
	struct perch_error err;

	if (perch_sampler_open(&sampler, events, &target, options, &err) < 0)
		print_message("perch_sampler_open: %s\n", err.message);
	assert_non_null(sampler);
	return sampler;
}

/* What a snapshot told, decoded by the attr of the first event. */
struct seen {
	struct perch_parse_info parse_info;
	size_t rings, samples, lost_records, other;
	uint64_t lost, last[64], newest, oldest;
	size_t ring;
	int answer;
};

static void begin(struct seen *seen, struct perch_sampler *sampler)
{
	const uint64_t *ids;
	const char *name;
	size_t nr;

	*seen = (struct seen){ .ring = SIZE_MAX };
	perch_parse_info_init(&seen->parse_info, perch_sampler_event(sampler, 0, &name, &ids, &nr),
			      PERCH_BYTES_NATIVE);
}

static void note(struct seen *seen, size_t ring, const struct perch_record *record)
{
	uint64_t time = record->sample_id.time;

	assert_true(time >= seen->last[ring]);
	seen->last[ring] = time;
	seen->samples += record->type == PERCH_RECORD_SAMPLE;
	seen->lost_records += record->type == PERCH_RECORD_LOST;
	seen->lost += record->type == PERCH_RECORD_LOST ? record->lost.lost : 0;
	seen->other += record->type != PERCH_RECORD_SAMPLE && record->type != PERCH_RECORD_LOST;
	if (!seen->oldest || time < seen->oldest)
		seen->oldest = time;
	if (time > seen->newest)
		seen->newest = time;
}

static int look(void *context, size_t ring, const struct iovec *pieces, int nr)
{
	struct seen *seen = context;

	assert_true(ring < 64);
	seen->rings += ring != seen->ring;
	seen->ring = ring;
	for (int i = 0; i < nr; i++)
		for (size_t at = 0; at < pieces[i].iov_len;) {
			const char *bytes = (const char *)pieces[i].iov_base + at;
			struct perch_record record;

			assert_int_equal(perch_record_decode(&record, &seen->parse_info, bytes,
							     pieces[i].iov_len - at, NULL),
					 0);
			note(seen, ring, &record);
			at += record.size;
		}
	return seen->answer;
}

static void pin_to(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

static cpu_set_t all_cpus;

static int keep_cpus(void **state)
{
	(void)state;
	sched_getaffinity(0, sizeof(all_cpus), &all_cpus);
	return 0;
}

static int give_back_cpus(void **state)
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

/* Many times what the ring holds: the snapshot has the end of it, full to the last record. */
static void the_newest_are_kept(void **state)
{
	struct perch_sampler_options options = overwriting();
	size_t most = PAGES * sysconf(_SC_PAGESIZE) / RECORD;
	struct perch_ring_stats ring = { 0 };
	struct perch_sampler *sampler;
	uint64_t overwritten = 0, before;
	struct perch_error err;
	struct seen seen;
	ssize_t bytes;

	(void)state;
	pin_to(first_cpu());
	sampler = open_sampler("page-faults:u", 0, &options);
	assert_int_equal(perch_sampler_enable(sampler), 0);
	fault(20 * most);
	begin(&seen, sampler);
	bytes = perch_sampler_snapshot(sampler, look, &seen, &err);
	assert_int_equal(bytes, seen.samples * RECORD);
	assert_in_range(seen.samples, most - 1, most);
	for (size_t i = 0; i < perch_sampler_rings(sampler); i++) {
		perch_ring_get_stats(perch_sampler_ring(sampler, i), &ring);
		overwritten += ring.overwritten;
	}
	print_message("%zu samples kept, %llu bytes of others written over\n", seen.samples,
		      (unsigned long long)overwritten);
	assert_true(overwritten >= 18 * most * RECORD);

	/* it went on: what comes now is newer */
	before = seen.newest;
	fault(2 * most);
	begin(&seen, sampler);
	assert_true(perch_sampler_snapshot(sampler, look, &seen, &err) > 0);
	assert_true(seen.oldest > before);
	perch_sampler_close(sampler);
}

/* Until a snapshot is forgotten the next one has it again; then it begins where that one ended. */
static void what_is_forgotten_stays_away(void **state)
{
	struct perch_sampler_options options = overwriting();
	struct perch_sampler *sampler;
	struct perch_error err;
	struct seen seen;
	uint64_t newest, oldest;

	(void)state;
	pin_to(first_cpu());
	sampler = open_sampler("page-faults:u", 0, &options);
	assert_int_equal(perch_sampler_enable(sampler), 0);
	fault(40);
	begin(&seen, sampler);
	assert_true(perch_sampler_snapshot(sampler, look, &seen, &err) > 0);
	oldest = seen.oldest;
	fault(40);
	begin(&seen, sampler);
	assert_true(perch_sampler_snapshot(sampler, look, &seen, &err) > 0);
	assert_int_equal(seen.oldest, oldest);
	assert_true(seen.samples >= 80);
	newest = seen.newest;
	perch_sampler_snapshot_advance(sampler);
	fault(40);
	begin(&seen, sampler);
	assert_true(perch_sampler_snapshot(sampler, look, &seen, &err) > 0);
	assert_true(seen.oldest > newest);
	assert_in_range(seen.samples, 40, 79);
	perch_sampler_close(sampler);
}

/* Nothing is to be fetched from such rings; poll(2) does not wake for them. */
static void there_is_nothing_to_wait_for(void **state)
{
	struct perch_sampler_options options = overwriting();
	struct perch_sampler *sampler = open_sampler("page-faults:u", 0, &options);
	struct perch_record record;

	(void)state;
	assert_int_equal(perch_sampler_enable(sampler), 0);
	fault(4096);
	assert_int_equal(perch_sampler_wait(sampler, 20), 0);
	assert_int_equal(perch_sampler_next(sampler, &record), 0);
	perch_sampler_close(sampler);
}

/* While paused nothing is written; the kernel tells how much that was with the first record after
 * it. */
static void a_pause_is_told(void **state)
{
	struct perch_sampler_options options = overwriting();
	struct perch_sampler_stats stats;
	struct perch_sampler *sampler;
	struct perch_error err;
	struct seen seen;

	(void)state;
	pin_to(first_cpu());
	options.event.read = PERCH_FORMAT_ID | PERCH_FORMAT_LOST;
	sampler = open_sampler("page-faults:u", 0, &options);
	assert_int_equal(perch_sampler_enable(sampler), 0);
	assert_int_equal(perch_sampler_pause(sampler, &err), 0);
	fault(100);
	begin(&seen, sampler);
	assert_true(perch_sampler_snapshot(sampler, look, &seen, &err) >= 0);
	assert_true(seen.samples < 20);
	assert_int_equal(perch_sampler_resume(sampler, &err), 0);
	fault(50);
	begin(&seen, sampler);
	assert_true(perch_sampler_snapshot(sampler, look, &seen, &err) > 0);
	print_message("%llu lost by the pause, %zu samples since\n", (unsigned long long)seen.lost,
		      seen.samples);
	assert_true(seen.lost >= 100);
	assert_true(seen.samples >= 50);
	perch_sampler_get_stats(sampler, &stats);
	assert_int_equal(stats.lost, seen.lost);
	perch_sampler_get_event_stats(sampler, 0, &stats);
	assert_int_equal(stats.lost, seen.lost);
	perch_sampler_close(sampler);
}

/* Who is there comes through rings of its own, drained as usual, and is not written over by
 * samples. */
static void tasks_come_beside(void **state)
{
	struct perch_sampler_options options = overwriting();
	struct perch_sampler *sampler;
	struct perch_record record;
	size_t forks = 0, exits = 0, samples = 0;
	struct perch_error err;
	struct seen seen;

	(void)state;
	options.event.sideband = PERCH_SIDEBAND_TASK | PERCH_SIDEBAND_COMM;
	options.event.inherit = 1;
	sampler = open_sampler("page-faults:u", 0, &options);
	assert_int_equal(perch_sampler_enable(sampler), 0);
	for (int i = 0; i < 20; i++) {
		pid_t pid = fork();

		if (!pid) {
			fault(1000);
			_exit(0);
		}
		assert_int_equal(waitpid(pid, NULL, 0), pid);
	}
	assert_int_equal(perch_sampler_wait(sampler, 1000), 1);
	while (perch_sampler_next(sampler, &record) > 0) {
		forks += record.type == PERCH_RECORD_FORK;
		exits += record.type == PERCH_RECORD_EXIT;
		samples += record.type == PERCH_RECORD_SAMPLE;
	}
	assert_int_equal(forks, 20);
	assert_int_equal(exits, 20);
	assert_int_equal(samples, 0);
	begin(&seen, sampler);
	assert_true(perch_sampler_snapshot(sampler, look, &seen, &err) > 0);
	assert_true(seen.samples > 0);
	assert_int_equal(seen.other, 0);
	perch_sampler_close(sampler);
}

/* Who has ended leaves its last records behind. */
static void the_dead_are_read(void **state)
{
	struct perch_sampler_options options = overwriting();
	struct perch_sampler *sampler;
	struct perch_error err;
	struct seen seen;
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
	assert_int_equal(perch_sampler_enable(sampler), 0);
	assert_int_equal(write(go[1], "", 1), 1);
	assert_int_equal(perch_sampler_wait(sampler, 5000), -ENODATA);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	for (size_t i = 0; i < perch_sampler_rings(sampler); i++) {
		enum perch_ring_state ring;

		assert_int_equal(perch_sampler_ring_state(sampler, i, &ring), 0);
		assert_int_equal(ring, PERCH_RING_STATE_ENDED);
	}
	begin(&seen, sampler);
	assert_true(perch_sampler_snapshot(sampler, look, &seen, &err) > 0);
	assert_true(seen.samples >= 300);
	perch_sampler_close(sampler);
	close(go[0]);
	close(go[1]);
}

/* A group of several events in one ring; an answer of the callback ends the snapshot, and the rings
 * run on. */
static void several_events_share_a_ring(void **state)
{
	struct perch_sampler_options options = overwriting();
	struct perch_sampler *sampler = open_sampler("page-faults:u,minor-faults:u", 0, &options);
	struct perch_error err;
	struct seen seen;

	(void)state;
	assert_int_equal(perch_sampler_enable(sampler), 0);
	fault(100);
	begin(&seen, sampler);
	seen.answer = -ENOSPC;
	assert_int_equal(perch_sampler_snapshot(sampler, look, &seen, &err), -ENOSPC);
	assert_int_equal(seen.rings, 1);
	fault(100);
	begin(&seen, sampler);
	assert_true(perch_sampler_snapshot(sampler, look, &seen, &err) > 0);
	assert_true(seen.samples >= 300);
	perch_sampler_close(sampler);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(the_newest_are_kept, give_back_cpus),
		cmocka_unit_test_teardown(what_is_forgotten_stays_away, give_back_cpus),
		cmocka_unit_test(there_is_nothing_to_wait_for),
		cmocka_unit_test_teardown(a_pause_is_told, give_back_cpus),
		cmocka_unit_test(tasks_come_beside),
		cmocka_unit_test(the_dead_are_read),
		cmocka_unit_test(several_events_share_a_ring),
	};

	return cmocka_run_group_tests(tests, keep_cpus, NULL);
}
