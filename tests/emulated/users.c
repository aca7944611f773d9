/* SPDX-License-Identifier: MIT */
/* What unprivileged users may open at each perf_event_paranoid level; Debian's kernels have level 3
 * too. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include <perch/count.h>

#include "guest.h"

#define PARANOID "/proc/sys/kernel/perf_event_paranoid"
#define NOBODY	 65534

/* The result of opening an event without privileges. */
struct rule {
	const char *event;
	struct perch_target target;
	int rc; /* 0 if it opens */
};

/* Sets the level as root, then drops root and opens the events of the rules. */
static void check(const char *level, const struct rule *rules, size_t nr)
{
	struct perch_options options = { 0 };
	struct perch_counter *counter;
	struct perch_error err;

	guest_write(PARANOID, level);
	CHECK_OK(perch_machine_new(&options.machine, NULL, NULL, &err), &err);
	CHECK(!setgid(NOBODY) && !setuid(NOBODY), "%s", strerror(errno));
	for (size_t i = 0; i < nr; i++) {
		int rc = perch_counter_open(&counter, rules[i].event, &rules[i].target, &options,
					    &err);

		CHECK(rc == rules[i].rc, "level %s, %s on thread %d, CPU %d: %d instead of %d: %s",
		      level, rules[i].event, (int)rules[i].target.tid, rules[i].target.cpu, rc,
		      rules[i].rc, rc ? err.message : "opened");
		if (!rc) {
			perch_counter_close(counter);
			continue;
		}
		CHECK(err.kind == PERCH_ERROR_PARANOID, "level %s, %s: %s: %s", level,
		      rules[i].event, perch_error_kind_slug(err.kind), err.message);
		CHECK(strstr(err.message, "paranoid") || strstr(err.remedy, "paranoid"),
		      "'%s' '%s'", err.message, err.remedy);
	}
	perch_machine_free(options.machine);
}

#define CHECK_LEVEL(level, ...)                                        \
	do {                                                           \
		static const struct rule rules[] = { __VA_ARGS__ };    \
		check(level, rules, sizeof(rules) / sizeof(rules[0])); \
	} while (0)
/* clang-format off */
#define ME { .tid = 0, .cpu = -1 }
#define A_CPU { .tid = -1, .cpu = 0 }
/* clang-format on */

static void level_minus_1(void)
{
	CHECK_LEVEL("-1", { "cycles", ME, 0 }, { "cycles:u", ME, 0 }, { "instructions:k", ME, 0 },
		    { "cycles", A_CPU, 0 });
}

static void level_0(void)
{
	CHECK_LEVEL("0", { "cycles", ME, 0 }, { "cycles:u", ME, 0 }, { "cycles", A_CPU, 0 },
		    { "cycles:u", A_CPU, 0 });
}

static void level_1(void)
{
	CHECK_LEVEL("1", { "cycles", ME, 0 }, { "cycles:u", ME, 0 }, { "cycles", A_CPU, -EACCES },
		    { "cycles:u", A_CPU, -EACCES });
}

static void level_2(void)
{
	CHECK_LEVEL("2", { "cycles", ME, -EACCES }, { "cycles:u", ME, 0 },
		    { "instructions:k", ME, -EACCES }, { "cycles:u", A_CPU, -EACCES });
}

static void level_3(void)
{
	CHECK_LEVEL("3", { "cycles", ME, -EACCES }, { "cycles:u", ME, -EACCES },
		    { "task-clock:u", ME, -EACCES }, { "cycles:u", A_CPU, -EACCES });
}

/* A set counts only user space where the kernel is not permitted, and reports it. */
static void kernel_dropped(void)
{
	const struct perch_options options = { .may = PERCH_MAY_EXCLUDE_KERNEL };
	struct perch_events events = { 0 };
	struct perch_set *set;
	struct perch_error err;
	struct perch_count counts[2];

	guest_write(PARANOID, "2");
	CHECK(!setgid(NOBODY) && !setuid(NOBODY), "%s", strerror(errno));
	CHECK_OK(perch_events_parse(&events, "instructions,cycles:u", NULL, &err), &err);
	CHECK_OK(perch_set_open(&set, &events, NULL, &options, &err), &err);
	CHECK(perch_set_get_event(set, 0)->user_only && !perch_set_get_event(set, 1)->user_only,
	      "%d, %d", perch_set_get_event(set, 0)->user_only,
	      perch_set_get_event(set, 1)->user_only);
	CHECK_OK(perch_set_enable(set, &err), &err);
	guest_loop(100000);
	CHECK_OK(perch_set_disable(set, &err), &err);
	CHECK_OK(perch_set_read(set, counts, 2, &err), &err);
	CHECK(counts[0].value >= 100000 * GUEST_LOOP_INSTRUCTIONS &&
		      counts[0].value < 100000 * GUEST_LOOP_INSTRUCTIONS + 30000,
	      "%" PRIu64, counts[0].value);
	perch_set_close(set);
	perch_events_clear(&events);
}

/* Restores the sysctl for later tests. */
static void level_back(void)
{
	guest_write(PARANOID, "-1");
}

const struct guest_test guest_users[] = {
	{ .name = "a user at paranoid -1", .run = level_minus_1 },
	{ .name = "a user at paranoid 0", .run = level_0 },
	{ .name = "a user at paranoid 1", .run = level_1 },
	{ .name = "a user at paranoid 2", .run = level_2 },
	{ .name = "a user at Debian's paranoid 3", .run = level_3 },
	{ .name = "a set of an unprivileged user counts user space only", .run = kernel_dropped },
	{ .name = "perf_event_paranoid is restored", .run = level_back },
	{ 0 },
};
