/* SPDX-License-Identifier: MIT */
/* Options that need a running kernel: signals, clocks, lost samples, inheritance, exec, cgroups. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include <perch/open.h>

#include "needs.h"

#ifndef TRAP_PERF
#define TRAP_PERF 6
#endif

static int open_built(const struct perch_event *event, const struct perch_options *options,
		      const struct perch_target *target)
{
	struct perch_attr attr;
	struct perch_error err;
	int fd;

	if (perch_attr_build(&attr, event, options, &err))
		fail_msg("%s", err.message);
	fd = perch_open(&attr, target, -1, 0, NULL, &err);
	if (fd == -EACCES || fd == -EPERM || (fd < 0 && err.kind == PERCH_ERROR_TOO_NEW) ||
	    fd == -ENOSPC) {
		print_message("skipped: %s\n", err.message);
		skip();
	}
	if (fd < 0)
		fail_msg("%s", err.message);
	return fd;
}

static struct perch_event software(uint64_t config)
{
	return (struct perch_event){ .name = "software",
				     .members = 1,
				     .scale = 1.0,
				     .attr = { .type = PERCH_TYPE_SOFTWARE, .config = config } };
}

static struct perch_event breakpoint_on(volatile void *address)
{
	struct perch_event event = { .name = "write",
				     .members = 1,
				     .scale = 1.0,
				     .attr = { .type = PERCH_TYPE_BREAKPOINT } };

	event.attr.bp_type = PERCH_BREAKPOINT_W;
	event.attr.bp_addr = (uintptr_t)address;
	event.attr.bp_len = sizeof(long);
	event.attr.exclude_kernel = event.attr.exclude_hv = 1;
	return event;
}

static uint64_t value_of(int fd)
{
	uint64_t words[5] = { 0 };

	assert_true(read(fd, words, sizeof(words)) >= 8);
	return words[0];
}

static void touch_pages(int nr)
{
	size_t page = sysconf(_SC_PAGESIZE);
	volatile char *pages =
		mmap(NULL, nr * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (pages == MAP_FAILED)
		_exit(9);
	madvise((void *)pages, nr * page, MADV_NOHUGEPAGE);
	for (int i = 0; i < nr; i++)
		pages[i * page] = 1;
	munmap((void *)pages, nr * page);
}

/* ---- SIGTRAP ---- */

static volatile long watched;
/* Data of the signal handler. volatile, because the compiler sees no function call between the
 * write and the check. */
static volatile sig_atomic_t traps, trap_code;
static void *volatile trap_address;
static volatile unsigned long trap_data;
static volatile uint32_t trap_type;

/* After si_addr there are fields that the C library may not define: data (a long), type and flags
 * (32 bits each). */
static void on_trap(int number, siginfo_t *info, void *unused)
{
	const char *after_addr = (const char *)&info->si_addr + sizeof(info->si_addr);
	unsigned long data;
	uint32_t type;

	(void)number, (void)unused;
	memcpy(&data, after_addr, sizeof(data));
	memcpy(&type, after_addr + sizeof(data), sizeof(type));
	trap_data = data;
	trap_type = type;
	trap_code = info->si_code;
	trap_address = info->si_addr;
	traps++;
}

static void signals_with_data(void **state)
{
	const struct sigaction action = { .sa_sigaction = on_trap, .sa_flags = SA_SIGINFO };
	const struct perch_options options = {
		.period = 1, .sigtrap = 1, .remove_on_exec = 1, .sig_data = 0x12345678, .enabled = 1
	};
	struct perch_event event = breakpoint_on(&watched);
	int fd;

	(void)state;
	needs_breakpoints_that_fire();
	sigaction(SIGTRAP, &action, NULL);
	fd = open_built(&event, &options, &perch_self);
	traps = 0;
	for (int i = 1; i <= 3; i++) {
		watched = i;
		assert_int_equal(traps, i);
		assert_int_equal(trap_code, TRAP_PERF);
		assert_ptr_equal(trap_address, (void *)&watched);
		assert_int_equal(trap_data, 0x12345678);
		assert_int_equal(trap_type, PERCH_TYPE_BREAKPOINT);
	}
	close(fd);
	watched = 4;
	assert_int_equal(traps, 3);
}

/* perch_event_modify() changes sig_data. */
static void modifies_signal_data(void **state)
{
	const struct sigaction action = { .sa_sigaction = on_trap, .sa_flags = SA_SIGINFO };
	const struct perch_options options = {
		.period = 1, .sigtrap = 1, .remove_on_exec = 1, .sig_data = 1, .enabled = 1
	};
	struct perch_event event = breakpoint_on(&watched);
	struct perch_attr attr;
	struct perch_error err;
	int fd;

	(void)state;
	needs_breakpoints_that_fire();
	sigaction(SIGTRAP, &action, NULL);
	fd = open_built(&event, &options, &perch_self);
	assert_int_equal(perch_attr_build(&attr, &event, &options, NULL), 0);
	attr.sig_data = 99;
	if (perch_event_modify(fd, &attr, NULL, &err))
		fail_msg("%s", err.message);
	traps = 0;
	watched = 5;
	assert_int_equal(traps, 1);
	assert_int_equal(trap_data, 99);
	close(fd);
}

/* ---- Clocks ---- */

static uint64_t now(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	return time.tv_sec * 1000000000ull + time.tv_nsec;
}

/* Samples of page faults that have only the time: 16 bytes each. */
static void check_clock(clockid_t clock)
{
	const struct perch_options options = { .period = 1,
					       .sample = PERCH_SAMPLE_TIME,
					       .use_clockid = 1,
					       .clockid = clock,
					       .enabled = 1,
					       .exclude_kernel = 1 };
	struct perch_event event = software(PERCH_COUNT_SW_PAGE_FAULTS);
	size_t page = sysconf(_SC_PAGESIZE), nr = 0;
	int fd = open_built(&event, &options, &perch_self);
	struct perch_mmap_page *ring =
		mmap(NULL, 9 * page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	uint64_t before, after, earlier;

	assert_ptr_not_equal(ring, MAP_FAILED);
	earlier = before = now(clock);
	touch_pages(50);
	after = now(clock);
	assert_int_equal(perch_event_disable(fd, false, NULL, NULL), 0);
	for (uint64_t at = 0; at < ring->data_head;) {
		const char *record = (const char *)ring + ring->data_offset + at;
		const struct perch_record_header *header = (const void *)record;
		uint64_t time;

		at += header->size;
		memcpy(&time, record + sizeof(*header), sizeof(time));
		/* samples before and after the measured time are outside */
		if (header->type != PERCH_RECORD_SAMPLE || time < before || time > after)
			continue;
		assert_true(time >= earlier);
		earlier = time;
		nr++;
	}
	assert_true(nr >= 50);
	munmap(ring, 9 * page);
	close(fd);
}

static void clocks(void **state)
{
	(void)state;
	check_clock(CLOCK_MONOTONIC);
	check_clock(CLOCK_MONOTONIC_RAW);
	check_clock(CLOCK_REALTIME);
	check_clock(CLOCK_BOOTTIME);
	check_clock(CLOCK_TAI);
}

/* ---- Lost samples ---- */

static void counts_lost_samples(void **state)
{
	const struct perch_options options = { .period = 1,
					       .sample = PERCH_SAMPLE_IP | PERCH_SAMPLE_TIME,
					       .enabled = 1,
					       .exclude_kernel = 1,
					       .read = PERCH_FORMAT_LOST | PERCH_FORMAT_ID };
	struct perch_event event = software(PERCH_COUNT_SW_PAGE_FAULTS);
	size_t page = sysconf(_SC_PAGESIZE);
	int fd = open_built(&event, &options, &perch_self);
	void *ring = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	uint64_t words[3];

	(void)state;
	assert_ptr_not_equal(ring, MAP_FAILED);
	touch_pages(2000); /* a page holds about 170 samples */
	assert_int_equal(read(fd, words, sizeof(words)), sizeof(words));
	assert_true(words[0] >= 2000);
	assert_true(words[1]);
	assert_in_range(words[2], words[0] - page / 24, words[0]);
	munmap(ring, 2 * page);
	close(fd);
}

/* ---- Inheritance and exec ---- */

static void *touch_twenty(void *unused)
{
	touch_pages(20);
	return unused;
}

/* Counts page faults of a thread (20 pages) and a child (1000 pages), if they inherit the event. */
static uint64_t faults_of_others(const struct perch_options *options)
{
	struct perch_event event = software(PERCH_COUNT_SW_PAGE_FAULTS);
	int fd = open_built(&event, options, &perch_self), status;
	uint64_t value;
	pthread_t thread;
	pid_t child;

	assert_int_equal(pthread_create(&thread, NULL, touch_twenty, NULL), 0);
	pthread_join(thread, NULL);
	child = fork();
	if (!child) {
		touch_pages(1000);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	value = value_of(fd);
	close(fd);
	return value;
}

static void threads_inherit_only(void **state)
{
	const struct perch_options nobody = { .enabled = 1, .exclude_kernel = 1 };
	const struct perch_options all = { .enabled = 1, .exclude_kernel = 1, .inherit = 1 };
	const struct perch_options threads = {
		.enabled = 1, .exclude_kernel = 1, .inherit = 1, .inherit_thread = 1
	};
	uint64_t alone = faults_of_others(&nobody), with_threads = faults_of_others(&threads);

	(void)state;
	assert_true(with_threads >= 20);
	assert_true(alone + 20 <= with_threads + 10); /* the faults of this thread vary */
	assert_true(with_threads < 900);
	assert_true(faults_of_others(&all) >= 1020);
}

/* Counts the page faults of a child that waits and then calls exec. */
static uint64_t faults_over_exec(bool removed)
{
	const struct perch_options options = { .enabled = 1,
					       .exclude_kernel = 1,
					       .remove_on_exec = removed };
	struct perch_event event = software(PERCH_COUNT_SW_PAGE_FAULTS);
	struct perch_target target = { .cpu = -1 };
	uint64_t value;
	int go[2], fd;

	assert_int_equal(pipe(go), 0);
	target.tid = fork();
	if (!target.tid) {
		char byte;

		close(go[1]);
		if (read(go[0], &byte, 1) != 1)
			_exit(8);
		touch_pages(10);
		execl("/bin/true", "true", NULL);
		_exit(7);
	}
	close(go[0]);
	fd = open_built(&event, &options, &target);
	assert_int_equal(write(go[1], "x", 1), 1);
	waitpid(target.tid, NULL, 0);
	value = value_of(fd);
	close(fd);
	close(go[1]);
	return value;
}

static void remove_on_exec_removes(void **state)
{
	uint64_t removed = faults_over_exec(true), remaining = faults_over_exec(false);

	(void)state;
	assert_true(removed >= 10);
	assert_true(remaining >
		    removed + 20); /* the start of a dynamic program has some dozens of faults */
}

/* ---- Optional features ---- */

static void omits_too_new_features(void **state)
{
	const struct perch_options options = { .period = 100,
					       .sample = PERCH_SAMPLE_IP | PERCH_SAMPLE_CALLCHAIN,
					       .defer_callchain = 1,
					       .exclude_kernel = 1,
					       .exclude_callchain_kernel = 1 };
	struct perch_event event = software(PERCH_COUNT_SW_PAGE_FAULTS);
	struct perch_attr attr, wanted, optional = { 0 }, missing_features;
	struct perch_release release;
	struct perch_error err = { 0 };
	bool old;
	int fd;

	(void)state;
	assert_int_equal(perch_machine_release(NULL, &release, NULL), 0);
	old = release.major < 6 || (release.major == 6 && release.minor < 19);
	assert_int_equal(perch_attr_build(&wanted, &event, &options, NULL), 0);
	wanted.size = sizeof(wanted);
	wanted.config4 = 1;
	wanted.ksymbol = 1;
	optional.defer_callchain = optional.ksymbol = 1;
	attr = wanted;
	fd = perch_open_optional(&attr, &optional, NULL, -1, 0, NULL, &missing_features, &err);
	if (old)
		assert_int_equal(fd, -E2BIG); /* config4 is required */
	if (fd >= 0)
		close(fd);
	optional.config4 = 1;
	attr = wanted;
	fd = perch_open_optional(&attr, &optional, NULL, -1, 0, NULL, &missing_features, &err);
	if (fd < 0 && old)
		fail_msg("%s", err.message);
	if (fd < 0)
		skip(); /* a newer kernel may use config4 */
	assert_true(attr.ksymbol && !missing_features.ksymbol);
	assert_true(attr.defer_callchain != missing_features.defer_callchain);
	assert_true(attr.config4 != missing_features.config4);
	if (old)
		assert_true(missing_features.defer_callchain && missing_features.config4);
	close(fd);
}

/* ---- Cgroups ---- */

static int write_to(const char *directory, const char *name, const char *text)
{
	char path[PATH_MAX + 64];
	int fd, rc;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	fd = open(path, O_WRONLY);
	if (fd < 0)
		return -1;
	rc = write(fd, text, strlen(text)) < 0 ? -1 : 0;
	close(fd);
	return rc;
}

/* A child joins the cgroup and touches pages. */
static void touch_inside(const char *directory)
{
	pid_t child = fork();
	int status;

	if (!child) {
		if (write_to(directory, "cgroup.procs", "0"))
			_exit(6);
		touch_pages(500);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	if (status)
		fail_msg("the child ended with %#x", status);
}

static uint64_t count_on(const struct perch_targets *targets, const char *directory)
{
	const struct perch_options options = { .enabled = 1, .exclude_kernel = 1 };
	struct perch_event event = software(PERCH_COUNT_SW_PAGE_FAULTS);
	uint64_t sum = 0;
	int fds[64];

	assert_in_range(targets->nr, 1, 64);
	for (size_t i = 0; i < targets->nr; i++)
		fds[i] = open_built(&event, &options, &targets->target[i]);
	touch_pages(5000); /* not in the cgroup */
	touch_inside(directory);
	for (size_t i = 0; i < targets->nr; i++) {
		sum += value_of(fds[i]);
		close(fds[i]);
	}
	return sum;
}

static void processes_of_a_cgroup(void **state)
{
	struct perch_targets targets = { 0 };
	struct perch_machine *machine;
	char directory[PATH_MAX + 32];
	struct perch_error err;
	const char *name;

	(void)state;
	needs_cgroup(directory, sizeof(directory));
	name = cgroup_name(directory);
	assert_int_equal(perch_machine_new(&machine, NULL, NULL, NULL), 0);
	assert_int_equal(perch_targets_add_cgroup(&targets, name, NULL, machine, &err), 0);
	assert_in_range(count_on(&targets, directory), 500, 1500);
	perch_targets_clear(&targets);
	rmdir(directory);
	assert_int_equal(perch_targets_add_cgroup(&targets, name, NULL, machine, &err), -ENOENT);
	*strrchr(directory, '/') = '\0';
	assert_non_null(strstr(err.message, directory));
	perch_machine_free(machine);
}

/* Directories that are not cgroups, and cgroups without a CPU. */
static void refused_cgroups(void **state)
{
	const struct perch_options options = { .exclude_kernel = 1 };
	struct perch_event event = software(PERCH_COUNT_SW_PAGE_FAULTS);
	struct perch_target target = { .tid = -1,
				       .cpu = 0,
				       .use_cgroup = 1,
				       .cgroup_fd = open("/tmp", O_RDONLY | O_DIRECTORY) };
	struct perch_attr attr;
	struct perch_error err;
	int rc;

	(void)state;
	assert_true(target.cgroup_fd > 0);
	assert_int_equal(perch_attr_build(&attr, &event, &options, NULL), 0);
	rc = perch_open(&attr, &target, -1, 0, NULL, &err);
	if (rc != -EACCES) {
		assert_int_equal(rc, -EBADF);
		assert_int_equal(err.kind, PERCH_ERROR_BAD_TARGET);
		assert_non_null(strstr(err.message, "cgroup"));
	}
	target.cpu = -1;
	rc = perch_open(&attr, &target, -1, 0, NULL, &err);
	assert_int_equal(rc, -EINVAL);
	assert_int_equal(err.kind, PERCH_ERROR_BAD_TARGET);
	assert_non_null(strstr(err.message, "cgroup"));
	assert_non_null(strstr(err.message, "CPU"));
	close(target.cgroup_fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(signals_with_data),
		cmocka_unit_test(modifies_signal_data),
		cmocka_unit_test(clocks),
		cmocka_unit_test(counts_lost_samples),
		cmocka_unit_test(threads_inherit_only),
		cmocka_unit_test(remove_on_exec_removes),
		cmocka_unit_test(omits_too_new_features),
		cmocka_unit_test(processes_of_a_cgroup),
		cmocka_unit_test(refused_cgroups),
	};

	if (every_event_is_refused())
		return 77;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
