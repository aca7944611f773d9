/* SPDX-License-Identifier: MIT */
/* Off-CPU time: intervals from switches, the samples that they become, and what is counted
 * separately. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "recorder/off_cpu/off_cpu.h"

#define ID  77
#define PID 10
#define MS  1000000u
#define FIELDS                                                                              \
	(PERCH_SAMPLE_IDENTIFIER | PERCH_SAMPLE_IP | PERCH_SAMPLE_TID | PERCH_SAMPLE_TIME | \
	 PERCH_SAMPLE_CPU | PERCH_SAMPLE_PERIOD | PERCH_SAMPLE_CALLCHAIN | PERCH_SAMPLE_RAW)

static struct off_cpu_intervals begin(uint64_t fields)
{
	const struct perch_attr attr = { .sample_type = fields, .sample_id_all = 1 };
	struct off_cpu_intervals intervals = { .threshold = MS };

	assert_true(perch__off_cpu_layout_init(&intervals.layout, &attr, ID));
	return intervals;
}

static void change(struct off_cpu_intervals *intervals, uint32_t tid, uint64_t time, bool out,
		   bool preempt)
{
	const struct perch_record record = {
		.type = PERCH_RECORD_SWITCH,
		.sample_id = { .pid = PID, .tid = tid, .time = time },
		.context_switch = { .out = out, .preempt = preempt },
	};

	perch__off_cpu_take(intervals, &record);
}

static void task(struct off_cpu_intervals *intervals, uint32_t type, uint32_t tid, uint64_t time)
{
	const struct perch_record record = {
		.type = type,
		.sample_id = { .pid = PID, .tid = PID, .time = time },
		.task = { .pid = PID, .tid = tid, .time = time },
	};

	perch__off_cpu_take(intervals, &record);
}

/* The sample of a switch as the kernel writes it: IDENTIFIER, IP, TID, TIME, CPU, PERIOD, the call
 * chain, and the raw data of an event without any. rest: bytes of further fields. */
static void sample(struct off_cpu_intervals *intervals, uint32_t tid, uint64_t time,
		   uint64_t caller, const void *more, size_t rest)
{
	static uint64_t words[8192];
	const uint64_t start[] = {
		0,
		ID + 1,
		0x1000,
		(uint64_t)tid << 32 | PID,
		time,
		3,
		1,
		3,
		PERCH_CONTEXT_KERNEL,
		0x1000,
		caller,
		4 /* size of no raw data */,
	};
	const struct perch_record_header header = { PERCH_RECORD_SAMPLE, PERCH_MISC_KERNEL,
						    (uint16_t)(sizeof(start) + rest) };
	struct perch_record record;

	memcpy(words, start, sizeof(start));
	memcpy(words, &header, sizeof(header));
	if (rest)
		memcpy((char *)words + sizeof(start), more, rest);
	assert_int_equal(perch_record_decode(&record, &intervals->layout.parse_info, words,
					     header.size, NULL),
			 0);
	perch__off_cpu_take(intervals, &record);
}

static void leave(struct off_cpu_intervals *intervals, uint32_t tid, uint64_t time, uint64_t caller)
{
	sample(intervals, tid, time - 1, caller, NULL, 0);
	change(intervals, tid, time, true, false);
}

static void come(struct off_cpu_intervals *intervals, uint32_t tid, uint64_t time)
{
	change(intervals, tid, time, false, false);
}

/* Decodes the sample at an index. The last address of its call chain is the caller. */
static struct perch_record finished(const struct off_cpu_intervals *intervals, size_t index,
				    struct perch_off_cpu *off_cpu)
{
	const struct off_cpu_bytes *samples = &intervals->samples;
	const struct perch_record_header *header;
	struct perch_record record;
	size_t at = 0;

	for (;; at += header->size) {
		assert_true(at + sizeof(*header) <= samples->used);
		header = (const void *)(samples->bytes + at);
		assert_true(header->size && header->size <= samples->used - at);
		if (!index--)
			break;
	}
	assert_int_equal(perch_record_decode(&record, &intervals->layout.parse_info, header,
					     header->size, NULL),
			 0);
	assert_int_equal(record.trailing_bytes, 0);
	assert_int_equal(record.sample.id, ID);
	assert_true(perch_off_cpu_decode(off_cpu, &record.sample));
	assert_int_equal(off_cpu->ns, record.sample.period);
	assert_int_equal(off_cpu->tid, record.sample.tid);
	return record;
}

static void is_one(const struct off_cpu_intervals *intervals, uint64_t ns, uint64_t caller)
{
	struct perch_off_cpu off_cpu;
	struct perch_record record = finished(intervals, 0, &off_cpu);

	assert_int_equal(intervals->nr_samples, 1);
	assert_int_equal(off_cpu.ns, ns);
	assert_int_equal(record.sample.callchain.nr, caller ? 3 : 0);
	if (caller)
		assert_int_equal(record.sample.callchain.ip[2], caller);
}

static void a_blocked_interval_is_a_sample(void **state)
{
	struct off_cpu_intervals intervals = begin(FIELDS);
	struct perch_off_cpu off_cpu;
	struct perch_record record;
	uint64_t caller;

	(void)state;
	leave(&intervals, 11, 5 * MS, 0x2000);
	come(&intervals, 11, 9 * MS);
	record = finished(&intervals, 0, &off_cpu);
	assert_int_equal(intervals.nr_samples, 1);
	assert_int_equal(off_cpu.ns, 4 * MS);
	assert_int_equal(off_cpu.state, PERCH_OFF_CPU_BLOCKED);
	assert_int_equal(off_cpu.intervals, 1);
	assert_int_equal(off_cpu.start, 5 * MS);
	assert_int_equal(off_cpu.flags, 0);
	assert_int_equal(off_cpu.pid, PID);
	assert_int_equal(record.sample.time, 9 * MS);
	assert_int_equal(record.sample.cpu, 3);
	assert_int_equal(record.sample.ip, 0x1000);
	/* the raw data has the call chain, too, for perf since 6.16 */
	assert_int_equal(off_cpu.nr, 3);
	memcpy(&caller, (const char *)off_cpu.chain + 16, sizeof(caller));
	assert_int_equal(caller, 0x2000);
	perch__off_cpu_clear(&intervals);
}

static void a_preempted_thread_is_not_blocked(void **state)
{
	struct off_cpu_intervals intervals = begin(FIELDS);
	struct perch_off_cpu off_cpu;

	(void)state;
	sample(&intervals, 11, 5 * MS, 0x2000, NULL, 0);
	change(&intervals, 11, 5 * MS, true, true);
	come(&intervals, 11, 9 * MS);
	finished(&intervals, 0, &off_cpu);
	assert_int_equal(off_cpu.state, PERCH_OFF_CPU_PREEMPTED);
	assert_string_equal(perch_off_cpu_state_name(off_cpu.state), "preempted");
	perch__off_cpu_clear(&intervals);
}

static void short_intervals_are_summed_by_call_chain(void **state)
{
	struct off_cpu_intervals intervals = begin(FIELDS);
	struct perch_off_cpu off_cpu;

	(void)state;
	for (uint64_t i = 1; i <= 30; i++) {
		leave(&intervals, 11, i * MS, i % 3 ? 0x2000 : 0x3000);
		come(&intervals, 11, i * MS + 1000);
	}
	assert_int_equal(intervals.nr_samples, 0);
	perch__off_cpu_end_round(&intervals);
	assert_int_equal(intervals.nr_samples, 0); /* not yet a second old */
	perch__off_cpu_end(&intervals, 40 * MS);
	assert_int_equal(intervals.nr_samples, 2);
	assert_int_equal(finished(&intervals, 0, &off_cpu).sample.callchain.ip[2], 0x2000);
	assert_int_equal(off_cpu.ns, 20000);
	assert_int_equal(off_cpu.intervals, 20);
	assert_int_equal(off_cpu.start, MS);
	finished(&intervals, 1, &off_cpu);
	assert_int_equal(off_cpu.ns, 10000);
	assert_int_equal(intervals.counts.summed, 30);
	assert_int_equal(intervals.counts.ns, 30000);
	perch__off_cpu_clear(&intervals);
}

static void a_sum_of_a_second_is_a_sample(void **state)
{
	struct off_cpu_intervals intervals = begin(FIELDS);

	(void)state;
	leave(&intervals, 11, MS, 0x2000);
	come(&intervals, 11, MS + 1000);
	leave(&intervals, 12, 1002 * MS, 0x2000);
	perch__off_cpu_end_round(&intervals);
	is_one(&intervals, 1000, 0x2000);
	perch__off_cpu_clear(&intervals);
}

/* More call chains than there is space for: all of the time is in samples. */
static void many_sums_lose_nothing(void **state)
{
	struct off_cpu_intervals intervals = begin(FIELDS);

	(void)state;
	for (uint64_t i = 1; i <= 30000; i++) {
		leave(&intervals, 11, i * 2000, 0x2000 + i);
		come(&intervals, 11, i * 2000 + 1000);
	}
	perch__off_cpu_end(&intervals, 100 * MS);
	assert_int_equal(intervals.counts.ns, 30000000);
	assert_int_equal(intervals.counts.intervals, 30000);
	assert_int_equal(intervals.nr_samples, 30000);
	perch__off_cpu_clear(&intervals);
}

static void an_interval_that_spans_lost_records_is_counted_separately(void **state)
{
	struct off_cpu_intervals intervals = begin(FIELDS);

	(void)state;
	leave(&intervals, 11, 10 * MS, 0x2000);
	leave(&intervals, 12, 10 * MS, 0x2000);
	perch__off_cpu_add_loss(&intervals, 20 * MS, 30 * MS);
	come(&intervals, 12, 19 * MS); /* before it */
	is_one(&intervals, 9 * MS, 0x2000);
	come(&intervals, 11, 25 * MS);
	leave(&intervals, 11, 28 * MS, 0x2000);
	come(&intervals, 11, 40 * MS);
	assert_int_equal(intervals.nr_samples, 1);
	assert_int_equal(intervals.counts.lost_intervals, 2);
	assert_int_equal(intervals.counts.lost_ns, 27 * MS);
	leave(&intervals, 11, 41 * MS, 0x2000);
	come(&intervals, 11, 45 * MS);
	assert_int_equal(intervals.nr_samples, 2);
	perch__off_cpu_clear(&intervals);
}

/* More losses than are kept: the oldest become one, and none is discarded. */
static void no_loss_is_discarded(void **state)
{
	struct off_cpu_intervals intervals = begin(FIELDS);

	(void)state;
	leave(&intervals, 11, 10 * MS, 0x2000);
	for (uint64_t i = 0; i < 5 * OFF_CPU_MAX_LOSSES; i++)
		perch__off_cpu_add_loss(&intervals, (20 + 2 * i) * MS, (21 + 2 * i) * MS);
	come(&intervals, 11, 2000 * MS);
	assert_int_equal(intervals.counts.lost_intervals, 1);
	leave(&intervals, 11, 2001 * MS, 0x2000);
	come(&intervals, 11, 2003 * MS);
	is_one(&intervals, 2 * MS, 0x2000);
	perch__off_cpu_clear(&intervals);
}

static void a_missing_switch_is_counted(void **state)
{
	struct off_cpu_intervals intervals = begin(FIELDS);

	(void)state;
	leave(&intervals, 11, 10 * MS, 0x2000);
	leave(&intervals, 11, 20 * MS, 0x3000);
	assert_int_equal(intervals.counts.lost_intervals, 1);
	come(&intervals, 11, 25 * MS);
	is_one(&intervals, 5 * MS, 0x3000);
	come(&intervals, 11, 30 * MS);
	assert_int_equal(intervals.counts.lost_intervals, 2);
	assert_int_equal(intervals.nr_samples, 1);
	perch__off_cpu_clear(&intervals);
}

static void a_new_thread_was_not_off_the_cpu(void **state)
{
	struct off_cpu_intervals intervals = begin(FIELDS);

	(void)state;
	intervals.started = MS;
	task(&intervals, PERCH_RECORD_FORK, 11, 10 * MS);
	come(&intervals, 11, 20 * MS);
	assert_int_equal(intervals.nr_samples, 0);
	assert_int_equal(intervals.counts.lost_intervals, 0);
	perch__off_cpu_clear(&intervals);
}

/* The id of an ended thread is used again. With events of CPUs, its last switch is recorded. */
static void an_ended_thread_is_removed(void **state)
{
	(void)state;
	for (int cpu_wide = 0; cpu_wide < 2; cpu_wide++) {
		struct off_cpu_intervals intervals = begin(FIELDS);

		intervals.cpu_wide = cpu_wide;
		intervals.started = MS;
		come(&intervals, 11, MS);
		task(&intervals, PERCH_RECORD_EXIT, 11, 10 * MS);
		if (cpu_wide)
			leave(&intervals, 11, 11 * MS, 0x2000);
		assert_int_equal(intervals.nr, 0);
		task(&intervals, PERCH_RECORD_FORK, 11, 50 * MS);
		come(&intervals, 11, 60 * MS);
		perch__off_cpu_end(&intervals, 70 * MS);
		assert_int_equal(intervals.nr_samples, 0);
		assert_int_equal(intervals.counts.lost_intervals, 0);
		perch__off_cpu_clear(&intervals);
	}
}

/* A thread that nobody waits for has no id when it leaves the CPU for the last time. */
static void a_dead_thread_has_no_time(void **state)
{
	struct off_cpu_intervals intervals = begin(FIELDS);

	(void)state;
	intervals.cpu_wide = true;
	intervals.started = MS;
	for (uint32_t tid = 11; tid < 20; tid++) {
		task(&intervals, PERCH_RECORD_FORK, tid, 10 * MS);
		come(&intervals, tid, 20 * MS);
		task(&intervals, PERCH_RECORD_EXIT, tid, 30 * MS);
		leave(&intervals, UINT32_MAX, 31 * MS, 0x2000);
	}
	assert_int_equal(intervals.counts.lost_intervals, 0);
	perch__off_cpu_end_round(&intervals);
	assert_int_equal(intervals.nr, 9);
	leave(&intervals, 100, 1031 * MS, 0x2000);
	perch__off_cpu_end_round(&intervals);
	assert_int_equal(intervals.nr, 1);
	perch__off_cpu_end(&intervals, 1040 * MS);
	is_one(&intervals, 9 * MS, 0x2000);
	perch__off_cpu_clear(&intervals);
}

/* A thread that is preempted between its EXIT record and its last switch. */
static void an_ending_thread_may_be_preempted(void **state)
{
	struct off_cpu_intervals intervals = begin(FIELDS);

	(void)state;
	intervals.cpu_wide = true;
	intervals.started = MS;
	come(&intervals, 11, MS);
	task(&intervals, PERCH_RECORD_EXIT, 11, 10 * MS);
	sample(&intervals, 11, 11 * MS, 0x2000, NULL, 0);
	change(&intervals, 11, 11 * MS, true, true);
	come(&intervals, 11, 19 * MS);
	leave(&intervals, 11, 20 * MS, 0x2000);
	assert_int_equal(intervals.nr, 0);
	perch__off_cpu_end(&intervals, 40 * MS);
	assert_int_equal(intervals.nr_samples, 0);
	assert_int_equal(intervals.counts.lost_intervals, 0);
	perch__off_cpu_clear(&intervals);
}

/* The stacks of threads that wait have a limit; then samples have call chains without stacks. */
static void many_stacks_have_a_limit(void **state)
{
	struct off_cpu_intervals intervals = begin(FIELDS | PERCH_SAMPLE_STACK_USER);
	static uint64_t stack[4098];
	struct perch_off_cpu off_cpu;
	struct perch_record record;

	(void)state;
	stack[0] = sizeof(stack) - 16;
	stack[4097] = 100; /* dynamic size */
	for (uint32_t tid = 100; tid < 4100; tid++) {
		sample(&intervals, tid, MS, 0x2000, stack, sizeof(stack));
		change(&intervals, tid, MS, true, false);
	}
	assert_true(intervals.copied <= 66u << 20);
	come(&intervals, 100, 4 * MS);
	record = finished(&intervals, 0, &off_cpu);
	assert_int_equal(record.sample.stack_user.size, sizeof(stack) - 16);
	come(&intervals, 4099, 4 * MS);
	record = finished(&intervals, 1, &off_cpu);
	assert_int_equal(record.sample.callchain.nr, 3);
	assert_int_equal(record.sample.stack_user.size, 0);
	for (uint32_t tid = 100; tid < 4100; tid++)
		task(&intervals, PERCH_RECORD_EXIT, tid, 5 * MS);
	assert_int_equal(intervals.nr, 0);
	assert_int_equal(intervals.copied, 0);
	perch__off_cpu_clear(&intervals);
}

/* A call chain for which a record is too small is shorter. */
static void a_record_has_a_limit(void **state)
{
	struct off_cpu_intervals intervals = begin(FIELDS);
	static uint64_t words[8192];
	const struct perch_record_header header = { PERCH_RECORD_SAMPLE, PERCH_MISC_KERNEL,
						    8191 * 8 };
	struct perch_off_cpu off_cpu;
	struct perch_record record;

	(void)state;
	memcpy(words, &header, sizeof(header));
	words[3] = (uint64_t)11 << 32 | PID;
	words[7] = 8191 - 9; /* entries */
	words[8190] = 4;
	assert_int_equal(perch_record_decode(&record, &intervals.layout.parse_info, words,
					     header.size, NULL),
			 0);
	perch__off_cpu_take(&intervals, &record);
	change(&intervals, 11, 4 * MS, true, false);
	come(&intervals, 11, 8 * MS);
	record = finished(&intervals, 0, &off_cpu);
	assert_in_range(record.sample.callchain.nr, 8000, 8191 - 10);
	assert_int_equal(off_cpu.nr, 2);
	perch__off_cpu_clear(&intervals);
}

/* Records that were lost at the end of a window say nothing of the next. */
static void a_loss_up_to_the_end_ends_there(void **state)
{
	struct off_cpu_intervals intervals = begin(FIELDS);

	(void)state;
	leave(&intervals, 11, 10 * MS, 0x2000);
	perch__off_cpu_add_loss(&intervals, 11 * MS, UINT64_MAX);
	perch__off_cpu_end(&intervals, 20 * MS);
	assert_int_equal(intervals.counts.lost_intervals, 1);
	leave(&intervals, 11, 30 * MS, 0x2000);
	come(&intervals, 11, 33 * MS);
	is_one(&intervals, 3 * MS, 0x2000);
	perch__off_cpu_clear(&intervals);
}

/* The sample of a sum, and the raw data, have the cgroup. */
static void a_sum_has_its_cgroup(void **state)
{
	struct off_cpu_intervals intervals = begin(
		FIELDS | PERCH_SAMPLE_DATA_SRC | PERCH_SAMPLE_CGROUP | PERCH_SAMPLE_CODE_PAGE_SIZE);
	const uint64_t rest[] = { 1, 4711, 4096 };
	struct perch_off_cpu off_cpu;

	(void)state;
	for (uint64_t i = 1; i < 4; i++) {
		sample(&intervals, 11, i * MS, 0x2000, rest, sizeof(rest));
		change(&intervals, 11, i * MS, true, false);
		come(&intervals, 11, i < 3 ? i * MS + 500 : 9 * MS);
	}
	perch__off_cpu_end(&intervals, 10 * MS);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(finished(&intervals, i, &off_cpu).sample.cgroup, 4711);
		assert_int_equal(off_cpu.cgroup, 4711);
		assert_int_equal(off_cpu.intervals, i ? 2 : 1);
	}
	perch__off_cpu_clear(&intervals);
}

static void what_began_before_is_counted_since_the_start(void **state)
{
	struct off_cpu_intervals intervals = begin(FIELDS);
	struct perch_off_cpu off_cpu;

	(void)state;
	intervals.started = 10 * MS;
	come(&intervals, 11, 15 * MS);
	is_one(&intervals, 5 * MS, 0);
	finished(&intervals, 0, &off_cpu);
	assert_int_equal(off_cpu.flags, PERCH_OFF_CPU_BEGAN_BEFORE);
	assert_int_equal(off_cpu.state, PERCH_OFF_CPU_UNKNOWN);
	assert_int_equal(intervals.counts.without_stack, 1);
	perch__off_cpu_clear(&intervals);
}

static void the_end_ends_what_is_left(void **state)
{
	struct off_cpu_intervals intervals = begin(FIELDS);
	struct perch_off_cpu off_cpu;

	(void)state;
	leave(&intervals, 11, 10 * MS, 0x2000);
	perch__off_cpu_end(&intervals, 17 * MS);
	is_one(&intervals, 7 * MS, 0x2000);
	finished(&intervals, 0, &off_cpu);
	assert_int_equal(off_cpu.flags, PERCH_OFF_CPU_NOT_ENDED);
	assert_int_equal(intervals.counts.not_ended, 1);
	/* enabled again: nothing is known of the time between */
	intervals.started = 0;
	come(&intervals, 11, 90 * MS);
	assert_int_equal(intervals.nr_samples, 1);
	assert_int_equal(intervals.counts.lost_intervals, 0);
	perch__off_cpu_clear(&intervals);
}

/* A thread that does not run and had no switch waited all the time; one that had any is known. */
static void a_thread_without_switches_waits(void **state)
{
	struct off_cpu_intervals intervals = begin(FIELDS);
	struct perch_off_cpu off_cpu;

	(void)state;
	perch__off_cpu_add_waiting(&intervals, PID, 9, 50 * MS);
	assert_int_equal(intervals.nr_samples, 0); /* since when is unknown */
	intervals.started = 10 * MS;
	come(&intervals, 12, 11 * MS);
	leave(&intervals, 12, 49 * MS, 0x2000);
	intervals.nr_samples = intervals.samples.used = 0;
	for (int i = 0; i < 2; i++) /* a target may be listed for each CPU */
		perch__off_cpu_add_waiting(&intervals, PID, 11, 50 * MS);
	perch__off_cpu_add_waiting(&intervals, PID, 12, 50 * MS);
	is_one(&intervals, 40 * MS, 0);
	finished(&intervals, 0, &off_cpu);
	assert_int_equal(off_cpu.tid, 11);
	assert_int_equal(off_cpu.state, PERCH_OFF_CPU_BLOCKED);
	assert_int_equal(off_cpu.flags, PERCH_OFF_CPU_BEGAN_BEFORE | PERCH_OFF_CPU_NOT_ENDED);
	/* another process has the id of a thread that was seen */
	perch__off_cpu_add_waiting(&intervals, PID + 1, 12, 50 * MS);
	/* once */
	perch__off_cpu_end(&intervals, 50 * MS);
	perch__off_cpu_add_waiting(&intervals, PID, 11, 90 * MS);
	assert_int_equal(intervals.nr_samples, 2);
	perch__off_cpu_clear(&intervals);
}

/* A user who may not profile the kernel has SWITCH records only. */
/* What is known of a wait before the recording is that of its first interval, and of no other. */
static void a_wait_before_the_recording_has_its_call_chain(void **state)
{
	const uint64_t chain[] = { PERCH_CONTEXT_KERNEL, 0x7000, 0x7100 };
	struct off_cpu_intervals intervals = begin(FIELDS);
	struct perch_off_cpu off_cpu;
	struct perch_record record;
	uint64_t caller;

	(void)state;
	for (uint32_t tid = 11; tid < 15; tid++)
		perch__off_cpu_set_wait(&intervals, PID, tid, PERCH_OFF_CPU_UNINTERRUPTIBLE, chain,
					tid == 12 ? 0 : 3);
	intervals.started = 100 * MS;
	come(&intervals, 11, 110 * MS);
	come(&intervals, 12, 111 * MS);
	/* it ran at the start, and the sample of its switch was lost */
	change(&intervals, 13, 112 * MS, true, false);
	come(&intervals, 13, 120 * MS);
	perch__off_cpu_add_waiting(&intervals, PID, 14, 130 * MS);
	assert_int_equal(intervals.nr_samples, 4);
	record = finished(&intervals, 0, &off_cpu);
	assert_int_equal(off_cpu.ns, 10 * MS);
	assert_int_equal(off_cpu.state, PERCH_OFF_CPU_UNINTERRUPTIBLE);
	assert_int_equal(off_cpu.flags, PERCH_OFF_CPU_BEGAN_BEFORE);
	assert_int_equal(record.sample.ip, 0x7000);
	assert_int_equal(record.sample.callchain.nr, 3);
	memcpy(&caller, &record.sample.callchain.ip[2], sizeof(caller));
	assert_int_equal(caller, 0x7100);
	for (size_t i = 1; i < 3; i++) {
		record = finished(&intervals, i, &off_cpu);
		assert_int_equal(record.sample.callchain.nr, 0);
		assert_int_equal(off_cpu.state,
				 i == 1 ? PERCH_OFF_CPU_UNKNOWN : PERCH_OFF_CPU_BLOCKED);
	}
	record = finished(&intervals, 3, &off_cpu);
	assert_int_equal(record.sample.tid, 14);
	assert_int_equal(record.sample.callchain.nr, 3);
	assert_int_equal(off_cpu.state, PERCH_OFF_CPU_UNINTERRUPTIBLE);
	perch__off_cpu_clear(&intervals);
}

static void switches_without_stacks_have_times(void **state)
{
	struct off_cpu_intervals intervals = begin(FIELDS | PERCH_SAMPLE_REGS_USER |
						   PERCH_SAMPLE_STACK_USER | PERCH_SAMPLE_CGROUP);
	struct perch_off_cpu off_cpu;
	struct perch_record record;

	(void)state;
	change(&intervals, 11, 5 * MS, true, false);
	come(&intervals, 11, 8 * MS);
	record = finished(&intervals, 0, &off_cpu);
	assert_int_equal(record.sample.period, 3 * MS);
	assert_int_equal(record.sample.tid, 11);
	assert_int_equal(record.sample.time, 8 * MS);
	assert_int_equal(record.sample.callchain.nr, 0);
	assert_int_equal(record.sample.stack_user.size, 0);
	/* perf would take the word after the cgroup for the address */
	assert_int_equal(off_cpu.nr, 1);
	perch__off_cpu_clear(&intervals);
}

/* A copied stack stays in the sample of one interval, also if it leaves no space for the second
 * call chain. A sum has none. */
static void stacks_are_copied(void **state)
{
	struct off_cpu_intervals intervals = begin(FIELDS | PERCH_SAMPLE_STACK_USER);
	static uint64_t stack[8171];
	struct perch_off_cpu off_cpu;
	struct perch_record record;

	(void)state;
	stack[0] = sizeof(stack) - 16;
	stack[1] = 0x5555;
	stack[8170] = 100; /* dynamic size */
	sample(&intervals, 11, 4 * MS, 0x2000, stack, sizeof(stack));
	change(&intervals, 11, 4 * MS, true, false);
	come(&intervals, 11, 8 * MS);
	record = finished(&intervals, 0, &off_cpu);
	assert_int_equal(record.sample.stack_user.size, sizeof(stack) - 16);
	assert_memory_equal(record.sample.stack_user.data, &stack[1], 8);
	assert_int_equal(off_cpu.nr, 0);
	for (uint64_t i = 1; i < 3; i++) {
		sample(&intervals, 11, (i + 10) * MS, 0x2000, stack, sizeof(stack));
		change(&intervals, 11, (i + 10) * MS, true, false);
		come(&intervals, 11, (i + 10) * MS + 500);
	}
	perch__off_cpu_end(&intervals, 20 * MS);
	record = finished(&intervals, 1, &off_cpu);
	assert_int_equal(off_cpu.intervals, 2);
	assert_int_equal(record.sample.stack_user.size, 0);
	assert_int_equal(record.sample.callchain.nr, 3);
	perch__off_cpu_clear(&intervals);
}

/* Random switches of threads on any CPUs: each nanosecond off the CPU is in one sample. */
static void all_time_is_in_samples(void **state)
{
	struct off_cpu_intervals intervals = begin(FIELDS);
	uint64_t out[20] = { 0 }, time = 1, expected = 0, found = 0;
	struct perch_off_cpu off_cpu;

	(void)state;
	srand(1);
	for (int i = 0; i < 20000; i++) {
		uint32_t tid = (uint32_t)rand() % 20;

		time += (uint64_t)(rand() % (rand() % 50 ? 10000 : 5000000)) + 1;
		if (!out[tid]) {
			leave(&intervals, tid + 1, time, 0x2000 + (uint64_t)(rand() % 5));
			out[tid] = time;
		} else {
			come(&intervals, tid + 1, time);
			expected += time - out[tid];
			out[tid] = 0;
		}
		perch__off_cpu_end_round(&intervals);
	}
	for (int i = 0; i < 20; i++)
		expected += out[i] ? time - out[i] : 0;
	perch__off_cpu_end(&intervals, time);
	for (size_t i = 0; i < intervals.nr_samples; i++) {
		finished(&intervals, i, &off_cpu);
		found += off_cpu.ns;
	}
	assert_int_equal(found, expected);
	assert_int_equal(intervals.counts.ns, expected);
	assert_int_equal(intervals.counts.lost_intervals, 0);
	perch__off_cpu_clear(&intervals);
}

/* The sample of a tracepoint with 36 bytes of raw data, of which some are set. */
static void traced(struct off_cpu_intervals *intervals, uint32_t event, uint32_t tid, uint64_t time,
		   uint8_t flags, const void *field, size_t size)
{
	uint64_t words[] = {
		0,
		ID + 2,
		0x1000,
		(uint64_t)tid << 32 | PID,
		time,
		3,
		1,
		2,
		PERCH_CONTEXT_KERNEL,
		0x7000 + tid,
		0,
		0,
		0,
		0,
		0,
	};
	const struct perch_record_header header = { PERCH_RECORD_SAMPLE, PERCH_MISC_KERNEL,
						    sizeof(words) };
	char *raw = (char *)&words[10];
	const uint32_t raw_size = 36;
	struct perch_record record;

	memcpy(words, &header, sizeof(header));
	memcpy(raw, &raw_size, sizeof(raw_size));
	raw[4 + 2] = (char)flags;
	memcpy(raw + 4 + 24, field, size);
	assert_int_equal(perch_record_decode(&record, &intervals->layout.parse_info, words,
					     header.size, NULL),
			 0);
	record.event = event;
	perch__off_cpu_take(intervals, &record);
}

/* The sample of sched:sched_waking: the id of the woken thread is at 24. */
static void waking(struct off_cpu_intervals *intervals, uint32_t by, uint32_t woken, uint64_t time,
		   bool interrupt)
{
	intervals->woken_at = 24;
	traced(intervals, OFF_CPU_WAKING, by, time, interrupt ? 0x08 : 0, &woken, sizeof(woken));
}

/* The state of the tracepoint is that of the interval, unless the thread could have continued. */
static void an_interval_has_the_state_of_the_tracepoint(void **state)
{
	static const struct {
		uint64_t bits;
		const char *state;
	} cases[] = {
		{ 0, "preempted" },
		{ 0x100, "preempted" },
		{ 1, "sleeping" },
		{ 2, "uninterruptible" },
		{ 4, "stopped" },
		{ 8, "stopped" },
		{ 0x10, "dead" },
		{ 0x20, "dead" },
		{ 0x40, "parked" },
		{ 0x80, "idle" },
		{ 0x402, "uninterruptible" },
	};
	struct off_cpu_intervals intervals = begin(FIELDS);
	struct perch_off_cpu off_cpu;

	(void)state;
	intervals.state_at = 24;
	perch__timeline_read_states(&intervals.states, "");
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint64_t time = (i + 1) * 100 * MS;

		traced(&intervals, 0, 11, time - 1, 0, &cases[i].bits, sizeof(cases[i].bits));
		change(&intervals, 11, time, true, false);
		come(&intervals, 11, time + MS);
		finished(&intervals, i, &off_cpu);
		assert_string_equal(perch_off_cpu_state_name(off_cpu.state), cases[i].state);
	}
	/* the record of the switch has it, too; without a sample, nothing else is known */
	traced(&intervals, 0, 11, 9000 * MS - 1, 0, &cases[2].bits, sizeof(cases[2].bits));
	change(&intervals, 11, 9000 * MS, true, true);
	come(&intervals, 11, 9001 * MS);
	finished(&intervals, 11, &off_cpu);
	assert_int_equal(off_cpu.state, PERCH_OFF_CPU_PREEMPTED);
	change(&intervals, 11, 9100 * MS, true, false);
	come(&intervals, 11, 9101 * MS);
	finished(&intervals, 12, &off_cpu);
	assert_int_equal(off_cpu.state, PERCH_OFF_CPU_BLOCKED);
	/* the field is beyond the raw data */
	intervals.state_at = 32;
	traced(&intervals, 0, 11, 9200 * MS - 1, 0, &cases[2].bits, sizeof(cases[2].bits));
	change(&intervals, 11, 9200 * MS, true, false);
	come(&intervals, 11, 9201 * MS);
	finished(&intervals, 13, &off_cpu);
	assert_int_equal(off_cpu.state, PERCH_OFF_CPU_BLOCKED);
	assert_string_equal(perch_off_cpu_state_name(1000), "unknown");
	perch__off_cpu_clear(&intervals);
}

static void is_woken_by(const struct off_cpu_intervals *intervals, size_t index, uint32_t tid,
			uint32_t flags)
{
	struct perch_off_cpu off_cpu;
	uint64_t caller;

	finished(intervals, index, &off_cpu);
	assert_int_equal(off_cpu.flags, flags);
	if (!(flags & PERCH_OFF_CPU_WOKEN)) {
		assert_null(off_cpu.waker_chain);
		return;
	}
	assert_int_equal(off_cpu.waker_pid, PID);
	assert_int_equal(off_cpu.waker_tid, tid);
	assert_int_equal(off_cpu.waker_nr, 2);
	memcpy(&caller, (const char *)off_cpu.waker_chain + 8, sizeof(caller));
	assert_int_equal(caller, 0x7000 + tid);
}

static void a_waker_is_in_the_sample(void **state)
{
	struct off_cpu_intervals intervals = begin(FIELDS);
	const uint32_t interrupt = PERCH_OFF_CPU_WOKEN_BY_INTERRUPT;

	(void)state;
	waking(&intervals, 12, 11, MS, false); /* of no thread that is known */
	leave(&intervals, 11, 10 * MS, 0x2000);
	waking(&intervals, 12, 11, 14 * MS, false);
	come(&intervals, 11, 15 * MS);
	leave(&intervals, 11, 20 * MS, 0x2000);
	waking(&intervals, 0, 11, 24 * MS, true); /* an idle CPU */
	come(&intervals, 11, 25 * MS);
	waking(&intervals, 12, 11, 26 * MS, false); /* it runs */
	leave(&intervals, 11, 30 * MS, 0x2000);
	come(&intervals, 11, 35 * MS);
	leave(&intervals, 11, 40 * MS, 0x2000);
	waking(&intervals, 13, 11, 44 * MS, false);
	perch__off_cpu_end(&intervals, 45 * MS);
	is_woken_by(&intervals, 0, 12, PERCH_OFF_CPU_WOKEN);
	is_woken_by(&intervals, 1, 0, PERCH_OFF_CPU_WOKEN | interrupt);
	is_woken_by(&intervals, 2, 0, 0);
	is_woken_by(&intervals, 3, 13, PERCH_OFF_CPU_WOKEN | PERCH_OFF_CPU_NOT_ENDED);
	assert_int_equal(intervals.nr, 1);
	perch__off_cpu_clear(&intervals);
}

/* Sums of short intervals, and later samples, have no waker. */
static void a_sum_has_no_waker(void **state)
{
	struct off_cpu_intervals intervals = begin(FIELDS);

	(void)state;
	for (uint64_t i = 1; i < 3; i++) {
		leave(&intervals, 11, i * MS, 0x2000);
		waking(&intervals, 12, 11, i * MS + 400, false);
		come(&intervals, 11, i * MS + 500);
	}
	task(&intervals, PERCH_RECORD_EXIT, 11, 3 * MS); /* frees the call chain */
	perch__off_cpu_end(&intervals, 10 * MS);
	is_woken_by(&intervals, 0, 0, 0);
	assert_int_equal(intervals.nr_samples, 1);
	perch__off_cpu_clear(&intervals);
}

static void a_damaged_waker_is_none(void **state)
{
	const uint32_t flags = PERCH_OFF_CPU_WOKEN;
	uint64_t words[] = {
		(uint64_t)2 << 32 | 1, 1000, 1,	  0x11, 0x22, (uint64_t)flags << 32 | 1, 1, 5,
		(uint64_t)4 << 32 | 3, 2,    0x4, 0x5,
	};
	struct perch_off_cpu off_cpu;

	(void)state;
	for (uint32_t size = 64; size <= sizeof(words); size++) {
		char *copy = malloc(size);
		struct perch_sample view = { .raw = { size, copy } };
		bool whole = size == sizeof(words);

		assert_non_null(copy);
		memcpy(copy, words, size);
		assert_true(perch_off_cpu_decode(&off_cpu, &view));
		assert_int_equal(off_cpu.flags, whole ? flags : 0);
		assert_int_equal(off_cpu.waker_tid, whole ? 4 : 0);
		assert_int_equal(off_cpu.waker_nr, whole ? 2 : 0);
		assert_int_equal(off_cpu.waker_chain != NULL, whole);
		free(copy);
	}
	words[9] = UINT64_MAX / 8 + 2;
	assert_true(perch_off_cpu_decode(
		&off_cpu, &(struct perch_sample){ .raw = { sizeof(words), words } }));
	assert_int_equal(off_cpu.waker_nr, 0);
}

/* Raw data of any size is decoded without a read beyond it. */
static void damaged_raw_data_is_refused(void **state)
{
	uint64_t words[8] = { (uint64_t)2 << 32 | 1, 1000, 2, 0x11, 0x22, 0x33 };
	struct perch_off_cpu off_cpu;

	(void)state;
	for (uint32_t size = 0; size <= sizeof(words); size++) {
		char *copy = malloc(size + !size);
		struct perch_sample view = { .raw = { size, copy } };

		assert_non_null(copy);
		memcpy(copy, words, size);
		assert_int_equal(perch_off_cpu_decode(&off_cpu, &view), size >= 40);
		assert_int_equal(off_cpu.ns, size >= 40 ? 1000 : 0);
		/* as perf writes it: no state */
		assert_int_equal(off_cpu.cgroup, size >= 48 ? 0x33 : 0);
		assert_int_equal(off_cpu.intervals, 0);
		free(copy);
	}
	words[2] = UINT64_MAX / 8;
	assert_false(perch_off_cpu_decode(
		&off_cpu, &(struct perch_sample){ .raw = { sizeof(words), words } }));
	assert_false(perch_off_cpu_decode(&off_cpu, &(struct perch_sample){ 0 }));
}

static void fields_are_checked(void **state)
{
	struct perch_attr attr = { .sample_type = FIELDS };
	struct off_cpu_layout layout;

	(void)state;
	attr.sample_type = FIELDS & ~(uint64_t)PERCH_SAMPLE_RAW;
	assert_false(perch__off_cpu_layout_init(&layout, &attr, ID));
	attr.sample_type = FIELDS | PERCH_SAMPLE_READ;
	assert_false(perch__off_cpu_layout_init(&layout, &attr, ID));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_blocked_interval_is_a_sample),
		cmocka_unit_test(a_preempted_thread_is_not_blocked),
		cmocka_unit_test(short_intervals_are_summed_by_call_chain),
		cmocka_unit_test(a_sum_of_a_second_is_a_sample),
		cmocka_unit_test(many_sums_lose_nothing),
		cmocka_unit_test(an_interval_that_spans_lost_records_is_counted_separately),
		cmocka_unit_test(no_loss_is_discarded),
		cmocka_unit_test(a_missing_switch_is_counted),
		cmocka_unit_test(a_new_thread_was_not_off_the_cpu),
		cmocka_unit_test(an_ended_thread_is_removed),
		cmocka_unit_test(a_dead_thread_has_no_time),
		cmocka_unit_test(an_ending_thread_may_be_preempted),
		cmocka_unit_test(many_stacks_have_a_limit),
		cmocka_unit_test(a_record_has_a_limit),
		cmocka_unit_test(a_loss_up_to_the_end_ends_there),
		cmocka_unit_test(a_sum_has_its_cgroup),
		cmocka_unit_test(what_began_before_is_counted_since_the_start),
		cmocka_unit_test(the_end_ends_what_is_left),
		cmocka_unit_test(a_thread_without_switches_waits),
		cmocka_unit_test(a_wait_before_the_recording_has_its_call_chain),
		cmocka_unit_test(switches_without_stacks_have_times),
		cmocka_unit_test(stacks_are_copied),
		cmocka_unit_test(all_time_is_in_samples),
		cmocka_unit_test(an_interval_has_the_state_of_the_tracepoint),
		cmocka_unit_test(a_waker_is_in_the_sample),
		cmocka_unit_test(a_sum_has_no_waker),
		cmocka_unit_test(a_damaged_waker_is_none),
		cmocka_unit_test(damaged_raw_data_is_refused),
		cmocka_unit_test(fields_are_checked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
