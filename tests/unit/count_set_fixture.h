/* SPDX-License-Identifier: MIT */
/* A replayed kernel for tests of sets. */
#ifndef TESTS_UNIT_COUNT_SET_FIXTURE_H
#define TESTS_UNIT_COUNT_SET_FIXTURE_H

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include <perch/count.h>

#define MAX_EVENTS 64
#define FIRST_FD   1000
#define GROUP_ID   (PERCH_FORMAT_GROUP | PERCH_FORMAT_ID)

/* State of the replayed kernel: events with attr, target, group and value. */
static struct {
	struct {
		struct perch_attr attr;
		pid_t pid;
		int cpu, leader;
		uint64_t value;
		bool open, orphan; /* orphan: no longer in its group */
	} event[MAX_EVENTS];
	int opened, closed, reads, enables;
	uint64_t enabled, running;
	int failed_event;    /* index of the event that lost its counter, or -1 */
	int interrupts;	     /* next reads that fail with EINTR */
	int foreign_members; /* members that others have added to every group */
	size_t short_by;     /* bytes missing in the next reads */
	/* returns an errno, or 0 to accept the event */
	int (*refuse)(const struct perch_attr *attr, int group_fd, int cpu);
} kernel;

static int replay_open(void *context, const struct perch_attr *attr, pid_t pid, int cpu,
		       int group_fd, unsigned long flags)
{
	int index = kernel.opened;

	(void)context, (void)flags;
	errno = kernel.refuse ? kernel.refuse(attr, group_fd, cpu) : 0;
	if (errno)
		return -1;
	assert_true(index < MAX_EVENTS);
	kernel.event[index].attr = *attr;
	kernel.event[index].pid = pid;
	kernel.event[index].cpu = cpu;
	kernel.event[index].leader = group_fd < 0 ? index : group_fd - FIRST_FD;
	kernel.event[index].value = 100 + index;
	kernel.event[index].open = true;
	kernel.event[index].orphan = false;
	return FIRST_FD + kernel.opened++;
}

static int replay_control(void *context, int fd, unsigned long request, unsigned long argument)
{
	(void)context;
	assert_true(kernel.event[fd - FIRST_FD].open);
	if (request == PERCH_IOC_ID)
		*(uint64_t *)argument = fd;
	if (request == PERCH_IOC_ENABLE) {
		kernel.enables++;
		assert_int_equal(kernel.event[fd - FIRST_FD].leader, fd - FIRST_FD);
	}
	return 0;
}

static size_t add_member(uint64_t *words, size_t nr, uint64_t value, uint64_t id, uint64_t format)
{
	words[nr++] = value;
	if (format & PERCH_FORMAT_ID)
		words[nr++] = id;
	if (format & PERCH_FORMAT_LOST)
		words[nr++] = value / 10;
	return nr;
}

static size_t members_of(uint64_t *words, int index, uint64_t format)
{
	int leader = kernel.event[index].leader;
	size_t nr = 3;

	words[0] = 0;
	for (int i = 0; i < kernel.opened; i++) {
		bool member = kernel.event[index].orphan
				      ? i == index
				      : kernel.event[i].leader == leader && !kernel.event[i].orphan;

		if (!member || !kernel.event[i].open)
			continue;
		nr = add_member(words, nr, kernel.event[i].value, FIRST_FD + i, format);
		words[0]++;
	}
	for (int i = 0; i < kernel.foreign_members; i++, words[0]++)
		nr = add_member(words, nr, 7, 7, format);
	return nr;
}

static ssize_t replay_read(void *context, int fd, void *buffer, size_t size)
{
	int index = fd - FIRST_FD;
	uint64_t format = kernel.event[index].attr.read_format, words[256];
	size_t nr;

	(void)context;
	kernel.reads++;
	assert_true(kernel.event[index].open);
	if (kernel.interrupts) {
		kernel.interrupts--;
		errno = EINTR;
		return -1;
	}
	if (kernel.failed_event == index)
		return 0;
	if (format & PERCH_FORMAT_GROUP)
		nr = members_of(words, index, format);
	else
		nr = add_member(words, 0, kernel.event[index].value, 0, 0) + 2;
	words[1] = kernel.enabled;
	words[2] = kernel.running;
	if (!(format & PERCH_FORMAT_GROUP) && format & PERCH_FORMAT_ID)
		words[nr++] = fd;
	if (nr * 8 > size) {
		errno = ENOSPC;
		return -1;
	}
	memcpy(buffer, words, nr * 8);
	return nr * 8 - kernel.short_by;
}

static int replay_close(void *context, int fd)
{
	(void)context;
	assert_true(kernel.event[fd - FIRST_FD].open);
	kernel.event[fd - FIRST_FD].open = false;
	kernel.closed++;
	return 0;
}

static const struct perch_syscalls calls = {
	.perf_event_open = replay_open,
	.ioctl = replay_control,
	.read = replay_read,
	.close = replay_close,
};
static struct perch_machine *machine;
static struct perch_events events;
static struct perch_target target[3] = { { .tid = 11, .cpu = -1 },
					 { .tid = 12, .cpu = -1 },
					 { .tid = -1, .cpu = 5 } };

static int setup(void **state)
{
	(void)state;
	memset(&kernel, 0, sizeof(kernel));
	kernel.failed_event = -1;
	kernel.enabled = kernel.running = 1000;
	return perch_machine_new(&machine, "/nowhere", &calls, NULL);
}

static int teardown(void **state)
{
	(void)state;
	assert_int_equal(kernel.opened, kernel.closed);
	perch_events_clear(&events);
	perch_machine_free(machine);
	return 0;
}

static int try_set(struct perch_set **set, const char *text, size_t targets,
		   struct perch_options options, unsigned may, struct perch_error *err)
{
	const struct perch_targets list = { .nr = targets, .target = target };

	perch_events_clear(&events);
	memset(&events, 0, sizeof(events));
	assert_int_equal(perch_events_parse(&events, text, machine, err), 0);
	options.machine = machine;
	options.may = may;
	return perch_set_open(set, &events, &list, &options, err);
}

static struct perch_set *open_set(const char *text, size_t targets, struct perch_options options,
				  unsigned may)
{
	struct perch_set *set;
	struct perch_error err;

	if (try_set(&set, text, targets, options, may, &err))
		fail_msg("%s", err.message);
	return set;
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

#endif
