/* SPDX-License-Identifier: MIT */
/*
 * Sessions with off-CPU time. The samples of perf are built as tools/perf/util/bpf_off_cpu.c and
 * bpf_skel/off_cpu.bpf.c of Linux 6.16 write them: perf records them with BPF only.
 */
#include <perch/session.h>

#include "session_fixture.h"

#define CODE   0x401000ull
#define KERNEL 0xffffffff81000000ull
#define OTHER  99 /* a thread that ran before the switch */

static const struct perch_attr perf_attr = {
	.type = PERCH_TYPE_SOFTWARE,
	.config = PERCH_COUNT_SW_BPF_OUTPUT,
	.sample_type = PERCH_SAMPLE_IP | PERCH_SAMPLE_TID | PERCH_SAMPLE_TIME |
		       PERCH_SAMPLE_PERIOD | PERCH_SAMPLE_RAW,
	.sample_id_all = 1,
};

/* ip, pid and tid, time, period */
static void begin(struct built *b, uint32_t pid, uint32_t tid)
{
	start_record(b, PERCH_RECORD_SAMPLE, PERCH_MISC_KERNEL);
	put_u64(b, KERNEL);
	put_u32(b, pid);
	put_u32(b, tid);
	put_u64(b, 10);
	put_u64(b, 1);
}

static struct perch_session *open_event(const struct perch_attr *attr, const char *name,
					struct built *b,
					const struct perch_session_options *options)
{
	const struct perch_file_event event = {
		.attr = *attr, .name = name, .ids = ids, .nr_ids = 1, .members = 1
	};
	struct perch_machine *machine;
	struct perch_writer *writer;
	struct built comm;

	assert_int_equal(perch_writer_open(&writer, path, &event, 1, NULL), 0);
	assert_int_equal(perch_machine_new(&machine, NULL, NULL, NULL), 0);
	assert_int_equal(perch_writer_describe(writer, "1", 0, NULL, machine, NULL), 0);
	perch_machine_free(machine);
	start_record(&comm, PERCH_RECORD_COMM, 0);
	put_u32(&comm, BUILT_PID);
	put_u32(&comm, BUILT_TID);
	put_name(&comm, "worker");
	put_trailer(&comm, attr->sample_type, 1, 21);
	end_record(&comm);
	put_record(writer, &comm);
	put_record(writer, b);
	close_writer(writer);
	return open_session(options);
}

/* words: of the raw data; nr: entries that the call chain says it has, of 3. Returns the sample. */
static struct perch_session *perf_sample(uint32_t pid, uint32_t tid, uint32_t first,
					 uint32_t second, uint64_t nr, const char *name,
					 struct perch_session_sample *sample)
{
	struct perch_session *session;
	struct built b;

	begin(&b, pid, tid);
	put_u32(&b, 7 * 8 + 4);
	put_u32(&b, first);
	put_u32(&b, second);
	put_u64(&b, 5000000);
	put_u64(&b, nr);
	put_u64(&b, PERCH_CONTEXT_USER);
	put_u64(&b, CODE);
	put_u64(&b, CODE + 0x100);
	put_u64(&b, 77);
	put_u32(&b, 0);
	end_record(&b);
	session = open_event(&perf_attr, name, &b, NULL);
	assert_int_equal(perch_session_next_sample(session, sample, NULL), 1);
	return session;
}

static void is_sample_of_perf(const struct perch_session_sample *sample)
{
	assert_int_equal(perch_thread_pid(sample->thread), BUILT_PID);
	assert_int_equal(perch_thread_tid(sample->thread), BUILT_TID);
	assert_string_equal(perch_thread_comm(sample->thread), "worker");
	assert_int_equal(sample->record->sample.period, 5000000);
	assert_int_equal(sample->record->sample.cgroup, 77);
	assert_int_equal(sample->record->sample.ip, CODE);
	assert_int_equal(sample->record->misc & PERCH_MISC_CPUMODE_MASK, PERCH_MISC_USER);
	assert_int_equal(sample->nr, 2);
}

/* BPF writes it while another thread is current, and the thread id first. */
static void samples_of_perf_have_the_values_of_their_raw_data(void **state)
{
	struct perch_session_sample sample;
	struct perch_off_cpu off_cpu;
	struct perch_session *session =
		perf_sample(OTHER, OTHER, BUILT_TID, BUILT_PID, 3, "offcpu-time", &sample);

	(void)state;
	is_sample_of_perf(&sample);
	assert_true(perch_session_off_cpu(session, sample.record, &off_cpu));
	assert_int_equal(off_cpu.intervals, 0);
	assert_int_equal(perch_session_resolve_waker(session, sample.record, &sample, NULL), 0);
	perch_session_close(session);
}

/* What is below the threshold is written at the end, without a thread, the process id first. */
static void samples_that_perf_writes_at_the_end_have_the_other_order(void **state)
{
	struct perch_session_sample sample;
	struct perch_session *session =
		perf_sample(0, 0, BUILT_PID, BUILT_TID, 3, "offcpu-time", &sample);

	(void)state;
	is_sample_of_perf(&sample);
	perch_session_close(session);
}

static void other_samples_stay_as_they_are(void **state)
{
	static const struct {
		const char *name;
		uint64_t nr;
	} cases[] = { { "another", 3 }, { "offcpu-time", 1000 }, { "offcpu-time", UINT64_MAX } };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct perch_session_sample sample;
		struct perch_session *session = perf_sample(OTHER, OTHER, BUILT_TID, BUILT_PID,
							    cases[i].nr, cases[i].name, &sample);

		assert_int_equal(sample.record->sample.tid, OTHER);
		assert_int_equal(sample.record->sample.period, 1);
		assert_int_equal(sample.nr, 1);
		perch_session_close(session);
	}
}

/* A wait that began before the recording, of which nobody knows where it was. */
static void a_wait_without_a_call_chain_has_a_frame(void **state)
{
	struct perch_attr attr = perf_attr;
	struct perch_session_sample sample;
	struct perch_session *session;
	const struct perch_address *address;
	struct built b;

	(void)state;
	attr.sample_type |= PERCH_SAMPLE_CALLCHAIN;
	start_record(&b, PERCH_RECORD_SAMPLE, PERCH_MISC_KERNEL);
	put_u64(&b, 0);
	put_u32(&b, BUILT_PID);
	put_u32(&b, BUILT_TID);
	put_u64(&b, 10);
	put_u64(&b, 5);
	put_u64(&b, 0);
	put_u32(&b, 8 * 8 + 4);
	/* pid, tid, ns, an empty call chain, cgroup, state, flags, intervals, start */
	put_u32(&b, BUILT_PID);
	put_u32(&b, BUILT_TID);
	put_u64(&b, 5);
	put_u64(&b, 1);
	put_u64(&b, PERCH_CONTEXT_USER);
	put_u64(&b, 0);
	put_u32(&b, PERCH_OFF_CPU_UNKNOWN);
	put_u32(&b, PERCH_OFF_CPU_BEGAN_BEFORE);
	put_u64(&b, 1);
	put_u64(&b, 5);
	put_u64(&b, 0);
	put_u32(&b, 0);
	end_record(&b);
	session = open_event(&attr, "offcpu-time", &b, NULL);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(perch_session_next_sample(session, &sample, NULL), 1);
		assert_int_equal(sample.nr, 1);
		address = perch_session_address(session, sample.chain[0]);
		assert_string_equal(perch_symbols_name(perch_session_symbols(session),
						       address->symbol),
				    "[off the CPU before the recording]");
		assert_int_equal(perch_session_rewind(session, NULL), 0);
	}
	perch_session_close(session);
}

/* ---- wakers ---- */

static struct perch_session *woken_sample(uint32_t flags, bool wakers, bool states)
{
	const struct perch_session_options options = { .wakers = wakers, .off_cpu_states = states };
	struct perch_attr attr = perf_attr;
	struct built b;

	attr.sample_type |= PERCH_SAMPLE_CALLCHAIN;
	begin(&b, OTHER, OTHER);
	put_u64(&b, 2);
	put_u64(&b, PERCH_CONTEXT_KERNEL);
	put_u64(&b, KERNEL);
	put_u32(&b, 17 * 8 + 4);
	/* pid, tid, ns, an empty call chain, cgroup */
	put_u32(&b, OTHER);
	put_u32(&b, OTHER);
	put_u64(&b, 1);
	put_u64(&b, 1);
	put_u64(&b, PERCH_CONTEXT_USER);
	put_u64(&b, 0);
	/* state, flags, intervals, start */
	put_u32(&b, PERCH_OFF_CPU_SLEEPING);
	put_u32(&b, PERCH_OFF_CPU_WOKEN | flags);
	put_u64(&b, 1);
	put_u64(&b, 9);
	/* the waker and its call chain */
	put_u32(&b, BUILT_PID);
	put_u32(&b, BUILT_TID);
	put_u64(&b, 6);
	put_u64(&b, PERCH_CONTEXT_KERNEL);
	put_u64(&b, KERNEL + 0x10);
	put_u64(&b, KERNEL + 0x20);
	put_u64(&b, PERCH_CONTEXT_USER);
	put_u64(&b, CODE);
	put_u64(&b, CODE + 0x10);
	put_u64(&b, 0);
	put_u32(&b, 0);
	end_record(&b);
	return open_event(&attr, "offcpu-time", &b, &options);
}

static uint64_t offset_of(struct perch_session *session, uint32_t number)
{
	return perch_session_address(session, number)->offset;
}

static void is_mark(struct perch_session *session, uint32_t number, const char *name)
{
	const struct perch_address *address = perch_session_address(session, number);

	assert_non_null(address->symbol);
	assert_string_equal(perch_symbols_name(perch_session_symbols(session), address->symbol),
			    name);
}

/* From the outermost function of the waker to its innermost one, then the thread that waited. */
static void the_chain_of_a_waker_is_above_that_of_the_thread(void **state)
{
	struct perch_session *session = woken_sample(0, true, false);
	struct perch_session_sample sample;
	struct perch_record record;
	const uint32_t *numbers;

	(void)state;
	assert_int_equal(perch_session_next_sample(session, &sample, NULL), 1);
	assert_int_equal(sample.nr, 6);
	assert_int_equal(perch_thread_tid(sample.thread), OTHER);
	assert_int_equal(offset_of(session, sample.chain[0]), CODE + 0x10);
	assert_int_equal(offset_of(session, sample.chain[1]), CODE);
	assert_int_equal(offset_of(session, sample.chain[2]), KERNEL + 0x20);
	assert_int_equal(offset_of(session, sample.chain[3]), KERNEL + 0x10);
	is_mark(session, sample.chain[4], "[woken by worker]");
	assert_int_equal(offset_of(session, sample.chain[5]), KERNEL);
	assert_int_equal(perch_session_resolve_waker(session, sample.record, &sample, NULL), 1);
	assert_string_equal(perch_thread_comm(sample.thread), "worker");
	assert_int_equal(sample.nr, 4);
	assert_int_equal(offset_of(session, sample.chain[3]), CODE + 0x10);

	/* again, with numbers that are found later */
	assert_int_equal(perch_session_rewind(session, NULL), 0);
	while (perch_session_next(session, &record, NULL) > 0 && record.type != PERCH_RECORD_SAMPLE)
		;
	assert_int_equal(perch_session_add_chain(session, &record, &sample, NULL), 0);
	assert_int_equal(perch_session_number_chains(session, &numbers, NULL), 0);
	assert_int_equal(sample.nr, 6);
	assert_int_equal(offset_of(session, numbers[sample.chain[0]]), CODE + 0x10);
	is_mark(session, numbers[sample.chain[4]], "[woken by worker]");
	assert_int_equal(offset_of(session, numbers[sample.chain[5]]), KERNEL);
	perch_session_close(session);
}

static void a_thread_that_was_interrupted_is_no_waker(void **state)
{
	struct perch_session *session = woken_sample(PERCH_OFF_CPU_WOKEN_BY_INTERRUPT, true, false);
	struct perch_session_sample sample;

	(void)state;
	assert_int_equal(perch_session_next_sample(session, &sample, NULL), 1);
	assert_int_equal(sample.nr, 4);
	assert_int_equal(offset_of(session, sample.chain[0]), KERNEL + 0x20);
	is_mark(session, sample.chain[2], "[woken by an interrupt]");
	perch_session_close(session);
}

static void wakers_are_joined_only_if_asked_for(void **state)
{
	struct perch_session *session = woken_sample(0, false, false);
	struct perch_session_sample sample;

	(void)state;
	assert_int_equal(perch_session_next_sample(session, &sample, NULL), 1);
	assert_int_equal(sample.nr, 1);
	perch_session_close(session);
}

/* The state is between the call chains. */
static void a_state_is_a_frame(void **state)
{
	struct perch_session_sample sample;

	(void)state;
	for (int wakers = 0; wakers < 2; wakers++) {
		struct perch_session *session = woken_sample(0, wakers, true);

		assert_int_equal(perch_session_next_sample(session, &sample, NULL), 1);
		assert_int_equal(sample.nr, wakers ? 7 : 2);
		is_mark(session, sample.chain[sample.nr - 2], "[sleeping]");
		assert_int_equal(offset_of(session, sample.chain[sample.nr - 1]), KERNEL);
		perch_session_close(session);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(samples_of_perf_have_the_values_of_their_raw_data),
		cmocka_unit_test(samples_that_perf_writes_at_the_end_have_the_other_order),
		cmocka_unit_test(other_samples_stay_as_they_are),
		cmocka_unit_test(a_wait_without_a_call_chain_has_a_frame),
		cmocka_unit_test(the_chain_of_a_waker_is_above_that_of_the_thread),
		cmocka_unit_test(a_thread_that_was_interrupted_is_no_waker),
		cmocka_unit_test(wakers_are_joined_only_if_asked_for),
		cmocka_unit_test(a_state_is_a_frame),
	};

	return cmocka_run_group_tests(tests, make_test_directory, remove_test_directory);
}
