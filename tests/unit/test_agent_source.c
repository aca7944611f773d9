/* SPDX-License-Identifier: MIT */
/* The recording of perch agent starts anew while samples go on, and goes on if it cannot. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "agent/source.h"

#define SECOND	  1000000000ull
#define MOST_WAIT 60 /* seconds of CPU time, until there must be a sample */

struct fixture {
	struct perch_machine *machine;
	struct perch_targets targets;
	struct agent_source_options options;
	struct agent_window *window;
	struct agent_source *source;
};

static uint64_t now_of(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * SECOND + (uint64_t)now.tv_nsec;
}

static void close_source(struct fixture *fixture)
{
	agent_source_close(fixture->source);
	agent_window_free(fixture->window);
	perch_targets_clear(&fixture->targets);
	perch_machine_free(fixture->machine);
}

static void open_source(struct fixture *fixture)
{
	struct perch_error err = { 0 };

	assert_int_equal(perch_machine_new(&fixture->machine, NULL, NULL, NULL), 0);
	assert_int_equal(
		perch_targets_add_thread(&fixture->targets, gettid(), fixture->machine, NULL), 0);
	fixture->options = (struct agent_source_options){ .events = "cpu-clock:u",
							  .targets = &fixture->targets,
							  .frequency = 997,
							  .machine = fixture->machine };
	fixture->window = agent_window_new(1 << 20, 60);
	assert_non_null(fixture->window);
	if (agent_source_open(&fixture->source, &fixture->options, fixture->window, &err) < 0) {
		print_message("skipped: %s\n", err.message);
		close_source(fixture);
		skip();
	}
}

/* Runs until there are more samples. Returns their number. */
static uint64_t get_samples(struct fixture *fixture)
{
	uint64_t before = agent_source_samples(fixture->source, 0), now = before,
		 start = now_of(CLOCK_THREAD_CPUTIME_ID);
	struct perch_error err;

	while (now == before) {
		for (volatile unsigned i = 0; i < 1000000; i++)
			;
		assert_true(agent_source_read(fixture->source, &err) >= 0);
		now = agent_source_samples(fixture->source, 0);
		assert_true(now_of(CLOCK_THREAD_CPUTIME_ID) - start < MOST_WAIT * SECOND);
	}
	return now;
}

static void starts_anew(void **state)
{
	struct fixture fixture = { .machine = NULL };
	struct agent_source_stats stats;
	struct perch_error err;
	uint64_t samples, now;

	(void)state;
	open_source(&fixture);
	samples = get_samples(&fixture);
	for (unsigned i = 2; i < 5; i++) {
		now = now_of(CLOCK_MONOTONIC);
		assert_int_equal(agent_source_renew(fixture.source, now, &err), 0);
		agent_source_get_stats(fixture.source, &stats);
		assert_int_equal(stats.starts, i);
		assert_true(stats.samples >= samples);
		/* the window may have stacks of the one before */
		assert_false(agent_source_free_old(fixture.source, now));
		/* until then, another one is not begun */
		assert_int_equal(agent_source_renew(fixture.source, now, &err), 0);
		assert_true(get_samples(&fixture) > samples);
		samples = agent_source_samples(fixture.source, 0);
		assert_true(agent_source_free_old(fixture.source, now + 1));
	}
	close_source(&fixture);
}

/* Without descriptors for two recordings, the first one goes on. */
static void goes_on_without_descriptors(void **state)
{
	struct fixture fixture = { .machine = NULL };
	struct rlimit limit, less;
	struct perch_error err;
	uint64_t samples;
	int fd;

	(void)state;
	open_source(&fixture);
	samples = get_samples(&fixture);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	fd = dup(0);
	assert_true(fd >= 0);
	close(fd);
	less = limit;
	less.rlim_cur = (rlim_t)fd;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &less), 0);
	for (int i = 0; i < 3; i++) {
		assert_true(agent_source_renew(fixture.source, now_of(CLOCK_MONOTONIC), &err) < 0);
		assert_true(err.message[0]);
		assert_true(agent_source_free_old(fixture.source, 0));
		assert_true(get_samples(&fixture) > samples);
		samples = agent_source_samples(fixture.source, 0);
	}
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	assert_int_equal(agent_source_renew(fixture.source, now_of(CLOCK_MONOTONIC), &err), 0);
	assert_true(get_samples(&fixture) > samples);
	close_source(&fixture);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(starts_anew),
		cmocka_unit_test(goes_on_without_descriptors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
