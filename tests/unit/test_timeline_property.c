/* SPDX-License-Identifier: MIT */
/*
 * Properties of timelines that hold for any records, also senseless ones: the intervals of a thread
 * follow each other without gaps, up to the end of the thread; and for what a simulated scheduler
 * records, the intervals are what it did, and none is uncertain.
 */
#include "timeline_fixture.h"

#define SEQUENCES 300
#define RECORDS	  400
#define TIDS	  12
#define CPUS	  3

static struct timeline_fixture fixture;

static uint32_t random_below(uint64_t *state, uint32_t limit)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*state >> 33) % limit;
}

/* ---- any records ---- */

static void feed_random(uint64_t *state, uint64_t *time)
{
	uint32_t tid = random_below(state, TIDS), other = random_below(state, TIDS);
	uint32_t cpu = random_below(state, CPUS);

	*time += random_below(state, 20);
	if (!random_below(state, 50))
		*time -= *time > 2000 ? 30 : 0;
	switch (random_below(state, 10)) {
	case 0:
		feed_waking(&fixture, EVENT_WAKING, *time, cpu, other, tid);
		break;
	case 1:
		feed_waking(&fixture, EVENT_WAKEUP_NEW, *time, cpu, other, tid);
		break;
	case 2:
		feed_task(&fixture, PERCH_RECORD_FORK, *time, cpu, tid, other);
		break;
	case 3:
		feed_task(&fixture, PERCH_RECORD_EXIT, *time, cpu, tid, other);
		break;
	case 4:
		feed_lost(&fixture, *time, cpu);
		break;
	case 5:
		feed_switch_records(&fixture, PERCH_RECORD_SWITCH_CPU_WIDE, *time, cpu, tid,
				    other & 1, other);
		break;
	case 6:
		feed_sample(&fixture, EVENT_MIGRATE, *time, cpu, other,
			    (const uint32_t[]){ tid, cpu, other % CPUS }, 12);
		break;
	default:
		feed_switch(&fixture, *time, cpu, tid, 1u << random_below(state, 9), other);
	}
}

/* Checks the intervals of all threads; returns how many are uncertain. */
static uint64_t check_chains(void)
{
	uint64_t end[TIDS + CPUS + 1] = { 0 }, uncertain = 0;
	bool open[TIDS + CPUS + 1] = { false };
	size_t edge = 0;

	for (size_t i = 0; i < fixture.nr; i++) {
		const struct perch_timeline_interval *interval = &fixture.interval[i];
		const struct perch_timeline_thread *thread = &fixture.thread[i];
		uint32_t index = thread->index;

		assert_in_range(index, 0, TIDS + CPUS);
		assert_true(interval->end >= interval->start);
		assert_true(interval->state < PERCH_TIMELINE_STATES);
		/* an edge END between two intervals of an index: another thread */
		for (; edge < fixture.nr_edges && fixture.edge_after[edge] <= i; edge++)
			if (fixture.edge[edge].event == PERCH_TIMELINE_END)
				open[fixture.edge_index[edge]] = false;
		if (open[index] && thread->tid)
			assert_int_equal(interval->start, end[index]);
		open[index] = true;
		end[index] = interval->end;
		uncertain += interval->flags & PERCH_TIMELINE_UNCERTAIN;
	}
	return uncertain;
}

static void test_no_gaps(void **state)
{
	struct perch_timeline_stats stats;

	(void)state;
	for (uint64_t seed = 1; seed <= SEQUENCES; seed++) {
		uint64_t random = seed * 77, time = 1000;
		uint32_t ends = 0;

		begin_timeline(&fixture, seed & 1 ? UINT32_MAX : 1 << EVENT_SWITCH, 0);
		for (int i = 0; i < RECORDS; i++)
			feed_random(&random, &time);
		assert_int_equal(perch_timeline_finish(fixture.timeline, 0), 0);
		perch_timeline_get_stats(fixture.timeline, &stats);
		assert_int_equal(check_chains(), stats.uncertain);
		assert_int_equal(stats.intervals, fixture.nr);
		for (size_t i = 0; i < fixture.nr_edges; i++)
			ends += fixture.edge[i].event == PERCH_TIMELINE_END;
		assert_true(ends >= stats.most_threads);
		perch_timeline_free(fixture.timeline);
	}
}

/* ---- a scheduler ---- */

struct simulated {
	uint32_t state; /* enum perch_timeline_state; UNKNOWN: it does not exist */
	uint32_t cpu;
	uint64_t since, ns[PERCH_TIMELINE_STATES];
};

static void change(struct simulated *thread, uint32_t state, uint64_t time)
{
	thread->ns[thread->state] += time - thread->since;
	thread->state = state;
	thread->since = time;
}

/* Lets a CPU run another thread, or none. */
static void reschedule(struct simulated *threads, uint32_t *running, uint64_t *random,
		       uint64_t time, uint32_t cpu, uint32_t kind)
{
	static const uint32_t states[] = { PERCH_TIMELINE_PREEMPTED, PERCH_TIMELINE_SLEEPING,
					   PERCH_TIMELINE_UNINTERRUPTIBLE };
	static const uint32_t bits[] = { 0x100, 1, 2, 0x20 };
	uint32_t prev = running[cpu], next = 0;

	for (uint32_t i = 0, at = random_below(random, TIDS); i < TIDS && !next; i++) {
		uint32_t tid = 1 + (at + i) % (TIDS - 1);

		if (threads[tid].state == PERCH_TIMELINE_WOKEN ||
		    threads[tid].state == PERCH_TIMELINE_PREEMPTED)
			next = tid;
	}
	if (next == prev)
		return;
	if (prev && kind == 3) {
		feed_task(&fixture, PERCH_RECORD_EXIT, time, cpu, prev, prev);
		change(&threads[prev], PERCH_TIMELINE_UNKNOWN, time);
	} else if (prev) {
		change(&threads[prev], states[kind], time);
	}
	feed_switch(&fixture, time, cpu, prev, prev ? bits[kind] : 0, next);
	if (next)
		change(&threads[next], PERCH_TIMELINE_RUNNING, time);
	running[cpu] = next;
}

static void step(struct simulated *threads, uint32_t *running, uint64_t *random, uint64_t time)
{
	uint32_t tid = 1 + random_below(random, TIDS - 1), cpu = random_below(random, CPUS);
	struct simulated *thread = &threads[tid];

	if (thread->state == PERCH_TIMELINE_UNKNOWN) {
		feed_task(&fixture, PERCH_RECORD_FORK, time, cpu, tid, running[cpu]);
		thread->since = time;
		thread->state = PERCH_TIMELINE_NEW;
	} else if (thread->state == PERCH_TIMELINE_NEW) {
		feed_waking(&fixture, EVENT_WAKEUP_NEW, time, cpu, running[cpu], tid);
		change(thread, PERCH_TIMELINE_WOKEN, time);
	} else if (thread->state >= PERCH_TIMELINE_BLOCKED) {
		feed_waking(&fixture, EVENT_WAKING, time, cpu, running[cpu], tid);
		change(thread, PERCH_TIMELINE_WOKEN, time);
	} else {
		reschedule(threads, running, random, time, cpu, random_below(random, 4));
	}
}

static void test_simulated(void **state)
{
	struct perch_timeline_stats stats;

	(void)state;
	for (uint64_t seed = 1; seed <= SEQUENCES; seed++) {
		struct simulated threads[TIDS] = { 0 };
		uint64_t random = seed * 99, time = 1000, ns[TIDS][PERCH_TIMELINE_STATES] = { 0 };
		uint32_t running[CPUS] = { 0 };

		begin_timeline(&fixture, UINT32_MAX, 0);
		for (int i = 0; i < 2 * RECORDS; i++) {
			time += 1 + random_below(&random, 20);
			step(threads, running, &random, time);
		}
		assert_int_equal(perch_timeline_finish(fixture.timeline, time), 0);
		perch_timeline_get_stats(fixture.timeline, &stats);
		assert_int_equal(stats.uncertain, 0);
		for (size_t i = 0; i < fixture.nr; i++)
			ns[fixture.thread[i].tid][fixture.interval[i].state] +=
				fixture.interval[i].end - fixture.interval[i].start;
		for (uint32_t tid = 1; tid < TIDS; tid++) {
			if (threads[tid].state != PERCH_TIMELINE_UNKNOWN)
				change(&threads[tid], threads[tid].state, time);
			threads[tid].ns[PERCH_TIMELINE_UNKNOWN] = 0;
			assert_memory_equal(ns[tid], threads[tid].ns, sizeof(ns[tid]));
		}
		perch_timeline_free(fixture.timeline);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_gaps),
		cmocka_unit_test(test_simulated),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
