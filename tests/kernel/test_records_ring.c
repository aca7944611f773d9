/* SPDX-License-Identifier: MIT */
/* Records about a ring and a CPU: LOST, THROTTLE, UNTHROTTLE, SWITCH, SWITCH_CPU_WIDE. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/resource.h>
#include <time.h>
#include <cmocka.h>

#include "records.h"

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec + now.tv_nsec / 1e9;
}

static volatile uint64_t sink;

static void burn(double duration)
{
	for (double end = seconds() + duration; seconds() < end;)
		for (int i = 0; i < 1000; i++)
			sink += i;
}

#define FAULTS 500

/*
 * Each page fault becomes a sample or is lost. The count, the lost number of read(2) and the LOST
 * record agree.
 */
static void lost_record_has_count(void **state)
{
	struct perch_attr attr = live_sampling(PERCH_TYPE_SOFTWARE, PERCH_COUNT_SW_PAGE_FAULTS_MIN,
					       PERCH_SAMPLE_ADDR);
	char *pages = fresh_pages(FAULTS + 100);
	size_t before, page = sysconf(_SC_PAGESIZE);
	const struct perch_record *record;
	struct live live;
	uint64_t words[2];

	(void)state;
	attr.read_format = PERCH_FORMAT_LOST; /* since 6.0 */
	attr.exclude_kernel = 1;
	record_open(&live, &attr, &perch_self, 1);
	live_enable(&live);
	touch(pages, FAULTS);
	record_end(&live);
	before = live.nr;
	assert_int_equal(live_count(&live, PERCH_RECORD_SAMPLE), before);
	assert_in_range(before, 20, FAULTS - 100);
	live_enable(&live);
	touch(pages + FAULTS * page, 1);
	record_end(&live);
	record = only_record(&live, PERCH_RECORD_LOST);
	assert_ptr_equal(record, &live.record[before]);
	assert_int_equal(record->lost.id, live.id);
	assert_written_by(record, getpid(), current_tid());
	assert_int_equal(read(live.fd, words, sizeof(words)), sizeof(words));
	assert_int_equal(words[0], record->lost.lost + live_count(&live, PERCH_RECORD_SAMPLE));
	assert_int_equal(words[1], record->lost.lost);
	live_close(&live);
	drop(pages, FAULTS + 100);
}

static void check_throttle(const struct live *live, const struct perch_record *record)
{
	assert_int_equal(record->throttle.id, live->id);
	assert_int_equal(record->throttle.stream_id, live->id);
	assert_in_range(record->throttle.time, live->from, live->to);
	assert_written_by(record, getpid(), current_tid());
}

static bool wait_for_throttling(struct live *live)
{
	double end = seconds() + 3;

	while (seconds() < end && !live_count(live, PERCH_RECORD_UNTHROTTLE)) {
		assert_int_equal(live_enable(live), 0);
		burn(0.05);
		/* disables the event: reading would not end while it writes so fast */
		record_end(live);
	}
	return live_count(live, PERCH_RECORD_UNTHROTTLE) && live_count(live, PERCH_RECORD_THROTTLE);
}

/*
 * Opens sched_stat_runtime. It adds nanoseconds to its count at each hit, so with a period of 1 its
 * sample rate exceeds the limit.
 */
static bool open_runtime_tracepoint(struct live *live)
{
	struct perch_attr attr = live_sampling(PERCH_TYPE_TRACEPOINT, 0, 0);
	FILE *file = fopen("/sys/kernel/tracing/events/sched/sched_stat_runtime/id", "re");
	struct perch_error err;
	unsigned int id;
	bool found = file && fscanf(file, "%u", &id) == 1;

	if (file)
		fclose(file);
	if (!found)
		return false;
	attr.config = id;
	return live_open(live, &attr, &perch_self, 256, &err) >= 0;
}

/*
 * The rate of the timer is near the limit and exceeds it sometimes. If it does not within 3
 * seconds, a tracepoint is used.
 */
static void throttled_event_has_records(void **state)
{
	struct perch_attr attr = live_sampling(PERCH_TYPE_SOFTWARE, PERCH_COUNT_SW_TASK_CLOCK, 0);
	const struct perch_record *record;
	struct live live;

	(void)state;
	attr.sample_period = 1;
	/* 1 MiB is the largest ring of an ordinary user if RLIMIT_MEMLOCK is 64 KiB */
	record_open(&live, &attr, &perch_self, 256);
	if (!wait_for_throttling(&live)) {
		live_close(&live);
		if (!open_runtime_tracepoint(&live)) {
			print_message(
				"skipped: the timer does not exceed the limit, and the tracepoint cannot be opened\n");
			skip();
		}
		if (!wait_for_throttling(&live)) {
			live_close(&live);
			print_message("skipped: no event exceeds the limit of samples\n");
			skip();
		}
	}
	for (record = NULL; (record = live_next(&live, PERCH_RECORD_THROTTLE, record));)
		check_throttle(&live, record);
	for (record = NULL; (record = live_next(&live, PERCH_RECORD_UNTHROTTLE, record));)
		check_throttle(&live, record);
	print_message("throttled %zu times\n", live_count(&live, PERCH_RECORD_THROTTLE));
	/* the first record is a THROTTLE */
	record = live_next(&live, PERCH_RECORD_THROTTLE, NULL);
	assert_true(record < live_next(&live, PERCH_RECORD_UNTHROTTLE, NULL));
	live_close(&live);
}

static long voluntary_switches(void)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return usage.ru_nvcsw;
}

/*
 * Each sleep has a SWITCH record out without the preemption flag, then one in. A sleep whose time
 * has passed before it begins, because the thread was preempted, is none.
 */
static void switch_records_of_a_thread(void **state)
{
	struct perch_attr attr = live_attr();
	long slept = 0, switches;
	struct live live;

	(void)state;
	attr.context_switch = 1;
	record_self(&live, &attr);
	live_enable(&live);
	switches = voluntary_switches();
	while (voluntary_switches() - switches < 10)
		usleep(2000);
	switches = voluntary_switches() - switches;
	record_end(&live);
	assert_true(live_count(&live, PERCH_RECORD_SWITCH) >= 20);
	for (size_t i = 0; i < live.nr; i++) {
		const struct perch_record *record = &live.record[i];

		assert_int_equal(record->type, PERCH_RECORD_SWITCH);
		assert_written_by(record, getpid(), current_tid());
		assert_int_equal(record->context_switch.out, i % 2 == 0);
		assert_true(record->context_switch.out || !record->context_switch.preempt);
		slept += record->context_switch.out && !record->context_switch.preempt;
		if (i % 2)
			assert_true(record->sample_id.time > record[-1].sample_id.time);
	}
	assert_int_equal(slept, switches);
	live_close(&live);
}

/* Two busy processes on one CPU preempt each other. */
static void switch_record_has_preemption(void **state)
{
	struct perch_attr attr = live_attr();
	double end = seconds() + 5;
	struct live live;
	size_t nr = 0;
	pid_t other_process;

	(void)state;
	stay_on_current_cpu();
	other_process = fork();
	if (!other_process) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			burn(1);
	}
	attr.context_switch = 1;
	record_self(&live, &attr);
	live_enable(&live);
	while (seconds() < end && nr < 3) {
		burn(0.02);
		record_take(&live);
		nr = 0;
		for (size_t i = 0; i < live.nr; i++)
			nr += live.record[i].context_switch.preempt;
	}
	kill(other_process, SIGKILL);
	waitpid(other_process, NULL, 0);
	record_end(&live);
	assert_true(nr >= 3);
	for (size_t i = 0; i < live.nr; i++)
		if (live.record[i].context_switch.preempt) {
			assert_true(live.record[i].context_switch.out);
			assert_true(live.record[i].misc & PERCH_MISC_SWITCH_OUT_PREEMPT);
		}
	live_close(&live);
}

static void answer_bytes(void *pipes)
{
	const int *fd = pipes;
	char byte;

	for (int i = 0; i < 20; i++)
		if (read(fd[0], &byte, 1) != 1 || write(fd[1], &byte, 1) != 1)
			_exit(1);
	_exit(0);
}

/* Starts a child on the same CPU and exchanges bytes with it: each waits for the other 20 times. */
static pid_t exchange_bytes_with_child(void)
{
	int there[2], back[2], pipes[2], status;
	pid_t child;
	char byte = 'b';

	assert_int_equal(pipe(there) | pipe(back), 0);
	pipes[0] = there[0];
	pipes[1] = back[1];
	child = fork();
	if (!child)
		answer_bytes(pipes);
	for (int i = 0; i < 20; i++) {
		assert_int_equal(write(there[1], &byte, 1), 1);
		assert_int_equal(read(back[0], &byte, 1), 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	for (int i = 0; i < 2; i++) {
		close(there[i]);
		close(back[i]);
	}
	return child;
}

/*
 * The record out names the next task, and the record in names the previous one. -1 is a task that
 * is exiting.
 */
static bool is_pair(const struct perch_record *out, const struct perch_record *in)
{
	const uint32_t exiting = (uint32_t)-1;

	if (!out->context_switch.out || in->context_switch.out)
		return false;
	return (out->context_switch.other_tid == in->sample_id.tid ||
		in->sample_id.tid == exiting || out->context_switch.other_tid == exiting) &&
	       (in->context_switch.other_tid == out->sample_id.tid ||
		out->sample_id.tid == exiting || in->context_switch.other_tid == exiting);
}

static void switch_records_of_a_cpu(void **state)
{
	struct perch_target target = { .tid = -1, .cpu = stay_on_current_cpu() };
	struct perch_attr attr = live_attr();
	size_t to_child = 0, from_child = 0;
	struct live live;
	pid_t child;

	(void)state;
	attr.context_switch = 1;
	record_open(&live, &attr, &target, 256);
	live_enable(&live);
	child = exchange_bytes_with_child();
	record_end(&live);
	assert_int_equal(live_count(&live, PERCH_RECORD_LOST), 0);
	assert_int_equal(live_count(&live, PERCH_RECORD_SWITCH_CPU_WIDE), live.nr);
	/* the event may be enabled between the two records of a switch */
	for (size_t i = !live.record[0].context_switch.out; i + 1 < live.nr; i += 2) {
		const struct perch_record *out = &live.record[i], *in = out + 1;

		if (!is_pair(out, in))
			fail_msg("record %zu: %s %u to %u, then %s %u from %u", i,
				 out->context_switch.out ? "out" : "in", out->sample_id.tid,
				 out->context_switch.other_tid,
				 in->context_switch.out ? "out" : "in", in->sample_id.tid,
				 in->context_switch.other_tid);
		if (out->sample_id.tid == (uint32_t)current_tid() &&
		    out->context_switch.other_tid == (uint32_t)child) {
			assert_int_equal(out->sample_id.pid, getpid());
			assert_int_equal(out->context_switch.other_pid, child);
			to_child++;
		}
		if (in->sample_id.tid == (uint32_t)current_tid() &&
		    in->context_switch.other_tid == (uint32_t)child) {
			assert_int_equal(in->sample_id.pid, getpid());
			assert_int_equal(in->context_switch.other_pid, child);
			from_child++;
		}
	}
	print_message("%zu switches to the child and %zu from it, of %zu\n", to_child, from_child,
		      live.nr / 2);
	assert_true(to_child >= 15 && from_child >= 15);
	live_close(&live);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lost_record_has_count),
		cmocka_unit_test(throttled_event_has_records),
		cmocka_unit_test(switch_records_of_a_thread),
		cmocka_unit_test(switch_record_has_preemption),
		cmocka_unit_test(switch_records_of_a_cpu),
	};

	return RECORDS_RUN(tests);
}
