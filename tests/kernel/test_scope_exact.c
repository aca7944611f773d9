/* SPDX-License-Identifier: MIT */
/* Exact counts of targets: threads, children, exec, processes, CPUs and cgroups. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

#include "exact.h"
#include "needs.h"

#define PAGES 256
#define CALLS 500

static const struct timespec moment = { 0, 200000 };

static void touch_some(void *unused)
{
	char *pages = fresh_pages(PAGES);

	(void)unused;
	touch(pages, PAGES);
	drop(pages, PAGES);
}

static void call_some(void *unused)
{
	(void)unused;
	call_getppid(CALLS);
}

/* ---- Children ---- */

/* Counts the work of a child with a counter of this thread that was opened before the fork. */
static uint64_t faults_of_a_child(bool inherit)
{
	struct perch_options options = { .inherit = inherit };
	struct perch_counter *counter = open_on("page-faults:u", &perch_self, &options);
	struct child child = child_start(touch_some, NULL);

	child_work(&child);
	perch_counter_enable(counter, NULL);
	child_work(&child);
	perch_counter_disable(counter, NULL);
	child_end(&child);
	return value_of(counter);
}

static void children_count_only_if_inherited(void **state)
{
	(void)state;
	assert_int_equal(faults_of_a_child(true), PAGES);
	assert_int_equal(faults_of_a_child(false), 0);
}

static void child_and_parent_count_separately(void **state)
{
	struct child child = child_start(touch_some, NULL);
	struct perch_counter *counter = open_on(
		"page-faults:u", &(struct perch_target){ .tid = child.pid, .cpu = -1 }, NULL);

	(void)state;
	child_work(&child);
	touch_some(NULL);
	perch_counter_enable(counter, NULL);
	touch_some(NULL); /* work of the parent */
	child_work(&child);
	perch_counter_disable(counter, NULL);
	child_end(&child);
	assert_int_equal(value_of(counter), PAGES);
}

static void counts_outlive_their_target(void **state)
{
	struct child child = child_start(call_some, NULL);
	struct perch_target target = { .tid = child.pid, .cpu = -1 };
	struct perch_counter *counter = open_on("syscalls:sys_enter_getppid", &target, NULL);

	(void)state;
	perch_counter_enable(counter, NULL);
	child_work(&child);
	child_work(&child);
	child_end(&child);
	assert_int_equal(read_of(counter).value, 2 * CALLS);
	assert_int_equal(value_of(counter), 2 * CALLS); /* a second read returns the same */
}

/* ---- Exec ---- */

static void call_and_execute(void *unused)
{
	(void)unused;
	call_getppid(CALLS);
	execl("/bin/true", "true", (char *)NULL);
	_exit(127);
}

/* Counts two tracepoints in a child that makes system calls and then calls exec. */
static void count_across_exec(const struct perch_options *options, uint64_t *calls, uint64_t *exits)
{
	struct child child = child_start(call_and_execute, NULL);
	struct perch_target target = { .tid = child.pid, .cpu = -1 };
	struct perch_counter *before = open_on("syscalls:sys_enter_getppid", &target, options);
	struct perch_counter *after = open_on("syscalls:sys_enter_exit_group", &target, options);
	int status;

	assert_int_equal(read_of(before).value, 0);
	assert_int_equal(write(child.go, "g", 1), 1);
	assert_int_equal(waitpid(child.pid, &status, 0), child.pid);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	close(child.go);
	close(child.done);
	*calls = read_of(before).value;
	*exits = read_of(after).value;
	perch_counter_close(before);
	perch_counter_close(after);
}

static void exec_enables_and_removes(void **state)
{
	struct perch_options from_exec = { .enable_on_exec = 1 };
	struct perch_options until_exec = { .enabled = 1, .remove_on_exec = 1 };
	struct perch_options both = { .enabled = 1 };
	uint64_t calls, exits;

	(void)state;
	count_across_exec(&both, &calls, &exits);
	assert_int_equal(calls, CALLS);
	assert_int_equal(exits, 1);
	count_across_exec(&from_exec, &calls, &exits);
	assert_int_equal(calls, 0);
	assert_int_equal(exits, 1);
	count_across_exec(&until_exec, &calls, &exits);
	assert_int_equal(calls, CALLS);
	assert_int_equal(exits, 0);
}

/* ---- Threads ---- */

struct worker {
	pthread_t thread;
	pid_t tid;
	int times;
	pthread_barrier_t *ready, *go;
};

static void *work_in_thread(void *argument)
{
	struct worker *worker = argument;

	worker->tid = syscall(SYS_gettid);
	pthread_barrier_wait(worker->ready);
	pthread_barrier_wait(worker->go);
	call_getppid(CALLS * worker->times);
	return NULL;
}

#define WORKERS 3

static void start_workers(struct worker *workers, pthread_barrier_t *ready, pthread_barrier_t *go)
{
	pthread_barrier_init(ready, NULL, WORKERS + 1);
	pthread_barrier_init(go, NULL, WORKERS + 1);
	for (int i = 0; i < WORKERS; i++) {
		workers[i] = (struct worker){ .times = i + 1, .ready = ready, .go = go };
		assert_int_equal(
			pthread_create(&workers[i].thread, NULL, work_in_thread, &workers[i]), 0);
	}
	pthread_barrier_wait(ready);
}

static void release_workers(struct worker *workers, pthread_barrier_t *go)
{
	pthread_barrier_wait(go);
	for (int i = 0; i < WORKERS; i++)
		pthread_join(workers[i].thread, NULL);
}

static void counts_one_thread_of_several(void **state)
{
	struct worker workers[WORKERS];
	pthread_barrier_t ready, go;
	struct perch_counter *counter;

	(void)state;
	/* skip before threads are started */
	perch_counter_close(open_on("syscalls:sys_enter_getppid", &perch_self, NULL));
	start_workers(workers, &ready, &go);
	counter = open_on("syscalls:sys_enter_getppid",
			  &(struct perch_target){ .tid = workers[1].tid, .cpu = -1 }, NULL);
	perch_counter_enable(counter, NULL);
	release_workers(workers, &go);
	assert_int_equal(value_of(counter), CALLS * workers[1].times);
}

/* ---- Sets ---- */

static struct perch_set *open_set(const char *text, struct perch_events *events,
				  const struct perch_targets *targets)
{
	struct perch_error err = { 0 };
	struct perch_set *set = NULL;
	int rc = perch_events_parse(events, text, NULL, &err);

	if (!rc)
		rc = perch_set_open(&set, events, targets, NULL, &err);
	if (rc)
		skip_or_fail(text, rc, &err);
	assert_int_equal(perch_set_enable(set, NULL), 0);
	assert_int_equal(perch_set_disable(set, NULL), 0);
	assert_int_equal(perch_set_reset(set, NULL), 0);
	return set;
}

static void read_set(struct perch_set *set, struct perch_count *counts)
{
	struct perch_error err = { 0 };

	if (perch_set_read(set, counts, perch_set_events(set) * perch_set_targets(set), &err))
		fail_msg("%s", err.message);
}

static size_t target_of(const struct perch_set *set, pid_t pid)
{
	size_t target = 0;

	while (target < perch_set_targets(set) && perch_set_target(set, target)->tid != pid)
		target++;
	assert_true(target < perch_set_targets(set));
	return target;
}

static void process_counts_are_thread_counts(void **state)
{
	struct perch_count counts[2 * (WORKERS + 1)], sum;
	struct perch_events events = { 0 };
	struct perch_targets targets = { 0 };
	struct worker workers[WORKERS];
	pthread_barrier_t ready, go;
	struct perch_error err = { 0 };
	struct perch_set *set;

	(void)state;
	perch_counter_close(open_on("syscalls:sys_enter_getppid", &perch_self, NULL));
	start_workers(workers, &ready, &go);
	if (perch_targets_add_process(&targets, getpid(), NULL, &err))
		fail_msg("%s", err.message);
	assert_int_equal(targets.nr, WORKERS + 1);
	set = open_set("{syscalls:sys_enter_getppid,page-faults:u}", &events, &targets);
	assert_int_equal(perch_set_targets(set), WORKERS + 1);
	assert_int_equal(perch_set_enable(set, &err), 0);
	release_workers(workers, &go);
	call_getppid(CALLS);
	assert_int_equal(perch_set_disable(set, &err), 0);
	read_set(set, counts);
	for (int i = 0; i < WORKERS; i++)
		assert_int_equal(counts[target_of(set, workers[i].tid)].value,
				 CALLS * workers[i].times);
	assert_int_equal(counts[target_of(set, getpid())].value, CALLS);
	perch_count_sum(&sum, counts, WORKERS + 1);
	assert_int_equal(sum.value, CALLS * (1 + 1 + 2 + 3));
	assert_int_equal(sum.state, PERCH_COUNT_STATE_EXACT);
	perch_set_close(set);
	perch_events_clear(&events);
	perch_targets_clear(&targets);
}

/* The count of a CPU is at least that of one process on it. */
static void cpus_count_all_processes(void **state)
{
	struct perch_count counts[256], sum;
	struct perch_events events = { 0 };
	struct perch_targets targets = { 0 };
	struct perch_error err = { 0 };
	struct perch_set *set;
	cpu_set_t before;

	(void)state;
	if (perch_targets_add_cpus(&targets, NULL, NULL, &err))
		fail_msg("%s", err.message);
	assert_true(targets.nr && targets.nr <= 256);
	sched_getaffinity(0, sizeof(before), &before);
	set = open_set("syscalls:sys_enter_getppid", &events, &targets);
	assert_true(stay_on(targets.target[0].cpu));
	assert_int_equal(perch_set_enable(set, &err), 0);
	call_getppid(CALLS);
	assert_int_equal(perch_set_disable(set, &err), 0);
	sched_setaffinity(0, sizeof(before), &before);
	read_set(set, counts);
	assert_true(counts[0].value >= CALLS);
	perch_count_sum(&sum, counts, targets.nr);
	assert_true(sum.value >= counts[0].value);
	for (size_t i = 0; i < targets.nr; i++)
		assert_int_equal(counts[i].state, PERCH_COUNT_STATE_EXACT);
	perch_set_close(set);
	perch_events_clear(&events);
	perch_targets_clear(&targets);
}

/* ---- Cgroups ---- */

static int join_cgroup(const char *directory)
{
	char path[4200];
	int fd;

	snprintf(path, sizeof(path), "%s/cgroup.procs", directory);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, "0", 1) != 1)
		return -1;
	return close(fd);
}

static void join_once_then_touch(void *argument)
{
	static bool joined;

	if (!joined && join_cgroup(argument))
		_exit(1);
	joined = true;
	touch_some(NULL);
}

static void cgroups_count_their_processes(void **state)
{
	char directory[4160];
	struct perch_count counts[256], sum;
	struct perch_events events = { 0 };
	struct perch_targets targets = { 0 };
	struct perch_error err = { 0 };
	struct perch_set *set;
	struct child child;
	int rc;

	(void)state;
	needs_cgroup(directory, sizeof(directory));
	child = child_start(join_once_then_touch, directory);
	child_work(&child);
	rc = perch_targets_add_cgroup(&targets, cgroup_name(directory), NULL, NULL, &err);
	if (rc)
		fail_msg("%s", err.message);
	assert_true(targets.nr && targets.nr <= 256);
	set = open_set("page-faults:u", &events, &targets);
	touch_some(NULL);
	assert_int_equal(perch_set_enable(set, &err), 0);
	child_work(&child);
	touch_some(NULL); /* this process is in another cgroup */
	assert_int_equal(perch_set_disable(set, &err), 0);
	read_set(set, counts);
	perch_count_sum(&sum, counts, targets.nr);
	perch_set_close(set);
	perch_events_clear(&events);
	perch_targets_clear(&targets);
	child_end(&child);
	rmdir(directory);
	assert_int_equal(sum.value, PAGES);
}

static void join_once_then_sleep(void *argument)
{
	static bool joined;

	if (!joined && join_cgroup(argument))
		_exit(1);
	joined = true;
	for (int i = 0; i < 20; i++)
		nanosleep(&moment, NULL);
}

/* The task is alone in its cgroup, so each context switch is a switch of cgroups. */
static void context_switches_are_cgroup_switches(void **state)
{
	char directory[4160];
	struct perch_target target = { .cpu = -1 };
	struct perch_count counts[2];
	struct perch_group *group;
	struct perch_error err = { 0 };
	struct child child;

	(void)state;
	perch_counter_close(open_on("cgroup-switches", &perch_self, NULL));
	needs_cgroup(directory, sizeof(directory));
	child = child_start(join_once_then_sleep, directory);
	child_work(&child);
	target.tid = child.pid;
	/* a group is enabled and disabled as a whole, between two switches of the child */
	if (perch_group_open(&group, "{context-switches,cgroup-switches}", &target, NULL, &err))
		fail_msg("%s", err.message);
	do {
		assert_int_equal(perch_group_enable(group, &err), 0);
		child_work(&child);
		assert_int_equal(perch_group_disable(group, &err), 0);
		assert_int_equal(perch_group_read(group, counts, 2, &err), 0);
		/* a sleep whose time has passed before it begins switches nothing */
	} while (counts[0].value < 20);
	perch_group_close(group);
	child_end(&child);
	rmdir(directory);
	assert_int_equal(counts[1].value, counts[0].value);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(children_count_only_if_inherited),
		cmocka_unit_test(child_and_parent_count_separately),
		cmocka_unit_test(counts_outlive_their_target),
		cmocka_unit_test(exec_enables_and_removes),
		cmocka_unit_test(counts_one_thread_of_several),
		cmocka_unit_test(process_counts_are_thread_counts),
		cmocka_unit_test(cpus_count_all_processes),
		cmocka_unit_test(cgroups_count_their_processes),
		cmocka_unit_test(context_switches_are_cgroup_switches),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
