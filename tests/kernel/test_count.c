/* SPDX-License-Identifier: MIT */
/* Counters and groups on the running kernel, and explained refusals. */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
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

#include "needs.h"
#include "work.h"

#define PAGES 64

static struct perch_counter *counter(const char *text, const struct perch_options *options)
{
	struct perch_counter *made;
	struct perch_error err;

	if (perch_counter_open(&made, text, &perch_self, options, &err))
		fail_msg("%s: %s", text, err.message);
	return made;
}

/* Fresh pages without huge pages, which would have one fault for many pages. */
static char *fresh_pages(void)
{
	size_t size = PAGES * sysconf(_SC_PAGESIZE);
	char *pages = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_true(pages != MAP_FAILED);
	madvise(pages, size, MADV_NOHUGEPAGE);
	return pages;
}

static void touch(char *pages)
{
	for (int i = 0; i < PAGES; i++)
		((volatile char *)pages)[i * sysconf(_SC_PAGESIZE)] = 1;
}

static void drop(char *pages)
{
	munmap(pages, PAGES * sysconf(_SC_PAGESIZE));
}

static void page_faults_are_exact(void **state)
{
	struct perch_counter *faults = counter("page-faults:u", NULL);
	char *pages = fresh_pages();
	struct perch_count count;

	(void)state;
	assert_int_equal(perch_counter_read(faults, &count, NULL), 0);
	assert_int_equal(count.state, PERCH_COUNT_STATE_NOT_ENABLED);
	/* not counted, because the event is disabled; faults in pages of libc */
	touch(pages);
	pass_time();
	drop(pages);
	pages = fresh_pages();
	assert_int_equal(perch_counter_enable(faults, NULL), 0);
	touch(pages);
	pass_time();
	assert_int_equal(perch_counter_disable(faults, NULL), 0);
	assert_int_equal(perch_counter_read(faults, &count, NULL), 0);
	assert_int_equal(count.value, PAGES);
	assert_int_equal(count.scaled, PAGES);
	assert_int_equal(count.state, PERCH_COUNT_STATE_EXACT);
	assert_true(count.enabled_ns > 0 && count.enabled_ns == count.running_ns);
	drop(pages);
	perch_counter_close(faults);
}

static void reset_restarts_value_and_times(void **state)
{
	struct perch_counter *faults = counter("page-faults:u", NULL);
	char *pages = fresh_pages();
	struct perch_count before, after;

	(void)state;
	perch_counter_enable(faults, NULL);
	touch(pages);
	perch_counter_disable(faults, NULL);
	perch_counter_read(faults, &before, NULL);
	assert_int_equal(perch_counter_reset(faults, NULL), 0);
	assert_int_equal(perch_counter_read(faults, &after, NULL), 0);
	assert_int_equal(after.value, 0);
	assert_int_equal(after.enabled_ns, 0);
	assert_int_equal(after.state, PERCH_COUNT_STATE_NOT_ENABLED);
	assert_true(before.value >= PAGES);
	drop(pages);
	perch_counter_close(faults);
}

static void children_inherit_counters(void **state)
{
	struct perch_options options = { .inherit = 1, .enabled = 1 };
	struct perch_counter *faults = counter("page-faults:u", &options);
	struct perch_count count;
	pid_t pid = fork();

	(void)state;
	if (pid == 0) {
		touch(fresh_pages());
		_exit(0);
	}
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(perch_counter_read(faults, &count, NULL), 0);
	assert_true(count.value >= PAGES);
	perch_counter_close(faults);
}

static void groups_are_read_together(void **state)
{
	struct perch_options options = { .read = PERCH_FORMAT_ID };
	struct perch_group *group;
	struct perch_count counts[3];
	struct perch_error err;
	char *pages;

	(void)state;
	if (perch_group_open(&group, "{page-faults:u,task-clock:u,dummy:u}", &perch_self, &options,
			     &err))
		fail_msg("%s", err.message);
	pages = fresh_pages();
	touch(pages);
	drop(pages);
	pages = fresh_pages();
	assert_int_equal(perch_group_read(group, counts, 3, NULL), 0);
	assert_int_equal(counts[2].state, PERCH_COUNT_STATE_NOT_ENABLED);
	perch_group_enable(group, NULL);
	touch(pages);
	perch_group_disable(group, NULL);
	assert_int_equal(perch_group_read(group, counts, 3, &err), 0);
	assert_int_equal(counts[0].value, PAGES);
	assert_true(counts[1].value > 0);
	assert_int_equal(counts[2].value, 0);
	assert_int_equal(counts[2].state, PERCH_COUNT_STATE_EXACT);
	assert_int_not_equal(counts[0].id, counts[1].id);
	assert_int_equal(perch_group_reset(group, NULL), 0);
	assert_int_equal(perch_group_read(group, counts, 3, NULL), 0);
	assert_int_equal(counts[0].value, 0);
	assert_int_equal(counts[0].enabled_ns, 0);
	drop(pages);
	perch_group_close(group);
}

static void inherited_groups_are_read(void **state)
{
	struct perch_options options = { .inherit = 1, .enabled = 1 };
	struct perch_group *group;
	struct perch_count counts[2];
	struct perch_error err;
	uint64_t before;
	pid_t pid;

	(void)state;
	if (perch_group_open(&group, "page-faults:u,task-clock:u", &perch_self, &options, &err))
		fail_msg("%s", err.message);
	pid = fork();
	if (pid == 0) {
		touch(fresh_pages());
		_exit(0);
	}
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(perch_group_read(group, counts, 2, &err), 0);
	assert_true(counts[0].value >= PAGES);
	assert_true(counts[1].value > 0);
	before = counts[0].value;
	touch(fresh_pages());
	assert_int_equal(perch_group_read(group, counts, 2, &err), 0);
	assert_in_range(counts[0].value, before + PAGES, before + 2 * PAGES);
	perch_group_close(group);
}

/* ---- Refusals of this kernel ---- */

#define SOFTWARE .type = PERCH_TYPE_SOFTWARE, .size = sizeof(struct perch_attr), .exclude_kernel = 1
#define BREAKPOINT \
	.type = PERCH_TYPE_BREAKPOINT, .size = sizeof(struct perch_attr), .exclude_kernel = 1

static const struct {
	struct perch_attr attr;
	struct perch_target target;
	int group_fd;
	unsigned long flags;
	int errnum;
	enum perch_error_kind kind;
	const char *field;
} refusals[] = {
	{ { SOFTWARE }, { .cpu = -1 }, -1, 1 << 20, EINVAL, PERCH_ERROR_BAD_FIELD, "flags" },
	{ { SOFTWARE, .reserved_2 = 1 },
	  { .cpu = -1 },
	  -1,
	  0,
	  EINVAL,
	  PERCH_ERROR_BAD_FIELD,
	  "reserved_2" },
	{ { SOFTWARE, .sample_type = 1ull << 40 },
	  { .cpu = -1 },
	  -1,
	  0,
	  EINVAL,
	  PERCH_ERROR_BAD_FIELD,
	  "sample_type" },
	{ { SOFTWARE, .read_format = 1 << 12 },
	  { .cpu = -1 },
	  -1,
	  0,
	  EINVAL,
	  PERCH_ERROR_BAD_FIELD,
	  "read_format" },
	{ { SOFTWARE, .sample_type = PERCH_SAMPLE_BRANCH_STACK, .branch_sample_type = 1 },
	  { .cpu = -1 },
	  -1,
	  0,
	  EINVAL,
	  PERCH_ERROR_BAD_FIELD,
	  "branch_sample_type" },
	{ { SOFTWARE, .sample_type = PERCH_SAMPLE_REGS_USER },
	  { .cpu = -1 },
	  -1,
	  0,
	  EINVAL,
	  PERCH_ERROR_BAD_FIELD,
	  "sample_regs_user" },
	{ { SOFTWARE, .sample_type = PERCH_SAMPLE_STACK_USER, .sample_stack_user = 7 },
	  { .cpu = -1 },
	  -1,
	  0,
	  EINVAL,
	  PERCH_ERROR_BAD_FIELD,
	  "sample_stack_user" },
	{ { SOFTWARE, .sample_period = 1ull << 63 },
	  { .cpu = -1 },
	  -1,
	  0,
	  EINVAL,
	  PERCH_ERROR_PERIOD,
	  "sample_period" },
	{ { SOFTWARE, .freq = 1, .sample_freq = 1ull << 40 },
	  { .cpu = -1 },
	  -1,
	  0,
	  EINVAL,
	  PERCH_ERROR_FREQUENCY,
	  "sample_freq" },
	{ { SOFTWARE, .use_clockid = 1, .clockid = 2 },
	  { .cpu = -1 },
	  -1,
	  0,
	  EINVAL,
	  PERCH_ERROR_BAD_FIELD,
	  "clockid" },
	{ { SOFTWARE }, { .tid = -1, .cpu = -1 }, -1, 0, EINVAL, PERCH_ERROR_BAD_TARGET, "cpu" },
	{ { SOFTWARE }, { .tid = 0, .cpu = -5 }, -1, 0, EINVAL, PERCH_ERROR_NO_CPU, "cpu" },
	{ { SOFTWARE }, { .tid = 0, .cpu = 100000 }, -1, 0, EINVAL, PERCH_ERROR_NO_CPU, "cpu" },
	{ { SOFTWARE },
	  { .tid = INT32_MAX, .cpu = -1 },
	  -1,
	  0,
	  ESRCH,
	  PERCH_ERROR_NO_PROCESS,
	  "pid" },
	{ { SOFTWARE }, { .cpu = -1 }, 9999, 0, EBADF, PERCH_ERROR_BAD_GROUP, "group_fd" },
	{ { .type = PERCH_TYPE_SOFTWARE, .size = 64, .config = 9999, .exclude_kernel = 1 },
	  { .cpu = -1 },
	  -1,
	  0,
	  ENOENT,
	  PERCH_ERROR_BAD_FIELD,
	  "config" },
	{ { .type = 0x7ffffff0, .size = 64, .exclude_kernel = 1 },
	  { .cpu = -1 },
	  -1,
	  0,
	  ENOENT,
	  PERCH_ERROR_UNKNOWN_PMU,
	  "type" },
	{ { SOFTWARE, .sample_type = PERCH_SAMPLE_BRANCH_STACK, .branch_sample_type = 9 },
	  { .cpu = -1 },
	  -1,
	  0,
	  EOPNOTSUPP,
	  PERCH_ERROR_NOT_SUPPORTED,
	  "sample_type" },
	{ { SOFTWARE, .sample_type = PERCH_SAMPLE_CALLCHAIN,
	    .exclude_callchain_kernel = 1, /* some kernels refuse a user that first */
	    .sample_max_stack = 65535 },
	  { .cpu = -1 },
	  -1,
	  0,
	  EOVERFLOW,
	  PERCH_ERROR_STACK_DEPTH,
	  "sample_max_stack" },
	{ { BREAKPOINT, .bp_type = 0, .bp_len = 8 },
	  { .cpu = -1 },
	  -1,
	  0,
	  EINVAL,
	  PERCH_ERROR_BAD_FIELD,
	  "bp_type" },
	{ { BREAKPOINT, .bp_type = PERCH_BREAKPOINT_W, .bp_len = 3 },
	  { .cpu = -1 },
	  -1,
	  0,
	  EINVAL,
	  PERCH_ERROR_BAD_FIELD,
	  "bp_len" },
};

static void refusals_are_explained(void **state)
{
	struct perch_machine *machine;

	(void)state;
	assert_int_equal(perch_machine_new(&machine, NULL, NULL, NULL), 0);
	for (size_t i = 0; i < sizeof(refusals) / sizeof(*refusals); i++) {
		struct perch_error err;
		int rc = perch_open(&refusals[i].attr, &refusals[i].target, refusals[i].group_fd,
				    refusals[i].flags, machine, &err);

		if (rc == -EACCES && refusals[i].target.tid == -1)
			continue; /* for an unprivileged user this refusal comes first */
		if (rc != -refusals[i].errnum || err.kind != refusals[i].kind ||
		    strcmp(err.field, refusals[i].field))
			fail_msg("row %zu (%s, %s): got %d, %s", i,
				 perch_error_kind_slug(refusals[i].kind), refusals[i].field, rc,
				 rc < 0 ? err.message : "");
	}
	perch_machine_free(machine);
}

static void out_of_descriptors(void **state)
{
	struct rlimit limit, low;
	struct perch_counter *made;
	struct perch_error err;
	int last = dup(0);

	(void)state;
	getrlimit(RLIMIT_NOFILE, &limit);
	low = (struct rlimit){ last, limit.rlim_max };
	setrlimit(RLIMIT_NOFILE, &low);
	assert_int_equal(perch_counter_open(&made, "page-faults:u", &perch_self, NULL, &err),
			 -EMFILE);
	setrlimit(RLIMIT_NOFILE, &limit);
	assert_int_equal(err.kind, PERCH_ERROR_DESCRIPTORS);
	close(last);
}

/* An option that the running kernel does not have is refused with its release. */
static void too_new_options_name_the_release(void **state)
{
	struct perch_attr attr = { SOFTWARE, .config4 = 1 };
	struct perch_error err;
	int rc = perch_open(&attr, &perch_self, -1, 0, NULL, &err);

	(void)state;
	if (rc >= 0) {
		close(rc);
		print_message("skipped: this kernel has config4\n");
		skip();
	}
	assert_int_equal(rc, -E2BIG);
	assert_int_equal(err.kind, PERCH_ERROR_TOO_NEW);
	assert_string_equal(err.field, "config4");
	assert_string_equal(err.since, "6.19");
	attr = (struct perch_attr){ SOFTWARE, .defer_callchain = 1 };
	assert_int_equal(perch_open(&attr, &perch_self, -1, 0, NULL, &err), -EINVAL);
	assert_string_equal(err.field, "defer_callchain");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(page_faults_are_exact),
		cmocka_unit_test(reset_restarts_value_and_times),
		cmocka_unit_test(children_inherit_counters),
		cmocka_unit_test(groups_are_read_together),
		cmocka_unit_test(inherited_groups_are_read),
		cmocka_unit_test(refusals_are_explained),
		cmocka_unit_test(out_of_descriptors),
		cmocka_unit_test(too_new_options_name_the_release),
	};

	if (every_event_is_refused())
		return 77;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
