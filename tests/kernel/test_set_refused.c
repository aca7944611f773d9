/* SPDX-License-Identifier: MIT */
/* Refusals in sets on the running kernel: weak groups, skipped events, user space only. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "needs.h"
#include "set_fixture.h"
#include "unprivileged.h"

/* Runs the counted code once on another set, so its pages have no faults later. */
static int warm_up(void **state)
{
	struct perch_set *set = open_set("{page-faults:u,dummy:u}", NULL, NULL);
	char *pages = fresh_pages();
	int rc;

	(void)state;
	rc = perch_set_enable(set, NULL);
	touch(pages, PAGES);
	rc |= perch_set_disable(set, NULL);
	drop(pages);
	perch_set_close(set);
	return rc;
}

/* An event joins the group by its descriptor: the members are read as before. */
static void foreign_members_in_a_group(void **state)
{
	struct perch_set *set = open_set("{page-faults:u,dummy:u}", NULL, NULL);
	struct perch_attr attr = { .type = PERCH_TYPE_SOFTWARE,
				   .size = sizeof(attr),
				   .config = PERCH_COUNT_SW_CPU_CLOCK,
				   .exclude_kernel = 1 };
	int fd = perch_open(&attr, NULL, perch_set_fd(set, 0, 0), 0, NULL, NULL);
	struct perch_count counts[2];
	char *pages = fresh_pages();

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(perch_set_enable(set, NULL), 0);
	touch(pages, PAGES);
	assert_int_equal(perch_set_disable(set, NULL), 0);
	read_set(set, counts);
	assert_int_equal(counts[0].value, PAGES);
	assert_int_equal(counts[1].value, 0);
	read_set(set, counts);
	close(fd);
	read_set(set, counts);
	assert_int_equal(counts[0].value, PAGES);
	drop(pages);
	perch_set_close(set);
}

/* Reads until the clock of the event has advanced: in an emulated machine it has steps of some
 * milliseconds. */
static void read_enabled(struct perch_set *set, struct perch_count *counts, size_t event)
{
	const time_t end = time(NULL) + 10;

	do
		read_set(set, counts);
	while (counts[event].state == PERCH_COUNT_STATE_NOT_ENABLED && time(NULL) < end);
}

static void skips_unsupported_events(void **state)
{
	struct perch_events events = parse("{page-faults:u,dummy:u,task-clock:u},page-faults:u");
	struct perch_target target = { .cpu = -1 };
	struct perch_targets self = { .nr = 1, .target = &target };
	const struct perch_set_event *event;
	struct perch_count counts[4];
	struct perch_set *set;
	struct perch_error err;

	(void)state;
	events.event[0].attr.type = events.event[3].attr.type = NO_SUCH_TYPE;
	assert_int_equal(perch_set_open(&set, &events, &self, NULL, &err), -ENOENT);
	assert_non_null(strstr(err.message, "page-faults:u"));
	set = open_events(&events, NULL, NULL, PERCH_MAY_SKIP);
	event = perch_set_get_event(set, 0);
	assert_true(event->skipped && event->reason->errnum == ENOENT && *event->reason->message);
	assert_int_equal(event->attr.type, NO_SUCH_TYPE);
	event = perch_set_get_event(set, 1); /* the leader now */
	assert_int_equal(event->event.leader, 1);
	assert_int_equal(event->event.members, 2);
	assert_true(event->attr.disabled);
	assert_int_equal(perch_set_get_event(set, 2)->event.leader, 1);
	perch_set_explain(set, NULL);
	assert_true(perch_set_get_event(set, 3)->skipped);
	assert_int_equal(perch_set_get_event(set, 3)->reason->errnum, ENOENT);
	assert_int_equal(perch_set_enable(set, NULL), 0);
	read_enabled(set, counts, 1);
	assert_int_equal(counts[0].state, PERCH_COUNT_STATE_NOT_OPEN);
	assert_int_equal(counts[1].state, PERCH_COUNT_STATE_EXACT);
	assert_true(counts[2].value > 0);
	assert_null(perch_set_get_event(set, 4));
	assert_null(perch_set_target(set, 1));
	assert_int_equal(perch_set_fd(set, 4, 0), -1);
	assert_int_equal(perch_set_read(set, counts, 3, &err), -EINVAL);
	perch_set_close(set);
	perch_events_clear(&events);
}

/* The kernel refuses a member without inherit for a leader with inherit, with the errno of a group
 * that is too large. */
static void weak_groups_break_up(void **state)
{
	struct perch_options options = { .enabled = 1, .inherit = 1 };
	struct perch_events events = parse("{page-faults:u,dummy:u,task-clock:u}");
	struct perch_target target = { .cpu = -1 };
	struct perch_targets self = { .nr = 1, .target = &target };
	struct perch_count counts[3];
	struct perch_set *set;
	struct perch_error err;

	(void)state;
	events.event[1].terms.inherit = PERCH_TRISTATE_NO;
	assert_int_equal(perch_set_open(&set, &events, &self, &options, &err), -EINVAL);
	assert_non_null(strstr(err.message, "dummy:u"));
	events.event[0].weak = true;
	set = open_events(&events, NULL, &options, 0);
	for (int i = 0; i < 3; i++) {
		const struct perch_set_event *event = perch_set_get_event(set, i);

		assert_true(event->broken && !event->skipped);
		assert_int_equal(event->event.leader, i);
		assert_int_equal(event->event.members, 1);
		assert_int_equal(event->attr.inherit, i != 1);
	}
	read_enabled(set, counts, 1);
	assert_true(counts[2].value > 0);
	assert_int_equal(counts[1].state, PERCH_COUNT_STATE_EXACT);
	perch_set_close(set);
	perch_events_clear(&events);
}

static int open_descriptors(void)
{
	int nr = 0;

	for (int fd = 0; fd < 1024; fd++)
		nr += fcntl(fd, F_GETFD) >= 0;
	return nr;
}

/* Breaking up the group frees no debug register: the open fails, and nothing stays open. */
static void weak_groups_of_too_many_breakpoints(void **state)
{
	static uint64_t watched[20];
	struct perch_events events =
		parse("{dummy:u,dummy:u,dummy:u,dummy:u,dummy:u,dummy:u,dummy:u,dummy:u,dummy:u,"
		      "dummy:u,dummy:u,dummy:u,dummy:u,dummy:u,dummy:u,dummy:u,dummy:u,dummy:u}");
	struct perch_target target = { .cpu = -1 };
	struct perch_targets self = { .nr = 1, .target = &target };
	int before = open_descriptors(), rc;
	struct perch_set *set;
	struct perch_error err;

	(void)state;
	for (size_t i = 0; i < events.nr; i++) {
		struct perch_event *event = &events.event[i];

		event->attr.type = PERCH_TYPE_BREAKPOINT;
		event->attr.config = 0;
		event->attr.bp_type = PERCH_BREAKPOINT_W;
		event->attr.bp_addr = (uintptr_t)&watched[i];
		event->attr.bp_len = 8;
		event->weak = true;
	}
	rc = perch_set_open(&set, &events, &self, NULL, &err);
	if (rc != -ENOSPC) {
		print_message("skipped: %s\n",
			      rc ? err.message : "this machine has more debug registers");
		perch_set_close(set);
		perch_events_clear(&events);
		skip();
	}
	assert_int_equal(err.kind, PERCH_ERROR_BREAKPOINTS);
	assert_int_equal(open_descriptors(), before);
	if (!breakpoints_may_fire()) {
		perch_events_clear(&events);
		skip();
	}
	events.event[1].leader = 1;
	events.nr = 1;
	set = open_events(&events, NULL, NULL, 0);
	assert_int_equal(perch_set_enable(set, NULL), 0);
	for (int i = 0; i < 5; i++)
		((volatile uint64_t *)watched)[0] = i;
	assert_int_equal(perch_set_disable(set, NULL), 0);
	struct perch_count count;
	read_set(set, &count);
	assert_int_equal(count.value, 5);
	perch_set_close(set);
	events.nr = 18;
	perch_events_clear(&events);
}

/* A failure is explained with facts of the machine even if the caller passes none. */
static void refuses_missing_cpus(void **state)
{
	struct perch_events events = parse("page-faults:u");
	struct perch_target target = { .tid = -1, .cpu = 4000 };
	const struct perch_targets there = { .nr = 1, .target = &target };
	struct perch_set *set;
	struct perch_error err;
	int rc;

	(void)state;
	rc = perch_set_open(&set, &events, &there, NULL, &err);
	if (rc == -EACCES)
		skip();
	assert_int_equal(rc, -EINVAL);
	assert_int_equal(err.kind, PERCH_ERROR_NO_CPU);
	assert_non_null(strstr(err.message, "page-faults:u on CPU 4000: CPU 4000 does not exist"));
	perch_events_clear(&events);
}

static int count_unprivileged(void)
{
	struct perch_events events = parse("{page-faults,dummy:u},page-faults:u");
	struct perch_target target = { .cpu = -1 };
	struct perch_targets self = { .nr = 1, .target = &target };
	const struct perch_options options = { .may = PERCH_MAY_EXCLUDE_KERNEL };
	struct perch_set *set;
	struct perch_error err;

	if (perch_set_open(&set, &events, &self, NULL, &err) != -EACCES ||
	    err.kind != PERCH_ERROR_PARANOID)
		return 3;
	if (perch_set_open(&set, &events, &self, &options, &err))
		return 4;
	if (!perch_set_get_event(set, 0)->user_only ||
	    !perch_set_get_event(set, 0)->attr.exclude_kernel)
		return 5;
	return perch_set_get_event(set, 1)->user_only || perch_set_get_event(set, 2)->user_only ? 6
												: 0;
}

static void drops_the_kernel_if_not_permitted(void **state)
{
	(void)state;
	run_unprivileged(count_unprivileged);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(foreign_members_in_a_group),
		cmocka_unit_test(skips_unsupported_events),
		cmocka_unit_test(weak_groups_break_up),
		cmocka_unit_test(weak_groups_of_too_many_breakpoints),
		cmocka_unit_test(refuses_missing_cpus),
		cmocka_unit_test(drops_the_kernel_if_not_permitted),
	};

	return cmocka_run_group_tests(tests, warm_up, NULL);
}
