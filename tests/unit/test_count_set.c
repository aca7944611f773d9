/* SPDX-License-Identifier: MIT */
/* Sets on a replayed kernel: lost counters, groups that grow and shrink, refusals. Sums and
 * differences of counts. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <unistd.h>

#include "count_set_fixture.h"
#include "tree.h"

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
		assert_int_equal(kernel.event[i].pid, target[i % 3].tid);
		assert_int_equal(kernel.event[i].cpu, target[i % 3].cpu);
		assert_int_equal(perch_set_fd(set, i / 3, i % 3), FIRST_FD + i);
	}
	kernel.interrupts = 2;
	assert_int_equal(perch_set_read(set, counts, 12, &err), 0);
	assert_int_equal(kernel.reads, 6 + 2);
	for (int i = 0; i < 12; i++) {
		assert_int_equal(counts[i].value, 100 + i);
		assert_int_equal(counts[i].state, PERCH_COUNT_STATE_EXACT);
	}
	perch_set_close(set);
}

static void lost_and_missing_counters(void **state)
{
	struct perch_set *set =
		open_set("{cycles,instructions},branches", 2, (struct perch_options){ 0 }, 0);
	struct perch_count counts[6], sum;
	struct perch_error err;

	(void)state;
	kernel.failed_event = 1;
	assert_int_equal(perch_set_read(set, counts, 6, NULL), 0);
	assert_int_equal(counts[0].state, PERCH_COUNT_STATE_EXACT);
	assert_int_equal(counts[1].state, PERCH_COUNT_STATE_ERROR);
	assert_int_equal(counts[3].state, PERCH_COUNT_STATE_ERROR);
	assert_int_equal(counts[1].value, 0);
	perch_count_sum(&sum, counts, 2);
	assert_int_equal(sum.state, PERCH_COUNT_STATE_ERROR);
	assert_int_equal(sum.value, 100);
	kernel.failed_event = 5;
	kernel.running = 0;
	assert_int_equal(perch_set_read(set, counts, 6, NULL), 0);
	assert_int_equal(counts[1].state, PERCH_COUNT_STATE_NEVER_RAN);
	assert_int_equal(counts[5].state, PERCH_COUNT_STATE_ERROR);
	kernel.failed_event = -1;
	kernel.short_by = 8;
	assert_int_equal(perch_set_read(set, counts, 6, &err), -EIO);
	assert_int_equal(err.kind, PERCH_ERROR_SHORT_READ);
	assert_non_null(strstr(err.message, "cycles for thread 11: "));
	perch_set_close(set);
}

static void groups_grow_and_shrink(void **state)
{
	/* with remove_on_exec ids are read too */
	const struct perch_options options = { .remove_on_exec = 1 };
	struct perch_set *set = open_set("{cycles,instructions,branches}", 1, options, 0);
	struct perch_count counts[3];
	struct perch_error err;

	(void)state;
	assert_int_equal(kernel.event[2].attr.read_format & GROUP_ID, GROUP_ID);
	/* the kernel returns ENOSPC once, then the buffer is large enough */
	kernel.foreign_members = 20;
	for (int i = 0; i < 2; i++) {
		assert_int_equal(perch_set_read(set, counts, 3, &err), 0);
		assert_int_equal(counts[2].value, 102);
	}
	assert_int_equal(kernel.reads, 3);
	kernel.foreign_members = 0;
	kernel.event[1].orphan = true; /* the other two stay a group */
	assert_int_equal(perch_set_read(set, counts, 3, &err), 0);
	for (int i = 0; i < 3; i++)
		assert_int_equal(counts[i].value, 100 + i);
	kernel.event[0].orphan = kernel.event[2].orphan = true;
	assert_int_equal(perch_set_read(set, counts, 3, &err), 0);
	for (int i = 0; i < 3; i++)
		assert_int_equal(counts[i].value, 100 + i);
	perch_set_close(set);
}

static void reset_restarts_times(void **state)
{
	struct perch_set *set =
		open_set("{cycles,instructions},branches", 1, (struct perch_options){ 0 }, 0);
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
	kernel.enabled =
		500; /* less than before, which no kernel returns: 0 and not a huge number */
	assert_int_equal(perch_set_read(set, counts, 3, NULL), 0);
	assert_int_equal(counts[0].enabled_ns, 0);
	perch_set_close(set);
}

static int refuse_lost(const struct perch_attr *attr, int group_fd, int cpu)
{
	(void)group_fd, (void)cpu;
	return attr->read_format & PERCH_FORMAT_LOST ? EINVAL : 0;
}

static void reports_missing_features(void **state)
{
	const struct perch_attr optional = { .read_format = ~UINT64_C(0) };
	struct perch_options options = { .read = PERCH_FORMAT_LOST, .optional = &optional };
	struct perch_counter *counter;
	struct perch_count counts[4];
	struct perch_set *set;

	(void)state;
	kernel.refuse = refuse_lost;
	set = open_set("{cycles,instructions}", 2, options, 0);
	assert_int_equal(perch_set_get_event(set, 0)->missing_features->read_format,
			 PERCH_FORMAT_LOST);
	assert_true(perch_set_get_event(set, 0)->attr.disabled);
	assert_true(kernel.event[1].attr.disabled && !kernel.event[2].attr.disabled);
	assert_int_equal(perch_set_read(set, counts, 4, NULL), 0);
	assert_int_equal(counts[3].value, 103);
	perch_set_close(set);
	options.machine = machine;
	assert_int_equal(perch_counter_open(&counter, "cycles", NULL, &options, NULL), 0);
	assert_non_null(perch_counter_missing_features(counter));
	assert_int_equal(perch_counter_missing_features(counter)->read_format, PERCH_FORMAT_LOST);
	assert_int_equal(perch_counter_read(counter, counts, NULL), 0);
	perch_counter_close(counter);
	options.read = 0;
	assert_int_equal(perch_counter_open(&counter, "cycles", NULL, &options, NULL), 0);
	assert_null(perch_counter_missing_features(counter));
	perch_counter_close(counter);
}

static int refuse_kernel(const struct perch_attr *attr, int group_fd, int cpu)
{
	(void)group_fd, (void)cpu;
	return attr->exclude_kernel ? 0 : EACCES;
}

/* The kernel checks permission first. */
static int refuse_cycles_later(const struct perch_attr *attr, int group_fd, int cpu)
{
	(void)group_fd, (void)cpu;
	if (!attr->exclude_kernel)
		return EACCES;
	return attr->type == PERCH_TYPE_HARDWARE ? ENOENT : 0;
}

static void drops_the_kernel_if_not_permitted(void **state)
{
	struct perch_options plain = { 0 };
	struct perch_set *set;
	struct perch_error err;

	(void)state;
	kernel.refuse = refuse_kernel;
	assert_int_equal(try_set(&set, "{cycles,instructions:k}", 2, plain,
				 PERCH_MAY_EXCLUDE_KERNEL, &err),
			 -EACCES);
	assert_non_null(strstr(err.message, "instructions:k for thread 11: "));
	set = open_set("{cycles,instructions:u}", 2, plain, PERCH_MAY_EXCLUDE_KERNEL);
	assert_true(perch_set_get_event(set, 0)->user_only &&
		    perch_set_get_event(set, 0)->attr.exclude_hv);
	assert_false(perch_set_get_event(set, 1)->user_only);
	perch_set_close(set);
}

static void names_the_cgroup_of_a_refusal(void **state)
{
	struct perch_target cgroup = { .tid = -1, .cpu = 0, .use_cgroup = 1 };
	const struct perch_targets one = { .nr = 1, .target = &cgroup };
	struct perch_set *set;
	struct perch_error err;

	(void)state;
	cgroup.cgroup_fd = open("/proc", O_RDONLY | O_DIRECTORY);
	assert_int_equal(perch_events_parse(&events, "page-faults", NULL, NULL), 0);
	/* this kernel refuses it, because it is no cgroup */
	assert_true(perch_set_open(&set, &events, &one, NULL, &err) < 0);
	assert_non_null(strstr(err.message, "page-faults for the cgroup /proc on CPU 0: "));
	close(cgroup.cgroup_fd);
}

/* What is refused with exclude_kernel too is the reason: the caller already gave up the kernel. */
static void reports_what_is_refused_without_the_kernel(void **state)
{
	const struct perch_options plain = { 0 };
	struct perch_set *set;
	struct perch_error err;

	(void)state;
	kernel.refuse = refuse_cycles_later;
	assert_int_equal(try_set(&set, "cycles", 1, plain, PERCH_MAY_EXCLUDE_KERNEL, &err),
			 -ENOENT);
	assert_null(strstr(err.message, "perf_event_paranoid"));
	set = open_set("cycles,page-faults", 1, plain, PERCH_MAY_EXCLUDE_KERNEL | PERCH_MAY_SKIP);
	assert_int_equal(perch_set_get_event(set, 0)->reason->errnum, ENOENT);
	assert_true(perch_set_get_event(set, 1)->user_only);
	perch_set_close(set);
}

static int refuse_exclude_kernel(const struct perch_attr *attr, int group_fd, int cpu)
{
	(void)group_fd, (void)cpu;
	if (attr->type < PERCH_TYPE_MAX)
		return attr->exclude_kernel ? 0 : EACCES;
	return attr->exclude_kernel ? EINVAL : EACCES;
}

/* Kernel profiling is not permitted, and the PMU refuses exclude_kernel: the first refusal is the
 * reason, and the attr does not change. */
static void pmus_that_cannot_exclude(void **state)
{
	static const struct tree_file files[] = { { "/sys/bus/event_source/devices/apart/type",
						    "40\n" } };
	const struct perch_targets one = { .nr = 1, .target = target };
	struct perch_options options = { .may = PERCH_MAY_EXCLUDE_KERNEL | PERCH_MAY_SKIP };
	struct perch_machine *other;
	struct perch_set *set;
	struct perch_error err;
	char root[PATH_MAX];

	(void)state;
	tree_make(root, files, sizeof(files) / sizeof(files[0]));
	assert_int_equal(perch_machine_new(&other, root, &calls, NULL), 0);
	assert_int_equal(perch_events_parse(&events, "apart/config=1/,page-faults", other, &err),
			 0);
	options.machine = other;
	kernel.refuse = refuse_exclude_kernel;
	assert_int_equal(perch_set_open(&set, &events, &one, &options, &err), 0);
	assert_true(perch_set_get_event(set, 0)->skipped &&
		    !perch_set_get_event(set, 0)->user_only);
	assert_false(perch_set_get_event(set, 0)->attr.exclude_kernel ||
		     perch_set_get_event(set, 0)->attr.exclude_hv);
	assert_int_equal(perch_set_get_event(set, 0)->reason->errnum, EACCES);
	assert_false(perch_set_get_event(set, 1)->skipped);
	assert_true(perch_set_get_event(set, 1)->user_only);
	perch_set_explain(set, other);
	assert_int_equal(perch_set_get_event(set, 0)->reason->errnum, EACCES);
	assert_int_equal(perch_set_get_event(set, 0)->reason->kind, PERCH_ERROR_PARANOID);
	assert_null(strstr(perch_set_get_event(set, 0)->reason->remedy, ":u"));
	assert_non_null(
		strstr(perch_set_get_event(set, 0)->reason->remedy, "perf_event_paranoid=1"));
	perch_set_close(set);
	options.may = PERCH_MAY_EXCLUDE_KERNEL;
	assert_int_equal(perch_set_open(&set, &events, &one, &options, &err), -EACCES);
	assert_null(set);
	assert_int_equal(err.kind, PERCH_ERROR_PARANOID);
	perch_machine_free(other);
	tree_remove(root);
}

/* Without the kernel their count would be 0. */
static void events_of_the_kernel_are_not_opened_without_it(void **state)
{
	const unsigned may = PERCH_MAY_EXCLUDE_KERNEL;
	const struct perch_options plain = { 0 };
	const struct perch_set_event *event;
	struct perch_set *set;
	struct perch_error err;

	(void)state;
	kernel.refuse = refuse_kernel;
	assert_int_equal(try_set(&set, "context-switches", 1, plain, may, &err), -EACCES);
	assert_int_equal(err.cause, PERCH_CAUSE_KERNEL_PROFILING);
	assert_non_null(strstr(err.message, "occurs only in the kernel"));
	assert_null(strstr(err.remedy, ":u"));
	set = open_set("cpu-migrations,{cgroup-switches,page-faults}", 1, plain,
		       may | PERCH_MAY_SKIP);
	event = perch_set_get_event(set, 0);
	assert_true(event->skipped && !event->user_only && !event->attr.exclude_kernel);
	assert_int_equal(event->reason->errnum, EACCES);
	assert_non_null(strstr(event->reason->message, "occurs only in the kernel"));
	assert_true(perch_set_get_event(set, 1)->skipped);
	assert_true(perch_set_get_event(set, 2)->user_only);
	perch_set_close(set);
}

static int refuse_all(const struct perch_attr *attr, int group_fd, int cpu)
{
	(void)group_fd, (void)cpu;
	return attr->config == PERCH_COUNT_SW_DUMMY ? ENODEV : ENOENT;
}

static void fails_with_the_first_reason_if_nothing_is_open(void **state)
{
	const struct perch_options plain = { 0 };
	struct perch_set *set;
	struct perch_error err;

	(void)state;
	kernel.refuse = refuse_all;
	assert_int_equal(try_set(&set, "cycles,instructions", 1, plain, PERCH_MAY_SKIP, &err),
			 -ENOENT);
	assert_null(set);
	assert_non_null(strstr(err.message, "cycles: "));
	set = open_set("cycles,instructions", 1, plain, PERCH_MAY_SKIP_ALL);
	assert_true(perch_set_get_event(set, 0)->skipped && perch_set_get_event(set, 1)->skipped);
	perch_set_close(set);
}

static int refuse_descriptors(const struct perch_attr *attr, int group_fd, int cpu)
{
	(void)attr, (void)group_fd;
	return cpu < 0 ? EINVAL : EBADF;
}

static void explains_cgroup_targets(void **state)
{
	struct perch_target cgroup = { .cpu = 5, .cgroup_fd = 77, .use_cgroup = 1 };
	const struct perch_targets list = { .nr = 1, .target = &cgroup };
	struct perch_options options = { .machine = machine };
	struct perch_set *set;
	struct perch_error err;

	(void)state;
	kernel.refuse = refuse_descriptors;
	assert_int_equal(perch_events_parse(&events, "page-faults", machine, &err), 0);
	assert_int_equal(perch_set_open(&set, &events, &list, &options, &err), -EBADF);
	assert_string_equal(err.field, "cgroup_fd");
	assert_non_null(strstr(err.message, "cgroup_fd is descriptor 77"));
	cgroup.cpu = -1;
	assert_int_equal(perch_set_open(&set, &events, &list, &options, &err), -EINVAL);
	assert_non_null(strstr(err.message, "cpu is -1, and cgroup_fd is descriptor 77"));
	assert_non_null(strstr(err.remedy, "one event per CPU"));
}

/* A negative descriptor is the result of a failed open(2), and not "no cgroup". No event is opened,
 * and PERCH_MAY_SKIP does not skip it. */
static void refuses_invalid_targets(void **state)
{
	struct perch_target invalid = { .tid = -1, .cpu = -1, .cgroup_fd = -1, .use_cgroup = 1 };
	const struct perch_targets list = { .nr = 1, .target = &invalid };
	struct perch_options options = { .machine = machine, .may = PERCH_MAY_SKIP };
	struct perch_set *set;
	struct perch_error err;

	(void)state;
	assert_int_equal(perch_events_parse(&events, "page-faults", machine, &err), 0);
	assert_int_equal(perch_set_open(&set, &events, &list, &options, &err), -EBADF);
	assert_non_null(strstr(err.message, "cgroup_fd is -1"));
	invalid.use_cgroup = 0;
	assert_int_equal(perch_set_open(&set, &events, &list, &options, &err), -EBADF);
	invalid.cgroup_fd = 5;
	assert_int_equal(perch_set_open(&set, &events, &list, &options, &err), -EINVAL);
	assert_non_null(strstr(err.message, "cgroup_fd needs use_cgroup"));
	invalid = (struct perch_target){ .tid = -5, .cpu = -1 };
	assert_int_equal(perch_set_open(&set, &events, &list, &options, &err), -EINVAL);
	assert_string_equal(err.message, "-5 is not a thread");
	invalid = (struct perch_target){ .tid = 0, .cpu = -2 };
	assert_int_equal(perch_set_open(&set, &events, &list, &options, &err), -EINVAL);
	assert_string_equal(err.message, "-2 is not a CPU");
	assert_int_equal(kernel.opened, 0);
}

static void measures_the_calling_thread_without_targets(void **state)
{
	struct perch_options options = { .machine = machine };
	struct perch_set *set;

	(void)state;
	assert_int_equal(perch_events_parse(&events, "page-faults", machine, NULL), 0);
	assert_int_equal(perch_set_open(&set, &events, NULL, &options, NULL), 0);
	assert_int_equal(perch_set_targets(set), 1);
	assert_int_equal(kernel.event[0].pid, 0);
	assert_int_equal(kernel.event[0].cpu, -1);
	perch_set_close(set);
}

static void refuses_invalid_sets(void **state)
{
	const struct perch_targets none = { 0 }, one = { .nr = 1, .target = target };
	struct perch_events nothing = { 0 };
	struct perch_set *set = (void *)1;
	struct perch_options options = { .machine = machine, .enabled = 1, .enable_on_exec = 1 };
	const struct perch_options unknown = { .machine = machine, .may = PERCH_MAY_MAX };
	struct perch_error err;

	(void)state;
	assert_int_equal(perch_set_open(&set, &nothing, &one, NULL, &err), -EINVAL);
	assert_null(set);
	assert_int_equal(perch_events_parse(&events, "{cycles,instructions},{branches,page-faults}",
					    machine, NULL),
			 0);
	assert_int_equal(perch_set_open(&set, &events, &one, &unknown, &err), -EINVAL);
	assert_string_equal(err.field, "may");
	assert_int_equal(perch_set_open(&set, &events, &none, NULL, &err), -EINVAL);
	assert_int_equal(perch_set_open(&set, &events, &one, &options, &err), -EINVAL);
	assert_int_equal(err.kind, PERCH_ERROR_CONFLICT);
	events.event[3].leader = 0;
	assert_int_equal(perch_set_open(&set, &events, &one, NULL, &err), -EINVAL);
	assert_int_equal(err.kind, PERCH_ERROR_USAGE);
	events.event[3].leader = -7;
	assert_int_equal(perch_set_open(&set, &events, &one, NULL, &err), -EINVAL);
	perch_set_close(NULL);
}

static void names_of_states(void **state)
{
	(void)state;
	assert_string_equal(perch_count_state_name(PERCH_COUNT_STATE_EXACT), "exact");
	assert_string_equal(perch_count_state_name(PERCH_COUNT_STATE_SCALED), "scaled");
	assert_string_equal(perch_count_state_name(PERCH_COUNT_STATE_NEVER_RAN), "never ran");
	assert_string_equal(perch_count_state_name(PERCH_COUNT_STATE_NOT_ENABLED), "not enabled");
	assert_string_equal(perch_count_state_name(PERCH_COUNT_STATE_ERROR), "error");
	assert_string_equal(perch_count_state_name(PERCH_COUNT_STATE_NOT_OPEN), "not open");
	assert_string_equal(perch_count_state_name((enum perch_count_state)77), "unknown");
}

static void sums(void **state)
{
	const struct perch_count counts[] = {
		{ 10, 20, 100, 50, 1, 2, PERCH_COUNT_STATE_SCALED },
		{ 5, 5, 100, 100, 2, 0, PERCH_COUNT_STATE_EXACT },
		{ 0, 0, 0, 0, 3, 0, PERCH_COUNT_STATE_NOT_ENABLED },
		{ 9, 9, 9, 9, 9, 9, PERCH_COUNT_STATE_NOT_OPEN },
		{ UINT64_MAX, UINT64_MAX, UINT64_MAX, 0, 0, UINT64_MAX,
		  PERCH_COUNT_STATE_NEVER_RAN },
	};
	struct perch_count sum;

	(void)state;
	perch_count_sum(&sum, counts, 4);
	assert_int_equal(sum.value, 15);
	assert_int_equal(sum.scaled, 25);
	assert_int_equal(sum.enabled_ns, 200);
	assert_int_equal(sum.running_ns, 150);
	assert_int_equal(sum.lost, 2);
	assert_int_equal(sum.state, PERCH_COUNT_STATE_SCALED);
	perch_count_sum(&sum, counts + 1, 2);
	assert_int_equal(sum.state, PERCH_COUNT_STATE_EXACT);
	perch_count_sum(&sum, counts, 5);
	assert_true(sum.value == UINT64_MAX && sum.enabled_ns == UINT64_MAX);
	assert_int_equal(sum.state, PERCH_COUNT_STATE_NEVER_RAN);
	perch_count_sum(&sum, counts + 3, 1);
	assert_int_equal(sum.state, PERCH_COUNT_STATE_NOT_OPEN);
	assert_int_equal(sum.value, 0);
	perch_count_sum(&sum, NULL, 0);
	assert_int_equal(sum.state, PERCH_COUNT_STATE_NOT_OPEN);
}

static void differences(void **state)
{
	static const struct {
		struct perch_count now, earlier, delta;
	} cases[] = {
		/* value, scaled, enabled, running, id, lost, state */
		{ { 100, 150, 30, 20, 1, 5, PERCH_COUNT_STATE_SCALED },
		  { 40, 40, 10, 10, 1, 2, PERCH_COUNT_STATE_EXACT },
		  { 60, 120, 20, 10, 1, 3, PERCH_COUNT_STATE_SCALED } },
		{ { 50, 50, 30, 30, 0, 0, PERCH_COUNT_STATE_EXACT },
		  { 50, 50, 30, 30, 0, 0, PERCH_COUNT_STATE_EXACT },
		  { 0, 0, 0, 0, 0, 0, PERCH_COUNT_STATE_NOT_ENABLED } },
		{ { 50, 75, 30, 20, 0, 0, PERCH_COUNT_STATE_SCALED },
		  { 50, 50, 20, 20, 0, 0, PERCH_COUNT_STATE_EXACT },
		  { 0, 0, 10, 0, 0, 0, PERCH_COUNT_STATE_NEVER_RAN } },
		/* a reset in between */
		{ { 7, 7, 10, 10, 0, 0, PERCH_COUNT_STATE_EXACT },
		  { 50, 50, 30, 30, 0, 0, PERCH_COUNT_STATE_EXACT },
		  { 7, 7, 10, 10, 0, 0, PERCH_COUNT_STATE_EXACT } },
		/* a value that decreased */
		{ { 7, 7, 40, 40, 0, 0, PERCH_COUNT_STATE_EXACT },
		  { 50, 50, 30, 30, 0, 9, PERCH_COUNT_STATE_EXACT },
		  { 0, 0, 10, 10, 0, 0, PERCH_COUNT_STATE_EXACT } },
		/* the event lost its counter, or got it again */
		{ { 0, 0, 0, 0, 0, 0, PERCH_COUNT_STATE_ERROR },
		  { 50, 50, 30, 30, 0, 0, PERCH_COUNT_STATE_EXACT },
		  { 0, 0, 0, 0, 0, 0, PERCH_COUNT_STATE_ERROR } },
		{ { 9, 9, 10, 10, 7, 3, PERCH_COUNT_STATE_EXACT },
		  { 0, 0, 0, 0, 7, 0, PERCH_COUNT_STATE_ERROR },
		  { 0, 0, 0, 0, 7, 0, PERCH_COUNT_STATE_ERROR } },
		/* the event was not open, which is not a count of 0 */
		{ { 9, 9, 10, 10, 0, 0, PERCH_COUNT_STATE_EXACT },
		  { 0, 0, 0, 0, 0, 0, PERCH_COUNT_STATE_NOT_OPEN },
		  { 0, 0, 0, 0, 0, 0, PERCH_COUNT_STATE_NOT_OPEN } },
		/* a running time that decreased, which no kernel returns */
		{ { 9, 9, 20, 5, 0, 0, PERCH_COUNT_STATE_SCALED },
		  { 3, 3, 10, 10, 0, 0, PERCH_COUNT_STATE_EXACT },
		  { 6, 0, 10, 0, 0, 0, PERCH_COUNT_STATE_NEVER_RAN } },
	};

	const size_t size = offsetof(struct perch_count, state) + sizeof(enum perch_count_state);

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct perch_count delta, now = cases[i].now;

		perch_count_delta(&delta, &now, &cases[i].earlier);
		assert_memory_equal(&delta, &cases[i].delta, size);
		perch_count_delta(&now, &now, &cases[i].earlier); /* in place */
		assert_memory_equal(&now, &cases[i].delta, size);
	}
	perch_count_delta(&(struct perch_count){ 0 }, &cases[0].now, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(one_read_for_a_group_and_target),
		CASE(lost_and_missing_counters),
		CASE(groups_grow_and_shrink),
		CASE(reset_restarts_times),
		CASE(reports_missing_features),
		CASE(drops_the_kernel_if_not_permitted),
		CASE(names_the_cgroup_of_a_refusal),
		CASE(reports_what_is_refused_without_the_kernel),
		CASE(pmus_that_cannot_exclude),
		CASE(events_of_the_kernel_are_not_opened_without_it),
		CASE(fails_with_the_first_reason_if_nothing_is_open),
		CASE(explains_cgroup_targets),
		CASE(refuses_invalid_sets),
		CASE(refuses_invalid_targets),
		CASE(measures_the_calling_thread_without_targets),
		CASE(names_of_states),
		CASE(sums),
		CASE(differences),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
