/* SPDX-License-Identifier: MIT */
/* Tests profiles of running measurements: snapshots, and samples that count less with time. */
#include <errno.h>

#include "profile_fixture.h"

static struct perch_profile *snapshot(struct fixture *f)
{
	struct perch_profile *copy;

	assert_int_equal(perch_profile_snapshot(f->profile, &copy, NULL), 0);
	return copy;
}

static void decay(struct fixture *f, uint32_t numerator, uint32_t denominator)
{
	assert_int_equal(perch_profile_decay(f->profile, numerator, denominator, NULL), 0);
}

/* Checks the rows of a snapshot like those of the profile of the fixture. */
static void check(struct fixture *f, size_t nr, uint64_t offset, uint64_t self, uint64_t children,
		  uint64_t samples)
{
	struct perch_profile *live = f->profile, *copy = snapshot(f);

	f->profile = copy;
	assert_int_equal(rows_of(f, 0, true), nr);
	if (nr)
		check_row(f, offset, self, children, samples);
	f->profile = live;
	perch_profile_free(copy);
}

static void begin(struct fixture *f, bool flat)
{
	const struct perch_profile_options options = { .names = "pid,comm,dso,sym", .flat = flat };

	perch_profile_free(f->profile);
	assert_int_equal(perch_profile_new(&f->profile, f->processes, f->symbols, &options, NULL),
			 0);
}

static void snapshots_have_the_samples_so_far(void **state)
{
	struct fixture *f = *state;

	for (int flat = 0; flat < 2; flat++) {
		begin(f, flat);
		check(f, 0, 0, 0, 0, 0);
		hit(f, 0, 10, CODE + 1);
		check(f, 1, CODE + 1, 10, 10, 1);
		hit(f, 0, 20, CODE + 1);
		hit(f, 0, 5, CODE + 2);
		check(f, 2, CODE + 1, 30, 30, 2);
		check(f, 2, CODE + 2, 5, 5, 1);
		finish(f); /* as if there were no snapshots */
		assert_int_equal(rows_of(f, 0, true), 2);
		check_row(f, CODE + 1, 30, 30, 2);
	}
}

/* Columns whose values are in members of the profile: a snapshot has them for itself. */
static void snapshots_are_freed_alone(void **state)
{
	const struct perch_profile_options options = {
		.names = "pid,tid,comm,comm_nodigit,parent,symbol_daddr,dso_daddr,dcacheline,"
			 "symoff,srcline,sym",
		.parent = "nothing",
		.ignore_callees = "nothing",
	};
	struct fixture *f = *state;

	perch_profile_free(f->profile);
	assert_int_equal(perch_profile_new(&f->profile, f->processes, f->symbols, &options, NULL),
			 0);
	for (int i = 1; i <= 3; i++) {
		hit(f, 0, 1, CODE + (uint64_t)i);
		check(f, (size_t)i, CODE + 1, 1, 1, 1);
	}
	finish(f);
	assert_int_equal(rows_of(f, 0, true), 3);
}

static void snapshots_have_call_graphs_and_totals(void **state)
{
	const uint64_t ips[] = { CODE + 1, CODE + 2, CODE + 3 };
	struct perch_profile_total total;
	struct perch_call_graph graph;
	struct fixture *f = *state;
	struct perch_profile *copy;
	struct perch_record other = sample_record(PID, PID, 7, CODE + 9);

	begin(f, false);
	stack(f, 16, NR(ips), ips);
	assert_int_equal(perch_profile_skip(f->profile, &other, NULL), 0);
	decay(f, 1, 2);
	copy = snapshot(f);
	assert_int_equal(perch_profile_rows(copy, 0, NULL, &f->rows, &f->nr, NULL), 0);
	assert_int_equal(perch_profile_call_graph(copy, f->rows, PERCH_CALL_GRAPH_CALLEE, false, 0,
						  &graph, NULL),
			 0);
	assert_int_equal(graph.nr, 4);
	assert_int_equal(graph.node[3].period, 8);
	perch_call_graph_clear(&graph);
	perch_profile_get_total(copy, 0, &total);
	assert_int_equal(total.period, 8);
	assert_int_equal(total.all_period, 8 + 3);
	perch_profile_free(copy);
}

static void old_samples_count_less_and_vanish(void **state)
{
	const uint64_t ips[] = { CODE + 1, CODE + 2 };
	struct fixture *f = *state;

	for (int flat = 0; flat < 2; flat++) {
		begin(f, flat);
		stack(f, 800000, NR(ips), ips);
		decay(f, 7, 8);
		check(f, flat ? 1 : 2, CODE + 1, 700000, 700000, 1);
		stack(f, 800000, NR(ips), ips);
		check(f, flat ? 1 : 2, CODE + 1, 1500000, 1500000, 2);
		for (int i = 0; i < 40; i++)
			decay(f, 7, 8);
		check(f, 0, 0, 0, 0, 0);
		hit(f, 0, 3, CODE + 2);
		check(f, 1, CODE + 2, 3, 3, 1);
		decay(f, 0, 1);
		check(f, 0, 0, 0, 0, 0);
	}
}

/* What is left has new numbers of addresses and contexts. */
static void keeps_what_has_samples(void **state)
{
	struct fixture *f = *state;

	for (int flat = 0; flat < 2; flat++) {
		begin(f, flat);
		for (unsigned i = 0; i < 1000; i++) {
			struct perch_record record =
				sample_record(PID + i % 7, PID + i % 7, 1, CODE + i);

			add(f, &record);
		}
		for (int i = 0; i < 20; i++)
			decay(f, 7, 8);
		hit(f, 0, 1000, CODE + 500);
		hit(f, 0, 1000, CODE + 2000);
		for (int i = 0; i < 20; i++)
			decay(f, 7, 8);
		check(f, 2, CODE + 2000, 67, 67, 1);
		hit(f, 0, 1000, CODE + 2000);
		check(f, 2, CODE + 2000, 1067, 1067, 2);
	}
}

static void goes_on_after_many_decays(void **state)
{
	struct fixture *f = *state;

	begin(f, true);
	for (unsigned round = 0; round < 400; round++) {
		for (unsigned i = 0; i < 200; i++)
			hit(f, 0, 1, CODE + 200 * (round % 300) + i);
		decay(f, 1, 1000);
		check(f, 0, 0, 0, 0, 0);
	}
}

static void refuses_wrong_calls(void **state)
{
	struct fixture *f = *state;
	struct perch_profile *copy;
	struct perch_error err;

	begin(f, true);
	assert_int_equal(perch_profile_decay(f->profile, 9, 8, &err), -EINVAL);
	assert_int_equal(perch_profile_decay(f->profile, 0, 0, &err), -EINVAL);
	finish(f);
	assert_int_equal(perch_profile_decay(f->profile, 7, 8, &err), -EINVAL);
	assert_int_equal(perch_profile_snapshot(f->profile, &copy, &err), -EINVAL);
	assert_null(copy);
}

/* The function of a program: ends the call from a number of calls on. */
struct progress {
	double done;
	unsigned calls, most;
};

static bool go_on(void *context, double done)
{
	struct progress *progress = context;

	assert_true(done >= progress->done && done <= 1);
	progress->done = done;
	return ++progress->calls < progress->most;
}

static void a_program_sees_and_ends_the_work(void **state)
{
	struct fixture *f = *state;
	struct perch_profile *copy;
	struct perch_error err;

	for (int flat = 0; flat < 2; flat++) {
		struct progress progress = { .most = 1000 };
		unsigned calls;

		begin(f, flat);
		hit(f, 0, 1, CODE + 1);
		perch_profile_set_progress(f->profile, go_on, &progress);
		assert_int_equal(perch_profile_snapshot(f->profile, &copy, &err), 0);
		perch_profile_free(copy);
		calls = progress.calls;
		assert_true(calls >= 3 && progress.done >= 0.8);
		/* each call can be the last one, and the profile goes on */
		for (unsigned most = 1; most <= calls; most++) {
			progress = (struct progress){ .most = most };
			assert_int_equal(perch_profile_snapshot(f->profile, &copy, &err),
					 -ECANCELED);
			assert_null(copy);
			assert_int_equal(progress.calls, most);
			assert_string_equal(err.message, "the program ended the call");
		}
		perch_profile_set_progress(f->profile, NULL, NULL);
		check(f, 1, CODE + 1, 1, 1, 1);
		progress = (struct progress){ .most = 1 };
		perch_profile_set_progress(f->profile, go_on, &progress);
		assert_int_equal(perch_profile_finish(f->profile, &err), -ECANCELED);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(snapshots_have_the_samples_so_far),
		TEST(snapshots_are_freed_alone),
		TEST(snapshots_have_call_graphs_and_totals),
		TEST(old_samples_count_less_and_vanish),
		TEST(keeps_what_has_samples),
		TEST(goes_on_after_many_decays),
		TEST(refuses_wrong_calls),
		TEST(a_program_sees_and_ends_the_work),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
