/* SPDX-License-Identifier: MIT */
/* Sets on a replayed kernel: lost counters, groups that grow and shrink, refusals; and arithmetic with counts. */
#define _GNU_SOURCE
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include <perch/count.h>

#include "tree.h"

#define MOST 64
#define FIRST_FD 1000
#define GROUP_ID (PERCH_FORMAT_GROUP | PERCH_FORMAT_ID)

/* Events as the kernel keeps them: value, times and id of each, and the group it is in. */
static struct {
	struct {
		struct perch_attr attr;
		pid_t pid;
		int cpu, leader;
		uint64_t value;
		bool open, gone;	/* gone: out of its group, alone */
	} event[MOST];
	int opened, closed, reads, enables;
	uint64_t enabled, running;
	int errored;			/* the event that lost its counter: -1 none */
	int interrupts;			/* reads that a signal ends */
	int strangers;			/* members of every group that nobody here knows of */
	size_t short_by;		/* bytes that the next reads lack */
	int (*refuse)(const struct perch_attr *attr, int group_fd, int cpu);	/* errno; 0: take it */
} kernel;

static int replay_open(void *context, const struct perch_attr *attr, pid_t pid, int cpu, int group_fd,
		       unsigned long flags)
{
	int index = kernel.opened;

	(void)context, (void)flags;
	errno = kernel.refuse ? kernel.refuse(attr, group_fd, cpu) : 0;
	if (errno)
		return -1;
	assert_true(index < MOST);
	kernel.event[index].attr = *attr;
	kernel.event[index].pid = pid;
	kernel.event[index].cpu = cpu;
	kernel.event[index].leader = group_fd < 0 ? index : group_fd - FIRST_FD;
	kernel.event[index].value = 100 + index;
	kernel.event[index].open = true;
	kernel.event[index].gone = false;
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
		bool member = kernel.event[index].gone ? i == index
						       : kernel.event[i].leader == leader && !kernel.event[i].gone;

		if (!member || !kernel.event[i].open)
			continue;
		nr = add_member(words, nr, kernel.event[i].value, FIRST_FD + i, format);
		words[0]++;
	}
	for (int i = 0; i < kernel.strangers; i++, words[0]++)
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
	if (kernel.errored == index)
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

static const struct perch_calls calls = {
	.open_event = replay_open, .control = replay_control, .read = replay_read, .close = replay_close,
};
static struct perch_machine *machine;
static struct perch_events events;
static struct perch_target target[3] = { { 11, -1, 0 }, { 12, -1, 0 }, { -1, 5, 0 } };

static int setup(void **state)
{
	(void)state;
	memset(&kernel, 0, sizeof(kernel));
	kernel.errored = -1;
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

static int try_set(struct perch_set **set, const char *text, size_t targets, struct perch_options options, unsigned may,
		   struct perch_error *err)
{
	const struct perch_targets list = { .nr = targets, .target = target };

	perch_events_clear(&events);
	memset(&events, 0, sizeof(events));
	assert_int_equal(perch_events_parse(&events, text, machine, err), 0);
	options.machine = machine;
	return perch_set_open(set, &events, &list, &options, may, err);
}

static struct perch_set *open_set(const char *text, size_t targets, struct perch_options options, unsigned may)
{
	struct perch_set *set;
	struct perch_error err;

	if (try_set(&set, text, targets, options, may, &err))
		fail_msg("%s", err.message);
	return set;
}

static void one_read_for_a_group_and_target(void **state)
{
	struct perch_set *set = open_set("{cycles,instructions,branches},page-faults", 3,
					 (struct perch_options){ .enabled = 1, .pinned = 1 }, 0);
	struct perch_count counts[12];
	struct perch_error err;

	(void)state;
	assert_int_equal(kernel.opened, 12);
	assert_int_equal(kernel.enables, 6);
	for (int i = 0; i < 12; i++) {
		const struct perch_attr *attr = &kernel.event[i].attr;
		bool leads = i < 3 || i >= 9;

		assert_int_equal(kernel.event[i].leader, leads ? i : i % 3);
		assert_int_equal(attr->disabled && attr->pinned, leads);
		assert_int_equal(attr->disabled || attr->pinned, leads);
		assert_int_equal(attr->read_format & GROUP_ID, i < 9 ? PERCH_FORMAT_GROUP : 0);
		assert_int_equal(kernel.event[i].pid, target[i % 3].pid);
		assert_int_equal(kernel.event[i].cpu, target[i % 3].cpu);
		assert_int_equal(perch_set_fd(set, i / 3, i % 3), FIRST_FD + i);
	}
	kernel.interrupts = 2;
	assert_int_equal(perch_set_read(set, counts, 12, &err), 0);
	assert_int_equal(kernel.reads, 6 + 2);
	for (int i = 0; i < 12; i++) {
		assert_int_equal(counts[i].value, 100 + i);
		assert_int_equal(counts[i].state, PERCH_COUNT_FULL);
	}
	perch_set_close(set);
}

static void counters_that_are_lost_or_never_there(void **state)
{
	struct perch_set *set = open_set("{cycles,instructions},branches", 2, (struct perch_options){ 0 }, 0);
	struct perch_count counts[6], sum;
	struct perch_error err;

	(void)state;
	kernel.errored = 1;
	assert_int_equal(perch_set_read(set, counts, 6, NULL), 0);
	assert_int_equal(counts[0].state, PERCH_COUNT_FULL);
	assert_int_equal(counts[1].state, PERCH_COUNT_ERROR);
	assert_int_equal(counts[3].state, PERCH_COUNT_ERROR);
	assert_int_equal(counts[1].value, 0);
	perch_count_sum(&sum, counts, 2);
	assert_int_equal(sum.state, PERCH_COUNT_ERROR);
	assert_int_equal(sum.value, 100);
	kernel.errored = 5;
	kernel.running = 0;
	assert_int_equal(perch_set_read(set, counts, 6, NULL), 0);
	assert_int_equal(counts[1].state, PERCH_COUNT_NEVER);
	assert_int_equal(counts[5].state, PERCH_COUNT_ERROR);
	kernel.errored = -1;
	kernel.short_by = 8;
	assert_int_equal(perch_set_read(set, counts, 6, &err), -EIO);
	assert_int_equal(err.cause, PERCH_CAUSE_SHORT_READ);
	assert_non_null(strstr(err.message, "cycles for thread 11: "));
	perch_set_close(set);
}

static void groups_grow_and_shrink(void **state)
{
	/* where members may leave, their ids are read too */
	const struct perch_options options = { .remove_on_exec = 1 };
	struct perch_set *set = open_set("{cycles,instructions,branches}", 1, options, 0);
	struct perch_count counts[3];
	struct perch_error err;

	(void)state;
	assert_int_equal(kernel.event[2].attr.read_format & GROUP_ID, GROUP_ID);
	kernel.strangers = 20;		/* the kernel says ENOSPC once, and there is room from then on */
	for (int i = 0; i < 2; i++) {
		assert_int_equal(perch_set_read(set, counts, 3, &err), 0);
		assert_int_equal(counts[2].value, 102);
	}
	assert_int_equal(kernel.reads, 3);
	kernel.strangers = 0;
	kernel.event[1].gone = true;	/* alone, while the other two are in company still */
	assert_int_equal(perch_set_read(set, counts, 3, &err), 0);
	for (int i = 0; i < 3; i++)
		assert_int_equal(counts[i].value, 100 + i);
	kernel.event[0].gone = kernel.event[2].gone = true;
	assert_int_equal(perch_set_read(set, counts, 3, &err), 0);
	for (int i = 0; i < 3; i++)
		assert_int_equal(counts[i].value, 100 + i);
	perch_set_close(set);
}

static void resets_keep_the_times(void **state)
{
	struct perch_set *set = open_set("{cycles,instructions},branches", 1, (struct perch_options){ 0 }, 0);
	struct perch_count counts[3];

	(void)state;
	kernel.running = 250;
	assert_int_equal(perch_set_reset(set, NULL), 0);
	kernel.enabled = 3000;
	kernel.running = 1250;
	assert_int_equal(perch_set_read(set, counts, 3, NULL), 0);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(counts[i].enabled_ns, 2000);
		assert_int_equal(counts[i].running_ns, 1000);
		assert_int_equal(counts[i].scaled, 2 * (100 + i));
	}
	kernel.enabled = 500;		/* no kernel does that: nothing, and no huge number */
	assert_int_equal(perch_set_read(set, counts, 3, NULL), 0);
	assert_int_equal(counts[0].enabled_ns, 0);
	perch_set_close(set);
}

static int refuse_third_member(const struct perch_attr *attr, int group_fd, int cpu)
{
	(void)cpu;
	return group_fd >= 0 && attr->config == PERCH_COUNT_HW_BRANCH_INSTRUCTIONS ? EINVAL : 0;
}

static void weak_groups(void **state)
{
	const struct perch_targets list = { .nr = 2, .target = target };
	struct perch_options options = { 0 };
	struct perch_count counts[8];
	struct perch_set *set;
	struct perch_error err;

	(void)state;
	kernel.refuse = refuse_third_member;
	assert_int_equal(try_set(&set, "{cycles,instructions,branches},page-faults", 2, options, 0, &err), -EINVAL);
	assert_int_equal(kernel.closed, 4 + 1);	/* and the one that was tried alone */
	assert_true(kernel.event[4].leader == 4 && kernel.event[4].attr.disabled);
	assert_non_null(strstr(err.message, "branches for thread 11: the group is too large: "));
	assert_non_null(strstr(err.message, "beside the 2 before"));
	assert_int_equal(err.cause, PERCH_CAUSE_BAD_GROUP);
	events.event[0].weak = true;
	options.machine = machine;
	assert_int_equal(perch_set_open(&set, &events, &list, &options, 0, &err), 0);
	assert_int_equal(kernel.closed, 9);
	for (int i = 0; i < 4; i++) {
		const struct perch_set_event *event = perch_set_event(set, i);

		assert_int_equal(event->broken, i < 3);
		assert_int_equal(event->event.leader, i);
		assert_false(event->attr.read_format & PERCH_FORMAT_GROUP);
		assert_true(event->attr.disabled);
	}
	assert_int_equal(perch_set_read(set, counts, 8, &err), 0);
	assert_int_equal(counts[4].state, PERCH_COUNT_FULL);
	perch_set_close(set);
}

/* Refused on the second CPU: the first one's goes as well, and the next member leads. */
static int refuse_cycles_on_a_cpu(const struct perch_attr *attr, int group_fd, int cpu)
{
	(void)group_fd;
	return attr->type == PERCH_TYPE_HARDWARE && attr->config == PERCH_COUNT_HW_CPU_CYCLES && cpu == 5 ? ENOENT : 0;
}

static void skipped_leaders(void **state)
{
	struct perch_count counts[9];
	struct perch_set *set;
	struct perch_error err;

	(void)state;
	kernel.refuse = refuse_cycles_on_a_cpu;
	assert_int_equal(try_set(&set, "{cycles,instructions,branches}", 3, (struct perch_options){ 0 }, 0, &err), -ENOENT);
	assert_non_null(strstr(err.message, "cycles on CPU 5: "));
	set = open_set("{cycles,instructions,branches}", 3, (struct perch_options){ .enabled = 1 }, PERCH_SET_MAY_SKIP);
	assert_true(perch_set_event(set, 0)->skipped);
	assert_int_equal(perch_set_fd(set, 0, 0), -1);
	assert_int_equal(perch_set_event(set, 2)->event.leader, 1);
	assert_int_equal(perch_set_event(set, 1)->event.members, 2);
	assert_int_equal(kernel.enables, 3);
	kernel.reads = 0;
	assert_int_equal(perch_set_read(set, counts, 9, &err), 0);
	assert_int_equal(kernel.reads, 3);
	assert_int_equal(counts[1].state, PERCH_COUNT_ABSENT);
	assert_int_equal(counts[8].state, PERCH_COUNT_FULL);
	perch_set_explain(set, machine);
	assert_int_equal(perch_set_event(set, 0)->reason->errnum, ENOENT);
	perch_set_close(set);
}

/* A member without room is left out, and the reason stays what opening it alone has shown. */
static void skipped_members_without_room(void **state)
{
	struct perch_count counts[3];
	struct perch_set *set;

	(void)state;
	kernel.refuse = refuse_third_member;
	set = open_set("{cycles,instructions,branches}", 1, (struct perch_options){ 0 }, PERCH_SET_MAY_SKIP);
	perch_set_explain(set, machine);
	assert_non_null(strstr(perch_set_event(set, 2)->reason->message, "the group is too large"));
	assert_null(perch_set_event(set, 1)->reason);
	assert_int_equal(perch_set_read(set, counts, 3, NULL), 0);
	assert_int_equal(counts[1].value, 101);
	assert_int_equal(counts[2].state, PERCH_COUNT_ABSENT);
	perch_set_close(set);
}

static int refuse_inherited_groups(const struct perch_attr *attr, int group_fd, int cpu)
{
	(void)group_fd, (void)cpu;
	return attr->inherit && attr->read_format & PERCH_FORMAT_GROUP ? EINVAL : 0;
}

static void kernels_without_inherited_group_reads(void **state)
{
	struct perch_count counts[4];
	struct perch_set *set;

	(void)state;
	kernel.refuse = refuse_inherited_groups;
	set = open_set("{cycles,instructions},{branches,page-faults}", 1, (struct perch_options){ .inherit = 1 }, 0);
	assert_int_equal(kernel.event[1].leader, 0);
	kernel.reads = 0;
	assert_int_equal(perch_set_read(set, counts, 4, NULL), 0);
	assert_int_equal(kernel.reads, 4);
	assert_int_equal(counts[3].value, 103);
	perch_set_close(set);
}

static int refuse_lost(const struct perch_attr *attr, int group_fd, int cpu)
{
	(void)group_fd, (void)cpu;
	return attr->read_format & PERCH_FORMAT_LOST ? EINVAL : 0;
}

static void optional_parts_are_told(void **state)
{
	const struct perch_attr optional = { .read_format = ~UINT64_C(0) };
	struct perch_options options = { .read = PERCH_FORMAT_LOST, .optional = &optional };
	struct perch_counter *counter;
	struct perch_count counts[4];
	struct perch_set *set;

	(void)state;
	kernel.refuse = refuse_lost;
	set = open_set("{cycles,instructions}", 2, options, 0);
	assert_int_equal(perch_set_event(set, 0)->dropped->read_format, PERCH_FORMAT_LOST);
	assert_true(perch_set_event(set, 0)->attr.disabled);
	assert_true(kernel.event[1].attr.disabled && !kernel.event[2].attr.disabled);
	assert_int_equal(perch_set_read(set, counts, 4, NULL), 0);
	assert_int_equal(counts[3].value, 103);
	perch_set_close(set);
	options.machine = machine;
	assert_int_equal(perch_counter_open(&counter, "cycles", NULL, &options, NULL), 0);
	assert_non_null(perch_counter_dropped(counter));
	assert_int_equal(perch_counter_dropped(counter)->read_format, PERCH_FORMAT_LOST);
	assert_int_equal(perch_counter_read(counter, counts, NULL), 0);
	perch_counter_close(counter);
	options.read = 0;
	assert_int_equal(perch_counter_open(&counter, "cycles", NULL, &options, NULL), 0);
	assert_null(perch_counter_dropped(counter));
	perch_counter_close(counter);
}

static int refuse_the_kernels_side(const struct perch_attr *attr, int group_fd, int cpu)
{
	(void)group_fd, (void)cpu;
	return attr->exclude_kernel ? 0 : EACCES;
}

static int refuse_all_sides(const struct perch_attr *attr, int group_fd, int cpu)
{
	(void)group_fd, (void)cpu;
	return attr->exclude_kernel ? EINVAL : EACCES;
}

static void the_kernels_side(void **state)
{
	struct perch_options plain = { 0 };
	struct perch_set *set;
	struct perch_error err;

	(void)state;
	kernel.refuse = refuse_the_kernels_side;
	assert_int_equal(try_set(&set, "{cycles,instructions:k}", 2, plain, PERCH_SET_MAY_DROP_KERNEL, &err), -EACCES);
	assert_non_null(strstr(err.message, "instructions:k for thread 11: "));
	set = open_set("{cycles,instructions:u}", 2, plain, PERCH_SET_MAY_DROP_KERNEL);
	assert_true(perch_set_event(set, 0)->user_only && perch_set_event(set, 0)->attr.exclude_hv);
	assert_false(perch_set_event(set, 1)->user_only);
	perch_set_close(set);
	kernel.refuse = refuse_all_sides;	/* without the kernel's side it is another refusal: the first is told */
	assert_int_equal(try_set(&set, "cycles", 1, plain, PERCH_SET_MAY_DROP_KERNEL, &err), -EACCES);
}

static void sets_that_make_no_sense(void **state)
{
	const struct perch_targets none = { 0 }, one = { .nr = 1, .target = target };
	struct perch_events nothing = { 0 };
	struct perch_set *set = (void *)1;
	struct perch_options options = { .machine = machine, .enabled = 1, .enable_on_exec = 1 };
	struct perch_error err;

	(void)state;
	assert_int_equal(perch_set_open(&set, &nothing, &one, NULL, 0, &err), -EINVAL);
	assert_null(set);
	assert_int_equal(perch_events_parse(&events, "{cycles,instructions},{branches,page-faults}", machine, NULL), 0);
	assert_int_equal(perch_set_open(&set, &events, &none, NULL, 0, &err), -EINVAL);
	assert_int_equal(perch_set_open(&set, &events, &one, &options, 0, &err), -EINVAL);
	assert_int_equal(err.cause, PERCH_CAUSE_CONFLICT);
	events.event[3].leader = 0;
	assert_int_equal(perch_set_open(&set, &events, &one, NULL, 0, &err), -EINVAL);
	assert_int_equal(err.cause, PERCH_CAUSE_USAGE);
	events.event[3].leader = -7;
	assert_int_equal(perch_set_open(&set, &events, &one, NULL, 0, &err), -EINVAL);
	perch_set_close(NULL);
}

/* A PMU that counts on CPU 5 alone, one on CPU 6 alone, and everything on both. */
static void pmus_of_some_cpus(void **state)
{
	static const struct tree_file files[] = {
		{ "/sys/bus/event_source/devices/near/type", "40\n" },
		{ "/sys/bus/event_source/devices/near/cpumask", "5\n" },
		{ "/sys/bus/event_source/devices/far/type", "41\n" },
		{ "/sys/bus/event_source/devices/far/cpumask", "7\n" },
		{ "/sys/devices/system/cpu/online", "5-6\n" },
	};
	struct perch_target everywhere = { -1, -1, 0 };
	const struct perch_targets all = { .nr = 1, .target = &everywhere };
	struct perch_options options = { 0 };
	struct perch_machine *partial;
	struct perch_count counts[6];
	struct perch_set *set;
	struct perch_error err;
	char root[PATH_MAX];

	(void)state;
	tree_make(root, files, sizeof(files) / sizeof(files[0]));
	assert_int_equal(perch_machine_new(&partial, root, &calls, NULL), 0);
	options.machine = partial;
	assert_int_equal(perch_events_parse(&events, "{page-faults,dummy},task-clock", machine, NULL), 0);
	events.event[0].attr.type = 40;
	assert_int_equal(perch_set_open(&set, &events, &all, &options, 0, &err), 0);
	assert_int_equal(perch_set_targets(set), 2);
	assert_int_equal(perch_set_target(set, 1)->cpu, 6);
	assert_int_equal(kernel.opened, 5);
	assert_int_equal(perch_set_fd(set, 0, 1), -1);
	/* on the CPU that the leader's PMU does not have, the next one leads */
	assert_int_equal(kernel.event[1].leader, 0);
	assert_int_equal(kernel.event[2].leader, 2);
	assert_true(!kernel.event[1].attr.disabled && kernel.event[2].attr.disabled);
	assert_int_equal(perch_set_enable(set, NULL), 0);
	assert_int_equal(kernel.enables, 4);
	assert_int_equal(perch_set_read(set, counts, 6, NULL), 0);
	assert_int_equal(counts[1].state, PERCH_COUNT_ABSENT);
	assert_int_equal(counts[3].value, 102);
	perch_set_close(set);
	events.event[2].attr.type = 41;
	assert_int_equal(perch_set_open(&set, &events, &all, &options, 0, &err), -ENODEV);
	assert_int_equal(err.cause, PERCH_CAUSE_NO_CPU);
	assert_non_null(strstr(err.remedy, "CPU 7"));
	assert_int_equal(perch_set_open(&set, &events, &all, &options, PERCH_SET_MAY_SKIP, &err), 0);
	assert_true(perch_set_event(set, 2)->skipped);
	assert_int_equal(perch_set_event(set, 2)->reason->cause, PERCH_CAUSE_NO_CPU);
	perch_set_close(set);
	perch_machine_free(partial);
	tree_remove(root);
}

static void sums(void **state)
{
	const struct perch_count counts[] = {
		{ 10, 20, 100, 50, 1, 2, PERCH_COUNT_SCALED }, { 5, 5, 100, 100, 2, 0, PERCH_COUNT_FULL },
		{ 0, 0, 0, 0, 3, 0, PERCH_COUNT_IDLE }, { 9, 9, 9, 9, 9, 9, PERCH_COUNT_ABSENT },
		{ UINT64_MAX, UINT64_MAX, UINT64_MAX, 0, 0, UINT64_MAX, PERCH_COUNT_NEVER },
	};
	struct perch_count sum;

	(void)state;
	perch_count_sum(&sum, counts, 4);
	assert_int_equal(sum.value, 15);
	assert_int_equal(sum.scaled, 25);
	assert_int_equal(sum.enabled_ns, 200);
	assert_int_equal(sum.running_ns, 150);
	assert_int_equal(sum.lost, 2);
	assert_int_equal(sum.state, PERCH_COUNT_SCALED);
	perch_count_sum(&sum, counts + 1, 2);
	assert_int_equal(sum.state, PERCH_COUNT_FULL);
	perch_count_sum(&sum, counts, 5);
	assert_true(sum.value == UINT64_MAX && sum.enabled_ns == UINT64_MAX);
	assert_int_equal(sum.state, PERCH_COUNT_NEVER);
	perch_count_sum(&sum, counts + 3, 1);
	assert_int_equal(sum.state, PERCH_COUNT_ABSENT);
	assert_int_equal(sum.value, 0);
	perch_count_sum(&sum, NULL, 0);
	assert_int_equal(sum.state, PERCH_COUNT_ABSENT);
}

static void differences(void **state)
{
	static const struct {
		struct perch_count now, earlier, delta;
	} cases[] = {
		/* value, scaled, enabled, running, id, lost, state */
		{ { 100, 150, 30, 20, 1, 5, PERCH_COUNT_SCALED }, { 40, 40, 10, 10, 1, 2, PERCH_COUNT_FULL },
		  { 60, 120, 20, 10, 1, 3, PERCH_COUNT_SCALED } },
		{ { 50, 50, 30, 30, 0, 0, PERCH_COUNT_FULL }, { 50, 50, 30, 30, 0, 0, PERCH_COUNT_FULL },
		  { 0, 0, 0, 0, 0, 0, PERCH_COUNT_IDLE } },
		{ { 50, 75, 30, 20, 0, 0, PERCH_COUNT_SCALED }, { 50, 50, 20, 20, 0, 0, PERCH_COUNT_FULL },
		  { 0, 0, 10, 0, 0, 0, PERCH_COUNT_NEVER } },
		/* a reset between */
		{ { 7, 7, 10, 10, 0, 0, PERCH_COUNT_FULL }, { 50, 50, 30, 30, 0, 0, PERCH_COUNT_FULL },
		  { 7, 7, 10, 10, 0, 0, PERCH_COUNT_FULL } },
		/* a level that fell */
		{ { 7, 7, 40, 40, 0, 0, PERCH_COUNT_FULL }, { 50, 50, 30, 30, 0, 9, PERCH_COUNT_FULL },
		  { 0, 0, 10, 10, 0, 0, PERCH_COUNT_FULL } },
		/* lost its counter, or got it back */
		{ { 0, 0, 0, 0, 0, 0, PERCH_COUNT_ERROR }, { 50, 50, 30, 30, 0, 0, PERCH_COUNT_FULL },
		  { 0, 0, 0, 0, 0, 0, PERCH_COUNT_ERROR } },
		{ { 9, 9, 10, 10, 0, 0, PERCH_COUNT_FULL }, { 0, 0, 0, 0, 0, 0, PERCH_COUNT_ABSENT },
		  { 9, 9, 10, 10, 0, 0, PERCH_COUNT_FULL } },
		/* running that fell back, which no kernel does */
		{ { 9, 9, 20, 5, 0, 0, PERCH_COUNT_SCALED }, { 3, 3, 10, 10, 0, 0, PERCH_COUNT_FULL },
		  { 6, 0, 10, 0, 0, 0, PERCH_COUNT_NEVER } },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct perch_count delta, now = cases[i].now;

		perch_count_delta(&delta, &now, &cases[i].earlier);
		assert_memory_equal(&delta, &cases[i].delta, sizeof(delta));
		perch_count_delta(&now, &now, &cases[i].earlier);	/* in place */
		assert_memory_equal(&now, &cases[i].delta, sizeof(delta));
	}
	perch_count_delta(&(struct perch_count){ 0 }, &cases[0].now, NULL);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		CASE(one_read_for_a_group_and_target), CASE(counters_that_are_lost_or_never_there),
		CASE(groups_grow_and_shrink), CASE(resets_keep_the_times), CASE(weak_groups), CASE(skipped_leaders),
		CASE(skipped_members_without_room),
		CASE(kernels_without_inherited_group_reads), CASE(optional_parts_are_told), CASE(the_kernels_side),
		CASE(sets_that_make_no_sense), CASE(pmus_of_some_cpus), CASE(sums), CASE(differences),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
