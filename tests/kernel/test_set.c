/* SPDX-License-Identifier: MIT */
/* Sets on the running kernel: events on CPUs, threads and cgroups, targets that end. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "needs.h"
#include "set_fixture.h"
#include "work.h"

/* This thread has a different number of faults on each CPU. Their sum equals the count of one
 * counter of the thread. */
static void thread_counts_on_cpus_add_up(void **state)
{
	struct perch_targets targets = { 0 };
	struct perch_machine *machine;
	struct perch_counter *all;
	struct perch_cpus cpus;
	struct perch_set *set;
	struct perch_count *counts, count, sum;
	cpu_set_t before;

	(void)state;
	assert_int_equal(perch_machine_new(&machine, NULL, NULL, NULL), 0);
	assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
	cpus = online(machine);
	for (size_t i = 0; i < cpus.nr; i++) {
		struct perch_target target = { .tid = 0, .cpu = cpus.cpu[i] };

		assert_int_equal(perch_targets_add(&targets, &target, NULL), 0);
	}
	set = open_set("page-faults:u,{dummy:u,page-faults:u}", &targets, NULL);
	assert_int_equal(perch_set_targets(set), cpus.nr);
	assert_int_equal(perch_counter_open(&all, "page-faults:u", NULL, NULL, NULL), 0);
	counts = calloc(3 * cpus.nr, sizeof(*counts));
	/* the first use of this code may have page faults, between the starts of both */
	for (int i = 0; i < 2; i++) {
		assert_int_equal(perch_counter_disable(all, NULL) | perch_set_disable(set, NULL),
				 0);
		assert_int_equal(perch_set_reset(set, NULL) | perch_counter_reset(all, NULL), 0);
		assert_int_equal(perch_set_enable(set, NULL) | perch_counter_enable(all, NULL), 0);
	}
	for (size_t i = 0; i < cpus.nr && i < PAGES; i++) {
		char *pages = fresh_pages();

		run_on(cpus.cpu[i]);
		touch(pages, i + 1);
		drop(pages);
	}
	assert_int_equal(perch_counter_disable(all, NULL) | perch_set_disable(set, NULL), 0);
	read_set(set, counts);
	perch_counter_read(all, &count, NULL);
	for (size_t i = 0; i < cpus.nr && i < PAGES; i++)
		assert_true(counts[i].value >= i + 1 &&
			    counts[i].value == counts[2 * cpus.nr + i].value);
	sum = sum_of(set, counts, 0);
	assert_int_equal(sum.value, count.value);
	assert_int_equal(sum_of(set, counts, 1).value, 0);
	sched_setaffinity(0, sizeof(before), &before);
	free(counts);
	perch_counter_close(all);
	perch_set_close(set);
	perch_targets_clear(&targets);
	perch_machine_free(machine);
}

static void all_cpus_become_single_cpus(void **state)
{
	struct perch_target everywhere = { .tid = -1, .cpu = -1 };
	struct perch_targets targets = { .nr = 1, .target = &everywhere };
	struct perch_machine *machine;
	struct perch_events events;
	struct perch_count *counts;
	struct perch_set *set;
	struct perch_error err;
	char *pages;

	(void)state;
	assert_int_equal(perch_machine_new(&machine, NULL, NULL, NULL), 0);
	events = parse("page-faults,{task-clock,context-switches}");
	if (perch_set_open(&set, &events, &targets, NULL, &err) == -EACCES) {
		print_message("skipped: %s\n", err.message);
		perch_events_clear(&events);
		perch_machine_free(machine);
		skip();
	}
	assert_int_equal(perch_set_targets(set), online(machine).nr);
	assert_int_equal(perch_set_target(set, 0)->tid, -1);
	assert_int_equal(perch_set_target(set, 0)->cpu, online(machine).cpu[0]);
	counts = calloc(perch_set_events(set) * perch_set_targets(set), sizeof(*counts));
	pages = fresh_pages();
	assert_int_equal(perch_set_enable(set, NULL), 0);
	touch(pages, PAGES);
	assert_int_equal(perch_set_disable(set, NULL), 0);
	read_set(set, counts);
	assert_true(sum_of(set, counts, 0).value >= PAGES);
	assert_true(sum_of(set, counts, 1).value > 0);
	for (size_t i = 0; i < perch_set_targets(set); i++)
		assert_int_equal(counts[i].state, PERCH_COUNT_STATE_EXACT);
	drop(pages);
	free(counts);
	perch_set_close(set);
	perch_events_clear(&events);
	perch_machine_free(machine);
}

struct worker {
	pthread_t thread;
	pthread_barrier_t *barrier;
	pid_t tid;
	int pages;
};

static void *work(void *given)
{
	struct worker *worker = given;
	char *pages = fresh_pages();

	worker->tid = syscall(SYS_gettid);
	pthread_barrier_wait(worker->barrier); /* thread is in the list */
	pthread_barrier_wait(worker->barrier); /* the events are enabled */
	touch(pages, worker->pages);
	drop(pages);
	return NULL;
}

/* Counts of threads that have ended can be read and are exact. */
static void ended_threads_keep_their_counts(void **state)
{
	struct perch_options options = { .enabled = 1 };
	struct perch_targets targets = { 0 };
	struct worker workers[3] = { { .pages = 10 }, { .pages = 20 }, { .pages = 30 } };
	pthread_barrier_t barrier;
	struct perch_count counts[6], delta;
	struct perch_count before[6];
	struct perch_set *set;

	(void)state;
	pthread_barrier_init(&barrier, NULL, 4);
	for (int i = 0; i < 3; i++) {
		workers[i].barrier = &barrier;
		assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
	}
	pthread_barrier_wait(&barrier);
	for (int i = 0; i < 3; i++) {
		struct perch_target target = { .tid = workers[i].tid, .cpu = -1 };

		assert_int_equal(perch_targets_add(&targets, &target, NULL), 0);
	}
	set = open_set("{page-faults:u,task-clock:u}", &targets, &options);
	read_set(set, before);
	pthread_barrier_wait(&barrier);
	for (int i = 0; i < 3; i++)
		pthread_join(workers[i].thread, NULL);
	read_set(set, counts);
	for (int i = 0; i < 3; i++) {
		perch_count_delta(&delta, &counts[i], &before[i]);
		/* and a few faults when it ends */
		assert_true(delta.value >= (uint64_t)workers[i].pages &&
			    delta.value < (uint64_t)workers[i].pages + 9);
		assert_true(counts[3 + i].value > 0);
		assert_int_equal(delta.state, PERCH_COUNT_STATE_EXACT);
	}
	perch_set_close(set);
	pthread_barrier_destroy(&barrier);
	perch_targets_clear(&targets);
}

static pid_t ended_thread(void)
{
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	waitpid(pid, NULL, 0);
	return pid;
}

static void ignores_ended_threads(void **state)
{
	struct perch_target target[] = { { .tid = ended_thread(), .cpu = -1 }, { .cpu = -1 } };
	struct perch_targets both = { .nr = 2, .target = target },
			     gone = { .nr = 1, .target = target };
	const struct perch_options may_lose = { .may = PERCH_MAY_LOSE_TARGETS };
	struct perch_events events = parse("{page-faults:u,dummy:u},task-clock:u");
	struct perch_count counts[6];
	struct perch_set *set;
	struct perch_error err;
	char text[32];

	(void)state;
	assert_int_equal(perch_set_open(&set, &events, &both, NULL, &err), -ESRCH);
	assert_null(set);
	snprintf(text, sizeof(text), "thread %d", (int)target[0].tid);
	assert_non_null(strstr(err.message, text));
	assert_non_null(strstr(err.message, "page-faults:u"));
	assert_int_equal(perch_set_open(&set, &events, &gone, &may_lose, &err), -ESRCH);
	assert_int_equal(err.kind, PERCH_ERROR_NO_PROCESS);
	set = open_events(&events, &both, NULL, PERCH_MAY_LOSE_TARGETS);
	assert_int_equal(perch_set_fd(set, 0, 0), -1);
	assert_true(perch_set_fd(set, 0, 1) >= 0);
	read_set(set, counts);
	assert_int_equal(counts[0].state, PERCH_COUNT_STATE_NOT_OPEN);
	assert_int_equal(counts[1].state, PERCH_COUNT_STATE_NOT_ENABLED);
	assert_int_equal(sum_of(set, counts, 0).state, PERCH_COUNT_STATE_NOT_ENABLED);
	perch_set_close(set);
	perch_events_clear(&events);
}

static void children_are_counted_in_groups(void **state)
{
	struct perch_options options = { .enabled = 1, .inherit = 1 };
	struct perch_set *set = open_set("{page-faults:u,dummy:u},page-faults:u", NULL, &options);
	struct perch_count counts[3];
	pid_t pid = fork();

	(void)state;
	if (!pid) {
		touch(fresh_pages(), PAGES);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(perch_set_disable(set, NULL), 0);
	read_set(set, counts);
	assert_true(counts[0].value >= PAGES);
	assert_true(counts[2].value >= PAGES);
	assert_int_equal(counts[1].value, 0);
	assert_int_equal(counts[1].state, PERCH_COUNT_STATE_EXACT);
	perch_set_close(set);
}

/* The group is disabled until the exec. enable_on_exec is set for the leader only. */
static void enable_on_exec_waits(void **state)
{
	struct perch_options options = { .enable_on_exec = 1, .inherit = 1 };
	struct perch_target target = { .cpu = -1 };
	struct perch_targets targets = { .nr = 1, .target = &target };
	struct perch_count counts[3];
	struct perch_set *set;
	int go[2];

	(void)state;
	assert_int_equal(pipe(go), 0);
	target.tid = fork();
	if (!target.tid) {
		char byte;

		close(go[1]);
		touch(fresh_pages(), PAGES);
		if (read(go[0], &byte, 1) == 0)
			execl("/bin/true", "true", (char *)NULL);
		_exit(1);
	}
	close(go[0]);
	set = open_set("{page-faults:u,task-clock:u},page-faults:u", &targets, &options);
	read_set(set, counts);
	assert_int_equal(counts[0].state, PERCH_COUNT_STATE_NOT_ENABLED);
	close(go[1]);
	assert_int_equal(waitpid(target.tid, NULL, 0), target.tid);
	read_set(set, counts);
	assert_true(counts[0].value > 0 && counts[1].value > 0);
	assert_int_equal(counts[0].value, counts[2].value);
	perch_set_close(set);
}

static void resets_and_differences_are_exact(void **state)
{
	struct perch_set *set = open_set("{page-faults:u,dummy:u},page-faults:u", NULL, NULL);
	struct perch_count first[3], second[3], delta;
	struct perch_error err;
	char *pages = fresh_pages();

	(void)state;
	pass_time();
	assert_int_equal(perch_set_enable(set, NULL), 0);
	touch(pages, PAGES);
	assert_int_equal(perch_set_disable(set, NULL), 0);
	assert_int_equal(perch_set_reset(set, &err), 0);
	read_set(set, first);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(first[i].value, 0);
		assert_int_equal(first[i].enabled_ns, 0);
		assert_int_equal(first[i].state, PERCH_COUNT_STATE_NOT_ENABLED);
	}
	drop(pages);
	for (int round = 0; round < 3; round++) {
		pages = fresh_pages();
		assert_int_equal(perch_set_enable(set, NULL), 0);
		touch(pages, PAGES);
		pass_time();
		assert_int_equal(perch_set_disable(set, NULL), 0);
		read_set(set, second);
		perch_count_delta(&delta, &second[2], round ? &first[2] : NULL);
		assert_int_equal(delta.value, PAGES);
		assert_int_equal(delta.scaled, PAGES);
		assert_int_equal(delta.state, PERCH_COUNT_STATE_EXACT);
		assert_true(delta.enabled_ns > 0 && delta.enabled_ns <= second[2].enabled_ns);
		memcpy(first, second, sizeof(first));
		drop(pages);
	}
	assert_int_equal(second[0].value, 3 * PAGES);
	perch_set_close(set);
}

static void lost_samples_are_read(void **state)
{
	const struct perch_attr optional = { .read_format = ~UINT64_C(0) };
	struct perch_options options = { .read = PERCH_FORMAT_LOST | PERCH_FORMAT_ID,
					 .optional = &optional };
	struct perch_set *set = open_set("{page-faults:u,dummy:u},task-clock:u", NULL, &options);
	const struct perch_set_event *event = perch_set_get_event(set, 2);
	struct perch_count counts[3];

	(void)state;
	read_set(set, counts);
	assert_true(counts[0].id && counts[1].id && counts[2].id && counts[0].id != counts[1].id);
	for (int i = 0; i < 3; i++)
		assert_int_equal(counts[i].lost, 0);
	/* times are never omitted; other features are available or reported as missing */
	assert_int_equal(event->attr.read_format |
				 (event->missing_features ? event->missing_features->read_format
							  : 0),
			 PERCH_FORMAT_TOTAL_TIME_ENABLED | PERCH_FORMAT_TOTAL_TIME_RUNNING |
				 PERCH_FORMAT_ID | PERCH_FORMAT_LOST);
	perch_set_close(set);
}

/* Runs a process with page faults in a cgroup. */
static bool fault_in(const char *directory)
{
	char path[4200];
	pid_t pid = fork();
	int fd, status;

	if (!pid) {
		snprintf(path, sizeof(path), "%s/cgroup.procs", directory);
		fd = open(path, O_WRONLY);
		if (fd < 0 || write(fd, "0", 1) != 1)
			_exit(1);
		touch(fresh_pages(), PAGES);
		_exit(0);
	}
	return waitpid(pid, &status, 0) == pid && status == 0;
}

static void cgroups(void **state)
{
	struct perch_options options = { .enabled = 1 };
	struct perch_targets targets = { 0 };
	struct perch_count *counts, sum;
	struct perch_machine *machine;
	char directory[4160];
	struct perch_set *set;
	struct perch_error err;
	bool joined;
	int rc;

	(void)state;
	needs_cgroup(directory, sizeof(directory));
	assert_int_equal(perch_machine_new(&machine, NULL, NULL, NULL), 0);
	rc = perch_targets_add_cgroup(&targets, cgroup_name(directory), NULL, machine, &err);
	if (rc) {
		rmdir(directory);
		fail_msg("%s", err.message);
	}
	set = open_set("page-faults,{task-clock,dummy}", &targets, &options);
	counts = calloc(3 * perch_set_targets(set), sizeof(*counts));
	touch(fresh_pages(), PAGES); /* not in the cgroup */
	read_set(set, counts);
	assert_int_equal(sum_of(set, counts, 0).value, 0);
	joined = fault_in(directory);
	read_set(set, counts);
	sum = sum_of(set, counts, 0);
	rmdir(directory);
	assert_true(joined);
	assert_true(sum.value >= PAGES);
	assert_true(sum_of(set, counts, 1).value > 0);
	free(counts);
	perch_set_close(set);
	perch_targets_clear(&targets);
	perch_machine_free(machine);
}

/* Also of members, and of more than one target. */
static void descriptors_stay_open_after_an_exec_with_no_cloexec(void **state)
{
	(void)state;
	for (int no_cloexec = 0; no_cloexec < 2; no_cloexec++) {
		struct perch_options options = { .no_cloexec = no_cloexec };
		struct perch_targets targets = { 0 };
		struct perch_set *set;

		assert_int_equal(perch_targets_add_thread(&targets, 0, NULL, NULL), 0);
		assert_int_equal(perch_targets_add_thread(&targets, getpid(), NULL, NULL), 0);
		set = open_set("page-faults:u,{task-clock:u,dummy:u}", &targets, &options);
		for (size_t i = 0; i < 3; i++)
			for (size_t k = 0; k < 2; k++)
				assert_int_equal(fcntl(perch_set_fd(set, i, k), F_GETFD),
						 no_cloexec ? 0 : FD_CLOEXEC);
		perch_set_close(set);
		perch_targets_clear(&targets);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(thread_counts_on_cpus_add_up),
		cmocka_unit_test(all_cpus_become_single_cpus),
		cmocka_unit_test(ended_threads_keep_their_counts),
		cmocka_unit_test(ignores_ended_threads),
		cmocka_unit_test(children_are_counted_in_groups),
		cmocka_unit_test(enable_on_exec_waits),
		cmocka_unit_test(resets_and_differences_are_exact),
		cmocka_unit_test(lost_samples_are_read),
		cmocka_unit_test(cgroups),
		cmocka_unit_test(descriptors_stay_open_after_an_exec_with_no_cloexec),
	};

	if (every_event_is_refused())
		return 77;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
