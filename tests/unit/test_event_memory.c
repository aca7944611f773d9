/* SPDX-License-Identifier: MIT */
/* Each allocation of the event parser fails once: there is an error, and the list is unchanged. */
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

#include <perch/event.h>

#include "elf_fixture.h"
#include "failing_allocations.h"
#include "tree.h"

#define PMUS	"/sys/bus/event_source/devices/"
#define TRACING "/sys/kernel/tracing/events/"

static const struct tree_file files[] = {
	{ PMUS "cpu_core/type", "4\n" },
	{ PMUS "cpu_core/cpus", "0-3\n" },
	{ PMUS "cpu_core/format/event", "config:0-7\n" },
	{ PMUS "cpu_core/events/mem-loads", "event=0xcd\n" },
	{ PMUS "cpu_atom/type", "10\n" },
	{ PMUS "cpu_atom/cpus", "4-7\n" },
	{ PMUS "kprobe/type", "6\n" },
	{ PMUS "uprobe/type", "8\n" },
	{ "/opt/program", "" },
	{ PMUS "power/type", "21\n" },
	{ PMUS "power/events/energy", "event=0x02\n" },
	{ PMUS "power/format/event", "config:0-7\n" },
	{ PMUS "power/events/energy.scale", "0.5\n" },
	{ "/proc/kallsyms", "ffffffff81000010 T vfs_read\n" },
	{ TRACING "sched/sched_switch/id", "314\n" },
	{ TRACING "sched/sched_wakeup/id", "317\n" },
	{ TRACING "irq/irq_entry/id", "319\n" },
};

static const struct elf_symbol symbols[] = {
	{ "main", ELF_CODE_ADDRESS + 0x10, STT_FUNC, STB_GLOBAL, 0 },
	{ NULL, 0, 0, 0, 0 },
};
static const struct elf_note notes[] = {
	{ "shop", "sold", ELF_CODE_ADDRESS + 0x21, 0, 0 },
	{ "shop", "sold", ELF_CODE_ADDRESS + 0x31, 0, 0 },
	{ NULL, NULL, 0, 0, 0 },
};
static struct elf_fixture program = {
	.wide = true, .symbols = symbols, .dynamic = symbols, .notes = notes
};

static struct perch_machine *machine;
static char root[PATH_MAX];

/* Number of allocations that succeed before one fails. Negative: none fails. */
static long left = -1;

static bool fails(void)
{
	return left >= 0 && left-- == 0;
}

char *__real_strndup(const char *text, size_t size);
char *__wrap_strndup(const char *text, size_t size);

char *__wrap_strndup(const char *text, size_t size)
{
	return fails() ? NULL : __real_strndup(text, size);
}

static int setup(void **state)
{
	const struct perch_pmu *pmus;
	char path[PATH_MAX + 64];
	size_t nr;

	(void)state;
	tree_make(root, files, sizeof(files) / sizeof(*files));
	elf_make(&program);
	snprintf(path, sizeof(path), "%s/opt/program", root);
	elf_write(&program, path, program.size);
	/* the machine caches its PMUs before any allocation fails */
	return perch_machine_new(&machine, root, NULL, NULL) ||
	       perch_machine_pmus(machine, &pmus, &nr, NULL);
}

static int teardown(void **state)
{
	(void)state;
	perch_machine_free(machine);
	tree_remove(root);
	return 0;
}

/* Each text is parsed again and again; the first, second, ... allocation fails. */
static const char *const texts[] = {
	"cs,faults,dummy:u,cs,cs",
	"cycles:u,{cs,instructions,LLC-loads}:D,r1",
	"cpu_*/event=1,name=x/,mem-loads,energy",
	"sched:*/filter='prev_pid == 1'/u,*:*/filter=a,filter=b/",
	"uprobe:/opt/program:main,cs,{usdt:/opt/program:shop:sold,faults}",
	"kprobe:vfs_read,{kprobe:vfs_read+4,kprobe:vfs_read/filter=x/}",
};

static void parse_with_failing_allocation(const char *text, long which, bool *failed)
{
	struct perch_events events;
	struct perch_error err = { 0 };
	int rc;

	assert_int_equal(perch_events_parse(&events, "{cs:u,faults},sched:sched_switch/filter=x/",
					    machine, NULL),
			 0);
	left = which;
	rc = perch_events_add(&events, text, machine, &err);
	*failed = left < 0;
	left = -1;
	if (rc) {
		if (rc != -ENOMEM || err.kind != PERCH_ERROR_NO_MEMORY)
			fail_msg("%s, allocation %ld: %d, %s", text, which, rc, err.message);
		assert_int_equal(events.nr, 3);
	} else {
		assert_true(events.nr > 3);
	}
	assert_int_equal(events.event[0].members, 2);
	assert_string_equal(events.event[1].name, "faults");
	assert_string_equal(events.event[2].filter, "x");
	perch_events_clear(&events);
}

static void failed_parse_leaves_list_unchanged(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		bool failed = true;
		long which = 0;

		for (; failed; which++)
			parse_with_failing_allocation(texts[i], which, &failed);
		assert_true(which > 1);
	}
}

static void failed_filter_changes_no_event(void **state)
{
	struct perch_events events;

	(void)state;
	assert_int_equal(perch_events_parse(&events, "sched:*,irq:irq_entry", machine, NULL), 0);
	for (long which = 0; which < 4; which++) {
		left = which;
		assert_int_equal(perch_events_set_filter(&events, 0, "y", machine, NULL), -ENOMEM);
		left = -1;
		for (size_t i = 0; i < events.nr; i++)
			assert_null(events.event[i].filter);
	}
	assert_int_equal(perch_events_set_filter(&events, 0, "y", machine, NULL), 0);
	perch_events_clear(&events);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(failed_parse_leaves_list_unchanged),
		cmocka_unit_test(failed_filter_changes_no_event),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
