/* SPDX-License-Identifier: MIT */
/* What happens to a sampler's rings, each thing visible to the caller: with the real kernel and its
 * software events. */
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

#include <perch/ring.h>

#include "work.h"

static cpu_set_t all_cpus;
static void pin_to(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

/* The CPU that this process may run on, number nth of them; -1: there are not as many. */
static int nth_cpu(int nth)
{
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &all_cpus) && !nth--)
			return cpu;
	return -1;
}

static int keep_cpus(void **state)
{
	(void)state;
	return sched_getaffinity(0, sizeof(all_cpus), &all_cpus);
}

static int give_back_cpus(void **state)
{
	(void)state;
	return sched_setaffinity(0, sizeof(all_cpus), &all_cpus);
}

static struct perch_sampler *open_sampler(const char *events, pid_t pid,
					  struct perch_sampler_options *options)
{
	struct perch_target target = { pid, -1, 0 };
	struct perch_sampler *sampler;
	struct perch_error err;

	options->event.sample |= PERCH_SAMPLE_IP;
	options->event.exclude_kernel = 1; /* tests run beside others: user space is enough */
	if (perch_sampler_open(&sampler, events, &target, options, &err) < 0)
		print_message("perch_sampler_open: %s\n", err.message);
	assert_non_null(sampler);
	return sampler;
}

static uint64_t drain(struct perch_sampler *sampler)
{
	struct perch_record record;
	uint64_t samples = 0;

	while (perch_sampler_next(sampler, &record) > 0)
		samples += record.type == PERCH_RECORD_SAMPLE;
	return samples;
}

static size_t rings_in(struct perch_sampler *sampler, enum perch_ring_state wanted)
{
	size_t nr = 0;

	for (size_t i = 0; i < perch_sampler_rings(sampler); i++) {
		enum perch_ring_state state;

		assert_int_equal(perch_sampler_ring_state(sampler, i, &state), 0);
		nr += state == wanted;
	}
	return nr;
}

static void a_pause_stops_the_records(void **state)
{
	struct perch_sampler_options options = { .event.period = 1 };
	struct perch_sampler *sampler;
	struct perch_sampler_stats stats;
	struct perch_error err;

	(void)state;
	pin_to(nth_cpu(0));
	sampler = open_sampler("page-faults", 0, &options);
	assert_int_equal(perch_sampler_enable(sampler), 0);
	fault(64);
	assert_in_range(drain(sampler), 64, 200);
	assert_int_equal(perch_sampler_pause(sampler, &err), 0);
	drain(sampler); /* a fault of ours may have come in between */
	assert_int_equal(rings_in(sampler, PERCH_RING_STATE_PAUSED), perch_sampler_rings(sampler));
	fault(100);
	assert_int_equal(drain(sampler), 0);
	assert_int_equal(perch_sampler_resume(sampler, &err), 0);
	assert_int_equal(rings_in(sampler, PERCH_RING_STATE_RUNNING), perch_sampler_rings(sampler));
	fault(64);
	assert_in_range(drain(sampler), 64, 200);
	perch_sampler_get_stats(sampler, &stats);
	/* what came meanwhile, told with the first record after it */
	assert_in_range(stats.lost, 100, 300);
	perch_sampler_close(sampler);
}

/*
 * So many samples, and then no more: the event has disabled itself. The last one's signal says so;
 * poll(2) does not.
 */
static void a_refresh_ends_by_itself(void **state)
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
	/* signals of one number may be merged by their limit */
	assert_in_range(hang_ups, 1, 3);
	assert_int_equal(rings_in(sampler, PERCH_RING_STATE_RUNNING), perch_sampler_rings(sampler));
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

static void let_go(int go[2])
{
	assert_int_equal(write(go[1], "", 1), 1);
	close(go[0]);
	close(go[1]);
}

static void fault_a_bit(void)
{
	fault(32);
}

static void the_end_of_a_target_is_told(void **state)
{
	struct perch_sampler_options options = { .event.period = 1 };
	struct perch_sampler *sampler;
	uint64_t samples = 0;
	int go[2], rc;
	pid_t pid;

	(void)state;
	pid = start_child(go, fault_a_bit);
	sampler = open_sampler("page-faults", pid, &options);
	assert_int_equal(perch_sampler_enable(sampler), 0);
	assert_int_equal(rings_in(sampler, PERCH_RING_STATE_RUNNING), perch_sampler_rings(sampler));
	let_go(go);
	while ((rc = perch_sampler_wait(sampler, 5000)) == 1)
		samples += drain(sampler);
	assert_int_equal(rc, -ENODATA);
	assert_true(samples >= 32);
	assert_int_equal(rings_in(sampler, PERCH_RING_STATE_ENDED), perch_sampler_rings(sampler));
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	perch_sampler_close(sampler);
}

/*
 * At each tick sched_stat_runtime counts the nanoseconds that ran, at once: thousands of periods,
 * of which the kernel lets as many be samples as its limit has for a tick. Where this user may not
 * have it: a timer, which cannot go much faster than the limit, and is throttled now and then only.
 */
static struct perch_sampler *open_too_fast(void)
{
	/* ns; of a timer the kernel makes it 10 us */
	struct perch_sampler_options options = { .event.period = 1000 };
	struct perch_sampler *sampler;

	if (perch_sampler_open(&sampler, "sched:sched_stat_runtime,page-faults:u", NULL, &options,
			       NULL) < 0)
		sampler = open_sampler("cpu-clock,page-faults", 0, &options);
	return sampler;
}

static void throttling_is_told_by_event_and_ring(void **state)
{
	struct perch_sampler_stats stats = { 0 }, event = { 0 }, other = { 0 }, ring;
	struct perch_sampler *sampler;
	uint64_t by_ring = 0;

	(void)state;
	sampler = open_too_fast();
	assert_int_equal(perch_sampler_enable(sampler), 0);
	for (double end = seconds() + 3; seconds() < end && !stats.throttled;) {
		burn(0.05);
		drain(sampler);
		perch_sampler_get_stats(sampler, &stats);
	}
	if (!stats.throttled) {
		perch_sampler_close(sampler);
		print_message("the kernel throttled nothing in 3 s\n");
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

/* By the LOST records of the ring, and by the event's own count: both are of all that was lost. */
static void losses_agree(void **state)
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
	assert_int_equal(perch_sampler_enable(sampler), 0);
	fault(2000);
	samples = drain(sampler);
	/* there is room again: LOST is written with the next record */
	fault(4);
	assert_int_equal(perch_sampler_disable(sampler), 0);
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

/* Three events, one ring: every event's records come out of it, told apart by id. */
static void events_share_the_ring_of_a_cpu(void **state)
{
	struct perch_sampler_options options = { .event.period = 1 };
	struct perch_sampler_stats ring, faults, minor;
	struct perch_sampler *sampler;
	size_t own = SIZE_MAX, place;
	pid_t pid;
	int cpu;

	(void)state;
	pin_to(nth_cpu(0));
	sampler = open_sampler("page-faults,minor-faults,cpu-clock/freq=500/", 0, &options);
	assert_int_equal(perch_sampler_enable(sampler), 0);
	fault(100);
	burn(0.1);
	assert_int_equal(perch_sampler_disable(sampler), 0);
	drain(sampler);
	for (size_t event = 0; event < 3; event++)
		for (size_t id = 0; !perch_sampler_id_info(sampler, event, id, &cpu, &pid, &place);
		     id++)
			if (cpu == nth_cpu(0)) {
				assert_true(own == SIZE_MAX || own == place);
				own = place;
			}
	assert_int_equal(perch_sampler_get_ring_stats(sampler, own, &ring), 0);
	perch_sampler_get_event_stats(sampler, 0, &faults);
	assert_true(faults.samples >= 100);
	perch_sampler_get_event_stats(sampler, 1, &minor);
	assert_true(minor.samples >= 100);
	assert_true(ring.samples >= faults.samples + minor.samples + 10);
	perch_sampler_close(sampler);
}

static void fault_on_both(void)
{
	for (int i = 0; i < 40; i++) {
		pin_to(nth_cpu(i % 2));
		fault(25);
	}
}

/* A thread that goes to and fro between two CPUs, and so between two rings, comes out as it ran. */
static void two_rings_are_one_stream(void **state)
{
	struct perch_sampler_options options = {
		.event = { .period = 1, .sample = PERCH_SAMPLE_CPU | PERCH_SAMPLE_ADDR }
	};
	uint64_t before = 0, samples = 0, changes = 0, cpu = UINT64_MAX;
	struct perch_sampler *sampler;
	struct perch_record record;
	int go[2], rc = 1;
	pid_t pid;

	(void)state;
	if (nth_cpu(1) < 0) {
		print_message("one CPU alone\n");
		skip();
	}
	pid = start_child(go, fault_on_both);
	sampler = open_sampler("page-faults", pid, &options);
	assert_int_equal(perch_sampler_enable(sampler), 0);
	let_go(go);
	for (bool flush = false; !flush;) {
		rc = perch_sampler_wait(sampler, 5000);
		assert_true(rc == 1 || rc == -ENODATA);
		flush = rc == -ENODATA;
		while (perch_sampler_next_ordered(sampler, flush, &record) > 0) {
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

/* While records are held back for the sake of their order, waiting neither spins nor sleeps over
 * them. */
static void waiting_for_a_merge_is_short(void **state)
{
	struct perch_sampler_options options = { .event.period = 1 };
	struct perch_sampler *sampler;
	struct perch_record record;
	double start;
	int waits = 0;

	(void)state;
	pin_to(nth_cpu(0));
	sampler = open_sampler("page-faults", 0, &options);
	assert_int_equal(perch_sampler_enable(sampler), 0);
	fault(64);
	assert_int_equal(perch_sampler_disable(sampler), 0);
	start = seconds();
	while (perch_sampler_next_ordered(sampler, false, &record) == 0) {
		assert_int_equal(perch_sampler_wait(sampler, 5000), 1);
		waits++;
	}
	assert_in_range(waits, 1, 3);
	assert_true(seconds() - start < 1);
	while (perch_sampler_next_ordered(sampler, true, &record) > 0)
		;
	assert_int_equal(perch_sampler_wait(sampler, 1), 0);
	perch_sampler_close(sampler);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(a_pause_stops_the_records, give_back_cpus),
		cmocka_unit_test_teardown(a_refresh_ends_by_itself, give_back_cpus),
		cmocka_unit_test(inherited_events_cannot_be_refreshed),
		cmocka_unit_test(the_end_of_a_target_is_told),
		cmocka_unit_test(throttling_is_told_by_event_and_ring),
		cmocka_unit_test_teardown(losses_agree, give_back_cpus),
		cmocka_unit_test_teardown(events_share_the_ring_of_a_cpu, give_back_cpus),
		cmocka_unit_test(two_rings_are_one_stream),
		cmocka_unit_test_teardown(waiting_for_a_merge_is_short, give_back_cpus),
	};

	return cmocka_run_group_tests(tests, keep_cpus, NULL);
}
