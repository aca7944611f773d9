/* SPDX-License-Identifier: MIT */
/* Event strings: breakpoints and names of libpfm4. */
#define _GNU_SOURCE
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include <perch/event.h>

#include "event/internal.h"
#include "event_fixture.h"

static struct perch_machine *machine;

static int setup(void **state)
{
	(void)state;
	return perch_machine_new(&machine, "/proc/none", NULL, NULL);
}

static int teardown(void **state)
{
	(void)state;
	perch_machine_free(machine);
	return 0;
}

static struct perch_event first_of(struct perch_events *events, const char *text)
{
	struct perch_error err;

	if (perch_events_parse(events, text, machine, &err))
		fail_msg("%s: %s (column %d)", text, err.message, err.column);
	return events->event[0];
}

static const struct bad_event bad_events[] = {
	{ "mem:", -EINVAL, 4, "expected an address", NULL },
	{ "mem:here", -EINVAL, 4, "found 'here'", NULL },
	{ "mem:0x", -EINVAL, 4, "expected an address", NULL },
	{ "mem:0x10g", -EINVAL, 8, "hexadecimal", NULL },
	{ "mem:18446744073709551616", -ERANGE, 4, "64 bits", NULL },
	{ "mem:0x1000/4:rwx", -EINVAL, 13, "either access x", "two events" },
	{ "mem:0x1000:ww", -EINVAL, 12, "twice", NULL },
	{ "mem:0x1000:rk", -EINVAL, 12, "'k'", "mem:0x1000:rw:u" },
	{ "mem:0x1000/0", -EINVAL, 11, NULL, NULL },
	{ "mem:0x1000/9", -EINVAL, 11, NULL, NULL },
	{ "mem:0x1000/1:x", -EINVAL, 11, "execute breakpoint", "omit the length" },
#if defined(__x86_64__)
	{ "mem:0x1000:r", -EINVAL, 11, "x86", "rw" },
	{ "mem:0x1000/3", -EINVAL, 11, "1, 2, 4 or 8", NULL },
	{ "mem:0x1001", -EINVAL, 4, "multiple of 4", "use mem:0x1000/4" },
	{ "mem:0x1001/8", -EINVAL, 4, "multiple of 8", "use mem:0x1000/8" },
	{ "mem:0x100f/8:w", -EINVAL, 4, "multiple of 8", "use mem:0x1008/8:w" },
#endif
	{ "pfm:", -EINVAL, 4, "expected an event of libpfm4", NULL },
};

static void reports_wrong_text(void **state)
{
	(void)state;
	for (size_t i = 0; i < PERCH__NR(bad_events); i++)
		check_bad_event(&bad_events[i], machine);
}

struct good_breakpoint {
	const char *text, *name;
	uint64_t address, length;
	unsigned access;
	bool user;
};

#if defined(__aarch64__) || defined(__arm__)
#define CODE_LENGTH 4
#else
#define CODE_LENGTH sizeof(long)
#endif

static const struct good_breakpoint good_breakpoints[] = {
	{ "mem:0x1000", "mem:0x1000", 0x1000, 4, PERCH_BREAKPOINT_RW, false },
	{ "mem:0", "mem:0", 0, 4, PERCH_BREAKPOINT_RW, false },
	{ "mem:4096:u", "mem:4096:u", 4096, 4, PERCH_BREAKPOINT_RW, true },
	{ "mem:0X1000:w", "mem:0X1000:w", 0x1000, 4, PERCH_BREAKPOINT_W, false },
	{ "mem:0x1000:wr:u", "mem:0x1000:wr:u", 0x1000, 4, PERCH_BREAKPOINT_RW, true },
	{ "mem:0x1001/1:w", "mem:0x1001/1:w", 0x1001, 1, PERCH_BREAKPOINT_W, false },
	{ "mem:0x1002/2", "mem:0x1002/2", 0x1002, 2, PERCH_BREAKPOINT_RW, false },
	{ "mem:0xfffffffffffffff8/8:rw", "mem:0xfffffffffffffff8/8:rw", 0xfffffffffffffff8, 8,
	  PERCH_BREAKPOINT_RW, false },
	{ "mem:0x1003:x", "mem:0x1003:x", 0x1003, CODE_LENGTH, PERCH_BREAKPOINT_X, false },
	{ "mem:0x1000:x:u", "mem:0x1000:x:u", 0x1000, CODE_LENGTH, PERCH_BREAKPOINT_X, true },
	{ "mem:0x1000/name=x/", "x", 0x1000, 4, PERCH_BREAKPOINT_RW, false },
	{ "mem:0x1000/8/name=y/", "y", 0x1000, 8, PERCH_BREAKPOINT_RW, false },
	{ "mem:0x1000/8:w/name=z/u", "z", 0x1000, 8, PERCH_BREAKPOINT_W, true },
};

static void parses_breakpoints(void **state)
{
	(void)state;
	for (size_t i = 0; i < PERCH__NR(good_breakpoints); i++) {
		const struct good_breakpoint *good = &good_breakpoints[i];
		struct perch_events events;
		struct perch_event event = first_of(&events, good->text);

		print_message("%s\n", good->text);
		assert_string_equal(event.name, good->name);
		assert_int_equal(event.attr.type, PERCH_TYPE_BREAKPOINT);
		assert_int_equal(event.attr.bp_addr, good->address);
		assert_int_equal(event.attr.bp_len, good->length);
		assert_int_equal(event.attr.bp_type, good->access);
		assert_int_equal(event.attr.exclude_kernel, good->user);
		assert_int_equal(event.attr.exclude_user, 0);
		perch_events_clear(&events);
	}
}

static bool have_pfm(void)
{
	struct perch_events events;
	struct perch_error err;

	if (access("/sys/devices", F_OK)) {
		print_message("skipped: libpfm4 finds no PMU without /sys\n");
		return false;
	}
	if (!perch_events_parse(&events, "pfm:perf::PERF_COUNT_SW_PAGE_FAULTS", machine, &err)) {
		perch_events_clear(&events);
		return true;
	}
	print_message("skipped: %s\n", err.message);
	assert_int_equal(err.kind, PERCH_ERROR_NOT_SUPPORTED);
	assert_int_equal(err.errnum, EOPNOTSUPP);
	assert_non_null(strstr(err.remedy, "libpfm4"));
	return false;
}

static void parses_names_of_libpfm(void **state)
{
	struct perch_events events;

	(void)state;
	if (!have_pfm())
		skip();
	first_of(&events, "{pfm:perf::PAGE-FAULTS:u=1,pfm:perf::MINOR-FAULTS},"
			  "pfm:perf::PERF_COUNT_HW_CPU_CYCLES:k:precise=2");
	assert_int_equal(events.nr, 3);
	assert_string_equal(events.event[0].name, "pfm:perf::PAGE-FAULTS:u=1");
	assert_int_equal(events.event[0].attr.type, PERCH_TYPE_SOFTWARE);
	assert_int_equal(events.event[0].attr.config, PERCH_COUNT_SW_PAGE_FAULTS);
	assert_int_equal(events.event[0].attr.exclude_kernel, 1);
	assert_int_equal(events.event[0].attr.exclude_user, 0);
	assert_true(events.event[0].modified);
	assert_int_equal(events.event[0].members, 2);
	assert_int_equal(events.event[1].attr.config, PERCH_COUNT_SW_PAGE_FAULTS_MIN);
	assert_int_equal(events.event[1].attr.flags, 0);
	assert_int_equal(events.event[1].attr.size, sizeof(struct perch_attr));
	assert_false(events.event[1].modified);
	assert_int_equal(events.event[2].attr.type, PERCH_TYPE_HARDWARE);
	assert_int_equal(events.event[2].attr.exclude_user, 1);
	assert_int_equal(events.event[2].attr.precise_ip, 2);
	perch_events_clear(&events);
	/* terms after a slash, as for any event */
	first_of(&events, "pfm:perf::PAGE-FAULTS:u/period=5,name=f/,cs");
	assert_int_equal(events.nr, 2);
	assert_int_equal(events.event[0].attr.sample_period, 5);
	assert_int_equal(events.event[0].attr.exclude_kernel, 1);
	assert_string_equal(events.event[0].name, "f");
	perch_events_clear(&events);
}

static void reports_wrong_names_of_libpfm(void **state)
{
	struct perch_events events;
	struct perch_error err;

	(void)state;
	if (!have_pfm())
		skip();
	assert_int_equal(perch_events_parse(&events, "pfm:perf::PAGE-FAULTZ", machine, &err),
			 -ENOENT);
	assert_int_equal(err.column, 4);
	assert_non_null(strstr(err.message, "perf"));
	assert_non_null(strstr(err.remedy, "PAGE-FAULTS"));
	assert_int_equal(perch_events_parse(&events, "pfm:zzzzzzzzzz", machine, &err), -ENOENT);
	assert_non_null(strstr(err.message, "(perf"));
	assert_non_null(strstr(err.remedy, "libpfm4's sources"));
	assert_int_equal(perch_events_parse(&events, "cycles,pfm:perf::PAGE-FAULTS:zz", machine,
					    &err),
			 -EINVAL);
	assert_int_equal(err.column, 29);
	assert_int_equal(perch_events_parse(&events, "pfm:perf::PAGE-FAULTS:cpu=0", machine, &err),
			 -EINVAL);
	assert_int_equal(err.kind, PERCH_ERROR_CONFLICT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parses_breakpoints),
		cmocka_unit_test(reports_wrong_text),
		cmocka_unit_test(parses_names_of_libpfm),
		cmocka_unit_test(reports_wrong_names_of_libpfm),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
