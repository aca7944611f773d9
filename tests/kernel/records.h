/* SPDX-License-Identifier: MIT */
/*
 * Helpers for tests of records from the kernel: they skip if an event cannot be opened, and run all
 * tests again as an ordinary user. Include after <cmocka.h>.
 */
#ifndef PERCH_TESTS_RECORDS_H
#define PERCH_TESTS_RECORDS_H

#include <errno.h>
#include <grp.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exact.h"
#include "live.h"

#define RECORDS_NOBODY 65534

/* Binds this thread to its current CPU, for rings of one CPU. Returns the CPU. */
static inline int stay_on_current_cpu(void)
{
	int cpu = sched_getcpu();

	if (cpu < 0 || !stay_on(cpu)) {
		print_message("skipped: cannot bind this thread to a CPU\n");
		skip();
	}
	return cpu;
}

static inline void record_open(struct live *live, const struct perch_attr *attr,
			       const struct perch_target *target, size_t pages)
{
	struct perch_error err = { 0 };
	int rc = live_open(live, attr, target, pages, &err);

	if (rc < 0)
		skip_or_fail("records", rc, &err);
}

/* Records this thread on all CPUs. */
static inline void record_self(struct live *live, const struct perch_attr *attr)
{
	record_open(live, attr, &perch_self, 0);
}

static inline void record_take(struct live *live)
{
	struct perch_error err = { 0 };

	if (live_take(live, &err) < 0)
		fail_msg("%s", err.message);
}

static inline void record_end(struct live *live)
{
	assert_int_equal(live_disable(live), 0);
	record_take(live);
}

/* Returns the record of a type, and fails unless there is exactly one. */
static inline const struct perch_record *only_record(const struct live *live, uint32_t type)
{
	if (live_count(live, type) != 1)
		fail_msg("%zu %s records", live_count(live, type), perch_record_name(type));
	return live_next(live, type, NULL);
}

static inline void assert_text(const struct perch_text *text, const char *wanted)
{
	if (text->length != strlen(wanted) || memcmp(text->text, wanted, text->length))
		fail_msg("'%.*s', expected '%s'", (int)text->length, text->text, wanted);
	assert_int_equal(text->text[text->length], 0);
}

/* Checks the pid and tid in the sample id. */
static inline void assert_written_by(const struct perch_record *record, pid_t pid, pid_t tid)
{
	assert_int_equal(record->sample_id.pid, pid);
	assert_int_equal(record->sample_id.tid, tid);
}

static inline pid_t current_tid(void)
{
	return (pid_t)syscall(SYS_gettid);
}

static inline int records_as_user(const struct CMUnitTest *tests, size_t nr)
{
	struct CMUnitTest *again = calloc(nr, sizeof(*again));
	int failed;

	if (!again || setgroups(0, NULL) || setgid(RECORDS_NOBODY) || setuid(RECORDS_NOBODY) ||
	    prctl(PR_SET_DUMPABLE, 1)) {
		print_message("cannot switch to user %d: %s\n", RECORDS_NOBODY, strerror(errno));
		return 1;
	}
	for (size_t i = 0; i < nr; i++) {
		char *name;

		again[i] = tests[i];
		if (asprintf(&name, "%s_as_an_ordinary_user", tests[i].name) > 0)
			again[i].name = name;
	}
	failed = _cmocka_run_group_tests("ordinary user", again, nr, NULL, NULL);
	for (size_t i = 0; i < nr; i++)
		free((void *)(uintptr_t)again[i].name);
	free(again);
	return failed;
}

static inline int records_as_this_user(const struct CMUnitTest *tests, size_t nr)
{
	return _cmocka_run_group_tests("records", tests, nr, NULL, NULL);
}

/*
 * Runs the tests in a child. On a busy virtual machine the kernel sometimes sees a hit of a data
 * breakpoint after it has switched the thread, does not find the event, and ends the program by
 * SIGTRAP. Then the tests run again.
 */
static inline int records_in_child(int (*run)(const struct CMUnitTest *, size_t),
				   const struct CMUnitTest *tests, size_t nr)
{
	for (int i = 0; i < 5; i++) {
		int status = 0;
		pid_t child;

		fflush(NULL);
		child = fork();
		if (!child) {
			int failed = run(tests, nr);

			fflush(NULL);
			exit(!!failed);
		}
		if (child < 0 || waitpid(child, &status, 0) != child)
			return 1;
		if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGTRAP)
			return !!status;
		print_message("the kernel sent SIGTRAP for a hit of a breakpoint: again\n");
	}
	return 1;
}

/* Runs the tests as the current user, and if that is root, also as an ordinary user. */
static inline int records_run(const struct CMUnitTest *tests, size_t nr)
{
	int failed = records_in_child(records_as_this_user, tests, nr);

	return live_is_root() ? failed + records_in_child(records_as_user, tests, nr) : failed;
}
#define RECORDS_RUN(tests) records_run(tests, sizeof(tests) / sizeof((tests)[0]))

#endif
