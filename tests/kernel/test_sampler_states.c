/* SPDX-License-Identifier: MIT */
/*
 * The states and statistics of the rings of a sampler on the running kernel, with software events.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include <perch/sampler.h>

#include "build/one_target.h"
#include "work.h"
#include "needs.h"

static cpu_set_t all_cpus;
static void pin_to(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

/* The nth CPU that this process may run on, or -1. */
static int nth_cpu(int nth)
{
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &all_cpus) && !nth--)
			return cpu;
	return -1;
}

static int save_affinity(void **state)
{
	(void)state;
	return sched_getaffinity(0, sizeof(all_cpus), &all_cpus);
}

static int restore_affinity(void **state)
{
	(void)state;
	return sched_setaffinity(0, sizeof(all_cpus), &all_cpus);
}

static struct perch_sampler *open_sampler(const char *events, pid_t pid,
					  struct perch_sampler_options *options)
{
	struct perch_target target = { .tid = pid, .cpu = -1 };
	struct perch_sampler *sampler;
	struct perch_error err;

	options->event.sample |= PERCH_SAMPLE_IP;
	options->event.exclude_kernel = 1; /* so that ordinary users can run this test */
	if (perch_sampler_open(&sampler, events, ONE_TARGET(&target), options, &err) < 0)
		print_message("perch_sampler_open: %s\n", err.message);
	assert_non_null(sampler);
	return sampler;
}

static uint64_t drain(struct perch_sampler *sampler)
{
	struct perch_record record;
	uint64_t samples = 0;

	while (perch_sampler_next(sampler, &record, NULL) > 0)
		samples += record.type == PERCH_RECORD_SAMPLE;
	return samples;
}

static size_t rings_in_state(struct perch_sampler *sampler, enum perch_ring_state wanted)
{
	size_t nr = 0;

	for (size_t i = 0; i < perch_sampler_rings(sampler); i++) {
		enum perch_ring_state state;

		assert_int_equal(perch_sampler_ring_state(sampler, i, &state), 0);
		nr += state == wanted;
	}
	return nr;
}

static void pause_stops_records(void **state)
{
	struct perch_sampler_options options = { .event.period = 1 };
	struct perch_sampler *sampler;
	struct perch_sampler_stats stats;
	struct perch_error err;

	(void)state;
	pin_to(nth_cpu(0));
	sampler = open_sampler("page-faults", 0, &options);
	assert_int_equal(perch_sampler_enable(sampler, NULL), 0);
	fault(64);
	assert_in_range(drain(sampler), 64, 200);
	assert_int_equal(perch_sampler_pause(sampler, &err), 0);
	drain(sampler); /* this thread may have had a page fault before the pause */
	assert_int_equal(rings_in_state(sampler, PERCH_RING_STATE_PAUSED),
			 perch_sampler_rings(sampler));
	fault(100);
	assert_int_equal(drain(sampler), 0);
	assert_int_equal(perch_sampler_resume(sampler, &err), 0);
	assert_int_equal(rings_in_state(sampler, PERCH_RING_STATE_RUNNING),
			 perch_sampler_rings(sampler));
	fault(64);
	assert_in_range(drain(sampler), 64, 200);
	perch_sampler_get_stats(sampler, &stats);
	/* the records of the time of the pause, counted in a LOST record after it */
	assert_in_range(stats.lost, 100, 300);
	perch_sampler_close(sampler);
}

/*
 * The event takes 7 samples and then disables itself. The signal of the last sample has si_code
 * POLL_HUP; poll(2) does not report it.
 */
static void refresh_disables_after_samples(void **state)
{
	struct perch_sampler_options options = { .event = { .period = 1, .wakeup_events = 1 } };
	struct timespec moment = { 5, 0 };
	struct perch_sampler *sampler;
	struct perch_error err;
	int hang_ups = 0, fd = -1;
	sigset_t set;

	(void)state;
	pin_to(nth_cpu(0));
	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN);
	sigprocmask(SIG_BLOCK, &set, NULL);
	sampler = open_sampler("page-faults", 0, &options);
	for (size_t i = 0; i < perch_sampler_rings(sampler); i++) {
		fd = perch_sampler_ring_fd(sampler, i);
		assert_int_equal(fcntl(fd, F_SETOWN, getpid()), 0);
		assert_int_equal(fcntl(fd, F_SETSIG, SIGRTMIN), 0);
		assert_int_equal(fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_ASYNC), 0);
	}
	for (int round = 0; round < 3; round++) {
		siginfo_t info = { 0 };

		assert_int_equal(perch_sampler_refresh(sampler, 7, &err), 0);
		fault(200);
		assert_int_equal(drain(sampler), 7);
		while (sigtimedwait(&set, &info, &moment) == SIGRTMIN) {
			moment = (struct timespec){ 0, 0 };
			hang_ups += info.si_code == POLL_HUP;
		}
		moment = (struct timespec){ 5, 0 };
	}
	/* signals with the same number may be merged */
	assert_in_range(hang_ups, 1, 3);
	assert_int_equal(rings_in_state(sampler, PERCH_RING_STATE_RUNNING),
			 perch_sampler_rings(sampler));
	perch_sampler_close(sampler);
}

static void inherited_events_cannot_be_refreshed(void **state)
{
	struct perch_sampler_options options = { .event = { .period = 1, .inherit = 1 } };
	struct perch_sampler *sampler = open_sampler("page-faults", 0, &options);
	struct perch_error err;

	(void)state;
	assert_int_equal(perch_sampler_refresh(sampler, 1, &err), -EINVAL);
	assert_non_null(strstr(err.message, "page-faults"));
	perch_sampler_close(sampler);
}

static pid_t start_child(int go[2], void (*work)(void))
{
	char byte;
	pid_t pid;

	assert_int_equal(pipe(go), 0);
	pid = fork();
	if (!pid) {
		(void)!read(go[0], &byte, 1);
		work();
		_exit(0);
	}
	return pid;
}

static void let_child_run(int go[2])
{
	assert_int_equal(write(go[1], "", 1), 1);
	close(go[0]);
	close(go[1]);
}

static void fault_32_pages(void)
{
	fault(32);
}

static void reports_end_of_target(void **state)
{
	struct perch_sampler_options options = { .event.period = 1 };
	struct perch_sampler *sampler;
	uint64_t samples = 0;
	int go[2], rc;
	pid_t pid;

	(void)state;
	pid = start_child(go, fault_32_pages);
	sampler = open_sampler("page-faults", pid, &options);
	assert_int_equal(perch_sampler_enable(sampler, NULL), 0);
	assert_int_equal(rings_in_state(sampler, PERCH_RING_STATE_RUNNING),
			 perch_sampler_rings(sampler));
	let_child_run(go);
	while ((rc = perch_sampler_wait(sampler, 5000, NULL)) == 1)
		samples += drain(sampler);
	assert_int_equal(rc, -ENODATA);
	assert_true(samples >= 32);
	assert_int_equal(rings_in_state(sampler, PERCH_RING_STATE_ENDED),
			 perch_sampler_rings(sampler));
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	perch_sampler_close(sampler);
}

/*
 * At each tick sched_stat_runtime counts nanoseconds, which are thousands of periods, so the kernel
 * throttles it. If this user may not open it, a timer is used, whose rate exceeds the limit only
 * sometimes.
 */
static struct perch_sampler *open_throttled_sampler(void)
{
	/* in ns; the kernel raises it to 10 us for a timer */
	struct perch_sampler_options options = { .event.period = 1000 };
	struct perch_sampler *sampler;

	if (perch_sampler_open(&sampler, "sched:sched_stat_runtime,page-faults:u", NULL, &options,
			       NULL) < 0) {
		needs_samples_within(5e-6);
		sampler = open_sampler("cpu-clock,page-faults", 0, &options);
	}
	return sampler;
}

static void counts_throttling_per_event_and_ring(void **state)
{
	struct perch_sampler_stats stats = { 0 }, event = { 0 }, other = { 0 }, ring;
	struct perch_sampler *sampler;
	uint64_t by_ring = 0;

	(void)state;
	sampler = open_throttled_sampler();
	assert_int_equal(perch_sampler_enable(sampler, NULL), 0);
	for (double end = seconds() + 3; seconds() < end && !stats.throttled;) {
		burn(0.05);
		drain(sampler);
		perch_sampler_get_stats(sampler, &stats);
	}
	if (!stats.throttled) {
		perch_sampler_close(sampler);
		print_message("skipped: nothing was throttled in 3 s\n");
		skip();
	}
	perch_sampler_get_event_stats(sampler, 0, &event);
	perch_sampler_get_event_stats(sampler, 1, &other);
	for (size_t i = 0; i < perch_sampler_rings(sampler); i++) {
		perch_sampler_get_ring_stats(sampler, i, &ring);
		by_ring += ring.throttled;
	}
	assert_int_equal(event.throttled, stats.throttled);
	assert_int_equal(other.throttled, 0);
	assert_int_equal(by_ring, stats.throttled);
	perch_sampler_close(sampler);
}

/* The LOST records of the ring and the lost counts of the events have the same sum. */
static void lost_records_and_read_agree(void **state)
{
	struct perch_sampler_options options = {
		.event = { .period = 1, .read = PERCH_FORMAT_ID | PERCH_FORMAT_LOST },
		.ring_pages = 1,
	};
	struct perch_sampler_stats stats, first, second;
	uint64_t lost = 0, one, samples;
	struct perch_sampler *sampler;
	const uint64_t *ids;
	const char *name;
	size_t nr;

	(void)state;
	pin_to(nth_cpu(0));
	sampler = open_sampler("page-faults,minor-faults", 0, &options);
	assert_int_equal(perch_sampler_enable(sampler, NULL), 0);
	fault(2000);
	samples = drain(sampler);
	/* the ring has space again: the kernel writes LOST before the next record */
	fault(4);
	assert_int_equal(perch_sampler_disable(sampler, NULL), 0);
	samples += drain(sampler);
	perch_sampler_get_stats(sampler, &stats);
	perch_sampler_get_event_stats(sampler, 0, &first);
	perch_sampler_get_event_stats(sampler, 1, &second);
	for (size_t event = 0; event < 2; event++) {
		perch_sampler_event(sampler, event, &name, &ids, &nr);
		for (size_t id = 0; id < nr; id++) {
			assert_int_equal(perch_sampler_lost(sampler, event, id, &one, NULL), 0);
			lost += one;
		}
	}
	print_message("%llu samples, %llu lost by records, %llu by read(2)\n",
		      (unsigned long long)samples, (unsigned long long)stats.lost,
		      (unsigned long long)lost);
	assert_true(stats.lost > 3000);
	assert_int_equal(stats.lost, lost);
	assert_int_equal(first.lost + second.lost, stats.lost);
	assert_int_equal(stats.samples, samples);
	assert_int_equal(first.samples + second.samples, samples);
	perch_sampler_close(sampler);
}

/* Three events write to one ring. The sampler finds the event of each record by its id. */
static void events_share_a_ring(void **state)
{
	struct perch_sampler_options options = { .event.period = 1 };
	struct perch_sampler_stats ring, faults, minor;
	struct perch_sampler *sampler;
	size_t own = SIZE_MAX, ring_index;
	pid_t pid;
	int cpu;

	(void)state;
	pin_to(nth_cpu(0));
	sampler = open_sampler("page-faults,minor-faults,cpu-clock/freq=500/", 0, &options);
	assert_int_equal(perch_sampler_enable(sampler, NULL), 0);
	fault(100);
	burn(0.1);
	assert_int_equal(perch_sampler_disable(sampler, NULL), 0);
	drain(sampler);
	for (size_t event = 0; event < 3; event++)
		for (size_t id = 0;
		     !perch_sampler_id_info(sampler, event, id, &cpu, &pid, &ring_index); id++)
			if (cpu == nth_cpu(0)) {
				assert_true(own == SIZE_MAX || own == ring_index);
				own = ring_index;
			}
	assert_int_equal(perch_sampler_get_ring_stats(sampler, own, &ring), 0);
	perch_sampler_get_event_stats(sampler, 0, &faults);
	assert_true(faults.samples >= 100);
	perch_sampler_get_event_stats(sampler, 1, &minor);
	assert_true(minor.samples >= 100);
	assert_true(ring.samples > faults.samples + minor.samples);
	perch_sampler_close(sampler);
}

static void fault_on_both(void)
{
	for (int i = 0; i < 40; i++) {
		pin_to(nth_cpu(i % 2));
		fault(25);
	}
}

/*
 * A thread changes between two CPUs, and so between two rings. The merged records are in order of
 * time.
 */
static void merges_rings_by_time(void **state)
{
	struct perch_sampler_options options = {
		.event = { .period = 1, .sample = PERCH_SAMPLE_CPU | PERCH_SAMPLE_ADDR }
	};
	uint64_t before = 0, samples = 0, changes = 0, cpu = UINT64_MAX;
	struct perch_sampler *sampler;
	struct perch_record record;
	int go[2], rc = 1, timeouts = 0;
	pid_t pid;

	(void)state;
	if (nth_cpu(1) < 0) {
		print_message("skipped: needs two CPUs\n");
		skip();
	}
	pid = start_child(go, fault_on_both);
	sampler = open_sampler("page-faults", pid, &options);
	assert_int_equal(perch_sampler_enable(sampler, NULL), 0);
	let_child_run(go);
	for (bool flush = false; !flush;) {
		rc = perch_sampler_wait(sampler, 5000, NULL);
		/* the child may have to wait for a CPU on a busy machine */
		assert_true(rc == 1 || rc == -ENODATA || (!rc && ++timeouts < 12));
		flush = rc == -ENODATA;
		while (perch_sampler_next_ordered(sampler, flush, &record, NULL) > 0) {
			if (record.type != PERCH_RECORD_SAMPLE)
				continue;
			assert_true(record.sample.time >= before);
			before = record.sample.time;
			changes += record.sample.cpu != cpu;
			cpu = record.sample.cpu;
			samples++;
		}
	}
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	print_message("%llu samples, %llu changes of CPU\n", (unsigned long long)samples,
		      (unsigned long long)changes);
	assert_true(samples >= 1000);
	assert_true(changes >= 40);
	perch_sampler_close(sampler);
}

/*
 * While a merge holds records for the next round, perch_sampler_wait() returns after a short time
 * and does not spin.
 */
static void wait_is_short_while_merge_holds_records(void **state)
{
	struct perch_sampler_options options = { .event.period = 1 };
	struct perch_sampler *sampler;
	struct perch_record record;
	double start;
	int waits = 0;

	(void)state;
	pin_to(nth_cpu(0));
	sampler = open_sampler("page-faults", 0, &options);
	assert_int_equal(perch_sampler_enable(sampler, NULL), 0);
	fault(64);
	assert_int_equal(perch_sampler_disable(sampler, NULL), 0);
	start = seconds();
	while (perch_sampler_next_ordered(sampler, false, &record, NULL) == 0) {
		assert_int_equal(perch_sampler_wait(sampler, 5000, NULL), 1);
		waits++;
	}
	assert_in_range(waits, 1, 3);
	assert_true(seconds() - start < 1);
	while (perch_sampler_next_ordered(sampler, true, &record, NULL) > 0)
		;
	assert_int_equal(perch_sampler_wait(sampler, 1, NULL), 0);
	perch_sampler_close(sampler);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(pause_stops_records, restore_affinity),
		cmocka_unit_test_teardown(refresh_disables_after_samples, restore_affinity),
		cmocka_unit_test(inherited_events_cannot_be_refreshed),
		cmocka_unit_test(reports_end_of_target),
		cmocka_unit_test(counts_throttling_per_event_and_ring),
		cmocka_unit_test_teardown(lost_records_and_read_agree, restore_affinity),
		cmocka_unit_test_teardown(events_share_a_ring, restore_affinity),
		cmocka_unit_test(merges_rings_by_time),
		cmocka_unit_test_teardown(wait_is_short_while_merge_holds_records,
					  restore_affinity),
	};

	if (every_event_is_refused())
		return 77;
	return cmocka_run_group_tests(tests, save_affinity, NULL);
}
