/* SPDX-License-Identifier: MIT */
/* Tests latencies: periods divided by the number of threads that run. */
#include <errno.h>
#include "profile_fixture.h"

static void start_with(struct fixture *f, struct perch_profile_options options)
{
	options.latencies = 1;
	assert_int_equal(perch_profile_new(&f->profile, f->processes, f->symbols, &options, NULL),
			 0);
}

/* From now on, so many threads run. */
static void run_threads(struct fixture *f, uint32_t nr)
{
	perch_processes_count_running(f->processes, 0);
	for (uint32_t i = 0; i < 100; i++) {
		struct perch_record record = { .type = PERCH_RECORD_SWITCH,
					       .context_switch = { .out = true },
					       .sample_id = { .pid = 200, .tid = 200 + i } };

		assert_int_equal(perch_processes_apply(f->processes, &record), 0);
		record.context_switch.out = i >= nr;
		assert_int_equal(perch_processes_apply(f->processes, &record), 0);
	}
	assert_int_equal(perch_processes_parallelism(f->processes), nr);
}

static double share(struct fixture *f, uint64_t latency)
{
	struct perch_profile_total total;

	perch_profile_get_total(f->profile, 0, &total);
	return 100.0 * (double)latency / (double)total.all_latency;
}

#define assert_share(f, latency, percent) \
	assert_true(share(f, latency) > (percent)-0.01 && share(f, latency) < (percent) + 0.01)

/* 30 of one thread, then 30 and 40 of two: 30 + 15 + 20. */
static void divides_periods(void **state, bool flat)
{
	struct fixture *f = *state;

	start_with(f, (struct perch_profile_options){ .names = "sym", .flat = flat });
	run_threads(f, 1);
	hit(f, 0, 30, CODE + 1);
	run_threads(f, 2);
	hit(f, 0, 30, CODE + 1);
	hit(f, 0, 40, CODE + 2);
	finish(f);
	assert_int_equal(rows_of(f, 0, false), 2);
	assert_int_equal(f->rows[0].self, 60);
	assert_int_equal(f->rows[0].samples, 2);
	assert_share(f, f->rows[0].latency->self, 100 * 45.0 / 65);
	assert_share(f, f->rows[1].latency->self, 100 * 20.0 / 65);
	check_cell(f, 0, "latency", "69.23%");
	check_cell(f, 1, "latency", "30.77%");
	check_cell(f, 0, "overhead", "60.00%");
	check_cell(f, 0, "latency_children", "69.23%");
}

static void divides_periods_of_stacks(void **state)
{
	divides_periods(state, false);
}

static void divides_periods_of_flat_profiles(void **state)
{
	divides_periods(state, true);
}

/* Events that count 1 have thirds. */
static void divides_small_periods(void **state)
{
	struct fixture *f = *state;

	start_with(f, (struct perch_profile_options){ .names = "sym" });
	run_threads(f, 1);
	hit(f, 0, 1, CODE + 1);
	run_threads(f, 3);
	hit(f, 0, 1, CODE + 2);
	finish(f);
	rows_of(f, 0, false);
	assert_share(f, f->rows[0].latency->self + f->rows[1].latency->self, 100.0);
	assert_share(f, row_at(f, CODE + 1)->latency->self, 75.0);
	assert_share(f, row_at(f, CODE + 2)->latency->self, 25.0);
}

static void large_periods_do_not_overflow(void **state)
{
	struct fixture *f = *state;

	start_with(f, (struct perch_profile_options){ .names = "sym" });
	run_threads(f, 1);
	hit(f, 0, 1ull << 61, CODE + 1);
	run_threads(f, 2);
	hit(f, 0, 1ull << 61, CODE + 2);
	finish(f);
	rows_of(f, 0, false);
	assert_share(f, row_at(f, CODE + 1)->latency->self, 200.0 / 3);
	assert_share(f, row_at(f, CODE + 2)->latency->self, 100.0 / 3);
}

static void callers_have_the_latency_of_callees(void **state)
{
	const uint64_t ips[] = { CODE + 1, CODE + 2 }, recursive[] = { CODE + 2, CODE + 2 };
	struct fixture *f = *state;

	start_with(f, (struct perch_profile_options){ .names = "sym" });
	run_threads(f, 1);
	stack(f, 10, 2, ips);
	run_threads(f, 4);
	stack(f, 20, 2, ips);
	stack(f, 20, 2, recursive);
	finish(f);
	assert_share(f, row_at(f, CODE + 1)->latency->self, 75.0);
	assert_share(f, row_at(f, CODE + 1)->latency->children, 75.0);
	assert_share(f, row_at(f, CODE + 2)->latency->self, 25.0);
	assert_share(f, row_at(f, CODE + 2)->latency->children, 100.0);
}

/* A thread counts samples later: the number is that at the time of the sample. */
static void threads_count_latencies(void **state)
{
	struct fixture *f = *state;

	for (int flat = 0; flat < 2; flat++) {
		perch_profile_free(f->profile);
		start_with(f, (struct perch_profile_options){
				      .names = "sym", .flat = flat, .threads = 1 });
		for (uint32_t running = 1; running <= 4; running *= 2) {
			run_threads(f, running);
			for (int i = 0; i < 3000; i++)
				hit(f, 0, 4, CODE + running);
		}
		finish(f);
		assert_int_equal(rows_of(f, 0, false), 3);
		assert_share(f, row_at(f, CODE + 1)->latency->self, 400.0 / 7);
		assert_share(f, row_at(f, CODE + 2)->latency->self, 200.0 / 7);
		assert_share(f, row_at(f, CODE + 4)->latency->self, 100.0 / 7);
	}
}

static void groups_by_the_number_of_threads(void **state)
{
	struct fixture *f = *state;

	start_with(f, (struct perch_profile_options){ .names = "parallelism" });
	run_threads(f, 4);
	hit(f, 0, 40, CODE + 1);
	run_threads(f, 1);
	hit(f, 0, 30, CODE + 1);
	hit(f, 0, 8, CODE + 2);
	finish(f);
	assert_int_equal(rows_of(f, 0, false), 2);
	check_cell(f, 0, "parallelism", "4");
	check_cell(f, 1, "parallelism", "1");
	check_cell(f, 0, "latency", "20.83%");
	check_cell(f, 1, "latency", "79.17%");
}

static void sorts_by_latency(void **state)
{
	const struct perch_column *by[] = { column("latency") };
	const struct perch_rows_options options = { .by = by, .nr_by = 1 };
	struct fixture *f = *state;

	start_with(f, (struct perch_profile_options){ .names = "sym" });
	run_threads(f, 4);
	hit(f, 0, 40, CODE + 1);
	run_threads(f, 1);
	hit(f, 0, 30, CODE + 2);
	finish(f);
	assert_int_equal(perch_profile_rows(f->profile, 0, &options, &f->rows, &f->nr, NULL), 0);
	assert_int_equal(f->rows[0].frame.offset, CODE + 2);
	assert_int_equal(f->rows[1].frame.offset, CODE + 1);
}

static void totals_have_samples_that_were_left_out(void **state)
{
	struct perch_record other = sample_record(PID, PID, 40, CODE + 1);
	struct fixture *f = *state;

	start_with(f, (struct perch_profile_options){ .names = "sym" });
	run_threads(f, 2);
	assert_int_equal(perch_profile_skip(f->profile, &other, NULL), 0);
	hit(f, 0, 120, CODE + 1);
	finish(f);
	rows_of(f, 0, false);
	assert_share(f, f->rows[0].latency->self, 75.0);
	check_cell(f, 0, "latency", "100.00%");
}

/* A snapshot does not change the profile. */
static void snapshots_have_latencies(void **state)
{
	struct perch_profile *snapshot, *profile;
	struct fixture *f = *state;

	start_with(f, (struct perch_profile_options){ .names = "sym" });
	run_threads(f, 2);
	hit(f, 0, 10, CODE + 1);
	assert_int_equal(perch_profile_snapshot(f->profile, &snapshot, NULL), 0);
	profile = f->profile;
	f->profile = snapshot;
	rows_of(f, 0, false);
	check_cell(f, 0, "latency", "100.00%");
	f->profile = profile;
	perch_profile_free(snapshot);
	run_threads(f, 1);
	hit(f, 0, 5, CODE + 2);
	finish(f);
	rows_of(f, 0, false);
	check_cell(f, 0, "latency", "50.00%");
	check_cell(f, 1, "latency", "50.00%");
}

static void unknown_numbers_have_no_latency(void **state)
{
	struct fixture *f = *state;

	start_with(f, (struct perch_profile_options){ .names = "parallelism" });
	hit(f, 0, 10, CODE + 1);
	finish(f);
	rows_of(f, 0, false);
	check_cell(f, 0, "parallelism", "unknown");
	assert_int_equal(f->rows[0].latency->self, 0);
	start(f, "sym");
	hit(f, 0, 10, CODE + 1);
	finish(f);
	rows_of(f, 0, false);
	assert_null(f->rows[0].latency);
	check_cell(f, 0, "latency", "");
}

static void refuses_too_many_columns(void **state)
{
	static struct perch_column own[64];
	const struct perch_column *list[NR(own)];
	struct perch_profile_options options = { .columns = list, .nr_columns = NR(own) };
	struct fixture *f = *state;

	for (size_t i = 0; i < NR(own); i++) {
		own[i] = *column("cpu");
		list[i] = &own[i];
	}
	options.latencies = 1;
	assert_int_equal(perch_profile_new(&f->profile, f->processes, f->symbols, &options, NULL),
			 -E2BIG);
	options.nr_columns--;
	start_with(f, options);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(divides_periods_of_stacks),
		TEST(divides_periods_of_flat_profiles),
		TEST(divides_small_periods),
		TEST(large_periods_do_not_overflow),
		TEST(callers_have_the_latency_of_callees),
		TEST(threads_count_latencies),
		TEST(groups_by_the_number_of_threads),
		TEST(sorts_by_latency),
		TEST(totals_have_samples_that_were_left_out),
		TEST(snapshots_have_latencies),
		TEST(unknown_numbers_have_no_latency),
		TEST(refuses_too_many_columns),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
