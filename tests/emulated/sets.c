/* SPDX-License-Identifier: MIT */
/* Sets with hardware counters: weak groups, unsupported events, CPUs, multiplexing. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <perch/count.h>

#include "guest.h"

#define ITERATIONS 20000000u /* 40 ms: ten rotations of the kernel's multiplexing */
#define EIGHT	   "r8:u,r8:u,r8:u,r8:u,r8:u,r8:u,r8:u,r8:u"

static struct perch_set *open_set(const char *text, const struct perch_targets *targets,
				  unsigned may)
{
	const struct perch_options options = { .may = may };
	struct perch_events events = { 0 };
	struct perch_set *set;
	struct perch_error err;

	CHECK_OK(perch_events_parse(&events, text, NULL, &err), &err);
	CHECK_OK(perch_set_open(&set, &events, targets, &options, &err), &err);
	CHECK(perch_set_events(set) == events.nr, "%zu of %zu", perch_set_events(set), events.nr);
	return set;
}

static void count_set(struct perch_set *set, struct perch_count *counts, uint64_t iterations)
{
	struct perch_error err;

	CHECK_OK(perch_set_enable(set, &err), &err);
	guest_loop(iterations);
	CHECK_OK(perch_set_disable(set, &err), &err);
	CHECK_OK(perch_set_read(set, counts, perch_set_events(set) * perch_set_targets(set), &err),
		 &err);
}

/* A weak group that is too large is broken up: the events are multiplexed, and the set reports it.
 */
static void weak_group(void)
{
	struct perch_set *set = open_set("{" EIGHT "}:W", NULL, 0);
	struct perch_count counts[8];

	count_set(set, counts, 5 * ITERATIONS);
	for (size_t i = 0; i < 8; i++) {
		const struct perch_set_event *event = perch_set_get_event(set, i);

		CHECK(event->broken && event->event.leader == (int)i && !event->skipped,
		      "%zu: leader %d", i, event->event.leader);
		CHECK(counts[i].state == PERCH_COUNT_STATE_SCALED, "%zu: state %d", i,
		      counts[i].state);
		CHECK(guest_off(counts[i].scaled,
				UINT64_C(5) * ITERATIONS * GUEST_LOOP_INSTRUCTIONS) < 100,
		      "%zu: %" PRIu64, i, counts[i].scaled);
	}
	perch_set_close(set);
}

/* A weak group that is small enough stays a group. */
static void small_weak_group(void)
{
	struct perch_set *set = open_set("{instructions:u,cycles:u,r8:u}:W", NULL, 0);
	struct perch_count counts[3];

	count_set(set, counts, ITERATIONS);
	for (size_t i = 0; i < 3; i++) {
		CHECK(!perch_set_get_event(set, i)->broken &&
			      perch_set_get_event(set, i)->event.leader == 0,
		      "%zu", i);
		CHECK(counts[i].state == PERCH_COUNT_STATE_EXACT &&
			      counts[i].enabled_ns == counts[0].enabled_ns,
		      "%zu: state %d", i, counts[i].state);
	}
	perch_set_close(set);
}

/* Without the modifier W it is an error. */
static void group_too_large(void)
{
	struct perch_target self = { .cpu = -1 };
	struct perch_targets targets = { .nr = 1, .target = &self };
	struct perch_events events = { 0 };
	struct perch_set *set = NULL;
	struct perch_error err;
	int rc;

	CHECK_OK(perch_events_parse(&events, "{" EIGHT "}", NULL, &err), &err);
	rc = perch_set_open(&set, &events, &targets, NULL, &err);
	CHECK(rc == -EINVAL && !set, "%d", rc);
	CHECK(err.kind == PERCH_ERROR_BAD_GROUP, "%s: %s", perch_error_kind_slug(err.kind),
	      err.message);
	guest_note("%s", err.message);
	perch_events_clear(&events);
}

/* Unsupported events are skipped with a reason; the others count. */
static void unsupported_skipped(void)
{
	struct perch_set *set =
		open_set("instructions:u,cache-misses:u,{cycles:u,branch-misses:u,r8:u}", NULL,
			 PERCH_MAY_SKIP);
	static const bool skipped[5] = { false, true, false, true, false };
	struct perch_count counts[5];

	count_set(set, counts, ITERATIONS);
	for (size_t i = 0; i < 5; i++) {
		const struct perch_set_event *event = perch_set_get_event(set, i);

		CHECK(event->skipped == skipped[i], "%zu: %d", i, event->skipped);
		if (!skipped[i]) {
			CHECK(counts[i].state == PERCH_COUNT_STATE_EXACT &&
				      counts[i].value >= ITERATIONS,
			      "%zu: state %d", i, counts[i].state);
			continue;
		}
		CHECK(counts[i].state == PERCH_COUNT_STATE_NOT_OPEN &&
			      perch_set_fd(set, i, 0) == -1,
		      "%zu: state %d", i, counts[i].state);
		CHECK(event->reason->kind == PERCH_ERROR_NOT_SUPPORTED, "%s: %s",
		      perch_error_kind_slug(event->reason->kind), event->reason->message);
	}
	perch_set_close(set);
}

/* The loop is in the count of the CPU where it ran, and once in the sum. */
static void every_cpu(void)
{
	struct perch_machine *machine;
	struct perch_targets targets = { 0 };
	struct perch_count counts[4], sum;
	struct perch_error err;
	struct perch_set *set;

	CHECK_OK(perch_machine_new(&machine, NULL, NULL, &err), &err);
	CHECK_OK(perch_targets_add_cpus(&targets, NULL, machine, &err), &err);
	CHECK(targets.nr == 2, "%zu CPUs", targets.nr);
	guest_pin(1);
	set = open_set("{instructions:u,r8:u}", &targets, 0);
	count_set(set, counts, ITERATIONS);
	for (size_t event = 0; event < 2; event++) {
		const struct perch_count *count = &counts[event * 2];

		CHECK(count[1].value >= (uint64_t)ITERATIONS * GUEST_LOOP_INSTRUCTIONS,
		      "%zu: %" PRIu64, event, count[1].value);
		CHECK(count[0].value < ITERATIONS / 10, "%zu: %" PRIu64, event, count[0].value);
		perch_count_sum(&sum, count, 2);
		CHECK(sum.value == count[0].value + count[1].value &&
			      sum.state == PERCH_COUNT_STATE_EXACT,
		      "%zu: state %d", event, sum.state);
	}
	perch_set_close(set);
	perch_targets_clear(&targets);
	perch_machine_free(machine);
}

/* Pinned events without a counter have the error state; other counts are not affected. */
static void too_many_pinned(void)
{
	struct perch_set *set =
		open_set("r8:uD,r8:uD,r8:uD,r8:uD,r8:uD,r8:uD,r8:uD,r8:u,page-faults:u", NULL, 0);
	struct perch_count counts[9];
	int full = 0, lost = 0;

	count_set(set, counts, ITERATIONS);
	for (int i = 0; i < 7; i++) {
		full += counts[i].state == PERCH_COUNT_STATE_EXACT && counts[i].value >= ITERATIONS;
		lost += counts[i].state == PERCH_COUNT_STATE_ERROR;
	}
	CHECK(full == 6 && lost == 1, "%d counted, %d lost", full, lost);
	CHECK(counts[7].state == PERCH_COUNT_STATE_NEVER_RAN && counts[7].enabled_ns, "state %d",
	      counts[7].state);
	CHECK(counts[8].state == PERCH_COUNT_STATE_EXACT, "state %d", counts[8].state);
	perch_set_close(set);
}

/* The difference of two reads of a multiplexed set is scaled by the times between them. */
static void deltas_of_multiplexed(void)
{
	struct perch_set *set = open_set(EIGHT, NULL, 0);
	struct perch_count first[8], second[8], delta;
	struct perch_error err;

	count_set(set, first, 3 * ITERATIONS);
	CHECK_OK(perch_set_enable(set, &err), &err);
	guest_loop(5 * ITERATIONS);
	CHECK_OK(perch_set_read(set, second, 8, &err), &err);
	for (int i = 0; i < 8; i++) {
		perch_count_delta(&delta, &second[i], &first[i]);
		CHECK(delta.state == PERCH_COUNT_STATE_SCALED, "%d: state %d", i, delta.state);
		CHECK(guest_off(delta.scaled, UINT64_C(5) * ITERATIONS * GUEST_LOOP_INSTRUCTIONS) <
			      100,
		      "%d: %" PRIu64, i, delta.scaled);
	}
	perch_set_close(set);
}

const struct guest_test guest_sets[] = {
	{ .name = "a weak group that is broken up", .run = weak_group },
	{ .name = "a weak group that is not broken up", .run = small_weak_group },
	{ .name = "a set's group that is too large", .run = group_too_large },
	{ .name = "a set skips unsupported events", .run = unsupported_skipped },
	{ .name = "a set on every CPU", .run = every_cpu },
	{ .name = "more pinned events of a set than counters", .run = too_many_pinned },
	{ .name = "deltas of a multiplexed set", .run = deltas_of_multiplexed },
	{ 0 },
};
