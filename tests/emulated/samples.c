/* SPDX-License-Identifier: MIT */
/* Sampling by counter overflows: number, addresses and contents of samples. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <perch/count.h>
#include <perch/sampler.h>

#include "guest.h"

/* Register bits of the kernel: x0 to x30, sp, pc. */
#define ARM64_REGISTERS ((UINT64_C(1) << 33) - 1)

struct seen {
	uint64_t samples, inside, kernel, period;
};

/* Samples the event while this thread runs the loop. Counts samples with an address in the loop. */
static struct seen sample_loop(const char *text, uint64_t period, uint64_t frequency,
			       uint64_t iterations)
{
	struct perch_sampler_options options = {
		.event = { .period = period,
			   .frequency = frequency,
			   .sample = PERCH_SAMPLE_IP | PERCH_SAMPLE_PERIOD },
		.ring_pages = 64,
	};
	struct perch_sampler *sampler;
	struct perch_record record;
	struct seen seen = { 0 };
	struct perch_error err;
	int more;

	CHECK_OK(perch_sampler_open(&sampler, text, NULL, &options, &err), &err);
	CHECK(!perch_sampler_enable(sampler, NULL), "");
	guest_loop(iterations);
	CHECK(!perch_sampler_disable(sampler, NULL), "");
	while ((more = perch_sampler_next(sampler, &record, NULL)) > 0) {
		if (record.type != PERCH_RECORD_SAMPLE)
			continue;
		seen.samples++;
		seen.period += record.sample.period;
		seen.inside += record.sample.ip >= (uintptr_t)guest_loop &&
			       record.sample.ip < (uintptr_t)guest_loop_end;
		seen.kernel += (record.misc & PERCH_MISC_CPUMODE_MASK) == PERCH_MISC_KERNEL;
		CHECK(record.sample.pid == (uint32_t)getpid(), "pid %u", record.sample.pid);
	}
	CHECK(more == 0, "%d", more);
	perch_sampler_close(sampler);
	return seen;
}

/* One sample per 100,000 cycles of 20 million; nearly all in the loop. */
static void by_period(void)
{
	struct seen seen = sample_loop("cycles:u", 100000, 0, 10000000);

	CHECK(guest_off(seen.samples, 200) < 50, "%" PRIu64, seen.samples);
	CHECK(seen.inside >= seen.samples * 95 / 100, "%" PRIu64 " of %" PRIu64, seen.inside,
	      seen.samples);
	CHECK(!seen.kernel, "%" PRIu64, seen.kernel);
	CHECK(seen.period == seen.samples * 100000, "%" PRIu64, seen.period);
}

/* The kernel adapts the period to 4000 samples per second: about 1600 in 0.4 s. */
static void by_frequency(void)
{
	struct seen seen = sample_loop("cycles:u", 0, 4000, 200000000);

	CHECK(guest_off(seen.samples, 1600) < 300, "%" PRIu64, seen.samples);
	CHECK(seen.inside >= seen.samples * 95 / 100, "%" PRIu64 " of %" PRIu64, seen.inside,
	      seen.samples);
	CHECK(guest_off(seen.period, 400000000) < 200, "%" PRIu64, seen.period);
}

/* Two events of a sampler with different periods; each sample belongs to one of them. */
static void two_events(void)
{
	struct perch_sampler_options options = { .event.sample = PERCH_SAMPLE_IP,
						 .ring_pages = 64 };
	struct perch_sampler *sampler;
	struct perch_record record;
	uint64_t samples[2] = { 0 };
	struct perch_error err;
	char events[128];

	snprintf(events, sizeof(events), "%s/cpu_cycles,period=100000/u,cpu-clock/period=1000000/u",
		 guest_pmu());
	CHECK_OK(perch_sampler_open(&sampler, events, NULL, &options, &err), &err);
	perch_sampler_enable(sampler, NULL);
	guest_loop(10000000);
	perch_sampler_disable(sampler, NULL);
	while (perch_sampler_next(sampler, &record, NULL) > 0)
		if (record.type == PERCH_RECORD_SAMPLE) {
			CHECK(record.event < 2, "%u", record.event);
			samples[record.event]++;
		}
	CHECK(guest_off(samples[0], 200) < 50 && samples[1] >= 15 && samples[1] <= 21,
	      "%" PRIu64 " and %" PRIu64, samples[0], samples[1]);
	perch_sampler_close(sampler);
}

/* With modifier S the samples of the leader have the counts of all members, which increase. */
static void group_in_samples(void)
{
	struct perch_sampler_options options = {
		.event = { .period = 100000,
			   .sample = PERCH_SAMPLE_IP | PERCH_SAMPLE_READ,
			   .read = PERCH_FORMAT_GROUP | PERCH_FORMAT_ID },
		.ring_pages = 64,
	};
	struct perch_read_value cycles, instructions, before = { 0 };
	struct perch_sampler *sampler;
	struct perch_record record;
	struct perch_error err;
	size_t samples = 0;

	CHECK_OK(perch_sampler_open(&sampler, "{cycles:u,instructions:u}", NULL, &options, &err),
		 &err);
	perch_sampler_enable(sampler, NULL);
	guest_loop(2000000);
	perch_sampler_disable(sampler, NULL);
	while (perch_sampler_next(sampler, &record, NULL) > 0) {
		if (record.type != PERCH_RECORD_SAMPLE || record.event)
			continue;
		CHECK(record.sample.read.nr == 2, "%" PRIu64, record.sample.read.nr);
		perch_read_values_at(&record.sample.read, 0, &cycles);
		perch_read_values_at(&record.sample.read, 1, &instructions);
		CHECK(instructions.value > before.value, "%" PRIu64 " after %" PRIu64,
		      instructions.value, before.value);
		CHECK(cycles.value >= 100000 * (samples + 1), "%" PRIu64, cycles.value);
		before = instructions;
		samples++;
	}
	CHECK(samples >= 35, "%zu", samples);
	CHECK(before.value > 3000000 && before.value <= 2000000 * GUEST_LOOP_INSTRUCTIONS + 5000,
	      "%" PRIu64, before.value);
	perch_sampler_close(sampler);
}

/* A caller that is on the stack: not inlined, no tail call. */
__attribute__((noinline)) static void calls_the_loop(uint64_t iterations)
{
	guest_loop(iterations);
	__asm__ volatile("" ::: "memory");
}

/*
 * User registers and call chains. The loop is a leaf function without a frame: its caller is in the
 * link register, and frame pointers give the caller of that.
 */
static void registers_and_callers(void)
{
	struct perch_sampler_options options = {
		.event = { .period = 100000,
			   .sample = PERCH_SAMPLE_IP | PERCH_SAMPLE_CALLCHAIN |
				     PERCH_SAMPLE_REGS_USER,
			   .sample_regs_user = ARM64_REGISTERS },
		.ring_pages = 64,
	};
	size_t samples = 0, callers = 0;
	struct perch_sampler *sampler;
	struct perch_record record;
	struct perch_error err;

	CHECK_OK(perch_sampler_open(&sampler, "cycles:u", NULL, &options, &err), &err);
	perch_sampler_enable(sampler, NULL);
	calls_the_loop(2000000);
	perch_sampler_disable(sampler, NULL);
	while (perch_sampler_next(sampler, &record, NULL) > 0) {
		const struct perch_sample *sample = &record.sample;
		uint64_t link;

		if (record.type != PERCH_RECORD_SAMPLE || sample->ip < (uintptr_t)guest_loop ||
		    sample->ip >= (uintptr_t)guest_loop_end)
			continue;
		samples++;
		CHECK(sample->regs_user.abi == PERCH_SAMPLE_REGS_ABI_64 &&
			      sample->regs_user.nr == 33,
		      "abi %" PRIu64 ", %u", sample->regs_user.abi, sample->regs_user.nr);
		CHECK(sample->regs_user.value[32] == sample->ip, "%#" PRIx64,
		      sample->regs_user.value[32]);
		link = sample->regs_user.value[30];
		CHECK(link > (uintptr_t)calls_the_loop && link < (uintptr_t)calls_the_loop + 64,
		      "%#" PRIx64, link);
		CHECK(sample->callchain.nr >= 2 && sample->callchain.ip[0] == PERCH_CONTEXT_USER &&
			      sample->callchain.ip[1] == sample->ip,
		      "%" PRIu64 " callers", sample->callchain.nr);
		for (uint64_t i = 2; i < sample->callchain.nr; i++)
			if (sample->callchain.ip[i] > (uintptr_t)registers_and_callers &&
			    sample->callchain.ip[i] < (uintptr_t)registers_and_callers + 1024) {
				callers++;
				break;
			}
	}
	CHECK(samples >= 35 && callers == samples, "%zu samples, %zu with the caller", samples,
	      callers);
	perch_sampler_close(sampler);
}

/* This PMU does not record branches. */
static void no_branch_stacks(void)
{
	struct perch_sampler_options options = {
		.event = { .period = 100000,
			   .sample = PERCH_SAMPLE_BRANCH_STACK,
			   .branch_sample_type = PERCH_SAMPLE_BRANCH_ANY |
						 PERCH_SAMPLE_BRANCH_USER },
	};
	struct perch_sampler *sampler;
	struct perch_error err;
	int rc = perch_sampler_open(&sampler, "cycles:u", NULL, &options, &err);

	CHECK(rc == -EOPNOTSUPP || rc == -EINVAL, "%d", rc);
	CHECK(err.kind == PERCH_ERROR_NOT_SUPPORTED && strstr(err.message, "branch"), "%s: %s",
	      perch_error_kind_slug(err.kind), err.message);
}

static volatile sig_atomic_t signals;

static void on_signal(int number)
{
	(void)number;
	signals++;
}

/* Three overflows, each with a signal; then the event is disabled. */
static void three_overflows(void)
{
	struct perch_options options = { .period = 100000, .wakeup_events = 1 };
	struct sigaction action = { .sa_handler = on_signal };
	struct perch_counter *counter;
	struct perch_count count;
	struct perch_error err;
	int fd;

	sigaction(SIGIO, &action, NULL);
	CHECK_OK(perch_counter_open(&counter, "cycles:u", &perch_self, &options, &err), &err);
	fd = perch_counter_fd(counter);
	CHECK(!fcntl(fd, F_SETFL, O_ASYNC) && !fcntl(fd, F_SETOWN, getpid()),
	      "no signals from descriptor %d", fd);
	CHECK_OK(perch_event_refresh(fd, 3, NULL, &err), &err);
	guest_loop(1000000);
	CHECK_OK(perch_counter_read(counter, &count, &err), &err);
	CHECK(signals == 3, "%d", (int)signals);
	CHECK(count.value >= 300000 && count.value < 350000, "%" PRIu64, count.value);
	perch_counter_close(counter);
}

const struct guest_test guest_samples[] = {
	{ .name = "sampling by period", .run = by_period },
	{ .name = "sampling by frequency", .run = by_frequency },
	{ .name = "two sampled events", .run = two_events },
	{ .name = "counts of a group in samples of its leader", .run = group_in_samples },
	{ .name = "registers and call chains in samples", .run = registers_and_callers },
	{ .name = "branch stacks are refused with a message", .run = no_branch_stacks },
	{ .name = "three overflows, three signals", .run = three_overflows },
	{ 0 },
};
