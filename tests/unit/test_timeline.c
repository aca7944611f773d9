/* SPDX-License-Identifier: MIT */
/* Timelines: intervals from built records, with and without tracepoints, and with missing records.
 */
#include "timeline_fixture.h"

#define ALL	  UINT32_MAX
#define RUNNING	  PERCH_TIMELINE_RUNNING
#define SLEEPING  PERCH_TIMELINE_SLEEPING
#define WOKEN	  PERCH_TIMELINE_WOKEN
#define PREEMPTED PERCH_TIMELINE_PREEMPTED
#define BEFORE	  PERCH_TIMELINE_BEGAN_BEFORE
#define UNCERTAIN PERCH_TIMELINE_UNCERTAIN
#define LAST	  PERCH_TIMELINE_UNFINISHED

static struct timeline_fixture fixture;

/* Checks the next interval, and returns it. */
static const struct perch_timeline_interval *expect(struct timeline_fixture *of, uint32_t tid,
						    uint32_t state, uint64_t start, uint64_t end,
						    uint32_t flags)
{
	const struct perch_timeline_interval *interval = &of->interval[of->taken];

	assert_in_range(of->taken, 0, of->nr - 1);
	assert_int_equal(of->thread[of->taken].tid, tid);
	assert_string_equal(perch_timeline_state_name(interval->state),
			    perch_timeline_state_name(state));
	assert_int_equal(interval->start, start);
	assert_int_equal(interval->end, end);
	assert_int_equal(interval->flags, flags);
	of->taken++;
	return interval;
}

static void end_timeline(struct timeline_fixture *of)
{
	assert_int_equal(of->taken, of->nr);
	perch_timeline_free(of->timeline);
}

static struct perch_timeline_stats stats_of(const struct timeline_fixture *of)
{
	struct perch_timeline_stats stats;

	perch_timeline_get_stats(of->timeline, &stats);
	return stats;
}

/* Thread 7 sleeps, thread 8 wakes it, it waits and runs. */
static void test_wakeup(void **state)
{
	const struct perch_timeline_interval *interval;

	(void)state;
	begin_timeline(&fixture, ALL, 0);
	feed_switch(&fixture, 1000, 0, 7, 1, 0);
	expect(&fixture, 7, RUNNING, 1000, 1000, BEFORE);
	feed_waking(&fixture, EVENT_WAKING, 1300, 1, 8, 7);
	interval = expect(&fixture, 7, SLEEPING, 1000, 1300, 0);
	assert_int_equal(interval->letter, 'S');
	assert_int_equal(fixture.edge[fixture.nr_edges - 1].event, PERCH_TIMELINE_WAKEUP);
	assert_int_equal(fixture.edge[fixture.nr_edges - 1].other_tid, 8);
	feed_switch(&fixture, 1350, 0, 0, 0, 7);
	interval = expect(&fixture, 0, RUNNING, 1000, 1350, 0);
	assert_int_equal(interval->next_tid, 7);
	interval = expect(&fixture, 7, WOKEN, 1300, 1350, 0);
	assert_int_equal(interval->waker_tid, 8);
	assert_int_equal(interval->waker_pid, 800);
	assert_int_equal(interval->waker_cpu, 1);
	feed_switch(&fixture, 1400, 0, 7, 0x100, 9);
	interval = expect(&fixture, 7, RUNNING, 1350, 1400, 0);
	assert_int_equal(interval->cpu, 0);
	assert_int_equal(interval->next_tid, 9);
	expect(&fixture, 9, PERCH_TIMELINE_UNKNOWN, 1000, 1400, BEFORE);
	assert_int_equal(perch_timeline_finish(fixture.timeline, 1500), 0);
	interval = expect(&fixture, 7, PREEMPTED, 1400, 1500, LAST | PERCH_TIMELINE_INVOLUNTARY);
	assert_int_equal(interval->letter, 'R');
	expect(&fixture, 9, RUNNING, 1400, 1500, LAST);
	assert_int_equal(stats_of(&fixture).uncertain, 0);
	end_timeline(&fixture);
}

/* The waking of a thread that has not yet switched is seen before the switch. */
static void test_early_wakeup(void **state)
{
	(void)state;
	begin_timeline(&fixture, ALL, 0);
	feed_switch(&fixture, 100, 0, 0, 0, 7);
	expect(&fixture, 0, RUNNING, 100, 100, BEFORE);
	expect(&fixture, 7, PERCH_TIMELINE_UNKNOWN, 100, 100, BEFORE);
	feed_waking(&fixture, EVENT_WAKING, 190, 1, 8, 7);
	assert_true(fixture.edge[fixture.nr_edges - 1].flags & PERCH_TIMELINE_WOKEN_EARLY);
	feed_switch(&fixture, 200, 0, 7, 1, 0);
	expect(&fixture, 7, RUNNING, 100, 200, 0);
	feed_switch(&fixture, 250, 0, 0, 0, 7);
	expect(&fixture, 0, RUNNING, 200, 250, 0);
	assert_int_equal(
		expect(&fixture, 7, WOKEN, 200, 250, PERCH_TIMELINE_WOKEN_EARLY)->waker_tid, 8);
	/* it had no effect if another one follows */
	feed_waking(&fixture, EVENT_WAKING, 290, 1, 8, 7);
	feed_switch(&fixture, 300, 0, 7, 1, 0);
	feed_waking(&fixture, EVENT_WAKING, 350, 1, 9, 7);
	expect(&fixture, 7, RUNNING, 250, 300, 0);
	expect(&fixture, 7, SLEEPING, 300, 350, 0);
	assert_int_equal(stats_of(&fixture).missing_wakeups, 0);
	end_timeline(&fixture);
}

static void test_fork_and_exit(void **state)
{
	size_t nr;

	(void)state;
	begin_timeline(&fixture, ALL, 0);
	feed_task(&fixture, PERCH_RECORD_FORK, 100, 2, 70, 7);
	assert_int_equal(fixture.edge[0].event, PERCH_TIMELINE_FORK);
	assert_int_equal(fixture.edge[0].other_tid, 7);
	feed_sample(&fixture, EVENT_FORK, 105, 2, 7, (const uint32_t[]){ 7, 70 }, 8);
	assert_int_equal(fixture.nr_edges, 1);
	feed_waking(&fixture, EVENT_WAKEUP_NEW, 110, 2, 7, 70);
	expect(&fixture, 70, PERCH_TIMELINE_NEW, 100, 110, 0);
	feed_switch(&fixture, 130, 3, 0, 0, 70);
	expect(&fixture, 0, RUNNING, 100, 130, BEFORE);
	expect(&fixture, 70, WOKEN, 110, 130, 0);
	feed_task(&fixture, PERCH_RECORD_EXIT, 150, 3, 70, 70);
	feed_switch(&fixture, 160, 3, 70, 0x10, 0);
	expect(&fixture, 70, RUNNING, 130, 160, 0);
	nr = fixture.nr_edges;
	assert_int_equal(fixture.edge[nr - 2].event, PERCH_TIMELINE_EXIT);
	assert_int_equal(fixture.edge[nr - 1].event, PERCH_TIMELINE_END);
	assert_int_equal(fixture.edge_tid[nr - 1], 70);
	assert_null(perch_timeline_find(fixture.timeline, 70, 0));
	/* another thread gets the id, and then a third, without the end of the second */
	feed_task(&fixture, PERCH_RECORD_FORK, 200, 2, 70, 8);
	feed_waking(&fixture, EVENT_WAKEUP_NEW, 210, 2, 8, 70);
	expect(&fixture, 70, PERCH_TIMELINE_NEW, 200, 210, 0);
	feed_task(&fixture, PERCH_RECORD_FORK, 300, 2, 70, 9);
	expect(&fixture, 70, WOKEN, 210, 300, UNCERTAIN | LAST);
	end_timeline(&fixture);
}

/* Without the waking, the wait may have ended earlier; without the switch, all is open. */
static void test_missing(void **state)
{
	struct perch_timeline_stats stats;

	(void)state;
	begin_timeline(&fixture, ALL, 0);
	feed_switch(&fixture, 100, 0, 7, 2, 0);
	expect(&fixture, 7, RUNNING, 100, 100, BEFORE);
	feed_switch(&fixture, 200, 0, 0, 0, 7);
	expect(&fixture, 0, RUNNING, 100, 200, 0);
	expect(&fixture, 7, PERCH_TIMELINE_UNINTERRUPTIBLE, 100, 200, UNCERTAIN);
	assert_int_equal(stats_of(&fixture).missing_wakeups, 1);
	/* 7 -> 8 is missing */
	feed_switch(&fixture, 300, 0, 8, 1, 0);
	expect(&fixture, 7, RUNNING, 200, 300, UNCERTAIN);
	expect(&fixture, 8, PERCH_TIMELINE_UNKNOWN, 100, 300, BEFORE | UNCERTAIN);
	expect(&fixture, 8, RUNNING, 300, 300, UNCERTAIN);
	/* 8 came to CPU 1, and its switch from there to CPU 2 is missing */
	feed_waking(&fixture, EVENT_WAKING, 350, 0, 0, 8);
	expect(&fixture, 8, SLEEPING, 300, 350, 0);
	feed_switch(&fixture, 400, 1, 0, 0, 8);
	expect(&fixture, 0, RUNNING, 100, 400, BEFORE);
	expect(&fixture, 8, WOKEN, 350, 400, 0);
	feed_switch(&fixture, 500, 2, 0, 0, 8);
	expect(&fixture, 0, RUNNING, 100, 500, BEFORE);
	expect(&fixture, 8, RUNNING, 400, 500, UNCERTAIN);
	/* time goes backwards */
	feed_switch(&fixture, 450, 2, 8, 1, 0);
	expect(&fixture, 8, RUNNING, 500, 500, UNCERTAIN);
	stats = stats_of(&fixture);
	assert_int_equal(stats.backwards, 1);
	assert_int_equal(stats.missing_switches, 3);
	assert_int_equal(stats.uncertain, 6);
	assert_int_equal(stats.intervals, fixture.nr);
	end_timeline(&fixture);
}

static void test_lost(void **state)
{
	(void)state;
	begin_timeline(&fixture, ALL, 0);
	/* announced: CPU 1 from 250 to 260, and all CPUs from 700 on */
	assert_int_equal(perch_timeline_add_loss(fixture.timeline, 1, 250, 260, NULL), 0);
	assert_int_equal(perch_timeline_add_loss(fixture.timeline, UINT32_MAX, 700, 710, NULL), 0);
	feed_switch(&fixture, 100, 0, 0, 0, 7);
	feed_switch(&fixture, 100, 1, 0, 0, 8);
	fixture.taken = fixture.nr;
	feed_switch(&fixture, 255, 0, 7, 1, 0);
	expect(&fixture, 7, RUNNING, 100, 255, 0);
	feed_switch(&fixture, 256, 1, 8, 1, 0);
	expect(&fixture, 8, RUNNING, 100, 256, UNCERTAIN);
	/* 7 was off the CPU, and may have run on CPU 1 */
	feed_waking(&fixture, EVENT_WAKING, 300, 0, 0, 7);
	expect(&fixture, 7, SLEEPING, 255, 300, UNCERTAIN);
	feed_switch(&fixture, 310, 0, 0, 0, 7);
	expect(&fixture, 0, RUNNING, 255, 310, 0);
	expect(&fixture, 7, WOKEN, 300, 310, 0);
	feed_lost(&fixture, 400, 0);
	assert_int_equal(stats_of(&fixture).lost, 5);
	feed_switch(&fixture, 410, 0, 7, 1, 0);
	expect(&fixture, 7, RUNNING, 310, 410, UNCERTAIN);
	feed_switch(&fixture, 420, 1, 0, 0, 9);
	expect(&fixture, 0, RUNNING, 256, 420, UNCERTAIN);
	expect(&fixture, 9, PERCH_TIMELINE_UNKNOWN, 100, 420, BEFORE | UNCERTAIN);
	feed_switch(&fixture, 720, 1, 9, 1, 0);
	expect(&fixture, 9, RUNNING, 420, 720, UNCERTAIN);
	/* at the end of a file: of the same records, and of others */
	feed_losses(&fixture, PERCH_RECORD_LOST_SAMPLES, 730, 0, 4);
	assert_int_equal(stats_of(&fixture).lost, 5);
	feed_losses(&fixture, PERCH_RECORD_LOST_SAMPLES, 730, 0, 3);
	assert_int_equal(stats_of(&fixture).lost, 7);
	end_timeline(&fixture);
}

/* Records of all CPUs, without tracepoints. */
static void test_switch_records(void **state)
{
	struct perch_record last;

	(void)state;
	begin_timeline(&fixture, 0, 0);
	feed_switch_records(&fixture, PERCH_RECORD_SWITCH_CPU_WIDE, 100, 0, 7, false, 8);
	assert_int_equal(expect(&fixture, 7, RUNNING, 100, 100, BEFORE)->next_tid, 8);
	expect(&fixture, 8, PERCH_TIMELINE_UNKNOWN, 100, 100, BEFORE);
	feed_switch_records(&fixture, PERCH_RECORD_SWITCH_CPU_WIDE, 200, 0, 8, true, 9);
	expect(&fixture, 8, RUNNING, 100, 200, 0);
	expect(&fixture, 9, PERCH_TIMELINE_UNKNOWN, 100, 200, BEFORE);
	feed_switch_records(&fixture, PERCH_RECORD_SWITCH_CPU_WIDE, 250, 1, 0, false, 7);
	expect(&fixture, 0, RUNNING, 100, 250, BEFORE);
	expect(&fixture, 7, PERCH_TIMELINE_BLOCKED, 100, 250, 0);
	assert_int_equal(fixture.edge[fixture.nr_edges - 1].event, PERCH_TIMELINE_MIGRATION);
	assert_int_equal(fixture.edge[fixture.nr_edges - 1].from_cpu, 0);
	assert_int_equal(fixture.edge[fixture.nr_edges - 1].cpu, 1);
	/* the last switch of a thread has no id */
	feed_task(&fixture, PERCH_RECORD_EXIT, 300, 1, 7, 1);
	last = record_of(PERCH_RECORD_SWITCH_CPU_WIDE, 310, 1, UINT32_MAX);
	last.context_switch = (struct perch_switch_record){ .out = true };
	feed(&fixture, &last);
	expect(&fixture, 7, RUNNING, 250, 310, 0);
	assert_int_equal(fixture.edge[fixture.nr_edges - 1].event, PERCH_TIMELINE_END);
	assert_int_equal(perch_timeline_finish(fixture.timeline, 0), 0);
	expect(&fixture, 8, PREEMPTED, 200, 310, PERCH_TIMELINE_INVOLUNTARY | LAST);
	expect(&fixture, 9, RUNNING, 200, 310, LAST);
	assert_int_equal(stats_of(&fixture).uncertain, 0);
	end_timeline(&fixture);
}

/* Of some threads: sched_switch only says how they leave, SWITCH when they come back. */
static void test_some_threads(void **state)
{
	struct perch_record record = record_of(PERCH_RECORD_SWITCH, 100, 0, 7);

	(void)state;
	begin_timeline(&fixture, 1 << EVENT_SWITCH, 0);
	record.context_switch = (struct perch_switch_record){ .out = false };
	feed(&fixture, &record);
	expect(&fixture, 7, PERCH_TIMELINE_UNKNOWN, 100, 100, BEFORE);
	feed_switch(&fixture, 200, 0, 7, 2, 99);
	expect(&fixture, 7, RUNNING, 100, 200, 0);
	record.sample_id.time = 201;
	record.context_switch.out = true;
	feed(&fixture, &record);
	assert_null(perch_timeline_find(fixture.timeline, 99, 0));
	record.sample_id.time = 300;
	record.context_switch.out = false;
	feed(&fixture, &record);
	expect(&fixture, 7, PERCH_TIMELINE_UNINTERRUPTIBLE, 200, 300, 0);
	feed_task(&fixture, PERCH_RECORD_EXIT, 400, 0, 7, 1);
	expect(&fixture, 7, RUNNING, 300, 400, 0);
	assert_null(perch_timeline_find(fixture.timeline, 7, 0));
	end_timeline(&fixture);
}

/* Both kinds of records of a switch are one switch. */
static void test_both(void **state)
{
	(void)state;
	begin_timeline(&fixture, 1 << EVENT_SWITCH, 0);
	for (uint32_t i = 1; i <= 10; i++) {
		feed_switch(&fixture, 100 * i, 0, 7 + (i & 1), 1, 7 + !(i & 1));
		feed_switch_records(&fixture, PERCH_RECORD_SWITCH_CPU_WIDE, 100 * i + 1, 0,
				    7 + (i & 1), false, 7 + !(i & 1));
	}
	assert_int_equal(fixture.nr, 20);
	assert_int_equal(stats_of(&fixture).uncertain, 0);
	perch_timeline_free(fixture.timeline);
}

static const char *kinds_of(const char *print_fmt, const uint32_t *states, size_t nr)
{
	static char kinds[16];
	char text[4096];
	struct perch_error err;

	snprintf(text, sizeof(text), "%.*s%s",
		 (int)(strstr(timeline_formats[EVENT_SWITCH], "print fmt") -
		       timeline_formats[EVENT_SWITCH]),
		 timeline_formats[EVENT_SWITCH], print_fmt);
	begin_timeline(&fixture, 0, 0);
	assert_int_equal(add_format(fixture.timeline, EVENT_SWITCH, text, &err), 1);
	memset(kinds, 0, sizeof(kinds));
	for (uint32_t i = 0; i < nr; i++)
		feed_switch(&fixture, 100, i, 10 + i, states[i], 0);
	assert_int_equal(perch_timeline_finish(fixture.timeline, 200), 0);
	for (size_t i = 0; i < fixture.nr; i++)
		if (fixture.thread[i].tid && fixture.interval[i].state != RUNNING)
			kinds[fixture.thread[i].tid - 10] = (char)fixture.interval[i].letter;
	perch_timeline_free(fixture.timeline);
	return kinds;
}

/* prev_state of Linux 4.14 and later, and of 4.4. */
static void test_task_states(void **state)
{
	static const uint32_t recent[] = { 0, 0x100, 1, 2, 4, 8, 0x40, 0x80 };
	static const uint32_t old[] = { 0, 0x800, 1, 2, 4, 0x81, 0x200, 0x402, 0x801 };

	(void)state;
	assert_string_equal(kinds_of(STATES, recent, sizeof(recent) / sizeof(*recent)), "RRSDTtPI");
	assert_string_equal(kinds_of("print fmt: \"%s\", REC->a\n", recent,
				     sizeof(recent) / sizeof(*recent)),
			    "RRSDTtPI");
	assert_string_equal(
		kinds_of("print fmt: \"%s%s\", REC->prev_state & (2048-1) ? "
			 "__print_flags(REC->prev_state & (2048-1), \"|\", { 1, \"S\"} , "
			 "{ 2, \"D\" }, { 4, \"T\" }, { 8, \"t\" }, { 16, \"Z\" }, { 32, \"X\" }, "
			 "{ 64, \"x\" }, { 128, \"K\" }, { 256, \"W\" }, { 512, \"P\" }, "
			 "{ 1024, \"N\" }) : \"R\", REC->prev_state & 2048 ? \"+\" : \"\"\n",
			 old, sizeof(old) / sizeof(*old)),
		"RRSDTSPIS");
	/* what is no letter is none, as if the format lacked it */
	assert_string_equal(
		kinds_of("print fmt: \"%s%s\", REC->prev_state ? "
			 "__print_flags(REC->prev_state, \"|\", { 1, \"S\" }, { 2, \"\033\" }, "
			 "{ 4, \"\" }, { 8, \"t\" }) : \"R\", \"\"\n",
			 (const uint32_t[]){ 1, 2, 4, 8, 0x10 }, 5),
		"SRRtR");
}

/* A file with a million thread ids gets no memory for them. */
static void test_limit(void **state)
{
	struct perch_timeline_stats stats;

	(void)state;
	begin_timeline(&fixture, ALL, 10);
	for (uint32_t i = 0; i < 1000; i++)
		feed_waking(&fixture, EVENT_WAKING, 100 + i, 0, 1, 1000 + i);
	stats = stats_of(&fixture);
	assert_int_equal(stats.most_threads, 10);
	assert_int_equal(stats.left_out, 990);
	perch_timeline_free(fixture.timeline);
	/* entries of threads that have ended are used again */
	begin_timeline(&fixture, ALL, 10);
	for (uint32_t i = 0; i < 1000; i++) {
		feed_task(&fixture, PERCH_RECORD_FORK, 100 + i * 10, 0, 1000 + i, 1);
		feed_waking(&fixture, EVENT_WAKEUP_NEW, 101 + i * 10, 0, 1, 1000 + i);
		feed_switch(&fixture, 102 + i * 10, 0, 0, 0, 1000 + i);
		feed_switch(&fixture, 103 + i * 10, 0, 1000 + i, 0x20, 0);
	}
	stats = stats_of(&fixture);
	assert_int_equal(stats.left_out, 0);
	assert_in_range(stats.most_threads, 2, 3);
	assert_int_equal(stats.uncertain, 0);
	perch_timeline_free(fixture.timeline);
}

/* In a container, thread 7 of the kernel is thread 2 of the records. */
static void test_namespace(void **state)
{
	static _Alignas(8) char raw[64];
	const uint32_t words[] = { 7, 120, 1, 0, 0, 0, 0, 0, 0, 120 }, context = 7;
	struct perch_record record = record_of(PERCH_RECORD_SAMPLE, 100, 0, 2);

	(void)state;
	begin_timeline(&fixture, ALL, 0);
	memcpy(raw + 4, &context, sizeof(context));
	memcpy(raw + 24, words, sizeof(words));
	record.event = EVENT_SWITCH;
	record.sample.raw.data = raw;
	record.sample.raw.size = sizeof(raw);
	feed(&fixture, &record);
	expect(&fixture, 7, RUNNING, 100, 100, BEFORE);
	assert_int_equal(fixture.thread[0].pid, 0);
	feed_task(&fixture, PERCH_RECORD_FORK, 110, 0, 3, 2);
	assert_null(perch_timeline_find(fixture.timeline, 3, 0));
	feed_task(&fixture, PERCH_RECORD_EXIT, 120, 0, 7, 7);
	feed_waking(&fixture, EVENT_WAKING, 130, 0, 9, 7);
	expect(&fixture, 7, SLEEPING, 100, 130, 0);
	feed_switch(&fixture, 140, 0, 0, 0, 7);
	expect(&fixture, 0, RUNNING, 100, 140, 0);
	expect(&fixture, 7, WOKEN, 130, 140, 0);
	end_timeline(&fixture);
}

/* A damaged file has a thread without an id: it is not the idle thread of a CPU. */
static void test_no_thread(void **state)
{
	static struct timeline_fixture of;

	(void)state;
	begin_timeline(&of, 1u << EVENT_SWITCH, 0);
	feed_switch(&of, 100, 0, 1, 1, 0);
	feed_switch(&of, 200, 0, 0, 0, 1);
	feed_task(&of, PERCH_RECORD_EXIT, 250, 0, UINT32_MAX, 1);
	assert_int_equal(stats_of(&of).damaged, 0);
	feed_switch(&of, 300, 0, 1, 1, UINT32_MAX);
	feed_task(&of, PERCH_RECORD_FORK, 350, 0, UINT32_MAX, 1);
	feed_switch(&of, 3000000000, 0, 0, 0, 1);
	feed_switch(&of, 3000000100, 0, 1, 1, 0);
	assert_int_equal(stats_of(&of).damaged, 2);
	assert_int_equal(stats_of(&of).most_threads, 2);
	for (size_t i = 0; i < of.nr; i++)
		assert_in_range(of.thread[i].tid, 0, 1);
	assert_int_equal(of.nr_edges, 0);
	perch_timeline_free(of.timeline);
}

static void test_errors(void **state)
{
	struct perch_record sample = record_of(PERCH_RECORD_SAMPLE, 100, 0, 1);
	struct perch_error err;

	(void)state;
	begin_timeline(&fixture, ALL, 0);
	assert_int_equal(add_format(fixture.timeline, 9,
				    "name: sched_switch\nID: 1\nformat:\n"
				    "\tfield:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;\n",
				    &err),
			 -EBADMSG);
	assert_non_null(strstr(err.message, "next_pid"));
	assert_int_equal(add_format(fixture.timeline, 9,
				    "name: sched_other\nID: 1\nformat:\n"
				    "\tfield:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;\n",
				    &err),
			 0);
	sample.event = EVENT_SWITCH;
	sample.sample.raw.data = "short";
	sample.sample.raw.size = 5;
	feed(&fixture, &sample);
	sample.sample_id.has = 0;
	feed(&fixture, &sample);
	assert_int_equal(stats_of(&fixture).damaged, 2);
	assert_null(perch_timeline_state_name(PERCH_TIMELINE_STATES));
	end_timeline(&fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_wakeup),	      cmocka_unit_test(test_early_wakeup),
		cmocka_unit_test(test_fork_and_exit), cmocka_unit_test(test_missing),
		cmocka_unit_test(test_lost),	      cmocka_unit_test(test_switch_records),
		cmocka_unit_test(test_some_threads),  cmocka_unit_test(test_both),
		cmocka_unit_test(test_task_states),   cmocka_unit_test(test_limit),
		cmocka_unit_test(test_no_thread),     cmocka_unit_test(test_errors),
		cmocka_unit_test(test_namespace),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
