/* SPDX-License-Identifier: MIT */
/* perch agent --push where its thread cannot be created. */
#define _GNU_SOURCE
#include <pthread.h>

#include "agent_push_fixture.h"

static bool fails_threads;

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *),
			  void *context);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *),
			  void *context);

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *),
			  void *context)
{
	return fails_threads ? EAGAIN : __real_pthread_create(thread, attr, run, context);
}

/* The next window starts the thread that a change could not, and what came before is sent. */
static void starts_thread_later(void **state)
{
	struct fixture *fixture = *state;
	struct agent_push *push;
	struct perch_error err;

	push = open_push_to(fixture, &ok, 1, 0);
	fails_threads = true;
	fixture->options.spool_age = 60 * SECOND;
	assert_int_equal(agent_push_change(push, &fixture->options, 0, &err), -EAGAIN);
	add(push, AGENT_PUSH_OTLP, "1");
	fails_threads = false;
	add(push, AGENT_PUSH_OTLP, "2");
	wait_until(fixture, push, is_empty);
	assert_int_equal(fixture->stats.target[0].windows, 2);
	/* without another one, they are in the spool at the end */
	fails_threads = true;
	fixture->options.spool_age = 61 * SECOND;
	assert_int_equal(agent_push_change(push, &fixture->options, 0, &err), -EAGAIN);
	add(push, AGENT_PUSH_OTLP, "3");
	agent_push_close(push, 0);
	fails_threads = false;
	push = open_push(fixture);
	wait_until(fixture, push, is_empty);
	assert_int_equal(fixture->stats.target[0].windows, 1);
	end_push(fixture, push);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		PUSH_TEST(starts_thread_later),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
