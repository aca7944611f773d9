/* SPDX-License-Identifier: MIT */
/* Counters and groups on a replayed kernel: multiplexing, pinned events, short reads, refusals. */
#define _GNU_SOURCE
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <cmocka.h>

#include <perch/count.h>

#define MOST	 64
#define FIRST_FD 1000

static struct {
	struct perch_attr attr[MOST];
	int group_fd[MOST];
	int opened, closed, refuse_from, refuse_errno;
	/* result of read(2), for the descriptor below or for all if 0 */
	uint64_t words[256];
	uint64_t by_member[MOST][3];
	size_t bytes; /* number of bytes; 0 is end of file */
	bool one_by_one;
	bool before_5_1;  /* no KSYMBOL records */
	bool before_4_13; /* no group reads of inherited events */
	/* members of a group without the leader; 0 is any number */
	int max_members;
	int read_errno;
	size_t asked; /* size of the last read */
	int reads, controls;
	unsigned long request, argument;
	int control_fd;
} kernel;

static int replay_open(void *context, const struct perch_attr *attr, pid_t pid, int cpu,
		       int group_fd, unsigned long flags)
{
	int index = kernel.opened;

	(void)context, (void)pid, (void)cpu, (void)flags;
	if (kernel.refuse_errno && index >= kernel.refuse_from) {
		errno = kernel.refuse_errno;
		return -1;
	}
	if (kernel.before_5_1 && attr->ksymbol) {
		errno = EINVAL;
		return -1;
	}
	if (kernel.before_4_13 && attr->inherit && attr->read_format & PERCH_FORMAT_GROUP) {
		errno = EINVAL;
		return -1;
	}
	if (kernel.max_members && group_fd >= 0 && index > kernel.max_members) {
		errno = EINVAL;
		return -1;
	}
	kernel.attr[index % MOST] = *attr;
	kernel.group_fd[index % MOST] = group_fd;
	return FIRST_FD + kernel.opened++;
}

static int replay_control(void *context, int fd, unsigned long request, unsigned long argument)
{
	(void)context;
	kernel.controls++;
	kernel.control_fd = fd;
	kernel.request = request;
	kernel.argument = argument;
	if (request == PERCH_IOC_ID)
		*(uint64_t *)argument = 321;
	return 0;
}

static ssize_t replay_read(void *context, int fd, void *buffer, size_t size)
{
	(void)context;
	kernel.reads++;
	kernel.asked = size;
	if (kernel.read_errno) {
		errno = kernel.read_errno;
		return -1;
	}
	if (kernel.one_by_one) {
		memcpy(buffer, kernel.by_member[fd - FIRST_FD], sizeof(kernel.by_member[0]));
		return sizeof(kernel.by_member[0]);
	}
	memcpy(buffer, kernel.words, kernel.bytes < size ? kernel.bytes : size);
	return kernel.bytes;
}

static int replay_close(void *context, int fd)
{
	(void)context, (void)fd;
	kernel.closed++;
	return 0;
}

/* Self-monitoring reads need the page of an event; test_count_self_monitoring.c has it. */
static void *replay_map(void *context, size_t size, int protection, int flags, int fd,
			int64_t offset)
{
	(void)context, (void)size, (void)protection, (void)flags, (void)fd, (void)offset;
	errno = EPERM;
	return MAP_FAILED;
}

static const struct perch_syscalls calls = {
	.perf_event_open = replay_open,
	.ioctl = replay_control,
	.read = replay_read,
	.mmap = replay_map,
	.close = replay_close,
};
static struct perch_machine *machine;

static int setup(void **state)
{
	(void)state;
	memset(&kernel, 0, sizeof(kernel));
	return perch_machine_new(&machine, "/nowhere", &calls, NULL);
}

static int teardown(void **state)
{
	(void)state;
	assert_int_equal(kernel.opened, kernel.closed);
	perch_machine_free(machine);
	return 0;
}

#define GIVE(...)                                           \
	do {                                                \
		const uint64_t given[] = { __VA_ARGS__ };   \
		memcpy(kernel.words, given, sizeof(given)); \
		kernel.bytes = sizeof(given);               \
	} while (0)

static struct perch_counter *counter(const char *text, uint64_t read)
{
	struct perch_options options = { .machine = machine, .read = read };
	struct perch_counter *new_counter;
	struct perch_error err;

	if (perch_counter_open(&new_counter, text, &perch_self, &options, &err))
		fail_msg("%s: %s", text, err.message);
	return new_counter;
}

static void scaling(void **state)
{
	(void)state;
	assert_int_equal(perch_scale(100, 10, 5), 200);
	assert_int_equal(perch_scale(100, 10, 0), 0);
	assert_int_equal(perch_scale(0, 10, 5), 0);
	assert_int_equal(perch_scale(10, 3, 2), 15);
	assert_int_equal(perch_scale(1, 2, 3), 1); /* 0.67 rounds to nearest */
	assert_int_equal(perch_scale(1, 1, 3), 0);
	assert_true(perch_scale(1ull << 62, 1ull << 40, 1ull << 39) == 1ull << 63);
	assert_true(perch_scale(UINT64_MAX, UINT64_MAX, UINT64_MAX) == UINT64_MAX);
	/* beyond 64 bits: the maximum */
	assert_true(perch_scale(UINT64_MAX, UINT64_MAX, 1) == UINT64_MAX);
}

static void states(void **state)
{
	struct perch_counter *new_counter = counter("cycles:u", 0);
	struct perch_count count;

	(void)state;
	assert_string_equal(perch_counter_name(new_counter), "cycles:u");
	assert_int_equal(perch_counter_fd(new_counter), FIRST_FD);
	assert_int_equal(kernel.attr[0].read_format,
			 PERCH_FORMAT_TOTAL_TIME_ENABLED | PERCH_FORMAT_TOTAL_TIME_RUNNING);
	GIVE(5, 1000, 1000);
	assert_int_equal(perch_counter_read(new_counter, &count, NULL), 0);
	assert_int_equal(kernel.asked, 24);
	assert_int_equal(count.state, PERCH_COUNT_STATE_EXACT);
	assert_int_equal(count.scaled, 5);
	GIVE(5, 1000, 250);
	assert_int_equal(perch_counter_read(new_counter, &count, NULL), 0);
	assert_int_equal(count.state, PERCH_COUNT_STATE_SCALED);
	assert_int_equal(count.value, 5);
	assert_int_equal(count.scaled, 20);
	GIVE(0, 1000, 0);
	assert_int_equal(perch_counter_read(new_counter, &count, NULL), 0);
	assert_int_equal(count.state, PERCH_COUNT_STATE_NEVER_RAN);
	assert_int_equal(count.scaled, 0);
	GIVE(0, 0, 0);
	assert_int_equal(perch_counter_read(new_counter, &count, NULL), 0);
	assert_int_equal(count.state, PERCH_COUNT_STATE_NOT_ENABLED);
	GIVE(5, 0, 0); /* the kernel's clock has not advanced yet */
	assert_int_equal(perch_counter_read(new_counter, &count, NULL), 0);
	assert_int_equal(count.state, PERCH_COUNT_STATE_EXACT);
	assert_int_equal(count.scaled, 5);
	perch_counter_close(new_counter);
	assert_int_equal(kernel.reads, 5);
}

static void id_and_lost(void **state)
{
	struct perch_counter *new_counter = counter("cycles", PERCH_FORMAT_ID | PERCH_FORMAT_LOST);
	struct perch_count count;
	uint64_t id;

	(void)state;
	GIVE(1, 2, 2, 77, 88);
	assert_int_equal(perch_counter_read(new_counter, &count, NULL), 0);
	assert_int_equal(count.id, 77);
	assert_int_equal(count.lost, 88);
	assert_int_equal(perch_counter_id(new_counter, &id, NULL), 0);
	assert_int_equal(id, 321);
	perch_counter_close(new_counter);
	new_counter = counter("cycles", PERCH_FORMAT_LOST);
	GIVE(1, 2, 2, 88);
	assert_int_equal(perch_counter_read(new_counter, &count, NULL), 0);
	assert_int_equal(count.id, 0);
	assert_int_equal(count.lost, 88);
	perch_counter_close(new_counter);
}

static void reset_restarts_times(void **state)
{
	struct perch_counter *new_counter = counter("cycles", 0);
	struct perch_count count;

	(void)state;
	GIVE(0, 1000, 500);
	assert_int_equal(perch_counter_reset(new_counter, NULL), 0);
	assert_int_equal(kernel.request, PERCH_IOC_RESET);
	GIVE(10, 3000, 1500);
	assert_int_equal(perch_counter_read(new_counter, &count, NULL), 0);
	assert_int_equal(count.enabled_ns, 2000);
	assert_int_equal(count.running_ns, 1000);
	assert_int_equal(count.scaled, 20);
	GIVE(10, 1500, 1000); /* always on the PMU since the reset, but not before */
	assert_int_equal(perch_counter_read(new_counter, &count, NULL), 0);
	assert_int_equal(count.state, PERCH_COUNT_STATE_EXACT);
	perch_counter_close(new_counter);
}

static void failed_reads(void **state)
{
	struct perch_counter *new_counter = counter("cycles:D", 0);
	struct perch_count count;
	struct perch_error err;

	(void)state;
	kernel.bytes = 0;
	assert_int_equal(perch_counter_read(new_counter, &count, &err), -ENODATA);
	assert_int_equal(err.errnum, ENODATA);
	assert_int_equal(err.cause, PERCH_CAUSE_READ_ERROR_STATE);
	assert_int_equal(err.kind, PERCH_ERROR_SCHEDULE);
	assert_int_equal(perch_counter_read(new_counter, &count, NULL), -ENODATA);
	kernel.bytes = 16;
	assert_int_equal(perch_counter_read(new_counter, &count, &err), -EIO);
	assert_int_equal(err.kind, PERCH_ERROR_SHORT_READ);
	kernel.read_errno = EBADF;
	assert_int_equal(perch_counter_read(new_counter, &count, &err), -EBADF);
	assert_int_equal(perch_counter_reset(new_counter, NULL), -EBADF);
	perch_counter_close(new_counter);
}

static void failed_opens(void **state)
{
	struct perch_options options = { .machine = machine };
	struct perch_counter *new_counter = (void *)1;
	struct perch_group *group = (void *)1;
	struct perch_error err;

	(void)state;
	assert_int_equal(perch_counter_open(&new_counter, "cycles,instructions", &perch_self,
					    &options, &err),
			 -EINVAL);
	assert_int_equal(err.kind, PERCH_ERROR_USAGE);
	assert_null(new_counter);
	assert_true(perch_counter_open(&new_counter, "nonsense", &perch_self, &options, &err) < 0);
	assert_int_equal(err.kind, PERCH_ERROR_UNKNOWN_EVENT);
	options.read = PERCH_FORMAT_GROUP;
	assert_int_equal(perch_counter_open(&new_counter, "cycles", &perch_self, &options, &err),
			 -EINVAL);
	options.read = 0;
	kernel.refuse_errno = EMFILE;
	assert_int_equal(perch_counter_open(&new_counter, "cycles", &perch_self, &options, &err),
			 -EMFILE);
	assert_int_equal(err.kind, PERCH_ERROR_DESCRIPTORS);
	assert_null(new_counter);
	assert_int_equal(perch_group_open(&group, "{cycles,instructions},{branches,cycles}",
					  &perch_self, &options, &err),
			 -EINVAL);
	kernel.refuse_from = 2; /* the third member: the first two must be closed */
	assert_int_equal(perch_group_open(&group, "cycles,instructions,branches", &perch_self,
					  &options, &err),
			 -EMFILE);
	assert_non_null(strstr(err.message, "branches"));
	assert_null(group);
	assert_int_equal(kernel.closed, 2);
	perch_counter_close(NULL);
	perch_group_close(NULL);
}

static void groups(void **state)
{
	struct perch_options options = { .machine = machine, .pinned = 1, .read = PERCH_FORMAT_ID };
	struct perch_group *group;
	struct perch_count counts[3];
	struct perch_error err;

	(void)state;
	assert_int_equal(perch_group_open(&group, "{cycles,instructions:u,page-faults}",
					  &perch_self, &options, &err),
			 0);
	assert_int_equal(perch_group_size(group), 3);
	assert_string_equal(perch_group_name(group, 1), "instructions:u");
	assert_null(perch_group_name(group, 3));
	assert_int_equal(perch_group_fd(group, 2), FIRST_FD + 2);
	assert_int_equal(perch_group_fd(group, 3), -EINVAL);
	assert_int_equal(kernel.group_fd[0], -1);
	assert_int_equal(kernel.group_fd[2], FIRST_FD);
	assert_true(kernel.attr[0].disabled && kernel.attr[0].pinned);
	assert_false(kernel.attr[1].disabled || kernel.attr[1].pinned);
	assert_int_equal(perch_group_enable(group, NULL), 0);
	assert_int_equal(kernel.control_fd, FIRST_FD);
	GIVE(3, 1000, 500, 1, 11, 2, 12, 3, 13);
	assert_int_equal(perch_group_read(group, counts, 3, &err), 0);
	assert_int_equal(kernel.reads, 1);
	assert_int_equal(counts[1].value, 2);
	assert_int_equal(counts[1].scaled, 4);
	assert_int_equal(counts[2].id, 13);
	assert_int_equal(counts[2].state, PERCH_COUNT_STATE_SCALED);
	assert_int_equal(perch_group_read(group, counts, 2, &err), -EINVAL);
	assert_int_equal(perch_group_reset(group, NULL), 0);
	assert_int_equal(kernel.argument, PERCH_IOC_FLAG_GROUP);
	GIVE(3, 2000, 1500, 1, 11, 2, 12, 3, 13);
	assert_int_equal(perch_group_read(group, counts, 3, &err), 0);
	assert_int_equal(counts[0].enabled_ns, 1000);
	assert_int_equal(counts[0].state, PERCH_COUNT_STATE_EXACT);
	GIVE(2, 2000, 1500, 1, 11, 2, 12, 3, 13); /* another group's number of members */
	assert_int_equal(perch_group_read(group, counts, 3, &err), -EIO);
	kernel.bytes = 0;
	assert_int_equal(perch_group_read(group, counts, 3, &err), -ENODATA);
	perch_group_close(group);
}

static void inherited_groups_read_together(void **state)
{
	struct perch_options options = { .machine = machine, .inherit = 1 };
	struct perch_group *group;
	struct perch_count counts[2];
	struct perch_error err;

	(void)state;
	assert_int_equal(
		perch_group_open(&group, "cycles,instructions", &perch_self, &options, &err), 0);
	assert_true(kernel.attr[0].read_format & PERCH_FORMAT_GROUP &&
		    kernel.attr[1].read_format & PERCH_FORMAT_GROUP);
	GIVE(2, 10, 5, 5, 6);
	assert_int_equal(perch_group_read(group, counts, 2, &err), 0);
	assert_int_equal(kernel.reads, 1);
	assert_int_equal(counts[1].scaled, 12);
	perch_group_close(group);
	kernel.refuse_from = kernel.opened;
	/* another refusal: the first one is reported, and nothing is left open */
	kernel.refuse_errno = EINVAL;
	assert_int_equal(perch_group_open(&group, "cycles,instructions", &perch_self, &options,
					  &err),
			 -EINVAL);
	assert_non_null(strstr(err.message, "cycles"));
	assert_null(group);
}

/* The term is for one event, the option for all. */
static void inherit_term_on_old_kernels(void **state)
{
	struct perch_options options = { .machine = machine };
	struct perch_group *group;

	(void)state;
	kernel.before_4_13 = true;
	assert_int_equal(perch_group_open(&group, "cycles/inherit/,instructions", &perch_self,
					  &options, NULL),
			 0);
	assert_true(kernel.attr[0].inherit && kernel.attr[0].disabled);
	assert_false(kernel.attr[0].read_format & PERCH_FORMAT_GROUP ||
		     kernel.attr[1].read_format & PERCH_FORMAT_GROUP);
	perch_group_close(group);
}

static void inherited_groups_read_each(void **state)
{
	struct perch_options options = { .machine = machine, .inherit = 1 };
	struct perch_group *group;
	struct perch_count counts[2];
	struct perch_error err;

	(void)state;
	kernel.before_4_13 = true;
	assert_int_equal(
		perch_group_open(&group, "cycles,instructions", &perch_self, &options, &err), 0);
	assert_false(kernel.attr[0].read_format & PERCH_FORMAT_GROUP);
	assert_true(kernel.attr[0].disabled);
	kernel.one_by_one = true;
	memcpy(kernel.by_member[0], (uint64_t[]){ 5, 10, 10 }, 24);
	memcpy(kernel.by_member[1], (uint64_t[]){ 6, 10, 5 }, 24);
	assert_int_equal(perch_group_read(group, counts, 2, &err), 0);
	assert_int_equal(kernel.reads, 2);
	assert_int_equal(counts[0].scaled, 5);
	assert_int_equal(counts[1].scaled, 12);
	assert_int_equal(perch_group_reset(group, NULL), 0);
	kernel.by_member[0][0] = kernel.by_member[1][0] = 0; /* the kernel resets no times */
	assert_int_equal(perch_group_read(group, counts, 2, &err), 0);
	assert_int_equal(counts[1].state, PERCH_COUNT_STATE_NOT_ENABLED);
	perch_group_close(group);
}

/* The kernel returns only EINVAL; the error has the number of members that fit. */
static void explains_groups_that_are_too_large(void **state)
{
	struct perch_options options = { .machine = machine };
	struct perch_group *group;
	struct perch_error err;

	(void)state;
	kernel.max_members = 2;
	assert_int_equal(perch_group_open(&group, "cycles,page-faults,instructions,branches",
					  &perch_self, &options, &err),
			 -EINVAL);
	assert_null(group);
	assert_int_equal(err.kind, PERCH_ERROR_BAD_GROUP);
	assert_non_null(strstr(err.message, "branches: the group is too large"));
	/* page faults need no counter */
	assert_non_null(strstr(err.message, "the 2 before"));
	assert_non_null(strstr(err.remedy, "no more than 2"));
	kernel.opened = kernel.closed = 0;
	assert_int_equal(perch_group_open(&group, "cycles,instructions,branches,page-faults",
					  &perch_self, &options, &err),
			 -EINVAL);
	assert_null(strstr(err.message, "too large"));
}

/* Missing features are reported for each member. self_monitoring is ignored. */
static void groups_report_missing_features(void **state)
{
	const struct perch_attr optional = { .ksymbol = 1 };
	struct perch_options options = { .machine = machine,
					 .optional = &optional,
					 .sideband = PERCH_SIDEBAND_KSYMBOL,
					 .self_monitoring = 1 };
	struct perch_group *group;

	(void)state;
	kernel.before_5_1 = true;
	assert_int_equal(
		perch_group_open(&group, "cycles,instructions", &perch_self, &options, NULL), 0);
	assert_true(perch_group_missing_features(group, 0)->ksymbol &&
		    perch_group_missing_features(group, 1)->ksymbol);
	assert_null(perch_group_missing_features(group, 2));
	assert_false(kernel.attr[1].ksymbol);
	perch_group_close(group);
	kernel.before_5_1 = false;
	assert_int_equal(
		perch_group_open(&group, "cycles,instructions", &perch_self, &options, NULL), 0);
	assert_null(perch_group_missing_features(group, 1));
	perch_group_close(group);
}

/* Members that join an enabled group do not count at once, so the group is enabled last. */
static void groups_are_enabled_last(void **state)
{
	struct perch_options options = { .machine = machine, .enabled = 1 };
	struct perch_group *group;

	(void)state;
	assert_int_equal(
		perch_group_open(&group, "cycles,instructions", &perch_self, &options, NULL), 0);
	assert_true(kernel.attr[0].disabled);
	assert_int_equal(kernel.controls, 1);
	assert_int_equal(kernel.request, PERCH_IOC_ENABLE);
	assert_int_equal(kernel.control_fd, FIRST_FD);
	perch_group_close(group);
}

/* A group that needs a large read buffer. */
static void large_groups(void **state)
{
	struct perch_options options = { .machine = machine,
					 .read = PERCH_FORMAT_ID | PERCH_FORMAT_LOST };
	struct perch_group *group;
	struct perch_count counts[50];
	char text[1024] = "";

	(void)state;
	for (int i = 0; i < 50; i++)
		strcat(text, i ? ",dummy" : "dummy");
	assert_int_equal(perch_group_open(&group, text, &perch_self, &options, NULL), 0);
	kernel.words[0] = 50;
	kernel.words[1] = kernel.words[2] = 9;
	for (int i = 0; i < 150; i++)
		kernel.words[3 + i] = i;
	kernel.bytes = 153 * 8;
	assert_int_equal(perch_group_read(group, counts, 50, NULL), 0);
	assert_int_equal(kernel.asked, 153 * 8);
	assert_int_equal(counts[49].value, 147);
	assert_int_equal(counts[49].lost, 149);
	perch_group_close(group);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		CASE(scaling),
		CASE(states),
		CASE(id_and_lost),
		CASE(reset_restarts_times),
		CASE(failed_reads),
		CASE(failed_opens),
		CASE(groups),
		CASE(inherited_groups_read_together),
		CASE(inherited_groups_read_each),
		CASE(inherit_term_on_old_kernels),
		CASE(explains_groups_that_are_too_large),
		CASE(groups_report_missing_features),
		CASE(groups_are_enabled_last),
		CASE(large_groups),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
