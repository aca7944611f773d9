/* SPDX-License-Identifier: MIT */
/*
 * Self-monitoring reads, compared with read(2) before and after: value and times must be between
 * these. Where the counter cannot be read without a system call, perch_counter_read() uses read(2)
 * and reports why.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <perch/count.h>

#include "guest.h"
#include "direct_read.h"

/* Resolution of the clock (62.5 MHz). */
#define CLOCK_STEP_NS 16

/* Result of read(2) with both times. */
struct read_result {
	uint64_t value, enabled_ns, running_ns;
};

static struct read_result read_kernel(const struct perch_counter *counter)
{
	struct read_result result = { 0 };
	ssize_t got = read(perch_counter_fd(counter), &result, sizeof(result));

	CHECK(got == sizeof(result), "%zd bytes: %s", got, strerror(errno));
	return result;
}

static struct perch_counter *open_running(const char *text, uint64_t period)
{
	struct perch_options options = { .enabled = 1, .self_monitoring = 1, .period = period };
	struct perch_counter *counter;
	struct perch_error err;

	if (access(GUEST_USER_ACCESS, F_OK))
		guest_skip("user-space reads of counters need Linux 5.17");
	CHECK_OK(perch_counter_open(&counter, text, &perch_self, &options, &err), &err);
	return counter;
}

static bool between(uint64_t value, uint64_t from, uint64_t to, uint64_t slack)
{
	return value + slack >= from && value <= to + slack;
}

/* Compares one read with read(2) before and after it. Returns whether it made no system call. */
static bool compare(struct perch_counter *counter, struct perch_error *err)
{
	struct read_result before = read_kernel(counter), after;
	struct perch_count count;

	CHECK_OK(perch_counter_read(counter, &count, err), err);
	after = read_kernel(counter);
	CHECK(between(count.value, before.value, after.value, 0),
	      "%" PRIu64 " is not in %" PRIu64 "..%" PRIu64, count.value, before.value,
	      after.value);
	CHECK(between(count.enabled_ns, before.enabled_ns, after.enabled_ns, CLOCK_STEP_NS),
	      "%" PRIu64 " ns is not in %" PRIu64 "..%" PRIu64, count.enabled_ns, before.enabled_ns,
	      after.enabled_ns);
	CHECK(between(count.running_ns, before.running_ns, after.running_ns, CLOCK_STEP_NS),
	      "%" PRIu64 " ns is not in %" PRIu64 "..%" PRIu64, count.running_ns, before.running_ns,
	      after.running_ns);
	return perch_counter_self_monitoring(counter, err);
}

/* Thousands of reads over some milliseconds, with ticks: each must make no system call and be
 * right. */
static void compare_many(struct perch_counter *counter, int reads)
{
	struct perch_error err = { 0 };

	for (int i = 0; i < reads; i++) {
		CHECK(compare(counter, &err), "read %d of '%s': %s", i, perch_counter_name(counter),
		      err.message);
		guest_loop(1 + i % 64);
	}
}

static void instructions_32_bit(void)
{
	struct perch_counter *counter = open_running("instructions:u", 0);

	compare_many(counter, 2000);
	perch_counter_close(counter);
}

static void cycles_32_bit(void)
{
	struct perch_counter *counter = open_running("cycles:u", 0);

	compare_many(counter, 2000);
	perch_counter_close(counter);
}

/* Names of the PMU with a 64-bit counter; the library sets the bit for user access. */
static void cycles_64_bit(void)
{
	char text[96];
	struct perch_counter *counter;

	snprintf(text, sizeof(text), "%s/cpu_cycles,long=1/u", guest_pmu());
	counter = open_running(text, 0);
	compare_many(counter, 2000);
	perch_counter_close(counter);
}

/*
 * A 64-bit counter of another event: some CPUs use two 32-bit counters for it, which user space
 * cannot read together. The kernel refuses user access then; perch_counter_open() omits it and
 * reports that.
 */
static void instructions_64_bit(void)
{
	struct perch_error err = { 0 };
	struct perch_counter *counter;
	char text[96];
	bool first;

	snprintf(text, sizeof(text), "%s/inst_retired,long=1/u", guest_pmu());
	counter = open_running(text, 0);
	first = compare(counter, &err);
	CHECK(first || err.message[0], "no reason");
	guest_note("%s", first ? "without system calls" : err.message);
	for (int i = 0; i < 500; i++) {
		CHECK(compare(counter, &err) == first, "read %d", i);
		guest_loop(100);
	}
	perch_counter_close(counter);
}

/* User space and kernel are counted: read(2) itself increases the count. */
static void user_and_kernel(void)
{
	struct perch_counter *counter = open_running("instructions", 0);

	compare_many(counter, 500);
	perch_counter_close(counter);
}

/* With a period of 10,000, the 32-bit counter wraps every 10,000 cycles. */
static void across_overflows(void)
{
	struct perch_counter *counter = open_running("cycles:u", 10000);
	uint64_t before = 0, without_syscall = 0;
	struct perch_error err = { 0 };
	struct perch_count count;

	for (int i = 0; i < 4000; i++) {
		compare(counter, &err);
		CHECK_OK(perch_counter_read(counter, &count, &err), &err);
		CHECK(count.value >= before, "%" PRIu64 " after %" PRIu64, count.value, before);
		without_syscall += perch_counter_self_monitoring(counter, &err);
		before = count.value;
		guest_loop(500);
	}
	CHECK(before > 4000 * 500 && without_syscall > 3900,
	      "%" PRIu64 " cycles, %" PRIu64 " of 4000: %s", before, without_syscall, err.message);
	perch_counter_close(counter);
}

/*
 * More than 2^31 instructions: the kernel starts a 32-bit counter in the middle of its range, so it
 * wraps to 0. QEMU delivers the overflow at the next tick; until then the page is old.
 */
static void across_wraps(void)
{
	struct perch_counter *counter = open_running("instructions:u", 0);
	struct perch_error err = { 0 };
	uint64_t wanted = 0;

	for (int i = 0; i < 12; i++) {
		guest_loop(100000000);
		wanted += 100000000 * GUEST_LOOP_INSTRUCTIONS;
		for (int j = 0; j < 20; j++)
			CHECK(compare(counter, &err), "%d: %s", i, err.message);
	}
	CHECK(guest_off(read_kernel(counter).value, wanted) < 5, "%" PRIu64,
	      read_kernel(counter).value);
	CHECK(wanted > UINT64_C(1) << 31, "%" PRIu64, wanted);
	perch_counter_close(counter);
}

/* On another CPU the event may be on another counter, which the page has. */
static void across_migrations(void)
{
	struct perch_counter *other = open_running("r8:u", 0), *counter;
	struct perch_error err = { 0 };

	guest_pin(0);
	counter = open_running("instructions:u", 0);
	perch_counter_close(other); /* so its counter may have another number there */
	for (int i = 0; i < 200; i++) {
		guest_pin(i % 2);
		CHECK(compare(counter, &err), "%d: %s", i, err.message);
		guest_loop(100);
	}
	perch_counter_close(counter);
}

/* Seven events on six counters: the event that is not on the PMU is read by a system call. */
static void multiplexed(void)
{
	struct perch_counter *counter[7];
	uint64_t without = 0, with = 0;
	struct perch_error err = { 0 };
	struct perch_count count;

	for (int i = 0; i < 7; i++)
		counter[i] = open_running("r8:u", 0);
	for (int i = 0; i < 700; i++) {
		if (compare(counter[i % 7], &err))
			without++;
		else if (with++ == 0)
			guest_note("%s", err.message);
		guest_loop(50000);
	}
	CHECK(without > 350 && with > 20 && err.message[0],
	      "%" PRIu64 " without, %" PRIu64 " with: '%s'", without, with, err.message);
	for (int i = 0; i < 7; i++) {
		CHECK_OK(perch_counter_read(counter[i], &count, &err), &err);
		CHECK(count.state == PERCH_COUNT_STATE_SCALED, "%d: state %d", i, count.state);
		perch_counter_close(counter[i]);
	}
}

static void reset_and_disabled(void)
{
	struct perch_counter *counter = open_running("instructions:u", 0);
	struct perch_error err = { 0 };
	struct perch_count count;

	guest_loop(1000000);
	CHECK(!perch_counter_reset(counter, NULL), "");
	guest_loop(1000);
	CHECK_OK(perch_counter_read(counter, &count, &err), &err);
	CHECK(perch_counter_self_monitoring(counter, &err), "%s", err.message);
	CHECK(count.value >= 1000 * GUEST_LOOP_INSTRUCTIONS &&
		      count.value < 1000 * GUEST_LOOP_INSTRUCTIONS + 20000,
	      "%" PRIu64, count.value);
	CHECK(count.enabled_ns < 1000000 && count.enabled_ns == count.running_ns,
	      "%" PRIu64 " of %" PRIu64, count.running_ns, count.enabled_ns);
	CHECK(count.state == PERCH_COUNT_STATE_EXACT && count.scaled == count.value, "state %d",
	      count.state);
	CHECK(!perch_counter_disable(counter, NULL), "");
	CHECK_OK(perch_counter_read(counter, &count, &err), &err);
	CHECK(!perch_counter_self_monitoring(counter, &err) && err.message[0],
	      "a counter that is off: '%s'", err.message);
	guest_note("%s", err.message);
	CHECK(count.value >= 1000 * GUEST_LOOP_INSTRUCTIONS &&
		      count.value < 1000 * GUEST_LOOP_INSTRUCTIONS + 40000,
	      "%" PRIu64, count.value);
	perch_counter_close(counter);
}

/* Events without a hardware counter of this thread are read by system calls. */
static void not_hardware(void)
{
	struct perch_target cpu = { .tid = -1, .cpu = 0 };
	struct perch_options options = { .enabled = 1, .self_monitoring = 1 };
	struct perch_counter *counter;
	struct perch_error err = { 0 };
	struct perch_count count;

	guest_pin(0);
	counter = open_running("page-faults", 0);
	CHECK(!compare(counter, &err) && err.message[0], "'%s'", err.message);
	guest_note("page-faults: %s", err.message);
	perch_counter_close(counter);
	CHECK_OK(perch_counter_open(&counter, "cycles:u", &cpu, &options, &err), &err);
	CHECK_OK(perch_counter_read(counter, &count, &err), &err);
	err = (struct perch_error){ 0 };
	CHECK(!perch_counter_self_monitoring(counter, &err) && err.kind == PERCH_ERROR_BAD_TARGET,
	      "of a CPU: '%s'", err.message);
	perch_counter_close(counter);
}

/* Without self_monitoring every read is a system call. */
static void not_requested(void)
{
	struct perch_options options = { .enabled = 1 };
	struct perch_counter *counter;
	struct perch_error err = { 0 };

	CHECK_OK(perch_counter_open(&counter, "instructions:u", &perch_self, &options, &err), &err);
	CHECK(!compare(counter, &err), "a read without a system call");
	CHECK(err.message[0], "no reason");
	perch_counter_close(counter);
}

/* With kernel.perf_user_access 0 (the default) read(2) is used, and the reason names the sysctl. */
static void not_permitted(void)
{
	struct perch_counter *counter;
	struct perch_error err = { 0 };
	bool without;

	guest_write(GUEST_USER_ACCESS, "0");
	counter = open_running("instructions:u", 0);
	without = compare(counter, &err);
	guest_write(GUEST_USER_ACCESS, "1");
	CHECK(!without, "a read without a system call");
	CHECK(strstr(err.message, "perf_user_access") || strstr(err.remedy, "perf_user_access"),
	      "'%s' '%s'", err.message, err.remedy);
	guest_note("%s. %s", err.message, err.remedy);
	perch_counter_close(counter);
}

#define READS 1000

/* Instructions of READS reads, and of an empty loop: the smallest of several counts has no tick. */
static uint64_t instructions_of(struct perch_counter *meter, struct perch_counter *counter,
				const struct perch_mmap_page *page)
{
	uint64_t least = UINT64_MAX;
	struct direct_count hand;
	struct perch_count count;

	for (int i = 0; i < 10; i++) {
		uint64_t from, now;

		perch_counter_enable(meter, NULL);
		from = read_kernel(meter).value;
		for (int j = 0; j < READS; j++)
			if (counter)
				perch_counter_read(counter, &count, NULL);
			else if (page)
				direct_read(page, &hand);
			else
				__asm__ volatile("");
		now = read_kernel(meter).value;
		perch_counter_disable(meter, NULL);
		if (now - from < least)
			least = now - from;
	}
	return least;
}

/* Checks the direct read, which is written only for this test. */
static void check_direct_read(const struct perch_counter *counter,
			      const struct perch_mmap_page *page)
{
	struct direct_count hand;

	for (int i = 0; i < 100; i++) {
		struct read_result before = read_kernel(counter), after;

		CHECK(direct_read(page, &hand), "the direct read failed");
		after = read_kernel(counter);
		CHECK(between(hand.value, before.value, after.value, 0) &&
			      between(hand.enabled_ns, before.enabled_ns, after.enabled_ns,
				      CLOCK_STEP_NS) &&
			      between(hand.running_ns, before.running_ns, after.running_ns,
				      CLOCK_STEP_NS),
		      "the direct read is wrong");
	}
}

/* A read by perch takes at most 1.2 times the instructions of the direct read. */
static void cost(void)
{
	struct perch_counter *counter = open_running("instructions:u", 0), *meter;
	const struct perch_mmap_page *page;
	uint64_t nothing, by_perch, direct, ratio;
	struct perch_error err = { 0 };

	CHECK_OK(perch_counter_open(&meter, "instructions:u", &perch_self, NULL, &err), &err);
	page = mmap(NULL, sysconf(_SC_PAGESIZE), PROT_READ, MAP_SHARED, perch_counter_fd(counter),
		    0);
	CHECK(page != MAP_FAILED, "%s", strerror(errno));
	CHECK(compare(counter, &err), "%s", err.message);
	check_direct_read(counter, page);
	nothing = instructions_of(meter, NULL, NULL);
	by_perch = instructions_of(meter, counter, NULL) - nothing;
	direct = instructions_of(meter, NULL, page) - nothing;
	ratio = by_perch * 100 / direct;
	guest_note("%" PRIu64 " instructions by perch, %" PRIu64 " by a direct read: ratio %" PRIu64
		   ".%02" PRIu64,
		   by_perch / READS, direct / READS, ratio / 100, ratio % 100);
	CHECK(perch_counter_self_monitoring(counter, &err), "%s", err.message);
	CHECK(by_perch * 10 <= direct * 12, "%" PRIu64 " and %" PRIu64 " for %d reads", by_perch,
	      direct, READS);
	perch_counter_close(meter);
	perch_counter_close(counter);
}

const struct guest_test guest_self_monitoring[] = {
	{ .name = "self-monitoring reads of instructions, 32 bits", .run = instructions_32_bit },
	{ .name = "self-monitoring reads of cycles, 32 bits", .run = cycles_32_bit },
	{ .name = "self-monitoring reads of cycles, 64 bits", .run = cycles_64_bit },
	{ .name = "self-monitoring reads of instructions, 64 bits", .run = instructions_64_bit },
	{ .name = "self-monitoring reads of user space and kernel", .run = user_and_kernel },
	{ .name = "self-monitoring reads across overflows", .run = across_overflows },
	{ .name = "self-monitoring reads across wraps of 32 bits", .run = across_wraps },
	{ .name = "self-monitoring reads after migrations", .run = across_migrations },
	{ .name = "self-monitoring reads of multiplexed events", .run = multiplexed },
	{ .name = "self-monitoring reads after a reset, and when disabled",
	  .run = reset_and_disabled },
	{ .name = "no self-monitoring reads of other events", .run = not_hardware },
	{ .name = "no self-monitoring reads unless requested", .run = not_requested },
	{ .name = "no self-monitoring reads where they are not permitted", .run = not_permitted },
	{ .name = "instructions of a self-monitoring read", .run = cost },
	{ 0 },
};
