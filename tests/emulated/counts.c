/* SPDX-License-Identifier: MIT */
/* Single counters: exact counts, sides, resets, what cannot be had. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <perch/count.h>

#include "guest.h"

/* What lies between the two ioctls beside the loop: their own ends in user space, and the way
 * there. */
#define AROUND 300
/* The kernel's tick comes each 4 ms, and QEMU counts some of its instructions as if they were user
 * space's. */
#define TICK 12000

static void open_or_fail(struct perch_counter **counter, const char *text,
			 const struct perch_options *options)
{
	struct perch_error err;

	CHECK_OK(perch_counter_open(counter, text, &PERCH_SELF, options, &err), &err);
}

static struct perch_count count_once(struct perch_counter *counter, uint64_t turns)
{
	struct perch_error err;
	struct perch_count count;

	CHECK(!perch_counter_reset(counter), "%s", perch_counter_name(counter));
	CHECK(!perch_counter_enable(counter), "%s", perch_counter_name(counter));
	guest_loop(turns);
	CHECK(!perch_counter_disable(counter), "%s", perch_counter_name(counter));
	CHECK_OK(perch_counter_read(counter, &count, &err), &err);
	return count;
}

/* The least of several counts is one without a tick, and with all pages there. */
static struct perch_count count_loop(struct perch_counter *counter, uint64_t turns)
{
	struct perch_count least = count_once(counter, turns);

	for (int i = 0; i < 8; i++) {
		struct perch_count count = count_once(counter, turns);

		if (count.value < least.value)
			least = count;
	}
	return least;
}

/* A loop of a known number of instructions is counted to the last one: two lengths differ by
 * exactly the turns. */
static void instructions_exact(void)
{
	struct perch_counter *counter;
	struct perch_count few, many;

	open_or_fail(&counter, "instructions:u", NULL);
	few = count_loop(counter, 1000);
	many = count_loop(counter, 101000);
	CHECK(few.state == PERCH_COUNT_STATE_EXACT && many.state == PERCH_COUNT_STATE_EXACT,
	      "states %d, %d", few.state, many.state);
	CHECK(few.value > 1000 * GUEST_TURN && few.value < 1000 * GUEST_TURN + AROUND, "%" PRIu64,
	      few.value);
	CHECK(many.value - few.value == 100000 * GUEST_TURN, "%" PRIu64 " - %" PRIu64, many.value,
	      few.value);
	CHECK(many.scaled == many.value, "%" PRIu64, many.scaled);
	CHECK(many.running_ns == many.enabled_ns && many.enabled_ns, "%" PRIu64 " of %" PRIu64,
	      many.running_ns, many.enabled_ns);
	guest_note("%" PRIu64 " instructions beside a loop of %d", few.value - 1000 * GUEST_TURN,
		   1000 * GUEST_TURN);
	perch_counter_close(counter);
}

/* The emulator's clock is 1 ns an instruction, and a cycle is 1 ns at the 1 GHz of its counter. */
static void cycles_count(void)
{
	struct perch_counter *counter;
	struct perch_count count;

	open_or_fail(&counter, "cycles:u", NULL);
	count = count_loop(counter, 1000000);
	CHECK(count.state == PERCH_COUNT_STATE_EXACT, "state %d", count.state);
	CHECK(guest_off(count.value, 1000000 * GUEST_TURN) < 10, "%" PRIu64, count.value);
	perch_counter_close(counter);
}

/* Three counters at the same time over loop and system calls: user space and kernel add up to both.
 */
static void sides_add_up(void)
{
	static const char *const names[3] = { "instructions", "instructions:u", "instructions:k" };
	struct perch_counter *counter[3];
	struct perch_count count[3];
	struct perch_error err;

	for (int i = 0; i < 3; i++)
		open_or_fail(&counter[i], names[i], NULL);
	for (int i = 0; i < 3; i++)
		perch_counter_enable(counter[i]);
	guest_loop(50000);
	for (int i = 0; i < 100; i++)
		syscall(SYS_getppid);
	for (int i = 3; i--;)
		perch_counter_disable(counter[i]);
	for (int i = 0; i < 3; i++)
		CHECK_OK(perch_counter_read(counter[i], &count[i], &err), &err);
	CHECK(count[1].value >= 50000 * GUEST_TURN && count[1].value < 50000 * GUEST_TURN + TICK,
	      "user %" PRIu64, count[1].value);
	CHECK(count[2].value > 100 * 50, "kernel %" PRIu64, count[2].value);
	CHECK(count[0].value > count[1].value && count[0].value > count[2].value, "%" PRIu64,
	      count[0].value);
	/* enabled first and disabled last, it has four more ioctls inside */
	CHECK(count[0].value >= count[1].value + count[2].value,
	      "%" PRIu64 " < %" PRIu64 " + %" PRIu64, count[0].value, count[1].value,
	      count[2].value);
	CHECK(guest_off(count[0].value, count[1].value + count[2].value) < 200,
	      "%" PRIu64 " and %" PRIu64 " + %" PRIu64, count[0].value, count[1].value,
	      count[2].value);
	for (int i = 0; i < 3; i++)
		perch_counter_close(counter[i]);
}

/* Options say the same as modifiers. */
static void exclude_options(void)
{
	struct perch_options no_kernel = { .exclude_kernel = 1 }, no_user = { .exclude_user = 1 };
	struct perch_counter *user, *kernel;
	struct perch_count count;

	open_or_fail(&user, "instructions", &no_kernel);
	open_or_fail(&kernel, "instructions", &no_user);
	count = count_loop(user, 100000);
	CHECK(count.value < 100000 * GUEST_TURN + AROUND, "%" PRIu64, count.value);
	count = count_loop(kernel, 1000000);
	CHECK(count.value > 0 && count.value < 1000000, "%" PRIu64, count.value);
	perch_counter_close(user);
	perch_counter_close(kernel);
}

/* Disabled, it stands; enabled, it goes on from there; reset, value and times begin again. */
static void switched_and_reset(void)
{
	struct perch_counter *counter;
	struct perch_count first, second;
	struct perch_error err;

	open_or_fail(&counter, "instructions:u", NULL);
	CHECK_OK(perch_counter_read(counter, &first, &err), &err);
	CHECK(first.state == PERCH_COUNT_STATE_NOT_ENABLED && !first.value, "state %d, %" PRIu64,
	      first.state, first.value);
	first = count_once(counter, 100000);
	guest_loop(100000);
	CHECK_OK(perch_counter_read(counter, &second, &err), &err);
	CHECK(second.value == first.value && second.enabled_ns == first.enabled_ns, "%" PRIu64,
	      second.value);
	perch_counter_enable(counter);
	guest_loop(100000);
	perch_counter_disable(counter);
	CHECK_OK(perch_counter_read(counter, &second, &err), &err);
	CHECK(second.value > 2 * 100000 * GUEST_TURN &&
		      second.value < 2 * (100000 * GUEST_TURN + TICK),
	      "%" PRIu64, second.value);
	CHECK(second.enabled_ns > first.enabled_ns + 100000, "%" PRIu64 " after %" PRIu64,
	      second.enabled_ns, first.enabled_ns);
	CHECK(!perch_counter_reset(counter), "");
	CHECK_OK(perch_counter_read(counter, &second, &err), &err);
	CHECK(!second.value && !second.enabled_ns && second.state == PERCH_COUNT_STATE_NOT_ENABLED,
	      "%" PRIu64 " in %" PRIu64, second.value, second.enabled_ns);
	perch_counter_close(counter);
}

/* A delta from a running counter: what lies between two reads. */
static void delta_of_running(void)
{
	struct perch_options options = { .enabled = 1 };
	struct perch_counter *counter;
	struct perch_count first, second;
	struct perch_error err;

	open_or_fail(&counter, "instructions:u", &options);
	CHECK_OK(perch_counter_read(counter, &first, &err), &err);
	guest_loop(100000);
	CHECK_OK(perch_counter_read(counter, &second, &err), &err);
	CHECK(second.value - first.value >= 100000 * GUEST_TURN &&
		      second.value - first.value < 100000 * GUEST_TURN + TICK,
	      "%" PRIu64, second.value - first.value);
	perch_counter_close(counter);
}

/* On a CPU rather than in a thread: what anyone runs there. */
static void on_a_cpu(void)
{
	struct perch_target target = { .pid = -1, .cpu = 1 };
	struct perch_counter *counter;
	struct perch_count here, there;
	struct perch_error err;

	CHECK_OK(perch_counter_open(&counter, "instructions:u", &target, NULL, &err), &err);
	guest_pin(1);
	here = count_loop(counter, 100000);
	CHECK(here.value >= 100000 * GUEST_TURN, "%" PRIu64, here.value);
	guest_pin(0);
	there = count_loop(counter, 100000);
	CHECK(there.value < 1000 * GUEST_TURN, "%" PRIu64, there.value);
	perch_counter_close(counter);
}

/* A thread takes its counter along from one CPU's PMU to another's. */
static void follows_the_thread(void)
{
	struct perch_counter *counter;
	struct perch_count count;
	struct perch_error err;

	guest_pin(0);
	open_or_fail(&counter, "instructions:u", NULL);
	perch_counter_enable(counter);
	guest_loop(100000);
	guest_pin(1);
	guest_loop(100000);
	perch_counter_disable(counter);
	CHECK_OK(perch_counter_read(counter, &count, &err), &err);
	CHECK(count.value >= 200000 * GUEST_TURN && count.value < 200000 * GUEST_TURN + 3 * TICK,
	      "%" PRIu64, count.value);
	CHECK(count.state == PERCH_COUNT_STATE_EXACT, "state %d", count.state);
	perch_counter_close(counter);
}

/* A child's instructions come to the parent's counter when it exits, and are no part of one that is
 * not inherited. */
static void inherited(void)
{
	struct perch_options options = { .inherit = 1, .enabled = 1 }, alone = { .enabled = 1 };
	struct perch_counter *counter, *own;
	struct perch_count count;
	struct perch_error err;
	int status = -1;
	pid_t child;

	open_or_fail(&counter, "instructions:u", &options);
	open_or_fail(&own, "instructions:u", &alone);
	child = fork();
	if (!child) {
		guest_loop(10000000);
		_exit(0);
	}
	CHECK(waitpid(child, &status, 0) == child && !status, "status %#x", status);
	CHECK_OK(perch_counter_read(counter, &count, &err), &err);
	CHECK(count.value >= 10000000 * GUEST_TURN &&
		      count.value < 10000000 * GUEST_TURN + 20 * TICK,
	      "%" PRIu64, count.value);
	CHECK_OK(perch_counter_read(own, &count, &err), &err);
	CHECK(count.value < 1000000 * GUEST_TURN, "%" PRIu64, count.value);
	perch_counter_close(counter);
	perch_counter_close(own);
}

/* What this PMU has no counter for is refused as such, and not as some number that no one knows. */
static void absent_events(void)
{
	static const char *const names[] = { "cache-misses", "branch-misses",
					     "L1-dcache-load-misses", "bus-cycles" };
	struct perch_counter *counter;
	struct perch_error err;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		int rc = perch_counter_open(&counter, names[i], &PERCH_SELF, NULL, &err);

		CHECK(rc == -ENOENT || rc == -EOPNOTSUPP, "%s: %d", names[i], rc);
		CHECK(err.kind == PERCH_ERROR_NOT_SUPPORTED, "%s: %s: %s", names[i],
		      perch_error_kind_slug(err.kind), err.message);
	}
}

/* With a side that the PMU cannot leave out. */
static void idle_cannot_be_excluded(void)
{
	struct perch_options options = { .exclude_idle = 1 };
	struct perch_counter *counter;
	struct perch_error err;
	int rc = perch_counter_open(&counter, "cycles", &PERCH_SELF, &options, &err);

	CHECK(rc == -EOPNOTSUPP || rc == -EPERM || rc == -EINVAL, "%d", rc);
	CHECK(err.message[0] && err.errnum == -rc, "%s", err.message);
	guest_note("%s: %s", perch_error_kind_slug(err.kind), err.message);
}

/* CPU 1 is taken away: what is opened on it says so. */
static void offline_cpu(void)
{
	struct perch_target target = { .pid = -1, .cpu = 1 };
	struct perch_counter *counter;
	struct perch_error err;
	int rc;

	guest_write("/sys/devices/system/cpu/cpu1/online", "0");
	rc = perch_counter_open(&counter, "cycles", &target, NULL, &err);
	guest_write("/sys/devices/system/cpu/cpu1/online", "1");
	CHECK(rc == -ENODEV, "%d", rc);
	CHECK(err.kind == PERCH_ERROR_NO_CPU, "%s: %s", perch_error_kind_slug(err.kind),
	      err.message);
}

const struct guest_test guest_counts[] = {
	{ .name = "instructions of a loop are exact", .run = instructions_exact },
	{ .name = "cycles of a loop", .run = cycles_count },
	{ .name = "user space and kernel add up", .run = sides_add_up },
	{ .name = "exclude_user and exclude_kernel", .run = exclude_options },
	{ .name = "disable, enable, reset", .run = switched_and_reset },
	{ .name = "a delta while running", .run = delta_of_running },
	{ .name = "a counter on a CPU", .run = on_a_cpu },
	{ .name = "a counter follows its thread to another CPU", .run = follows_the_thread },
	{ .name = "an inherited counter", .run = inherited },
	{ .name = "events that this PMU has not", .run = absent_events },
	{ .name = "exclude_idle is refused in words", .run = idle_cannot_be_excluded },
	{ .name = "a CPU that is offline", .run = offline_cpu },
	{ 0 },
};
