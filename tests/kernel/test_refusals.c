/* SPDX-License-Identifier: MIT */
/* Open calls that this kernel refuses, and their explanations without a machine. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <cmocka.h>

#include <perch/explain.h>
#include <perch/open.h>

#define DUMMY .type = PERCH_TYPE_SOFTWARE, .config = PERCH_COUNT_SW_DUMMY, .disabled = 1

static const struct perch_attr dummy = { DUMMY, .size = sizeof(dummy), .exclude_kernel = 1 };

static void aux_pause_excludes_aux_resume(void **state)
{
	struct perch_attr attr = dummy;
	struct perch_error err = { 0 };
	int rc;

	(void)state;
	attr.aux_pause = attr.aux_resume = 1;
	rc = perch_open(&attr, NULL, -1, 0, NULL, &err);
	assert_int_equal(rc, -EINVAL);
	if (err.kind == PERCH_ERROR_TOO_NEW) {
		print_message("skipped: %s\n", err.message);
		skip();
	}
	assert_int_equal(err.cause, PERCH_CAUSE_AUX_PAUSE_RESUME);
	assert_string_equal(err.field, "aux_pause");
	assert_non_null(strstr(err.remedy, "aux_pause or aux_resume"));
}

struct other_thread {
	pthread_t thread;
	pid_t tid;
	int leader; /* on itself, opened by itself with pid 0 */
	sem_t ready, end;
};

static void *lead(void *argument)
{
	struct other_thread *other = argument;

	other->tid = (pid_t)syscall(SYS_gettid);
	other->leader = perch_open(&dummy, NULL, -1, 0, NULL, NULL);
	sem_post(&other->ready);
	sem_wait(&other->end);
	return NULL;
}

static void start(struct other_thread *other)
{
	sem_init(&other->ready, 0, 0);
	sem_init(&other->end, 0, 0);
	assert_int_equal(pthread_create(&other->thread, NULL, lead, other), 0);
	sem_wait(&other->ready);
	assert_true(other->leader >= 0);
}

static void stop(struct other_thread *other)
{
	sem_post(&other->end);
	pthread_join(other->thread, NULL);
	close(other->leader);
	sem_destroy(&other->ready);
	sem_destroy(&other->end);
}

/* Explains the open call of a member; the leader was opened with this pid. */
static void expect_other_thread(pid_t pid, const struct other_thread *other, pid_t leader_pid)
{
	const struct perch_open_call_leader leader = {
		.attr = &dummy, .pid = leader_pid, .cpu = -1, .members = 1
	};
	const struct perch_target target = { .tid = pid, .cpu = -1 };
	const struct perch_open_call call = { .attr = &dummy,
					      .pid = pid,
					      .cpu = -1,
					      .group_fd = other->leader,
					      .errnum = EINVAL,
					      .leader = &leader };
	struct perch_error err;

	assert_int_equal(perch_open(&dummy, &target, other->leader, 0, NULL, NULL), -EINVAL);
	assert_int_equal(perch_explain(&call, NULL, &err), -EINVAL);
	assert_int_equal(err.cause, PERCH_CAUSE_GROUP_TARGET);
	assert_int_equal(err.kind, PERCH_ERROR_BAD_GROUP);
	assert_string_equal(err.field, "pid");
	assert_non_null(strstr(err.message, "need the leader's thread"));
}

static void members_need_the_thread_of_the_leader(void **state)
{
	struct other_thread other;
	struct perch_target of_other = { .cpu = -1 };
	int fd;

	(void)state;
	start(&other);
	expect_other_thread(0, &other, 0); /* each pid 0 is another thread */
	expect_other_thread(0, &other, other.tid);
	expect_other_thread(getpid(), &other, other.tid);
	expect_other_thread(getpid(), &other, 0);
	of_other.tid = other.tid; /* the remedy */
	fd = perch_open(&dummy, &of_other, other.leader, 0, NULL, NULL);
	assert_true(fd >= 0);
	close(fd);
	stop(&other);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(aux_pause_excludes_aux_resume),
		cmocka_unit_test(members_need_the_thread_of_the_leader),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
