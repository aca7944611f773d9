/* SPDX-License-Identifier: MIT */
/* Events that the kernel counts exactly: the count is what the program did. */
#define _GNU_SOURCE
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <cmocka.h>

#include "exact.h"
#include "work.h"

#define PAGES  256
#define CALLS  1000
#define SLEEPS 50

/* A slow machine needs a large part of a millisecond to go to sleep. */
static const struct timespec moment = { 0, 2000000 };

/* ---- page faults ---- */

static void faults_while_touching(const char *text, char *pages, struct perch_count counts[3])
{
	struct perch_group *group = open_group(text, NULL);
	struct perch_error err;

	pass_time();
	perch_group_enable(group, NULL);
	touch(pages, PAGES);
	pass_time();
	perch_group_disable(group, NULL);
	if (perch_group_read(group, counts, 3, &err))
		fail_msg("%s", err.message);
	perch_group_close(group);
}

static void each_fresh_page_is_one_minor_fault(void **state)
{
	char *pages = fresh_pages(PAGES);
	struct perch_count counts[3];
	struct rusage before, after;

	(void)state;
	faults_while_touching("{page-faults:u,minor-faults:u,major-faults:u}", pages, counts);
	assert_int_equal(counts[0].value, PAGES);
	assert_int_equal(counts[1].value, PAGES);
	assert_int_equal(counts[2].value, 0);
	/* the pages are present now, unless the kernel moves some of them (compaction) */
	for (int i = 0; i < 5; i++) {
		getrusage(RUSAGE_THREAD, &before);
		faults_while_touching("{page-faults:u,minor-faults:u,major-faults:u}", pages,
				      counts);
		getrusage(RUSAGE_THREAD, &after);
		/* the kernel's own count has those of the calls around the event, too */
		assert_true(counts[0].value <= (uint64_t)(after.ru_minflt - before.ru_minflt));
		if (!counts[0].value)
			break;
	}
	assert_true(counts[0].value < PAGES / 8);
	assert_int_equal(counts[0].state, PERCH_COUNT_STATE_EXACT);
	drop(pages, PAGES);
}

static void a_shared_file_faults_for_each_page_written(void **state)
{
	size_t size = PAGES * sysconf(_SC_PAGESIZE);
	int fd = memfd_create("perch-test", MFD_CLOEXEC);
	struct perch_count counts[3];
	struct rusage before, after;
	char *pages;

	(void)state;
	assert_true(fd >= 0 && !ftruncate(fd, size));
	pages = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_true(pages != MAP_FAILED);
	madvise(pages, size, MADV_NOHUGEPAGE);
	getrusage(RUSAGE_THREAD, &before);
	faults_while_touching("{page-faults:u,minor-faults:u,major-faults:u}", pages, counts);
	getrusage(RUSAGE_THREAD, &after);
	assert_int_equal(counts[0].value, PAGES);
	/* Linux 5.10 counts them as major faults, also for getrusage(2) */
	assert_int_equal(counts[1].value + counts[2].value, PAGES);
	assert_true(after.ru_majflt - before.ru_majflt >= (long)counts[2].value);
	assert_true(counts[2].value == 0 || counts[2].value == PAGES);
	drop(pages, PAGES);
	close(fd);
}

/* A file whose pages are not in memory; -1 if the file system keeps them there. */
static int cold_file(size_t size)
{
	char path[] = "perch-test-XXXXXX";
	int fd = mkstemp(path);
	char *bytes = malloc(size);

	if (fd < 0 || !bytes) {
		free(bytes);
		return -1;
	}
	unlink(path);
	memset(bytes, 'x', size);
	if (write(fd, bytes, size) != (ssize_t)size || fsync(fd) ||
	    posix_fadvise(fd, 0, size, POSIX_FADV_DONTNEED)) {
		close(fd);
		fd = -1;
	}
	free(bytes);
	return fd;
}

static void pages_of_a_disk_are_major_faults(void **state)
{
	size_t size = PAGES * sysconf(_SC_PAGESIZE);
	struct perch_count counts[3];
	struct rusage before, after;
	unsigned char resident[PAGES];
	int fd = cold_file(size), cold = 0;
	struct perch_group *group;
	char *pages = fd < 0 ? MAP_FAILED : mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);

	(void)state;
	if (pages != MAP_FAILED && !madvise(pages, size, MADV_RANDOM) &&
	    !mincore(pages, size, resident))
		for (int i = 0; i < PAGES; i++)
			cold += !(resident[i] & 1);
	if (!cold) {
		print_message("skipped: the file system of this directory keeps files in memory\n");
		skip();
	}
	group = open_group("{page-faults:u,minor-faults:u,major-faults:u}", NULL);
	getrusage(RUSAGE_THREAD, &before);
	perch_group_enable(group, NULL);
	read_pages(pages, PAGES);
	perch_group_disable(group, NULL);
	getrusage(RUSAGE_THREAD, &after);
	assert_int_equal(perch_group_read(group, counts, 3, NULL), 0);
	print_message("%d pages of %d were on the disk: %llu major faults, %llu minor\n", cold,
		      PAGES, (unsigned long long)counts[2].value,
		      (unsigned long long)counts[1].value);
	assert_true(counts[2].value > 0 && counts[2].value <= (uint64_t)cold);
	assert_int_equal(counts[2].value, after.ru_majflt - before.ru_majflt);
	assert_int_equal(counts[0].value, counts[1].value + counts[2].value);
	perch_group_close(group);
	munmap(pages, size);
	close(fd);
}

/* read(2) from /dev/zero touches new pages in the kernel. */
static void kernel_faults_are_counted_separately(void **state)
{
	size_t size = PAGES * sysconf(_SC_PAGESIZE);
	struct perch_group *group =
		open_group("{page-faults:k,page-faults:u,page-faults:uk}", NULL);
	int zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	struct perch_count counts[3];
	char *pages = fresh_pages(PAGES), *more = fresh_pages(PAGES);

	(void)state;
	assert_true(zero >= 0);
	perch_group_enable(group, NULL);
	/* without a wrapper of a sanitizer, which would touch the pages */
	assert_int_equal(syscall(SYS_read, zero, pages, size), size);
	touch(more, PAGES);
	perch_group_disable(group, NULL);
	assert_int_equal(perch_group_read(group, counts, 3, NULL), 0);
	assert_int_equal(counts[0].value, PAGES);
	assert_int_equal(counts[1].value, PAGES);
	assert_int_equal(counts[2].value, 2 * PAGES);
	perch_group_close(group);
	close(zero);
	drop(pages, PAGES);
	drop(more, PAGES);
}

/* ---- the scheduler ---- */

static void each_sleep_is_a_context_switch(void **state)
{
	struct perch_group *group = open_group("{context-switches,context-switches:u}", NULL);
	struct perch_count counts[2];
	struct rusage before, after;

	(void)state;
	getrusage(RUSAGE_THREAD, &before);
	perch_group_enable(group, NULL);
	for (int i = 0; i < SLEEPS; i++)
		nanosleep(&moment, NULL);
	perch_group_disable(group, NULL);
	getrusage(RUSAGE_THREAD, &after);
	assert_int_equal(perch_group_read(group, counts, 2, NULL), 0);
	assert_true(counts[0].value >= SLEEPS);
	assert_true(counts[0].value <= (uint64_t)(after.ru_nvcsw - before.ru_nvcsw +
						  after.ru_nivcsw - before.ru_nivcsw));
	assert_int_equal(counts[1].value, 0); /* a context switch happens in the kernel */
	perch_group_close(group);
}

static void each_cpu_change_is_a_migration(void **state)
{
	struct perch_counter *counter = open_on("cpu-migrations", &perch_self, NULL);
	cpu_set_t before;
	int cpu[2], nr = 0;

	(void)state;
	sched_getaffinity(0, sizeof(before), &before);
	for (int i = 0; i < CPU_SETSIZE && nr < 2; i++)
		if (CPU_ISSET(i, &before))
			cpu[nr++] = i;
	if (nr < 2) {
		perch_counter_close(counter);
		print_message("skipped: only one CPU\n");
		skip();
	}
	assert_true(stay_on(cpu[0]));
	perch_counter_enable(counter, NULL);
	for (int i = 0; i < SLEEPS; i++)
		assert_true(stay_on(cpu[(i + 1) % 2]));
	perch_counter_disable(counter, NULL);
	sched_setaffinity(0, sizeof(before), &before);
	assert_int_equal(value_of(counter), SLEEPS);
}

static uint64_t ns_of(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return now.tv_sec * 1000000000ull + now.tv_nsec;
}

static void spin(uint64_t ns)
{
	for (uint64_t end = ns_of(CLOCK_MONOTONIC) + ns; ns_of(CLOCK_MONOTONIC) < end;)
		;
}

/* The kernel reads its two clocks at slightly different times. */
#define CLOCKS_DIFFER_NS 200000

/*
 * Measures once and checks what always holds. Returns whether the clock events counted as much as
 * the thread's clock. That clock leaves out the time of interrupts and the time that a hypervisor
 * takes; the clock events do not. In an emulated machine the clocks of two CPUs may differ.
 */
static bool clocks_match_once(struct perch_group *group)
{
	struct perch_count counts[2];
	uint64_t outer, inner, wall;
	bool match = true;

	assert_int_equal(perch_group_reset(group, NULL), 0);
	outer = ns_of(CLOCK_THREAD_CPUTIME_ID);
	wall = ns_of(CLOCK_MONOTONIC);
	perch_group_enable(group, NULL);
	inner = ns_of(CLOCK_THREAD_CPUTIME_ID);
	spin(20000000);
	nanosleep(&moment, NULL);
	inner = ns_of(CLOCK_THREAD_CPUTIME_ID) - inner;
	perch_group_disable(group, NULL);
	outer = ns_of(CLOCK_THREAD_CPUTIME_ID) - outer;
	wall = ns_of(CLOCK_MONOTONIC) - wall;
	assert_int_equal(perch_group_read(group, counts, 2, NULL), 0);
	print_message("thread's clock %llu..%llu ns, task-clock %llu, cpu-clock %llu, wall %llu\n",
		      (unsigned long long)inner, (unsigned long long)outer,
		      (unsigned long long)counts[0].value, (unsigned long long)counts[1].value,
		      (unsigned long long)wall);
	for (int i = 0; i < 2; i++) {
		assert_true(counts[i].value < wall);
		assert_true(counts[i].enabled_ns < wall);
		match &= counts[i].value + CLOCKS_DIFFER_NS >= inner &&
			 counts[i].value <= outer + CLOCKS_DIFFER_NS;
	}
	return match;
}

/* The clocks must match in one of some measurements: others may have run in the meantime. */
static void clocks_count_time_of_the_thread(void **state)
{
	struct perch_group *group = open_group("{task-clock,cpu-clock}", NULL);
	int tries = 50;

	(void)state;
	while (!clocks_match_once(group))
		assert_true(--tries > 0);
	perch_group_close(group);
}

static void absent_events_are_0(void **state)
{
	static const char *const events[] = { "dummy:u", "alignment-faults:u", "emulation-faults:u",
					      "bpf-output:u" };
	char *pages = fresh_pages(PAGES);

	(void)state;
	for (size_t i = 0; i < sizeof(events) / sizeof(*events); i++) {
		struct perch_counter *counter = open_on(events[i], &perch_self, NULL);

		perch_counter_enable(counter, NULL);
		touch(pages, PAGES);
		nanosleep(&moment, NULL);
		perch_counter_disable(counter, NULL);
		if (value_of(counter))
			fail_msg("%s is not 0", events[i]);
	}
	drop(pages, PAGES);
}

/* ---- tracepoints ---- */

static void each_system_call_is_a_tracepoint_hit(void **state)
{
	struct perch_counter *counter = open_on("syscalls:sys_enter_getppid", &perch_self, NULL);

	(void)state;
	call_getppid(CALLS); /* not enabled yet */
	perch_counter_enable(counter, NULL);
	call_getppid(CALLS);
	syscall(SYS_gettid);
	perch_counter_disable(counter, NULL);
	call_getppid(CALLS);
	assert_int_equal(value_of(counter), CALLS);
}

static void a_filter_selects_hits(void **state)
{
	struct perch_counter *counter = open_on("syscalls:sys_enter_lseek", &perch_self, NULL);
	int fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	struct perch_error err = { 0 };

	(void)state;
	assert_true(perch_event_set_filter(perch_counter_fd(counter), "no_such_field == 7", NULL,
					   NULL, &err) < 0);
	assert_true(err.message[0]);
	if (perch_event_set_filter(perch_counter_fd(counter), "offset == 7 && whence == 0", NULL,
				   NULL, &err))
		fail_msg("%s", err.message);
	perch_counter_enable(counter, NULL);
	for (int i = 0; i < CALLS; i++) {
		lseek(fd, 7 + i % 10, SEEK_SET);
		lseek(fd, 7, SEEK_CUR);
	}
	perch_counter_disable(counter, NULL);
	assert_int_equal(value_of(counter), CALLS / 10);
	close(fd);
}

static void raw_syscalls_count_every_system_call(void **state)
{
	struct perch_group *group = open_group(
		"{raw_syscalls:sys_enter,raw_syscalls:sys_exit,syscalls:sys_enter_getppid}", NULL);
	struct perch_count counts[3];

	(void)state;
	perch_group_enable(group, NULL);
	call_getppid(CALLS);
	perch_group_disable(group, NULL);
	assert_int_equal(perch_group_read(group, counts, 3, NULL), 0);
	/* plus the exit of the enabling ioctl(2) and the entry of the disabling one */
	assert_int_equal(counts[0].value, CALLS + 1);
	assert_int_equal(counts[1].value, CALLS + 1);
	assert_int_equal(counts[2].value, CALLS);
	perch_group_close(group);
}

/* ---- uncore hardware ---- */

#if defined(__x86_64__)
static uint64_t tsc(void)
{
	uint32_t low, high;

	__asm__ volatile("lfence; rdtsc" : "=a"(low), "=d"(high)::"memory");
	return (uint64_t)high << 32 | low;
}
#endif

static void the_tsc_is_between_two_reads(void **state)
{
	(void)state;
#if defined(__x86_64__)
	struct perch_counter *counter = open_on("msr/tsc/", &perch_self, NULL);
	bool whole = false;

	/* a preempted thread counts less and tries again */
	for (int i = 0; i < 100 && !whole; i++) {
		struct perch_count before = read_of(counter), after;
		uint64_t outer = tsc(), inner;

		perch_counter_enable(counter, NULL);
		inner = tsc();
		call_getppid(CALLS);
		inner = tsc() - inner;
		perch_counter_disable(counter, NULL);
		outer = tsc() - outer;
		after = read_of(counter);
		assert_true(after.value - before.value <= outer);
		whole = after.value - before.value >= inner;
	}
	perch_counter_close(counter);
	assert_true(whole);
#else
	print_message("skipped: no TSC on this architecture\n");
	skip();
#endif
}

/* ---- options of software events ---- */

static void a_group_is_read_at_one_time(void **state)
{
	struct perch_group *group =
		open_group("{page-faults:u,minor-faults:u,task-clock:u,dummy:u}", NULL);
	char *pages = fresh_pages(PAGES);
	struct perch_count counts[4];
	uint64_t enabled = 0, clock = 0;

	(void)state;
	perch_group_enable(group, NULL);
	for (int i = 0; i < PAGES; i++) {
		touch(pages + i * sysconf(_SC_PAGESIZE), 1);
		assert_int_equal(perch_group_read(group, counts, 4, NULL), 0);
		assert_int_equal(counts[0].value, i + 1);
		assert_int_equal(counts[1].value, i + 1);
		assert_true(counts[2].value >= clock && counts[0].enabled_ns >= enabled);
		clock = counts[2].value;
		enabled = counts[0].enabled_ns;
		for (int j = 0; j < 4; j++)
			assert_true(counts[j].enabled_ns == enabled &&
				    counts[j].running_ns == enabled);
	}
	perch_group_close(group);
	drop(pages, PAGES);
}

static void pinned_and_exclusive_software_events_count(void **state)
{
	static const char *const events[] = { "page-faults:uD", "page-faults:ue",
					      "page-faults:uDe" };
	struct perch_options options = { .pinned = 1, .exclusive = 1 };
	struct perch_counter *counter;
	char *pages;

	(void)state;
	for (size_t i = 0; i <= sizeof(events) / sizeof(*events); i++) {
		bool named = i < sizeof(events) / sizeof(*events);

		pages = fresh_pages(PAGES);
		counter = open_on(named ? events[i] : "page-faults:u", &perch_self,
				  named ? NULL : &options);
		perch_counter_enable(counter, NULL);
		touch(pages, PAGES);
		perch_counter_disable(counter, NULL);
		assert_int_equal(value_of(counter), PAGES);
		drop(pages, PAGES);
	}
}

static void no_sample_is_lost_without_a_ring(void **state)
{
	struct perch_options options = { .read = PERCH_FORMAT_LOST | PERCH_FORMAT_ID };
	struct perch_counter *counter = open_on("page-faults:u", &perch_self, &options);
	char *pages = fresh_pages(PAGES);
	struct perch_error err = { 0 };
	struct perch_count count;
	uint64_t id = 0;

	(void)state;
	perch_counter_enable(counter, NULL);
	touch(pages, PAGES);
	perch_counter_disable(counter, NULL);
	count = read_of(counter);
	assert_int_equal(count.value, PAGES);
	assert_int_equal(count.lost, 0);
	if (perch_counter_id(counter, &id, &err))
		fail_msg("%s", err.message);
	assert_true(id && id == count.id);
	perch_counter_close(counter);
	drop(pages, PAGES);
}

static void a_reset_sets_the_count_to_0(void **state)
{
	struct perch_counter *counter = open_on("page-faults:u", &perch_self, NULL);
	char *pages = fresh_pages(2 * PAGES);
	struct perch_count count;

	(void)state;
	pass_time();
	perch_counter_enable(counter, NULL);
	touch(pages, PAGES);
	assert_int_equal(perch_counter_reset(counter, NULL), 0);
	touch(pages + PAGES * sysconf(_SC_PAGESIZE), PAGES);
	pass_time();
	perch_counter_disable(counter, NULL);
	count = read_of(counter);
	assert_int_equal(count.value, PAGES);
	assert_int_equal(count.scaled, PAGES);
	assert_true(count.enabled_ns == count.running_ns && count.enabled_ns > 0);
	perch_counter_close(counter);
	drop(pages, 2 * PAGES);
}

static void all_events_of_a_thread_start_and_stop_together(void **state)
{
	struct perch_counter *faults = open_on("page-faults:u", &perch_self, NULL);
	struct perch_counter *minor = open_on("minor-faults:u", &perch_self, NULL);
	char *pages = fresh_pages(3 * PAGES);
	size_t size = PAGES * sysconf(_SC_PAGESIZE);
	struct perch_error err = { 0 };

	(void)state;
	touch(pages, PAGES);
	if (perch_tasks_enable(NULL, &err))
		fail_msg("%s", err.message);
	touch(pages + size, PAGES);
	if (perch_tasks_disable(NULL, &err))
		fail_msg("%s", err.message);
	touch(pages + 2 * size, PAGES);
	assert_int_equal(value_of(faults), PAGES);
	assert_int_equal(value_of(minor), PAGES);
	drop(pages, 3 * PAGES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_fresh_page_is_one_minor_fault),
		cmocka_unit_test(a_shared_file_faults_for_each_page_written),
		cmocka_unit_test(pages_of_a_disk_are_major_faults),
		cmocka_unit_test(kernel_faults_are_counted_separately),
		cmocka_unit_test(each_sleep_is_a_context_switch),
		cmocka_unit_test(each_cpu_change_is_a_migration),
		cmocka_unit_test(clocks_count_time_of_the_thread),
		cmocka_unit_test(absent_events_are_0),
		cmocka_unit_test(each_system_call_is_a_tracepoint_hit),
		cmocka_unit_test(a_filter_selects_hits),
		cmocka_unit_test(raw_syscalls_count_every_system_call),
		cmocka_unit_test(the_tsc_is_between_two_reads),
		cmocka_unit_test(a_group_is_read_at_one_time),
		cmocka_unit_test(pinned_and_exclusive_software_events_count),
		cmocka_unit_test(no_sample_is_lost_without_a_ring),
		cmocka_unit_test(a_reset_sets_the_count_to_0),
		cmocka_unit_test(all_events_of_a_thread_start_and_stop_together),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
