/* SPDX-License-Identifier: MIT */
/* Samplers on the running kernel, with software events, which every machine has. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include <perch/sampler.h>

#include "build/one_target.h"
#include "needs.h"
#include "work.h"

static int zero;
static const struct perch_cpus cpu0 = { 1, &zero };

/* Tests exclude the kernel, so that ordinary users can run them. */
static int open_sampler(struct perch_sampler **sampler, const char *events, pid_t pid,
			struct perch_sampler_options *options)
{
	struct perch_target target = { .tid = pid, .cpu = -1 };
	struct perch_error err;
	int rc;

	options->event.sample |= PERCH_SAMPLE_IP;
	rc = perch_sampler_open(sampler, events, ONE_TARGET(&target), options, &err);
	if (rc < 0)
		print_message("perch_sampler_open: %s\n", err.message);
	return rc;
}

/* Samples have the pid and tid of this thread, an address and a time. */
static void reads_samples_of_this_thread(void **state)
{
	struct perch_sampler_options options = { .event.frequency = 2000 };
	struct perch_sampler_stats stats;
	struct perch_sampler *sampler;
	struct perch_record record;
	uint64_t before = 0;
	size_t samples = 0;

	(void)state;
	assert_int_equal(open_sampler(&sampler, "cpu-clock:u", 0, &options), 0);
	assert_int_equal(perch_sampler_wait(sampler, 0, NULL), 0);
	assert_int_equal(perch_sampler_enable(sampler, NULL), 0);
	burn(0.3);
	assert_int_equal(perch_sampler_disable(sampler, NULL), 0);
	assert_int_equal(perch_sampler_wait(sampler, 0, NULL), 1);
	while (perch_sampler_next(sampler, &record, NULL) > 0) {
		if (record.type != PERCH_RECORD_SAMPLE)
			continue;
		samples++;
		assert_int_equal(record.sample.pid, getpid());
		assert_int_equal(record.sample.tid, syscall(SYS_gettid));
		assert_true(record.sample.time != 0 && record.sample.ip != 0);
		before = record.sample.time > before ? record.sample.time : before;
	}
	assert_true(before != 0);
	print_message("%zu samples in 0.3 s at 2000 Hz\n", samples);
	assert_in_range(samples, 1, 700);
	perch_sampler_get_stats(sampler, &stats);
	assert_int_equal(stats.samples, samples);
	assert_int_equal(stats.damaged, 0);
	assert_int_equal(stats.lost, 0);
	assert_int_equal(perch_sampler_next(sampler, &record, NULL), 0);
	perch_sampler_close(sampler);
}

static void counts_lost_records(void **state)
{
	struct perch_sampler_options options = { .event.frequency = 5000, .ring_pages = 1 };
	struct perch_sampler_stats stats;
	struct perch_sampler *sampler;
	struct perch_record record;
	double end, full = 0.3;

	(void)state;
	assert_int_equal(open_sampler(&sampler, "cpu-clock:u", 0, &options), 0);
	perch_sampler_enable(sampler, NULL);
	/*
	 * The kernel writes LOST with the next sample in the same ring, when the ring has space
	 * again. A thread that has moved to another CPU writes to another ring. A busy machine
	 * gives the thread little time.
	 */
	end = seconds() + 10;
	do {
		burn(full);
		full *= 2;
		for (int part = 0; part < 10; part++) {
			while (perch_sampler_next(sampler, &record, NULL) > 0)
				;
			burn(0.05);
		}
		perch_sampler_get_stats(sampler, &stats);
	} while (!stats.lost && seconds() < end);
	perch_sampler_disable(sampler, NULL);
	print_message("%llu samples, %llu lost\n", (unsigned long long)stats.samples,
		      (unsigned long long)stats.lost);
	assert_true(stats.lost > 0);
	assert_true(stats.samples >= 4096 / 40);
	perch_sampler_close(sampler);
}

/* The rate of a timer exceeds the limit only sometimes, so this test tries for 3 seconds. */
static void counts_throttling(void **state)
{
	/* in ns; the kernel raises it to 10 us */
	struct perch_sampler_options options = { .event.period = 1000 };
	struct perch_sampler_stats stats = { 0 };
	struct perch_sampler *sampler;
	struct perch_record record;
	double end = seconds() + 3;

	(void)state;
	needs_samples_within(5e-6);
	assert_int_equal(open_sampler(&sampler, "cpu-clock:u", 0, &options), 0);
	perch_sampler_enable(sampler, NULL);
	while (seconds() < end && !stats.throttled) {
		burn(0.02);
		while (perch_sampler_next(sampler, &record, NULL) > 0)
			;
		perch_sampler_get_stats(sampler, &stats);
	}
	perch_sampler_disable(sampler, NULL);
	perch_sampler_close(sampler);
	print_message("throttled %llu times\n", (unsigned long long)stats.throttled);
	if (!stats.throttled) {
		print_message("skipped: the timer does not exceed the limit\n");
		skip();
	}
}

/* Records of a shared ring have the index of their event. */
static void events_share_a_ring(void **state)
{
	struct perch_sampler_options options = { .event.period = 1 };
	struct perch_sampler *sampler;
	struct perch_record record;
	size_t samples[2] = { 0 };
	cpu_set_t before, only;
	const struct perch_target self_on_cpu0 = { .tid = 0, .cpu = 0 };
	const int pages = 64;

	(void)state;
	CPU_ZERO(&only);
	CPU_SET(0, &only);
	sched_getaffinity(0, sizeof(before), &before);
	if (sched_setaffinity(0, sizeof(only), &only) < 0)
		skip();
	assert_int_equal(perch_sampler_open(&sampler, "page-faults:u,minor-faults:u",
					    ONE_TARGET(&self_on_cpu0), &options, NULL),
			 0);
	assert_int_equal(perch_sampler_rings(sampler), 1);
	perch_sampler_enable(sampler, NULL);
	{
		char *memory = aligned_alloc(4096, pages * 4096);

		for (int i = 0; i < pages; i++)
			((volatile char *)memory)[i * 4096] = 1;
		free(memory);
	}
	perch_sampler_disable(sampler, NULL);
	while (perch_sampler_next(sampler, &record, NULL) > 0)
		if (record.type == PERCH_RECORD_SAMPLE && record.event < 2)
			samples[record.event]++;
	sched_setaffinity(0, sizeof(before), &before);
	print_message("%zu page faults, %zu of them minor\n", samples[0], samples[1]);
	assert_true(samples[0] >= (size_t)pages && samples[1] >= (size_t)pages);
	perch_sampler_close(sampler);
}

static void *thread(void *argument)
{
	*(pid_t *)argument = (pid_t)syscall(SYS_gettid);
	burn(0.1);
	return NULL;
}

/*
 * Starts a child that waits for a byte and then uses CPU time in two threads and a child of its
 * own.
 */
static pid_t start_child(int *go)
{
	int pipes[2];
	pid_t pid;

	assert_int_equal(pipe(pipes), 0);
	pid = fork();
	if (!pid) {
		pthread_t other;
		pid_t tid, child;
		char byte;

		close(pipes[1]);
		if (read(pipes[0], &byte, 1) != 1)
			_exit(1);
		pthread_create(&other, NULL, thread, &tid);
		child = fork();
		if (!child) {
			burn(0.1);
			_exit(0);
		}
		burn(0.1);
		pthread_join(other, NULL);
		waitpid(child, NULL, 0);
		_exit(0);
	}
	close(pipes[0]);
	*go = pipes[1];
	return pid;
}

static void samples_threads_and_children(void **state)
{
	struct perch_sampler_options options = {
		.event = { .frequency = 1000,
			   .inherit = 1,
			   .sideband = PERCH_SIDEBAND_TASK | PERCH_SIDEBAND_COMM |
				       PERCH_SIDEBAND_MMAP },
	};
	size_t forks = 0, exits = 0, of_child = 0, of_thread = 0, of_grandchild = 0;
	struct perch_sampler *sampler;
	struct perch_record record;
	int go, status, rc;
	pid_t pid;

	(void)state;
	pid = start_child(&go);
	assert_int_equal(open_sampler(&sampler, "cpu-clock:u", pid, &options), 0);
	perch_sampler_enable(sampler, NULL);
	assert_int_equal(write(go, "x", 1), 1);
	close(go);
	while ((rc = perch_sampler_wait(sampler, 10000, NULL)) > 0)
		while (perch_sampler_next(sampler, &record, NULL) > 0) {
			forks += record.type == PERCH_RECORD_FORK;
			exits += record.type == PERCH_RECORD_EXIT;
			if (record.type != PERCH_RECORD_SAMPLE)
				continue;
			if (record.sample.pid != (uint32_t)pid)
				of_grandchild++;
			else if (record.sample.tid != (uint32_t)pid)
				of_thread++;
			else
				of_child++;
		}
	/* when all targets have ended, the wait returns immediately */
	assert_int_equal(rc, -ENODATA);
	assert_true(perch_sampler_ended(sampler));
	assert_true(perch_sampler_ring_fd(sampler, 0) >= 0);
	waitpid(pid, &status, 0);
	print_message("samples: child %zu, its thread %zu, its child %zu; %zu forks, %zu exits\n",
		      of_child, of_thread, of_grandchild, forks, exits);
	assert_true(of_child > 0 && of_thread > 0 && of_grandchild > 0);
	assert_true(forks == 2 && exits == 3);
	perch_sampler_close(sampler);
}

/*
 * The ring of a CPU belongs to the event of the first thread. When that thread ends, the sampler
 * polls the event of another thread.
 */
static void polls_second_thread_after_first_has_ended(void **state)
{
	pid_t threads[2];
	struct perch_sampler_options options = {
		.event = { .period = 1000000, .wakeup_events = 1 },
	};
	struct perch_targets targets;
	struct perch_sampler *sampler;
	struct perch_record record;
	int go[2], rc;
	size_t of_second = 0;

	(void)state;
	threads[0] = start_child(&go[0]);
	threads[1] = start_child(&go[1]);
	targets = make_targets(threads, 2, &cpu0);
	assert_int_equal(perch_sampler_open(&sampler, "cpu-clock:u", &targets, &options, NULL), 0);
	perch_targets_clear(&targets);
	perch_sampler_enable(sampler, NULL);
	kill(threads[0], SIGKILL); /* the thread ends without doing its work */
	close(go[0]);
	waitpid(threads[0], NULL, 0);
	{
		cpu_set_t only;

		CPU_ZERO(&only);
		CPU_SET(0, &only);
		sched_setaffinity(threads[1], sizeof(only), &only);
	}
	assert_int_equal(write(go[1], "x", 1), 1);
	close(go[1]);
	while ((rc = perch_sampler_wait(sampler, 10000, NULL)) > 0)
		while (perch_sampler_next(sampler, &record, NULL) > 0)
			of_second += record.type == PERCH_RECORD_SAMPLE &&
				     record.sample.pid == (uint32_t)threads[1];
	assert_int_equal(rc, -ENODATA);
	assert_true(of_second > 0); /* how many depends on how CPUs are emulated */
	waitpid(threads[1], NULL, 0);
	perch_sampler_close(sampler);
}

static int add_up(void *context, size_t ring, const struct iovec *pieces, int nr)
{
	size_t *bytes = context;

	(void)ring;
	for (int i = 0; i < nr; i++)
		*bytes += pieces[i].iov_len;
	return 0;
}

static void samples_all_cpus(void **state)
{
	struct perch_sampler_options options = {
		.event = { .frequency = 1000, .sample = PERCH_SAMPLE_IP | PERCH_SAMPLE_CPU }
	};
	const struct perch_cpus *cpus;
	struct perch_machine *machine;
	struct perch_sampler_stats stats = { 0 };
	struct perch_sampler *sampler;
	struct perch_error err;
	size_t bytes = 0;
	int rc;

	(void)state;
	rc = perch_sampler_open(&sampler, "cpu-clock", &perch_all_cpus, &options, &err);
	if (rc == -EACCES || rc == -EPERM) {
		print_message("skipped: this user may not sample all CPUs\n");
		skip();
	}
	assert_int_equal(rc, 0);
	assert_int_equal(perch_machine_new(&machine, NULL, NULL, NULL), 0);
	assert_int_equal(perch_machine_cpus(machine, &cpus, NULL), 0);
	assert_int_equal(perch_sampler_rings(sampler), cpus->nr);
	perch_machine_free(machine);
	perch_sampler_enable(sampler, NULL);
	/* a machine that stalls samples less */
	for (int i = 0; i < 100 && stats.samples <= 100; i++) {
		burn(0.3);
		assert_true(perch_sampler_drain(sampler, add_up, &bytes, NULL) >= 0);
		perch_sampler_get_stats(sampler, &stats);
	}
	perch_sampler_disable(sampler, NULL);
	assert_true(perch_sampler_drain(sampler, add_up, &bytes, NULL) >= 0);
	perch_sampler_get_stats(sampler, &stats);
	print_message("%llu samples in %zu bytes\n", (unsigned long long)stats.samples, bytes);
	assert_int_equal(stats.bytes, bytes);
	assert_true(stats.samples > 100);
	perch_sampler_close(sampler);
}

static void reports_refusals(void **state)
{
	struct perch_sampler_options options = { .event.frequency = 1000 };
	struct perch_target target = { .cpu = -1 };
	struct perch_sampler *sampler;
	struct perch_error err;

	(void)state;
	assert_true(perch_sampler_open(&sampler, "no-such-event", ONE_TARGET(&target), &options,
				       &err) < 0);
	assert_int_equal(err.kind, PERCH_ERROR_UNKNOWN_EVENT);
	assert_null(sampler);
	target.cpu = 100000;
	assert_true(perch_sampler_open(&sampler, "cpu-clock:u", ONE_TARGET(&target), &options,
				       &err) < 0);
	assert_null(sampler);
	target = (struct perch_target){ .tid = 999999999, .cpu = -1 };
	assert_int_equal(perch_sampler_open(&sampler, "cpu-clock:u", ONE_TARGET(&target), &options,
					    &err),
			 -ESRCH);
	assert_null(sampler);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_samples_of_this_thread),
		cmocka_unit_test(counts_lost_records),
		cmocka_unit_test(counts_throttling),
		cmocka_unit_test(events_share_a_ring),
		cmocka_unit_test(samples_threads_and_children),
		cmocka_unit_test(polls_second_thread_after_first_has_ended),
		cmocka_unit_test(samples_all_cpus),
		cmocka_unit_test(reports_refusals),
	};
	struct perch_sampler_options options = { .event.frequency = 1000 };
	struct perch_sampler *sampler;
	struct perch_error err;

	/* containers and emulators may not support perf events */
	if (perch_sampler_open(&sampler, "cpu-clock:u", NULL, &options, &err) < 0) {
		print_message("skipped: %s\n", err.message);
		return 77;
	}
	perch_sampler_close(sampler);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
