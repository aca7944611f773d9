/* SPDX-License-Identifier: MIT */
/* Lists of targets on a machine of test files. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include <perch/open.h>

#include "tree.h"

static const struct tree_file files[] = {
	{ "/proc/42/task/57/comm", "x\n" },
	{ "/proc/42/task/42/comm", "x\n" },
	{ "/proc/42/task/143/comm", "x\n" },
	{ "/proc/42/task/9x/comm", "x\n" },
	{ "/proc/57/task/57/comm", "x\n" },
	{ "/proc/77/comm", "x\n" },
	{ "/proc/self/mounts", "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n" },
	{ "/sys/devices/system/cpu/online", "0,2-3\n" },
	{ "/sys/fs/cgroup/cgroup.procs", "" },
	{ "/sys/fs/cgroup/system.slice/a.service/cgroup.procs", "" },
	{ "/sys/fs/cgroup/system.slice/b.service/cgroup.procs", "" },
	{ "/sys/outside/x", "" },
};

static struct perch_machine *machine;
static char root[PATH_MAX];

static int setup(void **state)
{
	(void)state;
	tree_make(root, files, sizeof(files) / sizeof(*files));
	return perch_machine_new(&machine, root, NULL, NULL);
}

static int teardown(void **state)
{
	(void)state;
	perch_machine_free(machine);
	tree_remove(root);
	return 0;
}

static void check(const struct perch_target *target, pid_t pid, int cpu)
{
	assert_int_equal(target->tid, pid);
	assert_int_equal(target->cpu, cpu);
}

static void single_targets(void **state)
{
	const struct perch_target wrong_pid = { .tid = -2, .cpu = 0 },
				  wrong_cpu = { .tid = 0, .cpu = -2 },
				  wrong_cgroup = { .tid = -1, .cpu = 0, .cgroup_fd = -1 };
	struct perch_targets targets = { 0 };
	struct perch_error err;

	(void)state;
	assert_int_equal(perch_targets_add(&targets, &perch_self, &err), 0);
	assert_int_equal(perch_targets_add(&targets, perch_all_cpus.target, &err), 0);
	assert_int_equal(perch_targets_add(&targets, &wrong_pid, &err), -EINVAL);
	assert_int_equal(err.kind, PERCH_ERROR_BAD_TARGET);
	assert_int_equal(perch_targets_add(&targets, &wrong_cpu, &err), -EINVAL);
	assert_int_equal(err.kind, PERCH_ERROR_NO_CPU);
	assert_int_equal(perch_targets_add(&targets, &wrong_cgroup, &err), -EBADF);
	assert_int_equal(perch_targets_add_thread(&targets, 57, machine, &err), 0);
	assert_int_equal(perch_targets_add_thread(&targets, 58, machine, &err), -ESRCH);
	assert_string_equal(err.field, "pid");
	assert_int_equal(perch_targets_add_thread(&targets, -1, machine, &err), -EINVAL);
	assert_int_equal(perch_targets_add_thread(&targets, 0, machine, &err), 0);
	assert_int_equal(targets.nr, 4);
	check(&targets.target[0], 0, -1);
	check(&targets.target[1], -1, -1);
	check(&targets.target[2], 57, -1);
	check(&targets.target[3], 0, -1);
	perch_targets_clear(&targets);
	assert_int_equal(targets.nr, 0);
	assert_null(targets.target);
}

/* The caller may have allocated the array with exactly nr elements. ASan finds a write after it. */
static void appends_to_an_array_of_the_caller(void **state)
{
	struct perch_targets targets = { .nr = 3 };

	(void)state;
	targets.target = calloc(targets.nr, sizeof(*targets.target));
	assert_non_null(targets.target);
	assert_int_equal(perch_targets_add(&targets, perch_all_cpus.target, NULL), 0);
	assert_int_equal(targets.nr, 4);
	check(&targets.target[0], 0, 0);
	check(&targets.target[3], -1, -1);
	assert_true(malloc_usable_size(targets.target) >= targets.nr * sizeof(*targets.target));
	perch_targets_clear(&targets);
}

static void threads_of_a_process(void **state)
{
	struct perch_targets targets = { 0 };
	struct perch_error err;

	(void)state;
	assert_int_equal(perch_targets_add_process(&targets, 42, machine, &err), 0);
	assert_int_equal(targets.nr, 3);
	check(&targets.target[0], 42, -1);
	check(&targets.target[1], 57, -1);
	check(&targets.target[2], 143, -1);
	assert_int_equal(perch_targets_add_process(&targets, 43, machine, &err), -ESRCH);
	assert_int_equal(err.kind, PERCH_ERROR_NO_PROCESS);
	assert_non_null(strstr(err.message, "43"));
	assert_int_equal(perch_targets_add_process(&targets, 77, machine, &err), -ESRCH);
	assert_int_equal(perch_targets_add_process(&targets, -1, machine, &err), -EINVAL);
	assert_int_equal(targets.nr, 3);
	assert_int_equal(perch_targets_add_process(&targets, 57, machine, NULL), 0);
	assert_int_equal(targets.nr, 4);
	perch_targets_clear(&targets);
}

static pthread_barrier_t barrier;

static void *wait_in_thread(void *unused)
{
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	return unused;
}

static void threads_of_this_process(void **state)
{
	struct perch_targets targets = { 0 };
	pthread_t thread[5];
	bool self = false;

	(void)state;
	pthread_barrier_init(&barrier, NULL, 6);
	for (int i = 0; i < 5; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, wait_in_thread, NULL), 0);
	pthread_barrier_wait(&barrier);
	assert_int_equal(perch_targets_add_process(&targets, 0, NULL, NULL), 0);
	assert_true(targets.nr >= 6); /* a sanitizer may have a thread too */
	for (size_t i = 0; i < targets.nr; i++) {
		self |= targets.target[i].tid == gettid();
		assert_true(!i || targets.target[i].tid > targets.target[i - 1].tid);
	}
	assert_true(self);
	pthread_barrier_wait(&barrier);
	for (int i = 0; i < 5; i++)
		pthread_join(thread[i], NULL);
	pthread_barrier_destroy(&barrier);
	perch_targets_clear(&targets);
}

static volatile bool enough;

static void *do_nothing(void *unused)
{
	return unused;
}

static void *start_threads(void *unused)
{
	while (!enough) {
		pthread_t thread;

		if (!pthread_create(&thread, NULL, do_nothing, NULL))
			pthread_join(thread, NULL);
	}
	return unused;
}

/* The list of a busy process is made in bounded time and has every thread once. */
static void threads_that_start_and_end(void **state)
{
	pthread_t busy[3];

	(void)state;
	enough = false;
	for (int i = 0; i < 3; i++)
		assert_int_equal(pthread_create(&busy[i], NULL, start_threads, NULL), 0);
	for (int round = 0; round < 100; round++) {
		struct perch_targets targets = { 0 };
		size_t self = 0;

		assert_int_equal(perch_targets_add_process(&targets, getpid(), NULL, NULL), 0);
		assert_true(targets.nr >= 4);
		for (size_t i = 0; i < targets.nr; i++) {
			self += targets.target[i].tid == gettid();
			for (size_t k = 0; k < i; k++)
				assert_int_not_equal(targets.target[i].tid, targets.target[k].tid);
		}
		assert_int_equal(self, 1);
		perch_targets_clear(&targets);
	}
	enough = true;
	for (int i = 0; i < 3; i++)
		pthread_join(busy[i], NULL);
}

static void cpus(void **state)
{
	int some[] = { 3, 0 }, offline[] = { 2, 1 };
	const struct perch_cpus chosen = { 2, some }, absent = { 2, offline };
	struct perch_targets targets = { 0 };
	struct perch_error err;

	(void)state;
	assert_int_equal(perch_targets_add_cpus(&targets, NULL, machine, &err), 0);
	assert_int_equal(targets.nr, 3);
	check(&targets.target[1], -1, 2);
	assert_int_equal(perch_targets_add_cpus(&targets, &chosen, machine, &err), 0);
	assert_int_equal(targets.nr, 5);
	check(&targets.target[3], -1, 3);
	check(&targets.target[4], -1, 0);
	assert_int_equal(perch_targets_add_cpus(&targets, &absent, machine, &err), -ENODEV);
	assert_int_equal(err.kind, PERCH_ERROR_NO_CPU);
	assert_string_equal(err.field, "cpu");
	assert_non_null(strstr(err.message, "CPU 1 "));
	assert_int_equal(targets.nr, 5);
	perch_targets_clear(&targets);
}

static void splits_targets_by_cpu(void **state)
{
	const struct perch_target there = { .tid = 7, .cpu = 2 };
	int two[] = { 0, 3 }, wrong[] = { 1 };
	const struct perch_cpus chosen = { 2, two }, absent = { 1, wrong }, none = { 0, NULL };
	struct perch_targets targets = { 0 };
	struct perch_error err;

	(void)state;
	assert_int_equal(perch_targets_split(&targets, NULL, machine, &err), 0);
	assert_int_equal(targets.nr, 0);
	assert_int_equal(perch_targets_add_thread(&targets, 57, machine, &err), 0);
	assert_int_equal(perch_targets_add(&targets, &there, &err), 0);
	assert_int_equal(perch_targets_add(&targets, perch_all_cpus.target, &err), 0);
	assert_int_equal(perch_targets_split(&targets, &absent, machine, &err), -ENODEV);
	/* an empty list of CPUs must not remove the targets */
	assert_int_equal(perch_targets_split(&targets, &none, machine, &err), -EINVAL);
	assert_int_equal(perch_targets_add_cpus(&targets, &none, machine, &err), -EINVAL);
	assert_int_equal(err.kind, PERCH_ERROR_NO_CPU);
	assert_int_equal(targets.nr, 3);
	assert_int_equal(perch_targets_split(&targets, &chosen, machine, &err), 0);
	assert_int_equal(targets.nr, 5);
	check(&targets.target[0], 57, 0);
	check(&targets.target[1], 57, 3);
	check(&targets.target[2], 7, 2);
	check(&targets.target[3], -1, 0);
	check(&targets.target[4], -1, 3);
	assert_int_equal(perch_targets_split(&targets, NULL, machine, &err), 0);
	assert_int_equal(targets.nr, 5);
	perch_targets_clear(&targets);
}

static bool leads_to(int fd, const char *path)
{
	char link[64], where[PATH_MAX], expected[2 * PATH_MAX];
	ssize_t length;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	length = readlink(link, where, sizeof(where) - 1);
	if (length < 0)
		return false;
	where[length] = '\0';
	snprintf(expected, sizeof(expected), "%s%s", root, path);
	return !strcmp(where, expected);
}

static void cgroups(void **state)
{
	static const char *const names[] = {
		"system.slice/a.service",
		"/system.slice/a.service",
		"/sys/fs/cgroup/system.slice/a.service",
		"system.slice/../system.slice//./a.service/",
		"//system.slice/a.service",
	};
	struct perch_targets targets = { 0 };
	struct perch_error err;
	int fds[6];

	(void)state;
	for (size_t i = 0; i < 5; i++) {
		if (perch_targets_add_cgroup(&targets, names[i], NULL, machine, &err))
			fail_msg("%s: %s", names[i], err.message);
		assert_int_equal(targets.nr, 3 * (i + 1));
		check(&targets.target[3 * i + 2], -1, 3);
		fds[i] = targets.target[3 * i].cgroup_fd;
		assert_true(targets.target[3 * i].use_cgroup && fds[i] >= 0 &&
			    leads_to(fds[i], "/sys/fs/cgroup/system.slice/a.service"));
		assert_false(fcntl(fds[i], F_GETFL) & O_PATH);
		assert_true(fcntl(fds[i], F_GETFD) & FD_CLOEXEC);
	}
	assert_int_equal(perch_targets_add_cgroup(&targets, "/", NULL, machine, &err), 0);
	fds[5] = targets.target[15].cgroup_fd;
	assert_true(leads_to(fds[5], "/sys/fs/cgroup"));
	assert_int_equal(perch_targets_split(&targets, NULL, machine, &err), 0);
	assert_int_equal(targets.nr, 18);
	perch_targets_clear(&targets);
	for (size_t i = 0; i < 6; i++)
		assert_int_equal(fcntl(fds[i], F_GETFD), -1);
}

static void refuses_missing_cgroups(void **state)
{
	static const char *const outside[] = {
		"..",
		"../outside",
		"system.slice/../../outside",
		"/sys/fs/cgroup/../../outside",
	};
	char whole[2 * PATH_MAX];
	struct perch_targets targets = { 0 };
	int wrong[] = { 1 };
	const struct perch_cpus absent = { 1, wrong };
	struct perch_error err;
	int next = dup(0);

	(void)state;
	close(next);
	for (size_t i = 0; i < sizeof(outside) / sizeof(*outside); i++) {
		assert_int_equal(perch_targets_add_cgroup(&targets, outside[i], NULL, machine,
							  &err),
				 -EINVAL);
		assert_int_equal(err.kind, PERCH_ERROR_BAD_TARGET);
		assert_non_null(strstr(err.message, "leads out"));
	}
	assert_int_equal(perch_targets_add_cgroup(&targets, "", NULL, machine, &err), -EINVAL);
	assert_int_equal(perch_targets_add_cgroup(&targets, "system.slice/c.service/x", NULL,
						  machine, &err),
			 -ENOENT);
	snprintf(whole, sizeof(whole), "%s/sys/fs/cgroup", root);
	assert_non_null(strstr(err.message, whole));
	assert_non_null(strstr(err.remedy, "/system.slice has "));
	assert_non_null(strstr(err.remedy, "a.service"));
	assert_non_null(strstr(err.remedy, "b.service"));
	/* a directory outside of the hierarchy is named whole */
	assert_int_equal(perch_targets_add_cgroup(&targets, "/proc", NULL, machine, &err), -ENOENT);
	assert_non_null(strstr(err.message, "/proc is not in the hierarchy of perf events"));
	assert_int_equal(perch_targets_add_cgroup(&targets, "cgroup.procs", NULL, machine, &err),
			 -ENOENT);
	assert_non_null(strstr(err.remedy, "system.slice"));
	assert_int_equal(perch_targets_add_cgroup(&targets, "system.slice/a.service/x", NULL,
						  machine, &err),
			 -ENOENT);
	assert_non_null(strstr(err.remedy, "mkdir"));
	assert_int_equal(perch_targets_add_cgroup(&targets, "/", &absent, machine, &err), -ENODEV);
	assert_int_equal(targets.nr, 0);
	assert_int_equal(targets.nr_cgroups, 0);
	assert_int_equal(dup(0), next); /* no descriptor is left open */
	close(next);
	perch_targets_clear(&targets);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(single_targets),
		cmocka_unit_test(appends_to_an_array_of_the_caller),
		cmocka_unit_test(threads_of_a_process),
		cmocka_unit_test(threads_of_this_process),
		cmocka_unit_test(threads_that_start_and_end),
		cmocka_unit_test(cpus),
		cmocka_unit_test(splits_targets_by_cpu),
		cmocka_unit_test(cgroups),
		cmocka_unit_test(refuses_missing_cgroups),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
