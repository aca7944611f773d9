/* SPDX-License-Identifier: MIT */
/* Counters of threads and other tasks, large groups, and refusals of an unprivileged user. */
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
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include <perch/count.h>

#define PAGES	64
#define MEMBERS 300
#define NOBODY	65534

static void *touch_pages(void *unused)
{
	size_t page = sysconf(_SC_PAGESIZE);
	char *pages = mmap(NULL, PAGES * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			   -1, 0);

	if (pages == MAP_FAILED)
		return unused;
	madvise(pages, PAGES * page, MADV_NOHUGEPAGE);
	for (int i = 0; i < PAGES; i++)
		((volatile char *)pages)[i * page] = 1;
	munmap(pages, PAGES * page);
	return NULL;
}

static uint64_t faults_with_thread(const struct perch_options *options)
{
	struct perch_counter *faults;
	struct perch_count count;
	struct perch_error err;
	pthread_t thread;

	if (perch_counter_open(&faults, "page-faults:u", &perch_self, options, &err))
		fail_msg("%s", err.message);
	assert_int_equal(pthread_create(&thread, NULL, touch_pages, NULL), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(perch_counter_read(faults, &count, &err), 0);
	perch_counter_close(faults);
	return count.value;
}

static void threads_inherit_if_requested(void **state)
{
	const struct perch_options alone = { .enabled = 1 };
	const struct perch_options inherited = { .enabled = 1, .inherit = 1 };

	(void)state;
	faults_with_thread(&alone); /* libc allocates the first stack of a thread */
	assert_true(faults_with_thread(&alone) < PAGES);
	assert_true(faults_with_thread(&inherited) >= PAGES);
}

static long switches_of_thread(void)
{
	struct rusage usage;

	assert_int_equal(getrusage(RUSAGE_THREAD, &usage), 0);
	return usage.ru_nvcsw + usage.ru_nivcsw;
}

static void switches_and_time_in_one_group(void **state)
{
	const struct timespec moment = { 0, 1000000 };
	struct perch_group *group;
	struct perch_count counts[3];
	struct perch_error err;

	(void)state;
	if (perch_group_open(&group, "{task-clock,page-faults,context-switches}", &perch_self, NULL,
			     &err)) {
		assert_int_equal(err.kind, PERCH_ERROR_PARANOID);
		print_message("skipped: %s\n", err.message);
		skip();
	}
	assert_int_equal(perch_group_enable(group, NULL), 0);
	touch_pages(NULL);
	/* on a slow machine, the time may be over before the thread sleeps */
	for (long start = switches_of_thread(); switches_of_thread() - start < 5;)
		nanosleep(&moment, NULL);
	assert_int_equal(perch_group_disable(group, NULL), 0);
	assert_int_equal(perch_group_read(group, counts, 3, &err), 0);
	assert_true(counts[0].value > 0 && counts[0].value <= counts[0].enabled_ns);
	assert_true(counts[1].value >= PAGES);
	assert_true(counts[2].value >= 5);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(counts[i].state, PERCH_COUNT_STATE_EXACT);
		assert_true(counts[i].enabled_ns == counts[0].enabled_ns);
	}
	perch_group_close(group);
}

static void large_groups_are_read_whole(void **state)
{
	struct perch_options options = { .read = PERCH_FORMAT_ID };
	static struct perch_count counts[MEMBERS];
	static char text[MEMBERS * 16];
	struct perch_group *group;
	struct perch_error err;

	(void)state;
	for (int i = 0; i < MEMBERS; i++)
		strcat(text, i ? ",dummy:u" : "dummy:u");
	if (perch_group_open(&group, text, &perch_self, &options, &err)) {
		assert_int_equal(err.kind, PERCH_ERROR_DESCRIPTORS);
		print_message("skipped: %s\n", err.message);
		skip();
	}
	assert_int_equal(perch_group_size(group), MEMBERS);
	assert_int_equal(perch_group_enable(group, NULL), 0);
	assert_int_equal(perch_group_read(group, counts, MEMBERS, &err), 0);
	for (int i = 1; i < MEMBERS; i++)
		assert_true(counts[i].id && counts[i].id != counts[i - 1].id);
	perch_group_close(group);
}

/* Without hardware counters the message names the reason. */
static void cycles_work_or_are_not_supported(void **state)
{
	struct perch_options options = { 0 };
	struct perch_counter *cycles;
	struct perch_error err;
	int rc;

	(void)state;
	assert_int_equal(perch_machine_new(&options.machine, NULL, NULL, NULL), 0);
	rc = perch_counter_open(&cycles, "cycles:u", &perch_self, &options, &err);
	if (rc) {
		assert_int_equal(rc, -ENOENT);
		assert_int_equal(err.kind, PERCH_ERROR_NOT_SUPPORTED);
		assert_true(err.remedy[0]);
	}
	perch_counter_close(cycles);
	perch_machine_free(options.machine);
}

static void refuses_ended_tasks(void **state)
{
	struct perch_target target = { .tid = -1, .cpu = -1 };
	struct perch_counter *faults;
	struct perch_error err;
	char number[16];

	(void)state;
	target.tid = fork();
	if (target.tid == 0)
		_exit(0);
	assert_int_equal(waitpid(target.tid, NULL, 0), target.tid);
	assert_int_equal(perch_counter_open(&faults, "page-faults:u", &target, NULL, &err), -ESRCH);
	assert_int_equal(err.kind, PERCH_ERROR_NO_PROCESS);
	snprintf(number, sizeof(number), "%d", target.tid);
	assert_non_null(strstr(err.message, number));
	assert_null(faults);
}

/* Opens breakpoints until no debug register is free; x86 has four. */
static void explains_missing_debug_registers(void **state)
{
	struct perch_attr attr = {
		.type = PERCH_TYPE_BREAKPOINT,
		.size = sizeof(attr),
		.bp_type = PERCH_BREAKPOINT_W,
		.bp_len = 4,
		.bp_addr = (uintptr_t)&attr & ~(uint64_t)7,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};
	struct perch_error err;
	int fds[64], nr = 0, rc = 0;

	(void)state;
	while (nr < 64 && (rc = perch_open(&attr, &perch_self, -1, 0, NULL, &err)) >= 0)
		fds[nr++] = rc;
	for (int i = 0; i < nr; i++)
		close(fds[i]);
	if (!nr) {
		print_message("skipped: no breakpoint here: %s\n", err.message);
		skip();
	}
	assert_int_equal(rc, -ENOSPC);
	assert_int_equal(err.kind, PERCH_ERROR_BREAKPOINTS);
}

/*
 * Runs in a child, which drops root. Without a machine, and with one, the errors have the values of
 * this machine. Returns its exit status: 0, or the number of the step that failed.
 */
static int unprivileged_user(bool has_machine)
{
	struct perch_options options = { 0 };
	struct perch_counter *faults;
	struct perch_error err;

	if (geteuid() == 0 && setresuid(NOBODY, NOBODY, NOBODY))
		return 1;
	if ((has_machine && perch_machine_new(&options.machine, NULL, NULL, NULL)) ||
	    perch_machine_privileged(options.machine))
		return 2;
	if (perch_counter_open(&faults, "page-faults", &perch_self, &options, &err) != -EACCES)
		return 3;
	if (err.kind != PERCH_ERROR_PARANOID || strcmp(err.field, "exclude_kernel"))
		return 4;
	if (!strstr(err.message, "(currently 2)") || !strstr(err.remedy, "exclude_kernel"))
		return 5;
	if (perch_counter_open(&faults, "page-faults:u", &perch_self, &options, &err))
		return 6;
	perch_counter_close(faults);
	if (perch_counter_open(&faults, "page-faults:u",
			       &(struct perch_target){ .tid = -1, .cpu = 0 }, &options,
			       &err) != -EACCES)
		return 7;
	if (err.kind != PERCH_ERROR_PARANOID || strcmp(err.field, "pid"))
		return 8;
	perch_machine_free(options.machine);
	return 0;
}

static void unprivileged_users_get_a_remedy(void **state)
{
	long paranoid = 0;

	(void)state;
	perch_machine_sysctl(NULL, PERCH_SYSCTL_PARANOID, &paranoid, NULL);
	if (paranoid != 2) {
		print_message("skipped: kernel.perf_event_paranoid is %ld and not 2\n", paranoid);
		skip();
	}
	for (int has_machine = 0; has_machine < 2; has_machine++) {
		pid_t pid = fork();
		int status;

		if (pid == 0)
			_exit(unprivileged_user(has_machine));
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFEXITED(status));
		assert_int_equal(WEXITSTATUS(status), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads_inherit_if_requested),
		cmocka_unit_test(switches_and_time_in_one_group),
		cmocka_unit_test(large_groups_are_read_whole),
		cmocka_unit_test(cycles_work_or_are_not_supported),
		cmocka_unit_test(refuses_ended_tasks),
		cmocka_unit_test(explains_missing_debug_registers),
		cmocka_unit_test(unprivileged_users_get_a_remedy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
