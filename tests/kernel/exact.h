/* SPDX-License-Identifier: MIT */
/* Helpers for tests of exact counts: work to count, and opening counters. Include after
 * <cmocka.h>. */
#ifndef PERCH_TESTS_EXACT_H
#define PERCH_TESTS_EXACT_H

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <perch/count.h>

/* Skips if the machine or the user lacks something, else fails. */
static inline void skip_or_fail(const char *text, int rc, const struct perch_error *err)
{
	switch (err->kind) {
	case PERCH_ERROR_PARANOID:
	case PERCH_ERROR_PRIVILEGE:
	case PERCH_ERROR_UNKNOWN_PMU:
	case PERCH_ERROR_NOT_SUPPORTED:
	case PERCH_ERROR_TOO_NEW:
	case PERCH_ERROR_BLOCKED:
		print_message("skipped: %s\n", err->message);
		skip();
	default:
		if (rc == -EACCES || (rc == -ENOENT && strchr(text, ':') &&
				      access("/sys/kernel/tracing/events", R_OK))) {
			print_message("skipped: %s\n", err->message);
			skip();
		}
		fail_msg("%s: %d, %s. %s", text, rc, err->message, err->remedy);
	}
}

/* Whether the counter may be used once before the test: the first use of code may have page
 * faults. */
static inline bool may_warm_up(const struct perch_options *options)
{
	return !options || (!options->enabled && !options->enable_on_exec);
}

static inline struct perch_counter *open_on(const char *text, const struct perch_target *target,
					    const struct perch_options *options)
{
	struct perch_counter *made;
	struct perch_error err = { 0 };
	struct perch_count count;
	int rc = perch_counter_open(&made, text, target, options, &err);

	if (rc)
		skip_or_fail(text, rc, &err);
	if (may_warm_up(options)) {
		perch_counter_enable(made, NULL);
		perch_counter_disable(made, NULL);
		perch_counter_read(made, &count, NULL);
		assert_int_equal(perch_counter_reset(made, NULL), 0);
	}
	return made;
}

static inline struct perch_group *open_group(const char *text, const struct perch_options *options)
{
	struct perch_group *made;
	struct perch_error err = { 0 };
	int rc = perch_group_open(&made, text, &perch_self, options, &err);

	if (rc)
		skip_or_fail(text, rc, &err);
	if (may_warm_up(options)) {
		struct perch_count counts[16];

		assert_in_range(perch_group_size(made), 1, 16);
		perch_group_enable(made, NULL);
		perch_group_disable(made, NULL);
		perch_group_read(made, counts, perch_group_size(made), NULL);
		assert_int_equal(perch_group_reset(made, NULL), 0);
	}
	return made;
}

static inline struct perch_count read_of(struct perch_counter *counter)
{
	struct perch_count count = { 0 };
	struct perch_error err = { 0 };

	if (perch_counter_read(counter, &count, &err))
		fail_msg("%s: %s", perch_counter_name(counter), err.message);
	return count;
}

/* Reads and closes a counter that must have an exact count. */
static inline uint64_t value_of(struct perch_counter *counter)
{
	struct perch_count count = read_of(counter);

	assert_int_equal(count.state, PERCH_COUNT_STATE_EXACT);
	assert_int_equal(count.scaled, count.value);
	perch_counter_close(counter);
	return count.value;
}

/* Fresh pages without huge pages, which would have one fault for many pages. */
static inline char *fresh_pages(int nr)
{
	size_t size = nr * sysconf(_SC_PAGESIZE);
	char *pages = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (pages == MAP_FAILED)
		abort();
	madvise(pages, size, MADV_NOHUGEPAGE);
	return pages;
}

/* Without the sanitizer's accesses to its shadow memory, which have page faults too. */
__attribute__((noinline, unused, no_sanitize("address"))) static void touch(char *pages, int nr)
{
	size_t page = sysconf(_SC_PAGESIZE);

	for (int i = 0; i < nr; i++)
		((volatile char *)pages)[i * page] = 1;
}

__attribute__((noinline, unused, no_sanitize("address"))) static void read_pages(const char *pages,
										 int nr)
{
	size_t page = sysconf(_SC_PAGESIZE);

	for (int i = 0; i < nr; i++)
		(void)((const volatile char *)pages)[i * page];
}

static inline void drop(char *pages, int nr)
{
	munmap(pages, nr * sysconf(_SC_PAGESIZE));
}

static inline void call_getppid(int times)
{
	for (int i = 0; i < times; i++)
		syscall(SYS_getppid);
}

static inline bool stay_on(int cpu)
{
	cpu_set_t only;

	CPU_ZERO(&only);
	CPU_SET(cpu, &only);
	return sched_setaffinity(0, sizeof(only), &only) == 0;
}

/*
 * A child that does its work each time the parent requests it. The first time is a warm-up: pages
 * of code, stack and heap that it shares with its parent are copied then.
 */
struct child {
	pid_t pid;
	int go, done;
};

static inline void child_serve(int go, int done, void (*work)(void *), void *argument)
{
	char byte;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (read(go, &byte, 1) == 1 && byte != 'q') {
		work(argument);
		if (write(done, "d", 1) != 1)
			break;
	}
	_exit(0);
}

static inline struct child child_start(void (*work)(void *), void *argument)
{
	struct child child;
	int go[2], done[2];

	assert_int_equal(pipe2(go, O_CLOEXEC) | pipe2(done, O_CLOEXEC), 0);
	child.pid = fork();
	assert_true(child.pid >= 0);
	if (!child.pid)
		child_serve(go[0], done[1], work, argument);
	close(go[0]);
	close(done[1]);
	child.go = go[1];
	child.done = done[0];
	return child;
}

static inline void child_work(const struct child *child)
{
	char byte;

	assert_int_equal(write(child->go, "g", 1), 1);
	assert_int_equal(read(child->done, &byte, 1), 1);
}

static inline void child_end(struct child *child)
{
	assert_int_equal(write(child->go, "q", 1), 1);
	assert_int_equal(waitpid(child->pid, NULL, 0), child->pid);
	close(child->go);
	close(child->done);
}

#endif
