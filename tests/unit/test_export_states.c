/* SPDX-License-Identifier: MIT */
/* What threads and CPUs did, in bounded memory: sums stay exact, whatever is merged or left out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "export/states.h"

#define CPUS 4

static struct export_states states;
static uint64_t sums[EXPORT_STATES]; /* of all intervals of threads */

static void begin(size_t max_tracks, size_t max_spans)
{
	perch__states_init(&states, 1);
	states.max_tracks = max_tracks;
	states.max_spans = max_spans;
	memset(sums, 0, sizeof(sums));
}

static void add(uint32_t tid, uint32_t cpu, uint32_t state, uint64_t start, uint64_t end)
{
	const struct perch_timeline_thread thread = { .tid = tid, .pid = tid / 10, .name = "a\n" };
	const struct perch_timeline_interval interval = {
		.thread = &thread, .start = start, .end = end, .state = state, .cpu = cpu
	};

	assert_int_equal(perch__states_interval(&states, &interval), 0);
}

static const struct state_track *find(bool is_cpu, uint32_t id)
{
	for (size_t i = 0; i < states.nr_tracks; i++)
		if (states.track[i].is_cpu == is_cpu && states.track[i].id == id)
			return &states.track[i];
	return NULL;
}

static void assert_span(const struct state_track *track, size_t i, unsigned state, uint64_t start,
			uint64_t end)
{
	assert_in_range(i, 0, track->nr - 1);
	assert_int_equal(track->span[i].start, start);
	assert_int_equal(track->span[i].end, end);
	assert_true(track->span[i].ns[state] == (float)(end - start));
}

/* Spans follow each other, their times are those of the tracks, and their number is right. */
static void check_tracks(size_t most)
{
	uint64_t all[EXPORT_STATES] = { 0 };
	size_t nr = 0;

	for (size_t i = 0; i < states.nr_tracks; i++) {
		const struct state_track *track = &states.track[i];
		float ns[EXPORT_STATES] = { 0 };

		for (size_t k = 0; k < track->nr; k++) {
			assert_true(track->span[k].start < track->span[k].end);
			assert_true(!k || track->span[k - 1].end <= track->span[k].start);
			for (size_t state = 0; state < EXPORT_STATES; state++)
				ns[state] += track->span[k].ns[state];
		}
		for (size_t state = 0; state < EXPORT_STATES; state++) {
			float sum = (float)track->sum[state];

			assert_true(ns[state] > sum * 0.999f - 1 && ns[state] < sum * 1.001f + 1);
			all[state] += track->is_cpu ? 0 : track->sum[state];
		}
		nr += track->nr;
	}
	for (size_t state = 0; state < EXPORT_STATES; state++)
		assert_int_equal(all[state] + states.left_sum[state], sums[state]);
	assert_int_equal(nr, states.nr_spans);
	assert_in_range(nr, 0, most);
}

static void keeps_few_spans(void **unused)
{
	(void)unused;
	begin(100, 1000);
	add(11, 1, PERCH_TIMELINE_RUNNING, 100, 200);
	add(11, 1, PERCH_TIMELINE_UNINTERRUPTIBLE, 200, 900);
	add(12, 1, PERCH_TIMELINE_RUNNING, 250, 300);
	add(12, 1, PERCH_TIMELINE_PREEMPTED, 300, 310);
	add(12, 1, PERCH_TIMELINE_RUNNING, 310, 320);
	add(12, 1, PERCH_TIMELINE_RUNNING, 320, 330); /* the same state: one span */
	add(0, 1, PERCH_TIMELINE_RUNNING, 330, 900);  /* idle */
	add(11, UINT32_MAX, PERCH_TIMELINE_WOKEN, 900, 901);
	assert_int_equal(states.nr_tracks, 3);
	assert_string_equal(find(false, 11)->name, "a?");
	assert_int_equal(find(false, 11)->pid, 1);
	assert_span(find(false, 11), 0, EXPORT_RUNNING, 100, 200);
	assert_span(find(false, 11), 1, EXPORT_DISK, 200, 900);
	assert_span(find(false, 11), 2, EXPORT_RUNNABLE, 900, 901);
	assert_span(find(false, 12), 1, EXPORT_PREEMPTED, 300, 310);
	assert_span(find(false, 12), 2, EXPORT_RUNNING, 310, 330);
	assert_int_equal(find(true, 1)->nr, 3);
	assert_int_equal(find(true, 1)->span[1].tid, 12);
	assert_int_equal(states.first, 100);
	assert_int_equal(states.last, 901);
	assert_int_equal(states.quantum, 0);
	perch__states_clear(&states);
}

/* A thread with the id of one that has ended has a track of its own. */
static void separates_ids(void **unused)
{
	(void)unused;
	begin(100, 1000);
	add(11, 0, PERCH_TIMELINE_RUNNING, 100, 200);
	perch__states_end(&states, 11);
	add(11, 0, PERCH_TIMELINE_RUNNING, 300, 400);
	assert_int_equal(states.nr_tracks, 3);
	perch__states_clear(&states);
}

/* Time that goes backwards, and ids without limit, do no harm. */
static void survives_nonsense(void **unused)
{
	(void)unused;
	begin(100, 1000);
	add(11, UINT32_MAX - 1, PERCH_TIMELINE_RUNNING, 500, 600);
	add(11, 8191, PERCH_TIMELINE_RUNNING, 100, 550);
	add(11, 8192, 99, 590, UINT64_MAX);
	add(UINT32_MAX, 0, PERCH_TIMELINE_DEAD, 0, UINT64_MAX);
	assert_int_equal(find(false, 11)->sum[EXPORT_RUNNING], 100);
	assert_int_equal(find(false, 11)->sum[EXPORT_OFF], UINT64_MAX - 600);
	assert_int_equal(perch__states_select(&states, 1, 1, 1), 0);
	perch__states_clear(&states);
}

/* Random intervals of many threads on a few CPUs. */
static void add_random(uint32_t threads, size_t nr)
{
	uint64_t now[CPUS] = { 0 }, off[1000] = { 0 };

	srand(1);
	for (size_t i = 0; i < nr; i++) {
		uint32_t cpu = i % CPUS, tid = (uint32_t)rand() % (threads / CPUS) * CPUS + cpu + 1;
		unsigned state = PERCH_TIMELINE_WOKEN + (unsigned)rand() % 4;
		uint64_t length = 1 + (uint64_t)rand() % 5000, *since = &off[tid % 1000];

		if (*since && *since < now[cpu]) {
			static const unsigned as[] = { EXPORT_RUNNABLE, EXPORT_PREEMPTED,
						       EXPORT_BLOCKED, EXPORT_BLOCKED };

			add(tid, cpu, state, *since, now[cpu]);
			sums[as[state - PERCH_TIMELINE_WOKEN]] += now[cpu] - *since;
		}
		add(tid, cpu, PERCH_TIMELINE_RUNNING, now[cpu], now[cpu] + length);
		sums[EXPORT_RUNNING] += length;
		*since = now[cpu] += length;
	}
}

static void merges_short_spans(void **unused)
{
	(void)unused;
	begin(1000, 5000);
	add_random(400, 300000);
	assert_int_equal(states.nr_tracks, 400 + CPUS);
	assert_true(states.quantum > 0);
	check_tracks(5000);
	assert_int_equal(perch__states_select(&states, 1000, 1000, 900), 0);
	check_tracks(900);
	assert_int_equal(states.nr_tracks, 400 + CPUS);
	perch__states_clear(&states);
}

static void leaves_out_threads(void **unused)
{
	(void)unused;
	begin(100, 5000);
	add_random(800, 100000);
	assert_in_range(states.nr_tracks, 1, 100);
	check_tracks(5000);
	assert_int_equal(perch__states_select(&states, 10, 2, 100), 0);
	check_tracks(100);
	assert_int_equal(states.nr_tracks, 12);
	assert_in_range(states.left_out, 790, 800);
	perch__states_clear(&states);
}

static void add_off_cpu(uint64_t start, uint64_t end, uint64_t ns, uint64_t intervals,
			uint32_t flags)
{
	const struct perch_off_cpu off_cpu = { .pid = 1,
					       .tid = 7,
					       .ns = ns,
					       .start = start,
					       .intervals = intervals,
					       .state = PERCH_OFF_CPU_UNINTERRUPTIBLE,
					       .flags = flags };

	assert_int_equal(perch__states_off_cpu(&states, &off_cpu, end, 50, "name"), 0);
}

/* A thread that is not off the CPU runs. Short intervals have a sum and no place. */
static void takes_off_cpu_time(void **unused)
{
	const struct state_track *track;

	(void)unused;
	begin(100, 1000);
	add_off_cpu(100, 200, 100, 1, 0);
	add_off_cpu(1000, 1500, 500, 1, 0);
	track = find(false, 7);
	assert_int_equal(track->nr, 4);
	assert_span(track, 0, EXPORT_RUNNING, 50, 100);
	assert_span(track, 1, EXPORT_DISK, 100, 200);
	assert_span(track, 2, EXPORT_RUNNING, 200, 1000);
	add_off_cpu(210, 2000, 130, 13, 0);
	assert_int_equal(track->sum[EXPORT_RUNNING], 50 + 800 - 130);
	assert_int_equal(track->sum[EXPORT_DISK], 100 + 500 + 130);
	assert_true(track->span[2].ns[EXPORT_DISK] > 129 && track->span[2].ns[EXPORT_DISK] < 131);
	add_off_cpu(1400, 2000, 70, 7, 0); /* it runs after that, or it is off the CPU now */
	assert_int_equal(track->sum[EXPORT_DISK], 100 + 500 + 130);
	assert_int_equal(perch__states_exit(&states, 7, 2100), 0);
	assert_int_equal(track->sum[EXPORT_RUNNING], 50 + 800 - 130 + 600 - 70);
	add_off_cpu(60, 2200, 30, 3, 0); /* a sum that follows */
	assert_int_equal(track->sum[EXPORT_DISK], 100 + 500 + 130 + 70 + 30);
	assert_int_equal(perch__states_all_ran(&states, 9000), 0);
	assert_int_equal(track->end, 2100);
	assert_int_equal(perch__states_fork(&states, 1, 7, 5000), 0);
	assert_int_equal(perch__states_all_ran(&states, 9000), 0);
	assert_int_equal(states.nr_tracks, 2);
	assert_span(&states.track[1], 0, EXPORT_RUNNING, 5000, 9000);
	perch__states_clear(&states);

	begin(100, 1000);
	add_off_cpu(60, 90, 30, 1, PERCH_OFF_CPU_BEGAN_BEFORE);
	assert_int_equal(states.track[0].nr, 1);
	perch__states_clear(&states);
}

/* What a hostile recording can have: many spans of a thread that is soon idle, and sums of all
 * time. */
static void bounds_memory_and_time(void **unused)
{
	const struct state_track *track;

	(void)unused;
	begin(100, 1000);
	states.max_fine_tracks = 1;
	for (uint64_t i = 0; i < 600; i++)
		add(10, UINT32_MAX, i % 2 ? PERCH_TIMELINE_RUNNING : PERCH_TIMELINE_SLEEPING, i,
		    i + 1);
	for (uint64_t i = 0; i < 600; i++)
		add(20, UINT32_MAX, i % 2 ? PERCH_TIMELINE_RUNNING : PERCH_TIMELINE_SLEEPING,
		    10 * i, 10 * i + 10);
	track = find(false, 10);
	assert_int_equal(track->nr, 1);
	assert_in_range(track->capacity, 1, 4);
	perch__states_clear(&states);

	begin(100, 100000);
	for (uint64_t i = 1; i <= 2000; i++)
		add_off_cpu(100 * i, 100 * i + 50, 50, 1, 0);
	track = find(false, 7);
	assert_int_equal(track->nr, 4000);
	add_off_cpu(0, 300000, 2000, 2, 0);
	assert_span(track, 0, EXPORT_RUNNING, 50, 100);
	assert_true(track->span[3998].ns[EXPORT_RUNNING] < 50);
	perch__states_clear(&states);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keeps_few_spans),	  cmocka_unit_test(separates_ids),
		cmocka_unit_test(survives_nonsense),	  cmocka_unit_test(merges_short_spans),
		cmocka_unit_test(leaves_out_threads),	  cmocka_unit_test(takes_off_cpu_time),
		cmocka_unit_test(bounds_memory_and_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
