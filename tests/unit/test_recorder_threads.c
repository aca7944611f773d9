/* SPDX-License-Identifier: MIT */
/* Which thread reads the rings of which CPUs; threads of this machine, also for TSan. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "tree.h"

#include "recorder/workers.h"

static int eight_list[] = { 0, 1, 2, 3, 4, 5, 6, 7 };
static const struct perch_cpus eight = { 8, eight_list };

/* Cores of two CPUs, packages of four, three nodes, one of which has no CPU. The files of CPU 7
 * lie. */
static const struct tree_file files[] = {
	{ "/sys/devices/system/cpu/cpu0/topology/core_cpus_list", "0,4\n" },
	{ "/sys/devices/system/cpu/cpu1/topology/core_cpus_list", "1,5\n" },
	{ "/sys/devices/system/cpu/cpu2/topology/thread_siblings_list", "2,6\n" },
	{ "/sys/devices/system/cpu/cpu3/topology/core_cpus_list", "3\n" },
	{ "/sys/devices/system/cpu/cpu7/topology/core_cpus_list", "0-2\n" },
	{ "/sys/devices/system/cpu/cpu0/topology/package_cpus_list", "0-3\n" },
	{ "/sys/devices/system/cpu/cpu4/topology/core_siblings_list", "4-7\n" },
	{ "/sys/devices/system/node/node0/cpulist", "0-1,4-5\n" },
	{ "/sys/devices/system/node/node1/cpulist", "\n" },
	{ "/sys/devices/system/node/node3/cpulist", "2-3,6-7\n" },
};

static struct perch_machine *machine;
static char root[PATH_MAX];

static int set_up(void **state)
{
	(void)state;
	tree_make(root, files, sizeof(files) / sizeof(*files));
	return perch_machine_new(&machine, root, NULL, NULL);
}

static int tear_down(void **state)
{
	(void)state;
	perch_machine_free(machine);
	tree_remove(root);
	return 0;
}

/* by: the index of the thread of each CPU, '-' without one. */
static void expect_threads(const char *text, size_t nr, const char *by)
{
	struct recorder_thread_list list = { 0 };
	struct perch_error err = { 0 };

	if (perch__recorder_choose_threads(&list, text, machine, &eight, &err))
		fail_msg("%s: %s", text, err.message);
	assert_int_equal(list.nr, nr);
	for (int cpu = 0; cpu < 8; cpu++)
		for (size_t i = 0; i < nr; i++)
			assert_int_equal(perch_cpus_contains(&list.thread[i].rings, cpu),
					 by[cpu] == (char)('0' + i));
	perch__recorder_clear_threads(&list);
}

static void threads_have_parts_of_the_machine(void **state)
{
	(void)state;
	expect_threads("cpu", 8, "01234567");
	expect_threads("core", 5, "01230124");
	expect_threads("package", 2, "00001111");
	expect_threads("numa", 2, "00110011");
}

static void threads_have_lists(void **state)
{
	struct recorder_thread_list list = { 0 };

	(void)state;
	expect_threads("0-7/3", 1, "00000000");
	expect_threads("0-3/0:4-7/4", 2, "00001111");
	expect_threads("0,2,4,6/0-7:1,3,5,7/0", 2, "01010101");
	assert_int_equal(
		perch__recorder_choose_threads(&list, "0-5/0-1:6,7/7", machine, &eight, NULL), 0);
	assert_false(list.thread[0].runs_there);
	assert_int_equal(list.thread[0].affinity.nr, 2);
	assert_int_equal(list.thread[1].affinity.cpu[0], 7);
	perch__recorder_clear_threads(&list);
}

static void refuses_other_texts(void **state)
{
	static const char *const wrong[] = { "",      "cpus",	   "0-7",    "/",      "0-7/",
					     "/0-7",  "0-7/0:",	   ":0-7/0", "0-7/x",  "0-7/0/0",
					     "0-6/0", "0-7/0:3/0", "8/0",    "0-7/0,", "-1/0" };
	char long_list[20000];

	(void)state;
	memset(long_list, '1', sizeof(long_list));
	long_list[sizeof(long_list) - 1] = 0;
	for (size_t i = 0; i <= sizeof(wrong) / sizeof(*wrong); i++) {
		struct recorder_thread_list list = { 0 };
		struct perch_error err = { 0 };
		const char *text = i < sizeof(wrong) / sizeof(*wrong) ? wrong[i] : long_list;

		if (perch__recorder_choose_threads(&list, text, machine, &eight, &err) != -EINVAL)
			fail_msg("'%.20s' is accepted", text);
		assert_true(err.message[0]);
		perch__recorder_clear_threads(&list);
	}
}

/* Waits for SIGCONT and works then. All threads find its end at once. */
static pid_t start_target(void)
{
	pid_t pid = fork();

	if (!pid) {
		raise(SIGSTOP);
		for (volatile unsigned i = 0; i < 100000000; i++)
			;
		_exit(0);
	}
	assert_int_equal(waitpid(pid, NULL, WUNTRACED), pid);
	return pid;
}

static struct perch_recorder *open_threads(pid_t pid, const char *path)
{
	const struct perch_recorder_options options = {
		.threads = "cpu",
		.path = path,
		.any_cost = true,
		.sampler.event = { .frequency = 1000, .inherit = true },
	};
	struct perch_recorder *recorder = NULL;
	struct perch_targets targets = { 0 };
	struct perch_error err = { 0 };

	if (perch_targets_add_process(&targets, pid, NULL, &err) < 0 ||
	    perch_targets_split(&targets, NULL, NULL, &err) < 0 ||
	    perch_recorder_open(&recorder, "cpu-clock:u", &targets, &options, &err) < 0)
		print_message("cannot record here: %s\n", err.message);
	perch_targets_clear(&targets);
	return recorder;
}

static uint64_t count_samples(const char *path)
{
	struct perch_reader *reader;
	struct perch_record record;
	uint64_t samples = 0;

	assert_int_equal(perch_reader_open(&reader, path, PERCH_ORDER_TIME, NULL), 0);
	while (perch_reader_next(reader, &record, NULL) > 0)
		samples += record.type == PERCH_RECORD_SAMPLE;
	perch_reader_close(reader);
	return samples;
}

/* The program asks for numbers, and switches the events, while the threads read and end. */
static void threads_record_a_process(void **state)
{
	struct perch_recorder_stats stats;
	struct perch_recorder *recorder;
	char path[PATH_MAX + 16];
	pid_t pid = start_target();
	struct pollfd changed;

	(void)state;
	snprintf(path, sizeof(path), "%s/perf.data", root);
	recorder = open_threads(pid, path);
	if (!recorder) {
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		skip();
	}
	assert_int_equal(perch_recorder_start(recorder, NULL), 0);
	kill(pid, SIGCONT);
	changed = (struct pollfd){ perch_recorder_fd(recorder, NULL), POLLIN, 0 };
	for (int round = 0; !perch_recorder_ended(recorder); round++) {
		poll(&changed, 1, 10);
		assert_true(perch_recorder_write(recorder, NULL) >= 0);
		perch_recorder_get_stats(recorder, &stats);
		if (round < 3) {
			perch_recorder_disable(recorder, NULL);
			perch_recorder_enable(recorder, NULL);
		}
	}
	assert_int_equal(perch_recorder_stop(recorder, NULL), 0);
	assert_int_equal(perch_recorder_end_file(recorder, NULL), 0);
	perch_recorder_get_stats(recorder, &stats);
	perch_recorder_close(recorder);
	assert_true(stats.samples > 0);
	assert_int_equal(count_samples(path), stats.samples);
	waitpid(pid, NULL, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(threads_have_parts_of_the_machine, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(threads_have_lists, set_up, tear_down),
		cmocka_unit_test_setup_teardown(refuses_other_texts, set_up, tear_down),
		cmocka_unit_test_setup_teardown(threads_record_a_process, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
