/* SPDX-License-Identifier: MIT */
/* `perch list` on a simulated machine with two kinds of cores and another PMU. */
#define _GNU_SOURCE
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "cli/list/list.h"
#include "tree.h"

#define DEVICES "/sys/bus/event_source/devices/"

static const struct tree_file machine[] = {
	{ "/sys/devices/system/cpu/online", "0-3\n" },
	{ DEVICES "cpu_core/type", "4\n" },
	{ DEVICES "cpu_core/cpus", "0-1\n" },
	{ DEVICES "cpu_core/format/event", "config:0-7\n" },
	{ DEVICES "cpu_core/format/edge", "config:18\n" },
	{ DEVICES "cpu_core/events/mem-loads", "event=0xcd\n" },
	{ DEVICES "cpu_atom/type", "10\n" },
	{ DEVICES "cpu_atom/cpus", "2-3\n" },
	{ DEVICES "cpu_atom/format/event", "config:0-7\n" },
	{ DEVICES "power/type", "9\n" },
	{ DEVICES "breakpoint/type", "5\n" },
	{ DEVICES "power/cpumask", "0\n" },
	{ DEVICES "power/format/event", "config:0-7\n" },
	{ DEVICES "power/events/energy-pkg", "event=0x02\n" },
	{ DEVICES "power/events/energy-pkg.scale", "0.5\n" },
	{ DEVICES "power/events/energy-pkg.unit", "Joules\n" },
};

struct fixture {
	char root[PATH_MAX];
	struct perch_syscalls syscalls;
	uint64_t hits; /* the count of a breakpoint that should have fired */
	struct list list;
	char *words[4];
};

/* cpu_atom has no cache events; all other events can be opened. */
static int fake_open(void *context, const struct perch_attr *attr, pid_t pid, int cpu, int group,
		     unsigned long flags)
{
	(void)context, (void)pid, (void)cpu, (void)group, (void)flags;
	if (attr->type == PERCH_TYPE_HW_CACHE && attr->config >> PERCH_PMU_TYPE_SHIFT == 10)
		return errno = ENOENT, -1;
	return 1000;
}

static ssize_t fake_read(void *context, int fd, void *buffer, size_t size)
{
	const uint64_t values[3] = { ((const struct fixture *)context)->hits, 9, 9 };

	assert_int_equal(fd, 1000);
	assert_int_equal(size, sizeof(values));
	memcpy(buffer, values, sizeof(values));
	return sizeof(values);
}

static int fake_close(void *context, int fd)
{
	(void)context;
	assert_int_equal(fd, 1000);
	return 0;
}

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	tree_make(fixture->root, machine, sizeof(machine) / sizeof(*machine));
	fixture->syscalls = perch_kernel_syscalls;
	fixture->syscalls.perf_event_open = fake_open;
	fixture->syscalls.context = fixture;
	fixture->syscalls.read = fake_read;
	fixture->syscalls.close = fake_close;
	assert_int_equal(perch_machine_new(&fixture->list.machine, fixture->root,
					   &fixture->syscalls, NULL),
			 0);
	fixture->list.filter.words = fixture->words;
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	list_clear(&fixture->list);
	perch_machine_free(fixture->list.machine);
	tree_remove(fixture->root);
	free(fixture);
	return 0;
}

static const struct list_event *find(const struct list *list, const char *name)
{
	for (size_t i = 0; i < list->nr; i++)
		if (!strcmp(list->event[i].name, name))
			return &list->event[i];
	return NULL;
}

static void lists_generic_events_of_each_core_pmu(void **state)
{
	struct list *list = &((struct fixture *)*state)->list;

	list->filter.kinds = 1u << LIST_HARDWARE | 1u << LIST_SOFTWARE | 1u << LIST_CACHE;
	assert_int_equal(list_gather(list, NULL), 0);
	assert_int_equal(find(list, "cycles")->state, LIST_WORKS);
	assert_int_equal(find(list, "cpu_core/cycles/")->state, LIST_WORKS);
	assert_string_equal(find(list, "cpu_atom/cycles/")->pmu->name, "cpu_atom");
	assert_int_equal(find(list, "cpu_core/LLC-loads/")->state, LIST_WORKS);
	assert_int_equal(find(list, "cpu_atom/LLC-loads/")->state, LIST_NOT_SUPPORTED);
	assert_true(find(list, "cpu_atom/LLC-loads/")->reason.message[0]);
	assert_null(find(list, "power/cycles/"));
	assert_null(find(list, "cpu_core/page-faults/"));
	assert_non_null(find(list, "page-faults"));
}

/* The name of an event of one PMU is one event, on that PMU. */
static void listed_names_can_be_parsed(void **state)
{
	struct list *list = &((struct fixture *)*state)->list;

	list->filter.kinds = 1u << LIST_HARDWARE | 1u << LIST_SOFTWARE | 1u << LIST_CACHE |
			     1u << LIST_PMU;
	assert_int_equal(list_gather(list, NULL), 0);
	assert_true(list->nr > 100);
	for (size_t i = 0; i < list->nr; i++) {
		const struct list_event *event = &list->event[i];
		struct perch_events events = { 0 };
		struct perch_error err = { 0 };

		if (perch_events_parse(&events, event->name, list->machine, &err) < 0)
			fail_msg("%s: %s", event->name, err.message);
		if (event->pmu) {
			assert_int_equal(events.nr, 1);
			assert_true(events.event[0].attr.type == event->pmu->type ||
				    events.event[0].attr.config >> PERCH_PMU_TYPE_SHIFT ==
					    event->pmu->type);
		}
		perch_events_clear(&events);
	}
}

static void marks_breakpoints_that_never_fire(void **state)
{
	static const char name[] = "mem:<addr>[/len][:access]";
	struct fixture *fixture = *state;
	struct list *list = &fixture->list;

	list->filter.kinds = 1u << LIST_BREAKPOINT;
	assert_int_equal(list_gather(list, NULL), 0);
	assert_int_equal(find(list, name)->state, LIST_NOT_SUPPORTED);
	assert_int_equal(find(list, name)->reason.cause, PERCH_CAUSE_BREAKPOINT_NEVER_FIRES);
	list_clear(list);
	/* another machine, because this one keeps the answer */
	perch_machine_free(list->machine);
	assert_int_equal(perch_machine_new(&list->machine, fixture->root, &fixture->syscalls, NULL),
			 0);
	fixture->hits = 1;
	assert_int_equal(list_gather(list, NULL), 0);
	assert_int_equal(find(list, name)->state, LIST_NOT_TRIED);
}

static void filters_by_kind_and_word(void **state)
{
	struct list *list = &((struct fixture *)*state)->list;
	char word[] = "energy";

	list->filter.words[list->filter.nr_words++] = word;
	list->filter.kinds = 1u << LIST_PMU | 1u << LIST_HARDWARE;
	assert_int_equal(list_gather(list, NULL), 0);
	assert_string_equal(find(list, "power/energy-pkg/")->unit, "Joules");
	assert_string_equal(find(list, "power/energy-pkg/")->scale, "0.5");
	assert_string_equal(find(list, "power/energy-pkg/")->terms, "event=0x02");
	assert_null(find(list, "cpu_core/mem-loads/"));
	assert_null(find(list, "cycles"));
	list_clear(list);
	/* a kind without a word, then with a word */
	list->filter.nr_words = 0;
	list->filter.kinds = 1u << LIST_RAW;
	assert_int_equal(list_gather(list, NULL), 0);
	assert_true(find(list, "cpu_core/edge,event=0..255/modifier")->form);
	assert_true(find(list, "rNNN")->form);
	assert_null(find(list, "power/energy-pkg/"));
	list_clear(list);
	list->filter.nr_words = 1;
	assert_int_equal(list_gather(list, NULL), 0);
	assert_int_equal(list->nr, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(lists_generic_events_of_each_core_pmu),
		TEST(listed_names_can_be_parsed),
		TEST(marks_breakpoints_that_never_fire),
		TEST(filters_by_kind_and_word),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
