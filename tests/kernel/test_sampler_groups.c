/* SPDX-License-Identifier: MIT */
/*
 * Samplers on the running kernel: group leaders with counts of their group, the tracking event,
 * cgroups, filters.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include <perch/sampler.h>

#include "build/one_target.h"
#include "needs.h"
#include "work.h"

static int open_sampler(struct perch_sampler **sampler, const char *events,
			const struct perch_target *target,
			const struct perch_sampler_options *options)
{
	struct perch_error err;
	int rc = perch_sampler_open(sampler, events, ONE_TARGET(target), options, &err);

	if (rc < 0)
		print_message("perch_sampler_open: %s\n", err.message);
	return rc;
}

/* Causes one page fault per page. */
static void touch(size_t pages)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *memory = mmap(NULL, pages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			    -1, 0);

	assert_ptr_not_equal(memory, MAP_FAILED);
	madvise(memory, pages * page, MADV_NOHUGEPAGE);
	for (size_t i = 0; i < pages; i++)
		memory[i * page] = 1;
	munmap(memory, pages * page);
}

/* Samples of the timer have the number of page faults so far. */
static void leader_samples_have_counts_of_group(void **state)
{
	struct perch_sampler_options options = { .event = { .frequency = 2000,
							    .sample = PERCH_SAMPLE_IP } };
	int one = sched_getcpu();
	struct perch_target target = { .tid = 0, .cpu = one };
	struct perch_record record;
	struct perch_sampler *sampler;
	struct perch_read_value value;
	uint64_t faults = 0;
	size_t samples = 0;
	cpu_set_t set;

	(void)state;
	CPU_ZERO(&set);
	CPU_SET(one, &set);
	assert_int_equal(sched_setaffinity(0, sizeof(set), &set), 0);
	assert_int_equal(open_sampler(&sampler, "{cpu-clock:u,page-faults:u}:S", &target, &options),
			 0);
	touch(1);
	assert_int_equal(perch_sampler_enable(sampler, NULL), 0);
	touch(500);
	burn(0.1);
	perch_sampler_disable(sampler, NULL);
	while (perch_sampler_next(sampler, &record, NULL) > 0) {
		if (record.type != PERCH_RECORD_SAMPLE)
			continue;
		samples++;
		assert_int_equal(record.event, 0);
		assert_int_equal(record.sample.read.nr, 2);
		perch_read_values_at(&record.sample.read, 1, &value);
		assert_true(value.value >= faults);
		faults = value.value;
	}
	print_message("%zu samples, %llu page faults\n", samples, (unsigned long long)faults);
	assert_in_range(samples, 1, 400);
	assert_in_range(faults, 500, 700); /* a sanitizer causes some page faults too */
	perch_sampler_close(sampler);
}

/* The counts in the samples of a child are its own: they begin at 0. */
static void children_have_counts_of_their_own(void **state)
{
	struct perch_sampler_options options = {
		.event = { .frequency = 2000, .inherit = 1, .sample = PERCH_SAMPLE_IP }
	};
	struct perch_target target = { .tid = 0, .cpu = -1 };
	uint64_t own = 0, of_child = 0, first_of_child = UINT64_MAX;
	const struct perch_attr *attr;
	struct perch_sampler *sampler;
	struct perch_release release;
	struct perch_read_value value;
	struct perch_record record;
	const uint64_t *ids;
	const char *name;
	bool inherits;
	size_t nr;
	pid_t child;

	(void)state;
	assert_int_equal(perch_machine_release(NULL, &release, NULL), 0);
	inherits = release.major * 100 + release.minor >= 612;
	assert_int_equal(open_sampler(&sampler, "{cpu-clock:u,page-faults:u}:S", &target, &options),
			 0);
	attr = perch_sampler_event(sampler, 0, &name, &ids, &nr);
	assert_int_equal(attr->inherit, inherits);
	assert_int_equal(perch_sampler_enable(sampler, NULL), 0);
	touch(3000);
	burn(0.1);
	child = fork();
	if (!child) {
		burn(0.1);
		touch(1000);
		burn(0.1);
		_exit(0);
	}
	waitpid(child, NULL, 0);
	perch_sampler_disable(sampler, NULL);
	while (perch_sampler_next(sampler, &record, NULL) > 0) {
		bool is_child = record.type == PERCH_RECORD_SAMPLE &&
				record.sample.tid == (uint32_t)child;

		if (record.type != PERCH_RECORD_SAMPLE)
			continue;
		assert_int_equal(record.sample.read.nr, 2);
		perch_read_values_at(&record.sample.read, 1, &value);
		if (is_child && value.value < first_of_child)
			first_of_child = value.value;
		if (is_child && value.value > of_child)
			of_child = value.value;
		if (!is_child && value.value > own)
			own = value.value;
	}
	print_message("page faults: %llu, child %llu to %llu\n", (unsigned long long)own,
		      (unsigned long long)first_of_child, (unsigned long long)of_child);
	assert_true(own >= 3000);
	if (inherits) {
		/* a child copies pages of its parent, but not 3000 before it counts */
		assert_true(first_of_child < 2000);
		assert_true(of_child >= 1000 && of_child < 3000);
	} else {
		assert_int_equal(first_of_child, UINT64_MAX);
	}
	perch_sampler_close(sampler);
}

/* The event is never enabled. The tracking event records mappings and names from the opening on. */
static void tracking_event_records_from_the_opening(void **state)
{
	struct perch_sampler_options options = {
		.event = { .frequency = 1000,
			   .sample = PERCH_SAMPLE_IP,
			   .inherit = 1,
			   .sideband = PERCH_SIDEBAND_MMAP | PERCH_SIDEBAND_COMM |
				       PERCH_SIDEBAND_TASK },
		.tracking_event = true,
	};
	struct perch_sampler *sampler;
	struct perch_record record;
	struct perch_target target = { .cpu = -1 };
	size_t execs = 0, maps = 0, exits = 0, samples = 0;
	int start_pipe[2];

	(void)state;
	assert_int_equal(pipe(start_pipe), 0);
	target.tid = fork();
	if (!target.tid) {
		char byte;

		if (read(start_pipe[0], &byte, 1) == 1)
			execlp("true", "true", NULL);
		_exit(1);
	}
	assert_int_equal(open_sampler(&sampler, "cpu-clock:u", &target, &options), 0);
	assert_int_equal(write(start_pipe[1], "", 1), 1);
	waitpid(target.tid, NULL, 0);
	while (perch_sampler_next(sampler, &record, NULL) > 0) {
		samples += record.type == PERCH_RECORD_SAMPLE;
		execs += record.type == PERCH_RECORD_COMM && record.comm.exec &&
			 !strcmp(record.comm.comm.text, "true");
		maps += record.type == PERCH_RECORD_MMAP2;
		exits += record.type == PERCH_RECORD_EXIT;
		assert_int_equal(record.event, 1);
		assert_true(record.sample_id.time != 0);
	}
	assert_int_equal(samples, 0);
	assert_int_equal(execs, 1);
	assert_true(maps >= 2);
	assert_int_equal(exits, 1);
	perch_sampler_close(sampler);
	close(start_pipe[0]);
	close(start_pipe[1]);
}

/* Makes a cgroup with a busy child. Returns its descriptor, or skips the test. */
static int make_cgroup(char *path, size_t size, pid_t *child)
{
	char procs[PATH_MAX + 16];
	FILE *file;

	needs_cgroup(path, size);
	*child = fork();
	if (!*child)
		for (;;)
			burn(1);
	snprintf(procs, sizeof(procs), "%s/cgroup.procs", path);
	file = fopen(procs, "w");
	assert_non_null(file);
	fprintf(file, "%d\n", *child);
	assert_int_equal(fclose(file), 0);
	return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static void samples_only_the_cgroup(void **state)
{
	struct perch_sampler_options options = { .event = { .frequency = 1000,
							    .sample = PERCH_SAMPLE_IP } };
	struct perch_target target = { .tid = -1, .cpu = -1, .use_cgroup = 1 };
	char path[PATH_MAX];
	struct perch_sampler *sampler;
	struct perch_record record;
	size_t samples = 0, others = 0;
	pid_t child;

	(void)state;
	target.cgroup_fd = make_cgroup(path, sizeof(path), &child);
	assert_true(target.cgroup_fd > 0);
	assert_int_equal(open_sampler(&sampler, "cpu-clock", &target, &options), 0);
	perch_sampler_enable(sampler, NULL);
	/* on a busy machine the child waits for a CPU */
	for (double end = seconds() + 60; samples <= 10 && seconds() < end;) {
		usleep(100000);
		while (perch_sampler_next(sampler, &record, NULL) > 0) {
			if (record.type != PERCH_RECORD_SAMPLE)
				continue;
			samples++;
			others += record.sample.pid != (uint32_t)child;
		}
	}
	perch_sampler_disable(sampler, NULL);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	close(target.cgroup_fd);
	rmdir(path);
	print_message("%zu samples, %zu of others\n", samples, others);
	assert_true(samples > 10);
	assert_int_equal(others, 0);
	perch_sampler_close(sampler);
}

/* Two events have the same tracepoint, and one has a filter: it counts only the matching hits. */
static void filter_applies_to_its_event(void **state)
{
	struct perch_sampler_options options = { .event = { .period = 1,
							    .sample = PERCH_SAMPLE_RAW } };
	struct perch_events events = { 0 };
	struct perch_sampler *sampler;
	struct perch_record record;
	struct perch_error err;
	size_t hits[2] = { 0, 0 };

	(void)state;
	if (perch_events_parse(&events, "syscalls:sys_enter_close,syscalls:sys_enter_close", NULL,
			       &err) < 0) {
		print_message("skipped: %s\n", err.message);
		skip();
	}
	events.event[1].filter = strdup("fd == 987");
	if (perch_sampler_open_events(&sampler, &events, NULL, &options, &err) < 0) {
		print_message("skipped: %s\n", err.message);
		perch_events_clear(&events);
		skip();
	}
	perch_sampler_enable(sampler, NULL);
	for (int i = 0; i < 30; i++)
		close(i % 3 ? 988 : 987);
	perch_sampler_disable(sampler, NULL);
	while (perch_sampler_next(sampler, &record, NULL) > 0)
		if (record.type == PERCH_RECORD_SAMPLE && record.event < 2)
			hits[record.event]++;
	assert_int_equal(hits[0], 30);
	assert_int_equal(hits[1], 10);
	perch_sampler_close(sampler);
	perch_events_clear(&events);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(leader_samples_have_counts_of_group),
		cmocka_unit_test(children_have_counts_of_their_own),
		cmocka_unit_test(tracking_event_records_from_the_opening),
		cmocka_unit_test(samples_only_the_cgroup),
		cmocka_unit_test(filter_applies_to_its_event),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
