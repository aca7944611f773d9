/* SPDX-License-Identifier: MIT */
/* Tests how records change the number of threads that run. */
#include "process_fixture.h"

static void switch_thread(struct perch_processes *processes, uint32_t pid, uint32_t tid, bool out)
{
	struct perch_record record = {
		.type = PERCH_RECORD_SWITCH,
		.context_switch = { .out = out },
		.sample_id = { .pid = pid, .tid = tid },
	};

	apply(processes, &record);
}

static void switch_in(struct perch_processes *processes, uint32_t tid)
{
	switch_thread(processes, 10, tid, false);
}

static void switch_out(struct perch_processes *processes, uint32_t tid)
{
	switch_thread(processes, 10, tid, true);
}

static void sample(struct perch_processes *processes, uint32_t pid, uint32_t tid)
{
	struct perch_record record = { .type = PERCH_RECORD_SAMPLE,
				       .sample = { .pid = pid, .tid = tid } };

	apply(processes, &record);
}

static struct perch_processes *new_counted(uint32_t cpus)
{
	struct perch_processes *processes = new_processes();

	assert_int_equal(perch_processes_parallelism(processes), 0);
	perch_processes_count_running(processes, cpus);
	assert_int_equal(perch_processes_parallelism(processes), 1);
	return processes;
}

static void check(struct perch_processes *processes, uint32_t expected)
{
	assert_int_equal(perch_processes_parallelism(processes), expected);
}

static void counts_threads_between_switches(void **state)
{
	struct perch_processes *processes = new_counted(8);

	(void)state;
	name_thread(processes, 10, 10, "main", true);
	check(processes, 1);
	fork_thread(processes, 10, 10, 10, 11);
	check(processes, 1);
	switch_in(processes, 11);
	check(processes, 2);
	switch_out(processes, 10);
	check(processes, 1);
	switch_in(processes, 10);
	end_thread(processes, 10, 11);
	check(processes, 1);
	/* no switch is after the exit */
	switch_out(processes, 10);
	switch_in(processes, 12);
	switch_in(processes, 13);
	check(processes, 2);
	perch_processes_free(processes);
}

static void unknown_without_switches(void **state)
{
	struct perch_processes *processes = new_processes();

	(void)state;
	name_thread(processes, 10, 10, "main", true);
	switch_in(processes, 10);
	sample(processes, 10, 10);
	check(processes, 0);
	perch_processes_free(processes);
}

static void unknown_with_events_of_cpus(void **state)
{
	const struct perch_record wide = { .type = PERCH_RECORD_SWITCH_CPU_WIDE,
					   .sample_id = { .pid = 10, .tid = 10 } };
	struct perch_processes *processes = new_counted(8);

	(void)state;
	switch_in(processes, 10);
	apply(processes, &wide);
	check(processes, 0);
	switch_in(processes, 11);
	check(processes, 0);
	perch_processes_free(processes);
	processes = new_counted(8);
	sample(processes, 0, 0); /* of an idle task */
	check(processes, 0);
	perch_processes_free(processes);
}

static void samples_are_of_threads_that_run(void **state)
{
	struct perch_processes *processes = new_counted(8);

	(void)state;
	sample(processes, 10, 10);
	sample(processes, 10, 11);
	sample(processes, 10, 11);
	check(processes, 2);
	switch_out(processes, 10);
	check(processes, 1);
	end_thread(processes, 10, 11);
	sample(processes, UINT32_MAX, UINT32_MAX);
	sample(processes, 10, 11); /* its EXIT record was first */
	sample(processes, 20, 20);
	check(processes, 1);
	perch_processes_free(processes);
}

/* The clocks of CPUs differ: a thread is switched in before it is switched out elsewhere. */
static void switches_may_be_out_of_order(void **state)
{
	struct perch_processes *processes = new_counted(8);

	(void)state;
	switch_in(processes, 10);
	switch_in(processes, 11);
	switch_in(processes, 11);
	check(processes, 2);
	switch_out(processes, 11);
	check(processes, 2);
	switch_out(processes, 11);
	switch_out(processes, 11);
	check(processes, 1);
	switch_in(processes, 11);
	check(processes, 2);
	perch_processes_free(processes);
}

/* A thread that execs gets the id of the first one, and no EXIT record has its old id. */
static void exec_ends_other_threads(void **state)
{
	struct perch_processes *processes = new_counted(8);

	(void)state;
	for (uint32_t tid = 10; tid < 14; tid++)
		switch_in(processes, tid);
	switch_thread(processes, 20, 20, false);
	check(processes, 5);
	end_thread(processes, 10, 10);
	name_thread(processes, 10, 10, "program", true);
	check(processes, 2);
	switch_out(processes, 13);
	check(processes, 2);
	switch_out(processes, 10);
	check(processes, 1);
	perch_processes_free(processes);
}

/* Before its COMM record, the thread that execs has the id of the first one already. */
static void exec_takes_the_first_id(void **state)
{
	struct perch_processes *processes;

	(void)state;
	for (int with_switch = 0; with_switch < 2; with_switch++) {
		processes = new_counted(8);
		name_thread(processes, 10, 10, "main", true);
		switch_in(processes, 11);
		end_thread(processes, 10, 10);
		check(processes, 1);
		if (with_switch) {
			switch_out(processes, 10);
			switch_thread(processes, 20, 20, false);
			check(processes, 1);
			switch_in(processes, 10);
		} else {
			switch_thread(processes, 20, 20, false);
			sample(processes, 10, 10);
		}
		check(processes, 2);
		name_thread(processes, 10, 10, "program", true);
		check(processes, 2);
		switch_out(processes, 10);
		check(processes, 1);
		perch_processes_free(processes);
	}
}

static void tids_are_used_again(void **state)
{
	struct perch_processes *processes = new_counted(8);

	(void)state;
	switch_in(processes, 11);
	switch_in(processes, 12);
	switch_in(processes, 13);
	check(processes, 3);
	/* without an EXIT record, which is lost */
	switch_thread(processes, 20, 11, false);
	check(processes, 3);
	switch_thread(processes, 20, 11, true);
	check(processes, 2);
	fork_thread(processes, 10, 13, 10, 12);
	check(processes, 1);
	perch_processes_free(processes);
}

static void no_more_threads_than_cpus(void **state)
{
	struct perch_processes *processes = new_counted(2), *unlimited = new_counted(0);

	(void)state;
	for (uint32_t tid = 10; tid < 14; tid++) {
		switch_in(processes, tid);
		switch_in(unlimited, tid);
	}
	check(processes, 2);
	check(unlimited, 4);
	switch_out(processes, 10);
	switch_out(processes, 11);
	switch_out(processes, 12);
	check(processes, 1);
	perch_processes_free(processes);
	perch_processes_free(unlimited);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counts_threads_between_switches),
		cmocka_unit_test(unknown_without_switches),
		cmocka_unit_test(unknown_with_events_of_cpus),
		cmocka_unit_test(samples_are_of_threads_that_run),
		cmocka_unit_test(switches_may_be_out_of_order),
		cmocka_unit_test(exec_ends_other_threads),
		cmocka_unit_test(exec_takes_the_first_id),
		cmocka_unit_test(tids_are_used_again),
		cmocka_unit_test(no_more_threads_than_cpus),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
