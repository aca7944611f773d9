/* SPDX-License-Identifier: MIT */
/* More events than counters (the PMU has six, and one for cycles): multiplexing, groups, pinned
 * events. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <perch/count.h>

#include "guest.h"

#define COUNTERS 6
#define ITERATIONS \
	100000000u /* 0.2 s in the guest: about 50 rotations of the kernel's multiplexing */

/* Twelve events on six counters: each is on the PMU half of the time, and its scaled count is near
 * the exact one. */
static void multiplexed(void)
{
	struct perch_counter *counter[12];
	struct perch_count count;
	struct perch_error err;
	uint64_t exact = (uint64_t)ITERATIONS * GUEST_LOOP_INSTRUCTIONS, furthest = 0;

	for (int i = 0; i < 12; i++)
		CHECK_OK(perch_counter_open(&counter[i], "r8:u", &perch_self, NULL, &err), &err);
	CHECK_OK(perch_tasks_enable(NULL, &err), &err);
	guest_loop(ITERATIONS);
	CHECK_OK(perch_tasks_disable(NULL, &err), &err);
	for (int i = 0; i < 12; i++) {
		CHECK_OK(perch_counter_read(counter[i], &count, &err), &err);
		CHECK(count.state == PERCH_COUNT_STATE_SCALED, "%d: state %d", i, count.state);
		CHECK(count.running_ns < count.enabled_ns && count.running_ns,
		      "%d: %" PRIu64 " of %" PRIu64, i, count.running_ns, count.enabled_ns);
		CHECK(guest_off(count.running_ns * 2, count.enabled_ns) < 200,
		      "%d: ran %" PRIu64 " of %" PRIu64, i, count.running_ns, count.enabled_ns);
		CHECK(count.value < exact * 7 / 10, "%d: %" PRIu64, i, count.value);
		CHECK(count.scaled == perch_scale(count.value, count.enabled_ns, count.running_ns),
		      "%d", i);
		if (guest_off(count.scaled, exact) > furthest)
			furthest = guest_off(count.scaled, exact);
		perch_counter_close(counter[i]);
	}
	CHECK(furthest < 50, "%" PRIu64 " per mille off", furthest);
	guest_note("scaled counts are at most %" PRIu64 " per mille off", furthest);
}

/* Six events for six counters: all counts are exact and equal. */
static void six_members(void)
{
	struct perch_group *group;
	struct perch_count count[COUNTERS];
	struct perch_error err;

	CHECK_OK(perch_group_open(&group, "{r8:u,r8:u,r8:u,r8:u,r8:u,r8:u}", &perch_self, NULL,
				  &err),
		 &err);
	CHECK(!perch_group_enable(group, NULL), "");
	guest_loop(ITERATIONS / 10);
	CHECK(!perch_group_disable(group, NULL), "");
	CHECK_OK(perch_group_read(group, count, COUNTERS, &err), &err);
	for (int i = 0; i < COUNTERS; i++) {
		CHECK(count[i].state == PERCH_COUNT_STATE_EXACT, "%d: state %d", i, count[i].state);
		CHECK(guest_off(count[i].value,
				(uint64_t)ITERATIONS / 10 * GUEST_LOOP_INSTRUCTIONS) < 2,
		      "%d: %" PRIu64, i, count[i].value);
	}
	perch_group_close(group);
}

/*
 * The kernel refuses a group that does not fit, and the error explains it. On arm64 the kernel does
 * not include the disabled leader in that check, so it accepts one member more than fit.
 */
static void too_large(void)
{
	struct perch_group *group = NULL;
	struct perch_error err = { 0 };
	int rc = perch_group_open(&group, "{r8:u,r8:u,r8:u,r8:u,r8:u,r8:u,r8:u,r8:u}", &perch_self,
				  NULL, &err);

	CHECK(rc == -EINVAL && !group, "%d", rc);
	CHECK(err.kind == PERCH_ERROR_BAD_GROUP, "%s: %s", perch_error_kind_slug(err.kind),
	      err.message);
	CHECK(strstr(err.message, "the group is too large") && strstr(err.message, "the 7 before"),
	      "%s", err.message);
	CHECK(strstr(err.remedy, "no more than 7"), "%s", err.remedy);
	guest_note("%s. %s", err.message, err.remedy);
}

/* Groups ignore self_monitoring, which the kernel refuses for CPUs. */
static void self_monitoring_of_a_cpu(void)
{
	const struct perch_options options = { .self_monitoring = 1, .enabled = 1 };
	const struct perch_target cpu = { .tid = -1, .cpu = 0 };
	struct perch_group *group;
	struct perch_counter *counter;
	struct perch_count count[2];
	struct perch_error err;

	CHECK_OK(perch_group_open(&group, "cycles,instructions", &cpu, &options, &err), &err);
	CHECK_OK(perch_counter_open(&counter, "instructions", &cpu, &options, &err), &err);
	guest_loop(ITERATIONS / 10);
	CHECK_OK(perch_group_read(group, count, 2, &err), &err);
	CHECK(count[0].state == PERCH_COUNT_STATE_EXACT &&
		      count[1].state == PERCH_COUNT_STATE_EXACT,
	      "%d, %d", count[0].state, count[1].state);
	CHECK_OK(perch_counter_read(counter, count, &err), &err);
	CHECK(!perch_counter_self_monitoring(counter, &err), "read in user space");
	perch_counter_close(counter);
	perch_group_close(group);
}

/* An inherited group is read together and has the counts of a child. */
static void inherited_group(void)
{
	const struct perch_options options = { .inherit = 1, .enabled = 1 };
	struct perch_group *group;
	struct perch_count count[2];
	struct perch_error err;
	pid_t child;

	CHECK_OK(perch_group_open(&group, "instructions:u,r8:u", &perch_self, &options, &err),
		 &err);
	child = fork();
	if (!child) {
		guest_loop(ITERATIONS / 10);
		_exit(0);
	}
	CHECK(waitpid(child, NULL, 0) == child, "no child");
	CHECK_OK(perch_group_read(group, count, 2, &err), &err);
	for (int i = 0; i < 2; i++)
		CHECK(count[i].value >= (uint64_t)ITERATIONS / 10 * GUEST_LOOP_INSTRUCTIONS,
		      "%d: %" PRIu64, i, count[i].value);
	CHECK(count[0].enabled_ns == count[1].enabled_ns, "read one by one");
	perch_group_close(group);
}

/* A group with one member more than fit opens, but never counts; the states of the counts say so.
 */
static void one_too_large(void)
{
	struct perch_group *group;
	struct perch_count count[COUNTERS + 1];
	struct perch_error err;

	CHECK_OK(perch_group_open(&group, "{r8:u,r8:u,r8:u,r8:u,r8:u,r8:u,r8:u}", &perch_self, NULL,
				  &err),
		 &err);
	perch_group_enable(group, NULL);
	guest_loop(ITERATIONS / 10);
	perch_group_disable(group, NULL);
	CHECK_OK(perch_group_read(group, count, COUNTERS + 1, &err), &err);
	for (int i = 0; i <= COUNTERS; i++)
		CHECK(count[i].state == PERCH_COUNT_STATE_NEVER_RAN && count[i].enabled_ns &&
			      !count[i].scaled,
		      "%d: state %d", i, count[i].state);
	perch_group_close(group);
}

/* Cycles have their own counter in addition to the six. */
static void cycles_count_with_six_members(void)
{
	struct perch_group *group;
	struct perch_count count[COUNTERS + 1];
	struct perch_error err;

	CHECK_OK(perch_group_open(&group, "{cycles:u,r8:u,r8:u,r8:u,r8:u,r8:u,r8:u}", &perch_self,
				  NULL, &err),
		 &err);
	perch_group_enable(group, NULL);
	guest_loop(1000000);
	perch_group_disable(group, NULL);
	CHECK_OK(perch_group_read(group, count, COUNTERS + 1, &err), &err);
	for (int i = 0; i <= COUNTERS; i++)
		CHECK(count[i].state == PERCH_COUNT_STATE_EXACT && count[i].value >= 1000000,
		      "%d: state %d, %" PRIu64, i, count[i].state, count[i].value);
	perch_group_close(group);
}

/* The members count the same code; one read returns them, also after a reset. */
static void read_together(void)
{
	struct perch_options options = { .read = PERCH_FORMAT_ID };
	struct perch_group *group;
	struct perch_count count[3], again[3];
	struct perch_error err;

	CHECK_OK(perch_group_open(&group, "{instructions:u,r8:u,cycles:u}", &perch_self, &options,
				  &err),
		 &err);
	perch_group_enable(group, NULL);
	guest_loop(1000000);
	CHECK_OK(perch_group_read(group, count, 3, &err), &err);
	CHECK(count[0].value >= 1000000 * GUEST_LOOP_INSTRUCTIONS, "%" PRIu64, count[0].value);
	CHECK(guest_off(count[1].value, count[0].value) < 10, "%" PRIu64 " and %" PRIu64,
	      count[0].value, count[1].value);
	CHECK(count[0].enabled_ns == count[1].enabled_ns &&
		      count[1].enabled_ns == count[2].enabled_ns,
	      "%" PRIu64, count[0].enabled_ns);
	CHECK(count[0].id && count[0].id != count[1].id && count[1].id != count[2].id,
	      "ids %" PRIu64, count[0].id);
	CHECK(!perch_group_reset(group, NULL), "");
	guest_loop(1000);
	perch_group_disable(group, NULL);
	CHECK_OK(perch_group_read(group, again, 3, &err), &err);
	for (int i = 0; i < 3; i++) {
		CHECK(again[i].value >= 1000 && again[i].value < count[i].value / 2, "%d: %" PRIu64,
		      i, again[i].value);
		CHECK(again[i].enabled_ns < count[i].enabled_ns, "%d: %" PRIu64, i,
		      again[i].enabled_ns);
		CHECK(again[i].id == count[i].id, "%d", i);
	}
	perch_group_close(group);
}

/* Pinned events that have no counter go into error state: the read fails. */
static void too_many_pinned(void)
{
	struct perch_options options = { .pinned = 1 };
	struct perch_counter *counter[COUNTERS + 3];
	struct perch_count count;
	struct perch_error err;
	int counted = 0, lost = 0;

	for (int i = 0; i < COUNTERS + 3; i++)
		CHECK_OK(perch_counter_open(&counter[i], "r8:u", &perch_self, &options, &err),
			 &err);
	CHECK_OK(perch_tasks_enable(NULL, &err), &err);
	guest_loop(100000);
	for (int i = 0; i < COUNTERS + 3; i++) {
		int rc = perch_counter_read(counter[i], &count, &err);

		if (!rc) {
			CHECK(count.state == PERCH_COUNT_STATE_EXACT && count.value >= 100000,
			      "%d: %d", i, count.state);
			counted++;
			continue;
		}
		CHECK(rc == -ENODATA && err.kind == PERCH_ERROR_SCHEDULE, "%d: %d: %s", i, rc,
		      err.message);
		CHECK(!strcmp(err.field, "pinned") && err.remedy[0], "'%s' '%s'", err.field,
		      err.remedy);
		lost++;
	}
	CHECK(counted == COUNTERS && lost == 3, "%d counted, %d lost", counted, lost);
	guest_note("%s", err.message);
	for (int i = 0; i < COUNTERS + 3; i++)
		perch_counter_close(counter[i]);
}

/* While pinned events have all counters, another event never runs: its state is not a count of 0.
 */
static void never_scheduled(void)
{
	struct perch_options pinned = { .pinned = 1, .enabled = 1 };
	struct perch_counter *holder[COUNTERS], *waiting;
	struct perch_count count;
	struct perch_error err;

	for (int i = 0; i < COUNTERS; i++)
		CHECK_OK(perch_counter_open(&holder[i], "r8:u", &perch_self, &pinned, &err), &err);
	CHECK_OK(perch_counter_open(&waiting, "r8:u", &perch_self, NULL, &err), &err);
	CHECK(!perch_counter_enable(waiting, NULL), "");
	guest_loop(10000000);
	CHECK(!perch_counter_disable(waiting, NULL), "");
	CHECK_OK(perch_counter_read(waiting, &count, &err), &err);
	CHECK(count.state == PERCH_COUNT_STATE_NEVER_RAN,
	      "state %d, %" PRIu64 " in %" PRIu64 " of %" PRIu64, count.state, count.value,
	      count.running_ns, count.enabled_ns);
	CHECK(count.enabled_ns > 10000000 && !count.running_ns && !count.scaled, "%" PRIu64,
	      count.enabled_ns);
	for (int i = 0; i < COUNTERS; i++)
		perch_counter_close(holder[i]);
	guest_loop(1000000);
	CHECK(!perch_counter_enable(waiting, NULL), "");
	guest_loop(1000000);
	CHECK(!perch_counter_disable(waiting, NULL), "");
	CHECK_OK(perch_counter_read(waiting, &count, &err), &err);
	CHECK(count.state == PERCH_COUNT_STATE_SCALED && count.value >= 1000000,
	      "state %d, %" PRIu64, count.state, count.value);
	perch_counter_close(waiting);
}

/* A pinned group that gets no counters because of other pinned events: the read of the group fails.
 */
static void pinned_group_without_counters(void)
{
	struct perch_options pinned = { .pinned = 1, .enabled = 1 };
	struct perch_counter *holder[COUNTERS];
	struct perch_group *group;
	struct perch_count count[2];
	struct perch_error err;
	int rc;

	for (int i = 0; i < COUNTERS - 1; i++)
		CHECK_OK(perch_counter_open(&holder[i], "r8:u", &perch_self, &pinned, &err), &err);
	CHECK_OK(perch_group_open(&group, "{r8:u,r8:u}:D", &perch_self, NULL, &err), &err);
	CHECK(!perch_group_enable(group, NULL), "");
	guest_loop(100000);
	rc = perch_group_read(group, count, 2, &err);
	CHECK(rc == -ENODATA && err.kind == PERCH_ERROR_SCHEDULE, "%d: %s", rc, err.message);
	perch_group_close(group);
	for (int i = 0; i < COUNTERS - 1; i++)
		perch_counter_close(holder[i]);
}

/* An exclusive event does not share the PMU: each of two events has part of the time. */
static void exclusive(void)
{
	struct perch_options options = { .exclusive = 1 };
	struct perch_counter *alone, *other;
	struct perch_count mine, theirs;
	struct perch_error err;

	CHECK_OK(perch_counter_open(&alone, "r8:u", &perch_self, &options, &err), &err);
	CHECK_OK(perch_counter_open(&other, "r8:u", &perch_self, NULL, &err), &err);
	CHECK_OK(perch_tasks_enable(NULL, &err), &err);
	guest_loop(ITERATIONS / 2);
	CHECK_OK(perch_tasks_disable(NULL, &err), &err);
	CHECK_OK(perch_counter_read(alone, &mine, &err), &err);
	CHECK_OK(perch_counter_read(other, &theirs, &err), &err);
	CHECK(mine.state == PERCH_COUNT_STATE_SCALED && theirs.state == PERCH_COUNT_STATE_SCALED,
	      "states %d, %d", mine.state, theirs.state);
	CHECK(mine.running_ns + theirs.running_ns <= mine.enabled_ns * 105 / 100,
	      "%" PRIu64 " + %" PRIu64 " of %" PRIu64, mine.running_ns, theirs.running_ns,
	      mine.enabled_ns);
	perch_counter_close(alone);
	perch_counter_close(other);
}

const struct guest_test guest_groups[] = {
	{ .name = "twelve events on six counters", .run = multiplexed },
	{ .name = "a group of six counts all of the time", .run = six_members },
	{ .name = "a group that is too large is refused with a message", .run = too_large },
	{ .name = "self-monitoring of a group on a CPU", .run = self_monitoring_of_a_cpu },
	{ .name = "an inherited group", .run = inherited_group },
	{ .name = "a group that opens and never fits", .run = one_too_large },
	{ .name = "cycles are counted with six other members",
	  .run = cycles_count_with_six_members },
	{ .name = "a group is read at once and reset", .run = read_together },
	{ .name = "pinned events beyond the counters", .run = too_many_pinned },
	{ .name = "an event that never ran", .run = never_scheduled },
	{ .name = "a pinned group beyond the counters", .run = pinned_group_without_counters },
	{ .name = "an exclusive event", .run = exclusive },
	{ 0 },
};
