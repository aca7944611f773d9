/* SPDX-License-Identifier: MIT */
/* Single counters: exact counts, exclusions, resets, refusals. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <perch/count.h>

#include "guest.h"

/* Instructions between the two ioctls that are not of the loop. */
#define AROUND 300
/* A kernel tick every 4 ms, of which QEMU counts some instructions as user space. */
#define TICK 12000

static void open_or_fail(struct perch_counter **counter, const char *text,
			 const struct perch_options *options)
{
	struct perch_error err;

	CHECK_OK(perch_counter_open(counter, text, &perch_self, options, &err), &err);
}

static struct perch_count count_once(struct perch_counter *counter, uint64_t iterations)
{
	struct perch_error err;
	struct perch_count count;

	CHECK(!perch_counter_reset(counter, NULL), "%s", perch_counter_name(counter));
	CHECK(!perch_counter_enable(counter, NULL), "%s", perch_counter_name(counter));
	guest_loop(iterations);
	CHECK(!perch_counter_disable(counter, NULL), "%s", perch_counter_name(counter));
	CHECK_OK(perch_counter_read(counter, &count, &err), &err);
	return count;
}

/* Returns the smallest of several counts: without a tick and without page faults. */
static struct perch_count count_loop(struct perch_counter *counter, uint64_t iterations)
{
	struct perch_count least = count_once(counter, iterations);

	for (int i = 0; i < 8; i++) {
		struct perch_count count = count_once(counter, iterations);

		if (count.value < least.value)
			least = count;
	}
	return least;
}

/* The count of a loop is exact: two lengths differ by exactly their instructions. */
static void instructions_exact(void)
{
	struct perch_counter *counter;
	struct perch_count few, many;

	open_or_fail(&counter, "instructions:u", NULL);
	few = count_loop(counter, 1000);
	many = count_loop(counter, 101000);
	CHECK(few.state == PERCH_COUNT_STATE_EXACT && many.state == PERCH_COUNT_STATE_EXACT,
	      "states %d, %d", few.state, many.state);
	CHECK(few.value > 1000 * GUEST_LOOP_INSTRUCTIONS &&
		      few.value < 1000 * GUEST_LOOP_INSTRUCTIONS + AROUND,
	      "%" PRIu64, few.value);
	CHECK(many.value - few.value == 100000 * GUEST_LOOP_INSTRUCTIONS, "%" PRIu64 " - %" PRIu64,
	      many.value, few.value);
	CHECK(many.scaled == many.value, "%" PRIu64, many.scaled);
	CHECK(many.running_ns == many.enabled_ns && many.enabled_ns, "%" PRIu64 " of %" PRIu64,
	      many.running_ns, many.enabled_ns);
	guest_note("%" PRIu64 " instructions in addition to a loop of %d",
		   few.value - 1000 * GUEST_LOOP_INSTRUCTIONS, 1000 * GUEST_LOOP_INSTRUCTIONS);
	perch_counter_close(counter);
}

/* In the emulator an instruction takes 1 ns, which is a cycle at 1 GHz. */
static void cycles_count(void)
{
	struct perch_counter *counter;
	struct perch_count count;

	open_or_fail(&counter, "cycles:u", NULL);
	count = count_loop(counter, 1000000);
	CHECK(count.state == PERCH_COUNT_STATE_EXACT, "state %d", count.state);
	CHECK(guest_off(count.value, 1000000 * GUEST_LOOP_INSTRUCTIONS) < 10, "%" PRIu64,
	      count.value);
	perch_counter_close(counter);
}

/* Three counters at the same time: the counts of user space and of the kernel add up to both. */
static void user_and_kernel_add_up(void)
{
	static const char *const names[3] = { "instructions", "instructions:u", "instructions:k" };
	struct perch_counter *counter[3];
	struct perch_count count[3];
	struct perch_error err;

	for (int i = 0; i < 3; i++)
		open_or_fail(&counter[i], names[i], NULL);
	for (int i = 0; i < 3; i++)
		perch_counter_enable(counter[i], NULL);
	guest_loop(50000);
	for (int i = 0; i < 100; i++)
		syscall(SYS_getppid);
	for (int i = 3; i--;)
		perch_counter_disable(counter[i], NULL);
	for (int i = 0; i < 3; i++)
		CHECK_OK(perch_counter_read(counter[i], &count[i], &err), &err);
	CHECK(count[1].value >= 50000 * GUEST_LOOP_INSTRUCTIONS &&
		      count[1].value < 50000 * GUEST_LOOP_INSTRUCTIONS + TICK,
	      "user %" PRIu64, count[1].value);
	CHECK(count[2].value > 100 * 50, "kernel %" PRIu64, count[2].value);
	CHECK(count[0].value > count[1].value && count[0].value > count[2].value, "%" PRIu64,
	      count[0].value);
	/* enabled first and disabled last, it counts four more ioctls */
	CHECK(count[0].value >= count[1].value + count[2].value,
	      "%" PRIu64 " < %" PRIu64 " + %" PRIu64, count[0].value, count[1].value,
	      count[2].value);
	CHECK(guest_off(count[0].value, count[1].value + count[2].value) < 200,
	      "%" PRIu64 " and %" PRIu64 " + %" PRIu64, count[0].value, count[1].value,
	      count[2].value);
	for (int i = 0; i < 3; i++)
		perch_counter_close(counter[i]);
}

/* The options have the effect of modifiers. */
static void exclude_options(void)
{
	struct perch_options no_kernel = { .exclude_kernel = 1 }, no_user = { .exclude_user = 1 };
	struct perch_counter *user, *kernel;
	struct perch_count count;

	open_or_fail(&user, "instructions", &no_kernel);
	open_or_fail(&kernel, "instructions", &no_user);
	count = count_loop(user, 100000);
	CHECK(count.value < 100000 * GUEST_LOOP_INSTRUCTIONS + AROUND, "%" PRIu64, count.value);
	count = count_loop(kernel, 1000000);
	CHECK(count.value > 0 && count.value < 1000000, "%" PRIu64, count.value);
	perch_counter_close(user);
	perch_counter_close(kernel);
}

/* A disabled counter does not count, an enabled one continues, and a reset one starts at 0. */
static void enable_disable_reset(void)
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
	perch_counter_enable(counter, NULL);
	guest_loop(100000);
	perch_counter_disable(counter, NULL);
	CHECK_OK(perch_counter_read(counter, &second, &err), &err);
	CHECK(second.value > 2 * 100000 * GUEST_LOOP_INSTRUCTIONS &&
		      second.value < 2 * (100000 * GUEST_LOOP_INSTRUCTIONS + TICK),
	      "%" PRIu64, second.value);
	CHECK(second.enabled_ns > first.enabled_ns + 100000, "%" PRIu64 " after %" PRIu64,
	      second.enabled_ns, first.enabled_ns);
	CHECK(!perch_counter_reset(counter, NULL), "");
	CHECK_OK(perch_counter_read(counter, &second, &err), &err);
	CHECK(!second.value && !second.enabled_ns && second.state == PERCH_COUNT_STATE_NOT_ENABLED,
	      "%" PRIu64 " in %" PRIu64, second.value, second.enabled_ns);
	perch_counter_close(counter);
}

/* The difference of two reads of an enabled counter. */
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
	CHECK(second.value - first.value >= 100000 * GUEST_LOOP_INSTRUCTIONS &&
		      second.value - first.value < 100000 * GUEST_LOOP_INSTRUCTIONS + TICK,
	      "%" PRIu64, second.value - first.value);
	perch_counter_close(counter);
}

/* A counter on a CPU counts all processes there. */
static void on_a_cpu(void)
{
	struct perch_target target = { .tid = -1, .cpu = 1 };
	struct perch_counter *counter;
	struct perch_count here, there;
	struct perch_error err;

	CHECK_OK(perch_counter_open(&counter, "instructions:u", &target, NULL, &err), &err);
	guest_pin(1);
	here = count_loop(counter, 100000);
	CHECK(here.value >= 100000 * GUEST_LOOP_INSTRUCTIONS, "%" PRIu64, here.value);
	guest_pin(0);
	there = count_loop(counter, 100000);
	CHECK(there.value < 1000 * GUEST_LOOP_INSTRUCTIONS, "%" PRIu64, there.value);
	perch_counter_close(counter);
}

/* The counter of a thread moves with it to another CPU. */
static void moves_with_the_thread(void)
{
	struct perch_counter *counter;
	struct perch_count count;
	struct perch_error err;

	guest_pin(0);
	open_or_fail(&counter, "instructions:u", NULL);
	perch_counter_enable(counter, NULL);
	guest_loop(100000);
	guest_pin(1);
	guest_loop(100000);
	perch_counter_disable(counter, NULL);
	CHECK_OK(perch_counter_read(counter, &count, &err), &err);
	CHECK(count.value >= 200000 * GUEST_LOOP_INSTRUCTIONS &&
		      count.value < 200000 * GUEST_LOOP_INSTRUCTIONS + 3 * TICK,
	      "%" PRIu64, count.value);
	CHECK(count.state == PERCH_COUNT_STATE_EXACT, "state %d", count.state);
	perch_counter_close(counter);
}

/* The count of a child is added to the parent's when it exits, if the event is inherited. */
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
	CHECK(count.value >= 10000000 * GUEST_LOOP_INSTRUCTIONS &&
		      count.value < 10000000 * GUEST_LOOP_INSTRUCTIONS + 20 * TICK,
	      "%" PRIu64, count.value);
	CHECK_OK(perch_counter_read(own, &count, &err), &err);
	CHECK(count.value < 1000000 * GUEST_LOOP_INSTRUCTIONS, "%" PRIu64, count.value);
	perch_counter_close(counter);
	perch_counter_close(own);
}

/* Events that the PMU does not have are refused as not supported. */
static void unsupported_events(void)
{
	static const char *const names[] = { "cache-misses", "branch-misses",
					     "L1-dcache-load-misses", "bus-cycles" };
	struct perch_counter *counter;
	struct perch_error err;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		int rc = perch_counter_open(&counter, names[i], &perch_self, NULL, &err);

		CHECK(rc == -ENOENT || rc == -EOPNOTSUPP, "%s: %d", names[i], rc);
		CHECK(err.kind == PERCH_ERROR_NOT_SUPPORTED, "%s: %s: %s", names[i],
		      perch_error_kind_slug(err.kind), err.message);
	}
}

/* The PMU does not support exclude_idle. */
static void idle_cannot_be_excluded(void)
{
	struct perch_options options = { .exclude_idle = 1 };
	struct perch_counter *counter;
	struct perch_error err;
	int rc = perch_counter_open(&counter, "cycles", &perch_self, &options, &err);

	CHECK(rc == -EOPNOTSUPP || rc == -EPERM || rc == -EINVAL, "%d", rc);
	CHECK(err.message[0] && err.errnum == -rc, "%s", err.message);
	guest_note("%s: %s", perch_error_kind_slug(err.kind), err.message);
}

/* An open on CPU 1 fails while it is offline. */
static void offline_cpu(void)
{
	struct perch_target target = { .tid = -1, .cpu = 1 };
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
	{ .name = "user space and kernel add up", .run = user_and_kernel_add_up },
	{ .name = "exclude_user and exclude_kernel", .run = exclude_options },
	{ .name = "disable, enable, reset", .run = enable_disable_reset },
	{ .name = "a delta while running", .run = delta_of_running },
	{ .name = "a counter on a CPU", .run = on_a_cpu },
	{ .name = "a counter moves with its thread to another CPU", .run = moves_with_the_thread },
	{ .name = "an inherited counter", .run = inherited },
	{ .name = "events that the PMU does not have", .run = unsupported_events },
	{ .name = "exclude_idle is refused with a message", .run = idle_cannot_be_excluded },
	{ .name = "a CPU that is offline", .run = offline_cpu },
	{ 0 },
};
