/* SPDX-License-Identifier: MIT */
/*
 * Samplers whose threads come and go, on the running kernel with software events: threads that are
 * added and removed, one ring per thread, the descriptor of a sampler, sizes of rings, signals.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include <perch/count.h>
#include <perch/sampler.h>

#include "build/one_target.h"

#define PAGES 100 /* touched by each work */

/* Makes page faults. */
static void touch(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	volatile char *memory = mmap(NULL, PAGES * page, PROT_READ | PROT_WRITE,
				     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	madvise((void *)memory, PAGES * page, MADV_NOHUGEPAGE);
	for (size_t i = 0; i < PAGES; i++)
		memory[i * page] = 1;
	munmap((void *)memory, PAGES * page);
}

/* A thread that works on request. */
struct worker {
	pthread_t thread;
	pid_t tid;
	int to[2], from[2];
};

static void *run_worker(void *argument)
{
	struct worker *worker = argument;
	char byte;

	worker->tid = gettid();
	if (write(worker->from[1], "t", 1) != 1)
		return NULL;
	while (read(worker->to[0], &byte, 1) == 1) {
		touch();
		if (write(worker->from[1], "d", 1) != 1)
			break;
	}
	return NULL;
}

static void start(struct worker *worker)
{
	char byte;

	assert_int_equal(pipe(worker->to) | pipe(worker->from), 0);
	assert_int_equal(pthread_create(&worker->thread, NULL, run_worker, worker), 0);
	assert_int_equal(read(worker->from[0], &byte, 1), 1);
}

static void work(struct worker *worker)
{
	char byte;

	assert_int_equal(write(worker->to[1], "w", 1), 1);
	assert_int_equal(read(worker->from[0], &byte, 1), 1);
}

static void end(struct worker *worker)
{
	close(worker->to[1]);
	pthread_join(worker->thread, NULL);
	close(worker->to[0]);
	close(worker->from[0]);
	close(worker->from[1]);
}

static const struct perch_options faults = {
	.period = 1,
	.sample = PERCH_SAMPLE_IP,
	.enabled = 1,
	.exclude_kernel = 1,
	.exclude_hv = 1,
};

static struct perch_sampler *open_on(const char *events, pid_t tid,
				     const struct perch_sampler_options *options)
{
	const struct perch_target target = { .tid = tid, .cpu = -1 };
	struct perch_sampler *sampler;
	struct perch_error err;

	if (perch_sampler_open(&sampler, events, ONE_TARGET(&target), options, &err) < 0)
		fail_msg("%s", err.message);
	return sampler;
}

static size_t count_ids(const struct perch_sampler *sampler)
{
	const uint64_t *ids;
	const char *name;
	size_t nr;

	perch_sampler_event(sampler, 0, &name, &ids, &nr);
	return nr;
}

static int next(struct perch_sampler *sampler, bool ordered, bool flush,
		struct perch_record *record)
{
	struct perch_error err;
	int rc = ordered ? perch_sampler_next_ordered(sampler, flush, record, &err)
			 : perch_sampler_next(sampler, record, &err);

	if (rc < 0)
		fail_msg("%s", err.message);
	return rc;
}

/* Reads all records; returns the samples of a thread: those of the event that has fewer. */
static size_t read_samples(struct perch_sampler *sampler, bool ordered, pid_t tid)
{
	struct perch_record record;
	size_t samples[2] = { 0 };
	uint64_t last = 0;

	for (int flush = 0; flush < 2; flush++)
		while (next(sampler, ordered, flush, &record) > 0) {
			if (record.type != PERCH_RECORD_SAMPLE)
				continue;
			assert_true(record.event < 2);
			assert_true(!ordered || record.sample.time >= last);
			last = record.sample.time;
			samples[record.event] += record.sample.tid == (uint32_t)tid;
		}
	return samples[0] < samples[1] ? samples[0] : samples[1];
}

static void check_statistics(struct perch_sampler *sampler)
{
	struct perch_sampler_stats stats;

	perch_sampler_get_stats(sampler, &stats);
	assert_int_equal(stats.damaged, 0);
	assert_int_equal(stats.lost, 0);
	assert_int_equal(stats.unknown, 0);
}

static void add_and_remove(bool per_thread, bool ordered)
{
	struct perch_sampler_options options = { .event = faults, .per_thread = per_thread };
	struct worker workers[2];
	struct perch_sampler *sampler;
	struct perch_error err;
	size_t ids;

	start(&workers[0]);
	start(&workers[1]);
	sampler = open_on("{page-faults,minor-faults}", workers[0].tid, &options);
	ids = count_ids(sampler);
	work(&workers[1]);
	assert_int_equal(read_samples(sampler, ordered, workers[1].tid), 0);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(perch_sampler_add_thread(sampler, workers[1].tid, &err), 0);
		assert_int_equal(perch_sampler_add_thread(sampler, workers[1].tid, &err), -EEXIST);
		assert_int_equal(count_ids(sampler), 2 * ids);
		if (per_thread)
			assert_int_equal(perch_sampler_rings(sampler), 2);
		work(&workers[0]);
		work(&workers[1]);
		/* its records stay */
		assert_int_equal(perch_sampler_remove_thread(sampler, workers[1].tid, &err), 0);
		work(&workers[1]);
		assert_true(read_samples(sampler, ordered, workers[1].tid) >= PAGES);
		assert_int_equal(count_ids(sampler), ids);
		assert_int_equal(perch_sampler_remove_thread(sampler, workers[1].tid, &err),
				 -ESRCH);
		work(&workers[1]);
		assert_int_equal(read_samples(sampler, ordered, workers[1].tid), 0);
	}
	/* the thread whose event owns the rings is removed, and another one is added */
	assert_int_equal(perch_sampler_remove_thread(sampler, workers[0].tid, &err), 0);
	assert_true(perch_sampler_ended(sampler) || ordered);
	assert_int_equal(perch_sampler_add_thread(sampler, workers[1].tid, &err), 0);
	work(&workers[0]);
	work(&workers[1]);
	assert_int_equal(read_samples(sampler, ordered, workers[0].tid), 0);
	work(&workers[1]);
	assert_true(read_samples(sampler, ordered, workers[1].tid) >= PAGES);
	assert_int_equal(count_ids(sampler), ids);
	check_statistics(sampler);
	perch_sampler_close(sampler);
	end(&workers[0]);
	end(&workers[1]);
}

static void adds_and_removes_threads(void **state)
{
	(void)state;
	for (int i = 0; i < 4; i++)
		add_and_remove(i & 1, i & 2);
}

static void added_threads_are_enabled_as_the_others(void **state)
{
	struct perch_sampler_options options = { .event = faults };
	struct worker workers[2];
	struct perch_sampler *sampler;

	(void)state;
	options.event.enabled = 0;
	start(&workers[0]);
	start(&workers[1]);
	sampler = open_on("page-faults,minor-faults", workers[0].tid, &options);
	assert_int_equal(perch_sampler_add_thread(sampler, workers[1].tid, NULL), 0);
	work(&workers[1]);
	assert_int_equal(read_samples(sampler, false, workers[1].tid), 0);
	assert_int_equal(perch_sampler_enable(sampler, NULL), 0);
	work(&workers[1]);
	assert_true(read_samples(sampler, false, workers[1].tid) >= PAGES);
	assert_int_equal(perch_sampler_remove_thread(sampler, workers[1].tid, NULL), 0);
	assert_int_equal(perch_sampler_add_thread(sampler, workers[1].tid, NULL), 0);
	work(&workers[1]);
	assert_true(read_samples(sampler, false, workers[1].tid) >= PAGES);
	perch_sampler_close(sampler);
	end(&workers[0]);
	end(&workers[1]);
}

static void refuses_threads_that_do_not_exist(void **state)
{
	struct perch_sampler_options options = { .event = faults };
	struct perch_sampler *sampler = open_on("page-faults,minor-faults", 0, &options);
	struct perch_error err;

	(void)state;
	assert_int_equal(perch_sampler_add_thread(sampler, 0x7ffffffe, &err), -ESRCH);
	assert_int_equal(err.kind, PERCH_ERROR_NO_PROCESS);
	assert_int_equal(perch_sampler_add_thread(sampler, -1, &err), -EINVAL);
	assert_int_equal(perch_sampler_add_thread(sampler, 0, &err), -EEXIST);
	touch();
	assert_true(read_samples(sampler, false, gettid()) >= PAGES);
	perch_sampler_close(sampler);
}

/* ---- One ring per thread ---- */

static void one_ring_per_thread(void **state)
{
	struct perch_sampler_options options = { .event = faults, .per_thread = true };
	struct perch_sampler *sampler = open_on("page-faults,minor-faults", 0, &options);
	size_t ring;
	pid_t tid;
	int cpu;

	(void)state;
	assert_int_equal(perch_sampler_rings(sampler), 1);
	assert_int_equal(count_ids(sampler), 1);
	assert_int_equal(perch_sampler_id_info(sampler, 0, 0, &cpu, &tid, &ring), 0);
	assert_int_equal(cpu, -1);
	touch();
	assert_true(read_samples(sampler, false, gettid()) >= PAGES);
	perch_sampler_close(sampler);
}

static void refuses_inherit_with_one_ring_per_thread(void **state)
{
	struct perch_sampler_options options = { .event = faults, .per_thread = true };
	struct perch_sampler *sampler;
	struct perch_error err;

	(void)state;
	options.event.inherit = 1;
	assert_int_equal(perch_sampler_open(&sampler, "page-faults", NULL, &options, &err),
			 -EINVAL);
	assert_int_equal(err.kind, PERCH_ERROR_CONFLICT);
	assert_string_equal(err.field, "inherit");
	assert_non_null(strstr(err.message, ".per_thread"));
	options.event.inherit = 0;
	assert_int_equal(perch_sampler_open(&sampler, "page-faults/inherit/", NULL, &options, &err),
			 -EINVAL);
}

static void times_without_a_system_call(void **state)
{
	struct perch_sampler_options options = { .event = faults, .per_thread = true };
	struct perch_sampler *sampler;
	uint64_t enabled, running, values[3];
	struct perch_error err;

	(void)state;
	options.event.read = PERCH_FORMAT_TOTAL_TIME_ENABLED | PERCH_FORMAT_TOTAL_TIME_RUNNING;
	sampler = open_on("page-faults", 0, &options);
	for (int i = 0; i < 5; i++) {
		touch();
		usleep(1000); /* the kernel writes the page when the thread runs again */
	}
	assert_int_equal(perch_sampler_times(sampler, 0, &enabled, &running, &err), 0);
	assert_int_equal(read(perch_sampler_ring_fd(sampler, 0), values, sizeof(values)),
			 sizeof(values));
	print_message("enabled for %llu ns, read(2) returns %llu\n", (unsigned long long)enabled,
		      (unsigned long long)values[1]);
	assert_true(enabled > 0 && enabled <= values[1]);
	assert_true(running > 0 && running <= values[2]);
	assert_int_equal(perch_sampler_times(sampler, 1, &enabled, &running, &err), -EINVAL);
	perch_sampler_close(sampler);
	sampler = open_on("page-faults,minor-faults", 0, &options);
	assert_int_equal(perch_sampler_times(sampler, 0, &enabled, &running, &err), -EINVAL);
	assert_non_null(strstr(err.message, "2 events"));
	perch_sampler_close(sampler);
}

/* ---- The descriptor ---- */

static bool is_readable(int fd, int ms)
{
	struct pollfd polled = { fd, POLLIN, 0 };

	return poll(&polled, 1, ms) > 0;
}

/* Threads end one after the other. The number of wakeups is that of ends, not of turns of a loop.
 */
static void descriptor_does_not_spin(void **state)
{
	enum { THREADS = 6 };
	struct perch_sampler_options options = { .event = { .sideband = PERCH_SIDEBAND_COMM } };
	struct worker workers[THREADS];
	pid_t tids[THREADS];
	struct perch_targets targets;
	struct perch_sampler *sampler;
	struct perch_record record;
	struct perch_error err;
	size_t wakeups = 0, rings;
	int fd;

	(void)state;
	for (int i = 0; i < THREADS; i++) {
		start(&workers[i]);
		tids[i] = workers[i].tid;
	}
	targets = make_targets(tids, THREADS, NULL);
	assert_int_equal(perch_sampler_open(&sampler, "dummy:u", &targets, &options, &err), 0);
	perch_targets_clear(&targets);
	fd = perch_sampler_fd(sampler, &err);
	assert_true(fd >= 0);
	rings = perch_sampler_rings(sampler);
	assert_false(is_readable(fd, 0));
	for (int i = 0; i < THREADS; i++) {
		end(&workers[i]);
		/* pthread_join(3) may return before the kernel has ended the thread */
		while (is_readable(fd,
				   i < THREADS - 1 || perch_sampler_ended(sampler) ? 50 : 30000)) {
			wakeups++;
			assert_true(wakeups < 1000);
			while (perch_sampler_next(sampler, &record, NULL) > 0)
				;
		}
		assert_int_equal(perch_sampler_fd(sampler, &err), fd);
		assert_int_equal(perch_sampler_ended(sampler), i == THREADS - 1);
	}
	print_message("%zu wakeups for %d threads and %zu rings\n", wakeups, (int)THREADS, rings);
	assert_true(wakeups >= 1 && wakeups <= THREADS * rings);
	assert_false(is_readable(fd, 0));
	assert_int_equal(perch_sampler_wait(sampler, 0, &err), -ENODATA);
	/* an added thread makes the descriptor ready again */
	start(&workers[0]);
	assert_int_equal(perch_sampler_add_thread(sampler, workers[0].tid, &err), 0);
	assert_false(perch_sampler_ended(sampler));
	end(&workers[0]);
	assert_true(is_readable(fd, 5000));
	assert_true(perch_sampler_ended(sampler));
	perch_sampler_close(sampler);
}

/* Each work wakes the reader, in each way to read. */
static void descriptor_loses_no_wakeup(void **state)
{
	struct perch_sampler_options options = { .event = faults };
	struct perch_sampler *sampler;
	struct worker worker;
	int fd;

	(void)state;
	options.event.wakeup_events = 1;
	for (int ordered = 0; ordered < 2; ordered++) {
		size_t samples = 0;

		start(&worker);
		sampler = open_on("page-faults", worker.tid, &options);
		fd = perch_sampler_fd(sampler, NULL);
		for (int i = 0; i < 200; i++) {
			struct perch_record record;
			size_t before = samples;

			work(&worker);
			while (samples - before < PAGES) {
				if (!is_readable(fd, 5000))
					fail_msg("%zu of %d samples", samples - before, PAGES);
				while (next(sampler, ordered, false, &record) > 0)
					samples += record.type == PERCH_RECORD_SAMPLE;
				assert_false(perch_sampler_ended(sampler));
			}
		}
		perch_sampler_close(sampler);
		end(&worker);
	}
}

/* ---- Sizes of rings ---- */

/*
 * Becomes a user who has no other ring: this test may run several times at once, and the rings of a
 * user share a limit.
 */
static bool become_user(void)
{
	uid_t user = 20000 + (uid_t)getpid() % 40000;

	return !setgid(user) && !setuid(user) && !prctl(PR_SET_DUMPABLE, 1);
}

static int open_many(void)
{
	const struct rlimit limit = { 64 << 10, 64 << 10 };
	struct perch_sampler_options options = { .event = faults };
	struct perch_sampler *samplers[4];
	struct perch_error err;

	if (setrlimit(RLIMIT_MEMLOCK, &limit) || !become_user())
		return 77;
	for (size_t i = 0; i < 4; i++)
		if (perch_sampler_open(&samplers[i], "page-faults", NULL, &options, &err) < 0) {
			print_message("sampler %zu: %s\n", i, err.message);
			return err.kind == PERCH_ERROR_PARANOID ? 77 : 1;
		}
	/* and one with a ring of its thread only */
	options.per_thread = true;
	if (perch_sampler_open(&samplers[0], "page-faults", NULL, &options, &err) < 0) {
		print_message("sampler of a thread: %s\n", err.message);
		return 1;
	}
	return 0;
}

static int add_many(void)
{
	const struct rlimit limit = { 512 << 10, 512 << 10 };
	struct perch_sampler_options options = { .event = faults, .per_thread = true };
	struct worker workers[40];
	struct perch_sampler *sampler;
	struct perch_error err;

	if (setrlimit(RLIMIT_MEMLOCK, &limit) || !become_user())
		return 77;
	if (perch_sampler_open(&sampler, "page-faults", NULL, &options, &err) < 0)
		return err.kind == PERCH_ERROR_PARANOID ? 77 : 1;
	for (size_t i = 0; i < sizeof(workers) / sizeof(*workers); i++) {
		start(&workers[i]);
		if (perch_sampler_add_thread(sampler, workers[i].tid, &err) < 0) {
			print_message("thread %zu: %s\n", i, err.message);
			return 1;
		}
	}
	return 0;
}

static void run_as_user(int (*function)(void))
{
	int status;
	pid_t pid;

	if (geteuid()) {
		print_message("skipped: needs root, to become a user without other rings\n");
		skip();
	}
	pid = fork();
	if (!pid)
		_exit(function());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
		print_message("skipped: this user may not open events\n");
		skip();
	}
	assert_int_equal(status, 0);
}

static void samplers_of_a_user_share_the_limit(void **state)
{
	(void)state;
	run_as_user(open_many);
}

static void rings_of_added_threads_leave_memory(void **state)
{
	(void)state;
	run_as_user(add_many);
}

/* ---- Signals ---- */

static volatile int signals, signal_fd, signal_code;

static void take_signal(int number, siginfo_t *info, void *context)
{
	(void)number, (void)context;
	signals++;
	signal_fd = info->si_fd;
	signal_code = info->si_code;
}

static void catch_signal(void)
{
	struct sigaction action = { .sa_flags = SA_SIGINFO | SA_RESTART };

	action.sa_sigaction = take_signal;
	assert_int_equal(sigaction(SIGRTMIN + 3, &action, NULL), 0);
	signals = 0;
}

static void samples_send_signals(void **state)
{
	struct perch_sampler_options options = { .event = faults };
	struct perch_sampler *sampler;
	struct perch_error err;
	size_t index = 9, id = 9, ring;
	pid_t tid;
	int cpu, before;

	(void)state;
	catch_signal();
	sampler = open_on("dummy,page-faults", 0, &options);
	assert_int_equal(perch_sampler_set_signal(sampler, SIGRTMIN + 3, 0, &err), 0);
	touch();
	assert_true(signals > 0);
	assert_int_equal(signal_code, POLL_IN);
	assert_int_equal(perch_sampler_event_of_fd(sampler, signal_fd, &index, &id), 0);
	assert_int_equal(index, 1);
	assert_int_equal(perch_sampler_id_info(sampler, index, id, &cpu, &tid, &ring), 0);
	assert_int_equal(perch_sampler_event_of_fd(sampler, 100000, &index, &id), -EINVAL);
	assert_int_equal(perch_sampler_set_signal(sampler, 0, 0, &err), 0);
	before = signals;
	touch();
	assert_int_equal(signals, before);
	assert_int_equal(perch_sampler_set_signal(sampler, 1000, 0, &err), -EINVAL);
	/* the last sample of a refresh */
	assert_int_equal(perch_sampler_set_signal(sampler, SIGRTMIN + 3, 0, &err), 0);
	assert_int_equal(perch_sampler_disable(sampler, &err), 0);
	assert_int_equal(perch_sampler_refresh(sampler, 3, &err), 0);
	touch();
	assert_int_equal(signal_code, POLL_HUP);
	perch_sampler_close(sampler);
}

static void counters_send_signals(void **state)
{
	struct perch_options options = faults;
	struct perch_counter *counter;
	struct perch_error err;

	(void)state;
	catch_signal();
	options.period = 10;
	assert_int_equal(perch_counter_open(&counter, "page-faults", NULL, &options, &err), 0);
	assert_int_equal(perch_event_set_signal(perch_counter_fd(counter), SIGRTMIN + 3, 0, &err),
			 0);
	touch();
	assert_true(signals > 0);
	assert_int_equal(signal_fd, perch_counter_fd(counter));
	assert_int_equal(perch_event_set_signal(-1, SIGRTMIN + 3, 0, &err), -EBADF);
	perch_counter_close(counter);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(adds_and_removes_threads),
		cmocka_unit_test(added_threads_are_enabled_as_the_others),
		cmocka_unit_test(refuses_threads_that_do_not_exist),
		cmocka_unit_test(one_ring_per_thread),
		cmocka_unit_test(refuses_inherit_with_one_ring_per_thread),
		cmocka_unit_test(times_without_a_system_call),
		cmocka_unit_test(descriptor_does_not_spin),
		cmocka_unit_test(descriptor_loses_no_wakeup),
		cmocka_unit_test(samplers_of_a_user_share_the_limit),
		cmocka_unit_test(rings_of_added_threads_leave_memory),
		cmocka_unit_test(samples_send_signals),
		cmocka_unit_test(counters_send_signals),
	};
	const struct perch_sampler_options options = { .event = faults };
	struct perch_sampler *sampler;
	struct perch_error err;

	/* containers and emulators may not support perf events */
	if (perch_sampler_open(&sampler, "page-faults", NULL, &options, &err) < 0) {
		print_message("skipped: %s\n", err.message);
		return 77;
	}
	perch_sampler_close(sampler);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
