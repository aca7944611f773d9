/* SPDX-License-Identifier: MIT */
/* Groups of a set on a replayed kernel that refuses some members, or some CPUs. */
#define _GNU_SOURCE
#include "count_set_fixture.h"
#include "tree.h"

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
	assert_int_equal(try_set(&set, "{cycles,instructions,branches},page-faults", 2, options, 0,
				 &err),
			 -EINVAL);
	assert_int_equal(kernel.closed,
			 4 + 1); /* and the member that was opened without its group */
	assert_true(kernel.event[4].leader == 4 && kernel.event[4].attr.disabled);
	assert_non_null(strstr(err.message, "branches for thread 11: the group is too large: "));
	assert_non_null(strstr(err.message, "the 2 before"));
	assert_int_equal(err.kind, PERCH_ERROR_BAD_GROUP);
	events.event[0].weak = true;
	options.machine = machine;
	assert_int_equal(perch_set_open(&set, &events, &list, &options, &err), 0);
	assert_int_equal(kernel.closed, 9);
	for (int i = 0; i < 4; i++) {
		const struct perch_set_event *event = perch_set_get_event(set, i);

		assert_int_equal(event->broken, i < 3);
		assert_int_equal(event->event.leader, i);
		assert_false(event->attr.read_format & PERCH_FORMAT_GROUP);
		assert_true(event->attr.disabled);
	}
	assert_int_equal(perch_set_read(set, counts, 8, &err), 0);
	assert_int_equal(counts[4].state, PERCH_COUNT_STATE_EXACT);
	perch_set_close(set);
}

/* Refused on the second CPU: the event is closed on the first one, and the next member leads. */
static int refuse_cycles_on_a_cpu(const struct perch_attr *attr, int group_fd, int cpu)
{
	(void)group_fd;
	return attr->type == PERCH_TYPE_HARDWARE && attr->config == PERCH_COUNT_HW_CPU_CYCLES &&
			       cpu == 5
		       ? ENOENT
		       : 0;
}

static void skipped_leaders(void **state)
{
	struct perch_count counts[9];
	struct perch_set *set;
	struct perch_error err;

	(void)state;
	kernel.refuse = refuse_cycles_on_a_cpu;
	assert_int_equal(try_set(&set, "{cycles,instructions,branches}", 3,
				 (struct perch_options){ 0 }, 0, &err),
			 -ENOENT);
	assert_non_null(strstr(err.message, "cycles on CPU 5: "));
	set = open_set("{cycles,instructions,branches}", 3, (struct perch_options){ .enabled = 1 },
		       PERCH_MAY_SKIP);
	assert_true(perch_set_get_event(set, 0)->skipped);
	assert_int_equal(perch_set_fd(set, 0, 0), -1);
	assert_int_equal(perch_set_get_event(set, 2)->event.leader, 1);
	assert_int_equal(perch_set_get_event(set, 1)->event.members, 2);
	assert_int_equal(kernel.enables, 3);
	kernel.reads = 0;
	assert_int_equal(perch_set_read(set, counts, 9, &err), 0);
	assert_int_equal(kernel.reads, 3);
	assert_int_equal(counts[1].state, PERCH_COUNT_STATE_NOT_OPEN);
	assert_int_equal(counts[8].state, PERCH_COUNT_STATE_EXACT);
	perch_set_explain(set, machine);
	assert_int_equal(perch_set_get_event(set, 0)->reason->errnum, ENOENT);
	perch_set_close(set);
}

/* A member without a counter is skipped. The reason is that it can be opened only without the
 * group. */
static void skips_members_without_counter(void **state)
{
	struct perch_count counts[3];
	struct perch_set *set;

	(void)state;
	kernel.refuse = refuse_third_member;
	set = open_set("{cycles,instructions,branches}", 1, (struct perch_options){ 0 },
		       PERCH_MAY_SKIP);
	perch_set_explain(set, machine);
	assert_non_null(
		strstr(perch_set_get_event(set, 2)->reason->message, "the group is too large"));
	assert_null(perch_set_get_event(set, 1)->reason);
	assert_int_equal(perch_set_read(set, counts, 3, NULL), 0);
	assert_int_equal(counts[1].value, 101);
	assert_int_equal(counts[2].state, PERCH_COUNT_STATE_NOT_OPEN);
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
	set = open_set("{cycles,instructions},{branches,page-faults}", 1,
		       (struct perch_options){ .inherit = 1 }, 0);
	assert_int_equal(kernel.event[1].leader, 0);
	kernel.reads = 0;
	assert_int_equal(perch_set_read(set, counts, 4, NULL), 0);
	assert_int_equal(kernel.reads, 4);
	assert_int_equal(counts[3].value, 103);
	perch_set_close(set);
}

/* One PMU counts on CPU 5 only, one on CPU 6 only. */
static void pmus_of_some_cpus(void **state)
{
	static const struct tree_file files[] = {
		{ "/sys/bus/event_source/devices/near/type", "40\n" },
		{ "/sys/bus/event_source/devices/near/cpumask", "5\n" },
		{ "/sys/bus/event_source/devices/far/type", "41\n" },
		{ "/sys/bus/event_source/devices/far/cpumask", "7\n" },
		{ "/sys/devices/system/cpu/online", "5-6\n" },
	};
	struct perch_target everywhere = { .tid = -1, .cpu = -1 };
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
	assert_int_equal(
		perch_events_parse(&events, "{page-faults,dummy},task-clock", machine, NULL), 0);
	events.event[0].attr.type = 40;
	assert_int_equal(perch_set_open(&set, &events, &all, &options, &err), 0);
	assert_int_equal(perch_set_targets(set), 2);
	assert_int_equal(perch_set_target(set, 1)->cpu, 6);
	assert_int_equal(kernel.opened, 5);
	assert_int_equal(perch_set_fd(set, 0, 1), -1);
	/* on the CPU where the leader's PMU does not count, the next event leads */
	assert_int_equal(kernel.event[1].leader, 0);
	assert_int_equal(kernel.event[2].leader, 2);
	assert_true(!kernel.event[1].attr.disabled && kernel.event[2].attr.disabled);
	assert_int_equal(perch_set_enable(set, NULL), 0);
	assert_int_equal(kernel.enables, 4);
	assert_int_equal(perch_set_read(set, counts, 6, NULL), 0);
	assert_int_equal(counts[1].state, PERCH_COUNT_STATE_NOT_OPEN);
	assert_int_equal(counts[3].value, 102);
	perch_set_close(set);
	events.event[2].attr.type = 41;
	assert_int_equal(perch_set_open(&set, &events, &all, &options, &err), -ENODEV);
	assert_int_equal(err.kind, PERCH_ERROR_NO_CPU);
	assert_non_null(strstr(err.remedy, "CPU 7"));
	options.may = PERCH_MAY_SKIP;
	assert_int_equal(perch_set_open(&set, &events, &all, &options, &err), 0);
	assert_true(perch_set_get_event(set, 2)->skipped);
	assert_int_equal(perch_set_get_event(set, 2)->reason->kind, PERCH_ERROR_NO_CPU);
	perch_set_close(set);
	perch_machine_free(partial);
	tree_remove(root);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(weak_groups),
		CASE(skipped_leaders),
		CASE(skips_members_without_counter),
		CASE(kernels_without_inherited_group_reads),
		CASE(pmus_of_some_cpus),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
